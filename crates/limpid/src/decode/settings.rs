//! How to write, as one validated value: greedy, by drawing, or with beams, under some rules.

use super::filter::Filter;
use super::rules::Rules;
use crate::error::{Error, Result};

/// More would only cost memory: every sample and every beam has its own keys and values.
const MOST: usize = 100_000;
/// Beams are all written at once, and each has scores for the whole vocabulary.
const MOST_BEAMS: usize = 1_000;
/// The largest exponent of a length penalty: beyond it scores of long texts are 0 or infinite, and their order means nothing.
const MOST_PENALTY: f32 = 5.0;

/// How to write.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoding {
    /// How the next token is chosen.
    pub strategy: Strategy,
    /// What may be said at all, whatever the strategy.
    pub rules: Rules,
}

/// How the next token is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strategy {
    /// Always the likeliest.
    Greedy,
    /// By chance, as often as it is probable.
    Sample(Sampling),
    /// Several texts are followed at once, and the likeliest as a whole wins.
    Beams(Beams),
}

/// Drawing tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Which tokens take part, and how flat their probabilities are made. Temperature 0 is greedy.
    pub filter: Filter,
    /// How many texts are written for each prompt.
    pub samples: usize,
    /// The same seed draws the same numbers.
    pub seed: u64,
}

/// Beam search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beams {
    /// How many texts are followed.
    pub beams: usize,
    /// What makes texts of different length comparable.
    pub penalty: LengthPenalty,
    /// When to stop.
    pub stopping: EarlyStopping,
    /// How many of the best are given.
    pub nbest: usize,
}

/// What the sum of log-probabilities of a finished text is divided by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LengthPenalty {
    /// n^α for n new tokens, the end token included: `transformers`. 0 compares sums, 1 means; larger ones favour long texts.
    Power(f32),
    /// ((5 + n)/6)^α: Wu et al. 2016 (GNMT).
    Gnmt(f32),
}

/// When a beam search has enough. The three meanings of `early_stopping` in `transformers` 5.22.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyStopping {
    /// `true`: as soon as there are as many finished texts as beams.
    AtOnce,
    /// `false`: when the best text that is still being written, were it to end now, is no better than the worst finished one.
    Heuristic,
    /// `"never"`: when the best text that is still being written cannot become better than the worst finished one.
    Never,
}

impl LengthPenalty {
    /// The divisor for `n` new tokens.
    pub fn divisor(self, n: usize) -> f32 {
        match self {
            LengthPenalty::Power(alpha) => (n as f64).powf(f64::from(alpha)) as f32,
            LengthPenalty::Gnmt(alpha) => ((5.0 + n as f64) / 6.0).powf(f64::from(alpha)) as f32,
        }
    }

    /// α.
    pub fn exponent(self) -> f32 {
        match self {
            LengthPenalty::Power(alpha) | LengthPenalty::Gnmt(alpha) => alpha,
        }
    }
}

impl Decoding {
    /// Always the likeliest token, until one of `ends`.
    pub fn greedy(ends: &[u32]) -> Self {
        Self { strategy: Strategy::Greedy, rules: Rules { ends: ends.to_vec(), ..Rules::default() } }
    }

    /// How many texts come out for each prompt.
    pub fn outputs(&self) -> usize {
        match self.strategy {
            Strategy::Greedy => 1,
            Strategy::Sample(sampling) => sampling.samples,
            Strategy::Beams(beams) => beams.nbest,
        }
    }

    /// Refuses what has no meaning; `vocabulary` is the model's number of tokens.
    pub fn validate(&self, vocabulary: usize) -> Result<()> {
        match self.strategy {
            Strategy::Greedy => {}
            Strategy::Sample(sampling) => {
                sampling.filter.validate()?;
                check_count("samples", sampling.samples, MOST)?;
            }
            Strategy::Beams(beams) => beams.validate()?,
        }
        self.rules.validate(vocabulary)
    }
}

impl Beams {
    fn validate(&self) -> Result<()> {
        check_count("beams", self.beams, MOST_BEAMS)?;
        check_count("nbest", self.nbest, MOST_BEAMS)?;
        if self.nbest > self.beams {
            return Err(Error::config(format!(
                "nbest {} is more than beams {}: a search finishes no more texts than it has beams",
                self.nbest, self.beams
            ))
            .hint(format!("use --beams {}", self.nbest)));
        }
        let (alpha, name) = match self.penalty {
            LengthPenalty::Power(alpha) => (alpha, "length penalty"),
            LengthPenalty::Gnmt(alpha) => (alpha, "GNMT penalty"),
        };
        if !(-MOST_PENALTY..=MOST_PENALTY).contains(&alpha) {
            return Err(Error::config(format!("{name} {alpha} is not in -{MOST_PENALTY} to {MOST_PENALTY}"))
                .hint("1 is usual; 0 compares sums, larger values favour longer texts"));
        }
        Ok(())
    }
}

fn check_count(name: &str, count: usize, most: usize) -> Result<()> {
    if (1..=most).contains(&count) {
        return Ok(());
    }
    Err(Error::config(format!("{name} {count} is not in 1 to {most}"))
        .hint(format!("use --{name} 1 to {most}, or leave it out")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn penalties_are_those_of_their_papers() {
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
    fn settings_without_a_meaning_are_refused_with_a_hint() {
        let beams = |beams, nbest, alpha| {
            let penalty = LengthPenalty::Power(alpha);
            Strategy::Beams(Beams { beams, penalty, stopping: EarlyStopping::Heuristic, nbest })
        };
        let sample = |samples| Strategy::Sample(Sampling { filter: Filter::default(), samples, seed: 0 });
        for strategy in [
            beams(0, 1, 1.0),
            beams(2, 3, 1.0),
            beams(2, 0, 1.0),
            beams(2, 1, f32::NAN),
            beams(2, 1, -9.0),
            sample(0),
        ] {
            let error = Decoding { strategy, ..Decoding::greedy(&[]) }.validate(10).unwrap_err();
            assert!(error.hint_text().is_some(), "{error}");
        }
        assert!(Decoding { strategy: beams(4, 4, -1.0), ..Decoding::greedy(&[1]) }.validate(10).is_ok());
        assert!(Decoding::greedy(&[10]).validate(10).is_err(), "an end token beyond the vocabulary");
    }
}
