#!/usr/bin/env python3
"""The PyTorch twin of a run of `limpid train gpt`: the same model, tokens and settings, evaluated
alike.

    bench/twin_gpt.py runs/nano --seed 1 --threads 2

Prints one line of JSON: validation loss over the whole kept part (windows of the context, every
token but the first predicted once), parameters, and seconds of training without validation. Run it
with a Python that has torch and tokenizers."""

import math
from pathlib import Path

import torch
import twin
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, c, heads, ffn, bias, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm1, self.norm2 = nn.LayerNorm(c, bias=bias), nn.LayerNorm(c, bias=bias)
        self.qkv, self.out = nn.Linear(c, 3 * c, bias=bias), nn.Linear(c, c, bias=bias)
        self.up, self.down = nn.Linear(c, ffn, bias=bias), nn.Linear(ffn, c, bias=bias)

    def drop(self, x):
        return F.dropout(x, self.dropout, self.training)

    def forward(self, x, gelu):
        b, t, c = x.shape
        parts = self.qkv(self.norm1(x)).split(c, dim=2)
        q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.out(mixed.transpose(1, 2).reshape(b, t, c)))
        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)), approximate=gelu)))


class Gpt(nn.Module):
    def __init__(self, vocab, layers, heads, width, ffn, context, bias, dropout, gelu):
        super().__init__()
        self.gelu, self.dropout = gelu, dropout
        self.tokens, self.positions = nn.Embedding(vocab, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, ffn, bias, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width, bias=bias)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.normal_(
                    p,
                    0.0,
                    (
                        0.02 / math.sqrt(2 * layers)
                        if name.endswith(("out.weight", "down.weight"))
                        else 0.02
                    ),
                )
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def forward(self, ids, targets, reduction="mean"):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        x = F.dropout(x, self.dropout, self.training)
        for block in self.blocks:
            x = block(x, self.gelu)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction=reduction)


def build(run):
    m = run.model
    gelu = {"gelu": "none", "gelu_new": "tanh"}[m.get("activation", "gelu_new")]
    ffn = m["intermediate_size"]
    return Gpt(
        run.vocab,
        m["layers"],
        m["heads"],
        m["hidden_size"],
        ffn,
        m["context_length"],
        m["bias"],
        m["dropout"],
        gelu,
    )


def validate(model, ids, context):
    total, count = 0.0, 0
    model.eval()
    with torch.no_grad():
        for start in range(0, len(ids) - 1, context):
            window = ids[start : start + context + 1]
            total += model(window[None, :-1], window[None, 1:], "sum").item()
            count += len(window) - 1
    return total / count


def main():
    args = twin.arguments(__doc__).parse_args()
    run = twin.Run(args.run)
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    text = "".join(Path(name).read_text(encoding="utf-8") for name in run.data["text"])
    ids = torch.tensor(run.encode([text])[0])
    kept = round(len(ids) * run.data["validation_split"])
    train, validation = ids[:-kept], ids[-kept:]
    context, steps = run.model["context_length"], args.steps or run.train["steps"]
    model = build(run)
    trainer = twin.Trainer(model, run)
    for _ in range(steps):
        starts = torch.randint(len(train) - context, (run.train["batch_size"],))
        windows = torch.stack([train[s : s + context + 1] for s in starts])
        trainer.step(steps, windows[:, :-1], windows[:, 1:])
    trainer.use_average()
    parameters = sum(p.numel() for p in model.parameters())
    loss = validate(model, validation, context)
    twin.say(loss=loss, seconds=trainer.seconds, steps=steps, parameters=parameters, seed=args.seed)


if __name__ == "__main__":
    main()
