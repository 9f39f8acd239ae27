//! BLEU: how many of a translation's n-grams occur in a reference (Papineni et al. 2002).
//!
//! ```text
//! pₙ = Σ min(count in hypothesis, largest count in one reference) / Σ count in hypothesis,   n = 1 … 4
//! BLEU = BP · (p₁ p₂ p₃ p₄)^¼        BP = min(1, exp(1 − r/c))
//! ```
//!
//! The sums run over the whole corpus, c is the number of words of all hypotheses and r of all references,
//! where each hypothesis counts the reference whose length is closest to its own. Precisions are given in
//! percent. Where no n-gram of an order matches, its count of 0 is smoothed: the first such order counts as
//! 1/2, the next as 1/4, and so on (sacreBLEU's `smooth:exp`, which is mteval-v13a's).

use std::collections::HashMap;
use std::fmt;
use std::ops::AddAssign;

use super::{Case, EvalError, Tokenizer, is_space, words};

/// The longest n-grams that are counted.
pub const ORDERS: usize = 4;

/// BLEU with its choices made. The default is sacreBLEU's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bleu {
    /// Whether case counts.
    pub case: Case,
    /// What a word is.
    pub tokenizer: Tokenizer,
}

/// A corpus' BLEU and what it was made of.
#[derive(Clone, Debug, PartialEq)]
pub struct BleuScore {
    /// BLEU, from 0 to 100.
    pub score: f64,
    /// Smoothed precisions of the orders 1 to 4, in percent.
    pub precisions: [f64; ORDERS],
    /// The factor, at most 1, for hypotheses shorter than their references.
    pub brevity_penalty: f64,
    /// The counts behind all of these.
    pub counts: BleuCounts,
    /// How it was computed, for example `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp`.
    pub signature: String,
}

/// What BLEU counts. The counts of a corpus are the sums of its segments'.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BleuCounts {
    /// Words of the hypotheses.
    pub hypothesis_len: usize,
    /// Words of the closest references.
    pub reference_len: usize,
    /// N-grams of the hypotheses that a reference has too, for the orders 1 to 4.
    pub correct: [usize; ORDERS],
    /// N-grams of the hypotheses, for the orders 1 to 4.
    pub total: [usize; ORDERS],
}

impl AddAssign for BleuCounts {
    fn add_assign(&mut self, other: Self) {
        self.hypothesis_len += other.hypothesis_len;
        self.reference_len += other.reference_len;
        for n in 0..ORDERS {
            self.correct[n] += other.correct[n];
            self.total[n] += other.total[n];
        }
    }
}

impl Bleu {
    /// Scores a corpus; `references[i]` are the references, one or more, of `hypotheses[i]`.
    pub fn corpus(&self, hypotheses: &[&str], references: &[Vec<&str>]) -> Result<BleuScore, EvalError> {
        if hypotheses.is_empty() {
            return Err(EvalError::NoHypotheses);
        }
        if hypotheses.len() != references.len() {
            let (hypotheses, references) = (hypotheses.len(), references.len());
            return Err(EvalError::CountMismatch { hypotheses, references });
        }
        if let Some(segment) = references.iter().position(Vec::is_empty) {
            return Err(EvalError::NoReference { segment });
        }
        let mut counts = BleuCounts::default();
        for (hypothesis, references) in hypotheses.iter().zip(references) {
            counts += self.count(hypothesis, references);
        }
        Ok(score(counts, self.signature(references)))
    }

    /// The counts of one segment.
    fn count(&self, hypothesis: &str, references: &[&str]) -> BleuCounts {
        let hypothesis = self.prepare(hypothesis);
        let hypothesis: Vec<&str> = words(&hypothesis).collect();
        let references: Vec<String> = references.iter().map(|reference| self.prepare(reference)).collect();
        let references: Vec<Vec<&str>> = references.iter().map(|text| words(text).collect()).collect();

        let mut counts = BleuCounts {
            hypothesis_len: hypothesis.len(),
            reference_len: closest_len(hypothesis.len(), references.iter().map(Vec::len)),
            ..BleuCounts::default()
        };
        for n in 1..=ORDERS {
            // An n-gram may be matched as often as the one reference that has it most often has it.
            let mut allowed: HashMap<&[&str], usize> = HashMap::new();
            for reference in &references {
                for (ngram, count) in ngrams(reference, n) {
                    let most = allowed.entry(ngram).or_default();
                    *most = count.max(*most);
                }
            }
            for (ngram, count) in ngrams(&hypothesis, n) {
                counts.total[n - 1] += count;
                counts.correct[n - 1] += count.min(allowed.get(ngram).copied().unwrap_or(0));
            }
        }
        counts
    }

    fn prepare(&self, line: &str) -> String {
        let line = self.case.apply(line);
        // The end is trimmed first because it changes tokens: a hyphen before a line end joins lines.
        self.tokenizer.tokenize(line.trim_end_matches(is_space)).into_owned()
    }

    fn signature(&self, references: &[Vec<&str>]) -> String {
        let first = references[0].len();
        let all_alike = references.iter().all(|segment| segment.len() == first);
        let number = if all_alike { first.to_string() } else { "var".to_string() };
        let (case, tokenizer) = (self.case.signature(), self.tokenizer.signature());
        format!("nrefs:{number}|case:{case}|eff:no|tok:{tokenizer}|smooth:exp")
    }
}

/// How often each n-gram of a text occurs.
fn ngrams<'a>(words: &'a [&'a str], n: usize) -> HashMap<&'a [&'a str], usize> {
    let mut counts = HashMap::new();
    for ngram in words.windows(n) {
        *counts.entry(ngram).or_default() += 1;
    }
    counts
}

/// The reference length closest to a hypothesis'; the shorter one of two that are equally close.
fn closest_len(hypothesis: usize, references: impl Iterator<Item = usize>) -> usize {
    references.min_by_key(|&len| (len.abs_diff(hypothesis), len)).expect("a segment has a reference")
}

fn score(counts: BleuCounts, signature: String) -> BleuScore {
    let brevity_penalty = brevity_penalty(counts.hypothesis_len, counts.reference_len);
    let precisions = precisions(&counts);
    let score = if precisions.contains(&0.0) {
        0.0
    } else {
        let mean_log = precisions.iter().map(|p| p.ln()).sum::<f64>() / ORDERS as f64;
        brevity_penalty * mean_log.exp()
    };
    BleuScore { score, precisions, brevity_penalty, counts, signature }
}

fn brevity_penalty(hypothesis_len: usize, reference_len: usize) -> f64 {
    if hypothesis_len >= reference_len {
        1.0
    } else if hypothesis_len == 0 {
        0.0
    } else {
        (1.0 - reference_len as f64 / hypothesis_len as f64).exp()
    }
}

fn precisions(counts: &BleuCounts) -> [f64; ORDERS] {
    let mut precisions = [0.0; ORDERS];
    // Smoothing is for a long n-gram that happens not to match, not for a text without one right word.
    if counts.correct == [0; ORDERS] {
        return precisions;
    }
    let mut halvings = 1.0;
    for ((precision, &correct), &total) in precisions.iter_mut().zip(&counts.correct).zip(&counts.total) {
        *precision = if total == 0 {
            0.0 // every hypothesis is shorter than n words: nothing to smooth
        } else if correct == 0 {
            halvings *= 2.0;
            100.0 / (halvings * total as f64)
        } else {
            100.0 * correct as f64 / total as f64
        };
    }
    precisions
}

/// sacreBLEU's line: `BLEU = 48.53 82.4/50.0/45.5/37.5 (BP = 0.943 ratio = 0.944 hyp_len = 17 ref_len = 18)`.
impl fmt::Display for BleuScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BleuCounts { hypothesis_len, reference_len, .. } = self.counts;
        let ratio = if reference_len == 0 { 0.0 } else { hypothesis_len as f64 / reference_len as f64 };
        let [p1, p2, p3, p4] = self.precisions;
        write!(f, "BLEU = {:.2} {p1:.1}/{p2:.1}/{p3:.1}/{p4:.1} ", self.score)?;
        write!(f, "(BP = {:.3} ratio = {ratio:.3} ", self.brevity_penalty)?;
        write!(f, "hyp_len = {hypothesis_len} ref_len = {reference_len})")
    }
}
