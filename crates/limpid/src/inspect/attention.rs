//! Cross-attention of a translation: which source tokens the decoder attended to.

use crate::data::batch::PairBatch;
use crate::error::{GenerationError, Result};
use crate::generate::greedy;
use crate::generate::translate::{excluded_tokens, max_translation_length, source_ids};
use crate::model::Seq2Seq;
use crate::model::config::RecurrentAttention;
use crate::text::Tokenizer;
use limpid_tensor::params::Params;
use limpid_tensor::tape::{Probe, Tape};
use limpid_tensor::tensor::Tensor;

/// One translation and its cross-attention.
pub struct TranslationAttention {
    /// The translation.
    pub translation: String,
    /// Tokens of the source, the end token last.
    pub source: Vec<String>,
    /// Tokens of the translation, the end token last.
    pub target: Vec<String>,
    /// The decoder layer, counted from 0: the one with the sharpest attention.
    pub layer: usize,
    /// Attention weights (target, source), the mean over the heads.
    pub weights: Vec<Vec<f32>>,
}

/// Keeps the cross-attention of every layer, first to last.
#[derive(Default)]
struct CrossAttention(Vec<Tensor>);

impl Probe for CrossAttention {
    fn wants(&self, name: &str) -> bool {
        name.ends_with("cross_attention.weights")
    }
    fn take(&mut self, _: &str, value: &Tensor) {
        self.0.push(value.clone());
    }
}

/// Translates a text greedily, with its cross-attention.
/// # Errors
/// As [`attention_of`].
pub fn translation_attention<'a>(
    model: impl Into<Seq2Seq<'a>>,
    params: &'a Params,
    tokenizer: &Tokenizer,
    text: &str,
) -> Result<TranslationAttention> {
    let model = model.into();
    let (start, eos) = (model.start(), model.end());
    let source = source_ids(model, tokenizer, 0, text)?;
    let longest = max_translation_length(&source);
    let mut session = model.session(params, &[&source], longest + 1);
    let excluded = excluded_tokens(model);
    let found = greedy(&mut *session, &[vec![start]], Some(eos), &excluded, &[longest])?;
    attention_of((model, params), tokenizer, text, &found[0])
}

/// The cross-attention of a translation, given by its tokens without the end token.
/// # Errors
/// [`GenerationError::NoAttention`], and one for a source that is too long.
pub fn attention_of<'a>(
    (model, params): (impl Into<Seq2Seq<'a>>, &Params),
    tokenizer: &Tokenizer,
    text: &str,
    translation: &[u32],
) -> Result<TranslationAttention> {
    let model = model.into();
    let source = source_ids(model, tokenizer, 0, text)?;
    let target = with_end(model, translation);
    let (layer, weights) = cross_attention(model, params, &source, &target)?;
    let tokens = |ids: &[u32]| ids.iter().map(|id| readable(tokenizer, *id)).collect();
    Ok(TranslationAttention {
        translation: tokenizer.decode(translation)?,
        source: tokens(&source),
        target: tokens(&target),
        layer,
        weights,
    })
}

/// A token as text: the vocabulary of byte-level BPE has an alphabet of its own. One that is no
/// text alone stays as it is.
fn readable(tokenizer: &Tokenizer, id: u32) -> String {
    let text = tokenizer.decode_with_special(&[id]).unwrap_or_default();
    let text = text.trim();
    if text.is_empty() || text.contains('\u{fffd}') {
        tokenizer.token(id)
    } else {
        text.to_string()
    }
}

/// A translation and its end token, if the decoder has a position left to predict it from.
pub(super) fn with_end(model: Seq2Seq, translation: &[u32]) -> Vec<u32> {
    let end = (translation.len() < model.longest()).then_some(model.end());
    translation.iter().copied().chain(end).collect()
}

/// Checks that the decoder attends to its source.
/// # Errors
/// [`GenerationError::NoAttention`] for a recurrent model without attention.
pub fn check_attends<'a>(model: impl Into<Seq2Seq<'a>>) -> Result<()> {
    match model.into() {
        Seq2Seq::Recurrent(model) if model.config().attention == RecurrentAttention::None => {
            Err(GenerationError::NoAttention.into())
        }
        _ => Ok(()),
    }
}

/// Cross-attention for each token of a target, the end token included: the layer with the sharpest
/// attention (largest sum of row maxima), and its weights (target, source), the mean over heads.
pub(super) fn cross_attention(
    model: Seq2Seq,
    params: &Params,
    source: &[u32],
    target: &[u32],
) -> Result<(usize, Vec<Vec<f32>>)> {
    check_attends(model)?;
    // Teacher forcing: the same weights as step by step, all rows at once.
    let batch = PairBatch::new(&[(source, target)], model.start());
    let mut probe = CrossAttention::default();
    let mut tape = Tape::inference(params).with_probe(&mut probe);
    model.scores(&mut tape, &batch.source, &batch.input);
    drop(tape);

    let mut layers: Vec<Vec<Vec<f32>>> = probe.0.iter().map(mean_over_heads).collect();
    let sharpness = |weights: &Vec<Vec<f32>>| weights.iter().map(|row| largest(row)).sum::<f32>();
    let best =
        (0..layers.len()).max_by(|a, b| sharpness(&layers[*a]).total_cmp(&sharpness(&layers[*b])));
    let layer = best.expect("a decoder has layers");
    Ok((layer, layers.swap_remove(layer)))
}

fn largest(row: &[f32]) -> f32 {
    row.iter().copied().fold(0.0, f32::max)
}

/// (h, t, s) -> (t, s).
fn mean_over_heads(weights: &Tensor) -> Vec<Vec<f32>> {
    let shape = weights.shape();
    let (h, t, s) = (shape.dim(0), shape.dim(1), shape.dim(2));
    let at = |head: usize, i: usize, j: usize| weights.data()[(head * t + i) * s + j];
    let mean = |i, j| (0..h).map(|head| at(head, i, j)).sum::<f32>() / h as f32;
    (0..t).map(|i| (0..s).map(|j| mean(i, j)).collect()).collect()
}
