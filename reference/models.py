"""The tiny models of the fixtures: their configurations, weights and batches.

Weights are drawn ten times larger than a training run would draw them, biases are not zero and
norms are not the identity: a forgotten bias or a swapped axis must change the logits visibly."""

import re
from dataclasses import dataclass

import torch
from torch import nn
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertForSequenceClassification,
    BertModel,
    CamembertConfig,
    CamembertForMaskedLM,
    CamembertForSequenceClassification,
    DistilBertConfig,
    DistilBertForMaskedLM,
    DistilBertForSequenceClassification,
    DistilBertModel,
    ElectraConfig,
    ElectraForMaskedLM,
    ElectraForSequenceClassification,
    ElectraModel,
    GemmaConfig,
    GemmaForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    M2M100Config,
    M2M100ForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    MBartConfig,
    MBartForConditionalGeneration,
    MistralConfig,
    MistralForCausalLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
    ModernBertForSequenceClassification,
    ModernBertModel,
    MPNetConfig,
    MPNetForMaskedLM,
    MPNetForSequenceClassification,
    MPNetModel,
    OpenAIGPTConfig,
    OpenAIGPTLMHeadModel,
    OPTConfig,
    OPTForCausalLM,
    PegasusConfig,
    PegasusForConditionalGeneration,
    PhiConfig,
    PhiForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaForSequenceClassification,
    RobertaModel,
    T5Config,
    T5ForConditionalGeneration,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
    XLMRobertaForSequenceClassification,
    XLMRobertaModel,
)

DECODER_IDS = [[5, 17, 3, 30, 8, 8, 21], [12], [1, 36, 0, 9, 25, 14, 2, 2, 33, 7, 19, 4]]
PROMPT = [11, 6, 28]
# Families of encoders, by the prefix of their classes.
ENCODERS = ["Bert", "Roberta", "XLMRoberta", "Camembert", "DistilBert", "Electra", "MPNet"]
ENCODERS += ["ModernBert"]
# Sequences of an encoder: one text, one token, and two texts, None contains padding.
ENCODER_IDS = [[2, 17, 4, 30, 8, 4, 3], [2], [2, 36, 1, 9, 3, 14, 4, 4, 33, 7, 3]]
# MPNet's padding is token 1.
MPNET_IDS = [[5 if token == 1 else token for token in ids] for ids in ENCODER_IDS]
ENCODER_TYPES = [[0] * 7, [0], [0] * 5 + [1] * 6]
# What stood at masked places; -100 where nothing is asked.
MASKED = [[-100, -100, 21, -100, 8, 12, -100], [-100], [-100] * 6 + [5, 31, -100, 19, -100]]
CLASSES = [2, 0, 1]
FOLLOWS = [0, 1, 1]
# Targets end in the end-of-sentence token; none contains padding.
MARIAN_SOURCES = [[7, 22, 13, 5, 0], [31, 0], [2, 9, 9, 38, 16, 4, 27, 11, 0]]
MARIAN_TARGETS = [[19, 3, 33, 0], [25, 8, 14, 6, 1, 10, 0], [30, 0]]
PEGASUS_SOURCES = [[7, 22, 13, 5, 1], [31, 1], [2, 9, 9, 38, 16, 4, 27, 11, 1]]
PEGASUS_TARGETS = [[19, 3, 33, 1], [25, 8, 14, 6, 2, 10, 1], [30, 1]]
BART_SOURCES = [[7, 22, 13, 5, 2], [31, 2], [0, 9, 9, 38, 16, 4, 27, 11, 2]]
BART_TARGETS = [[19, 3, 33, 2], [25, 8, 14, 6, 5, 10, 2], [30, 2]]


@dataclass(frozen=True)
class Fixture:
    """One folder of `fixtures/`: a model, what it is fed, and which quantities are kept."""

    name: str
    model_class: type
    config: object
    seed: int
    quantities: frozenset
    sources: list | None = None
    targets: list | None = None

    @property
    def family(self):
        """The classes' common prefix: "Bert" of BertForMaskedLM."""
        return type(self.config).__name__.removesuffix("Config")


def gpt2_config(**changes):
    sizes = dict(n_layer=2, n_head=3, n_embd=24, n_positions=16, vocab_size=37)
    dropouts = dict(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    rest = dict(activation_function="gelu_new", bos_token_id=36, eos_token_id=36)
    return GPT2Config(**{**sizes, **dropouts, **rest, **changes})


def gpt1_config():
    sizes = dict(n_layer=2, n_head=3, n_embd=24, n_positions=16, vocab_size=37)
    # "gelu" in this config means the tanh approximation, as in the released GPT-1.
    return OpenAIGPTConfig(**sizes, afn="gelu", resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)


def rotary_config(config_class, **changes):
    """Llama and its relatives: four heads of queries share two of keys and values."""
    heads = dict(num_attention_heads=4, num_key_value_heads=2)
    sizes = dict(num_hidden_layers=2, hidden_size=24, intermediate_size=40, vocab_size=37)
    tokens = dict(bos_token_id=36, eos_token_id=36, pad_token_id=None)
    rest = dict(max_position_embeddings=16)
    return config_class(**{**heads, **sizes, **tokens, **rest, **changes})


def opt_config(**changes):
    """No key makes the first two rows of the position table visible."""
    sizes = dict(num_hidden_layers=2, num_attention_heads=3, hidden_size=24, ffn_dim=40)
    tokens = dict(vocab_size=37, bos_token_id=36, eos_token_id=36, pad_token_id=None)
    rest = dict(max_position_embeddings=16, dropout=0.0, word_embed_proj_dim=24)
    return OPTConfig(**{**sizes, **tokens, **rest, **changes})


def wide_heads(config_class, **changes):
    """Four heads of ten columns in a model of 24."""
    return rotary_config(config_class, head_dim=10, **changes)


def neox_config(**changes):
    """Of each head of eight columns, two are turned."""
    sizes = dict(num_hidden_layers=2, num_attention_heads=3, hidden_size=24, intermediate_size=40)
    tokens = dict(vocab_size=37, bos_token_id=36, eos_token_id=36)
    return GPTNeoXConfig(**{**sizes, **tokens, "max_position_embeddings": 16, **changes})


def rope(kind, **changes):
    return {"rope_type": kind, "rope_theta": 300.0, **changes}


def bert_config(config_class=BertConfig, **changes):
    sizes = dict(num_hidden_layers=2, num_attention_heads=3, hidden_size=24, intermediate_size=40)
    tables = dict(vocab_size=37, max_position_embeddings=16, type_vocab_size=2)
    dropouts = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return config_class(**{**sizes, **tables, **dropouts, **changes})


def roberta_config(config_class=RobertaConfig, **changes):
    """Positions begin behind the padding token: 23 rows are 16 positions.

    No sequence has token 6.
    """
    config = bert_config().to_diff_dict()
    for key in ["model_type", "transformers_version"]:
        config.pop(key, None)
    return config_class(**{**config, "max_position_embeddings": 23, "pad_token_id": 6, **changes})


def mpnet_config(**changes):
    """Positions begin at row 2: 18 rows are 16 positions."""
    config = bert_config(max_position_embeddings=18).to_diff_dict()
    for key in ["model_type", "transformers_version", "type_vocab_size"]:
        config.pop(key, None)
    return MPNetConfig(**{**config, "pad_token_id": 1, **changes})


def modernbert_config(**changes):
    """Layers 1 and 2 see three tokens on each side."""
    sizes = dict(num_hidden_layers=4, num_attention_heads=3, hidden_size=24, intermediate_size=20)
    tables = dict(vocab_size=37, max_position_embeddings=16, local_attention=6)
    tokens = dict(pad_token_id=0, bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3)
    return ModernBertConfig(**{**sizes, **tables, **tokens, **changes})


def distilbert_config(**changes):
    sizes = dict(n_layers=2, n_heads=3, dim=24, hidden_dim=40)
    tables = dict(vocab_size=37, max_position_embeddings=16)
    dropouts = dict(dropout=0.0, attention_dropout=0.0, seq_classif_dropout=0.0)
    return DistilBertConfig(**{**sizes, **tables, **dropouts, **changes})


def bert_labels():
    labels = ["against", "for", "neither"]
    return dict(
        id2label=dict(enumerate(labels)), label2id={label: i for i, label in enumerate(labels)}
    )


def seq2seq_sizes():
    # Different numbers of heads and feed-forward widths on each side, so that mixing them up is an
    # error.
    encoder = dict(encoder_layers=2, encoder_attention_heads=3, encoder_ffn_dim=40)
    decoder = dict(decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=48)
    shared = dict(d_model=24, vocab_size=41, max_position_embeddings=20, scale_embedding=True)
    return {**encoder, **decoder, **shared, "dropout": 0.0, "forced_eos_token_id": None}


def marian_config(activation):
    tokens = dict(pad_token_id=40, eos_token_id=0, decoder_start_token_id=40)
    tying = dict(share_encoder_decoder_embeddings=True, tie_word_embeddings=True)
    return MarianConfig(**seq2seq_sizes(), **tokens, **tying, activation_function=activation)


def pegasus_config():
    tokens = dict(pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
    return PegasusConfig(**seq2seq_sizes(), **tokens, activation_function="relu")


def bart_config(config_class, **changes):
    """Padding 1, end 2, as in the released models; a token between them is never seen."""
    tokens = dict(pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2)
    return config_class(**{**seq2seq_sizes(), **tokens, **changes})


def t5_config(**changes):
    """Four heads of five columns in a model of 24; buckets that distances of these texts fill."""
    sizes = dict(vocab_size=41, d_model=24, d_kv=5, d_ff=40, num_heads=4)
    layers = dict(num_layers=2, num_decoder_layers=3, dropout_rate=0.0)
    buckets = dict(relative_attention_num_buckets=6, relative_attention_max_distance=5)
    tokens = dict(pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
    return T5Config(**{**sizes, **layers, **buckets, **tokens, **changes})


FORWARD = frozenset({"logits", "loss"})
GRADIENTS = FORWARD | {"gradients"}
EVERYTHING = GRADIENTS | {"adamw", "greedy"}
TRAINING = GRADIENTS | {"adamw"}

FIXTURES = [
    Fixture("gpt2-tiny", GPT2LMHeadModel, gpt2_config(), 1, EVERYTHING),
    Fixture("gpt2-untied", GPT2LMHeadModel, gpt2_config(tie_word_embeddings=False), 2, GRADIENTS),
    Fixture("gpt1-tiny", OpenAIGPTLMHeadModel, gpt1_config(), 3, EVERYTHING),
    Fixture(
        "gpt2-by-layer",
        GPT2LMHeadModel,
        gpt2_config(scale_attn_by_inverse_layer_idx=True),
        14,
        GRADIENTS,
    ),
    Fixture(
        "llama-tiny",
        LlamaForCausalLM,
        rotary_config(LlamaConfig, rope_parameters=rope("default")),
        15,
        EVERYTHING,
    ),
    # Every option of its own: biases, heads of another width, tied embeddings.
    Fixture(
        "llama-options",
        LlamaForCausalLM,
        rotary_config(
            LlamaConfig,
            rope_parameters=rope(
                "llama3",
                factor=4.0,
                low_freq_factor=1.0,
                high_freq_factor=3.0,
                original_max_position_embeddings=8,
            ),
            attention_bias=True,
            mlp_bias=True,
            head_dim=10,
            tie_word_embeddings=True,
            rms_norm_eps=1e-3,
            hidden_act="gelu",
        ),
        16,
        GRADIENTS,
    ),
    Fixture(
        "llama-linear",
        LlamaForCausalLM,
        rotary_config(LlamaConfig, rope_parameters=rope("linear", factor=3.0)),
        17,
        FORWARD,
    ),
    Fixture(
        "llama-yarn",
        LlamaForCausalLM,
        rotary_config(
            LlamaConfig,
            head_dim=12,
            rope_parameters=rope("yarn", factor=4.0, original_max_position_embeddings=8),
        ),
        18,
        FORWARD,
    ),
    Fixture(
        "mistral-tiny",
        MistralForCausalLM,
        rotary_config(MistralConfig, sliding_window=3),
        19,
        EVERYTHING,
    ),
    Fixture("qwen2-tiny", Qwen2ForCausalLM, rotary_config(Qwen2Config), 20, EVERYTHING),
    # The first layer sees all, the second a window.
    Fixture(
        "qwen2-window",
        Qwen2ForCausalLM,
        rotary_config(Qwen2Config, use_sliding_window=True, sliding_window=4, max_window_layers=1),
        21,
        GRADIENTS,
    ),
    Fixture("qwen3-tiny", Qwen3ForCausalLM, wide_heads(Qwen3Config), 22, EVERYTHING),
    Fixture("gemma-tiny", GemmaForCausalLM, wide_heads(GemmaConfig), 23, EVERYTHING),
    Fixture("neox-tiny", GPTNeoXForCausalLM, neox_config(), 24, EVERYTHING),
    Fixture(
        "neox-sequential",
        GPTNeoXForCausalLM,
        neox_config(use_parallel_residual=False, rotary_pct=1.0, hidden_act="relu"),
        25,
        GRADIENTS,
    ),
    # Heads of twelve columns, of which half are turned.
    Fixture(
        "phi-tiny",
        PhiForCausalLM,
        rotary_config(PhiConfig, num_attention_heads=2, num_key_value_heads=1),
        26,
        EVERYTHING,
    ),
    Fixture("opt-tiny", OPTForCausalLM, opt_config(), 44, EVERYTHING),
    Fixture(
        "opt-post-norm",
        OPTForCausalLM,
        opt_config(
            do_layer_norm_before=False,
            enable_bias=False,
            activation_function="gelu",
            tie_word_embeddings=False,
        ),
        45,
        GRADIENTS,
    ),
    # This seed because its three greedy outputs differ, one stops at once and two reach the limit;
    # with most others every source gives the same token for ever.
    Fixture(
        "marian-tiny",
        MarianMTModel,
        marian_config("swish"),
        455,
        EVERYTHING,
        MARIAN_SOURCES,
        MARIAN_TARGETS,
    ),
    Fixture(
        "marian-relu",
        MarianMTModel,
        marian_config("relu"),
        5,
        FORWARD,
        MARIAN_SOURCES,
        MARIAN_TARGETS,
    ),
    # Pegasus is Marian with the norms before the sub-layers and one more norm after each stack.
    Fixture(
        "prenorm-seq2seq",
        PegasusForConditionalGeneration,
        pegasus_config(),
        6,
        GRADIENTS | {"greedy"},
        PEGASUS_SOURCES,
        PEGASUS_TARGETS,
    ),
    Fixture(
        "bart-tiny",
        BartForConditionalGeneration,
        bart_config(BartConfig, scale_embedding=False),
        31,
        EVERYTHING,
        BART_SOURCES,
        BART_TARGETS,
    ),
    Fixture(
        "mbart-tiny",
        MBartForConditionalGeneration,
        bart_config(MBartConfig, decoder_start_token_id=6),
        34,
        EVERYTHING,
        BART_SOURCES,
        BART_TARGETS,
    ),
    Fixture(
        "m2m-tiny",
        M2M100ForConditionalGeneration,
        bart_config(M2M100Config),
        228,
        EVERYTHING,
        BART_SOURCES,
        BART_TARGETS,
    ),
    Fixture(
        "t5-tiny",
        T5ForConditionalGeneration,
        t5_config(),
        36,
        EVERYTHING,
        PEGASUS_SOURCES,
        PEGASUS_TARGETS,
    ),
    # Version 1.1: a gated feed-forward network, and an output layer of its own.
    Fixture(
        "t5-gated",
        T5ForConditionalGeneration,
        t5_config(feed_forward_proj="gated-gelu", tie_word_embeddings=False),
        31,
        EVERYTHING,
        PEGASUS_SOURCES,
        PEGASUS_TARGETS,
    ),
    Fixture("bert-mlm", BertForMaskedLM, bert_config(), 7, TRAINING),
    Fixture(
        "bert-pretraining", BertForPreTraining, bert_config(hidden_act="gelu_new"), 8, GRADIENTS
    ),
    Fixture(
        "bert-classifier",
        BertForSequenceClassification,
        bert_config(layer_norm_eps=1e-5, hidden_act="relu", **bert_labels()),
        9,
        TRAINING,
    ),
    Fixture("bert-bare", BertModel, bert_config(), 10, FORWARD),
    # The masked-LM head has GELU whatever the activation of the layers is.
    Fixture("roberta-mlm", RobertaForMaskedLM, roberta_config(hidden_act="relu"), 11, TRAINING),
    Fixture(
        "roberta-classifier",
        RobertaForSequenceClassification,
        roberta_config(layer_norm_eps=1e-5, **bert_labels()),
        12,
        TRAINING,
    ),
    Fixture("roberta-bare", RobertaModel, roberta_config(), 13, FORWARD),
    Fixture(
        "xlm-roberta-mlm",
        XLMRobertaForMaskedLM,
        roberta_config(XLMRobertaConfig, type_vocab_size=3),
        30,
        TRAINING,
    ),
    Fixture(
        "xlm-roberta-classifier",
        XLMRobertaForSequenceClassification,
        roberta_config(XLMRobertaConfig, **bert_labels()),
        31,
        TRAINING,
    ),
    Fixture("xlm-roberta-bare", XLMRobertaModel, roberta_config(XLMRobertaConfig), 32, FORWARD),
    Fixture("camembert-mlm", CamembertForMaskedLM, roberta_config(CamembertConfig), 33, TRAINING),
    Fixture(
        "camembert-classifier",
        CamembertForSequenceClassification,
        roberta_config(CamembertConfig, **bert_labels()),
        34,
        TRAINING,
    ),
    Fixture(
        "distilbert-mlm",
        DistilBertForMaskedLM,
        distilbert_config(activation="relu"),
        27,
        TRAINING,
    ),
    Fixture(
        "distilbert-classifier",
        DistilBertForSequenceClassification,
        distilbert_config(**bert_labels()),
        28,
        TRAINING,
    ),
    Fixture("distilbert-bare", DistilBertModel, distilbert_config(), 29, FORWARD),
    # The heads have GELU whatever the activation of the layers is.
    Fixture(
        "electra-mlm",
        ElectraForMaskedLM,
        bert_config(ElectraConfig, embedding_size=10, hidden_act="relu"),
        35,
        TRAINING,
    ),
    Fixture(
        "electra-classifier",
        ElectraForSequenceClassification,
        bert_config(ElectraConfig, embedding_size=30, hidden_act="silu", **bert_labels()),
        36,
        TRAINING,
    ),
    # Embeddings of the model's width are not projected.
    Fixture(
        "electra-bare", ElectraModel, bert_config(ElectraConfig, embedding_size=24), 37, FORWARD
    ),
    Fixture(
        "mpnet-mlm", MPNetForMaskedLM, mpnet_config(hidden_act="relu"), 38, TRAINING, MPNET_IDS
    ),
    Fixture(
        "mpnet-classifier",
        MPNetForSequenceClassification,
        mpnet_config(layer_norm_eps=1e-5, **bert_labels()),
        39,
        TRAINING,
        MPNET_IDS,
    ),
    Fixture("mpnet-bare", MPNetModel, mpnet_config(), 40, FORWARD, MPNET_IDS),
    Fixture("modernbert-mlm", ModernBertForMaskedLM, modernbert_config(), 41, TRAINING),
    # Every bias, and other activations than GELU.
    Fixture(
        "modernbert-classifier",
        ModernBertForSequenceClassification,
        modernbert_config(
            norm_bias=True,
            attention_bias=True,
            mlp_bias=True,
            classifier_bias=True,
            hidden_activation="silu",
            classifier_activation="relu",
            local_attention=5,
            **bert_labels(),
        ),
        42,
        TRAINING,
    ),
    Fixture(
        "modernbert-bare",
        ModernBertModel,
        modernbert_config(layer_types=["full_attention", "sliding_attention"] * 2),
        43,
        FORWARD,
    ),
]


def make_model(fixture):
    """A model of random weights that depend on the fixture's seed alone."""
    torch.manual_seed(fixture.seed)
    model = fixture.model_class(fixture.config).eval()
    if getattr(fixture.config, "scale_decoder_outputs", True) is False:
        # The released T5 1.1 have two tables; a new model has one.
        model.lm_head.weight = nn.Parameter(torch.empty_like(model.lm_head.weight))
    normal = torch.Generator().manual_seed(fixture.seed)
    own_norm = re.compile("RMSNorm|T5LayerNorm")
    is_norm = lambda m: isinstance(m, nn.LayerNorm) or own_norm.search(type(m).__name__)
    norms = {id(module.weight) for module in model.modules() if is_norm(module)}
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:  # sinusoidal positions do not
                noise = 0.2 * torch.randn(parameter.shape, generator=normal)
                parameter.copy_(1 + noise if id(parameter) in norms else noise)
        if hasattr(model, "final_logits_bias"):
            bias = model.final_logits_bias
            bias.copy_(0.5 * torch.randn(bias.shape, generator=normal))
    return model
