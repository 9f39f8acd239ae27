//! What a translation attended to, as a small picture for the terminal.

use crate::config::RnnAttention;
use crate::data::batch::PairBatch;
use crate::decode::greedy;
use crate::decode::translate::{longest_translation, never, source_ids};
use crate::error::{Error, Result};
use crate::model::Translator;
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
    /// Which decoder layer is shown: the one that looks most sharply.
    pub layer: usize,
    /// Weights (target, source), the mean over the heads.
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

/// Translates a text, and looks where the decoder looked.
pub fn translation_attention<'a>(
    model: impl Into<Translator<'a>>,
    params: &'a Params,
    tokenizer: &Tokenizer,
    text: &str,
) -> Result<TranslationAttention> {
    let model = model.into();
    let (start, end) = (model.start(), model.end());
    let source = source_ids(model, tokenizer, 0, text)?;
    let longest = longest_translation(&source);
    let mut session = model.session(params, &[&source], longest + 1);
    let written = greedy(&mut session, &[vec![start]], Some(end), &never(model), &[longest])?.remove(0);

    attention_of((model, params), tokenizer, text, &written)
}

/// Where the decoder looked while it wrote a translation, given by its tokens without the end token.
pub fn attention_of<'a>(
    (model, params): (impl Into<Translator<'a>>, &Params),
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

/// A token as people read it: byte-level pieces are written in an alphabet of their own. One that is no text alone stays as it is.
fn readable(tokenizer: &Tokenizer, id: u32) -> String {
    let text = tokenizer.decode_with_special(&[id]).unwrap_or_default();
    let text = text.trim();
    if text.is_empty() || text.contains('\u{fffd}') { tokenizer.token(id) } else { text.to_string() }
}

/// A translation and its end token, if the model has a position from which to say it: one that fills all positions has not.
pub(super) fn with_end(model: Translator, translation: &[u32]) -> Vec<u32> {
    let end = (translation.len() < model.longest()).then_some(model.end());
    translation.iter().copied().chain(end).collect()
}

/// Refuses a model that looks at nothing.
pub fn check_attends<'a>(model: impl Into<Translator<'a>>) -> Result<()> {
    match model.into() {
        Translator::Rnn(model) if model.config().attention == RnnAttention::None => {
            Err(Error::config("this model has no attention: all it knows of the source is one state").hint(
                "a recurrent model trained with --attention dot or additive, or a Transformer, can be asked where it looks",
            ))
        }
        _ => Ok(()),
    }
}

/// Where the decoder looks for each token of a target, the end token included: the layer that looks most sharply, and its weights
/// (target, source), the mean over the heads.
pub(super) fn cross_attention(
    model: Translator,
    params: &Params,
    source: &[u32],
    target: &[u32],
) -> Result<(usize, Vec<Vec<f32>>)> {
    check_attends(model)?;
    // As a whole, with the probe: the same weights as step by step, all rows at once.
    let batch = PairBatch::new(&[(source, target)], model.start());
    let mut probe = CrossAttention::default();
    let mut tape = Tape::inference(params).with_probe(&mut probe);
    model.scores(&mut tape, &batch.source, &batch.input);
    drop(tape);

    let mut layers: Vec<Vec<Vec<f32>>> = probe.0.iter().map(mean_over_heads).collect();
    let sharpness = |weights: &Vec<Vec<f32>>| weights.iter().map(|row| largest(row)).sum::<f32>();
    let best = (0..layers.len()).max_by(|a, b| sharpness(&layers[*a]).total_cmp(&sharpness(&layers[*b])));
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

/// Draws weights as shades: a row for each target token, a column for each source token.
pub fn heat_map(rows: &[String], columns: &[String], weights: &[Vec<f32>]) -> String {
    const SHADES: [&str; 5] = ["  ", "░░", "▒▒", "▓▓", "██"];
    let clean = |token: &str| token.replace('▁', "");
    let width = |token: &str| token.chars().count();
    let label = rows.iter().map(|row| width(&clean(row))).max().unwrap_or(0).max(4);
    let columns: Vec<String> = columns.iter().map(|column| clean(column)).collect();
    let cells: Vec<usize> = columns.iter().map(|column| width(column).max(4)).collect();
    let mut picture = format!("  {:label$}", "");
    for (column, cell) in columns.iter().zip(&cells) {
        picture += &format!("  {column:>cell$}");
    }
    picture.push('\n');
    for (row, weights) in rows.iter().zip(weights) {
        let mut line = format!("  {:<label$}", clean(row));
        for (weight, cell) in weights.iter().zip(&cells) {
            // A fifth each; the number beside it says the rest.
            let shade = SHADES[((weight * 5.0) as usize).min(4)];
            let number = (weight * 100.0).round() as u32;
            let number = if number > 0 { format!("{number}") } else { String::new() };
            let drawn = format!("{number}{shade}");
            line += &format!("  {drawn:>cell$}");
        }
        picture += line.trim_end();
        picture.push('\n');
    }
    picture
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heat_map_has_a_row_and_a_column_for_each_token() {
        let tokens = |t: &[&str]| t.iter().map(|t| t.to_string()).collect::<Vec<_>>();
        let picture = heat_map(
            &tokens(&["▁I", "▁am"]),
            &tokens(&["▁Je", "▁suis"]),
            &[vec![1.0, 0.0], vec![0.25, 0.75]],
        );
        let lines: Vec<&str> = picture.lines().collect();
        assert_eq!(lines[0], "          Je  suis");
        assert_eq!(lines[1], "  I     100██");
        assert_eq!(lines[2], "  am    25░░  75▓▓");
    }
}
