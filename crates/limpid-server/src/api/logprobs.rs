//! Log-probabilities of generated tokens, from the trace of each step.

use limpid::generate::Step;
use limpid::inspect::LogProbability;
use limpid::text::Tokenizer;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The least log-probability that is shown: JSON has no −∞.
const LEAST: f32 = -9_999.0;

/// Log-probabilities as `/v1/completions` has them.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Logprobs {
    /// The tokens.
    pub tokens: Vec<String>,
    /// ln p of each, by the model, before temperature and filters; none for the first of a prompt.
    pub token_logprobs: Vec<Option<f32>>,
    /// The most likely tokens in its place.
    pub top_logprobs: Vec<Option<BTreeMap<String, f32>>>,
    /// Where each begins in the text, in characters.
    pub text_offset: Vec<usize>,
}

/// A token with its log-probability, as `/v1/chat/completions` has it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TokenLogprob {
    /// The token.
    pub token: String,
    /// ln p.
    pub logprob: f32,
    /// Its text in UTF-8.
    pub bytes: Vec<u8>,
}

/// The log-probabilities of one token, as `/v1/chat/completions` has them.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ChatLogprob {
    /// The token.
    pub token: String,
    /// ln p.
    pub logprob: f32,
    /// Its text in UTF-8.
    pub bytes: Vec<u8>,
    /// The most likely tokens in its place.
    pub top_logprobs: Vec<TokenLogprob>,
}

/// Log-probabilities of the tokens of a chat's message.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ChatLogprobs {
    /// One for each token.
    pub content: Vec<ChatLogprob>,
}

/// ln p of the chosen token, and of the `top` most likely ones.
fn of_step(step: &Step, top: usize) -> (f32, Vec<(u32, f32)>) {
    let ln = |p: f32| p.ln().max(LEAST);
    let chosen = step.candidates.iter().find(|candidate| candidate.id == step.chosen);
    let mut sorted: Vec<(u32, f32)> =
        step.candidates.iter().map(|candidate| (candidate.id, candidate.probability)).collect();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    sorted.truncate(top);
    let likely = sorted.into_iter().map(|(id, p)| (id, ln(p))).collect();
    (chosen.map_or(LEAST, |chosen| ln(chosen.probability)), likely)
}

/// A token as text.
pub fn piece(tokenizer: &Tokenizer, id: u32) -> String {
    let text = tokenizer.decode_with_special(&[id]).unwrap_or_default();
    if text.is_empty() { tokenizer.token(id) } else { text }
}

/// The tokens of a prompt, each with ln p and the most likely tokens in its place; the first has
/// none, because nothing comes before it.
pub type PromptScores = Vec<(u32, Option<(f32, Vec<LogProbability>)>)>;

impl Logprobs {
    /// Those of a prompt, if it is part of the text, and of the text's tokens; `tokens` of the
    /// steps are part of it.
    pub fn new(
        tokenizer: &Tokenizer,
        prompt: Option<&PromptScores>,
        (steps, tokens): (&[Step], usize),
        top: usize,
    ) -> Self {
        let (mut found, mut offset) = (Self::default(), 0);
        let mut add = |id: u32, score: Option<(f32, Vec<LogProbability>)>| {
            let text = piece(tokenizer, id);
            found.text_offset.push(offset);
            offset += text.chars().count();
            found.tokens.push(text);
            found.token_logprobs.push(score.as_ref().map(|(own, _)| own.max(LEAST)));
            found.top_logprobs.push(score.map(|(_, likely)| {
                let likely = likely.into_iter().map(|(id, p)| (piece(tokenizer, id), p.max(LEAST)));
                likely.collect()
            }));
        };
        for (id, score) in prompt.into_iter().flatten() {
            add(*id, score.clone());
        }
        for step in &steps[..tokens.min(steps.len())] {
            add(step.chosen, Some(of_step(step, top)));
        }
        found
    }
}

impl ChatLogprobs {
    /// Those of a message's tokens.
    pub fn new(tokenizer: &Tokenizer, steps: &[Step], tokens: usize, top: usize) -> Self {
        let of = |(id, logprob): (u32, f32)| {
            let token = piece(tokenizer, id);
            TokenLogprob { bytes: token.clone().into_bytes(), token, logprob }
        };
        let content = steps[..tokens.min(steps.len())].iter().map(|step| {
            let (logprob, likely) = of_step(step, top);
            let TokenLogprob { token, logprob, bytes } = of((step.chosen, logprob));
            let top_logprobs = likely.into_iter().map(of).collect();
            ChatLogprob { token, logprob, bytes, top_logprobs }
        });
        Self { content: content.collect() }
    }
}
