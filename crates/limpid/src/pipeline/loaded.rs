//! Loading: from a path to a model, its tokenizer and what was ignored on the way.

use crate::data::batch::EncodedText;
use crate::encode::{TextClassifier, TextEncoder, Truncation};
use crate::error::{EncodeError, Error, InputProblem, PipelineError, Result, Task};
use crate::hub::{self, Warning};
use crate::model::config::EncoderHead;
use crate::model::{Model, Stack};
use crate::text::{Tokenizer, number_tokenizer};
use limpid_tensor::packed_weights::{PackedWeights, Weights};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The model folder that a path stands for: the folder of a run stands for the model in it, and one
/// of sentence-transformers for its Transformer module, which may be in `0_Transformer`.
pub fn model_folder(path: impl AsRef<Path>) -> PathBuf {
    let folder = path.as_ref();
    let has_config = |folder: &PathBuf| folder.join("config.json").exists();
    let mut places =
        [folder.to_path_buf(), folder.join("model"), hub::transformer_folder(folder)].into_iter();
    places.find(has_config).unwrap_or_else(|| folder.to_path_buf())
}

/// A text with more tokens than the model reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlength {
    /// Tokens it has, special ones included.
    pub tokens: usize,
    /// Tokens the model reads.
    pub max_tokens: usize,
}

impl Overlength {
    /// How many tokens it is too long.
    pub fn excess(&self) -> usize {
        self.tokens - self.max_tokens
    }
}

/// What happens to a text that is too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LongText {
    /// It is an error.
    #[default]
    Error,
    /// Its beginning is used. Of a pair of texts, the longer one is cut.
    Truncate,
}

impl LongText {
    pub(super) fn truncation(self) -> Truncation {
        match self {
            LongText::Error => Truncation::Error,
            LongText::Truncate => Truncation::MaxLength(usize::MAX),
        }
    }
}

/// A model folder in memory.
pub(super) struct Loaded {
    pub folder: PathBuf,
    pub model: Model,
    pub tokenizer: Tokenizer,
    pub warnings: Vec<Warning>,
    /// Small weights are packed on first use.
    packed: Option<PackedWeights>,
}

/// Bytes of weights that are packed, which takes as many bytes again.
const PACKED_BYTES: usize = 128 << 20;

impl Loaded {
    /// Loads a folder whose model `suits` the task.
    pub fn new(path: &Path, task: Task, suits: fn(&Stack) -> bool) -> Result<Arc<Self>> {
        let (folder, model, warnings) = Self::model(path)?;
        if !suits(&model.stack) {
            let (found, made_for) = (model.stack.kind(), task_of(&model.stack));
            let error = PipelineError::WrongModel { path: folder, found, task, made_for };
            return Err(error.into());
        }
        Self::with_tokenizer(folder, model, warnings)
    }

    /// Loads a folder, whatever its model is.
    pub fn any(path: &Path) -> Result<Arc<Self>> {
        let (folder, model, warnings) = Self::model(path)?;
        Self::with_tokenizer(folder, model, warnings)
    }

    /// The same; of a folder without a tokenizer, texts are token ids.
    pub fn any_with_ids(path: &Path) -> Result<Arc<Self>> {
        let (folder, model, warnings) = Self::model(path)?;
        match Tokenizer::exists_in(&hub::tokenizer_folder(&folder)) {
            true => Self::with_tokenizer(folder, model, warnings),
            false => {
                let tokenizer = number_tokenizer(model.stack.vocab_size())?;
                Self::new_with(folder, model, tokenizer, warnings)
            }
        }
    }

    fn model(path: &Path) -> Result<(PathBuf, Model, Vec<Warning>)> {
        let folder = model_folder(path);
        let (model, warnings) = hub::load_mapped(&folder)?;
        Ok((folder, model, warnings))
    }

    fn with_tokenizer(folder: PathBuf, model: Model, warnings: Vec<Warning>) -> Result<Arc<Self>> {
        let tokenizer = hub::load_tokenizer(&folder)?;
        Self::new_with(folder, model, tokenizer, warnings)
    }

    fn new_with(
        folder: PathBuf,
        model: Model,
        tokenizer: Tokenizer,
        mut warnings: Vec<Warning>,
    ) -> Result<Arc<Self>> {
        let (tokens, vocab_size) = (tokenizer.vocab_size(), model.stack.vocab_size());
        warnings.extend(Warning::of_vocabulary(tokens, vocab_size));
        let small = 4 * model.params.count() <= PACKED_BYTES;
        let packed = small.then(|| PackedWeights::new(&model.params));
        Ok(Arc::new(Self { folder, model, tokenizer, warnings, packed }))
    }

    /// The same with more warnings.
    /// # Panics
    /// If it is shared already.
    pub fn with_warnings(mut loaded: Arc<Self>, warnings: Vec<Warning>) -> Arc<Self> {
        Arc::get_mut(&mut loaded).expect("just loaded").warnings.extend(warnings);
        loaded
    }

    /// The parameters, for inference.
    pub fn weights(&self) -> Weights<'_> {
        Weights { params: &self.model.params, packed: self.packed.as_ref() }
    }

    /// The encoder.
    /// # Panics
    /// If it was loaded for another stack.
    pub fn encoder(&self, truncation: Truncation) -> TextEncoder<'_> {
        let model = self.model.encoder().expect("an encoder");
        TextEncoder { model, weights: self.weights(), tokenizer: &self.tokenizer, truncation }
    }

    /// The sequence classifier.
    pub fn classifier(&self, truncation: Truncation) -> TextClassifier<'_> {
        let Model { stack, params, .. } = &self.model;
        TextClassifier { model: stack, params, tokenizer: &self.tokenizer, truncation }
    }

    /// By how many tokens a text, or a pair, is too long for the encoder.
    pub fn overlength(
        &self,
        truncation: Truncation,
        text: &str,
        second: Option<&str>,
    ) -> Result<Option<Overlength>> {
        overlength(self.encoder(truncation).tokenize(0, text, second))
    }
}

/// By how many tokens a text is too long that was tokenized.
pub(super) fn overlength(tokenized: Result<EncodedText>) -> Result<Option<Overlength>> {
    match tokenized {
        Ok(_) => Ok(None),
        Err(Error::Encode(EncodeError::Input {
            problem: InputProblem::TooLong { tokens, max_tokens },
            ..
        })) => Ok(Some(Overlength { tokens, max_tokens })),
        Err(error) => Err(error),
    }
}

/// What a model was made for.
fn task_of(stack: &Stack) -> Task {
    match stack {
        Stack::Decoder(decoder) if decoder.labels().is_some() => Task::Classification,
        Stack::Decoder(_) => Task::Generation,
        Stack::EncoderDecoder(_) | Stack::Recurrent(_) => Task::Translation,
        Stack::Encoder(encoder) => match encoder.config().head {
            EncoderHead::Classifier(_) => Task::Classification,
            EncoderHead::TokenClassifier(_) => Task::TokenClassification,
            EncoderHead::QuestionAnswering => Task::QuestionAnswering,
            EncoderHead::MaskedLm | EncoderHead::PreTraining => Task::FillMask,
            EncoderHead::Bare | EncoderHead::Pooler => Task::Embedding,
        },
    }
}

/// Owned copies of some texts.
pub(super) fn owned<S: AsRef<str>>(texts: &[S]) -> Vec<String> {
    texts.iter().map(|text| text.as_ref().to_string()).collect()
}

/// What every type of the facade tells of its folder.
macro_rules! loaded_accessors {
    () => {
        /// The model: its stack and its parameters.
        pub fn model(&self) -> &crate::model::Model {
            &self.loaded.model
        }

        /// Its tokenizer.
        pub fn tokenizer(&self) -> &crate::text::Tokenizer {
            &self.loaded.tokenizer
        }

        /// What was ignored in the folder.
        pub fn warnings(&self) -> &[crate::hub::Warning] {
            &self.loaded.warnings
        }

        /// The model folder.
        pub fn folder(&self) -> &std::path::Path {
            &self.loaded.folder
        }

        /// The parameters, for inference.
        pub fn weights(&self) -> limpid_tensor::packed_weights::Weights<'_> {
            self.loaded.weights()
        }
    };
}
pub(super) use loaded_accessors;
