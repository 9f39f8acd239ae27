#!/usr/bin/env python3
"""Times onnxruntime on sentence embeddings of the lines of a file when told to (protocol.py).

The encoder is exported from transformers; mean pooling and normalization follow. Tokenization is
part of the time, as it is for Limpid; loading is not. Batches are padded to their longest text, in
the order of the file or sorted by length. The faster of the plain graph and the one fused by
onnxruntime's transformer optimizer is used."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
import transformers
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer

import protocol


class Hidden(torch.nn.Module):
    """The encoder with its arguments by name: the exporter gives them by position."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
            use_cache=False,
            return_dict=False,
        )[0]


def export(folder, to):
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    ids = torch.ones(2, 8, dtype=torch.int64)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    torch.onnx.export(
        Hidden(model),
        (ids, ids, 0 * ids),
        str(to),
        input_names=names,
        output_names=["hidden"],
        dynamic_axes={name: {0: "batch", 1: "length"} for name in [*names, "hidden"]},
        dynamo=False,
    )
    return sum(p.numel() for p in model.parameters())


def fuse(plain, fused, folder):
    """Attention, GELU, embedding and layer norms as single operations."""
    from onnxruntime.transformers import optimizer

    config = transformers.AutoConfig.from_pretrained(folder)
    model = optimizer.optimize_model(
        str(plain),
        model_type="bert",
        num_heads=config.num_attention_heads,
        hidden_size=config.hidden_size,
        opt_level=0,
        use_gpu=False,
    )
    model.save_model_to_file(str(fused))
    counts = {name: n for name, n in model.get_fused_operator_statistics().items() if n}
    print(f"fused: {counts}", file=sys.stderr)


def open_session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options)


def faster(sessions, run):
    """The session of the shortest of five runs each."""
    best = {}
    for name, session in sessions.items():
        times = []
        for _ in range(5):
            start = time.perf_counter()
            run(session)
            times.append(time.perf_counter() - start)
        best[name] = min(times)
    print(f"seconds by graph: {best}", file=sys.stderr)
    return sessions[min(best, key=best.get)]


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
        plain = Path(folder) / "plain.onnx"
        parameters = export(args.model, plain)
        paths = {"plain": plain, "fused": plain.with_name("fused.onnx")}
        try:
            fuse(plain, paths["fused"], args.model)
        except Exception as error:  # of a tool that is only asked to make it faster
            print(f"the optimizer failed: {error!r}; the plain graph is used", file=sys.stderr)
            del paths["fused"]
        if args.compute_type == "int8":
            for name, path in paths.items():
                paths[name] = path.with_name(f"{name}-int8.onnx")
                # Fused operations have no shapes from which a type could be inferred.
                extra = {"DefaultTensorType": onnx.TensorProto.FLOAT}
                kind = QuantType.QInt8
                quantize_dynamic(path, paths[name], weight_type=kind, extra_options=extra)
        sessions = {name: open_session(path, args.threads) for name, path in paths.items()}
    tokenizer = Tokenizer.from_file(str(args.model / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.enable_padding()
    texts = args.texts.read_text().splitlines()[: args.lines]

    def embed(texts, session):
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
            return embed([texts[np.random.randint(len(texts))]], session) is None or None
        order = sorted(texts, key=len) if args.sorted else texts
        for first in range(0, len(order), args.batch):
            embed(order[first : first + args.batch], session)

    some = texts[: 1 if args.one_by_one else 64]
    session = faster(sessions, lambda session: embed(some, session))
    del sessions
    step()
    version = f"onnxruntime {onnxruntime.__version__}"
    about = {"parameters": parameters, "version": version, "threads": args.threads}
    protocol.serve(step, {**about, "own_mb": own_mb})


if __name__ == "__main__":
    main()
