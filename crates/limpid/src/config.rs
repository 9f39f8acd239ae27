//! What a model is: one validated value per family, with the names Hugging Face's `config.json` uses.

mod bert;
mod rnn;
mod variant;

pub use bert::{BertConfig, BertHead};
pub use rnn::{
    Cell, Directions, MOST_RNN_LAYERS, RnnAttention, RnnConfig, cell_from_name, cell_name,
    rnn_attention_from_name, rnn_attention_name,
};
pub use variant::{Normalisation, Positions, Residual, Scaling, Variant};

use crate::error::{Error, Result};
use limpid_tensor::kernels::activation::Activation;

/// Where layer normalisation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormPlacement {
    /// After the residual, as in the paper of 2017 and GPT-1: x = norm(x + f(x)).
    Post,
    /// Before the sub-layer, as in GPT-2, with one more norm at the end: x = x + f(norm(x)).
    Pre,
}

/// Whether two tables are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// One table in both roles.
    Shared,
    /// Each has its own.
    Separate,
}

/// A decoder-only Transformer: GPT-1 (post-norm) or GPT-2 (pre-norm).
#[derive(Clone, Debug, PartialEq)]
pub struct GptConfig {
    /// v.
    pub vocab_size: usize,
    /// The longest sequence there is a position for.
    pub n_positions: usize,
    /// c.
    pub n_embd: usize,
    /// Layers.
    pub n_layer: usize,
    /// h.
    pub n_head: usize,
    /// f, usually 4·c.
    pub n_inner: usize,
    /// Activation of the feed-forward layers.
    pub activation_function: Activation,
    /// ε of the layer norms.
    pub layer_norm_epsilon: f32,
    /// Where the norms stand.
    pub norm: NormPlacement,
    /// Whether the output layer is the embedding table.
    pub tie_word_embeddings: Tie,
    /// Dropout on embeddings and on each sub-layer's output.
    pub dropout: f32,
    /// Departures from the usual.
    pub variant: Variant,
}

impl GptConfig {
    /// GPT's usual: learned positions.
    pub const USUAL: Variant = Variant::usual(Positions::Learned);

    /// GPT-2's shape of the given size.
    pub fn gpt2(vocab_size: usize, n_positions: usize, n_layer: usize, n_head: usize, n_embd: usize) -> Self {
        Self {
            vocab_size,
            n_positions,
            n_embd,
            n_layer,
            n_head,
            n_inner: 4 * n_embd,
            activation_function: Activation::GeluTanh,
            layer_norm_epsilon: 1e-5,
            norm: NormPlacement::Pre,
            tie_word_embeddings: Tie::Shared,
            dropout: 0.0,
            variant: Self::USUAL,
        }
    }

    /// GPT-1's shape of the given size: the same with the norms after the residuals and none at the end.
    pub fn gpt1(vocab_size: usize, n_positions: usize, n_layer: usize, n_head: usize, n_embd: usize) -> Self {
        Self { norm: NormPlacement::Post, ..Self::gpt2(vocab_size, n_positions, n_layer, n_head, n_embd) }
    }

    /// About how many parameters that makes: without biases and norms, in a number that cannot overflow.
    pub fn parameters_about(&self) -> f64 {
        let (c, f, l) = (self.n_embd as f64, self.n_inner as f64, self.n_layer as f64);
        let tables = if self.tie_word_embeddings == Tie::Shared { 1.0 } else { 2.0 } * self.vocab_size as f64;
        c * (tables + self.n_positions as f64) + l * (4.0 * c * c + 2.0 * c * f)
    }

    /// Refuses what cannot work.
    pub fn validate(&self) -> Result<()> {
        check_positive(&[
            ("vocab_size", self.vocab_size),
            ("n_positions", self.n_positions),
            ("n_embd", self.n_embd),
            ("n_layer", self.n_layer),
            ("n_inner", self.n_inner),
        ])?;
        check_heads(self.n_head, self.n_embd, "heads")?;
        check_size(self.n_layer, self.parameters_about())?;
        self.variant.check(self.n_positions, self.n_embd)?;
        check_dropout(self.dropout)
    }
}

/// An encoder-decoder Transformer, with Marian's names.
#[derive(Clone, Debug, PartialEq)]
pub struct Seq2SeqConfig {
    /// v of the source, and of the target if they share.
    pub vocab_size: usize,
    /// v of the target, where it has a vocabulary of its own.
    pub decoder_vocab_size: usize,
    /// c.
    pub d_model: usize,
    /// Layers of the encoder.
    pub encoder_layers: usize,
    /// Layers of the decoder.
    pub decoder_layers: usize,
    /// h in the encoder.
    pub encoder_attention_heads: usize,
    /// h in the decoder.
    pub decoder_attention_heads: usize,
    /// f in the encoder.
    pub encoder_ffn_dim: usize,
    /// f in the decoder.
    pub decoder_ffn_dim: usize,
    /// The longest sequence there is a position for.
    pub max_position_embeddings: usize,
    /// Activation of the feed-forward layers.
    pub activation_function: Activation,
    /// Whether embeddings are multiplied by √c.
    pub scale_embedding: ScaleEmbedding,
    /// Where the norms stand.
    pub norm: NormPlacement,
    /// Whether encoder and decoder have one embedding table.
    pub share_encoder_decoder_embeddings: Tie,
    /// Whether the output layer is the decoder's embedding table.
    pub tie_word_embeddings: Tie,
    /// Dropout on embeddings and on each sub-layer's output.
    pub dropout: f32,
    /// Fills short sequences in other programs; ours needs none.
    pub pad_token_id: u32,
    /// Ends a sentence.
    pub eos_token_id: u32,
    /// What the decoder is given first.
    pub decoder_start_token_id: u32,
    /// Departures from the usual.
    pub variant: Variant,
}

/// Whether embeddings are multiplied by √c before positions are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleEmbedding {
    /// By √c, so that they are not drowned by the positions (section 3.4 of the paper).
    SqrtWidth,
    /// Not at all.
    One,
}

impl Seq2SeqConfig {
    /// The usual of the paper: sinusoidal positions.
    pub const USUAL: Variant = Variant::usual(Positions::Sinusoidal);

    /// A model with equal encoder and decoder, ReLU, post-norm and one shared table.
    pub fn new(vocab_size: usize, layers: usize, heads: usize, d_model: usize, ffn: usize) -> Self {
        Self {
            vocab_size,
            decoder_vocab_size: vocab_size,
            d_model,
            encoder_layers: layers,
            decoder_layers: layers,
            encoder_attention_heads: heads,
            decoder_attention_heads: heads,
            encoder_ffn_dim: ffn,
            decoder_ffn_dim: ffn,
            max_position_embeddings: 512,
            activation_function: Activation::Relu,
            scale_embedding: ScaleEmbedding::SqrtWidth,
            norm: NormPlacement::Post,
            share_encoder_decoder_embeddings: Tie::Shared,
            tie_word_embeddings: Tie::Shared,
            dropout: 0.0,
            pad_token_id: 0,
            eos_token_id: 1,
            decoder_start_token_id: 0,
            variant: Self::USUAL,
        }
    }

    /// About how many parameters (and fixed positions) that makes, in a number that cannot overflow.
    pub fn parameters_about(&self) -> f64 {
        let c = self.d_model as f64;
        let target = if self.tie_word_embeddings == Tie::Shared { 1.0 } else { 2.0 };
        let tables = self.vocab_size as f64
            + target * self.decoder_vocab_size as f64
            + self.max_position_embeddings as f64;
        let encoder = self.encoder_layers as f64 * (4.0 * c * c + 2.0 * c * self.encoder_ffn_dim as f64);
        let decoder = self.decoder_layers as f64 * (8.0 * c * c + 2.0 * c * self.decoder_ffn_dim as f64);
        c * tables + encoder + decoder
    }

    /// Refuses what cannot work.
    pub fn validate(&self) -> Result<()> {
        check_positive(&[
            ("vocab_size", self.vocab_size),
            ("decoder_vocab_size", self.decoder_vocab_size),
            ("d_model", self.d_model),
            ("encoder_layers", self.encoder_layers),
            ("decoder_layers", self.decoder_layers),
            ("encoder_ffn_dim", self.encoder_ffn_dim),
            ("decoder_ffn_dim", self.decoder_ffn_dim),
            ("max_position_embeddings", self.max_position_embeddings),
        ])?;
        check_heads(self.encoder_attention_heads, self.d_model, "encoder heads")?;
        check_heads(self.decoder_attention_heads, self.d_model, "decoder heads")?;
        check_size(self.encoder_layers.max(self.decoder_layers), self.parameters_about())?;
        self.variant.check(self.max_position_embeddings, self.d_model)?;
        check_tables(self.share_encoder_decoder_embeddings, self.vocab_size, self.decoder_vocab_size)?;
        check_special(
            [self.pad_token_id, self.eos_token_id, self.decoder_start_token_id],
            self.decoder_vocab_size,
        )?;
        check_dropout(self.dropout)
    }
}

/// Refuses one table of embeddings for two vocabularies.
fn check_tables(tie: Tie, source: usize, target: usize) -> Result<()> {
    if tie == Tie::Separate || source == target {
        return Ok(());
    }
    Err(Error::config(format!(
        "one embedding table cannot have {source} rows for the source and {target} for the target"
    ))
    .hint("use one vocabulary for both, or share_encoder_decoder_embeddings = false"))
}

/// Refuses special tokens (filling up, end, start) that the target vocabulary does not have.
fn check_special(ids: [u32; 3], vocabulary: usize) -> Result<()> {
    let named = ["pad_token_id", "eos_token_id", "decoder_start_token_id"].into_iter().zip(ids);
    match named.into_iter().find(|(_, id)| *id as usize >= vocabulary) {
        None => Ok(()),
        Some((name, id)) => Err(Error::config(format!(
            "{name} = {id} is beyond the target vocabulary of {vocabulary} tokens"
        ))
        .hint("the ids of special tokens are those of tokenizer.json")),
    }
}

fn check_positive(settings: &[(&str, usize)]) -> Result<()> {
    match settings.iter().find(|(_, value)| *value == 0) {
        Some((name, _)) => Err(Error::config(format!("{name} is 0")).hint("a model needs at least 1")),
        None => Ok(()),
    }
}

/// No ordinary machine holds more than this: 40 GB of weights.
const MOST_PARAMETERS: f64 = 1e10;
const MOST_LAYERS: usize = 1_000;

fn check_size(layers: usize, parameters: f64) -> Result<()> {
    if layers > MOST_LAYERS {
        return Err(
            Error::config(format!("{layers} layers are more than {MOST_LAYERS}")).hint("use fewer layers")
        );
    }
    if parameters > MOST_PARAMETERS {
        let gigabytes = parameters * 4e-9;
        return Err(Error::config(format!(
            "a model of this size has {parameters:.1e} parameters: {gigabytes:.0} GB"
        ))
        .hint(format!("a model may have {MOST_PARAMETERS:.0e}: a width {:.0} times smaller would do, or fewer layers, a smaller vocabulary or context", (parameters / MOST_PARAMETERS).sqrt().ceil().max(2.0))));
    }
    Ok(())
}

fn check_heads(heads: usize, width: usize, what: &str) -> Result<()> {
    if heads > 0 && width.is_multiple_of(heads) {
        return Ok(());
    }
    // Divisors come in pairs, one of each at most the root: a width with a digit too many takes no time either.
    let small =
        (1..).take_while(|h: &usize| h.saturating_mul(*h) <= width).filter(|h| width.is_multiple_of(*h));
    let fits = small.flat_map(|h| [h, width / h]).min_by_key(|h| h.abs_diff(heads.max(1))).unwrap_or(1);
    Err(Error::config(format!("{what}: width {width} cannot be divided into {heads} heads of equal width"))
        .hint(format!("{fits} would do: --set model.heads={fits} in a run, --heads {fits} elsewhere")))
}

fn check_dropout(p: f32) -> Result<()> {
    if (0.0..1.0).contains(&p) {
        return Ok(());
    }
    Err(Error::config(format!("dropout = {p} is not in [0, 1)")).hint("usual values are 0 to 0.3"))
}

/// Reads an activation's name as Hugging Face writes it.
pub fn activation_from_name(name: &str) -> Result<Activation> {
    Ok(match name {
        "linear" => Activation::None,
        "relu" => Activation::Relu,
        "gelu" => Activation::Gelu,
        "gelu_new" | "gelu_pytorch_tanh" => Activation::GeluTanh,
        "silu" | "swish" => Activation::Silu,
        "tanh" => Activation::Tanh,
        "sigmoid" => Activation::Sigmoid,
        other => {
            return Err(Error::config(format!("activation '{other}' is not known")).hint(
                "known are linear, relu, gelu, gelu_new, gelu_pytorch_tanh, silu, swish, tanh, sigmoid",
            ));
        }
    })
}

/// Writes an activation's name as Hugging Face reads it.
pub fn activation_name(activation: Activation) -> &'static str {
    match activation {
        Activation::None => "linear",
        Activation::Relu => "relu",
        Activation::Gelu => "gelu",
        Activation::GeluTanh => "gelu_new",
        Activation::Silu => "silu",
        Activation::Tanh => "tanh",
        Activation::Sigmoid => "sigmoid",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_that_do_not_divide_the_width_are_refused_with_a_number_that_does() {
        let error = GptConfig::gpt2(100, 64, 2, 5, 384).validate().unwrap_err();
        assert_eq!(error.to_string(), "heads: width 384 cannot be divided into 5 heads of equal width");
        assert_eq!(error.hint_text(), Some("4 would do: --set model.heads=4 in a run, --heads 4 elsewhere"));
        assert!(GptConfig::gpt2(100, 64, 2, 6, 384).validate().is_ok());
    }

    #[test]
    fn a_model_without_layers_or_with_impossible_dropout_is_refused() {
        assert!(GptConfig::gpt2(100, 64, 0, 4, 32).validate().is_err());
        assert!(GptConfig { dropout: 1.0, ..GptConfig::gpt2(100, 64, 1, 4, 32) }.validate().is_err());
        assert!(
            Seq2SeqConfig { eos_token_id: 50, ..Seq2SeqConfig::new(50, 1, 2, 8, 16) }.validate().is_err()
        );
    }
}
