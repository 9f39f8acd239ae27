#!/usr/bin/env python3
"""Random valid models of every family: limpid computes the logits of `transformers`, or refuses the
folder by the name of a key. Refusals are counted at the end, for a person to judge.

    LIMPID=… reference/fuzz_configs.py [N per family] [--family NAME …] [--first SEED] [--keep DIR]
"""

import argparse
import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
from transformers.utils import logging

from compare_limpid import has_logits_command
from models import FORWARD, Fixture, make_model
from random_configs import FAMILIES, draw

TOLERANCE = 1e-5  # of the largest logit of a row
# How many times the rounding of PyTorch's own f32 is forgiven where it exceeds the tolerance.
ROUNDING = 3


def save(model, folder, r):
    """Writes the folder as others do: in shards, in half precision, with older keys, without keys
    that have their default."""
    if r.random() < 0.2:
        model = model.to(r.choice([torch.bfloat16, torch.float16]))
    shards = {"max_shard_size": "20KB"} if r.random() < 0.15 else {}
    model.save_pretrained(folder, **shards)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    if r.random() < 0.4 and "rope_theta" in config.get("rope_parameters", {}):
        rope = config.pop("rope_parameters")
        names = ["rope_theta", "partial_rotary_factor"]
        older = {"gpt_neox": ["rotary_emb_base", "rotary_pct"]}.get(config["model_type"], names)
        config |= {old: rope.pop(name) for name, old in zip(names, older) if name in rope}
        config["rope_scaling"] = rope if rope.pop("rope_type") != "default" else None
        if config["rope_scaling"] is not None:
            kind = model.config.rope_parameters["rope_type"]
            config["rope_scaling"] = {r.choice(["rope_type", "type"]): kind, **rope}
    if r.random() < 0.5:
        default = type(model.config)().to_dict()
        for key in list(config):
            is_default = key in default and config[key] == default[key]
            if is_default and key != "model_type" and r.random() < 0.5:
                del config[key]
    path.write_text(json.dumps(config, indent=1))


@torch.no_grad()
def exact_positions(model):
    """A file in half precision holds rounded sinusoids; limpid computes them anew."""
    for part in [model.model.encoder, model.model.decoder]:
        part.embed_positions.weight.copy_(part.embed_positions.create_weight())


def inputs(model, r):
    """What the model is fed: names of `transformers`, and flags of limpid."""
    config = model.config
    pad = getattr(config, "pad_token_id", None)
    longest = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", 30)
    if config.model_type in ["roberta", "xlm-roberta", "camembert", "mpnet"]:
        longest -= pad + 1  # positions begin behind the padding token
    longest = min(24, longest)

    def ids(vocabulary):
        length = r.randint(1, max(1, longest))
        return r.choices([i for i in range(vocabulary) if i != pad], k=length)

    if config.is_encoder_decoder:
        source = ids(config.vocab_size)
        target = ids(getattr(config, "decoder_vocab_size", None) or config.vocab_size)
        target[0] = config.decoder_start_token_id
        return {"input_ids": source, "decoder_input_ids": target}
    fed = {"input_ids": ids(config.vocab_size)}
    types = getattr(config, "type_vocab_size", 0)
    if types and not hasattr(config, "n_layer"):
        fed["token_type_ids"] = [r.randrange(types) for _ in fed["input_ids"]]
    return fed


@torch.no_grad()
def wanted(model, fed):
    output = model(**{name: torch.tensor([ids]) for name, ids in fed.items()})
    logits = output.prediction_logits if "prediction_logits" in output else output.logits
    return logits[0].reshape(-1, logits.shape[-1]).double().numpy()


def run(limpid, folder, fed):
    flags = {"input_ids": "--ids", "token_type_ids": "--type-ids"}
    if "decoder_input_ids" in fed:
        flags = {"input_ids": "--source-ids", "decoder_input_ids": "--ids"}
    command = [limpid, "logits", str(folder), "--json"]
    for name, ids in fed.items():
        command += [flags[name], ",".join(map(str, ids))]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def distance(found, right):
    """The largest difference in a row, in parts of its largest logit."""
    return (np.abs(found - right).max(axis=1) / np.abs(right).max(axis=1)).max()


def compare(limpid, family, seed, folder):
    """None if all is well, else a sentence; a refusal begins with "refused"."""
    config, model_class = draw(family, seed)
    r = random.Random(f"{family} {seed} folder")
    try:
        made = make_model(Fixture("", model_class, config, seed, FORWARD))
    except ZeroDivisionError as error:  # dynamic frequencies of two columns
        return f"impossible: {error}"
    save(made, folder, r)
    model = model_class.from_pretrained(folder, dtype=torch.float32).eval()
    if family == "pegasus":
        exact_positions(model)
    fed = inputs(model, r)
    answer = run(limpid, folder, fed)
    if answer.returncode:
        error = answer.stderr.strip().splitlines()
        return "refused: " + " ".join(error)
    if answer.stderr:
        return "warns: " + " ".join(answer.stderr.split())
    found, right = np.array(json.loads(answer.stdout)["logits"]), wanted(model, fed)
    if found.shape != right.shape:
        return f"shape {found.shape}, not {right.shape}"
    error = distance(found, right)
    if error <= TOLERANCE:
        return None
    exact = wanted(model.double(), fed)
    rounding, error = distance(right, exact), distance(found, exact)
    if error <= max(TOLERANCE, ROUNDING * rounding):
        return None
    return f"differs by {error:.1e} of a row's largest logit (PyTorch's rounding {rounding:.1e})"


def key_of(sentence, folder):
    """A refusal without the folder and its numbers."""
    sentence = sentence.replace(str(folder), "")
    return re.sub(r"\s+", " ", re.sub(r"\d+", "N", sentence))[:160]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=int, nargs="?", default=100, help="of each family")
    parser.add_argument("--family", nargs="*", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--first", type=int, default=0, help="seed of the first model")
    parser.add_argument("--keep", type=Path, help="a folder for what failed")
    args = parser.parse_args()
    torch.set_num_threads(1)
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    limpid = os.environ["LIMPID"]
    if not has_logits_command(limpid):
        print("skipped: random configurations (no limpid logits)")
        return 0
    failed, refused = 0, collections.Counter()
    for family in args.family:
        equal, refusals, impossible, bad = 0, 0, 0, []
        for seed in range(args.first, args.first + args.models):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name) / "model"
                try:
                    problem = compare(limpid, family, seed, folder)
                except Exception as error:  # of transformers: such a model cannot be made
                    problem = f"{type(error).__name__}: {str(error)[:300]}"
                if problem is None:
                    equal += 1
                elif problem.startswith("impossible"):
                    impossible += 1
                elif problem.startswith("refused"):
                    refusals += 1
                    refused[f"{family:12} {key_of(problem, folder)}"] += 1
                else:
                    bad.append(f"seed {seed}: {problem}")
                    if args.keep and folder.exists():
                        kept = args.keep / f"{family}-{seed}"
                        shutil.copytree(folder, kept, dirs_exist_ok=True)
        words = f"{equal} with equal logits, {refusals} refused, {len(bad)} otherwise"
        if impossible:
            words += f", {impossible} that transformers cannot make"
        print(f"{'FAILED' if bad else 'ok':6} {family:12} {words}", flush=True)
        for problem in bad:
            print(f"       {problem}", flush=True)
        failed += len(bad)
    print("\nRefused, each with its number:")
    for sentence, number in sorted(refused.items()):
        print(f"{number:4} {sentence}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
