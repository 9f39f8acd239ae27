"""Texts that tokenizers trip over: words, scripts, whitespace, emoji, control characters, combining
marks, special tokens, long repeats. The same for the same seed."""

import random

SUBJECTS = ["the cat", "a small dog", "der alte Mann", "une femme", "my friend", "Das Kind"]
VERBS = ["sees", "does not like", "isn't near", "trägt", "regarde", "läuft über", "a mangé"]
OBJECTS = ["the blue house", "ein rotes Fahrrad", "la forêt", "123 apples", "naïve café owners"]
ENDS = [".", "!", " ?", "; then 3.14 went by...", ", n'est-ce pas ?", " (really)"]

RANGES = [
    (0x20, 0x7F), (0xA0, 0x180), (0x300, 0x370), (0x370, 0x400), (0x400, 0x460), (0x590, 0x5F5),
    (0x600, 0x700), (0x900, 0x980), (0xE00, 0xE80), (0x1100, 0x1200), (0x1E00, 0x2000),
    (0x2000, 0x2070), (0x2100, 0x2200), (0x2460, 0x2500), (0x3000, 0x3100), (0x3200, 0x3400),
    (0x4E00, 0x4F00), (0xAC00, 0xAD00), (0xF900, 0xFA00), (0xFB00, 0xFB50), (0xFE00, 0xFE10),
    (0xFF00, 0xFFF0), (0x1D400, 0x1D800), (0x1F1E6, 0x1F200), (0x1F300, 0x1F650),
    (0x20000, 0x20100), (0xE0000, 0xE0080),
]  # fmt: skip

SPECIALS = [
    "<s>", "</s>", "<unk>", "<pad>", "<sep>", "<ctl>", "<mask>", "[MASK]", "[CLS]", "[SEP]",
    "<|endoftext|>", "<extra_id_0>", "[INST]", ">>fra<<", "en_XX", "deu_Latn", "<0x0A>", "<0xFF>",
    "▁", "▁▁", "  ", "\t", "\n", "\r\n", "\x01", "\x7f", "\x85", "\xa0", "\u2028", "\u200b",
    "\u200d", "\ufeff", "\u3000", "\u0301", "e\u0301", "ﬁ", "…", "ß", "é", "A", "He", "🙂",
    "👩‍👩‍👧", "🇫🇷", " ⁇ ", "don't", "it's", "##x", "12,345.67", "İ", "ǅ", "\u212a", "한국어",
    "日本語テキスト", "ภาษาไทย", "हिन्दी", "العربية", "\ufffd", "cat", "Kind",
]  # fmt: skip


def sentence(r):
    return f"{r.choice(SUBJECTS)} {r.choice(VERBS)} {r.choice(OBJECTS)}{r.choice(ENDS)}"


def corpus(lines, seed=7):
    r = random.Random(seed)
    return [sentence(r) for _ in range(lines)]


def texts(count, seed=1, words=None):
    """`words` are sentences to take from, besides our own."""
    r = random.Random(seed)
    line = lambda: r.choice(words) if words else sentence(r)
    char = lambda: chr(r.randrange(*r.choice(RANGES)))
    found = ["", " ", "   ", "\n"]
    while len(found) < count:
        kind = r.random()
        if kind < 0.3:
            text = line()
        elif kind < 0.4:
            block = r.choice(RANGES)
            text = "".join(chr(r.randrange(*block)) for _ in range(r.randrange(1, 16)))
        elif kind < 0.55:
            text = "".join(char() for _ in range(r.randrange(1, 24)))
        elif kind < 0.75:
            parts = [[r.choice(SPECIALS), r.choice(line().split()), " ", " "] for _ in range(6)]
            text = "".join(r.choice(part) for part in parts[: r.randrange(1, 7)])
        elif kind < 0.82:
            text = r.choice(SPECIALS + ["a", "xyz ", "ab", "日", " ", "."]) * r.randrange(1, 60)
        elif kind < 0.95:
            text = list(line())
            for _ in range(r.randrange(1, 8)):
                at = r.randrange(len(text) + 1)
                text.insert(at, r.choice([r.choice(SPECIALS), char(), "  "]))
            text = "".join(text)
        else:
            text = " " * r.randrange(4) + line().upper() + " " * r.randrange(4)
        found.append(text)
    return found
