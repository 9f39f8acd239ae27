#!/usr/bin/env python3
"""Writes a GGUF of GPT-2 small with random weights, for llama_gpt.mjs: f32, q8_0, or q4_0 with the
token table, which is the output layer too, in q8_0 (as Limpid's int4 has it in int8) or q4_0."""

import argparse
from pathlib import Path

LAYERS, HEADS, WIDTH, CONTEXT, VOCABULARY = 12, 12, 768, 1024, 50257
# The kinds of linear layers and of the token table.
KINDS = {
    "f32": ("F32", "F32"),
    "q8_0": ("Q8_0", "Q8_0"),
    "q4_0": ("Q4_0", "Q8_0"),
    "q4_0-all": ("Q4_0", "Q4_0"),
}


def write(path, kind):
    # Here, so that a machine that has the files needs no such package.
    import gguf
    import numpy as np
    from gguf import GGMLQuantizationType as Kind
    from gguf.quants import quantize

    linear, table = [Kind[name] for name in KINDS[kind]]
    rng = np.random.default_rng(1)
    writer = gguf.GGUFWriter(str(path), "gpt2")
    writer.add_name("random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(4 * WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(1e-5)
    # Texts are not tokenized, but llama.cpp wants a tokenizer.
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([chr(0x100 + id) if id < 256 else f"t{id}" for id in range(VOCABULARY)])
    writer.add_token_types([gguf.TokenType.NORMAL] * VOCABULARY)
    writer.add_token_merges(["t 1"])
    writer.add_eos_token_id(VOCABULARY - 1)

    def matrix(name, shape, kind):
        weights = (0.02 * rng.standard_normal(shape)).astype(np.float32)
        data = weights if kind == Kind.F32 else quantize(weights, kind)
        writer.add_tensor(f"{name}.weight", data, raw_dtype=kind)

    def vector(name, value, len):
        writer.add_tensor(name, np.full(len, value, np.float32))

    matrix("token_embd", (VOCABULARY, WIDTH), table)
    matrix("position_embd", (CONTEXT, WIDTH), Kind.F32)
    for layer in range(LAYERS):
        at = f"blk.{layer}"
        for name, out, width in [
            ("attn_qkv", 3 * WIDTH, WIDTH),
            ("attn_output", WIDTH, WIDTH),
            ("ffn_up", 4 * WIDTH, WIDTH),
            ("ffn_down", WIDTH, 4 * WIDTH),
        ]:
            matrix(f"{at}.{name}", (out, width), linear)
            vector(f"{at}.{name}.bias", 0.0, out)
        for norm in ["attn_norm", "ffn_norm"]:
            vector(f"{at}.{norm}.weight", 1.0, WIDTH)
            vector(f"{at}.{norm}.bias", 0.0, WIDTH)
    vector("output_norm.weight", 1.0, WIDTH)
    vector("output_norm.bias", 0.0, WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--kind", choices=KINDS, default="f32")
    args = parser.parse_args()
    write(args.out, args.kind)


if __name__ == "__main__":
    main()
