//! Translation and summarization with an encoder-decoder.

use super::loaded::{Loaded, Overlength, loaded_accessors, owned};
use super::request::TranslationRequest;
use crate::error::{Result, Task};
use crate::generate::translate::prepare_translation;
use crate::generate::{
    DecodingConfig, GenerationOptions, OnEvent, PreparedGeneration, TranslateOptions, Translation,
    load_translation_config, translate_with,
};
use crate::hub::{GenerationConfig, load_tokenizer};
use crate::inspect::{Alignment, TranslationAttention, align, attention_of, check_attends};
use crate::model::{Seq2Seq, Stack};
use crate::text::Tokenizer;
use std::path::Path;
use std::sync::Arc;

/// An encoder-decoder, Transformer or recurrent, with its tokenizer and its
/// `generation_config.json`.
///
/// ```
/// # use limpid::model::{Model, config::EncoderDecoderConfig};
/// # let folder = format!("limpid-doc-translator-{}", std::process::id());
/// # let folder = std::env::temp_dir().join(folder);
/// # let tokenizer = limpid::text::word_tokenizer(["Il dort.", "He sleeps."])?;
/// # let config = EncoderDecoderConfig::new(tokenizer.vocab_size(), 1, 2, 8, 8);
/// # limpid::hub::save(&Model::new(config, 1)?, &folder)?;
/// # tokenizer.save(&folder)?;
/// let translator = limpid::Translator::load(&folder)?;
/// let english = translator.translate(&["Il dort.", ""])?;
/// assert_eq!(english[1], "");
///
/// // A beam search whose translations begin with "He".
/// let best = translator.request(&["Il dort."]).num_beams(4).prefix("He").translate()?;
/// assert!(best[0].starts_with("He"));
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), limpid::error::Error>(())
/// ```
pub struct Translator {
    loaded: Arc<Loaded>,
    config: GenerationConfig,
    /// With other languages than those of the folder.
    tokenizer: Option<Box<Tokenizer>>,
}

impl Translator {
    /// Loads a model folder, or the model of a run folder.
    /// # Errors
    /// If the folder is not complete, or its model cannot translate
    /// ([`PipelineError::WrongModel`](crate::error::PipelineError::WrongModel)).
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let suits = |stack: &Stack| stack.translator().is_some();
        Self::new(Loaded::new(path.as_ref(), Task::Translation, suits)?)
    }

    pub(super) fn new(loaded: Arc<Loaded>) -> Result<Self> {
        let model = loaded.model.stack.translator().expect("a model that translates");
        let (config, warnings) = load_translation_config(&loaded.folder, model)?;
        Ok(Self { loaded: Loaded::with_warnings(loaded, warnings), config, tokenizer: None })
    }

    /// The languages of a multilingual model by their codes (`de_DE`, `deu_Latn`, `de`); none of
    /// others.
    pub fn languages(&self) -> Vec<String> {
        self.loaded.tokenizer.languages().into_iter().map(|(code, _)| code).collect()
    }

    /// Sets what a multilingual model translates from and into; `None`: as its folder has it.
    /// # Errors
    /// [`TokenizerError::LacksLanguage`](crate::error::TokenizerError::LacksLanguage) for a
    /// language that it lacks, and an error for any language if it is not multilingual.
    pub fn with_languages(mut self, source: Option<&str>, target: Option<&str>) -> Result<Self> {
        if source.is_none() && target.is_none() {
            return Ok(self);
        }
        let mut tokenizer = load_tokenizer(&self.loaded.folder)?;
        let languages = tokenizer.set_languages(source, target)?;
        // As the translation pipelines of `transformers` do.
        self.config.forced_bos_token_id = languages.target.or(self.config.forced_bos_token_id);
        self.tokenizer = Some(Box::new(tokenizer));
        Ok(self)
    }

    fn sides(&self) -> &Tokenizer {
        self.tokenizer.as_deref().unwrap_or(&self.loaded.tokenizer)
    }

    /// Translates texts with the defaults of the folder. Each translation is the one that its text
    /// gives alone; that of an empty text is empty.
    /// # Errors
    /// A [`GenerationError`](crate::error::GenerationError).
    pub fn translate<S: AsRef<str>>(&self, texts: &[S]) -> Result<Vec<String>> {
        self.request(texts).translate()
    }

    /// Texts, to set options of and to translate.
    pub fn request<S: AsRef<str>>(&self, texts: &[S]) -> TranslationRequest<'_> {
        TranslationRequest::new(self, owned(texts))
    }

    /// These options over the defaults of `generation_config.json`.
    /// # Errors
    /// A [`GenerationError`](crate::error::GenerationError).
    pub fn decoding_config(&self, options: &GenerationOptions) -> Result<DecodingConfig> {
        let vocab_size = self.seq2seq().decoder_vocab_size();
        options.resolve_in(&self.loaded.folder, &self.config, vocab_size)
    }

    /// Translates texts and reports text and steps as they appear, if `on_event` is given:
    /// [`translate_with`] with this model. A text of white space is empty.
    /// # Errors
    /// A [`GenerationError`](crate::error::GenerationError), and every error of `on_event`.
    pub fn run<S: AsRef<str>>(
        &self,
        texts: &[S],
        config: &DecodingConfig,
        options: &TranslateOptions,
        on_event: Option<OnEvent>,
    ) -> Result<Vec<Vec<Translation>>> {
        let texts: Vec<&str> = texts.iter().map(|text| not_blank(text.as_ref())).collect();
        let model = (self.seq2seq(), self.loaded.weights());
        translate_with(model, self.sides(), &texts, config, options, on_event)
    }

    /// Tokenizes and checks a text, for a translation that is advanced from outside.
    /// # Errors
    /// As [`Translator::run`].
    pub fn prepare(
        &self,
        text: &str,
        config: &DecodingConfig,
        options: &TranslateOptions,
    ) -> Result<PreparedGeneration> {
        let (model, tokenizer) = (self.seq2seq(), self.sides());
        prepare_translation(model, tokenizer, not_blank(text), config, options)
    }

    /// By how many tokens a source text is too long, if it is.
    /// # Errors
    /// If it cannot be tokenized.
    pub fn overlength(&self, text: &str) -> Result<Option<Overlength>> {
        let max_tokens = self.seq2seq().longest();
        let tokens = self.sides().source_sentence(text, self.seq2seq().end())?.len();
        Ok((tokens > max_tokens).then_some(Overlength { tokens, max_tokens }))
    }

    /// Checks that the decoder attends to its source.
    /// # Errors
    /// [`NoAttention`](crate::error::GenerationError::NoAttention) for a recurrent model without
    /// attention.
    pub fn check_attends(&self) -> Result<()> {
        check_attends(self.seq2seq())
    }

    /// The cross-attention of a translation, given by its tokens.
    /// # Errors
    /// [`NoAttention`](crate::error::GenerationError::NoAttention), and one for a source that is
    /// too long.
    pub fn attention(&self, source: &str, tokens: &[u32]) -> Result<TranslationAttention> {
        let model = (self.seq2seq(), &self.loaded.model.params);
        attention_of(model, self.sides(), source, tokens)
    }

    /// The word alignment of a translation, given by its tokens.
    /// # Errors
    /// [`NoAttention`](crate::error::GenerationError::NoAttention).
    pub fn align(&self, source: &str, tokens: &[u32]) -> Result<Alignment> {
        let model = (self.seq2seq(), &self.loaded.model.params);
        align(model, self.sides(), source, tokens)
    }

    fn seq2seq(&self) -> Seq2Seq<'_> {
        self.loaded.model.stack.translator().expect("checked by load")
    }

    loaded_accessors!();
}

/// A text of white space is empty.
fn not_blank(text: &str) -> &str {
    if text.trim().is_empty() { "" } else { text }
}
