//! From the options of a caller and the model's `generation_config.json` to one validated value.

use super::decoding::{
    BeamSearch, BySource, DecodingConfig, EarlyStopping, KvFormat, LengthLimits, LengthPenalty,
    Sampling, Strategy,
};
use super::logits_processor::{LogitsProcessor, Renormalization, out_of_range};
use super::sampling::SamplingFilter;
use crate::error::{Error, GenerationError, Result};
use crate::hub::{GenerationConfig, SavedBy};
use std::path::Path;

/// `top_k` of `transformers` where a file has `do_sample` and no `top_k`.
const DEFAULT_TOP_K: usize = 50;

/// Options of a generation, named as in `generation_config.json`; `None` is the model's default,
/// and then that of greedy search.
///
/// A temperature above 0, top-k, top-p or a seed implies `do_sample`; so do several sequences
/// without beam search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GenerationOptions {
    /// Sample instead of taking the most likely token.
    pub do_sample: Option<bool>,
    /// Softmax temperature; 0 is greedy search.
    pub temperature: Option<f32>,
    /// Sample from the k most likely tokens.
    pub top_k: Option<usize>,
    /// Sample from the smallest set of tokens with this probability mass (nucleus sampling).
    pub top_p: Option<f32>,
    /// Seed of the samples.
    pub seed: Option<u64>,
    /// Beams of a beam search.
    pub num_beams: Option<usize>,
    /// Outputs per prompt: samples, or the n best of a beam search.
    pub num_return_sequences: Option<usize>,
    /// Exponent of the length that beam scores are divided by.
    pub length_penalty: Option<f32>,
    /// Exponent of the GNMT length penalty, instead.
    pub gnmt_length_penalty: Option<f32>,
    /// When a beam search stops.
    pub early_stopping: Option<EarlyStopping>,
    /// Penalty on tokens that occurred before.
    pub repetition_penalty: Option<f32>,
    /// Length of n-grams that occur at most once.
    pub no_repeat_ngram_size: Option<usize>,
    /// New tokens before an end token is allowed.
    pub min_new_tokens: Option<usize>,
    /// Largest number of new tokens.
    pub max_new_tokens: Option<usize>,
    /// Strings that end a text; they are not part of it.
    pub stop_strings: Option<Vec<String>>,
    /// How keys and values are stored: f32 by default, f16 in half and int8 in about a quarter of
    /// the memory, with slightly different logits.
    pub kv_cache_dtype: Option<KvFormat>,
}

impl GenerationOptions {
    /// As [`GenerationOptions::resolve`] for the model in `folder`: without options of the caller
    /// an error names its file.
    /// # Errors
    /// A [`GenerationError`], in `generation_config.json` if that is where it comes from.
    pub fn resolve_in(
        &self,
        folder: &Path,
        file: &GenerationConfig,
        vocab_size: usize,
    ) -> Result<DecodingConfig> {
        let length_only = Self { max_new_tokens: self.max_new_tokens, ..Self::default() };
        let in_file = |e: Error| match *self == length_only {
            true => e.in_file(&folder.join("generation_config.json")),
            false => e,
        };
        self.resolve(file, vocab_size).map_err(in_file)
    }

    /// These options over the model's defaults; `vocab_size` is the model's number of tokens.
    /// # Errors
    /// A [`GenerationError`] for options that contradict each other or are out of range.
    pub fn resolve(&self, file: &GenerationConfig, vocab_size: usize) -> Result<DecodingConfig> {
        let processor = LogitsProcessor {
            repetition_penalty: self.repetition_penalty.or(file.repetition_penalty).unwrap_or(1.0),
            no_repeat_ngram_size: self.no_repeat_ngram_size.or(file.no_repeat_ngram_size),
            bad_words_ids: file.bad_words_ids.clone(),
            eos_token_ids: file.eos_token_id.clone(),
            min_new_tokens: self.min_new_tokens.or(file.min_new_tokens).unwrap_or(0),
            min_length: file.min_length.filter(|_| self.min_new_tokens.is_none()).unwrap_or(0),
            forced_bos_token_id: file.forced_bos_token_id,
            forced_eos_token_id: file.forced_eos_token_id,
            renormalization: match file.renormalize_logits {
                Some(true) => Renormalization::LogSoftmax,
                _ => Renormalization::Off,
            },
        };
        let length = LengthLimits {
            max_new_tokens: self.max_new_tokens,
            default_max_new_tokens: file.max_new_tokens,
            default_max_length: file.max_length,
            by_source: match file.saved_by {
                SavedBy::Limpid => BySource::Limited,
                SavedBy::Transformers => BySource::Ignored,
            },
        };
        let stop_strings = self.stop_strings.as_ref().unwrap_or(&file.stop_strings).clone();
        let strategy = self.strategy(file)?;
        let kv_cache_dtype = self.kv_cache_dtype.unwrap_or_default();
        let config = DecodingConfig { strategy, processor, length, stop_strings, kv_cache_dtype };
        config.validate(vocab_size)?;
        Ok(config)
    }

    fn strategy(&self, file: &GenerationConfig) -> Result<Strategy> {
        let option = self.sampling_option();
        if let (Some(option), Some(false)) = (option, self.do_sample) {
            return Err(GenerationError::SamplingOnly { key: option }.into());
        }
        if let (Some(option), Some(num_beams)) = (option, self.num_beams.filter(|n| *n != 1)) {
            return Err(GenerationError::BeamSampling { num_beams, option }.into());
        }
        let own = option.is_some() || self.temperature.is_some() || self.do_sample.is_some();
        let by_file = !own && self.num_beams.is_none() && file.do_sample == Some(true);
        let file_beams = file.num_beams.filter(|n| *n != 1);
        if let (true, Some(num_beams)) = (by_file, file_beams) {
            return Err(GenerationError::BeamSampling { num_beams, option: "do_sample" }.into());
        }
        // Without beams, several sequences differ only if they are sampled.
        let several = self.num_return_sequences.is_some_and(|n| n > 1);
        let implied = several && !own && self.num_beams.is_none() && file_beams.is_none();
        let samples = option.is_some() || by_file || implied;
        // Temperature 0 is greedy search, whatever the file recommends.
        let num_beams = match samples || self.temperature.is_some() {
            true => self.num_beams.filter(|_| !samples),
            false => self.num_beams.or(file.num_beams),
        };
        match num_beams {
            Some(num_beams) if num_beams != 1 => {
                Ok(Strategy::BeamSearch(self.beam_search(num_beams, file)?))
            }
            _ => {
                self.check_without_beams(samples)?;
                if samples { self.sampling(file) } else { Ok(Strategy::Greedy) }
            }
        }
    }

    /// The first option that asks for sampling.
    fn sampling_option(&self) -> Option<&'static str> {
        let options = [
            ("temperature", self.temperature.is_some_and(|t| t != 0.0)),
            ("top_k", self.top_k.is_some()),
            ("top_p", self.top_p.is_some()),
            ("seed", self.seed.is_some()),
            ("do_sample", self.do_sample == Some(true)),
        ];
        options.iter().find(|(_, set)| *set).map(|(key, _)| *key)
    }

    fn sampling(&self, file: &GenerationConfig) -> Result<Strategy> {
        let default_top_k = match (file.top_k, file.do_sample) {
            (Some(0), _) => None,
            (None, Some(true)) => Some(DEFAULT_TOP_K),
            (k, _) => k,
        };
        let filter = SamplingFilter {
            temperature: self.temperature.or(file.temperature).unwrap_or(1.0),
            top_k: self.top_k.or(default_top_k),
            top_p: self.top_p.or(file.top_p).unwrap_or(1.0),
        };
        filter.validate()?;
        let num_return_sequences = self.sequences(file);
        if filter.temperature == 0.0 {
            return match num_return_sequences {
                0 | 1 => Ok(Strategy::Greedy),
                _ => Err(GenerationError::IdenticalSequences { num_return_sequences }.into()),
            };
        }
        let seed = self.seed.unwrap_or(0);
        Ok(Strategy::Sample(Sampling { filter, num_return_sequences, seed }))
    }

    fn sequences(&self, file: &GenerationConfig) -> usize {
        self.num_return_sequences.or(file.num_return_sequences).unwrap_or(1)
    }

    fn beam_search(&self, num_beams: usize, file: &GenerationConfig) -> Result<BeamSearch> {
        let length_penalty = match (self.length_penalty, self.gnmt_length_penalty) {
            (Some(_), Some(_)) => return Err(GenerationError::TwoLengthPenalties.into()),
            (None, Some(alpha)) => LengthPenalty::Gnmt(alpha),
            (alpha, None) => LengthPenalty::Power(alpha.or(file.length_penalty).unwrap_or(1.0)),
        };
        Ok(BeamSearch {
            num_beams,
            length_penalty,
            early_stopping: self.early_stopping.or(file.early_stopping).unwrap_or_default(),
            num_return_sequences: self.sequences(file),
        })
    }

    /// An option of beam search must not be ignored in silence.
    fn check_without_beams(&self, samples: bool) -> Result<()> {
        match self.num_return_sequences {
            Some(0) => return Err(out_of_range("num_return_sequences", 0, "at least 1")),
            Some(num_return_sequences) if num_return_sequences > 1 && !samples => {
                let error = match self.temperature {
                    Some(_) => GenerationError::IdenticalSequences { num_return_sequences },
                    None => {
                        GenerationError::TooManySequences { num_return_sequences, num_beams: 1 }
                    }
                };
                return Err(error.into());
            }
            _ => {}
        }
        let beam_options = [
            ("length_penalty", self.length_penalty.is_some()),
            ("gnmt_length_penalty", self.gnmt_length_penalty.is_some()),
            ("early_stopping", self.early_stopping.is_some()),
        ];
        match beam_options.iter().find(|(_, set)| *set) {
            Some((key, _)) => Err(GenerationError::BeamSearchOnly { key }.into()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strategy(options: GenerationOptions, file: GenerationConfig) -> Strategy {
        options.resolve(&file, 100).unwrap().strategy
    }

    fn none() -> GenerationOptions {
        GenerationOptions::default()
    }

    #[test]
    fn without_options_it_is_greedy_search_or_what_the_file_recommends() {
        assert_eq!(strategy(none(), GenerationConfig::default()), Strategy::Greedy);
        let file = GenerationConfig {
            num_beams: Some(6),
            length_penalty: Some(0.6),
            early_stopping: Some(EarlyStopping::Immediate),
            ..GenerationConfig::default()
        };
        let want = BeamSearch {
            num_beams: 6,
            length_penalty: LengthPenalty::Power(0.6),
            early_stopping: EarlyStopping::Immediate,
            num_return_sequences: 1,
        };
        assert_eq!(strategy(none(), file.clone()), Strategy::BeamSearch(want));
        let one_beam = GenerationOptions { num_beams: Some(1), ..none() };
        assert_eq!(strategy(one_beam, file.clone()), Strategy::Greedy);
        let frozen = GenerationOptions { temperature: Some(0.0), ..none() };
        assert_eq!(strategy(frozen, file.clone()), Strategy::Greedy);
        let warm = GenerationOptions { temperature: Some(0.5), ..none() };
        let sampled = strategy(warm, file.clone());
        assert!(matches!(sampled, Strategy::Sample(s) if s.filter.temperature == 0.5));
        let several = GenerationOptions { num_return_sequences: Some(3), ..none() };
        let best = BeamSearch { num_return_sequences: 3, ..want };
        assert_eq!(strategy(several, file), Strategy::BeamSearch(best));
    }

    #[test]
    fn several_sequences_without_beams_are_samples() {
        let several = GenerationOptions { num_return_sequences: Some(3), ..none() };
        let sampled = strategy(several, GenerationConfig::default());
        assert!(matches!(sampled, Strategy::Sample(s) if s.num_return_sequences == 3));
    }

    #[test]
    fn sampling_that_a_file_recommends_has_the_defaults_of_transformers() {
        let sampling = |options, file| match strategy(options, file) {
            Strategy::Sample(sampling) => sampling,
            other => panic!("sampling, not {other:?}"),
        };
        let file = GenerationConfig {
            do_sample: Some(true),
            top_p: Some(0.9),
            ..GenerationConfig::default()
        };
        let filter = SamplingFilter { temperature: 1.0, top_k: Some(50), top_p: 0.9 };
        assert_eq!(sampling(none(), file.clone()).filter, filter);
        let all = GenerationConfig { top_k: Some(0), ..file.clone() };
        assert_eq!(sampling(none(), all).filter.top_k, None);
        let greedy = GenerationOptions { do_sample: Some(false), ..none() };
        assert_eq!(strategy(greedy, file.clone()), Strategy::Greedy);
        let frozen = GenerationOptions { temperature: Some(0.0), ..none() };
        assert_eq!(strategy(frozen, file), Strategy::Greedy);
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        let file = GenerationConfig::default();
        let both = GenerationConfig { do_sample: Some(true), num_beams: Some(4), ..file.clone() };
        let beams = GenerationOptions { num_beams: Some(4), ..none() };
        for (options, file) in [
            (GenerationOptions { top_k: Some(5), ..beams.clone() }, &file),
            (GenerationOptions { do_sample: Some(true), ..beams.clone() }, &file),
            (
                GenerationOptions { num_beams: Some(1), num_return_sequences: Some(3), ..none() },
                &file,
            ),
            (GenerationOptions { num_return_sequences: Some(5), ..beams.clone() }, &file),
            (GenerationOptions { num_return_sequences: Some(0), ..none() }, &file),
            (GenerationOptions { length_penalty: Some(1.0), ..none() }, &file),
            (
                GenerationOptions {
                    length_penalty: Some(1.0),
                    gnmt_length_penalty: Some(0.6),
                    ..beams.clone()
                },
                &file,
            ),
            (
                GenerationOptions {
                    temperature: Some(0.0),
                    num_return_sequences: Some(3),
                    ..none()
                },
                &file,
            ),
            (GenerationOptions { do_sample: Some(false), top_p: Some(0.9), ..none() }, &file),
            (GenerationOptions { num_beams: Some(0), ..none() }, &file),
            (none(), &both),
        ] {
            assert!(options.resolve(file, 100).is_err(), "{options:?}");
        }
    }

    #[test]
    fn an_error_of_the_file_names_it_and_one_of_the_options_does_not() {
        let file = GenerationConfig { num_beams: Some(0), ..GenerationConfig::default() };
        let folder = Path::new("model");
        let error = |options: GenerationOptions| {
            options.resolve_in(folder, &file, 100).unwrap_err().to_string()
        };
        let length = GenerationOptions { max_new_tokens: Some(5), ..none() };
        for options in [none(), length] {
            assert!(error(options).contains("generation_config.json"));
        }
        assert!(!error(GenerationOptions { top_p: Some(2.0), ..none() }).contains("config.json"));
    }
}
