//! Between generated tokens and whoever wants to see text and traces as they appear.

use super::stream::TextStream;
use super::texts::Name;
use super::trace::{BeamStep, Observer, Step, Trace};
use crate::error::Result;
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
        /// How; its `sequence` counts within a batch and has no meaning here.
        step: &'e Step,
    },
    /// A beam search advanced; only if traces were asked for.
    BeamStep {
        /// Which prompt.
        prompt: usize,
        /// How; its `prompt` counts within a batch.
        step: &'e BeamStep,
    },
}

/// A callback for [`Event`]s. An error of it ends generation.
pub type OnEvent<'f> = &'f mut dyn FnMut(Event) -> Result<()>;

/// Turns tokens into text, looks for stop strings, and calls back.
pub(super) struct TextObserver<'a, 'f> {
    pub trace: Trace,
    /// Which sequence is observed as number 0: one of a batch may continue alone.
    pub first: usize,
    pub names: Vec<Name>,
    /// The text of each sequence; in a beam search, that of its prompt.
    pub streams: Vec<TextStream<'a>>,
    pub on_event: OnEvent<'f>,
}

impl TextObserver<'_, '_> {
    fn emit(&mut self, sequence: usize, text: &str) -> Result<()> {
        let (prompt, sample) = self.names[sequence];
        if text.is_empty() { Ok(()) } else { (self.on_event)(Event::Text { prompt, sample, text }) }
    }

    /// The whole text of a sequence that ended.
    pub fn finish(&mut self, sequence: usize) -> Result<String> {
        let rest = self.streams[sequence].finish()?.to_string();
        self.emit(sequence, &rest)?;
        Ok(self.streams[sequence].text().to_string())
    }
}

impl Observer for TextObserver<'_, '_> {
    fn on_token(&mut self, sequence: usize, token: u32) -> Result<ControlFlow<()>> {
        let sequence = self.first + sequence;
        let text = self.streams[sequence].push(token)?.to_string();
        self.emit(sequence, &text)?;
        Ok(match self.streams[sequence].stopped() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }

    fn is_finished(&mut self, prompt: usize, new_tokens: &[u32]) -> Result<bool> {
        self.streams[prompt].stops_after(new_tokens)
    }

    fn trace(&self) -> Trace {
        self.trace
    }

    fn on_step(&mut self, step: Step) -> Result<()> {
        let step = Step { sequence: self.first + step.sequence, ..step };
        let (prompt, sample) = self.names[step.sequence];
        (self.on_event)(Event::Step { prompt, sample, step: &step })
    }

    fn on_beam_step(&mut self, step: BeamStep) -> Result<()> {
        let (prompt, _) = self.names[step.prompt];
        (self.on_event)(Event::BeamStep { prompt, step: &step })
    }
}
