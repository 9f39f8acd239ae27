#!/usr/bin/env python3
"""Times one training step of PyTorch's recurrent layers: forward, a weighted sum as the loss,
backward, AdamW, zero_grad.

    bench/torch_rnn_step.py gru --layers 2 --width 512 --batch 64 --length 24 --threads 2

The twin of `limpid bench step rnn`, with its flags. Prints one line of JSON; with --interactive it
times when told to (protocol.py); with --against LIMPID it starts that program beside itself, lets
the two take turns, and prints the medians and their ratio."""

import argparse
import json
import statistics
import subprocess

import torch
from torch import nn

import protocol

LAYERS = {"tanh": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


def make_step(args):
    """A function that runs one step and returns its loss, and the number of parameters."""
    torch.manual_seed(1)
    layers = LAYERS[args.cell](args.width, args.width, args.layers)
    lengths = [
        1 + i * args.length // args.batch if args.mixed else args.length for i in range(args.batch)
    ]
    x = torch.randn(args.length, args.batch, args.width)
    if args.mixed:
        x = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        weight = torch.randn(x.data.shape) / x.data.shape[0]
    else:
        weight = torch.randn(x.shape) / (args.length * args.batch)
    optimizer = torch.optim.AdamW(
        layers.parameters(), lr=1e-5, betas=(0.9, 0.999), weight_decay=0.01, fused=True
    )

    def step():
        y, _ = layers(x)
        loss = ((y.data if args.mixed else y) * weight).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return step, sum(p.numel() for p in layers.parameters())


def side_by_side(step, args):
    """Rounds of a second each, in turns: a disturbance meets both."""
    words = [
        args.against,
        "bench",
        "step",
        "rnn",
        "--cell",
        args.cell,
        "--threads",
        str(args.threads),
        "--interactive",
    ]
    for size in ["layers", "width", "batch", "length"]:
        words += [f"--{size}", str(getattr(args, size))]
    words += ["--mixed"] if args.mixed else []
    limpid = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    parameters = json.loads(limpid.stdout.readline())["parameters"]
    medians = {"limpid": [], "torch": []}
    for _ in range(args.rounds):
        limpid.stdin.write(f"run {args.seconds}\n")
        limpid.stdin.flush()
        medians["limpid"].append(statistics.median(json.loads(limpid.stdout.readline())["step_ms"]))
        medians["torch"].append(statistics.median(protocol.run(step, args.seconds)[0]))
    limpid.stdin.write("quit\n")
    limpid.stdin.flush()
    limpid.wait()
    ratios = [torch_ms / ours for ours, torch_ms in zip(medians["limpid"], medians["torch"])]
    found = {f"{name}_ms": round(statistics.median(times), 2) for name, times in medians.items()}
    spread = [round(min(ratios), 3), round(max(ratios), 3)]
    return {
        "parameters": parameters,
        **found,
        "ratio": round(statistics.median(ratios), 3),
        "ratios": spread,
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cell", choices=LAYERS)
    for size, usual in [
        ("layers", 2),
        ("width", 512),
        ("batch", 64),
        ("length", 24),
        ("threads", 2),
        ("rounds", 9),
    ]:
        parser.add_argument(f"--{size}", type=int, default=usual)
    parser.add_argument(
        "--mixed", action="store_true", help="sequences of 1 to --length tokens, packed"
    )
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--interactive", action="store_true")
    parser.add_argument("--against", metavar="LIMPID")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    own_mb = protocol.memory_mb("VmRSS")
    step, parameters = make_step(args)
    for _ in range(3):
        step()
    about = {"cell": args.cell, "threads": args.threads, "parameters": parameters}
    about |= {"version": f"torch {torch.__version__}", "own_mb": own_mb}
    if args.interactive:
        return protocol.serve(step, about)
    if args.against:
        return protocol.answer({**about, **side_by_side(step, args)})
    times, loss = protocol.run(step, args.seconds)
    protocol.answer(
        {
            **about,
            "median_ms": round(statistics.median(times), 3),
            "steps": len(times),
            "loss": loss,
        }
    )


if __name__ == "__main__":
    main()
