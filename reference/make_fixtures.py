#!/usr/bin/env python3
"""Makes the PyTorch fixtures, or with --check compares them with what PyTorch computes now.

Either way the expected values come from the model as `from_pretrained` reads it back from its
folder."""

import argparse
import os
import sys
from pathlib import Path

# Before transformers is imported: everything needed is in this folder.
os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from safetensors.torch import load_file, save_file
from transformers.utils import logging

import attention_cells
import heads
import recurrent
from models import (
    CLASSES,
    DECODER_IDS,
    ENCODER_IDS,
    ENCODERS,
    ENCODER_TYPES,
    FIXTURES,
    FOLLOWS,
    MASKED,
    PROMPT,
    make_model,
)
from quantities import (
    LABEL_SMOOTHING,
    adamw_run,
    beam_search,
    bert_class_loss,
    bert_hidden_states,
    bert_outputs,
    bert_word_loss,
    check_padded_batch,
    check_padded_encoder,
    gpt_greedy,
    gpt_logits,
    gpt_loss,
    gradients,
    packed,
    seq2seq_greedy,
    seq2seq_loss,
    seq2seq_outputs,
    without_padding_idx,
)

# Families of which files hold sinusoidal positions.
SINUSOIDAL = ["Marian", "Pegasus"]
FOLDER = Path(__file__).parent / "fixtures"
# Relative to the largest value of each tensor, or to FLOOR if that is larger: softmax does not see
# the bias of the keys, so its gradient is rounding noise around zero. Ten steps of Adam divide tiny
# gradients by their own size and so amplify rounding; the losses along the way still agree to four
# digits.
TOLERANCE, ADAMW_TOLERANCE, FLOOR = 1e-5, 1e-4, 1e-2


def expected_gpt(fixture, model):
    wanted = fixture.quantities
    ids, lengths = packed(DECODER_IDS)
    loss_of = lambda m: gpt_loss(m, DECODER_IDS)
    expected = {"ids": ids, "lengths": lengths}
    expected["logits"] = gpt_logits(model, DECODER_IDS)
    expected["loss"] = loss_of(model)
    if "gradients" in wanted:
        expected |= {f"grad.{name}": g for name, g in gradients(model, loss_of).items()}
    if "adamw" in wanted:
        expected["adamw_losses"], expected["adamw_grad_norms"] = adamw_run(model, loss_of)
    if "greedy" in wanted:
        expected["prompt"] = torch.tensor(PROMPT)
        expected["greedy"] = gpt_greedy(model, PROMPT)
        expected["beam"] = torch.tensor(beam_search(model, PROMPT))
    return expected


def expected_seq2seq(fixture, model):
    wanted, sources, targets = fixture.quantities, fixture.sources, fixture.targets
    check_padded_batch(model, sources, targets)
    smoothed = lambda m: seq2seq_loss(m, sources, targets, LABEL_SMOOTHING)
    expected = {}
    expected["source_ids"], expected["source_lengths"] = packed(sources)
    expected["target_ids"], expected["target_lengths"] = packed(targets)
    expected["logits"], expected["encoder_hidden"] = seq2seq_outputs(model, sources, targets)
    expected["loss"] = seq2seq_loss(model, sources, targets, smoothing=0.0)
    expected["loss_smoothed"] = smoothed(model)
    # `all_rows.` differs from the plain name in one thing: the padding row of the embedding learns
    # too.
    for prefix, variant in [("", model), ("all_rows.", without_padding_idx(model))]:
        if "gradients" in wanted:
            grads = gradients(variant, smoothed)
            kept = (
                grads
                if prefix == ""
                else {name: g for name, g in grads.items() if name.endswith("shared.weight")}
            )
            expected |= {f"{prefix}grad.{name}": g for name, g in kept.items()}
        if "adamw" in wanted:
            losses, norms = adamw_run(variant, smoothed)
            expected[f"{prefix}adamw_losses"], expected[f"{prefix}adamw_grad_norms"] = losses, norms
    if "greedy" in wanted:
        outputs = [seq2seq_greedy(model, source) for source in sources]
        expected["greedy"], expected["greedy_lengths"] = packed(outputs)
        outputs = [beam_search(model, source) for source in sources]
        expected["beam"], expected["beam_lengths"] = packed(outputs)
    return expected


def expected_encoder(fixture, model):
    """Logits of words, of classes or both; the hidden states and the pooled ones of an encoder
    alone."""
    kind = type(model).__name__.removeprefix(fixture.family)
    ids = fixture.sources or ENCODER_IDS
    batch = (ids, ENCODER_TYPES)
    expected = {}
    expected["ids"], expected["lengths"] = packed(ids)
    expected["types"], _ = packed(ENCODER_TYPES)
    losses = []
    if kind == "Model":
        hidden, pooled = (lambda o: o.last_hidden_state), (lambda o: o.pooler_output)
        check_padded_encoder(model, *batch, hidden)
        expected["hidden"] = bert_outputs(model, *batch, hidden)
        expected["hidden_states"] = bert_hidden_states(model, *batch)
        if hasattr(model, "pooler"):
            expected["pooled"] = bert_outputs(model, *batch, lambda o: pooled(o).unsqueeze(0))
        return expected
    if kind in ("ForMaskedLM", "ForPreTraining"):
        words = (lambda o: o.logits) if kind == "ForMaskedLM" else (lambda o: o.prediction_logits)
        check_padded_encoder(model, *batch, words)
        expected["masked"], _ = packed(MASKED)
        expected["logits"] = bert_outputs(model, *batch, words)
        losses.append(lambda m: bert_word_loss(m, *batch, MASKED, words))
    if kind in ("ForSequenceClassification", "ForPreTraining"):
        classifier = kind == "ForSequenceClassification"
        classes = (lambda o: o.logits) if classifier else (lambda o: o.seq_relationship_logits)
        right = CLASSES if classifier else FOLLOWS
        check_padded_encoder(model, *batch, classes)
        expected["classes"] = torch.tensor(right)
        expected["class_logits"] = bert_outputs(model, *batch, lambda o: classes(o).unsqueeze(0))
        losses.append(lambda m: bert_class_loss(m, *batch, right, classes))
    loss_of = lambda m: sum(loss(m) for loss in losses)
    expected["loss"] = loss_of(model)
    expected |= {f"grad.{key}": g for key, g in gradients(model, loss_of).items()}
    if "adamw" in fixture.quantities:
        expected["adamw_losses"], expected["adamw_grad_norms"] = adamw_run(model, loss_of)
    return expected


def load(fixture):
    model = fixture.model_class.from_pretrained(FOLDER / fixture.name).eval()
    for name, parameter in model.named_parameters():
        # Constants, which from_pretrained forgets.
        if "embed_positions" in name and fixture.family in SINUSOIDAL:
            parameter.requires_grad_(False)
    return model


def check_saved(made, loaded):
    """Every tensor survived the trip through the file, positions and tied ones included."""
    made, loaded = made.state_dict(), loaded.state_dict()
    assert made.keys() == loaded.keys(), f"lost or found: {made.keys() ^ loaded.keys()}"
    for name, value in made.items():
        assert torch.equal(value, loaded[name]), f"{name} changed in the file"


def recompute(fixture):
    """Expected values of the model stored in the fixture's folder."""
    model = load(fixture)
    if fixture.name in heads.NAMES:
        compute = heads.expected
    elif fixture.family in ENCODERS:
        compute = expected_encoder
    else:
        compute = expected_seq2seq if fixture.sources else expected_gpt
    expected = compute(fixture, model)
    return {name: value.detach().contiguous() for name, value in expected.items()}


def write_models(fixtures):
    for fixture in fixtures:
        folder = FOLDER / fixture.name
        model = make_model(fixture)
        model.save_pretrained(folder)
        check_saved(model, load(fixture))
        save_file(recompute(fixture), folder / "expected.safetensors")


def write():
    write_models(FIXTURES + heads.FIXTURES)
    cells = FOLDER / "attention-cells"
    cells.mkdir(exist_ok=True)
    save_file(attention_cells.make(), cells / "expected.safetensors")
    write_recurrent()


def write_recurrent():
    layers = FOLDER / "recurrent-layers"
    layers.mkdir(exist_ok=True)
    save_file(recurrent.make_layers(), layers / "expected.safetensors")
    for name in recurrent.MODELS:
        recurrent.write_model(FOLDER / name, name)
        save_file(recurrent.recompute_model(FOLDER / name), FOLDER / name / "expected.safetensors")


def check():
    """Compares every stored tensor with a fresh one; returns the number of fixtures that differ."""
    failed = 0
    for fixture in FIXTURES + heads.FIXTURES:
        stored = load_file(FOLDER / fixture.name / "expected.safetensors")
        failed += not report(fixture.name, stored, recompute(fixture))
    stored = load_file(FOLDER / "attention-cells" / "expected.safetensors")
    failed += not report("attention-cells", stored, attention_cells.recompute(stored))
    stored = load_file(FOLDER / "recurrent-layers" / "expected.safetensors")
    failed += not report("recurrent-layers", stored, recurrent.recompute_layers(stored))
    for name in recurrent.MODELS:
        stored = load_file(FOLDER / name / "expected.safetensors")
        failed += not report(name, stored, recurrent.recompute_model(FOLDER / name))
    return failed


def report(name, stored, fresh):
    problems = [f"only on one side: {key}" for key in stored.keys() ^ fresh.keys()]
    worst = 0.0
    for key in sorted(stored.keys() & fresh.keys()):
        error = relative_error(stored[key], fresh[key])
        allowed = ADAMW_TOLERANCE if "adamw" in key else TOLERANCE
        worst = max(worst, error / allowed)
        if error > allowed:
            problems.append(
                f"{key}: differs by {error:.1e} of its largest value, allowed {allowed:.0e}"
            )
    print(
        f"{'FAILED' if problems else 'ok':6} {name:16} {len(stored)} tensors, worst {worst:.3f} "
        f"of tolerance"
    )
    for problem in problems:
        print(f"       {problem}")
    return not problems


def relative_error(stored, fresh):
    if stored.shape != fresh.shape or stored.dtype != fresh.dtype:
        return float("inf")
    if not stored.is_floating_point():
        return 0.0 if torch.equal(stored, fresh) else float("inf")
    return (stored - fresh).abs().max().item() / max(stored.abs().max().item(), FLOOR)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    args = parser.parse_args()
    torch.set_num_threads(1)
    logging.disable_progress_bar()
    if not args.check:
        write()
    sys.exit(1 if check() else 0)


if __name__ == "__main__":
    main()
