//! Layer normalization: each row gets mean 0 and variance 1, then a learned scale γ and shift β.
//!
//! ```text
//! x = a + b                                   (the residual connection, optional)
//! μ = Σ x / c        σ² = Σ (x − μ)² / c        x̂ = (x − μ) · rstd,  rstd = 1/√(σ² + ε)
//! y = γ · x̂ + β
//! ```
//!
//! Shapes: `a`, `b`, `x`, `y` (n, c) with n = every position of every sequence; `gamma`, `beta`
//! (c). Saved for the backward pass: `x` (n, c), `mean`, `rstd` (n). Reference: Ba, Kiros and
//! Hinton 2016.
//!
//! Adding the residual and normalizing the sum is one pass over memory, and so is the backward
//! pass.

use crate::simd::{LANES, sum_by, sum_lanes, vectorized};
use crate::team::{self, Parts};

/// The input of a normalization.
#[derive(Clone, Copy)]
pub enum NormInput<'a> {
    /// x itself.
    Plain(&'a [f32]),
    /// x = a + b, which is written to `sum`.
    Residual(&'a [f32], &'a [f32]),
}

impl NormInput<'_> {
    /// The number of elements of x.
    #[track_caller]
    pub(super) fn check(&self, sum: usize) -> usize {
        match self {
            NormInput::Plain(x) => x.len(),
            NormInput::Residual(a, b) => {
                let (a, b) = (a.len(), b.len());
                assert_eq!(a, b, "norm: a residual of {a} and {b} elements");
                assert_eq!(sum, a, "norm: length of the sum");
                a
            }
        }
    }
}

/// Normalizes each row of the input into `y` (n, c), and saves its `mean` and `rstd` (n).
///
/// With [`NormInput::Residual`], x is written to `sum` (n, c); with [`NormInput::Plain`], `sum` is
/// empty.
///
/// # Panics
/// If the lengths do not fit.
#[track_caller]
pub fn layer_norm_forward(
    y: &mut [f32],
    sum: &mut [f32],
    mean: &mut [f32],
    rstd: &mut [f32],
    input: NormInput,
    gamma: &[f32],
    beta: &[f32],
    eps: f32,
) {
    let (c, n) = (gamma.len(), mean.len());
    let x_len = input.check(sum.len());
    assert!(
        x_len == n * c && y.len() == x_len && beta.len() == c && rstd.len() == n,
        "layer norm: {x_len} elements are not {n} rows of {c}"
    );
    let rows = team::rows_per_task(c);
    let (y, sum, mean, rstd) = (Parts::new(y), Parts::new(sum), Parts::new(mean), Parts::new(rstd));
    team::run(n.div_ceil(rows), |task| {
        let (first, count) = (task * rows, rows.min(n - task * rows));
        // SAFETY: rows first .. first + count of each output belong to this task alone.
        let (y, mean, rstd) = unsafe {
            (y.part(first * c, count * c), mean.part(first, count), rstd.part(first, count))
        };
        let range = first * c..(first + count) * c;
        match input {
            NormInput::Plain(x) => rows_forward(y, mean, rstd, &x[range], gamma, beta, eps),
            NormInput::Residual(a, b) => {
                // SAFETY: as above.
                let sum = unsafe { sum.part(first * c, count * c) };
                add_rows(sum, &a[range.clone()], &b[range]);
                rows_forward(y, mean, rstd, sum, gamma, beta, eps);
            }
        }
    });
}

vectorized! {
    pub(super) fn add_rows(sum: &mut [f32], a: &[f32], b: &[f32]) {
        sum.iter_mut().zip(a).zip(b).for_each(|((sum, a), b)| *sum = a + b);
    }
}

vectorized! {
    fn rows_forward(
        y: &mut [f32],
        mean: &mut [f32],
        rstd: &mut [f32],
        x: &[f32],
        gamma: &[f32],
        beta: &[f32],
        eps: f32,
    ) {
        let c = gamma.len();
        let rows = x.chunks_exact(c).zip(y.chunks_exact_mut(c)).zip(mean).zip(rstd);
        for (((x, y), mean), rstd) in rows {
            let m = sum_by(x, |x| x) / c as f32;
            // Two passes: E[x²] − E[x]² cancels badly when the mean is large.
            let variance = sum_by(x, |x| (x - m) * (x - m)) / c as f32;
            let r = 1.0 / (variance + eps).sqrt();
            for (((y, x), gamma), beta) in y.iter_mut().zip(x).zip(gamma).zip(beta) {
                *y = gamma * ((x - m) * r) + beta;
            }
            (*mean, *rstd) = (m, r);
        }
    }
}

/// Number of partial sums of dγ and dβ for n rows: a function of n alone.
pub fn partial_sums(n: usize) -> usize {
    n.div_ceil(rows_per_partial(n)).max(1)
}

pub(super) fn rows_per_partial(n: usize) -> usize {
    n.div_ceil(16).max(8)
}

/// Writes dx (n, c), dγ and dβ (c), given `dy`, the gradient by `y`.
///
/// `dsum` (n, c) or empty: the gradient by x from its other uses, which is added to dx. `partial`
/// is scratch of 2·c·[`partial_sums`]`(n)` elements.
///
/// # Panics
/// If the lengths do not fit.
#[track_caller]
pub fn layer_norm_backward(
    dx: &mut [f32],
    dgamma: &mut [f32],
    dbeta: &mut [f32],
    partial: &mut [f32],
    dy: &[f32],
    dsum: &[f32],
    x: &[f32],
    gamma: &[f32],
    mean: &[f32],
    rstd: &[f32],
) {
    let (c, n) = (gamma.len(), mean.len());
    assert!(
        dx.len() == n * c && dy.len() == n * c && x.len() == n * c,
        "layer norm backward: not {n} rows of {c}"
    );
    assert!(
        dsum.is_empty() || dsum.len() == n * c,
        "layer norm backward: dsum is not {n} rows of {c}"
    );
    let (rows, count) = (rows_per_partial(n), partial_sums(n));
    assert_eq!(partial.len(), 2 * c * count, "layer norm backward: scratch");
    let (dx, partials) = (Parts::new(dx), Parts::new(partial));
    team::run(count, |task| {
        let (first, last) = (n.min(task * rows), n.min((task + 1) * rows));
        // SAFETY: each task has its own partial sums and its own rows.
        let (own, dx) =
            unsafe { (partials.part(task * 2 * c, 2 * c), dx.part(first * c, (last - first) * c)) };
        own.fill(0.0);
        let (dgamma, dbeta) = own.split_at_mut(c);
        let (range, rest) = (first * c..last * c, first..last);
        let dsum = if dsum.is_empty() { dsum } else { &dsum[range.clone()] };
        rows_backward(
            dx,
            dgamma,
            dbeta,
            &dy[range.clone()],
            dsum,
            &x[range],
            gamma,
            &mean[rest.clone()],
            &rstd[rest],
        );
    });
    // Partial sums in a fixed order: the same bits for any number of threads.
    for (at, out) in [dgamma, dbeta].into_iter().enumerate() {
        out.fill(0.0);
        for part in partial.chunks_exact(2 * c) {
            out.iter_mut().zip(&part[at * c..]).for_each(|(out, part)| *out += part);
        }
    }
}

vectorized! {
    fn rows_backward(
        dx: &mut [f32],
        dgamma: &mut [f32],
        dbeta: &mut [f32],
        dy: &[f32],
        dsum: &[f32],
        x: &[f32],
        gamma: &[f32],
        mean: &[f32],
        rstd: &[f32],
    ) {
        let c = gamma.len();
        for (i, dx) in dx.chunks_exact_mut(c).enumerate() {
            let (dy, x) = (&dy[i * c..(i + 1) * c], &x[i * c..(i + 1) * c]);
            let (mean, rstd) = (mean[i], rstd[i]);
            // Forward: y = γ·x̂ + β. So dγ += dy·x̂, dβ += dy, and dx̂ = dy·γ. x̂ depends on x
            // directly, through μ and through σ; the last two paths take away from dx̂ its mean and
            // its projection on x̂:  dx = rstd · (dx̂ − mean(dx̂) − x̂ · mean(dx̂·x̂)).
            let (mut sum, mut sum_xhat) = ([0.0; LANES], [0.0; LANES]);
            let whole = c / LANES * LANES;
            for j in (0..whole).step_by(LANES) {
                for l in 0..LANES {
                    let xhat = (x[j + l] - mean) * rstd;
                    let dxhat = dy[j + l] * gamma[j + l];
                    dgamma[j + l] += dy[j + l] * xhat;
                    dbeta[j + l] += dy[j + l];
                    sum[l] += dxhat;
                    sum_xhat[l] += dxhat * xhat;
                }
            }
            let (mut mean_dxhat, mut mean_dxhat_xhat) = (sum_lanes(sum), sum_lanes(sum_xhat));
            for j in whole..c {
                let xhat = (x[j] - mean) * rstd;
                let dxhat = dy[j] * gamma[j];
                dgamma[j] += dy[j] * xhat;
                dbeta[j] += dy[j];
                mean_dxhat += dxhat;
                mean_dxhat_xhat += dxhat * xhat;
            }
            mean_dxhat /= c as f32;
            mean_dxhat_xhat /= c as f32;
            for (((dx, dy), x), gamma) in dx.iter_mut().zip(dy).zip(x).zip(gamma) {
                let xhat = (x - mean) * rstd;
                *dx = rstd * (dy * gamma - mean_dxhat - xhat * mean_dxhat_xhat);
            }
            if !dsum.is_empty() {
                // Forward: x = a + b is also the residual stream.
                dx.iter_mut().zip(&dsum[i * c..]).for_each(|(dx, dsum)| *dx += dsum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked example: "CAT" = [2, 4, 6, 8] with γ = 1 and β = 0.
    #[test]
    fn the_worked_example_gives_the_printed_row() {
        let (mut y, mut mean, mut rstd) = ([0.0; 4], [0.0], [0.0]);
        let x = [2.0, 4.0, 6.0, 8.0];
        layer_norm_forward(
            &mut y,
            &mut [],
            &mut mean,
            &mut rstd,
            NormInput::Plain(&x),
            &[1.0; 4],
            &[0.0; 4],
            1e-5,
        );
        assert_eq!(mean, [5.0]);
        for (y, want) in y.iter().zip([-1.341_639, -0.447_213, 0.447_213, 1.341_639]) {
            assert!((y - want).abs() < 1e-6, "{y} is not {want}");
        }
    }

    fn fill(seed: usize, len: usize) -> Vec<f32> {
        (0..len).map(|i| ((seed * 31 + i * 17) % 23) as f32 / 11.5 - 1.0).collect()
    }

    const SHAPES: [(usize, usize); 7] =
        [(1, 1), (1, 7), (3, 2), (5, 13), (17, 16), (40, 33), (130, 3)];
    const EPS: f32 = 0.1;

    /// The definition, in f64.
    fn naive(x: &[f64], gamma: &[f64], beta: &[f64]) -> Vec<f64> {
        let c = gamma.len();
        x.chunks(c)
            .flat_map(|x| {
                let mean = x.iter().sum::<f64>() / c as f64;
                let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / c as f64;
                let row = x.iter().zip(gamma).zip(beta);
                row.map(move |((x, g), b)| g * (x - mean) / (variance + f64::from(EPS)).sqrt() + b)
            })
            .collect()
    }

    fn wide(x: &[f32]) -> Vec<f64> {
        x.iter().map(|x| f64::from(*x)).collect()
    }

    #[test]
    fn forward_agrees_with_the_definition_with_and_without_residual() {
        for (n, c) in SHAPES {
            let (a, b, gamma, beta) = (fill(1, n * c), fill(5, n * c), fill(2, c), fill(3, c));
            for residual in [NormInput::Plain(&a), NormInput::Residual(&a, &b)] {
                let x: Vec<f32> = match residual {
                    NormInput::Plain(a) => a.to_vec(),
                    NormInput::Residual(a, b) => a.iter().zip(b).map(|(a, b)| a + b).collect(),
                };
                let mut sum =
                    vec![f32::NAN; if matches!(residual, NormInput::Plain(_)) { 0 } else { n * c }];
                let (mut y, mut mean, mut rstd) =
                    (vec![f32::NAN; n * c], vec![0.0; n], vec![0.0; n]);
                layer_norm_forward(
                    &mut y, &mut sum, &mut mean, &mut rstd, residual, &gamma, &beta, EPS,
                );
                for (y, want) in y.iter().zip(naive(&wide(&x), &wide(&gamma), &wide(&beta))) {
                    assert!((f64::from(*y) - want).abs() < 2e-6, "({n},{c}) {y} is not {want}");
                }
                assert!(sum.is_empty() || sum == x);
            }
        }
    }

    #[test]
    fn backward_agrees_with_finite_differences_for_every_shape() {
        for (n, c) in SHAPES {
            let (x, gamma, beta, dy) = (fill(1, n * c), fill(2, c), fill(3, c), fill(4, n * c));
            let dsum = fill(6, n * c);
            let (mut y, mut mean, mut rstd) = (vec![0.0; n * c], vec![0.0; n], vec![0.0; n]);
            layer_norm_forward(
                &mut y,
                &mut [],
                &mut mean,
                &mut rstd,
                NormInput::Plain(&x),
                &gamma,
                &beta,
                EPS,
            );
            let (mut dx, mut dgamma, mut dbeta) =
                (vec![f32::NAN; n * c], vec![f32::NAN; c], vec![f32::NAN; c]);
            let mut partial = vec![f32::NAN; 2 * c * partial_sums(n)];
            layer_norm_backward(
                &mut dx,
                &mut dgamma,
                &mut dbeta,
                &mut partial,
                &dy,
                &dsum,
                &x,
                &gamma,
                &mean,
                &rstd,
            );
            // The loss whose gradient by y is dy and by x directly dsum: Σ dy·y + Σ dsum·x.
            let (x, gamma, beta) = (wide(&x), wide(&gamma), wide(&beta));
            let loss = |x: &[f64], gamma: &[f64], beta: &[f64]| -> f64 {
                let through = naive(x, gamma, beta)
                    .iter()
                    .zip(&dy)
                    .map(|(y, dy)| y * f64::from(*dy))
                    .sum::<f64>();
                through + x.iter().zip(&dsum).map(|(x, d)| x * f64::from(*d)).sum::<f64>()
            };
            let slope = |v: &[f64], i: usize, f: &dyn Fn(&[f64]) -> f64| {
                let nudged = |by| {
                    v.iter()
                        .enumerate()
                        .map(|(j, x)| if j == i { x + by } else { *x })
                        .collect::<Vec<_>>()
                };
                (f(&nudged(1e-5)) - f(&nudged(-1e-5))) / 2e-5
            };
            for (i, dx) in dx.iter().enumerate() {
                let want = slope(&x, i, &|x| loss(x, &gamma, &beta));
                assert!(
                    (f64::from(*dx) - want).abs() < 1e-5,
                    "({n},{c}) dx[{i}] = {dx}, slope {want}"
                );
            }
            for i in 0..c {
                let want = slope(&gamma, i, &|gamma| loss(&x, gamma, &beta));
                assert!(
                    (f64::from(dgamma[i]) - want).abs() < 2e-5,
                    "({n},{c}) dγ[{i}] = {}, slope {want}",
                    dgamma[i]
                );
                let want = slope(&beta, i, &|beta| loss(&x, &gamma, beta));
                assert!(
                    (f64::from(dbeta[i]) - want).abs() < 2e-5,
                    "({n},{c}) dβ[{i}] = {}, slope {want}",
                    dbeta[i]
                );
            }
        }
    }
}
