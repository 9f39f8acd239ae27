"""Trains a tokenizer of each kind with the limpid binary and opens it with `transformers`'
AutoTokenizer: the same ids for nasty texts, with and without special tokens, and the same text
back; also beside a config.json, where `transformers` might choose a class of its own."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TRAIN = """Der schnelle braune Fuchs springt über den faulen Hund. L'été, où êtes-vous ?
The quick brown fox jumps over the lazy dog; it's 42 o'clock, isn't it?
def f(x):\n    return x ** 2  # comment\n\n\tТекст на русском языке. 日本語のテキスト。 naïve café 🙂 👩‍👩‍👧
low lower lowest new newer newest wide wider widest\n"""

NASTY = [
    "",
    " ",
    "\n",
    "  leading",
    "trailing  ",
    "multiple   inner    spaces",
    "tab\tand\nnewline\r\n\r\n",
    "The quick brown fox.",
    "🙂 emoji 👩‍👩‍👧‍👦 🇫🇷 family",
    "e\u0301 vs é, ﬁ ligature, ＦＵＬＬ width",
    "Ünïcödé ẞ İstanbul ǅ",
    "日本語のテキスト と 中文",
    "русский Текст",
    "a\u00a0b\u2003c\u200bd\ufeffe",
    "it's they'll we've I'M DON'T",
    "<|endoftext|>",
    "before<|endoftext|>after",
    "<pad></s><unk>",
    " </s> x",
    "[CLS] hi [SEP][MASK] [UNK]",
    "[ MASK ]",
    "1234567890 3.14 -5e-3",
    "x" * 300,
    "▁ metaspace ▁▁",
    "##ing a ##b",
    "\x01\x7f control",
    "a\u0000b",
    "mixed العربية and עברית",
    "\U0010ffff \U00020000",
    "'quotes' \u2018curly\u2019 \u201cdouble\u201d",
    "new\u2028line \u0085 next",
]

KINDS = [
    ("char", None),
    ("byte", None),
    ("word", None),
    ("bpe", 330),
    ("wordpiece", 190),
    ("unigram", 120),
]
USES = {"gpt": "gpt2", "translate": "marian", "bert": "bert", "none": None}
EXACT = {"char", "byte", "bpe"}


def run(limpid, *arguments):
    answer = subprocess.run([limpid, *map(str, arguments)], capture_output=True)
    if answer.returncode != 0:
        sys.exit(f"limpid {arguments}: {answer.stderr.decode()}")
    return answer.stdout.decode()


def encode(limpid, folder, text, special):
    # A zero byte cannot be an argument.
    if "\0" in text:
        return None
    return json.loads(
        run(
            limpid,
            "tokenizer",
            "encode",
            folder,
            "--json",
            *(["--special"] if special else []),
            "--",
            text,
        )
    )["ids"]


def decode(limpid, folder, ids):
    return (
        json.loads(run(limpid, "tokenizer", "decode", folder, "--json", *ids))["text"]
        if ids
        else ""
    )


def compare(limpid, folder, kind, use, lower):
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(folder)
    failures = []
    for text in NASTY:
        for special in [False, True]:
            ours = encode(limpid, folder, text, special)
            if ours is not None and ours != theirs(text, add_special_tokens=special)["input_ids"]:
                failures.append(
                    f"ids of {text!r}: {ours} and "
                    f"{theirs(text, add_special_tokens=special)['input_ids']}"
                )
        ours = encode(limpid, folder, text, False)
        if ours is None:
            continue
        back = decode(limpid, folder, ours)
        if back != theirs.decode(ours, skip_special_tokens=True):
            failures.append(
                f"text of {ours}: {back!r} and {theirs.decode(ours, skip_special_tokens=True)!r}"
            )
        special_ids = set(theirs.all_special_ids)
        if kind in EXACT and not lower and not special_ids & set(ours) and back != text:
            failures.append(f"{text!r} came back as {back!r}")
    if len(theirs) != json.loads(run(limpid, "tokenizer", "info", folder, "--json"))["vocab_size"]:
        failures.append("sizes differ")
    wanted = {
        "gpt": theirs.eos_token == "<|endoftext|>",
        "translate": (theirs.pad_token_id, theirs.eos_token_id) == (0, 1),
        "bert": (theirs.cls_token, theirs.mask_token) == ("[CLS]", "[MASK]"),
        "none": True,
    }[use]
    if not wanted:
        failures.append("special tokens have other roles")
    return failures


def main():
    limpid = os.environ["LIMPID"]
    if (
        not os.access(limpid, os.X_OK)
        or "tokenizer"
        not in subprocess.run([limpid, "help"], capture_output=True, text=True).stdout
    ):
        print("skipped: limpid tokenizer (no such command, or no binary; LIMPID names another)")
        return 0
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "text.txt"
        data.write_text(TRAIN * 20, encoding="utf-8")
        for kind, vocab in KINDS:
            for use, model_type in USES.items():
                for lower in [False, True]:
                    if lower and use != "bert":
                        continue
                    folder = Path(scratch) / f"{kind}-{use}-{lower}"
                    size = ["--vocab", vocab] if vocab else []
                    run(
                        limpid,
                        "tokenizer",
                        "train",
                        kind,
                        "--data",
                        data,
                        "--out",
                        folder,
                        "--for",
                        use,
                        *size,
                        *(["--lowercase"] if lower else []),
                    )
                    failures = compare(limpid, folder, kind, use, lower)
                    if model_type:
                        (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
                        failures += [
                            f"beside config.json of {model_type}: {f}"
                            for f in compare(limpid, folder, kind, use, lower)
                        ]
                    name = f"{kind} for {use}{', lower case' if lower else ''}"
                    print(
                        f"{'FAILED' if failures else 'ok':6} limpid tokenizer {name} in "
                        f"AutoTokenizer: {len(NASTY)} texts"
                    )
                    for failure in failures[:6]:
                        print(f"       {failure}")
                    good = good and not failures
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
