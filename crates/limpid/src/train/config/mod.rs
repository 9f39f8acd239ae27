//! What a run is: one validated value, from a TOML file and overrides, saved with the run.
//!
//! Unknown keys are errors. Everything that changes the result is in here; where the run is kept and how it is shown is not.

mod build;
mod check;
mod file;
mod pairs;
#[cfg(test)]
mod tests;

pub use build::TranslatorConfig;
pub use pairs::PairFiles;

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

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
    /// How translations are judged at the end.
    #[serde(default)]
    pub score: ScoreConfig,
    /// Which words are hidden, for an encoder.
    #[serde(default)]
    pub masking: MaskingConfig,
    /// How labelled texts are written, for a classifier.
    #[serde(default)]
    pub table: TableConfig,
    /// Keys that somebody has said.
    #[serde(skip)]
    pub(super) said: Said,
}

/// Keys that somebody has said, such as `model.width`: what is said may be what is usual.
#[derive(Clone, Debug, Default)]
pub(super) struct Said(pub(super) Vec<String>);

impl Said {
    /// Whether a key is among them.
    pub(super) fn has(&self, key: &str) -> bool {
        self.0.iter().any(|said| said == key)
    }
}

impl PartialEq for Said {
    /// A run is what it is, whoever said so.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What is learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    /// To continue text.
    Gpt,
    /// To translate sentences.
    Translate,
    /// To say which words are hidden.
    Bert,
    /// To label texts.
    Classify,
}

/// The files. A relative path is relative to the folder of the TOML file, or to where the command is typed; `$LIMPID_DATA/…` is in the
/// folder that this variable names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataConfig {
    /// Texts, for a language model or an encoder; tables of labelled texts, for a classifier.
    pub text: Vec<PathBuf>,
    /// What a sequence of a text is: `windows` (unless said otherwise), `lines`, or for an encoder `pairs`.
    pub unit: Option<String>,
    /// Sentences to translate, one a line.
    pub source: Option<PathBuf>,
    /// Their translations, line by line.
    pub target: Option<PathBuf>,
    /// Both in one file instead, as columns: TSV, CSV or JSON Lines.
    pub pairs: Option<PathBuf>,
    /// The column of sentences, by number or name: 1 unless said otherwise, `source` in JSON Lines.
    pub source_column: Option<String>,
    /// The column of translations: 2 unless said otherwise, `target` in JSON Lines.
    pub target_column: Option<String>,
    /// Whether the first line of such files names the columns; so it does if a column is meant by name.
    pub header: bool,
    /// Texts kept for validation.
    pub validation_text: Vec<PathBuf>,
    /// Sentences kept for validation.
    pub validation_source: Option<PathBuf>,
    /// Their translations.
    pub validation_target: Option<PathBuf>,
    /// Both in one file.
    pub validation_pairs: Option<PathBuf>,
    /// Sentences on which a translator is judged at the end; without them, those kept for validation.
    pub test_source: Option<PathBuf>,
    /// Their translations.
    pub test_target: Option<PathBuf>,
    /// Both in one file.
    pub test_pairs: Option<PathBuf>,
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
    /// For translation: `transformer` (unless said otherwise) or `rnn`.
    pub arch: Option<String>,
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
    /// `learned`, `sinusoidal`, `one-hot`, `none`; learned for a language model, sinusoidal for translation unless said otherwise.
    pub positions: Option<String>,
    /// `layer`, `batch`, `none`: over what mean and variance are taken; layer unless said otherwise.
    pub normalisation: Option<String>,
    /// `added` or `none`: whether a sub-layer adds to its input; added unless said otherwise.
    pub residual: Option<String>,
    /// `sqrt-width` or `none`: what attention scores are divided by; sqrt-width unless said otherwise.
    pub scaling: Option<String>,
    /// As Hugging Face names it.
    pub activation: Option<String>,
    /// A model folder to begin with: its sizes, its tokenizer and its weights are taken over.
    pub from: Option<PathBuf>,
    /// Whether biases (of layers and norms) are trained. Without, they stay 0, so that files keep their form.
    pub bias: bool,
    /// Recurrent: `tanh`, `gru` (unless said otherwise) or `lstm`.
    pub cell: Option<String>,
    /// Recurrent: `none`, `dot` or `additive` (unless said otherwise).
    pub attention: Option<String>,
    /// Recurrent: whether the encoder reads both ways; so unless said otherwise.
    pub bidirectional: Option<bool>,
    /// Recurrent: width of the embeddings; `width`, which is that of a state, unless said otherwise.
    pub embedding: Option<usize>,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            arch: None,
            layers: 4,
            heads: 4,
            width: 128,
            ffn: None,
            context: 128,
            dropout: 0.0,
            norm: None,
            positions: None,
            normalisation: None,
            residual: None,
            scaling: None,
            activation: None,
            from: None,
            bias: true,
            cell: None,
            attention: None,
            bidirectional: None,
            embedding: None,
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

/// How translations are judged at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScoreConfig {
    /// What is written: `translations` (BLEU and chrF) or `summaries` (ROUGE-L and exact match as well).
    pub targets: String,
    /// Beams of the search; 1 is greedy.
    pub beams: usize,
    /// Whether BLEU and chrF pass over capital letters.
    pub lowercase: bool,
    /// Of what is kept for validation, so many sentences at most: a tenth of a large corpus would take hours. Test files are taken whole.
    pub sentences: usize,
}

impl Default for ScoreConfig {
    fn default() -> Self {
        Self { targets: "translations".into(), beams: 1, lowercase: false, sentences: 2_000 }
    }
}

/// What an encoder-decoder writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// The same in another language.
    Translations,
    /// The same in fewer words.
    Summaries,
}

/// What a sequence of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// As many tokens as fit, from anywhere in the text.
    Windows,
    /// A line; long ones are cut into pieces.
    Lines,
    /// A line and the next one, or in half of the cases another; the model is also asked which.
    Pairs,
}

/// Which words are hidden.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MaskingConfig {
    /// The part of the tokens that is asked for.
    pub share: f32,
    /// Whether all pieces of a word are hidden together.
    pub whole_words: bool,
}

impl Default for MaskingConfig {
    fn default() -> Self {
        Self { share: 0.15, whole_words: false }
    }
}

/// How labelled texts are written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TableConfig {
    /// `tsv`, `csv`, `jsonl` or `label-first`; by the end of the file's name unless said otherwise.
    pub format: Option<String>,
    /// Whether the first line of a TSV or CSV file names the columns.
    pub header: bool,
    /// The column of the text, or those of two texts: names, or numbers from 1.
    pub text: Vec<String>,
    /// The column of the label.
    pub label: String,
}

impl Default for TableConfig {
    fn default() -> Self {
        Self { format: None, header: true, text: vec!["text".into()], label: "label".into() }
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
            score: ScoreConfig::default(),
            masking: MaskingConfig::default(),
            table: TableConfig::default(),
            said: Said::default(),
        };
        if matches!(task, TaskKind::Bert | TaskKind::Classify) {
            config.model.dropout = 0.1;
            config.train = TrainConfig { batch: 32, weight_decay: 0.01, ..config.train };
        }
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
}
