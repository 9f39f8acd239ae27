"""Adapters that limpid has trained, opened by PEFT on their base in `transformers`: the same logits
from both, and from the model into which limpid has merged them."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from peft import PeftModel
from transformers import (
    BertForSequenceClassification,
    GPT2LMHeadModel,
    MarianMTModel,
)
from transformers.utils import logging

TOLERANCE = 1e-5  # of the largest logit
WORDS = "the a cat dog bird sat ran sang on under near mat tree wall".split()
IDS, SOURCE = [5, 9, 3, 11, 4, 7], [6, 8, 12, 3, 5, 2]


def lines(count):
    word = lambda i, j: WORDS[(i * 7 + j * j * 3 + i // 5) % len(WORDS)]
    return [" ".join(word(i, j) for j in range(7)) for i in range(count)]


def run(limpid, *words):
    answer = subprocess.run([limpid, *map(str, words)], capture_output=True, text=True)
    if answer.returncode:
        raise SystemExit(f"limpid {' '.join(map(str, words))}:\n{answer.stderr}")
    return answer.stdout


def train(limpid, task, out, data, settings):
    flags = [word for setting in settings for word in ("--set", setting)]
    run(limpid, "train", task, *data, "--out", out, *flags)
    return out / "model"


SMALL = [
    "model.layers=2",
    "model.heads=2",
    "model.hidden_size=32",
    "model.context_length=24",
    "train.steps=30",
    "train.lr=0.003",
]
LORA = ["lora.rank=3", "lora.alpha=12", "train.steps=30", "train.lr=0.01"]


def limpid_logits(limpid, folder, *more):
    ids = ["--ids", ",".join(map(str, IDS)), *more, "--json"]
    return torch.tensor(json.loads(run(limpid, "logits", folder, *ids))["logits"])


def error(found, wanted):
    return ((found - wanted.reshape(found.shape)).abs().max() / wanted.abs().max()).item()


def compare(limpid, name, base, adapter, theirs, inputs, *more):
    """Of the adapter in limpid, in PEFT, and merged by limpid."""
    plain = theirs(base)
    with torch.no_grad():
        before = plain(**inputs).logits
        wanted = PeftModel.from_pretrained(plain, adapter).eval()(**inputs).logits
    merged = adapter.parent / "merged"
    run(limpid, "merge", base, adapter, "--out", merged)
    with torch.no_grad():
        opened = theirs(merged)(**inputs).logits
    found = limpid_logits(limpid, adapter, *more)
    errors = {"in PEFT": error(found, wanted), "merged": error(found, opened)}
    learned = error(before, wanted)
    is_ok = max(errors.values()) <= TOLERANCE and learned > 1e-3
    shown = ", ".join(f"{what} {value:.1e}" for what, value in errors.items())
    print(f"{'ok' if is_ok else 'FAILED':6} {name}: {shown} (the adapter changes {learned:.1e})")
    return is_ok


def language_model(limpid, folder):
    data = ["--data", folder / "text.txt"]
    base = train(limpid, "gpt", folder / "gpt", data, SMALL)
    settings = [*LORA, 'lora.targets=["c_attn", "c_fc"]', "lora.rslora=true"]
    adapter = train(limpid, "gpt", folder / "gpt-lora", [*data, "--from", base], settings)
    theirs = lambda path: GPT2LMHeadModel.from_pretrained(path).eval()
    inputs = {"input_ids": torch.tensor([IDS])}
    return compare(limpid, "limpid train gpt, c_attn and c_fc", base, adapter, theirs, inputs)


def classifier(limpid, folder):
    """Its head is new: PEFT has it in modules_to_save."""
    base = train(limpid, "bert", folder / "bert", ["--data", folder / "text.txt"], SMALL)
    data = ["--data", folder / "table.tsv", "--from", base]
    settings = [*LORA, 'lora.targets=["query", "value"]']
    adapter = train(limpid, "classify", folder / "classify-lora", data, settings)
    load = BertForSequenceClassification.from_pretrained
    inputs = {"input_ids": torch.tensor([IDS])}
    name = "limpid train classify, query and value, a new head"
    return compare(limpid, name, base, adapter, lambda path: load(path).eval(), inputs)


def translator(limpid, folder):
    data = ["--source", folder / "text.txt", "--target", folder / "upper.txt"]
    base = train(limpid, "translate", folder / "translate", data, SMALL)
    settings = [*LORA, "score.max_sentences=2"]
    adapter = train(limpid, "translate", folder / "mt-lora", [*data, "--from", base], settings)
    theirs = lambda path: MarianMTModel.from_pretrained(path).eval()
    inputs = {"input_ids": torch.tensor([SOURCE]), "decoder_input_ids": torch.tensor([IDS])}
    more = ["--source-ids", ",".join(map(str, SOURCE))]
    name = "limpid train translate, all-linear"
    return compare(limpid, name, base, adapter, theirs, inputs, *more)


def main():
    limpid = os.environ.get("LIMPID", "target/release/limpid")
    if not os.access(limpid, os.X_OK):
        print(f"skipped: there is no {limpid}")
        return
    limpid = os.path.abspath(limpid)
    torch.set_num_threads(1)
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as folder:
        folder, text = Path(folder), lines(300)
        (folder / "text.txt").write_text("\n".join(text) + "\n")
        (folder / "upper.txt").write_text("\n".join(text).upper() + "\n")
        table = [f"{line}\t{'cat' if 'cat' in line else 'none'}" for line in text]
        (folder / "table.tsv").write_text("\n".join(["text\tlabel", *table]) + "\n")
        checks = [language_model, classifier, translator]
        results = [check(limpid, folder) for check in checks]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
