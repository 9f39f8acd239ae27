//! Next-sentence prediction: a line with the next one, or with a random one (Devlin et al. 2019).
//!
//! ```
//! use limpid::data::next_sentence::NextSentencePairs;
//!
//! // Lines of 3, 2, 0 and 4 tokens: the empty one ends a document.
//! let lengths = [3, 2, 0, 4];
//! let pairs = NextSentencePairs::new(0..4, |line| lengths[line]);
//! assert_eq!(pairs.firsts(), [0]);
//! ```

use super::template::EncoderTemplate;
use crate::data::batch::EncodedText;
use limpid_tensor::rng::Stream;
use std::ops::Range;

/// The lines that have a successor; an empty line ends a document.
pub struct NextSentencePairs {
    firsts: Vec<usize>,
}

impl NextSentencePairs {
    /// Pairs among the lines `part`; `len_of` gives the number of tokens of a line.
    pub fn new(part: Range<usize>, len_of: impl Fn(usize) -> usize) -> Self {
        let both = |i: &usize| len_of(*i) > 0 && len_of(*i + 1) > 0;
        Self { firsts: (part.start..part.end.saturating_sub(1)).filter(both).collect() }
    }

    /// The line numbers of the first sentences.
    pub fn firsts(&self) -> &[usize] {
        &self.firsts
    }

    /// The number of pairs.
    pub fn count(&self) -> usize {
        self.firsts.len()
    }

    /// Samples a pair of at most `max_length` tokens for each of `chosen` (indices below the
    /// count). Returns the pairs and their labels: 0 if the second is the next line, 1 if it is a
    /// random one, each with probability 1/2.
    pub fn sample(
        &self,
        chosen: &[usize],
        tokens: impl Fn(usize) -> Vec<u32>,
        (template, max_length): (&EncoderTemplate, usize),
        rng: &mut Stream,
    ) -> (Vec<EncodedText>, Vec<u32>) {
        let pair = |which: &usize| {
            let first = self.firsts[*which];
            let (is_random, other) = (rng.below(2) == 1, self.firsts[rng.below(self.firsts.len())]);
            // With a single pair there is no other line than the next.
            let second = if is_random && other != first + 1 { other } else { first + 1 };
            let (encoded, _) =
                template.truncated(&tokens(first), Some(&tokens(second)), max_length);
            (encoded, u32::from(second != first + 1))
        };
        chosen.iter().map(pair).unzip()
    }
}
