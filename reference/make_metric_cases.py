#!/usr/bin/env python3
"""Writes fixtures/score/heads.json: what SciPy, scikit-learn, seqeval and torchmetrics (SQuAD) make
of random predictions of heads. With --check, compares instead."""

import argparse
import json
import random
import sys
import warnings
from pathlib import Path

import seqeval.metrics as se
from scipy import stats
from sklearn import metrics as sk
from torchmetrics.functional.text import squad

CASES = Path(__file__).parent / "fixtures" / "score" / "heads.json"

WORDS = ["the", "a", "an", "The", "cat", "Cat.", "cats", "theory", "a-b", "_the_", "Ünï", "1,000",
         "(dog)", "än", "the\u00a0dog", "x\ty", "“quoted”", "a's", ""]


def regressions(rng):
    cases = []
    for n in (2, 5, 40, 41):
        for draw in (lambda: rng.gauss(0, 1), lambda: float(rng.randrange(4))):
            predicted = [draw() for _ in range(n)]
            targets = [round(p + rng.gauss(0, 1), rng.choice([0, 3])) for p in predicted]
            if len(set(predicted)) == 1 or len(set(targets)) == 1:
                continue
            cases.append({
                "predicted": predicted,
                "targets": targets,
                "mse": float(sk.mean_squared_error(targets, predicted)),
                "pearson": float(stats.pearsonr(predicted, targets).statistic),
                "spearman": float(stats.spearmanr(predicted, targets).statistic),
            })
    return cases


def averages(correct, predicted, average):
    scores = sk.precision_recall_fscore_support(
        correct, predicted, average=average, zero_division=0)
    return [float(score) for score in scores[:3]]


def multi_labels(rng):
    cases = []
    for texts, labels, share in ((1, 3, .5), (7, 1, .5), (30, 5, .3), (30, 4, .05), (50, 8, .8)):
        draw = lambda: [[int(rng.random() < share) for _ in range(labels)] for _ in range(texts)]
        predicted, correct = draw(), draw()
        each = sk.precision_recall_fscore_support(
            correct, predicted, average=None, zero_division=0)[:3] if labels > 1 else []
        cases.append({
            "predicted": predicted,
            "correct": correct,
            "accuracy": float(sk.accuracy_score(correct, predicted)),
            "micro": averages(correct, predicted, "micro") if labels > 1 else None,
            "macro": averages(correct, predicted, "macro") if labels > 1 else None,
            "labels": [[float(x) for x in row] for row in zip(*each)],
        })
    return cases


def entities(rng):
    schemes = {
        "iob": ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"],
        "iobes": ["O", "B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y", "E-Y", "S-Y"],
        "kinds": ["O", "B", "I", "I-A-B", "B-A-B", "B-A-C"],
        "words": ["NOUN", "VERB", "O", "ADJ"],
    }
    cases = []
    for labels in schemes.values():
        for sentences in (1, 6):
            correct = [[rng.choice(labels) for _ in range(rng.randrange(1, 12))]
                       for _ in range(sentences)]
            predicted = [[label if rng.random() < .7 else rng.choice(labels) for label in sentence]
                         for sentence in correct]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                kinds = se.classification_report(
                    correct, predicted, output_dict=True, zero_division=0)
                overall = [se.precision_score(correct, predicted, zero_division=0),
                           se.recall_score(correct, predicted, zero_division=0),
                           se.f1_score(correct, predicted, zero_division=0)]
                accuracy = se.accuracy_score(correct, predicted)
            cases.append({
                "correct": correct,
                "predicted": predicted,
                "accuracy": float(accuracy),
                "overall": [float(x) for x in overall],
                "kinds": {kind: [float(row["precision"]), float(row["recall"]),
                                 float(row["f1-score"]), int(row["support"])]
                          for kind, row in kinds.items() if not kind.endswith(" avg")},
            })
    return cases


def is_nothing(answer):
    """Whether an answer is the same as none."""
    target = {"id": "1", "answers": {"answer_start": [0], "text": [""]}}
    return float(squad([{"id": "1", "prediction_text": answer}], [target])["exact_match"]) == 100


def answers(rng):
    text = lambda: " ".join(rng.choice(WORDS) for _ in range(rng.randrange(0, 6)))
    cases = []
    for _ in range(60):
        predicted = text()
        correct = [text() if rng.random() < .6 else predicted.upper() + "!"
                   for _ in range(rng.randrange(0, 4))]
        # As SQuAD 2: answers of nothing are none, and no answer is an empty one.
        known = [answer for answer in correct if not is_nothing(answer)] or [""]
        target = {"id": "1", "answers": {"answer_start": [0] * len(known), "text": known}}
        found = squad([{"id": "1", "prediction_text": predicted}], [target])
        cases.append({
            "predicted": predicted,
            "correct": correct,
            "exact": round(float(found["exact_match"]) / 100),
            "f1": float(found["f1"]) / 100,
        })
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    rng = random.Random(18)
    cases = {"regressions": regressions(rng), "multi_labels": multi_labels(rng),
             "entities": entities(rng), "answers": answers(rng)}
    text = json.dumps(cases, ensure_ascii=False, indent=0) + "\n"
    if not args.check:
        CASES.write_text(text, encoding="utf-8")
        return
    if CASES.read_text(encoding="utf-8") != text:
        sys.exit(f"{CASES} differs from what the packages compute")


if __name__ == "__main__":
    main()
