//! What BLEU and chrF have in common: counts per line that add up to those of the corpus.

use super::EvalError;
use std::collections::HashMap;
use std::hash::Hash;

/// A corpus metric that depends only on sums over its lines.
pub trait Metric {
    /// Its name, as sacreBLEU prints it: `BLEU`, `chrF2++`.
    fn name(&self) -> String;

    /// Its settings in sacreBLEU's notation, without the number of references; see [`signature`].
    fn settings(&self) -> String;

    /// The counts of one line against its references, at least one; always the same number.
    fn count(&self, hypothesis: &str, references: &[&str]) -> Vec<u64>;

    /// The score, from 0 to 100, of counts or of sums of counts.
    fn score(&self, counts: &[u64]) -> f64;
}

/// The counts of a corpus, line by line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    width: usize,
    numbers: Vec<u64>,
}

impl Counts {
    /// The number of lines.
    pub fn lines(&self) -> usize {
        self.numbers.len() / self.width
    }

    /// The counts of a line.
    pub fn line(&self, i: usize) -> &[u64] {
        &self.numbers[i * self.width..(i + 1) * self.width]
    }

    /// The sums over these lines; a line may occur several times.
    pub fn sum(&self, lines: impl Iterator<Item = usize>) -> Vec<u64> {
        let mut sums = vec![0; self.width];
        for i in lines {
            sums.iter_mut().zip(self.line(i)).for_each(|(sum, count)| *sum += count);
        }
        sums
    }

    /// The sums over all lines.
    pub fn total(&self) -> Vec<u64> {
        self.sum(0..self.lines())
    }
}

/// Counts every line of a corpus; `references[i]` are the references of `hypotheses[i]`, at least
/// one.
/// # Errors
/// If there are no hypotheses, or not at least one reference for each.
pub fn count_lines(
    metric: &dyn Metric,
    hypotheses: &[&str],
    references: &[Vec<&str>],
) -> Result<Counts, EvalError> {
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
    let mut numbers = Vec::new();
    for (hypothesis, references) in hypotheses.iter().zip(references) {
        numbers.extend(metric.count(hypothesis, references));
    }
    Ok(Counts { width: numbers.len() / hypotheses.len(), numbers })
}

/// How a score was computed, in sacreBLEU's notation without its version:
/// `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp`. `extra` goes behind the number of references,
/// where sacreBLEU names resampling: `bs:1000|seed:1`.
pub fn signature(metric: &dyn Metric, references: &[Vec<&str>], extra: Option<&str>) -> String {
    let first = references.first().map_or(0, Vec::len);
    let all_alike = references.iter().all(|line| line.len() == first);
    let number = if all_alike { first.to_string() } else { "var".to_string() };
    let extra = extra.map_or(String::new(), |extra| format!("{extra}|"));
    format!("nrefs:{number}|{extra}{}", metric.settings())
}

/// How often each n-gram of a sequence occurs.
pub(super) fn ngrams<T: Eq + Hash>(items: &[T], n: usize) -> HashMap<&[T], u64> {
    let mut counts = HashMap::new();
    for ngram in items.windows(n) {
        *counts.entry(ngram).or_default() += 1;
    }
    counts
}
