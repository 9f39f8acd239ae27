#!/usr/bin/env python3
"""Times one training step in PyTorch: forward, cross-entropy, backward, AdamW, zero_grad.

Prints one line of JSON. With --interactive it times when told to (protocol.py), so that a driver
can alternate between programs without paying for their start."""

import argparse
import dataclasses
import statistics

import torch

import protocol
import torch_models


def make_step(shape, mode):
    """A function that runs one step and returns its loss, and the number of parameters."""
    model, batch = torch_models.make(shape)
    # Fused: one pass over memory. So slow a rate because the batch never changes: a model that
    # knows it by heart has gradients near zero, and arithmetic on denormal numbers takes another
    # time.
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-5, betas=(0.9, 0.98), weight_decay=0.1, fused=True
    )
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "model",
        choices=[*torch_models.SHAPES, "gpt"],
        help="gpt: S, except where a flag says otherwise",
    )
    for size in dataclasses.fields(torch_models.GptShape):
        parser.add_argument(f"--{size.name}", type=int, metavar="N", help="of gpt")
    parser.add_argument(
        "--compile", action="store_const", const="compile", default="eager", dest="mode"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--interactive", action="store_true")
    args = parser.parse_args()
    flags = {
        size.name: getattr(args, size.name) for size in dataclasses.fields(torch_models.GptShape)
    }
    given = {name: value for name, value in flags.items() if value is not None}
    if given and args.model != "gpt":
        parser.error(f"--{next(iter(given))} is for gpt; {args.model} has its own shape")
    if any(value < 1 for value in given.values()):
        parser.error("sizes are at least 1")
    if args.model == "gpt":
        args.shape = dataclasses.replace(torch_models.SHAPES["S"], **given)
    else:
        args.shape = torch_models.SHAPES[args.model]
    return args


def main():
    args = parse_args()
    torch.set_num_threads(args.threads)
    own_mb = protocol.memory_mb("VmRSS")
    step, parameters = make_step(args.shape, args.mode)
    warm_up(step)
    about = {
        "model": args.model,
        "mode": args.mode,
        "threads": args.threads,
        "parameters": parameters,
    }
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
