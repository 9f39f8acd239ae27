//! Cross-entropy loss of logits against targets, and its gradient by the logits.
//!
//! ```text
//! p = softmax(z)
//! L = −(1 − ε)·ln p[target] − ε/v · Σ_j ln p[j]
//! ∂L/∂z[j] = p[j] − (1 − ε)·[j = target] − ε/v
//! ```
//!
//! Shapes: `z` (n, v), one target in 0..v or [`IGNORE`] per row. ε is the label smoothing (Szegedy
//! et al. 2016); with ε = 0, L is the negative log-likelihood. Value and derivative share the
//! exponentials, so one function computes both.

use crate::simd::{self, exp_of_negative, vectorized};
use crate::team::{self, Parts};

/// The target of a row without a target (PyTorch's `ignore_index`): no loss, no gradient.
pub const IGNORE: u32 = u32::MAX;

/// Whether [`cross_entropy`] replaces the logits by their gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gradient {
    /// `z` becomes weight · ∂L/∂z.
    Compute,
    /// `z` is left in an arbitrary state.
    Skip,
}

/// Writes the loss of each row to `losses` (n), in nats, and with [`Gradient::Compute`] replaces
/// the logits `z` (n, v) by their gradient times `weight`.
///
/// # Panics
/// If the lengths do not fit, or a target is not below v.
#[track_caller]
pub fn cross_entropy(
    losses: &mut [f32],
    z: &mut [f32],
    targets: &[u32],
    smoothing: f32,
    weight: f32,
    gradient: Gradient,
) {
    let n = targets.len();
    assert!(losses.len() == n, "cross-entropy: {n} targets, {} losses", losses.len());
    if n == 0 {
        return;
    }
    let v = z.len() / n;
    assert_eq!(v * n, z.len(), "cross-entropy: {} logits are not {n} rows", z.len());
    let worst = targets.iter().copied().filter(|t| *t != IGNORE).max().unwrap_or(0);
    assert!((worst as usize) < v, "cross-entropy: target {worst} of {v} classes");
    let rows = team::rows_per_task(v);
    let (losses, z) = (Parts::new(losses), Parts::new(z));
    team::run(n.div_ceil(rows), |task| {
        for (i, target) in targets.iter().enumerate().skip(task * rows).take(rows) {
            // SAFETY: row i belongs to this task alone.
            let (z, loss) = unsafe { (z.part(i * v, v), losses.part(i, 1)) };
            loss[0] = match *target {
                IGNORE => {
                    z.fill(0.0);
                    0.0
                }
                target => row(z, target as usize, smoothing, weight, gradient),
            };
        }
    });
}

vectorized! {
    /// One row: its loss, and its gradient in place of z.
    fn row(z: &mut [f32], target: usize, smoothing: f32, weight: f32, gradient: Gradient) -> f32 {
        let v = z.len() as f32;
        let (max, z_target) = (simd::max(z), z[target]);
        let mean = if smoothing > 0.0 { simd::sum_by(z, |z| z - max) / v } else { 0.0 };
        // exp(z − max) ≤ 1, so a large logit cannot overflow f32.
        z.iter_mut().for_each(|z| *z = exp_of_negative(*z - max));
        let total = simd::sum_by(z, |e| e);
        // −ln p[j] = ln Σ exp(z − max) − (z[j] − max).
        let log_total = total.ln();
        let loss = (1.0 - smoothing) * (log_total - (z_target - max))
            + smoothing * (log_total - mean);
        if gradient == Gradient::Compute {
            let (scale, shift) = (weight / total, weight * smoothing / v);
            z.iter_mut().for_each(|z| *z = *z * scale - shift);
            z[target] -= weight * (1.0 - smoothing);
        }
        loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked example: logits [6, 4], target 0.
    #[test]
    fn the_worked_example_gives_loss_and_gradient() {
        let (mut z, mut loss) = ([6.0, 4.0], [f32::NAN]);
        cross_entropy(&mut loss, &mut z, &[0], 0.0, 1.0, Gradient::Compute);
        assert!((loss[0] - 0.126_928).abs() < 1e-6);
        assert!((z[0] + 0.119_203).abs() < 1e-6 && (z[1] - 0.119_203).abs() < 1e-6);
    }

    fn naive(z: &[f64], target: usize, smoothing: f64) -> f64 {
        let total = z.iter().map(|z| z.exp()).sum::<f64>().ln();
        let smooth = z.iter().map(|z| total - z).sum::<f64>() / z.len() as f64;
        (1.0 - smoothing) * (total - z[target]) + smoothing * smooth
    }

    #[test]
    fn loss_and_gradient_agree_with_the_definition_and_finite_differences() {
        for (n, v) in [(1, 1), (1, 2), (3, 7), (5, 17), (2, 65), (40, 1000)] {
            for smoothing in [0.0_f32, 0.1] {
                let logits: Vec<f32> =
                    (0..n * v).map(|i| ((i * 29 + 3) % 41) as f32 / 8.0 - 2.5).collect();
                let targets: Vec<u32> = (0..n)
                    .map(|i| if i % 4 == 3 { IGNORE } else { ((i * 5 + 1) % v) as u32 })
                    .collect();
                let (mut z, mut losses) = (logits.clone(), vec![f32::NAN; n]);
                cross_entropy(&mut losses, &mut z, &targets, smoothing, 0.5, Gradient::Compute);
                for i in 0..n {
                    let row: Vec<f64> =
                        logits[i * v..(i + 1) * v].iter().map(|z| f64::from(*z)).collect();
                    if targets[i] == IGNORE {
                        assert!(
                            losses[i] == 0.0 && z[i * v..(i + 1) * v].iter().all(|z| *z == 0.0)
                        );
                        continue;
                    }
                    let loss = |row: &[f64]| naive(row, targets[i] as usize, f64::from(smoothing));
                    let want = loss(&row);
                    assert!(
                        (f64::from(losses[i]) - want).abs() < 2e-6 * want.max(1.0),
                        "{} is not {want}",
                        losses[i]
                    );
                    for j in 0..v.min(70) {
                        let nudged = |by: f64| {
                            let mut row = row.clone();
                            row[j] += by;
                            loss(&row)
                        };
                        let slope = 0.5 * (nudged(1e-5) - nudged(-1e-5)) / 2e-5;
                        let got = f64::from(z[i * v + j]);
                        assert!(
                            (got - slope).abs() < 1e-6,
                            "({n},{v}) dz[{i}][{j}] = {got}, slope {slope}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn huge_logits_do_not_overflow() {
        let (mut z, mut loss) = ([1e30, -1e30, 0.0], [f32::NAN]);
        cross_entropy(&mut loss, &mut z, &[0], 0.0, 1.0, Gradient::Compute);
        assert_eq!(loss, [0.0]);
        assert!(z.iter().all(|z| z.is_finite()));
    }

    #[test]
    fn a_nan_logit_gives_a_nan_loss() {
        let (mut z, mut loss) = ([1.0, f32::NAN, 0.0], [0.0]);
        cross_entropy(&mut loss, &mut z, &[0], 0.0, 1.0, Gradient::Compute);
        assert!(loss[0].is_nan());
    }
}
