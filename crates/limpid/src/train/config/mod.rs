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
mod head_data;
mod keys;
mod lora;
mod model;
mod section;
mod settings;
mod show;
mod task;
#[cfg(test)]
mod tests;
mod training;
mod value;

pub use data::{LabelledData, PairData, PairSource, PairTable, TextData, Unit};
pub use head_data::{QuestionData, TaggedData};
pub(in crate::train) use keys::PATHS;
pub(in crate::train) use model::{CONTEXT_LENGTH, Pretrained};
pub use model::{
    DecoderOptions, RecurrentModel, TransformerModel, TransformerSizes, TranslatorModel,
};
pub use settings::Settings;
pub use show::Entries;
use task::PROBLEM_TYPE;
pub use task::{
    AnswerTask, BertTask, ClassifyTask, GptTask, MaskingConfig, ScoreConfig, TagTask, Targets,
    Task, TaskKind, TranslateTask,
};
use training::Start;
pub use training::{BatchSize, BestMetric, Epochs, Length, Snapshots, TrainConfig, Warmup};

use crate::error::Result;
use crate::hub::AdapterConfig;
use crate::text::{Casing, TokenizerKind};
use section::{Keys, Section};
use std::path::{Path, PathBuf};

/// The configuration of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunConfig {
    /// What is trained, on which data.
    pub task: Task,
    /// How text becomes tokens.
    pub tokenizer: TokenizerConfig,
    /// The folder of the pretrained model to start from (`model.from`).
    pub pretrained: Option<PathBuf>,
    /// The adapters that are trained instead of the pretrained weights (`[lora]`).
    pub lora: Option<AdapterConfig>,
    /// How the model is optimized, validated and kept.
    pub train: TrainConfig,
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

impl RunConfig {
    /// Reads a TOML file with overrides such as `train.steps=500`; see [`Settings::read`].
    ///
    /// # Errors
    /// Those of [`Settings::read`], [`Settings::set`] and [`Settings::resolve`].
    pub fn read(path: &Path, overrides: &[String], data_folder: Option<&Path>) -> Result<Self> {
        let mut settings = Settings::read(path, data_folder)?;
        overrides.iter().try_for_each(|text| settings.set(text))?;
        settings.resolve()
    }

    /// The same from text; paths stay as they are.
    ///
    /// # Errors
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
        let (kind, is_pretrained) = (s.task(), folder.is_some());
        let task = Task::read(s, pretrained)?;
        let tokenizer = TokenizerConfig::read_for(s, kind, is_pretrained)?;
        let lora = if is_pretrained { lora::read(s)? } else { None };
        let start = match (is_pretrained, &lora) {
            (false, _) => Start::Scratch,
            (true, None) => Start::Pretrained,
            (true, Some(_)) => Start::Adapters,
        };
        let mut train = TrainConfig::defaults(kind, task.unit(), start).read(s)?;
        train.best_metric = task.metrics()[0];
        task.train_keys(&mut Keys::Read(s), &mut train)?;
        let config = Self { task, tokenizer, pretrained: folder, lora, train };
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
            Task::Tag(_) => TaskKind::Tag,
            Task::Answer(_) => TaskKind::Answer,
        }
    }

    /// What a sequence is; pairs and labelled texts are lines.
    pub fn unit(&self) -> Unit {
        self.task.unit()
    }

    /// The longest sequence.
    pub fn context_length(&self) -> usize {
        self.task.context_dropout_bias().0
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
        self.task.context_dropout_bias().2
    }

    /// The files to train on.
    pub fn training_files(&self) -> Vec<PathBuf> {
        let [training, _] = self.task.files();
        training
    }

    /// The files for validation, if there are any.
    pub fn validation_files(&self) -> Vec<PathBuf> {
        let [_, validation] = self.task.files();
        validation
    }

    /// All files that become tokens before the training.
    pub fn tokenized_files(&self) -> Vec<PathBuf> {
        self.task.files().concat()
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
        self.keys(&mut Keys::Paths(&mut change)).expect("only reading can fail");
    }
}

impl Section for RunConfig {
    fn keys(&mut self, keys: &mut Keys) -> Result<()> {
        let sections: Vec<&mut dyn Section> = match &mut self.task {
            Task::Gpt(GptTask { data, model }) => vec![data, model],
            Task::Translate(TranslateTask { data, model, score }) => vec![data, model, score],
            Task::Bert(BertTask { data, model, masking }) => vec![data, model, masking],
            Task::Classify(ClassifyTask { data, model, .. }) => vec![data, model],
            Task::Tag(TagTask { data, model }) => vec![data, model],
            Task::Answer(AnswerTask { data, model }) => vec![data, model],
        };
        sections.into_iter().try_for_each(|section| section.keys(keys))?;
        if let Task::Classify(task) = &mut self.task {
            keys.key(PROBLEM_TYPE, &mut task.problem)?;
        }
        self.tokenizer.keys(keys)?;
        keys.key("model.from", &mut self.pretrained)?;
        if let Some(lora) = &mut self.lora {
            lora.keys(keys)?;
        }
        self.train.keys(keys)?;
        self.task.train_keys(keys, &mut self.train)
    }
}

impl TokenizerConfig {
    fn read_for(s: &mut Settings, task: TaskKind, is_pretrained: bool) -> Result<Self> {
        if let Some(folder) = s.get("tokenizer.from")? {
            return Ok(Self::Load(folder));
        }
        if is_pretrained {
            return Ok(Self::Pretrained);
        }
        let kind = match task {
            TaskKind::Gpt => TokenizerKind::Character,
            TaskKind::Translate => TokenizerKind::Bpe,
            TaskKind::Bert | TaskKind::Classify | TaskKind::Tag | TaskKind::Answer => {
                TokenizerKind::WordPiece
            }
        };
        Self::Train { kind, vocab_size: None, casing: Casing::Cased }.read(s)
    }
}

impl Section for TokenizerConfig {
    fn keys(&mut self, keys: &mut Keys) -> Result<()> {
        match self {
            Self::Load(folder) => keys.key("tokenizer.from", folder),
            Self::Pretrained => Ok(()),
            Self::Train { kind, vocab_size, casing } => {
                keys.key("tokenizer.kind", kind)?;
                keys.key("tokenizer.vocab_size", vocab_size)?;
                keys.key("tokenizer.lowercase", casing)
            }
        }
    }
}
