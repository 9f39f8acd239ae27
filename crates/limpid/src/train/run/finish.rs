//! The end of a run: the average of checkpoints, scores on the test set, the summary.

use super::session::Session;
use super::{OnEvent, Run, TrainEvent};
use crate::error::Result;
use crate::eval::translator::TranslatorScores;
use crate::files::write_atomic;
use crate::hub;
use crate::model::Model;
use crate::nn::Named;
use crate::report;
use crate::train::checkpoint::{self, Checkpoint};
use crate::train::dataset::RunDataset;
use crate::train::evaluate::{TestScores, score, scored_pairs, validate};
use crate::train::trainer::{Outcome, Trainer};
use crate::train::warning::RunWarning;
use limpid_tensor::team;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Which weights `model/` holds at the end.
#[derive(Clone, Copy, PartialEq)]
enum Saved {
    /// Those of the best step.
    Best,
    /// The mean of the last checkpoints.
    Average,
    /// Others of this run, with this validation loss.
    Other(f64),
}

impl Run {
    /// Averages checkpoints if that is configured and better, scores the model, and writes the
    /// summary and the report.
    pub(super) fn finish(&mut self, on_event: &mut OnEvent) -> Result<Outcome> {
        let Self { trainer, session, scores, .. } = self;
        // A finished run that lost its best model: the last weights take its place.
        if session.state.best_loss().is_none() {
            session.validate(trainer, on_event)?;
            session.save_checkpoint(trainer)?;
        }
        let outcome = match session.state.step == trainer.steps() {
            true => Outcome::Completed,
            false => Outcome::EarlyStopped,
        };
        if !session.is_main() {
            return Ok(outcome);
        }
        let count = session.config.train.average_checkpoints;
        let last_is_best = session.state.best_step == session.state.step;
        // Before the weights are averaged. If the last step was the best, its weights are the
        // saved ones.
        let last = match last_is_best && count < 2 {
            true => None,
            false => trainer.with_ema(|t| session.score(t.dataset(), t.model(), on_event))?,
        };
        let mut saved = Saved::Best;
        if count > 1 && session.average_checkpoints(trainer, count, on_event)? {
            let mut found = validate(trainer.dataset(), trainer.model(), &session.tokenizer)?;
            found.best = session.is_best(&found);
            found.checkpoints_averaged = Some(count);
            session.write_validation(found.clone(), on_event)?;
            if found.best {
                saved = Saved::Average;
                session.set_best(&found);
                session.state.best_hash = Some(session.save_model(trainer.model())?);
            }
        }
        if let Some(loss) = session.other_weights(trainer.dataset(), on_event)? {
            saved = Saved::Other(loss);
        }
        if let Some(metrics) = &mut session.metrics {
            metrics.flush()?;
        }
        let last = last.filter(|_| !last_is_best || saved == Saved::Average);
        *scores = session.test_scores(trainer.dataset(), last, on_event)?;
        let mut summary = session.summary(trainer, saved, outcome)?;
        if let Some(scores) = scores {
            scores.add_to(&mut summary);
        }
        session.write_results(&summary)?;
        Ok(outcome)
    }
}

impl Session {
    /// The scores of `model` on the test set; none for a task without one.
    fn score(
        &self,
        dataset: &RunDataset,
        model: &Model,
        on_event: &mut OnEvent,
    ) -> Result<Option<TranslatorScores>> {
        let pairs = scored_pairs(&self.config, dataset);
        let (Some((split, pairs)), Some(config)) = (pairs, self.config.score()) else {
            return Ok(None);
        };
        on_event(TrainEvent::Scoring { sentences: pairs.len(), split });
        score(model, config, &self.tokenizer, &self.model_folder(), pairs).map(Some)
    }

    /// Loads the saved model, as a user would, scores it, and writes its translations.
    fn test_scores(
        &self,
        dataset: &RunDataset,
        last: Option<TranslatorScores>,
        on_event: &mut OnEvent,
    ) -> Result<Option<TestScores>> {
        let pairs = scored_pairs(&self.config, dataset);
        let (Some(pairs), Some(config)) = (pairs, self.config.score()) else { return Ok(None) };
        let (saved, _) = hub::load_mapped(&self.model_folder())?;
        let Some(best) = self.score(dataset, &saved, on_event)? else { return Ok(None) };
        let text = best.translations.join("\n") + "\n";
        write_atomic(&self.folder.join("translations.txt"), text.as_bytes())?;
        Ok(Some(TestScores::new(pairs, config, best, last)))
    }

    /// The validation loss of the saved weights, if they are not the best ones that the state
    /// knows of: those of a later step that was not reached again, or an earlier average.
    fn other_weights(&self, dataset: &RunDataset, on_event: &mut OnEvent) -> Result<Option<f64>> {
        let Some(best) = self.state.best_hash else { return Ok(None) };
        if self.saved_hash()? == best {
            return Ok(None);
        }
        let (model, _) = hub::load_mapped(&self.model_folder())?;
        let loss = validate(dataset, &model, &self.tokenizer)?.loss;
        let (folder, step) = (self.model_folder(), self.state.best_step);
        on_event(TrainEvent::Warning(RunWarning::OtherWeights { folder, step, loss }));
        Ok(Some(loss))
    }

    fn summary(
        &self,
        trainer: &Trainer<RunDataset>,
        saved: Saved,
        outcome: Outcome,
    ) -> Result<Value> {
        let state = &self.state;
        let (loss, best_step, model) = match saved {
            Saved::Best => (state.best_loss(), Some(state.best_step), "best"),
            Saved::Average => (state.best_loss(), Some(state.best_step), "average"),
            Saved::Other(loss) => (Some(loss), None, "other"),
        };
        let mut summary = json!({
            "steps": state.step,
            "tokens": state.tokens,
            "seconds": state.seconds,
            "parameters": trainer.model().params.count(),
            "validation_loss": loss,
            "best_step": best_step,
            "best_metric": self.config.train.best_metric.name(),
            "model": model,
            "outcome": match outcome {
                Outcome::EarlyStopped => "early-stopped",
                _ => "completed",
            },
            "threads": team::threads(),
        });
        let (ranks, _) = trainer.ranks();
        if ranks > 1 {
            summary["ranks"] = ranks.into();
            summary["sent_bytes_per_step"] = trainer.sent_bytes_per_step().into();
        }
        if trainer.dataset().examples.is_language() {
            summary["validation_perplexity"] = loss.map(f64::exp).into();
        }
        if !matches!(saved, Saved::Other(_)) {
            self.add_best_metrics(&mut summary)?;
        }
        Ok(summary)
    }

    /// Metrics of the saved model besides its loss.
    fn add_best_metrics(&self, summary: &mut Value) -> Result<()> {
        let metrics = report::Run::read(&self.folder)?;
        let is_saved = |line: &&report::Validation| {
            line.best && (line.step == self.state.best_step || line.checkpoints_averaged.is_some())
        };
        let Some(line) = metrics.validation().filter(is_saved).last() else { return Ok(()) };
        let found = [
            ("validation_accuracy", line.accuracy),
            ("validation_macro_f1", line.macro_f1),
            ("validation_micro_f1", line.micro_f1),
            ("validation_f1", line.f1),
            ("validation_exact_match", line.exact_match),
            ("validation_pearson", line.pearson),
            ("validation_spearman", line.spearman),
            ("validation_pair_accuracy", line.pair_accuracy),
        ];
        for (key, value) in found {
            if let Some(value) = value {
                summary[key] = value.into();
            }
        }
        Ok(())
    }

    fn write_results(&self, summary: &Value) -> Result<()> {
        let text = serde_json::to_string_pretty(summary).expect("a summary is JSON");
        write_atomic(&self.folder.join("summary.json"), text.as_bytes())?;
        let page = report::html(&report::Run::read(&self.folder)?);
        write_atomic(&self.folder.join("report.html"), page.as_bytes())
    }

    /// Replaces the weights by the mean of those of the last `count` regular checkpoints; false if
    /// there are not enough undamaged ones.
    fn average_checkpoints(
        &self,
        trainer: &mut Trainer<RunDataset>,
        count: usize,
        on_event: &mut OnEvent,
    ) -> Result<bool> {
        let (keep, step) = (self.keep(trainer), self.state.step);
        let mut one = vec![0.0; trainer.model().params.flat().len()];
        let mut usable = Vec::new();
        let is_regular = |(at, _): &(u64, PathBuf)| keep.is_regular(*at) || *at == step;
        for (_, path) in checkpoint::list(&self.folder)?.into_iter().filter(is_regular).rev() {
            if usable.len() == count {
                break;
            }
            match Checkpoint::open(&path).and_then(|checkpoint| checkpoint.read("params", &mut one))
            {
                Ok(()) => usable.push(path),
                Err(source) => {
                    on_event(TrainEvent::Warning(RunWarning::NotInAverage { source }));
                }
            }
        }
        if usable.len() < count {
            let warning = RunWarning::NothingAveraged { wanted: count, found: usable.len() };
            on_event(TrainEvent::Warning(warning));
            return Ok(false);
        }
        let mut sum = vec![0.0_f64; one.len()];
        // Oldest first: a sum of f64 depends on the order.
        for path in usable.iter().rev() {
            Checkpoint::open(path)?.read("params", &mut one)?;
            sum.iter_mut().zip(&one).for_each(|(sum, x)| *sum += f64::from(*x));
        }
        let weights = trainer.model_mut().params.flat_mut();
        weights.iter_mut().zip(&sum).for_each(|(x, sum)| *x = (sum / count as f64) as f32);
        Ok(true)
    }
}
