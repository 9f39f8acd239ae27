#!/usr/bin/env python3
"""Folders of every family as their hubs have them, through limpid's commands and `transformers`.

    LIMPID=… [LIMPID_DATA=…] reference/check_folders.py [NAME …] [--work DIR]

Each is a small random model with a tokenizer of its family, trained here on some text, saved by
`transformers` in half precision or shards, with or without `tokenizer.json`. Compared are texts
that decoders continue and encoder-decoders write (greedily, with beams, with the settings of
`generation_config.json`), what pipelines make of encoders with heads, embeddings of
sentence-transformers folders, and the same with PEFT adapters, several on one base, and merged."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
import transformers as hf
from folder_tokenizers import byte_level, sentence_piece, word_piece

LIMPID = os.environ.get("LIMPID", "target/release/limpid")
PROMPTS = ["A man in a red shirt", "Two dogs", "the", "Zoë's naïve café — 42!"]
SIZES = dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
GROUPS = dict(SIZES, num_key_value_heads=2)
BART = dict(d_model=48, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
            decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64)
T5 = dict(d_model=48, d_kv=12, d_ff=64, num_layers=2, num_heads=4)
GPT = dict(n_embd=48, n_layer=2, n_head=4, n_positions=128)
# Family: class of its models, its configuration, its tokenizer.
DECODERS = {
    "gpt2": ("GPT2", GPT, byte_level("GPT2Tokenizer")),
    "llama": ("Llama", GROUPS, sentence_piece("LlamaTokenizer")),
    "mistral": ("Mistral", dict(GROUPS, sliding_window=7), sentence_piece("LlamaTokenizer")),
    "qwen2": ("Qwen2", GROUPS, byte_level("Qwen2Tokenizer")),
    "qwen3": ("Qwen3", dict(GROUPS, head_dim=16), byte_level("Qwen2Tokenizer")),
    "gemma": ("Gemma", dict(GROUPS, head_dim=12), sentence_piece("GemmaTokenizer")),
    "gpt_neox": ("GPTNeoX", dict(SIZES, rotary_pct=0.5), byte_level("GPTNeoXTokenizer")),
    "phi": ("Phi", SIZES, byte_level("CodeGenTokenizer")),
    "opt": ("OPT", dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64,
                        word_embed_proj_dim=48), byte_level("GPT2Tokenizer", bos="</s>")),
}
ENCODERS = {
    "bert": ("Bert", SIZES, word_piece("BertTokenizer")),
    "roberta": ("Roberta", dict(SIZES, type_vocab_size=1), byte_level("RobertaTokenizer")),
    "xlm-roberta": ("XLMRoberta", SIZES, sentence_piece("XLMRobertaTokenizer")),
    "camembert": ("Camembert", SIZES, sentence_piece("CamembertTokenizer")),
    "distilbert": ("DistilBert", dict(dim=48, n_layers=2, n_heads=4, hidden_dim=64),
                   word_piece("DistilBertTokenizer")),
    "electra": ("Electra", dict(SIZES, embedding_size=24), word_piece("ElectraTokenizer")),
    "mpnet": ("MPNet", SIZES, word_piece("MPNetTokenizer")),
    "modernbert": ("ModernBert", SIZES, byte_level("ModernBert")),
}
TRANSLATORS = {
    "bart": ("BartForConditionalGeneration", BART, byte_level("BartTokenizer")),
    "mbart": ("MBartForConditionalGeneration", BART, sentence_piece("MBartTokenizer")),
    "m2m_100": ("M2M100ForConditionalGeneration", BART, sentence_piece("NllbTokenizer")),
    "pegasus": ("PegasusForConditionalGeneration", BART, sentence_piece("PegasusTokenizer")),
    "t5": ("T5ForConditionalGeneration", T5, sentence_piece("T5Tokenizer")),
}
SETTINGS = [
    {},
    dict(repetition_penalty=1.3, no_repeat_ngram_size=3),
    dict(num_beams=3, length_penalty=0.7, early_stopping=True, renormalize_logits=True),
    dict(min_new_tokens=6, num_beams=2, num_return_sequences=2),
]
failed = []


def limpid(*words, stdin=None):
    command = [LIMPID, *map(str, words)]
    answer = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=300)
    if answer.returncode:
        raise RuntimeError(f"limpid {' '.join(command[1:])}: {answer.stderr.strip()}")
    # Words that are unknown are named.
    warnings = [line for line in answer.stderr.splitlines() if "not in the model's" not in line]
    if warnings:
        report(False, " ".join(command[1:3]), f"warns: {warnings}")
    return answer.stdout


def objects(*words, stdin=None):
    return [json.loads(line) for line in limpid(*words, "--json", stdin=stdin).splitlines()]


def report(good, name, what):
    if not good:
        failed.append(name)
    print(f"{'ok' if good else 'FAILED':6} {name:24} {what}", flush=True)


def same(name, what, wanted, found):
    """Texts that must be equal."""
    equal = sum(a == b for a, b in zip(wanted, found, strict=True))
    report(equal == len(wanted), name, f"{what}: {equal} of {len(wanted)} equal")
    for a, b in list(zip(wanted, found))[:40]:
        if a != b:
            print(f"       transformers {a!r}\n       limpid       {b!r}", flush=True)
            break


def close(name, what, wanted, found, tolerance=1e-4):
    far = float(np.abs(np.array(wanted) - np.array(found)).max())
    report(far <= tolerance, name, f"{what}: within {far:.1e}")


def make(folder, model_class, prefix, keys, save_tokenizer, seed, **more):
    """A random model of this class with its tokenizer, saved."""
    tokenizer = save_tokenizer(folder)
    config_class = getattr(hf, f"{prefix}Config")
    ids = {f"{role}_token_id": getattr(tokenizer, f"{role}_token_id")
           for role in ["bos", "eos", "pad"]}
    ids = {key: id for key, id in ids.items() if id is not None}
    positions = {} if prefix in ["T5", "GPT2"] else {"max_position_embeddings": 130}
    config = config_class(**keys, **positions, **{"vocab_size": len(tokenizer), **ids, **more})
    torch.manual_seed(seed)
    model = getattr(hf, model_class)(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.3)
    if prefix == "Pegasus":
        for part in [model.model.encoder, model.model.decoder]:
            part.embed_positions.weight.data = part.embed_positions.create_weight()
    dtype = [torch.float32, torch.bfloat16, torch.float16][seed % 3]
    if prefix == "Pegasus" and dtype != torch.float32:
        dtype = torch.float32  # transformers reads its sinusoids back as they were rounded
    model.to(dtype).save_pretrained(folder, max_shard_size="60KB" if seed % 2 else "1GB")
    return getattr(hf, model_class).from_pretrained(folder, dtype=torch.float32).eval(), tokenizer


def write_generation(folder, settings):
    path = folder / "generation_config.json"
    keys = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**keys, **settings}))


def decoders_(name, work, seed):
    prefix, keys, tokenizer = DECODERS[name]
    ending = "ForCausalLM" if prefix not in ["GPT2"] else "LMHeadModel"
    folder = work / name
    model, tokenizer = make(folder, prefix + ending, prefix, keys, tokenizer, seed)
    for settings in SETTINGS:
        # What the folder says is the default of both.
        shutil.copytree(folder, work / "settings")
        write_generation(work / "settings", dict(settings, max_new_tokens=12))
        same(name, f"generate {settings}", generated(work / "settings", model, tokenizer),
             [row["text"] for row in objects("generate", work / "settings", *prompts())])
        shutil.rmtree(work / "settings")
    adapters(name, work, folder, model, tokenizer)
    return model


def prompts():
    return [word for prompt in PROMPTS for word in ("--prompt", prompt)]


def generated(folder, model, tokenizer):
    model.generation_config = hf.GenerationConfig.from_pretrained(folder)
    texts = []
    for prompt in PROMPTS:
        ids = tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)
        with torch.no_grad():
            rows = model.generate(**ids)
        start = ids.input_ids.shape[1]
        whole = [tokenizer.decode(row, skip_special_tokens=True, clean_up_tokenization_spaces=False)
                 for row in rows]
        given = tokenizer.decode(ids.input_ids[0], skip_special_tokens=True,
                                 clean_up_tokenization_spaces=False)
        texts += [text.removeprefix(given) for text in whole]
    return texts


def adapters(name, work, folder, model, tokenizer):
    """Two adapters on one base, in folders of their own; the first one merged, too."""
    from peft import LoraConfig, get_peft_model

    task = "SEQ_2_SEQ_LM" if model.config.is_encoder_decoder else "CAUSAL_LM"
    ids = tokenizer(PROMPTS[0], return_tensors="pt", return_token_type_ids=False).input_ids
    fed = {"input_ids": ids}
    flags = ["--ids", ",".join(map(str, ids[0].tolist()))]
    if model.config.is_encoder_decoder:
        fed["decoder_input_ids"] = torch.tensor([[model.config.decoder_start_token_id, 5, 6]])
        target = ",".join(map(str, fed["decoder_input_ids"][0].tolist()))
        flags = ["--source-ids", flags[1], "--ids", target]
    wanted, rounding = [], []
    for i in range(2):
        torch.manual_seed(i)
        base = type(model).from_pretrained(folder, dtype=torch.float32)
        settings = LoraConfig(r=3 + i, lora_alpha=10, target_modules="all-linear", task_type=task,
                              use_rslora=i == 1, init_lora_weights=False)
        adapted = get_peft_model(base, settings).eval()
        out = work / f"{name}-adapter-{i}"
        adapted.save_pretrained(out)
        path = out / "adapter_config.json"
        config = json.loads(path.read_text())
        config["base_model_name_or_path"] = f"../{name}"
        path.write_text(json.dumps(config))
        with torch.no_grad():
            wanted.append(adapted(**fed).logits[0].numpy())
            exact = adapted.double()(**fed).logits[0].numpy()
        rounding.append(np.abs(wanted[i] - exact).max() / np.abs(exact).max())
    for i in range(2):
        logits = lambda where: np.array(objects("logits", where, *flags)[0]["logits"])
        # Adapters with such large numbers round: PyTorch's own rounding, four times.
        scale, tolerance = np.abs(wanted[i]).max(), max(1e-5, 4 * rounding[i])
        close(name, f"adapter {i}", wanted[i] / scale, logits(work / f"{name}-adapter-{i}") / scale,
              tolerance)
        merged = work / f"{name}-merged-{i}"
        limpid("merge", folder, work / f"{name}-adapter-{i}", "--out", merged)
        close(name, f"adapter {i} merged", wanted[i] / scale, logits(merged) / scale,
              tolerance)


def encoders(name, work, seed):
    prefix, keys, tokenizer = ENCODERS[name]
    labels = lambda names: {"id2label": dict(enumerate(names)),
                            "label2id": {label: i for i, label in enumerate(names)}}
    texts = PROMPTS + ["Ann Marie lives in New York, not in Paris."]
    folder = work / f"{name}-mlm"
    _, tok = make(folder, f"{prefix}ForMaskedLM", prefix, keys, tokenizer, seed)
    masked = [f"{text} {tok.mask_token}." for text in texts]
    filler = hf.pipeline("fill-mask", model=str(folder), dtype=torch.float32, top_k=3)
    wanted = [[row["token"] for row in filler(text)] for text in masked]
    found = objects("fill-mask", folder, *masked, "--top", 3)
    same(name, "fill-mask", wanted, [[one["id"] for one in row["masks"][0]] for row in found])

    folder = work / f"{name}-classes"
    make(folder, f"{prefix}ForSequenceClassification", prefix, keys, tokenizer, seed,
         **labels(["bad", "good", "mixed"]))
    options = dict(model=str(folder), dtype=torch.float32)
    classify = hf.pipeline("text-classification", top_k=None, **options)
    wanted = [{row["label"]: row["score"] for row in classify(text)[0]} for text in texts]
    found = [row["probabilities"] for row in objects("classify", folder, *texts)]
    names = ["bad", "good", "mixed"]
    close(name, "classify", [[row[n] for n in names] for row in wanted],
          [[row[n] for n in names] for row in found])

    folder = work / f"{name}-tags"
    make(folder, f"{prefix}ForTokenClassification", prefix, keys, tokenizer, seed,
         **labels(["O", "B-PER", "I-PER", "B-LOC"]))
    keys_of = lambda row: (row.get("entity", row.get("entity_group")), row["word"], row["start"],
                           row["end"], round(float(row["score"]), 3))
    for strategy in ["none", "simple", "first", "average", "max"]:
        tagger = hf.pipeline("token-classification", model=str(folder), dtype=torch.float32,
                             aggregation_strategy=strategy)
        wanted = [[keys_of(row) for row in tagger(text)] for text in texts]
        rows = objects("tag", folder, *texts, "--aggregation", strategy)
        found = [[keys_of(entity) for entity in row["entities"]] for row in rows]
        same(name, f"tag {strategy}", wanted, found)

    sentence_transformers(name, work, seed)


def sentence_transformers(name, work, seed):
    from sentence_transformers import CrossEncoder, SentenceTransformer
    from sentence_transformers import models as parts

    prefix, keys, tokenizer = ENCODERS[name]
    base, folder = work / f"{name}-base", work / f"{name}-sentence"
    make(base, f"{prefix}Model", prefix, keys, tokenizer, seed)
    word = parts.Transformer(str(base), max_seq_length=9, model_kwargs={"dtype": torch.float32})
    pool = parts.Pooling(48, pooling_mode="cls" if seed % 2 else "mean")
    modules = [word, pool, parts.Dense(48, 20), *([parts.Normalize()] if seed % 3 else [])]
    prompts = {"prompts": {"query": "query: ", "passage": "passage: "},
               "default_prompt_name": "query" if seed % 2 else None}
    SentenceTransformer(modules=modules, device="cpu", **prompts).save(str(folder))
    model = SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": torch.float32})
    texts = PROMPTS + ["A long text about two dogs that run through the green grass, " * 3]
    flags = [] if seed % 3 else ["--no-normalize"]
    found = [json.loads(line)["embedding"]
             for line in limpid("embed", folder, *flags, *texts).splitlines()]
    close(name, "embed", model.encode(texts), found)

    folder = work / f"{name}-cross"
    make(folder, f"{prefix}ForSequenceClassification", prefix, keys, tokenizer, seed, num_labels=1)
    cross = CrossEncoder(str(folder), device="cpu", model_kwargs={"dtype": torch.float32})
    query, documents = "Where do dogs run?", texts[:3] + ["in the grass", "On a red train."]
    wanted = {row["corpus_id"]: row["score"] for row in cross.rank(query, documents)}
    rows = objects("rerank", folder, "--query", query, *documents)
    close(name, "rerank", [wanted[i] for i in range(len(documents))],
          [row["score"] for row in sorted(rows, key=lambda row: row["corpus_id"])])


def translators(name, work, seed):
    model_class, keys, tokenizer = TRANSLATORS[name]
    folder = work / name
    start = {"bart": 2, "mbart": None, "m2m_100": 2, "pegasus": 0, "t5": 0}[name]
    prefix = model_class.removesuffix("ForConditionalGeneration")
    more = {} if start is None else {"decoder_start_token_id": start}
    tok = tokenizer(folder)
    languages = {"mbart": "en_XX", "m2m_100": "eng_Latn"}
    language = languages.get(name)
    if name == "mbart":
        more["decoder_start_token_id"] = tok.convert_tokens_to_ids(language)
    model, tok = make(folder, model_class, prefix, keys, tokenizer, seed, **more)
    for settings in SETTINGS:
        shutil.copytree(folder, work / "settings")
        settings = dict(settings, max_length=14)
        if name == "m2m_100":
            settings["forced_bos_token_id"] = tok.convert_tokens_to_ids(language)
        write_generation(work / "settings", settings)
        model.generation_config = hf.GenerationConfig.from_pretrained(work / "settings")
        wanted = []
        for text in PROMPTS:
            with torch.no_grad():
                ids = tok(text, return_tensors="pt", return_token_type_ids=False)
                rows = model.generate(**ids)
            wanted += [" ".join(text.split()) for text in tok.batch_decode(
                rows, skip_special_tokens=True, clean_up_tokenization_spaces=False)]
        found = objects("translate", work / "settings", *PROMPTS)
        found = [one for row in found for one in row.get("all", [row])]
        found = [" ".join(row["translation"].split()) for row in found]
        same(name, f"translate {settings}", wanted, found)
        shutil.rmtree(work / "settings")
    adapters(name, work, folder, model, tok)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*DECODERS, *ENCODERS, *TRANSLATORS])
    parser.add_argument("--work", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    hf.utils.logging.set_verbosity_error()
    hf.utils.logging.disable_progress_bar()
    work = args.work or Path(tempfile.mkdtemp())
    for name in args.names:
        here = work / name
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir(parents=True)
        check = decoders_ if name in DECODERS else encoders if name in ENCODERS else translators
        try:
            check(name, here, args.seed + len(name))
        except Exception as error:
            report(False, name, f"{type(error).__name__}: {str(error)[:600]}")
    print(f"{len(failed)} failed" if failed else "all equal")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
