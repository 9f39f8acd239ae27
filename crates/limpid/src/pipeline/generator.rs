//! Text generation with a language model.

#[cfg(feature = "chat")]
use super::Chat;
use super::GenerationRequest;
use super::loaded::{Loaded, loaded_accessors};
use crate::error::{GenerationError, Result, Task};
#[cfg(feature = "chat")]
use crate::generate::chat::ChatTemplate;
use crate::generate::{
    ContextOverflow, DecodingConfig, Draft, GenerateOptions, Generated, GenerationOptions, OnEvent,
    PreparedGeneration, Prompt, Speculation, Trace, generate, generate_speculatively,
};
use crate::hub::{GenerationConfig, load_generation_config};
use crate::model::{Decoder, Stack};
use std::path::Path;
use std::sync::Arc;

/// Tokens that a draft model proposes per round by default.
const DEFAULT_DRAFT_TOKENS: usize = 4;

/// A language model (GPT) with its tokenizer and its `generation_config.json`.
///
/// ```
/// # use limpid::model::{Model, config::DecoderConfig};
/// # let folder = format!("limpid-doc-generator-{}", std::process::id());
/// # let folder = std::env::temp_dir().join(folder);
/// # let tokenizer = limpid::text::word_tokenizer(["the cat sat on the mat"])?;
/// # let config = DecoderConfig::gpt2(tokenizer.vocab_size(), 16, 1, 2, 8);
/// # limpid::hub::save(&Model::new(config, 1)?, &folder)?;
/// # tokenizer.save(&folder)?;
/// let generator = limpid::Generator::load(&folder)?;
/// let text = generator.prompt("the cat").temperature(0.8).top_p(0.9).seed(7).generate()?;
///
/// // The same text, piece by piece as it is generated.
/// let mut streamed = String::new();
/// let request = generator.prompt("the cat").temperature(0.8).top_p(0.9).seed(7);
/// request.stream(|piece| {
///     streamed.push_str(piece);
///     std::ops::ControlFlow::Continue(())
/// })?;
/// assert_eq!(streamed, text);
///
/// // The two best texts of a beam search, with their scores.
/// let best = generator.prompt("the").num_beams(4).num_return_sequences(2).generate_all()?;
/// assert!(best[0].score >= best[1].score);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), limpid::error::Error>(())
/// ```
pub struct Generator {
    loaded: Arc<Loaded>,
    config: GenerationConfig,
}

impl Generator {
    /// Loads a model folder, or the model of a run folder.
    /// # Errors
    /// If the folder is not complete, or its model cannot generate text
    /// ([`PipelineError::WrongModel`](crate::error::PipelineError::WrongModel)).
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let suits = |stack: &Stack| stack.language_model().is_some();
        Self::new(Loaded::new(path.as_ref(), Task::Generation, suits)?)
    }

    pub(super) fn new(loaded: Arc<Loaded>) -> Result<Self> {
        let (config, warnings) = load_generation_config(&loaded.folder)?;
        Ok(Self { loaded: Loaded::with_warnings(loaded, warnings), config })
    }

    /// A prompt, to set options of and to generate from.
    pub fn prompt(&self, text: impl Into<String>) -> GenerationRequest<'_> {
        GenerationRequest::new(self, text.into())
    }

    /// A conversation, by the chat template of the folder.
    /// # Errors
    /// [`ChatError::NoTemplate`](crate::error::ChatError::NoTemplate) if it has none, and other
    /// errors if a file holds something else.
    #[cfg(feature = "chat")]
    pub fn chat(&self) -> Result<Chat<'_>> {
        Ok(Chat::new(self, ChatTemplate::load(&self.loaded.folder)?))
    }

    /// Continues a batch of prompts with the same options: `num_return_sequences` texts of each.
    /// Each is the text that its prompt gives alone.
    /// # Errors
    /// A [`GenerationError`](crate::error::GenerationError).
    pub fn generate_batch<S: AsRef<str>>(
        &self,
        prompts: &[S],
        options: &GenerationOptions,
    ) -> Result<Vec<Vec<Generated>>> {
        let config = self.decoding_config(options)?;
        let options = self.generate_options(ContextOverflow::Error);
        self.run(prompts, &config, &options, &mut |_| Ok(()))
    }

    /// These options over the defaults of `generation_config.json`.
    /// # Errors
    /// A [`GenerationError`](crate::error::GenerationError).
    pub fn decoding_config(&self, options: &GenerationOptions) -> Result<DecodingConfig> {
        let vocab_size = self.decoder().config().vocab_size;
        options.resolve_in(&self.loaded.folder, &self.config, vocab_size)
    }

    /// What [`Generator::run`] needs beside its configuration, without a trace.
    pub fn generate_options(&self, overflow: ContextOverflow) -> GenerateOptions {
        GenerateOptions { bos_token_id: self.config.bos_token_id, overflow, trace: Trace::Off }
    }

    /// Continues prompts and reports text and steps as they appear: [`generate()`] with this model.
    /// # Errors
    /// A [`GenerationError`](crate::error::GenerationError), and every error of `on_event`.
    pub fn run<S: AsRef<str>>(
        &self,
        prompts: &[S],
        config: &DecodingConfig,
        options: &GenerateOptions,
        on_event: OnEvent,
    ) -> Result<Vec<Vec<Generated>>> {
        let model = (self.decoder(), self.loaded.weights());
        generate(model, &self.loaded.tokenizer, prompts, config, options, on_event)
    }

    /// A draft for [`Generator::run_speculatively`] that proposes so many tokens per round: a
    /// smaller model, or without one what followed the same tokens before.
    /// # Errors
    /// [`DraftVocabularySize`](GenerationError::DraftVocabularySize) and
    /// [`DraftToken`](GenerationError::DraftToken) for a model with another vocabulary.
    pub fn speculation<'d>(
        &self,
        draft: Option<&'d Generator>,
        num_tokens: usize,
    ) -> Result<Speculation<'d>> {
        let Some(draft) = draft else {
            return Ok(Speculation { draft: Draft::PromptLookup, num_tokens });
        };
        let [own, other] = [self, draft].map(|of| of.decoder().config().vocab_size);
        if own != other {
            let (draft, vocab_size) = (other, own);
            return Err(GenerationError::DraftVocabularySize { draft, vocab_size }.into());
        }
        let token = |of: &Generator, id| of.loaded.tokenizer.token(id);
        let differs = |id: &u32| token(self, *id) != token(draft, *id);
        if let Some(id) = (0..own as u32).find(differs) {
            let (draft, token) = (token(draft, id), token(self, id));
            return Err(GenerationError::DraftToken { id, draft, token }.into());
        }
        let draft = Draft::Model(draft.decoder(), draft.loaded.weights());
        Ok(Speculation { draft, num_tokens })
    }

    /// The speculation that a caller asked for: a draft model with `num_assistant_tokens`, or
    /// `prompt_lookup_num_tokens`.
    /// # Errors
    /// As [`Generator::speculation`], and for settings that exclude each other.
    pub fn speculation_of<'d>(
        &self,
        draft: Option<&'d Generator>,
        (num_assistant_tokens, prompt_lookup_num_tokens): (Option<usize>, Option<usize>),
    ) -> Result<Option<Speculation<'d>>> {
        match (draft, num_assistant_tokens, prompt_lookup_num_tokens) {
            (None, None, None) => Ok(None),
            (None, Some(_), _) => Err(GenerationError::NoDraft.into()),
            (Some(_), _, Some(_)) => Err(GenerationError::TwoDrafts.into()),
            (Some(draft), tokens, None) => {
                self.speculation(Some(draft), tokens.unwrap_or(DEFAULT_DRAFT_TOKENS)).map(Some)
            }
            (None, None, Some(tokens)) => self.speculation(None, tokens).map(Some),
        }
    }

    /// As [`Generator::run`], with tokens that a draft proposes: the same texts greedily, and texts
    /// of the same distribution by sampling.
    /// # Errors
    /// As [`Generator::run`], and for beam search and traces.
    pub fn run_speculatively<S: AsRef<str>>(
        &self,
        speculation: Speculation,
        prompts: &[S],
        config: &DecodingConfig,
        options: &GenerateOptions,
        on_event: OnEvent,
    ) -> Result<Vec<Vec<Generated>>> {
        let (model, tokenizer) = ((self.decoder(), self.loaded.weights()), &self.loaded.tokenizer);
        generate_speculatively(model, speculation, tokenizer, prompts, config, options, on_event)
    }

    /// Tokenizes and checks a prompt, for a generation that is advanced from outside.
    /// # Errors
    /// As [`Generator::run`].
    pub fn prepare(
        &self,
        prompt: Prompt,
        config: &DecodingConfig,
        options: &GenerateOptions,
    ) -> Result<PreparedGeneration> {
        prompt.prepare(self.decoder(), &self.loaded.tokenizer, config, options)
    }

    fn decoder(&self) -> &Decoder {
        match &self.loaded.model.stack {
            Stack::Decoder(decoder) => decoder,
            _ => unreachable!("checked by load"),
        }
    }

    loaded_accessors!();
}
