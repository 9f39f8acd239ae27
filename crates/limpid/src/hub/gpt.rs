//! `config.json` of GPT-2, of GPT-1 (`openai-gpt`), and of the variants that only we have.

use super::keys::Keys;
use super::variant;
use crate::config::{GptConfig, NormPlacement, Tie, activation_from_name, activation_name};
use crate::error::{Error, Result};
use serde_json::{Value, json};

pub(super) fn read_gpt2(keys: &mut Keys) -> Result<GptConfig> {
    keys.must_be("scale_attn_weights", &json!(true))?;
    keys.must_be("scale_attn_by_inverse_layer_idx", &json!(false))?;
    keys.must_be("add_cross_attention", &json!(false))?;
    read(keys, NormPlacement::Pre)
}

pub(super) fn read_gpt1(keys: &mut Keys) -> Result<GptConfig> {
    read(keys, NormPlacement::Post)
}

pub(super) fn read_variant(keys: &mut Keys) -> Result<GptConfig> {
    let norm = variant::placement(keys)?;
    let config = read(keys, norm)?;
    Ok(GptConfig { variant: variant::read(keys, config.variant)?, ..config })
}

/// GPT-1's "gelu" is the tanh approximation.
fn activation(keys: &mut Keys, norm: NormPlacement) -> Result<String> {
    let given = match (keys.text("activation_function")?, norm) {
        (None, NormPlacement::Post) => keys.text("afn")?.filter(|name| name != "gelu"),
        (given, _) => given,
    };
    Ok(given.unwrap_or_else(|| "gelu_new".into()))
}

fn read(keys: &mut Keys, norm: NormPlacement) -> Result<GptConfig> {
    let activation = activation(keys, norm)?;
    let n_embd = keys.size("n_embd")?;
    let residual = keys.share("resid_pdrop")?.unwrap_or(0.1);
    // Two more dropouts of this family; they act in training only, and ours has one rate for all.
    keys.share("embd_pdrop")?;
    keys.share("attn_pdrop")?;
    keys.map.remove("eos_token_id");
    keys.map.remove("pad_token_id");
    Ok(GptConfig {
        vocab_size: keys.size("vocab_size")?,
        n_positions: keys.size("n_positions")?,
        n_embd,
        n_layer: keys.size("n_layer")?,
        n_head: keys.size("n_head")?,
        n_inner: keys.optional_size("n_inner")?.unwrap_or(4 * n_embd),
        activation_function: activation_from_name(&activation).map_err(|e| e.in_file(keys.path))?,
        layer_norm_epsilon: keys.share("layer_norm_epsilon")?.unwrap_or(1e-5),
        norm,
        tie_word_embeddings: keys.tie("tie_word_embeddings")?,
        dropout: residual,
        variant: GptConfig::USUAL,
    })
}

/// Refuses what no file of the family can hold. GPT-1's has a feed-forward layer of four times the width, and three activations.
pub(crate) fn check_file(c: &GptConfig) -> Result<()> {
    if c.norm == NormPlacement::Pre || c.variant != GptConfig::USUAL {
        return Ok(());
    }
    let name = activation_name(c.activation_function);
    if !["gelu_new", "relu", "silu"].contains(&name) {
        return Err(Error::config(format!(
            "a GPT with norms behind its sub-layers is saved as GPT-1, which has no {name}"
        ))
        .hint("use model.activation = \"gelu_new\", \"relu\" or \"silu\", or model.norm = \"pre\""));
    }
    if c.n_inner != 4 * c.n_embd {
        return Err(Error::config(format!(
            "a GPT with norms behind its sub-layers is saved as GPT-1, whose feed-forward layers are 4 · {} wide, not {}",
            c.n_embd, c.n_inner
        ))
        .hint(format!("use model.ffn = {}, or model.norm = \"pre\"", 4 * c.n_embd)));
    }
    Ok(())
}

pub(super) fn write(c: &GptConfig) -> Value {
    let mut value = json!({
        "vocab_size": c.vocab_size,
        "n_positions": c.n_positions,
        "n_embd": c.n_embd,
        "n_layer": c.n_layer,
        "n_head": c.n_head,
        "n_inner": c.n_inner,
        "layer_norm_epsilon": c.layer_norm_epsilon,
        "resid_pdrop": c.dropout,
        "embd_pdrop": c.dropout,
        "attn_pdrop": 0.0,
        "bos_token_id": null,
        "eos_token_id": null,
        "tie_word_embeddings": c.tie_word_embeddings == Tie::Shared,
        "torch_dtype": "float32",
    });
    let (family, class, key) = match c.norm {
        NormPlacement::Pre => ("gpt2", "GPT2LMHeadModel", "activation_function"),
        NormPlacement::Post => ("openai-gpt", "OpenAIGPTLMHeadModel", "afn"),
    };
    value["model_type"] = json!(family);
    value["architectures"] = json!([class]);
    value[key] = match (c.norm, activation_name(c.activation_function)) {
        (NormPlacement::Post, "gelu_new") => json!("gelu"),
        (_, name) => json!(name),
    };
    if c.variant != GptConfig::USUAL {
        // A family of our own: one key for the activation, wherever the norms stand.
        value.as_object_mut().expect("it was written as one").remove("afn");
        value["activation_function"] = json!(activation_name(c.activation_function));
        variant::mark(&mut value, variant::GPT, c.norm, c.variant);
    }
    value
}
