//! `limpid generate`: a language model continues a text, shown while it is generated.

use super::decoding::TraceFile;
use super::terminal;
use crate::args::Generate;
use crate::error::{Error, Result};
use crate::printer;
use limpid::Generator;
use limpid::generate::{
    ContextOverflow, DecodingConfig, Event, GenerateOptions, Generated, GenerationOptions,
    Speculation, Strategy,
};
use std::io::{IsTerminal, Read, Write};
use std::path::Path;

/// Continues the prompts, or standard input.
pub fn run(args: Generate) -> Result<()> {
    let generator = Generator::load(&args.model)?;
    printer::warnings(generator.warnings());
    let options = GenerationOptions { max_new_tokens: args.max_new_tokens, ..args.how.options() };
    let decoding = generator.decoding_config(&options)?;
    let overflow = if args.slide { ContextOverflow::Slide } else { ContextOverflow::Error };
    let options =
        GenerateOptions { trace: args.how.tracing(), ..generator.generate_options(overflow) };
    let draft = args.draft.as_ref().map(Generator::load).transpose()?;
    let speculation =
        generator.speculation_of(draft.as_ref(), (args.draft_tokens, args.prompt_lookup))?;
    let trace = TraceFile::open(&args.how)?;
    let show = if std::io::stdout().is_terminal() { printer::visible } else { str::to_string };
    let mut command = GenerateCommand {
        args: &args,
        generator: &generator,
        speculation,
        decoding,
        options,
        trace,
        done: 0,
        show,
    };
    if !args.prompt.is_empty() {
        command.generate(&args.prompt)?;
    } else if std::io::stdin().is_terminal() {
        command.interactive()?;
    } else {
        command.generate(&[all_of_standard_input()?])?;
    }
    command.trace.finish()
}

struct GenerateCommand<'a> {
    args: &'a Generate,
    generator: &'a Generator,
    speculation: Option<Speculation<'a>>,
    decoding: DecodingConfig,
    options: GenerateOptions,
    trace: TraceFile,
    /// Prompts that are done.
    done: usize,
    /// A terminal gets no control characters.
    show: fn(&str) -> String,
}

impl GenerateCommand<'_> {
    fn interactive(&mut self) -> Result<()> {
        printer::say(
            "Type a beginning and press Enter. Ctrl-C ends an answer, Ctrl-D the program.",
        );
        terminal::converse(|line| {
            let answered = self.generate(&[line]);
            terminal::next_seed(&mut self.decoding, self.args.how.seed);
            answered
        })
    }

    fn generate(&mut self, prompts: &[String]) -> Result<()> {
        let json = self.args.json || self.args.how.trace_to_stdout();
        // A single text is shown while it is generated; of several, each when it is finished.
        let alone = !json && prompts.len() * self.decoding.num_return_sequences() == 1;
        let streams = alone && !matches!(self.decoding.strategy, Strategy::BeamSearch(_));
        let tokenizer = self.generator.tokenizer();
        for prompt in prompts {
            printer::unknown_words(&tokenizer.unknown_words(prompt)?, "the prompt");
        }
        let (trace, first, show) = (&mut self.trace, self.done, self.show);
        let echo = if self.args.echo { prompts[0].as_str() } else { "" };
        let mut begun = false;
        let mut on_event = |event: Event| {
            if let (Event::Text { text, .. }, true) = (&event, streams) {
                print!("{}{}", if begun { "" } else { echo }, show(text));
                begun = true;
                let _ = std::io::stdout().flush();
            }
            if terminal::stopped() {
                return Err(limpid::error::Error::Interrupted);
            }
            trace.take(&event, first, tokenizer)
        };
        let (generator, how) = (self.generator, (&self.decoding, &self.options));
        let generated = match self.speculation {
            None => generator.run(prompts, how.0, how.1, &mut on_event)?,
            Some(draft) => {
                generator.run_speculatively(draft, prompts, how.0, how.1, &mut on_event)?
            }
        };
        if streams {
            // Also if no text was generated.
            println!("{}", if begun { "" } else { echo });
        } else {
            for (i, (prompt, texts)) in prompts.iter().zip(&generated).enumerate() {
                for (n, text) in texts.iter().enumerate() {
                    self.print(prompt, (i, n), text, json, alone);
                }
            }
        }
        let _ = std::io::stdout().flush();
        self.done += prompts.len();
        Ok(())
    }

    fn print(
        &self,
        prompt: &str,
        (i, n): (usize, usize),
        generated: &Generated,
        json: bool,
        alone: bool,
    ) {
        let Generated { text, tokens, finish_reason, score } = generated;
        if json {
            println!(
                "{}",
                serde_json::json!({
                    "prompt": prompt, "index": self.done + i, "sample": n, "text": text,
                    "tokens": tokens, "finish_reason": finish_reason.name(), "score": score,
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
        .map_err(|e| Error::io("read", Path::new("standard input"), e))?;
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
