"""Compares the logits of the limpid binary with the fixtures: `limpid logits MODEL --ids 1,2,3 --json`."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

FIXTURES = Path(__file__).parent / "fixtures"
TOLERANCE = 1e-5  # of the largest logit


def has_logits_command(limpid):
    if not os.access(limpid, os.X_OK):
        return False
    answer = subprocess.run([limpid, "help", "logits"], capture_output=True, text=True)
    # A binary that ignores its arguments also succeeds, in silence.
    return answer.returncode == 0 and "--ids" in answer.stdout


def limpid_logits(limpid, model, ids):
    command = [limpid, "logits", str(model), "--ids", ",".join(map(str, ids)), "--json"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return np.array(json.loads(answer.stdout)["logits"])


def compare(limpid, name):
    expected = load_file(FIXTURES / name / "expected.safetensors")
    sequences = np.split(expected["ids"], np.cumsum(expected["lengths"])[:-1])
    found = np.concatenate([limpid_logits(limpid, FIXTURES / name, ids) for ids in sequences])
    error = np.abs(found - expected["logits"]).max() / np.abs(expected["logits"]).max()
    print(f"{'ok' if error <= TOLERANCE else 'FAILED':6} limpid logits {name}: {error:.1e} of the largest logit")
    return error <= TOLERANCE


def compare_with_transformers(limpid):
    """A model trained by limpid, opened by transformers: the same logits."""
    import torch
    from transformers import MarianMTModel

    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        command = [limpid, "demo", "--steps", "20", "--out", str(model)]
        subprocess.run(command, capture_output=True, check=True)
        theirs = MarianMTModel.from_pretrained(model).eval()
        source, target = [5, 30, 12, 100, 7, 1], [0, 9, 44, 3, 210]
        with torch.no_grad():
            wanted = theirs(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target])).logits[0].numpy()
        ids = ["--ids", ",".join(map(str, target)), "--source-ids", ",".join(map(str, source))]
        answer = subprocess.run([limpid, "logits", str(model), *ids, "--json"], capture_output=True, text=True, check=True)
    found = np.array(json.loads(answer.stdout)["logits"])
    error = (np.abs(found - wanted).max(axis=1) / np.abs(wanted).max(axis=1)).max()
    print(f"{'ok' if error <= TOLERANCE else 'FAILED':6} limpid demo in MarianMTModel: {error:.1e} of the largest of a row")
    return error <= TOLERANCE


def main():
    limpid = os.environ["LIMPID"]
    if not has_logits_command(limpid):
        print("skipped: limpid logits (no such command, or no binary; LIMPID names another)")
        return 0
    results = [compare(limpid, name) for name in ["gpt2-tiny", "gpt2-untied", "gpt1-tiny"]]
    results.append(compare_with_transformers(limpid))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
