//! What the verbs of an encoder share: opening it, and reading texts.

use super::translate::arrived;
use crate::printer;
use limpid::encode::{Encoder, Overlong};
use limpid::error::{Error, Result};
use limpid::hub;
use limpid::model::{Architecture, Model};
use limpid::text::Tokenizer;
use std::io::{BufReader, IsTerminal, Write};
use std::path::Path;

/// An encoder of a folder.
pub struct Opened {
    model: Model,
    pub tokenizer: Tokenizer,
}

impl Opened {
    /// Opens it; `cannot` is what another kind of model cannot do, and `hint` what would work instead.
    pub fn new(folder: &Path, cannot: &str, hint: &str) -> Result<Self> {
        let (model, warnings) = hub::load(folder)?;
        printer::warnings(&warnings);
        if !matches!(model.architecture, Architecture::Bert(_)) {
            let kind = model.architecture.kind();
            return Err(Error::config(format!("{} holds {kind}: it {cannot}", folder.display())).hint(hint));
        }
        let tokenizer = super::tokenizer_of(folder, &model)?;
        Ok(Self { model, tokenizer })
    }

    /// A closed vocabulary makes all unknown words the same: the reader should know.
    pub fn warn_of_unknown(&self, texts: &[String], origin: Origin) -> Result<()> {
        for (i, text) in texts.iter().enumerate() {
            printer::unknown_words(&self.tokenizer.unknown_words(text)?, &origin.place(i));
        }
        Ok(())
    }

    pub fn encoder(&self, overlong: Overlong) -> Encoder<'_> {
        let Architecture::Bert(bert) = &self.model.architecture else { unreachable!("checked when opened") };
        Encoder { bert, params: &self.model.params, tokenizer: &self.tokenizer, overlong }
    }
}

/// Where some texts came from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    Arguments,
    /// Standard input, from this line on (from 0).
    Lines(usize),
}

impl Origin {
    /// What a message calls text `i` (from 0).
    pub fn place(self, i: usize) -> String {
        match self {
            Origin::Arguments => format!("text {}", i + 1),
            Origin::Lines(first) => format!("line {} of standard input", first + i + 1),
        }
    }

    /// An error of the library that names "text 3", with the place of that text in its origin.
    pub fn name(self, error: Error) -> Error {
        let Origin::Lines(first) = self else { return error };
        let message = error.to_string();
        let number = message.strip_prefix("text ").and_then(|rest| rest.split_once(' '));
        let Some((number, rest)) = number.and_then(|(n, rest)| Some((n.parse::<usize>().ok()?, rest))) else {
            return error;
        };
        let named = Error::data(format!("line {} of standard input {rest}", first + number));
        match error.hint_text() {
            Some(hint) => named.hint(hint),
            None => named,
        }
    }
}

/// Calls `work` with the texts of the command line, or with lines of standard input: those that have arrived, 256 at most (at a terminal one).
pub fn each_text(
    given: &[String],
    verb: &str,
    work: &mut dyn FnMut(&[String], Origin) -> Result<()>,
) -> Result<()> {
    if !given.is_empty() {
        return work(given, Origin::Arguments);
    }
    let stdin = std::io::stdin();
    let terminal = stdin.is_terminal();
    if terminal {
        printer::say("Type a text and press Enter; Ctrl-D ends.");
    }
    let mut reader = BufReader::new(stdin.lock());
    let mut done = 0;
    loop {
        let (lines, failed) = arrived(&mut reader, if terminal { 1 } else { 256 }, done);
        if lines.is_empty() && failed.is_none() {
            break;
        }
        // The good lines before a bad one are not lost.
        if !lines.is_empty()
            && let Err(error) = work(&lines, Origin::Lines(done))
        {
            // Nothing was said yet: one at a time, up to the bad one.
            for (i, line) in lines.iter().enumerate().take_while(|_| lines.len() > 1) {
                let origin = Origin::Lines(done + i);
                work(std::slice::from_ref(line), origin).map_err(|e| origin.name(e))?;
                let _ = std::io::stdout().flush();
            }
            return Err(Origin::Lines(done).name(error));
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
