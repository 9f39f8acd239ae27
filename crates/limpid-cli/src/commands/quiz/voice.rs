//! Where and how the quiz speaks.

use crate::printer;
use limpid::inspect::quiz::Question;
use std::io::Write;

/// Where words go: `--json` keeps standard output for itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    Output,
    Error,
    Silent,
}

impl Voice {
    /// One line.
    pub fn say(self, line: &str) {
        match self {
            Voice::Output => println!("{line}"),
            Voice::Error => eprintln!("{line}"),
            Voice::Silent => {}
        }
    }

    /// The beginning of a line that somebody else ends.
    pub fn prompt(self, text: &str) {
        match self {
            Voice::Output => print!("{text}"),
            Voice::Error => eprint!("{text}"),
            Voice::Silent => {}
        }
        // A prompt that cannot be shown is no reason to stop: what is printed next will say what is wrong.
        let _ = std::io::stdout().flush();
    }

    /// Text in lines as wide as the terminal, each after `indent`.
    pub fn wrapped(self, indent: &str, text: &str) {
        let width = printer::width().saturating_sub(indent.chars().count()).max(20);
        let mut line = String::new();
        for word in text.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                self.say(&format!("{indent}{line}"));
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line += word;
        }
        self.say(&format!("{indent}{line}"));
    }

    /// The number, what it is about, and what is asked.
    pub fn heading(self, question: &Question) {
        self.say(&format!("{}. {}", question.number, question.title));
        self.wrapped("", &question.text);
    }

    /// The model answer, if there is one, and what to type to see it.
    pub fn closing(self, question: &Question) {
        if !question.answer.is_empty() {
            self.wrapped("  ", question.answer);
        }
        self.say(&format!("  see it: {}", question.command));
        self.say("");
    }
}
