//! Which examples are kept back for validation.

use crate::error::{Error, Result};
use limpid_tensor::rng::Stream;
use std::ops::Range;

/// Streams of a seed: bit 60 is splits (see `order.rs`).
const SPLIT: u64 = 1 << 60;

/// How examples are divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Split {
    /// A random part of this share, the same for the same seed and number of examples.
    Random {
        /// The share, between 0 and 1.
        share: f64,
        /// Another seed gives another part.
        seed: u64,
    },
    /// The last part of this share: for a text, whose neighbouring places say too much about each other.
    Last {
        /// The share, between 0 and 1.
        share: f64,
    },
}

/// Numbers of examples, ascending: those to train on, those kept back. A share is rounded to the nearest number of examples; each side has one
/// at least.
pub fn split(examples: usize, how: Split) -> Result<(Vec<usize>, Vec<usize>)> {
    let share = match how {
        Split::Random { share, .. } | Split::Last { share } => share,
    };
    let kept = kept_back(examples, share, "examples")?;
    let mut order: Vec<usize> = (0..examples).collect();
    if let Split::Random { seed, .. } = how {
        Stream::new(seed, SPLIT).shuffle(&mut order);
    }
    let mut validation = order.split_off(examples - kept);
    order.sort_unstable();
    validation.sort_unstable();
    Ok((order, validation))
}

/// The ids of a text to train on, and the last `share` of them.
pub fn split_text(tokens: usize, share: f64) -> Result<(Range<usize>, Range<usize>)> {
    let train = tokens - kept_back(tokens, share, "tokens")?;
    Ok((0..train, train..tokens))
}

fn kept_back(examples: usize, share: f64, what: &str) -> Result<usize> {
    if !(share > 0.0 && share < 1.0) {
        return Err(
            Error::config(format!("a validation share of {share} is not between 0 and 1")).hint("use 0.1")
        );
    }
    if examples < 2 {
        return Err(Error::data(format!("{examples} {what} cannot be divided into training and validation"))
            .hint("give more text, or files of their own for validation"));
    }
    Ok(((examples as f64 * share).round() as usize).clamp(1, examples - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_on_one_side_and_the_seed_decides_on_which() {
        let random = |seed| split(1000, Split::Random { share: 0.1, seed }).unwrap();
        let (train, validation) = random(1);
        assert_eq!((train.len(), validation.len()), (900, 100));
        let mut all = [train, validation].concat();
        all.sort_unstable();
        assert_eq!(all, (0..1000).collect::<Vec<_>>());
        assert_eq!(random(1), random(1));
        assert_ne!(random(1), random(2));
        // Not the last part, and not every tenth.
        assert!(random(1).1[0] < 100 && random(1).1.windows(2).any(|pair| pair[1] - pair[0] != 10));
    }

    #[test]
    fn the_last_part_is_the_end_and_no_side_is_empty() {
        assert_eq!(split(10, Split::Last { share: 0.2 }).unwrap(), ((0..8).collect(), vec![8, 9]));
        assert_eq!(split_text(1_115_394, 0.1).unwrap(), (0..1_003_855, 1_003_855..1_115_394));
        assert_eq!(split(2, Split::Last { share: 0.01 }).unwrap(), (vec![0], vec![1]));
        assert_eq!(split(2, Split::Last { share: 0.99 }).unwrap(), (vec![0], vec![1]));
        for share in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(split(10, Split::Last { share }).is_err());
        }
        assert!(split(1, Split::Last { share: 0.5 }).is_err());
    }
}
