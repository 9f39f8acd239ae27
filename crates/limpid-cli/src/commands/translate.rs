//! `limpid translate`: text in, text out, line by line.

use super::decoding::TraceFile;
use super::terminal;
use crate::args::Translate;
use crate::printer;
use limpid::decode::{self, Decoding, Strategy, TranslateOptions, Translation};
use limpid::error::{Error, Result};
use limpid::eval::translator::manner_of;
use limpid::hub;
use limpid::inspect::{Alignment, TranslationAttention, align, attention_of, check_attends, heat_map};
use limpid::model::{Architecture, Model, Translator};
use limpid::text::{Tokenizer, one_line};
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
    let (model, warnings) = hub::load(&args.model)?;
    printer::warnings(&warnings);
    let translator = translator(&model, &args.model, wording)?;
    if args.align || args.attention {
        // Before anything is translated.
        check_attends(translator)?;
    }
    let ((decoding, as_files_say), warnings) = manner_of(&args.model, translator, &args.how.request())?;
    printer::warnings(&warnings);
    let tokenizer = super::tokenizer_of(&args.model, &model)?;
    let options = options(&args, as_files_say);
    let trace = TraceFile::open(&args.how)?;
    let mut job = Job {
        args: &args,
        wording,
        translator,
        model: &model,
        tokenizer: &tokenizer,
        decoding,
        options,
        trace,
        done: 0,
        too_long: 0,
    };
    if !args.text.is_empty() {
        if args.text.iter().all(|text| text.trim().is_empty()) {
            return Err(Error::data(format!("the text to {} is empty", wording.verb)).hint(format!(
                "limpid {} {} \"{}\"",
                wording.verb,
                args.model.display(),
                wording.example
            )));
        }
        let long = if args.text.len() == 1 { Long::Refuse } else { Long::LeaveEmpty };
        job.translate(&args.text, long, |i| format!("text {}", i + 1))?;
    } else {
        job.standard_input()?;
    }
    job.trace.finish()?;
    match (job.too_long, job.done) {
        (0, _) => Ok(()),
        (long, all) => Err(Error::data(format!("{long} of {all} texts are too long")).hint(wording.too_long)),
    }
}

fn options(args: &Translate, as_files_say: TranslateOptions) -> TranslateOptions {
    TranslateOptions {
        new_tokens: args.tokens,
        stops: args.how.stops_or(as_files_say.stops),
        prefix: args.prefix.clone(),
        trace: args.how.tracing(),
        ..as_files_say
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

struct Job<'a> {
    args: &'a Translate,
    wording: &'a Wording,
    translator: Translator<'a>,
    model: &'a Model,
    tokenizer: &'a Tokenizer,
    decoding: Decoding,
    options: TranslateOptions,
    trace: TraceFile,
    /// Texts that were translated already.
    done: usize,
    /// Of those, how many were too long.
    too_long: usize,
}

impl Job<'_> {
    /// Line by line in the order they came. At a terminal each line is answered at once, and what is wrong with one does not end the
    /// conversation; from a pipe, what has arrived is translated together.
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
            self.translate(&lines, Long::LeaveEmpty, |i| format!("line {} of standard input", done + i + 1))?;
            if let Some(error) = failed {
                return Err(error);
            }
            done += lines.len();
        }
        if done == 0 {
            let verb = self.wording.verb;
            return Err(Error::data(format!("standard input has no lines to {verb}")).hint(format!(
                "give the text as an argument, or pipe a file in: limpid {verb} MODEL < FILE"
            )));
        }
        Ok(())
    }

    /// Translates and prints some texts; `name` says which one an error or a warning is about.
    fn translate(&mut self, texts: &[String], long: Long, name: impl Fn(usize) -> String) -> Result<()> {
        let longest = self.translator.longest();
        let too_long = |text: &String| -> Result<Option<usize>> {
            let tokens = self.tokenizer.encode(text)?.len() + 1;
            Ok((tokens > longest).then_some(tokens))
        };
        // One that is too long loses its own line, and no other.
        let (mut readable, mut excess_of) = (texts.to_vec(), vec![0; texts.len()]);
        for (i, text) in readable.iter_mut().enumerate() {
            // White space is nothing to translate.
            if text.trim().is_empty() {
                text.clear();
            }
            if let Some(tokens) = too_long(text)? {
                let (name, excess) = (name(i), tokens - longest);
                let what =
                    format!("{name} has {tokens} tokens, {excess} more than the {longest} the model reads");
                if matches!(long, Long::Refuse) {
                    return Err(Error::data(what).hint(self.wording.too_long));
                }
                printer::say(format_args!("{what}: its line is left empty"));
                text.clear();
                excess_of[i] = excess;
                self.too_long += 1;
            }
            printer::unknown_words(&self.tokenizer.unknown_words(text)?, &name(i));
        }
        let (trace, tokenizer, first) = (&mut self.trace, self.tokenizer, self.done);
        let found = decode::translate_with(
            (self.translator, &self.model.params),
            tokenizer,
            &readable,
            &self.decoding,
            &self.options,
            &mut |event| trace.take(&event, first, tokenizer),
        )?;
        for (i, best) in found.iter().enumerate() {
            self.print(self.done + i, (&texts[i], &readable[i], excess_of[i]), best)?;
        }
        self.done += texts.len();
        // A pipe wants its lines now, not when the buffer is full.
        let _ = std::io::stdout().flush();
        Ok(())
    }

    /// One line for each translation: the text alone, or with its number and score (as Moses writes n-best lists) if there are several.
    /// `source` is the text as it was given, `read` what was read of it, `excess` by how many tokens it is too long.
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
            if let Some(looked) = best.first().map(|first| self.looked(read, first)).transpose()?.flatten() {
                let TranslationAttention { source, target, layer, weights, .. } = looked;
                value["attention"] = serde_json::json!({ "source": source, "target": target, "layer": layer + 1, "weights": weights });
            }
            if excess > 0 {
                // Nobody has ended what was never begun.
                value["ended"] = "too long".into();
                value["tokens_too_many"] = excess.into();
            }
            println!("{value}");
            return Ok(());
        }
        for (translation, alignment) in best.iter().zip(alignments) {
            let mut line = one_line(&translation.text);
            if std::io::stdout().is_terminal() {
                line = printer::visible(&line);
            }
            if self.decoding.outputs() > 1 {
                // What was not searched for has been found nowhere.
                let score =
                    if excess > 0 { Some(f32::NEG_INFINITY) } else { self.score(source, translation) };
                let score = score.map_or(String::new(), |score| format!(" ||| {score:.6}"));
                line = format!("{number} ||| {line}{score}");
            }
            if let Some(alignment) = alignment {
                let pairs: Vec<String> = alignment.iter().map(|(i, j)| format!("{i}-{j}")).collect();
                // The alignment is behind the only tab.
                line = format!("{}\t{}", line.replace('\t', " "), pairs.join(" "));
            }
            println!("{line}");
            if let Some(looked) = self.looked(read, translation)? {
                println!("{}", heat_map(&looked.target, &looked.source, &looked.weights));
            }
        }
        Ok(())
    }

    /// Where the decoder looked, if that was asked for; for what was not read it did not look.
    fn looked(&self, source: &str, translation: &Translation) -> Result<Option<TranslationAttention>> {
        if !self.args.attention || self.tokenizer.encode(source)?.is_empty() {
            return Ok(None);
        }
        let model = (self.translator, &self.model.params);
        attention_of(model, self.tokenizer, source, &translation.tokens).map(Some)
    }

    /// What a search says of it. An empty line is not searched for: that nothing is said of nothing is certain.
    fn score(&self, source: &str, translation: &Translation) -> Option<f32> {
        let is_search = matches!(self.decoding.strategy, Strategy::Beams(_));
        translation.score.or((is_search && source.trim().is_empty()).then_some(0.0))
    }

    fn align(&self, source: &str, translation: &Translation) -> Result<Option<Alignment>> {
        if !self.args.align {
            return Ok(None);
        }
        let model = (self.translator, &self.model.params);
        let mut alignment = align(model, self.tokenizer, source, &translation.tokens)?;
        // What a stop string cut off is not printed.
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
            value["ended"] = json!(first.ended.name());
        }
        if let Some(Some(alignment)) = alignments.first() {
            value["alignment"] = json!(alignment);
        }
        if let Some(score) = best.first().and_then(|translation| self.score(source, translation)) {
            value["score"] = json!(score);
        }
        if self.decoding.outputs() > 1 {
            let entry = |(translation, alignment): (&Translation, &Option<Alignment>)| {
                let mut entry = json!({
                    key: translation.text, "tokens": translation.tokens, "ended": translation.ended.name(),
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

/// The next line, waiting for it if need be, and up to `most` lines in all that have arrived with it. A line that cannot be
/// read ends them.
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
    // A byte order mark is no part of the text.
    let text = if number == 1 { text.trim_start_matches('\u{feff}') } else { &text };
    Ok(text.trim_end_matches(['\n', '\r']).to_string())
}

/// The encoder-decoder in a folder, or an error that says what is there instead.
fn translator<'a>(model: &'a Model, folder: &Path, wording: &Wording) -> Result<Translator<'a>> {
    let architecture = &model.architecture;
    architecture.translator().ok_or_else(|| {
        let usable = match architecture {
            Architecture::Bert(bert) if bert.labels().is_some() => "; `limpid classify` uses this one",
            Architecture::Bert(bert) if bert.config().head.fills_masks() => {
                "; `limpid fill-mask` uses this one"
            }
            Architecture::Bert(_) => "; `limpid embed` uses this one",
            Architecture::Gpt(_) => "; `limpid generate` uses this one",
            _ => "",
        };
        let (folder, verb) = (folder.display(), wording.verb);
        Error::config(format!("{folder} holds {}: it cannot {verb}", architecture.kind()))
            .hint(format!("{}{usable}", wording.trained_by))
    })
}
