//! Scores of summaries: ROUGE-L and exact match, beside the lead-sentence baseline.
//!
//! ```
//! use limpid::eval::summary::SummaryScores;
//!
//! let pairs = [("A cat sat. It ran away.".to_string(), "A cat ran away.".to_string())];
//! let own = SummaryScores::of(&["A cat ran away."], &pairs);
//! let lead = SummaryScores::of_leads(&pairs);
//! assert_eq!((own.rouge_l, own.exact), (1.0, 1.0));
//! assert!(lead.rouge_l < 1.0);
//! ```

use super::FScore;
use super::baselines::lead_sentence;
use super::rouge::{exact_match, rouge_l};

/// Scores of summaries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SummaryScores {
    /// The mean F1 of ROUGE-L, 0 to 1.
    pub rouge_l: f64,
    /// The fraction that equals the reference.
    pub exact: f64,
}

impl SummaryScores {
    /// Scores of summaries, one per pair of a text and its reference.
    pub fn of<S: AsRef<str>>(summaries: &[S], pairs: &[(String, String)]) -> Self {
        let references: Vec<&str> = pairs.iter().map(|(_, reference)| reference.as_str()).collect();
        let both = summaries.iter().zip(&references);
        let rouge = both.map(|(summary, reference)| (1.0, rouge_l(summary.as_ref(), reference)));
        Self { rouge_l: FScore::mean(rouge).f1, exact: exact_match(summaries, &references) }
    }

    /// Scores of the first sentences: the baseline without a model.
    pub fn of_leads(pairs: &[(String, String)]) -> Self {
        let leads: Vec<&str> = pairs.iter().map(|(text, _)| lead_sentence(text)).collect();
        Self::of(&leads, pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_measured_beside_the_first_sentences() {
        let pair = |text: &str, summary: &str| (text.to_string(), summary.to_string());
        let pairs = [pair("A cat sat. It ran.", "A cat ran."), pair("A dog lay.", "A dog lay.")];
        let own = SummaryScores::of(&["A cat ran.", "A dog sat."], &pairs);
        // All three words, and two of three.
        assert!(
            (own.rouge_l - (1.0 + 2.0 / 3.0) / 2.0).abs() < 1e-12 && own.exact == 0.5,
            "{own:?}"
        );
        let leads = SummaryScores::of_leads(&pairs);
        assert!(
            (leads.rouge_l - (2.0 / 3.0 + 1.0) / 2.0).abs() < 1e-12 && leads.exact == 0.5,
            "{leads:?}"
        );
    }
}
