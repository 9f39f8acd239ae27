//! The settings of a generation as one validated value: strategy, logits processors, length, stops.

use super::logits_processor::{LogitsProcessor, out_of_range};
use super::sampling::SamplingFilter;
use crate::error::{GenerationError, Result};
pub use crate::hub::EarlyStopping;
pub use limpid_tensor::kernels::kv_format::KvFormat;

/// An upper bound for samples: each has keys and values of its own.
const MAX_SEQUENCES: usize = 100_000;
/// An upper bound for beams: all are in memory at once, each with a row of logits.
const MAX_BEAMS: usize = 1_000;
/// The largest exponent of a length penalty: beyond it scores of long texts are 0 or infinite, and
/// their order means nothing.
const MAX_PENALTY: f32 = 5.0;

/// How a text is generated: the result of [`GenerationOptions`](super::GenerationOptions) and the
/// model's `generation_config.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct DecodingConfig {
    /// How the next token is selected.
    pub strategy: Strategy,
    /// What changes the logits before, whatever the strategy.
    pub processor: LogitsProcessor,
    /// How long a text becomes.
    pub length: LengthLimits,
    /// Strings that end a text; they are not part of it.
    pub stop_strings: Vec<String>,
    /// How the keys and values of a Transformer are stored.
    pub kv_cache_dtype: KvFormat,
}

/// How the next token is selected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strategy {
    /// Always the most likely.
    Greedy,
    /// At random.
    Sample(Sampling),
    /// By the likelihood of whole sequences.
    BeamSearch(BeamSearch),
}

/// Settings of sampling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Temperature, top-k and top-p.
    pub filter: SamplingFilter,
    /// Samples per prompt.
    pub num_return_sequences: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// Settings of beam search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BeamSearch {
    /// Number of beams.
    pub num_beams: usize,
    /// What makes scores of different lengths comparable.
    pub length_penalty: LengthPenalty,
    /// When to stop.
    pub early_stopping: EarlyStopping,
    /// How many of the best hypotheses are given.
    pub num_return_sequences: usize,
}

/// What the sum of log-probabilities of a finished hypothesis is divided by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LengthPenalty {
    /// n^α for n new tokens, the end token included: `length_penalty` of `transformers`. 0 compares
    /// sums, 1 means; larger ones favour long texts.
    Power(f32),
    /// ((5 + n)/6)^α: Wu et al. 2016 (GNMT).
    Gnmt(f32),
}

/// How long a text becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LengthLimits {
    /// `max_new_tokens` as the caller set it; one that does not fit into the context is an error.
    pub max_new_tokens: Option<usize>,
    /// `max_new_tokens` of the model's files, cut to the context.
    pub default_max_new_tokens: Option<usize>,
    /// `max_length` of the model's files, which counts the prompt.
    pub default_max_length: Option<usize>,
    /// Whether a translation is also limited by its source.
    pub by_source: BySource,
}

/// Whether the length of a translation is limited by that of its source, unless the caller sets a
/// limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BySource {
    /// To twice its tokens and ten: a model of few steps does not run on to its last position.
    #[default]
    Limited,
    /// Only the model's files limit it, as in `transformers`.
    Ignored,
}

impl LengthPenalty {
    /// The divisor for `n` new tokens.
    pub fn divisor(self, n: usize) -> f32 {
        match self {
            LengthPenalty::Power(alpha) => (n as f64).powf(f64::from(alpha)) as f32,
            LengthPenalty::Gnmt(alpha) => ((5.0 + n as f64) / 6.0).powf(f64::from(alpha)) as f32,
        }
    }

    /// α, and the key that sets it.
    pub(super) fn exponent(self) -> (f32, &'static str) {
        match self {
            LengthPenalty::Power(alpha) => (alpha, "length_penalty"),
            LengthPenalty::Gnmt(alpha) => (alpha, "gnmt_length_penalty"),
        }
    }
}

impl DecodingConfig {
    /// Always the most likely token, until one of `eos_token_ids`.
    pub fn greedy(eos_token_ids: &[u32]) -> Self {
        Self::with_strategy(Strategy::Greedy, eos_token_ids)
    }

    /// A strategy with everything else at its default, until one of `eos_token_ids`.
    pub fn with_strategy(strategy: Strategy, eos_token_ids: &[u32]) -> Self {
        let eos_token_ids = eos_token_ids.to_vec();
        Self {
            strategy,
            processor: LogitsProcessor { eos_token_ids, ..LogitsProcessor::default() },
            length: LengthLimits::default(),
            stop_strings: Vec::new(),
            kv_cache_dtype: KvFormat::F32,
        }
    }

    /// Outputs per prompt.
    pub fn num_return_sequences(&self) -> usize {
        match self.strategy {
            Strategy::Greedy => 1,
            Strategy::Sample(sampling) => sampling.num_return_sequences,
            Strategy::BeamSearch(search) => search.num_return_sequences,
        }
    }

    /// Sequences per prompt that are in memory at once: samples, and beams of each.
    pub(super) fn samples_and_beams(&self) -> (usize, usize) {
        match self.strategy {
            Strategy::BeamSearch(search) => (1, search.num_beams),
            _ => (self.num_return_sequences(), 1),
        }
    }

    /// Checks every setting; `vocab_size` is the model's number of tokens.
    /// # Errors
    /// A [`GenerationError`] that names the setting.
    pub fn validate(&self, vocab_size: usize) -> Result<()> {
        match self.strategy {
            Strategy::Greedy => {}
            Strategy::Sample(sampling) => {
                sampling.filter.validate()?;
                let count = sampling.num_return_sequences;
                check_count("num_return_sequences", count, MAX_SEQUENCES)?;
            }
            Strategy::BeamSearch(search) => search.validate()?,
        }
        if self.stop_strings.iter().any(String::is_empty) {
            return Err(GenerationError::EmptyStopString.into());
        }
        self.processor.validate(vocab_size)
    }
}

impl BeamSearch {
    fn validate(&self) -> Result<()> {
        let Self { num_beams, num_return_sequences, .. } = *self;
        check_count("num_beams", num_beams, MAX_BEAMS)?;
        check_count("num_return_sequences", num_return_sequences, MAX_BEAMS)?;
        if num_return_sequences > num_beams {
            let error = GenerationError::TooManySequences { num_return_sequences, num_beams };
            return Err(error.into());
        }
        let (alpha, key) = self.length_penalty.exponent();
        if !(-MAX_PENALTY..=MAX_PENALTY).contains(&alpha) {
            return Err(out_of_range(key, alpha, format!("in -{MAX_PENALTY} to {MAX_PENALTY}")));
        }
        Ok(())
    }
}

fn check_count(key: &'static str, count: usize, most: usize) -> Result<()> {
    match (1..=most).contains(&count) {
        true => Ok(()),
        false => Err(out_of_range(key, count, format!("in 1 to {most}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_penalties_are_those_of_their_papers() {
        assert_eq!(LengthPenalty::Power(1.0).divisor(7), 7.0);
        assert_eq!(LengthPenalty::Power(0.0).divisor(7), 1.0);
        assert_eq!(LengthPenalty::Power(2.0).divisor(3), 9.0);
        assert_eq!(LengthPenalty::Power(-1.0).divisor(4), 0.25);
        // (5 + 7)/6 = 2.
        assert_eq!(LengthPenalty::Gnmt(1.0).divisor(7), 2.0);
        assert_eq!(LengthPenalty::Gnmt(0.0).divisor(7), 1.0);
        assert_eq!(LengthPenalty::Gnmt(0.6).divisor(1), 1.0, "one token costs nothing");
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        let beams = |num_beams, num_return_sequences, alpha| {
            let length_penalty = LengthPenalty::Power(alpha);
            let early_stopping = EarlyStopping::Heuristic;
            Strategy::BeamSearch(BeamSearch {
                num_beams,
                length_penalty,
                early_stopping,
                num_return_sequences,
            })
        };
        let sample = |num_return_sequences| {
            let filter = SamplingFilter::default();
            Strategy::Sample(Sampling { filter, num_return_sequences, seed: 0 })
        };
        let check = |strategy| DecodingConfig::with_strategy(strategy, &[1]).validate(10);
        for strategy in [
            beams(0, 1, 1.0),
            beams(2, 3, 1.0),
            beams(2, 0, 1.0),
            beams(2, 1, f32::NAN),
            beams(2, 1, -9.0),
            sample(0),
        ] {
            assert!(check(strategy).is_err(), "{strategy:?}");
        }
        assert!(check(beams(4, 4, -1.0)).is_ok());
        let beyond = DecodingConfig::greedy(&[10]);
        assert!(beyond.validate(10).is_err(), "an end token beyond the vocabulary");
        let empty_stop =
            DecodingConfig { stop_strings: vec![String::new()], ..DecodingConfig::greedy(&[]) };
        assert!(empty_stop.validate(10).is_err());
    }
}
