"""Tokenizers of families, trained on some text and saved as published folders have them, for
`check_folders.py`. Each function returns one that saves a tokenizer into a folder and gives it."""

import io
import json
import os
from pathlib import Path

import sentencepiece as spm
import transformers as hf
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers import processors, trainers

SPECIAL = {
    "RobertaTokenizer": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
    "BartTokenizer": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
    "ModernBert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
}


def lines():
    """German and English of Multi30k, or sentences made of some words."""
    data = Path(os.environ.get("LIMPID_DATA", "/nowhere")) / "multi30k"
    # With all characters of the texts that are compared: otherwise they end in bytes, and those
    # that a model adds would change how they are decoded.
    characters = ["Zoë's naïve café — 42! New York, not in Paris. A?"] * 3
    if data.is_dir():
        texts = [(data / f"val.{side}").read_text(encoding="utf-8") for side in ["en", "de"]]
        return "\n".join(texts).splitlines() + characters
    words = "a man in red shirt two dogs run through the green grass naïve café".split()
    made = [" ".join(words[(i * k) % len(words)] for k in range(2, 9)) for i in range(1, 400)]
    return made + characters


def byte_level(class_name, bos="<|endoftext|>"):
    """GPT-2's, saved as vocab.json and merges.txt where the class reads those."""

    def save(folder):
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        special = SPECIAL.get(class_name, [bos])
        trainer = trainers.BpeTrainer(
            vocab_size=700, special_tokens=special, show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )
        tokenizer.train_from_iterator(lines(), trainer)
        folder.mkdir(parents=True, exist_ok=True)
        if class_name == "ModernBert":
            return modern_bert(tokenizer, folder)
        model = json.loads(tokenizer.to_str())["model"]
        merges = [tuple(merge) for merge in model["merges"]]
        if class_name in SPECIAL:
            made = getattr(hf, class_name)(vocab=model["vocab"], merges=merges)
        else:
            made = getattr(hf, class_name)(vocab=model["vocab"], merges=merges, bos_token=bos,
                                           eos_token=bos, unk_token=bos, pad_token=bos)
        made.save_pretrained(folder)
        return hf.AutoTokenizer.from_pretrained(folder)

    return save


def modern_bert(tokenizer, folder):
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = ["pad", "unk", "cls", "sep", "mask"]
    roles = {f"{name}_token": f"[{name.upper()}]" for name in names}
    roles["mask_token"] = AddedToken("[MASK]", lstrip=True, special=True)
    made = hf.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **roles, model_input_names=["input_ids", "attention_mask"]
    )
    made.save_pretrained(folder)
    return hf.AutoTokenizer.from_pretrained(folder)


def word_piece(class_name):
    """BERT's, as vocab.txt alone."""

    def save(folder):
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        if class_name == "MPNetTokenizer":
            special = ["<s>", "<pad>", "</s>", "[UNK]", "<mask>"]
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(
            vocab_size=600, special_tokens=special, show_progress=False
        )
        tokenizer.train_from_iterator(lines(), trainer)
        vocab = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "vocab.txt").write_text("".join(f"{token}\n" for token, _ in vocab))
        config = {"tokenizer_class": class_name, "do_lower_case": True}
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        return getattr(hf, class_name).from_pretrained(folder)

    return save


FILES = {
    "T5Tokenizer": "spiece.model", "PegasusTokenizer": "spiece.model",
    "LlamaTokenizer": "tokenizer.model", "GemmaTokenizer": "tokenizer.model",
}
BPE = ["LlamaTokenizer", "GemmaTokenizer", "NllbTokenizer"]


def sentence_piece(class_name):
    """A model of the `sentencepiece` package alone, with the class in tokenizer_config.json."""

    def save(folder):
        ids = {
            "T5Tokenizer": dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1),
            "PegasusTokenizer": dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1),
            "GemmaTokenizer": dict(pad_id=0, eos_id=1, bos_id=2, unk_id=3),
        }.get(class_name, {})
        is_bpe = class_name in BPE
        model = io.BytesIO()
        spm.SentencePieceTrainer.train(
            sentence_iterator=iter(lines()), model_writer=model, vocab_size=700, minloglevel=2,
            num_threads=1, model_type="bpe" if is_bpe else "unigram", character_coverage=1.0,
            byte_fallback=class_name in ["LlamaTokenizer", "GemmaTokenizer"],
            normalization_rule_name="identity" if class_name in BPE else "nmt_nfkc", **ids,
        )  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        name = FILES.get(class_name, "sentencepiece.bpe.model")
        (folder / name).write_bytes(model.getvalue())
        config = {"tokenizer_class": class_name}
        if class_name in ["MBartTokenizer", "MBart50Tokenizer"]:
            config |= {"src_lang": "de_DE", "tgt_lang": "en_XX"}
        if class_name == "NllbTokenizer":
            config |= {"src_lang": "deu_Latn", "tgt_lang": "eng_Latn"}
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        if class_name not in ["NllbTokenizer", "GemmaTokenizer"]:
            return hf.AutoTokenizer.from_pretrained(folder)
        # These are published with tokenizer.json, NLLB with its languages in it.
        tokenizer = getattr(hf, class_name).from_pretrained(folder)
        if class_name == "NllbTokenizer":
            languages = ["deu_Latn", "eng_Latn", "fra_Latn"]
            tokenizer.add_special_tokens({"extra_special_tokens": languages})
            tokenizer.src_lang = "deu_Latn"
        tokenizer.save_pretrained(folder)
        return hf.AutoTokenizer.from_pretrained(folder)

    return save
