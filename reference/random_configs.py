"""Random valid configurations of every family: small odd sizes, and every key that changes a
result. What a draw leaves out keeps the default of `transformers`."""

import random

import transformers

# Those that limpid has, and some that it must refuse by name.
ACTIVATIONS = ["gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "quick_gelu", "relu", "relu2"]
ACTIVATIONS += ["silu", "swish", "tanh", "sigmoid", "mish", "leaky_relu", "gelu_python"]


class Draw(random.Random):
    """Random values; `some` leaves each key out now and then."""

    def size(self, low, high):
        return self.randint(low, high)

    def flag(self):
        return self.random() < 0.5

    def rarely(self):
        return self.random() < 0.04

    def activation(self):
        known = ACTIVATIONS[:10] if self.random() < 0.9 else ACTIVATIONS
        return self.choice(known)

    def eps(self):
        return self.choice([1e-12, 1e-6, 1e-5, 1e-3, 0.1])

    def some(self, **options):
        return {key: value for key, value in options.items() if self.random() < 0.7}


def decoder_sizes(r, even_heads=True):
    """Names of Llama's keys: heads that share keys and values, of any width."""
    groups, shared = r.size(1, 3), r.size(1, 3)
    heads = groups * shared
    width = 2 * r.size(2, 5) if even_heads else r.size(1, 9)
    return heads, groups, width, heads * width


def rope(r, positions, partial=None):
    """Rotary positions, whole and stretched."""
    kind = r.choice(["default", "linear", "dynamic", "llama3", "yarn"])
    found = {"rope_type": kind, "rope_theta": r.choice([10000.0, 100.0, 1e6, 7.5])}
    if kind != "default":
        found["factor"] = r.choice([1.0, 2.0, 3.5, 8.0])
    original = r.choice([4, 8, positions])
    if kind == "llama3":
        found |= dict(low_freq_factor=1.0, high_freq_factor=r.choice([2.0, 4.0]))
        found["original_max_position_embeddings"] = original
    if kind == "yarn":
        found |= r.some(
            beta_fast=r.choice([32.0, 4.0]),
            beta_slow=r.choice([1.0, 0.5]),
            attention_factor=r.choice([0.7, 1.3]),
            truncate=r.flag(),
            original_max_position_embeddings=original,
        )
        if r.flag():
            found |= dict(mscale=r.choice([0.7, 1.0]), mscale_all_dim=r.choice([0.5, 1.0]))
    if kind == "dynamic":
        found |= r.some(original_max_position_embeddings=original)
    if partial is not None:
        found["partial_rotary_factor"] = partial
    return found


def rotary_decoder(r, **more):
    heads, groups, width, hidden = decoder_sizes(r)
    positions = r.size(8, 30)
    config = dict(
        vocab_size=r.size(9, 60),
        num_hidden_layers=r.size(1, 3),
        num_attention_heads=heads,
        hidden_size=hidden,
        intermediate_size=r.size(5, 40),
        max_position_embeddings=positions,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=None,
    )
    own_width = r.flag()
    if own_width:
        config["head_dim"] = 2 * r.size(2, 6)
        config["hidden_size"] = heads * r.size(1, 7)
    config["num_key_value_heads"] = groups
    options = dict(
        hidden_act=r.activation(),
        rms_norm_eps=r.eps(),
        tie_word_embeddings=r.flag(),
        rope_parameters=rope(r, positions),
    )
    return {**config, **r.some(**options), **more}


def llama(r):
    biases = r.some(attention_bias=r.flag(), mlp_bias=r.flag(), pretraining_tp=r.choice([1, 2]))
    return rotary_decoder(r, **biases)


def mistral(r):
    return rotary_decoder(r, **r.some(sliding_window=r.choice([None, 1, 2, 3, 5, 8])))


def windows(r, layers):
    kinds = ["full_attention", "sliding_attention"]
    found = dict(sliding_window=r.size(1, 8), use_sliding_window=r.flag())
    found |= r.some(max_window_layers=r.size(0, layers))
    if found["use_sliding_window"] and r.random() < 0.3:
        found["layer_types"] = [r.choice(kinds) for _ in range(layers)]
    return found if r.flag() else {}


def qwen2(r):
    config = rotary_decoder(r)
    # Its heads have the width c/h, whatever else the file says.
    if config.pop("head_dim", None):
        config["hidden_size"] = config["num_attention_heads"] * 2 * r.size(2, 4)
    return config | windows(r, config["num_hidden_layers"])


def qwen3(r):
    config = rotary_decoder(r)
    config.setdefault("head_dim", 2 * r.size(2, 6))
    config |= r.some(attention_bias=r.flag())
    return config | windows(r, config["num_hidden_layers"])


def gemma(r):
    config = rotary_decoder(r, **r.some(attention_bias=r.flag()))
    config.setdefault("head_dim", 2 * r.size(2, 6))
    # A key of older versions, which is read by none of today's.
    if r.flag():
        config["hidden_activation"] = config.get("hidden_act", "gelu_pytorch_tanh")
    elif r.rarely():
        config["hidden_activation"] = r.activation()
    if r.rarely():
        config["use_bidirectional_attention"] = True
    return config


def gpt_neox(r):
    heads, _, width, hidden = decoder_sizes(r)
    width = 4 * r.size(1, 4)
    positions = r.size(8, 30)
    config = dict(
        vocab_size=r.size(9, 60),
        num_hidden_layers=r.size(1, 3),
        num_attention_heads=heads,
        hidden_size=heads * width,
        intermediate_size=r.size(5, 40),
        max_position_embeddings=positions,
        bos_token_id=1,
        eos_token_id=2,
    )
    # Without a choice a quarter of each head is turned.
    partial = r.choice([0.25, 0.5, 1.0]) if width == 16 else 1.0
    options = dict(
        hidden_act=r.activation(),
        layer_norm_eps=r.eps(),
        tie_word_embeddings=r.flag(),
        use_parallel_residual=r.flag(),
        attention_bias=r.flag(),
    )
    found = r.some(**options)
    if width != 16 or r.flag():
        found["rope_parameters"] = rope(r, positions, partial)
    return {**config, **found}


def phi(r):
    heads, groups, _, _ = decoder_sizes(r)
    positions = r.size(8, 30)
    config = dict(
        vocab_size=r.size(9, 60),
        num_hidden_layers=r.size(1, 3),
        num_attention_heads=heads,
        num_key_value_heads=groups,
        hidden_size=heads * 4 * r.size(1, 3),
        intermediate_size=r.size(5, 40),
        max_position_embeddings=positions,
        bos_token_id=1,
        eos_token_id=2,
    )
    options = r.some(
        hidden_act=r.activation(),
        layer_norm_eps=r.eps(),
        rope_parameters=rope(r, positions, r.choice([0.5, 1.0])),
    )
    if r.rarely():
        options["qk_layernorm"] = True
    if r.rarely():
        options["tie_word_embeddings"] = True
    return {**config, **options}


def gpt(r):
    heads, _, width, hidden = decoder_sizes(r, even_heads=False)
    config = dict(
        vocab_size=r.size(9, 60),
        n_layer=r.size(1, 3),
        n_head=heads,
        n_embd=hidden,
        n_positions=r.size(8, 30),
        bos_token_id=1,
        eos_token_id=2,
    )
    return {**config, **r.some(layer_norm_epsilon=r.eps(), tie_word_embeddings=r.flag())}


def gpt2(r):
    options = r.some(
        n_inner=r.choice([None, r.size(3, 50)]),
        activation_function=r.activation(),
        scale_attn_by_inverse_layer_idx=r.flag(),
        reorder_and_upcast_attn=r.flag(),
    )
    if r.rarely():
        options["scale_attn_weights"] = False
    return gpt(r) | options


def openai_gpt(r):
    return gpt(r) | r.some(afn=r.choice(["gelu", "relu", "silu", "swish"]))


def opt(r):
    heads, _, width, hidden = decoder_sizes(r, even_heads=False)
    config = dict(
        vocab_size=r.size(9, 60),
        num_hidden_layers=r.size(1, 3),
        num_attention_heads=heads,
        hidden_size=hidden,
        ffn_dim=r.size(5, 40),
        max_position_embeddings=r.size(8, 30),
        word_embed_proj_dim=hidden,
        pad_token_id=1,
        bos_token_id=2,
        eos_token_id=2,
    )
    if r.rarely():
        config["word_embed_proj_dim"] = r.size(3, 20)
    return config | r.some(
        do_layer_norm_before=r.flag(),
        activation_function=r.activation(),
        enable_bias=r.flag(),
        layer_norm_elementwise_affine=not r.rarely(),
        tie_word_embeddings=r.flag(),
    )


def labels(r, head):
    if head == "ForSequenceClassification":
        return {"num_labels": r.size(2, 5)}
    return {}


def encoder_sizes(r):
    heads, _, width, hidden = decoder_sizes(r, even_heads=False)
    return dict(
        vocab_size=r.size(12, 60),
        num_hidden_layers=r.size(1, 3),
        num_attention_heads=heads,
        hidden_size=hidden,
        intermediate_size=r.size(5, 40),
        max_position_embeddings=r.size(12, 30),
        pad_token_id=0,
    )


def bert(r):
    options = r.some(
        hidden_act=r.activation(),
        layer_norm_eps=r.eps(),
        type_vocab_size=r.size(1, 3),
        pad_token_id=r.size(0, 5),
    )
    if r.rarely():
        options["tie_word_embeddings"] = False
    return encoder_sizes(r) | options


def electra(r):
    return bert(r) | dict(embedding_size=r.size(3, 30))


def mpnet(r):
    config = bert(r) | r.some(relative_attention_num_buckets=r.choice([32, 32, 32, 8]))
    config.pop("type_vocab_size", None)
    return config | {"pad_token_id": 1}


def distilbert(r):
    sizes = encoder_sizes(r)
    config = dict(
        vocab_size=sizes["vocab_size"],
        n_layers=sizes["num_hidden_layers"],
        n_heads=sizes["num_attention_heads"],
        dim=sizes["hidden_size"],
        hidden_dim=sizes["intermediate_size"],
        max_position_embeddings=sizes["max_position_embeddings"],
        pad_token_id=0,
    )
    return config | r.some(activation=r.activation(), sinusoidal_pos_embds=r.flag())


def modernbert(r):
    sizes = encoder_sizes(r)
    sizes["hidden_size"] = sizes["num_attention_heads"] * 2 * r.size(1, 5)
    sizes["num_hidden_layers"] = layers = r.size(1, 5)
    tokens = dict(bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3)
    options = r.some(
        hidden_activation=r.activation(),
        classifier_activation=r.activation(),
        norm_eps=r.eps(),
        norm_bias=r.flag(),
        attention_bias=r.flag(),
        mlp_bias=r.flag(),
        classifier_bias=r.flag(),
        decoder_bias=r.flag(),
        local_attention=2 * r.size(1, 6),
    )
    kinds = ["full_attention", "sliding_attention"]
    if r.random() < 0.2:
        options["layer_types"] = [r.choice(kinds) for _ in range(layers)]
    else:
        options |= r.some(global_attn_every_n_layers=r.size(1, 4))
    if r.flag():
        theta = lambda: {"rope_type": "default", "rope_theta": r.choice([100.0, 7.5, 1e6])}
        options["rope_parameters"] = {kind: theta() for kind in kinds}
    if r.rarely():
        options["classifier_pooling"] = "mean"
    return sizes | tokens | options


def seq2seq(r, tokens):
    encoder, decoder = r.size(1, 3), r.size(1, 3)
    config = dict(
        vocab_size=r.size(12, 60),
        d_model=encoder * decoder * 4 * r.size(1, 3),
        encoder_layers=r.size(1, 3),
        decoder_layers=r.size(1, 3),
        encoder_attention_heads=encoder,
        decoder_attention_heads=decoder,
        encoder_ffn_dim=r.size(5, 40),
        decoder_ffn_dim=r.size(5, 40),
        max_position_embeddings=r.size(12, 30),
        forced_eos_token_id=None,
    )
    options = r.some(scale_embedding=r.flag(), activation_function=r.activation())
    return config | tokens | options


def marian(r):
    pad = r.size(1, 9)
    config = seq2seq(r, dict(pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad))
    if r.random() < 0.3:
        config["share_encoder_decoder_embeddings"] = False
        config["decoder_vocab_size"] = r.size(12, 60)
        config["tie_word_embeddings"] = r.flag()
    elif r.flag():
        config["tie_word_embeddings"] = r.flag()
    return config


def pegasus(r):
    return seq2seq(r, dict(pad_token_id=0, eos_token_id=1, decoder_start_token_id=0))


def bart(r):
    return seq2seq(
        r, dict(pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2)
    )


def t5(r):
    config = dict(
        vocab_size=r.size(12, 60),
        d_model=r.size(3, 30),
        d_kv=r.size(1, 9),
        d_ff=r.size(5, 40),
        num_heads=r.size(1, 4),
        num_layers=r.size(1, 3),
        num_decoder_layers=r.size(1, 3),
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
    )
    kind = r.choice(["relu", "gated-gelu", "gated-silu", "gated-relu", "silu", "gelu_new"])
    return config | r.some(
        feed_forward_proj=kind,
        layer_norm_epsilon=r.eps(),
        relative_attention_num_buckets=2 * r.size(2, 9),
        relative_attention_max_distance=r.size(10, 40),
        tie_word_embeddings=r.flag(),
    )


ENCODER_HEADS = ["ForMaskedLM", "ForMaskedLM", "ForSequenceClassification"]
TEXT = ["ForConditionalGeneration"]
# The prefix of the classes, how configurations are drawn, and the classes' endings.
FAMILIES = {
    "gpt2": ("GPT2", gpt2, ["LMHeadModel"]),
    "openai-gpt": ("OpenAIGPT", openai_gpt, ["LMHeadModel"]),
    "llama": ("Llama", llama, ["ForCausalLM"]),
    "mistral": ("Mistral", mistral, ["ForCausalLM"]),
    "qwen2": ("Qwen2", qwen2, ["ForCausalLM"]),
    "qwen3": ("Qwen3", qwen3, ["ForCausalLM"]),
    "gemma": ("Gemma", gemma, ["ForCausalLM"]),
    "gpt_neox": ("GPTNeoX", gpt_neox, ["ForCausalLM"]),
    "phi": ("Phi", phi, ["ForCausalLM"]),
    "opt": ("OPT", opt, ["ForCausalLM"]),
    "bert": ("Bert", bert, [*ENCODER_HEADS, "ForPreTraining"]),
    "roberta": ("Roberta", bert, ENCODER_HEADS),
    "xlm-roberta": ("XLMRoberta", bert, ENCODER_HEADS),
    "camembert": ("Camembert", bert, ENCODER_HEADS),
    "distilbert": ("DistilBert", distilbert, ENCODER_HEADS),
    "electra": ("Electra", electra, ENCODER_HEADS),
    "mpnet": ("MPNet", mpnet, ENCODER_HEADS),
    "modernbert": ("ModernBert", modernbert, ENCODER_HEADS),
    "marian": ("Marian", marian, ["MTModel"]),
    "pegasus": ("Pegasus", pegasus, TEXT),
    "bart": ("Bart", bart, TEXT),
    "mbart": ("MBart", bart, TEXT),
    "m2m_100": ("M2M100", bart, TEXT),
    "t5": ("T5", t5, TEXT),
}


def draw(family, seed):
    """A configuration and the class of its model."""
    prefix, keys, endings = FAMILIES[family]
    r = Draw(f"{family} {seed}")
    head = r.choice(endings)
    config_class = getattr(transformers, f"{prefix}Config")
    config = config_class(**keys(r), **labels(r, head))
    return config, getattr(transformers, prefix + head)
