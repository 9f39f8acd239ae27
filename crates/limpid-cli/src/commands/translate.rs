//! `limpid translate`: text in, text out, line by line.

use crate::args::Translate;
use crate::printer;
use limpid::decode;
use limpid::error::{Error, Result};
use limpid::hub;
use limpid::model::{Architecture, Model, Seq2Seq};
use limpid::text::Tokenizer;
use std::io::{BufRead, Write};
use std::path::Path;

/// Lines that are read and translated together.
const LINES_AT_A_TIME: usize = 256;

/// Translates the arguments, or standard input.
pub fn run(args: Translate) -> Result<()> {
    let (model, tokenizer) = open(&args.model)?;
    let seq2seq = translator(&model, &args.model)?;
    let show = |sources: &[String]| -> Result<()> {
        let translations = decode::translate(seq2seq, &model.params, &tokenizer, sources)?;
        for (source, translation) in sources.iter().zip(translations) {
            if args.json {
                println!("{}", serde_json::json!({ "source": source, "translation": translation }));
            } else {
                println!("{translation}");
            }
        }
        // A pipe wants its lines now, not when the buffer is full.
        let _ = std::io::stdout().flush();
        Ok(())
    };
    if !args.text.is_empty() {
        if args.text.iter().all(|text| text.trim().is_empty()) {
            return Err(Error::data("the text to translate is empty")
                .hint(format!("limpid translate {} \"Je suis étudiant\"", args.model.display())));
        }
        return show(&args.text);
    }
    let mut any = false;
    let mut lines = std::io::stdin().lock().split(b'\n').enumerate();
    loop {
        let now: Vec<String> = lines.by_ref().take(LINES_AT_A_TIME).map(text_line).collect::<Result<_>>()?;
        if now.is_empty() {
            break;
        }
        any = true;
        show(&now)?;
    }
    if !any {
        return Err(Error::data("standard input has no lines to translate")
            .hint("give the text as an argument, or pipe a file in: limpid translate MODEL < text.fr"));
    }
    Ok(())
}

fn text_line((number, line): (usize, std::io::Result<Vec<u8>>)) -> Result<String> {
    let line = line.map_err(|e| Error::io("read", Path::new("standard input"), &e))?;
    let text = String::from_utf8(line).map_err(|e| {
        let at = e.utf8_error().valid_up_to() + 1;
        Error::data(format!("line {} of standard input is not UTF-8 (byte {at})", number + 1))
            .hint("convert it first, for example with: iconv -f latin1 -t utf-8")
    })?;
    Ok(text.trim_end_matches('\r').to_string())
}

/// Opens a model folder with its tokenizer, saying what in it was not understood.
pub fn open(folder: &Path) -> Result<(Model, Tokenizer)> {
    let (model, warnings) = hub::load(folder)?;
    printer::config_warnings(&warnings);
    Ok((model, Tokenizer::load(folder)?))
}

/// The encoder-decoder in a folder, or an error that says what is there instead.
pub fn translator<'a>(model: &'a Model, folder: &Path) -> Result<&'a Seq2Seq> {
    match &model.architecture {
        Architecture::Seq2Seq(model) => Ok(model),
        other => {
            Err(Error::config(format!("{} holds {}: it cannot translate", folder.display(), other.kind()))
                .hint("`limpid demo` trains a translator"))
        }
    }
}
