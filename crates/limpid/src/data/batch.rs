//! Packed batches: sequences of different lengths, concatenated without padding.
//!
//! ```text
//! ids        5 9 2 │ 7 2 │ 4 4 8 2      three sequences of 3, 2 and 4 tokens: 9 rows, not 3 x 4
//! positions  0 1 2 │ 0 1 │ 0 1 2 3
//! ```
//!
//! ```
//! use limpid::data::batch::Packed;
//!
//! let batch = Packed::new(&[vec![5, 9, 2], vec![7, 2], vec![4, 4, 8, 2]]);
//! assert_eq!((batch.tokens(), batch.sequences(), batch.longest()), (9, 3, 4));
//! assert_eq!(&batch.last_rows()[..], [2, 4, 8]);
//! ```

use limpid_tensor::kernels::attention::Span;
use limpid_tensor::kernels::recurrent::TimeOrder;
use std::sync::{Arc, OnceLock};

/// Token ids and token type ids of a text or a pair of texts, special tokens included.
pub type EncodedText = (Vec<u32>, Vec<u32>);

/// Token ids of several sequences, packed.
#[derive(Clone, Debug)]
pub struct Packed {
    /// The token ids of all sequences, concatenated.
    pub ids: Arc<[u32]>,
    /// The position of each token in its sequence.
    pub positions: Arc<[u32]>,
    /// The rows of each sequence.
    pub spans: Arc<[Span]>,
    time_major: OnceLock<TimeMajor>,
}

/// The same tokens in time-major order, for recurrent layers.
#[derive(Clone, Debug)]
pub struct TimeMajor {
    /// The permutation of the rows.
    pub order: Arc<TimeOrder>,
    /// The token ids in time-major order.
    pub ids: Arc<[u32]>,
}

impl Packed {
    /// Packs sequences whose first token has position 0.
    pub fn new<S: AsRef<[u32]>>(sequences: &[S]) -> Self {
        Self::continuing(sequences, &vec![0; sequences.len()])
    }

    /// Packs continuations of sequences, the first token of sequence i at position `first[i]`: a
    /// step of decoding with a cache.
    /// # Panics
    /// If there is not one first position per sequence.
    #[track_caller]
    pub fn continuing<S: AsRef<[u32]>>(sequences: &[S], first: &[usize]) -> Self {
        assert_eq!(sequences.len(), first.len(), "continuing: one first position per sequence");
        let (mut ids, mut positions, mut spans) = (Vec::new(), Vec::new(), Vec::new());
        for (sequence, first) in sequences.iter().zip(first) {
            let sequence = sequence.as_ref();
            spans.push(Span { start: ids.len(), len: sequence.len() });
            ids.extend_from_slice(sequence);
            positions.extend((*first..first + sequence.len()).map(|p| p as u32));
        }
        let time_major = OnceLock::new();
        Self { ids: ids.into(), positions: positions.into(), spans: spans.into(), time_major }
    }

    /// The tokens in time-major order, computed on first use.
    pub fn time_major(&self) -> &TimeMajor {
        self.time_major.get_or_init(|| {
            let order = TimeOrder::new(&self.spans);
            let ids = order.rows().iter().map(|row| self.ids[*row as usize]).collect();
            TimeMajor { order: Arc::new(order), ids }
        })
    }

    /// The number of tokens.
    pub fn tokens(&self) -> usize {
        self.ids.len()
    }

    /// The number of sequences.
    pub fn sequences(&self) -> usize {
        self.spans.len()
    }

    /// The length of the longest sequence.
    pub fn longest(&self) -> usize {
        self.spans.iter().map(|span| span.len).max().unwrap_or(0)
    }

    /// The last row of each sequence.
    pub fn last_rows(&self) -> Arc<[u32]> {
        self.spans
            .iter()
            .filter(|span| span.len > 0)
            .map(|span| (span.start + span.len - 1) as u32)
            .collect()
    }
}

/// Input of an encoder: packed tokens with their token type ids.
#[derive(Clone, Debug)]
pub struct EncoderInput {
    /// The tokens.
    pub tokens: Packed,
    /// 0 for tokens of the first text of a sequence, 1 for those of the second.
    pub token_type_ids: Arc<[u32]>,
    /// The first row of each sequence: `[CLS]`.
    pub cls_rows: Arc<[u32]>,
}

impl EncoderInput {
    /// Packs sequences of (token ids, token type ids).
    /// # Panics
    /// If a sequence does not have one type id per token.
    #[track_caller]
    pub fn new<S: AsRef<[u32]>, T: AsRef<[u32]>>(sequences: &[(S, T)]) -> Self {
        let ids: Vec<&[u32]> = sequences.iter().map(|(ids, _)| ids.as_ref()).collect();
        let fits = |(ids, types): &(S, T)| ids.as_ref().len() == types.as_ref().len();
        assert!(sequences.iter().all(fits), "EncoderInput::new: one type id per token");
        let types = sequences.iter().flat_map(|(_, types)| types.as_ref()).copied().collect();
        Self::packed(Packed::new(&ids), types)
    }

    fn packed(tokens: Packed, token_type_ids: Arc<[u32]>) -> Self {
        let cls_rows = tokens.spans.iter().map(|span| span.start as u32).collect();
        Self { tokens, token_type_ids, cls_rows }
    }

    /// Packs sequences of one text each: all type ids are 0.
    pub fn single<S: AsRef<[u32]>>(sequences: &[S]) -> Self {
        let tokens = Packed::new(sequences);
        let types = vec![0; tokens.tokens()].into();
        Self::packed(tokens, types)
    }
}

/// A batch for masked language modelling.
#[derive(Clone, Debug)]
pub struct MaskedBatch {
    /// The input, some tokens masked.
    pub input: EncoderInput,
    /// The rows with a target, ascending.
    pub rows: Arc<[u32]>,
    /// The original token of each of those rows.
    pub targets: Vec<u32>,
    /// Next-sentence prediction, for sequences of two texts: 0 if the second follows the first, 1
    /// if it is a random one.
    pub next_sentence_labels: Option<Vec<u32>>,
    /// For a micro-batch: the mean number of targets per sequence over the whole step; `None` if
    /// the batch is the whole step.
    pub targets_per_sequence: Option<f32>,
}

/// A batch for sequence classification or regression.
#[derive(Clone, Debug)]
pub struct LabelledBatch {
    /// The texts.
    pub input: EncoderInput,
    /// The targets of each sequence.
    pub labels: Targets,
}

/// Targets of a sequence classifier.
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// The label id of each sequence.
    Labels(Vec<u32>),
    /// A number for each sequence and label, (sequences, labels): the value of a regression; 1 or 0
    /// for a label that applies or does not.
    Values(Vec<f32>),
}

impl From<Vec<u32>> for Targets {
    fn from(labels: Vec<u32>) -> Self {
        Self::Labels(labels)
    }
}

impl FromIterator<u32> for Targets {
    fn from_iter<I: IntoIterator<Item = u32>>(labels: I) -> Self {
        Self::Labels(labels.into_iter().collect())
    }
}

/// A batch for token classification.
#[derive(Clone, Debug)]
pub struct TaggedBatch {
    /// The texts.
    pub input: EncoderInput,
    /// The label id of each token; [`IGNORE`](limpid_tensor::kernels::cross_entropy::IGNORE) for
    /// tokens without one.
    pub labels: Vec<u32>,
}

/// A batch for question answering.
#[derive(Clone, Debug)]
pub struct AnswerBatch {
    /// Questions, each with a context.
    pub input: EncoderInput,
    /// The first and the last token of each answer, from the first token of its sequence;
    /// [`IGNORE`](limpid_tensor::kernels::cross_entropy::IGNORE) where there is none.
    pub answers: Vec<[u32; 2]>,
}

/// A batch for a causal language model.
#[derive(Clone, Debug)]
pub struct LmBatch {
    /// Input tokens.
    pub input: Packed,
    /// The next token at each row.
    pub targets: Vec<u32>,
}

impl LmBatch {
    /// Teacher forcing: tokens 1..T−1 are the input, 2..T the targets. A sequence of T tokens has
    /// T − 1 targets; a sequence of one token has none and is left out.
    pub fn new<S: AsRef<[u32]>>(sequences: &[S]) -> Self {
        let long_enough = || sequences.iter().map(AsRef::as_ref).filter(|s| s.len() > 1);
        let inputs: Vec<&[u32]> = long_enough().map(|s| &s[..s.len() - 1]).collect();
        let targets = long_enough().flat_map(|s| &s[1..]).copied().collect();
        Self { input: Packed::new(&inputs), targets }
    }
}

/// A batch for an encoder-decoder: source, target shifted right, and targets.
#[derive(Clone, Debug)]
pub struct PairBatch {
    /// Source tokens, the end token included.
    pub source: Packed,
    /// Decoder input: the start token, then the target without its last token.
    pub input: Packed,
    /// The target tokens: a sequence of T tokens has T targets.
    pub targets: Vec<u32>,
}

impl PairBatch {
    /// Teacher forcing: the decoder reads `start y₁ … y_{T−1}` and predicts `y₁ … y_T`.
    pub fn new<S: AsRef<[u32]>, T: AsRef<[u32]>>(pairs: &[(S, T)], start: u32) -> Self {
        let sources: Vec<&[u32]> = pairs.iter().map(|(source, _)| source.as_ref()).collect();
        let shifted = |target: &[u32]| {
            let given = target.len().saturating_sub(1);
            let start = (!target.is_empty()).then_some(start);
            start.into_iter().chain(target[..given].iter().copied()).collect::<Vec<u32>>()
        };
        let inputs: Vec<Vec<u32>> =
            pairs.iter().map(|(_, target)| shifted(target.as_ref())).collect();
        let targets = pairs.iter().flat_map(|(_, target)| target.as_ref()).copied().collect();
        Self { source: Packed::new(&sources), input: Packed::new(&inputs), targets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn teacher_forcing_shifts_by_one_with_and_without_a_start_token() {
        let lm = LmBatch::new(&[vec![5, 9, 2], vec![7], vec![4, 8]]);
        assert_eq!((&*lm.input.ids, &lm.targets[..]), (&[5, 9, 4][..], &[9, 2, 8][..]));
        let pairs = PairBatch::new(&[(vec![3, 1], vec![5, 9, 2]), (vec![1], vec![7])], 0);
        assert_eq!((&*pairs.input.ids, &pairs.targets[..]), (&[0, 5, 9, 0][..], &[5, 9, 2, 7][..]));
        assert_eq!(&*pairs.input.positions, [0, 1, 2, 0]);
        assert_eq!(pairs.source.spans[1], Span { start: 2, len: 1 });
    }
}
