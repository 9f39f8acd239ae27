//! Unigram (Kudo 2018): start with many pieces, estimate their probabilities by
//! expectation-maximization, and prune those whose removal costs the least likelihood, until the
//! vocabulary has the requested size.
//!
//! Bit-identical on every machine: words are sorted, sums run over a fixed number of parts in
//! order, ties are broken by the order of the pieces.

use super::count::Words;
use super::lattice::{GAP, Lattice, Trie};
use super::seeds::substrings;
use super::{Shortage, Stage, TokenizerSpec, required_vocab_size, too_large, too_small};
use crate::error::{Result, VocabContent};
use crate::text::blocks::in_parallel;
use serde_json::{Value, json};

/// The fraction of pieces that survives a round of pruning.
const KEPT: f64 = 0.75;
/// EM rounds between prunings.
const ROUNDS: usize = 2;
/// A piece with a lower expected count is dropped.
const EXPECTED: f64 = 0.5;
/// Parts over which sums are taken, for any number of threads.
const PARTS: usize = 8;

/// Pieces as character numbers, single characters first, with their log-probabilities.
struct Pieces {
    pieces: Vec<Vec<u32>>,
    scores: Vec<f64>,
}

impl Pieces {
    fn select(&self, indices: &[usize]) -> Self {
        Self {
            pieces: indices.iter().map(|i| self.pieces[*i].clone()).collect(),
            scores: indices.iter().map(|i| self.scores[*i]).collect(),
        }
    }
}

struct Corpus {
    words: Vec<(Vec<u32>, u64)>,
    alphabet: Vec<char>,
}

/// Learns the model: pieces with log-probabilities.
pub(super) fn learn(
    spec: &TokenizerSpec,
    words: &Words,
    progress: &mut dyn FnMut(Stage),
) -> Result<Value> {
    let special = spec.special_tokens();
    let requested = required_vocab_size(spec)?;
    let corpus = Corpus::new(words, spec.min_frequency);
    let minimum = special.len() + corpus.alphabet.len();
    if requested < minimum {
        return Err(too_small(requested, minimum, VocabContent::Characters));
    }
    let seeds = corpus.seeds(spec.min_frequency.max(2), &special);
    let learned = corpus.learn(&seeds, requested - special.len(), progress);
    if learned.pieces.len() + special.len() < requested && spec.shortage == Shortage::Refuse {
        // EM dropped more pieces than pruning asked for. The largest size that works is found by
        // requesting what came out until it comes out.
        let mut available = learned.pieces.len();
        loop {
            let again = corpus.learn(&seeds, available, progress).pieces.len();
            if again >= available {
                return Err(too_large(requested, special.len() + available));
            }
            available = again;
        }
    }
    let unknown = spec.purpose.unknown(spec.kind);
    let unk_id = special.iter().position(|token| Some(token.as_str()) == unknown);
    let mut vocabulary: Vec<(String, f64)> =
        special.iter().map(|token| (token.clone(), 0.0)).collect();
    vocabulary.extend(
        learned
            .pieces
            .iter()
            .zip(&learned.scores)
            .map(|(piece, score)| (corpus.text(piece), *score)),
    );
    Ok(json!({
        "type": "Unigram", "unk_id": unk_id, "vocab": vocabulary, "byte_fallback": false,
    }))
}

impl Corpus {
    fn new(words: &Words, min_frequency: u64) -> Self {
        let alphabet = words.alphabet(min_frequency.max(1));
        let number = |c: char| alphabet.binary_search(&c).map_or(GAP, |i| i as u32);
        let words = words
            .words
            .iter()
            .map(|(word, count)| (word.chars().map(number).collect(), *count))
            .collect();
        Self { words, alphabet }
    }

    fn text(&self, piece: &[u32]) -> String {
        piece.iter().map(|c| self.alphabet[*c as usize]).collect()
    }

    /// Every character, and every substring that is frequent enough, with probabilities
    /// proportional to the text they cover.
    fn seeds(&self, least: u64, special: &[String]) -> Pieces {
        let mut counts = vec![0_u64; self.alphabet.len()];
        for (word, count) in &self.words {
            word.iter().filter(|c| **c != GAP).for_each(|c| counts[*c as usize] += count);
        }
        let single = counts.iter().enumerate().map(|(c, count)| (vec![c as u32], *count));
        let longer = substrings(&self.words, least).into_iter();
        // A special token in the text is matched before pieces are: such a piece would be dead.
        let longer = longer.filter(|(piece, _)| !special.contains(&self.text(piece)));
        let weighted = |(piece, count): (Vec<u32>, u64)| {
            let weight = (piece.len() as u64 * count) as f64;
            (piece, weight)
        };
        let (pieces, weights): (Vec<_>, Vec<f64>) = single.chain(longer).map(weighted).unzip();
        let all: f64 = weights.iter().sum();
        Pieces { scores: weights.iter().map(|weight| (weight / all).ln()).collect(), pieces }
    }

    /// The best `size` pieces, or fewer if EM drops more, the most likely first.
    fn learn(&self, seeds: &Pieces, size: usize, progress: &mut dyn FnMut(Stage)) -> Pieces {
        // 10% more than requested: the last cut is by probability.
        let nearly = size + size / 10;
        let mut pieces = Pieces { pieces: seeds.pieces.clone(), scores: seeds.scores.clone() };
        let begun = pieces.pieces.len();
        loop {
            for _ in 0..ROUNDS {
                pieces = self.maximize(pieces);
            }
            progress(Stage::Learning(
                size * (begun - pieces.pieces.len()) / begun.saturating_sub(size).max(1),
                size,
            ));
            if pieces.pieces.len() <= nearly {
                break;
            }
            pieces = self.prune(pieces, nearly);
        }
        let mut order: Vec<usize> = (0..pieces.pieces.len()).collect();
        // Stable: equal scores stay in the order of the pieces.
        order.sort_by(|a, b| pieces.scores[*b].total_cmp(&pieces.scores[*a]));
        let is_single = |i: &usize| pieces.pieces[*i].len() == 1;
        let mut longer = (size).saturating_sub(self.alphabet.len());
        order.retain(|i| {
            let keep = is_single(i) || longer > 0;
            longer -= usize::from(keep && !is_single(i));
            keep
        });
        pieces.select(&order)
    }

    /// Runs `work` on each part of the words with all threads; results in the order of the parts.
    fn in_parts<T: Send>(&self, work: impl Fn(&[(Vec<u32>, u64)]) -> T + Sync) -> Vec<T> {
        let words = self.words.len();
        in_parallel(PARTS, |i| work(&self.words[words * i / PARTS..words * (i + 1) / PARTS]))
    }

    /// One EM round: expected counts under the old probabilities, new probabilities from them.
    /// Characters are never dropped.
    fn maximize(&self, old: Pieces) -> Pieces {
        let trie = Trie::new(old.pieces.iter().map(Vec::as_slice));
        let parts = self.in_parts(|words| {
            let (mut lattice, mut expected) = (Lattice::default(), vec![0.0; old.pieces.len()]);
            for (word, count) in words {
                lattice.expect(word, *count as f64, &trie, &old.scores, &mut expected);
            }
            expected
        });
        let expected: Vec<f64> =
            (0..old.pieces.len()).map(|i| parts.iter().map(|part| part[i]).sum()).collect();
        let (mut pieces, mut counts) = (Vec::new(), Vec::new());
        for (piece, count) in old.pieces.into_iter().zip(expected) {
            if piece.len() == 1 || count >= EXPECTED {
                pieces.push(piece);
                counts.push(f64::max(count, EXPECTED));
            }
        }
        // ψ instead of ln: the mean of ln p under a Dirichlet posterior, which penalises rare
        // pieces.
        let all = digamma(counts.iter().sum());
        Pieces { pieces, scores: counts.iter().map(|count| digamma(*count) - all).collect() }
    }

    /// Drops the pieces whose removal costs the least likelihood: a quarter of them, but keeps at
    /// least `least`.
    fn prune(&self, old: Pieces, least: usize) -> Pieces {
        let trie = Trie::new(old.pieces.iter().map(Vec::as_slice));
        let parts = self.in_parts(|words| {
            let (mut lattice, mut counts) = (Lattice::default(), vec![0_u64; old.pieces.len()]);
            for (word, count) in words {
                let best = lattice.best(word, &trie, &old.scores, GAP);
                best.iter()
                    .filter(|piece| **piece != GAP)
                    .for_each(|piece| counts[*piece as usize] += count);
            }
            counts
        });
        let used: Vec<f64> = (0..old.pieces.len())
            .map(|i| parts.iter().map(|part| part[i]).sum::<u64>() as f64)
            .collect();
        let all: f64 = used.iter().sum();
        let mut lattice = Lattice::default();
        // The likelihood lost with piece i: its uses would be segmented by the next best path.
        let mut loss = |i: usize| {
            let others = lattice.best(&old.pieces[i], &trie, &old.scores, i as u32);
            let with = used[i].ln() - all.ln();
            let all_without = (all + used[i] * (others.len() as f64 - 1.0)).ln();
            let without: f64 =
                others.iter().map(|o| (used[*o as usize] + used[i]).ln() - all_without).sum();
            used[i] * (with - without)
        };
        let (single, longer): (Vec<usize>, Vec<usize>) =
            (0..old.pieces.len()).partition(|i| old.pieces[*i].len() == 1);
        let mut losses: Vec<(f64, usize)> =
            longer.into_iter().filter(|i| used[*i] > 0.0).map(|i| (loss(i), i)).collect();
        // Stable: equal losses stay in the order of the pieces.
        losses.sort_by(|a, b| b.0.total_cmp(&a.0));
        let kept =
            least.max((old.pieces.len() as f64 * KEPT) as usize).saturating_sub(single.len());
        let mut kept: Vec<usize> =
            single.into_iter().chain(losses.into_iter().take(kept).map(|(_, i)| i)).collect();
        kept.sort_unstable();
        old.select(&kept)
    }
}

/// ψ(x), the derivative of ln Γ: by its recurrence up to 7, then by its asymptotic series.
fn digamma(mut x: f64) -> f64 {
    let mut result = 0.0;
    while x < 7.0 {
        result -= 1.0 / x;
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    result + x.ln()
        - 0.5 / x
        - inverse
            * (1.0 / 12.0 - inverse * (1.0 / 120.0 - inverse * (1.0 / 252.0 - inverse / 240.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digamma_has_its_known_values() {
        // ψ(1) = −γ, ψ(1/2) = −γ − 2 ln 2, and ψ(x + 1) = ψ(x) + 1/x.
        let gamma = 0.577_215_664_901_532_9;
        assert!((digamma(1.0) + gamma).abs() < 1e-9);
        assert!((digamma(0.5) + gamma + 2.0 * 2_f64.ln()).abs() < 1e-9);
        for x in [0.7, 3.3, 6.99, 7.0, 123.0] {
            assert!((digamma(x + 1.0) - digamma(x) - 1.0 / x).abs() < 1e-8, "{x}");
        }
    }
}
