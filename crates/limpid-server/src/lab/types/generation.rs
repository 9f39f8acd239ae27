//! Generated text: how each token was selected, beams, masks.

use super::models::Token;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A text to continue, or to translate.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GenerateRequest {
    /// The model's id.
    pub model: String,
    /// The prompt, or the source.
    pub text: String,
    /// Tokens that were generated before, or that somebody forced.
    #[serde(default)]
    pub prefix_ids: Vec<u32>,
    /// 0 is greedy search.
    #[serde(default)]
    pub temperature: Option<f32>,
    /// Sample from so many most likely tokens.
    #[serde(default)]
    pub top_k: Option<usize>,
    /// Sample from the smallest set with this probability.
    #[serde(default)]
    pub top_p: Option<f32>,
    /// Penalty on tokens that occurred before.
    #[serde(default)]
    pub repetition_penalty: Option<f32>,
    /// Of the samples.
    #[serde(default)]
    pub seed: Option<u64>,
    /// 32 without.
    #[serde(default)]
    pub max_new_tokens: Option<usize>,
}

/// A token that could be next.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Candidate {
    /// Its id.
    pub id: u32,
    /// As it reads.
    pub text: String,
    /// The model's probability.
    pub probability: f32,
    /// After the penalties.
    pub processed: f32,
    /// What it is selected with.
    pub filtered: f32,
}

/// A word and its exact probability.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TrueWord {
    /// The word.
    pub text: String,
    /// Its token, if the vocabulary has one.
    pub id: Option<u32>,
    /// By the grammar that generates the texts.
    pub probability: f64,
}

/// How a token was selected.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct GenStep {
    /// Counted from 0.
    pub step: usize,
    /// The token.
    pub chosen: Token,
    /// The random number in [0, 1); none in greedy search.
    pub u: Option<f32>,
    /// The likely ones.
    pub top: Vec<Candidate>,
    /// How many tokens are not listed.
    pub omitted: usize,
    /// Of the model's distribution, in nats.
    pub entropy: f64,
    /// What may follow, exactly, in a built-in story.
    pub truth: Option<Vec<TrueWord>>,
}

/// A generated text.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Generation {
    /// By which requests name it.
    pub id: String,
    /// The model's id.
    pub model: String,
    /// What it continued; of a translator the source.
    pub prompt: Vec<Token>,
    /// Tokens that were given.
    pub prefix: Vec<Token>,
    /// Each new token.
    pub steps: Vec<GenStep>,
    /// All new text, that of the given tokens included.
    pub text: String,
    /// All new tokens, the given ones included.
    pub ids: Vec<u32>,
    /// `stop` or `length`.
    pub finish: String,
    /// What to type for the same text.
    pub command: String,
}

/// A text whose next word is asked for.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TruthRequest {
    /// The beginning of a built-in story.
    pub text: String,
}

/// What may follow.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Truth {
    /// The most likely first.
    pub next: Vec<TrueWord>,
    /// Whether the text begins a built-in story.
    pub is_story: bool,
}

/// A text to search with beams.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BeamsRequest {
    /// The model's id.
    pub model: String,
    /// The prompt, or the source.
    pub text: String,
    /// Beams.
    pub width: usize,
    /// 32 without.
    #[serde(default)]
    pub max_new_tokens: Option<usize>,
    /// Exponent of the length that scores are divided by.
    #[serde(default)]
    pub length_penalty: Option<f32>,
}

/// A possible next token of a beam.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BeamNext {
    /// Its id.
    pub id: u32,
    /// As it reads.
    pub text: String,
    /// ln p.
    pub log_probability: f32,
}

/// A beam before a step.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Beam {
    /// Its new tokens.
    pub tokens: Vec<Token>,
    /// The sum of their log-probabilities.
    pub log_probability: f32,
    /// The most likely next tokens.
    pub next: Vec<BeamNext>,
}

/// A beam followed by one more token.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BeamCandidate {
    /// Which of the beams.
    pub beam: usize,
    /// The token.
    pub id: u32,
    /// As it reads.
    pub text: String,
    /// ln p of the token.
    pub log_probability: f32,
    /// Of all tokens.
    pub sum: f32,
    /// Whether it ends the text.
    pub finishes: bool,
    /// Whether it goes on.
    pub kept: bool,
}

/// Tokens and their score.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ScoredTokens {
    /// The tokens.
    pub tokens: Vec<Token>,
    /// Their score.
    pub score: f32,
}

/// A step of a beam search.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BeamStep {
    /// Counted from 0.
    pub step: usize,
    /// Before it.
    pub beams: Vec<Beam>,
    /// The best continuations.
    pub candidates: Vec<BeamCandidate>,
    /// After it.
    pub running: Vec<ScoredTokens>,
    /// Finished ones.
    pub finished: Vec<ScoredTokens>,
}

/// A text and its score.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ScoredText {
    /// The text.
    pub text: String,
    /// Its score.
    pub score: f32,
}

/// A beam search.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Beams {
    /// What was continued; of a translator the source.
    pub prompt: Vec<Token>,
    /// Its steps.
    pub steps: Vec<BeamStep>,
    /// The best texts.
    pub results: Vec<ScoredText>,
}

/// A text with masks.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FillMaskRequest {
    /// The model's id.
    pub model: String,
    /// The text.
    pub text: String,
    /// Tokens to mask, by their index.
    #[serde(default)]
    pub mask: Vec<usize>,
    /// Predictions per mask; 10 without.
    #[serde(default)]
    pub top: Option<usize>,
}

/// A token at a mask.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MaskPrediction {
    /// Its id.
    pub id: u32,
    /// As it reads.
    pub text: String,
    /// The model's probability.
    pub probability: f64,
    /// The exact one, where it is known.
    pub truth: Option<f64>,
}

/// A mask.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Mask {
    /// The index of its token.
    pub index: usize,
    /// What stood there, of a token that was masked.
    pub hidden: Option<Token>,
    /// The most likely.
    pub predictions: Vec<MaskPrediction>,
    /// All words that may stand there, exactly.
    pub truth: Option<Vec<TrueWord>>,
    /// Why the truth is not known.
    pub truth_note: Option<String>,
}

/// A text with its masks filled.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FillMask {
    /// The tokens that were read.
    pub tokens: Vec<Token>,
    /// Each mask.
    pub masks: Vec<Mask>,
}
