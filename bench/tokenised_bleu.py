#!/usr/bin/env python3
"""BLEU as older papers give it: both sides tokenised by Moses' rules and lower-cased, then words
counted as they stand.

    bench/tokenised_bleu.py --language de --hyp translations.txt --ref test.de

Today's measure tokenizes by itself (`limpid score --lowercase`); this one depends on the tokenizer,
so it is given only beside figures that were measured so. Run it with a Python that has sacremoses
and sacrebleu."""

import argparse
from pathlib import Path

import sacrebleu
from sacremoses import MosesPunctNormalizer, MosesTokenizer


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--language", required=True)
    parser.add_argument("--hyp", type=Path, required=True)
    parser.add_argument("--ref", type=Path, required=True)
    args = parser.parse_args()
    normalize, tokenize = (
        MosesPunctNormalizer(args.language).normalize,
        MosesTokenizer(args.language).tokenize,
    )
    read = lambda path: [
        tokenize(normalize(line), return_str=True, escape=False).lower()
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    hyp, ref = read(args.hyp), read(args.ref)
    assert len(hyp) == len(ref), f"{len(hyp)} translations, {len(ref)} references"
    print(sacrebleu.corpus_bleu(hyp, [ref], tokenize="none", force=True))


if __name__ == "__main__":
    main()
