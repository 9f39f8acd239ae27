//! Where and how the quiz prints.

use crate::commands::explain::command;
use crate::printer;
use limpid_learn::quiz::Question;
use std::io::Write;

/// Where text goes: `--json` keeps standard output for itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Output {
    Stdout,
    Stderr,
    None,
}

impl Output {
    /// Prints one line.
    pub fn line(self, line: &str) {
        match self {
            Output::Stdout => println!("{line}"),
            Output::Stderr => eprintln!("{line}"),
            Output::None => {}
        }
    }

    /// Prints the beginning of a line, which the user ends.
    pub fn prompt(self, text: &str) {
        match self {
            Output::Stdout => print!("{text}"),
            Output::Stderr => eprint!("{text}"),
            Output::None => {}
        }
        // A prompt that cannot be shown is no reason to stop: the next line will fail, too.
        let _ = std::io::stdout().flush();
    }

    /// Prints text in lines as wide as the terminal, each after `indent`.
    pub fn wrapped(self, indent: &str, text: &str) {
        let width = printer::width().saturating_sub(indent.chars().count()).max(20);
        let mut line = String::new();
        for word in text.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                self.line(&format!("{indent}{line}"));
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line += word;
        }
        self.line(&format!("{indent}{line}"));
    }

    /// Prints the number, the title and the question.
    pub fn heading(self, question: &Question) {
        self.line(&format!("{}. {}", question.number, question.title));
        self.wrapped("", &question.text);
    }

    /// Prints the model answer, if there is one, and the command that shows the worked example.
    pub fn closing(self, question: &Question) {
        if !question.model_answer.is_empty() {
            self.wrapped("  ", question.model_answer);
        }
        self.line(&format!("  see it: {}", command(&question.call)));
        self.line("");
    }
}
