//! A run: its folder, its loop, its end. Killed at any moment, it goes on from the last checkpoint, bit for bit.
//!
//! ```text
//! RUN/config.toml  metrics.jsonl  summary.json   what it is, what happened, how it ended (report.html for people)
//!     tokenizer/   cache/         checkpoints/   what it works with
//!     model/       translations.txt              the best model so far, in Hugging Face's layout; what it makes of the test
//! ```
//!
//! Everything is a function of the configuration and the number of the step: batches and dropout by (seed, step), the rest by what the
//! checkpoint holds.

mod find;
mod judge;
mod score;

pub use score::{Judged, JudgedOn};

use super::checkpoint::{self, Checkpoint, Keep, State};
use super::config::{RunConfig, TaskKind};
use super::examples::{Batch, Examples};
use super::from::{check_no_bias, generation_of, take_over};
use super::metrics::Metrics;
use super::replace;
use super::step::{StepReport, Stepper};
use crate::error::{Error, Result};
use crate::hash::hash_file;
use crate::hub;
use crate::model::{Architecture, Model};
use crate::report::{self, Metric};
use crate::text::Tokenizer;
use limpid_tensor::kernels::elementwise::move_towards;
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::{Block, Role};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What a run does next, asked after every step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Goes on.
    GoOn,
    /// Saves a checkpoint and ends.
    Stop,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All steps are done.
    Done,
    /// Validation has not improved for as long as `train.patience` allows.
    Early,
    /// Somebody asked it to; `--resume` goes on.
    Stopped,
}

/// What a run tells about itself.
pub enum News<'a> {
    /// A step is done.
    Step {
        /// Which.
        step: u64,
        /// Of how many.
        steps: u64,
        /// Its loss.
        loss: f32,
        /// Its tokens.
        tokens: usize,
    },
    /// A line of `metrics.jsonl`.
    Metric(&'a Metric),
    /// Something is not as one would expect.
    Warning(String),
    /// The training is over, and sentences are translated to judge it.
    Scoring {
        /// How many.
        sentences: usize,
        /// Which.
        on: JudgedOn,
    },
}

/// A run that is ready to go on.
pub struct Run {
    config: RunConfig,
    folder: PathBuf,
    tokenizer: Tokenizer,
    model: Model,
    examples: Examples,
    stepper: Stepper,
    average: Option<Block>,
    metrics: Metrics,
    state: State,
    steps: u64,
    /// How the model it began with was to write.
    begun_generation: Option<serde_json::Value>,
    judged: Option<Judged>,
}

impl Run {
    /// Prepares a run in `folder`: from its newest checkpoint if there is one, else from the beginning, which may be a model.
    ///
    /// `sources` are the files it learns from, with their hashes; a run goes on only with what it began with.
    pub fn open(
        config: RunConfig,
        folder: &Path,
        tokenizer: Tokenizer,
        mut examples: Examples,
        sources: Vec<(String, u64)>,
        checkpoint: Option<Checkpoint>,
        begun: Option<&Model>,
    ) -> Result<Self> {
        let (vocab, seed) = (tokenizer.vocab_size(), config.train.seed);
        let mut model = match config.task {
            TaskKind::Gpt => Model::gpt(&config.gpt(vocab)?, seed)?,
            TaskKind::Translate => config.translator_for(&tokenizer)?.build(seed)?,
            TaskKind::Bert | TaskKind::Classify => {
                Model::bert(&config.bert(vocab, config.head(examples.labels())?)?, seed)?
            }
        };
        if let Some(begun) = begun {
            take_over(&mut model, begun);
        }
        // What no file can hold is refused now, not when it has been learnt.
        hub::write_config(&model.architecture)?;
        let begun_generation = match &config.model.from {
            Some(folder) if !matches!(model.architecture, Architecture::Bert(_)) => generation_of(folder)?,
            _ => None,
        };
        if !config.model.bias {
            check_no_bias(&model, config.model.from.as_deref())?;
            // They are 0 and stay so.
            model.params.set_roles(|spec| if spec.name.ends_with(".bias") { Role::Fixed } else { spec.role });
        }
        let steps = match config.train.epochs {
            0 => config.train.steps,
            epochs => examples.batches_in(epochs).div_ceil(config.train.accumulate as u64),
        };
        let mut stepper = Stepper::new(&model.params, config.adam(), seed);
        let mut average = (config.train.ema > 0.0).then(|| Block::zeros_like(&model.params));
        let cuts = folder.join("tokenizer").join("tokenizer.json");
        let hash = Some(hash_file(&cuts, 0)?.1);
        let state = match &checkpoint {
            None => State { sources, tokenizer: hash, started: seconds_since_1970(), ..State::default() },
            Some(checkpoint) => {
                check_sources(&checkpoint.state.sources, &sources)?;
                check_tokenizer(checkpoint.state.tokenizer, hash, &cuts)?;
                checkpoint.read("params", model.params.flat_mut())?;
                let (m, v) = stepper.adam_mut().restore(checkpoint.state.step);
                checkpoint.read("m", m)?;
                checkpoint.read("v", v)?;
                if let Some(average) = &mut average {
                    checkpoint.read("ema", average.flat_mut())?;
                }
                // The files may have moved.
                State { sources, tokenizer: hash, ..checkpoint.state.clone() }
            }
        };
        if state.step > steps {
            let done = state.step;
            return Err(Error::config(format!(
                "the run in {} has done {done} steps, more than the {steps} it is to have",
                folder.display()
            ))
            .hint(format!("give --steps {done} or more, or begin another run with --out DIR")));
        }
        if let (Some(average), None) = (&mut average, &checkpoint) {
            average.flat_mut().copy_from_slice(model.params.flat());
        }
        let metrics = Metrics::open(folder, state.metrics_bytes, state.started)?;
        let folder = folder.to_path_buf();
        Ok(Self {
            config,
            folder,
            tokenizer,
            model,
            examples,
            stepper,
            average,
            metrics,
            state,
            steps,
            begun_generation,
            judged: None,
        })
    }

    /// Steps done, and steps in all.
    pub fn steps(&self) -> (u64, u64) {
        (self.state.step, self.steps)
    }

    /// What it is, with the sizes of the model it began with.
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// The model as it is now.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What cuts its text.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// What it learns from.
    pub fn examples(&self) -> &Examples {
        &self.examples
    }

    /// How long a step takes, in seconds, and its tokens: making its batches, and the gradients of the first one, twice, without a step being
    /// taken.
    pub fn measure(&mut self) -> Result<(f64, usize)> {
        let before = Instant::now();
        let batches = self.batches(self.state.step);
        let making = before.elapsed().as_secs_f64();
        let tokens = batches.iter().map(Batch::tokens).sum();
        let mut best = f64::INFINITY;
        for _ in 0..2 {
            let before = Instant::now();
            self.stepper.gradients_only(&self.model.params, |tape| {
                let spec = LossSpec { smoothing: 0.0, weight: 1e-3 };
                batches[0].loss(&self.model.architecture, tape, spec)
            });
            best = best.min(before.elapsed().as_secs_f64());
        }
        Ok((making + best * batches.len() as f64, tokens))
    }

    fn batches(&mut self, step: u64) -> Vec<Batch> {
        self.examples.of_step(step, self.config.train.accumulate as u64)
    }

    /// Trains to the end, or until `news` says to stop.
    pub fn train(&mut self, news: &mut dyn FnMut(News) -> Signal) -> Result<Ended> {
        let rate = self.config.rate(self.steps)?;
        let train = self.config.train.clone();
        // Also after a checkpoint that was saved just then.
        let out_of_patience = |state: &State| train.patience > 0 && state.since_best >= train.patience;
        if self.state.step < self.steps && !out_of_patience(&self.state) {
            // What an earlier end came to is not what this run is any more.
            for old in ["summary.json", "translations.txt", "report.html"] {
                let _ = std::fs::remove_file(self.folder.join(old));
            }
        }
        while self.state.step < self.steps && !out_of_patience(&self.state) {
            let lr = rate.at(self.state.step + 1);
            let (report, tokens) = self.step(lr)?;
            let step = self.state.step;
            let last = step == self.steps;
            let due = |every: u64| last || (every > 0 && step.is_multiple_of(every));
            if due(train.log_every) {
                let line = self.line(lr, report.norm);
                self.note(Metric::Train(line), news)?;
            }
            if due(train.validate_every) {
                self.validate(news)?;
            }
            let stop =
                news(News::Step { step, steps: self.steps, loss: report.loss, tokens }) == Signal::Stop;
            if due(train.checkpoint_every) || stop || out_of_patience(&self.state) {
                self.checkpoint()?;
            }
            if stop && !last {
                return Ok(Ended::Stopped);
            }
        }
        self.finish(news)
    }

    /// One step of all its batches; tells of it, and of its tokens.
    fn step(&mut self, lr: f32) -> Result<(StepReport, usize)> {
        let before = Instant::now();
        let batches = self.batches(self.state.step);
        let targets: usize = batches.iter().map(Batch::targets).sum();
        let tokens: usize = batches.iter().map(Batch::tokens).sum();
        if targets == 0 {
            return Err(Error::data(format!(
                "step {}: there is nothing to be learnt from in its batch: its text has no token that the tokenizer knows",
                self.state.step + 1
            ))
            .hint("is the tokenizer made for this text? Without tokenizer.from or --from one is learnt from it"));
        }
        let spec = LossSpec { smoothing: self.config.train.label_smoothing, weight: 1.0 / targets as f32 };
        let Model { architecture, params, .. } = &mut self.model;
        let report = self.stepper.step_parts(params, lr, batches.len(), None, |tape, part| {
            batches[part].loss(architecture, tape, spec)
        })?;
        self.state.step += 1;
        self.state.tokens += tokens as u64;
        if let Some(average) = &mut self.average {
            // Less memory in the first steps, whose weights are worth little.
            let t = self.state.step as f32;
            let decay = self.config.train.ema.min((1.0 + t) / (10.0 + t));
            move_towards(average.flat_mut(), self.model.params.flat(), 1.0 - decay);
        }
        let seconds = before.elapsed().as_secs_f64();
        self.state.seconds += seconds;
        self.state.since.add(report.loss, targets, tokens, seconds);
        Ok((report, tokens))
    }

    /// What happened since the last line of metrics.
    fn line(&mut self, lr: f32, norm: f32) -> report::Train {
        let since = std::mem::take(&mut self.state.since);
        let State { step, tokens, seconds, .. } = self.state;
        report::Train {
            step,
            loss: since.loss(),
            epoch: Some(self.examples.epoch(step * self.config.train.accumulate as u64)),
            tokens: Some(tokens),
            lr: Some(f64::from(lr)),
            grad_norm: Some(f64::from(norm)),
            seconds: Some(seconds),
            tokens_per_second: Some(since.tokens as f64 / since.seconds.max(1e-9)),
        }
    }

    fn note(&mut self, metric: Metric, news: &mut dyn FnMut(News) -> Signal) -> Result<()> {
        self.metrics.write(&metric)?;
        news(News::Metric(&metric));
        Ok(())
    }

    /// Calls `work` with the weights that count: the average if there is one.
    fn with_weights<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let Some(average) = self.average.as_mut() else { return work(self) };
        self.model.params.flat_mut().swap_with_slice(average.flat_mut());
        let result = work(self);
        let average = self.average.as_mut().expect("it was there");
        self.model.params.flat_mut().swap_with_slice(average.flat_mut());
        result
    }

    /// Saves where it is.
    pub(super) fn checkpoint(&mut self) -> Result<()> {
        self.state.metrics_bytes = self.metrics.flush()?;
        let (m, v) = self.stepper.adam().moments();
        let mut numbers = vec![("params", self.model.params.flat()), ("m", m), ("v", v)];
        numbers.extend(self.average.iter().map(|average| ("ema", average.flat())));
        checkpoint::save(&self.folder, &self.state, &numbers, self.keep())?;
        // A run that this one replaces goes for good. Until here, whoever opens the folder next puts that back.
        replace::discard(&self.folder)
    }

    fn keep(&self) -> Keep {
        let train = &self.config.train;
        Keep { count: train.keep, every: train.checkpoint_every, last: self.steps }
    }
}

fn seconds_since_1970() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// The tokens of a text must mean what they meant.
fn check_tokenizer(then: Option<u64>, now: Option<u64>, path: &Path) -> Result<()> {
    if then.is_none() || then == now {
        return Ok(());
    }
    Err(Error::format(path, "it is not what the run has cut its text with: ids would mean something else")
        .hint("put the old one back (there may be one in model/), or begin anew with --force"))
}

/// File by file the contents must be the same; where they lie may differ.
fn check_sources(then: &[(String, u64)], now: &[(String, u64)]) -> Result<()> {
    let is_other = |(i, source): &(usize, &(String, u64))| then.get(*i).is_none_or(|old| old.1 != source.1);
    let changed: Vec<&str> =
        now.iter().enumerate().filter(is_other).map(|(_, (name, _))| &name[..]).collect();
    if changed.is_empty() && then.len() == now.len() {
        return Ok(());
    }
    let what = if changed.is_empty() { "the list of files".to_string() } else { changed.join(", ") };
    Err(Error::data(format!(
        "{what} has changed since the run began: it cannot go on as if nothing had happened"
    ))
    .hint("put the old file back, or begin a new run with another --out (or --force)"))
}
