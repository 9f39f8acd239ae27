//! What is trained, on which data: a struct per task.

use super::section::{Keys, Section, section};
use super::settings::Settings;
use super::{
    BestMetric, LabelledData, PairData, Pretrained, QuestionData, TaggedData, TextData,
    TrainConfig, TransformerModel, TransformerSizes, TranslatorModel, Unit,
};
use crate::data::masking::MaskUnit;
use crate::error::{Result, SettingError};
use crate::model::config::{Labels, ProblemType};
use crate::nn::{Named, named};
use std::path::PathBuf;

/// Keys that some tasks have.
const BEST_METRIC: &str = "train.best_metric";
const LABEL_SMOOTHING: &str = "train.label_smoothing";
pub(super) const PROBLEM_TYPE: &str = "model.problem_type";

/// What is trained, on which data.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a run has one configuration")]
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

impl Task {
    pub(super) fn read(s: &mut Settings, from: Option<&Pretrained>) -> Result<Self> {
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
    pub(super) fn metrics(&self) -> &'static [BestMetric] {
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
    pub(super) fn train_keys(&self, keys: &mut Keys, train: &mut TrainConfig) -> Result<()> {
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

    pub(super) fn unit(&self) -> Unit {
        match self {
            Task::Gpt(GptTask { data, .. }) | Task::Bert(BertTask { data, .. }) => data.unit,
            Task::Translate(_) | Task::Classify(_) | Task::Tag(_) | Task::Answer(_) => Unit::Lines,
        }
    }

    /// The longest sequence, the dropout, and whether biases are trained.
    pub(super) fn context_dropout_bias(&self) -> (usize, f32, bool) {
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
    pub(super) fn files(&self) -> [Vec<PathBuf>; 2] {
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
