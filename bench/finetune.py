#!/usr/bin/env python3
"""Fine-tuning of a pretrained encoder as a classifier with `transformers`, and with `peft` where
the run trains adapters: the twin of a run of `limpid train classify --from MODEL`.

    bench/finetune.py runs/sst2-full --test test.tsv --seed 1 --threads 1
    bench/finetune.py runs/sst2-lora --against target/release/limpid --rounds 3 --steps 60

Model, data (`label-first`), adapters, optimizer and schedule are the run's own, but for the masks
of dropout and the order of the texts. Attention has no dropout, as limpid has none; SDPA and fused
AdamW. Batches hold as many texts as the run's do on average, padded to their longest: shuffled
texts (plain), or texts of about the same length together (by-length). The last weights are judged;
a run to compare with validates at its end only. Prints one line of JSON.

With --against the two take turns for some steps, and the seconds for a thousand texts are compared;
loading and tokenizing are not counted."""

import json
import math
import os
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import twin
from torch import nn
from torch.nn.functional import cross_entropy


class Classifier(nn.Module):
    """The pretrained model with a new head, all of it trained or adapters and head only."""

    def __init__(self, run, labels):
        super().__init__()
        from transformers import AutoModelForSequenceClassification

        model = AutoModelForSequenceClassification.from_pretrained(
            run.model["from"],
            num_labels=labels,
            hidden_dropout_prob=run.model["dropout"],
            attention_probs_dropout_prob=0.0,
            attn_implementation="sdpa",
        )
        lora = run.config.get("lora")
        if lora:
            from peft import LoraConfig, TaskType, get_peft_model

            targets = lora["targets"]
            config = LoraConfig(
                task_type=TaskType.SEQ_CLS,
                r=lora["rank"],
                lora_alpha=lora["alpha"],
                lora_dropout=lora["dropout"],
                use_rslora=lora["rslora"],
                target_modules="all-linear" if targets == ["all-linear"] else targets,
            )
            model = get_peft_model(model, config)
        self.inner = model

    def logits(self, ids, mask):
        return self.inner(input_ids=ids, attention_mask=mask).logits

    def forward(self, ids, mask, labels):
        return cross_entropy(self.logits(ids, mask), labels)


class Texts:
    """The tokens and labels of a file, special tokens included."""

    def __init__(self, run, path, names):
        lines = [line.split(" ", 1) for line in Path(path).read_text().splitlines() if line]
        longest, encode = run.model["context_length"], run.tokenizer.encode_batch
        self.ids = [found.ids for found in encode([text for _, text in lines])]
        too_long = [ids for ids in self.ids if len(ids) > longest]
        for ids in too_long:
            ids[longest - 1 :] = ids[-1:]
        self.labels = [names.index(label) for label, _ in lines]

    def batch(self, chosen):
        rows = [torch.tensor(self.ids[i]) for i in chosen]
        ids = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        lengths = torch.tensor([len(row) for row in rows])
        mask = (torch.arange(ids.shape[1]) < lengths[:, None]).long()
        return ids, mask, torch.tensor([self.labels[i] for i in chosen])

    def batches(self, rng, size, order):
        """One epoch. By length: of fifty shuffled batches at a time, as transformers groups."""
        chosen = list(range(len(self.ids)))
        rng.shuffle(chosen)
        if order == "by-length":
            span = 50 * size
            groups = (chosen[i : i + span] for i in range(0, len(chosen), span))
            by_length = lambda i: -len(self.ids[i])
            chosen = [i for group in groups for i in sorted(group, key=by_length)]
        batches = [chosen[i : i + size] for i in range(0, len(chosen), size)]
        if order == "by-length":
            rng.shuffle(batches)
        return batches


@torch.no_grad()
def accuracy(model, texts):
    model.eval()
    right = 0
    for first in range(0, len(texts.ids), 64):
        ids, mask, labels = texts.batch(range(first, min(first + 64, len(texts.ids))))
        right += (model.logits(ids, mask).argmax(-1) == labels).sum().item()
    model.train()
    return right / len(texts.ids)


def epochs_of(folder, run):
    """The epochs of a run, which its metrics know where it chose them by the size of the data."""
    if run.train["epochs"] != "auto":
        return run.train["epochs"]
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return math.ceil(max(line["epoch"] for line in lines if line["kind"] == "train"))


class Twin:
    def __init__(self, run, args):
        self.run, self.order = run, args.order
        path = run.data["text"][0]
        with open(path) as lines:
            self.names = sorted({line.split(" ", 1)[0] for line in lines})
        self.train = Texts(run, path, self.names)
        self.epochs = epochs_of(args.run, run)
        tokens = sum(map(len, self.train.ids))
        # As many texts as fit into the run's budget on average.
        self.size = round(run.train["batch_tokens"] * len(self.train.ids) / tokens)
        torch.manual_seed(args.seed)
        self.model = Classifier(run, len(self.names)).train()
        self.trainer = twin.Trainer(self.model, run)
        self.rng = random.Random(args.seed)

    def steps(self, count=None):
        """Runs all epochs, or this many steps: seconds, steps and texts."""
        batches = []
        for _ in range(self.epochs):
            batches += self.train.batches(self.rng, self.size, self.order)
        batches = batches[:count]
        begin = time.perf_counter()
        for batch in batches:
            self.trainer.step(len(batches), *self.train.batch(batch))
        return time.perf_counter() - begin, len(batches), sum(map(len, batches))


def train(run, args):
    made = Twin(run, args)
    seconds, steps, texts = made.steps(args.steps)
    found = {
        "seed": args.seed,
        "trained": sum(p.numel() for p in made.model.parameters() if p.requires_grad),
        "texts_per_batch": made.size,
        "batches": args.order,
        "steps": steps,
        "seconds": round(seconds, 2),
        "seconds_per_1000_texts": round(1000 * seconds / texts, 3),
    }
    if args.test:
        found["test"] = accuracy(made.model, Texts(run, args.test, made.names))
        for path in run.data.get("validation_text", [])[:1]:
            found["validation"] = accuracy(made.model, Texts(run, path, made.names))
    print(json.dumps(found), flush=True)


def limpid_seconds(args, tokens_per_text):
    """Seconds for a thousand texts of `limpid train`, by the clock of its metrics, which stands
    still while nothing is trained; the first ten steps warm it up."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [args.against, "train", str(args.run / "config.toml"), "--out", str(out)]
        settings = ["--steps", str(args.steps + 10), "--set", "train.log_every=10",
                    "--set", f"train.seed={args.seed}", "--threads", str(args.threads)]
        done = subprocess.run([*command, *settings], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        lines = map(json.loads, (out / "metrics.jsonl").read_text().splitlines())
        trained = [line for line in lines if line["kind"] == "train"]
    first, last = trained[0], trained[-1]
    seconds, tokens = (last[key] - first[key] for key in ("seconds", "tokens"))
    return 1000 * seconds * tokens_per_text / tokens


def compare(run, args):
    """Limpid, the twin with shuffled batches and the twin with batches by length, in turns."""
    orders = ["plain", "by-length"]
    twins = {}
    for args.order in orders:
        twins[args.order] = Twin(run, args)
        twins[args.order].steps(10)
    ids = twins["plain"].train.ids
    found = {name: [] for name in ["limpid", *orders]}
    for _ in range(args.rounds):
        found["limpid"].append(limpid_seconds(args, sum(map(len, ids)) / len(ids)))
        for order in orders:
            seconds, _, texts = twins[order].steps(args.steps)
            found[order].append(1000 * seconds / texts)
    print("seconds per 1,000 texts, each round")
    for name, seconds in found.items():
        ratios = [ours / theirs for ours, theirs in zip(found["limpid"], seconds)]
        shown = ", ".join(f"{value:.2f}" for value in seconds)
        print(f"  {name:10} {shown}   limpid / {name}: {statistics.median(ratios):.2f}")


def main():
    parser = twin.arguments(__doc__)
    parser.add_argument("--test", type=Path, help="labelled texts to judge the last weights by")
    parser.add_argument("--order", choices=["plain", "by-length"], default="plain")
    parser.add_argument("--against", metavar="LIMPID", help="take turns with this binary")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    run = twin.Run(args.run)
    if args.against:
        args.steps = args.steps or 40
        return compare(run, args)
    train(run, args)


if __name__ == "__main__":
    main()
