//! `limpid train`: a run in a folder, that can be stopped at any moment.

use super::signals::{StopSignals, code};
use super::train_config::config;
use super::world::Job;
use crate::args::Train;
use crate::error::{Error, Result};
use crate::printer::{self, Progress, say, visible};
use limpid::distributed::World;
use limpid::distributed::agreement::Facts;
use limpid::report::Metric;
use limpid::text::text_size;
use limpid::text::train::Stage;
use limpid::train::checkpoint;
use limpid::train::config::{BestMetric, Targets, Task};
use limpid::train::plan::{Memory, available_memory};
use limpid::train::setup::{self, Opened, RunStart, SetupProgress};
use limpid::train::{
    Control, Examples, Outcome, Run, RunConfig, RunDataset, TestScores, TrainEvent,
};
use limpid_tensor::team;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Trains to the end, or until Ctrl-C or SIGTERM: alone, or with the other processes of an MPI job.
pub fn run(args: Train) -> Result<ExitCode> {
    let mut job = Job::join()?;
    let trained = train(args, &mut job);
    job.end(trained)
}

fn train(args: Train, job: &mut Job) -> Result<ExitCode> {
    let mut config = job.agree(config(&args))?;
    if args.show_config {
        if job.is_main() {
            print!("{}", config.to_toml_with_defaults());
        }
        return Ok(ExitCode::SUCCESS);
    }
    // A run may be resumed from another directory.
    let mut lost = None;
    config.each_path(|path| match std::path::absolute(&*path) {
        Ok(absolute) => *path = absolute,
        Err(e) => lost = Some(Error::io("find", path, e)),
    });
    if let Some(error) = lost {
        return Err(error);
    }
    if let Some(steps) = args.find_lr {
        job.check_alone("a learning-rate search")?;
        return super::find_lr::run(&config, steps, args.out.as_deref(), args.json);
    }
    let folder = args.out.clone().unwrap_or_else(|| folder_of(&args.what));
    let start = match (args.resume, args.force) {
        (true, _) => RunStart::Resume,
        (_, true) => RunStart::Overwrite,
        _ => RunStart::New,
    };
    let identity = job.identity()?;
    let opened = match job.is_main() {
        true => open_in(job.take_world(), identity, &config, &folder, start),
        false => return follow(job, identity, config, &folder, start),
    };
    let Opened { mut run, warnings } = opened?;
    for warning in &warnings {
        say(format_args!("warning: {warning}"));
    }
    let (done, steps) = run.steps();
    if done >= steps {
        say(format_args!("The run in {} has done all of its {steps} steps.", folder.display()));
    } else {
        announce(&mut run, job.size())?;
    }
    let signals = StopSignals::watch(|_| {
        say("\nSaving a checkpoint after this step … (the same signal again stops at once)")
    })?;
    let mut bar = printer::Training::resumed(done, steps);
    let ended = run.train(&mut |event| {
        show(&mut bar, event);
        if signals.received().is_some() { Control::Stop } else { Control::Continue }
    });
    let seconds = bar.finish();
    let outcome = ended.map_err(|error| with_resume_hint(error, &folder))?;
    // Results are there; the other processes wait for the end.
    let limpid = printer::how_to_call();
    match outcome {
        Outcome::Interrupted => {
            let (step, steps) = run.steps();
            if args.json {
                let outcome = "interrupted";
                println!(
                    "{}",
                    json!({"folder": folder, "outcome": outcome, "step": step, "steps": steps})
                );
            }
            say(format_args!(
                "Interrupted after step {step} of {steps}; a checkpoint is saved. \
                 Run the same command with --resume to continue."
            ));
            return Ok(ExitCode::from(signals.received().map_or(130, code) as u8));
        }
        Outcome::EarlyStopped => say(format_args!(
            "Stopped early: no improvement in {} validations.",
            config.train.patience
        )),
        Outcome::Completed => say(format_args!("Done after {seconds:.0} s.")),
    }
    if args.json {
        println!("{}", summary(&folder)?);
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(scores) = run.test_scores() {
        print_scores(scores);
    }
    println!(
        "Best model: {}. Report: {}",
        folder.join("model").display(),
        folder.join("report.html").display()
    );
    println!("What to type next:");
    let is_summary = config.score().is_some_and(|score| score.targets == Targets::Summaries);
    let summarizes = is_summary || is_summarizer(run.dataset());
    let verb = if summarizes { "summarize" } else { "translate" };
    let run = printer::quoted(&folder);
    match &config.task {
        Task::Gpt(_) => println!("  {limpid} generate {run} --prompt \"…\""),
        Task::Translate(_) => println!("  {limpid} {verb} {run} \"…\""),
        Task::Bert(_) => println!("  {limpid} fill-mask {run} \"… [MASK] …\""),
        // Two texts of an example are given with a tab between them.
        Task::Classify(task) if task.data.text_columns.len() > 1 => {
            println!("  printf 'first\\tsecond\\n' | {limpid} classify {run} --pair");
        }
        Task::Classify(_) => println!("  {limpid} classify {run} \"…\""),
        Task::Tag(_) => println!("  {limpid} tag {run} \"…\""),
        Task::Answer(_) => {
            println!("  {limpid} answer {run} --question \"…\" --context \"…\"");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether targets are so much shorter than sources that they must be summaries.
fn is_summarizer(dataset: &RunDataset) -> bool {
    let Examples::Pairs(pairs) = &dataset.examples else { return false };
    let words = |text: &String| text.split_whitespace().count();
    let of = |side: fn(&(String, String)) -> &String| {
        pairs.validation_texts.iter().map(|pair| words(side(pair))).sum::<usize>()
    };
    of(|pair| &pair.0) >= 3 * of(|pair| &pair.1).max(1)
}

/// The results of a finished run: its `summary.json`, and its folder.
fn summary(folder: &Path) -> Result<Value> {
    let path = folder.join("summary.json");
    let text = std::fs::read_to_string(&path).map_err(|e| Error::io("read", &path, e))?;
    let mut summary: Value =
        serde_json::from_str(&text).map_err(|e| Error::format(&path, format!("not JSON: {e}")))?;
    if let Some(summary) = summary.as_object_mut() {
        summary.insert("folder".into(), json!(folder));
    }
    Ok(summary)
}

/// What to do about an error during training. A file that could not be written has cost the steps
/// since the last checkpoint, no more.
fn with_resume_hint(error: limpid::error::Error, folder: &Path) -> Error {
    use limpid::error::{Error as Library, RunError};
    match &error {
        Library::File(_) => {}
        Library::Run(RunError::Diverged { lr, .. }) => {
            let hint = format!(
                "use a learning rate below {lr:.1e} (--find-lr suggests one), a longer warm-up, \
                 or gradient clipping"
            );
            return Error::from(error).hint(hint);
        }
        _ => return error.into(),
    }
    let last = checkpoint::list(folder).ok().and_then(|all| all.last().map(|(step, _)| *step));
    let from = match last {
        Some(step) => format!("it continues from step {step}"),
        None => "no checkpoint was saved yet".to_string(),
    };
    Error::from(error)
        .hint(format!("free some disk space, then run the same command with --resume: {from}"))
}

/// Shows an event beside the progress bar.
fn show(bar: &mut printer::Training, event: TrainEvent) {
    match event {
        TrainEvent::Step(report) => {
            bar.step(report.step, report.steps, report.loss, report.tokens);
        }
        TrainEvent::Metric(metric) => {
            if let Metric::Train(line) = metric {
                bar.measured(line.tokens_per_second);
            }
            if let Some(line) = line(metric) {
                bar.say(&line);
            }
        }
        TrainEvent::Warning(warning) => bar.say(&format!("warning: {warning}")),
        TrainEvent::Scoring { sentences, split } => {
            bar.say(&format!("translating {sentences} sentences ({}) …", split.name()))
        }
    }
}

/// The scores on the test set, at the end.
fn print_scores(scores: &TestScores) {
    let TestScores { split, beams, best, last, summaries } = scores;
    let search = match beams {
        1 => "greedy".to_string(),
        beams => format!("{beams} beams"),
    };
    let what = if summaries.is_some() { "texts" } else { "sentences" };
    let count = best.translations.len();
    println!("Best model on {count} {what} ({}, {search}):", split.name());
    if let Some([own, lead]) = summaries {
        let baseline = "baseline (first sentence)";
        println!("  ROUGE-L {:.4}      {baseline}: {:.4}", own.rouge_l, lead.rouge_l);
        println!("  exact match {:.4}  {baseline}: {:.4}", own.exact, lead.exact);
    }
    println!("  BLEU {:.2}  {}", best.bleu.score, best.bleu.signature);
    println!("  chrF {:.2}  {}", best.chrf.score, best.chrf.signature);
    if let Some(last) = last {
        println!("  after the last step: BLEU {:.2}, chrF {:.2}", last.bleu.score, last.chrf.score);
    }
}

/// Where a run goes if nobody says so: that of a run's own `config.toml` is the run's folder.
fn folder_of(what: &str) -> PathBuf {
    let path = Path::new(what);
    if path.is_dir() {
        return path.to_path_buf();
    }
    // A lock is there from the beginning, metrics from the first steps on.
    let is_run = path.ends_with("config.toml")
        && [".lock", "metrics.jsonl"].iter().any(|name| path.with_file_name(name).is_file());
    match path.parent() {
        Some(folder) if is_run => folder.to_path_buf(),
        _ => Path::new("runs").join(path.file_stem().unwrap_or("run".as_ref())),
    }
}

/// What another process than the main one does: its share of the work, in silence.
fn follow(
    job: &mut Job,
    identity: Facts,
    config: RunConfig,
    folder: &Path,
    start: RunStart,
) -> Result<ExitCode> {
    let mut run = setup::open_in(job.take_world(), identity, config, folder, start, &mut |_| {})
        .map_err(Error::from)?
        .run;
    let signals = StopSignals::watch(|_| {})?;
    run.train(&mut |_| {
        if signals.received().is_some() { Control::Stop } else { Control::Continue }
    })
    .map_err(Error::from)?;
    Ok(ExitCode::SUCCESS)
}

/// Opens a run of this process alone.
pub(super) fn open(config: &RunConfig, folder: &Path, start: RunStart) -> Result<Opened> {
    open_in(World::single(), Facts::new(), config, folder, start)
}

fn open_in(
    world: World,
    identity: Facts,
    config: &RunConfig,
    folder: &Path,
    start: RunStart,
) -> Result<Opened> {
    let bytes = text_size(&config.tokenized_files()).unwrap_or(0);
    let (mut vocabulary, mut tokens) = (None, None);
    let config = config.clone();
    setup::open_in(world, identity, config, folder, start, &mut |preparing| match preparing {
        SetupProgress::Vocabulary(Stage::Counting(_)) => {}
        SetupProgress::Vocabulary(Stage::Learning(done, of)) => {
            vocabulary
                .get_or_insert_with(|| Progress::count("learning a vocabulary", of as u64))
                .set(done as u64);
        }
        SetupProgress::Tokens(done) => {
            tokens.get_or_insert_with(|| Progress::bytes("tokenizing", bytes)).set(done)
        }
    })
    .inspect(|_| [vocabulary, tokens].into_iter().flatten().for_each(Progress::finish))
    .map_err(Error::from)
}

/// What is going to happen: before the first step.
fn announce(run: &mut Run, ranks: usize) -> Result<()> {
    let (done, steps) = run.steps();
    let vocab = run.model().stack.vocab_size();
    let config = run.config();
    let memory = Memory::of(config, run.tokenizer().vocab_size())?.bytes();
    say(format_args!("{}", run.dataset().describe()));
    if let Some(line) =
        run.tokenizer().unk_id().and_then(|id| unknown_line(run.dataset().unknown_tokens(id)))
    {
        say(line);
    }
    say(format_args!(
        "{} parameters, {} tokens in the vocabulary, {}",
        printer::thousands(run.model().params.count()),
        printer::thousands(vocab),
        printer::counted(team::threads(), "thread"),
    ));
    if ranks > 1 {
        say(format_args!("{ranks} processes; each computes its share of a step"));
    }
    let free = available_memory()
        .map_or(String::new(), |free| format!(" of {} free", printer::size(free)));
    say(format_args!("Memory: about {}{free}", printer::size(memory)));
    say(match (config.train.best_metric, &config.task) {
        (BestMetric::Loss, _) => "The best model has the lowest validation loss",
        (BestMetric::Accuracy, _) => "The best model has the highest validation accuracy",
        (BestMetric::F1, Task::Tag(_)) => "The best model has the highest validation F1 (entities)",
        (BestMetric::F1, Task::Answer(_)) => "The best model has the highest validation F1 (words)",
        (BestMetric::F1, _) => "The best model has the highest validation F1 (macro)",
        (BestMetric::MicroF1, _) => "The best model has the highest validation F1 (micro)",
        (BestMetric::ExactMatch, _) => "The best model has the highest validation exact match",
        (BestMetric::Pearson, _) => "The best model has the highest Pearson correlation",
        (BestMetric::Spearman, _) => "The best model has the highest Spearman correlation",
    });
    if done > 0 {
        say(format_args!("Resuming from step {done}"));
    }
    if let Some(file) = config.shared_file() {
        say(format_args!(
            "warning: {} is both trained and validated on: validation says nothing about new text",
            file.display()
        ));
    }
    let warmup = config.train.warmup.steps(steps);
    if warmup > steps {
        say(format_args!(
            "warning: train.warmup_steps = {warmup} is longer than the run of {steps} steps: \
             the learning rate never reaches train.lr"
        ));
    }
    // Last: of a large model two steps take a while.
    let (seconds, tokens) = run.measure_step();
    let digits = usize::from(seconds < 0.01);
    say(format_args!(
        "{} of about {} tokens and {:.digits$} ms: {} (measured on two batches, without \
         validation and checkpoints)",
        printer::counted((steps - done) as usize, "step"),
        printer::thousands(tokens),
        seconds * 1e3,
        printer::duration(seconds * (steps - done) as f64),
    ));
    Ok(())
}

/// The share of unknown tokens in both splits, if there are any.
fn unknown_line(counts: [(usize, usize); 2]) -> Option<String> {
    let percent = |(unknown, all): (usize, usize)| 100.0 * unknown as f64 / all.max(1) as f64;
    let [train, validation] = counts;
    (train.0 + validation.0 > 0).then(|| {
        format!(
            "Unknown tokens: {:.2}% of the training split, {:.2}% of the validation split",
            percent(train),
            percent(validation)
        )
    })
}

/// How a metric is shown beside the progress bar.
fn line(metric: &Metric) -> Option<String> {
    match metric {
        Metric::Train(_) => None,
        Metric::Validation(found) => {
            let bits = found
                .bits_per_character
                .map_or(String::new(), |bits| format!(", {bits:.3} bits per character"));
            let best = if found.best { ", best so far" } else { "" };
            let (step, loss) = (found.step, found.loss);
            let of = found
                .checkpoints_averaged
                .map_or(String::new(), |k| format!(", mean of the last {k} checkpoints"));
            let perplexity = found
                .perplexity
                .map_or(String::new(), |p| format!(", perplexity {}", printer::perplexity(p)));
            let shares = [
                ("accuracy", found.accuracy),
                ("F1", found.f1),
                ("exact match", found.exact_match),
                ("micro F1", found.micro_f1),
                ("macro F1", found.macro_f1),
                ("pair accuracy", found.pair_accuracy),
            ];
            let share = |(name, share): (&str, Option<f64>)| {
                share.map(|share| format!(", {name} {:.1}%", 100.0 * share))
            };
            let shares: String = shares.into_iter().filter_map(share).collect();
            let correlations = [("Pearson", found.pearson), ("Spearman", found.spearman)];
            let correlation = |(name, value): (&str, Option<f64>)| {
                value.map(|value| format!(", {name} {value:.3}"))
            };
            let correlations: String = correlations.into_iter().filter_map(correlation).collect();
            Some(format!(
                "step {step}{of}: validation loss {loss:.4}{perplexity}{bits}{shares}\
                 {correlations}{best}"
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
