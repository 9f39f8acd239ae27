//! Text continuation by a language model: tokenize, generate, detokenize piece by piece.

use super::decoding::{DecodingConfig, Strategy};
use super::events::OnEvent;
use super::generation::PreparedGeneration;
use super::session::DecoderSession;
use super::stream::TextStream;
use super::texts::{Detokenization, Generated, Input, TextGenerator};
use super::tokens::{Limit, check_vocabulary};
use super::trace::Trace;
use crate::error::{GenerationError, Result};
use crate::model::Decoder;
use crate::text::Tokenizer;
use limpid_tensor::packed_weights::Weights;

/// Sequences per batch.
const BATCH_SIZE: usize = 32;

/// New tokens if neither the caller nor the model's files say how many.
const DEFAULT_NEW_TOKENS: usize = 100;

/// What happens to a text that outgrows the model's context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContextOverflow {
    /// A prompt that does not fit is an error, and so are more new tokens than fit after it.
    #[default]
    Error,
    /// Whenever the context is full, its last half becomes the prompt of the rest. Beam search
    /// cannot slide.
    Slide,
}

/// What the continuation of a text needs beside its [`DecodingConfig`].
#[derive(Clone, Copy, Debug)]
pub struct GenerateOptions {
    /// The token that an empty prompt stands for.
    pub bos_token_id: Option<u32>,
    /// What happens to a text that outgrows the context.
    pub overflow: ContextOverflow,
    /// How much of each step is reported.
    pub trace: Trace,
}

/// Continues each prompt: `num_return_sequences` texts per prompt. `on_event` sees text and steps
/// as they appear.
/// # Errors
/// A [`GenerationError`] for a prompt that does not fit or settings that cannot work, and every
/// error of `on_event`.
pub fn generate<'a, S: AsRef<str>>(
    (model, weights): (&'a Decoder, impl Into<Weights<'a>>),
    tokenizer: &Tokenizer,
    prompts: &[S],
    config: &DecodingConfig,
    options: &GenerateOptions,
    on_event: OnEvent,
) -> Result<Vec<Vec<Generated>>> {
    let weights = weights.into();
    config.validate(model.config().vocab_size)?;
    let prompter = Prompter { model, tokenizer, options, config };
    let input = |(i, text): (usize, &S)| {
        let prompt = prompter.prompt_ids(i, Prompt::Text(text.as_ref()))?;
        let limit = prompter.limit(i, prompt.len())?;
        let stream = TextStream::new(tokenizer, &config.stop_strings, &prompt);
        let detokenization = Detokenization::Pieces;
        Ok(Input { source: Vec::new(), prompt, stream, limit, detokenization })
    };
    let inputs: Vec<Input> = prompts.iter().enumerate().map(input).collect::<Result<_>>()?;
    let generator = TextGenerator {
        session: &|capacity| Box::new(DecoderSession::new(model, weights, 0, capacity)),
        weights,
        config,
        inputs,
        overflow: options.overflow,
        trace: options.trace,
        sequences: BATCH_SIZE,
    };
    let order: Vec<usize> = (0..generator.inputs.len()).collect();
    generator.run(&order, Some(on_event))
}

/// A prompt of a language model.
#[derive(Clone, Copy, Debug)]
pub enum Prompt<'a> {
    /// Text, to be tokenized.
    Text(&'a str),
    /// Token ids.
    Tokens(&'a [u32]),
}

impl Prompt<'_> {
    /// Tokenizes and checks it, for a generation that is advanced from outside. A text may not
    /// outgrow the context.
    /// # Errors
    /// As [`generate()`].
    pub fn prepare(
        self,
        model: &Decoder,
        tokenizer: &Tokenizer,
        config: &DecodingConfig,
        options: &GenerateOptions,
    ) -> Result<PreparedGeneration> {
        config.validate(model.config().vocab_size)?;
        let options = &GenerateOptions { overflow: ContextOverflow::Error, ..*options };
        let prompter = Prompter { model, tokenizer, options, config };
        let prompt = prompter.prompt_ids(0, self)?;
        Ok(PreparedGeneration {
            source: Vec::new(),
            limit: prompter.limit(0, prompt.len())?,
            prompt,
            prefix: None,
            config: config.clone(),
            trace: options.trace,
            longest: model.config().max_position_embeddings,
        })
    }
}

/// Prompts, and how many tokens may follow them.
struct Prompter<'a> {
    model: &'a Decoder,
    tokenizer: &'a Tokenizer,
    options: &'a GenerateOptions,
    config: &'a DecodingConfig,
}

impl Prompter<'_> {
    /// Whether a text may outgrow the context.
    fn slides(&self) -> bool {
        self.options.overflow == ContextOverflow::Slide
            && !matches!(self.config.strategy, Strategy::BeamSearch(_))
    }

    /// The ids of a prompt, if they are in the vocabulary and fit into the context.
    fn prompt_ids(&self, i: usize, prompt: Prompt) -> Result<Vec<u32>> {
        let config = self.model.config();
        let context = config.max_position_embeddings;
        let mut ids = match prompt {
            Prompt::Text(text) => self.tokenizer.encode(text)?,
            Prompt::Tokens(ids) => ids.to_vec(),
        };
        if ids.is_empty() {
            ids.extend(self.options.bos_token_id);
        }
        if ids.is_empty() {
            return Err(GenerationError::EmptyPrompt { prompt: i }.into());
        }
        check_vocabulary(&ids, config.vocab_size)?;
        if ids.len() > context && !self.slides() {
            let tokens = ids.len();
            return Err(GenerationError::PromptTooLong { prompt: i, tokens, context }.into());
        }
        Ok(ids)
    }

    /// How many tokens may follow a prompt of `prompt` tokens.
    fn limit(&self, i: usize, prompt: usize) -> Result<Limit> {
        let (processor, length) = (&self.config.processor, &self.config.length);
        let context = self.model.config().max_position_embeddings;
        // The last token needs no position: nothing follows it.
        let available = (context + 1).saturating_sub(prompt);
        processor.check_length(length.max_new_tokens)?;
        // A minimum that does not fit is asked for, too.
        let least = Some(processor.min_new_tokens).filter(|least| *least > available);
        if let Some(new_tokens) = length.max_new_tokens.or(least) {
            if new_tokens > available && !self.slides() {
                return Err(GenerationError::ContextExceeded {
                    prompt: i,
                    tokens: prompt,
                    new_tokens,
                    context,
                    beam_search: matches!(self.config.strategy, Strategy::BeamSearch(_)),
                }
                .into());
            }
            return Ok(Limit::requested(new_tokens, new_tokens));
        }
        // With a sliding window, `max_length` would count tokens that are gone.
        let max_length = length.default_max_length.filter(|_| !self.slides());
        let new_tokens = length.default_max_new_tokens;
        if let (None, Some(max_length)) = (new_tokens, max_length.filter(|l| *l <= prompt)) {
            let tokens = prompt;
            return Err(GenerationError::MaxLengthReached { prompt: i, tokens, max_length }.into());
        }
        let after_prompt = max_length.map(|length| length.saturating_sub(prompt));
        let new_tokens = new_tokens.or(after_prompt).unwrap_or(DEFAULT_NEW_TOKENS);
        let new_tokens = new_tokens.max(processor.min_new_tokens);
        Ok(match self.slides() {
            true => Limit::requested(new_tokens, new_tokens),
            false => Limit::by_default(new_tokens, available),
        })
    }
}
