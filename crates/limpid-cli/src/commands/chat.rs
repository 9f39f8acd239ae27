//! `limpid chat`: a conversation with a language model, by its chat template.

use super::decoding::TraceFile;
use super::terminal::{self, Next};
use super::translate::arrived;
use crate::args;
use crate::error::{Error, Result};
use crate::printer;
use limpid::Generator;
use limpid::generate::{
    ContextOverflow, DecodingConfig, Event, GenerateOptions, GenerationOptions, Strategy,
};
use limpid::pipeline::Chat;
use std::io::{BufReader, IsTerminal, Write};

/// Replies to the messages, or to lines of standard input.
pub fn run(args: args::Chat) -> Result<()> {
    let generator = Generator::load(&args.model)?;
    let mut chat = generator.chat()?;
    if let Some(system) = &args.system {
        chat = chat.system(system);
    }
    printer::warnings(generator.warnings());
    let options = GenerationOptions { max_new_tokens: args.max_new_tokens, ..args.how.options() };
    let decoding = generator.decoding_config(&options)?;
    let overflow = if args.slide { ContextOverflow::Slide } else { ContextOverflow::Error };
    let options =
        GenerateOptions { trace: args.how.tracing(), ..generator.generate_options(overflow) };
    let show = if std::io::stdout().is_terminal() { printer::visible } else { str::to_string };
    let trace = TraceFile::open(&args.how)?;
    let mut command = ChatCommand {
        args: &args,
        generator: &generator,
        chat,
        decoding,
        options,
        trace,
        done: 0,
        show,
    };
    if !args.message.is_empty() {
        args.message.iter().try_for_each(|message| command.reply(message))?;
    } else if std::io::stdin().is_terminal() {
        command.interactive()?;
    } else {
        command.standard_input()?;
    }
    command.trace.finish()
}

struct ChatCommand<'a> {
    args: &'a args::Chat,
    generator: &'a Generator,
    chat: Chat<'a>,
    decoding: DecodingConfig,
    options: GenerateOptions,
    trace: TraceFile,
    /// Replies that are given.
    done: usize,
    /// A terminal gets no control characters.
    show: fn(&str) -> String,
}

impl ChatCommand<'_> {
    fn interactive(&mut self) -> Result<()> {
        printer::say(
            "Type a message and press Enter. Ctrl-C ends a reply; /reset begins again, /exit or \
             Ctrl-D ends the program.",
        );
        terminal::converse_until(|line| {
            match line.trim() {
                "/exit" => return Ok(Next::End),
                "/reset" => {
                    self.chat.reset();
                    printer::say("The conversation begins again.");
                    return Ok(Next::Line);
                }
                _ => {}
            }
            let answered = self.reply(&line);
            terminal::next_seed(&mut self.decoding, self.args.how.seed);
            answered.map(|()| Next::Line)
        })
    }

    /// A message per line; blank lines are none.
    fn standard_input(&mut self) -> Result<()> {
        let mut reader = BufReader::new(std::io::stdin().lock());
        let mut lines = 0;
        loop {
            let (messages, failed) = arrived(&mut reader, 1, lines);
            if let Some(error) = failed {
                return Err(error);
            }
            let Some(message) = messages.first() else { break };
            lines += 1;
            if !message.trim().is_empty() {
                self.reply(message)?;
            }
        }
        match self.done {
            0 => Err(Error::data("standard input has no messages")
                .hint("give one with --message \"Hello!\", or a line of standard input each")),
            _ => Ok(()),
        }
    }

    /// Replies to a message, shown while it is generated.
    fn reply(&mut self, message: &str) -> Result<()> {
        let json = self.args.json || self.args.how.trace_to_stdout();
        let streams = !json && !matches!(self.decoding.strategy, Strategy::BeamSearch(_));
        let (trace, done, show) = (&mut self.trace, self.done, self.show);
        let tokenizer = self.generator.tokenizer();
        printer::unknown_words(&tokenizer.unknown_words(message)?, "the message");
        let mut on_event = |event: Event| {
            if let (Event::Text { text, .. }, true) = (&event, streams) {
                print!("{}", show(text));
                let _ = std::io::stdout().flush();
            }
            if terminal::stopped() {
                return Err(limpid::error::Error::Interrupted);
            }
            trace.take(&event, done, tokenizer)
        };
        let reply = self.chat.run(message, &self.decoding, &self.options, &mut on_event)?;
        if json {
            println!(
                "{}",
                serde_json::json!({
                    "index": self.done, "message": message, "text": reply.text,
                    "tokens": reply.tokens, "finish_reason": reply.finish_reason.name(),
                    "score": reply.score,
                })
            );
        } else {
            println!("{}", if streams { String::new() } else { show(&reply.text) });
        }
        let _ = std::io::stdout().flush();
        self.done += 1;
        Ok(())
    }
}
