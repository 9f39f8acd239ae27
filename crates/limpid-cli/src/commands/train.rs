//! `limpid train`: a run in a folder, that can be stopped at any moment.

use crate::args::Train;
use crate::printer::{self, Progress, say, visible};
use limpid::error::{Error, ErrorKind, Result};
use limpid::report::Metric;
use limpid::text::text_size;
use limpid::text::train::Stage;
use limpid::train::checkpoint;
use limpid::train::config::Targets;
use limpid::train::plan::{Memory, available_memory};
use limpid::train::setup::{self, Beginning, Opened, Preparing};
use limpid::train::{Ended, Examples, Judged, News, RunConfig, Signal, TaskKind};
use limpid_tensor::team;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a shell gives to a program that ended by Ctrl-C.
pub(super) const INTERRUPTED: i32 = 130;

static INTERRUPTS: AtomicUsize = AtomicUsize::new(0);

/// Trains to the end, or until Ctrl-C.
pub fn run(args: Train) -> Result<ExitCode> {
    let mut config = config(&args)?;
    if args.show_config {
        print!("{}", config.to_toml_with_unset());
        return Ok(ExitCode::SUCCESS);
    }
    // A run may go on from another place.
    let mut lost = None;
    config.each_path(|path| match std::path::absolute(&*path) {
        Ok(absolute) => *path = absolute,
        Err(e) => lost = Some(Error::io("find", path, &e)),
    });
    if let Some(error) = lost {
        return Err(error);
    }
    if let Some(steps) = args.find_lr {
        return super::find_lr::run(&config, steps, args.out.as_deref(), args.json);
    }
    let folder = args.out.clone().unwrap_or_else(|| folder_of(&args.what));
    let beginning = match (args.resume, args.force) {
        (true, _) => Beginning::Resume,
        (_, true) => Beginning::Force,
        _ => Beginning::Fresh,
    };
    let mut opened = open(&config, &folder, beginning)?;
    for error in &opened.damaged {
        say(format_args!("warning: {error}"));
    }
    let (done, steps) = opened.run.steps();
    if done >= steps {
        say(format_args!("The run in {} has done all of its {steps} steps.", folder.display()));
    } else {
        announce(&mut opened.run)?;
    }
    watch_interrupts()?;
    let Opened { mut run, lock, .. } = opened;
    let mut bar = printer::Training::resumed(done, steps);
    let ended = run.train(&mut |news| {
        match news {
            News::Step { step, steps, loss, tokens } => bar.step(step, steps, loss, tokens),
            News::Metric(metric) => {
                if let Metric::Train(line) = metric {
                    bar.measured(line.tokens_per_second);
                }
                if let Some(line) = line(metric) {
                    bar.say(&line);
                }
            }
            News::Warning(text) => bar.say(&format!("warning: {text}")),
            News::Scoring { sentences, on } => {
                bar.say(&format!("translating {sentences} sentences ({}) …", on.name()))
            }
        }
        if interrupted() { Signal::Stop } else { Signal::GoOn }
    });
    let seconds = bar.finish();
    let ended = ended.map_err(|error| when_it_can_go_on(error, &folder))?;
    drop(lock);
    let limpid = printer::how_to_call();
    match ended {
        Ended::Stopped => {
            let (step, steps) = run.steps();
            if args.json {
                println!("{}", json!({"folder": folder, "ended": "stopped", "step": step, "steps": steps}));
            }
            say(format_args!(
                "Stopped after step {step} of {steps}; everything is saved. To go on, type the same with --resume."
            ));
            return Ok(ExitCode::from(INTERRUPTED as u8));
        }
        Ended::Early => say(format_args!(
            "Validation has not improved for {} looks: stopped early.",
            config.train.patience
        )),
        Ended::Done => say(format_args!("Done after {seconds:.0} s.")),
    }
    if args.json {
        println!("{}", summary(&folder)?);
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(judged) = run.judged() {
        print_scores(judged);
    }
    println!(
        "The best model is in {}, what happened in {}.",
        folder.join("model").display(),
        folder.join("report.html").display()
    );
    println!("What to type next:");
    let summarizes = config.targets()? == Targets::Summaries || writes_less(run.examples());
    let verb = if summarizes { "summarize" } else { "translate" };
    let run = printer::quoted(&folder);
    match config.task {
        TaskKind::Gpt => println!("  {limpid} generate {run} --prompt \"…\""),
        TaskKind::Translate => println!("  {limpid} {verb} {run} \"…\""),
        TaskKind::Bert => println!("  {limpid} fill-mask {run} \"… [MASK] …\""),
        // Two texts of an example are given with a tab between them.
        TaskKind::Classify if config.table.text.len() > 1 => {
            println!("  printf 'first\\tsecond\\n' | {limpid} classify {run} --pair");
        }
        TaskKind::Classify => println!("  {limpid} classify {run} \"…\""),
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether targets are so much shorter than sources that they must be summaries.
fn writes_less(examples: &Examples) -> bool {
    let Examples::Pairs(pairs) = examples else { return false };
    let words = |text: &String| text.split_whitespace().count();
    let of = |side: fn(&(String, String)) -> &String| {
        pairs.validation_texts.iter().map(|pair| words(side(pair))).sum::<usize>()
    };
    of(|pair| &pair.0) >= 3 * of(|pair| &pair.1).max(1)
}

/// What a finished run came to: its `summary.json`, and where it is.
fn summary(folder: &Path) -> Result<Value> {
    let path = folder.join("summary.json");
    let text = std::fs::read_to_string(&path).map_err(|e| Error::io("read", &path, &e))?;
    let mut summary: Value =
        serde_json::from_str(&text).map_err(|e| Error::format(&path, format!("not JSON: {e}")))?;
    if let Some(summary) = summary.as_object_mut() {
        summary.insert("folder".into(), json!(folder));
    }
    Ok(summary)
}

/// A file that could not be written has cost the steps since the last checkpoint, no more.
fn when_it_can_go_on(error: Error, folder: &Path) -> Error {
    if error.kind() != ErrorKind::Io {
        return error;
    }
    let step = checkpoint::list(folder).ok().and_then(|all| all.last().map(|(step, _)| *step));
    error.hint(match step {
        Some(step) => format!("make room, then type the same with --resume: it goes on after step {step}"),
        None => "make room, then type the same with --resume: no checkpoint was written yet".to_string(),
    })
}

/// How good the translations are, at the end.
fn print_scores(judged: &Judged) {
    let Judged { on, beams, kept, last, summaries } = judged;
    let (sentences, search) = (
        kept.translations.len(),
        match beams {
            1 => "greedy".to_string(),
            beams => format!("{beams} beams"),
        },
    );
    let what = if summaries.is_some() { "texts" } else { "sentences" };
    println!("The best model on {sentences} {what} ({}, {search}):", on.name());
    if let Some([own, lead]) = summaries {
        println!("  ROUGE-L {:.4}      the first sentence of each text: {:.4}", own.rouge_l, lead.rouge_l);
        println!("  exact match {:.4}  the first sentence of each text: {:.4}", own.exact, lead.exact);
    }
    println!("  BLEU {:.2}  {}", kept.bleu.score, kept.bleu.signature);
    println!("  chrF {:.2}  {}", kept.chrf.score, kept.chrf.signature);
    if let Some(last) = last {
        println!("  after the last step: BLEU {:.2}, chrF {:.2}", last.bleu.score, last.chrf.score);
    }
}

fn config(args: &Train) -> Result<RunConfig> {
    // What is usual for a model that has learnt already; what was typed comes after it and wins.
    let mut overrides: Vec<String> = args.from.iter().map(|_| "train.lr=5e-5".to_string()).collect();
    overrides.extend(args.set.iter().cloned());
    overrides.extend(args.format.iter().map(|format| format!("table.format={format}")));
    let named = [("arch", &args.arch), ("cell", &args.cell), ("attention", &args.attention)];
    overrides.extend(named.iter().filter_map(|(key, name)| Some(format!("model.{key}={}", name.as_ref()?))));
    overrides.extend(args.bidirectional.map(|both| format!("model.bidirectional={both}")));
    overrides.extend(args.steps.map(|steps| format!("train.steps={steps}")));
    let task = match args.what.as_str() {
        "gpt" => TaskKind::Gpt,
        "translate" => TaskKind::Translate,
        "bert" => TaskKind::Bert,
        "classify" => TaskKind::Classify,
        file => {
            if !Path::new(file).is_file() {
                let what = if file.ends_with(".toml") {
                    "does not exist"
                } else {
                    "is neither a TOML file nor something to learn"
                };
                return Err(Error::config(format!("'{file}' {what}"))
                    .hint("limpid train gpt --data text.txt, limpid train translate --source a.fr --target a.en, limpid train bert --data text.txt, limpid train classify --data labelled.tsv, or limpid train CONFIG.toml"));
            }
            if args.from.is_some() {
                let path = args.from.as_ref().map_or(String::new(), |from| from.display().to_string());
                return Err(Error::config("--from is for a run without a file of its own")
                    .hint(format!("say it in the file, under [model]: from = \"{path}\"")));
            }
            let given =
                [!args.data.is_empty(), args.source.is_some(), args.target.is_some(), args.pairs.is_some()];
            if given.contains(&true) {
                return Err(Error::config(format!("{file} names its own files")).hint(
                    "change them with --set data.text='[\"a.txt\"]', --set data.source=a.fr and so on",
                ));
            }
            return RunConfig::read(Path::new(file), &overrides);
        }
    };
    let is_translation = task == TaskKind::Translate;
    let has_pairs = args.pairs.is_some() || args.set.iter().any(|set| set.contains("pairs"));
    let foreign = [
        (
            "--data",
            is_translation && !args.data.is_empty(),
            "sentences are given with --source and --target, or --pairs",
        ),
        ("--source", !is_translation && args.source.is_some(), "a text is given with --data"),
        ("--target", !is_translation && args.target.is_some(), "a text is given with --data"),
        ("--pairs", !is_translation && args.pairs.is_some(), "a text is given with --data"),
        (
            "--format",
            args.format.is_some() && task != TaskKind::Classify && !has_pairs,
            "it says how labelled texts or --pairs are written",
        ),
    ];
    if let Some((flag, _, hint)) = foreign.iter().find(|(_, given, _)| *given) {
        return Err(Error::config(format!("{flag} is not for limpid train {}", args.what)).hint(*hint));
    }
    let mut config = RunConfig::new(task);
    config.data.text = args.data.clone();
    config.model.from = args.from.clone();
    config.data.source = args.source.clone();
    config.data.target = args.target.clone();
    config.data.pairs = args.pairs.clone();
    config.with(&overrides)
}

/// Where a run goes if nobody says so: that of a run's own `config.toml` is the run's folder.
fn folder_of(what: &str) -> PathBuf {
    let path = Path::new(what);
    // A lock is there from the beginning, metrics from the first steps on.
    let is_run = path.ends_with("config.toml")
        && [".lock", "metrics.jsonl"].iter().any(|name| path.with_file_name(name).is_file());
    match path.parent() {
        Some(folder) if is_run => folder.to_path_buf(),
        _ => Path::new("runs").join(path.file_stem().unwrap_or("run".as_ref())),
    }
}

pub(super) fn open(config: &RunConfig, folder: &Path, beginning: Beginning) -> Result<Opened> {
    let bytes = text_size(&config.tokenized()).unwrap_or(0);
    let (mut vocabulary, mut tokens) = (None, None);
    setup::open(config.clone(), folder, beginning, &mut |preparing| match preparing {
        Preparing::Vocabulary(Stage::Counting(_)) => {}
        Preparing::Vocabulary(Stage::Learning(done, of)) => {
            vocabulary
                .get_or_insert_with(|| Progress::count("learning a vocabulary", of as u64))
                .set(done as u64);
        }
        Preparing::Tokens(done) => {
            tokens.get_or_insert_with(|| Progress::bytes("tokenizing", bytes)).set(done)
        }
    })
    .inspect(|_| [vocabulary, tokens].into_iter().flatten().for_each(Progress::finish))
}

/// What is going to happen: before the first step.
fn announce(run: &mut limpid::train::Run) -> Result<()> {
    let (done, steps) = run.steps();
    let vocab = run.model().architecture.vocab_size();
    let config = run.config();
    let memory = Memory::of(config, run.tokenizer().vocab_size())?.bytes();
    say(format_args!("{}", run.examples().describe()));
    if let Some(line) = run.tokenizer().unknown().and_then(|id| unknown_line(run.examples().unknown(id))) {
        say(line);
    }
    say(format_args!(
        "{} parameters, {vocab} tokens in the vocabulary, {}",
        printer::thousands(run.model().params.count()),
        printer::counted(team::threads(), "thread"),
    ));
    let free = available_memory().map_or(String::new(), |free| format!(" of {} free", printer::size(free)));
    say(format_args!("needs about {}{free}", printer::size(memory)));
    if done > 0 {
        say(format_args!("goes on after step {done}"));
    }
    if let Some(file) = config.validated_on_what_is_learnt() {
        say(format_args!(
            "warning: {} is learnt from and validated on: the validation will not tell how well anything new is done",
            file.display()
        ));
    }
    if config.train.warmup > steps {
        say(format_args!(
            "warning: train.warmup = {} is longer than the run of {steps} steps: the learning rate never reaches train.lr",
            config.train.warmup
        ));
    }
    // Last: of a large model two steps take a while.
    let (seconds, tokens) = run.measure()?;
    let digits = usize::from(seconds < 0.01);
    say(format_args!(
        "{} of about {} tokens and {:.digits$} ms: {} (measured on two batches; validation and checkpoints not counted)",
        printer::counted((steps - done) as usize, "step"),
        printer::thousands(tokens),
        seconds * 1e3,
        printer::duration(seconds * (steps - done) as f64),
    ));
    Ok(())
}

/// How much of the text the tokenizer does not know, if there is any.
fn unknown_line(counts: [(usize, usize); 2]) -> Option<String> {
    let share =
        |(unknown, all): (usize, usize)| format!("{:.2}%", 100.0 * unknown as f64 / all.max(1) as f64);
    let [learnt, kept] = counts;
    (learnt.0 + kept.0 > 0).then(|| {
        format!(
            "not in the vocabulary: {} of the tokens to learn from, {} of those for validation; all of them look alike to the model",
            share(learnt),
            share(kept)
        )
    })
}

/// What is said of a metric, besides the bar.
fn line(metric: &Metric) -> Option<String> {
    match metric {
        Metric::Train(_) => None,
        Metric::Validation(found) => {
            let bits = found
                .bits_per_character
                .map_or(String::new(), |bits| format!(", {bits:.3} bits a character"));
            let best = if found.best { ", the best so far" } else { "" };
            let (step, loss) = (found.step, found.loss);
            let of = found
                .checkpoints_averaged
                .map_or(String::new(), |k| format!(", the mean of the last {k} checkpoints"));
            let perplexity = found
                .perplexity
                .map_or(String::new(), |p| format!(", perplexity {}", printer::perplexity(p)));
            let percent = |share: f64| 100.0 * share;
            let accuracy =
                found.accuracy.map_or(String::new(), |share| format!(", {:.1}% right", percent(share)));
            let f1 = found.macro_f1.map_or(String::new(), |f1| format!(", macro F1 {:.1}%", percent(f1)));
            let pairs = found
                .pair_accuracy
                .map_or(String::new(), |share| format!(", order of pairs {:.1}% right", percent(share)));
            Some(format!(
                "step {step}{of}: validation loss {loss:.4}{perplexity}{bits}{accuracy}{f1}{pairs}{best}"
            ))
        }
        Metric::Sample(sample) => {
            let expected = |text: &String| format!("\n    (expected: {})", visible(text));
            let reference = sample.reference.as_ref().map_or(String::new(), expected);
            let (prompt, text) = (visible(sample.prompt.trim_end()), visible(sample.text.trim()));
            Some(format!("  {prompt}\n  → {text}{reference}"))
        }
    }
}

/// Whether somebody pressed Ctrl-C.
fn interrupted() -> bool {
    INTERRUPTS.load(Ordering::Relaxed) > 0
}

/// The first Ctrl-C is for the loop to see, after the step under way; the second ends the program at once.
fn watch_interrupts() -> Result<()> {
    ctrlc::set_handler(move || {
        if INTERRUPTS.fetch_add(1, Ordering::Relaxed) > 0 {
            std::process::exit(INTERRUPTED);
        }
        say("\nSaving after this step … (Ctrl-C again ends at once)");
    })
    .map_err(|e| Error::data(format!("Ctrl-C cannot be watched: {e}")))
}
