//! A model folder for whatever its model can do.

use super::loaded::Loaded;
use super::{
    Classifier, Embedder, EmbedderOptions, FillMask, Generator, QuestionAnswerer, Reranker,
    TokenClassifier, Translator,
};
use crate::error::Result;
use crate::model::config::EncoderHead;
use crate::model::{Model, Stack};
use crate::text::Tokenizer;
use limpid_tensor::packed_weights::Weights;
use std::path::Path;
use std::sync::Arc;

/// The facade of a folder whose task is not known before: weights are loaded once, for every task
/// that the model can do.
// One per model folder, and never moved about.
#[allow(clippy::large_enum_variant)]
pub enum Pipeline {
    /// A language model.
    Generator(Generator),
    /// An encoder-decoder.
    Translator(Translator),
    /// A decoder with a classification head.
    Classifier(Classifier),
    /// An encoder.
    Encoder {
        /// Every encoder gives embeddings.
        embedder: Embedder,
        /// With a masked-language-modelling head.
        fill_mask: Option<FillMask>,
        /// With a classification head.
        classifier: Option<Classifier>,
        /// With a classification head of one label.
        reranker: Option<Reranker>,
        /// With a token-classification head.
        tagger: Option<TokenClassifier>,
        /// With a question-answering head.
        answerer: Option<QuestionAnswerer>,
    },
}

impl Pipeline {
    /// Loads a model folder, or the model of a run folder.
    /// # Errors
    /// If the folder is not complete.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::of(Loaded::any(path.as_ref())?, path.as_ref())
    }

    /// The same; of a folder without a tokenizer, texts are token ids with spaces between them
    /// ([`number_tokenizer`](crate::text::number_tokenizer)).
    /// # Errors
    /// If the folder is not complete.
    pub fn load_with_ids(path: impl AsRef<Path>) -> Result<Self> {
        Self::of(Loaded::any_with_ids(path.as_ref())?, path.as_ref())
    }

    fn of(loaded: Arc<Loaded>, path: &Path) -> Result<Self> {
        let head = match &loaded.model.stack {
            Stack::Decoder(model) if model.labels().is_some() => {
                return Ok(Self::Classifier(Classifier::new(loaded)));
            }
            Stack::Decoder(_) => return Ok(Self::Generator(Generator::new(loaded)?)),
            Stack::EncoderDecoder(_) | Stack::Recurrent(_) => {
                return Ok(Self::Translator(Translator::new(loaded)?));
            }
            Stack::Encoder(model) => model.config().head.clone(),
        };
        let options = EmbedderOptions::default();
        let another = || Arc::clone(&loaded);
        let (classifies, reranks) = match &head {
            EncoderHead::Classifier(labels) => (true, labels.names.len() == 1),
            _ => (false, false),
        };
        let tags = matches!(head, EncoderHead::TokenClassifier(_));
        let answers = head == EncoderHead::QuestionAnswering;
        Ok(Self::Encoder {
            embedder: Embedder::new(another(), path, options)?,
            fill_mask: head.fills_masks().then(|| FillMask::new(another())),
            classifier: classifies.then(|| Classifier::new(another())),
            reranker: reranks.then(|| Reranker::new(another(), path)).transpose()?,
            tagger: tags.then(|| TokenClassifier::new(another())),
            answerer: answers.then(|| QuestionAnswerer::new(another())).transpose()?,
        })
    }

    /// The model: its stack and its parameters.
    pub fn model(&self) -> &Model {
        match self {
            Self::Generator(generator) => generator.model(),
            Self::Translator(translator) => translator.model(),
            Self::Classifier(classifier) => classifier.model(),
            Self::Encoder { embedder, .. } => embedder.model(),
        }
    }

    /// The parameters, for inference.
    pub fn weights(&self) -> Weights<'_> {
        match self {
            Self::Generator(generator) => generator.weights(),
            Self::Translator(translator) => translator.weights(),
            Self::Classifier(classifier) => classifier.weights(),
            Self::Encoder { embedder, .. } => embedder.weights(),
        }
    }

    /// Its tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        match self {
            Self::Generator(generator) => generator.tokenizer(),
            Self::Translator(translator) => translator.tokenizer(),
            Self::Classifier(classifier) => classifier.tokenizer(),
            Self::Encoder { embedder, .. } => embedder.tokenizer(),
        }
    }

    /// The model folder.
    pub fn folder(&self) -> &Path {
        match self {
            Self::Generator(generator) => generator.folder(),
            Self::Translator(translator) => translator.folder(),
            Self::Classifier(classifier) => classifier.folder(),
            Self::Encoder { embedder, .. } => embedder.folder(),
        }
    }

    /// What was ignored in the folder.
    pub fn warnings(&self) -> &[crate::hub::Warning] {
        match self {
            Self::Generator(generator) => generator.warnings(),
            Self::Translator(translator) => translator.warnings(),
            Self::Classifier(classifier) => classifier.warnings(),
            Self::Encoder { embedder, .. } => embedder.warnings(),
        }
    }
}
