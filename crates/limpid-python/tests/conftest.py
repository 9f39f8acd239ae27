"""Models for the tests: trained by the module itself, in a few seconds."""

from pathlib import Path

import limpid
import pytest

WORDS = ["the cat sat on the mat", "a dog ran to the park", "the bird sang in a tree"]
PAIRS = [("le chat dort", "the cat sleeps"), ("le chien court", "the dog runs")]


def small(task: str, data: dict, **model) -> dict:
    sizes = {"hidden_size": 16, "layers": 2, "heads": 2, "intermediate_size": 32}
    return {
        "task": task,
        "data": data,
        "model": {**sizes, **model},
        "train": {"steps": 30, "lr": 0.01, "warmup_steps": 0, "seed": 1},
    }


@pytest.fixture(scope="session")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "text.txt").write_text("\n".join(WORDS * 40) + "\n")
    (folder / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS * 40))
    labelled = [("so good", "positive"), ("so bad", "negative")] * 40
    rows = "".join(f"{text}\t{label}\n" for text, label in labelled)
    (folder / "labelled.tsv").write_text("text\tlabel\n" + rows)
    return folder


def trained(tmp_path_factory, name: str, config: dict) -> Path:
    folder = tmp_path_factory.mktemp("runs") / name
    assert limpid.train(config, folder).outcome == "completed"
    return folder


@pytest.fixture(scope="session")
def gpt(tmp_path_factory, data) -> Path:
    config = small("gpt", {"text": data / "text.txt"}, context_length=32)
    return trained(tmp_path_factory, "gpt", config)


@pytest.fixture(scope="session")
def bert(tmp_path_factory, data) -> Path:
    config = small("bert", {"text": data / "text.txt"}, context_length=32)
    return trained(tmp_path_factory, "bert", config)


@pytest.fixture(scope="session")
def translator(tmp_path_factory, data) -> Path:
    config = small("translate", {"pairs": data / "pairs.tsv"})
    config["train"]["steps"] = 200
    return trained(tmp_path_factory, "fr-en", config)


@pytest.fixture(scope="session")
def classifier(tmp_path_factory, data) -> Path:
    config = small("classify", {"text": data / "labelled.tsv"}, context_length=32)
    return trained(tmp_path_factory, "sentiment", config)
