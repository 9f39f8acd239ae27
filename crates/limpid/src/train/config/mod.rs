//! The configuration of a run: one typed, complete and validated value, saved with the run.
//!
//! [`Settings`] are the keys that were set, by a TOML file and by overrides; [`Settings::resolve`]
//! makes a [`RunConfig`] of them. Each task has a struct of its own, so a key that has no effect
//! for a task does not exist for it and is refused, as an unknown one is. Everything that changes
//! the result is in here; where the run is saved and how it is shown is not.
//!
//! ```
//! use limpid::train::RunConfig;
//! use limpid::train::config::Task;
//!
//! let text = "task = \"translate\"\n[data]\npairs = \"fr-en.tsv\"\n[train]\nepochs = 10\n";
//! let config = RunConfig::parse(text, &["train.lr=5e-4".to_string()])?;
//! assert_eq!(config.train.lr, 5e-4);
//! assert!(matches!(config.task, Task::Translate(_)));
//! assert_eq!(RunConfig::parse(&config.to_toml(), &[])?, config);
//! # Ok::<(), limpid::error::Error>(())
//! ```

mod build;
mod check;
mod data;
mod keys;
mod model;
mod section;
mod settings;
mod show;
#[cfg(test)]
mod tests;
mod training;
mod value;

pub use build::TranslatorConfig;
pub use data::{LabelledData, PairData, PairFiles, PairSource, PairTable, TextData, Unit};
pub(in crate::train) use keys::PATHS;
pub(in crate::train) use model::{CONTEXT_LENGTH, Pretrained};
pub use model::{EncoderModel, RecurrentModel, TransformerModel, TranslatorModel};
pub use settings::Settings;
pub use show::Entries;
pub use training::{BatchSize, BestMetric, Epochs, Length, TrainConfig, Warmup};

use crate::data::masking::MaskUnit;
use crate::error::Result;
use crate::text::{Casing, TokenizerKind};
use section::section;
use std::path::{Path, PathBuf};
use training::Measure;

/// The configuration of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunConfig {
    /// What is trained, on which data.
    pub task: Task,
    /// How text becomes tokens.
    pub tokenizer: TokenizerConfig,
    /// The folder of the pretrained model to start from (`model.from`).
    pub pretrained: Option<PathBuf>,
    /// How the model is optimized, validated and kept.
    pub train: TrainConfig,
}

/// What is trained, on which data.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// A language model.
    Gpt(GptTask),
    /// A translator, or another text-to-text model.
    Translate(TranslateTask),
    /// An encoder, by masked language modelling.
    Bert(BertTask),
    /// A classifier of texts.
    Classify(ClassifyTask),
}

/// The name of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// [`Task::Gpt`].
    Gpt,
    /// [`Task::Translate`].
    Translate,
    /// [`Task::Bert`].
    Bert,
    /// [`Task::Classify`].
    Classify,
}

impl TaskKind {
    /// All tasks.
    pub const ALL: [Self; 4] = [Self::Gpt, Self::Translate, Self::Bert, Self::Classify];

    /// Its name in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gpt => "gpt",
            Self::Translate => "translate",
            Self::Bert => "bert",
            Self::Classify => "classify",
        }
    }
}

/// A language model on plain text.
#[derive(Clone, Debug, PartialEq)]
pub struct GptTask {
    /// The text.
    pub data: TextData,
    /// The decoder.
    pub model: TransformerModel,
}

/// An encoder-decoder on pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct TranslateTask {
    /// The pairs.
    pub data: PairData,
    /// The encoder-decoder.
    pub model: TranslatorModel,
    /// How the trained model is scored.
    pub score: ScoreConfig,
}

/// An encoder on plain text.
#[derive(Clone, Debug, PartialEq)]
pub struct BertTask {
    /// The text.
    pub data: TextData,
    /// The encoder.
    pub model: EncoderModel,
    /// Which tokens are masked.
    pub masking: MaskingConfig,
}

/// A classifier on labelled texts.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassifyTask {
    /// The labelled texts.
    pub data: LabelledData,
    /// The encoder below the classification head.
    pub model: EncoderModel,
}

/// How text becomes tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenizerConfig {
    /// The tokenizer of this folder (`tokenizer.from`).
    Load(PathBuf),
    /// That of the pretrained model.
    Pretrained,
    /// A tokenizer trained on the run's texts.
    Train {
        /// `tokenizer.kind`.
        kind: TokenizerKind,
        /// Tokens of the vocabulary (`tokenizer.vocab_size`). If `None`, 8,000 or as many as the
        /// text gives; an explicit number that the text does not give is an error.
        vocab_size: Option<usize>,
        /// `tokenizer.lowercase`.
        casing: Casing,
    },
}

/// What an encoder-decoder generates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// The same in another language: scored by BLEU and chrF.
    Translations,
    /// The same in fewer words: scored by ROUGE-L and exact match as well.
    Summaries,
}

section! {
    /// How a trained encoder-decoder is scored.
    pub struct ScoreConfig in "score" {
        /// What it generates.
        targets: Targets,
        /// Beams of the search; 1 is greedy.
        num_beams: usize,
        /// Whether BLEU and chrF ignore case.
        lowercase: bool,
        /// Validation sentences that are scored at most; 0 for none. Test files are scored whole.
        max_sentences: usize,
    }
}

section! {
    /// Which tokens are masked.
    pub struct MaskingConfig in "masking" {
        /// Probability that a token is to be predicted.
        probability: f32,
        /// Whole-word masking: all pieces of a word are masked together.
        whole_words: bool,
    }
}

impl RunConfig {
    /// Reads a TOML file with overrides such as `train.steps=500`; see [`Settings::read`].
    ///
    /// # Errors
    ///
    /// Those of [`Settings::read`], [`Settings::set`] and [`Settings::resolve`].
    pub fn read(path: &Path, overrides: &[String], data_folder: Option<&Path>) -> Result<Self> {
        let mut settings = Settings::read(path, data_folder)?;
        overrides.iter().try_for_each(|text| settings.set(text))?;
        settings.resolve()
    }

    /// The same from text; paths stay as they are.
    ///
    /// # Errors
    ///
    /// Those of [`Settings::parse`], [`Settings::set`] and [`Settings::resolve`].
    pub fn parse(text: &str, overrides: &[String]) -> Result<Self> {
        let mut settings = Settings::parse(text)?;
        overrides.iter().try_for_each(|text| settings.set(text))?;
        settings.resolve()
    }

    /// Reads the `config.toml` that a run has saved. It is complete: a pretrained model that the
    /// run has started from need not exist any more.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not what a run has saved.
    pub fn read_saved(path: &Path) -> Result<Self> {
        Settings::read(path, None)?.resolve_saved()
    }

    pub(super) fn parse_saved(text: &str) -> Result<Self> {
        Settings::parse(text)?.resolve_saved()
    }

    fn from_settings(settings: &mut Settings) -> Result<Self> {
        let kind = settings.task();
        let from: Option<PathBuf> = settings.get("model.from")?;
        let pretrained = from.map(|from| Pretrained::read(&from, kind)).transpose()?;
        let folder = pretrained.as_ref().map(|model| model.folder.clone());
        Self::resolved(settings, pretrained.as_ref(), folder)
    }

    fn from_saved_settings(settings: &mut Settings) -> Result<Self> {
        let folder = settings.get("model.from")?;
        Self::resolved(settings, None, folder)
    }

    fn resolved(
        s: &mut Settings,
        pretrained: Option<&Pretrained>,
        folder: Option<PathBuf>,
    ) -> Result<Self> {
        let kind = s.task();
        let task = Task::read(s, pretrained)?;
        let measure = match task.unit() {
            Unit::Lines => Measure::Tokens,
            Unit::Windows | Unit::Pairs => Measure::Sequences,
        };
        let tokenizer = TokenizerConfig::read(s, kind, folder.is_some())?;
        let train = TrainConfig::read(s, kind, measure, folder.is_some())?;
        let config = Self { task, tokenizer, pretrained: folder, train };
        s.finish(|key| config.reason(key))?;
        config.validate()?;
        Ok(config)
    }

    /// The name of the task.
    pub fn kind(&self) -> TaskKind {
        match self.task {
            Task::Gpt(_) => TaskKind::Gpt,
            Task::Translate(_) => TaskKind::Translate,
            Task::Bert(_) => TaskKind::Bert,
            Task::Classify(_) => TaskKind::Classify,
        }
    }

    /// What a sequence is; pairs and labelled texts are lines.
    pub fn unit(&self) -> Unit {
        self.task.unit()
    }

    /// The longest sequence.
    pub fn context_length(&self) -> usize {
        match &self.task {
            Task::Gpt(task) => task.model.context_length,
            Task::Translate(task) => task.model.context_length(),
            Task::Bert(task) => task.model.context_length,
            Task::Classify(task) => task.model.context_length,
        }
    }

    /// How the trained model is scored by what it generates; only a translator is.
    pub fn score(&self) -> Option<&ScoreConfig> {
        match &self.task {
            Task::Translate(task) => Some(&task.score),
            _ => None,
        }
    }

    /// Whether biases are trained.
    pub fn has_bias(&self) -> bool {
        match &self.task {
            Task::Gpt(task) => task.model.bias,
            Task::Bert(task) => task.model.bias,
            Task::Classify(task) => task.model.bias,
            Task::Translate(task) => match &task.model {
                TranslatorModel::Transformer(model) => model.bias,
                TranslatorModel::Recurrent(_) => true,
            },
        }
    }

    /// The files to train on.
    pub fn training_files(&self) -> Vec<PathBuf> {
        match &self.task {
            Task::Gpt(GptTask { data, .. }) | Task::Bert(BertTask { data, .. }) => {
                data.text.clone()
            }
            Task::Classify(task) => task.data.text.clone(),
            Task::Translate(task) => task.data.training_pairs().files(),
        }
    }

    /// The files for validation, if there are any.
    pub fn validation_files(&self) -> Vec<PathBuf> {
        match &self.task {
            Task::Gpt(GptTask { data, .. }) | Task::Bert(BertTask { data, .. }) => {
                data.validation_text.clone()
            }
            Task::Classify(task) => task.data.validation_text.clone(),
            Task::Translate(task) => {
                task.data.validation_pairs().map_or(Vec::new(), |pairs| pairs.files())
            }
        }
    }

    /// All files that become tokens before the training.
    pub fn tokenized_files(&self) -> Vec<PathBuf> {
        [self.training_files(), self.validation_files()].concat()
    }

    /// A file that is both trained and validated on, if there is one.
    pub fn shared_file(&self) -> Option<PathBuf> {
        let place = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let training: Vec<PathBuf> = self.training_files().iter().map(place).collect();
        self.validation_files().into_iter().find(|path| training.contains(&place(path)))
    }

    /// The folder that `tokenizer.from` names.
    pub fn tokenizer_folder(&self) -> Option<&PathBuf> {
        match &self.tokenizer {
            TokenizerConfig::Load(folder) => Some(folder),
            _ => None,
        }
    }

    /// Calls `change` on every path.
    pub fn each_path(&mut self, mut change: impl FnMut(&mut PathBuf)) {
        match &mut self.task {
            Task::Gpt(GptTask { data, .. }) | Task::Bert(BertTask { data, .. }) => {
                data.text.iter_mut().chain(&mut data.validation_text).for_each(&mut change);
            }
            Task::Classify(ClassifyTask { data, .. }) => {
                data.text.iter_mut().chain(&mut data.validation_text).for_each(&mut change);
            }
            Task::Translate(TranslateTask { data, .. }) => {
                let all = [Some(&mut data.train), data.validation.as_mut(), data.test.as_mut()];
                for source in all.into_iter().flatten() {
                    match source {
                        PairSource::Parallel(source, target) => {
                            change(source);
                            change(target);
                        }
                        PairSource::Table(path) => change(path),
                    }
                }
            }
        }
        if let TokenizerConfig::Load(folder) = &mut self.tokenizer {
            change(folder);
        }
        self.pretrained.iter_mut().for_each(change);
    }
}

impl Task {
    fn read(s: &mut Settings, from: Option<&Pretrained>) -> Result<Self> {
        Ok(match s.task() {
            TaskKind::Gpt => Task::Gpt(GptTask {
                data: TextData::read(s, &[Unit::Windows, Unit::Lines])?,
                model: TransformerModel::read_decoder(s, from)?,
            }),
            TaskKind::Translate => Task::Translate(TranslateTask {
                data: PairData::read(s)?,
                model: TranslatorModel::read(s, from)?,
                score: ScoreConfig::read_keys(s, ScoreConfig::default())?,
            }),
            TaskKind::Bert => {
                let data = TextData::read(s, &[Unit::Windows, Unit::Lines, Unit::Pairs])?;
                let model = EncoderModel::read(s, from, data.unit == Unit::Pairs)?;
                let masking = MaskingConfig::read_keys(s, MaskingConfig::default())?;
                Task::Bert(BertTask { data, model, masking })
            }
            TaskKind::Classify => {
                let data = LabelledData::read(s)?;
                let model = EncoderModel::read(s, from, data.text_columns.len() > 1)?;
                Task::Classify(ClassifyTask { data, model })
            }
        })
    }

    fn unit(&self) -> Unit {
        match self {
            Task::Gpt(GptTask { data, .. }) | Task::Bert(BertTask { data, .. }) => data.unit,
            Task::Translate(_) | Task::Classify(_) => Unit::Lines,
        }
    }
}

impl TokenizerConfig {
    fn read(s: &mut Settings, task: TaskKind, is_pretrained: bool) -> Result<Self> {
        if let Some(folder) = s.get("tokenizer.from")? {
            return Ok(Self::Load(folder));
        }
        if is_pretrained {
            return Ok(Self::Pretrained);
        }
        let default = match task {
            TaskKind::Gpt => TokenizerKind::Character,
            TaskKind::Translate => TokenizerKind::Bpe,
            TaskKind::Bert | TaskKind::Classify => TokenizerKind::WordPiece,
        };
        let is_lowercase = s.get("tokenizer.lowercase")?.unwrap_or(false);
        Ok(Self::Train {
            kind: s.get("tokenizer.kind")?.unwrap_or(default),
            vocab_size: s.get("tokenizer.vocab_size")?,
            casing: if is_lowercase { Casing::Uncased } else { Casing::Cased },
        })
    }
}

impl Default for ScoreConfig {
    fn default() -> Self {
        Self {
            targets: Targets::Translations,
            num_beams: 1,
            lowercase: false,
            max_sentences: 2_000,
        }
    }
}

impl MaskingConfig {
    /// What is masked together.
    pub fn unit(&self) -> MaskUnit {
        if self.whole_words { MaskUnit::WholeWord } else { MaskUnit::Token }
    }
}

impl Default for MaskingConfig {
    fn default() -> Self {
        Self { probability: 0.15, whole_words: false }
    }
}
