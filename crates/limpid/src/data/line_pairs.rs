//! A line and the next one, or another: what an encoder learns to tell apart besides hidden words (Devlin et al. 2019).

use super::frame::Frame;
use crate::encode::Read;
use limpid_tensor::rng::Stream;
use std::ops::Range;

/// Which lines have a next one: an empty line ends a document.
pub struct LinePairs {
    with_next: Vec<usize>,
}

impl LinePairs {
    /// Those among the lines of `part`, whose tokens are as many as `len_of` says.
    pub fn new(part: Range<usize>, len_of: impl Fn(usize) -> usize) -> Self {
        let both = |i: &usize| len_of(*i) > 0 && len_of(*i + 1) > 0;
        Self { with_next: (part.start..part.end.saturating_sub(1)).filter(both).collect() }
    }

    /// Their numbers.
    pub fn firsts(&self) -> &[usize] {
        &self.with_next
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.with_next.len()
    }

    /// For each of `chosen` (numbers below the count) a pair of at most `longest` tokens, and 0 if its second is the next line, 1 if it is
    /// another: that of half of them is.
    pub fn draw(
        &self,
        chosen: &[usize],
        tokens: impl Fn(usize) -> Vec<u32>,
        (frame, longest): (Frame, usize),
        rng: &mut Stream,
    ) -> (Vec<Read>, Vec<u32>) {
        let pair = |which: &usize| {
            let first = self.with_next[*which];
            let (is_other, other) = (rng.below(2) == 1, self.with_next[rng.below(self.with_next.len())]);
            // With one pair there is no other line than the next.
            let second = if is_other && other != first + 1 { other } else { first + 1 };
            let (read, _) = frame.cut(&tokens(first), Some(&tokens(second)), longest);
            (read, u32::from(second != first + 1))
        };
        chosen.iter().map(pair).unzip()
    }
}
