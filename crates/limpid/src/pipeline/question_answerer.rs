//! Extractive question answering.

use super::loaded::{Loaded, loaded_accessors};
use crate::encode::{Answer, AnswerOptions, Truncation, answer};
use crate::error::{Result, Task};
use crate::hub::load_sentence_config;
use crate::model::Stack;
use crate::model::config::EncoderHead;
use std::path::Path;
use std::sync::Arc;

/// An encoder (BERT) with a question-answering head: it finds the span of a context that answers a
/// question, as the pipeline of `transformers` does.
///
/// ```
/// # use limpid::model::{Model, config::{EncoderConfig, EncoderHead}};
/// # use limpid::text::{Purpose, word_tokenizer_for};
/// # let folder = format!("limpid-doc-answer-{}", std::process::id());
/// # let folder = std::env::temp_dir().join(folder);
/// # let tokenizer = word_tokenizer_for(["Who sat? The cat sat."], Purpose::Encoder)?;
/// # let head = EncoderHead::QuestionAnswering;
/// # let config = EncoderConfig::new(tokenizer.vocab_size(), 32, 1, 2, 8);
/// # let config = EncoderConfig { head, ..config };
/// # limpid::hub::save(&Model::new(config, 1)?, &folder)?;
/// # tokenizer.save(&folder)?;
/// let model = limpid::QuestionAnswerer::load(&folder)?;
/// let context = "The cat sat.";
/// let best = &model.answer("Who sat?", context, Default::default())?[0];
/// assert_eq!(best.answer, context[best.start..best.end]);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), limpid::error::Error>(())
/// ```
pub struct QuestionAnswerer {
    loaded: Arc<Loaded>,
    model_max_length: Option<usize>,
}

impl QuestionAnswerer {
    /// Loads a model folder, or the model of a run folder.
    /// # Errors
    /// If the folder is not complete, or its model has no question-answering head
    /// ([`PipelineError::WrongModel`](crate::error::PipelineError::WrongModel)).
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let suits = |stack: &Stack| match stack {
            Stack::Encoder(encoder) => encoder.config().head == EncoderHead::QuestionAnswering,
            _ => false,
        };
        Self::new(Loaded::new(path.as_ref(), Task::QuestionAnswering, suits)?)
    }

    pub(super) fn new(loaded: Arc<Loaded>) -> Result<Self> {
        let model_max_length = load_sentence_config(&loaded.folder)?.max_seq_length;
        Ok(Self { loaded, model_max_length })
    }

    /// The best answers to a question, the most likely first; a context that is too long is read in
    /// windows.
    /// # Errors
    /// An [`EncodeError`](crate::error::EncodeError), if the question leaves no place for a
    /// context.
    pub fn answer(
        &self,
        question: &str,
        context: &str,
        options: AnswerOptions,
    ) -> Result<Vec<Answer>> {
        let known = self.model_max_length.map(|length| length.min(384));
        let options = AnswerOptions { max_seq_len: options.max_seq_len.or(known), ..options };
        answer(&self.loaded.encoder(Truncation::Error), question, context, options)
    }

    loaded_accessors!();
}
