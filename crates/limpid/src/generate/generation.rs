//! A generation that is advanced from outside, a step at a time: a server computes the steps of
//! many together, on the sequences of one [`Slots`](super::Slots).
//!
//! ```text
//! prepare ──▶ begin ──▶ input ──▶ logits of all ──▶ step ──▶ input ──▶ … ──▶ Done
//!   tokenized, checked     ▲ tokens for each sequence  │ which sequences grow on
//! ```
//!
//! The searches are those of [`generate()`](super::generate()) and
//! [`translate_with`](super::translate_with), so the texts are the same.

use super::batching::Running;
use super::beam::{self, Beams};
use super::decoding::{DecodingConfig, KvFormat, Strategy};
use super::events::{OnEvent, Streams, TextObserver};
use super::stream::TextStream;
use super::texts::{Detokenization, Generated, Input};
use super::tokens::{self, Limit, Samples, Sequence, TokenSelection};
use super::trace::Trace;
use super::translate::complete;
use crate::error::Result;
use crate::text::Tokenizer;

/// What a generation can need at most, known before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Tokens of the source of an encoder-decoder.
    pub source: usize,
    /// The first tokens of the decoder.
    pub prompt: usize,
    /// New tokens per sequence.
    pub new_tokens: usize,
    /// Sequences in memory at once: samples or beams.
    pub sequences: usize,
}

impl Cost {
    /// Tokens that are read and generated.
    pub fn tokens(&self) -> usize {
        self.source + self.prompt + self.sequences * self.new_tokens
    }
}

/// A generation that was tokenized and checked, and has not begun.
#[derive(Clone, Debug)]
pub struct PreparedGeneration {
    pub(super) source: Vec<u32>,
    pub(super) prompt: Vec<u32>,
    /// Of a translation: what stands before its new tokens.
    pub(super) prefix: Option<Vec<u32>>,
    /// The number of special tokens of a source: one without others is empty.
    pub(super) special: usize,
    pub(super) limit: Limit,
    pub(super) config: DecodingConfig,
    pub(super) trace: Trace,
    /// Positions of the model.
    pub(super) longest: usize,
}

impl PreparedGeneration {
    /// What it can need.
    pub fn cost(&self) -> Cost {
        let (samples, beams) = self.config.samples_and_beams();
        Cost {
            source: self.source.len(),
            prompt: self.prompt.len(),
            new_tokens: self.limit.tokens,
            sequences: samples * beams,
        }
    }

    /// The format of keys and values that was asked for.
    pub fn kv_format(&self) -> KvFormat {
        self.config.kv_cache_dtype
    }

    /// The first tokens of the decoder.
    pub fn prompt(&self) -> &[u32] {
        &self.prompt
    }

    /// Begins it, with the tokenizer it was prepared with.
    /// # Errors
    /// If the tokenizer cannot decode a prefix.
    pub fn begin(self, tokenizer: &Tokenizer) -> Result<Generation<'_>> {
        let Self { source, prompt, prefix, special, limit, config, trace, longest } = self;
        let stream = match &prefix {
            None => TextStream::new(tokenizer, &config.stop_strings, &prompt),
            Some(prefix) => {
                let mut stream = TextStream::new(tokenizer, &config.stop_strings, &[]);
                stream.push_prefix(prefix)?;
                stream
            }
        };
        let detokenization = match prefix {
            None => Detokenization::Pieces,
            Some(_) => Detokenization::Later,
        };
        let capacity = prompt.len().saturating_add(limit.tokens).min(longest);
        let input = Input { source, prompt, stream, limit, detokenization };
        let search = match &config.strategy {
            Strategy::BeamSearch(_) => {
                let beams = Beams::new(0, &input.prompt, limit.tokens, capacity);
                Searching::Beams(Running::with(beams))
            }
            _ => {
                let (samples, _) = config.samples_and_beams();
                let samples = Samples::new(input.sequences(samples, 0, capacity));
                Searching::Samples(Running::with(samples))
            }
        };
        let streams = Streams::new();
        Ok(Generation {
            tokenizer,
            input,
            prefix,
            special,
            config,
            trace,
            capacity,
            search,
            streams,
        })
    }
}

/// A generation whose steps are computed elsewhere.
pub struct Generation<'a> {
    tokenizer: &'a Tokenizer,
    input: Input<'a>,
    prefix: Option<Vec<u32>>,
    special: usize,
    config: DecodingConfig,
    trace: Trace,
    capacity: usize,
    search: Searching,
    streams: Streams<'a>,
}

enum Searching {
    Samples(Running<Samples<Sequence>>),
    Beams(Running<Beams>),
}

/// What a step leaves.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// These sequences grow on, by their numbers before: one may be there twice, or not at all.
    Running(Vec<usize>),
    /// The texts: nothing follows.
    Done(Vec<Generated>),
}

impl Generation<'_> {
    /// The tokens that an encoder-decoder encodes; none for a decoder.
    pub fn source(&self) -> &[u32] {
        &self.input.source
    }

    /// The tokens that each of its sequences is to be given: at first one sequence, with the
    /// prompt.
    pub fn input(&self) -> &[Vec<u32>] {
        match &self.search {
            Searching::Samples(running) => running.input(),
            Searching::Beams(running) => running.input(),
        }
    }

    /// Takes the logits after [`Generation::input`], a row of v for each sequence, which are
    /// overwritten. Text and steps are reported to `on_event`, if it is given.
    /// # Errors
    /// A [`GenerationError`](crate::error::GenerationError), and every error of `on_event`.
    /// # Panics
    /// If there are not as many rows as sequences.
    pub fn step(
        &mut self,
        logits: &mut [f32],
        v: usize,
        on_event: Option<OnEvent>,
    ) -> Result<Progress> {
        if self.prefix.is_some() && self.input.source.len() <= self.special {
            // Nothing but special tokens: the translation of an empty text is empty.
            return self.done(Vec::new());
        }
        let (samples, _) = self.config.samples_and_beams();
        let inputs = std::slice::from_ref(&self.input);
        let mut observer = TextObserver::new(inputs, samples, self.trace, on_event);
        observer.streams = std::mem::take(&mut self.streams);
        let processor = &self.config.processor;
        let (rows, found) = match (&mut self.search, &self.config.strategy) {
            (Searching::Beams(running), Strategy::BeamSearch(config)) => {
                let settings = beam::Settings { config, processor };
                let (rows, mut ended) = running.take(settings, logits, v, &mut observer)?;
                let best = ended.pop().map(|beams| beams.into_best(config));
                (rows, best.map(|best| self.input.hypotheses(best)).transpose()?)
            }
            (Searching::Samples(running), strategy) => {
                let selection = match strategy {
                    Strategy::Sample(sampling) => {
                        TokenSelection::Sample(&sampling.filter, sampling.seed)
                    }
                    _ => TokenSelection::Greedy,
                };
                let settings = tokens::Settings { selection, processor, capacity: self.capacity };
                let (rows, mut ended) = running.take(settings, logits, v, &mut observer)?;
                let generated = ended.pop().map(|group| {
                    let text = |(number, sequence): &(usize, Sequence)| {
                        self.input.generated(*number, sequence, &mut observer)
                    };
                    group.sequences.iter().map(text).collect::<Result<Vec<Generated>>>()
                });
                (rows, generated.transpose()?)
            }
            _ => unreachable!("a search is of the strategy it was begun with"),
        };
        self.streams = std::mem::take(&mut observer.streams);
        match found {
            Some(found) => self.done(found),
            None => Ok(Progress::Running(rows)),
        }
    }

    fn done(&self, mut found: Vec<Generated>) -> Result<Progress> {
        if let Some(prefix) = &self.prefix {
            complete(&mut found, self.tokenizer, prefix, &self.config)?;
        }
        Ok(Progress::Done(found))
    }
}
