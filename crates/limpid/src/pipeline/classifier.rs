//! Classification of texts and pairs of texts.

use super::loaded::{Loaded, LongText, Overlength, loaded_accessors, overlength};
use crate::data::batch::EncodedText;
use crate::encode::{Classification, Truncation, classify, classify_tokens};
use crate::error::{Result, Task};
use crate::model::Stack;
use crate::model::config::Labels;
use std::path::Path;
use std::sync::Arc;

/// A label and its score.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelScore {
    /// The label.
    pub label: String,
    /// Its probability; of a regression, its value.
    pub score: f32,
}

/// An encoder (BERT) or a decoder (GPT) with a classification head. Scores are those of the
/// pipeline of `transformers`: probabilities that add up to 1, one by one where several labels may
/// apply, values of a regression.
///
/// ```
/// # use limpid::model::{Model, config::{EncoderConfig, EncoderHead}};
/// # use limpid::text::{Purpose, word_tokenizer_for};
/// # let folder = format!("limpid-doc-classifier-{}", std::process::id());
/// # let folder = std::env::temp_dir().join(folder);
/// # let tokenizer = word_tokenizer_for(["so good", "so bad"], Purpose::Encoder)?;
/// # let head = EncoderHead::Classifier(vec!["negative".into(), "positive".into()].into());
/// # let config = EncoderConfig::new(tokenizer.vocab_size(), 16, 1, 2, 8);
/// # let config = EncoderConfig { head, ..config };
/// # limpid::hub::save(&Model::new(config, 1)?, &folder)?;
/// # tokenizer.save(&folder)?;
/// let classifier = limpid::Classifier::load(&folder)?;
/// for labels in classifier.classify(&["so good", "so bad"])? {
///     // All labels, the most likely first.
///     assert!(labels[0].score >= labels[1].score);
/// }
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), limpid::error::Error>(())
/// ```
pub struct Classifier {
    loaded: Arc<Loaded>,
    truncation: Truncation,
}

impl Classifier {
    /// Loads a model folder, or the model of a run folder.
    /// # Errors
    /// If the folder is not complete, or its model has no classification head
    /// ([`PipelineError::WrongModel`](crate::error::PipelineError::WrongModel)).
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let suits = |stack: &Stack| stack.labels().is_some();
        let loaded = Loaded::new(path.as_ref(), Task::Classification, suits)?;
        Ok(Self { loaded, truncation: Truncation::Error })
    }

    pub(super) fn new(loaded: Arc<Loaded>) -> Self {
        Self { loaded, truncation: Truncation::Error }
    }

    /// The token ids of a text, or of a pair, for [`Classifier::classify_tokens`].
    /// # Errors
    /// As [`Classifier::classify`].
    pub fn tokenize(
        &self,
        text: &str,
        second: Option<&str>,
        long_text: LongText,
    ) -> Result<EncodedText> {
        self.loaded.classifier(long_text.truncation()).tokenize(0, text, second)
    }

    /// [`Classifier::classify`] of texts that were tokenized before.
    /// # Errors
    /// None, for what [`Classifier::tokenize`] gave.
    pub fn classify_tokens(&self, encoded: &[EncodedText]) -> Result<Vec<Vec<LabelScore>>> {
        let found = classify_tokens(&self.loaded.classifier(self.truncation), encoded)?;
        Ok(self.ranked(found))
    }

    /// The same, with this for texts that have more tokens than the model has positions for.
    pub fn with_long_text(self, long_text: LongText) -> Self {
        Self { truncation: long_text.truncation(), ..self }
    }

    /// The labels, in the order of the model.
    pub fn labels(&self) -> &[String] {
        &self.classes().names
    }

    /// The labels, and what they are to each other.
    pub fn classes(&self) -> &Labels {
        self.loaded.model.stack.labels().expect("checked by load")
    }

    /// For each text all labels, the largest score first. A text gives the same in any batch.
    /// # Errors
    /// An [`EncodeError`](crate::error::EncodeError) that names the text that cannot be used.
    pub fn classify<S: AsRef<str>>(&self, texts: &[S]) -> Result<Vec<Vec<LabelScore>>> {
        self.run(texts.iter().map(|text| (text.as_ref().to_string(), None)).collect())
    }

    /// The same for pairs of texts.
    /// # Errors
    /// An [`EncodeError`](crate::error::EncodeError) that names the pair that cannot be used.
    pub fn classify_pairs<S: AsRef<str>>(&self, pairs: &[(S, S)]) -> Result<Vec<Vec<LabelScore>>> {
        let owned = |(first, second): &(S, S)| {
            (first.as_ref().to_string(), Some(second.as_ref().to_string()))
        };
        self.run(pairs.iter().map(owned).collect())
    }

    /// By how many tokens a text, or a pair, is too long, if it is and is not truncated.
    /// # Errors
    /// An [`EncodeError`](crate::error::EncodeError) if it cannot be used for another reason.
    pub fn overlength(&self, text: &str, second: Option<&str>) -> Result<Option<Overlength>> {
        overlength(self.loaded.classifier(self.truncation).tokenize(0, text, second))
    }

    fn run(&self, texts: Vec<(String, Option<String>)>) -> Result<Vec<Vec<LabelScore>>> {
        Ok(self.ranked(classify(&self.loaded.classifier(self.truncation), &texts)?))
    }

    /// All labels of each text, the most likely first.
    fn ranked(&self, found: Vec<Classification>) -> Vec<Vec<LabelScore>> {
        let labels = self.labels();
        let ranked = |found: Classification| {
            let score = |i: usize| LabelScore { label: labels[i].clone(), score: found.scores[i] };
            found.ranked().into_iter().map(score).collect()
        };
        found.into_iter().map(ranked).collect()
    }

    loaded_accessors!();
}
