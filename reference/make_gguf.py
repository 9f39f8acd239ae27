#!/usr/bin/env python3
"""Writes a small GGUF file with the `gguf` package, or with --check compares the stored one with
what the package writes now: the test of our writer expects the same bytes."""

import sys
import tempfile
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize

FILE = Path(__file__).parent / "fixtures" / "gguf" / "small.gguf"


def write(path):
    writer = GGUFWriter(str(path), "test")
    writer.add_uint32("test.block_count", 3)
    writer.add_float32("test.eps", 0.5)
    writer.add_bool("test.causal", False)
    writer.add_string("test.name", "größe")
    writer.add_array("test.types", [1, -3])
    writer.add_array("test.scores", [0.25, -2.0])
    writer.add_array("test.tokens", ["a", "▁b", ""])
    numbers = lambda n: ((np.arange(n) * 37) % 101 - 50).astype(np.float32) / 8
    writer.add_tensor("plain.weight", numbers(6).reshape(2, 3))
    writer.add_tensor("half.weight", numbers(5).astype(np.float16))
    for name, kind in [("brain", GGMLQuantizationType.BF16), ("bytes", GGMLQuantizationType.Q8_0)]:
        stored = quantize(numbers(128).reshape(2, 64), kind)
        writer.add_tensor(f"{name}.weight", stored, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    if "--check" not in sys.argv[1:]:
        FILE.parent.mkdir(exist_ok=True)
        write(FILE)
        return
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / "small.gguf"
        write(fresh)
        same = fresh.read_bytes() == FILE.read_bytes()
        print(f"{'ok' if same else 'FAILED':6} gguf")
        sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
