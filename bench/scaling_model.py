#!/usr/bin/env python3
"""A model on paper of a data-parallel step, from a measured step of one rank (docs/scaling.md).

step = compute + update / W + 2 (W - 1) / W * bytes / bandwidth + adding + messages * latency

Prints tables for 8, 64 and 512 nodes on 10 and 100 Gbit/s."""

import argparse
import math

LATENCY = 30e-6  # of a message over TCP, both ends included
WIRE = 0.94  # of the nominal bandwidth that TCP gives as payload
ADDING = 3e9  # bytes of f32 per second that one core adds to others in memory


def step(nodes, compute, update, gradient_bytes, gbits, wire_bytes_per_f32=4):
    """Seconds of a step: in all, and of them sending."""
    share = (nodes - 1) / nodes
    payload = gradient_bytes * wire_bytes_per_f32 / 4
    sending = 2 * share * payload / (gbits * 1e9 / 8 * WIRE)
    # Chunks of 1 MB, and the rounds of small messages.
    rounds = 2 * share * payload / (1 << 20) + 4 * math.log2(max(nodes, 2))
    adding = share * gradient_bytes / ADDING
    waiting = sending + adding + rounds * LATENCY if nodes > 1 else 0.0
    return compute + update / nodes + waiting, waiting


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", default="S", help="of the model, for the title")
    parser.add_argument("--compute", type=float, required=True, help="s per step of a rank")
    parser.add_argument("--update", type=float, required=True, help="s of AdamW on all weights")
    parser.add_argument("--parameters", type=float, required=True)
    parser.add_argument("--gbits", type=float, nargs="+", default=[10, 100])
    parser.add_argument("--nodes", type=int, nargs="+", default=[8, 64, 512])
    args = parser.parse_args()
    size = 4 * args.parameters
    alone = args.compute + args.update
    print(f"{args.name}: {size / 1e6:.0f} MB of gradients, {alone:.3f} s per step of one node")
    print("| nodes | Gbit/s | s per step | of it waiting | efficiency | 4 passes | bf16 sums |")
    print("|---|---|---|---|---|---|---|")
    for gbits in args.gbits:
        for nodes in args.nodes:
            time, waiting = step(nodes, args.compute, args.update, size, gbits)
            # What would come next: fewer steps of more passes; half the bytes.
            four, _ = step(nodes, 4 * args.compute, args.update, size, gbits)
            half, _ = step(nodes, args.compute, args.update, size, gbits, 2)
            cells = [nodes, f"{gbits:g}", f"{time:.3f}", f"{waiting:.3f}", f"{alone / time:.0%}"]
            cells += [f"{(4 * args.compute + args.update) / four:.0%}", f"{alone / half:.0%}"]
            print("| " + " | ".join(map(str, cells)) + " |")


if __name__ == "__main__":
    main()
