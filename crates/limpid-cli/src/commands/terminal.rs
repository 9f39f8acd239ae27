//! A conversation at a terminal: a prompt, a line, an answer, until Ctrl-D.
//!
//! Ctrl-C while an answer is generated ends that answer, pressed again or at the prompt it ends the
//! program.

use super::signals::on_each_interrupt;
use crate::error::{Error, Result};
use crate::printer;
use limpid::generate::{DecodingConfig, Strategy};
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a shell gives to a program that ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// The longest line that Linux lets through, its end included; what is typed beyond it never
/// arrives.
const LONGEST_LINE: usize = 4096;

static ANSWERING: AtomicBool = AtomicBool::new(false);
static STOP: AtomicBool = AtomicBool::new(false);

/// Whether Ctrl-C was pressed while this answer was generated.
pub fn stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// The same line typed again gives another sample, unless a seed was set.
pub fn next_seed(decoding: &mut DecodingConfig, asked: Option<u64>) {
    if let (Strategy::Sample(sampling), None) = (&mut decoding.strategy, asked) {
        sampling.seed += 1;
    }
}

/// What comes after an answer.
pub enum Next {
    /// Another line.
    Line,
    /// The end.
    End,
}

/// Asks for lines and calls `answer` for each that is not empty. What is wrong with one line is
/// reported, and the conversation continues.
pub fn converse(mut answer: impl FnMut(String) -> Result<()>) -> Result<()> {
    converse_until(|line| answer(line).map(|()| Next::Line))
}

/// The same, until an answer says that it was the last.
pub fn converse_until(mut answer: impl FnMut(String) -> Result<Next>) -> Result<()> {
    on_each_interrupt(|| {
        if !ANSWERING.load(Ordering::Relaxed) || STOP.swap(true, Ordering::Relaxed) {
            // What the terminal shows as ^C stays on its line.
            printer::say("");
            std::process::exit(INTERRUPTED);
        }
    })?;
    let mut lines = std::io::stdin().lock();
    loop {
        prompt();
        let mut line = Vec::new();
        let read = lines
            .read_until(b'\n', &mut line)
            .map_err(|e| Error::io("read", Path::new("standard input"), e))?;
        if read == 0 {
            // Ctrl-D leaves the cursor behind the prompt.
            printer::say("");
            return Ok(());
        }
        if line.len() >= LONGEST_LINE {
            printer::say(
                "warning: a terminal gives no more than 4,095 bytes per line: the rest is lost",
            );
        }
        let line = match String::from_utf8(line) {
            Ok(line) => line.trim_end_matches(['\n', '\r']).to_string(),
            Err(_) => {
                printer::print_error(
                    &Error::data("this line is not UTF-8").hint("set the terminal to UTF-8"),
                );
                continue;
            }
        };
        if line.trim().is_empty() {
            continue;
        }
        STOP.store(false, Ordering::Relaxed);
        ANSWERING.store(true, Ordering::Relaxed);
        let answered = answer(line);
        ANSWERING.store(false, Ordering::Relaxed);
        match answered {
            Err(_) if stopped() => println!(),
            Err(error) => printer::print_error(&error),
            Ok(Next::Line) => {}
            Ok(Next::End) => return Ok(()),
        }
    }
}

/// On standard error, so that standard output has answers only.
fn prompt() {
    let mut err = std::io::stderr().lock();
    let bold =
        err.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let _ = if bold { write!(err, "\x1b[1m>\x1b[0m ") } else { write!(err, "> ") };
    let _ = err.flush();
}
