//! Splitting examples into training and validation.
//!
//! ```
//! use limpid::data::split::split;
//!
//! let (train, validation) = split(10, 0.2, 1)?;
//! assert_eq!((train.len(), validation.len()), (8, 2));
//! assert!(validation.iter().all(|i| !train.contains(i)));
//! # Ok::<(), limpid::error::Error>(())
//! ```

use crate::error::{DataError, Result};
use limpid_tensor::rng::Stream;
use std::ops::Range;

/// Random streams of a seed: bit 60 is splits (see `sampler.rs`).
const SPLIT: u64 = 1 << 60;

/// Indices of the training and the validation examples, ascending: a random sample of the fraction
/// `fraction` is for validation, the same for the same seed and number of examples. It is rounded
/// to the nearest number of examples; each side has at least one.
/// # Errors
/// If the fraction is not between 0 and 1, or there are fewer than two examples.
pub fn split(examples: usize, fraction: f64, seed: u64) -> Result<(Vec<usize>, Vec<usize>)> {
    let held_out = validation_count(examples, fraction, "examples")?;
    let mut order: Vec<usize> = (0..examples).collect();
    Stream::new(seed, SPLIT).shuffle(&mut order);
    let mut validation = order.split_off(examples - held_out);
    order.sort_unstable();
    validation.sort_unstable();
    Ok((order, validation))
}

/// The token ranges of a text for training and validation: the last `fraction` is held out, because
/// random positions would overlap with the training text.
/// # Errors
/// If the fraction is not between 0 and 1, or there are fewer than two tokens.
pub fn split_text(tokens: usize, fraction: f64) -> Result<(Range<usize>, Range<usize>)> {
    let train = tokens - validation_count(tokens, fraction, "tokens")?;
    Ok((0..train, train..tokens))
}

fn validation_count(examples: usize, fraction: f64, unit: &'static str) -> Result<usize> {
    if !(fraction > 0.0 && fraction < 1.0) {
        return Err(DataError::ValidationFraction { fraction }.into());
    }
    if examples < 2 {
        return Err(DataError::TooFewToSplit { count: examples, unit }.into());
    }
    Ok(((examples as f64 * fraction).round() as usize).clamp(1, examples - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_on_one_side_and_the_seed_decides_on_which() {
        let random = |seed| split(1000, 0.1, seed).unwrap();
        let (train, validation) = random(1);
        assert_eq!((train.len(), validation.len()), (900, 100));
        let mut all = [train, validation].concat();
        all.sort_unstable();
        assert_eq!(all, (0..1000).collect::<Vec<_>>());
        assert_eq!(random(1), random(1));
        assert_ne!(random(1), random(2));
        // Neither the tail nor every tenth example.
        assert!(random(1).1[0] < 100 && random(1).1.windows(2).any(|pair| pair[1] - pair[0] != 10));
    }

    #[test]
    fn a_tail_is_the_end_and_no_side_is_empty() {
        assert_eq!(split_text(10, 0.2).unwrap(), (0..8, 8..10));
        assert_eq!(split_text(1_115_394, 0.1).unwrap(), (0..1_003_855, 1_003_855..1_115_394));
        for fraction in [0.01, 0.99] {
            assert_eq!(split_text(2, fraction).unwrap(), (0..1, 1..2));
            let (train, validation) = split(2, fraction, 1).unwrap();
            assert_eq!((train.len(), validation.len()), (1, 1));
        }
        for fraction in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(split(10, fraction, 1).is_err() && split_text(10, fraction).is_err());
        }
        assert!(split(1, 0.5, 1).is_err() && split_text(1, 0.5).is_err());
    }
}
