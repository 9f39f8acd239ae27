#!/usr/bin/env python3
"""Scores random corpora with `limpid score` (the binary named by LIMPID) and with sacreBLEU, and
compares every digit."""

import argparse
import json
import logging
import os
import random
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

from sacrebleu.metrics import BLEU, CHRF

logging.disable(logging.WARNING)

WORDS = (
    "the a cat dog mat U.S. 1,000.50 it's well-known 3-D (hi) \"yes\" L'été où 日本語 don't. "
    "e.g. 50% $5 &amp; <skipped>"
).split()
SPACES = " " * 12 + "\t\u00a0\u3000\u2009\x1f\x0b\x85\u2028"
ASCII = [chr(c) for c in range(32, 127)]
# Letters newer than this Python's Unicode have no lower case in it: not our mistake, so not used.
ASSIGNED = [
    chr(c)
    for c in range(0x110000)
    if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co") and chr(c) != "\n"
]
MARKS = [c for c in ASSIGNED if unicodedata.category(c)[0] in "PSN" and ord(c) < 0x20000]
CASED = [c for c in ASSIGNED if c.lower() != c or c.upper() != c]


def text(rng):
    kind = rng.randrange(6)
    if kind == 0:
        return ""
    if kind == 1:
        return "".join(
            rng.choice(rng.choice([ASCII, MARKS, ASSIGNED, CASED, SPACES]))
            for _ in range(rng.randrange(60))
        )
    words = []
    for _ in range(rng.choice([1, 2, 3, 4, 5, 12, 40])):
        word = rng.choice(WORDS)
        if rng.random() < 0.2:
            at = rng.randrange(len(word) + 1)
            word = word[:at] + rng.choice(rng.choice([ASCII, MARKS, CASED])) + word[at:]
        words += [word, rng.choice(SPACES) if rng.random() < 0.9 else ""]
    return "".join(words)


def noisy(rng, line):
    words = line.split(" ")
    rng.random() < 0.3 and rng.shuffle(words)
    return " ".join(
        rng.choice(WORDS) if rng.random() < 0.2 else w for w in words if rng.random() < 0.9
    )


def corpus(rng):
    hypotheses = [text(rng) for _ in range(rng.choice([1, 1, 2, 5, 9]))]
    references = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        references.append(
            [
                rng.choice([noisy(rng, h), noisy(rng, h), text(rng), h.swapcase()])
                for h in hypotheses
            ]
        )
    # A file's lines lose the white space at their ends.
    return [h.rstrip() for h in hypotheses], [
        [line.rstrip() for line in column] for column in references
    ]


def setting(rng):
    """Flags, and the two metrics they mean."""
    flags, bleu, chrf = [], {}, {}
    if rng.random() < 0.4:
        flags, bleu["lowercase"], chrf["lowercase"] = ["--lowercase"], True, True
    bleu["tokenize"] = rng.choice(["13a", "intl", "char", "none"])
    flags += ["--tokenize", bleu["tokenize"]]
    bleu["smooth_method"] = rng.choice(["exp", "exp", "floor", "add-k", "none"])
    flags += ["--smooth", bleu["smooth_method"]]
    if bleu["smooth_method"] in ("floor", "add-k") and rng.random() < 0.5:
        bleu["smooth_value"] = rng.choice([0.01, 0.3, 2.5])
        flags += ["--smooth-value", str(bleu["smooth_value"])]
    if rng.random() < 0.3:
        bleu["effective_order"] = True
        flags += ["--effective-order"]
    if rng.random() < 0.3:
        bleu["max_ngram_order"] = rng.randint(1, 6)
        flags += ["--max-ngram", str(bleu["max_ngram_order"])]
    for key, flag, values in [
        ("char_order", "--chrf-char-order", [1, 3, 8]),
        ("word_order", "--chrf-word-order", [1, 3]),
        ("beta", "--chrf-beta", [0, 1, 3]),
    ]:
        if rng.random() < 0.2:
            chrf[key] = rng.choice(values)
            flags += [flag, str(chrf[key])]
    for key, flag in [
        ("whitespace", "--chrf-whitespace"),
        ("eps_smoothing", "--chrf-eps-smoothing"),
    ]:
        if rng.random() < 0.2:
            chrf[key] = True
            flags += [flag]
    return flags, bleu, chrf


def line(score, metric):
    return score.format(signature=str(metric.get_signature()).rsplit("|version:", 1)[0])


def without_order(line):
    head, _, tail = line.partition("|order:")
    return head + " " + tail.partition(" ")[2] if tail else head


class Tally:
    def __init__(self):
        self.lines = self.numbers = self.same_bits = 0
        self.wrong = []

    def number(self, found, want, about):
        self.numbers += 1
        self.same_bits += found == want
        if abs(found - want) > 1e-11 * max(abs(want), 1):
            self.wrong.append((about, found, want))

    def text(self, found, want, about):
        self.lines += 1
        if found != want:
            self.wrong.append((about, found, want))


def compare(rng, folder, tally):
    hypotheses, references = corpus(rng)
    flags, bleu, chrf = setting(rng)
    names = [f"r{i}" for i in range(len(references))]
    for name, lines in zip(["h", *names], [hypotheses, *references]):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), newline="\n")
    command = [os.environ["LIMPID"], "score", "--hyp", "h", "--ref", *names, *flags]
    run = lambda *more: subprocess.run(
        [*command, *more], cwd=folder, check=True, capture_output=True, text=True
    ).stdout
    about = (flags, hypotheses, references)

    metrics = [BLEU(**bleu), CHRF(**chrf), CHRF(**{**chrf, "word_order": 2})]
    scores = [metric.corpus_score(hypotheses, references) for metric in metrics]
    printed = run().split("\n")[:-1]
    for found, score, metric in zip(printed, scores, metrics, strict=True):
        tally.text(without_order(found), line(score, metric), about)
    for found, score in zip(json.loads(run("--json"))["systems"][0]["scores"], scores, strict=True):
        tally.number(found["score"], score.score, about)

    metrics[0] = BLEU(**{**bleu, "effective_order": True})
    rows = [json.loads(row)["scores"] for row in run("--sentence", "--json").split("\n")[:-1]]
    for row, hypothesis, *lines in zip(rows, hypotheses, *references, strict=True):
        for metric in metrics:
            score = metric.sentence_score(hypothesis, lines)
            tally.number(row[score.name], score.score, about)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="?", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if not Path(os.environ.get("LIMPID", "")).is_file():
        print("skipped score            no binary: set LIMPID")
        return
    os.environ["LIMPID"] = str(Path(os.environ["LIMPID"]).resolve())
    rng, tally = random.Random(args.seed), Tally()
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(args.corpora):
            compare(rng, Path(folder), tally)
    for wrong in tally.wrong[:5]:
        print(*map(repr, wrong), sep="\n  ")
    verdict = "FAILED" if tally.wrong else "ok"
    same = f"{tally.same_bits} of {tally.numbers} scores to the last bit"
    print(
        f"{verdict:6} {'random corpora':16} {args.corpora} corpora, {tally.lines} lines, {same}, "
        f"{len(tally.wrong)} wrong"
    )
    sys.exit(1 if tally.wrong else 0)


if __name__ == "__main__":
    main()
