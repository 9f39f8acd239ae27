#!/usr/bin/env python3
"""A translation folder in Marian's published layout, end to end.

    LIMPID=… LIMPID_DATA=… reference/check_marian.py [WORK] [--steps N] [--sentences N]
        [--batch-tokens N]

Trains source.spm and target.spm with the `sentencepiece` package on Multi30k (German to English),
a small model with limpid, and saves the tokenizer with `MarianTokenizer`: source.spm, target.spm,
vocab.json, no tokenizer.json. Then limpid and `transformers` translate the same sentences, greedily
and with beams, and limpid goes on training from the folder. WORK keeps what was made, and what is
there already is not made again."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import sentencepiece as spm
import transformers

PIECES = 4000
SIDES = {"source": "de", "target": "en"}
SIZES = ["model.layers=2", "model.heads=4", "model.hidden_size=128", "model.context_length=128"]
BEAMS = 6  # of the published generation_config.json
BATCH = 50


def train_pieces(data, folder, separate):
    """source.spm, target.spm, and the vocabulary of both sides, or one of each."""
    folder.mkdir(parents=True)
    vocabularies = []
    for side, language in SIDES.items():
        lines = (data / f"train.{language}").read_text(encoding="utf-8").splitlines()
        spm.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_prefix=str(folder / side), vocab_size=PIECES,
            minloglevel=2, num_threads=1,
        )  # fmt: skip
        (folder / f"{side}.vocab").unlink()
        (folder / f"{side}.model").rename(folder / f"{side}.spm")
        model = spm.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
        vocabularies.append([model.id_to_piece(i) for i in range(3, model.get_piece_size())])
    if not separate:
        vocabularies = [vocabularies[0] + vocabularies[1]]
    for name, pieces in zip(["vocab.json", "target_vocab.json"], vocabularies):
        tokens = dict.fromkeys(["</s>", "<unk>", *pieces, "<pad>"])
        text = json.dumps({token: i for i, token in enumerate(tokens)}, ensure_ascii=False)
        (folder / name).write_text(text, encoding="utf-8")


def save_tokenizer(pieces, folder, separate):
    """As a published folder has it."""
    from transformers import MarianTokenizer

    files = {side: str(pieces / f"{side}.spm") for side in SIDES}
    more = {"target_vocab_file": str(pieces / "target_vocab.json")} if separate else {}
    tokenizer = MarianTokenizer(
        files["source"], files["target"], str(pieces / "vocab.json"), source_lang="de",
        target_lang="en", separate_vocabs=separate, **more,
    )  # fmt: skip
    tokenizer.save_pretrained(folder)
    return tokenizer


def train(limpid, data, tokenizer, out, steps, batch, *more):
    files = []
    for prefix, part in [("", "train"), ("validation_", "val")]:
        for side, language in SIDES.items():
            files += ["--set", f"data.{prefix}{side}={data / f'{part}.{language}'}"]
    settings = [f"tokenizer.from={tokenizer}", *SIZES] if tokenizer else []
    settings += ["train.lr=0.001"] if tokenizer else []
    settings += [f"train.batch_tokens={batch}"]
    flags = [word for setting in settings for word in ("--set", setting)]
    command = [limpid, "train", "translate", "--out", str(out), "--steps", str(steps)]
    subprocess.run([*command, *files, *flags, *more], check=True)


def theirs(folder, tokenizer, sentences, beams):
    import torch
    from transformers import MarianMTModel

    torch.set_num_threads(1)
    model = MarianMTModel.from_pretrained(folder).eval()
    translations = []
    for first in range(0, len(sentences), BATCH):
        batch = tokenizer(sentences[first : first + BATCH], return_tensors="pt", padding=True)
        with torch.no_grad():
            written = model.generate(**batch, num_beams=beams, do_sample=False)
        translations += tokenizer.batch_decode(written, skip_special_tokens=True)
    return translations


def ours(limpid, folder, sentences, beams):
    command = [limpid, "translate", str(folder), "--num-beams", str(beams)]
    text = "".join(sentence + "\n" for sentence in sentences)
    answer = subprocess.run(command, input=text, capture_output=True, text=True)
    if answer.returncode:
        raise SystemExit(f"limpid translate failed:\n{answer.stderr}")
    return answer.stdout.splitlines()


def check(limpid, folder, tokenizer, sentences):
    good = True
    for beams in [1, BEAMS]:
        wanted, found = theirs(folder, tokenizer, sentences, beams), ours(
            limpid, folder, sentences, beams
        )
        pairs = list(zip(sentences, wanted, found, strict=True))
        other = [pair for pair in pairs if " ".join(pair[1].split()) != " ".join(pair[2].split())]
        good &= not other
        words = f"{len(pairs) - len(other)} of {len(pairs)} translations equal"
        print(f"{'FAILED' if other else 'ok':6} {folder.name}, {beams} beams: {words}", flush=True)
        for source, want, have in other[:5]:
            print(f"       {source}\n       transformers: {want}\n       limpid:       {have}")
    return good


def run(limpid, data, work, separate, steps, batch, sentences):
    name = "separate" if separate else "shared"
    pieces, run_folder, folder = (work / f"{name}-{part}" for part in ["pieces", "run", "marian"])
    if not pieces.exists():
        train_pieces(data, pieces, separate)
    saved = work / f"{name}-tokenizer"
    tokenizer = save_tokenizer(pieces, saved, separate)
    if not (run_folder / "model" / "model.safetensors").exists():
        train(limpid, data, saved, run_folder, steps, batch)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for file in ["config.json", "generation_config.json", "model.safetensors"]:
        shutil.copy(run_folder / "model" / file, folder)
    for file in saved.iterdir():
        shutil.copy(file, folder)
    # As published folders have it: who saved it decides which maximum length counts.
    generation = json.loads((folder / "generation_config.json").read_text())
    generation["transformers_version"] = transformers.__version__
    (folder / "generation_config.json").write_text(json.dumps(generation))
    print(f"{folder.name}: {', '.join(sorted(file.name for file in folder.iterdir()))}")
    assert not (folder / "tokenizer.json").exists()
    good = check(limpid, folder, tokenizer, sentences)
    with tempfile.TemporaryDirectory() as scratch:
        train(limpid, data, None, Path(scratch) / "run", 20, batch, "--from", str(folder))
        good &= check(limpid, Path(scratch) / "run" / "model", tokenizer, sentences[:50])
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, nargs="?", help="a folder that is kept")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--separate", action="store_true", help="a vocabulary for each side")
    args = parser.parse_args()
    limpid = os.environ["LIMPID"]
    data = Path(os.environ.get("LIMPID_DATA", "/nowhere")) / "multi30k"
    if not os.access(limpid, os.X_OK) or not data.is_dir():
        print("skipped: Marian's layout (no binary, or no LIMPID_DATA with multi30k)")
        return 0
    lines = (data / "test_2016_flickr.de").read_text(encoding="utf-8").splitlines()
    sentences = lines[: args.sentences]
    with tempfile.TemporaryDirectory() as scratch:
        work = args.work or Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        sizes = (args.steps, args.batch_tokens)
        return 0 if run(limpid, data, work, args.separate, *sizes, sentences) else 1


if __name__ == "__main__":
    sys.exit(main())
