//! What an encoder is used for: embeddings, mask filling, classification of texts and of tokens,
//! question answering.
//!
//! There is no autoregressive loop, so there is no session and no cache: texts go through the model
//! once, in packed batches. [`crate::Embedder`], [`crate::FillMask`], [`crate::Classifier`],
//! [`crate::TokenClassifier`] and [`crate::QuestionAnswerer`] are the same with a model folder.
//!
//! ```
//! use limpid::encode::{Normalization, Pooling, TextEncoder, Truncation, cosine, embed};
//! use limpid::model::config::EncoderConfig;
//! use limpid::model::Model;
//! use limpid::text::{Purpose, word_tokenizer_for};
//!
//! let tokenizer = word_tokenizer_for(["a cat", "a dog"], Purpose::Encoder)?;
//! let model = Model::new(EncoderConfig::new(tokenizer.vocab_size(), 16, 1, 2, 8), 1)?;
//! let encoder = model.encoder().expect("an encoder");
//! let encoder = TextEncoder {
//!     model: encoder,
//!     weights: (&model.params).into(),
//!     tokenizer: &tokenizer,
//!     truncation: Truncation::Error,
//! };
//! let texts = ["a cat".to_string(), "a dog".to_string()];
//! let vectors = embed(&encoder, &texts, Pooling::Mean, Normalization::UnitLength)?;
//! assert!(cosine(&vectors[0], &vectors[1]) < 1.0);
//! # Ok::<(), limpid::error::Error>(())
//! ```

mod answer;
mod classify;
mod embed;
mod fill_mask;
mod limits;
mod npy;
mod tag;

pub use crate::hub::Pooling;
pub use answer::{Answer, AnswerOptions, Impossible, answer, answers};
pub use classify::{Classification, TextClassifier, classify, classify_tokens};
pub use embed::{Normalization, cosine, embed, embed_tokens, embed_with_modules, hidden_states};
pub use fill_mask::{FilledMask, MaskPredictions, fill_mask, fill_mask_tokens, tokenize_masked};
pub use npy::npy;
pub use tag::{Aggregation, Entity, tag};

use crate::data::batch::{EncodedText, EncoderInput};
use crate::error::{EncodeError, InputProblem, Result};
use crate::model::Encoder;
use crate::text::Tokenizer;
use limits::Limits;
use limpid_tensor::packed_weights::Weights;
use limpid_tensor::tape::{Tape, Var};
use limpid_tensor::team;
use std::ops::Range;
use std::sync::Mutex;

/// Tokens per batch.
const BATCH_TOKENS: usize = 4_096;

/// Tokens per batch of one core: 256 x 1,536 activations of MiniLM are 1.5 MB.
const CORE_TOKENS: usize = 256;

/// An encoder with its parameters and its tokenizer.
#[derive(Clone, Copy)]
pub struct TextEncoder<'a> {
    /// The stack.
    pub model: &'a Encoder,
    /// Its parameters.
    pub weights: Weights<'a>,
    /// Its tokenizer.
    pub tokenizer: &'a Tokenizer,
    /// What happens to a text that is too long.
    pub truncation: Truncation,
}

/// What happens to a text that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// It is an error.
    Error,
    /// It is cut to so many tokens, special ones included; to fewer if the model has fewer
    /// positions. Of a pair, the longer text is cut.
    MaxLength(usize),
}

impl TextEncoder<'_> {
    /// The token ids and token type ids of text `index`, or of a pair, with special tokens.
    /// # Errors
    /// An [`EncodeError`] that names the text by `index`.
    pub fn tokenize(&self, index: usize, text: &str, second: Option<&str>) -> Result<EncodedText> {
        self.limits().tokenize(self.tokenizer, self.truncation, index, text, second)
    }

    /// The same of many texts, shared out between the cores.
    /// # Errors
    /// That of the first text that cannot be used.
    fn tokenize_all(&self, texts: &[String]) -> Result<Vec<EncodedText>> {
        const CHUNK: usize = 32;
        let done = Mutex::new(Vec::new());
        team::run(texts.len().div_ceil(CHUNK), |chunk| {
            let first = chunk * CHUNK;
            let texts = texts[first..].iter().take(CHUNK).enumerate();
            let found: Result<Vec<_>> =
                texts.map(|(i, text)| self.tokenize(first + i, text, None)).collect();
            done.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((chunk, found));
        });
        let mut done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        done.sort_by_key(|(chunk, _)| *chunk);
        let chunks: Result<Vec<_>> = done.into_iter().map(|(_, found)| found).collect();
        Ok(chunks?.into_iter().flatten().collect())
    }

    /// Checks that the model can read the tokens of text `index`, of any length up to its maximum.
    fn check(&self, index: usize, ids: &[u32], types: &[u32]) -> Result<()> {
        let limits = self.limits();
        limits.check(index, ids, types)?;
        match (ids.len(), limits.max_tokens) {
            (tokens, max_tokens) if tokens > max_tokens => {
                let problem = InputProblem::TooLong { tokens, max_tokens };
                Err(EncodeError::Input { index, problem }.into())
            }
            _ => Ok(()),
        }
    }

    fn limits(&self) -> Limits {
        let config = self.model.config();
        Limits {
            vocab_size: config.vocab_size,
            max_tokens: config.max_position_embeddings,
            type_vocab_size: config.type_vocab_size,
        }
    }

    /// What `work` gives for each text, from packed batches and their hidden states (n, c). Several
    /// batches are shared out between the cores, each small enough that what a layer computes is
    /// still in the cache when the next one reads it.
    fn map_batches<T: Send>(
        &self,
        texts: &[EncodedText],
        work: impl Fn(&EncoderInput, &Var) -> Vec<T> + Sync,
    ) -> Vec<T> {
        let batches = batches(texts, CORE_TOKENS);
        let done = Mutex::new(Vec::with_capacity(batches.len()));
        let run = |batch: usize| {
            let input = EncoderInput::new(&texts[batches[batch].clone()]);
            let mut tape = self.weights.tape();
            let hidden = self.model.hidden(&mut tape, &input);
            let found = work(&input, &hidden);
            done.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((batch, found));
        };
        match batches.len() {
            // The products of a single batch are shared out instead.
            0 | 1 => (0..batches.len()).for_each(run),
            several => team::run(several, run),
        }
        let mut done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        done.sort_by_key(|(batch, _)| *batch);
        done.into_iter().flat_map(|(_, found)| found).collect()
    }

    /// Calls `work` with packed batches of the texts and their hidden states (n, c), each with the
    /// index of its first text.
    fn for_each_batch(
        &self,
        texts: &[EncodedText],
        mut work: impl FnMut(&mut Tape, &EncoderInput, &Var, usize) -> Result<()>,
    ) -> Result<()> {
        for_each_input(texts, |input, first| {
            let mut tape = self.weights.tape();
            let hidden = self.model.hidden(&mut tape, input);
            work(&mut tape, input, &hidden, first)
        })
    }
}

/// Calls `work` with packed batches of the texts, each with the index of its first text.
fn for_each_input(
    texts: &[EncodedText],
    mut work: impl FnMut(&EncoderInput, usize) -> Result<()>,
) -> Result<()> {
    batches(texts, BATCH_TOKENS).into_iter().try_for_each(|batch| {
        let first = batch.start;
        work(&EncoderInput::new(&texts[batch]), first)
    })
}

/// Texts that follow each other, of at most so many tokens together; a longer one is alone.
fn batches(texts: &[EncodedText], most: usize) -> Vec<Range<usize>> {
    let (mut batches, mut first, mut tokens) = (Vec::new(), 0, 0);
    for (i, (ids, _)) in texts.iter().enumerate() {
        if i > first && ids.len() > most.saturating_sub(tokens) {
            batches.push(first..i);
            (first, tokens) = (i, 0);
        }
        tokens += ids.len();
    }
    if first < texts.len() {
        batches.push(first..texts.len());
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_as_many_texts_as_fit_and_at_least_one() {
        let texts: Vec<EncodedText> =
            [3, 2, 9, 1, 4, 4].iter().map(|len| (vec![0; *len], vec![0; *len])).collect();
        assert_eq!(batches(&texts, 5), [0..2, 2..3, 3..5, 5..6]);
        assert_eq!(batches(&texts[..2], 100).len(), 1);
        assert!(batches(&[], 5).is_empty());
    }
}
