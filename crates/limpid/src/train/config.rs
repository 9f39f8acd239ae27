//! What a run is: one validated value, from a TOML file and overrides, saved with the run.
//!
//! Unknown keys are errors. Everything that changes the result is in here; where the run is kept and how it is shown is not.

use crate::config::{GptConfig, NormPlacement, Seq2SeqConfig, Tie, activation_from_name};
use crate::data::clean::Duplicates;
use crate::data::order::Bucketing;
use crate::error::{Error, Result};
use crate::optim::{AdamConfig, Rate, Schedule};
use crate::text::train::{Shortage, TokenizerSpec};
use crate::text::{Case, Purpose, TokenizerKind};
use limpid_tensor::kernels::adam::DecayKind;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// What is learnt.
    pub task: TaskKind,
    /// From what.
    #[serde(default)]
    pub data: DataConfig,
    /// How text is cut.
    #[serde(default)]
    pub tokenizer: TokenizerConfig,
    /// The model.
    #[serde(default)]
    pub model: ModelConfig,
    /// The training.
    #[serde(default)]
    pub train: TrainConfig,
}

/// What is learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    /// To continue text.
    Gpt,
    /// To translate sentences.
    Translate,
}

/// The files. A relative path is relative to the folder of the TOML file, or to where the command is typed; `$LIMPID_DATA/…` is in the
/// folder that this variable names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataConfig {
    /// Texts, for a language model.
    pub text: Vec<PathBuf>,
    /// Sentences to translate, one a line.
    pub source: Option<PathBuf>,
    /// Their translations, line by line.
    pub target: Option<PathBuf>,
    /// Texts kept for validation.
    pub validation_text: Vec<PathBuf>,
    /// Sentences kept for validation.
    pub validation_source: Option<PathBuf>,
    /// Their translations.
    pub validation_target: Option<PathBuf>,
    /// Without files for validation: the part of the data that is kept for it, 0.1 unless said otherwise.
    pub validation_share: Option<f64>,
    /// Pairs with more tokens on a side are left out, and counted.
    pub max_tokens: Option<usize>,
    /// Whether the second of two equal pairs is left out.
    pub drop_duplicates: bool,
}

/// How text is cut into tokens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TokenizerConfig {
    /// A folder with a `tokenizer.json`; without it one is learnt.
    pub from: Option<PathBuf>,
    /// `char`, `byte`, `word`, `bpe`, `wordpiece`, `unigram`; `char` for a language model and `bpe` for translation unless said otherwise.
    pub kind: Option<String>,
    /// Tokens of a learnt vocabulary.
    pub vocab: Option<usize>,
    /// Whether letters are made small.
    pub lowercase: bool,
}

/// The model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelConfig {
    /// Layers (of the encoder and of the decoder).
    pub layers: usize,
    /// Heads of each attention layer.
    pub heads: usize,
    /// c.
    pub width: usize,
    /// f; 4·width unless said otherwise.
    pub ffn: Option<usize>,
    /// The longest sequence.
    pub context: usize,
    /// Dropout on embeddings and each sub-layer's output.
    pub dropout: f32,
    /// `pre` or `post`; pre for a language model, post for translation unless said otherwise.
    pub norm: Option<String>,
    /// As Hugging Face names it.
    pub activation: Option<String>,
    /// Whether biases (of layers and norms) are trained. Without, they stay 0, so that files keep their form.
    pub bias: bool,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            layers: 4,
            heads: 4,
            width: 128,
            ffn: None,
            context: 128,
            dropout: 0.0,
            norm: None,
            activation: None,
            bias: true,
        }
    }
}

/// The training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainConfig {
    /// Optimizer steps; for translation `epochs` may say it instead.
    pub steps: u64,
    /// Times through the pairs; 0 leaves it to `steps`.
    pub epochs: u64,
    /// Sequences of a batch of a language model.
    pub batch: usize,
    /// Tokens of a batch of pairs, source and target together.
    pub batch_tokens: usize,
    /// Batches a step: their gradients are added up, by tokens.
    pub accumulate: usize,
    /// `mixed` or `by-length`.
    pub bucketing: String,
    /// The highest learning rate.
    pub lr: f32,
    /// The lowest after it.
    pub min_lr: f32,
    /// Steps of rising to it.
    pub warmup: u64,
    /// `constant`, `inverse-sqrt`, `linear`, `cosine`.
    pub schedule: String,
    /// Memory of the mean.
    pub beta1: f32,
    /// Memory of the square.
    pub beta2: f32,
    /// Keeps the division finite.
    pub eps: f32,
    /// Decay of matrices.
    pub weight_decay: f32,
    /// The largest norm of the gradient; 0 for any.
    pub clip: f32,
    /// Label smoothing.
    pub label_smoothing: f32,
    /// Seed of weights, order and dropout.
    pub seed: u64,
    /// Steps from one line of `metrics.jsonl` to the next.
    pub log_every: u64,
    /// Steps from one validation to the next; 0 for one at the end only.
    pub validate_every: u64,
    /// Validations without improvement after which the run ends; 0 for never.
    pub patience: u64,
    /// Steps from one checkpoint to the next; 0 for one at the end only.
    pub checkpoint_every: u64,
    /// Checkpoints that are kept.
    pub keep: usize,
    /// Memory of the moving average of the weights, such as 0.999; 0 for none. With it, the average is validated and saved.
    pub ema: f32,
    /// At the end the weights of so many checkpoints are averaged, and kept if they validate better; 0 for none.
    pub average_last: usize,
    /// Texts that are written (or sentences that are translated) at each validation.
    pub samples: usize,
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            steps: 2_000,
            epochs: 0,
            batch: 12,
            batch_tokens: 4_096,
            accumulate: 1,
            bucketing: "mixed".into(),
            lr: 1e-3,
            min_lr: 0.0,
            warmup: 100,
            schedule: "cosine".into(),
            beta1: 0.9,
            beta2: 0.98,
            eps: 1e-8,
            weight_decay: 0.0,
            clip: 1.0,
            label_smoothing: 0.0,
            seed: 1,
            log_every: 10,
            validate_every: 200,
            patience: 0,
            checkpoint_every: 200,
            keep: 2,
            ema: 0.0,
            average_last: 0,
            samples: 2,
        }
    }
}

impl RunConfig {
    /// The usual for a task.
    pub fn new(task: TaskKind) -> Self {
        let mut config = Self {
            task,
            data: DataConfig::default(),
            tokenizer: TokenizerConfig::default(),
            model: ModelConfig::default(),
            train: TrainConfig::default(),
        };
        if task == TaskKind::Translate {
            config.model = ModelConfig { layers: 3, heads: 8, width: 256, dropout: 0.1, ..config.model };
            config.train = TrainConfig {
                schedule: "inverse-sqrt".into(),
                warmup: 400,
                label_smoothing: 0.1,
                ..config.train
            };
        }
        config
    }

    /// Reads a TOML file, with `overrides` such as `train.steps=500` applied to it. Its paths become relative to its folder.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, &e))?;
        let mut config = Self::parse(&text, overrides).map_err(|e| e.in_file(path))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let data = std::env::var_os("LIMPID_DATA").map(PathBuf::from);
        let mut unset = false;
        config.each_path(|file| match (file.strip_prefix("$LIMPID_DATA"), &data) {
            (Ok(rest), Some(data)) => *file = data.join(rest),
            (Ok(_), None) => unset = true,
            (Err(_), _) => *file = folder.join(&*file),
        });
        if unset {
            return Err(Error::config("its files are in $LIMPID_DATA, which is not set")
                .in_file(path)
                .hint("LIMPID_DATA=path/to/data limpid train …"));
        }
        Ok(config)
    }

    /// The same from text; paths stay as they are.
    pub fn parse(text: &str, overrides: &[String]) -> Result<Self> {
        let bad = |e: &dyn std::fmt::Display| {
            Error::config(e.to_string().trim_end().to_string())
                .hint("docs/formats.md lists all keys of a run")
        };
        let mut table: toml::Table = text.parse().map_err(|e: toml::de::Error| bad(&e))?;
        let task = table.get("task").and_then(toml::Value::as_str).unwrap_or("");
        let task = match task {
            "gpt" => TaskKind::Gpt,
            "translate" => TaskKind::Translate,
            _ => {
                return Err(Error::config(format!("task = '{task}' is not known"))
                    .hint("task = \"gpt\" or task = \"translate\""));
            }
        };
        overrides.iter().try_for_each(|change| set(&mut table, change))?;
        // What the file does not say is as usual for its task.
        let mut whole = toml::Table::try_from(Self::new(task)).map_err(|e| bad(&e))?;
        merge(&mut whole, table);
        let config: Self = whole.try_into().map_err(|e: toml::de::Error| bad(&e))?;
        config.validate()?;
        Ok(config)
    }

    /// The same with some keys changed: `train.steps=500`.
    pub fn with(&self, overrides: &[String]) -> Result<Self> {
        Self::parse(&self.to_toml(), overrides)
    }

    /// As a TOML file has it: every key, so that a run can be read without knowing what was usual then.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a configuration is a table")
    }

    /// Calls `change` on every file it names.
    pub fn each_path(&mut self, mut change: impl FnMut(&mut PathBuf)) {
        let DataConfig {
            text, source, target, validation_text, validation_source, validation_target, ..
        } = &mut self.data;
        let one = [source, target, validation_source, validation_target, &mut self.tokenizer.from];
        text.iter_mut().chain(validation_text).chain(one.into_iter().flatten()).for_each(&mut change);
    }

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
        // The vocabulary is not known yet, and does not matter here.
        match self.task {
            TaskKind::Gpt => self.gpt(100).and_then(|c| c.validate()),
            TaskKind::Translate => self.seq2seq(100).and_then(|c| c.validate()),
        }
    }

    /// The learning rate over so many steps.
    pub fn rate(&self, steps: u64) -> Result<Rate> {
        let TrainConfig { lr, min_lr, warmup, ref schedule, .. } = self.train;
        Ok(Rate { schedule: Schedule::from_name(schedule)?, peak: lr, floor: min_lr, warmup, total: steps })
    }

    /// The optimizer.
    pub fn adam(&self) -> AdamConfig {
        let TrainConfig { beta1, beta2, eps, weight_decay, clip, .. } = self.train;
        let clip_norm = (clip > 0.0).then_some(clip);
        AdamConfig { beta1, beta2, eps, weight_decay, kind: DecayKind::Decoupled, clip_norm }
    }

    /// Which pairs share a batch.
    pub fn bucketing(&self) -> Result<Bucketing> {
        match self.train.bucketing.as_str() {
            "mixed" => Ok(Bucketing::Mixed),
            "by-length" => Ok(Bucketing::ByLength),
            other => Err(Error::config(format!("train.bucketing = '{other}' is not known"))
                .hint("known are mixed and by-length")),
        }
    }

    /// What becomes of duplicates.
    pub fn duplicates(&self) -> Duplicates {
        if self.data.drop_duplicates { Duplicates::Drop } else { Duplicates::Keep }
    }

    /// The tokenizer to learn.
    pub fn tokenizer_spec(&self) -> Result<TokenizerSpec> {
        let usual = match self.task {
            TaskKind::Gpt => TokenizerKind::Character,
            TaskKind::Translate => TokenizerKind::Bpe,
        };
        let kind = match self.tokenizer.kind.as_deref() {
            None => usual,
            Some("char") => TokenizerKind::Character,
            Some("byte") => TokenizerKind::Byte,
            Some("word") => TokenizerKind::Word,
            Some("bpe") => TokenizerKind::Bpe,
            Some("wordpiece") => TokenizerKind::WordPiece,
            Some("unigram") => TokenizerKind::Unigram,
            Some(other) => {
                return Err(Error::config(format!("tokenizer.kind = '{other}' is not known"))
                    .hint("known are char, byte, word, bpe, wordpiece, unigram"));
            }
        };
        let learnt = [TokenizerKind::Bpe, TokenizerKind::WordPiece, TokenizerKind::Unigram].contains(&kind);
        let purpose = match self.task {
            TaskKind::Gpt => Purpose::LanguageModel,
            TaskKind::Translate => Purpose::Translation,
        };
        let case = if self.tokenizer.lowercase { Case::Lower } else { Case::Keep };
        let vocab_size = self.tokenizer.vocab.or(learnt.then_some(8_000));
        let shortage = if self.tokenizer.vocab.is_some() { Shortage::Refuse } else { Shortage::Accept };
        Ok(TokenizerSpec { purpose, vocab_size, case, shortage, ..TokenizerSpec::new(kind) })
    }

    fn norm(&self, usual: NormPlacement) -> Result<NormPlacement> {
        match self.model.norm.as_deref() {
            None => Ok(usual),
            Some("pre") => Ok(NormPlacement::Pre),
            Some("post") => Ok(NormPlacement::Post),
            Some(other) => {
                Err(Error::config(format!("model.norm = '{other}' is not known"))
                    .hint("known are pre and post"))
            }
        }
    }

    /// The language model for a vocabulary.
    pub fn gpt(&self, vocab: usize) -> Result<GptConfig> {
        let ModelConfig { layers, heads, width, ffn, context, dropout, ref activation, .. } = self.model;
        let usual = GptConfig::gpt2(vocab, context, layers, heads, width);
        let activation_function = match activation {
            Some(name) => activation_from_name(name)?,
            None => usual.activation_function,
        };
        let (norm, n_inner) = (self.norm(usual.norm)?, ffn.unwrap_or(4 * width));
        Ok(GptConfig {
            n_inner,
            activation_function,
            norm,
            tie_word_embeddings: Tie::Shared,
            dropout,
            ..usual
        })
    }

    /// The encoder-decoder for a vocabulary; ids of special tokens are those of our tokenizers.
    pub fn seq2seq(&self, vocab: usize) -> Result<Seq2SeqConfig> {
        let ModelConfig { layers, heads, width, ffn, context, dropout, ref activation, .. } = self.model;
        let usual = Seq2SeqConfig::new(vocab, layers, heads, width, ffn.unwrap_or(4 * width));
        let activation_function = match activation {
            Some(name) => activation_from_name(name)?,
            None => usual.activation_function,
        };
        let norm = self.norm(usual.norm)?;
        Ok(Seq2SeqConfig { max_position_embeddings: context, activation_function, norm, dropout, ..usual })
    }
}

/// Applies `a.b=value`; a value that is not TOML is a string.
fn set(table: &mut toml::Table, change: &str) -> Result<()> {
    let usage = || {
        Error::config(format!("--set {change} is not of the form key=value")).hint("--set train.steps=500")
    };
    let (key, value) = change.split_once('=').ok_or_else(usage)?;
    let (key, value) = (key.trim(), value.trim());
    let parsed = format!("v = {value}").parse::<toml::Table>().ok().and_then(|mut table| table.remove("v"));
    let value = parsed.unwrap_or_else(|| toml::Value::String(value.into()));
    let mut at = table;
    let mut parts = key.split('.').collect::<Vec<_>>();
    let last = parts.pop().filter(|last| !last.is_empty()).ok_or_else(usage)?;
    for part in parts {
        let next = at.entry(part).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        at = next.as_table_mut().ok_or_else(|| {
            Error::config(format!("--set {change}: {part} has no keys of its own"))
                .hint("--set train.steps=500")
        })?;
    }
    at.insert(last.into(), value);
    Ok(())
}

fn merge(into: &mut toml::Table, from: toml::Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(toml::Value::Table(into)), toml::Value::Table(from)) => merge(into, from),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPT: &str = "task = \"gpt\"\n[data]\ntext = [\"a.txt\"]\n";

    #[test]
    fn overrides_win_over_the_file_and_the_file_over_what_is_usual() {
        let text = format!("{GPT}[train]\nsteps = 7\nlr = 0.5\n");
        let config = RunConfig::parse(&text, &["train.lr=0.25".into(), "tokenizer.kind=bpe".into()]).unwrap();
        assert_eq!((config.train.steps, config.train.lr), (7, 0.25));
        assert_eq!(config.train.batch, TrainConfig::default().batch);
        assert_eq!(config.tokenizer.kind.as_deref(), Some("bpe"));
    }

    #[test]
    fn a_configuration_is_the_same_after_it_was_saved() {
        let config = RunConfig::parse(GPT, &["train.ema=0.99".into(), "model.ffn=33".into()]).unwrap();
        assert_eq!(RunConfig::parse(&config.to_toml(), &[]).unwrap(), config);
        assert_eq!(config.with(&["train.steps=3".into()]).unwrap().train.steps, 3);
    }

    #[test]
    fn what_a_run_cannot_be_is_refused_by_name() {
        let error = |text: &str, set: &str| {
            let overrides: Vec<String> = set.split_whitespace().map(String::from).collect();
            RunConfig::parse(text, &overrides).unwrap_err().to_string()
        };
        assert!(error("task = \"sing\"", "").contains("'sing'"));
        assert!(error(GPT, "train.stepps=4").contains("stepps"));
        assert!(error(GPT, "train.steps=0").contains("train.steps = 0"));
        assert!(error(GPT, "train.steps=many").contains("steps"));
        assert!(error(GPT, "train.schedule=zigzag").contains("zigzag"));
        assert!(error(GPT, "train.lr=nan").contains("train.lr"));
        assert!(error(GPT, "train.beta2=1").contains("train.beta2"));
        assert!(error(GPT, "train.average_last=5").contains("train.keep"));
        assert!(error(GPT, "model.heads=3").contains("3 heads"));
        assert!(error(GPT, "nonsense").contains("key=value"));
        assert!(error("task = \"gpt\"", "").contains("no text"));
        assert!(error("task = \"translate\"\n[data]\nsource = \"a\"", "").contains("translations"));
    }

    #[test]
    fn paths_of_a_file_are_relative_to_its_folder() {
        let folder = std::env::temp_dir().join(format!("limpid-config-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("run.toml"), GPT).unwrap();
        let config = RunConfig::read(&folder.join("run.toml"), &[]).unwrap();
        assert_eq!(config.data.text, [folder.join("a.txt")]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn every_key_is_in_the_documentation() {
        let text = include_str!("../../../../docs/formats.md");
        let table: toml::Table = full().to_toml().parse().unwrap();
        for (section, value) in table {
            let keys = match value {
                toml::Value::Table(table) => {
                    table.into_iter().map(|(key, _)| format!("{section}.{key}")).collect()
                }
                _ => vec![section],
            };
            keys.iter().for_each(|key| assert!(text.contains(&format!("`{key}`")), "{key}"));
        }
    }

    /// A configuration that says everything there is to say.
    fn full() -> RunConfig {
        let path = || Some(PathBuf::from("a"));
        let mut config = RunConfig::new(TaskKind::Translate);
        config.data = DataConfig {
            text: vec!["a".into()],
            source: path(),
            target: path(),
            validation_text: vec!["a".into()],
            validation_source: path(),
            validation_target: path(),
            validation_share: Some(0.5),
            max_tokens: Some(9),
            drop_duplicates: true,
        };
        config.tokenizer =
            TokenizerConfig { from: path(), kind: Some("word".into()), vocab: Some(99), lowercase: true };
        config.model = ModelConfig {
            ffn: Some(7),
            norm: Some("pre".into()),
            activation: Some("relu".into()),
            ..config.model
        };
        config
    }
}
