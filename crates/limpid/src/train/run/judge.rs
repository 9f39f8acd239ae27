//! How good a run is: validation, samples, the best model so far, and the end.

use super::{Ended, News, Run, Signal};
use crate::error::{Error, Result};
use crate::files::{create_folder, write_aside};
use crate::hash::hash_file;
use crate::hub;
use crate::model::Architecture;
use crate::report::{self, Metric};
use crate::text::Tokenizer;
use crate::train::checkpoint::{self, Checkpoint};
use crate::train::config::Unit;
use crate::train::examples::{Examples, Validation};
use limpid_tensor::team;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Whose loss it is.
#[derive(Clone, Copy)]
enum Weights {
    /// Those after the step (or their running average).
    OfStep,
    /// The mean of so many checkpoints.
    MeanOf(usize),
}

impl Run {
    pub(super) fn validate(&mut self, news: &mut dyn FnMut(News) -> Signal) -> Result<()> {
        let found =
            self.with_weights(|run| run.examples.validate(&run.model.architecture, &run.model.params));
        if found.tokens == 0 {
            return Err(Error::data("what was kept for validation has no token that the tokenizer knows")
                .hint("is the tokenizer made for this text, and is it the right file for validation?"));
        }
        if !found.loss.is_finite() {
            return Err(Error::numeric(format!(
                "the validation loss after step {} is {}: the training has diverged",
                self.state.step, found.loss
            ))
            .hint("use a lower learning rate: --find-lr suggests one"));
        }
        let best = self.state.best().is_none_or(|best| found.loss < best);
        if best {
            self.state.best_bits = Some(found.loss.to_bits());
            self.state.best_step = self.state.step;
            self.state.since_best = 0;
            self.state.best_hash = Some(self.with_weights(|run| run.save_model())?);
        } else {
            self.state.since_best += 1;
        }
        self.note_validation(found, best, Weights::OfStep, news)?;
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
        weights: Weights,
        news: &mut dyn FnMut(News) -> Signal,
    ) -> Result<()> {
        let Validation { loss, bits_per_character, accuracy, macro_f1, pair_accuracy, .. } = found;
        let step = self.state.step;
        // Of labels nobody asks how many equally likely ones there would be.
        let perplexity = macro_f1.is_none().then(|| loss.exp());
        let metric = report::Validation {
            step,
            loss,
            perplexity,
            bits_per_character,
            accuracy,
            macro_f1,
            pair_accuracy,
            best,
            checkpoints_averaged: match weights {
                Weights::OfStep => None,
                Weights::MeanOf(k) => Some(k),
            },
            ..Default::default()
        };
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
            (Architecture::Seq2Seq(_) | Architecture::Rnn(_), Examples::Pairs(pairs)) => {
                let model = self.model.architecture.translator().expect("both kinds translate");
                let chosen = &pairs.validation_texts[..count.min(pairs.validation_texts.len())];
                let sources: Vec<&str> = chosen.iter().map(|(source, _)| source.as_str()).collect();
                let texts = crate::decode::translate(model, &self.model.params, &self.tokenizer, &sources)?;
                let sample = |((source, target), text): (&(String, String), String)| {
                    (source.clone(), text, Some(target.clone()))
                };
                Ok(chosen.iter().zip(texts).map(sample).collect())
            }
            (Architecture::Bert(bert), Examples::Masked(masked)) => {
                masked.samples((bert, &self.model.params), &self.tokenizer, count)
            }
            (Architecture::Bert(bert), Examples::Labelled(labelled)) => {
                labelled.samples((bert, &self.model.params), count)
            }
            _ => unreachable!("model and examples are made from one configuration"),
        }
    }

    /// Says the hash of the weights' file.
    fn save_model(&self) -> Result<u64> {
        let folder = self.folder.join("model");
        create_folder(&folder)?;
        self.tokenizer.save(&folder)?;
        let generation = self.generation();
        hub::save_writer(&self.model, &folder, generation.as_ref())?;
        self.hash_of_model()
    }

    /// What lies in `model/` must be of this run, if it has kept a model: what stands beside the weights is written again, and weights that are
    /// gone, cannot be read or are another model's are forgotten, so that the run does not go on as if they were there. Says what was wrong.
    pub(crate) fn mend_model(&mut self) -> Result<Option<Error>> {
        if self.state.best().is_none() {
            return Ok(None);
        }
        let folder = self.folder.join("model");
        let wrong = if !folder.join("model.safetensors").is_file() {
            format!("{} is gone", folder.display())
        } else {
            let Err(error) = self.check_kept(&folder) else { return Ok(None) };
            // Only weights that the run knows as its own get its files.
            let is_own =
                self.state.best_hash.is_none_or(|own| self.hash_of_model().is_ok_and(|there| there == own));
            if is_own {
                self.tokenizer.save(&folder)?;
                hub::save_config(&self.model.architecture, &folder, self.generation().as_ref())?;
            }
            if is_own && self.check_kept(&folder).is_ok() {
                return Ok(Some(Error::data(format!(
                    "{error}; what lies beside the weights is written again"
                ))));
            }
            error.to_string()
        };
        let state = &mut self.state;
        let lost = format!(
            "{wrong}: the best weights so far (of step {}) are lost, the best from now on will be kept",
            state.best_step
        );
        (state.best_bits, state.best_hash, state.since_best) = (None, None, 0);
        // So that nobody who goes on from here believes in them.
        self.checkpoint()?;
        Ok(Some(Error::data(lost)))
    }

    /// Refuses a folder that does not hold a model of this run's kind, sizes and vocabulary.
    fn check_kept(&self, folder: &Path) -> Result<()> {
        let (kept, _) = hub::load(folder)?;
        let other = |what: &str| Err(Error::data(format!("{} holds {what}", folder.display())));
        if hub::write_config(&kept.architecture)?.0 != hub::write_config(&self.model.architecture)?.0 {
            return other("another model than this run's");
        }
        if Tokenizer::load(folder)?.to_json()?
            != Tokenizer::load(&self.folder.join("tokenizer"))?.to_json()?
        {
            return other("another tokenizer than this run's");
        }
        // How it writes may have been changed by hand, as long as it can be read.
        if !matches!(self.model.architecture, Architecture::Bert(_)) {
            hub::load_generation(folder)?;
        }
        Ok(())
    }

    /// How the model is to write, where that is not what is usual for its family: as the model it began with did.
    fn generation(&self) -> Option<Value> {
        let is_gpt = matches!(self.model.architecture, Architecture::Gpt(_));
        let Some(end) = self.learnt_end().filter(|_| is_gpt) else { return self.begun_generation.clone() };
        let mut keys = self.begun_generation.clone().unwrap_or_else(|| json!({}));
        (keys["bos_token_id"], keys["eos_token_id"]) = (json!(end), json!(end));
        Some(keys)
    }

    /// The token that a language model has seen before and behind texts: it begins and ends what is written. Windows of a single file have none.
    fn learnt_end(&self) -> Option<u32> {
        let has_ends =
            self.config.unit().is_ok_and(|unit| unit == Unit::Lines) || self.config.data.text.len() > 1;
        self.tokenizer.end().filter(|_| has_ends)
    }

    fn hash_of_model(&self) -> Result<u64> {
        Ok(hash_file(&self.folder.join("model").join("model.safetensors"), 0)?.1)
    }

    /// The validation loss of the model in the folder, if it is not the one that the run remembers: that of a later moment which was not
    /// reached again, or an average of an end that was not the last.
    fn found_otherwise(&self, news: &mut dyn FnMut(News) -> Signal) -> Result<Option<f64>> {
        let Some(saved) = self.state.best_hash else { return Ok(None) };
        if self.hash_of_model()? == saved {
            return Ok(None);
        }
        let (model, _) = hub::load(&self.folder.join("model"))?;
        let loss = self.examples.validate(&model.architecture, &model.params).loss;
        news(News::Warning(format!(
            "the weights in {} are not those of step {}, but of another moment of this run; they stay, with a validation loss of {loss:.4}",
            self.folder.join("model").display(),
            self.state.best_step
        )));
        Ok(Some(loss))
    }

    /// The average of the last checkpoints, if that is wished and better; then the summary.
    pub(super) fn finish(&mut self, news: &mut dyn FnMut(News) -> Signal) -> Result<Ended> {
        // Of a run that was over when its best model got lost, the last weights are what is left.
        if self.state.best_bits.is_none() {
            self.validate(news)?;
            self.checkpoint()?;
        }
        let mut chosen = "best";
        let k = self.config.train.average_last;
        // Before the weights are averaged. Where the last step was the best, they are what was kept.
        let last_is_best = self.state.best_step == self.state.step;
        let last = if last_is_best && k < 2 { None } else { self.score_now(news)? };
        if k > 1 && self.average_checkpoints(k, news)? {
            let found = self.examples.validate(&self.model.architecture, &self.model.params);
            let best = self.state.best().is_none_or(|best| found.loss < best);
            self.note_validation(found, best, Weights::MeanOf(k), news)?;
            if best {
                chosen = "average";
                self.state.best_bits = Some(found.loss.to_bits());
                self.state.best_hash = Some(self.save_model()?);
            }
        }
        let otherwise = self.found_otherwise(news)?;
        self.metrics.flush()?;
        self.judge(last.filter(|_| !last_is_best || chosen == "average"), news)?;
        let ended = if self.state.step == self.steps { Ended::Done } else { Ended::Early };
        let state = &self.state;
        let loss = otherwise.or(state.best());
        let best_step = otherwise.is_none().then_some(state.best_step);
        let chosen = if otherwise.is_some() { "of another moment" } else { chosen };
        let mut summary = serde_json::json!({
            "steps": state.step, "tokens": state.tokens, "seconds": state.seconds, "parameters": self.model.params.count(),
            "validation_loss": loss, "best_step": best_step,
            "model": chosen, "ended": if ended == Ended::Done { "done" } else { "early" }, "threads": team::threads(),
        });
        // Of labels nobody asks how many equally likely ones there would be.
        if !matches!(self.examples, Examples::Labelled(_)) {
            summary["validation_perplexity"] = loss.map(f64::exp).into();
        }
        if otherwise.is_none() {
            let so_far = report::Run::read(&self.folder)?;
            let is_kept = |line: &&report::Validation| {
                line.best && (line.step == state.best_step || line.checkpoints_averaged.is_some())
            };
            let kept = so_far.validation().filter(is_kept).last();
            let figures = kept.map_or([None; 3], |line| [line.accuracy, line.macro_f1, line.pair_accuracy]);
            for (key, figure) in ["accuracy", "macro_f1", "pair_accuracy"].iter().zip(figures) {
                if let Some(figure) = figure {
                    summary[format!("validation_{key}")] = figure.into();
                }
            }
        }
        if let (Some(judged), Some(summary)) = (&self.judged, summary.as_object_mut()) {
            summary.extend(judged.summary());
        }
        let text = serde_json::to_string_pretty(&summary).expect("a summary is JSON");
        write_aside(&self.folder.join("summary.json"), text.as_bytes())?;
        let page = report::html(&report::Run::read(&self.folder)?);
        write_aside(&self.folder.join("report.html"), page.as_bytes())?;
        Ok(ended)
    }

    /// Replaces the weights by the mean of those of the last `k` regular checkpoints, if there are so many undamaged ones.
    fn average_checkpoints(&mut self, k: usize, news: &mut dyn FnMut(News) -> Signal) -> Result<bool> {
        let keep = self.keep();
        let mut one = vec![0.0; self.model.params.flat().len()];
        let mut whole = Vec::new();
        let regular = |(step, _): &(u64, PathBuf)| keep.is_regular(*step) || *step == self.state.step;
        for (_, place) in checkpoint::list(&self.folder)?.into_iter().filter(regular).rev() {
            if whole.len() == k {
                break;
            }
            match Checkpoint::open(&place).and_then(|checkpoint| checkpoint.read("params", &mut one)) {
                Ok(()) => whole.push(place),
                Err(error) => drop(news(News::Warning(format!("{error}; it is left out of the average")))),
            }
        }
        if whole.len() < k {
            news(News::Warning(format!(
                "nothing was averaged: train.average_last = {k}, and there are {} regular checkpoints",
                whole.len()
            )));
            return Ok(false);
        }
        let mut sum = vec![0.0_f64; one.len()];
        // Oldest first, as sums of f64 depend on the order.
        for place in whole.iter().rev() {
            Checkpoint::open(place)?.read("params", &mut one)?;
            sum.iter_mut().zip(&one).for_each(|(sum, x)| *sum += f64::from(*x));
        }
        let flat = self.model.params.flat_mut();
        flat.iter_mut().zip(&sum).for_each(|(x, sum)| *x = (sum / k as f64) as f32);
        Ok(true)
    }
}
