#!/usr/bin/env python3
"""Times onnxruntime on sentence embeddings of the lines of a file when told to (protocol.py).

The encoder is exported from transformers; mean pooling and normalization follow. Tokenization is
part of the time, as it is for Limpid; loading is not. Batches are padded to their longest text, in
the order of the file or sorted by length."""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import torch
import transformers
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer

import protocol


def export(folder, to):
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    ids = torch.ones(2, 8, dtype=torch.int64)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    torch.onnx.export(
        model,
        (ids, ids, 0 * ids),
        str(to),
        input_names=names,
        output_names=["hidden"],
        dynamic_axes={name: {0: "batch", 1: "length"} for name in [*names, "hidden"]},
        dynamo=False,
    )
    return sum(p.numel() for p in model.parameters())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--one-by-one", action="store_true")
    parser.add_argument("--sorted", action="store_true")
    parser.add_argument("--compute-type", default="float32", choices=["float32", "int8"])
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    own_mb = protocol.memory_mb("VmRSS")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        parameters = export(args.model, path)
        if args.compute_type == "int8":
            quantize_dynamic(path, path.with_name("int8.onnx"), weight_type=QuantType.QInt8)
            path = path.with_name("int8.onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = args.threads
        options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(path), options)
    tokenizer = Tokenizer.from_file(str(args.model / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.enable_padding()
    texts = args.texts.read_text().splitlines()[: args.lines]

    def embed(texts):
        encoded = tokenizer.encode_batch(texts)
        inputs = {
            "input_ids": np.array([e.ids for e in encoded]),
            "attention_mask": np.array([e.attention_mask for e in encoded]),
            "token_type_ids": np.array([e.type_ids for e in encoded]),
        }
        hidden = session.run(None, inputs)[0]
        mask = inputs["attention_mask"][..., None].astype(np.float32)
        mean = (hidden * mask).sum(1) / mask.sum(1)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def step():
        if args.one_by_one:
            return embed([texts[np.random.randint(len(texts))]]) is None or None
        order = sorted(texts, key=len) if args.sorted else texts
        for first in range(0, len(order), args.batch):
            embed(order[first : first + args.batch])

    step()
    version = f"onnxruntime {onnxruntime.__version__}"
    about = {"parameters": parameters, "version": version, "threads": args.threads}
    protocol.serve(step, {**about, "own_mb": own_mb})


if __name__ == "__main__":
    main()
