//! `limpid eval`: loss and scores of a model on test data.

use super::summarize::print_scores;
use crate::args::Eval;
use crate::error::{Error, Result};
use crate::printer::{self, perplexity, say};
use limpid::data::parallel::PairFiles;
use limpid::data::sequences::{chunks, documents};
use limpid::data::table::{Column, TableFormat};
use limpid::eval::Case;
use limpid::eval::loss::{sequences_loss, text_loss};
use limpid::eval::translator::{TranslatorScores, check_ids, score_translator};
use limpid::files::{check_output_path, write_atomic};
use limpid::generate::{GenerationOptions, translation_config};
use limpid::hub;
use limpid::model::config::EncoderHead;
use limpid::model::{Decoder, Model, Seq2Seq, Stack};
use limpid::text::{Blocks, TextReader, Tokenizer, nonblank_lines};
use limpid::train::RunConfig;
use limpid::train::config::{PairTable, Task, Unit};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Evaluates a model by the metrics of its task.
pub fn run(args: Eval) -> Result<()> {
    let (model, warnings) = hub::load_mapped(&args.model)?;
    printer::warnings(&warnings);
    check_flags(&args, &model.stack)?;
    let mut tokenizer = super::tokenizer_of(&args.model, &model)?;
    let [source, target] = [&args.source_lang, &args.target_lang].map(Option::as_deref);
    if source.is_some() || target.is_some() {
        tokenizer.set_languages(source, target)?;
    }
    if let Some(file) = &args.stories {
        return super::eval_stories::run(&args, file, &model, &tokenizer);
    }
    let pairs = pair_files(&args, &model.stack)?;
    match (&model.stack, args.data.is_empty(), pairs) {
        (Stack::Decoder(gpt), false, None) => match gpt.labels() {
            Some(labels) => {
                let context = context_of(&args, gpt)?;
                super::eval_heads::classes(&args, &model, &tokenizer, labels, context)
            }
            None => text(&args, gpt, &model, &tokenizer),
        },
        (Stack::EncoderDecoder(seq2seq), _, Some(pairs)) => {
            translation(&args, &pairs, seq2seq.into(), &model, &tokenizer)
        }
        (Stack::Recurrent(rnn), _, Some(pairs)) => {
            translation(&args, &pairs, rnn.into(), &model, &tokenizer)
        }
        (Stack::Encoder(bert), false, None) => {
            super::eval_encoder::run(&args, bert, &model, &tokenizer)
        }
        (stack, ..) => {
            let flags = match stack {
                Stack::Decoder(_) => "--data FILE",
                Stack::EncoderDecoder(_) | Stack::Recurrent(_) => "--source FILE --target FILE",
                Stack::Encoder(_) => "--data FILE",
            };
            Err(Error::config(format!(
                "{} is {}: evaluate it with {flags}",
                args.model.display(),
                stack.kind()
            ))
            .hint(format!("limpid eval {} {flags}", args.model.display())))
        }
    }
}

/// The pairs for a translator, if there are any: two files, or a table in the format of the run.
fn pair_files(args: &Eval, stack: &Stack) -> Result<Option<PairFiles>> {
    let translates = stack.translator().is_some();
    if let (Some(source), Some(target)) = (&args.source, &args.target) {
        if !args.data.is_empty() && args.stories.is_none() {
            return Err(Error::config("--data and --source exclude each other")
                .hint("leave one of them out"));
        }
        return Ok(Some(PairFiles::Parallel(source.clone(), target.clone())));
    }
    let table = match (&args.pairs, &args.data[..]) {
        (Some(table), _) => table,
        (None, [table]) if translates => table,
        (None, [_, _, ..]) if translates => {
            return Err(Error::config("--data: one table of pairs at a time can be evaluated")
                .hint("leave the others out"));
        }
        _ => return Ok(None),
    };
    let mut how = match trained_with(&args.model).map(|run| run.task) {
        Some(Task::Translate(task)) => task.data.table,
        _ => PairTable::default(),
    };
    if let Some(format) = &args.format {
        how.format = Some(TableFormat::from_name(format)?);
    }
    let columns = [
        (&args.source_column, &mut how.source_column),
        (&args.target_column, &mut how.target_column),
    ];
    for (typed, column) in columns {
        if let Some(typed) = typed {
            *column = Some(Column::parse(typed));
        }
    }
    how.header |= args.header;
    Ok(Some(how.at(table)?))
}

/// Refuses flags without effect, by name.
fn check_flags(args: &Eval, stack: &Stack) -> Result<()> {
    let translates = stack.translator().is_some();
    let labels = stack.labels().is_some();
    let (tags, answers) = match stack {
        Stack::Encoder(bert) => {
            (bert.token_labels().is_some(), bert.config().head == EncoderHead::QuestionAnswering)
        }
        _ => (false, false),
    };
    let has_head = labels || tags || answers;
    let (stories, reads_text) = (args.stories.is_some(), !translates && !has_head);
    let hides = reads_text && !matches!(stack, Stack::Decoder(_));
    let how = &args.how;
    let writes = how.options() != GenerationOptions::default() || how.trace.is_some();
    let translator = "a translator";
    let table = translates && args.source.is_none();
    let flags = [
        ("--output", args.output.is_some(), translates, translator),
        ("--lowercase", args.lowercase, translates && !args.summaries, "BLEU of a translator"),
        (
            "decoding options (--num-beams, --temperature and the like)",
            writes,
            translates,
            translator,
        ),
        ("--context", args.context.is_some(), !translates && !stories, "texts and labels"),
        (
            "--lines",
            args.lines,
            reads_text && !stories,
            "a language model or masked language model, on --data",
        ),
        (
            "--windows",
            args.windows,
            reads_text && !stories,
            "a language model or masked language model, on --data",
        ),
        ("--line-pairs", args.line_pairs, hides && !stories, "a masked language model, on --data"),
        (
            "--masked",
            args.masked.is_some(),
            hides && !stories,
            "a masked language model, on --data",
        ),
        (
            "--whole-words",
            args.whole_words,
            hides && !stories,
            "a masked language model, on --data",
        ),
        (
            "--mask-seed",
            args.mask_seed != 1,
            hides && !stories,
            "a masked language model, on --data",
        ),
        (
            "--format",
            args.format.is_some(),
            has_head || table,
            "a classifier, questions, or pairs in a table",
        ),
        ("--pairs", args.pairs.is_some(), translates, translator),
        ("--source-column", args.source_column.is_some(), table, "pairs in a table"),
        ("--target-column", args.target_column.is_some(), table, "pairs in a table"),
        ("--header", args.header, table, "pairs in a table"),
        ("--summaries", args.summaries, translates, translator),
        ("--source-lang", args.source_lang.is_some(), translates, translator),
        ("--target-lang", args.target_lang.is_some(), translates, translator),
        ("--text-column", !args.text_column.is_empty(), labels || tags, "a classifier"),
        ("--label-column", args.label_column.is_some(), labels || tags, "a classifier"),
        ("--no-header", args.no_header, labels, "a classifier of texts"),
    ];
    match flags.iter().find(|(_, given, fits, _)| *given && !*fits) {
        None => Ok(()),
        Some((flag, _, _, whose)) => Err(Error::config(format!(
            "{flag} is for {whose}: it has no effect for {}",
            stack.kind()
        ))
        .hint("leave it out")),
    }
}

/// Tokens of a decoder's window.
fn context_of(args: &Eval, gpt: &Decoder) -> Result<usize> {
    let most = gpt.config().max_position_embeddings;
    match args.context.unwrap_or(most) {
        context if context == 0 || context > most => Err(Error::config(format!(
            "--context {context} is not between 1 and the model's maximum of {most}"
        ))
        .hint(format!("--context {most}"))),
        context => Ok(context),
    }
}

fn text(args: &Eval, gpt: &Decoder, model: &Model, tokenizer: &Tokenizer) -> Result<()> {
    let context = context_of(args, gpt)?;
    let by_line = unit(args, trained_with(&args.model).as_ref()) == Unit::Lines;
    let (texts, characters) =
        if by_line { lines(args, tokenizer)? } else { whole(args, tokenizer)? };
    let all: usize = texts.iter().map(Vec::len).sum();
    if texts.iter().all(|text| text.len() < 2) {
        return Err(Error::data(format!(
            "{}: {all} tokens are too few to evaluate a language model",
            names(&args.data)
        ))
        .hint("give a longer text"));
    }
    texts.iter().try_for_each(|ids| check_ids(ids, gpt.config().vocab_size))?;
    let unknown = tokenizer.unk_id();
    warn_of_unknown((texts.iter().flatten().filter(|id| Some(**id) == unknown).count(), all));
    // Between end tokens every predicted token counts for the characters.
    let (loss, tokens) = if by_line {
        let chunks = texts.iter().flat_map(|text| chunks(text, context));
        let loss = sequences_loss((gpt, &model.params), chunks);
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
                "loss": loss.mean(), "perplexity": loss.perplexity(), "bits_per_character": bits,
                "tokens": loss.tokens,
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
    println!("loss                {:>12.4}   nats per token", loss.mean());
    println!("perplexity          {:>12}", perplexity(loss.perplexity()));
    println!("bits per character  {bits:>12.4}");
    Ok(())
}

/// The text as one sequence, and its number of characters.
fn whole(args: &Eval, tokenizer: &Tokenizer) -> Result<(Vec<Vec<u32>>, usize)> {
    let (mut ids, mut characters) = (Vec::new(), 0);
    for path in &args.data {
        for block in Blocks::new(TextReader::open(path)?) {
            let block = block?;
            characters += block.chars().count();
            ids.extend(tokenizer.encode(&block)?);
        }
    }
    Ok((vec![ids], characters))
}

/// Every nonblank line as a text of its own, and their number of characters; a line end counts for
/// the end token.
fn lines(args: &Eval, tokenizer: &Tokenizer) -> Result<(Vec<Vec<u32>>, usize)> {
    let lines = nonblank_lines(&args.data)?;
    let characters = lines.iter().map(|line| line.chars().count() + 1).sum();
    Ok((documents(tokenizer, lines.iter().map(String::as_str))?, characters))
}

/// Warns of unknown tokens.
fn warn_of_unknown((unknown, all): (usize, usize)) {
    if unknown > 0 {
        let share = 100.0 * unknown as f64 / all as f64;
        say(format_args!(
            "warning: {unknown} of {all} tokens ({share:.1}%) are out of vocabulary: the scores \
             are \
             of the unknown token in their place"
        ));
    }
}

/// The configuration of the run that a model folder belongs to, if any.
pub(super) fn trained_with(folder: &Path) -> Option<RunConfig> {
    let folder = folder.canonicalize().ok()?;
    let config = folder.parent().filter(|_| folder.ends_with("model"))?.join("config.toml");
    if !config.is_file() {
        return None;
    }
    RunConfig::read_saved(&config)
        .inspect_err(|e| {
            say(format_args!("warning: the configuration of the model's run cannot be read: {e}"))
        })
        .ok()
}

/// The unit of text: by the flags, else as in training.
pub(super) fn unit(args: &Eval, trained: Option<&RunConfig>) -> Unit {
    match args {
        Eval { lines: true, .. } => Unit::Lines,
        Eval { windows: true, .. } => Unit::Windows,
        Eval { line_pairs: true, .. } => Unit::Pairs,
        _ => trained.map_or(Unit::Windows, RunConfig::unit),
    }
}

/// The files, one after another.
pub(super) fn names(files: &[PathBuf]) -> String {
    files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn translation(
    args: &Eval,
    files: &PairFiles,
    translator: Seq2Seq,
    model: &Model,
    tokenizer: &Tokenizer,
) -> Result<()> {
    if let Some(output) = &args.output
        && files.files().iter().any(|input| same_file(output, input))
    {
        return Err(Error::config(format!("--output {} is an input file", output.display()))
            .hint("give it a name of its own"));
    }
    if let Some(output) = &args.output {
        check_output_path(output)?;
    }
    let pairs = files.pairs()?.collect::<Result<Vec<_>, _>>()?;
    if pairs.is_empty() {
        return Err(Error::data(format!("{}: no pairs found", files.sides()[0].display()))
            .hint("is it the right file?"));
    }
    let how = &args.how;
    if how.trace.is_some() {
        return Err(Error::config("--trace records one sentence, an evaluation has many")
            .hint(format!("limpid translate {} \"…\" --trace FILE", args.model.display())));
    }
    if let Some(n) = how.num_return_sequences.filter(|n| *n > 1) {
        return Err(Error::config(format!(
            "--num-return-sequences {n}: one translation per sentence is evaluated"
        ))
        .hint("leave --num-return-sequences out; limpid translate gives several"));
    }
    let (mut decoding, warnings) = translation_config(&args.model, translator, &how.options())?;
    if let Some(target) = tokenizer.target_language() {
        decoding.processor.forced_bos_token_id = Some(target);
    }
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
        &decoding,
        case,
    )?;
    let TranslatorScores { loss, translations, bleu, chrf, unknown, .. } = &found;
    warn_of_unknown(*unknown);
    if let Some(path) = &args.output {
        write_atomic(path, (translations.join("\n") + "\n").as_bytes())?;
    }
    if args.summaries {
        print_scores(args, &pairs, translations, loss);
        return Ok(());
    }
    if args.json {
        println!(
            "{}",
            json!({
                "loss": loss.mean(), "perplexity": loss.perplexity(), "tokens": loss.tokens,
                "sentences": pairs.len(),
                "bleu": bleu.score, "bleu_signature": bleu.signature, "chrf": chrf.score,
                "chrf_signature": chrf.signature,
            })
        );
        return Ok(());
    }
    println!("sentences           {:>12}   ({} tokens)", pairs.len(), loss.tokens);
    println!("loss                {:>12.4}   nats per token", loss.mean());
    println!("perplexity          {:>12}", perplexity(loss.perplexity()));
    println!("BLEU                {:>12.2}   {}", bleu.score, bleu.signature);
    println!("chrF                {:>12.2}   {}", chrf.score, chrf.signature);
    Ok(())
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
