//! ROUGE-L: longest common subsequence of a prediction and a reference (Lin 2004).
//!
//! ```text
//! P = L / words of the prediction,   R = L / words of the reference,   F = 2·P·R / (P + R)
//! ```
//!
//! L is the length of the longest common subsequence. The numbers are those of the package
//! `rouge-score` without its stemmer, and words are its words: runs of the ASCII letters and digits
//! of the lowercased text. So it is a metric for English; `été` is the word `t`.

use super::FScore;
use std::collections::HashMap;

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
    // The last row of the table of ROUGE-Lsum is enough for the length alone.
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

/// ROUGE-Lsum of a text whose sentences are lines: each sentence of the reference may find its
/// words in all sentences of the prediction, but no word is found more often than it occurs.
pub fn rouge_lsum(prediction: &str, reference: &str) -> FScore {
    let sentences = |text: &str| -> Vec<Vec<String>> { text.split('\n').map(tokens).collect() };
    let (predicted, wanted) = (sentences(prediction), sentences(reference));
    let (mut left_predicted, mut left_wanted) = (tally(&predicted), tally(&wanted));
    let mut hits = 0;
    for want in &wanted {
        let mut found = vec![false; want.len()];
        for have in &predicted {
            mark_common(want, have, &mut found);
        }
        for (word, _) in want.iter().zip(found).filter(|(_, found)| *found) {
            let here = left_predicted.get_mut(word.as_str()).filter(|left| **left > 0);
            let there = left_wanted.get_mut(word.as_str()).filter(|left| **left > 0);
            if let (Some(here), Some(there)) = (here, there) {
                *here -= 1;
                *there -= 1;
                hits += 1;
            }
        }
    }
    let words = |sentences: &[Vec<String>]| sentences.iter().map(Vec::len).sum();
    score(hits, words(&predicted), words(&wanted))
}

/// The best score, by F, against several references; the first of equals.
/// # Panics
/// If there is no reference.
#[track_caller]
pub fn best_of(score: fn(&str, &str) -> FScore, prediction: &str, references: &[&str]) -> FScore {
    let scores = references.iter().map(|reference| score(prediction, reference));
    scores
        .reduce(|best, next| if next.f1 > best.f1 { next } else { best })
        .expect("best_of: no reference")
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

fn tally(sentences: &[Vec<String>]) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for word in sentences.iter().flatten() {
        *counts.entry(word.as_str()).or_default() += 1;
    }
    counts
}

/// Marks the words of `want` that one longest common subsequence with `have` uses.
fn mark_common(want: &[String], have: &[String], found: &mut [bool]) {
    let width = have.len() + 1;
    let mut table = vec![0usize; (want.len() + 1) * width];
    for i in 1..=want.len() {
        for j in 1..=have.len() {
            table[i * width + j] = if want[i - 1] == have[j - 1] {
                table[(i - 1) * width + j - 1] + 1
            } else {
                table[(i - 1) * width + j].max(table[i * width + j - 1])
            };
        }
    }
    // There may be several such subsequences, and the score depends on which is taken: on a tie, go
    // up.
    let (mut i, mut j) = (want.len(), have.len());
    while i > 0 && j > 0 {
        if want[i - 1] == have[j - 1] {
            found[i - 1] = true;
            (i, j) = (i - 1, j - 1);
        } else if table[i * width + j - 1] > table[(i - 1) * width + j] {
            j -= 1;
        } else {
            i -= 1;
        }
    }
}
