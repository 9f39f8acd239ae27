"""The protocol of side-by-side runs, for the contenders written in Python (docs/formats.md). One
line each way:

(start)     {"ready": true, "parameters": 809856, "version": "torch 2.15.0", "threads": 2, "own_mb":
210.5} run 2.0     {"step_ms": [50.1, 49.8, …], "loss": 4.1}     for two seconds, at least one step
quit        (ends)"""

import json
import sys
import time
from pathlib import Path


def memory_mb(key):
    """A size of this process as Linux tells it: VmRSS now, VmHWM the largest so far."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / 1024
    return None


def run(step, seconds):
    """Step times in milliseconds and what the last step returned; steps until the time is up, at
    least one."""
    times, end = [], time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        result = step()
        now = time.perf_counter()
        times.append(1e3 * (now - start))
        if now >= end:
            return times, result


def answer(value):
    print(json.dumps(value), flush=True)


def serve(step, about):
    """Answers until told to quit. `step` is warm, and returns its loss or None."""
    answer({"ready": True, **about})
    for line in sys.stdin:
        words = line.split()
        if words == ["quit"]:
            return
        if len(words) != 2 or words[0] != "run":
            sys.exit(f"error: found {line.strip()!r}, expected: run SECONDS, or quit")
        times, loss = run(step, float(words[1]))
        times = {"step_ms": [round(ms, 4) for ms in times]}
        answer(times if loss is None else {**times, "loss": loss})
