//! `limpid translate`: text in, text out, line by line.

use crate::args::Translate;
use crate::printer;
use limpid::decode;
use limpid::error::{Error, Result};
use limpid::hub;
use limpid::model::{Architecture, Model, Seq2Seq};
use limpid::text::Tokenizer;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::Path;

/// Lines that are translated together, if they are there already.
const LINES_AT_A_TIME: usize = 256;

/// Translates the arguments, or standard input.
pub fn run(args: Translate) -> Result<()> {
    let (model, warnings) = hub::load(&args.model)?;
    printer::warnings(&warnings);
    let seq2seq = translator(&model, &args.model)?;
    let tokenizer = Tokenizer::load(&args.model)?;
    let job = Job { seq2seq, model: &model, tokenizer: &tokenizer, json: args.json };
    if !args.text.is_empty() {
        if args.text.iter().all(|text| text.trim().is_empty()) {
            return Err(Error::data("the text to translate is empty")
                .hint(format!("limpid translate {} \"Je suis étudiant\"", args.model.display())));
        }
        return job.translate(&args.text, |i| format!("text {}", i + 1));
    }
    job.standard_input()
}

struct Job<'a> {
    seq2seq: &'a Seq2Seq,
    model: &'a Model,
    tokenizer: &'a Tokenizer,
    json: bool,
}

impl Job<'_> {
    /// Line by line in the order they came. At a terminal each line is answered at once; from a pipe, what has arrived is
    /// translated together.
    fn standard_input(&self) -> Result<()> {
        let stdin = std::io::stdin();
        let terminal = stdin.is_terminal();
        if terminal {
            printer::say("Type a sentence and press Enter; Ctrl-D ends.");
        }
        let mut reader = BufReader::new(stdin.lock());
        let mut done = 0;
        loop {
            let (lines, failed) = arrived(&mut reader, if terminal { 1 } else { LINES_AT_A_TIME }, done);
            if lines.is_empty() && failed.is_none() {
                break;
            }
            // The good lines before a bad one are not lost.
            self.translate(&lines, |i| format!("line {} of standard input", done + i + 1))?;
            if let Some(error) = failed {
                return Err(error);
            }
            done += lines.len();
        }
        if done == 0 && !terminal {
            return Err(Error::data("standard input has no lines to translate")
                .hint("give the text as an argument, or pipe a file in: limpid translate MODEL < text.fr"));
        }
        Ok(())
    }

    /// Translates and prints some texts; `name` says which one an error or a warning is about.
    fn translate(&self, texts: &[String], name: impl Fn(usize) -> String) -> Result<()> {
        let longest = self.seq2seq.config().max_position_embeddings;
        let too_long = |text: &String| -> Result<Option<usize>> {
            let tokens = self.tokenizer.encode(text)?.len() + 1;
            Ok((tokens > longest).then_some(tokens))
        };
        let mut fine = texts.len();
        let mut error = None;
        for (i, text) in texts.iter().enumerate() {
            if let Some(tokens) = too_long(text)? {
                (fine, error) = (i, Some((i, tokens)));
                break;
            }
            self.warn_of_unknown_words(text, &name(i))?;
        }
        let translations =
            decode::translate(self.seq2seq, &self.model.params, self.tokenizer, &texts[..fine])?;
        for (source, translation) in texts.iter().zip(translations) {
            if self.json {
                println!("{}", serde_json::json!({ "source": source, "translation": translation }));
            } else {
                println!("{translation}");
            }
        }
        // A pipe wants its lines now, not when the buffer is full.
        let _ = std::io::stdout().flush();
        match error {
            Some((i, tokens)) => Err(Error::data(format!(
                "{} has {tokens} tokens, the model has positions for {longest}",
                name(i)
            ))
            .hint("translate it sentence by sentence")),
            None => Ok(()),
        }
    }

    /// A model with a closed vocabulary guesses at what it has never seen: the reader should know.
    fn warn_of_unknown_words(&self, text: &str, name: &str) -> Result<()> {
        let words = self.tokenizer.unknown_words(text)?;
        if !words.is_empty() {
            let listed: Vec<&str> = words.iter().take(5).map(String::as_str).collect();
            let more = if words.len() > 5 { ", …" } else { "" };
            let (listed, count) = (listed.join(", "), words.len());
            printer::say(format_args!(
                "warning: {name}: {count} not in the model's vocabulary: {listed}{more}"
            ));
        }
        Ok(())
    }
}

/// The next line, waiting for it if need be, and up to `most` lines in all that have arrived with it. A line that cannot be
/// read ends them.
fn arrived(
    reader: &mut BufReader<impl std::io::Read>,
    most: usize,
    done: usize,
) -> (Vec<String>, Option<Error>) {
    let mut lines = Vec::new();
    while lines.len() < most && (lines.is_empty() || reader.buffer().contains(&b'\n')) {
        let mut line = Vec::new();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) => match text_line(done + lines.len() + 1, line) {
                Ok(line) => lines.push(line),
                Err(error) => return (lines, Some(error)),
            },
            Err(e) => return (lines, Some(Error::io("read", Path::new("standard input"), &e))),
        }
    }
    (lines, None)
}

fn text_line(number: usize, line: Vec<u8>) -> Result<String> {
    let text = String::from_utf8(line).map_err(|e| {
        let at = e.utf8_error().valid_up_to() + 1;
        Error::data(format!("line {number} of standard input is not UTF-8 (byte {at})"))
            .hint("convert it first, for example with: iconv -f latin1 -t utf-8")
    })?;
    Ok(text.trim_end_matches(['\n', '\r']).to_string())
}

/// The encoder-decoder in a folder, or an error that says what is there instead.
fn translator<'a>(model: &'a Model, folder: &Path) -> Result<&'a Seq2Seq> {
    match &model.architecture {
        Architecture::Seq2Seq(model) => Ok(model),
        other => {
            Err(Error::config(format!("{} holds {}: it cannot translate", folder.display(), other.kind()))
                .hint("`limpid demo` trains a translator"))
        }
    }
}
