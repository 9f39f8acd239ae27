"""Training: callbacks, stopping, resuming with the same bytes, and mistakes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import limpid
import pytest

from conftest import small


def weights(folder) -> bytes:
    return (folder / "model" / "model.safetensors").read_bytes()


def test_a_callback_sees_every_step_and_a_lower_loss(data, tmp_path):
    events = []
    config = small("gpt", {"text": data / "text.txt"}, context_length=32)
    result = limpid.train(config, tmp_path / "run", on_event=events.append)
    assert (result.outcome, result.step, result.steps) == ("completed", 30, 30)
    steps = [event for event in events if event["kind"] == "step"]
    assert [event["step"] for event in steps] == list(range(1, 31))
    assert steps[-1]["loss"] < 0.7 * steps[0]["loss"] and steps[0]["lr"] > 0
    assert {"train", "validation"} <= {event["kind"] for event in events}
    assert result.model == tmp_path / "run" / "model"
    assert limpid.Generator(result.model).generate("the", max_new_tokens=3)


def test_a_run_that_a_callback_stops_resumes_with_the_same_bytes(data, tmp_path):
    config = small("gpt", {"text": data / "text.txt"}, context_length=32)
    limpid.train(config, tmp_path / "whole")
    out = tmp_path / "parts"
    stopped = limpid.train(config, out, on_event=lambda event: event.get("step", 0) < 11)
    assert (stopped.outcome, stopped.step) == ("interrupted", 11)
    assert limpid.train(config, out, start="resume").outcome == "completed"
    assert weights(out) == weights(tmp_path / "whole")


def test_an_exception_of_the_callback_comes_out_and_nothing_is_lost(data, tmp_path):
    class Enough(Exception):
        pass

    def on_event(event):
        if event["kind"] == "step" and event["step"] == 5:
            raise Enough("five")

    config = small("gpt", {"text": data / "text.txt"}, context_length=32)
    with pytest.raises(Enough, match="five"):
        limpid.train(config, tmp_path / "run", on_event=on_event)
    first = []
    limpid.train(config, tmp_path / "run", start="resume", on_event=first.append)
    assert next(event["step"] for event in first if event["kind"] == "step") == 6


def test_a_file_and_overrides_make_the_same_run_as_a_dict(data, tmp_path):
    toml = tmp_path / "config.toml"
    toml.write_text(
        f'task = "gpt"\n[data]\ntext = "{data / "text.txt"}"\n[model]\nhidden_size = 16\n'
        "layers = 1\ncontext_length = 16\n[train]\nsteps = 99\n"
    )
    overrides = {"train.steps": 4, "train.lr": 1e-2}
    limpid.train(toml, tmp_path / "file", overrides=overrides)
    model = {"hidden_size": 16, "layers": 1, "context_length": 16}
    config = {"task": "gpt", "data": {"text": [str(data / "text.txt")]}, "model": model}
    limpid.train(config, tmp_path / "dict", overrides=overrides)
    assert weights(tmp_path / "file") == weights(tmp_path / "dict")
    folder = {"data_folder": data, "overrides": {**overrides, "data.text": "$LIMPID_DATA/text.txt"}}
    limpid.train(config, tmp_path / "folder", **folder)
    assert weights(tmp_path / "folder") == weights(tmp_path / "dict")


def test_mistakes_in_a_configuration_are_exceptions(data, tmp_path):
    config = small("gpt", {"text": data / "text.txt"}, context_length=32)
    for overrides, match in [
        ({"train.stepz": 3}, "train.steps"),
        ({"train.steps": "many"}, "train.steps"),
        ({"model.heads": 3}, "heads"),
    ]:
        with pytest.raises(limpid.ConfigError, match=match):
            limpid.train(config, tmp_path / "run", overrides=overrides)
    with pytest.raises(limpid.ConfigError, match="task"):
        limpid.train({"data": {}}, tmp_path / "run")
    with pytest.raises(ValueError, match="start"):
        limpid.train(config, tmp_path / "run", start="again")
    with pytest.raises(TypeError, match="object"):
        limpid.train(config, tmp_path / "run", overrides={"train.steps": object()})
    with pytest.raises(limpid.LimpidError, match="missing.txt"):
        limpid.train(small("gpt", {"text": data / "missing.txt"}), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    limpid.train(config, tmp_path / "run", overrides={"train.steps": 2})
    with pytest.raises(limpid.RunError, match="run"):
        limpid.train(config, tmp_path / "run")


def test_ctrl_c_ends_training_after_a_checkpoint(data, tmp_path):
    text, out = data / "text.txt", tmp_path / "run"
    program = (
        # A process in the background of a script ignores the signal, and so would its children.
        "import limpid, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"config = {{'task': 'gpt', 'data': {{'text': {str(text)!r}}},"
        "'train': {'steps': 100000}}\n"
        "say = lambda event: print(event['kind'], flush=True)\n"
        f"limpid.train(config, {str(out)!r}, on_event=say)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None and child.stdout.readline() == "step\n"
        start = time.monotonic()
        os.kill(child.pid, signal.SIGINT)
        _, errors = child.communicate(timeout=60)
    finally:
        child.kill()
    assert "KeyboardInterrupt" in errors and child.returncode != 0
    assert time.monotonic() - start < 30
    assert any(Path(out, "checkpoints").iterdir())
