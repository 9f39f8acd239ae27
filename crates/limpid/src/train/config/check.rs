//! What a run cannot be.

use super::{RunConfig, TaskKind};
use crate::error::{Error, Result};

impl RunConfig {
    /// Refuses what cannot work, before anything is read.
    pub fn validate(&self) -> Result<()> {
        let (data, train) = (&self.data, &self.train);
        match self.task {
            TaskKind::Gpt if data.text.is_empty() => {
                return Err(
                    Error::config("there is no text to learn from").hint("name a file: --data input.txt")
                );
            }
            TaskKind::Translate if data.source.is_none() || data.target.is_none() => {
                return Err(Error::config(
                    "translation needs a file of sentences and one of their translations",
                )
                .hint("--source a.fr --target a.en"));
            }
            TaskKind::Translate if data.validation_source.is_some() != data.validation_target.is_some() => {
                return Err(Error::config("for validation one of two files is missing")
                    .hint("give data.validation_source and data.validation_target, or neither"));
            }
            _ => {}
        }
        let counts = [
            ("train.steps", train.steps as usize),
            ("train.batch", train.batch),
            ("train.batch_tokens", train.batch_tokens),
            ("train.accumulate", train.accumulate),
            ("train.log_every", train.log_every as usize),
            ("train.keep", train.keep),
            ("model.context", self.model.context),
        ];
        if let Some((key, _)) = counts.iter().find(|(_, n)| *n == 0) {
            return Err(
                Error::config(format!("{key} = 0 leaves nothing to do")).hint(format!("--set {key}=1"))
            );
        }
        let share =
            |key: &str, value: f32, usual: &str| match (0.0..1.0).contains(&value) {
                true => Ok(()),
                false => Err(Error::config(format!("{key} = {value} is not in [0, 1)"))
                    .hint(format!("usual is {usual}"))),
            };
        share("train.beta1", train.beta1, "0.9")?;
        share("train.beta2", train.beta2, "0.98")?;
        share("train.ema", train.ema, "0 or 0.999")?;
        share("train.label_smoothing", train.label_smoothing, "0.1")?;
        let positive = [("train.lr", train.lr), ("train.eps", train.eps)];
        if let Some((key, value)) = positive.iter().find(|(_, v)| !(v.is_finite() && *v > 0.0)) {
            return Err(Error::config(format!("{key} = {value} is not a positive number"))
                .hint("usual are 1e-3 and 1e-8"));
        }
        let others = [
            ("train.min_lr", train.min_lr),
            ("train.weight_decay", train.weight_decay),
            ("train.clip", train.clip),
        ];
        if let Some((key, value)) = others.iter().find(|(_, v)| !(v.is_finite() && *v >= 0.0)) {
            return Err(
                Error::config(format!("{key} = {value} is not 0 or more")).hint(format!("--set {key}=0"))
            );
        }
        if train.average_last > train.keep {
            return Err(Error::config(format!(
                "train.average_last = {} needs as many checkpoints, train.keep = {}",
                train.average_last, train.keep
            ))
            .hint(format!("--set train.keep={}", train.average_last)));
        }
        self.rate(train.steps)?;
        self.bucketing()?;
        self.tokenizer_spec()?;
        self.check_arch()?;
        // The vocabulary is not known yet, and does not matter here.
        match self.task {
            TaskKind::Gpt => self.gpt(100).and_then(|c| c.validate()),
            TaskKind::Translate => self.translator(100).map(|_| ()),
        }
    }

    /// Refuses settings of the other kind of model: they would be without effect.
    fn check_arch(&self) -> Result<()> {
        let model = &self.model;
        let rnn = self.is_recurrent()?;
        if rnn && self.task != TaskKind::Translate {
            return Err(Error::config("model.arch = 'rnn' is for translation")
                .hint("limpid train translate --arch rnn, or leave model.arch out"));
        }
        let recurrent = [
            ("cell", model.cell.is_some()),
            ("attention", model.attention.is_some()),
            ("bidirectional", model.bidirectional.is_some()),
            ("embedding", model.embedding.is_some()),
        ];
        let transformer = [
            ("ffn", model.ffn.is_some()),
            ("norm", model.norm.is_some()),
            ("activation", model.activation.is_some()),
            ("bias", !model.bias),
        ];
        let (foreign, has, hint) = match rnn {
            true => (transformer, "a recurrent model", "leave it out, or --set model.arch=transformer"),
            false => (recurrent, "a Transformer", "--arch rnn trains a recurrent model"),
        };
        match foreign.iter().find(|(_, set)| *set) {
            Some((key, _)) => Err(Error::config(format!("model.{key} is no setting of {has}")).hint(hint)),
            None => Ok(()),
        }
    }
}
