#!/usr/bin/env python3
"""Times one training step in PyTorch: forward, cross-entropy, backward, AdamW, zero_grad.

Prints one line of JSON. With --interactive it times when told to (protocol.py), so that a driver can alternate
between programs without paying for their start.
"""

import argparse
import statistics

import torch

import protocol
import torch_models


def make_step(name, mode):
    """A function that runs one step and returns its loss, and the number of parameters."""
    model, batch = torch_models.make(name)
    # Fused: one pass over memory. So slow a rate because the batch never changes: a model that knows it by heart
    # has gradients near zero, and arithmetic on denormal numbers takes another time.
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, betas=(0.9, 0.98), weight_decay=0.1, fused=True)
    forward = torch.compile(model) if mode == "compile" else model

    def step():
        loss = forward(*batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return step, sum(p.numel() for p in model.parameters())


def warm_up(step):
    """The first steps allocate, and compile where that was asked for."""
    for _ in range(3):
        step()


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=torch_models.SHAPES)
    parser.add_argument("--compile", action="store_const", const="compile", default="eager", dest="mode")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--interactive", action="store_true")
    return parser.parse_args()


def main():
    args = parse_args()
    torch.set_num_threads(args.threads)
    own_mb = protocol.memory_mb("VmRSS")
    step, parameters = make_step(args.model, args.mode)
    warm_up(step)
    about = {"model": args.model, "mode": args.mode, "threads": args.threads, "parameters": parameters}
    about |= {"version": f"torch {torch.__version__}", "own_mb": own_mb}
    if args.interactive:
        return protocol.serve(step, about)
    times, loss = protocol.run(step, args.seconds)
    protocol.answer(
        {
            **about,
            "median_ms": round(statistics.median(times), 3),
            "best_ms": round(min(times), 3),
            "steps": len(times),
            "loss": round(loss, 5),
            "peak_rss_mb": round(protocol.memory_mb("VmHWM")),
        }
    )


if __name__ == "__main__":
    main()
