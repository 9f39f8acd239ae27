//! Attention of every layer and head, and the logit lens: what each layer of a decoder would
//! predict.

use crate::data::batch::{EncodedText, EncoderInput, Packed, PairBatch};
use crate::model::{Decoder, Encoder, Seq2Seq};
use limpid_tensor::kernels::softmax::log_softmax;
use limpid_tensor::packed_weights::Weights;
use limpid_tensor::params::Params;
use limpid_tensor::tape::{Probe, Tape, Var};
use limpid_tensor::tensor::Tensor;

/// The attention weights of one layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerAttention {
    /// Which: `self_attention`, or of an encoder-decoder `encoder.self_attention`,
    /// `decoder.self_attention`, `decoder.cross_attention`.
    pub name: String,
    /// The layer, counted from 0.
    pub layer: usize,
    /// Weights of each head: a row for each query, a column for each key.
    pub heads: Vec<Vec<Vec<f32>>>,
}

/// Keeps the attention of some layers.
struct Kept<'w> {
    wanted: &'w dyn Fn(usize) -> bool,
    found: Vec<LayerAttention>,
}

impl Probe for Kept<'_> {
    fn wants(&self, name: &str) -> bool {
        parsed(name).is_some_and(|(_, layer)| (self.wanted)(layer))
    }

    fn take(&mut self, name: &str, value: &Tensor) {
        let (Some((name, layer)), shape) = (parsed(name), value.shape()) else { return };
        let (t, s) = (shape.dim(1), shape.dim(2)); // (h, t, s)
        let rows = |head: &[f32]| head.chunks(s.max(1)).map(<[f32]>::to_vec).collect();
        let heads = value.data().chunks((t * s).max(1)).map(rows).collect();
        self.found.push(LayerAttention { name, layer, heads });
    }
}

/// `decoder.2.cross_attention.weights` is `decoder.cross_attention` of layer 2.
fn parsed(name: &str) -> Option<(String, usize)> {
    let mut parts = name.strip_suffix(".weights")?.rsplit('.');
    let (kind, layer, stack) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
    match kind {
        "self_attention" | "cross_attention" if stack == "layers" => Some((kind.into(), layer)),
        "self_attention" | "cross_attention" => Some((format!("{stack}.{kind}"), layer)),
        _ => None,
    }
}

fn kept(
    params: &Params,
    wanted: &dyn Fn(usize) -> bool,
    run: impl FnOnce(&mut Tape),
) -> Vec<LayerAttention> {
    let mut probe = Kept { wanted, found: Vec::new() };
    run(&mut Tape::inference(params).with_probe(&mut probe));
    probe.found
}

/// The attention of an encoder over one text, in the layers that are wanted.
pub fn encoder_attention(
    (model, params): (&Encoder, &Params),
    text: &EncodedText,
    wanted: &dyn Fn(usize) -> bool,
) -> Vec<LayerAttention> {
    let input = EncoderInput::new(std::slice::from_ref(text));
    kept(params, wanted, |tape| _ = model.hidden(tape, &input))
}

/// The attention of a decoder over one text, in the layers that are wanted.
pub fn decoder_attention(
    (model, params): (&Decoder, &Params),
    ids: &[u32],
    wanted: &dyn Fn(usize) -> bool,
) -> Vec<LayerAttention> {
    kept(params, wanted, |tape| _ = model.hidden(tape, &Packed::new(&[ids]), None))
}

/// The attention of an encoder-decoder over a source and its target, in the layers that are wanted.
pub fn seq2seq_attention(
    (model, params): (Seq2Seq, &Params),
    (source, target): (&[u32], &[u32]),
    wanted: &dyn Fn(usize) -> bool,
) -> Vec<LayerAttention> {
    let batch = PairBatch::new(&[(source, target)], model.start());
    kept(params, wanted, |tape| _ = model.scores(tape, &batch.source, &batch.input))
}

/// A token and ln p of it.
pub type LogProbability = (u32, f32);

/// Rows of logits that are computed at once: those of a large vocabulary take much memory.
const ROWS: usize = 64;

/// What each layer of a decoder would predict after each token, if the layers ended there: for each
/// of layers + 1, for each token, the `top` most likely next tokens.
pub fn logit_lens(
    (model, weights): (&Decoder, Weights),
    ids: &[u32],
    top: usize,
) -> Vec<Vec<Vec<LogProbability>>> {
    let mut tape = weights.tape();
    let states = model.hidden_by_layer(&mut tape, &Packed::new(&[ids]));
    let layer = |hidden| {
        let mut found = Vec::with_capacity(ids.len());
        for_each_row(model, weights, hidden, |_, row| found.push(best(row, top)));
        found
    };
    states.iter().map(|state| layer(state.value())).collect()
}

/// How likely a decoder finds a text: for each token but the first, ln p of it after those before
/// it, and the `top` most likely tokens in its place.
pub fn prompt_scores(
    (model, weights): (&Decoder, Weights),
    ids: &[u32],
    top: usize,
) -> Vec<(f32, Vec<LogProbability>)> {
    let mut tape = weights.tape();
    let hidden = model.hidden(&mut tape, &Packed::new(&[ids]), None);
    let mut found = Vec::with_capacity(ids.len());
    for_each_row(model, weights, hidden.value(), |i, row| {
        if let Some(next) = ids.get(i + 1) {
            found.push((row[*next as usize], best(row, top)));
        }
    });
    found
}

/// Calls `work` with the log-probabilities after each row of hidden states.
fn for_each_row(
    model: &Decoder,
    weights: Weights,
    hidden: &Tensor,
    mut work: impl FnMut(usize, &[f32]),
) {
    let (n, c) = hidden.rows_cols();
    for first in (0..n).step_by(ROWS) {
        let rows = ROWS.min(n - first);
        let mut tape = weights.tape();
        let chunk = Tensor::new([rows, c], &hidden.data()[first * c..(first + rows) * c]);
        let chunk = Var::constant(chunk);
        let logits = model.logits(&mut tape, &chunk);
        let v = logits.rows_cols().1;
        for (i, row) in logits.data().chunks(v).enumerate() {
            let mut row = row.to_vec();
            log_softmax(&mut row);
            work(first + i, &row);
        }
    }
}

/// The largest values; of equals, the smaller ids.
fn best(row: &[f32], top: usize) -> Vec<LogProbability> {
    let order = |a: &u32, b: &u32| {
        let (x, y) = (row[*a as usize], row[*b as usize]);
        y.total_cmp(&x).then(a.cmp(b))
    };
    let mut ids: Vec<u32> = (0..row.len() as u32).collect();
    let top = top.min(ids.len());
    if top < ids.len() {
        ids.select_nth_unstable_by(top, order);
        ids.truncate(top);
    }
    ids.sort_unstable_by(order);
    ids.into_iter().map(|id| (id, row[id as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::config::DecoderConfig;
    use crate::model::{Model, Stack};

    #[test]
    fn the_last_layer_of_the_lens_is_the_model_and_scores_are_its_log_probabilities() {
        let model = Model::new(DecoderConfig::gpt2(23, 16, 2, 2, 8), 3).unwrap();
        let Stack::Decoder(decoder) = &model.stack else { unreachable!() };
        let (ids, weights) = ([3, 1, 4, 1, 5], Weights::from(&model.params));
        let lens = logit_lens((decoder, weights), &ids, 23);
        assert_eq!((lens.len(), lens[0].len(), lens[0][0].len()), (3, 5, 23));
        let mut tape = weights.tape();
        let hidden = decoder.hidden(&mut tape, &Packed::new(&[&ids]), None);
        let logits = decoder.logits(&mut tape, &hidden);
        let scores = prompt_scores((decoder, weights), &ids, 2);
        assert_eq!(scores.len(), 4);
        for (i, row) in logits.data().chunks(23).enumerate() {
            let sum: f64 = row.iter().map(|z| f64::from(*z).exp()).sum();
            for (id, p) in &lens[2][i] {
                let want = f64::from(row[*id as usize]) - sum.ln();
                assert!((f64::from(*p) - want).abs() < 1e-5, "{p} {want}");
            }
            assert!(lens[2][i].windows(2).all(|pair| pair[0].1 >= pair[1].1));
            if let Some((score, top)) = scores.get(i) {
                let own = lens[2][i].iter().find(|(id, _)| *id == ids[i + 1]).unwrap().1;
                assert!((score - own).abs() < 1e-5 && top.len() == 2);
            }
        }
    }

    #[test]
    fn every_head_of_a_wanted_layer_has_rows_that_sum_to_one() {
        let model = Model::new(DecoderConfig::gpt2(23, 16, 3, 2, 8), 3).unwrap();
        let Stack::Decoder(decoder) = &model.stack else { unreachable!() };
        let found = decoder_attention((decoder, &model.params), &[3, 1, 4], &|layer| layer != 1);
        let names: Vec<_> = found.iter().map(|f| (f.name.as_str(), f.layer)).collect();
        assert_eq!(names, [("self_attention", 0), ("self_attention", 2)]);
        for head in found.iter().flat_map(|layer| &layer.heads) {
            for (i, row) in head.iter().enumerate() {
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
                assert!(row[i + 1..].iter().all(|weight| *weight == 0.0), "the future");
            }
        }
        assert_eq!(found[0].heads.len(), 2);
    }
}
