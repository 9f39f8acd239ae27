//! What a run does after each step: metrics, validation, the best model, checkpoints.

use super::{OnEvent, TrainEvent};
use crate::distributed::World;
use crate::error::{Quantity, Result, RunError};
use crate::report::{self, Metric, Validation};
use crate::text::Tokenizer;
use crate::train::checkpoint::{self, Keep, State};
use crate::train::config::RunConfig;
use crate::train::dataset::RunDataset;
use crate::train::evaluate::{samples, validate_in};
use crate::train::metrics::Metrics;
use crate::train::run_folder::overwrite;
use crate::train::trainer::{Control, StepReport, Trainer};
use std::path::PathBuf;

/// What a run has besides its trainer: what its callback works with.
pub(super) struct Session {
    pub(super) config: RunConfig,
    pub(super) folder: PathBuf,
    pub(super) tokenizer: Tokenizer,
    /// The file of metrics: the main rank's.
    pub(super) metrics: Option<Metrics>,
    pub(super) state: State,
    /// `generation_config.json` of the pretrained model.
    pub(super) pretrained_generation: Option<serde_json::Value>,
    /// Whether a callback answered [`Control::Stop`], and every rank knows.
    pub(super) stop_requested: bool,
}

impl Session {
    /// Whether validation may still improve.
    pub(super) fn patience_left(&self) -> bool {
        let patience = self.config.train.patience;
        patience == 0 || self.state.since_best < patience
    }

    /// Whether this process writes the files of the run.
    pub(super) fn is_main(&self) -> bool {
        self.metrics.is_some()
    }

    /// The results of an earlier end are not those of a run that trains on.
    pub(super) fn remove_results(&self) {
        for old in ["summary.json", "translations.txt", "report.html"] {
            let _ = std::fs::remove_file(self.folder.join(old));
        }
    }

    /// The callback of the trainer: metrics, validation and checkpoints when they are due.
    pub(super) fn after_step(
        &mut self,
        trainer: &mut Trainer<RunDataset>,
        report: &StepReport,
        on_event: &mut OnEvent,
    ) -> Result<Control> {
        let (step, train) = (report.step, self.config.train.clone());
        let due = |every: u64| step == report.steps || (every > 0 && step.is_multiple_of(every));
        self.state.add_step(report);
        if due(train.log_every) {
            let line = self.train_metric(trainer, report);
            self.write_metric(Metric::Train(line), on_event)?;
        }
        if train.snapshots.is_due(step, report.steps) {
            self.save_snapshot(trainer.model())?;
        }
        if due(train.validate_every) {
            self.validate(trainer, on_event)?;
        }
        if on_event(TrainEvent::Step(*report)) == Control::Stop {
            trainer.request_stop();
        }
        self.stop_requested = trainer.stops();
        let stop = self.stop_requested || !self.patience_left();
        if due(train.checkpoint_every) || stop {
            self.save_checkpoint(trainer)?;
        }
        Ok(if stop { Control::Stop } else { Control::Continue })
    }

    /// Means over the steps since the last line of metrics.
    fn train_metric(
        &mut self,
        trainer: &mut Trainer<RunDataset>,
        report: &StepReport,
    ) -> report::Train {
        let since = std::mem::take(&mut self.state.since_log);
        let State { step, tokens, seconds, .. } = self.state;
        let batches = step * self.config.train.passes() as u64;
        report::Train {
            step,
            loss: since.loss(),
            epoch: Some(trainer.dataset_mut().epoch(batches)),
            tokens: Some(tokens),
            lr: Some(f64::from(report.lr)),
            grad_norm: Some(f64::from(report.grad_norm)),
            seconds: Some(seconds),
            tokens_per_second: Some(since.tokens as f64 / since.seconds.max(1e-9)),
        }
    }

    fn write_metric(&mut self, metric: Metric, on_event: &mut OnEvent) -> Result<()> {
        if let Some(metrics) = &mut self.metrics {
            metrics.write(&metric)?;
        }
        on_event(TrainEvent::Metric(&metric));
        Ok(())
    }

    /// Validates, saves the model if it is the best so far, and writes samples.
    pub(super) fn validate(
        &mut self,
        trainer: &mut Trainer<RunDataset>,
        on_event: &mut OnEvent,
    ) -> Result<()> {
        let tokenizer = &self.tokenizer;
        let mut found = trainer.with_ema(|trainer| {
            let (dataset, model, world) = trainer.validation_parts();
            validate_in(world.unwrap_or(&mut World::single()), dataset, model, tokenizer)
        })?;
        let step = self.state.step;
        if !found.loss.is_finite() {
            let (quantity, value, lr) =
                (Quantity::ValidationLoss, found.loss, trainer.learning_rate());
            return Err(RunError::Diverged { quantity, step, value, lr }.into());
        }
        found.best = self.is_best(&found);
        if found.best {
            self.set_best(&found);
            self.state.best_step = step;
            self.state.since_best = 0;
            if self.is_main() {
                let saved = trainer.with_ema(|trainer| self.save_model(trainer.model()));
                self.state.best_hash = Some(saved?);
            }
        } else {
            self.state.since_best += 1;
        }
        self.write_validation(found, on_event)?;
        if !self.is_main() {
            return Ok(());
        }
        let count = self.config.train.samples;
        let made =
            trainer.with_ema(|t| samples(t.dataset(), t.model(), &self.tokenizer, count, step))?;
        made.into_iter().try_for_each(|sample| self.write_metric(Metric::Sample(sample), on_event))
    }

    /// Whether a validation is better than all before, by the metric of the configuration.
    pub(super) fn is_best(&self, found: &Validation) -> bool {
        let metric = self.config.train.best_metric;
        let best = self.state.best_metric();
        best.is_none_or(|best| metric.is_better(metric.value(found), best))
    }

    pub(super) fn set_best(&mut self, found: &Validation) {
        let value = self.config.train.best_metric.value(found);
        self.state.best_loss_bits = Some(found.loss.to_bits());
        self.state.best_metric_bits = Some(value.to_bits());
    }

    pub(super) fn write_validation(
        &mut self,
        found: Validation,
        on_event: &mut OnEvent,
    ) -> Result<()> {
        let step = self.state.step;
        self.write_metric(Metric::Validation(Validation { step, ..found }), on_event)
    }

    /// Saves a checkpoint; other ranks than the main one send what they have of it.
    pub(super) fn save_checkpoint(&mut self, trainer: &mut Trainer<RunDataset>) -> Result<()> {
        if let Some(metrics) = &mut self.metrics {
            self.state.metrics_bytes = metrics.flush()?;
        }
        let (folder, state, keep) = (&self.folder, &self.state, self.keep(trainer));
        trainer.save_tensors(|tensors| checkpoint::save_from(folder, state, tensors, keep))?;
        if !self.is_main() {
            return Ok(());
        }
        // From its first checkpoint on the new run replaces an old one for good.
        overwrite::commit(&self.folder)
    }

    /// Which checkpoints are kept.
    pub(super) fn keep(&self, trainer: &Trainer<RunDataset>) -> Keep {
        let train = &self.config.train;
        Keep { count: train.keep_checkpoints, every: train.checkpoint_every, last: trainer.steps() }
    }
}
