"""Writes fixtures/sentence-dense and fixtures/sentence-subfolder: folders of sentence-transformers
with the embeddings that it computes (expected.json).

    pip install --no-deps sentence-transformers==6.2.0
    python make_sentence_fixtures.py
"""

import json
import pathlib
import shutil

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules as parts
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] query passage : the cat sat on a mat and dog ran".split()
TEXTS = ["the cat sat", "a dog ran", "the cat sat on the mat and a dog ran and the cat sat", "dog"]


def transformer(folder, config_max_length, tokenizer_max_length):
    """A tiny BERT in a folder, as a Transformer module."""
    torch.manual_seed(18)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=6, num_hidden_layers=2, num_attention_heads=3,
        intermediate_size=10, max_position_embeddings=24, initializer_range=0.5,
    )
    BertModel(config, add_pooling_layer=False).eval().save_pretrained(folder)
    tokenizer = Tokenizer(WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]", model_max_length=tokenizer_max_length,
    ).save_pretrained(folder)
    settings = {"do_lower_case": False}
    if config_max_length is not None:
        settings["max_seq_length"] = config_max_length
    (folder / "sentence_bert_config.json").write_text(json.dumps(settings))


def embeddings(folder, **arguments):
    model = SentenceTransformer(str(folder), device="cpu")
    return [[float(x) for x in row] for row in model.encode(TEXTS, **arguments)]


def write(folder, expected):
    (folder / "expected.json").write_text(json.dumps({"texts": TEXTS, **expected}) + "\n")


def dense():
    """Prompts, a dense layer and normalization, as version 6.2 writes them; `model_max_length`."""
    made, folder = FIXTURES / "made", FIXTURES / "sentence-dense"
    shutil.rmtree(folder, ignore_errors=True)
    made.mkdir()
    transformer(made, 8, 20)
    torch.manual_seed(19)
    body = parts.Transformer(str(made), max_seq_length=8)
    modules = [body, parts.Pooling(6, "mean"), parts.Dense(6, 4), parts.Normalize()]
    prompts = {"query": "query : ", "passage": "passage : "}
    model = SentenceTransformer(
        modules=modules, device="cpu", prompts=prompts, default_prompt_name="query"
    )
    model.save(str(folder), create_model_card=False)
    shutil.rmtree(made)
    passage = embeddings(folder, prompt_name="passage")
    write(folder, {"default": embeddings(folder), "passage": passage})


def subfolder():
    """The layout of version 0.3: `0_Transformer`; `max_seq_length`; cls."""
    folder = FIXTURES / "sentence-subfolder"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "0_Transformer").mkdir(parents=True)
    (folder / "1_Pooling").mkdir()
    transformer(folder / "0_Transformer", 7, 20)
    modes = {"word_embedding_dimension": 6, "pooling_mode_cls_token": True}
    modes |= {"pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": False}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(modes))
    kinds = [("0_Transformer", "Transformer"), ("1_Pooling", "Pooling")]
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    write(folder, {"default": embeddings(folder)})


dense()
subfolder()
