#!/usr/bin/env python3
"""The PyTorch twin of configs/multi30k-de-en-rnn.toml: same model, same tokenizer, same settings,
evaluated alike.

    bench/twin_rnn.py path/to/multi30k --tokenizer runs/de-en-rnn/tokenizer/tokenizer.json \\
        --seed 1 --threads 2 --out twin.en

Trains on train.de and train.en, keeps the weights of the lowest loss on val.*, translates
test_2016_flickr (or --test) greedily into --out, and prints one line of JSON: parameters,
validation loss, sacreBLEU (lower-cased and not), seconds of training without validation. The model
is reference/rnn_model.py. Run it with the Python that has torch, tokenizers and sacrebleu."""

import argparse
import copy
import json
import sys
import time
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "reference"))
from rnn_model import Rnn  # noqa: E402

PAD, END = 0, 1
EPOCHS, BATCH_TOKENS, PEAK, WARMUP, SMOOTHING, CLIP, VALIDATE_EVERY = (
    10,
    3600,
    1e-3,
    200,
    0.1,
    1.0,
    500,
)
# Pairs that go through the model together; a batch has about 120.
PART = 32
# Tokens a side at most, as model.context_length.
LONGEST = 128


def model_config(vocab, args):
    return dict(
        vocab_size=vocab, decoder_vocab_size=vocab, embedding_size=256, hidden_size=512,
        num_layers=1, cell="gru", bidirectional=True, attention=args.attention, attention_size=512,
        dropout=0.3,
        share_encoder_decoder_embeddings=True, tie_word_embeddings=True,
    )  # fmt: skip


def first_values(model):
    """As ours: embeddings N(0, 0.1²), recurrent layers as PyTorch draws them, Xavier for the rest,
    biases 0."""
    for name, p in model.named_parameters():
        if ".rnn." in name:
            continue
        if p.dim() < 2:
            nn.init.zeros_(p)
        elif name == "shared.weight":
            nn.init.normal_(p, 0.0, 0.1)
        else:
            nn.init.xavier_uniform_(p)


def read(folder, name, tokenizer):
    lines = [
        (folder / f"{name}.{side}").read_text(encoding="utf-8").splitlines()
        for side in ["de", "en"]
    ]
    encode = lambda texts: [
        e.ids + [END] for e in tokenizer.encode_batch(texts, add_special_tokens=False)
    ]
    return list(zip(*map(encode, lines))), lines


def batches(pairs, generator):
    """Pairs in random order, as many at a time as have BATCH_TOKENS tokens together."""
    batch, tokens = [], 0
    for i in torch.randperm(len(pairs), generator=generator).tolist():
        size = len(pairs[i][0]) + len(pairs[i][1])
        if batch and tokens + size > BATCH_TOKENS:
            yield batch
            batch, tokens = [], 0
        batch.append(pairs[i])
        tokens += size
    yield batch


def tensors(batch):
    pad = lambda rows: pad_sequence(
        [torch.tensor(r) for r in rows], batch_first=True, padding_value=PAD
    )
    source, target = pad([s for s, _ in batch]), pad([t for _, t in batch])
    lengths = torch.tensor([len(s) for s, _ in batch])
    inputs = torch.cat([torch.zeros_like(target[:, :1]), target[:, :-1]], 1)
    real = torch.arange(target.shape[1])[None] < torch.tensor([len(t) for _, t in batch])[:, None]
    return source, lengths, inputs, target, real


def loss_of(model, batch, smoothing, reduction="mean"):
    source, lengths, inputs, target, real = tensors(batch)
    states, visible, first = model.encode(source, lengths)
    # Only real places go through the output layer.
    words = model.dropout(model.target_table()(inputs))
    if model.attends == "additive":
        said, contexts, _, _ = model.look_before_each_step(words, states, visible, first)
        parts = [said, contexts, words]
    else:
        said, _ = model.decoder.rnn(words, first)
        parts = [said, words]
    hidden = model.dropout(torch.tanh(model.readout(torch.cat([p[real] for p in parts], -1))))
    return F.cross_entropy(
        model.lm_head(hidden), target[real], label_smoothing=smoothing, reduction=reduction
    )


def backward(model, batch):
    """The gradient of the batch's mean loss, in parts of pairs of about one length: the same up to
    rounding, without most of the padding."""
    targets = sum(len(t) for _, t in batch)
    ordered = sorted(batch, key=lambda pair: (len(pair[1]), len(pair[0])))
    total = 0.0
    for part in (ordered[i : i + PART] for i in range(0, len(ordered), PART)):
        loss = loss_of(model, part, SMOOTHING, "sum") / targets
        loss.backward()
        total += loss.item()
    return total


@torch.no_grad()
def validate(model, pairs):
    model.eval()
    groups = [pairs[i : i + 64] for i in range(0, len(pairs), 64)]
    total = sum(loss_of(model, group, 0.0, "sum").item() for group in groups)
    model.train()
    return total / sum(len(t) for _, t in pairs)


@torch.no_grad()
def translate(model, tokenizer, sources):
    """Greedily, twice the source and ten tokens at most, never padding."""
    model.eval()
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    texts = [""] * len(sources)
    for group in (order[i : i + 64] for i in range(0, len(order), 64)):
        source = pad_sequence([torch.tensor(sources[i]) for i in group], batch_first=True)
        lengths = torch.tensor([len(sources[i]) for i in group])
        states, visible, state = model.encode(source, lengths)
        token, written, limit = torch.zeros(len(group), 1, dtype=torch.long), [], 2 * lengths + 10
        for _ in range(int(limit.max())):
            logits, state, _ = model.decode(token, states, visible, state)
            logits[..., PAD] = -torch.inf
            token = logits[:, -1].argmax(-1, keepdim=True)
            written.append(token)
            if all((torch.cat(written, 1) == END).any(1)):
                break
        for i, row, most in zip(group, torch.cat(written, 1).tolist(), limit.tolist()):
            row = row[:most]
            texts[i] = tokenizer.decode(row[: row.index(END)] if END in row else row)
    return texts


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument(
        "--test", default="test_2016_flickr", help="name of the test files without .de and .en"
    )
    parser.add_argument("--attention", choices=["none", "additive"], default="additive")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--steps", type=int, help="stop after so many, and translate nothing")
    parser.add_argument(
        "--checkpoint", type=Path, help="a file to go on from, and to save to every 100 steps"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    tokenizer = Tokenizer.from_file(str(args.tokenizer))
    train, _ = read(args.folder, "train", tokenizer)
    train = [(s, t) for s, t in train if max(len(s), len(t)) <= LONGEST and min(len(s), len(t)) > 1]
    validation, _ = read(args.folder, "val", tokenizer)
    test, (_, references) = read(args.folder, args.test, tokenizer)
    model = Rnn(model_config(tokenizer.get_vocab_size(), args))
    first_values(model)
    generator = torch.Generator().manual_seed(args.seed)
    plan = [list(batches(train, generator)) for _ in range(EPOCHS)]
    total = sum(map(len, plan))
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=PEAK, betas=(0.9, 0.98), eps=1e-8, weight_decay=0.0, fused=True
    )
    model.train()
    best, kept, seconds, done = float("inf"), None, 0.0, 0
    if args.checkpoint and args.checkpoint.exists():
        there = torch.load(args.checkpoint)
        best, kept, seconds, done = there["best"], there["kept"], there["seconds"], there["step"]
        model.load_state_dict(there["model"])
        optimizer.load_state_dict(there["optimizer"])
        torch.set_rng_state(there["rng"])
    for step, batch in enumerate([batch for epoch in plan for batch in epoch][done:], done + 1):
        begin = time.perf_counter()
        rate = step / WARMUP if step <= WARMUP else (total - step) / (total - WARMUP)
        for group in optimizer.param_groups:
            group["lr"] = PEAK * rate
        optimizer.zero_grad(set_to_none=True)
        loss = backward(model, batch)
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        seconds += time.perf_counter() - begin
        if step % 50 == 0:
            print(
                f"step {step} of {total}: loss {loss:.3f}, {1e3 * seconds / step:.0f} ms a step",
                file=sys.stderr,
            )
        last = step == (args.steps or total)
        if step % VALIDATE_EVERY == 0 or last:
            found = validate(model, validation)
            print(f"step {step}: validation loss {found:.4f}", file=sys.stderr)
            if found < best:
                best, kept = found, copy.deepcopy(model.state_dict())
        if last:
            break
        if args.checkpoint and step % 100 == 0:
            state = dict(
                best=best,
                kept=kept,
                seconds=seconds,
                step=step,
                model=model.state_dict(),
                optimizer=optimizer.state_dict(),
            )
            aside = args.checkpoint.with_suffix(".tmp")
            torch.save(dict(state, rng=torch.get_rng_state()), aside)
            aside.rename(args.checkpoint)
    model.load_state_dict(kept)
    result = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "steps": step,
        "validation_loss": best,
        "seconds": seconds,
    }
    if args.steps:
        return print(json.dumps(result))
    texts = translate(model, tokenizer, [s for s, _ in test])
    if args.out:
        args.out.write_text("\n".join(texts) + "\n", encoding="utf-8")
    import sacrebleu

    for key, lowercase in [("bleu_lc", True), ("bleu", False)]:
        result[key] = sacrebleu.corpus_bleu(texts, [references], lowercase=lowercase).score
    print(json.dumps({**result, "attention": args.attention, "seed": args.seed}))


if __name__ == "__main__":
    main()
