//! Text continuation by a language model: tokenize, generate, detokenize piece by piece.

use super::decoding::{DecodingConfig, KvFormat, Strategy};
use super::events::OnEvent;
use super::generation::PreparedGeneration;
use super::speculative::Speculation;
use super::stream::TextStream;
use super::texts::{Detokenization, Generated, Input, NewSession, TextGenerator};
use super::tokens::{Limit, check_vocabulary};
use super::trace::Trace;
use super::{Batch, DecoderSlots, Session};
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
    let prompts: Vec<Prompt> = prompts.iter().map(|text| Prompt::Text(text.as_ref())).collect();
    let prompter = Prompter { model, tokenizer, options, config };
    let open = |capacity| session(model, weights, config.kv_cache_dtype, capacity);
    let generator = prompter.generator(weights, &open, &prompts)?;
    let order: Vec<usize> = (0..generator.inputs.len()).collect();
    generator.run(&order, Some(on_event))
}

/// [`generate()`] with tokens that a draft proposes: the same texts greedily, and texts of the same
/// distribution by sampling.
/// # Errors
/// As [`generate()`], for a draft with another vocabulary, and for beam search and traces.
pub fn generate_speculatively<'a, S: AsRef<str>>(
    (model, weights): (&'a Decoder, impl Into<Weights<'a>>),
    speculation: Speculation<'a>,
    tokenizer: &'a Tokenizer,
    prompts: &[S],
    config: &'a DecodingConfig,
    options: &'a GenerateOptions,
    on_event: OnEvent,
) -> Result<Vec<Vec<Generated>>> {
    speculation.validate(model.config().vocab_size)?;
    if matches!(config.strategy, Strategy::BeamSearch(_)) {
        return Err(GenerationError::SpeculativeBeamSearch.into());
    }
    if options.trace != Trace::Off {
        return Err(GenerationError::SpeculativeTrace.into());
    }
    let weights = weights.into();
    let prompts: Vec<Prompt> = prompts.iter().map(|text| Prompt::Text(text.as_ref())).collect();
    let prompter = Prompter { model, tokenizer, options, config };
    let open = |capacity| session(model, weights, config.kv_cache_dtype, capacity);
    let generator = prompter.generator(weights, &open, &prompts)?;
    let generator = TextGenerator { speculation: Some((model, speculation)), ..generator };
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
            special: 0,
            config: config.clone(),
            trace: options.trace,
            longest: model.config().max_position_embeddings,
        })
    }
}

/// A session without sequences yet, each of at most `capacity` tokens, with keys and values in this
/// format.
fn session<'a>(
    model: &'a Decoder,
    weights: Weights<'a>,
    format: KvFormat,
    capacity: usize,
) -> Box<dyn Session + 'a> {
    let slots = DecoderSlots::new(model, weights, capacity).with_kv_format(format);
    Box::new(Batch::over::<[u32; 0]>(slots, &[]))
}

/// Prompts, and how many tokens may follow them.
struct Prompter<'a> {
    model: &'a Decoder,
    tokenizer: &'a Tokenizer,
    options: &'a GenerateOptions,
    config: &'a DecodingConfig,
}

impl<'a> Prompter<'a> {
    /// What generates the continuations of some prompts.
    fn generator<'g>(
        &self,
        weights: Weights<'g>,
        session: NewSession<'g>,
        prompts: &[Prompt],
    ) -> Result<TextGenerator<'g>>
    where
        'a: 'g,
    {
        self.config.validate(self.model.config().vocab_size)?;
        let ids = |(i, prompt): (usize, &Prompt)| self.prompt_ids(i, *prompt);
        let prompts: Vec<Vec<u32>> = prompts.iter().enumerate().map(ids).collect::<Result<_>>()?;
        let input = |(i, prompt): (usize, Vec<u32>)| {
            let limit = self.limit(i, prompt.len())?;
            let stream = TextStream::new(self.tokenizer, &self.config.stop_strings, &prompt);
            let detokenization = Detokenization::Pieces;
            Ok(Input { source: Vec::new(), prompt, stream, limit, detokenization })
        };
        Ok(TextGenerator {
            session,
            weights,
            config: self.config,
            inputs: prompts.into_iter().enumerate().map(input).collect::<Result<_>>()?,
            overflow: self.options.overflow,
            trace: self.options.trace,
            sequences: BATCH_SIZE,
            speculation: None,
        })
    }

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
