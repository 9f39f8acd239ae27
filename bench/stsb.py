#!/usr/bin/env python3
"""Sentence vectors of a real BERT, ours and those of `transformers`, on sentence pairs that people
have rated.

    bench/stsb.py path/to/all-MiniLM-L6-v2 path/to/stsb-en-dev.csv

The CSV has two sentences and a rating a line. Both embed by the mean over tokens, normalized; the
cosine is compared with the rating by Spearman's rank correlation. Prints one line of JSON: both
correlations and the largest difference between two vectors' numbers. Run it with a Python that has
torch, transformers and numpy; LIMPID names another binary than target/release/limpid."""

import argparse
import csv
import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

ROOT = Path(__file__).resolve().parent.parent


def ours(model, texts):
    limpid = os.environ.get("LIMPID", ROOT / "target" / "release" / "limpid")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "vectors.npy"
        subprocess.run(
            [limpid, "embed", model, "--pool", "mean", "--out", out],
            input="\n".join(texts) + "\n",
            text=True,
            check=True,
        )
        return np.load(out)


@torch.no_grad()
def theirs(folder, texts):
    tokenizer, model = (
        AutoTokenizer.from_pretrained(folder),
        AutoModel.from_pretrained(folder).eval(),
    )
    found = []
    for at in range(0, len(texts), 64):
        batch = tokenizer(texts[at : at + 64], padding=True, return_tensors="pt")
        mask = batch["attention_mask"][..., None].float()
        mean = (model(**batch).last_hidden_state * mask).sum(1) / mask.sum(1)
        found.append(torch.nn.functional.normalize(mean, dim=1))
    return torch.cat(found).numpy()


def ranks(values):
    """Ranks from 1; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]


def spearman(a, b):
    return np.corrcoef(ranks(a), ranks(b))[0, 1]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("csv", type=Path)
    args = parser.parse_args()
    with args.csv.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    # A line break inside a sentence would be another line of standard input.
    texts = [" ".join(row[side].split()) for side in (0, 1) for row in rows]
    ratings = np.array([float(row[2]) for row in rows])
    vectors = {"limpid": ours(args.model, texts), "transformers": theirs(args.model, texts)}
    figures = {"pairs": len(rows)}
    for name, both in vectors.items():
        a, b = np.split(both, 2)
        figures[f"{name}_spearman"] = spearman((a * b).sum(1), ratings)
    figures["largest_difference"] = float(np.abs(vectors["limpid"] - vectors["transformers"]).max())
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
