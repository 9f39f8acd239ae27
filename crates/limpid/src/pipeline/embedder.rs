//! Sentence embeddings with an encoder.

use super::loaded::{Loaded, LongText, Overlength, loaded_accessors};
use crate::data::batch::EncodedText;
use crate::encode::{Normalization, Truncation, embed_tokens, embed_with_modules, hidden_states};
use crate::error::{EncodeError, ModelError, Result, Task};
use crate::hub::{
    Pooling, SentenceConfig, SentenceModule, SentenceOrigin, TextCase, load_pooling,
    load_sentence_config,
};
use crate::model::Stack;
use std::path::Path;
use std::sync::Arc;

/// Options of an [`Embedder`].
#[derive(Clone, Copy, Debug, Default)]
pub struct EmbedderOptions {
    /// How token vectors become one; `None` for `1_Pooling/config.json` of the folder, or the mean.
    pub pooling: Option<Pooling>,
    /// The length of the embeddings.
    pub normalization: Normalization,
    /// What happens to a text with more tokens than the model has positions for. A folder of
    /// sentence-transformers decides for itself: texts are truncated to its `max_seq_length`.
    pub long_text: LongText,
}

/// An encoder (BERT) with its tokenizer and the files of sentence-transformers: pooling, dense
/// layers, lowercasing, prompts, maximum length.
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
    loaded: Arc<Loaded>,
    pooling: Pooling,
    normalization: Normalization,
    truncation: Truncation,
    sentence: SentenceConfig,
    prompt: String,
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
        Self::new(Loaded::new(path.as_ref(), Task::Embedding, suits)?, path.as_ref(), options)
    }

    pub(super) fn new(loaded: Arc<Loaded>, path: &Path, options: EmbedderOptions) -> Result<Self> {
        // The modules of sentence-transformers stand beside `0_Transformer`, not in it.
        let root = match path.join("modules.json").is_file() {
            true => path.to_path_buf(),
            false => loaded.folder.clone(),
        };
        let root = root.as_path();
        let pooling = match options.pooling {
            Some(pooling) => pooling,
            None => load_pooling(root)?.unwrap_or(Pooling::Mean),
        };
        let sentence = load_sentence_config(root)?;
        let length = sentence.max_seq_length.unwrap_or(usize::MAX);
        let truncation = match (sentence.origin, options.long_text) {
            (SentenceOrigin::Other, LongText::Error) => Truncation::Error,
            _ => Truncation::MaxLength(length),
        };
        let prompt = sentence.default_prompt_name.as_ref().map(|name| &sentence.prompts[name]);
        let prompt = prompt.cloned().unwrap_or_default();
        let normalization = options.normalization;
        let embedder = Self { loaded, pooling, normalization, truncation, sentence, prompt };
        embedder.check_modules(root)?;
        Ok(embedder)
    }

    /// Each layer must take what the one before gives.
    fn check_modules(&self, root: &Path) -> Result<()> {
        let mut width = self.hidden_size();
        for module in &self.sentence.modules {
            if let SentenceModule::Dense(dense) = module
                && dense.in_features() != width
            {
                let (found, key) = (dense.in_features().to_string(), "in_features".into());
                let error = ModelError::WrongValue { key, found, expected: width.to_string() };
                return Err(crate::error::Error::from(error).in_file(&root.join("modules.json")));
            }
            width = width_after(module, width);
        }
        Ok(())
    }

    /// The same embedder with another prompt of the folder before every text.
    /// # Errors
    /// [`EncodeError::UnknownPrompt`] if the folder has no prompt of this name.
    pub fn with_prompt(mut self, name: &str) -> Result<Self> {
        self.prompt = self.named_prompt(name)?.clone();
        Ok(self)
    }

    fn named_prompt(&self, name: &str) -> Result<&String> {
        self.sentence.prompts.get(name).ok_or_else(|| {
            let available = self.sentence.prompts.keys().cloned().collect();
            EncodeError::UnknownPrompt { name: name.into(), available }.into()
        })
    }

    /// One vector per text, (c). Each is the one that its text gives alone.
    /// # Errors
    /// An [`EncodeError`](crate::error::EncodeError) that names the text that cannot be used.
    pub fn embed<S: AsRef<str>>(&self, texts: &[S]) -> Result<Vec<Vec<f32>>> {
        let texts: Vec<String> = texts.iter().map(|text| self.cased(text.as_ref())).collect();
        let encoder = self.loaded.encoder(self.truncation);
        let modules = &self.sentence.modules;
        embed_with_modules(&encoder, &texts, self.pooling, modules, self.normalization)
    }

    /// The token ids of a text, for [`Embedder::embed_tokens`]: with this prompt of the folder, or
    /// its default, before it.
    /// # Errors
    /// As [`Embedder::embed`] and [`Embedder::with_prompt`].
    pub fn tokenize(
        &self,
        text: &str,
        prompt_name: Option<&str>,
        long_text: LongText,
    ) -> Result<EncodedText> {
        let prompt = match prompt_name {
            Some(name) => self.named_prompt(name)?,
            None => &self.prompt,
        };
        let truncation = match (self.truncation, long_text) {
            (Truncation::Error, LongText::Truncate) => long_text.truncation(),
            (truncation, _) => truncation,
        };
        self.loaded.encoder(truncation).tokenize(0, &self.cased_after(prompt, text), None)
    }

    /// [`Embedder::embed`] of texts that were tokenized before.
    pub fn embed_tokens(
        &self,
        encoded: &[EncodedText],
        normalization: Normalization,
    ) -> Vec<Vec<f32>> {
        let encoder = self.loaded.encoder(self.truncation);
        embed_tokens(&encoder, encoded, self.pooling, &self.sentence.modules, normalization)
    }

    /// The hidden state of each token of texts that were tokenized before, before any pooling.
    pub fn hidden_states(&self, encoded: &[EncodedText]) -> Vec<Vec<Vec<f32>>> {
        hidden_states(&self.loaded.encoder(self.truncation), encoded)
    }

    /// How token vectors become one.
    pub fn pooling(&self) -> Pooling {
        self.pooling
    }

    /// The number of components of an embedding.
    pub fn dimension(&self) -> usize {
        let modules = self.sentence.modules.iter();
        modules.fold(self.hidden_size(), |width, module| width_after(module, width))
    }

    fn hidden_size(&self) -> usize {
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

    /// A text with the prompt before it, in the case that the folder asks for.
    fn cased(&self, text: &str) -> String {
        self.cased_after(&self.prompt, text)
    }

    fn cased_after(&self, prompt: &str, text: &str) -> String {
        let text = format!("{prompt}{text}");
        match self.sentence.case {
            TextCase::Preserved => text,
            TextCase::Lowercase => text.to_lowercase(),
        }
    }

    loaded_accessors!();
}

/// Components of an embedding after a module.
fn width_after(module: &SentenceModule, width: usize) -> usize {
    match module {
        SentenceModule::Normalize => width,
        SentenceModule::Dense(dense) => dense.out_features(),
        SentenceModule::Truncate(length) => width.min(*length),
    }
}
