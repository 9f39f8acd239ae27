#!/usr/bin/env python3
"""Fine-tuning of multilingual translators, end to end, against `transformers`.

    LIMPID=… reference/check_languages.py [WORK]

Small random mBART, mBART-50, NLLB and M2M-100 folders are trained for ten steps on all pairs at
once: by limpid with `--source-lang` and `--target-lang`, and by `transformers` with the same
languages on `text_target`, with AdamW. The losses must be equal, and so must the translations of
what limpid saved: in limpid with no flag, and in `transformers` from the same folder."""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers as hf

from check_heads import limpid, settings
from folder_tokenizers import sentence_piece

STEPS, LR = 10, 1e-3
SIZES = dict(d_model=48, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
             decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64,
             max_position_embeddings=64, dropout=0.0)  # fmt: skip
# Configuration, tokenizer, languages, and where the decoder starts (None: its language).
FAMILIES = {
    "mbart": ("MBart", "MBartTokenizer", ["de_DE", "ro_RO"], None),
    "mbart-50": ("MBart", "MBart50Tokenizer", ["de_DE", "ro_RO"], 2),
    "nllb": ("M2M100", "NllbTokenizer", ["fra_Latn", "eng_Latn"], 2),
    "m2m_100": ("M2M100", "M2M100Tokenizer", ["de", "fr"], 2),
}
PAIRS = [(f"zwei Hunde {'und eine Frau ' * (i % 3)}im Park {i}", f"two dogs {i} in the park")
         for i in range(16)]  # fmt: skip


def m2m_100(folder):
    """The fixture's files: its class reads vocab.json too."""
    fixture = Path(__file__).parent / "fixtures" / "tokenizers" / "m2m_100"
    shutil.copytree(fixture, folder, dirs_exist_ok=True)
    return hf.AutoTokenizer.from_pretrained(folder)


def make(folder, prefix, class_name, start):
    save = m2m_100 if class_name == "M2M100Tokenizer" else sentence_piece(class_name)
    tokenizer = save(folder)
    config = getattr(hf, f"{prefix}Config")(
        vocab_size=len(tokenizer), decoder_start_token_id=start or 2, pad_token_id=1,
        eos_token_id=2, bos_token_id=0, init_std=0.2, **SIZES,
    )  # fmt: skip
    torch.manual_seed(3)
    model = getattr(hf, f"{prefix}ForConditionalGeneration")(config)
    model.save_pretrained(folder)


def losses_of_transformers(folder, languages):
    tokenizer = hf.AutoTokenizer.from_pretrained(
        folder, src_lang=languages[0], tgt_lang=languages[1]
    )
    model = hf.AutoModelForSeq2SeqLM.from_pretrained(folder).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, betas=(0.9, 0.98), eps=1e-8,
                                  weight_decay=0.0)  # fmt: skip
    batches = [tokenizer(s, text_target=t, return_tensors="pt") for s, t in PAIRS]
    weight = sum(batch.labels.numel() for batch in batches)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        total = 0.0
        for batch in batches:
            loss = model(**batch).loss * (batch.labels.numel() / weight)
            loss.backward()
            total += float(loss.detach())
        losses.append(total)
        optimizer.step()
    return losses


def check(work, name):
    prefix, class_name, languages, start = FAMILIES[name]
    folder, run, data = work / name, work / f"{name}-run", work / "pairs.tsv"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(run, ignore_errors=True)
    make(folder, prefix, class_name, start)
    data.write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS))
    every = ["train.batch_tokens=100000", "model.dropout=0", "train.log_every=1", "train.seed=7",
             "train.schedule=constant", "train.warmup_steps=0", f"train.lr={LR}",
             f"train.steps={STEPS}", "train.weight_decay=0", "train.max_grad_norm=0",
             "train.beta2=0.98", "train.label_smoothing=0", f"data.validation_pairs={data}",
             "score.max_sentences=4"]  # fmt: skip
    limpid("train", "translate", "--pairs", data, "--from", folder, "--out", run,
           "--source-lang", languages[0], "--target-lang", languages[1], *settings(*every))
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    ours = [line["loss"] for line in lines if "lr" in line]
    theirs = losses_of_transformers(folder, languages)
    off = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True))
    texts = [source for source, _ in PAIRS]
    found = [json.loads(line)["tokens"] for line in limpid("translate", run, "--json", *texts,
             "--max-new-tokens", 12).splitlines()]  # fmt: skip
    tokenizer = hf.AutoTokenizer.from_pretrained(run / "model")
    model = hf.AutoModelForSeq2SeqLM.from_pretrained(run / "model").eval()
    equal = 0
    for text, tokens in zip(texts, found, strict=True):
        with torch.no_grad():
            row = model.generate(**tokenizer(text, return_tensors="pt"), max_new_tokens=12)[0]
        row = [id for id in row.tolist()[1:]]
        end = row.index(2) if 2 in row else len(row)
        equal += row[:end] == [id for id in tokens if id != 2]
    good = off < 1e-5 and equal == len(texts)
    print(f"{'ok' if good else 'FAILED':6} {name}: losses {ours[0]:.5f} to {ours[-1]:.5f} within "
          f"{off:.1e}, {equal} of {len(texts)} translations equal", flush=True)
    return good


def main():
    torch.set_num_threads(1)
    hf.utils.logging.disable_progress_bar()
    work = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    sys.exit(not all([check(work, name) for name in FAMILIES]))


if __name__ == "__main__":
    main()
