//! From tokenized inputs to texts, batch by batch: one path for decoders and encoder-decoders.

use super::beam::beam_search;
use super::decoding::{BeamSearch, DecodingConfig, Strategy};
use super::events::{OnEvent, TextObserver};
use super::language_model::ContextOverflow;
use super::stream::TextStream;
use super::tokens::{FinishReason, Limit, Sequence, TokenSelection, generate_tokens};
use super::trace::Trace;
use super::{Hypothesis, Session};
use crate::error::Result;

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
}

/// A sequence of a batch: the index of its input, and which of its samples it is.
pub(super) type Name = (usize, usize);

/// A session of a model with a sequence for each of some inputs, of at most so many tokens.
type NewSession<'a> = &'a dyn Fn(&[&Input], usize) -> Box<dyn Session + 'a>;

/// Generates texts of some inputs with a model.
pub(super) struct TextGenerator<'a> {
    pub session: NewSession<'a>,
    pub config: &'a DecodingConfig,
    pub inputs: Vec<Input<'a>>,
    pub overflow: ContextOverflow,
    pub trace: Trace,
}

impl TextGenerator<'_> {
    /// The sequences of some inputs: a beam search has one of each, sampling one for each sample.
    pub fn names(&self, inputs: impl IntoIterator<Item = usize>) -> Vec<Name> {
        let (samples, _) = self.config.samples_and_beams();
        inputs.into_iter().flat_map(|i| (0..samples).map(move |sample| (i, sample))).collect()
    }

    /// Generates the texts of each input; those of an input that is in no batch are none.
    pub fn run(
        &self,
        batches: impl IntoIterator<Item = Vec<Name>>,
        on_event: OnEvent,
    ) -> Result<Vec<Vec<Generated>>> {
        let mut generated = vec![Vec::new(); self.inputs.len()];
        for names in batches {
            let inputs = names.iter().map(|(i, _)| *i);
            let found = match &self.config.strategy {
                Strategy::BeamSearch(search) => self.search(&names, search, on_event)?,
                Strategy::Greedy => self.sample(&names, TokenSelection::Greedy, on_event)?,
                Strategy::Sample(sampling) => {
                    let selection = TokenSelection::Sample(&sampling.filter, sampling.seed);
                    self.sample(&names, selection, on_event)?
                }
            };
            inputs.zip(found).for_each(|(i, found)| generated[i].extend(found));
        }
        Ok(generated)
    }

    /// Greedily or by sampling: one text for each sequence.
    fn sample(
        &self,
        names: &[Name],
        selection: TokenSelection,
        on_event: OnEvent,
    ) -> Result<Vec<Vec<Generated>>> {
        // Samples of one input share a sequence of the session.
        let mut distinct: Vec<usize> = names.iter().map(|(i, _)| *i).collect();
        distinct.dedup();
        let mut session = self.session_for(&distinct);
        let sequence = |(i, sample): &Name| {
            let Input { source, prompt, limit, .. } = &self.inputs[*i];
            let at = distinct.iter().position(|input| input == i).expect("it is one of them");
            let mut sequence =
                Sequence::new(prompt, limit.tokens, at).with_random_stream(source, *sample);
            // A prompt that is too long begins in the middle.
            sequence.slide(session.capacity(), at);
            sequence
        };
        let mut sequences: Vec<Sequence> = names.iter().map(sequence).collect();
        let mut observer = self.observer(names, on_event);
        let processor = &self.config.processor;
        generate_tokens(&mut *session, &mut sequences, selection, processor, &mut observer)?;
        if self.overflow == ContextOverflow::Slide {
            // Those that filled the context, each on its own from here: their windows differ.
            for (i, sequence) in sequences.iter_mut().enumerate() {
                observer.first = i;
                while sequence.finish_reason.is_none() {
                    let mut session = (self.session)(&[&self.inputs[names[i].0]], usize::MAX);
                    sequence.slide((session.capacity() / 2).max(1), 0);
                    let one = std::slice::from_mut(sequence);
                    generate_tokens(&mut *session, one, selection, processor, &mut observer)?;
                }
            }
        }
        let text = |(i, sequence): (usize, &Sequence)| {
            let reason = sequence.finish_reason.unwrap_or(FinishReason::Context);
            Ok(vec![Generated {
                text: observer.finish(i)?,
                tokens: sequence.new_tokens().to_vec(),
                finish_reason: self.inputs[names[i].0].limit.finish_reason(reason),
                score: None,
            }])
        };
        sequences.iter().enumerate().map(text).collect()
    }

    /// By beam search: the best texts of each input.
    fn search(
        &self,
        names: &[Name],
        search: &BeamSearch,
        on_event: OnEvent,
    ) -> Result<Vec<Vec<Generated>>> {
        let indices: Vec<usize> = names.iter().map(|(i, _)| *i).collect();
        let inputs = indices.iter().map(|i| &self.inputs[*i]);
        let prompts: Vec<Vec<u32>> = inputs.clone().map(|input| input.prompt.clone()).collect();
        let new_tokens: Vec<usize> = inputs.clone().map(|input| input.limit.tokens).collect();
        let (mut session, mut observer) =
            (self.session_for(&indices), self.observer(names, on_event));
        let processor = &self.config.processor;
        let found =
            beam_search(&mut *session, &prompts, &new_tokens, search, processor, &mut observer)?;
        let texts = |(input, best): (&Input, Vec<Hypothesis>)| {
            let text = |found: Hypothesis| {
                Ok(Generated {
                    text: input.stream.clone().text_after(&found.tokens)?,
                    tokens: found.tokens,
                    finish_reason: input.limit.finish_reason(found.finish_reason),
                    score: Some(found.score),
                })
            };
            best.into_iter().map(text).collect()
        };
        inputs.zip(found).map(texts).collect()
    }

    /// A session with room for the prompts of these inputs and all that may follow.
    fn session_for(&self, inputs: &[usize]) -> Box<dyn Session + '_> {
        let inputs: Vec<&Input> = inputs.iter().map(|i| &self.inputs[*i]).collect();
        let lengths =
            inputs.iter().map(|input| input.prompt.len().saturating_add(input.limit.tokens));
        (self.session)(&inputs, lengths.max().unwrap_or(0))
    }

    fn observer<'s, 'f>(&'s self, names: &[Name], on_event: OnEvent<'f>) -> TextObserver<'s, 'f> {
        let streams = names.iter().map(|(i, _)| self.inputs[*i].stream.clone()).collect();
        TextObserver { trace: self.trace, names: names.to_vec(), first: 0, streams, on_event }
    }
}
