//! Logits processors: what changes one row of logits before a token is selected.
//!
//! ```text
//! repetition_penalty ρ   z[j] ← z[j]/ρ if z[j] ≥ 0 else z[j]·ρ   for every token j of the sequence
//!                                                                           (Keskar et al. 2019)
//! no_repeat_ngram_size   z[j] ← −∞ if the last n−1 tokens and j occur already (Paulus et al. 2017)
//! bad_words_ids          z[j] ← −∞ if j would complete an excluded token sequence
//! min_new_tokens         z[eos] ← −∞ while the sequence is too short
//! forced_bos_token_id    every other token gets −∞ after the first token of the sequence
//! forced_eos_token_id    every other token gets −∞ at the last position
//! renormalize_logits     z ← log softmax(z)
//! ```
//!
//! In the order of `transformers` 5.22 (`_get_logits_processor`); temperature, top-k and top-p come
//! after ([`super::sampling`]). The sequence is the prompt (for an encoder-decoder: the decoder's)
//! and the new tokens. Greedy search and sampling apply them to logits, beam search to
//! log-probabilities, as `transformers` does; what is left sums to less than 1, unless
//! `renormalize_logits` is set.

use crate::error::{GenerationError, Result};
use limpid_tensor::kernels::softmax::{largest, largest_or_nan};

/// Logits that are looked at together.
const CHUNK: usize = 256;

/// An upper bound for numbers of tokens: a larger one is a slip.
const MAX_TOKENS: usize = 1 << 31;

/// Which logits processors run, with which settings. Names as in `generation_config.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct LogitsProcessor {
    /// ρ > 0: above 1 tokens of the sequence become less likely, below 1 more; 1 changes nothing.
    pub repetition_penalty: f32,
    /// n ≥ 1: no n-gram occurs twice.
    pub no_repeat_ngram_size: Option<usize>,
    /// Token sequences that are never generated.
    pub bad_words_ids: Vec<Vec<u32>>,
    /// Tokens that end a sequence; without any it ends at its maximum length.
    pub eos_token_ids: Vec<u32>,
    /// New tokens before an end token is allowed.
    pub min_new_tokens: usize,
    /// Tokens before an end token is allowed, the prompt's included.
    pub min_length: usize,
    /// The token after the first one, if the sequence has no more.
    pub forced_bos_token_id: Option<u32>,
    /// The token at the last position, if the sequence reaches it.
    pub forced_eos_token_id: Option<u32>,
    /// Whether what the others leave is normalized again (`renormalize_logits`).
    pub renormalization: Renormalization,
}

/// Whether the scores of a row are log-probabilities after the processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Renormalization {
    /// As the processors leave them.
    #[default]
    Off,
    /// Their log softmax. It changes which beams win, and no probability of a sample.
    LogSoftmax,
}

impl Default for LogitsProcessor {
    /// Changes nothing, and no token ends a sequence.
    fn default() -> Self {
        Self {
            repetition_penalty: 1.0,
            no_repeat_ngram_size: None,
            bad_words_ids: Vec::new(),
            eos_token_ids: Vec::new(),
            min_new_tokens: 0,
            min_length: 0,
            forced_bos_token_id: None,
            forced_eos_token_id: None,
            renormalization: Renormalization::Off,
        }
    }
}

/// The sequence whose next token is selected.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorInput<'a> {
    /// Prompt and new tokens.
    pub tokens: &'a [u32],
    /// How many of them are new.
    pub new_tokens: usize,
    /// How many may be new.
    pub max_new_tokens: usize,
}

impl LogitsProcessor {
    /// Checks `min_new_tokens` against `max_new_tokens`, and both against what is plausible.
    pub(crate) fn check_length(&self, max_new_tokens: Option<usize>) -> Result<()> {
        let limits = [
            ("max_new_tokens", max_new_tokens.unwrap_or(0)),
            ("min_new_tokens", self.min_new_tokens),
        ];
        if let Some((key, n)) = limits.into_iter().find(|(_, n)| *n > MAX_TOKENS) {
            return Err(out_of_range(key, n, format!("at most {MAX_TOKENS}")));
        }
        match max_new_tokens {
            Some(max_new_tokens) if max_new_tokens < self.min_new_tokens => {
                let min_new_tokens = self.min_new_tokens;
                Err(GenerationError::MinExceedsMax { min_new_tokens, max_new_tokens }.into())
            }
            _ => Ok(()),
        }
    }

    /// Checks every setting; `vocab_size` is the model's number of tokens.
    /// # Errors
    /// [`GenerationError::OutOfRange`] and [`GenerationError::TokenBeyondVocabulary`].
    pub fn validate(&self, vocab_size: usize) -> Result<()> {
        let penalty = self.repetition_penalty;
        if !(penalty.is_finite() && penalty > 0.0) {
            return Err(out_of_range("repetition_penalty", penalty, "a number above 0"));
        }
        if self.no_repeat_ngram_size == Some(0) {
            return Err(out_of_range("no_repeat_ngram_size", 0, "at least 1"));
        }
        let ids = self.bad_words_ids.iter().flatten();
        let forced = self.forced_bos_token_id.iter().chain(&self.forced_eos_token_id);
        let mut ids = ids.chain(&self.eos_token_ids).chain(forced).copied();
        match ids.find(|id| *id as usize >= vocab_size) {
            Some(id) => Err(GenerationError::TokenBeyondVocabulary { id, vocab_size }.into()),
            None => Ok(()),
        }
    }

    /// Whether all that happens to a row is that some tokens get −∞.
    pub(super) fn only_excludes(&self, input: ProcessorInput) -> bool {
        let forces = self.forced_bos_token_id.is_some_and(|_| input.tokens.len() == 1)
            || self
                .forced_eos_token_id
                .is_some_and(|_| input.new_tokens + 1 == input.max_new_tokens);
        let renormalizes = self.renormalization == Renormalization::LogSoftmax;
        self.repetition_penalty == 1.0 && !forces && !renormalizes
    }

    /// Applies every processor to one row of logits or log-probabilities, (v).
    pub fn apply(&self, logits: &mut [f32], input: ProcessorInput) {
        self.penalize_repetition(logits, input.tokens);
        self.exclude_ngrams(logits, input.tokens);
        self.exclude_bad_words(logits, input.tokens);
        if input.new_tokens < self.min_new_tokens || input.tokens.len() < self.min_length {
            self.eos_token_ids.iter().for_each(|eos| exclude(logits, *eos));
        }
        let first = self.forced_bos_token_id.filter(|_| input.tokens.len() == 1);
        let is_last = input.new_tokens + 1 == input.max_new_tokens;
        let last = self.forced_eos_token_id.filter(|_| is_last);
        for token in [first, last].into_iter().flatten() {
            logits.fill(f32::NEG_INFINITY);
            logits[token as usize] = 0.0;
        }
        if self.renormalization == Renormalization::LogSoftmax {
            renormalize(logits);
        }
    }

    fn penalize_repetition(&self, logits: &mut [f32], tokens: &[u32]) {
        if self.repetition_penalty == 1.0 {
            return;
        }
        let mut distinct = tokens.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        for token in distinct {
            let z = &mut logits[token as usize];
            *z = if *z < 0.0 { *z * self.repetition_penalty } else { *z / self.repetition_penalty };
        }
    }

    fn exclude_ngrams(&self, logits: &mut [f32], tokens: &[u32]) {
        let Some(n) = self.no_repeat_ngram_size.filter(|n| tokens.len() >= *n) else { return };
        let last = &tokens[tokens.len() + 1 - n..];
        let repeated = tokens.windows(n).filter(|ngram| ngram[..n - 1] == *last);
        repeated.for_each(|ngram| exclude(logits, ngram[n - 1]));
    }

    fn exclude_bad_words(&self, logits: &mut [f32], tokens: &[u32]) {
        for sequence in &self.bad_words_ids {
            // An end token alone is not excluded, as in `transformers`.
            if let [before @ .., token] = &sequence[..]
                && tokens.ends_with(before)
                && !(before.is_empty() && self.eos_token_ids.contains(token))
            {
                exclude(logits, *token);
            }
        }
    }
}

/// z ← z − log Σ exp z; a row without candidates stays one, and so does one with NaN.
fn renormalize(logits: &mut [f32]) {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if !max.is_finite() {
        return;
    }
    let sum: f64 = logits.iter().map(|z| f64::from(z - max).exp()).sum();
    let log = sum.ln() as f32;
    logits.iter_mut().for_each(|z| *z = (*z - max) - log);
}

fn exclude(logits: &mut [f32], token: u32) {
    logits[token as usize] = f32::NEG_INFINITY;
}

pub(super) fn out_of_range(
    key: &'static str,
    found: impl ToString,
    expected: impl Into<String>,
) -> crate::error::Error {
    GenerationError::OutOfRange { key, found: found.to_string(), expected: expected.into() }.into()
}

/// The index of the largest logit, of equals the first; checks that a token can be selected: no
/// logit is NaN, and not all of them are −∞.
pub(super) fn check_logits(logits: &[f32], step: usize) -> Result<usize> {
    let max = match largest_or_nan(logits) {
        f32::NEG_INFINITY => return Err(GenerationError::NoCandidates { step }.into()),
        max if max.is_nan() => return Err(GenerationError::NotANumber { step }.into()),
        max => max,
    };
    let chunk = logits.chunks(CHUNK).position(|chunk| largest(chunk) == max);
    let first = CHUNK * chunk.expect("the largest is in one of them");
    let at = logits[first..].iter().position(|z| *z == max).expect("the largest is in this one");
    Ok(first + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    const OUT: f32 = f32::NEG_INFINITY;

    fn after(processor: &LogitsProcessor, tokens: &[u32], new_tokens: usize) -> Vec<f32> {
        let mut logits = vec![2.0, -1.0, 0.0, 4.0, -3.0];
        processor.apply(&mut logits, ProcessorInput { tokens, new_tokens, max_new_tokens: 9 });
        logits
    }

    #[test]
    fn what_is_left_is_normalized_again_if_asked_for() {
        let processor = LogitsProcessor {
            bad_words_ids: vec![vec![0]],
            renormalization: Renormalization::LogSoftmax,
            ..LogitsProcessor::default()
        };
        // Probabilities 1/2, 3/8 and 1/8: without the first, 3/4 and 1/4.
        let mut logits = [0.5_f32, 0.375, 0.125].map(f32::ln);
        let input = ProcessorInput { tokens: &[], new_tokens: 0, max_new_tokens: 9 };
        processor.apply(&mut logits, input);
        assert_eq!(logits[0], OUT);
        assert!((logits[1].exp() - 0.75).abs() < 1e-6 && (logits[2].exp() - 0.25).abs() < 1e-6);
        let mut none = [OUT; 3];
        processor.apply(&mut none, input);
        assert_eq!(none, [OUT; 3], "refused later, as one without candidates");
    }

    #[test]
    fn a_repetition_penalty_divides_positive_logits_and_multiplies_negative_ones_once_each() {
        let processor = LogitsProcessor { repetition_penalty: 2.0, ..LogitsProcessor::default() };
        assert_eq!(after(&processor, &[0, 1, 0, 2], 1), [1.0, -2.0, 0.0, 4.0, -3.0]);
    }

    #[test]
    fn no_ngram_occurs_twice() {
        let ban = |n, text: &[u32]| {
            after(
                &LogitsProcessor { no_repeat_ngram_size: Some(n), ..LogitsProcessor::default() },
                text,
                1,
            )
        };
        assert_eq!(ban(1, &[3, 1]), [2.0, OUT, 0.0, OUT, -3.0]);
        assert_eq!(ban(2, &[1, 3, 1, 0, 1]), [OUT, -1.0, 0.0, OUT, -3.0], "1 3 and 1 0 occur");
        assert_eq!(ban(3, &[1, 3, 4, 1, 3]), [2.0, -1.0, 0.0, 4.0, OUT]);
        assert_eq!(ban(3, &[1]), [2.0, -1.0, 0.0, 4.0, -3.0], "too short to repeat anything");
    }

    #[test]
    fn bad_words_are_not_completed_and_min_length_postpones_the_end_token() {
        let processor = LogitsProcessor {
            bad_words_ids: vec![vec![3], vec![1, 0], vec![2]],
            eos_token_ids: vec![2],
            ..LogitsProcessor::default()
        };
        assert_eq!(after(&processor, &[1], 1), [OUT, -1.0, 0.0, OUT, -3.0]);
        assert_eq!(after(&processor, &[4], 1), [2.0, -1.0, 0.0, OUT, -3.0]);
        let processor = LogitsProcessor {
            min_new_tokens: 2,
            eos_token_ids: vec![2, 4],
            ..LogitsProcessor::default()
        };
        assert_eq!(after(&processor, &[1], 1), [2.0, -1.0, OUT, 4.0, OUT]);
        assert_eq!(after(&processor, &[1], 2), [2.0, -1.0, 0.0, 4.0, -3.0]);
        let processor =
            LogitsProcessor { min_length: 2, eos_token_ids: vec![2], ..LogitsProcessor::default() };
        assert_eq!(after(&processor, &[1], 1)[2], OUT);
        assert_eq!(after(&processor, &[1, 1], 1)[2], 0.0);
    }

    #[test]
    fn a_forced_first_token_follows_the_decoders_start_and_nothing_else() {
        let processor =
            LogitsProcessor { forced_bos_token_id: Some(3), ..LogitsProcessor::default() };
        assert_eq!(after(&processor, &[4], 0), [OUT, OUT, OUT, 0.0, OUT]);
        assert_eq!(after(&processor, &[4, 3], 1), [2.0, -1.0, 0.0, 4.0, -3.0]);
        assert!(processor.validate(3).is_err() && processor.validate(4).is_ok());
    }

    #[test]
    fn a_forced_end_token_comes_at_the_last_position_only() {
        let processor =
            LogitsProcessor { forced_eos_token_id: Some(1), ..LogitsProcessor::default() };
        assert_eq!(after(&processor, &[4], 8), [OUT, 0.0, OUT, OUT, OUT]);
        assert_eq!(after(&processor, &[4], 7), [2.0, -1.0, 0.0, 4.0, -3.0]);
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        for bad in [
            LogitsProcessor { repetition_penalty: 0.0, ..LogitsProcessor::default() },
            LogitsProcessor { repetition_penalty: f32::NAN, ..LogitsProcessor::default() },
            LogitsProcessor { no_repeat_ngram_size: Some(0), ..LogitsProcessor::default() },
            LogitsProcessor { bad_words_ids: vec![vec![1, 5]], ..LogitsProcessor::default() },
        ] {
            assert!(bad.validate(5).is_err(), "{bad:?}");
        }
        let mut many = vec![-1.0; 1_000];
        (many[700], many[999]) = (3.0, 3.0);
        assert_eq!(check_logits(&many, 0).unwrap(), 700, "of equals the first");
        let error = check_logits(&[OUT, f32::NAN], 0).unwrap_err();
        assert!(matches!(error, Error::Generation(GenerationError::NotANumber { step: 0 })));
        let error = check_logits(&[OUT, OUT], 3).unwrap_err();
        assert!(matches!(error, Error::Generation(GenerationError::NoCandidates { step: 3 })));
    }
}
