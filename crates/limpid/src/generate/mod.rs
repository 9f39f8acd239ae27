//! Text generation: sessions with caches, greedy search, sampling, beam search, logits processors.
//!
//! [`Slots`] are sequences that come, share their past and go; a [`Session`] is a batch of them in
//! an order: it takes tokens and gives the logits of the next ones. They own the caches; the model
//! and its parameters are shared and never change.
//!
//! | | |
//! |---|---|
//! | [`generate()`], [`translate_with`] | from text to text |
//! | [`generate_speculatively`] | the same in fewer passes, with a [`Draft`] |
//! | [`TextStream`] | incremental detokenization |
//! | [`GenerationOptions`] | options of a caller, over a model's defaults: a [`DecodingConfig`] |
//! | [`generate_tokens`] | token by token, greedily or by sampling |
//! | [`beam_search`] | the most likely sequences |
//! | [`LogitsProcessor`], [`sampling`] | what changes logits, and how a token is sampled |
//! | [`chat`] | from the messages of a conversation to a prompt |
//! | [`Generation`] | one that is advanced from outside, by a server |
//! | [`Observer`] | is called for every token and step |
//!
//! ```
//! use limpid::generate::{DecoderSession, greedy};
//! use limpid::model::config::DecoderConfig;
//! use limpid::model::Model;
//!
//! let model = Model::new(DecoderConfig::gpt2(11, 8, 1, 2, 8), 1)?;
//! let gpt = model.decoder().expect("a decoder");
//! let mut session = DecoderSession::new(gpt, &model.params, 1, 8);
//! let tokens = greedy(&mut session, &[vec![3, 1, 4]], None, &[], &[2])?;
//! assert_eq!(tokens[0].len(), 2);
//! # Ok::<(), limpid::error::Error>(())
//! ```

mod batching;
mod beam;
#[cfg(feature = "chat")]
pub mod chat;
mod decoding;
mod events;
mod generation;
mod language_model;
mod logits_processor;
mod options;
mod recurrent_slots;
mod sampler;
pub mod sampling;
mod session;
mod slots;
mod speculative;
mod stream;
mod texts;
mod tokens;
mod trace;
pub(crate) mod translate;

pub use beam::{Hypothesis, beam_search};
pub use decoding::{
    BeamSearch, BySource, DecodingConfig, EarlyStopping, KvFormat, LengthLimits, LengthPenalty,
    Sampling, Strategy,
};
pub use events::{Event, OnEvent};
pub use generation::{Cost, Generation, PreparedGeneration, Progress};
pub use language_model::{
    ContextOverflow, GenerateOptions, Prompt, generate, generate_speculatively,
};
pub use logits_processor::{LogitsProcessor, ProcessorInput, Renormalization};
pub use options::GenerationOptions;
pub use recurrent_slots::RecurrentSlots;
pub use session::{Batch, DecoderSession, EncoderDecoderSession, RecurrentSession};
pub use slots::{DecoderSlots, EncoderDecoderSlots, Slot, Slots};
pub use speculative::{Draft, Speculation};
pub use stream::TextStream;
pub use texts::Generated;
pub use tokens::{FinishReason, Sequence, TokenSelection, generate_tokens, greedy};
pub use trace::{
    BeamCandidate, BeamStep, Candidate, NextToken, NoObserver, Observer, RunningBeam, ScoredTokens,
    Step, Trace,
};
pub use translate::{
    TranslateOptions, Translation, load_translation_config, translate, translate_with,
    translation_config,
};

use limpid_tensor::tensor::Tensor;

/// A batch of sequences that an autoregressive model generates.
pub trait Session {
    /// Appends `tokens[i]` to sequence i (any number of tokens, not the same for all) and gives the
    /// logits of the next token: (sequences, v).
    /// # Panics
    /// If a sequence grows beyond [`Session::capacity`].
    fn advance(&mut self, tokens: &[Vec<u32>]) -> Tensor;

    /// Keeps these sequences, in this order. One may be kept twice (a beam that splits) or not at
    /// all (one that has ended).
    fn select(&mut self, sequences: &[usize]);

    /// Adds an empty sequence for each source at the end of the batch; the sources of a decoder are
    /// empty.
    /// # Panics
    /// If the batch is fixed, as it is by default.
    #[track_caller]
    fn join(&mut self, sources: &[&[u32]]) {
        assert!(sources.is_empty(), "{} more sequences for a fixed batch", sources.len());
    }

    /// The largest number of tokens of a sequence.
    fn capacity(&self) -> usize;
}

/// The index of the largest value; of equals, the first. NaN is never the largest.
pub fn argmax(values: &[f32]) -> usize {
    let mut best = 0;
    for (i, value) in values.iter().enumerate() {
        if *value > values[best] || (values[best].is_nan() && !value.is_nan()) {
            best = i;
        }
    }
    best
}
