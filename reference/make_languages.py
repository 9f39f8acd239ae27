#!/usr/bin/env python3
"""Writes fixtures/score/languages.json: how `transformers` surrounds sources and targets of
encoder-decoders with special tokens, in multilingual ones with the tokens of their languages. With
--check, compares instead."""

import argparse
import json
import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

from transformers import (
    BartTokenizer,
    M2M100Tokenizer,
    MarianTokenizer,
    MBartTokenizer,
    T5Tokenizer,
)

TOKENIZERS = Path(__file__).parent / "fixtures" / "tokenizers"
CASES = Path(__file__).parent / "fixtures" / "score" / "languages.json"
TEXT = "eine Katze und ein Hund"
FAMILIES = {
    "mbart": (MBartTokenizer, ["de_DE", "fr_XX", "ro_RO"]),
    "m2m_100": (M2M100Tokenizer, ["de", "fr", "ceb"]),
}
# BART has RoBERTa's files.
OTHERS = {"roberta": BartTokenizer, "marian": MarianTokenizer, "t5": T5Tokenizer}


def cases(name, family, languages):
    rows = []
    for source in languages:
        for target in languages:
            folder = TOKENIZERS / name
            tokenizer = family.from_pretrained(folder, src_lang=source, tgt_lang=target)
            token = f"__{target}__" if name == "m2m_100" else target
            rows.append({
                "source": source,
                "target": target,
                "source_ids": tokenizer(TEXT).input_ids,
                "target_ids": tokenizer(text_target=TEXT).input_ids,
                "forced_bos_token_id": tokenizer.convert_tokens_to_ids(token),
            })  # fmt: skip
    return rows


def other(name, family):
    tokenizer = family.from_pretrained(TOKENIZERS / name)
    ids = {"source_ids": tokenizer(TEXT), "target_ids": tokenizer(text_target=TEXT)}
    return {"name": name, **{key: found.input_ids for key, found in ids.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    found = {name: cases(name, *family) for name, family in FAMILIES.items()}
    others = [other(*item) for item in OTHERS.items()]
    text = json.dumps({"text": TEXT, "families": found, "others": others}) + "\n"
    if not args.check:
        CASES.write_text(text, encoding="utf-8")
    elif CASES.read_text(encoding="utf-8") != text:
        sys.exit(f"{CASES} differs from what transformers computes")


if __name__ == "__main__":
    main()
