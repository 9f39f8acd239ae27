//! `limpid train`: a run in a folder, that can be stopped at any moment.

use crate::args::Train;
use crate::printer::{self, Progress, say};
use limpid::error::{Error, Result};
use limpid::report::Metric;
use limpid::text::text_size;
use limpid::text::train::Stage;
use limpid::train::plan::{Memory, available_memory};
use limpid::train::setup::{self, Beginning, Opened, Preparing};
use limpid::train::{Ended, News, RunConfig, Signal, TaskKind};
use limpid_tensor::team;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a shell gives to a program that ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

static INTERRUPTS: AtomicUsize = AtomicUsize::new(0);

/// Trains to the end, or until Ctrl-C.
pub fn run(args: Train) -> Result<ExitCode> {
    let mut config = config(&args)?;
    if args.show_config {
        print!("{}", config.to_toml());
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
    let folder = args.out.clone().unwrap_or_else(|| Path::new("runs").join(name(&args.what)));
    let beginning = match (args.resume, args.force) {
        (true, _) => Beginning::Resume,
        (_, true) => Beginning::Force,
        _ => Beginning::Fresh,
    };
    let Opened { mut run, damaged, lock } = open(&config, &folder, beginning)?;
    for error in &damaged {
        eprintln!("warning: {error}; an older checkpoint is used");
    }
    let (done, steps) = run.steps();
    if done >= steps {
        say(format_args!("The run in {} has done all of its {steps} steps.", folder.display()));
    } else {
        announce(&config, &mut run)?;
    }
    watch_interrupts()?;
    let mut bar = printer::Training::resumed(done, steps);
    let ended = run.train(&mut |news| {
        match news {
            News::Step { step, steps, loss, tokens } => bar.step(step, steps, loss, tokens),
            News::Metric(metric) => {
                if let Some(line) = line(metric) {
                    bar.say(&line);
                }
            }
        }
        if INTERRUPTS.load(Ordering::Relaxed) > 0 { Signal::Stop } else { Signal::GoOn }
    });
    let seconds = bar.finish();
    let ended = ended?;
    drop(lock);
    let limpid = printer::how_to_call();
    match ended {
        Ended::Stopped => {
            let (step, steps) = run.steps();
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
    println!(
        "The best model is in {}, what happened in {}.",
        folder.join("model").display(),
        folder.join("report.html").display()
    );
    println!("What to type next:");
    match config.task {
        TaskKind::Gpt => println!("  {limpid} generate {} --prompt \"…\"", folder.display()),
        TaskKind::Translate => println!("  {limpid} translate {} \"…\"", folder.display()),
    }
    Ok(ExitCode::SUCCESS)
}

fn config(args: &Train) -> Result<RunConfig> {
    let mut overrides = args.set.clone();
    let named = [("arch", &args.arch), ("cell", &args.cell), ("attention", &args.attention)];
    overrides.extend(named.iter().filter_map(|(key, name)| Some(format!("model.{key}={}", name.as_ref()?))));
    overrides.extend(args.bidirectional.map(|both| format!("model.bidirectional={both}")));
    overrides.extend(args.steps.map(|steps| format!("train.steps={steps}")));
    let task = match args.what.as_str() {
        "gpt" => TaskKind::Gpt,
        "translate" => TaskKind::Translate,
        file => {
            if !Path::new(file).is_file() {
                return Err(Error::config(format!("'{file}' is neither a TOML file nor something to learn"))
                    .hint("limpid train gpt --data text.txt, limpid train translate --source a.fr --target a.en, or limpid train CONFIG.toml"));
            }
            return RunConfig::read(Path::new(file), &overrides);
        }
    };
    let mut config = RunConfig::new(task);
    config.data.text = args.data.clone();
    config.data.source = args.source.clone();
    config.data.target = args.target.clone();
    config.with(&overrides)
}

fn name(what: &str) -> PathBuf {
    Path::new(what).file_stem().map_or_else(|| PathBuf::from("run"), PathBuf::from)
}

fn open(config: &RunConfig, folder: &Path, beginning: Beginning) -> Result<Opened> {
    let bytes = text_size(&config.data.text).unwrap_or(0);
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
fn announce(config: &RunConfig, run: &mut limpid::train::Run) -> Result<()> {
    let (done, steps) = run.steps();
    let vocab = match &run.model().architecture {
        limpid::model::Architecture::Gpt(gpt) => gpt.config().vocab_size,
        limpid::model::Architecture::Seq2Seq(model) => model.config().vocab_size,
        limpid::model::Architecture::Rnn(model) => model.config().vocab_size,
    };
    let (seconds, tokens) = run.measure()?;
    let memory = Memory::of(config, vocab)?.bytes();
    say(format_args!("{}", run.examples().describe()));
    say(format_args!(
        "{} parameters, {vocab} tokens in the vocabulary, about {tokens} tokens a step, {} threads",
        printer::thousands(run.model().params.count()),
        team::threads(),
    ));
    let free = available_memory().map_or(String::new(), |free| format!(" of {:.1} GB free", free / 1e9));
    say(format_args!("needs about {:.1} GB{free}", memory / 1e9));
    if done > 0 {
        say(format_args!("goes on after step {done}"));
    }
    say(format_args!(
        "{} steps of about {:.0} ms: {} (measured on two batches; validation and checkpoints not counted)",
        steps - done,
        seconds * 1e3,
        printer::duration(seconds * (steps - done) as f64),
    ));
    Ok(())
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
            Some(format!("step {step}: validation loss {loss:.4}, perplexity {:.2}{bits}{best}", loss.exp()))
        }
        Metric::Sample(sample) => {
            let expected = |text: &String| format!("\n    (expected: {text})");
            let reference = sample.reference.as_ref().map_or(String::new(), expected);
            Some(format!("  {}\n  → {}{reference}", sample.prompt.trim_end(), sample.text.trim()))
        }
    }
}

/// The first Ctrl-C ends the run after the step under way, with a checkpoint; the second ends the program at once.
fn watch_interrupts() -> Result<()> {
    ctrlc::set_handler(|| {
        if INTERRUPTS.fetch_add(1, Ordering::Relaxed) > 0 {
            std::process::exit(INTERRUPTED);
        }
        eprintln!("\nSaving after this step … (Ctrl-C again ends at once)");
    })
    .map_err(|e| Error::data(format!("Ctrl-C cannot be watched: {e}")))
}
