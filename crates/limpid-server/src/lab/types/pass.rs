//! Forward passes.

use super::ablation::Edit;
use super::models::{ModelKind, Token};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A forward pass to run.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PassRequest {
    /// The model's id.
    pub model: String,
    /// What it reads.
    pub text: String,
    /// The second text of an encoder's pair.
    #[serde(default)]
    pub second: Option<String>,
    /// What the decoder is to predict, as text.
    #[serde(default)]
    pub target: Option<String>,
    /// The same as token ids, without the end token; of a decoder, tokens after the text.
    #[serde(default)]
    pub target_ids: Option<Vec<u32>>,
    /// Changes to the pass.
    #[serde(default)]
    pub edits: Vec<Edit>,
}

/// Which sequence rows belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "they are what they are called")]
pub enum Of {
    Source,
    Target,
    Other,
}

/// An attention of a pass.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Attention {
    /// By which requests name it.
    pub index: usize,
    /// The step of its elements.
    pub step: usize,
    /// `self_attention`, `encoder.self_attention`, `decoder.cross_attention`.
    pub name: String,
    /// `layers`, `encoder` or `decoder`.
    pub stack: String,
    /// Counted from 0.
    pub layer: usize,
    /// `self` or `cross`.
    pub kind: String,
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and values.
    pub kv_heads: usize,
    /// Width of a head; 0 of additive attention.
    pub head_dim: usize,
    /// What its rows are.
    pub queries: Of,
    /// What its columns are.
    pub keys: Of,
    /// Queries.
    pub t: usize,
    /// Keys.
    pub s: usize,
    /// Whether queries see no later keys.
    pub causal: bool,
    /// How far they see; null without a bound.
    pub window: Option<usize>,
}

/// A tensor of a pass.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TensorInfo {
    /// The step that made it.
    pub step: usize,
    /// Which of its outputs.
    pub output: usize,
    /// The parameter that made it, or its scope and operation.
    pub name: String,
    /// The operation.
    pub operation: String,
    /// What it is.
    pub role: String,
    /// `layers`, `encoder` or `decoder`.
    pub stack: Option<String>,
    /// Counted from 0.
    pub layer: Option<usize>,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// What its rows are.
    pub of: Of,
}

/// The residual stream at a place.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Stream {
    /// `layers`, `encoder` or `decoder`.
    pub stack: String,
    /// The layer it comes out of; null after the embeddings.
    pub layer: Option<usize>,
    /// The step that made it.
    pub step: usize,
    /// Which of its outputs.
    pub output: usize,
    /// What its rows are.
    pub of: Of,
    /// The length of each row.
    pub norms: Vec<f32>,
    /// The cosine of each row with the row one layer before; 1 after the embeddings.
    pub cosines: Vec<f32>,
}

/// A tensor by its place.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct TensorRef {
    /// The step that made it.
    pub step: usize,
    /// Which of its outputs.
    pub output: usize,
}

/// A token or a label with its probability.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Ranked {
    /// Its id, or the index of the label.
    pub id: u32,
    /// As it reads.
    pub text: String,
    /// Its probability.
    pub probability: f64,
    /// How many are more likely.
    pub rank: usize,
}

/// What is predicted at a row.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Prediction {
    /// The row of the sequence; null for a head that reads all of it.
    pub row: Option<usize>,
    /// Which sequence.
    pub of: Of,
    /// What follows, or stands there, in the text.
    pub chosen: Option<Ranked>,
    /// The most likely.
    pub top: Vec<Ranked>,
    /// In nats.
    pub entropy: f64,
}

/// A forward pass.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Pass {
    /// By which requests name it: the same for the same request.
    pub id: String,
    /// The model's id.
    pub model: String,
    /// Its stack.
    pub kind: ModelKind,
    /// A hash of the model.
    pub hash: String,
    /// What to type for the same numbers.
    pub command: String,
    /// How long it took.
    pub milliseconds: f64,
    /// The tokens that were read; of an encoder-decoder those of the source.
    pub source: Vec<Token>,
    /// What the decoder of an encoder-decoder read, the start token first.
    pub target: Option<Vec<Token>>,
    /// What each row of the target should predict.
    pub output: Option<Vec<Token>>,
    /// Of a translator the translation, else the text.
    pub text: String,
    /// All attentions.
    pub attentions: Vec<Attention>,
    /// All tensors.
    pub tensors: Vec<TensorInfo>,
    /// The residual stream.
    pub stream: Vec<Stream>,
    /// The scores of tokens or labels.
    pub logits: Option<TensorRef>,
    /// What they predict.
    pub predictions: Vec<Prediction>,
    /// What was changed.
    pub edits: Vec<Edit>,
    /// What the numbers do not tell.
    pub notes: Vec<String>,
}

/// What a head mostly attends to.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct HeadRole {
    /// The index of the attention.
    pub attention: usize,
    /// The head.
    pub head: usize,
    /// `previous`, `next`, `same`, `first`, `last`, `diffuse`, `content` or, of cross-attention,
    /// `monotonic`.
    pub role: String,
    /// The weight on what the role names, the mean over the queries.
    pub share: f64,
    /// In nats, the mean over the queries.
    pub entropy: f64,
    /// Between a query and what it attends to, the mean.
    pub distance: f64,
}

/// What all heads mostly attend to.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct HeadRoles {
    /// Every head of every attention.
    pub heads: Vec<HeadRole>,
}

/// What layers would predict.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LensRequest {
    /// The pass's id.
    pub pass: String,
    /// Predictions per cell; 3 without.
    #[serde(default)]
    pub top: Option<usize>,
}

/// What a layer would predict at a row.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct LensCell {
    /// The most likely.
    pub top: Vec<Ranked>,
    /// In nats.
    pub entropy: f64,
    /// How many are more likely than what follows in the text.
    pub next_rank: Option<usize>,
}

/// The logit lens.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Lens {
    /// The tokens of the rows.
    pub tokens: Vec<Token>,
    /// `embedding`, `0`, `1`, …
    pub layers: Vec<String>,
    /// How the stream becomes logits.
    pub norm: String,
    /// By layer and row.
    pub cells: Vec<Vec<LensCell>>,
}
