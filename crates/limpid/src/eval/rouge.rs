//! ROUGE-L: longest common subsequence of a prediction and a reference (Lin 2004).
//!
//! ```text
//! P = L / words of the prediction,   R = L / words of the reference,   F = 2·P·R / (P + R)
//! ```
//!
//! L is the length of the longest common subsequence. The numbers are those of the package
//! `rouge-score` without its stemmer, and words are its words: runs of the ASCII letters and digits
//! of the lowercased text. So it is a metric for English; `été` is the word `t`.
//!
//! ```
//! use limpid::eval::rouge::rouge_l;
//!
//! // "the cat sat" is common to both: 3 of 4 words, and 3 of 6.
//! let score = rouge_l("Then the cat sat.", "The cat sat on the mat.");
//! assert_eq!((score.precision, score.recall), (0.75, 0.5));
//! ```

use super::FScore;

/// The score of so many words in common.
fn score(hits: usize, predicted: usize, wanted: usize) -> FScore {
    if hits == 0 {
        return FScore::default();
    }
    let (precision, recall) = (hits as f64 / predicted as f64, hits as f64 / wanted as f64);
    FScore { precision, recall, f1: 2.0 * precision * recall / (precision + recall) }
}

/// ROUGE-L of a text as one sequence of words.
pub fn rouge_l(prediction: &str, reference: &str) -> FScore {
    let (predicted, wanted) = (tokens(prediction), tokens(reference));
    // One row of the dynamic-programming table is enough for the length alone.
    let mut row = vec![0; predicted.len() + 1];
    for want in &wanted {
        let mut diagonal = 0;
        for (j, have) in predicted.iter().enumerate() {
            let longest = if have == want { diagonal + 1 } else { row[j + 1].max(row[j]) };
            diagonal = std::mem::replace(&mut row[j + 1], longest);
        }
    }
    score(row[predicted.len()], predicted.len(), wanted.len())
}

/// Exact match: the fraction of predictions that equal their reference, ignoring spaces around
/// them; 0 for none.
/// # Panics
/// If there is not one reference per prediction.
#[track_caller]
pub fn exact_match<S: AsRef<str>, T: AsRef<str>>(predictions: &[S], references: &[T]) -> f64 {
    assert_eq!(
        predictions.len(),
        references.len(),
        "exact_match: one reference for each prediction"
    );
    let is_hit = |(p, r): &(&S, &T)| p.as_ref().trim() == r.as_ref().trim();
    predictions.iter().zip(references).filter(is_hit).count() as f64
        / predictions.len().max(1) as f64
}

fn tokens(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.split(|c| !is_part(c)).filter(|word| !word.is_empty()).map(String::from).collect()
}
