//! Packed sequences in time-major order: all first tokens, then all second tokens, and so on (as
//! PyTorch's `PackedSequence`).
//!
//! ```text
//! packed       a0 a1 │ b0 b1 b2 │ c0              three sequences
//! by time      b0 a0 c0 │ b1 a1 │ b2              the longest first: active ones come first
//! ```
//!
//! The rank of a sequence is its position by length: 0 for the longest. At step t the active rows
//! of a batch of states (b, h) by rank are its first `step(t).len()` rows, in both directions.

use crate::kernels::attention::Span;
use std::ops::Range;
use std::sync::Arc;

/// The permutation between packed and time-major order.
#[derive(Clone, Debug)]
pub struct TimeOrder {
    /// The sequence of each rank.
    sequences: Vec<u32>,
    /// The first row of each step, then the total number of rows.
    starts: Vec<usize>,
    rows: Arc<[u32]>,
    back: Arc<[u32]>,
}

impl TimeOrder {
    /// The order of sequences that follow each other without a gap; one may be empty.
    ///
    /// # Panics
    /// If they do not follow each other.
    #[track_caller]
    pub fn new(spans: &[Span]) -> Self {
        let mut end = 0;
        for span in spans {
            assert_eq!(
                span.start, end,
                "time order: sequences follow each other without a gap: {spans:?}"
            );
            end += span.len;
        }
        let mut sequences: Vec<u32> = (0..spans.len() as u32).collect();
        // A stable sort: sequences of equal length keep their order.
        sequences.sort_by_key(|s| std::cmp::Reverse(spans[*s as usize].len));
        let longest = sequences.first().map_or(0, |s| spans[*s as usize].len);
        let (mut rows, mut back, mut starts) = (Vec::with_capacity(end), vec![0; end], vec![0]);
        let mut active = spans.len();
        for t in 0..longest {
            while spans[sequences[active - 1] as usize].len <= t {
                active -= 1;
            }
            for s in &sequences[..active] {
                let row = spans[*s as usize].start + t;
                back[row] = rows.len() as u32;
                rows.push(row as u32);
            }
            starts.push(rows.len());
        }
        Self { sequences, starts, rows: rows.into(), back: back.into() }
    }

    /// Number of steps: the length of the longest sequence.
    pub fn steps(&self) -> usize {
        self.starts.len() - 1
    }

    /// The rows of step t, one for each sequence that has not ended, by rank.
    pub fn step(&self, t: usize) -> Range<usize> {
        self.starts[t]..self.starts[t + 1]
    }

    /// Number of tokens of all sequences.
    pub fn tokens(&self) -> usize {
        self.rows.len()
    }

    /// The sequence of each rank, the longest first.
    pub fn sequences(&self) -> &[u32] {
        &self.sequences
    }

    /// The packed row of each row by time: gathers packed rows into time-major order.
    pub fn rows(&self) -> &Arc<[u32]> {
        &self.rows
    }

    /// The row by time of each packed row: the inverse permutation of [`TimeOrder::rows`].
    pub fn back(&self) -> &Arc<[u32]> {
        &self.back
    }

    /// Copies states (b, h) from the order of sequences to the order of ranks.
    pub fn by_rank(&self, to: &mut [f32], from: &[f32], h: usize) {
        for (to, s) in to.chunks_exact_mut(h).zip(&self.sequences) {
            to.copy_from_slice(&from[*s as usize * h..][..h]);
        }
    }

    /// Copies states (b, h) from the order of ranks to the order of sequences: the inverse of
    /// [`TimeOrder::by_rank`].
    pub fn by_sequence(&self, to: &mut [f32], from: &[f32], h: usize) {
        for (from, s) in from.chunks_exact(h).zip(&self.sequences) {
            to[*s as usize * h..][..h].copy_from_slice(from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(lengths: &[usize]) -> TimeOrder {
        let mut start = 0;
        let spans: Vec<Span> = lengths
            .iter()
            .map(|len| {
                start += len;
                Span { start: start - len, len: *len }
            })
            .collect();
        TimeOrder::new(&spans)
    }

    #[test]
    fn tokens_are_sorted_by_time_and_within_a_step_the_longest_sequence_comes_first() {
        let order = order(&[2, 3, 0, 1]);
        assert_eq!(order.sequences(), [1, 0, 3, 2]);
        assert_eq!(
            (0..order.steps()).map(|t| order.step(t)).collect::<Vec<_>>(),
            [0..3, 3..5, 5..6]
        );
        // Packed: a0 a1 b0 b1 b2 d0; by time: b0 a0 d0, b1 a1, b2.
        assert_eq!(&order.rows()[..], [2, 0, 5, 3, 1, 4]);
        for (time, packed) in order.rows().iter().enumerate() {
            assert_eq!(order.back()[*packed as usize] as usize, time);
        }
        let (mut ranked, mut again) = ([0.0; 4], [0.0; 4]);
        order.by_rank(&mut ranked, &[1.0, 2.0, 3.0, 4.0], 1);
        assert_eq!(ranked, [2.0, 1.0, 4.0, 3.0]);
        order.by_sequence(&mut again, &ranked, 1);
        assert_eq!(again, [1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn no_sequences_and_empty_ones_have_no_steps() {
        assert_eq!(order(&[]).steps(), 0);
        assert_eq!(order(&[0, 0]).steps(), 0);
        assert_eq!(order(&[0, 0]).sequences().len(), 2);
    }
}
