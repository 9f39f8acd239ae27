#!/usr/bin/env python3
"""The PyTorch twin of a run of `limpid train translate`: the same model, tokens and settings.

    bench/twin_translate.py runs/de-en --test test.de test.en --seed 1 --threads 2

Batches are as its users make them: pairs sorted by length, `--pairs` of them a batch, padded, in a
new order each epoch; attention is PyTorch's fused one. Prints one line of JSON: seconds of training
without anything else, and sacreBLEU (13a, lower-cased) of greedy translations of the test files.
Run it with a Python that has torch, tokenizers and sacrebleu."""

import math
import random
from pathlib import Path

import sacrebleu
import torch
import twin
from torch import nn
from torch.nn import functional as F
from torch_models import merge_heads, sinusoids, split_heads


class Attention(nn.Module):
    def __init__(self, c, heads):
        super().__init__()
        self.heads = heads
        self.q, self.kv, self.out = nn.Linear(c, c), nn.Linear(c, 2 * c), nn.Linear(c, c)

    def forward(self, x, memory, mask=None, is_causal=False):
        q = split_heads(self.q(x), self.heads)
        k, v = (split_heads(part, self.heads) for part in self.kv(memory).chunk(2, dim=-1))
        return self.out(
            merge_heads(
                F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal)
            )
        )


class SelfAttention(nn.Module):
    """Queries, keys and values from one product."""

    def __init__(self, c, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(c, 3 * c), nn.Linear(c, c)

    def forward(self, x, mask=None, is_causal=False):
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, dim=-1))
        return self.out(
            merge_heads(
                F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal)
            )
        )


class Layer(nn.Module):
    """Of the encoder, or with cross-attention of the decoder; post-norm or pre-norm."""

    def __init__(self, c, heads, ffn, norm, dropout, crossed):
        super().__init__()
        self.placement, self.dropout, self.crossed = norm, dropout, crossed
        self.self_attention = SelfAttention(c, heads)
        self.cross = Attention(c, heads) if crossed else None
        self.up, self.down = nn.Linear(c, ffn), nn.Linear(ffn, c)
        self.norms = nn.ModuleList(nn.LayerNorm(c) for _ in range(3 if crossed else 2))

    def add(self, x, norm, branch):
        drop = lambda y: F.dropout(y, self.dropout, self.training)
        return x + drop(branch(norm(x))) if self.placement == "pre" else norm(x + drop(branch(x)))

    def forward(self, x, mask, memory=None):
        norms = iter(self.norms)
        if self.crossed:
            x = self.add(x, next(norms), lambda y: self.self_attention(y, is_causal=True))
            x = self.add(x, next(norms), lambda y: self.cross(y, memory, mask))
        else:
            x = self.add(x, next(norms), lambda y: self.self_attention(y, mask))
        return self.add(x, next(norms), lambda y: self.down(F.relu(self.up(y))))


class Translator(nn.Module):
    def __init__(self, run, pad):
        super().__init__()
        m = run.model
        c, heads, ffn = m["hidden_size"], m["heads"], m["intermediate_size"]
        self.pad, self.scale, self.dropout, self.smoothing = (
            pad,
            math.sqrt(c),
            m["dropout"],
            run.train["label_smoothing"],
        )
        self.tokens = nn.Embedding(run.vocab, c)  # both sides and the output
        self.register_buffer("positions", sinusoids(m["context_length"], c))
        norm = m.get("norm", "post")
        make = lambda crossed: nn.ModuleList(
            Layer(c, heads, ffn, norm, m["dropout"], crossed) for _ in range(m["layers"])
        )
        self.encoder, self.decoder = make(False), make(True)
        last = lambda: nn.LayerNorm(c) if norm == "pre" else nn.Identity()
        self.encoder_norm, self.decoder_norm = last(), last()
        for name, p in self.named_parameters():
            if name == "tokens.weight":
                nn.init.normal_(p, std=c**-0.5)
            elif p.dim() >= 2:
                nn.init.xavier_uniform_(p)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def embed(self, ids):
        x = self.tokens(ids) * self.scale + self.positions[: ids.shape[1]]
        return F.dropout(x, self.dropout, self.training)

    def encode(self, source):
        mask = (source != self.pad)[:, None, None, :]
        x = self.embed(source)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x), mask

    def decode(self, target, memory, mask):
        x = self.embed(target)
        for layer in self.decoder:
            x = layer(x, mask, memory)
        return F.linear(self.decoder_norm(x), self.tokens.weight)

    def forward(self, source, target):
        logits = self.decode(target[:, :-1], *self.encode(source))
        labels = target[:, 1:].flatten()
        return F.cross_entropy(
            logits.flatten(0, 1), labels, ignore_index=self.pad, label_smoothing=self.smoothing
        )


def padded(sequences, pad):
    longest = max(map(len, sequences))
    return torch.tensor([ids + [pad] * (longest - len(ids)) for ids in sequences])


def epoch(pairs, size, pad, rng):
    """Batches of pairs of about the same length, in random order."""
    order = list(range(len(pairs)))
    rng.shuffle(order)
    order.sort(key=lambda i: (len(pairs[i][0]) + len(pairs[i][1])))
    batches = [order[at : at + size] for at in range(0, len(order), size)]
    rng.shuffle(batches)
    for batch in batches:
        yield padded([pairs[i][0] for i in batch], pad), padded([pairs[i][1] for i in batch], pad)


def greedy(model, sources, pad, start, end, longest):
    """Translations, 100 at a time, without a cache."""
    done = []
    model.eval()
    with torch.no_grad():
        for at in range(0, len(sources), 100):
            source = padded(sources[at : at + 100], pad)
            memory, mask = model.encode(source)
            target = torch.full((len(source), 1), start)
            ended = torch.zeros(len(source), dtype=torch.bool)
            while not ended.all() and target.shape[1] < longest:
                logits = model.decode(target, memory, mask)[:, -1]
                logits[:, pad] = -math.inf
                following = torch.where(ended, pad, logits.argmax(-1))
                target = torch.cat([target, following[:, None]], dim=1)
                ended |= following == end
            done += [[i for i in row if i not in (pad, start, end)] for row in target.tolist()]
    return done


def read(path):
    return Path(path).read_text(encoding="utf-8").splitlines()


def main():
    parser = twin.arguments(__doc__)
    parser.add_argument("--test", nargs=2, metavar=("SOURCE", "TARGET"), type=Path)
    parser.add_argument("--pairs", type=int, default=128, help="pairs of a batch")
    parser.add_argument("--epochs", type=int, help="instead of the run's")
    args = parser.parse_args()
    run = twin.Run(args.run)
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    pad, end = run.tokenizer.token_to_id("<pad>"), run.tokenizer.token_to_id("</s>")
    longest = run.model["context_length"]
    sources = [ids + [end] for ids in run.encode(read(run.data["source"]))]
    # The decoder begins with <pad>, as Marian's does.
    targets = [[pad, *ids, end] for ids in run.encode(read(run.data["target"]))]
    pairs = [
        (s, t) for s, t in zip(sources, targets) if len(s) <= longest and len(t) - 1 <= longest
    ]
    # <pad> begins the target: a label is ignored only behind the end. Labels never hold the first
    # token.
    model = Translator(run, pad)
    trainer = twin.Trainer(model, run)
    epochs = args.epochs or run.train["epochs"]
    steps = epochs * math.ceil(len(pairs) / args.pairs)
    for _ in range(epochs):
        for batch in epoch(pairs, args.pairs, pad, rng):
            trainer.step(steps, *batch)
    trainer.use_average()
    parameters = sum(p.numel() for p in model.parameters())
    figures = {
        "seconds": trainer.seconds,
        "steps": steps,
        "parameters": parameters,
        "seed": args.seed,
    }
    if args.test:
        source, reference = ([line.strip() for line in read(path)] for path in args.test)
        ids = greedy(model, [ids + [end] for ids in run.encode(source)], pad, pad, end, longest)
        texts = [text.strip() for text in run.tokenizer.decode_batch(ids)]
        figures["bleu"] = sacrebleu.corpus_bleu(texts, [reference], lowercase=True).score
    twin.say(**figures)


if __name__ == "__main__":
    main()
