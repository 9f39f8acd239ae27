//! Between generated tokens and whoever wants to see text and traces as they appear.

use super::stream::TextStream;
use super::trace::{BeamStep, Observer, Step, Trace};
use crate::error::Result;
use crate::text::Tokenizer;
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
    pub tokenizer: &'a Tokenizer,
    pub stop_strings: &'a [String],
    pub trace: Trace,
    /// (prompt, sample) of each sequence.
    pub names: Vec<(usize, usize)>,
    /// The prompts of a beam search.
    pub prompts: Vec<Vec<u32>>,
    /// The text of each sequence; empty for beam search, whose texts are known at the end only.
    pub streams: Vec<TextStream<'a>>,
    pub on_event: OnEvent<'f>,
    pub error: Option<crate::error::Error>,
}

impl TextObserver<'_, '_> {
    /// Calls back; an error waits for the next method that can return it.
    fn emit(&mut self, event: Event) {
        if self.error.is_none() {
            self.error = (self.on_event)(event).err();
        }
    }

    fn check(&mut self) -> Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// The whole text of a sequence that ended.
    pub fn finish(&mut self, sequence: usize) -> Result<String> {
        let (prompt, sample) = self.names[sequence];
        let rest = self.streams[sequence].finish()?.to_string();
        if !rest.is_empty() {
            self.emit(Event::Text { prompt, sample, text: &rest });
        }
        self.check()?;
        Ok(self.streams[sequence].text().to_string())
    }
}

impl Observer for TextObserver<'_, '_> {
    fn on_token(&mut self, sequence: usize, token: u32) -> Result<ControlFlow<()>> {
        self.check()?;
        let (prompt, sample) = self.names[sequence];
        let stream = &mut self.streams[sequence];
        let text = stream.push(token)?.to_string();
        let stopped = stream.stopped();
        if !text.is_empty() {
            self.emit(Event::Text { prompt, sample, text: &text });
        }
        self.check()?;
        Ok(if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn is_finished(&mut self, prompt: usize, new_tokens: &[u32]) -> Result<bool> {
        self.check()?;
        if self.stop_strings.is_empty() {
            return Ok(false);
        }
        let mut stream = TextStream::new(self.tokenizer, self.stop_strings, &self.prompts[prompt]);
        for token in new_tokens {
            stream.push(*token)?;
        }
        Ok(stream.stopped())
    }

    fn trace(&self) -> Trace {
        self.trace
    }

    fn on_step(&mut self, step: Step) {
        let (prompt, sample) = self.names[step.sequence];
        self.emit(Event::Step { prompt, sample, step: &step });
    }

    fn on_beam_step(&mut self, step: BeamStep) {
        let (prompt, _) = self.names[step.prompt];
        self.emit(Event::BeamStep { prompt, step: &step });
    }
}

/// One sequence of a batch that continues alone.
pub(super) struct SingleSequence<'r, 'a, 'f> {
    pub observer: &'r mut TextObserver<'a, 'f>,
    pub sequence: usize,
}

impl Observer for SingleSequence<'_, '_, '_> {
    fn on_token(&mut self, _: usize, token: u32) -> Result<ControlFlow<()>> {
        self.observer.on_token(self.sequence, token)
    }
    fn trace(&self) -> Trace {
        self.observer.trace()
    }
    fn on_step(&mut self, step: Step) {
        self.observer.on_step(Step { sequence: self.sequence, ..step });
    }
}

/// The text of a stream after some more tokens, up to the first stop string.
pub(super) fn text_of(mut stream: TextStream, new_tokens: &[u32]) -> Result<String> {
    for token in new_tokens {
        stream.push(*token)?;
        if stream.stopped() {
            break;
        }
    }
    stream.finish()?;
    Ok(stream.text().to_string())
}
