#!/usr/bin/env python3
"""Times one training step in PyTorch: forward, cross-entropy, backward, AdamW, zero_grad.

Prints one line of JSON. With --interactive it times when told to, so that a driver can alternate between
programs without paying for their start. The protocol, one line each way:

    (start)     {"ready": true, "model": "T", …}     after warming up
    run 2.0     {"step_ms": [50.1, 49.8, …], "loss": 4.1}     steps for two seconds, at least one
    quit        (ends)
"""

import argparse
import json
import resource
import statistics
import sys
import time

import torch

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


def run(step, seconds):
    """Step times in milliseconds and the last loss; steps until the time is up, at least one."""
    times, end = [], time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        loss = step()
        now = time.perf_counter()
        times.append(1e3 * (now - start))
        if now >= end:
            return times, loss


def warm_up(step):
    """The first steps allocate, and compile where that was asked for."""
    for _ in range(3):
        step()


def answer(value):
    print(json.dumps(value), flush=True)


def interactive(step, about):
    answer({"ready": True, **about})
    for line in sys.stdin:
        words = line.split()
        if words == ["quit"]:
            return
        if len(words) != 2 or words[0] != "run":
            print(f"found {line.strip()!r}, expected: run SECONDS, or quit", file=sys.stderr)
            sys.exit(2)
        times, loss = run(step, float(words[1]))
        answer({"step_ms": [round(ms, 4) for ms in times], "loss": loss})


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
    step, parameters = make_step(args.model, args.mode)
    warm_up(step)
    about = {"model": args.model, "mode": args.mode, "threads": args.threads, "parameters": parameters}
    about["version"] = f"torch {torch.__version__}"
    if args.interactive:
        return interactive(step, about)
    times, loss = run(step, args.seconds)
    peak_rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # Linux counts in KiB
    answer(
        {
            "model": args.model,
            "mode": args.mode,
            "threads": args.threads,
            "median_ms": round(statistics.median(times), 3),
            "best_ms": round(min(times), 3),
            "steps": len(times),
            "loss": round(loss, 5),
            "parameters": parameters,
            "peak_rss_mb": round(peak_rss_mb),
            "torch": torch.__version__,
        }
    )


if __name__ == "__main__":
    main()
