//! Token classification: named entities, parts of speech.

use super::loaded::{Loaded, Overlength, loaded_accessors, owned};
use crate::encode::{Aggregation, Entity, Truncation, tag};
use crate::error::{Result, Task};
use crate::model::Stack;
use std::path::Path;
use std::sync::Arc;

/// An encoder (BERT) with a token-classification head. What it finds is what the pipeline of
/// `transformers` finds: labels, scores, words and offsets in characters.
///
/// ```
/// # use limpid::model::{Model, config::{EncoderConfig, EncoderHead}};
/// # use limpid::text::{Purpose, word_tokenizer_for};
/// # let folder = format!("limpid-doc-tag-{}", std::process::id());
/// # let folder = std::env::temp_dir().join(folder);
/// # let tokenizer = word_tokenizer_for(["Ann is in Paris"], Purpose::Encoder)?;
/// # let head = EncoderHead::TokenClassifier(vec!["B-PER".into(), "B-LOC".into()]);
/// # let config = EncoderConfig::new(tokenizer.vocab_size(), 16, 1, 2, 8);
/// # let config = EncoderConfig { head, ..config };
/// # limpid::hub::save(&Model::new(config, 1)?, &folder)?;
/// # tokenizer.save(&folder)?;
/// use limpid::encode::Aggregation;
///
/// let tagger = limpid::TokenClassifier::load(&folder)?;
/// let text = "Ann is in Paris";
/// for entity in &tagger.tag(&[text], Aggregation::Simple)?[0] {
///     println!("{} {} ({:.2})", entity.label, &text[entity.start..entity.end], entity.score);
/// }
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), limpid::error::Error>(())
/// ```
pub struct TokenClassifier {
    loaded: Arc<Loaded>,
}

impl TokenClassifier {
    /// Loads a model folder, or the model of a run folder.
    /// # Errors
    /// If the folder is not complete, or its model has no token-classification head
    /// ([`PipelineError::WrongModel`](crate::error::PipelineError::WrongModel)).
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let suits =
            |stack: &Stack| matches!(stack, Stack::Encoder(m) if m.token_labels().is_some());
        Ok(Self { loaded: Loaded::new(path.as_ref(), Task::TokenClassification, suits)? })
    }

    pub(super) fn new(loaded: Arc<Loaded>) -> Self {
        Self { loaded }
    }

    /// The labels, in the order of the model.
    pub fn labels(&self) -> &[String] {
        let encoder = self.loaded.encoder(Truncation::Error).model;
        encoder.token_labels().expect("checked by load")
    }

    /// The labelled parts of each text, without those of label `O`.
    /// # Errors
    /// An [`EncodeError`](crate::error::EncodeError) that names the text that cannot be used.
    pub fn tag<S: AsRef<str>>(
        &self,
        texts: &[S],
        aggregation: Aggregation,
    ) -> Result<Vec<Vec<Entity>>> {
        tag(&self.loaded.encoder(Truncation::Error), &owned(texts), aggregation)
    }

    /// By how many tokens a text is too long, if it is.
    /// # Errors
    /// An [`EncodeError`](crate::error::EncodeError) if it cannot be used for another reason.
    pub fn overlength(&self, text: &str) -> Result<Option<Overlength>> {
        self.loaded.overlength(Truncation::Error, text, None)
    }

    loaded_accessors!();
}
