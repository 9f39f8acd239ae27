//! One sitting: questions are asked, lines are read.

use super::voice::Voice;
use limpid::inspect::quiz::{Question, QuizStep, Verdict};
use std::io::BufRead;

/// So many lines that cannot be read as an answer are forgiven at one step where somebody hears that they were not; elsewhere each step has its line.
const TRIES: usize = 3;

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Right,
    Wrong,
    Skipped,
    Unanswered,
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Right => "right",
            Outcome::Wrong => "wrong",
            Outcome::Skipped => "skipped",
            Outcome::Unanswered => "unanswered",
        }
    }
}

/// Who answers, and what has been answered.
pub struct Session<R> {
    input: R,
    terminal: bool,
    voice: Voice,
    /// Of each step in turn, what became of it and what was typed.
    pub outcomes: Vec<(Outcome, Option<String>)>,
    ended: bool,
}

impl<R: BufRead> Session<R> {
    pub fn new(input: R, terminal: bool, voice: Voice) -> Self {
        Self { input, terminal, voice, outcomes: Vec::new(), ended: false }
    }

    /// Right steps, all steps, and answered ones.
    pub fn score(&self) -> (usize, usize, usize) {
        let count = |of: &[Outcome]| self.outcomes.iter().filter(|(outcome, _)| of.contains(outcome)).count();
        (count(&[Outcome::Right]), self.outcomes.len(), count(&[Outcome::Right, Outcome::Wrong]))
    }

    /// Asks until all is asked, somebody types q, or there is nothing more to read.
    pub fn ask_all(&mut self, questions: &[Question]) {
        self.voice.wrapped(
            "",
            "Numbers may be written 0.25, 1/4 or -inf, with spaces between them. ? shows the formula, an empty line goes on, \
             q ends.",
        );
        self.voice.say("");
        for question in questions {
            if !self.ended {
                self.ask(question);
            } else {
                self.outcomes.extend(question.steps.iter().map(|_| (Outcome::Unanswered, None)));
            }
        }
    }

    fn ask(&mut self, question: &Question) {
        self.voice.heading(question);
        if question.steps.is_empty() {
            self.voice.say("  Say it in your own words, then press Enter.");
            // Whatever is said, the model answer is what helps; after an end it would only be noise.
            self.line();
        }
        for step in &question.steps {
            let outcome = if self.ended { (Outcome::Unanswered, None) } else { self.step(step) };
            self.outcomes.push(outcome);
        }
        if !self.ended {
            self.voice.closing(question);
        }
    }

    fn step(&mut self, step: &QuizStep) -> (Outcome, Option<String>) {
        self.voice.wrapped("  ", &format!("{} ({})", step.ask, step.right.expects()));
        let mut left = if self.voice == Voice::Silent { 1 } else { TRIES };
        while let Some(line) = self.line() {
            let typed = Some(line.clone());
            match (line.as_str(), step.right.check(&line)) {
                ("", _) => {
                    self.correct("It is", step);
                    return (Outcome::Skipped, None);
                }
                ("?", _) => self.voice.wrapped("  ", &step.formula),
                (_, Verdict::Right) => {
                    self.voice.say(&format!("  Right: {}.", step.right.shown()));
                    return (Outcome::Right, typed);
                }
                (_, Verdict::Wrong) => {
                    self.correct("Not quite. It is", step);
                    return (Outcome::Wrong, typed);
                }
                (_, Verdict::Unreadable(why)) => {
                    left -= 1;
                    if left == 0 {
                        self.correct(&format!("{why}. It is"), step);
                        return (Outcome::Wrong, typed);
                    }
                    self.voice.wrapped("  ", &format!("{why}. Try again."));
                }
            }
        }
        (Outcome::Unanswered, None)
    }

    /// The right value and how one gets it.
    fn correct(&self, words: &str, step: &QuizStep) {
        self.voice.wrapped("  ", &format!("{words} {}, by {}", step.right.shown(), step.formula));
    }

    /// The next line without spaces around it; `None` at the end of the input, or when somebody wants to end.
    fn line(&mut self) -> Option<String> {
        self.voice.prompt("  > ");
        let mut bytes = Vec::new();
        // An input that breaks off has ended; what is no UTF-8 is no answer, but no reason to stop either.
        let read = self.input.read_until(b'\n', &mut bytes).unwrap_or(0);
        let line = String::from_utf8_lossy(&bytes).trim().to_owned();
        self.ended = read == 0 || matches!(line.as_str(), "q" | "quit" | "exit");
        if self.ended || !self.terminal {
            // What was typed elsewhere is repeated, so that what is printed can be read.
            self.voice.say(&line);
        }
        (!self.ended).then_some(line)
    }
}
