"""What the PyTorch twins of `limpid train` share: the run they imitate, its schedule and its
optimizer.

A twin reads the folder of a run (`config.toml`, `tokenizer/`), so that model, data, tokens and
settings are the run's own."""

import argparse
import json
import math
import sys
import time
import tomllib
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import nn


class Run:
    """A run's configuration and tokenizer."""

    def __init__(self, folder):
        self.config = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
        self.data, self.model, self.train = (
            self.config[part] for part in ("data", "model", "train")
        )
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer" / "tokenizer.json"))
        self.vocab = self.tokenizer.get_vocab_size()

    def encode(self, lines):
        return [
            encoding.ids
            for encoding in self.tokenizer.encode_batch(lines, add_special_tokens=False)
        ]

    def rate(self, step, steps):
        """The learning rate of step 1, 2, …"""
        t = self.train
        warmup = t["warmup_steps"] if "warmup_steps" in t else round(t["warmup_ratio"] * steps)
        # A constant schedule has no minimum.
        lowest = t.get("min_lr", 0.0)
        if step <= warmup:
            return t["lr"] * step / warmup
        if t["schedule"] == "inverse-sqrt":
            return max(lowest, t["lr"] * math.sqrt(warmup / step))
        done = min(1.0, (step - warmup) / max(1, steps - warmup))
        cosine = 0.5 * (1 + math.cos(math.pi * done))
        left = {"cosine": cosine, "linear": 1 - done, "constant": 1.0}[t["schedule"]]
        return lowest + (t["lr"] - lowest) * left


def arguments(doc):
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "run", type=Path, help="the folder of a run of limpid train, which may have just begun"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, help="instead of the run's")
    return parser


class Trainer:
    """AdamW with decay on matrices only, clipping, and a moving average of the weights, as the run
    says."""

    def __init__(self, model, run):
        self.model, self.run, self.seconds, self.step_number = model, run, 0.0, 0
        t = run.train
        matrices = [p for p in model.parameters() if p.dim() >= 2]
        others = [p for p in model.parameters() if p.dim() < 2]
        groups = [
            {"params": matrices, "weight_decay": t["weight_decay"]},
            {"params": others, "weight_decay": 0.0},
        ]
        betas = (t["beta1"], t["beta2"])
        self.optimizer = torch.optim.AdamW(
            groups, lr=t["lr"], betas=betas, eps=t["eps"], fused=True
        )
        self.average = [p.detach().clone() for p in model.parameters()] if t["ema"] > 0 else None

    def step(self, steps, *batch):
        begin = time.perf_counter()
        self.step_number += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.run.rate(self.step_number, steps)
        loss = self.model(*batch)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if self.run.train["max_grad_norm"] > 0:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.run.train["max_grad_norm"])
        self.optimizer.step()
        if self.average is not None:
            keep = min(self.run.train["ema"], (1 + self.step_number) / (10 + self.step_number))
            torch._foreach_lerp_(
                self.average, [p.detach() for p in self.model.parameters()], 1 - keep
            )
        loss = loss.item()
        self.seconds += time.perf_counter() - begin
        if self.step_number % 100 == 0:
            print(
                f"step {self.step_number} of {steps}: loss {loss:.4f}, {self.seconds:.0f} s",
                file=sys.stderr,
                flush=True,
            )
        return loss

    def use_average(self):
        if self.average is not None:
            with torch.no_grad():
                for p, average in zip(self.model.parameters(), self.average):
                    p.copy_(average)


def say(**figures):
    print(json.dumps(figures))
