//! The texts that the commands of an encoder work on: arguments, or lines of standard input.

use super::translate::arrived;
use crate::error::{Error, Result};
use crate::hints;
use crate::printer;
use limpid::error::EncodeError;
use limpid::pipeline::Overlength;
use limpid::text::Tokenizer;
use std::io::{BufReader, IsTerminal, Write};

/// Lines of standard input that are processed together, if they have arrived.
const MAX_LINES: usize = 256;

/// Where some texts came from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The command line, so many.
    Arguments(usize),
    /// Standard input, from this line on (from 0).
    Lines(usize),
}

impl Origin {
    /// What a message calls text `i` (from 0).
    pub fn place(self, i: usize) -> String {
        match self {
            Origin::Arguments(_) => format!("text {}", i + 1),
            Origin::Lines(first) => format!("line {} of standard input", first + i + 1),
        }
    }

    /// An error of the library about text `index`, with its place.
    pub fn locate(self, error: Error) -> Error {
        let Error::Library(limpid::error::Error::Encode(EncodeError::Input { index, problem })) =
            &error
        else {
            return error;
        };
        let located = Error::data(format!("{}: {problem}", self.place(*index)));
        match hints::encode::problem_hint(problem) {
            Some(hint) => located.hint(hint),
            None => located,
        }
    }
}

/// Warns of words of a closed vocabulary that the model cannot tell apart.
pub fn warn_of_unknown(tokenizer: &Tokenizer, texts: &[String], origin: Origin) -> Result<()> {
    for (i, text) in texts.iter().enumerate() {
        printer::unknown_words(&tokenizer.unknown_words(text)?, &origin.place(i));
    }
    Ok(())
}

/// Calls `work` with the texts of the command line, or with lines of standard input: those that
/// have arrived, 256 at most (at a terminal one).
pub fn each_text(
    given: &[String],
    verb: &str,
    work: &mut dyn FnMut(&[String], Origin) -> Result<()>,
) -> Result<()> {
    if !given.is_empty() {
        let origin = Origin::Arguments(given.len());
        return work(given, origin).map_err(|e| origin.locate(e));
    }
    let stdin = std::io::stdin();
    let terminal = stdin.is_terminal();
    if terminal {
        printer::say("Type a text and press Enter; Ctrl-D ends.");
    }
    let mut reader = BufReader::new(stdin.lock());
    let mut done = 0;
    loop {
        let (lines, failed) = arrived(&mut reader, if terminal { 1 } else { MAX_LINES }, done);
        if lines.is_empty() && failed.is_none() {
            break;
        }
        // The good lines before a bad one are not lost.
        if !lines.is_empty()
            && let Err(error) = work(&lines, Origin::Lines(done))
        {
            // Nothing was printed yet: one at a time, up to the bad one.
            for (i, line) in lines.iter().enumerate().take_while(|_| lines.len() > 1) {
                let origin = Origin::Lines(done + i);
                work(std::slice::from_ref(line), origin).map_err(|e| origin.locate(e))?;
                let _ = std::io::stdout().flush();
            }
            return Err(Origin::Lines(done).locate(error));
        }
        // A pipe wants its lines now, not when the buffer is full.
        let _ = std::io::stdout().flush();
        if let Some(error) = failed {
            return Err(error);
        }
        done += lines.len();
    }
    if done == 0 && !terminal {
        return Err(Error::data("standard input has no lines").hint(format!(
            "give the text as an argument, or pipe a file in: limpid {verb} MODEL < text.txt"
        )));
    }
    Ok(())
}

/// Texts that are too long: each is reported and left out, the others are processed.
#[derive(Default)]
pub struct LongTexts {
    found: usize,
    all: usize,
}

impl LongTexts {
    /// Which of the texts are too long. A single argument that is too long is an error.
    pub fn check(
        &mut self,
        texts: &[String],
        origin: Origin,
        overlength: impl Fn(&str) -> limpid::error::Result<Option<Overlength>>,
    ) -> Result<Vec<Option<Overlength>>> {
        let mut found = Vec::with_capacity(texts.len());
        for (i, text) in texts.iter().enumerate() {
            let long = overlength(text).map_err(|e| at(e, i))?;
            if let Some(long) = long {
                let Overlength { tokens, max_tokens } = long;
                if origin == Origin::Arguments(1) {
                    let problem = limpid::error::InputProblem::TooLong { tokens, max_tokens };
                    let error = EncodeError::Input { index: i, problem };
                    return Err(Error::Library(error.into()));
                }
                printer::say(format_args!(
                    "{}: {tokens} tokens exceed the model's maximum of {max_tokens} by {}; it is \
                     left out",
                    origin.place(i),
                    long.excess()
                ));
            }
            found.push(long);
        }
        self.found += found.iter().flatten().count();
        self.all += texts.len();
        Ok(found)
    }

    /// An error if there were any.
    pub fn finish(self) -> Result<()> {
        match self {
            LongTexts { found: 0, .. } => Ok(()),
            LongTexts { found, all } => {
                Err(Error::data(format!("{found} of {all} texts are too long"))
                    .hint(hints::encode::shorten("them")))
            }
        }
    }
}

/// An error about the only text of a call, as one about text `i`.
fn at(error: limpid::error::Error, i: usize) -> limpid::error::Error {
    match error {
        limpid::error::Error::Encode(EncodeError::Input { problem, .. }) => {
            EncodeError::Input { index: i, problem }.into()
        }
        other => other,
    }
}

/// The texts that are not too long.
pub fn short_enough(texts: &[String], long: &[Option<Overlength>]) -> Vec<String> {
    let short = texts.iter().zip(long).filter(|(_, long)| long.is_none());
    short.map(|(text, _)| text.clone()).collect()
}
