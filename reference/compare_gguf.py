#!/usr/bin/env python3
"""Compares GGUF exports with `transformers`: small random models of each architecture, exported by
the binary, read by the `gguf` package and run by llama.cpp. In f32, logits must be within 1e-4 and
greedy tokens of 32 steps equal; in other types, logits within a share of their spread, and tensors
as the `gguf` package rounds them. Tokenizers must agree on texts, embeddings within 1e-3.

Needs Node with the npm package node-llama-cpp (prebuilt llama.cpp) in the folder LLAMA_NODE:
    mkdir llama && cd llama && npm init -y && npm install node-llama-cpp
    LLAMA_NODE=llama LIMPID=target/release/limpid reference/compare_gguf.py [FOLDER …]
Folders that are given are compared too: models that were trained here."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import sentencepiece
import torch
import transformers
from gguf import GGUFReader
from gguf.quants import quantize
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

HERE = Path(__file__).parent
LIMPID = os.environ.get("LIMPID", "target/release/limpid")
STEPS = 32
TEXT = [
    "The quick brown fox jumps over the lazy dog, isn't it?",
    "To be, or not to be: that is the question.\nWhether 'tis nobler in the mind",
    "  two  spaces, a\ttab and naïve café déjà vu — 日本語 🙂 12345 3.14",
    "she said: \"Don't go!\" (again…) #hashtag @name http://example.org/a?b=c",
]
SIZES = dict(
    vocab_size=600, hidden_size=64, num_hidden_layers=3, num_attention_heads=4,
    intermediate_size=96, max_position_embeddings=128,
)
ROTARY = dict(SIZES, num_key_value_heads=2)
LLAMA3 = dict(
    rope_type="llama3", rope_theta=10000.0, factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
    original_max_position_embeddings=32,
)
MODELS = {
    "gpt2": ("GPT2", dict(vocab_size=600, n_embd=64, n_layer=3, n_head=4, n_positions=128)),
    "gpt2-untied": (
        "GPT2",
        dict(vocab_size=600, n_embd=64, n_layer=3, n_head=4, n_positions=128,
             tie_word_embeddings=False),
    ),
    "llama": ("Llama", ROTARY),
    "llama-tied-biases": (
        "Llama", dict(ROTARY, attention_bias=True, mlp_bias=True, tie_word_embeddings=True)
    ),
    "llama-wide-heads": ("Llama", dict(ROTARY, head_dim=32)),
    "llama3-frequencies": ("Llama", dict(ROTARY, rope_parameters=LLAMA3)),
    "mistral": ("Mistral", dict(ROTARY, sliding_window=64)),
    "qwen2": ("Qwen2", ROTARY),
    "qwen3": ("Qwen3", dict(ROTARY, head_dim=32)),
    "gemma": ("Gemma", dict(ROTARY, head_dim=16)),
    "gpt_neox": ("GPTNeoX", dict(SIZES, rotary_pct=0.5)),
    "gpt_neox-sequential": ("GPTNeoX", dict(SIZES, rotary_pct=1.0, use_parallel_residual=False)),
    "phi": ("Phi", dict(SIZES, partial_rotary_factor=0.5)),
}
# The largest difference of logits, as a share of their standard deviation.
TOLERANCE = {"f32": 1e-4, "f16": 0.02, "bf16": 0.15, "q8_0": 0.5}
# How Qwen and Llama 3 split a text into words; digits in groups of one and of three.
WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}DIGITS| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class Llama:
    """llama.cpp, asked through Node."""

    def __init__(self):
        folder = Path(os.environ["LLAMA_NODE"]).resolve()
        # Modules are found from the folder of the script.
        script = shutil.copy(HERE / "gguf_tokens.mjs", folder)
        self.process = subprocess.Popen(
            ["node", script], cwd=folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, **request):
        print(json.dumps(request), file=self.process.stdin, flush=True)
        found = json.loads(self.process.stdout.readline())
        assert "error" not in found, found["error"]
        return found


def corpus():
    words = "the of and to in that is was he for it with as his on be at by I this had not are but"
    return TEXT * 20 + [words] * 20 + [chr(i) + chr(i + 1) for i in range(33, 122)]


def byte_level(folder, vocab_size, digits=None):
    """With GPT-2's words, or those of Qwen (digits "") and Llama 3 (digits "{1,3}")."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=digits == "{1,3}"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if digits is not None:
        words = Regex(WORDS.replace("DIGITS", digits))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(words, "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ])
    if digits == "":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    end = "<|endoftext|>"
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=end, eos_token=end
    )
    fast.save_pretrained(folder)


def sentence_pieces(folder, vocab_size):
    text = folder / "corpus.txt"
    text.write_text("\n".join(line.replace("\n", " ") for line in corpus()))
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(folder / "tokenizer"), vocab_size=vocab_size,
        model_type="bpe", byte_fallback=True, normalization_rule_name="identity",
        remove_extra_whitespaces=False, minloglevel=2, hard_vocab_limit=False,
    )
    text.unlink()
    (folder / "tokenizer.vocab").unlink()
    settings = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "legacy": False,
                "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def encoder_of(folder):
    """What the files of a tokenizer say: AutoTokenizer replaces parts of a tokenizer.json by those
    of the class that it expects for the model, and its LlamaTokenizer puts no space before a text
    that begins with one, where SentencePiece and llama.cpp do."""
    if (folder / "tokenizer.json").exists():
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        return lambda text: tokenizer.encode(text, add_special_tokens=False).ids
    return sentencepiece.SentencePieceProcessor(str(folder / "tokenizer.model")).encode


def make(name, folder):
    family, sizes = MODELS[name]
    has_pieces = name in ("llama", "mistral", "gemma")
    bos, eos = (1, 2) if has_pieces else (0, 0)
    config = getattr(transformers, family + "Config")(**sizes, bos_token_id=bos, eos_token_id=eos)
    torch.manual_seed(sum(name.encode()))
    head = "LMHeadModel" if family == "GPT2" else "ForCausalLM"
    model = getattr(transformers, family + head)(config).eval()
    with torch.no_grad():
        for name_, parameter in model.named_parameters():
            is_norm = "norm" in name_ or "ln_" in name_
            scale = 0.1 if is_norm else 0.15
            offset = 1.0 if is_norm and name_.endswith("weight") and family != "Gemma" else 0.0
            parameter.copy_(offset + scale * torch.randn_like(parameter))
    model.save_pretrained(folder)
    if has_pieces:
        return sentence_pieces
    digits = {"qwen2": "", "qwen3": "", "llama3-frequencies": "{1,3}"}.get(name)
    return lambda *where: byte_level(*where, digits)


def export(folder, dtype):
    path = folder.parent / f"{folder.name}-{dtype}.gguf"
    subprocess.run(
        [LIMPID, "convert", folder, "--to", "gguf", "--out", path, "--dtype", dtype],
        check=True, stdout=subprocess.DEVNULL,
    )
    return path


def greedy(model, ids):
    with torch.no_grad():
        ids = list(ids)
        for _ in range(STEPS):
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
    return ids[-STEPS:]


def check(passed, name, what):
    print(f"{'ok' if passed else 'FAILED':6} {name:20} {what}", flush=True)
    return not passed


def is_rounded(exact, path):
    """Whether the file holds the tensors of the one in f32, as the gguf package rounds them."""
    return all(
        (quantize(whole.data, stored.tensor_type).view("u1") == stored.data.view("u1")).all()
        for whole, stored in zip(GGUFReader(exact).tensors, GGUFReader(path).tensors, strict=True)
    )


def compare(llama, name, folder):
    encode = encoder_of(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    prompts = [encode(text)[:24] for text in TEXT]
    expected = [greedy(model, ids) for ids in prompts]
    with torch.no_grad():
        logits = [model(torch.tensor([ids])).logits[0, -1] for ids in prompts]
    failed = 0
    for dtype, tolerance in TOLERANCE.items():
        path = export(folder, dtype)
        tensors = len(GGUFReader(path).tensors)
        worst = 0.0
        for ids, wanted in zip(prompts, logits):
            found = torch.tensor(llama.ask(model=str(path), ids=ids, logits=1)["logits"])
            worst = max(worst, ((found - wanted).abs().max() / wanted.std()).item())
        found = [llama.ask(model=str(path), ids=ids, steps=STEPS)["ids"] for ids in prompts]
        # llama.cpp stops at the end of a text.
        end = model.config.eos_token_id
        whole = lambda ids: len(ids) == STEPS or ids[-1:] == [end]
        same = [whole(ids) and ids == wanted[: len(ids)] for ids, wanted in zip(found, expected)]
        # What is rounded may choose another token of a random model.
        # llama.cpp looks GELU up in a table of f16.
        is_gelu = not getattr(model.config, "hidden_act", "gelu").startswith("silu")
        passed = worst < max(tolerance, 5e-3 * is_gelu) and (all(same) or dtype != "f32")
        passed = passed and is_rounded(folder.parent / f"{folder.name}-f32.gguf", path)
        failed += check(passed, name, f"{dtype:5} {tensors:3} tensors, logits within {worst:.1e} "
                        f"of their spread, greedy tokens equal for {sum(same)} of {len(same)}")
    same = [llama.ask(model=str(path), text=text)["tokens"] == encode(text) for text in TEXT]
    texts = f"texts tokenized alike: {sum(same)} of {len(same)}"
    return failed + check(all(same), name, texts)


def compare_bert(llama, folder):
    words = sorted({word for text in TEXT for word in text.lower().split()})
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,:!?'\"()-#@/=…—"
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters)]
    vocab += [word for word in words if word.isalpha() and word.isascii()]
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(vocab) + "\n")
    sizes = {**SIZES, "vocab_size": len(vocab)}
    torch.manual_seed(5)
    model = transformers.BertModel(transformers.BertConfig(**sizes)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            is_scale = "LayerNorm.weight" in name
            parameter.copy_(float(is_scale) + 0.15 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    pooling = folder / "1_Pooling"
    pooling.mkdir(exist_ok=True)
    (pooling / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"))
    tokenizer.save_pretrained(folder)
    (folder / "tokenizer.json").unlink(missing_ok=True)
    path = export(folder, "f32")
    worst = 0.0
    for text in TEXT:
        with torch.no_grad():
            hidden = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0)
        wanted = hidden / hidden.norm()
        found = torch.tensor(llama.ask(model=str(path), embed=text)["embedding"])
        found = found / found.norm()
        worst = max(worst, (found - wanted).abs().max().item())
    return check(worst < 1e-3, "bert", f"embeddings differ by {worst:.1e}")


def main():
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    llama = Llama()
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for folder in sys.argv[1:]:
            copy = shutil.copytree(folder, Path(scratch) / Path(folder).name)
            failed += compare(llama, Path(folder).name, copy)
        for name in MODELS if len(sys.argv) == 1 else []:
            folder = Path(scratch) / name
            make(name, folder)(folder, 600)
            failed += compare(llama, name, folder)
        if len(sys.argv) == 1:
            failed += compare_bert(llama, Path(scratch) / "bert")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
