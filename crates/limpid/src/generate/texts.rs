//! From tokenized inputs to texts, in batches that are filled again as texts end: one path for
//! decoders and encoder-decoders.

use super::batching::{Running, Search};
use super::beam::{self, Beams};
use super::decoding::{DecodingConfig, Strategy};
use super::events::{OnEvent, TextObserver};
use super::language_model::ContextOverflow;
use super::speculative::{Speculation, Speculator};
use super::stream::TextStream;
use super::tokens::{self, FinishReason, Limit, Samples, Sequence, TokenSelection};
use super::trace::Trace;
use super::{Hypothesis, Session};
use crate::error::{Error, Result};
use crate::model::Decoder;
use limpid_tensor::packed_weights::{PackedWeights, Weights};
use limpid_tensor::team;
use std::sync::{Mutex, MutexGuard};

/// A generated text.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// Its text: a continuation without its prompt, a translation with its prefix.
    pub text: String,
    /// Its tokens, without the end token; those of a stop string are included.
    pub tokens: Vec<u32>,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// Its score in a beam search.
    pub score: Option<f32>,
}

/// What texts are generated from.
pub(super) struct Input<'a> {
    /// The tokens that an encoder-decoder encodes; none for a decoder.
    pub source: Vec<u32>,
    /// The first tokens of the decoder.
    pub prompt: Vec<u32>,
    /// The text before the first new token.
    pub stream: TextStream<'a>,
    /// The largest number of new tokens.
    pub limit: Limit,
    /// How its text is found when nobody reads along.
    pub detokenization: Detokenization,
}

/// How the text of a finished sequence is found, if it was not read piece by piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detokenization {
    /// Piece by piece, as a reader would have seen it.
    Pieces,
    /// Later, from all of its tokens: it is left empty.
    Later,
}

impl Input<'_> {
    /// The text with these new tokens.
    pub fn text_after(&self, new_tokens: &[u32]) -> Result<String> {
        match self.detokenization {
            Detokenization::Later if !self.stream.may_stop() => Ok(String::new()),
            _ => self.stream.clone().text_after(new_tokens),
        }
    }

    /// Its sequences, greedily or by sampling, numbered from `first`.
    pub fn sequences(
        &self,
        samples: usize,
        first: usize,
        capacity: usize,
    ) -> Vec<(usize, Sequence)> {
        let Input { source, prompt, limit, .. } = self;
        let sequence = |sample: usize| {
            let mut sequence =
                Sequence::new(prompt, limit.tokens, 0).with_random_stream(source, sample);
            // A prompt that is too long begins in the middle.
            sequence.slide(capacity, 0);
            (first + sample, sequence)
        };
        (0..samples).map(sequence).collect()
    }

    /// The text of a sequence that has ended.
    pub fn generated(
        &self,
        number: usize,
        sequence: &Sequence,
        observer: &mut TextObserver,
    ) -> Result<Generated> {
        let reason = sequence.finish_reason.unwrap_or(FinishReason::Context);
        Ok(Generated {
            text: observer.finish(number, sequence.new_tokens())?,
            tokens: sequence.new_tokens().to_vec(),
            finish_reason: self.limit.finish_reason(reason),
            score: None,
        })
    }

    /// The texts that a beam search found.
    pub fn hypotheses(&self, found: Vec<Hypothesis>) -> Result<Vec<Generated>> {
        let text = |found: Hypothesis| {
            Ok(Generated {
                text: self.text_after(&found.tokens)?,
                tokens: found.tokens,
                finish_reason: self.limit.finish_reason(found.finish_reason),
                score: Some(found.score),
            })
        };
        found.into_iter().map(text).collect()
    }
}

/// A sequence: the index of its input, and which of its samples it is.
pub(super) type Name = (usize, usize);

/// A session of a model without sequences yet, each of at most so many tokens.
pub(super) type NewSession<'a> = &'a (dyn Fn(usize) -> Box<dyn Session + 'a> + Sync);

/// Bytes of weights up to which each core generates texts of its own: every core reads all weights,
/// which it finds in the caches. Larger ones come from memory, and are read once for all texts.
const CACHED_WEIGHTS: usize = 128 << 20;

/// Inputs that outweigh the cost of packing the weights for them.
const WORTH_PACKING: usize = 16;

/// Where to pack weights, if they are not packed yet and it is worth while for so many inputs.
pub(super) fn packed_for(weights: Weights, inputs: usize) -> Option<PackedWeights> {
    let small = 4 * weights.params.count() <= CACHED_WEIGHTS;
    (weights.packed.is_none() && small && inputs >= WORTH_PACKING)
        .then(|| PackedWeights::new(weights.params))
}

/// Generates texts of some inputs with a model.
pub(super) struct TextGenerator<'a> {
    pub session: NewSession<'a>,
    pub weights: Weights<'a>,
    pub config: &'a DecodingConfig,
    pub inputs: Vec<Input<'a>>,
    pub overflow: ContextOverflow,
    pub trace: Trace,
    /// The largest number of sequences in a batch.
    pub sequences: usize,
    /// Generates texts one after another, each speculatively.
    pub speculation: Option<(&'a Decoder, Speculation<'a>)>,
}

/// The inputs that no worker has taken yet, and the texts that are there.
struct Work<'a> {
    order: &'a [usize],
    next: usize,
    generated: Vec<Vec<Generated>>,
    failed: Option<Error>,
}

impl TextGenerator<'_> {
    /// Generates the texts of each input, begun in this order; those of an input that is not in it
    /// are none. Without a listener, and with small weights, every core has a batch of its own.
    pub fn run(&self, order: &[usize], on_event: Option<OnEvent>) -> Result<Vec<Vec<Generated>>> {
        if let Some((model, speculation)) = self.speculation {
            return self.speculate(model, speculation, order, on_event);
        }
        let generated = vec![Vec::new(); self.inputs.len()];
        let work = Mutex::new(Work { order, next: 0, generated, failed: None });
        let cached = 4 * self.weights.params.count() <= CACHED_WEIGHTS;
        match on_event {
            None if cached && order.len() > 1 => {
                let workers = team::threads().min(order.len());
                // An even share each, so that no core waits for the last batch of another.
                let share = self.sequences.min(self.per_input() * order.len().div_ceil(workers));
                team::run(workers, |_| {
                    if let Err(error) = self.work(&work, share, None) {
                        lock(&work).failed.get_or_insert(error);
                    }
                });
            }
            on_event => self.work(&work, self.sequences, on_event)?,
        }
        let Work { generated, failed, .. } = work.into_inner().unwrap_or_else(|p| p.into_inner());
        failed.map_or(Ok(generated), Err)
    }

    /// Sequences of an input.
    fn per_input(&self) -> usize {
        let (samples, beams) = self.config.samples_and_beams();
        samples * beams
    }

    /// Takes inputs and generates their texts, until none is left.
    fn work(&self, work: &Mutex<Work>, sequences: usize, on_event: Option<OnEvent>) -> Result<()> {
        let lengths =
            self.inputs.iter().map(|input| input.prompt.len().saturating_add(input.limit.tokens));
        let mut session = (self.session)(lengths.max().unwrap_or(0));
        let (samples, _) = self.config.samples_and_beams();
        let mut observer = TextObserver::new(&self.inputs, samples, self.trace, on_event);
        let capacity = session.capacity();
        match &self.config.strategy {
            Strategy::BeamSearch(config) => {
                let processor = &self.config.processor;
                let settings = beam::Settings { config, processor };
                let search = |i: usize| {
                    let Input { prompt, limit, .. } = &self.inputs[i];
                    Beams::new(i, prompt, limit.tokens, capacity)
                };
                let batch = (settings, sequences);
                self.batch(work, batch, &mut *session, &mut observer, search, |beams, _| {
                    let (i, found) = (beams.number, beams.into_best(config));
                    Ok((i, self.inputs[i].hypotheses(found)?))
                })
            }
            _ => {
                let settings = self.settings(capacity);
                let search = |i: usize| Samples::new(self.samples(i, capacity));
                let batch = (settings, sequences);
                self.batch(work, batch, &mut *session, &mut observer, search, |group, o| {
                    self.sampled(group.sequences, settings, o)
                })
            }
        }
    }

    /// How tokens are selected where there are no beams.
    fn settings(&self, capacity: usize) -> tokens::Settings<'_> {
        let selection = match &self.config.strategy {
            Strategy::Sample(sampling) => TokenSelection::Sample(&sampling.filter, sampling.seed),
            _ => TokenSelection::Greedy,
        };
        tokens::Settings { selection, processor: &self.config.processor, capacity }
    }

    /// Generates the texts of each input in this order, one after another.
    fn speculate(
        &self,
        model: &Decoder,
        speculation: Speculation,
        order: &[usize],
        on_event: Option<OnEvent>,
    ) -> Result<Vec<Vec<Generated>>> {
        let (samples, _) = self.config.samples_and_beams();
        let mut observer = TextObserver::new(&self.inputs, samples, self.trace, on_event);
        let mut generated = vec![Vec::new(); self.inputs.len()];
        let model = (model, self.weights, self.config.kv_cache_dtype);
        for i in order {
            let input = &self.inputs[*i];
            let Input { prompt, limit, .. } = input;
            let length = prompt.len().saturating_add(limit.tokens);
            let capacity = Speculator::new(model, speculation, length).capacity();
            for (number, mut sequence) in self.samples(*i, capacity) {
                let mut speculator = Speculator::new(model, speculation, length);
                let settings = self.settings(capacity);
                speculator.run(number, &mut sequence, settings, &mut observer)?;
                while self.overflow == ContextOverflow::Slide && sequence.finish_reason.is_none() {
                    let mut speculator = Speculator::new(model, speculation, usize::MAX);
                    sequence.slide((speculator.capacity() / 2).max(1), 0);
                    let settings = self.settings(speculator.capacity());
                    speculator.run(number, &mut sequence, settings, &mut observer)?;
                }
                generated[*i].push(input.generated(number, &sequence, &mut observer)?);
            }
        }
        Ok(generated)
    }

    /// The sequences of an input, greedily or by sampling.
    fn samples(&self, i: usize, capacity: usize) -> Vec<(usize, Sequence)> {
        let (samples, _) = self.config.samples_and_beams();
        self.inputs[i].sequences(samples, i * samples, capacity)
    }

    /// Runs searches, and fills the batch again when a quarter of it is free.
    fn batch<'i, 'a, 'o, S: Search>(
        &self,
        work: &Mutex<Work>,
        (settings, sequences): (S::Settings<'_>, usize),
        session: &mut dyn Session,
        observer: &mut TextObserver<'i, 'a, 'o>,
        search: impl Fn(usize) -> S,
        finish: impl Fn(S, &mut TextObserver<'i, 'a, 'o>) -> Result<(usize, Vec<Generated>)>,
    ) -> Result<()> {
        let mut running = Running::new();
        loop {
            let free = sequences.saturating_sub(running.sequences()) / self.per_input();
            if running.sequences() == 0 || 4 * free * self.per_input() >= sequences {
                let new = lock(work).take(free.max(usize::from(running.sequences() == 0)));
                let sources: Vec<&[u32]> =
                    new.iter().map(|i| self.inputs[*i].source.as_slice()).collect();
                session.join(&sources);
                new.into_iter().for_each(|i| running.add(search(i)));
            }
            if running.sequences() == 0 {
                return Ok(());
            }
            for ended in running.step(settings, session, observer)? {
                let (i, texts) = finish(ended, observer)?;
                lock(work).generated[i] = texts;
            }
        }
    }

    /// The texts of sequences that have ended; one that filled the context goes on by itself if it
    /// may slide.
    fn sampled(
        &self,
        sequences: Vec<(usize, Sequence)>,
        settings: tokens::Settings,
        observer: &mut TextObserver,
    ) -> Result<(usize, Vec<Generated>)> {
        let (samples, _) = self.config.samples_and_beams();
        let mut texts = Vec::with_capacity(sequences.len());
        let mut input = 0;
        for (number, mut sequence) in sequences {
            input = number / samples;
            while self.overflow == ContextOverflow::Slide && sequence.finish_reason.is_none() {
                let mut session = (self.session)(usize::MAX);
                sequence.slide((session.capacity() / 2).max(1), 0);
                session.join(&[&self.inputs[input].source]);
                let settings = tokens::Settings { capacity: session.capacity(), ..settings };
                let mut running = Running::new();
                running.add(Samples::new(vec![(number, sequence)]));
                let mut ended = running.finish(settings, &mut *session, observer)?;
                (_, sequence) = ended.swap_remove(0).sequences.swap_remove(0);
            }
            texts.push(self.inputs[input].generated(number, &sequence, observer)?);
        }
        Ok((input, texts))
    }
}

impl Work<'_> {
    /// The next inputs, at most so many; none after an error.
    fn take(&mut self, count: usize) -> Vec<usize> {
        let rest = &self.order[self.next..];
        let count = if self.failed.is_some() { 0 } else { count.min(rest.len()) };
        self.next += count;
        rest[..count].to_vec()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
