#!/usr/bin/env python3
"""Makes the fixtures of LoRA adapters with PEFT, or with --check compares them with what it
computes now: an adapter on the model of another fixture, its logits, the gradients of its
matrices, ten losses of AdamW, and the weights after merging."""

import argparse
import json
import os
import sys
from dataclasses import dataclass, field

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers.utils import logging

from make_fixtures import FOLDER, load, report
from models import CLASSES, DECODER_IDS, ENCODER_IDS, ENCODER_TYPES, FIXTURES
from quantities import (
    adamw_run,
    bert_class_loss,
    bert_outputs,
    gpt_logits,
    gpt_loss,
    packed,
    seq2seq_loss,
    seq2seq_outputs,
)


@dataclass
class Adapter:
    """An adapter on the model of another fixture."""

    base: str
    task: str
    targets: list
    options: dict = field(default_factory=dict)

    @property
    def folder(self):
        return FOLDER / f"adapter-{self.base}"


ADAPTERS = [
    Adapter("llama-tiny", "CAUSAL_LM", ["q_proj", "v_proj", "gate_proj", "down_proj"]),
    Adapter(
        "gpt2-tiny",
        "CAUSAL_LM",
        ["c_attn", "c_fc"],
        {"fan_in_fan_out": True, "use_rslora": True},
    ),
    Adapter("neox-tiny", "CAUSAL_LM", ["query_key_value"]),
    Adapter("bert-classifier", "SEQ_CLS", ["query", "value"], {"rank_pattern": {"value": 3}}),
    Adapter(
        "marian-tiny",
        "SEQ_2_SEQ_LM",
        ["q_proj", "v_proj", "fc1"],
        {"alpha_pattern": {"fc1": 5}},
    ),
    Adapter("t5-tiny", "SEQ_2_SEQ_LM", ["q", "v", "wo"]),
]


def fixture_of(adapter):
    return next(fixture for fixture in FIXTURES if fixture.name == adapter.base)


def make(adapter):
    """Writes an adapter of random matrices."""
    torch.manual_seed(7)
    config = LoraConfig(
        r=2,
        lora_alpha=3,
        lora_dropout=0.0,
        target_modules=adapter.targets,
        task_type=adapter.task,
        **adapter.options,
    )
    model = get_peft_model(load(fixture_of(adapter)), config)
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(adapter.folder)
    path = adapter.folder / "adapter_config.json"
    keys = json.loads(path.read_text())
    keys["base_model_name_or_path"] = f"../{adapter.base}"
    # A set, whose order changes from run to run.
    keys["target_modules"] = sorted(keys["target_modules"])
    path.write_text(json.dumps(keys, indent=2, sort_keys=True) + "\n")
    (adapter.folder / "README.md").unlink(missing_ok=True)


def quantities(fixture, adapter):
    """What goes in, the logits, and the loss of a model."""
    if adapter.task == "CAUSAL_LM":
        ids, lengths = packed(DECODER_IDS)
        inputs = {"ids": ids, "lengths": lengths}
        return inputs, lambda m: gpt_logits(m, DECODER_IDS), lambda m: gpt_loss(m, DECODER_IDS)
    if adapter.task == "SEQ_CLS":
        batch = (fixture.sources or ENCODER_IDS, ENCODER_TYPES)
        ids, lengths = packed(batch[0])
        inputs = {"ids": ids, "lengths": lengths, "types": packed(ENCODER_TYPES)[0]}
        inputs["classes"] = torch.tensor(CLASSES)
        logits = lambda m: bert_outputs(m, *batch, lambda o: o.logits.unsqueeze(0))
        return inputs, logits, lambda m: bert_class_loss(m, *batch, CLASSES, lambda o: o.logits)
    inputs = {}
    inputs["source_ids"], inputs["source_lengths"] = packed(fixture.sources)
    inputs["target_ids"], inputs["target_lengths"] = packed(fixture.targets)
    pairs = (fixture.sources, fixture.targets)
    logits = lambda m: seq2seq_outputs(m, *pairs)[0]
    return inputs, logits, lambda m: seq2seq_loss(m, *pairs, smoothing=0.0)


def recompute(adapter):
    fixture = fixture_of(adapter)
    model = PeftModel.from_pretrained(load(fixture), adapter.folder, is_trainable=True).eval()
    expected, logits, loss = quantities(fixture, adapter)
    expected["logits"], expected["loss"] = logits(model), loss(model)
    expected["loss"].backward(retain_graph=True)
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            name = name.replace(".default", "").replace(".modules_to_save", "")
            expected[f"grad.{name}"] = parameter.grad.clone()
    model.zero_grad()
    expected["adamw_losses"], expected["adamw_grad_norms"] = adamw_run(model, loss)
    before = load(fixture).state_dict()
    merged = model.merge_and_unload()
    expected["merged_logits"] = logits(merged)
    for name, value in merged.state_dict().items():
        if name in before and not torch.equal(value, before[name]):
            expected[f"merged.{name}"] = value.clone()
    return {name: value.detach().contiguous() for name, value in expected.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    args = parser.parse_args()
    torch.set_num_threads(1)
    logging.disable_progress_bar()
    failed = 0
    for adapter in ADAPTERS:
        path = adapter.folder / "expected.safetensors"
        if not args.check:
            make(adapter)
            save_file(recompute(adapter), path)
        failed += not report(adapter.folder.name, load_file(path), recompute(adapter))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
