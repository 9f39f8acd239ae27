//! A run: a [`Trainer`] with a folder, metrics, validation and checkpoints. Killed at any moment,
//! it resumes from the last checkpoint, bit for bit.
//!
//! ```text
//! RUN/config.toml    settings            model/            the best model so far
//!     metrics.jsonl  one line per event  tokenizer/ cache/ tokenizer and token ids
//!     checkpoints/   to resume from      translations.txt  of the test set, by the best model
//!     summary.json   final results       report.html       the same for people
//! ```
//!
//! Everything is a function of the configuration and the number of the step: batches and dropout
//! follow from (seed, step), the rest from what the checkpoint holds.

mod best;
mod find_lr;
mod finish;
mod session;

use session::Session;

use super::checkpoint::{Checkpoint, State};
use super::config::RunConfig;
use super::dataset::RunDataset;
use super::disk::check_disk_space;
use super::evaluate::{ScoredSplit, TestScores};
use super::freeze::freeze;
use super::metrics::Metrics;
use super::pretrained::{check_no_bias, generation_config_of};
use super::run_folder::RunFolder;
use super::trainer::{Control, Outcome, StepReport, Trainer, TrainerConfig};
use super::vocabulary::tokenizer_hash;
use super::warning::RunWarning;
use crate::distributed::{Patience, World, agreement};
use crate::error::{Result, RunError};
use crate::hash::hash_bytes;
use crate::hub;
use crate::model::{Model, Stack};
use crate::report::Metric;
use crate::text::Tokenizer;
use limpid_tensor::bytes;
use limpid_tensor::params::Role;
use std::collections::BTreeSet;
use std::path::Path;

/// What a run reports while it trains.
pub enum TrainEvent<'a> {
    /// A step is done.
    Step(StepReport),
    /// A line of `metrics.jsonl`: training loss, validation or sample.
    Metric(&'a Metric),
    /// Something that it noticed and survived.
    Warning(RunWarning),
    /// Training is over, and test sentences are being translated.
    Scoring {
        /// How many.
        sentences: usize,
        /// Which.
        split: ScoredSplit,
    },
}

/// Gets every event, and answers whether training continues.
pub type OnEvent<'a> = dyn FnMut(TrainEvent) -> Control + 'a;

/// A run that is ready to train.
pub struct Run {
    trainer: Trainer<RunDataset>,
    session: Session,
    scores: Option<TestScores>,
    /// Its locked folder.
    lock: Option<RunFolder>,
}

/// What a run is made of.
pub(super) struct RunParts<'a> {
    pub config: RunConfig,
    pub folder: &'a Path,
    pub tokenizer: Tokenizer,
    pub dataset: RunDataset,
    /// The training files with their hashes; a run is resumed only with the data it started with.
    pub sources: Vec<(String, u64)>,
    pub checkpoint: Option<Checkpoint>,
    pub pretrained: Option<&'a Model>,
    pub files: Files,
}

impl Run {
    /// A run in a folder: from a checkpoint if there is one, else from step 0, with new or with
    /// pretrained weights.
    pub(super) fn new(parts: RunParts) -> Result<Self> {
        let RunParts { config, folder, tokenizer, mut dataset, sources, .. } = parts;
        let RunParts { checkpoint, pretrained, files, .. } = parts;
        let model = new_model(&config, &tokenizer, &dataset, pretrained)?;
        let pretrained_generation = match &config.pretrained {
            Some(folder) if !matches!(model.stack, Stack::Encoder(_)) => {
                generation_config_of(folder)?
            }
            _ => None,
        };
        let train = &config.train;
        let steps = train.length.steps(train.passes(), |epochs| dataset.batches_in(epochs));
        let settings = TrainerConfig {
            learning_rate: train.learning_rate(steps),
            adam: train.adam(),
            label_smoothing: config.train.label_smoothing,
            ema_decay: (config.train.ema > 0.0).then_some(config.train.ema),
            seed: config.train.seed,
            activations: train.activation_checkpointing,
            micro_batches: train.micro_batches,
            sharding: train.shard_optimizer,
        };
        let mut trainer = Trainer::new(model, dataset, settings);
        let tokenizer_folder = folder.join("tokenizer");
        let tokenizer_path = Tokenizer::main_file(&tokenizer_folder)
            .unwrap_or_else(|| tokenizer_folder.join("tokenizer.json"));
        let tokenizer_hash = Some(tokenizer_hash(&tokenizer_folder)?);
        let state = match &checkpoint {
            None => {
                State { sources, tokenizer_hash, started: seconds_since_1970(), ..State::default() }
            }
            Some(checkpoint) => {
                let saved = &checkpoint.state;
                check_sources(&saved.sources, &sources)?;
                if saved.tokenizer_hash.is_some() && saved.tokenizer_hash != tokenizer_hash {
                    return Err(RunError::TokenizerChanged { path: tokenizer_path }.into());
                }
                trainer.restore(checkpoint)?;
                // The same content, maybe at other paths.
                State { sources, tokenizer_hash, ..saved.clone() }
            }
        };
        if state.step > steps {
            let (folder, done) = (folder.to_path_buf(), state.step);
            return Err(RunError::TooManySteps { folder, done, steps }.into());
        }
        let metrics = match files {
            Files::Written => Some(Metrics::open(folder, state.metrics_bytes, state.started)?),
            Files::Read => None,
        };
        let folder = folder.to_path_buf();
        let session = Session {
            config,
            folder,
            tokenizer,
            metrics,
            state,
            pretrained_generation,
            stop_requested: false,
        };
        Ok(Self { trainer, session, scores: None, lock: None })
    }

    /// Keeps the lock of the folder for as long as the run lives.
    pub(super) fn hold(&mut self, folder: RunFolder) {
        self.lock = Some(folder);
    }

    /// Refuses a run whose checkpoints and model do not fit on the disk.
    pub(super) fn check_disk_space(&self) -> Result<(), RunError> {
        let bytes = |elements: usize| 4 * elements as u64;
        let checkpoint = self.trainer.tensors().iter().map(|(_, len)| bytes(*len)).sum();
        let model = bytes(self.trainer.model().params.flat().len());
        let keep = self.session.keep(&self.trainer).count;
        check_disk_space(&self.session.folder, checkpoint, model, keep)
    }

    /// Steps done, and steps in all.
    pub fn steps(&self) -> (u64, u64) {
        (self.trainer.step_count(), self.trainer.steps())
    }

    /// The settings, with the sizes of the pretrained model where there is one.
    pub fn config(&self) -> &RunConfig {
        &self.session.config
    }

    /// The model with its current weights.
    pub fn model(&self) -> &Model {
        self.trainer.model()
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.session.tokenizer
    }

    /// The dataset.
    pub fn dataset(&self) -> &RunDataset {
        self.trainer.dataset()
    }

    /// Scores of a translator on its test set, after the end of the run.
    pub fn test_scores(&self) -> Option<&TestScores> {
        self.scores.as_ref()
    }

    /// Seconds and tokens of one step, measured without taking one.
    pub fn measure_step(&mut self) -> (f64, usize) {
        self.trainer.measure_step()
    }

    /// Trains to the end, or until `on_event` answers [`Control::Stop`]; then a checkpoint is saved
    /// first.
    ///
    /// # Errors
    /// If training diverges, or a file cannot be written; the run can be resumed from its last
    /// checkpoint.
    pub fn train(&mut self, on_event: &mut OnEvent) -> Result<Outcome> {
        let Self { trainer, session, .. } = self;
        // Also right after a checkpoint that was saved at that moment.
        if session.patience_left() {
            if session.is_main() && trainer.step_count() < trainer.steps() {
                session.remove_results();
            }
            let (step, last) = (trainer.step_count(), trainer.steps());
            if step == 0 && session.config.train.snapshots.is_due(step, last) {
                session.save_snapshot(trainer.model())?;
            }
            let outcome =
                trainer.train(|trainer, report| session.after_step(trainer, report, on_event))?;
            if outcome == Outcome::Interrupted && session.stop_requested {
                return Ok(Outcome::Interrupted);
            }
        }
        self.finish(on_event)
    }

    /// Saves a checkpoint.
    pub(super) fn save_checkpoint(&mut self) -> Result<()> {
        self.session.save_checkpoint(&mut self.trainer)
    }

    /// Trains with the ranks of `world` from now on: every rank has opened the same run.
    ///
    /// # Errors
    /// If there are more ranks than micro-batches, or they have other weights or are at another
    /// step.
    pub(super) fn join(&mut self, mut world: World) -> Result<()> {
        let weights = hash_bytes(bytes::of(self.trainer.model().params.flat()));
        let facts = [
            ("step", self.trainer.step_count().to_string()),
            ("tokenizer", format!("{:016x}", self.session.state.tokenizer_hash.unwrap_or(0))),
            ("weights", format!("{weights:016x}")),
        ];
        let facts = facts.map(|(name, value)| (name.to_string(), value));
        agreement::check(&mut world, &facts.into())?;
        world.set_patience(Patience::Steps);
        self.trainer.join(world)
    }
}

/// Whether a process writes the files of its run, or only reads them: one of several writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Files {
    Written,
    Read,
}

/// The model of a configuration, with pretrained weights where there are some.
fn new_model(
    config: &RunConfig,
    tokenizer: &Tokenizer,
    dataset: &RunDataset,
    pretrained: Option<&Model>,
) -> Result<Model> {
    let mut model = config.build_model(tokenizer, dataset.labels())?;
    if let Some(pretrained) = pretrained {
        if let Some(lora) = &config.lora {
            // What the pretrained model lacks would otherwise stay random: it is trained whole.
            let new: BTreeSet<String> = model.unmatched(pretrained).into_iter().collect();
            model.model_type = pretrained.model_type;
            lora.attach(&mut model, config.train.seed, |spec| new.contains(&spec.name))?;
        }
        model.load_matching(pretrained);
    }
    // A model that no file format can hold is refused before it is trained.
    hub::write_config(&model)?;
    if !config.has_bias() {
        check_no_bias(&model, config.pretrained.as_deref())?;
        // Biases start at 0 and are not trained.
        model
            .params
            .set_roles(|spec| if spec.name.ends_with(".bias") { Role::Fixed } else { spec.role });
    }
    freeze(&mut model.params, &config.train.freeze)?;
    Ok(model)
}

fn seconds_since_1970() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

/// File by file the content must be the same; paths may differ.
fn check_sources(saved: &[(String, u64)], given: &[(String, u64)]) -> Result<(), RunError> {
    let differs = |(i, source): &(usize, &(String, u64))| {
        saved.get(*i).is_none_or(|saved| saved.1 != source.1)
    };
    let files: Vec<String> =
        given.iter().enumerate().filter(differs).map(|(_, (name, _))| name.clone()).collect();
    if files.is_empty() && saved.len() == given.len() {
        return Ok(());
    }
    Err(RunError::DataChanged { files })
}
