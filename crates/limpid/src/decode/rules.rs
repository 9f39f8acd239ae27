//! What may be said at all: rules on one row of scores, before a token is chosen.
//!
//! ```text
//! repetition penalty ρ   z[j] ← z[j]/ρ if z[j] ≥ 0 else z[j]·ρ        for every token j that is in the text   (Keskar et al. 2019)
//! no repeated n-gram     z[j] ← −∞ if the last n−1 tokens and j are in the text already               (Paulus et al. 2017)
//! never                  z[j] ← −∞ if j would complete a forbidden sequence
//! shortest               z[end] ← −∞ while the text is too short
//! forced end             only the end is left, at the last token that is allowed
//! ```
//!
//! In the order of `transformers` 5.22 (`_get_logits_processor`); what filters candidates for a draw comes after
//! ([`super::filter`]). The text is the prompt (for an encoder-decoder: what its decoder was given) and what has been
//! written. Greedy search and drawing apply them to logits, beam search to log-probabilities, as `transformers` does; what
//! is left is not normalised again.

use crate::error::{Error, Result};

/// No text is that long: a larger number of tokens is a slip.
const MOST_TOKENS: usize = 1 << 31;

/// Rules for what may be said.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// ρ > 0: above 1 tokens of the text become less likely, below 1 more; 1 changes nothing.
    pub repetition_penalty: f32,
    /// n ≥ 1: no sequence of n tokens comes twice.
    pub no_repeat_ngram: Option<usize>,
    /// Sequences of tokens that are never written.
    pub never: Vec<Vec<u32>>,
    /// Tokens that end a text; without any it ends at its longest.
    pub ends: Vec<u32>,
    /// New tokens there must be before the end.
    pub min_new: usize,
    /// Tokens there must be before the end, the prompt's included.
    pub min_length: usize,
    /// A token that must come at the last place.
    pub forced_end: Option<u32>,
}

impl Default for Rules {
    /// Everything is allowed, and nothing ends a text.
    fn default() -> Self {
        Self {
            repetition_penalty: 1.0,
            no_repeat_ngram: None,
            never: Vec::new(),
            ends: Vec::new(),
            min_new: 0,
            min_length: 0,
            forced_end: None,
        }
    }
}

/// Where a text stands.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Prompt and written tokens.
    pub text: &'a [u32],
    /// How many of them are new.
    pub new: usize,
    /// How many may be new.
    pub limit: usize,
}

impl Rules {
    /// Refuses a least number of new tokens that is more than the most, and numbers that no text reaches.
    pub(crate) fn check_length(&self, most: Option<usize>) -> Result<()> {
        let asked = [("--tokens", most.unwrap_or(0)), ("--min-tokens", self.min_new)];
        if let Some((flag, n)) = asked.iter().find(|(_, n)| *n > MOST_TOKENS) {
            return Err(Error::config(format!("{flag} {n} is more than {MOST_TOKENS}"))
                .hint(format!("is there a digit too many? {flag} 100 is usual")));
        }
        match most {
            Some(most) if most < self.min_new => {
                Err(Error::config(format!("--min-tokens {} is more than --tokens {most}", self.min_new))
                    .hint(format!("--min-tokens {most} at most, or more --tokens")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses what has no meaning.
    pub fn validate(&self, vocabulary: usize) -> Result<()> {
        if !(self.repetition_penalty.is_finite() && self.repetition_penalty > 0.0) {
            return Err(Error::config(format!(
                "repetition penalty {} is not a number above 0",
                self.repetition_penalty
            ))
            .hint("1 changes nothing, 1.1 to 1.3 are usual"));
        }
        if self.no_repeat_ngram == Some(0) {
            return Err(Error::config("an n-gram of 0 tokens has no meaning")
                .hint("use --no-repeat-ngram 3, or leave it out"));
        }
        let ids = self.never.iter().flatten().chain(&self.ends).chain(&self.forced_end);
        if let Some(id) = ids.copied().find(|id| *id as usize >= vocabulary) {
            return Err(Error::config(format!("token {id} is beyond the vocabulary of {vocabulary} tokens"))
                .hint("the ids come from generation_config.json: does it belong to this model?"));
        }
        Ok(())
    }

    /// Applies the rules to one row of logits or log-probabilities.
    pub fn apply(&self, scores: &mut [f32], place: Place) {
        let text = place.text;
        if self.repetition_penalty != 1.0 {
            let mut said = text.to_vec();
            said.sort_unstable();
            said.dedup();
            for token in said {
                let z = &mut scores[token as usize];
                *z = if *z < 0.0 { *z * self.repetition_penalty } else { *z / self.repetition_penalty };
            }
        }
        if let Some(n) = self.no_repeat_ngram
            && text.len() >= n
        {
            let last = &text[text.len() + 1 - n..];
            text.windows(n)
                .filter(|ngram| ngram[..n - 1] == *last)
                .for_each(|ngram| forbid(scores, ngram[n - 1]));
        }
        for sequence in &self.never {
            // The end itself can only be put off, as in `transformers`.
            if let [before @ .., token] = &sequence[..]
                && text.ends_with(before)
                && !(before.is_empty() && self.ends.contains(token))
            {
                forbid(scores, *token);
            }
        }
        if place.new < self.min_new || text.len() < self.min_length {
            self.ends.iter().for_each(|end| forbid(scores, *end));
        }
        if let Some(end) = self.forced_end
            && place.new + 1 == place.limit
        {
            scores.fill(f32::NEG_INFINITY);
            scores[end as usize] = 0.0;
        }
    }
}

fn forbid(scores: &mut [f32], token: u32) {
    scores[token as usize] = f32::NEG_INFINITY;
}

/// An error if the model answered with NaN, or nothing may be said.
pub(super) fn check_scores(scores: &[f32], step: usize) -> Result<()> {
    if scores.iter().any(|z| z.is_nan()) {
        return Err(Error::numeric(format!("the scores for token {} are not numbers (NaN)", step + 1))
            .hint("the model's weights are damaged or too large"));
    }
    if scores.iter().all(|z| *z == f32::NEG_INFINITY) {
        return Err(Error::config(format!("the rules leave nothing to say as token {}", step + 1))
            .hint("use a longer --no-repeat-ngram, fewer --tokens or a smaller --min-tokens"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUT: f32 = f32::NEG_INFINITY;

    fn after(rules: &Rules, text: &[u32], new: usize) -> Vec<f32> {
        let mut scores = vec![2.0, -1.0, 0.0, 4.0, -3.0];
        rules.apply(&mut scores, Place { text, new, limit: 9 });
        scores
    }

    #[test]
    fn a_repetition_penalty_divides_what_is_above_zero_and_multiplies_what_is_below_once_each() {
        let rules = Rules { repetition_penalty: 2.0, ..Rules::default() };
        assert_eq!(after(&rules, &[0, 1, 0, 2], 1), [1.0, -2.0, 0.0, 4.0, -3.0]);
    }

    #[test]
    fn no_ngram_comes_twice() {
        let ban = |n, text: &[u32]| after(&Rules { no_repeat_ngram: Some(n), ..Rules::default() }, text, 1);
        assert_eq!(ban(1, &[3, 1]), [2.0, OUT, 0.0, OUT, -3.0]);
        assert_eq!(ban(2, &[1, 3, 1, 0, 1]), [OUT, -1.0, 0.0, OUT, -3.0], "1 3 and 1 0 were said");
        assert_eq!(ban(3, &[1, 3, 4, 1, 3]), [2.0, -1.0, 0.0, 4.0, OUT]);
        assert_eq!(ban(3, &[1]), [2.0, -1.0, 0.0, 4.0, -3.0], "too short to repeat anything");
    }

    #[test]
    fn forbidden_sequences_are_not_completed_and_the_end_is_only_put_off() {
        let rules = Rules { never: vec![vec![3], vec![1, 0], vec![2]], ends: vec![2], ..Rules::default() };
        assert_eq!(after(&rules, &[1], 1), [OUT, -1.0, 0.0, OUT, -3.0]);
        assert_eq!(after(&rules, &[4], 1), [2.0, -1.0, 0.0, OUT, -3.0]);
        let rules = Rules { min_new: 2, ends: vec![2, 4], ..Rules::default() };
        assert_eq!(after(&rules, &[1], 1), [2.0, -1.0, OUT, 4.0, OUT]);
        assert_eq!(after(&rules, &[1], 2), [2.0, -1.0, 0.0, 4.0, -3.0]);
        let rules = Rules { min_length: 2, ends: vec![2], ..Rules::default() };
        assert_eq!(after(&rules, &[1], 1)[2], OUT);
        assert_eq!(after(&rules, &[1, 1], 1)[2], 0.0);
    }

    #[test]
    fn a_forced_end_comes_at_the_last_place_only() {
        let rules = Rules { forced_end: Some(1), ..Rules::default() };
        assert_eq!(after(&rules, &[4], 8), [OUT, 0.0, OUT, OUT, OUT]);
        assert_eq!(after(&rules, &[4], 7), [2.0, -1.0, 0.0, 4.0, -3.0]);
    }

    #[test]
    fn rules_without_a_meaning_are_refused() {
        for bad in [
            Rules { repetition_penalty: 0.0, ..Rules::default() },
            Rules { repetition_penalty: f32::NAN, ..Rules::default() },
            Rules { no_repeat_ngram: Some(0), ..Rules::default() },
            Rules { never: vec![vec![1, 5]], ..Rules::default() },
        ] {
            let error = bad.validate(5).unwrap_err();
            assert!(error.hint_text().is_some(), "{error}");
        }
        assert!(check_scores(&[OUT, f32::NAN], 0).unwrap_err().to_string().contains("NaN"));
        assert!(check_scores(&[OUT, OUT], 0).unwrap_err().to_string().contains("nothing to say"));
    }
}
