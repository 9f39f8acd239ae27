//! `limpid translate`: text in, text out, line by line.

use super::decoding::TraceFile;
use super::heat_map::heat_map;
use super::terminal;
use crate::args::Translate;
use crate::error::{Error, Result};
use crate::hints::verb_of;
use crate::printer;
use limpid::Translator;
use limpid::error::PipelineError;
use limpid::generate::{
    DecodingConfig, Event, GenerationOptions, OnEvent, Strategy, Trace, TranslateOptions,
    Translation,
};
use limpid::inspect::{Alignment, TranslationAttention};
use limpid::pipeline::Overlength;
use limpid::text::one_line;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::Path;

/// Lines that are translated together, if they are there already.
const LINES_AT_A_TIME: usize = 256;

/// Translates the arguments, or standard input.
pub fn run(args: Translate) -> Result<()> {
    run_as(args, &TRANSLATE)
}

/// How a verb that turns text into text speaks of what it does.
pub struct Wording {
    pub verb: &'static str,
    /// What comes out, and its key in JSON.
    pub result: &'static str,
    /// A text to try it with, for hints.
    pub example: &'static str,
    /// What one types at a terminal.
    pub unit: &'static str,
    pub too_long: &'static str,
    /// Where a model for it comes from.
    pub trained_by: &'static str,
}

const TRANSLATE: Wording = Wording {
    verb: "translate",
    result: "translation",
    example: "Je suis étudiant",
    unit: "a sentence",
    too_long: "translate it sentence by sentence",
    trained_by: "`limpid demo` trains a translator",
};

/// Does what `translate` does, under another name.
pub fn run_as(args: Translate, wording: &Wording) -> Result<()> {
    let translator = Translator::load(&args.model).map_err(|e| wording.wrong_model(e))?;
    let [source, target] = [&args.source_lang, &args.target_lang].map(Option::as_deref);
    let translator = translator.with_languages(source, target)?;
    printer::warnings(translator.warnings());
    if args.align || args.attention {
        // Before anything is translated.
        translator.check_attends()?;
    }
    let options = GenerationOptions { max_new_tokens: args.max_new_tokens, ..args.how.options() };
    let decoding = translator.decoding_config(&options)?;
    let options = TranslateOptions { prefix: args.prefix.clone(), trace: args.how.tracing() };
    let trace = TraceFile::open(&args.how)?;
    let mut command = TranslateCommand {
        args: &args,
        wording,
        translator: &translator,
        decoding,
        options,
        trace,
        done: 0,
        too_long: 0,
    };
    if !args.text.is_empty() {
        if args.text.iter().all(|text| text.trim().is_empty()) {
            return Err(Error::data(format!("the text to {} is empty", wording.verb)).hint(
                format!("limpid {} {} \"{}\"", wording.verb, args.model.display(), wording.example),
            ));
        }
        let long = if args.text.len() == 1 { Long::Refuse } else { Long::LeaveEmpty };
        command.translate(&args.text, long, |i| format!("text {}", i + 1))?;
    } else {
        command.standard_input()?;
    }
    command.trace.finish()?;
    match (command.too_long, command.done) {
        (0, _) => Ok(()),
        (long, all) => {
            Err(Error::data(format!("{long} of {all} texts are too long")).hint(wording.too_long))
        }
    }
}

impl Wording {
    /// An error of loading, with where a model for this verb comes from.
    fn wrong_model(&self, error: limpid::error::Error) -> Error {
        let limpid::error::Error::Pipeline(PipelineError::WrongModel {
            path, found, made_for, ..
        }) = &error
        else {
            return error.into();
        };
        let message = format!("{} holds {found}: it cannot {}", path.display(), self.verb);
        Error::config(message).hint(format!(
            "{}; `limpid {}` uses this one",
            self.trained_by,
            verb_of(*made_for)
        ))
    }
}

/// What becomes of a text that is too long.
#[derive(Clone, Copy)]
enum Long {
    /// It is an error.
    Refuse,
    /// Its line stays empty.
    LeaveEmpty,
}

struct TranslateCommand<'a> {
    args: &'a Translate,
    wording: &'a Wording,
    translator: &'a Translator,
    decoding: DecodingConfig,
    options: TranslateOptions,
    trace: TraceFile,
    /// Texts that are done.
    done: usize,
    /// Of those, how many were too long.
    too_long: usize,
}

impl TranslateCommand<'_> {
    /// Line by line in the order they came. At a terminal each line is answered at once, and what
    /// is wrong with one does not end the conversation; from a pipe, what has arrived is translated
    /// together.
    fn standard_input(&mut self) -> Result<()> {
        let stdin = std::io::stdin();
        if stdin.is_terminal() {
            printer::say(format_args!("Type {} and press Enter. Ctrl-D ends.", self.wording.unit));
            return terminal::converse(|line| {
                let answered = self.translate(&[line], Long::Refuse, |_| "this line".to_string());
                terminal::next_seed(&mut self.decoding, self.args.how.seed);
                answered
            });
        }
        let mut reader = BufReader::new(stdin.lock());
        let mut done = 0;
        loop {
            let (lines, failed) = arrived(&mut reader, LINES_AT_A_TIME, done);
            if lines.is_empty() && failed.is_none() {
                break;
            }
            // The good lines before a bad one are not lost.
            self.translate(&lines, Long::LeaveEmpty, |i| {
                format!("line {} of standard input", done + i + 1)
            })?;
            if let Some(error) = failed {
                return Err(error);
            }
            done += lines.len();
        }
        if done == 0 {
            let verb = self.wording.verb;
            return Err(Error::data(format!("standard input has no lines to {verb}")).hint(
                format!(
                    "give the text as an argument, or pipe a file in: limpid {verb} MODEL < FILE"
                ),
            ));
        }
        Ok(())
    }

    /// Translates and prints some texts; `name` is what an error or a warning calls each.
    fn translate(
        &mut self,
        texts: &[String],
        long_text: Long,
        name: impl Fn(usize) -> String,
    ) -> Result<()> {
        let tokenizer = self.translator.tokenizer();
        // One that is too long loses its own line, and no other.
        let (mut readable, mut excess_of) = (texts.to_vec(), vec![0; texts.len()]);
        for (i, text) in readable.iter_mut().enumerate() {
            // White space is nothing to translate.
            if text.trim().is_empty() {
                text.clear();
            }
            if let Some(long) = self.translator.overlength(text)? {
                let Overlength { tokens, max_tokens } = long;
                let (name, excess) = (name(i), long.excess());
                let what = format!(
                    "{name}: {tokens} tokens exceed the model's maximum of {max_tokens} by {excess}"
                );
                if matches!(long_text, Long::Refuse) {
                    return Err(Error::data(what).hint(self.wording.too_long));
                }
                printer::say(format_args!("{what}; its line is left empty"));
                text.clear();
                excess_of[i] = excess;
                self.too_long += 1;
            }
            printer::unknown_words(&tokenizer.unknown_words(text)?, &name(i));
        }
        let (trace, first) = (&mut self.trace, self.done);
        let mut listen = |event: Event| trace.take(&event, first, tokenizer);
        // Only a trace is shown while texts are translated.
        let on_event: Option<OnEvent> = match self.options.trace {
            Trace::Off => None,
            _ => Some(&mut listen),
        };
        let found = self.translator.run(&readable, &self.decoding, &self.options, on_event)?;
        for (i, best) in found.iter().enumerate() {
            self.print(self.done + i, (&texts[i], &readable[i], excess_of[i]), best)?;
        }
        self.done += texts.len();
        // A pipe wants its lines now, not when the buffer is full.
        let _ = std::io::stdout().flush();
        Ok(())
    }

    /// One line for each translation: the text alone, or with its number and score (as Moses writes
    /// n-best lists) if there are several. `source` is the text as it was given, `read` what was
    /// read of it, `excess` by how many tokens it is too long.
    fn print(
        &self,
        number: usize,
        (source, read, excess): (&str, &str, usize),
        best: &[Translation],
    ) -> Result<()> {
        let alignments: Vec<Option<Alignment>> =
            best.iter().map(|translation| self.align(read, translation)).collect::<Result<_>>()?;
        if self.args.json || self.args.how.trace_to_stdout() {
            let mut value = self.json(source, best, &alignments);
            if let Some(attention) =
                best.first().map(|first| self.attention(read, first)).transpose()?.flatten()
            {
                let TranslationAttention { source, target, layer, weights, .. } = attention;
                value["attention"] = serde_json::json!({
                    "source": source, "target": target, "layer": layer + 1, "weights": weights,
                });
            }
            if excess > 0 {
                value["finish_reason"] = "too_long".into();
                value["excess_tokens"] = excess.into();
            }
            println!("{value}");
            return Ok(());
        }
        for (translation, alignment) in best.iter().zip(alignments) {
            let mut line = one_line(&translation.text);
            if std::io::stdout().is_terminal() {
                line = printer::visible(&line);
            }
            if self.decoding.num_return_sequences() > 1 {
                // A text that was not translated has no score.
                let score = if excess > 0 {
                    Some(f32::NEG_INFINITY)
                } else {
                    self.score(source, translation)
                };
                let score = score.map_or(String::new(), |score| format!(" ||| {score:.6}"));
                line = format!("{number} ||| {line}{score}");
            }
            if let Some(alignment) = alignment {
                let pairs: Vec<String> =
                    alignment.iter().map(|(i, j)| format!("{i}-{j}")).collect();
                // The alignment is behind the only tab.
                line = format!("{}\t{}", line.replace('\t', " "), pairs.join(" "));
            }
            println!("{line}");
            if let Some(attention) = self.attention(read, translation)? {
                println!("{}", heat_map(&attention.target, &attention.source, &attention.weights));
            }
        }
        Ok(())
    }

    /// The cross-attention, if it was asked for; none for a text that was not translated.
    fn attention(
        &self,
        source: &str,
        translation: &Translation,
    ) -> Result<Option<TranslationAttention>> {
        let tokenizer = self.translator.tokenizer();
        if !self.args.attention || tokenizer.encode(source)?.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.translator.attention(source, &translation.tokens)?))
    }

    /// The score in a beam search. An empty text is not searched for: its translation is certain.
    fn score(&self, source: &str, translation: &Translation) -> Option<f32> {
        let is_search = matches!(self.decoding.strategy, Strategy::BeamSearch(_));
        translation.score.or((is_search && source.trim().is_empty()).then_some(0.0))
    }

    fn align(&self, source: &str, translation: &Translation) -> Result<Option<Alignment>> {
        if !self.args.align {
            return Ok(None);
        }
        let mut alignment = self.translator.align(source, &translation.tokens)?;
        // Words after a stop string are not printed.
        let words = translation.text.split_whitespace().count();
        alignment.retain(|(_, word)| *word < words);
        Ok(Some(alignment))
    }

    fn json(
        &self,
        source: &str,
        best: &[Translation],
        alignments: &[Option<Alignment>],
    ) -> serde_json::Value {
        use serde_json::json;
        let first = best.first().map_or("", |translation| &translation.text);
        let key = self.wording.result;
        let mut value = json!({ "source": source, key: first });
        if let Some(first) = best.first() {
            value["tokens"] = json!(first.tokens);
            value["finish_reason"] = json!(first.finish_reason.name());
        }
        if let Some(Some(alignment)) = alignments.first() {
            value["alignment"] = json!(alignment);
        }
        if let Some(score) = best.first().and_then(|translation| self.score(source, translation)) {
            value["score"] = json!(score);
        }
        if self.decoding.num_return_sequences() > 1 {
            let entry = |(translation, alignment): (&Translation, &Option<Alignment>)| {
                let mut entry = json!({
                    key: translation.text, "tokens": translation.tokens,
                    "finish_reason": translation.finish_reason.name(),
                    "score": self.score(source, translation),
                });
                if let Some(alignment) = alignment {
                    entry["alignment"] = json!(alignment);
                }
                entry
            };
            value["all"] = best.iter().zip(alignments).map(entry).collect();
        }
        value
    }
}

/// The next line, waiting for it if need be, and up to `most` lines in all that have arrived with
/// it. A line that cannot be read ends them.
pub(super) fn arrived(
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
            Err(e) => return (lines, Some(Error::io("read", Path::new("standard input"), e))),
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
    // A byte order mark is no part of the text.
    let text = if number == 1 { text.trim_start_matches('\u{feff}') } else { &text };
    Ok(text.trim_end_matches(['\n', '\r']).to_string())
}
