//! Between generated tokens and whoever wants to see text and traces as they appear.

use super::stream::TextStream;
use super::texts::{Input, Name};
use super::trace::{BeamStep, Observer, Step, Trace};
use crate::error::Result;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// What happened during generation.
pub enum Event<'e> {
    /// More text of a sequence that is final now.
    Text {
        /// Which prompt, counted from 0.
        prompt: usize,
        /// Which of its samples.
        sample: usize,
        /// The new text.
        text: &'e str,
    },
    /// A token was selected; only if traces were asked for.
    Step {
        /// Which prompt.
        prompt: usize,
        /// Which of its samples.
        sample: usize,
        /// How; its `sequence` has no meaning here.
        step: &'e Step,
    },
    /// A beam search advanced; only if traces were asked for.
    BeamStep {
        /// Which prompt.
        prompt: usize,
        /// How.
        step: &'e BeamStep,
    },
}

/// A callback for [`Event`]s. An error of it ends generation.
pub type OnEvent<'f> = &'f mut dyn FnMut(Event) -> Result<()>;

/// Turns tokens into text, looks for stop strings, and calls back. Sequences are numbered input by
/// input, with the samples of each; in a beam search, an input is one.
pub(super) struct TextObserver<'i, 'a, 'f> {
    trace: Trace,
    inputs: &'i [Input<'a>],
    samples: usize,
    /// The texts of sequences that grow.
    pub streams: Streams<'a>,
    on_event: Option<OnEvent<'f>>,
}

/// The texts of sequences, by their numbers.
pub(super) type Streams<'a> = HashMap<usize, TextStream<'a>>;

impl<'i, 'a, 'f> TextObserver<'i, 'a, 'f> {
    /// For inputs with so many samples each.
    pub fn new(
        inputs: &'i [Input<'a>],
        samples: usize,
        trace: Trace,
        on_event: Option<OnEvent<'f>>,
    ) -> Self {
        Self { trace, inputs, samples, streams: HashMap::new(), on_event }
    }

    fn name(&self, sequence: usize) -> Name {
        (sequence / self.samples, sequence % self.samples)
    }

    fn emit(&mut self, event: Event) -> Result<()> {
        self.on_event.as_mut().map_or(Ok(()), |on_event| on_event(event))
    }

    fn emit_text(&mut self, sequence: usize, text: &str) -> Result<()> {
        let (prompt, sample) = self.name(sequence);
        if text.is_empty() { Ok(()) } else { self.emit(Event::Text { prompt, sample, text }) }
    }

    /// Whether text is wanted before a sequence has ended.
    fn reads(&self, sequence: usize) -> bool {
        self.on_event.is_some() || self.inputs[self.name(sequence).0].stream.may_stop()
    }

    fn stream(&mut self, sequence: usize) -> &mut TextStream<'a> {
        let (input, _) = self.name(sequence);
        self.streams.entry(sequence).or_insert_with(|| self.inputs[input].stream.clone())
    }

    /// The whole text of a sequence that ended with these new tokens.
    pub fn finish(&mut self, sequence: usize, new_tokens: &[u32]) -> Result<String> {
        if !self.reads(sequence) {
            let (input, _) = self.name(sequence);
            return self.inputs[input].text_after(new_tokens);
        }
        let rest = self.stream(sequence).finish()?.to_string();
        self.emit_text(sequence, &rest)?;
        let stream = self.streams.remove(&sequence).expect("it was read until now");
        Ok(stream.text().to_string())
    }
}

impl Observer for TextObserver<'_, '_, '_> {
    fn on_token(&mut self, sequence: usize, token: u32) -> Result<ControlFlow<()>> {
        if !self.reads(sequence) {
            return Ok(ControlFlow::Continue(()));
        }
        let text = self.stream(sequence).push(token)?.to_string();
        self.emit_text(sequence, &text)?;
        Ok(match self.stream(sequence).stopped() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }

    fn is_finished(&mut self, prompt: usize, new_tokens: &[u32]) -> Result<bool> {
        self.inputs[prompt].stream.stops_after(new_tokens)
    }

    fn trace(&self) -> Trace {
        self.trace
    }

    fn on_step(&mut self, step: Step) -> Result<()> {
        let (prompt, sample) = self.name(step.sequence);
        self.emit(Event::Step { prompt, sample, step: &step })
    }

    fn on_beam_step(&mut self, step: BeamStep) -> Result<()> {
        self.emit(Event::BeamStep { prompt: step.prompt, step: &step })
    }
}
