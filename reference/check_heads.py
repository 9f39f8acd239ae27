#!/usr/bin/env python3
"""Training of every head, end to end, against `transformers`.

    LIMPID=… reference/check_heads.py [WORK]

Trains a small encoder and a small decoder with limpid, puts every head on them, and fine-tunes each
for ten steps on all examples at once: with limpid, and with `transformers` and AdamW from the same
folder, on texts as `transformers`' examples tokenize them. The losses must be equal, and so must
the outputs of the two trained models, when `transformers` opens what limpid saved."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers import (
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
)

LIMPID = os.environ.get("LIMPID", "target/release/limpid")
STEPS, LR = 10, 1e-3
TEXT = ["Ann met Bob in Rome .", "Bob likes the red cat of Eve .", "Tom and Eve sleep in York ."]
SIZES = ["model.layers=2", "model.heads=2", "model.hidden_size=32", "tokenizer.kind=word"]


def limpid(*words):
    answer = subprocess.run([LIMPID, *map(str, words)], capture_output=True, text=True)
    if answer.returncode:
        sys.exit(f"limpid {' '.join(map(str, words))}\n{answer.stderr}")
    return answer.stdout


def settings(*all_of_them):
    return [word for setting in all_of_them for word in ("--set", setting)]


def base(work, task):
    text = work / "text.txt"
    text.write_text("".join(f"{line}\n" for line in TEXT * 20))
    limpid("train", task, "--data", text, "--out", work / task,
           *settings(*SIZES, "train.steps=20", "data.unit=lines", "model.context_length=64"))
    return work / task


def sentences():
    people, places = ["Ann", "Bob", "Eve", "Tom"], ["Rome", "York"]
    return [f"{people[i % 4]} likes the {'red ' * (i % 3)}cat in {places[i % 2]} ."
            for i in range(24)]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def classification(work, name, label, model_class=AutoModelForSequenceClassification):
    """Data, flags, and what transformers is trained on."""
    texts = sentences()
    labels = [label(text) for text in texts]
    write(work / f"{name}.jsonl", [{"text": t, "label": l} for t, l in zip(texts, labels)])

    def batch(tokenizer, model):
        # One text at a time: the decoder has no padding token.
        for text, target in zip(texts, labels):
            ids = tokenizer(text, return_tensors="pt")
            if model.config.problem_type == "regression":
                wanted = torch.tensor([target], dtype=torch.float)
            elif model.config.problem_type == "multi_label_classification":
                names = model.config.label2id
                wanted = torch.zeros(1, len(names))
                for one in target:
                    wanted[0, names[one]] = 1.0
            else:
                wanted = torch.tensor([model.config.label2id[target]])
            yield ids, {"labels": wanted}, 1

    return model_class, batch


def tagging(work, name):
    rows = []
    for text in sentences():
        words = text.split()
        kinds = {"Rome": "B-LOC", "York": "B-LOC"}
        rows.append({"words": words, "labels": ["B-PER"] + [kinds.get(w, "O") for w in words[1:]]})
    write(work / f"{name}.jsonl", rows)

    def batch(tokenizer, model):
        for row in rows:
            # Words between spaces; the first token of a word has its label.
            text = " ".join(row["words"])
            word_of = [i for i, word in enumerate(row["words"]) for _ in f"{word} "]
            ids = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
            wanted, seen = [], set()
            for start, end in ids.pop("offset_mapping")[0].tolist():
                word = word_of[end - 1] if end > start and text[end - 1] != " " else None
                is_first = word is not None and word not in seen
                seen.add(word)
                label = model.config.label2id[row["labels"][word]] if is_first else -100
                wanted.append(label)
            terms = sum(label != -100 for label in wanted)
            assert terms == len(row["words"])
            yield ids, {"labels": torch.tensor([wanted])}, terms

    return AutoModelForTokenClassification, batch


def answering(work, name):
    rows = []
    for i, text in enumerate(sentences()):
        place = "Rome" if "Rome" in text else "York"
        context = f"{'the red cat sleeps . ' * (i % 4)}{text}"
        question, answer = [("who likes the cat", text.split()[0]), ("where", place)][i % 2]
        start = context.index(text) + text.index(answer)
        rows.append({"question": question, "context": context, "answer": answer, "start": start})
    write(work / f"{name}.jsonl", rows)

    def batch(tokenizer, model):
        for row in rows:
            found = tokenizer(row["question"], row["context"], truncation="only_second",
                              max_length=24, stride=8, return_overflowing_tokens=True,
                              return_offsets_mapping=True)
            end = row["start"] + len(row["answer"])
            for i, offsets in enumerate(found["offset_mapping"]):
                # As run_qa.py: the window has the answer, or the answer is [CLS].
                context = [k for k, s in enumerate(found.sequence_ids(i)) if s == 1]
                first, last = context[0], context[-1]
                answer = (0, 0)
                if offsets[first][0] <= row["start"] and offsets[last][1] >= end:
                    while first < len(offsets) and offsets[first][0] <= row["start"]:
                        first += 1
                    while offsets[last][1] >= end:
                        last -= 1
                    answer = (first - 1, last + 1)
                ids = {key: torch.tensor([found[key][i]])
                       for key in ("input_ids", "token_type_ids", "attention_mask")
                       if key in found}
                wanted = {"start_positions": torch.tensor([answer[0]]),
                          "end_positions": torch.tensor([answer[1]])}
                yield ids, wanted, 1

    return AutoModelForQuestionAnswering, batch


def losses_of_transformers(folder, model_class, batch):
    """Ten losses of AdamW as limpid's, and the trained model."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = model_class.from_pretrained(folder).train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, betas=(0.9, 0.98), eps=1e-8,
                                  weight_decay=0.0)
    examples = list(batch(tokenizer, model))
    weight = sum(terms for _, _, terms in examples)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        total = 0.0
        for ids, wanted, terms in examples:
            loss = model(**ids, **wanted).loss * (terms / weight)
            loss.backward()
            total += float(loss.detach())
        losses.append(total)
        optimizer.step()
    return losses, model.eval(), examples


def outputs(model, examples):
    all_of_them = []
    with torch.no_grad():
        for ids, _, _ in examples:
            found = model(**ids)
            logits = found.logits if "logits" in found else torch.stack(
                [found.start_logits, found.end_logits], -1)
            all_of_them.append(logits)
    return all_of_them


def check(work, name, task, start, spec, *flags):
    model_class, batch = spec
    data, head, run = work / f"{name}.jsonl", work / f"{name}-head", work / f"{name}-run"
    common = ["train.batch_tokens=100000", "model.dropout=0", "data.validation_split=0.05",
              "train.seed=7"]
    limpid("train", task, "--data", data, "--from", start, "--out", head, *flags,
           *settings(*common, "train.steps=1", "train.lr=1e-9"))
    # All examples at once: validation on the same file leaves all of them to training.
    every = [f"data.validation_text={data}", "train.log_every=1", "train.schedule=constant",
             "train.warmup_steps=0", f"train.lr={LR}", f"train.steps={STEPS}",
             "train.beta2=0.98", "train.weight_decay=0", "train.max_grad_norm=0",
             "train.best_metric=loss", "train.average_checkpoints=0"]
    common = [setting for setting in common if "split" not in setting]
    limpid("train", task, "--data", data, "--from", head, "--out", run, *flags,
           *settings(*common, *every))
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    ours = [line["loss"] for line in lines if "lr" in line]
    theirs, trained, examples = losses_of_transformers(head / "model", model_class, batch)
    off = max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(ours, theirs, strict=True))
    opened = model_class.from_pretrained(run / "model").eval()
    far, largest = 0.0, 0.0
    for mine, wanted in zip(outputs(opened, examples), outputs(trained, examples)):
        far = max(far, float((mine - wanted).abs().max()))
        largest = max(largest, float(wanted.abs().max()))
    good = off < 1e-3 and far < 1e-2 * max(largest, 1.0)
    print(f"{'ok' if good else 'FAILED':6} {name}: losses {ours[0]:.5f} to {ours[-1]:.5f} within "
          f"{off:.1e}, logits after training within {far:.1e} of {largest:.2f}", flush=True)
    return good


def main():
    work = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    encoder, decoder = base(work, "bert"), base(work, "gpt")
    reds = lambda text: text.count("red") / 2
    several = lambda text: [word for word in ("red", "Rome", "Ann") if word in text]
    one = lambda text: "red" if "red" in text else "plain"
    regression = ["--problem-type", "regression"]
    multi = ["--problem-type", "multi_label_classification"]
    windows = settings("model.context_length=24", "data.doc_stride=8")
    results = [
        check(work, "single", "classify", encoder, classification(work, "single", one)),
        check(work, "regression", "classify", encoder,
              classification(work, "regression", reds), *regression),
        check(work, "multi", "classify", encoder, classification(work, "multi", several), *multi),
        check(work, "decoder", "classify", decoder, classification(work, "decoder", one)),
        check(work, "decoder-regression", "classify", decoder,
              classification(work, "decoder-regression", reds), *regression),
        check(work, "tag", "tag", encoder, tagging(work, "tag")),
        check(work, "answer", "answer", encoder, answering(work, "answer"), *windows),
    ]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
