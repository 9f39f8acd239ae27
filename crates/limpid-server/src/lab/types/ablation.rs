//! Changes to a pass, and what they do.

use super::models::Token;
use super::pass::Pass;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a place is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// Zero.
    Zero,
    /// Its mean over the tokens of the pass.
    Mean,
    /// What it is in another pass.
    Patch,
}

/// A change to a pass.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Edit {
    /// The output of a head.
    Head {
        /// The attention by its name: `decoder.cross_attention`.
        attention: String,
        /// Counted from 0.
        layer: usize,
        /// Counted from 0.
        head: usize,
        /// To what.
        how: How,
        /// The pass that is patched from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
    },
    /// What a feed-forward network adds.
    Ffn {
        /// `layers`, `encoder` or `decoder`.
        stack: String,
        /// Counted from 0.
        layer: usize,
        /// To what.
        how: How,
        /// The pass that is patched from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
    },
    /// The residual stream.
    Stream {
        /// `layers`, `encoder` or `decoder`.
        stack: String,
        /// Counted from 0; null after the embeddings.
        layer: Option<usize>,
        /// At this row; null at all.
        #[serde(default)]
        position: Option<usize>,
        /// To what.
        how: How,
        /// The pass that is patched from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
    },
}

/// What an output token loses.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AblationRow {
    /// The row of the logits.
    pub row: usize,
    /// The token that should be predicted.
    pub token: Token,
    /// ln p without the change.
    pub before: f64,
    /// ln p with it.
    pub after: f64,
    /// The difference.
    pub delta: f64,
}

/// A pass with and without a change.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Ablation {
    /// Without.
    pub before: Pass,
    /// With, predicting the same tokens.
    pub after: Pass,
    /// Each output token.
    pub rows: Vec<AblationRow>,
    /// The sum of the differences.
    pub delta: f64,
    /// Σ p ln(p/q) of the distributions without and with the change, for each row of the logits.
    pub kl: Vec<f64>,
    /// What is generated without the change.
    pub text_before: String,
    /// What is generated with it.
    pub text_after: String,
}

/// Which heads to switch off, one after the other.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AblateAllRequest {
    /// The pass's id.
    pub pass: String,
    /// To what.
    pub how: How,
}

/// The largest effect of a head on one row.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct LargestEffect {
    /// The row of the logits.
    pub row: usize,
    /// Of ln p.
    pub delta: f64,
}

/// What one head does: a line of the stream.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct HeadEffect {
    /// The attention by its name.
    pub attention: String,
    /// Counted from 0.
    pub layer: usize,
    /// Counted from 0.
    pub head: usize,
    /// Of Σ ln p.
    pub delta: f64,
    /// On one row.
    pub largest: Option<LargestEffect>,
}
