//! One forward pass with everything in it: what every view of a model reads.
//!
//! ```
//! use limpid::inspect::{ForwardPass, PassInput};
//! use limpid::model::Model;
//! use limpid::model::config::DecoderConfig;
//!
//! let model = Model::new(DecoderConfig::gpt2(50, 8, 2, 2, 8), 1)?;
//! let input = PassInput::Tokens(vec![3, 1, 4]);
//! let pass = ForwardPass::run(&model.stack, (&model.params).into(), &input, &[])?;
//! // Two layers of attention, and the residual stream of the embeddings and after each layer.
//! assert_eq!((pass.attentions().len(), pass.streams().len()), (2, 3));
//! let weights = pass.weights(0, &model.params).expect("an attention");
//! let mut rows = vec![0.0; 9];
//! weights.rows(&mut rows, 1, 0..3);
//! assert_eq!(rows[..3], [1.0, 0.0, 0.0]);
//! // What is likely after the last token.
//! assert_eq!(pass.predictions(5)[2].top.len(), 5);
//! # Ok::<(), limpid::error::Error>(())
//! ```

mod catalogue;
mod edit;
mod predictions;

pub use catalogue::{
    AttentionPlace, AttentionSite, Reading, Role, StackName, StreamPlace, TensorPlace,
};
pub use edit::{Replacement, Site, SiteEdit};
pub use predictions::{Prediction, Ranked};
pub(super) use predictions::{most_likely, ranked};

use crate::data::batch::{EncodedText, EncoderInput, Packed, PairBatch};
use crate::error::Result;
use crate::model::config::EncoderHead;
use crate::model::{Encoder, Stack};
use edit::Edits;
use limpid_tensor::ops::AttentionWeights;
use limpid_tensor::packed_weights::Weights;
use limpid_tensor::params::Params;
use limpid_tensor::tape::{Tape, Trace, Var};
use limpid_tensor::tensor::Tensor;

/// Numbers of logits that are computed for all rows; of a longer text with a large vocabulary only
/// those of the last row are.
const MAX_LOGITS: usize = 1 << 24;

/// What a pass reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PassInput {
    /// The tokens of a decoder.
    Tokens(Vec<u32>),
    /// The text of an encoder, or a pair of them, and what stands at its masks (for predictions).
    Text(EncodedText),
    /// The source of an encoder-decoder, and the target that its decoder is to predict, the end
    /// token last: it reads the start token and all but the last.
    Pair {
        /// The source.
        source: Vec<u32>,
        /// The target.
        target: Vec<u32>,
    },
}

/// A forward pass that was kept: every operation, and what came out.
pub struct ForwardPass {
    /// What it read.
    pub input: PassInput,
    /// Every operation with its operands.
    pub trace: Trace,
    /// Scores of tokens or labels, (rows, v).
    pub logits: Option<Tensor>,
    /// The row of the sequence that each row of the logits belongs to; of a pooled head none.
    pub logit_rows: Vec<usize>,
    /// The token that each row of the logits should predict, where one follows.
    pub targets: Vec<Option<u32>>,
}

impl ForwardPass {
    /// Runs a model over one sequence, or a pair of source and target, with these changes.
    /// # Errors
    /// [`InspectError`](crate::error::InspectError) for an edit of a place that the model has not.
    ///
    /// # Panics
    /// If the input is of another kind of model.
    pub fn run(
        stack: &Stack,
        weights: Weights,
        input: &PassInput,
        edits: &[SiteEdit],
    ) -> Result<Self> {
        let mut trace = Trace::default();
        let mut edits = Edits::new(stack, edits)?;
        let mut tape = weights.tape().with_trace(&mut trace).with_edit(&mut edits);
        let scored = match (stack, input) {
            (Stack::Decoder(model), PassInput::Tokens(ids)) => {
                let packed = Packed::new(&[ids]);
                let hidden = model.hidden(&mut tape, &packed, None);
                match model.labels() {
                    Some(_) => {
                        let logits = model.class_logits(&mut tape, &hidden, &packed);
                        Scored { logits: Some(logits), rows: Vec::new(), targets: vec![None] }
                    }
                    None => {
                        let (hidden, rows) =
                            scored_rows(&mut tape, hidden, model.config().vocab_size);
                        let logits = model.logits(&mut tape, &hidden);
                        let targets = rows.iter().map(|i| ids.get(i + 1).copied()).collect();
                        Scored { logits: Some(logits), rows, targets }
                    }
                }
            }
            (Stack::Encoder(model), PassInput::Text(text)) => encoded(&mut tape, model, text),
            (stack, PassInput::Pair { source, target }) => {
                let model = stack.translator().expect("a model that reads a source and a target");
                let batch = PairBatch::new(&[(source, target)], model.start());
                let logits = model.scores(&mut tape, &batch.source, &batch.input);
                let rows = (0..target.len()).collect();
                let targets = target.iter().map(|id| Some(*id)).collect();
                Scored { logits: Some(logits), rows, targets }
            }
            (stack, input) => panic!("{} cannot read {input:?}", stack.kind()),
        };
        drop(tape);
        edits.check()?;
        let Scored { logits, rows, targets } = scored;
        let logits = logits.map(|logits| logits.value().clone());
        Ok(Self { input: input.clone(), trace, logits, logit_rows: rows, targets })
    }

    /// Attention weights of one of [`ForwardPass::attentions`].
    pub fn weights<'a>(&'a self, index: usize, params: &Params) -> Option<AttentionWeights<'a>> {
        let step = self.attentions().get(index)?.step;
        AttentionWeights::of(&self.trace.steps[step].operation, params)
    }

    /// The tokens that its rows belong to: of the source, and of the target without the last.
    pub fn tokens(&self, of: Reading) -> &[u32] {
        match (&self.input, of) {
            (PassInput::Tokens(ids) | PassInput::Text((ids, _)), Reading::Source) => ids,
            (PassInput::Pair { source, .. }, Reading::Source) => source,
            (PassInput::Pair { target, .. }, Reading::Target) => target,
            _ => &[],
        }
    }

    /// Σ ln p of the tokens that its rows should predict, and each of them.
    pub fn log_probabilities(&self) -> (f64, Vec<Option<f64>>) {
        let each: Vec<Option<f64>> = (0..self.targets.len())
            .map(|row| Some(self.log_softmax(row)?[self.targets[row]? as usize]))
            .collect();
        (each.iter().flatten().sum(), each)
    }

    /// ln p of every token, or label, at a row of the logits, in f64.
    pub fn log_softmax(&self, row: usize) -> Option<Vec<f64>> {
        let logits = self.logits.as_ref()?;
        (row < logits.rows_cols().0).then(|| log_softmax(logits.row(row)))
    }
}

/// ln of the softmax, in f64.
pub(super) fn log_softmax(row: &[f32]) -> Vec<f64> {
    let largest = f64::from(row.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b)));
    let exps = row.iter().map(|z| (f64::from(*z) - largest).exp());
    let total = exps.sum::<f64>().ln() + largest;
    row.iter().map(|z| f64::from(*z) - total).collect()
}

struct Scored {
    logits: Option<Var>,
    rows: Vec<usize>,
    targets: Vec<Option<u32>>,
}

/// All rows, or the last one if their logits would be too many.
fn scored_rows(tape: &mut Tape, hidden: Var, vocab_size: usize) -> (Var, Vec<usize>) {
    let n = hidden.rows_cols().0;
    match n * vocab_size <= MAX_LOGITS || n == 0 {
        true => (hidden, (0..n).collect()),
        false => {
            let last = [n as u32 - 1];
            (tape.rows(&hidden, &last.into()), vec![n - 1])
        }
    }
}

/// An encoder with whatever head it has: of a masked-LM head the rows of masks are scored, or all
/// of a text without one.
fn encoded(tape: &mut Tape, model: &Encoder, text: &EncodedText) -> Scored {
    let input = EncoderInput::new(std::slice::from_ref(text));
    let hidden = model.hidden(tape, &input);
    let rows: Vec<usize> = (0..text.0.len()).collect();
    let none = |count: usize| vec![None; count];
    match &model.config().head {
        EncoderHead::Classifier(_) => {
            let logits = model.class_logits(tape, &hidden, &input);
            Scored { logits: Some(logits), rows: Vec::new(), targets: none(1) }
        }
        EncoderHead::TokenClassifier(_) | EncoderHead::QuestionAnswering => {
            let logits = model.token_logits(tape, &hidden);
            let targets = none(rows.len());
            Scored { logits: Some(logits), rows, targets }
        }
        EncoderHead::MaskedLm | EncoderHead::PreTraining
            if rows.len() * model.config().vocab_size <= MAX_LOGITS =>
        {
            let all = rows.iter().map(|row| *row as u32).collect();
            let logits = model.word_logits(tape, &hidden, &all);
            let targets = text.0.iter().map(|id| Some(*id)).collect();
            Scored { logits: Some(logits), rows, targets }
        }
        _ => Scored { logits: None, rows: Vec::new(), targets: Vec::new() },
    }
}
