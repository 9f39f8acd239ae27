//! Softmax: each row becomes a probability distribution.
//!
//! ```text
//! y[j] = exp(x[j] − lse)
//! lse  = log Σ_j exp(x[j]) = m + log Σ_j exp(x[j] − m),  m = max_j x[j]
//! ```
//!
//! Shapes: `x`, `y` (n, c), one distribution per row. A row of −∞ alone (fully masked) gives zeros,
//! never NaN. Saved for the backward pass: `y`.

use super::matmul::Accumulate;
use crate::simd::{self, LANES, vectorized};
use crate::team;

/// Softmax of each row of `c` elements of `x`, into `y`.
///
/// # Panics
/// If `x` and `y` differ in length, or do not consist of whole rows.
#[track_caller]
pub fn softmax_forward(y: &mut [f32], x: &[f32], c: usize) {
    check("softmax", y.len(), x.len(), c);
    let rows = team::rows_per_task(c);
    team::for_each_chunk(y, rows * c, |task, y| {
        y.copy_from_slice(&x[task * rows * c..][..y.len()]);
        normalize_rows(y, c);
    });
}

/// The gradient of the loss by `x`, given `dy`, the gradient by `y`, and `y` itself.
///
/// # Panics
/// As [`softmax_forward`].
#[track_caller]
pub fn softmax_backward(dx: &mut [f32], dy: &[f32], y: &[f32], c: usize, accumulate: Accumulate) {
    check("softmax backward", dx.len(), dy.len(), c);
    check("softmax backward", dx.len(), y.len(), c);
    let rows = team::rows_per_task(c);
    team::for_each_chunk(dx, rows * c, |task, dx| {
        let part = task * rows * c..task * rows * c + dx.len();
        backward_rows(dx, &dy[part.clone()], &y[part], c, accumulate);
    });
}

#[track_caller]
fn check(operation: &str, len: usize, other: usize, c: usize) {
    assert!(
        len == other && c > 0 && len.is_multiple_of(c),
        "{operation}: {len} and {other} elements are not the same whole rows of {c}"
    );
}

vectorized! {
    fn normalize_rows(rows: &mut [f32], c: usize) {
        for row in rows.chunks_exact_mut(c) {
            let scale = exponentials(row).normalizer();
            row.iter_mut().for_each(|x| *x *= scale);
        }
    }
}

vectorized! {
    fn backward_rows(dx: &mut [f32], dy: &[f32], y: &[f32], c: usize, accumulate: Accumulate) {
        let rows = dx.chunks_exact_mut(c).zip(dy.chunks_exact(c)).zip(y.chunks_exact(c));
        for ((dx, dy), y) in rows {
            // Forward: y[j] = exp(x[j] − lse). So ∂y[j]/∂x[i] = y[j]·([i = j] − y[i]), and dx[i] =
            // Σ_j dy[j]·∂y[j]/∂x[i] = y[i]·(dy[i] − Σ_j dy[j]·y[j]). Where y is 0, so is dx.
            let mean = simd::dot(dy, y);
            for ((dx, dy), y) in dx.iter_mut().zip(dy).zip(y) {
                let gradient = y * (dy - mean);
                *dx = match accumulate {
                    Accumulate::Overwrite => gradient,
                    Accumulate::Add => *dx + gradient,
                };
            }
        }
    }
}

vectorized! {
    /// log Σ exp(x), −∞ for an empty row or one of −∞ alone.
    pub fn log_sum_exp(x: &[f32]) -> f32 {
        let shift = finite_or_zero(simd::max(x));
        shift + simd::sum_by(x, |x| simd::exp_of_negative(x - shift)).ln()
    }
}

vectorized! {
    /// The largest element, −∞ for an empty row. NaN is never the largest.
    pub fn largest(x: &[f32]) -> f32 {
        simd::max(x)
    }
}

vectorized! {
    /// The largest element, −∞ for an empty row; NaN if one is NaN.
    pub fn largest_or_nan(x: &[f32]) -> f32 {
        let (mut max, mut nan) = ([f32::NEG_INFINITY; LANES], [0_u32; LANES]);
        let (lanes, rest) = x.as_chunks::<LANES>();
        for x in lanes {
            for l in 0..LANES {
                max[l] = if x[l] > max[l] { x[l] } else { max[l] };
                nan[l] |= u32::from(x[l].is_nan());
            }
        }
        for (l, x) in rest.iter().enumerate() {
            max[l] = if *x > max[l] { *x } else { max[l] };
            nan[l] |= u32::from(x.is_nan());
        }
        if nan.iter().any(|nan| *nan != 0) { f32::NAN } else { simd::max(&max) }
    }
}

vectorized! {
    /// Replaces a row by the logarithm of its softmax, without computing the softmax: precise also
    /// where a probability rounds to 0. A row with NaN becomes NaN.
    pub fn log_softmax(row: &mut [f32]) {
        let log_sum = log_normalizer_of(row);
        row.iter_mut().for_each(|x| *x -= log_sum);
    }
}

vectorized! {
    /// What [`log_softmax`] subtracts; NaN if an element is NaN.
    pub fn log_normalizer(row: &[f32]) -> f32 {
        log_normalizer_of(row)
    }
}

#[inline(always)]
fn log_normalizer_of(row: &[f32]) -> f32 {
    let max = finite_or_zero(simd::max(row));
    // The largest has the probability 1 / Σ exp(x − max).
    max - (1.0 / simd::sum_by(row, |x| simd::exp_of_negative(x - max))).ln()
}

vectorized! {
    /// Replaces a row by its softmax: the bits of [`softmax_forward`].
    pub fn softmax_in_place(row: &mut [f32]) {
        let scale = exponentials(row).normalizer();
        row.iter_mut().for_each(|x| *x *= scale);
    }
}

vectorized! {
    /// 1 / Σ exp(x − max): the factor that makes exp(x − max) the softmax; 0 for a row of −∞ alone.
    pub fn softmax_scale(row: &[f32], max: f32) -> f32 {
        let shift = finite_or_zero(max);
        RowSum { max, sum: simd::sum_by(row, |x| simd::exp_of_negative(x - shift)) }.normalizer()
    }
}

vectorized! {
    /// x ← (x − max) / t.
    pub fn shift_and_divide(row: &mut [f32], max: f32, t: f32) {
        row.iter_mut().for_each(|x| *x = (*x - max) / t);
    }
}

vectorized! {
    /// Σ x, in f64.
    pub fn sum_in_f64(x: &[f32]) -> f64 {
        let mut sums = [0.0_f64; LANES];
        let (lanes, rest) = x.as_chunks::<LANES>();
        for x in lanes {
            for l in 0..LANES {
                sums[l] += f64::from(x[l]);
            }
        }
        sums.iter().sum::<f64>() + rest.iter().map(|x| f64::from(*x)).sum::<f64>()
    }
}

/// −∞ − −∞ would be NaN: a row of −∞ alone is shifted by 0 instead, and exp(−∞) is 0. NaN stays
/// NaN.
#[inline(always)]
fn finite_or_zero(max: f32) -> f32 {
    if max == f32::NEG_INFINITY { 0.0 } else { max }
}

/// The maximum and the sum of exponentials of a row, from [`exponentials`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RowSum {
    /// The largest x.
    pub max: f32,
    /// Σ exp(x − max): 0 for a row of −∞ alone, otherwise at least 1.
    pub sum: f32,
}

impl RowSum {
    /// log Σ exp(x), −∞ for a fully masked row.
    #[inline(always)]
    pub fn log_sum_exp(self) -> f32 {
        self.max + self.sum.ln()
    }

    /// The factor that makes the row sum to 1; 0 for a fully masked row.
    #[inline(always)]
    pub fn normalizer(self) -> f32 {
        if self.sum == 0.0 { 0.0 } else { 1.0 / self.sum }
    }
}

/// Replaces x by exp(x − max): the softmax up to a factor.
#[inline(always)]
pub(crate) fn exponentials(row: &mut [f32]) -> RowSum {
    let max = simd::max(row);
    let sum = exponentials_from(row, finite_or_zero(max));
    RowSum { max, sum }
}

/// Replaces x by exp(x − shift) and returns the sum. `shift` is at least about max x: exp(x −
/// shift) ≤ 1, so a long row cannot overflow f32.
#[inline(always)]
pub(crate) fn exponentials_from(row: &mut [f32], shift: f32) -> f32 {
    let (lanes, rest) = row.as_chunks_mut::<LANES>();
    let mut sums = [0.0; LANES];
    for x in lanes {
        for l in 0..LANES {
            x[l] = simd::exp_of_negative(x[l] - shift);
            sums[l] += x[l];
        }
    }
    // The remainder is padded to a full set of lanes: one vector instead of up to 15 scalar
    // exponentials.
    if !rest.is_empty() {
        let mut last = [f32::NEG_INFINITY; LANES];
        last[..rest.len()].copy_from_slice(rest);
        for l in 0..LANES {
            last[l] = simd::exp(last[l] - shift);
            sums[l] += last[l];
        }
        rest.copy_from_slice(&last[..rest.len()]);
    }
    simd::sum_lanes(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    const SHAPES: [(usize, usize); 6] = [(1, 1), (3, 2), (5, 16), (2, 17), (4, 131), (300, 100)];
    const MASKED: f32 = f32::NEG_INFINITY;

    fn random(n: usize, c: usize, spread: f32) -> Vec<f32> {
        let mut rng = Stream::new(11, (n * 1000 + c) as u64);
        (0..n * c).map(|_| (rng.uniform() - 0.5) * spread).collect()
    }

    fn forward(x: &[f32], c: usize) -> Vec<f32> {
        let mut y = vec![f32::NAN; x.len()];
        softmax_forward(&mut y, x, c);
        y
    }

    fn naive(x: &[f64]) -> Vec<f64> {
        let sum: f64 = x.iter().map(|x| x.exp()).sum();
        x.iter().map(|x| if sum > 0.0 { x.exp() / sum } else { 0.0 }).collect()
    }

    /// The notes' scores: the query [2,3,4,1] against two keys, before and after scaling; and [10,
    /// 1].
    #[test]
    fn the_worked_examples_give_their_weights() {
        for (x, want) in [
            ([6.0, 4.0], [0.880797, 0.119203]),
            ([3.0, 2.0], [0.731059, 0.268941]),
            ([10.0, 1.0], [0.999877, 0.000123]),
        ] {
            for (y, want) in forward(&x, 2).iter().zip(want) {
                assert!((y - want).abs() < 1e-6, "softmax {x:?}: {y} is not {want}");
            }
        }
    }

    #[test]
    fn forward_agrees_with_the_definition_for_every_shape() {
        for (n, c) in SHAPES {
            let mut x = random(n, c, 20.0);
            // Some masked elements, and a row with nothing else.
            x.iter_mut().step_by(5).for_each(|x| *x = MASKED);
            x[..c].fill(MASKED);
            let y = forward(&x, c);
            for (x, y) in x.chunks_exact(c).zip(y.chunks_exact(c)) {
                let x: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
                for (y, want) in y.iter().zip(naive(&x)) {
                    // x − max is rounded: up to half an ULP of 20, which the exponential makes
                    // relative.
                    assert!(
                        (f64::from(*y) - want).abs() <= 3e-6 * want,
                        "({n},{c}): {y} is not {want}"
                    );
                }
            }
        }
    }

    #[test]
    fn backward_agrees_with_central_differences_and_is_zero_where_masked() {
        for (n, c) in SHAPES {
            let (mut x, dy) = (random(n, c, 4.0), random(n + 1, c, 2.0));
            x.iter_mut().step_by(5).for_each(|x| *x = MASKED);
            x[..c].fill(MASKED);
            let dy = &dy[..n * c];
            let y = forward(&x, c);
            let (mut dx, mut sum) = (vec![f32::NAN; n * c], vec![1.0; n * c]);
            softmax_backward(&mut dx, dy, &y, c, Accumulate::Overwrite);
            softmax_backward(&mut sum, dy, &y, c, Accumulate::Add);
            for at in (0..n * c).step_by((n * c).div_ceil(200)) {
                let row = at / c * c..(at / c + 1) * c;
                let loss = |by: f64| -> f64 {
                    let mut x: Vec<f64> = x[row.clone()].iter().map(|x| f64::from(*x)).collect();
                    x[at % c] += by;
                    naive(&x).iter().zip(&dy[row.clone()]).map(|(y, dy)| y * f64::from(*dy)).sum()
                };
                let want = (loss(1e-5) - loss(-1e-5)) / 2e-5;
                assert!(
                    (f64::from(dx[at]) - want).abs() < 1e-6,
                    "({n},{c}) dx[{at}] = {}, slope {want}",
                    dx[at]
                );
                assert!(x[at] != MASKED || dx[at] == 0.0);
                assert_eq!(sum[at], 1.0 + dx[at]);
            }
        }
    }

    #[test]
    fn log_sum_exp_does_not_overflow_and_propagates_nan() {
        assert_eq!(log_sum_exp(&[]), f32::NEG_INFINITY);
        assert_eq!(log_sum_exp(&[MASKED; 20]), f32::NEG_INFINITY);
        assert_eq!(log_sum_exp(&[1e4; 4]), 1e4 + 4.0_f32.ln());
        assert_eq!(log_sum_exp(&[-1e4, MASKED]), -1e4);
        assert!((log_sum_exp(&[0.0; 100]) - 100.0_f32.ln()).abs() < 1e-6);
        assert!(log_sum_exp(&[f32::NAN; 20]).is_nan());
        assert!(log_sum_exp(&[1.0, f32::NAN]).is_nan());
        assert!(forward(&[1.0, f32::NAN, MASKED], 3)[0].is_nan());
    }

    #[test]
    fn a_row_in_place_has_the_bits_of_the_softmax_and_parts_of_it_agree() {
        for (n, c) in SHAPES {
            let mut x = random(n, c, 20.0);
            x.iter_mut().step_by(5).for_each(|x| *x = MASKED);
            x[..c].fill(MASKED);
            for row in x.chunks_exact(c) {
                let want = forward(row, c);
                let mut got = row.to_vec();
                softmax_in_place(&mut got);
                assert_eq!(got, want, "({n},{c})");
                let max = largest_or_nan(row);
                let scale = softmax_scale(row, max);
                let one = |x: &f32| simd::exp(x - finite_or_zero(max)) * scale;
                assert_eq!(row.iter().map(one).collect::<Vec<_>>(), want, "({n},{c})");
                let sum: f64 = row.iter().map(|x| f64::from(x.max(-9.0))).sum();
                let finite: Vec<f32> = row.iter().map(|x| x.max(-9.0)).collect();
                assert!((sum_in_f64(&finite) - sum).abs() < 1e-9);
                if max == MASKED {
                    continue;
                }
                let mut logs = row.to_vec();
                let log_sum = log_normalizer(row);
                log_softmax(&mut logs);
                assert!(logs.iter().zip(row).all(|(log, x)| *log == x - log_sum), "({n},{c})");
            }
        }
        assert!(log_normalizer(&[1.0, f32::NAN]).is_nan());
        assert!(largest_or_nan(&[0.0; 40].map(|_| f32::NAN)).is_nan());
        assert_eq!(largest_or_nan(&[]), f32::NEG_INFINITY);
    }

    #[test]
    fn large_scores_do_not_overflow() {
        assert_eq!(forward(&[1e4, -1e4, 1e4], 3), [0.5, 0.0, 0.5]);
    }

    #[test]
    #[should_panic(expected = "softmax: 6 and 4 elements are not the same whole rows of 2")]
    fn shapes_that_do_not_fit_panic_and_name_both() {
        softmax_forward(&mut [0.0; 6], &[0.0; 4], 2);
    }
}
