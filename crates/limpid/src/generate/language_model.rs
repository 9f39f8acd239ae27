//! Text continuation by a language model: tokenize, generate, detokenize piece by piece.

use super::beam::beam_search;
use super::decoding::{BeamSearch, DecodingConfig, Strategy};
use super::events::{OnEvent, SingleSequence, TextObserver, text_of};
use super::stream::TextStream;
use super::tokens::{FinishReason, Limit, Sequence, TokenSelection, generate_tokens};
use super::trace::Trace;
use super::{DecoderSession, Hypothesis};
use crate::error::{GenerationError, Result};
use crate::model::Decoder;
use crate::text::Tokenizer;
use limpid_tensor::params::Params;

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

/// A generated continuation.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// Its text, without the prompt.
    pub text: String,
    /// Its tokens, without the end token; those of a stop string are included.
    pub tokens: Vec<u32>,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// Its score in a beam search.
    pub score: Option<f32>,
}

/// Continues each prompt: `num_return_sequences` texts per prompt. `on_event` sees text and steps
/// as they appear.
///
/// # Errors
/// A [`GenerationError`] for a prompt that does not fit or settings that cannot work, and every
/// error of `on_event`.
pub fn generate<S: AsRef<str>>(
    (model, params): (&Decoder, &Params),
    tokenizer: &Tokenizer,
    prompts: &[S],
    config: &DecodingConfig,
    options: &GenerateOptions,
    on_event: OnEvent,
) -> Result<Vec<Vec<Generated>>> {
    config.validate(model.config().vocab_size)?;
    let generator = TextGenerator { model, params, tokenizer, options, config };
    let prompts: Vec<Vec<u32>> = prompts
        .iter()
        .enumerate()
        .map(|(i, text)| generator.prompt_ids(i, text.as_ref()))
        .collect::<Result<_>>()?;
    let limits: Vec<Limit> = prompts
        .iter()
        .enumerate()
        .map(|(i, prompt)| generator.limit(i, prompt.len()))
        .collect::<Result<_>>()?;
    match &config.strategy {
        Strategy::BeamSearch(search) => generator.search(&prompts, &limits, search, on_event),
        Strategy::Greedy => generator.sample(&prompts, &limits, TokenSelection::Greedy, on_event),
        Strategy::Sample(sampling) => {
            let selection = TokenSelection::Sample(&sampling.filter, sampling.seed);
            generator.sample(&prompts, &limits, selection, on_event)
        }
    }
}

struct TextGenerator<'a> {
    model: &'a Decoder,
    params: &'a Params,
    tokenizer: &'a Tokenizer,
    options: &'a GenerateOptions,
    config: &'a DecodingConfig,
}

impl<'a> TextGenerator<'a> {
    /// Greedily or by sampling: batches of all prompts and samples, in order.
    fn sample(
        &self,
        prompts: &[Vec<u32>],
        limits: &[Limit],
        selection: TokenSelection,
        on_event: OnEvent,
    ) -> Result<Vec<Vec<Generated>>> {
        let samples = self.config.num_return_sequences();
        let all: Vec<(usize, usize)> =
            (0..prompts.len()).flat_map(|p| (0..samples).map(move |s| (p, s))).collect();
        let mut generated: Vec<Vec<Generated>> = vec![Vec::new(); prompts.len()];
        for names in all.chunks(BATCH_SIZE) {
            let first = names[0].0;
            let sequence = |(p, s): &(usize, usize)| {
                Sequence::new(&prompts[*p], limits[*p].tokens, p - first)
                    .with_random_stream(&[], *s)
            };
            let mut sequences: Vec<Sequence> = names.iter().map(sequence).collect();
            let mut observer = self.observer(names.to_vec(), prompts, on_event);
            self.sample_batch(&mut sequences, selection, &mut observer)?;
            for (i, sequence) in sequences.iter().enumerate() {
                let reason = sequence.finish_reason.unwrap_or(FinishReason::Context);
                generated[names[i].0].push(Generated {
                    text: observer.finish(i)?,
                    tokens: sequence.new_tokens().to_vec(),
                    finish_reason: limits[names[i].0].finish_reason(reason),
                    score: None,
                });
            }
        }
        Ok(generated)
    }

    fn sample_batch(
        &self,
        sequences: &mut [Sequence],
        selection: TokenSelection,
        observer: &mut TextObserver,
    ) -> Result<()> {
        let (context, processor) =
            (self.model.config().max_position_embeddings, &self.config.processor);
        // A prompt that is too long begins in the middle.
        sequences.iter_mut().for_each(|s| s.slide(context, s.session_index()));
        let count = sequences.iter().map(|s| s.session_index() + 1).max().unwrap_or(0);
        let longest = sequences.iter().map(Sequence::max_length).max().unwrap_or(0);
        let mut session = DecoderSession::new(self.model, self.params, count, longest);
        generate_tokens(&mut session, sequences, selection, processor, observer)?;
        if self.options.overflow == ContextOverflow::Error {
            return Ok(());
        }
        // Those that filled the context, each on its own from here: their windows differ.
        for (i, sequence) in sequences.iter_mut().enumerate() {
            while sequence.finish_reason.is_none() {
                sequence.slide((context / 2).max(1), 0);
                let mut single = SingleSequence { observer, sequence: i };
                let mut session = DecoderSession::new(self.model, self.params, 1, context);
                let one = std::slice::from_mut(sequence);
                generate_tokens(&mut session, one, selection, processor, &mut single)?;
            }
        }
        Ok(())
    }

    fn search(
        &self,
        prompts: &[Vec<u32>],
        limits: &[Limit],
        search: &BeamSearch,
        on_event: OnEvent,
    ) -> Result<Vec<Vec<Generated>>> {
        let mut generated = Vec::new();
        let batch = (BATCH_SIZE / search.num_beams).max(1);
        for first in (0..prompts.len()).step_by(batch) {
            let range = first..(first + batch).min(prompts.len());
            let names = range.clone().map(|p| (p, 0)).collect();
            let (prompts, limits) = (&prompts[range.clone()], &limits[range]);
            let new_tokens: Vec<usize> = limits.iter().map(|limit| limit.tokens).collect();
            let lengths = prompts.iter().zip(&new_tokens).map(|(prompt, new)| prompt.len() + new);
            let capacity = lengths.max().unwrap_or(0);
            let mut session = DecoderSession::new(self.model, self.params, prompts.len(), capacity);
            let mut observer = self.observer(names, prompts, on_event);
            observer.prompts = prompts.to_vec();
            let processor = &self.config.processor;
            let found =
                beam_search(&mut session, prompts, &new_tokens, search, processor, &mut observer)?;
            for ((best, prompt), limit) in found.into_iter().zip(prompts).zip(limits) {
                let outputs = best.into_iter().map(|h| self.hypothesis(h, prompt, *limit));
                generated.push(outputs.collect::<Result<_>>()?);
            }
        }
        Ok(generated)
    }

    fn hypothesis(&self, found: Hypothesis, prompt: &[u32], limit: Limit) -> Result<Generated> {
        let stream = TextStream::new(self.tokenizer, &self.config.stop_strings, prompt);
        Ok(Generated {
            text: text_of(stream, &found.tokens)?,
            tokens: found.tokens,
            finish_reason: limit.finish_reason(found.finish_reason),
            score: Some(found.score),
        })
    }

    fn observer<'f>(
        &self,
        names: Vec<(usize, usize)>,
        prompts: &[Vec<u32>],
        on_event: OnEvent<'f>,
    ) -> TextObserver<'a, 'f> {
        let (tokenizer, stop_strings) = (self.tokenizer, &self.config.stop_strings[..]);
        let stream = |(p, _): &(usize, usize)| {
            let prompt = prompts.get(*p).map_or(&[][..], |prompt| prompt);
            TextStream::new(tokenizer, stop_strings, prompt)
        };
        let streams = names.iter().map(stream).collect();
        let (trace, prompts, error) = (self.options.trace, Vec::new(), None);
        TextObserver { tokenizer, stop_strings, trace, names, prompts, streams, on_event, error }
    }

    /// Whether a text may outgrow the context.
    fn slides(&self) -> bool {
        self.options.overflow == ContextOverflow::Slide
            && !matches!(self.config.strategy, Strategy::BeamSearch(_))
    }

    /// The ids of a prompt, if they are in the vocabulary and fit into the context.
    fn prompt_ids(&self, i: usize, text: &str) -> Result<Vec<u32>> {
        let config = self.model.config();
        let (vocab_size, context) = (config.vocab_size, config.max_position_embeddings);
        let mut ids = self.tokenizer.encode(text)?;
        if ids.is_empty() {
            ids.extend(self.options.bos_token_id);
        }
        if ids.is_empty() {
            return Err(GenerationError::EmptyPrompt { prompt: i }.into());
        }
        if let Some(id) = ids.iter().copied().find(|id| *id as usize >= vocab_size) {
            return Err(GenerationError::TokenizerMismatch { id, vocab_size }.into());
        }
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
