//! The fields that OpenAI's two generation routes share.

use super::generation::Spec;
use super::inputs::{OneOrMany, check_range};
use crate::http::Problem;
use limpid::generate::{GenerationOptions, Trace};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Texts per prompt.
const MAX_TEXTS: usize = 16;
/// Beams of a search.
const MAX_BEAMS: usize = 16;
/// Stop strings.
const MAX_STOPS: usize = 4;

/// How texts are generated. What is not set has the default of the model's
/// `generation_config.json`, as on the command line: greedy search without one.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
pub struct Sampling {
    /// Softmax temperature; 0 is greedy search.
    pub temperature: Option<f32>,
    /// Sample from the smallest set of tokens with this probability mass.
    pub top_p: Option<f32>,
    /// Sample from the k most likely tokens (not in OpenAI's API).
    pub top_k: Option<usize>,
    /// Texts per prompt, at most 16.
    pub n: Option<usize>,
    /// Up to four strings that end a text; they are not part of it.
    pub stop: Option<OneOrMany>,
    /// Seed of the samples; 0 without one.
    pub seed: Option<i64>,
    /// Only 0.
    pub presence_penalty: Option<f32>,
    /// Only 0.
    pub frequency_penalty: Option<f32>,
    /// Only empty.
    pub logit_bias: Option<BTreeMap<String, f32>>,
    /// Penalty on tokens that occurred before (not in OpenAI's API).
    pub repetition_penalty: Option<f32>,
    /// Length of n-grams that occur at most once (not in OpenAI's API).
    pub no_repeat_ngram_size: Option<usize>,
    /// Beams of a beam search, at most 16 (not in OpenAI's API).
    pub num_beams: Option<usize>,
    /// Send server-sent events.
    pub stream: Option<bool>,
    /// Options of a stream.
    pub stream_options: Option<StreamOptions>,
}

/// Options of a stream.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
pub struct StreamOptions {
    /// Send the usage before the end.
    pub include_usage: Option<bool>,
}

/// Tokens of a request.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
pub struct Usage {
    /// Tokens that were read.
    pub prompt_tokens: usize,
    /// Tokens that were generated.
    pub completion_tokens: usize,
    /// Their sum.
    pub total_tokens: usize,
}

impl Usage {
    /// The usage of so many tokens.
    pub fn new(prompt_tokens: usize, completion_tokens: usize) -> Self {
        let total_tokens = prompt_tokens + completion_tokens;
        Self { prompt_tokens, completion_tokens, total_tokens }
    }
}

impl Sampling {
    /// Whether the answer is a stream.
    pub fn streams(&self) -> bool {
        self.stream == Some(true)
    }

    /// Whether a stream ends with the usage.
    pub fn includes_usage(&self) -> bool {
        self.stream_options.is_some_and(|options| options.include_usage == Some(true))
    }

    /// Texts per prompt.
    pub fn texts(&self) -> usize {
        self.n.unwrap_or(1)
    }

    /// What it asks of a generation, with so many new tokens and traced candidates.
    /// # Errors
    /// A [`Problem`] for a field that is out of its range, or that has no effect here.
    pub fn spec(
        &self,
        max_new_tokens: Option<usize>,
        logprobs: Option<usize>,
    ) -> Result<Spec, Problem> {
        self.check()?;
        let stop_strings = self.stop.clone().map(|stop| match stop {
            OneOrMany::One(stop) => vec![stop],
            OneOrMany::Many(stops) => stops,
        });
        if let Some(stops) = &stop_strings {
            check_range("stop", stops.len(), 0..=MAX_STOPS)?;
        }
        let options = GenerationOptions {
            temperature: self.temperature,
            top_p: self.top_p,
            top_k: self.top_k,
            seed: self.seed.map(|seed| seed as u64),
            num_return_sequences: self.n.filter(|n| *n > 1),
            num_beams: self.num_beams,
            repetition_penalty: self.repetition_penalty,
            no_repeat_ngram_size: self.no_repeat_ngram_size,
            max_new_tokens,
            stop_strings: stop_strings.filter(|stops| !stops.is_empty()),
            ..GenerationOptions::default()
        };
        let trace = logprobs.map_or(Trace::Off, Trace::Top);
        Ok(Spec { options, trace, ..Spec::default() })
    }

    fn check(&self) -> Result<(), Problem> {
        check_range("n", self.texts(), 1..=MAX_TEXTS)?;
        check_range("num_beams", self.num_beams.unwrap_or(1), 1..=MAX_BEAMS)?;
        neutral("presence_penalty", self.presence_penalty.is_none_or(|penalty| penalty == 0.0))?;
        neutral("frequency_penalty", self.frequency_penalty.is_none_or(|penalty| penalty == 0.0))?;
        neutral("logit_bias", self.logit_bias.as_ref().is_none_or(BTreeMap::is_empty))
    }
}

/// Refuses a field that would have to change the answer and does not.
/// # Errors
/// A [`Problem`] that names it.
pub fn neutral(param: &'static str, is_neutral: bool) -> Result<(), Problem> {
    match is_neutral {
        true => Ok(()),
        false => {
            let message = format!("{param} is not supported: leave it out");
            Err(Problem::invalid(message).with_param(param))
        }
    }
}
