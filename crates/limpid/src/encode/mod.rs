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
//! use limpid::model::{Model, Stack};
//! use limpid::text::{Purpose, word_tokenizer_for};
//!
//! let tokenizer = word_tokenizer_for(["a cat", "a dog"], Purpose::Encoder)?;
//! let model = Model::new(EncoderConfig::new(tokenizer.vocab_size(), 16, 1, 2, 8), 1)?;
//! let Stack::Encoder(encoder) = &model.stack else { unreachable!() };
//! let encoder = TextEncoder {
//!     model: encoder,
//!     params: &model.params,
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
pub use answer::{Answer, AnswerOptions, Impossible, answer};
pub use classify::{Classification, TextClassifier, classify};
pub use embed::{Normalization, cosine, embed, embed_with_modules};
pub use fill_mask::{FilledMask, MaskPredictions, fill_mask};
pub use npy::npy;
pub use tag::{Aggregation, Entity, tag};

use crate::data::batch::{EncodedText, EncoderInput};
use crate::error::{EncodeError, InputProblem, Result};
use crate::model::Encoder;
use crate::text::Tokenizer;
use limits::Limits;
use limpid_tensor::params::Params;
use limpid_tensor::tape::{Tape, Var};

/// Tokens per batch.
const BATCH_TOKENS: usize = 4_096;

/// An encoder with its parameters and its tokenizer.
#[derive(Clone, Copy)]
pub struct TextEncoder<'a> {
    /// The stack.
    pub model: &'a Encoder,
    /// Its parameters.
    pub params: &'a Params,
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

    /// Calls `work` with packed batches of the texts and their hidden states (n, c), each with the
    /// index of its first text.
    fn for_each_batch(
        &self,
        texts: &[EncodedText],
        mut work: impl FnMut(&mut Tape, &EncoderInput, &Var, usize) -> Result<()>,
    ) -> Result<()> {
        for_each_input(texts, |input, first| {
            let mut tape = Tape::inference(self.params);
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
    let (mut first, mut tokens) = (0, 0);
    for i in 0..=texts.len() {
        let next = texts.get(i).map_or(usize::MAX, |(ids, _)| ids.len());
        if i > first && next > BATCH_TOKENS.saturating_sub(tokens) {
            work(&EncoderInput::new(&texts[first..i]), first)?;
            (first, tokens) = (i, 0);
        }
        tokens += if i < texts.len() { next } else { 0 };
    }
    Ok(())
}
