//! Packed batches: sequences of different lengths one after another, without padding.
//!
//! ```text
//! ids        5 9 2 │ 7 2 │ 4 4 8 2          three sequences of 3, 2 and 4 tokens: 9 rows, not 3 x 4
//! positions  0 1 2 │ 0 1 │ 0 1 2 3
//! ```

use limpid_tensor::kernels::attention::Span;
use limpid_tensor::kernels::recurrent::TimeOrder;
use std::sync::{Arc, OnceLock};

/// Tokens of several sequences, packed.
#[derive(Clone, Debug)]
pub struct Packed {
    /// The tokens of all sequences, one after another.
    pub ids: Arc<[u32]>,
    /// The position of each token in its sequence.
    pub positions: Arc<[u32]>,
    /// The rows of each sequence.
    pub spans: Arc<[Span]>,
    by_time: OnceLock<ByTime>,
}

/// The same tokens in the order of time, as recurrent layers read them.
#[derive(Clone, Debug)]
pub struct ByTime {
    /// Where each token stands.
    pub order: Arc<TimeOrder>,
    /// The tokens, by time.
    pub ids: Arc<[u32]>,
}

impl Packed {
    /// Packs sequences that begin at position 0.
    pub fn new<S: AsRef<[u32]>>(sequences: &[S]) -> Self {
        Self::continuing(sequences, &vec![0; sequences.len()])
    }

    /// Packs pieces of sequences, piece i beginning at position `first[i]`, as decoding with a cache does.
    #[track_caller]
    pub fn continuing<S: AsRef<[u32]>>(sequences: &[S], first: &[usize]) -> Self {
        assert_eq!(sequences.len(), first.len(), "a first position for each sequence");
        let (mut ids, mut positions, mut spans) = (Vec::new(), Vec::new(), Vec::new());
        for (sequence, first) in sequences.iter().zip(first) {
            let sequence = sequence.as_ref();
            spans.push(Span { start: ids.len(), len: sequence.len() });
            ids.extend_from_slice(sequence);
            positions.extend((*first..first + sequence.len()).map(|p| p as u32));
        }
        let by_time = OnceLock::new();
        Self { ids: ids.into(), positions: positions.into(), spans: spans.into(), by_time }
    }

    /// The tokens in the order of time; sorted when it is first asked for.
    pub fn by_time(&self) -> &ByTime {
        self.by_time.get_or_init(|| {
            let order = TimeOrder::new(&self.spans);
            let ids = order.rows().iter().map(|row| self.ids[*row as usize]).collect();
            ByTime { order: Arc::new(order), ids }
        })
    }

    /// How many tokens there are.
    pub fn tokens(&self) -> usize {
        self.ids.len()
    }

    /// How many sequences there are.
    pub fn sequences(&self) -> usize {
        self.spans.len()
    }

    /// The longest sequence.
    pub fn longest(&self) -> usize {
        self.spans.iter().map(|span| span.len).max().unwrap_or(0)
    }

    /// The last row of each sequence.
    pub fn last_rows(&self) -> Arc<[u32]> {
        self.spans.iter().filter(|span| span.len > 0).map(|span| (span.start + span.len - 1) as u32).collect()
    }
}

/// What an encoder reads: packed tokens, and which of two texts each of them belongs to.
#[derive(Clone, Debug)]
pub struct Typed {
    /// The tokens.
    pub tokens: Packed,
    /// 0 for the first text of a sequence, 1 for the second.
    pub types: Arc<[u32]>,
    /// The first row of each sequence: `[CLS]`.
    pub firsts: Arc<[u32]>,
}

impl Typed {
    /// Packs sequences of (tokens, types).
    #[track_caller]
    pub fn new<S: AsRef<[u32]>, T: AsRef<[u32]>>(sequences: &[(S, T)]) -> Self {
        let ids: Vec<&[u32]> = sequences.iter().map(|(ids, _)| ids.as_ref()).collect();
        let fits = |(ids, types): &(S, T)| ids.as_ref().len() == types.as_ref().len();
        assert!(sequences.iter().all(fits), "a type for each token");
        let types = sequences.iter().flat_map(|(_, types)| types.as_ref()).copied().collect();
        Self::packed(Packed::new(&ids), types)
    }

    fn packed(tokens: Packed, types: Arc<[u32]>) -> Self {
        let firsts = tokens.spans.iter().map(|span| span.start as u32).collect();
        Self { tokens, types, firsts }
    }

    /// Sequences of one text each.
    pub fn single<S: AsRef<[u32]>>(sequences: &[S]) -> Self {
        let tokens = Packed::new(sequences);
        let types = vec![0; tokens.tokens()].into();
        Self::packed(tokens, types)
    }
}

/// A batch for an encoder that fills masks.
#[derive(Clone, Debug)]
pub struct MaskedBatch {
    /// What it reads, some tokens masked.
    pub input: Typed,
    /// The rows where something is to be said, ascending.
    pub rows: Arc<[u32]>,
    /// What stood there.
    pub targets: Vec<u32>,
    /// For sequences of two texts: 0 where the second follows the first, 1 where it does not.
    pub follows: Option<Vec<u32>>,
    /// If this is a part of a step: what is asked for in the whole step, for each of its sequences. Without it, that of this batch.
    pub asked_a_sequence: Option<f32>,
}

/// A batch for a classifier.
#[derive(Clone, Debug)]
pub struct LabelledBatch {
    /// The texts.
    pub input: Typed,
    /// The number of the right label of each.
    pub labels: Vec<u32>,
}

/// A batch for a language model: what it reads, and what it should say next at each place.
#[derive(Clone, Debug)]
pub struct LmBatch {
    /// Input tokens.
    pub input: Packed,
    /// The next token at each row.
    pub targets: Vec<u32>,
}

impl LmBatch {
    /// Teacher forcing: tokens 1..T−1 are given, 2..T are to be predicted. Without a start token a sequence of T tokens
    /// has T − 1 terms; a sequence of one token has none.
    pub fn new<S: AsRef<[u32]>>(sequences: &[S]) -> Self {
        let long_enough = || sequences.iter().map(AsRef::as_ref).filter(|s| s.len() > 1);
        let inputs: Vec<&[u32]> = long_enough().map(|s| &s[..s.len() - 1]).collect();
        let targets = long_enough().flat_map(|s| &s[1..]).copied().collect();
        Self { input: Packed::new(&inputs), targets }
    }
}

/// A batch for translation: source, target shifted right behind the start token, and what to say at each place.
#[derive(Clone, Debug)]
pub struct PairBatch {
    /// Source tokens, `<eos>` included.
    pub source: Packed,
    /// Decoder input: the start token, then all target tokens but the last.
    pub input: Packed,
    /// The target tokens: with a start token, a sequence of T tokens has T terms.
    pub targets: Vec<u32>,
}

impl PairBatch {
    /// Teacher forcing: the decoder is given `start y₁ … y_{T−1}` and is to say `y₁ … y_T`.
    pub fn new<S: AsRef<[u32]>, T: AsRef<[u32]>>(pairs: &[(S, T)], start: u32) -> Self {
        let sources: Vec<&[u32]> = pairs.iter().map(|(source, _)| source.as_ref()).collect();
        let shifted = |target: &[u32]| {
            let given = target.len().saturating_sub(1);
            let start = (!target.is_empty()).then_some(start);
            start.into_iter().chain(target[..given].iter().copied()).collect::<Vec<u32>>()
        };
        let inputs: Vec<Vec<u32>> = pairs.iter().map(|(_, target)| shifted(target.as_ref())).collect();
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
