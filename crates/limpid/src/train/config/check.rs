//! What a run cannot be.

use super::{MaskingConfig, RunConfig, ScoreConfig, TableConfig, Targets, TaskKind, Unit};
use crate::error::{Error, Result};
use crate::hub::check_gpt_file;

/// Batches of a step, at most: more is a slip of the finger.
const MOST_PARTS: usize = 1 << 16;

/// Of a batch, of a run: more is one, too.
const MOST_TOKENS: u64 = 1 << 30;
const MOST_EPOCHS: u64 = 1_000_000;
const MOST_STEPS: u64 = 1 << 40;

/// Texts that are written at a validation, and beams of the search at the end.
const MOST_WRITTEN: usize = 1_000;

impl RunConfig {
    /// Refuses what cannot work, before anything is read.
    pub fn validate(&self) -> Result<()> {
        let (data, train) = (&self.data, &self.train);
        self.check_files()?;
        match self.task {
            TaskKind::Gpt | TaskKind::Bert if data.text.is_empty() => {
                return Err(
                    Error::config("there is no text to learn from").hint("name a file: --data input.txt")
                );
            }
            TaskKind::Classify if data.text.is_empty() => {
                return Err(Error::config("there are no labelled texts to learn from")
                    .hint("name a table: --data labelled.tsv (columns text and label)"));
            }
            TaskKind::Translate => self.check_pairs()?,
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
            ("score.beams", self.score.beams),
        ];
        if let Some((key, _)) = counts.iter().find(|(_, n)| *n == 0) {
            return Err(
                Error::config(format!("{key} = 0 leaves nothing to do")).hint(format!("--set {key}=1"))
            );
        }
        let written = [("train.samples", train.samples), ("score.beams", self.score.beams)];
        if let Some((key, n)) = written.iter().find(|(_, n)| *n > MOST_WRITTEN) {
            return Err(Error::config(format!("{key} = {n} is more than {MOST_WRITTEN}"))
                .hint(format!("--set {key}=4 gives four")));
        }
        let sizes = [
            ("train.batch", train.batch as u64, MOST_TOKENS),
            ("train.batch_tokens", train.batch_tokens as u64, MOST_TOKENS),
            ("train.epochs", train.epochs, MOST_EPOCHS),
            ("train.steps", train.steps, MOST_STEPS),
        ];
        if let Some((key, n, most)) = sizes.iter().find(|(_, n, most)| n > most) {
            return Err(Error::config(format!("{key} = {n} is more than {most}"))
                .hint(format!("is there a digit too many? --set {key}=…")));
        }
        if train.accumulate > MOST_PARTS {
            return Err(Error::config(format!(
                "train.accumulate = {}: a step of more than {MOST_PARTS} batches",
                train.accumulate
            ))
            .hint("--set train.accumulate=4 adds up four"));
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
            let usual = if *key == "train.lr" { "1e-3" } else { "1e-8" };
            return Err(Error::config(format!("{key} = {value} is not a positive number"))
                .hint(format!("--set {key}={usual} is usual")));
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
        if train.min_lr > train.lr {
            return Err(Error::config(format!(
                "train.min_lr = {} is above train.lr = {}: the learning rate falls from one to the other",
                train.min_lr, train.lr
            ))
            .hint(format!("--set train.min_lr={}", train.lr / 10.0)));
        }
        let given = [("tokenizer.from", &self.tokenizer.from), ("model.from", &self.model.from)];
        let given = given.iter().find(|(_, from)| from.is_some());
        let words = &self.tokenizer;
        let own = [
            ("kind", words.kind.is_some()),
            ("vocab", words.vocab.is_some()),
            ("lowercase", words.lowercase),
        ];
        let own = own.iter().find(|(_, set)| *set);
        if let (Some((from, _)), Some((key, _))) = (given, own) {
            return Err(Error::config(format!(
                "tokenizer.{key} says what is learnt, {from} that nothing is"
            ))
            .hint(format!("leave out tokenizer.{key} or {from}")));
        }
        if train.average_last > train.keep {
            return Err(Error::config(format!(
                "train.average_last = {} needs as many checkpoints, train.keep = {}",
                train.average_last, train.keep
            ))
            .hint(format!("--set train.keep={}", train.average_last)));
        }
        self.check_parts()?;
        self.targets()?;
        self.check_cleaning()?;
        self.rate(train.steps)?;
        self.bucketing()?;
        self.tokenizer_spec()?;
        self.check_arch()?;
        self.unit()?;
        self.table()?;
        let share_asked = self.masking.share;
        if !(share_asked > 0.0 && share_asked < 1.0) {
            return Err(Error::config(format!(
                "masking.share = {share_asked} hides none or all: it must be more than 0 and less than 1"
            ))
            .hint("usual is 0.15"));
        }
        let encoder = matches!(self.task, TaskKind::Bert | TaskKind::Classify);
        if encoder && self.model.context < 4 {
            return Err(Error::config(format!(
                "model.context = {} has no room for a text",
                self.model.context
            ))
            .hint("[CLS] and [SEP] take two or three places: use 4 or more"));
        }
        // What it begins with is looked at when it is opened.
        if self.model.from.is_some() {
            return Ok(());
        }
        // The vocabulary is not known yet, and does not matter here.
        match self.task {
            TaskKind::Gpt => self.gpt(100).and_then(|c| c.validate().and_then(|()| check_gpt_file(&c))),
            TaskKind::Translate => self.translator(100).map(|_| ()),
            TaskKind::Bert | TaskKind::Classify => {
                self.bert(100, crate::config::BertHead::MaskedLm).and_then(|c| c.validate())
            }
        }
    }

    /// What is written.
    pub fn targets(&self) -> Result<Targets> {
        match &self.score.targets[..] {
            "translations" => Ok(Targets::Translations),
            "summaries" => Ok(Targets::Summaries),
            other => Err(Error::config(format!("score.targets = '{other}' is not known"))
                .hint("score.targets = \"translations\" or \"summaries\"")),
        }
    }

    /// Refuses settings of another task: they would be without effect.
    fn check_parts(&self) -> Result<()> {
        let (task, usual) = (self.task, TableConfig::default());
        let columns =
            TableConfig { format: None, ..self.table.clone() } != TableConfig { format: None, ..usual };
        let texts = matches!(task, TaskKind::Gpt | TaskKind::Bert);
        let parts = [
            (
                "masking",
                self.masking != MaskingConfig::default(),
                task == TaskKind::Bert,
                "`train bert` hides words",
            ),
            (
                "score",
                self.score != ScoreConfig::default(),
                task == TaskKind::Translate,
                "`train translate` is scored at its end",
            ),
            (
                "table",
                columns,
                task == TaskKind::Classify,
                "`train classify` reads labelled texts; pairs have data.source_column and the like",
            ),
            (
                "table.format",
                self.table.format.is_some(),
                !texts,
                "it says how labelled texts or pairs are written",
            ),
        ];
        match parts.iter().find(|(_, set, fits, _)| *set && !fits) {
            None => Ok(()),
            Some((part, _, _, whose)) => {
                Err(Error::config(format!("settings of '{part}' would change nothing here"))
                    .hint(format!("leave them out: {whose}")))
            }
        }
    }

    /// Refuses rules for examples where nothing is an example, or nothing is left out.
    fn check_cleaning(&self) -> Result<()> {
        if self.data.max_tokens.is_some() && self.task != TaskKind::Translate {
            return Err(Error::config("data.max_tokens leaves out long pairs: it is for translation")
                .hint("leave it out; other texts are cut to model.context"));
        }
        if let Some(most) = self.data.max_tokens.filter(|most| *most < 2) {
            return Err(Error::config(format!(
                "data.max_tokens = {most} leaves no pair: the token that ends a sentence is one of them"
            ))
            .hint("leave it out: pairs longer than model.context are left out anyway"));
        }
        let whole = matches!(self.task, TaskKind::Gpt | TaskKind::Bert) && self.unit()? != Unit::Lines;
        if self.data.drop_duplicates && whole {
            return Err(Error::config("data.drop_duplicates is for pairs, labelled texts and lines")
                .hint("leave it out, or --set data.unit=lines"));
        }
        Ok(())
    }

    /// Refuses settings of the other kind of model: they would be without effect.
    fn check_arch(&self) -> Result<()> {
        let model = &self.model;
        let rnn = self.is_recurrent()?;
        if self.task == TaskKind::Translate && model.from.is_some() && model.arch.is_none() {
            // It is what the model is that it begins with.
            return Ok(());
        }
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
            ("positions", model.positions.is_some()),
            ("normalisation", model.normalisation.is_some()),
            ("residual", model.residual.is_some()),
            ("scaling", model.scaling.is_some()),
            ("activation", model.activation.is_some()),
            ("bias", !model.bias),
        ];
        let (foreign, has, hint) = match rnn {
            true => (&transformer[..], "a recurrent model", "leave it out, or --set model.arch=transformer"),
            false => (&recurrent[..], "a Transformer", "--arch rnn trains a recurrent model"),
        };
        match foreign.iter().find(|(_, set)| *set) {
            Some((key, _)) => Err(Error::config(format!("model.{key} is no setting of {has}")).hint(hint)),
            None => Ok(()),
        }
    }
}
