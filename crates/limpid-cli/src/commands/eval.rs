//! `limpid eval`: how good a model is on what it has not seen.

use super::summarize::print_scores;
use crate::args::Eval;
use crate::printer::{self, perplexity, say};
use limpid::data::sequences::{documents, pieces};
use limpid::decode::{Request, TranslateOptions};
use limpid::error::{Error, Result};
use limpid::eval::Case;
use limpid::eval::loss::{sequences_loss, text_loss};
use limpid::eval::translator::{TranslatorScores, check_ids, manner_of, score_translator};
use limpid::files::{check_place, write_aside};
use limpid::hub;
use limpid::model::{Architecture, Gpt, Model, Translator};
use limpid::text::{Blocks, Text, Tokenizer, lines_of};
use limpid::train::config::{PairFiles, Unit};
use limpid::train::{RunConfig, TaskKind};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Measures what the model is for.
pub fn run(args: Eval) -> Result<()> {
    let (model, warnings) = hub::load(&args.model)?;
    printer::warnings(&warnings);
    check_flags(&args, &model.architecture)?;
    let tokenizer = super::tokenizer_of(&args.model, &model)?;
    if let Some(file) = &args.stories {
        return super::eval_stories::run(&args, file, &model, &tokenizer);
    }
    let pairs = pair_files(&args, &model.architecture)?;
    match (&model.architecture, args.data.is_empty(), pairs) {
        (Architecture::Gpt(gpt), false, None) => text(&args, gpt, &model, &tokenizer),
        (Architecture::Seq2Seq(seq2seq), _, Some(pairs)) => {
            translation(&args, &pairs, seq2seq.into(), &model, &tokenizer)
        }
        (Architecture::Rnn(rnn), _, Some(pairs)) => {
            translation(&args, &pairs, rnn.into(), &model, &tokenizer)
        }
        (Architecture::Bert(bert), false, None) => super::eval_encoder::run(&args, bert, &model, &tokenizer),
        (architecture, ..) => {
            let flags = match architecture {
                Architecture::Gpt(_) => "--data FILE",
                Architecture::Seq2Seq(_) | Architecture::Rnn(_) => "--source FILE --target FILE",
                Architecture::Bert(_) => "--data FILE",
            };
            Err(Error::config(format!(
                "{} is {}, which is measured with {flags}",
                args.model.display(),
                architecture.kind()
            ))
            .hint(format!("limpid eval {} {flags}", args.model.display())))
        }
    }
}

/// Where pairs for a translator are, if such were given: two files, or a table that is written as that of the run was.
fn pair_files(args: &Eval, architecture: &Architecture) -> Result<Option<PairFiles>> {
    let translates = architecture.translator().is_some();
    if let (Some(source), Some(target)) = (&args.source, &args.target) {
        if !args.data.is_empty() && args.stories.is_none() {
            return Err(Error::config("--data is given, and --source as well").hint("leave one of them out"));
        }
        return Ok(Some(PairFiles::Parallel(source.clone(), target.clone())));
    }
    let table = match (&args.pairs, &args.data[..]) {
        (Some(table), _) => table,
        (None, [table]) if translates => table,
        (None, [_, _, ..]) if translates => {
            return Err(Error::config("--data: one table of pairs is measured at a time")
                .hint("leave the others out"));
        }
        _ => return Ok(None),
    };
    let mut run = trained_with(&args.model)
        .filter(|run| run.task == TaskKind::Translate)
        .unwrap_or_else(|| RunConfig::new(TaskKind::Translate));
    let of_this_file = [
        (&args.format, &mut run.table.format),
        (&args.source_column, &mut run.data.source_column),
        (&args.target_column, &mut run.data.target_column),
    ];
    for (said, setting) in of_this_file {
        if said.is_some() {
            *setting = said.clone();
        }
    }
    run.data.header |= args.header;
    run.pairs_in(table).map(Some)
}

/// What would be passed over in silence is refused by name.
fn check_flags(args: &Eval, architecture: &Architecture) -> Result<()> {
    let translates = architecture.translator().is_some();
    let labels = matches!(architecture, Architecture::Bert(bert) if bert.labels().is_some());
    let (stories, reads_text) = (args.stories.is_some(), !translates && !labels);
    let hides = reads_text && !matches!(architecture, Architecture::Gpt(_));
    let how = &args.how;
    let writes = how.request() != Request::default() || !how.stop.is_empty() || how.trace.is_some();
    let translator = "a translator, which writes";
    let table = translates && args.source.is_none();
    let flags = [
        ("--output", args.output.is_some(), translates, translator),
        ("--lowercase", args.lowercase, translates && !args.summaries, "BLEU of a translator"),
        ("how to write (--beams, --temperature and the like)", writes, translates, translator),
        ("--context", args.context.is_some(), !translates && !stories, "texts and labels"),
        ("--lines", args.lines, reads_text && !stories, "a language model or hidden words, on --data"),
        ("--windows", args.windows, reads_text && !stories, "a language model or hidden words, on --data"),
        ("--line-pairs", args.line_pairs, hides && !stories, "hidden words, on --data"),
        ("--masked", args.masked.is_some(), hides && !stories, "hidden words, on --data"),
        ("--whole-words", args.whole_words, hides && !stories, "hidden words, on --data"),
        ("--mask-seed", args.mask_seed != 1, hides && !stories, "hidden words, on --data"),
        ("--format", args.format.is_some(), labels || table, "a classifier, or pairs in a table"),
        ("--pairs", args.pairs.is_some(), translates, translator),
        ("--source-column", args.source_column.is_some(), table, "pairs in a table"),
        ("--target-column", args.target_column.is_some(), table, "pairs in a table"),
        ("--header", args.header, table, "pairs in a table"),
        ("--summaries", args.summaries, translates, translator),
        ("--text-column", !args.text_column.is_empty(), labels, "a classifier"),
        ("--label-column", args.label_column.is_some(), labels, "a classifier"),
        ("--no-header", args.no_header, labels, "a classifier"),
    ];
    match flags.iter().find(|(_, given, fits, _)| *given && !*fits) {
        None => Ok(()),
        Some((flag, _, _, whose)) => Err(Error::config(format!(
            "{flag}: that is for {whose}, and would change nothing for {}",
            architecture.kind()
        ))
        .hint("leave it out")),
    }
}

fn text(args: &Eval, gpt: &Gpt, model: &Model, tokenizer: &Tokenizer) -> Result<()> {
    let most = gpt.config().n_positions;
    let context = args.context.unwrap_or(most);
    if context == 0 || context > most {
        return Err(Error::config(format!("--context {context}: the model has positions for 1 to {most}"))
            .hint(format!("--context {most}")));
    }
    let by_line = unit(args, trained_with(&args.model).as_ref()) == Unit::Lines;
    let (texts, characters) = if by_line { lines(args, tokenizer)? } else { whole(args, tokenizer)? };
    let all: usize = texts.iter().map(Vec::len).sum();
    if texts.iter().all(|text| text.len() < 2) {
        return Err(Error::data(format!(
            "{}: {all} tokens are too few to predict one from another",
            names(&args.data)
        ))
        .hint("give a longer text"));
    }
    texts.iter().try_for_each(|ids| check_ids(ids, gpt.config().vocab_size))?;
    let unknown = tokenizer.unknown();
    warn_of_unknown((texts.iter().flatten().filter(|id| Some(**id) == unknown).count(), all));
    // Of a text between end tokens all that is predicted stands for its characters.
    let (loss, tokens) = if by_line {
        let pieces = texts.iter().flat_map(|text| pieces(text, context));
        let loss = sequences_loss((gpt, &model.params), pieces);
        (loss, loss.tokens)
    } else {
        let ids = &texts[0];
        (text_loss((gpt, &model.params), |part| ids[part].to_vec(), 0..ids.len(), context), all)
    };
    let bits = loss.bits_per_character(characters as f64 / tokens as f64);
    let unit = if by_line { "lines" } else { "windows" };
    if args.json {
        println!(
            "{}",
            json!({
                "loss": loss.mean(), "perplexity": loss.perplexity(), "bits_per_character": bits, "tokens": loss.tokens,
                "characters": characters, "unit": unit, "context": context,
            })
        );
        return Ok(());
    }
    let how = if by_line {
        format!("of {}", printer::counted(texts.len(), "line"))
    } else {
        format!("windows of {context}")
    };
    println!("tokens              {:>12}   ({how})", loss.tokens);
    println!("loss                {:>12.4}   nats a token", loss.mean());
    println!("perplexity          {:>12}", perplexity(loss.perplexity()));
    println!("bits per character  {bits:>12.4}");
    Ok(())
}

/// The text as one sequence, and its characters.
fn whole(args: &Eval, tokenizer: &Tokenizer) -> Result<(Vec<Vec<u32>>, usize)> {
    let (mut ids, mut characters) = (Vec::new(), 0);
    for path in &args.data {
        for block in Blocks::new(Text::open(path)?) {
            let block = block?;
            characters += block.chars().count();
            ids.extend(tokenizer.encode(&block)?);
        }
    }
    Ok((vec![ids], characters))
}

/// Every line that is not blank as a text of its own, and their characters; a line end stands for the token that ends a text.
fn lines(args: &Eval, tokenizer: &Tokenizer) -> Result<(Vec<Vec<u32>>, usize)> {
    let lines = lines_of(&args.data)?;
    let characters = lines.iter().map(|line| line.chars().count() + 1).sum();
    Ok((documents(tokenizer, lines.iter().map(String::as_str))?, characters))
}

/// So many tokens of all are not known.
fn warn_of_unknown((unknown, all): (usize, usize)) {
    if unknown > 0 {
        let share = 100.0 * unknown as f64 / all as f64;
        say(format_args!(
            "warning: {unknown} of {all} tokens ({share:.1}%) are not in the model's vocabulary: the figures are of what it makes of them"
        ));
    }
}

/// The settings of the run that a model folder lies in, if it does.
pub(super) fn trained_with(folder: &Path) -> Option<RunConfig> {
    let folder = folder.canonicalize().ok()?;
    let config = folder.parent().filter(|_| folder.ends_with("model"))?.join("config.toml");
    if !config.is_file() {
        return None;
    }
    RunConfig::read(&config, &[])
        .inspect_err(|e| say(format_args!("warning: how the model was trained cannot be read: {e}")))
        .ok()
}

/// What a text is: as was asked for, or as the run was trained that the model is of.
pub(super) fn unit(args: &Eval, trained: Option<&RunConfig>) -> Unit {
    match args {
        Eval { lines: true, .. } => Unit::Lines,
        Eval { windows: true, .. } => Unit::Windows,
        Eval { line_pairs: true, .. } => Unit::Pairs,
        _ => trained.and_then(|run| run.unit().ok()).unwrap_or(Unit::Windows),
    }
}

/// The files, one after another.
pub(super) fn names(files: &[PathBuf]) -> String {
    files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn translation(
    args: &Eval,
    files: &PairFiles,
    translator: Translator,
    model: &Model,
    tokenizer: &Tokenizer,
) -> Result<()> {
    if let Some(output) = &args.output
        && files.files().iter().any(|input| same_file(output, input))
    {
        return Err(Error::config(format!("--output {} is what is read", output.display()))
            .hint("give it a name of its own"));
    }
    if let Some(output) = &args.output {
        check_place(output)?;
    }
    let pairs = files.pairs()?.collect::<Result<Vec<_>>>()?;
    if pairs.is_empty() {
        return Err(Error::data(format!("{}: there is no pair in it", files.sides()[0].display()))
            .hint("is it the right file?"));
    }
    let how = &args.how;
    if how.trace.is_some() {
        return Err(Error::config("--trace: a measurement is of many sentences, a trace of one")
            .hint(format!("limpid translate {} \"…\" --trace FILE", args.model.display())));
    }
    let several = [("--samples", how.samples), ("--nbest", how.nbest)];
    if let Some((flag, n)) = several.iter().find(|(_, n)| n.is_some_and(|n| n > 1)) {
        return Err(Error::config(format!(
            "{flag} {}: one translation of a sentence is measured",
            n.unwrap_or(0)
        ))
        .hint(format!("leave {flag} out; limpid translate gives several")));
    }
    let ((decoding, as_files_say), warnings) = manner_of(&args.model, translator, &how.request())?;
    let options = TranslateOptions { stops: how.stops_or(as_files_say.stops), ..as_files_say };
    printer::warnings(&warnings);
    let case = if args.lowercase { Case::Lower } else { Case::Mixed };
    let verb = if args.summaries { "Summarizing" } else { "Translating" };
    say(format_args!(
        "{verb} {} …",
        printer::counted(pairs.len(), if args.summaries { "text" } else { "sentence" })
    ));
    let found = score_translator(
        (translator, &model.params),
        tokenizer,
        (&pairs, files.sides()),
        &(decoding, options),
        case,
    )?;
    let TranslatorScores { loss, translations, bleu, chrf, unknown, .. } = &found;
    warn_of_unknown(*unknown);
    if let Some(path) = &args.output {
        write_aside(path, (translations.join("\n") + "\n").as_bytes())?;
    }
    if args.summaries {
        print_scores(args, &pairs, translations, loss);
        return Ok(());
    }
    if args.json {
        println!(
            "{}",
            json!({
                "loss": loss.mean(), "perplexity": loss.perplexity(), "tokens": loss.tokens, "sentences": pairs.len(),
                "bleu": bleu.score, "bleu_signature": bleu.signature, "chrf": chrf.score, "chrf_signature": chrf.signature,
            })
        );
        return Ok(());
    }
    println!("sentences           {:>12}   ({} tokens)", pairs.len(), loss.tokens);
    println!("loss                {:>12.4}   nats a token", loss.mean());
    println!("perplexity          {:>12}", perplexity(loss.perplexity()));
    println!("BLEU                {:>12.2}   {}", bleu.score, bleu.signature);
    println!("chrF                {:>12.2}   {}", chrf.score, chrf.signature);
    Ok(())
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
