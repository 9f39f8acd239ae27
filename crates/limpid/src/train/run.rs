//! A run: its folder, its loop, its end. Killed at any moment, it goes on from the last checkpoint, bit for bit.
//!
//! ```text
//! RUN/config.toml  metrics.jsonl  summary.json   what it is, what happened, how it ended (report.html for people)
//!     tokenizer/   cache/         checkpoints/   what it works with
//!     model/                                     the best model so far, in Hugging Face's layout
//! ```
//!
//! Everything is a function of the configuration and the number of the step: batches and dropout by (seed, step), the rest by what the
//! checkpoint holds.

use super::checkpoint::{self, Checkpoint, State};
use super::config::{RunConfig, TaskKind};
use super::examples::{Batch, Examples, Validation};
use super::metrics::Metrics;
use super::step::Stepper;
use crate::error::{Error, Result};
use crate::files::write_aside;
use crate::hub;
use crate::model::{Architecture, Model};
use crate::report::{self, Metric};
use crate::text::Tokenizer;
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::{Block, Params, Role};
use limpid_tensor::team;
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
}

/// Since the last line of metrics.
#[derive(Default)]
struct Since {
    loss: f64,
    targets: f64,
    tokens: u64,
    seconds: f64,
}

impl Run {
    /// Prepares a run in `folder`: from its newest checkpoint if there is one, else from the beginning.
    ///
    /// `sources` are the files it learns from, with their hashes; a run goes on only with what it began with.
    pub fn open(
        config: RunConfig,
        folder: &Path,
        tokenizer: Tokenizer,
        mut examples: Examples,
        sources: Vec<(String, u64)>,
        checkpoint: Option<Checkpoint>,
    ) -> Result<Self> {
        let (vocab, seed) = (tokenizer.vocab_size(), config.train.seed);
        let mut model = match config.task {
            TaskKind::Gpt => Model::gpt(&config.gpt(vocab)?, seed)?,
            TaskKind::Translate => Model::seq2seq(&config.seq2seq(vocab)?, seed)?,
        };
        if !config.model.bias {
            // They are 0 and stay so.
            model.params.set_roles(|spec| if spec.name.ends_with(".bias") { Role::Fixed } else { spec.role });
        }
        let steps = match config.train.epochs {
            0 => config.train.steps,
            epochs => examples.batches_in(epochs).div_ceil(config.train.accumulate as u64),
        };
        let mut stepper = Stepper::new(&model.params, config.adam(), seed);
        let mut average = (config.train.ema > 0.0).then(|| Block::zeros_like(&model.params));
        let state = match &checkpoint {
            None => State { sources, started: seconds_since_1970(), ..State::default() },
            Some(checkpoint) => {
                check_sources(&checkpoint.state.sources, &sources)?;
                checkpoint.read("params", model.params.flat_mut())?;
                let (m, v) = stepper.adam_mut().restore(checkpoint.state.step);
                checkpoint.read("m", m)?;
                checkpoint.read("v", v)?;
                if let Some(average) = &mut average {
                    checkpoint.read("ema", average.flat_mut())?;
                }
                checkpoint.state.clone()
            }
        };
        if let (Some(average), None) = (&mut average, &checkpoint) {
            average.flat_mut().copy_from_slice(model.params.flat());
        }
        let metrics = Metrics::open(folder, state.metrics_bytes, state.started)?;
        let folder = folder.to_path_buf();
        Ok(Self { config, folder, tokenizer, model, examples, stepper, average, metrics, state, steps })
    }

    /// Steps done, and steps in all.
    pub fn steps(&self) -> (u64, u64) {
        (self.state.step, self.steps)
    }

    /// The model as it is now.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What it learns from.
    pub fn examples(&self) -> &Examples {
        &self.examples
    }

    /// How long a step takes, in seconds: the gradients of the first batch, twice, without a step being taken.
    pub fn measure(&mut self) -> Result<(f64, usize)> {
        let batches = self.batches(self.state.step);
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
        Ok((best * batches.len() as f64, tokens))
    }

    fn batches(&mut self, step: u64) -> Vec<Batch> {
        let k = self.config.train.accumulate as u64;
        (step * k..(step + 1) * k).map(|n| self.examples.batch(n)).collect()
    }

    /// Trains to the end, or until `news` says to stop.
    pub fn train(&mut self, news: &mut dyn FnMut(News) -> Signal) -> Result<Ended> {
        let rate = self.config.rate(self.steps)?;
        let train = self.config.train.clone();
        let mut since = Since::default();
        // Set when a validation was the last that patience allows: also after a checkpoint that was saved just then.
        let out_of_patience = |state: &State| train.patience > 0 && state.since_best >= train.patience;
        while self.state.step < self.steps && !out_of_patience(&self.state) {
            let before = Instant::now();
            let batches = self.batches(self.state.step);
            let targets: usize = batches.iter().map(Batch::targets).sum();
            let tokens: usize = batches.iter().map(Batch::tokens).sum();
            let spec = LossSpec { smoothing: train.label_smoothing, weight: 1.0 / targets as f32 };
            let (model, lr) = (&mut self.model, rate.at(self.state.step + 1));
            let architecture = &model.architecture;
            let report =
                self.stepper.step_parts(&mut model.params, lr, batches.len(), None, |tape, part| {
                    batches[part].loss(architecture, tape, spec)
                })?;
            self.state.step += 1;
            self.state.tokens += tokens as u64;
            if let Some(average) = &mut self.average {
                move_average(average, &self.model.params, train.ema, self.state.step);
            }
            let (step, seconds) = (self.state.step, before.elapsed().as_secs_f64());
            self.state.seconds += seconds;
            since.loss += f64::from(report.loss) * targets as f64;
            since.targets += targets as f64;
            since.tokens += tokens as u64;
            since.seconds += seconds;
            let last = step == self.steps;
            if step.is_multiple_of(train.log_every) || last {
                let since = std::mem::take(&mut since);
                let metric = report::Train {
                    step,
                    loss: since.loss / since.targets,
                    epoch: Some(self.examples.epoch(step * train.accumulate as u64)),
                    tokens: Some(self.state.tokens),
                    lr: Some(f64::from(lr)),
                    grad_norm: Some(f64::from(report.norm)),
                    seconds: Some(self.state.seconds),
                    tokens_per_second: Some(since.tokens as f64 / since.seconds.max(1e-9)),
                };
                self.note(Metric::Train(metric), news)?;
            }
            if last || (train.validate_every > 0 && step.is_multiple_of(train.validate_every)) {
                self.validate(news)?;
            }
            let stop =
                news(News::Step { step, steps: self.steps, loss: report.loss, tokens }) == Signal::Stop;
            let due = train.checkpoint_every > 0 && step.is_multiple_of(train.checkpoint_every);
            if due || last || stop || out_of_patience(&self.state) {
                // A line that is half done would be lost by whoever goes on from here: it begins anew.
                self.checkpoint()?;
            }
            if stop && !last {
                return Ok(Ended::Stopped);
            }
        }
        self.finish(news)
    }

    fn note(&mut self, metric: Metric, news: &mut dyn FnMut(News) -> Signal) -> Result<()> {
        self.metrics.write(&metric)?;
        news(News::Metric(&metric));
        Ok(())
    }

    /// Calls `work` with the weights that count: the average if there is one.
    fn with_weights<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let Some(average) = self.average.as_mut() else { return work(self) };
        swap(self.model.params.flat_mut(), average.flat_mut());
        let result = work(self);
        let average = self.average.as_mut().expect("it was there");
        swap(self.model.params.flat_mut(), average.flat_mut());
        result
    }

    fn validate(&mut self, news: &mut dyn FnMut(News) -> Signal) -> Result<()> {
        let found =
            self.with_weights(|run| run.examples.validate(&run.model.architecture, &run.model.params));
        if !found.loss.is_finite() {
            return Err(Error::numeric(format!(
                "the validation loss after step {} is {}: the training has diverged",
                self.state.step, found.loss
            ))
            .hint(format!("use a learning rate below {:.1e}: --set train.lr=…", self.config.train.lr)));
        }
        let best = self.state.best().is_none_or(|best| found.loss < best);
        if best {
            self.state.best_bits = Some(found.loss.to_bits());
            self.state.best_step = self.state.step;
            self.state.since_best = 0;
            self.with_weights(|run| run.save_model())?;
        } else {
            self.state.since_best += 1;
        }
        self.note_validation(found, best, news)?;
        let step = self.state.step;
        for (prompt, text, reference) in self.with_weights(|run| run.samples())? {
            self.note(Metric::Sample(report::Sample { step, prompt, text, reference }), news)?;
        }
        Ok(())
    }

    fn note_validation(
        &mut self,
        found: Validation,
        best: bool,
        news: &mut dyn FnMut(News) -> Signal,
    ) -> Result<()> {
        let Validation { loss, bits_per_character, .. } = found;
        let step = self.state.step;
        let perplexity = Some(loss.exp());
        let metric =
            report::Validation { step, loss, perplexity, bits_per_character, best, ..Default::default() };
        self.note(Metric::Validation(metric), news)
    }

    fn samples(&mut self) -> Result<Vec<(String, String, Option<String>)>> {
        let count = self.config.train.samples;
        if count == 0 {
            return Ok(Vec::new());
        }
        match (&self.model.architecture, &self.examples) {
            (Architecture::Gpt(gpt), Examples::Text(text)) => {
                text.samples((gpt, &self.model.params), &self.tokenizer, count, self.state.step)
            }
            (Architecture::Seq2Seq(model), Examples::Pairs(pairs)) => {
                let chosen = &pairs.validation_texts[..count.min(pairs.validation_texts.len())];
                let sources: Vec<&str> = chosen.iter().map(|(source, _)| source.as_str()).collect();
                let texts = crate::decode::translate(model, &self.model.params, &self.tokenizer, &sources)?;
                let sample = |((source, target), text): (&(String, String), String)| {
                    (source.clone(), text, Some(target.clone()))
                };
                Ok(chosen.iter().zip(texts).map(sample).collect())
            }
            _ => unreachable!("model and examples are made from one configuration"),
        }
    }

    fn save_model(&self) -> Result<()> {
        let folder = self.folder.join("model");
        crate::files::create_folder(&folder)?;
        self.tokenizer.save(&folder)?;
        hub::save(&self.model, &folder)
    }

    fn checkpoint(&mut self) -> Result<()> {
        self.state.metrics_bytes = self.metrics.flush()?;
        let (m, v) = self.stepper.adam().moments();
        let mut numbers = vec![("params", self.model.params.flat()), ("m", m), ("v", v)];
        numbers.extend(self.average.iter().map(|average| ("ema", average.flat())));
        checkpoint::save(&self.folder, &self.state, &numbers, self.config.train.keep)
    }

    /// The average of the last checkpoints, if that is wished and better; then the summary.
    fn finish(&mut self, news: &mut dyn FnMut(News) -> Signal) -> Result<Ended> {
        let mut chosen = "best";
        let k = self.config.train.average_last;
        if k > 1 && self.average_checkpoints(k)? {
            let found = self.examples.validate(&self.model.architecture, &self.model.params);
            let best = self.state.best().is_none_or(|best| found.loss < best);
            self.note_validation(found, best, news)?;
            if best {
                chosen = "average";
                self.state.best_bits = Some(found.loss.to_bits());
                self.save_model()?;
            }
        }
        self.metrics.flush()?;
        let ended = if self.state.step == self.steps { Ended::Done } else { Ended::Early };
        let state = &self.state;
        let summary = serde_json::json!({
            "steps": state.step, "tokens": state.tokens, "seconds": state.seconds, "parameters": self.model.params.count(),
            "validation_loss": state.best(), "validation_perplexity": state.best().map(f64::exp), "best_step": state.best_step,
            "model": chosen, "ended": if ended == Ended::Done { "done" } else { "early" }, "threads": team::threads(),
        });
        let text = serde_json::to_string_pretty(&summary).expect("a summary is JSON");
        write_aside(&self.folder.join("summary.json"), text.as_bytes())?;
        let page = report::html(&report::Run::read(&self.folder)?);
        write_aside(&self.folder.join("report.html"), page.as_bytes())?;
        Ok(ended)
    }

    /// Replaces the weights by the mean of those of the last `k` regular checkpoints, if there are so many.
    fn average_checkpoints(&mut self, k: usize) -> Result<bool> {
        let every = self.config.train.checkpoint_every.max(1);
        let regular = |step: u64| step.is_multiple_of(every) || step == self.steps;
        let all: Vec<PathBuf> = checkpoint::list(&self.folder)?
            .into_iter()
            .filter(|(step, _)| regular(*step))
            .map(|(_, place)| place)
            .collect();
        if all.len() < k {
            return Ok(false);
        }
        let mut one = vec![0.0; self.model.params.flat().len()];
        let mut sum = vec![0.0_f64; one.len()];
        for place in &all[all.len() - k..] {
            Checkpoint::open(place)?.read("params", &mut one)?;
            sum.iter_mut().zip(&one).for_each(|(sum, x)| *sum += f64::from(*x));
        }
        let flat = self.model.params.flat_mut();
        flat.iter_mut().zip(&sum).for_each(|(x, sum)| *x = (sum / k as f64) as f32);
        Ok(true)
    }
}

/// a ← a + (1 − d)·(w − a), with less memory in the first steps: d = min(decay, (1 + t)/(10 + t)).
fn move_average(average: &mut Block, params: &Params, decay: f32, step: u64) {
    let decay = decay.min((1.0 + step as f32) / (10.0 + step as f32));
    let weights = params.flat();
    const CHUNK: usize = 16_384;
    team::for_each_chunk(average.flat_mut(), CHUNK, |i, chunk| {
        let from = &weights[i * CHUNK..][..chunk.len()];
        chunk.iter_mut().zip(from).for_each(|(a, w)| *a += (1.0 - decay) * (w - *a));
    });
}

fn seconds_since_1970() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

fn swap(a: &mut [f32], b: &mut [f32]) {
    a.swap_with_slice(b);
}

fn check_sources(then: &[(String, u64)], now: &[(String, u64)]) -> Result<()> {
    let changed: Vec<&str> =
        now.iter().filter(|source| !then.contains(source)).map(|(name, _)| &name[..]).collect();
    if changed.is_empty() && then.len() == now.len() {
        return Ok(());
    }
    let what = if changed.is_empty() { "the list of files".to_string() } else { changed.join(", ") };
    Err(Error::data(format!(
        "{what} has changed since the run began: it cannot go on as if nothing had happened"
    ))
    .hint("put the old file back, or begin a new run with another --out (or --force)"))
}
