//! Decoding: one autoregressive interface for every decoder.
//!
//! A [`Session`] is the state of some sequences that are being written: the model reads tokens, and answers with scores for
//! the next ones. It owns the caches; the model and its numbers are shared and never change.
//!
//! | | |
//! |---|---|
//! | [`write()`] | token by token, greedily or by drawing |
//! | [`beam_search`] | several texts at once |
//! | [`Rules`], [`filter`] | what may be said; among what is drawn |
//! | [`Decoding`] | all of it as one validated value; [`Request`] makes it from flags and a model's defaults |
//! | [`Listener`] | is told of tokens and steps while they are chosen |
//! | [`generate()`], [`translate_with`] | from text to text; [`TextStream`] gives only what is certain |

mod beam;
pub mod filter;
mod generate;
mod gpt;
mod greedy;
mod request;
mod rnn;
mod rules;
mod seq2seq;
mod settings;
mod speak;
mod stream;
mod trace;
pub(crate) mod translate;
mod write;

pub use beam::{Hypothesis, beam_search};
pub use generate::{GenerateOptions, Generated, Overflow, generate};
pub use gpt::GptSession;
pub use greedy::greedy;
pub use request::Request;
pub use rnn::RnnSession;
pub use rules::{Place, Rules};
pub use seq2seq::Seq2SeqSession;
pub use settings::{Beams, Decoding, EarlyStopping, LengthPenalty, Sampling, Strategy};
pub use speak::Event;
pub use stream::{TextStream, check_stops};
pub use trace::{BeamCandidate, BeamStep, Candidate, Followed, Listener, Next, Scored, Silent, Step, Trace};
pub use translate::{TranslateOptions, Translation, translate, translate_with};
pub use write::{Choice, Ended, Writing, write};

use limpid_tensor::tensor::Tensor;

/// Sequences that are being written by an autoregressive model.
pub trait Session {
    /// Appends `tokens[i]` to sequence i (any number of tokens, the same for none of them required) and gives scores for what
    /// comes next: (sequences, v).
    ///
    /// # Panics
    /// If a sequence grows beyond [`Session::capacity`].
    fn advance(&mut self, tokens: &[Vec<u32>]) -> Tensor;

    /// Keeps these sequences, in this order. One may be kept twice (a beam that splits) or not at all (one that has ended).
    fn select(&mut self, sequences: &[usize]);

    /// How many tokens a sequence can have at most.
    fn capacity(&self) -> usize;
}

impl Session for Box<dyn Session + '_> {
    fn advance(&mut self, tokens: &[Vec<u32>]) -> Tensor {
        (**self).advance(tokens)
    }
    fn select(&mut self, sequences: &[usize]) {
        (**self).select(sequences);
    }
    fn capacity(&self) -> usize {
        (**self).capacity()
    }
}

/// The position of the largest score; of equals, the first. NaN is never the largest.
pub fn argmax(scores: &[f32]) -> usize {
    let mut best = 0;
    for (i, score) in scores.iter().enumerate() {
        if *score > scores[best] || (scores[best].is_nan() && !score.is_nan()) {
            best = i;
        }
    }
    best
}
