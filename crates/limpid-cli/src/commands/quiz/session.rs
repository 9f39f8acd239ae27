//! A session: questions are printed, lines are read and checked.

use super::output::Output;
use limpid_learn::quiz::{Question, QuizStep, Verdict};
use std::io::BufRead;

/// Tries per step, if lines that are not answers are reported to the user; otherwise each step has
/// one line.
const TRIES: usize = 3;

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Correct,
    Incorrect,
    Skipped,
    Unanswered,
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Correct => "correct",
            Outcome::Incorrect => "incorrect",
            Outcome::Skipped => "skipped",
            Outcome::Unanswered => "unanswered",
        }
    }
}

/// The input, the output, and the answers so far.
pub struct Session<R> {
    input: R,
    terminal: bool,
    output: Output,
    /// The outcome of each step in order, with the given answer.
    pub outcomes: Vec<(Outcome, Option<String>)>,
    ended: bool,
}

impl<R: BufRead> Session<R> {
    pub fn new(input: R, terminal: bool, output: Output) -> Self {
        Self { input, terminal, output, outcomes: Vec::new(), ended: false }
    }

    /// The numbers of correct steps, all steps, and answered ones.
    pub fn score(&self) -> (usize, usize, usize) {
        let count = |of: &[Outcome]| {
            self.outcomes.iter().filter(|(outcome, _)| of.contains(outcome)).count()
        };
        (
            count(&[Outcome::Correct]),
            self.outcomes.len(),
            count(&[Outcome::Correct, Outcome::Incorrect]),
        )
    }

    /// Asks until the last question, a q, or the end of the input.
    pub fn ask_all(&mut self, questions: &[Question]) {
        self.output.wrapped(
            "",
            "Write numbers as 0.25, 1/4 or -inf, with spaces between them. ? shows the formula, an \
             empty line skips the step, q ends.",
        );
        self.output.line("");
        for question in questions {
            if !self.ended {
                self.ask(question);
            } else {
                self.outcomes.extend(question.steps.iter().map(|_| (Outcome::Unanswered, None)));
            }
        }
    }

    fn ask(&mut self, question: &Question) {
        self.output.heading(question);
        if question.steps.is_empty() {
            self.output.line("  Answer in your own words, then press Enter.");
            // Any line is followed by the model answer, which is for the user to compare.
            self.line();
        }
        for step in &question.steps {
            let outcome = if self.ended { (Outcome::Unanswered, None) } else { self.step(step) };
            self.outcomes.push(outcome);
        }
        if !self.ended {
            self.output.closing(question);
        }
    }

    fn step(&mut self, step: &QuizStep) -> (Outcome, Option<String>) {
        self.output.wrapped("  ", &format!("{} ({})", step.ask, step.answer.expects()));
        let mut left = if self.output == Output::None { 1 } else { TRIES };
        while let Some(line) = self.line() {
            let typed = Some(line.clone());
            match (line.as_str(), step.answer.check(&line)) {
                ("", _) => {
                    self.correct("It is", step);
                    return (Outcome::Skipped, None);
                }
                ("?", _) => self.output.wrapped("  ", &step.formula),
                (_, Verdict::Correct) => {
                    self.output.line(&format!("  Correct: {}.", step.answer));
                    return (Outcome::Correct, typed);
                }
                (_, Verdict::Incorrect) => {
                    self.correct("Not quite. It is", step);
                    return (Outcome::Incorrect, typed);
                }
                (_, Verdict::Invalid(why)) => {
                    left -= 1;
                    if left == 0 {
                        self.correct(&format!("{why}. It is"), step);
                        return (Outcome::Incorrect, typed);
                    }
                    self.output.wrapped("  ", &format!("{why}. Try again."));
                }
            }
        }
        (Outcome::Unanswered, None)
    }

    /// Prints the correct answer and its formula.
    fn correct(&self, words: &str, step: &QuizStep) {
        self.output.wrapped("  ", &format!("{words} {}, by {}", step.answer, step.formula));
    }

    /// The next line, trimmed; `None` at the end of the input or after q.
    fn line(&mut self) -> Option<String> {
        self.output.prompt("  > ");
        let mut bytes = Vec::new();
        // A read error ends the input; invalid UTF-8 is an invalid answer, not the end.
        let read = self.input.read_until(b'\n', &mut bytes).unwrap_or(0);
        let line = String::from_utf8_lossy(&bytes).trim().to_owned();
        self.ended = read == 0 || matches!(line.as_str(), "q" | "quit" | "exit");
        if self.ended || !self.terminal {
            // Piped input is echoed, so that the transcript can be read.
            self.output.line(&line);
        }
        (!self.ended).then_some(line)
    }
}
