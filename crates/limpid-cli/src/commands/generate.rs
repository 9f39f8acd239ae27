//! `limpid generate`: a language model continues a text, and the text is seen while it is written.

use super::decoding::TraceFile;
use super::terminal;
use crate::args::Generate;
use crate::printer;
use limpid::decode::{self, Decoding, Event, GenerateOptions, Generated, Overflow};
use limpid::error::{Error, Result};
use limpid::hub;
use limpid::model::{Architecture, Gpt, Model};
use limpid::text::Tokenizer;
use std::io::{IsTerminal, Read, Write};
use std::path::Path;

/// Continues the prompts, or standard input.
pub fn run(args: Generate) -> Result<()> {
    let (model, warnings) = hub::load(&args.model)?;
    let (generation, more) = hub::load_generation(&args.model)?;
    printer::warnings(&warnings);
    printer::warnings(&more);
    let gpt = language_model(&model, &args.model)?;
    let decoding = args.how.request().resolve_in(&args.model, &generation, gpt.config().vocab_size)?;
    let tokenizer = super::tokenizer_of(&args.model, &model)?;
    let stops = if args.how.stop.is_empty() { generation.stops.clone() } else { args.how.stop.clone() };
    let options = GenerateOptions {
        new_tokens: args.tokens,
        file_limits: (generation.max_new, generation.max_length),
        stops,
        start: generation.start,
        overflow: if args.slide { Overflow::Slide } else { Overflow::Refuse },
        trace: args.how.tracing(),
    };
    let trace = TraceFile::open(&args.how)?;
    let show = if std::io::stdout().is_terminal() { printer::visible } else { str::to_string };
    let mut job = Job { args: &args, gpt, model: &model, tokenizer, decoding, options, trace, done: 0, show };
    if !args.prompt.is_empty() {
        job.generate(&args.prompt)?;
    } else if std::io::stdin().is_terminal() {
        job.interactive()?;
    } else {
        job.generate(&[all_of_standard_input()?])?;
    }
    job.trace.finish()
}

struct Job<'a> {
    args: &'a Generate,
    gpt: &'a Gpt,
    model: &'a Model,
    tokenizer: Tokenizer,
    decoding: Decoding,
    options: GenerateOptions,
    trace: TraceFile,
    /// Prompts that were answered already.
    done: usize,
    /// What shows a text: a terminal gets no control characters.
    show: fn(&str) -> String,
}

impl Job<'_> {
    fn interactive(&mut self) -> Result<()> {
        printer::say("Type a beginning and press Enter. Ctrl-C ends an answer, Ctrl-D the program.");
        terminal::converse(|line| {
            let answered = self.generate(&[line]);
            terminal::next_seed(&mut self.decoding, self.args.how.seed);
            answered
        })
    }

    fn generate(&mut self, prompts: &[String]) -> Result<()> {
        let json = self.args.json || self.args.how.trace_to_stdout();
        // A single text is shown while it is written; of several, each when it is finished.
        let alone = !json && prompts.len() * self.decoding.outputs() == 1;
        let streams = alone && !matches!(self.decoding.strategy, decode::Strategy::Beams(_));
        for prompt in prompts {
            printer::unknown_words(&self.tokenizer.unknown_words(prompt)?, "the prompt");
        }
        let (trace, tokenizer, first, show) = (&mut self.trace, &self.tokenizer, self.done, self.show);
        let echo = if self.args.echo { prompts[0].as_str() } else { "" };
        let mut begun = false;
        let mut on = |event: Event| {
            if let (Event::Text { text, .. }, true) = (&event, streams) {
                print!("{}{}", if begun { "" } else { echo }, show(text));
                begun = true;
                let _ = std::io::stdout().flush();
            }
            if terminal::stopped() {
                return Err(terminal::stop_here());
            }
            trace.take(&event, first, tokenizer)
        };
        let generated = decode::generate(
            (self.gpt, &self.model.params),
            tokenizer,
            prompts,
            &self.decoding,
            &self.options,
            &mut on,
        )?;
        if streams {
            // Also if there was nothing to say.
            println!("{}", if begun { "" } else { echo });
        } else {
            for (i, (prompt, texts)) in prompts.iter().zip(&generated).enumerate() {
                for (n, text) in texts.iter().enumerate() {
                    self.print(prompt, i, n, text, json, alone);
                }
            }
        }
        let _ = std::io::stdout().flush();
        self.done += prompts.len();
        Ok(())
    }

    fn print(&self, prompt: &str, i: usize, n: usize, generated: &Generated, json: bool, alone: bool) {
        let Generated { text, tokens, ended, score } = generated;
        if json {
            let ended = ended.name();
            println!(
                "{}",
                serde_json::json!({
                    "prompt": prompt, "index": self.done + i, "sample": n, "text": text, "tokens": tokens, "ended": ended,
                    "score": score,
                })
            );
            return;
        }
        if !alone {
            let score = score.map_or(String::new(), |score| format!(", score {score:.4}"));
            println!("--- prompt {}, text {}{score} ---", i + 1, n + 1);
        }
        println!("{}{}", if self.args.echo { prompt } else { "" }, (self.show)(text));
    }
}

/// The whole of standard input as one prompt, without its last line ending.
fn all_of_standard_input() -> Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|e| Error::io("read", Path::new("standard input"), &e))?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let valid = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
        Error::data(format!("standard input is not UTF-8 (byte {}, line {line})", valid.len() + 1))
            .hint("convert it first, for example with: iconv -f latin1 -t utf-8")
    })?;
    // A byte order mark is no part of the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_string())
}

/// The language model in a folder, or an error that says what is there instead.
fn language_model<'a>(model: &'a Model, folder: &Path) -> Result<&'a Gpt> {
    match &model.architecture {
        Architecture::Gpt(gpt) => Ok(gpt),
        other => Err(Error::config(format!(
            "{} holds {}: it has no text to continue",
            folder.display(),
            other.kind()
        ))
        .hint(match other {
            Architecture::Bert(_) => {
                "an encoder does not write: `limpid fill-mask`, `limpid embed` or `limpid classify`".into()
            }
            _ => format!("use `limpid translate {}`", folder.display()),
        })),
    }
}
