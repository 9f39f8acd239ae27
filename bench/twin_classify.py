#!/usr/bin/env python3
"""The PyTorch twin of a run of `limpid train classify`: the same BERT, tokens and settings; and a
bag of words.

    bench/twin_classify.py runs/sst2 --test test.tsv --seed 1 --threads 2
    bench/twin_classify.py runs/sst2 --test test.tsv --bag-of-words

Texts are read as `data.format = "label-first"` writes them. Batches are as its users make them:
texts of about the same length, padded, in a new order each epoch, on average with as many tokens as
the run's; the weights of the lowest validation loss are kept, looked at as often as the run does.
The bag of words is logistic regression on which words (of the lower-cased text, between spaces) and
which pairs of neighbouring words occur, fitted by L-BFGS; its penalty is the best of six on the
validation texts. Prints one line of JSON. Run it with a Python that has torch and tokenizers."""

import copy
import math
import random
from pathlib import Path

import torch
import twin
from torch import nn
from torch.nn import functional as F
from torch_models import merge_heads, sinusoids, split_heads

PENALTIES = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3)
TEXTS = 64


class Layer(nn.Module):
    def __init__(self, c, heads, ffn, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.q, self.k, self.v, self.out = (nn.Linear(c, c) for _ in range(4))
        self.up, self.down = nn.Linear(c, ffn), nn.Linear(ffn, c)
        self.norm1, self.norm2 = nn.LayerNorm(c, eps=1e-12), nn.LayerNorm(c, eps=1e-12)

    def forward(self, x, mask):
        drop = lambda y: F.dropout(y, self.dropout, self.training)
        q, k, v = (split_heads(make(x), self.heads) for make in (self.q, self.k, self.v))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = self.norm1(x + drop(self.out(merge_heads(mixed))))
        return self.norm2(x + drop(self.down(F.gelu(self.up(x)))))


class Classifier(nn.Module):
    def __init__(self, run, labels):
        super().__init__()
        m = run.model
        c, self.dropout = m["hidden_size"], m["dropout"]
        self.tokens, self.types, self.positions = (
            nn.Embedding(run.vocab, c),
            nn.Embedding(2, c),
            nn.Embedding(m["context_length"], c),
        )
        self.norm = nn.LayerNorm(c, eps=1e-12)
        self.layers = nn.ModuleList(
            Layer(c, m["heads"], m["intermediate_size"], m["dropout"]) for _ in range(m["layers"])
        )
        self.pooler, self.classes = nn.Linear(c, c), nn.Linear(c, labels)
        # The first values of limpid (docs/maths.md).
        for name, p in self.named_parameters():
            if name == "positions.weight":
                p.data.copy_(sinusoids(m["context_length"], c) * 0.02 * math.sqrt(2))
            elif name in ("tokens.weight", "types.weight", "classes.weight"):
                nn.init.normal_(p, std=0.02)
            elif p.dim() >= 2:
                nn.init.xavier_uniform_(p)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def logits(self, ids, mask):
        x = self.norm(
            self.tokens(ids) + self.types.weight[0] + self.positions.weight[: ids.shape[1]]
        )
        x = F.dropout(x, self.dropout, self.training)
        for layer in self.layers:
            x = layer(x, mask[:, None, None, :])
        pooled = torch.tanh(self.pooler(x[:, 0]))
        return self.classes(F.dropout(pooled, self.dropout, self.training))

    def forward(self, ids, mask, labels):
        return F.cross_entropy(self.logits(ids, mask), labels)


def read(path):
    pairs = [line.split(" ", 1) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    return [text for _, text in pairs], [label for label, _ in pairs]


def padded(sequences):
    longest = max(map(len, sequences))
    ids = torch.tensor([s + [0] * (longest - len(s)) for s in sequences])
    return ids, torch.tensor([[True] * len(s) + [False] * (longest - len(s)) for s in sequences])


def measure(model, texts, labels):
    """Mean loss and accuracy."""
    model.eval()
    loss, right = 0.0, 0
    with torch.no_grad():
        for at in range(0, len(texts), TEXTS):
            logits, wanted = model.logits(*padded(texts[at : at + TEXTS])), torch.tensor(
                labels[at : at + TEXTS]
            )
            loss += F.cross_entropy(logits, wanted, reduction="sum").item()
            right += (logits.argmax(-1) == wanted).sum().item()
    model.train()
    return loss / len(texts), right / len(texts)


def transformer(run, args, data, names):
    cls, sep = run.tokenizer.token_to_id("[CLS]"), run.tokenizer.token_to_id("[SEP]")
    inner = run.model["context_length"] - 2
    data = [
        (
            [[cls, *ids[:inner], sep] for ids in run.encode(texts)],
            [names.index(label) for label in labels],
        )
        for texts, labels in data
    ]
    (train, wanted), validation, test = data
    size = max(1, round(run.train["batch_tokens"] * len(train) / sum(map(len, train))))
    rng = random.Random(args.seed)
    model = Classifier(run, len(names))
    trainer = twin.Trainer(model, run)
    epochs = run.train["epochs"]
    steps = args.steps or epochs * math.ceil(len(train) / size)
    best, kept, done = math.inf, None, 0
    while done < steps:
        order = list(range(len(train)))
        rng.shuffle(order)
        order.sort(key=lambda i: len(train[i]))
        batches = [order[at : at + size] for at in range(0, len(order), size)]
        rng.shuffle(batches)
        for batch in batches[: steps - done]:
            trainer.step(
                steps, *padded([train[i] for i in batch]), torch.tensor([wanted[i] for i in batch])
            )
            done += 1
            if done % run.train["validate_every"] == 0 or done == steps:
                loss, _ = measure(model, *validation)
                if loss < best:
                    best, kept = loss, copy.deepcopy(model.state_dict())
    model.load_state_dict(kept)
    accuracies = [measure(model, *part)[1] for part in (validation, test)]
    return {
        "seconds": trainer.seconds,
        "steps": steps,
        "parameters": sum(p.numel() for p in model.parameters()),
        "accuracies": accuracies,
    }


def bag_of_words(data, names):
    def features(text):
        words = text.lower().split()
        return {*words, *zip(words, words[1:])}

    known = {}
    for text in data[0][0]:
        for feature in features(text):
            known.setdefault(feature, len(known))

    def matrix(texts):
        found = [
            (row, known[f]) for row, text in enumerate(texts) for f in features(text) if f in known
        ]
        rows, columns = zip(*found)
        return torch.sparse_coo_tensor(
            [rows, columns], torch.ones(len(found)), (len(texts), len(known))
        ).to_sparse_csr()

    parts = [
        (matrix(texts), torch.tensor([names.index(label) for label in labels]))
        for texts, labels in data
    ]
    accuracy = lambda w, b, part: ((part[0] @ w + b).argmax(-1) == part[1]).float().mean().item()
    best = None
    for penalty in PENALTIES:
        w = torch.zeros(len(known), len(names), requires_grad=True)
        b = torch.zeros(len(names), requires_grad=True)
        optimizer = torch.optim.LBFGS([w, b], max_iter=200, line_search_fn="strong_wolfe")

        def closure():
            optimizer.zero_grad()
            loss = F.cross_entropy(parts[0][0] @ w + b, parts[0][1]) + penalty * w.square().sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        with torch.no_grad():
            found = [accuracy(w, b, part) for part in parts[1:]]
        if best is None or found[0] > best[1][0]:
            best = penalty, found
    return {"features": len(known), "penalty": best[0], "accuracies": best[1]}


def main():
    parser = twin.arguments(__doc__)
    parser.add_argument("--test", type=Path, required=True)
    parser.add_argument(
        "--bag-of-words", action="store_true", help="logistic regression instead of the twin"
    )
    args = parser.parse_args()
    run = twin.Run(args.run)
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    data = [read(path) for path in (*run.data["text"], *run.data["validation_text"], args.test)]
    names = sorted(set(data[0][1]))
    found = bag_of_words(data, names) if args.bag_of_words else transformer(run, args, data, names)
    validation, test = found.pop("accuracies")
    twin.say(validation_accuracy=validation, test_accuracy=test, **found, seed=args.seed)


if __name__ == "__main__":
    main()
