"""What a type checker makes of the stubs: `mypy --strict` accepts this file, and complains where an
ignored error is none."""

from pathlib import Path

import limpid
import numpy as np
from numpy.typing import NDArray


def generation(folder: Path) -> list[str]:
    generator = limpid.Generator(folder)
    text: str = generator.generate("the", temperature=0.5, stop_strings=["."], seed=None)
    pieces: list[str] = list(generator.stream("the", early_stopping="never"))
    logits: NDArray[np.float32] = generator.logits([1, 2])
    weights: NDArray[np.float32] = generator.attention("the").layers[0].weights
    generator.generate("the", temprature=1)  # type: ignore[call-arg]
    generator.generate("the", top_k="many")  # type: ignore[arg-type]
    return [text, *pieces, str(logits.shape), str(weights.shape)]


def one_or_several(folder: str) -> tuple[str, list[str]]:
    translator = limpid.Translator(folder, target_language="de")
    one: str = translator.translate("le chat")
    several: list[str] = translator.translate(["le chat"], num_beams=4)
    labels: list[tuple[str, float]] = limpid.Classifier(folder).classify("good")
    masks: list[list[limpid.FilledMask]] = limpid.FillMask(folder).fill("a [MASK]")
    limpid.Embedder(folder, pooling="sum")  # type: ignore[arg-type]
    return one, several + [labels[0][0], masks[0][0].token]


def training(folder: Path) -> int:
    result = limpid.train({"task": "gpt"}, folder, on_event=lambda event: event["kind"] != "x")
    limpid.train("config.toml", folder, start="again")  # type: ignore[arg-type]
    return result.step if result.outcome == "completed" else 0
