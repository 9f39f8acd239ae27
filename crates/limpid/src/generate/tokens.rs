//! Autoregressive generation token by token, greedily or by sampling: one loop for every model.
//!
//! ```text
//! logits of the last position  →  logits processors  →  greedy: the largest
//!                                     sampling: temperature, top-k, top-p  →  softmax  →  u
//! ```
//!
//! **Sampling.** The probabilities that are left are summed up in the order of the token ids, and
//! the first token whose sum exceeds u is selected ([`sampling::sample_categorical`]). u is number
//! `step` of a random stream (Philox, see [`limpid_tensor::rng`]): the seed is the setting's, the
//! stream a hash of the prompt and the number of the sample ([`Sequence::with_random_stream`]),
//! `step` counts new tokens from 0. So a sample depends on seed, prompt and its number alone: not
//! on what else is in the batch, and not on when.

use super::Session;
use super::batching::{Running, Search};
use super::logits_processor::{LogitsProcessor, ProcessorInput, check_logits};
use super::sampling::{self, SamplingFilter, probabilities};
use super::trace::{NoObserver, Observer, Step, Trace, candidates};
use crate::error::{GenerationError, Result};
use limpid_tensor::rng::{number, unit};
use std::borrow::BorrowMut;

/// Why a sequence ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// An end token was generated.
    EosToken,
    /// A stop string was generated.
    StopString,
    /// It has as many new tokens as were asked for.
    Length,
    /// The model has no position for another token.
    Context,
}

impl FinishReason {
    /// As JSON has it.
    pub fn name(self) -> &'static str {
        match self {
            FinishReason::EosToken => "eos_token",
            FinishReason::StopString => "stop_string",
            FinishReason::Length => "length",
            FinishReason::Context => "context",
        }
    }
}

/// The largest number of new tokens of a sequence, and the reason that it ends with when it gets
/// there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub tokens: usize,
    reason: FinishReason,
}

impl Limit {
    /// A number that was asked for, as far as the context allows.
    pub fn requested(tokens: usize, available: usize) -> Self {
        let reason = if tokens <= available { FinishReason::Length } else { FinishReason::Context };
        Self { tokens: tokens.min(available), reason }
    }

    /// A default, as far as the context allows. One fewer than available counts as all of it: so
    /// `max_length` counts, which is often the context.
    pub fn by_default(tokens: usize, available: usize) -> Self {
        let fits = tokens.saturating_add(1) < available;
        let reason = if fits { FinishReason::Length } else { FinishReason::Context };
        Self { tokens: tokens.min(available), reason }
    }

    /// Why a sequence ended: [`FinishReason::Length`] only if this length was asked for.
    pub fn finish_reason(self, reason: FinishReason) -> FinishReason {
        if reason == FinishReason::Length { self.reason } else { reason }
    }
}

/// A sequence that is being generated.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// The prompt and the new tokens, without an end token.
    pub tokens: Vec<u32>,
    /// Why it ended; `None` while it has not.
    pub finish_reason: Option<FinishReason>,
    prompt: usize,
    max_new_tokens: usize,
    stream: u64,
    /// The first token that the session knows; earlier ones slid out of the context.
    first: usize,
    session_index: usize,
}

impl Sequence {
    /// A sequence that begins with `prompt` (not empty), grows by at most `max_new_tokens`, and
    /// continues sequence `session_index` of a session.
    pub fn new(prompt: &[u32], max_new_tokens: usize, session_index: usize) -> Self {
        let tokens = prompt.to_vec();
        let prompt = tokens.len();
        let (finish_reason, stream, first) = (None, 0, 0);
        Self { tokens, finish_reason, prompt, max_new_tokens, stream, first, session_index }
    }

    /// The same with a random stream of its own: that of the tokens of `source` (for an
    /// encoder-decoder), its prompt and the number of the sample.
    pub fn with_random_stream(mut self, source: &[u32], sample: usize) -> Self {
        // FNV-1a over the ids; a separator, so that source and prompt cannot be confused.
        let numbers = source.iter().chain([&u32::MAX]).chain(&self.tokens).copied();
        let samples = [sample as u32, (sample as u64 >> 32) as u32];
        let bytes = numbers.chain(samples).flat_map(u32::to_le_bytes);
        self.stream = bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        self
    }

    /// The same with these tokens after its prompt, as if it had generated them: they count as new,
    /// and the random numbers of the steps after them are the same.
    pub fn continued(mut self, new_tokens: &[u32]) -> Self {
        self.tokens.extend_from_slice(new_tokens);
        self
    }

    /// The tokens after the prompt.
    pub fn new_tokens(&self) -> &[u32] {
        &self.tokens[self.prompt..]
    }

    /// Continues in a fresh session as its sequence `session_index`, from the last `window` tokens.
    pub fn slide(&mut self, window: usize, session_index: usize) {
        self.first = self.tokens.len().saturating_sub(window);
        self.session_index = session_index;
    }

    /// The tokens that a fresh session has to be given.
    pub fn window(&self) -> &[u32] {
        &self.tokens[self.first..]
    }

    fn is_full(&self) -> bool {
        self.new_tokens().len() >= self.max_new_tokens
    }

    /// How many tokens may follow.
    pub(super) fn remaining(&self) -> usize {
        self.max_new_tokens.saturating_sub(self.new_tokens().len())
    }

    /// Its random stream.
    pub(super) fn stream(&self) -> u64 {
        self.stream
    }

    /// Ends a sequence that has all its tokens; whether it did.
    pub(super) fn end_if_full(&mut self) -> bool {
        if self.is_full() {
            self.finish_reason = Some(FinishReason::Length);
        }
        self.is_full()
    }

    /// Appends the token that was selected for sequence `i`.
    pub(super) fn grow(
        &mut self,
        i: usize,
        token: u32,
        Settings { processor, capacity, .. }: Settings,
        observer: &mut impl Observer,
    ) -> Result<Growth> {
        if processor.eos_token_ids.contains(&token) {
            self.finish_reason = Some(FinishReason::EosToken);
            return Ok(Growth::Over);
        }
        self.tokens.push(token);
        if observer.on_token(i, token)?.is_break() {
            self.finish_reason = Some(FinishReason::StopString);
            return Ok(Growth::Over);
        }
        Ok(match self.end_if_full() || self.window().len() > capacity {
            true => Growth::Over,
            false => Growth::Possible,
        })
    }
}

/// Whether a sequence grows on: it has not ended, and the session has a position for its last
/// token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    Possible,
    Over,
}

/// How a token is selected from one row of logits.
#[derive(Clone, Copy, Debug)]
pub enum TokenSelection<'a> {
    /// The largest.
    Greedy,
    /// A sample with this seed from what the filter leaves.
    Sample(&'a SamplingFilter, u64),
}

/// Generates until every sequence has ended, or fills the session (then its `finish_reason` is
/// `None`: [`Sequence::slide`] and call this again, or leave it).
///
/// The session is fresh. Sequences with the same prompt share one sequence of it, and the prompt is
/// computed once.
/// # Errors
/// If the model answers with NaN, the logits processors exclude every token, or the observer fails.
pub fn generate_tokens(
    session: &mut (impl Session + ?Sized),
    sequences: &mut [Sequence],
    selection: TokenSelection,
    processor: &LogitsProcessor,
    observer: &mut impl Observer,
) -> Result<()> {
    let count = sequences.iter().map(|s| s.session_index + 1).max().unwrap_or(0);
    let mut groups: Vec<Vec<(usize, &mut Sequence)>> = (0..count).map(|_| Vec::new()).collect();
    for (i, sequence) in sequences.iter_mut().enumerate() {
        groups[sequence.session_index].push((i, sequence));
    }
    let mut running = Running::new();
    let settings = Settings { selection, processor, capacity: session.capacity() };
    groups.into_iter().for_each(|group| running.add(Samples::new(group)));
    running.finish(settings, session, observer)?;
    Ok(())
}

/// How the tokens of a sequence are selected, and how many it may have.
#[derive(Clone, Copy)]
pub(super) struct Settings<'a> {
    pub selection: TokenSelection<'a>,
    pub processor: &'a LogitsProcessor,
    /// Of the session.
    pub capacity: usize,
}

/// Sequences with the same prompt, each with the number that the observer knows it by.
pub(super) struct Samples<S> {
    pub sequences: Vec<(usize, S)>,
    prompt: Vec<u32>,
    /// Which sequences grow, and which row of logits each reads next.
    live: Vec<(usize, usize)>,
}

impl<S: BorrowMut<Sequence>> Samples<S> {
    pub fn new(mut sequences: Vec<(usize, S)>) -> Self {
        let (mut prompt, mut live) = (Vec::new(), Vec::new());
        for (at, (_, sequence)) in sequences.iter_mut().enumerate() {
            let sequence: &mut Sequence = sequence.borrow_mut();
            prompt = sequence.window().to_vec();
            if !sequence.end_if_full() {
                live.push((at, 0));
            }
        }
        Self { sequences, prompt, live }
    }
}

impl<S: BorrowMut<Sequence>> Search for Samples<S> {
    type Settings<'s> = Settings<'s>;

    fn prompt(&self) -> &[u32] {
        &self.prompt
    }

    fn is_running(&self) -> bool {
        !self.live.is_empty()
    }

    fn step(
        &mut self,
        settings: Settings<'_>,
        logits: &mut [f32],
        v: usize,
        observer: &mut impl Observer,
    ) -> Result<Vec<(usize, u32)>> {
        let mut next = Vec::with_capacity(self.live.len());
        let mut live = Vec::with_capacity(self.live.len());
        // Those with the same prompt read one row at first.
        let shared = self.live.len() > logits.len() / v;
        for (at, row) in std::mem::take(&mut self.live) {
            let (i, sequence) = &mut self.sequences[at];
            let (i, sequence): (usize, &mut Sequence) = (*i, sequence.borrow_mut());
            let scores = &mut logits[row * v..][..v];
            let token = match shared {
                true => select(i, sequence, &mut scores.to_vec(), settings, observer)?,
                false => select(i, sequence, scores, settings, observer)?,
            };
            if sequence.grow(i, token, settings, observer)? == Growth::Possible {
                live.push((at, next.len()));
                next.push((row, token));
            }
        }
        self.live = live;
        Ok(next)
    }
}

/// Continues prompt i until the end token `eos`, by at most `max_new_tokens[i]` tokens, or until
/// the session is full. Gives the new tokens, without `eos`. Tokens in `excluded` are never
/// selected.
///
/// A sequence does not depend on the others: one that has ended leaves the batch.
/// # Errors
/// If the model answers with NaN, or `excluded` leaves no token.
pub fn greedy(
    session: &mut (impl Session + ?Sized),
    prompts: &[Vec<u32>],
    eos: Option<u32>,
    excluded: &[u32],
    max_new_tokens: &[usize],
) -> Result<Vec<Vec<u32>>> {
    let processor = LogitsProcessor {
        eos_token_ids: eos.into_iter().collect(),
        bad_words_ids: excluded.iter().map(|token| vec![*token]).collect(),
        ..LogitsProcessor::default()
    };
    let mut sequences: Vec<Sequence> = prompts
        .iter()
        .zip(max_new_tokens)
        .enumerate()
        .map(|(i, (prompt, max_new_tokens))| Sequence::new(prompt, *max_new_tokens, i))
        .collect();
    let selection = TokenSelection::Greedy;
    generate_tokens(session, &mut sequences, selection, &processor, &mut NoObserver)?;
    Ok(sequences.iter().map(|sequence| sequence.new_tokens().to_vec()).collect())
}

/// Checks that the tokenizer gives no id that the model does not have.
pub(super) fn check_vocabulary(ids: &[u32], vocab_size: usize) -> Result<()> {
    match ids.iter().copied().find(|id| *id as usize >= vocab_size) {
        None => Ok(()),
        Some(id) => Err(GenerationError::TokenizerMismatch { id, vocab_size }.into()),
    }
}

/// The next token of sequence `i`, from its row of logits, which is overwritten.
fn select(
    i: usize,
    sequence: &Sequence,
    scores: &mut [f32],
    Settings { selection, processor, .. }: Settings,
    observer: &mut impl Observer,
) -> Result<u32> {
    let step = sequence.new_tokens().len();
    let max_new_tokens = sequence.max_new_tokens;
    let trace = observer.trace();
    let copy = |row: &[f32]| if trace == Trace::Off { Vec::new() } else { row.to_vec() };
    let logits = copy(scores);
    let input = ProcessorInput { tokens: &sequence.tokens, new_tokens: step, max_new_tokens };
    processor.apply(scores, input);
    let best = check_logits(scores, step)?;
    let processed = copy(scores);
    let (u, chosen, filter) = match selection {
        TokenSelection::Greedy => (None, best, None),
        TokenSelection::Sample(filter, seed) => {
            let u = unit(number(seed, sequence.stream, step as u64));
            (Some(u), filter.sample(scores, best, u), Some(filter))
        }
    };
    if trace != Trace::Off {
        let mut filtered = processed.clone();
        match filter {
            Some(filter) => filter.apply(&mut filtered),
            // Greedy search leaves one candidate.
            None => sampling::temperature(&mut filtered, 0.0),
        }
        let filtered = probabilities(&filtered);
        let (candidates, omitted) = candidates(&logits, &processed, &filtered, trace);
        let chosen = chosen as u32;
        observer.on_step(Step { step, sequence: i, u, chosen, candidates, omitted })?;
    }
    Ok(chosen as u32)
}
