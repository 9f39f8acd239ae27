//! Losses of logits against real numbers, and their gradient by the logits.
//!
//! ```text
//! squared error:          L = Σ_j (z[j] − y[j])²                     ∂L/∂z[j] = 2·(z[j] − y[j])
//! binary cross-entropy:   L = Σ_j −y[j]·ln σ(z[j]) − (1 − y[j])·ln(1 − σ(z[j]))
//!                                                                   ∂L/∂z[j] = σ(z[j]) − y[j]
//! ```
//!
//! Shapes: `z` and `targets` (n, k). k is the number of labels of a head, so rows are short: there
//! is one loop, on one thread.

use super::cross_entropy::Gradient;

/// What a logit is compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueLoss {
    /// (z − y)²: regression.
    SquaredError,
    /// −y·ln σ(z) − (1 − y)·ln(1 − σ(z)), with y in 0..=1: labels of which any number may apply.
    BinaryCrossEntropy,
}

/// Writes the sum of each row to `losses` (n), and with [`Gradient::Compute`] replaces the logits
/// `z` (n, k) by their gradient times `weight`.
///
/// # Panics
/// If the lengths do not fit.
#[track_caller]
pub fn value_loss(
    losses: &mut [f32],
    z: &mut [f32],
    targets: &[f32],
    loss: ValueLoss,
    weight: f32,
    gradient: Gradient,
) {
    let n = losses.len();
    assert_eq!(z.len(), targets.len(), "value loss: one target per logit");
    if n == 0 {
        return;
    }
    let k = z.len() / n;
    assert!(k > 0 && k * n == z.len(), "value loss: {} logits are not {n} rows", z.len());
    for ((sum, z), y) in losses.iter_mut().zip(z.chunks_mut(k)).zip(targets.chunks(k)) {
        *sum = z.iter().zip(y).map(|(z, y)| loss.value(*z, *y)).sum();
        if gradient == Gradient::Compute {
            z.iter_mut().zip(y).for_each(|(z, y)| *z = weight * slope(loss, *z, *y));
        }
    }
}

impl ValueLoss {
    /// The loss of one logit.
    pub fn value(self, z: f32, y: f32) -> f32 {
        match self {
            ValueLoss::SquaredError => (z - y) * (z - y),
            // −ln σ(z) = max(−z, 0) + ln(1 + e^−|z|), and −ln(1 − σ(z)) is z more: nothing
            // overflows.
            ValueLoss::BinaryCrossEntropy => z.max(0.0) - z * y + (-z.abs()).exp().ln_1p(),
        }
    }
}

fn slope(loss: ValueLoss, z: f32, y: f32) -> f32 {
    match loss {
        ValueLoss::SquaredError => 2.0 * (z - y),
        ValueLoss::BinaryCrossEntropy => sigmoid(z) - y,
    }
}

/// σ(z) = 1 / (1 + e^−z).
pub fn sigmoid(z: f32) -> f32 {
    1.0 / (1.0 + (-z).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(loss: ValueLoss, z: f64, y: f64) -> f64 {
        let sigma = 1.0 / (1.0 + (-z).exp());
        match loss {
            ValueLoss::SquaredError => (z - y).powi(2),
            ValueLoss::BinaryCrossEntropy => -y * sigma.ln() - (1.0 - y) * (1.0 - sigma).ln(),
        }
    }

    #[test]
    fn loss_and_gradient_agree_with_the_definition_and_finite_differences() {
        for loss in [ValueLoss::SquaredError, ValueLoss::BinaryCrossEntropy] {
            for (n, k) in [(1, 1), (3, 1), (2, 5), (7, 33)] {
                let logits: Vec<f32> =
                    (0..n * k).map(|i| ((i * 29 + 3) % 41) as f32 / 8.0 - 2.5).collect();
                let targets: Vec<f32> = (0..n * k).map(|i| (i * 7 % 3) as f32 / 2.0).collect();
                let (mut z, mut losses) = (logits.clone(), vec![f32::NAN; n]);
                value_loss(&mut losses, &mut z, &targets, loss, 0.5, Gradient::Compute);
                let at = |i: usize, by: f64| {
                    naive(loss, f64::from(logits[i]) + by, f64::from(targets[i]))
                };
                for (row, got) in losses.iter().enumerate() {
                    let want: f64 = (row * k..(row + 1) * k).map(|i| at(i, 0.0)).sum();
                    assert!((f64::from(*got) - want).abs() < 2e-6 * want.max(1.0), "{got}, {want}");
                }
                for (i, got) in z.iter().enumerate() {
                    let slope = 0.5 * (at(i, 1e-5) - at(i, -1e-5)) / 2e-5;
                    assert!((f64::from(*got) - slope).abs() < 1e-6, "{loss:?} dz[{i}] = {got}");
                }
            }
        }
    }

    #[test]
    fn large_logits_neither_overflow_nor_lose_the_loss() {
        for (z, y, want) in [(1e4, 0.0, 1e4), (1e4, 1.0, 0.0), (-1e4, 1.0, 1e4), (-1e4, 0.0, 0.0)] {
            let (mut loss, mut logits) = ([f32::NAN], [z]);
            let kind = ValueLoss::BinaryCrossEntropy;
            value_loss(&mut loss, &mut logits, &[y], kind, 1.0, Gradient::Skip);
            assert_eq!(loss[0], want);
        }
    }

    #[test]
    #[should_panic(expected = "value loss: 5 logits are not 2 rows")]
    fn logits_that_are_not_rows_panic() {
        let kind = ValueLoss::SquaredError;
        value_loss(&mut [0.0; 2], &mut [0.0; 5], &[0.0; 5], kind, 1.0, Gradient::Skip);
    }
}
