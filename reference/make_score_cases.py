#!/usr/bin/env python3
"""Writes fixtures/score/cases.json: what sacreBLEU, rouge-score and scikit-learn make of awkward
text and labels. With --check, compares instead."""

import argparse
import json
import random
import sys
from pathlib import Path


import sacrebleu
import sklearn
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.tokenizers.tokenizer_intl import TokenizerV14International
from sklearn import metrics as sk

CASES = Path(__file__).parent / "fixtures" / "score" / "cases.json"

# Lines whose intl tokens are kept: every category of punctuation, symbols and numbers, beside
# digits and not.
LINES = [
    "",
    " \t ",
    "Hello, world! It cost $1,000.50, in 2024.",
    "In 2024. Then 3,5 or 3, 5 and (3) [4] {5}?",
    "connector a_b 1_2 a‿b, dash a-b 1-2 a–b 1–2 a—b ― ‐ 〜",
    "open ( ⟨ 「 【 ‚ „ close ) ⟩ 」 】 initial « ‘ “ ‹ final » ’ ” ›",
    "other ! ¡ ¿ § ¶ † ‡ • … ‰ ′ ″ ※ ؟ ، ؛ ۔ । ॥ ។ 。 、 ・ ！ ？ ： ； ， ．",
    "math a+b=c × ÷ ± ≤ ≥ ≠ → ∑ √ ∞ < > | ~ ¬, currency $5 5€ £ ¥ ₹ ₿ ￥",
    "modifier ^ ` ¨ ¯ ´ ¸ ˀ ˜ ˝ 🏻 🏽, other © ® ° № ℃ ℡ ™ ☃ ♥ ⌘ ⚠️ 𝄞",
    "digits ٣.٥ ٣،٥ १,२ 一,二 Ⅳ.Ⅴ ½.¾ ²,³ ①.② ٣. 𝟙.𝟚 ㉈!",
    "smile 😀! family 👨‍👩‍👧, flag 🇫🇷. keycap 1️⃣2️⃣, thumbs 👍🏽:-)",
    "e\u0301te\u0301, a\u0308.o\u0308 n\u0303! combining .\u0301. ,\u0300 ़। "
    "zero\u200bwidth\ufeff.\u200d,",
    "日本語のテスト。「句点」、読点！１，２３．４ 中文（测试）《书》。한국어: 테스트?",
    "L'été, l’hiver et c'est-à-dire : « ça va ? » ¿Qué? ¡No! U.S.A. e.g. a.b..c...",
    "http://example.org/a?b=c&d=e#f user@host.org &amp; &quot; <tag> 50% #1 *x* \\n",
    "Русский «текст», пример № 5. עברית? ״כן״ ־ العربية؛ نص، हिन्दी। ไทย ๆ ฯ",
    "non\u00a0breaking,\u202fnarrow\u3000ideographic!\u2009thin\ttab\x1funit.\x85next\u2028line;",
    ".start ,5 5, 5.a a.5 5.5. .5.5 (5.5) 5..5 5.-5 -5 --5 5%5 5$5 .. ... . .",
]

CAT = "the cat is on the mat"
LONG = " ".join(f"w{i * i % 37}{',' if i % 5 == 0 else ''}" for i in range(400))
NEWS = [
    "The President met with the Prime Minister on Tuesday.",
    'He said: "It\'s a well-known fact that 1,000.50 isn\'t 1.000,50."',
    "L'été dernier, les étudiants ont visité l'U.S. Capitol.",
    "Short one.",
    "",
]
NEWS_1 = [
    "On Tuesday the President met the Prime Minister.",
    'He said: "It is a well-known fact that 1,000.50 is not 1.000,50".',
    "L'été dernier, des étudiants visitèrent le Capitole des U.S.",
    "A short one.",
    "Something was left out.",
]
NEWS_2 = [
    "The president met the prime minister on tuesday .",
    "",
    "L’été dernier – quelle chance !",
    "",
    "",
]

# (name, hypotheses, the references of each)
CORPORA = [
    ("identical", [CAT], [[CAT]]),
    ("one word", ["cat"], [["cat"]]),
    ("one character", ["a"], [["b"]]),
    ("one word of many", ["cat"], [[CAT]]),
    ("two words", ["the dog"], [[CAT]]),
    ("three words, two in order", ["the cat sat"], [["the cat was there"]]),
    ("no word in common, but characters", ["unhappily"], [["happy"]]),
    ("nothing in common", ["xyz xyz"], [[CAT]]),
    ("empty hypothesis", [""], [[CAT]]),
    ("empty reference", [CAT], [[""]]),
    ("both empty", [""], [[""]]),
    ("only white space", [" \t\u00a0\u3000"], [[CAT]]),
    ("only punctuation", ["... !!"], [["?!"]]),
    ("news", NEWS, [[r] for r in NEWS_1]),
    ("news, a reference with empty lines", NEWS, [list(r) for r in zip(NEWS_1, NEWS_2)]),
    ("news, empty lines first", NEWS, [list(r) for r in zip(NEWS_2, NEWS_1)]),
    (
        "news, number of references varies",
        NEWS,
        [[r] if i % 2 else [r, NEWS_2[i], CAT] for i, r in enumerate(NEWS_1)],
    ),
    ("short line between an empty and a long reference", ["a b"], [["", "a b c d e"]]),
    ("first of two equally good references", ["a b c d"], [["a b x y z", "a b x y w"]]),
    (
        "punctuation at both ends",
        ["(hi) 'tis \"so\" #tag a. .b -- ! don't."],
        [["( hi ) ' tis \" so \" # tag a . b -- !"]],
    ),
    ("spaces", ["  two  spaces \t here   "], [["two spaces here"]]),
    (
        "CJK",
        ["日本語の翻訳テストです。", "中文 测试 ，好！"],
        [["日本語の翻訳の試験です。"], ["中文测试，很好！"]],
    ),
    ("emoji", ["I 😀 love 👨‍👩‍👧 pizza 🍕👍🏽!"], [["I 😀 love 👨‍👩‍👧‍👦 pizza 🍕 👍🏿 !"]]),
    ("combining marks", ["L'e\u0301te\u0301 a\u0308 fini."], [["L'été ä fini."]]),
    (
        "case",
        ["The CAT Is On İstanbul ΟΔΥΣΣΕΥΣ Straße ẞ ǅ"],
        [["the cat is on i̇stanbul οδυσσευς straße ß ǆ"]],
    ),
    (
        "entities and markup",
        ["Tom &amp; Jerry <skipped>&lt;3&gt; said &quot;hi&quot;"],
        [['Tom & Jerry <3> said "hi"']],
    ),
    ("a long line", [LONG], [[LONG.replace("w9", "v9").replace(", w1", " w1")]]),
    ("control characters", ["a\tb\x1fc\x0bd\x85e f\u2028g"], [["a b c d e f g"]]),
]

BLEUS = [
    dict(),
    dict(tokenize="intl"),
    dict(tokenize="char"),
    dict(tokenize="none"),
    dict(tokenize="intl", lowercase=True),
    dict(smooth_method="floor"),
    dict(smooth_method="floor", smooth_value=0.25),
    dict(smooth_method="add-k"),
    dict(smooth_method="add-k", smooth_value=0.5, effective_order=True),
    dict(smooth_method="none"),
    dict(smooth_method="none", effective_order=True),
    dict(effective_order=True),
    dict(max_ngram_order=2),
    dict(max_ngram_order=6, tokenize="char"),
    dict(max_ngram_order=1, effective_order=True, lowercase=True),
]
CHRFS = [
    dict(),
    dict(word_order=2),
    dict(lowercase=True),
    dict(whitespace=True),
    dict(eps_smoothing=True),
    dict(word_order=2, eps_smoothing=True, lowercase=True),
    dict(char_order=3, word_order=1, beta=1),
    dict(char_order=0, word_order=2, beta=3),
    dict(char_order=8, beta=0, whitespace=True),
]

SUMMARIES = [
    ("", ""),
    ("a", ""),
    ("the cat sat on the mat", "the cat sat on the mat"),
    ("The quick brown fox jumps over the lazy dog", "The quick brown dog jumps on the log."),
    ("police killed the gunman", "the gunman kill police"),
    ("x y z", "a b c"),
    ("a b c d e\nf g h\n\ni j", "a c e i\nb d f h j"),
    ("the the the the", "the cat the"),
    ("the dog\nthe cat\nthe dog", "the dog the cat\nthe the"),
    ("été à Zürich, 3.5% — naïve", "ete a zurich 3 5 naive t rich"),
    ("İstanbul KELVIN: \u212a42", "istanbul kelvin k42"),
    ("a b\na b\na b", "a b"),
    ("one two three\nfour five", "four one\nfive two three four"),
]


def score(metric, hypotheses, references):
    width = max(map(len, references))
    columns = [[line[i] if i < len(line) else None for line in references] for i in range(width)]
    result = metric.corpus_score(hypotheses, columns)
    signature = str(metric.get_signature()).rsplit("|version:", 1)[0]
    return dict(name=result.name, score=result.score, line=result.format(signature=signature))


def sentences(metric, hypotheses, references):
    return [metric.sentence_score(h, r).score for h, r in zip(hypotheses, references)]


def scores():
    answers = []
    for kind, metric, settings in [("bleu", BLEU, BLEUS), ("chrf", CHRF, CHRFS)]:
        for setting in settings:
            corpora = [score(metric(**setting), h, r) for _, h, r in CORPORA]
            effective = {"effective_order": True} if kind == "bleu" else {}
            lines = [sentences(metric(**{**setting, **effective}), h, r) for _, h, r in CORPORA]
            answers.append(dict(metric=kind, settings=setting, corpora=corpora, sentences=lines))
    return answers


def summaries():
    scorer = RougeScorer(["rougeL", "rougeLsum"], use_stemmer=False)
    rows = []
    for reference, prediction in SUMMARIES:
        found = scorer.score(reference, prediction)
        rows.append(
            dict(
                reference=reference, prediction=prediction, **{k: list(v) for k, v in found.items()}
            )
        )
    references, prediction = ["a b c d", "a b x", "x b c"], "a b c"
    best = scorer.score_multi(references, prediction)
    several = dict(
        references=references, prediction=prediction, **{k: list(v) for k, v in best.items()}
    )
    return dict(single=rows, several=several)


def labels():
    rng = random.Random(7)
    tables = [
        (3, [0, 1, 2, 0, 1, 2], [0, 2, 1, 0, 0, 1]),
        (4, [0, 0, 0], [1, 1, 0]),
        (2, [1, 1], [1, 1]),
    ]
    for classes in (2, 3, 7):
        right = [rng.randrange(classes) for _ in range(60)]
        tables.append(
            (classes, right, [r if rng.random() < 0.6 else rng.randrange(classes) for r in right])
        )
    rows = []
    for classes, right, predicted in tables:
        every = dict(labels=list(range(classes)), zero_division=0)
        mean = lambda how: list(
            sk.precision_recall_fscore_support(right, predicted, average=how, zero_division=0)[:3]
        )
        p, r, f, support = sk.precision_recall_fscore_support(
            right, predicted, average=None, **every
        )
        rows.append(
            dict(
                classes=classes,
                right=right,
                predicted=predicted,
                confusion=sk.confusion_matrix(
                    right, predicted, labels=list(range(classes))
                ).tolist(),
                accuracy=float(sk.accuracy_score(right, predicted)),
                micro_f1=float(sk.f1_score(right, predicted, average="micro")),
                macro=[float(x) for x in mean("macro")],
                weighted=[float(x) for x in mean("weighted")],
                each=[[float(x) for x in row] for row in zip(p, r, f)],
                support=support.tolist(),
            )
        )
    return rows


def make():
    tokenize = TokenizerV14International()
    return dict(
        versions=dict(sacrebleu=sacrebleu.__version__, sklearn=sklearn.__version__),
        tokens=[dict(line=line, tokens=tokenize(line.rstrip()).split()) for line in LINES],
        corpora=[dict(name=n, hypotheses=h, references=r) for n, h, r in CORPORA],
        answers=scores(),
        summaries=summaries(),
        labels=labels(),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    fresh = make()
    if not parser.parse_args().check:
        CASES.parent.mkdir(parents=True, exist_ok=True)
        # Escaped, because one cannot see a non-breaking space; a line for each table's row.
        text = json.dumps(fresh).replace('{"line"', '\n{"line"').replace('{"name"', '\n{"name"')
        CASES.write_text(text + "\n")
    same = json.loads(CASES.read_text()) == fresh
    n = sum(len(a["corpora"]) + sum(map(len, a["sentences"])) for a in fresh["answers"])
    print(
        f"{'ok' if same else 'FAILED':6} {'score':16} {n} scores, {len(LINES)} tokenized lines, "
        f"{len(SUMMARIES)} summaries"
    )
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
