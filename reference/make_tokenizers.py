"""Makes fixtures/sentencepiece (models trained by the `sentencepiece` package, and what it
computes) and fixtures/tokenizers (folders without tokenizer.json, and what `transformers`
computes). `--check` computes the values of the committed models again and compares."""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import sentencepiece as spm
from sentencepiece import sentencepiece_model_pb2
from tokenizer_texts import corpus, texts

FIXTURES = Path(__file__).parent / "fixtures"
RULES = "41\t61\n48 65\t78 79\nDF\t73 73\n2026\t2E 2E 2E\n1F642\t3A 29\n65 301\tE9\n200B\n9\t20\n"

SYMBOLS = {"user_defined_symbols": ["<sep>", "Kind", " x"], "control_symbols": ["<ctl>"]}
IDENTITY = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
MODELS = {
    "unigram": {"vocab_size": 260},
    "unigram-bytes": {"vocab_size": 520, "byte_fallback": True, "pad_id": 3, **SYMBOLS},
    "unigram-identity": {"vocab_size": 260, **IDENTITY, "unk_surface": "<?>"},
    "unigram-suffix": {"vocab_size": 240, "treat_whitespace_as_suffix": True},
    "bpe": {"model_type": "bpe", "vocab_size": 300, "add_dummy_prefix": False},
    "bpe-bytes": {
        "model_type": "bpe", "vocab_size": 560, "byte_fallback": True, **IDENTITY, **SYMBOLS,
        "allow_whitespace_only_pieces": True,
    },
    "char": {"model_type": "char", "vocab_size": 60, "user_defined_symbols": ["Kind"]},
    "word": {"model_type": "word", "vocab_size": 40},
}  # fmt: skip

LLAMA = {"model_type": "bpe", "byte_fallback": True, **IDENTITY, "vocab_size": 520}
T5 = {"vocab_size": 240, "pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
FOLDERS = {
    "t5": ("spiece.model", "T5Tokenizer", T5, {"extra_ids": 20}),
    "llama": ("tokenizer.model", "LlamaTokenizer", LLAMA, {"add_bos_token": True, "legacy": True}),
    "xlm-roberta": ("sentencepiece.bpe.model", "XLMRobertaTokenizer", {"vocab_size": 240}, {}),
    "camembert": ("sentencepiece.bpe.model", "CamembertTokenizer", {"vocab_size": 240}, {}),
    "mbart": (
        "sentencepiece.bpe.model", "MBartTokenizer", {"vocab_size": 240}, {"src_lang": "de_DE"},
    ),
    "marian": (None, "MarianTokenizer", {"vocab_size": 220}, {}),
    "m2m_100": (None, "M2M100Tokenizer", {"vocab_size": 240}, {"src_lang": "de"}),
    "bert": (None, "BertTokenizer", None, {"do_lower_case": False, "strip_accents": True}),
    "gpt2": (None, "GPT2Tokenizer", None, {"add_prefix_space": True}),
    "roberta": (None, "RobertaTokenizer", None, {}),
    "openai-gpt": (None, "OpenAIGPTTokenizer", None, {}),
}  # fmt: skip


def train(prefix, options, lines):
    with tempfile.TemporaryDirectory() as scratch:
        rules = Path(scratch) / "rules.tsv"
        rules.write_text(RULES, encoding="utf-8")
        given = dict(options)
        # The built-in rules have 240 kB: small models get rules of ours.
        if "normalization_rule_name" not in given:
            given["normalization_rule_tsv"] = str(rules)
            given["denormalization_rule_tsv"] = str(rules)
        spm.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_prefix=str(prefix), minloglevel=2, num_threads=1,
            hard_vocab_limit=False, **given,
        )  # fmt: skip
    Path(f"{prefix}.vocab").unlink()
    # The trainer stores its arguments: paths of this machine.
    model = sentencepiece_model_pb2.ModelProto.FromString(Path(f"{prefix}.model").read_bytes())
    model.trainer_spec.ClearField("input")
    model.trainer_spec.ClearField("model_prefix")
    model.normalizer_spec.ClearField("normalization_rule_tsv")
    model.denormalizer_spec.ClearField("normalization_rule_tsv")
    Path(f"{prefix}.model").write_bytes(model.SerializeToString())


def make_folder(folder, name):
    file, cls, options, settings = FOLDERS[name]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines = corpus(2000)
    if name == "marian":
        train(folder / "source", options, lines)
        train(folder / "target", options, corpus(2000, 8)[::-1] + ["queer words"] * 9)
        tokens = ["</s>", "<unk>"]
        for side in ["source", "target"]:
            (folder / f"{side}.model").rename(folder / f"{side}.spm")
            model = spm.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
            pieces = [model.id_to_piece(i) for i in range(3, model.get_piece_size())]
            # A piece that the vocabulary lacks, now and then.
            tokens += [p for i, p in enumerate(pieces) if i % 37 != 5 and p not in tokens]
        tokens += [">>fra<<", "<pad>"]
        (folder / "vocab.json").write_text(json.dumps({t: i for i, t in enumerate(tokens)}))
    elif name == "m2m_100":
        train(folder / "m", options, lines)
        (folder / "m.model").rename(folder / "sentencepiece.bpe.model")
        model = spm.SentencePieceProcessor(model_file=str(folder / "sentencepiece.bpe.model"))
        pieces = [model.id_to_piece(i) for i in range(3, model.get_piece_size())]
        tokens = ["<s>", "<pad>", "</s>", "<unk>", *pieces]
        (folder / "vocab.json").write_text(json.dumps({t: i for i, t in enumerate(tokens)}))
    elif options:
        train(folder / "m", options, lines)
        (folder / "m.model").rename(folder / file)
    else:
        make_vocabulary(folder, name, lines)
    config = {"tokenizer_class": cls, **settings}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "config.json").write_text(json.dumps({"model_type": name}) + "\n")


def make_vocabulary(folder, name, lines):
    from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer, Tokenizer
    from tokenizers import models, normalizers, pre_tokenizers, trainers

    quiet = {"show_progress": False}
    if name == "bert":
        model = BertWordPieceTokenizer(lowercase=False)
        model.train_from_iterator(lines, vocab_size=300, **quiet)
        model.save_model(str(folder))
    elif name == "openai-gpt":
        model = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
        model.normalizer = normalizers.BertNormalizer(lowercase=True)
        model.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.BpeTrainer(
            vocab_size=200, special_tokens=["<unk>"], end_of_word_suffix="</w>", **quiet
        )
        model.train_from_iterator(lines, trainer)
        model.model.save(str(folder))
    else:
        special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
        special = special if name == "roberta" else ["<|endoftext|>"]
        model = ByteLevelBPETokenizer()
        model.train_from_iterator(lines, vocab_size=400, special_tokens=special, **quiet)
        model.save_model(str(folder))


def sentencepiece_values(path):
    model = spm.SentencePieceProcessor(model_file=str(path))
    cases = []
    for text in texts(200, 11):
        encoded = model.encode(text, return_type="proto")
        ids = [piece.id for piece in encoded.pieces]
        cases.append({
            "text": text,
            "ids": ids,
            "pieces": [piece.piece for piece in encoded.pieces],
            "offsets": [[piece.begin, piece.end] for piece in encoded.pieces],
            "decoded": model.decode(ids),
            # Every second token: halves of characters, spaces at the beginning.
            "decoded_half": model.decode(ids[1::2]),
        })  # fmt: skip
    return cases


def folder_values(folder):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    cases = []
    for text in texts(200, 12):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        case = {
            "text": text,
            "ids": ids,
            "special": tokenizer(text)["input_ids"],
            "decoded": tokenizer.decode(ids, skip_special_tokens=True),
        }
        if folder.name == "marian":
            case["target"] = tokenizer(text_target=text, add_special_tokens=False)["input_ids"]
        cases.append(case)
    return cases


def main():
    check = "--check" in sys.argv[1:]
    good = True
    jobs = [(FIXTURES / "sentencepiece" / f"{name}.json", name, None) for name in MODELS]
    jobs += [(FIXTURES / "tokenizers" / name / "expected.json", None, name) for name in FOLDERS]
    for path, model, folder in jobs:
        if not check and model:
            path.parent.mkdir(parents=True, exist_ok=True)
            train(path.with_suffix(""), MODELS[model], corpus(2000))
        elif not check:
            make_folder(path.parent, folder)
        if model:
            values = sentencepiece_values(path.with_suffix(".model"))
        else:
            values = folder_values(path.parent)
        text = "[\n" + ",\n".join(json.dumps(v, ensure_ascii=False) for v in values) + "\n]\n"
        if check:
            same = path.read_text(encoding="utf-8") == text
            print(f"{'ok' if same else 'FAILED':6} tokenizer values {model or folder}")
            good = good and same
        else:
            path.write_text(text, encoding="utf-8")
            print(f"wrote  {path.relative_to(FIXTURES)}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
