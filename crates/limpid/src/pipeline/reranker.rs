//! Cross-encoders: texts by their relevance to a query.

use super::loaded::{Loaded, loaded_accessors};
use crate::data::batch::EncodedText;
use crate::encode::{Classification, Truncation};
use crate::error::{EncodeError, Result, Task};
use crate::hub::{TextCase, load_score_activation, load_sentence_config};
use crate::model::Stack;
use crate::model::config::LabelActivation;
use std::path::Path;
use std::sync::Arc;

/// A text and its relevance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// The index of the text.
    pub index: usize,
    /// Its score.
    pub score: f32,
}

/// How relevant a text is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relevance {
    /// The score.
    pub score: f32,
    /// What the model gives, before the function that makes a score of it.
    pub logit: f32,
}

/// A sequence classifier with one label that reads a query and a text together, as
/// sentence-transformers' `CrossEncoder`: scores are probabilities, unless the folder names another
/// function; pairs that are too long are truncated.
///
/// ```
/// # use limpid::model::{Model, config::{EncoderConfig, EncoderHead, Labels}};
/// # use limpid::text::{Purpose, word_tokenizer_for};
/// # let folder = format!("limpid-doc-rerank-{}", std::process::id());
/// # let folder = std::env::temp_dir().join(folder);
/// # let tokenizer = word_tokenizer_for(["a cat", "a dog"], Purpose::Encoder)?;
/// # let labels = Labels { names: vec!["LABEL_0".into()], problem_type: None };
/// # let config = EncoderConfig::new(tokenizer.vocab_size(), 16, 1, 2, 8);
/// # let config = EncoderConfig { head: EncoderHead::Classifier(labels), ..config };
/// # limpid::hub::save(&Model::new(config, 1)?, &folder)?;
/// # tokenizer.save(&folder)?;
/// let reranker = limpid::Reranker::load(&folder)?;
/// let ranked = reranker.rank("a cat", &["a dog", "a cat"])?;
/// assert!(ranked[0].score >= ranked[1].score);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), limpid::error::Error>(())
/// ```
pub struct Reranker {
    loaded: Arc<Loaded>,
    activation: LabelActivation,
    truncation: Truncation,
    case: TextCase,
}

impl Reranker {
    /// Loads a model folder, or the model of a run folder.
    /// # Errors
    /// If the folder is not complete, its model is not a sequence classifier with one label
    /// ([`PipelineError::WrongModel`](crate::error::PipelineError::WrongModel)), or it asks for a
    /// function or a prompt that is not supported.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let suits = |stack: &Stack| stack.labels().is_some_and(|labels| labels.names.len() == 1);
        Self::new(Loaded::new(path.as_ref(), Task::Reranking, suits)?, path.as_ref())
    }

    pub(super) fn new(loaded: Arc<Loaded>, path: &Path) -> Result<Self> {
        let root = match path.join("modules.json").is_file() {
            true => path,
            false => &loaded.folder,
        };
        let sentence = load_sentence_config(root)?;
        if let Some(name) = sentence.default_prompt_name {
            return Err(EncodeError::PromptOfCrossEncoder { name }.into());
        }
        let activation = load_score_activation(root)?.unwrap_or(LabelActivation::Sigmoid);
        let truncation = Truncation::MaxLength(sentence.max_seq_length.unwrap_or(usize::MAX));
        Ok(Self { loaded, activation, truncation, case: sentence.case })
    }

    /// The score of each pair of texts.
    /// # Errors
    /// An [`EncodeError`] that names the pair that cannot be used.
    pub fn score<S: AsRef<str>>(&self, pairs: &[(S, S)]) -> Result<Vec<f32>> {
        let encoded = pairs
            .iter()
            .enumerate()
            .map(|(i, (query, text))| self.tokenize(i, query.as_ref(), text.as_ref()))
            .collect::<Result<Vec<_>>>()?;
        Ok(self.score_tokens(&encoded)?.into_iter().map(|found| found.score).collect())
    }

    /// The token ids of pair `index`, for [`Reranker::score_tokens`].
    /// # Errors
    /// As [`Reranker::score`].
    pub fn tokenize(&self, index: usize, query: &str, text: &str) -> Result<EncodedText> {
        let cased = |text: &str| match self.case {
            TextCase::Preserved => text.to_string(),
            TextCase::Lowercase => text.to_lowercase(),
        };
        let classifier = self.loaded.classifier(self.truncation);
        classifier.tokenize(index, &cased(query), Some(&cased(text)))
    }

    /// [`Reranker::score`] of pairs that were tokenized before.
    /// # Errors
    /// None, for what [`Reranker::tokenize`] gave.
    pub fn score_tokens(&self, encoded: &[EncodedText]) -> Result<Vec<Relevance>> {
        let logits = self.loaded.classifier(self.truncation).logits_of_tokens(encoded)?;
        let relevance = |row: Vec<f32>| {
            let logit = row[0];
            Relevance { logit, score: Classification::new(row, self.activation).scores[0] }
        };
        Ok(logits.into_iter().map(relevance).collect())
    }

    /// Texts by their score with the query, the most relevant first.
    /// # Errors
    /// An [`EncodeError`] that names the text that cannot be used.
    pub fn rank<S: AsRef<str>>(&self, query: &str, texts: &[S]) -> Result<Vec<Ranked>> {
        let pairs: Vec<(&str, &str)> = texts.iter().map(|text| (query, text.as_ref())).collect();
        let scores = self.score(&pairs)?;
        let mut ranked: Vec<Ranked> =
            scores.into_iter().enumerate().map(|(index, score)| Ranked { index, score }).collect();
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok(ranked)
    }

    loaded_accessors!();
}
