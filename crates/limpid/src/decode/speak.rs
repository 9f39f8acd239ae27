//! Between tokens and whoever wants to see text and traces while it is written.

use super::stream::TextStream;
use super::trace::{BeamStep, Listener, Step, Trace};
use crate::error::Result;
use crate::text::Tokenizer;
use std::ops::ControlFlow;

/// What happened.
pub enum Event<'e> {
    /// More text of a sample that is certain now.
    Text {
        /// Which prompt, counted from 0.
        prompt: usize,
        /// Which of its samples.
        sample: usize,
        /// What is new.
        text: &'e str,
    },
    /// A token was chosen; only if traces were asked for.
    Step {
        /// Which prompt.
        prompt: usize,
        /// Which of its samples.
        sample: usize,
        /// How; its `sequence` counts within a batch and is of no use here.
        step: &'e Step,
    },
    /// A beam search went on; only if traces were asked for.
    Beams {
        /// Which prompt.
        prompt: usize,
        /// How; its `prompt` counts within a batch.
        step: &'e BeamStep,
    },
}

/// Turns tokens into text, looks for stop strings, and passes on what happens.
pub(super) struct Speaker<'a, 'f> {
    pub tokenizer: &'a Tokenizer,
    pub stops: &'a [String],
    pub trace: Trace,
    /// (prompt, sample) of each sequence.
    pub names: Vec<(usize, usize)>,
    /// What each sequence's text goes on from.
    pub given: Vec<Vec<u32>>,
    /// The text of each sequence; empty for beams, whose texts are not known before the end.
    pub streams: Vec<TextStream<'a>>,
    pub on: &'f mut dyn FnMut(Event) -> Result<()>,
    pub failed: Option<crate::error::Error>,
}

impl Speaker<'_, '_> {
    /// Passes an event on; an error waits for the next place that can return it.
    fn tell(&mut self, event: Event) {
        if self.failed.is_none() {
            self.failed = (self.on)(event).err();
        }
    }

    fn check(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// The rest of a text that ended.
    pub fn finish(&mut self, sequence: usize) -> Result<String> {
        let (prompt, sample) = self.names[sequence];
        let rest = self.streams[sequence].finish()?.to_string();
        if !rest.is_empty() {
            self.tell(Event::Text { prompt, sample, text: &rest });
        }
        self.check()?;
        Ok(self.streams[sequence].text().to_string())
    }
}

impl Listener for Speaker<'_, '_> {
    fn token(&mut self, sequence: usize, token: u32) -> Result<ControlFlow<()>> {
        self.check()?;
        let (prompt, sample) = self.names[sequence];
        let stream = &mut self.streams[sequence];
        let text = stream.push(token)?.to_string();
        let stopped = stream.stopped();
        if !text.is_empty() {
            self.tell(Event::Text { prompt, sample, text: &text });
        }
        self.check()?;
        Ok(if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn ends(&mut self, prompt: usize, new: &[u32]) -> Result<bool> {
        self.check()?;
        if self.stops.is_empty() {
            return Ok(false);
        }
        let mut stream = TextStream::new(self.tokenizer, self.stops, &self.given[prompt]);
        for token in new {
            stream.push(*token)?;
        }
        Ok(stream.stopped())
    }

    fn traces(&self) -> Trace {
        self.trace
    }

    fn step(&mut self, step: Step) {
        let (prompt, sample) = self.names[step.sequence];
        self.tell(Event::Step { prompt, sample, step: &step });
    }

    fn beams(&mut self, step: BeamStep) {
        let (prompt, _) = self.names[step.prompt];
        self.tell(Event::Beams { prompt, step: &step });
    }
}

/// The text of a stream after some more tokens, up to the first stop string.
pub(super) fn text_of(mut stream: TextStream, new: &[u32]) -> Result<String> {
    for token in new {
        stream.push(*token)?;
        if stream.stopped() {
            break;
        }
    }
    stream.finish()?;
    Ok(stream.text().to_string())
}
