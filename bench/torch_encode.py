#!/usr/bin/env python3
"""Times an encoder stack over a batch in PyTorch, eager with fused attention, when told to
(protocol.py)."""

import argparse

import torch

import protocol
import torch_encoder


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "job", choices=["encode", "encode-mixed"], help="32 x 128 tokens, or 8 to 128 padded to 128"
    )
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    own_mb = protocol.memory_mb("VmRSS")
    torch.manual_seed(0)
    model = torch_encoder.Encoder().eval()
    forward = torch.compile(model) if args.compile else model
    ids, mask = torch_encoder.make_batch(args.job)

    def step():
        with torch.inference_mode():
            forward(ids, mask)

    for _ in range(3):
        step()
    about = {
        "parameters": torch_encoder.parameter_count(model),
        "version": f"torch {torch.__version__}",
    }
    protocol.serve(step, {**about, "threads": args.threads, "own_mb": own_mb})


if __name__ == "__main__":
    main()
