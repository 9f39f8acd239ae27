#!/usr/bin/env python3
"""Compares the stored answers of fixtures/pipeline-answer-* with those of the question answering
pipeline itself, which version 5 of `transformers` no longer has. `check` does not run it.

    pip install torch transformers==4.57.1
    python check_answers.py
"""

import json
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers as hf

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
INPUTS = ["input_ids", "token_type_ids", "attention_mask"]
CASES = {
    "pipeline-answer-bert": (hf.BertForQuestionAnswering, INPUTS),
    "pipeline-answer-roberta": (hf.RobertaForQuestionAnswering, INPUTS[::2]),
}
TOLERANCE = 2e-5


def pipeline(folder, model_class, inputs):
    """Version 4 does not know the tokenizer class that version 5 wrote."""
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    roles = {key: value for key, value in settings.items() if key.endswith("_token")}
    tokenizer = hf.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"),
        model_max_length=settings["model_max_length"],
        model_input_names=inputs,
        **roles,
    )
    model = model_class.from_pretrained(folder).eval()
    return hf.pipeline("question-answering", model=model, tokenizer=tokenizer, device="cpu")


def same(found, stored):
    span = lambda answer: (answer["answer"], answer["start"], answer["end"])
    near = lambda a, b: abs(a["score"] - b["score"]) < TOLERANCE
    return list(map(span, found)) == list(map(span, stored)) and all(map(near, found, stored))


def main():
    torch.set_num_threads(1)
    compared = failed = 0
    for name, (model_class, inputs) in CASES.items():
        expected = json.loads((FIXTURES / name / "expected.json").read_text())
        answerer = pipeline(FIXTURES / name, model_class, inputs)
        for case in expected["cases"]:
            options = dict(case["options"])
            options["handle_impossible_answer"] = options.pop("impossible", False)
            found = answerer(question=case["question"], context=expected["context"], **options)
            found = found if isinstance(found, list) else [found]
            compared += 1
            if not same(found, case["answers"]):
                failed += 1
                print(f"{name}, {case}: the pipeline has {found}")
    print(f"transformers {hf.__version__}: {compared} cases, {failed} differ")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
