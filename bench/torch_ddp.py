#!/usr/bin/env python3
"""One process of a PyTorch training with DistributedDataParallel on gloo: the model S, its batch
divided between the processes. Started by mpirun, which gives each its number. Rank 0 prints one
line of JSON."""

import os
import statistics
import sys
import time

import torch
import torch.distributed as dist

import protocol
import torch_models


def main():
    rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
    size = int(os.environ["OMPI_COMM_WORLD_SIZE"])
    port, seconds = sys.argv[1], float(sys.argv[2])
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size
    )
    shape = torch_models.SHAPES["S"]
    model, batch = torch_models.make(shape)
    model = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    share = shape.batch // size
    batch = [part[rank * share : (rank + 1) * share] for part in batch]
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-5, betas=(0.9, 0.98), weight_decay=0.1, fused=True
    )

    def step():
        loss = model(*batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    for _ in range(3):
        step()
    times, end, stop = [], time.perf_counter() + seconds, torch.zeros(1)
    while not stop.item():
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
        # All stop at the same step; not timed.
        stop.fill_(float(rank == 0 and time.perf_counter() >= end))
        dist.broadcast(stop, 0)
    if rank == 0:
        median = statistics.median(times)
        tokens = shape.batch * shape.context
        protocol.answer({"tokens_per_second": tokens / median, "steps": len(times)})
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
