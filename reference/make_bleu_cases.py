#!/usr/bin/env python3
"""Writes fixtures/bleu/cases.json: what sacreBLEU makes of awkward text. With --check, compares
instead."""

import argparse
import json
import sys
from itertools import zip_longest
from pathlib import Path

import sacrebleu
from sacrebleu.metrics import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

CASES = Path(__file__).parent / "fixtures" / "bleu" / "cases.json"

# Lines whose 13a tokens are kept.
LINES = [
    "",
    "   ",
    "Hello, world!",
    "It cost $1,000.50, not 1.000,50 euros.",
    "A well-known 1990-1995 state-of-the-art -5 e-mail 3-D x-1.",
    '"quoted" \'single\' ``double\'\' “curly” « guillemets » ‹x›',
    "&quot;Tom &amp; Jerry&quot; &lt;b&gt; &amp;lt; &amp;quot; &apos; &nbsp; & &amp",
    "L'été, l’hiver et c'est-à-dire : « ça va ? » Où ça ?!",
    "The U.S. and the U.K. met at 5 p.m. in St. John's.",
    "and so on... 3... .5 5. ,5 5, ..,, 1.. a.b.c",
    "<skipped> before<skipped>after <SKIPPED> <skip",
    "a line bro-\nken in two\nand a third -\n",
    "non\u00a0breaking\u202fnarrow\u3000ideographic\u2009thin\u200bzero-width\ufeffBOM",
    "tab\tvertical\vfeed\fcarriage\rnext\u0085line\u2028para\u2029unit\x1fgroup\x1d",
    "smile 😀! family 👨‍👩‍👧, flag 🇫🇷.",
    "a+b=c; d*e/f^g_h|i~j@k#l%m\\n[o]{p}(q)<r>`s`",
    "http://example.org/a?b=c&d=e#f 12:30 50% 10/12/2020 1.5M",
    "Arabic digits ٣٫٥ ٣.٥ ٣-٥, superscript ²- ², full-width １.５ １-",
    "日本語のテスト。句点、読点！ Русский текст, пример. Ελληνικά;",
    "ÇA VA İSTANBUL ΟΔΥΣΣΕΥΣ ΣΑΣ. STRASSE Straße ǅ ﬀ",
    "e\u0301te\u0301 combining, ... ¿qué? ¡no! — dash – en … ellipsis",
    "x,y,z 1,2,3 a1,b2 1a,2b 1,a a,1 1-a a-1 1--1 1-,2 1,-2",
    " leading and trailing  ",
]

CAT = "the cat is on the mat"
SIXTEEN = "a b c d e f g h i j k l m n o p"
NEWS = [
    "The President met with the Prime Minister on Tuesday.",
    'He said: "It\'s a well-known fact that 1,000.50 isn\'t 1.000,50."',
    "L'été dernier, les étudiants ont visité l'U.S. Capitol.",
    "Short one.",
]
NEWS_REFERENCES = [
    "On Tuesday the President met the Prime Minister.",
    'He said: "It is a well-known fact that 1,000.50 is not 1.000,50".',
    "L'été dernier, des étudiants visitèrent le Capitole des U.S.",
    "A short one.",
]

# (name, hypotheses, the references of each)
CORPORA = [
    ("identical", [CAT], [[CAT]]),
    ("classic clipping", ["the the the the the the the"], [[CAT, "there is a cat on the mat"]]),
    ("one word off", ["the cat is on the rug"], [[CAT]]),
    ("no overlap", ["dogs bark loudly at night"], [[CAT]]),
    ("empty hypothesis", [""], [[CAT]]),
    ("empty reference", [CAT], [[""]]),
    ("both empty", [""], [[""]]),
    ("white space only", [" \t\u00a0"], [[CAT]]),
    ("one word", ["cat"], [["cat"]]),
    ("three words", ["the cat is"], [["the cat is"]]),
    ("three words of six", ["the cat is"], [[CAT]]),
    ("four words, three match", ["the cat is under"], [[CAT]]),
    ("short, several orders smoothed", ["cat the on mat is"], [[CAT]]),
    ("too long", [CAT + " " + CAT], [[CAT]]),
    (
        "a tie when rounding 6.25 down",
        ["a x b x c x d x e x f x g x h x"],
        [["a z z z z z z z z z z z z z z z"]],
    ),
    (
        "a tie when rounding 18.75 up",
        [SIXTEEN.replace("a b c", "A B C")],
        [["d e f q r s t u v w x y z 1 2 3"]],
    ),
    (
        "numbers",
        ["It cost 1,000.50 dollars, 1990-1995."],
        [["It cost 1,000.50 dollars, 1990 - 1995."]],
    ),
    (
        "hyphens",
        ["A well-known, state-of-the-art model"],
        [["A well known, state-of-the-art model"]],
    ),
    ("quotes", ['He said "yes" to \'him\'.'], [["He said “yes” to 'him' ."]]),
    (
        "entities",
        ["Tom &amp; Jerry said &quot;hello&quot; &lt;3"],
        [['Tom & Jerry said "hello" <3']],
    ),
    ("French", ["L'été, c'est où ça ? À Noël !"], [["L’été, c'est où ça? À Noël!"]]),
    (
        "abbreviations",
        ["The U.S. economy grew 3.5% in the U.K."],
        [["The US economy grew 3.5 % in the U.K ."]],
    ),
    ("non-breaking space", ["100\u00a0000 euros\u202f! Oui\u00a0?"], [["100 000 euros ! Oui ?"]]),
    ("emoji", ["I 😀 love 👨‍👩‍👧 pizza 🍕!"], [["I 😀 love 👨‍👩‍👧 pizza 🍕 !"]]),
    ("tabs", ["one\ttwo\tthree four\x1ffive"], [["one two three four five"]]),
    ("broken lines", ["a bro-\nken line\nhere and there\n"], [["a broken line here and there"]]),
    ("skipped", ["one <skipped>two three four five"], [["one two three four five"]]),
    ("case differs", ["The Cat IS on THE Mat, İstanbul"], [["the cat is on the mat, i̇stanbul"]]),
    ("final sigma", ["ο ΟΔΥΣΣΕΥΣ ήταν ΕΔΩ, ΣΑΣ λέω"], [["ο οδυσσευς ήταν εδω, σας λέω"]]),
    ("news", NEWS, [[r] for r in NEWS_REFERENCES]),
    ("news backwards", NEWS_REFERENCES, [[h] for h in NEWS]),
    ("news with an empty line", [NEWS[0], "", *NEWS[2:]], [[r] for r in NEWS_REFERENCES]),
    ("two references", NEWS, [[r, h.lower()] for r, h in zip(NEWS_REFERENCES, NEWS)]),
    (
        "closest length, shorter of a tie",
        ["a b c d e f"],
        [["a b c d e f g h", "a b c d", "a b c d e f g h i"]],
    ),
    ("counts of two references are not added", ["a a a b b"], [["a a b", "b b a"]]),
    (
        "number of references varies",
        NEWS,
        [[r] if i % 2 else [r, CAT, NEWS[i]] for i, r in enumerate(NEWS_REFERENCES)],
    ),
]


def score(name, hypotheses, references, case, tokenizer):
    metric = BLEU(lowercase=case == "lower", tokenize=tokenizer)
    # sacreBLEU wants one list for each reference, with None where a line has fewer.
    result = metric.corpus_score(hypotheses, [list(column) for column in zip_longest(*references)])
    signature = str(metric.get_signature()).rsplit("|version:", 1)[0]
    question = dict(
        name=name, case=case, tokenizer=tokenizer, hypotheses=hypotheses, references=references
    )
    return question | dict(
        score=result.score,
        precisions=result.precisions,
        brevity_penalty=result.bp,
        hypothesis_len=result.sys_len,
        reference_len=result.ref_len,
        correct=result.counts,
        total=result.totals,
        formatted=str(result),
        signature=signature,
    )


def make():
    tokenize = Tokenizer13a()
    tokens = [{"line": line, "tokens": tokenize(line.rstrip()).split()} for line in LINES]
    settings = [("mixed", "13a"), ("lower", "13a"), ("mixed", "none")]
    scores = [score(*corpus, *setting) for setting in settings for corpus in CORPORA]
    return {"sacrebleu": sacrebleu.__version__, "tokens": tokens, "scores": scores}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    fresh = make()
    if not parser.parse_args().check:
        CASES.parent.mkdir(parents=True, exist_ok=True)
        # Escaped, because one cannot see a non-breaking space.
        CASES.write_text(json.dumps(fresh, indent=1) + "\n")
    same = json.loads(CASES.read_text()) == fresh
    print(
        f"{'ok' if same else 'FAILED':6} {'bleu':16} {len(fresh['scores'])} scores, {len(LINES)} "
        f"tokenized lines"
    )
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
