#!/usr/bin/env python3
"""Writes the encoder stack as ONNX, plain and fused, with a batch and PyTorch's answer to it. A
program of its own, so that PyTorch does not count as memory of onnxruntime.

    ort_export.py encode FOLDER      plain.onnx, fused.onnx (where the optimizer can), batch.npz
"""

import sys
from pathlib import Path

import numpy as np
import onnx
import torch

import torch_encoder


def export(model, batch, path):
    # The older of PyTorch's two exporters: onnxruntime's optimizer knows the graphs it writes.
    names = ["ids", "mask"][: len(batch)]
    torch.onnx.export(
        model, batch, str(path), input_names=names, output_names=["output"], dynamo=False
    )


def fuse(plain, fused):
    """Attention, GELU, embedding and layer norms as single operations; says on standard error what
    was found."""
    from onnxruntime.transformers import optimizer

    model = optimizer.optimize_model(
        str(plain),
        model_type="bert",
        num_heads=torch_encoder.HEADS,
        hidden_size=torch_encoder.WIDTH,
        opt_level=0,
        use_gpu=False,
    )
    model.save_model_to_file(str(fused))
    counts = {name: count for name, count in model.get_fused_operator_statistics().items() if count}
    print(f"fused: {counts}", file=sys.stderr)


def main():
    job, folder = sys.argv[1], Path(sys.argv[2])
    torch.manual_seed(0)
    reference = torch_encoder.Encoder().eval()
    ids, mask = torch_encoder.make_batch(job)
    batch = (ids,) if mask is None else (ids, mask)
    with torch.inference_mode():
        expected = reference(*batch).numpy()
        model = torch_encoder.export_encoder(reference).eval()
        gap = np.abs(model(*batch).numpy() - expected).max()
        assert gap < 1e-4, f"the two ways to write the encoder differ by {gap}"
        export(model, batch, folder / "plain.onnx")
    onnx.checker.check_model(str(folder / "plain.onnx"))
    try:
        fuse(folder / "plain.onnx", folder / "fused.onnx")
    except Exception as error:  # of a tool that is only asked to make it faster
        print(
            f"onnxruntime's optimizer failed: {error!r}; the plain graph is used", file=sys.stderr
        )
    arrays = dict(zip(["ids", "mask"], (part.numpy() for part in batch)))
    parameters = np.array(torch_encoder.parameter_count(model))
    np.savez(folder / "batch.npz", expected=expected, parameters=parameters, **arrays)


if __name__ == "__main__":
    main()
