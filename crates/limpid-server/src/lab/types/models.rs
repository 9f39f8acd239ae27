//! The lab, its models and their tokens.

use super::training::{Demo, Run};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Everything the page shows first.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Lab {
    /// Of the program.
    pub version: String,
    /// Threads that compute.
    pub threads: usize,
    /// The instruction set.
    pub simd: String,
    /// Models by id.
    pub models: Vec<Model>,
    /// Runs by id.
    pub runs: Vec<Run>,
    /// The demo's models.
    pub demo: Demo,
    /// Bounds of requests.
    pub limits: LabLimits,
}

/// Bounds of requests.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct LabLimits {
    /// Tokens of a sequence.
    pub max_tokens: usize,
    /// Bytes of a body.
    pub max_body: usize,
    /// Numbers of one answer.
    pub max_numbers: usize,
}

/// The stack of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "they are what they are called")]
pub enum ModelKind {
    Decoder,
    Encoder,
    EncoderDecoder,
    Recurrent,
    Unknown,
}

/// Where a model comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelSource {
    /// Trained by the demo.
    Demo,
    /// Of a run.
    Run,
    /// Any other folder.
    Folder,
    /// Weights of a run at an earlier step.
    Snapshot,
}

/// Whether a model can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "they are what they are called")]
pub enum ModelState {
    Ready,
    Damaged,
    Absent,
    Training,
}

/// A model.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Model {
    /// By which requests name it.
    pub id: String,
    /// For people.
    pub name: String,
    /// Its stack.
    pub kind: ModelKind,
    /// What it does, in the words of Hugging Face's pipelines; `unknown` if it cannot be told.
    pub task: String,
    /// Where it comes from.
    pub source: ModelSource,
    /// Its folder, for people and commands.
    pub folder: String,
    /// Whether it can be used.
    pub state: ModelState,
    /// Why not.
    pub problem: Option<String>,
    /// Trained parameters.
    pub parameters: usize,
    /// Layers, of each stack the same or the larger number.
    pub layers: usize,
    /// Attention heads of a layer.
    pub heads: usize,
    /// Width of the residual stream, or of the states.
    pub width: usize,
    /// Tokens of the (source) vocabulary.
    pub vocab_size: usize,
    /// Tokens of a sequence.
    pub context: usize,
    /// Without one, texts are token ids with spaces between them.
    pub has_tokenizer: bool,
    /// Whether its vocabulary is that of the built-in stories, whose probabilities are known.
    pub is_story: bool,
    /// Source and target, where the name tells.
    pub languages: Option<(String, String)>,
    /// A text to start with.
    pub example: String,
    /// Whether there is attention to look at.
    pub attention: bool,
    /// A hash of its configuration and weights; known once it was used.
    pub hash: Option<String>,
}

/// A parameter.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Param {
    /// Its name in the model.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its numbers.
    pub count: usize,
    /// Whether it is trained.
    pub trained: bool,
    /// How it is stored.
    pub dtype: String,
}

/// A fact about a model in words.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Fact {
    /// What.
    pub name: String,
    /// How.
    pub value: String,
}

/// A special token.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SpecialToken {
    /// Its id.
    pub id: u32,
    /// Its text.
    pub text: String,
}

/// What a model is made of.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ModelDetail {
    /// The model.
    pub model: Model,
    /// Of its `config.json`.
    pub model_type: String,
    /// All parameters.
    pub params: Vec<Param>,
    /// Its configuration in words.
    pub facts: Vec<Fact>,
    /// Special tokens.
    pub special_tokens: Vec<SpecialToken>,
    /// What in its folder is ignored.
    pub warnings: Vec<String>,
    /// What its folder lacks.
    pub missing: Vec<String>,
}

/// What a part of a model costs.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CostModule {
    /// The part.
    pub name: String,
    /// Its parameters.
    pub parameters: usize,
    /// Multiplications and additions of a forward pass.
    pub flops: f64,
    /// Bytes of its outputs.
    pub bytes: f64,
}

/// What a forward pass costs.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Cost {
    /// Tokens of the sequence; of an encoder-decoder, of each of both.
    pub tokens: usize,
    /// By part.
    pub modules: Vec<CostModule>,
    /// All together.
    pub flops: f64,
    /// Bytes of parameters in f32.
    pub parameter_bytes: f64,
    /// Bytes of all outputs.
    pub activation_bytes: f64,
    /// Bytes of keys and values that generation keeps.
    pub cache_bytes: f64,
}

/// A token of a text.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Token {
    /// Its id.
    pub id: u32,
    /// As it reads.
    pub text: String,
    /// As the vocabulary spells it.
    pub piece: String,
    /// Whether it is a special token.
    pub special: bool,
    /// Whether it stands for something out of vocabulary.
    pub unknown: bool,
    /// Where it begins in the text, in UTF-16 code units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<usize>,
    /// Where it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<usize>,
}

/// Token ids to be read.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokensRequest {
    /// The ids.
    pub ids: Vec<u32>,
}

/// Tokens.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Tokens {
    /// In their order.
    pub tokens: Vec<Token>,
}

/// Which side of a translator a text belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "they are what they are called")]
pub enum Side {
    #[default]
    Source,
    Target,
}

/// A text to tokenize.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenizeRequest {
    /// The text.
    pub text: String,
    /// The second of a pair.
    #[serde(default)]
    pub second: Option<String>,
    /// Of a translator.
    #[serde(default)]
    pub side: Side,
}

/// More tokens than the model reads.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct TooLong {
    /// Tokens of the text.
    pub tokens: usize,
    /// Tokens the model reads.
    pub max: usize,
}

/// A tokenized text.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Tokenized {
    /// Its tokens, special ones included.
    pub tokens: Vec<Token>,
    /// Its characters.
    pub characters: usize,
    /// Set if it is too long.
    pub too_long: Option<TooLong>,
}
