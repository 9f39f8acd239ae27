#!/usr/bin/env python3
"""Writes what `generate` of transformers does with two briefly trained models, or with --check
compares.

    fixtures/decoding-gpt2, fixtures/decoding-marian    a model, and cases.json: settings, prompts,
                                                        tokens, scores
    fixtures/decoding-filters/cases.json                rows of logits before and after the logits
                                                        processors of `generate`

The models learn a language with traps: the likeliest first word is followed by many unlikely ones,
a less likely one by a single sure one. Greedy search walks into the traps, beam search does not; at
least 30% of the cases must differ."""

import argparse
import json
import os
import random
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel, MarianConfig, MarianMTModel
from transformers.utils import logging

FOLDER = Path(__file__).parent / "fixtures"
PAD, END, FIRST_WORD, WORDS = 0, 1, 2, 30
VOCABULARY = FIRST_WORD + WORDS
NEW_TOKENS = 14
SCORE_TOLERANCE = 1e-4


class Language:
    """What may follow a word. Wide words lead to eight others, narrow ones to one or two; each word
    can end a sentence."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.following = {}
        for word in range(FIRST_WORD, VOCABULARY):
            wide = rng.random() < 0.4
            others = rng.sample(range(FIRST_WORD, VOCABULARY), 8 if wide else 2)
            weights = [1.0] * 8 if wide else [0.8, 0.2]
            self.following[word] = (others + [END], weights + [0.12 * sum(weights)])
        # From the start: the favourites are wide, the others narrow.
        by_width = sorted(self.following, key=lambda word: -len(self.following[word][0]))
        starts = by_width[:3] + by_width[-4:]
        self.following[None] = (starts, [0.2, 0.18, 0.16] + [0.115] * 4)

    def sentence(self, rng, word=None, longest=16):
        words = []
        while len(words) < longest:
            choices, weights = self.following[word]
            word = rng.choices(choices, weights)[0]
            words.append(word)
            if word == END:
                break
        return words


def train(model, batches, steps, rate):
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    model.train()
    for step in range(steps):
        loss = model(**next(batches)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{type(model).__name__}: loss {loss.item():.3f} after {steps} steps", file=sys.stderr)
    return model.eval()


def padded(rows, fill):
    longest = max(map(len, rows))
    return torch.tensor([row + [fill] * (longest - len(row)) for row in rows])


def make_gpt():
    torch.manual_seed(1)
    config = GPT2Config(
        n_layer=2,
        n_head=2,
        n_embd=32,
        n_positions=24,
        vocab_size=VOCABULARY,
        bos_token_id=PAD,
        eos_token_id=END,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )
    language, rng = Language(7), random.Random(3)

    def batches():
        while True:
            rows = [[PAD] + language.sentence(rng) for _ in range(32)]
            yield {"input_ids": padded(rows, PAD), "labels": padded(rows, -100)}

    return train(GPT2LMHeadModel(config), batches(), 260, 4e-3)


def make_marian():
    torch.manual_seed(2)
    config = MarianConfig(
        d_model=32,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=64,
        vocab_size=VOCABULARY,
        max_position_embeddings=24,
        dropout=0.0,
        scale_embedding=True,
        pad_token_id=PAD,
        eos_token_id=END,
        decoder_start_token_id=PAD,
        forced_eos_token_id=None,
        activation_function="swish",
    )
    rng = random.Random(5)
    languages = [Language(11), Language(12)]

    def batches():
        # The parity of the first word chooses the language of the answer: the source matters, and
        # does not settle it.
        while True:
            sources = [
                [rng.randrange(FIRST_WORD, VOCABULARY) for _ in range(rng.randint(1, 6))] + [END]
                for _ in range(32)
            ]
            answers = [languages[source[0] % 2].sentence(rng) for source in sources]
            mask = padded([[1] * len(source) for source in sources], 0)
            yield {
                "input_ids": padded(sources, PAD),
                "attention_mask": mask,
                "labels": padded(answers, -100),
            }

    return train(MarianMTModel(config), batches(), 400, 4e-3)


def prompts(name):
    rng = random.Random(17)
    words = lambda n: [rng.randrange(FIRST_WORD, VOCABULARY) for _ in range(n)]
    if name == "decoding-gpt2":
        return [[PAD]] + [[PAD] + words(n) for n in [1, 2, 1, 3, 5, 1, 2, 4, 1, 3, 6]]
    return [words(n) + [END] for n in [1, 2, 3, 4, 5, 6, 2, 3, 1, 4, 5, 6]]


def settings():
    """The arguments of `generate`, one dictionary a case."""
    yield {}
    for repetition in [
        dict(repetition_penalty=1.4),
        dict(no_repeat_ngram_size=2),
        dict(min_new_tokens=7),
    ]:
        yield repetition
    yield dict(repetition_penalty=0.7, no_repeat_ngram_size=3, min_new_tokens=4)
    for beams, penalty in [(2, 1.0), (4, 0.6), (4, 2.0), (5, 1.0), (4, -0.5), (5, 0.0)]:
        for stopping in [True, False, "never"]:
            yield dict(num_beams=beams, length_penalty=penalty, early_stopping=stopping)
    for stopping in [True, False, "never"]:
        yield dict(num_beams=4, num_return_sequences=4, length_penalty=1.0, early_stopping=stopping)
    yield dict(
        num_beams=5,
        num_return_sequences=3,
        length_penalty=0.6,
        early_stopping=False,
        min_new_tokens=5,
    )
    yield dict(num_beams=4, repetition_penalty=1.3, length_penalty=1.0, early_stopping=True)
    yield dict(num_beams=4, no_repeat_ngram_size=2, length_penalty=2.0, early_stopping="never")
    yield dict(
        num_beams=3,
        num_return_sequences=2,
        repetition_penalty=1.2,
        no_repeat_ngram_size=3,
        min_new_tokens=3,
        length_penalty=1.5,
        early_stopping=False,
    )
    yield dict(
        num_beams=3,
        bad_words_ids=[[PAD], [5], [7, 9], [12, 13, 4]],
        length_penalty=1.0,
        early_stopping=True,
    )
    yield dict(bad_words_ids=[[PAD], [5], [7, 9], [12, 13, 4]])
    yield dict(num_beams=2, forced_eos_token_id=END, length_penalty=1.0, early_stopping=False)
    yield dict(
        num_beams=4,
        num_return_sequences=2,
        renormalize_logits=True,
        repetition_penalty=1.3,
        no_repeat_ngram_size=2,
        length_penalty=1.0,
        early_stopping=False,
    )
    yield dict(
        num_beams=3,
        renormalize_logits=True,
        bad_words_ids=[[PAD], [5], [7, 9], [12, 13, 4]],
        min_new_tokens=5,
        length_penalty=0.6,
        early_stopping="never",
    )
    yield dict(renormalize_logits=True, repetition_penalty=1.4)


def written(model, prompt, arguments):
    """The new tokens of every returned sequence, the end token included, and their scores."""
    arguments = {
        "bad_words_ids": [[PAD]],
        **arguments,
        "max_new_tokens": NEW_TOKENS,
        "do_sample": False,
    }
    out = model.generate(
        torch.tensor([prompt]),
        attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
        pad_token_id=PAD,
        return_dict_in_generate=True,
        output_scores=True,
        **arguments,
    )
    given = 1 if model.config.is_encoder_decoder else len(prompt)
    rows = [row[given:].tolist() for row in out.sequences]
    # Everything after the end token is padding; padding itself is never said.
    rows = [row[: row.index(END) + 1] if END in row else row for row in rows]
    scores = out.sequences_scores.tolist() if "num_beams" in arguments else None
    return rows, scores


def compute_cases(model, name):
    cases = []
    for arguments in settings():
        outputs = [written(model, prompt, arguments) for prompt in prompts(name)]
        case = {"settings": arguments, "sequences": [rows for rows, _ in outputs]}
        if outputs[0][1] is not None:
            case["scores"] = [[round(score, 6) for score in scores] for _, scores in outputs]
        cases.append(case)
    greedy = cases[0]["sequences"]
    beams = [case for case in cases if case["settings"].get("num_beams")]
    differ = sum(
        rows[0] != alone[0] for case in beams for rows, alone in zip(case["sequences"], greedy)
    )
    share = differ / (len(beams) * len(greedy))
    print(
        f"{name}: beam differs from greedy in {share:.0%} of {len(beams) * len(greedy)} cases",
        file=sys.stderr,
    )
    assert share >= 0.3, "the language has too few traps"
    return {"new_tokens": NEW_TOKENS, "prompts": prompts(name), "cases": cases}


FILTERS = [
    dict(temperature=0.7),
    dict(top_k=5),
    dict(top_p=0.8),
    dict(temperature=1.7, top_k=12, top_p=0.9),
    dict(temperature=0.5, top_p=0.35),
    dict(repetition_penalty=1.5, temperature=1.2, top_k=9),
    dict(repetition_penalty=0.6, top_p=0.6),
    dict(no_repeat_ngram_size=1, top_p=0.9),
    dict(no_repeat_ngram_size=2, repetition_penalty=1.2, temperature=0.8, top_k=20, top_p=0.95),
    dict(min_new_tokens=20, top_k=3, bad_words_ids=[[4], [2, 3], [8, 2, 6]]),
    dict(bad_words_ids=[[4], [2, 3]], no_repeat_ngram_size=3, top_p=0.999),
]


def compute_filters(model):
    """For random logits: the probabilities after all processors of `generate`, in its order."""
    random_numbers = torch.Generator().manual_seed(23)
    cases = []
    for arguments in FILTERS:
        for _ in range(3):
            logits = (3.0 * torch.randn(1, VOCABULARY, generator=random_numbers)).round(decimals=4)
            # Two words of history that repeat themselves: n-grams to ban.
            history = torch.randint(2, 9, (1, 12), generator=random_numbers)
            config = GenerationConfig(do_sample=True, eos_token_id=END, **{"top_k": 0, **arguments})
            config._eos_token_tensor = torch.tensor([END])
            processors = model._get_logits_processor(config, input_ids_seq_length=4, device="cpu")
            after = processors(history, logits.clone()).softmax(-1)[0]
            cases.append(
                {
                    "settings": arguments,
                    "history": history[0].tolist(),
                    "logits": [round(x, 4) for x in logits[0].tolist()],
                    "probabilities": [float(f"{x:.7g}") for x in after.tolist()],
                }
            )
    return {"prompt": 4, "cases": cases}


MODELS = {
    "decoding-gpt2": (make_gpt, GPT2LMHeadModel),
    "decoding-marian": (make_marian, MarianMTModel),
}


def recompute():
    for name, (_, kind) in MODELS.items():
        model = kind.from_pretrained(FOLDER / name).eval()
        yield name, compute_cases(model, name)
        if name == "decoding-gpt2":
            yield "decoding-filters", compute_filters(model)


def write():
    for name, (make, _) in MODELS.items():
        make().save_pretrained(FOLDER / name)
    for name, cases in recompute():
        (FOLDER / name).mkdir(exist_ok=True)
        (FOLDER / name / "cases.json").write_text(json.dumps(cases, separators=(",", ":")) + "\n")


def same(stored, fresh):
    """Equal, numbers that are not whole within the tolerance."""
    if isinstance(stored, dict) and isinstance(fresh, dict):
        return stored.keys() == fresh.keys() and all(
            same(stored[key], fresh[key]) for key in stored
        )
    if isinstance(stored, list) and isinstance(fresh, list):
        return len(stored) == len(fresh) and all(map(same, stored, fresh))
    if isinstance(stored, float) and isinstance(fresh, float):
        return abs(stored - fresh) <= SCORE_TOLERANCE
    return stored == fresh


def check():
    failed = 0
    for name, cases in recompute():
        ok = same(
            json.loads((FOLDER / name / "cases.json").read_text()), json.loads(json.dumps(cases))
        )
        print(f"{'ok' if ok else 'FAILED':6} {name:16} {len(cases['cases'])} cases")
        failed += not ok
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    args = parser.parse_args()
    torch.set_num_threads(1)
    logging.disable_progress_bar()
    if not args.check:
        write()
    sys.exit(1 if check() else 0)


if __name__ == "__main__":
    main()
