//! Sampling from a large vocabulary: the token that [`SamplingFilter::apply`], [`probabilities`]
//! and [`sample_categorical`] give, in a few passes over the row.
//!
//! ```text
//! temperature          one pass over v logits
//! top-k, top-p         the largest are collected; chunks without any are passed over
//! softmax, sample      of what is left; of the whole row only if nothing is excluded
//! ```
//!
//! The bits are those of the definition: an excluded token has probability 0, and adding 0 changes
//! no sum, as long as the others keep their lanes.
//!
//! [`probabilities`]: super::sampling::probabilities

use super::sampling::{MASS_ROUNDING, SamplingFilter, larger_first, sample_categorical};
use limpid_tensor::kernels::softmax::{
    largest, shift_and_divide, softmax_in_place, softmax_scale, sum_in_f64,
};
use limpid_tensor::simd::{self, LANES};

/// Logits that are looked at together.
const CHUNK: usize = 256;

/// Tokens that top-p sorts first; most distributions need no more.
const FIRST_SORTED: usize = 64;

impl SamplingFilter {
    /// Samples from one row of logits, whose largest is at `best`; the row is overwritten.
    pub(super) fn sample(&self, logits: &mut [f32], best: usize, u: f32) -> usize {
        if self.temperature == 0.0 {
            return best;
        }
        if self.temperature != 1.0 {
            shift_and_divide(logits, logits[best], self.temperature);
            logits[best] = 0.0;
        }
        let mut kept = self.top_k.filter(|k| *k < logits.len()).map(|k| largest_k(logits, k));
        if self.top_p < 1.0 {
            kept = Some(nucleus(logits, kept, logits[best], self.top_p));
        }
        match kept {
            Some(mut kept) => {
                kept.sort_unstable();
                sample_of(logits, &kept, logits[best], u)
            }
            None => {
                softmax_in_place(logits);
                sample_of_row(logits, u)
            }
        }
    }
}

/// The k largest, in any order; of equal ones those with the smaller index.
fn largest_k(logits: &[f32], k: usize) -> Vec<u32> {
    let mut kept: Vec<u32> = Vec::with_capacity((4 * k).max(CHUNK));
    // A logit that is not above this one is not among the largest.
    let mut bar = None;
    let shrink = |kept: &mut Vec<u32>, bar: &mut Option<f32>| {
        if kept.len() > k {
            kept.select_nth_unstable_by(k - 1, |a, b| larger_first(logits, *a, *b));
            kept.truncate(k);
            *bar = Some(logits[kept[k - 1] as usize]);
        }
    };
    for (chunk, first) in logits.chunks(CHUNK).zip((0_u32..).step_by(CHUNK)) {
        if bar.is_some_and(|bar| largest(chunk) < bar) {
            continue;
        }
        for (j, z) in (first..).zip(chunk) {
            if bar.is_none_or(|bar| z.total_cmp(&bar).is_gt()) {
                kept.push(j);
                if kept.len() == kept.capacity() {
                    shrink(&mut kept, &mut bar);
                }
            }
        }
    }
    shrink(&mut kept, &mut bar);
    kept
}

/// The fewest of the largest (of those in `among`) whose probabilities sum to at least `p`.
fn nucleus(logits: &[f32], among: Option<Vec<u32>>, max: f32, p: f32) -> Vec<u32> {
    let scale = match &among {
        Some(among) => scale_of(logits, &sorted(among), max),
        None => softmax_scale(logits, max),
    };
    let candidates = among.as_ref().map_or(logits.len(), Vec::len);
    let (mut kept, mut mass, mut width) = (0, 0.0_f64, FIRST_SORTED);
    loop {
        let mut order = match &among {
            Some(among) => among.clone(),
            None => largest_k(logits, width.min(candidates)),
        };
        order.retain(|j| logits[*j as usize] > f32::NEG_INFINITY);
        let sorted = width.min(order.len());
        if sorted < order.len() {
            order.select_nth_unstable_by(sorted - 1, |a, b| larger_first(logits, *a, *b));
        }
        order[..sorted].sort_unstable_by(|a, b| larger_first(logits, *a, *b));
        while kept < sorted {
            if kept > 0 && mass >= f64::from(p) - MASS_ROUNDING {
                order.truncate(kept);
                return order;
            }
            mass += f64::from(simd::exp(logits[order[kept] as usize] - max) * scale);
            kept += 1;
        }
        if width >= candidates {
            return order;
        }
        // The order is strict: what was sorted before comes first again.
        width *= 8;
    }
}

fn sorted(indices: &[u32]) -> Vec<u32> {
    let mut sorted = indices.to_vec();
    sorted.sort_unstable();
    sorted
}

/// The factor that makes exp(z − max) of these logits probabilities, given by ascending index.
fn scale_of(logits: &[f32], kept: &[u32], max: f32) -> f32 {
    let mut sums = [0.0; LANES];
    for j in kept {
        sums[*j as usize % LANES] += simd::exp(logits[*j as usize] - max);
    }
    1.0 / simd::sum_lanes(sums)
}

/// Samples from the softmax of these logits, given by ascending index.
fn sample_of(logits: &[f32], kept: &[u32], max: f32, u: f32) -> usize {
    let scale = scale_of(logits, kept, max);
    let (mut cumulative, mut last) = (0.0_f64, 0);
    for j in kept {
        let p = simd::exp(logits[*j as usize] - max) * scale;
        cumulative += f64::from(p);
        if u < cumulative as f32 {
            return *j as usize;
        }
        if p > 0.0 {
            last = *j as usize;
        }
    }
    last
}

/// [`sample_categorical`] of probabilities that sum to about 1. It adds up one after another;
/// here, chunk after chunk, which differs by less than `slack`, and only where that could decide it
/// is asked itself.
fn sample_of_row(p: &[f32], u: f32) -> usize {
    let slack = p.len() as f64 * 2.0 * f64::EPSILON;
    let is_below = |cumulative: f64| (cumulative + slack) as f32 <= u;
    let is_above = |cumulative: f64| u < (cumulative - slack) as f32;
    let mut cumulative = 0.0;
    for (chunk, first) in p.chunks(CHUNK).zip((0..).step_by(CHUNK)) {
        let after = cumulative + sum_in_f64(chunk);
        if is_below(after) {
            cumulative = after;
            continue;
        }
        for (j, p) in (first..).zip(chunk) {
            cumulative += f64::from(*p);
            if is_above(cumulative) {
                return j;
            }
            if !is_below(cumulative) {
                break;
            }
        }
        break;
    }
    sample_categorical(p, u)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::argmax;
    use crate::generate::sampling::probabilities;
    use limpid_tensor::rng::Stream;

    fn by_definition(filter: &SamplingFilter, logits: &[f32], u: f32) -> usize {
        let mut row = logits.to_vec();
        filter.apply(&mut row);
        sample_categorical(&probabilities(&row), u)
    }

    #[test]
    fn the_token_is_that_of_the_definition_for_every_filter_and_shape_of_row() {
        let mut rng = Stream::new(5, 2);
        for round in 0..400 {
            let v = [1, 2, 17, 255, 256, 257, 1_000, 5_000][rng.below(8)];
            // Flat and steep rows, rows with ties, and rows with excluded tokens.
            let spread = [0.01, 1.0, 8.0, 60.0][rng.below(4)];
            let (ties, excluded) = (rng.below(2) == 0, rng.below(3));
            let mut logits: Vec<f32> = (0..v)
                .map(|_| {
                    let z = spread * rng.normal();
                    let z = if ties { z.round() } else { z };
                    if rng.below(3) < excluded { f32::NEG_INFINITY } else { z }
                })
                .collect();
            let at = rng.below(v);
            logits[at] = spread;
            let filter = SamplingFilter {
                temperature: [0.0, 0.5, 1.0, 1.7][rng.below(4)],
                top_k: [None, Some(1), Some(5), Some(50), Some(700)][rng.below(5)],
                top_p: [0.0, 0.3, 0.9, 0.999, 1.0][rng.below(5)],
            };
            for u in [0.0, rng.uniform(), rng.uniform(), 0.999_999_94] {
                let want = by_definition(&filter, &logits, u);
                let mut row = logits.clone();
                let got = filter.sample(&mut row, argmax(&logits), u);
                assert_eq!(got, want, "round {round}: {filter:?}, {v} tokens, u = {u}");
            }
        }
    }

    #[test]
    fn a_sum_that_rounding_decides_is_added_up_as_the_definition_does() {
        let mut rng = Stream::new(6, 1);
        let mut p: Vec<f32> = (0..3_000).map(|_| 4.0 * rng.normal()).collect();
        softmax_in_place(&mut p);
        let mut cumulative = 0.0;
        for x in &p {
            cumulative += f64::from(*x);
            // The very sums, and their neighbours.
            let u = cumulative as f32;
            for u in [u.next_down(), u, u.next_up()].map(|u| u.min(1.0_f32.next_down())) {
                assert_eq!(sample_of_row(&p, u), sample_categorical(&p, u));
            }
        }
    }
}
