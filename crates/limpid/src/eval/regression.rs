//! Metrics of a regression: mean squared error and correlations, as SciPy and scikit-learn compute
//! them.
//!
//! ```
//! use limpid::eval::regression::{pearson, spearman};
//!
//! let (predicted, targets) = ([1.0, 2.0, 10.0], [1.0, 2.0, 3.0]);
//! assert_eq!(spearman(&predicted, &targets), Some(1.0));
//! assert!(pearson(&predicted, &targets).unwrap() < 1.0);
//! assert_eq!(pearson(&[1.0, 1.0], &[1.0, 2.0]), None); // constant: not defined
//! ```

/// The mean of (prediction − target)².
/// # Panics
/// If there is not one prediction per target.
#[track_caller]
pub fn mean_squared_error(predicted: &[f64], targets: &[f64]) -> f64 {
    assert_eq!(predicted.len(), targets.len(), "one prediction per target");
    let squares = predicted.iter().zip(targets).map(|(y, t)| (y - t) * (y - t));
    squares.sum::<f64>() / targets.len() as f64
}

/// Pearson's correlation: Σ(x−x̄)(y−ȳ) / √(Σ(x−x̄)²·Σ(y−ȳ)²). `None` where one side is constant or
/// there are fewer than two values.
/// # Panics
/// If there is not one prediction per target.
#[track_caller]
pub fn pearson(predicted: &[f64], targets: &[f64]) -> Option<f64> {
    assert_eq!(predicted.len(), targets.len(), "one prediction per target");
    let (x, y) = (centred(predicted), centred(targets));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let norms = dot(&x, &x).sqrt() * dot(&y, &y).sqrt();
    // Rounding may leave the quotient a little above 1.
    (norms > 0.0).then(|| (dot(&x, &y) / norms).clamp(-1.0, 1.0))
}

/// Spearman's correlation: Pearson's of the ranks, equal values sharing the mean of theirs.
/// # Panics
/// If there is not one prediction per target.
#[track_caller]
pub fn spearman(predicted: &[f64], targets: &[f64]) -> Option<f64> {
    pearson(&ranks(predicted), &ranks(targets))
}

fn centred(values: &[f64]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| value - mean).collect()
}

/// Ranks from 1; equal values have the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for equal in order.chunk_by(|a, b| values[*a] == values[*b]) {
        // Ranks first + 1 to first + n have this mean.
        let mean = first as f64 + (equal.len() + 1) as f64 / 2.0;
        equal.iter().for_each(|i| ranks[*i] = mean);
        first += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_the_mean_of_their_ranks() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 7.0]), [2.5, 1.0, 2.5, 4.0]);
        assert_eq!(ranks(&[0.0, -0.0]), [1.5, 1.5]);
    }

    #[test]
    fn a_line_has_correlation_one_and_a_constant_none() {
        let x = [1.0, 2.0, 4.0];
        let line = x.map(|x| 3.0 - 2.0 * x);
        assert_eq!(pearson(&x, &line), Some(-1.0));
        assert_eq!(spearman(&x, &[5.0; 3]), None);
        assert_eq!(mean_squared_error(&x, &[1.0, 0.0, 1.0]), (0.0 + 4.0 + 9.0) / 3.0);
    }
}
