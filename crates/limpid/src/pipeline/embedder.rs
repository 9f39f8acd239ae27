//! Sentence embeddings with an encoder.

use super::loaded::{Loaded, LongText, Overlength, loaded_accessors};
use crate::encode::{Normalization, Truncation, embed};
use crate::error::{Result, Task};
use crate::hub::{Pooling, TextCase, load_pooling, load_sentence_config};
use crate::model::Stack;
use std::path::Path;

/// Options of an [`Embedder`].
#[derive(Clone, Copy, Debug, Default)]
pub struct EmbedderOptions {
    /// How token vectors become one; `None` for `1_Pooling/config.json` of the folder, or the mean.
    pub pooling: Option<Pooling>,
    /// The length of the embeddings.
    pub normalization: Normalization,
    /// What happens to a text with more tokens than the model has positions for; truncation is to
    /// `max_seq_length` of the folder.
    pub long_text: LongText,
}

/// An encoder (BERT) with its tokenizer and the files of sentence-transformers: pooling,
/// lowercasing, maximum length.
///
/// ```
/// # use limpid::model::{Model, config::EncoderConfig};
/// # use limpid::text::{Purpose, word_tokenizer_for};
/// # let folder = format!("limpid-doc-embedder-{}", std::process::id());
/// # let folder = std::env::temp_dir().join(folder);
/// # let tokenizer = word_tokenizer_for(["a cat", "a dog"], Purpose::Encoder)?;
/// # let config = EncoderConfig::new(tokenizer.vocab_size(), 16, 1, 2, 8);
/// # limpid::hub::save(&Model::new(config, 1)?, &folder)?;
/// # tokenizer.save(&folder)?;
/// use limpid::encode::cosine;
///
/// let embedder = limpid::Embedder::load(&folder)?;
/// let vectors = embedder.embed(&["a cat", "a dog", "a cat"])?;
/// assert_eq!(vectors[0], vectors[2]);
/// assert!(cosine(&vectors[0], &vectors[1]) < 1.0);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), limpid::error::Error>(())
/// ```
pub struct Embedder {
    loaded: Loaded,
    pooling: Pooling,
    normalization: Normalization,
    truncation: Truncation,
    case: TextCase,
}

impl Embedder {
    /// Loads a model folder, or the model of a run folder, with the default options.
    /// # Errors
    /// If the folder is not complete, its pooling is not supported, or its model cannot produce
    /// embeddings ([`PipelineError::WrongModel`](crate::error::PipelineError::WrongModel)).
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::load_with(path, EmbedderOptions::default())
    }

    /// The same with these options.
    /// # Errors
    /// As [`Embedder::load`]; with a pooling set, that of the folder does not matter.
    pub fn load_with(path: impl AsRef<Path>, options: EmbedderOptions) -> Result<Self> {
        let suits = |stack: &Stack| matches!(stack, Stack::Encoder(_));
        let loaded = Loaded::new(path.as_ref(), Task::Embedding, suits)?;
        let pooling = match options.pooling {
            Some(pooling) => pooling,
            None => load_pooling(&loaded.folder)?.unwrap_or(Pooling::Mean),
        };
        let sentence = load_sentence_config(&loaded.folder)?;
        let truncation = match options.long_text {
            LongText::Error => Truncation::Error,
            LongText::Truncate => {
                Truncation::MaxLength(sentence.max_seq_length.unwrap_or(usize::MAX))
            }
        };
        let normalization = options.normalization;
        Ok(Self { loaded, pooling, normalization, truncation, case: sentence.case })
    }

    /// One vector per text, (c). Each is the one that its text gives alone.
    /// # Errors
    /// An [`EncodeError`](crate::error::EncodeError) that names the text that cannot be used.
    pub fn embed<S: AsRef<str>>(&self, texts: &[S]) -> Result<Vec<Vec<f32>>> {
        let texts: Vec<String> = texts.iter().map(|text| self.cased(text.as_ref())).collect();
        let encoder = self.loaded.encoder(self.truncation);
        embed(&encoder, &texts, self.pooling, self.normalization)
    }

    /// The number of components of an embedding.
    pub fn dimension(&self) -> usize {
        self.loaded.encoder(self.truncation).model.config().hidden_size
    }

    /// By how many tokens a text is too long, if it is and is not truncated.
    /// # Errors
    /// An [`EncodeError`](crate::error::EncodeError) if it cannot be used for another reason.
    pub fn overlength(&self, text: &str) -> Result<Option<Overlength>> {
        self.loaded.overlength(self.truncation, &self.cased(text), None)
    }

    /// Words of a text that are out of the vocabulary.
    /// # Errors
    /// If it cannot be tokenized.
    pub fn unknown_words(&self, text: &str) -> Result<Vec<String>> {
        self.loaded.tokenizer.unknown_words(&self.cased(text))
    }

    /// A text in the case that the folder asks for.
    fn cased(&self, text: &str) -> String {
        match self.case {
            TextCase::Preserved => text.to_string(),
            TextCase::Lowercase => text.to_lowercase(),
        }
    }

    loaded_accessors!();
}
