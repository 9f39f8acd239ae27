#!/usr/bin/env python3
"""Times PyTorch on GPT-2 small with random weights when told to (protocol.py): a token of one or
several streams after a prompt of 16, or a prompt alone. Keys and values lie in a cache of fixed
size, the LM head sees last positions only, and the most likely token is the next; int8 is
`quantize_dynamic` over all linear layers, the LM head included."""

import argparse
import warnings

import torch
import torch.nn.functional as F
from torch import nn

import protocol

LAYERS, HEADS, WIDTH, CONTEXT, VOCABULARY = 12, 12, 768, 1024, 50257
PROMPT, TOKENS = 16, 64


class Layer(nn.Module):
    def __init__(self, streams, context):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.cache = torch.zeros(2, streams, HEADS, context, WIDTH // HEADS)

    def forward(self, x, at):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norms[0](x)).view(b, t, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        self.cache[0, :b, :, at : at + t] = k
        self.cache[1, :b, :, at : at + t] = v
        k, v = self.cache[:, :b, :, : at + t]
        z = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
        x = x + self.out(z.transpose(1, 2).reshape(b, t, WIDTH))
        return x + self.down(F.gelu(self.up(self.norms[1](x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, streams, context):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.layers = nn.ModuleList(Layer(streams, context) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids, at):
        x = self.tokens(ids) + self.positions(torch.arange(at, at + ids.shape[1]))
        for layer in self.layers:
            x = layer(x, at)
        return self.head(self.norm(x[:, -1])).argmax(-1, keepdim=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--prompt", type=int, default=0, help="a prompt of N tokens alone")
    parser.add_argument("--compute-type", default="float32", choices=["float32", "int8"])
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    own_mb = protocol.memory_mb("VmRSS")
    model = Gpt(args.streams, max(args.prompt, PROMPT + TOKENS)).eval()
    parameters = sum(p.numel() for p in model.parameters()) - VOCABULARY * WIDTH
    if args.compute_type == "int8":
        warnings.simplefilter("ignore")
        model = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
    ids = torch.randint(VOCABULARY, (args.streams, max(args.prompt, PROMPT)))
    state = {"at": PROMPT + TOKENS}

    @torch.inference_mode()
    def step():
        if args.prompt:
            model(ids[:1], 0)
            return
        if state["at"] >= PROMPT + TOKENS:
            # One slow step of 65: the median does not see it.
            state.update(at=PROMPT, next=model(ids, 0))
        state["next"] = model(state["next"], state["at"])
        state["at"] += 1

    for _ in range(3):
        step()
    about = {"parameters": parameters, "version": f"torch {torch.__version__}"}
    protocol.serve(step, {**about, "threads": args.threads, "own_mb": own_mb})


if __name__ == "__main__":
    main()
