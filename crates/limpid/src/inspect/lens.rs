//! The logit lens of a pass: what every layer would predict at every row, if the layers ended there
//! (nostalgebraist 2020).

use super::pass::{ForwardPass, PassInput, Ranked, StackName, most_likely, ranked};
use crate::error::{InspectError, Result};
use crate::model::Stack;
use crate::nn::Layers;
use limpid_tensor::packed_weights::Weights;
use limpid_tensor::tape::{Tape, Var};
use limpid_tensor::tensor::Tensor;

/// Rows of logits that are computed at once: those of a large vocabulary take much memory.
const ROWS: usize = 64;

/// What a layer would predict at a row.
#[derive(Clone, Debug, PartialEq)]
pub struct LensRow {
    /// The most likely tokens.
    pub top: Vec<Ranked>,
    /// −Σ p ln p, in nats.
    pub entropy: f64,
    /// How many tokens are more likely than the one that follows in the text.
    pub next_rank: Option<usize>,
}

/// What every layer would predict.
#[derive(Clone, Debug, PartialEq)]
pub struct PassLens {
    /// The layers; `None` for the embeddings.
    pub layers: Vec<Option<usize>>,
    /// Whether the stream goes through the norm that follows the last layer.
    pub has_final_norm: bool,
    /// By layer and row.
    pub cells: Vec<Vec<LensRow>>,
}

/// What each layer of a language model, or of the decoder of an encoder-decoder, would predict:
/// its residual stream through the final norm, if there is one, and the output projection.
/// # Errors
/// [`InspectError::NoLens`] for other models.
pub fn pass_lens(
    pass: &ForwardPass,
    stack: &Stack,
    weights: Weights,
    top: usize,
) -> Result<PassLens> {
    let (layers, name): (&Layers, _) = match stack {
        Stack::Decoder(model) if model.labels().is_none() => (model.layers(), StackName::Layers),
        Stack::EncoderDecoder(model) => (model.decoder_layers(), StackName::Decoder),
        _ => return Err(InspectError::NoLens { kind: stack.kind() }.into()),
    };
    let logits = |tape: &mut Tape, x: &Var| {
        let x = layers.normed(tape, x);
        match stack {
            Stack::Decoder(model) => model.logits(tape, &x),
            Stack::EncoderDecoder(model) => model.logits(tape, &x),
            _ => unreachable!("checked above"),
        }
    };
    let next = |row: usize| match &pass.input {
        PassInput::Tokens(ids) => ids.get(row + 1).copied(),
        PassInput::Pair { target, .. } => target.get(row).copied(),
        PassInput::Text(_) => None,
    };
    let mut found =
        PassLens { layers: Vec::new(), has_final_norm: layers.has_final_norm(), cells: Vec::new() };
    for place in pass.streams().into_iter().filter(|place| place.stack == name) {
        let stream = &pass.trace.steps[place.step].outputs[place.output];
        let (n, c) = stream.rows_cols();
        let mut cells = Vec::with_capacity(n);
        for first in (0..n).step_by(ROWS) {
            let rows = ROWS.min(n - first);
            let chunk = Tensor::new([rows, c], &stream.data()[first * c..(first + rows) * c]);
            let mut tape = weights.tape();
            let scores = logits(&mut tape, &Var::constant(chunk));
            for i in 0..rows {
                let log_p = super::pass::log_softmax(scores.value().row(i));
                let (top, entropy) = most_likely(&log_p, top);
                let own = next(first + i).and_then(|id| ranked(&log_p, id));
                cells.push(LensRow { top, entropy, next_rank: own.map(|own| own.rank) });
            }
        }
        found.layers.push(place.layer);
        found.cells.push(cells);
    }
    Ok(found)
}
