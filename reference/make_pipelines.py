#!/usr/bin/env python3
"""Writes fixtures/pipeline-*: folders of tiny models with tokenizers, and what the pipelines of
`transformers` (token and text classification) and sentence-transformers' CrossEncoder make of some
texts (expected.json). Question answering has no pipeline in `transformers` 5: the windows come from
its tokenizers, the logits from its models, and the choice of spans is written out here as the last
pipeline of version 4 made it; `check_answers.py` compares them with that pipeline.

    pip install --no-deps sentence-transformers==6.2.0
    python make_pipelines.py
"""

import json
import os
import pathlib
import shutil

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
import transformers as hf
from sentence_transformers import CrossEncoder
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
TEXTS = [
    "Ann Marie lives in New York, not in Paris.",
    "ann met Zoë O'Neill in São Paulo",
    "Unbelievable!  Xyzzy-42 spoke to Ann.",
    "",
    "Paris",
]
CONTEXT = (
    "Ann Marie lives in New York. She moved there from Paris in 1999, because Zoë lived in New "
    "York too. Before that she had spoken with nobody about São Paulo; in Paris it rained."
)
QUESTIONS = ["Where does Ann live?", "Who lived in New York?", "What?"]
STRATEGIES = ["none", "simple", "first", "average", "max"]


SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def pieces():
    whole = "ann marie lives live in new york not paris met zoe sao paulo she who where does"
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)] + list("0123456789.,;!?-'")
    return SPECIAL + whole.split() + letters + ["##" + letter for letter in letters[:36]]


def bert_tokenizer():
    """The same with the class of BERT, which gives token types; the other one gives none."""
    vocab = {token: i for i, token in enumerate(pieces())}
    return hf.BertTokenizer(vocab=vocab, do_lower_case=True, model_max_length=64)


def wordpiece():
    """Lowercases; words that are not whole fall into pieces."""
    special, vocab = SPECIAL, pieces()
    tokenizer = Tokenizer(models.WordPiece({t: i for i, t in enumerate(vocab)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.decoder = decoders.WordPiece()
    roles = dict(zip(["pad_token", "unk_token", "cls_token", "sep_token", "mask_token"], special))
    return hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **roles)


def byte_level():
    """Bytes and some merges, with RoBERTa's offsets."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    merges = [("Ġ", "i"), ("Ġi", "n"), ("A", "n"), ("An", "n"), ("Ġ", "An"), ("i", "s"), ("e", "r")]
    vocab = special + sorted(pre_tokenizers.ByteLevel.alphabet()) + ["".join(m) for m in merges]
    tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(vocab)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False
    )
    tokenizer.decoder = decoders.ByteLevel()
    roles = dict(bos_token="<s>", cls_token="<s>", pad_token="<pad>", eos_token="</s>")
    roles |= dict(sep_token="</s>", unk_token="<unk>", mask_token="<mask>")
    return hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=256, **roles)


def config(config_class, tokenizer, positions, **changes):
    sizes = dict(hidden_size=18, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20)
    sizes |= dict(vocab_size=len(tokenizer), max_position_embeddings=positions)
    return config_class(**sizes, initializer_range=0.6, **changes)


def save(name, model_class, settings, tokenizer, seed):
    folder = FIXTURES / name
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(seed)
    model_class(settings).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write(folder, expected):
    text = json.dumps(expected, ensure_ascii=False, indent=1)
    (folder / "expected.json").write_text(text + "\n")


def labels(names):
    return dict(id2label=dict(enumerate(names)), label2id={n: i for i, n in enumerate(names)})


def plain(value):
    """The same with Python's numbers."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.item() if hasattr(value, "item") else value


def tags():
    names = labels(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])
    bert, roberta = wordpiece(), byte_level()
    folders = [
        save(
            "pipeline-tag-bert",
            hf.BertForTokenClassification,
            config(hf.BertConfig, bert, 64, **names),
            bert,
            71,
        ),
        save(
            "pipeline-tag-roberta",
            hf.RobertaForTokenClassification,
            config(hf.RobertaConfig, roberta, 258, pad_token_id=1, type_vocab_size=1, **names),
            roberta,
            72,
        ),
    ]
    for folder in folders:
        texts = [text for text in TEXTS if text]
        found = {}
        for strategy in STRATEGIES:
            tagger = hf.pipeline(
                "token-classification", model=str(folder), aggregation_strategy=strategy
            )
            found[strategy] = [plain(tagger(text)) for text in texts]
        write(folder, {"texts": texts, "entities": found})


def best_spans(start, end, allowed, options):
    """Probabilities of spans of one window, the most likely first, and that of no answer."""
    softmax = lambda z: np.exp(z - z.max()) / np.exp(z - z.max()).sum()
    start, end = [softmax(np.where(allowed, z, np.float32(-10000.0))) for z in (start, end)]
    null = start[0] * end[0]
    start[0] = end[0] = 0.0
    scores = np.tril(np.triu(np.outer(start, end)), options["max_answer_len"] - 1)
    order = np.argsort(-scores.flatten(), kind="stable")[: 2 * options["top_k"] + 10]
    pairs = [divmod(int(i), len(start)) for i in order]
    kept = [(scores[s, e], s, e) for s, e in pairs if allowed[s] and allowed[e]]
    return [span for span in kept if span[0] > 0], null


def answers(model, tokenizer, question, context, options):
    window = min(tokenizer.model_max_length, options.get("max_seq_len", 384))
    encoded = tokenizer(
        question,
        context,
        truncation="only_second",
        max_length=window,
        stride=options.get("doc_stride", min(window // 2, 128)),
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    found, null = [], float("inf")
    for i, ids in enumerate(encoded["input_ids"]):
        inputs = {k: torch.tensor([encoded[k][i]]) for k in tokenizer.model_input_names}
        if not hasattr(model.config, "type_vocab_size") or model.config.type_vocab_size < 2:
            inputs.pop("token_type_ids", None)
        with torch.no_grad():
            output = model(**inputs)
        encoding = encoded.encodings[i]
        inside = [sequence == 1 for sequence in encoding.sequence_ids]
        allowed = np.array(inside) | (np.array(ids) == tokenizer.cls_token_id)
        logits = [z[0].numpy() for z in (output.start_logits, output.end_logits)]
        spans, here = best_spans(*logits, allowed, options)
        null = min(null, here)
        for score, first, last in spans:
            words = [encoding.token_to_word(token) for token in (first, last)]
            begin = encoding.word_to_chars(words[0], 1)[0]
            end = encoding.word_to_chars(words[1], 1)[1]
            text = context[begin:end]
            same = [answer for answer in found if answer["answer"].lower() == text.lower()]
            if same:
                same[0]["score"] += score
            else:
                found.append({"answer": text, "score": score, "start": begin, "end": end})
    if options["impossible"]:
        found.append({"answer": "", "score": null, "start": 0, "end": 0})
    return plain(sorted(found, key=lambda answer: -answer["score"])[: options["top_k"]])


def question_answering():
    bert, roberta = bert_tokenizer(), byte_level()
    cases = [
        (
            "pipeline-answer-bert",
            hf.BertForQuestionAnswering,
            config(hf.BertConfig, bert, 64),
            bert,
            81,
        ),
        (
            "pipeline-answer-roberta",
            hf.RobertaForQuestionAnswering,
            config(hf.RobertaConfig, roberta, 258, pad_token_id=1, type_vocab_size=1),
            roberta,
            82,
        ),
    ]
    for name, model_class, settings, tokenizer, seed in cases:
        folder = save(name, model_class, settings, tokenizer, seed)
        model = model_class.from_pretrained(folder).eval()
        expected = []
        for question in QUESTIONS:
            for changes in [
                {},
                {"top_k": 5, "impossible": True},
                {"top_k": 3, "max_answer_len": 4, "max_seq_len": 48, "doc_stride": 7},
            ]:
                options = {"top_k": 1, "max_answer_len": 15, "impossible": False, **changes}
                found = answers(model, tokenizer, question, CONTEXT, options)
                expected.append({"question": question, "options": changes, "answers": found})
        write(folder, {"context": CONTEXT, "cases": expected})


def classification():
    bert, gpt = wordpiece(), byte_level()
    sizes = dict(n_embd=18, n_layer=2, n_head=3, n_positions=128, vocab_size=len(gpt))
    tokens = dict(pad_token_id=1, bos_token_id=0, eos_token_id=2, initializer_range=0.6)
    three, one = labels(["bad", "fair", "good"]), labels(["stars"])
    problems = {
        "single": three,
        "multi": {**three, "problem_type": "multi_label_classification"},
        "values": {**three, "problem_type": "regression"},
        "one": one,
        "regression": {**one, "problem_type": "regression"},
    }
    settings = lambda changes: config(hf.BertConfig, bert, 64, **changes)
    cases = [
        (f"bert-{name}", hf.BertForSequenceClassification, settings(changes), bert)
        for name, changes in problems.items()
    ]
    decoder = hf.GPT2Config(**sizes, **tokens, **three)
    cases.append(("gpt2", hf.GPT2ForSequenceClassification, decoder, gpt))
    for i, (name, model_class, settings, tokenizer) in enumerate(cases):
        folder = save(f"pipeline-classify-{name}", model_class, settings, tokenizer, 90 + i)
        texts = [text for text in TEXTS if text]
        classifier = hf.pipeline("text-classification", model=str(folder), top_k=None)
        # A list per text, although there is only one.
        found = [plain(classifier(text)[0]) for text in texts]
        write(folder, {"texts": texts, "labels": found})


def reranking():
    for name, activation, bert in [
        ("default", None, bert_tokenizer()),
        ("identity", torch.nn.Identity(), wordpiece()),
    ]:
        settings = config(hf.BertConfig, bert, 64, num_labels=1)
        made = save("made", hf.BertForSequenceClassification, settings, bert, 97)
        folder = FIXTURES / f"pipeline-rerank-{name}"
        shutil.rmtree(folder, ignore_errors=True)
        model = CrossEncoder(str(made), activation_fn=activation, device="cpu")
        model.save_pretrained(str(folder), create_model_card=False)
        shutil.rmtree(made)
        model = CrossEncoder(str(folder), device="cpu")
        # The last text is too long for the model and is truncated.
        texts = [text for text in TEXTS if text] + [CONTEXT]
        ranked = [model.rank(question, texts) for question in QUESTIONS]
        write(folder, {"queries": QUESTIONS, "texts": texts, "ranked": plain(ranked)})


if __name__ == "__main__":
    torch.set_num_threads(1)
    tags()
    question_answering()
    classification()
    reranking()
