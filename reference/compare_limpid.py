"""Compares the logits of the limpid binary with the fixtures: `limpid logits MODEL --ids 1,2,3
--json`."""

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
    print(
        f"{'ok' if error <= TOLERANCE else 'FAILED':6} limpid logits {name}: {error:.1e} of the "
        f"largest logit"
    )
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
            wanted = (
                theirs(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target]))
                .logits[0]
                .numpy()
            )
        ids = ["--ids", ",".join(map(str, target)), "--source-ids", ",".join(map(str, source))]
        answer = subprocess.run(
            [limpid, "logits", str(model), *ids, "--json"],
            capture_output=True,
            text=True,
            check=True,
        )
    found = np.array(json.loads(answer.stdout)["logits"])
    error = (np.abs(found - wanted).max(axis=1) / np.abs(wanted).max(axis=1)).max()
    print(
        f"{'ok' if error <= TOLERANCE else 'FAILED':6} limpid demo in MarianMTModel: {error:.1e} "
        f"of the largest of a row"
    )
    return error <= TOLERANCE


def train_small(limpid, folder, task, data, *more):
    settings = [
        "model.layers=2",
        "model.heads=2",
        "model.hidden_size=32",
        "model.context_length=24",
        "train.steps=30",
        "train.lr=0.003",
    ]
    flags = [word for setting in settings for word in ("--set", setting)]
    out = folder / task
    command = [limpid, "train", task, "--data", str(data), "--out", str(out), *flags, *more]
    subprocess.run(command, capture_output=True, check=True)
    return out / "model"


def compare_encoders(limpid):
    """An encoder and a classifier trained by limpid, opened by transformers with their tokenizers:
    the same words and labels."""
    import torch
    from transformers import AutoTokenizer, BertForMaskedLM, BertForSequenceClassification

    words = "the a cat dog bird sat ran sang on under near mat tree wall".split()
    lines = [
        " ".join(words[(i * 7 + j * j * 3 + i // 5) % len(words)] for j in range(7))
        for i in range(300)
    ]
    errors = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "text.txt").write_text("\n".join(lines) + "\n")
        table = [f"{line}\t{'cat' if 'cat' in line else 'none'}" for line in lines]
        (folder / "table.tsv").write_text("\n".join(["text\tlabel", *table]) + "\n")

        model = train_small(limpid, folder, "bert", folder / "text.txt")
        tokenizer, theirs = (
            AutoTokenizer.from_pretrained(model),
            BertForMaskedLM.from_pretrained(model).eval(),
        )
        text = "the cat [MASK] on a [MASK]"
        batch = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            wanted = (
                theirs(**batch)
                .logits[0][batch.input_ids[0] == tokenizer.mask_token_id]
                .softmax(-1)
                .numpy()
            )
        command = [limpid, "fill-mask", str(model), text, "--top", "100000", "--json"]
        masks = json.loads(
            subprocess.run(command, capture_output=True, text=True, check=True).stdout
        )["masks"]
        found = [{word["id"]: word["probability"] for word in mask} for mask in masks]
        found = np.array([[mask[i] for i in range(wanted.shape[1])] for mask in found])
        errors["fill-mask in BertForMaskedLM"] = np.abs(found - wanted).max()

        model = train_small(limpid, folder, "classify", folder / "table.tsv")
        theirs = BertForSequenceClassification.from_pretrained(model).eval()
        tokenizer = AutoTokenizer.from_pretrained(model)
        labels = [theirs.config.id2label[i] for i in range(2)]
        for what, texts, flags in [
            ("classify", [(line,) for line in lines[:20]], []),
            ("classify --pair", list(zip(lines[:20:2], lines[1:20:2])), ["--pair"]),
        ]:
            # Two texts have token types, which the tokenizer must give unasked.
            with torch.no_grad():
                batch = tokenizer(*map(list, zip(*texts)), padding=True, return_tensors="pt")
                wanted = theirs(**batch).logits.softmax(-1).numpy()
            command = [
                limpid,
                "classify",
                str(model),
                *["\t".join(text) for text in texts],
                "--json",
                *flags,
            ]
            answers = subprocess.run(
                command, capture_output=True, text=True, check=True
            ).stdout.splitlines()
            found = np.array(
                [[json.loads(line)["probabilities"][label] for label in labels] for line in answers]
            )
            errors[f"{what} in BertForSequenceClassification"] = np.abs(found - wanted).max()
    for name, error in errors.items():
        print(
            f"{'ok' if error <= TOLERANCE else 'FAILED':6} limpid {name}: probabilities differ by "
            f"{error:.1e}"
        )
    return all(error <= TOLERANCE for error in errors.values())


def main():
    limpid = os.environ["LIMPID"]
    if not has_logits_command(limpid):
        print("skipped: limpid logits (no such command, or no binary; LIMPID names another)")
        return 0
    results = [compare(limpid, name) for name in ["gpt2-tiny", "gpt2-untied", "gpt1-tiny"]]
    results += [compare_with_transformers(limpid), compare_encoders(limpid)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
