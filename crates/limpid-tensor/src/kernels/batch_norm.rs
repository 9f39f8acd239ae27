//! Batch normalization: each column gets mean 0 and variance 1 over all rows of the batch, then a
//! learned scale γ and shift β.
//!
//! ```text
//! μ = Σ_i x[i] / n      σ² = Σ_i (x[i] − μ)² / n      x̂ = (x − μ) · rstd,  rstd = 1/√(σ² + ε)
//! y = γ · x̂ + β
//! ```
//!
//! Per column, where layer normalization is per row. Shapes: `x`, `y` (n, c) with n = every
//! position of every sequence; everything else (c). The output of a token depends on the rest of
//! the batch; inference uses running averages of μ and σ² from training instead. Reference: Ioffe
//! and Szegedy 2015.
//!
//! A task owns some columns and walks through all rows: sums have the same order for any number of
//! threads.

use crate::simd::vectorized;
use crate::team::{self, Parts};

/// Columns per task.
const COLUMNS: usize = 64;

/// Normalizes each column of `x` into `y`, and writes the mean, the variance and 1/√(σ² + ε) of the
/// columns to `mean`, `variance` and `rstd`.
///
/// # Panics
/// If the lengths do not fit rows of `gamma.len()` columns.
#[track_caller]
pub fn batch_norm_forward(
    y: &mut [f32],
    mean: &mut [f32],
    variance: &mut [f32],
    rstd: &mut [f32],
    x: &[f32],
    gamma: &[f32],
    beta: &[f32],
    eps: f32,
) {
    let (c, n) = check(
        x.len(),
        &[y.len()],
        &[mean.len(), variance.len(), rstd.len(), beta.len()],
        gamma.len(),
    );
    if n == 0 {
        return;
    }
    let (y, mean, variance, rstd) =
        (Parts::new(y), Parts::new(mean), Parts::new(variance), Parts::new(rstd));
    team::run(c.div_ceil(COLUMNS), |task| {
        let first = task * COLUMNS;
        let width = COLUMNS.min(c - first);
        // SAFETY: columns first .. first + width belong to this task alone.
        let (mean, variance, rstd) = unsafe {
            (mean.part(first, width), variance.part(first, width), rstd.part(first, width))
        };
        moments(mean, variance, x, c, first);
        rstd.iter_mut()
            .zip(&*variance)
            .for_each(|(rstd, variance)| *rstd = 1.0 / (variance + eps).sqrt());
        for i in 0..n {
            let at = i * c + first;
            // SAFETY: as above.
            let y = unsafe { y.part(at, width) };
            row_forward(y, &x[at..at + width], mean, rstd, &gamma[first..], &beta[first..]);
        }
    });
}

/// Normalization with a given mean and variance, as in inference: each row by itself.
///
/// # Panics
/// As [`batch_norm_forward`].
#[track_caller]
pub fn batch_norm_inference(
    y: &mut [f32],
    x: &[f32],
    mean: &[f32],
    variance: &[f32],
    gamma: &[f32],
    beta: &[f32],
    eps: f32,
) {
    let (c, _) = check(x.len(), &[y.len()], &[mean.len(), variance.len(), beta.len()], gamma.len());
    for (y, x) in y.chunks_exact_mut(c).zip(x.chunks_exact(c)) {
        for j in 0..c {
            y[j] = (x[j] - mean[j]) * (1.0 / (variance[j] + eps).sqrt()) * gamma[j] + beta[j];
        }
    }
}

/// Writes dx (n, c), dγ and dβ (c), given `dy`, the gradient by `y`.
///
/// Forward: y = γ·x̂ + β with x̂ = (x − μ)·rstd, where μ and rstd depend on all of x. So
/// dβ = Σ_i dy,  dγ = Σ_i dy·x̂,  dx = γ·rstd·(dy − dβ/n − x̂·dγ/n).
///
/// # Panics
/// As [`batch_norm_forward`].
#[track_caller]
pub fn batch_norm_backward(
    dx: &mut [f32],
    dgamma: &mut [f32],
    dbeta: &mut [f32],
    dy: &[f32],
    x: &[f32],
    mean: &[f32],
    rstd: &[f32],
    gamma: &[f32],
) {
    let lens = [mean.len(), rstd.len(), dgamma.len(), dbeta.len()];
    let (c, n) = check(x.len(), &[dx.len(), dy.len()], &lens, gamma.len());
    let (dx, dgamma, dbeta) = (Parts::new(dx), Parts::new(dgamma), Parts::new(dbeta));
    team::run(c.div_ceil(COLUMNS), |task| {
        let first = task * COLUMNS;
        let width = COLUMNS.min(c - first);
        // SAFETY: columns first .. first + width belong to this task alone.
        let (dgamma, dbeta) = unsafe { (dgamma.part(first, width), dbeta.part(first, width)) };
        let (mean, rstd, gamma) = (&mean[first..], &rstd[first..], &gamma[first..]);
        sums(dgamma, dbeta, dy, x, mean, rstd, c, first);
        for i in 0..n {
            let at = i * c + first;
            // SAFETY: as above.
            let dx = unsafe { dx.part(at, width) };
            for j in 0..width {
                let normed = (x[at + j] - mean[j]) * rstd[j];
                let centred = dy[at + j] - (dbeta[j] + normed * dgamma[j]) / n as f32;
                dx[j] = gamma[j] * rstd[j] * centred;
            }
        }
    });
}

#[track_caller]
fn check(x: usize, like_x: &[usize], like_gamma: &[usize], c: usize) -> (usize, usize) {
    assert!(
        c > 0
            && x.is_multiple_of(c)
            && like_x.iter().all(|len| *len == x)
            && like_gamma.iter().all(|len| *len == c),
        "batch norm: {x} elements are not rows of {c}, or {like_x:?} and {like_gamma:?} do not fit"
    );
    (c, x / c)
}

vectorized! {
    /// Mean and variance of the columns from `first` of x (n, c), in f64 and in two passes.
    fn moments(mean: &mut [f32], variance: &mut [f32], x: &[f32], c: usize, first: usize) {
        let (width, n) = (mean.len(), x.len() / c);
        let mut sums = [0.0_f64; COLUMNS];
        for row in x.chunks_exact(c) {
            sums[..width].iter_mut().zip(&row[first..]).for_each(|(sum, x)| *sum += f64::from(*x));
        }
        let means = sums.map(|sum| sum / n as f64);
        let mut squares = [0.0_f64; COLUMNS];
        for row in x.chunks_exact(c) {
            for j in 0..width {
                let d = f64::from(row[first + j]) - means[j];
                squares[j] += d * d;
            }
        }
        for j in 0..width {
            mean[j] = means[j] as f32;
            variance[j] = (squares[j] / n as f64) as f32;
        }
    }
}

vectorized! {
    fn row_forward(
        y: &mut [f32],
        x: &[f32],
        mean: &[f32],
        rstd: &[f32],
        gamma: &[f32],
        beta: &[f32],
    ) {
        for j in 0..y.len() {
            y[j] = (x[j] - mean[j]) * rstd[j] * gamma[j] + beta[j];
        }
    }
}

vectorized! {
    /// dγ and dβ of the columns from `first`, in f64, row after row.
    fn sums(
        dgamma: &mut [f32],
        dbeta: &mut [f32],
        dy: &[f32],
        x: &[f32],
        mean: &[f32],
        rstd: &[f32],
        c: usize,
        first: usize,
    ) {
        let width = dgamma.len();
        let (mut gammas, mut betas) = ([0.0_f64; COLUMNS], [0.0_f64; COLUMNS]);
        for (dy, x) in dy.chunks_exact(c).zip(x.chunks_exact(c)) {
            for j in 0..width {
                let d = f64::from(dy[first + j]);
                gammas[j] += d * f64::from((x[first + j] - mean[j]) * rstd[j]);
                betas[j] += d;
            }
        }
        for j in 0..width {
            dgamma[j] = gammas[j] as f32;
            dbeta[j] = betas[j] as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_two_rows_become_minus_one_and_one() {
        // Columns (1, 3) and (10, −10): means 2 and 0, variances 1 and 100.
        let (mut y, mut mean, mut variance, mut rstd) = ([0.0; 4], [0.0; 2], [0.0; 2], [0.0; 2]);
        let x = [1.0, 10.0, 3.0, -10.0];
        batch_norm_forward(
            &mut y,
            &mut mean,
            &mut variance,
            &mut rstd,
            &x,
            &[1.0, 2.0],
            &[0.0, 0.5],
            0.0,
        );
        assert_eq!((mean, variance), ([2.0, 0.0], [1.0, 100.0]));
        let close =
            |got: &[f32], want: &[f32]| got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(close(&y, &[-1.0, 2.5, 1.0, -1.5]), "{y:?}");
        // Inference with the same statistics gives the same; with others, each row by itself.
        let mut again = [0.0; 4];
        batch_norm_inference(&mut again, &x, &mean, &variance, &[1.0, 2.0], &[0.0, 0.5], 0.0);
        assert!(close(&again, &y), "{again:?}");
        batch_norm_inference(&mut again, &x, &[0.0; 2], &[4.0; 2], &[1.0; 2], &[0.0; 2], 0.0);
        assert!(close(&again, &[0.5, 5.0, 1.5, -5.0]), "{again:?}");
    }
}
