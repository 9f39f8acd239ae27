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
use training::Start;
pub use training::{BatchSize, BestMetric, Epochs, Length, Snapshots, TrainConfig, Warmup};

use crate::data::masking::MaskUnit;
use crate::error::{Result, SettingError};
use crate::hub::AdapterConfig;
use crate::model::config::{Labels, ProblemType};
use crate::nn::{Named, named};
use crate::text::{Casing, TokenizerKind};
use section::{Keys, Section, section};
use std::path::{Path, PathBuf};

/// Keys that some tasks have.
const BEST_METRIC: &str = "train.best_metric";
const LABEL_SMOOTHING: &str = "train.label_smoothing";
const PROBLEM_TYPE: &str = "model.problem_type";

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
    /// A classifier of tokens.
    Tag(TagTask),
    /// Extractive question answering.
    Answer(AnswerTask),
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
    /// [`Task::Tag`].
    Tag,
    /// [`Task::Answer`].
    Answer,
}

impl TaskKind {
    /// Whether it fine-tunes a head on labelled data.
    pub(super) fn has_labels(self) -> bool {
        matches!(self, TaskKind::Classify | TaskKind::Tag | TaskKind::Answer)
    }
}

named!(TaskKind, "task", "gpt" => Gpt, "translate" => Translate, "bert" => Bert,
    "classify" => Classify, "tag" => Tag, "answer" => Answer);

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
    pub model: TransformerSizes,
    /// Which tokens are masked.
    pub masking: MaskingConfig,
}

/// A classifier on labelled texts.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassifyTask {
    /// The labelled texts.
    pub data: LabelledData,
    /// The encoder or decoder below the classification head.
    pub model: TransformerSizes,
    /// What the labels are (`model.problem_type`).
    pub problem: ProblemType,
}

/// A token classifier on sentences with labelled words.
#[derive(Clone, Debug, PartialEq)]
pub struct TagTask {
    /// The sentences.
    pub data: TaggedData,
    /// The encoder below the head.
    pub model: TransformerSizes,
}

/// Extractive question answering.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerTask {
    /// Questions, contexts and answers.
    pub data: QuestionData,
    /// The encoder below the head.
    pub model: TransformerSizes,
}

impl AnswerTask {
    /// Tokens that neighbouring windows of a context share: 128 unless set, or half of a shorter
    /// window.
    pub fn doc_stride(&self) -> usize {
        self.data.doc_stride.unwrap_or((self.model.context_length / 2).min(128))
    }
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

named!(Targets, "targets", "translations" => Translations, "summaries" => Summaries);

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
        whole_words: MaskUnit,
    }
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

impl Task {
    fn read(s: &mut Settings, from: Option<&Pretrained>) -> Result<Self> {
        Ok(match s.task() {
            TaskKind::Gpt => Task::Gpt(GptTask {
                data: TextData::read_for(s, TaskKind::Gpt)?,
                model: TransformerModel::read_decoder(s, from)?,
            }),
            TaskKind::Translate => Task::Translate(TranslateTask {
                data: PairData::read_keys(s)?,
                model: TranslatorModel::read_keys(s, from)?,
                score: ScoreConfig::default().read(s)?,
            }),
            TaskKind::Bert => {
                let data = TextData::read_for(s, TaskKind::Bert)?;
                let model = TransformerSizes::read_encoder(s, from)?;
                let masking = MaskingConfig::default().read(s)?;
                Task::Bert(BertTask { data, model, masking })
            }
            TaskKind::Classify => {
                let own = from.and_then(|from| from.stack.labels()).map(Labels::problem);
                let problem = s.get(PROBLEM_TYPE)?.or(own).unwrap_or(ProblemType::SingleLabel);
                let data = LabelledData::read_keys(s, problem)?;
                let model = TransformerSizes::read_encoder(s, from)?;
                Task::Classify(ClassifyTask { data, model, problem })
            }
            TaskKind::Tag => Task::Tag(TagTask {
                data: TaggedData::read_keys(s)?,
                model: TransformerSizes::read_encoder(s, from)?,
            }),
            TaskKind::Answer => Task::Answer(AnswerTask {
                data: QuestionData::read_keys(s)?,
                model: TransformerSizes::read_encoder(s, from)?,
            }),
        })
    }

    /// The metrics that can choose the best model, the default first.
    fn metrics(&self) -> &'static [BestMetric] {
        use BestMetric::{Accuracy, ExactMatch, F1, Loss, MicroF1, Pearson, Spearman};
        match self {
            Task::Gpt(_) | Task::Translate(_) | Task::Bert(_) => &[Loss],
            Task::Classify(task) => match task.problem {
                ProblemType::SingleLabel => &[Accuracy, Loss, F1],
                ProblemType::Regression => &[Loss, Pearson, Spearman],
                ProblemType::MultiLabel => &[MicroF1, Loss, Accuracy, F1],
            },
            Task::Tag(_) => &[F1, Loss, Accuracy],
            Task::Answer(_) => &[F1, Loss, ExactMatch],
        }
    }

    /// Whether the loss is a cross-entropy over labels or tokens, which can be smoothed.
    fn has_label_smoothing(&self) -> bool {
        match self {
            Task::Classify(task) => task.problem == ProblemType::SingleLabel,
            Task::Answer(_) => false,
            _ => true,
        }
    }

    /// The keys of `[train]` that only some tasks have.
    fn train_keys(&self, keys: &mut Keys, train: &mut TrainConfig) -> Result<()> {
        keys.key_if(self.has_label_smoothing(), LABEL_SMOOTHING, &mut train.label_smoothing)?;
        let metrics = self.metrics();
        keys.key_if(metrics.len() > 1, BEST_METRIC, &mut train.best_metric)?;
        if metrics.contains(&train.best_metric) {
            return Ok(());
        }
        let names: Vec<&str> = metrics.iter().map(|metric| metric.name()).collect();
        Err(SettingError::Invalid {
            key: BEST_METRIC.into(),
            found: train.best_metric.name().into(),
            expected: format!("one of {} for this task", names.join(", ")),
        }
        .into())
    }

    fn unit(&self) -> Unit {
        match self {
            Task::Gpt(GptTask { data, .. }) | Task::Bert(BertTask { data, .. }) => data.unit,
            Task::Translate(_) | Task::Classify(_) | Task::Tag(_) | Task::Answer(_) => Unit::Lines,
        }
    }

    /// The longest sequence, the dropout, and whether biases are trained.
    fn context_dropout_bias(&self) -> (usize, f32, bool) {
        let sizes = match self {
            Task::Gpt(task) => &task.model.sizes,
            Task::Bert(BertTask { model, .. })
            | Task::Classify(ClassifyTask { model, .. })
            | Task::Tag(TagTask { model, .. })
            | Task::Answer(AnswerTask { model, .. }) => model,
            Task::Translate(task) => match &task.model {
                TranslatorModel::Transformer(model) => &model.sizes,
                TranslatorModel::Recurrent(model) => {
                    return (model.context_length, model.dropout, true);
                }
            },
        };
        (sizes.context_length, sizes.dropout, sizes.bias)
    }

    /// The files to train on, and those for validation.
    fn files(&self) -> [Vec<PathBuf>; 2] {
        let [training, validation] = match self {
            Task::Gpt(GptTask { data, .. }) | Task::Bert(BertTask { data, .. }) => {
                [&data.text, &data.validation_text]
            }
            Task::Classify(ClassifyTask { data, .. }) => [&data.text, &data.validation_text],
            Task::Tag(TagTask { data, .. }) => [&data.text, &data.validation_text],
            Task::Answer(AnswerTask { data, .. }) => [&data.text, &data.validation_text],
            Task::Translate(TranslateTask { data, .. }) => {
                let validation = data.validation_pairs().map(|pairs| pairs.files());
                return [data.training_pairs().files(), validation.unwrap_or_default()];
            }
        };
        [training.clone(), validation.clone()]
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

impl Default for MaskingConfig {
    fn default() -> Self {
        Self { probability: 0.15, whole_words: MaskUnit::Token }
    }
}
