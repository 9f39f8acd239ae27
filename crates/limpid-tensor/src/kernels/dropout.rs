//! Dropout: each element becomes 0 with probability p, and the others are divided by 1 − p, which
//! keeps the expected value.
//!
//! ```text
//! y = x · keep / (1 − p)          keep[i] = 1 if u[i] ≥ p else 0
//! u[i] = number i of the mask's random stream, uniform in [0, 1)
//! ```
//!
//! The mask is a function of (seed, stream, i), so it is not stored: the backward pass generates it
//! again, and any thread can generate any part of it. Reference: Srivastava et al. 2014.

use crate::rng;
use crate::simd::vectorized;
use crate::team::for_each_chunk;

/// A dropout mask: its probability and its random stream.
#[derive(Clone, Copy, Debug)]
pub struct DropoutMask {
    /// Seed of the run.
    pub seed: u64,
    /// Random stream of the mask.
    pub stream: u64,
    /// Probability that an element is dropped, in [0, 1).
    pub p: f32,
}

const CHUNK: usize = 4_096;

/// x = x · keep / (1 − p), in place. The backward pass is the same operation on dy:
/// dx = dy · keep / (1 − p).
pub fn dropout_in_place(x: &mut [f32], mask: DropoutMask) {
    vectorized! {
        fn part(x: &mut [f32], first_block: u64, mask: DropoutMask) {
            let scale = 1.0 / (1.0 - mask.p);
            // u ≥ p compares the top 24 bits as integers: the same result on every CPU.
            let threshold = (f64::from(mask.p) * 16_777_216.0) as u32;
            for (at, x) in x.chunks_mut(4).enumerate() {
                let bits = rng::block(mask.seed, mask.stream, first_block + at as u64);
                for (x, bits) in x.iter_mut().zip(bits) {
                    *x = if bits >> 8 >= threshold { *x * scale } else { 0.0 };
                }
            }
        }
    }
    for_each_chunk(x, CHUNK, |i, x| part(x, (i * CHUNK / 4) as u64, mask));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fraction_of_zeros_is_p_and_the_rest_is_scaled() {
        for p in [0.1_f32, 0.5, 0.9] {
            let n = 100_000;
            let mut x = vec![1.0_f32; n];
            dropout_in_place(&mut x, DropoutMask { seed: 3, stream: 1, p });
            let zeros = x.iter().filter(|x| **x == 0.0).count() as f32 / n as f32;
            // Five standard errors of a proportion.
            let error = 5.0 * (p * (1.0 - p) / n as f32).sqrt();
            assert!((zeros - p).abs() < error, "{zeros} zeros with p = {p}");
            assert!(x.iter().all(|x| *x == 0.0 || (*x - 1.0 / (1.0 - p)).abs() < 1e-5));
        }
    }

    #[test]
    fn forward_and_backward_drop_the_same_elements_and_another_stream_drops_others() {
        let mask = DropoutMask { seed: 3, stream: 1, p: 0.3 };
        let (mut y, mut dy, mut other) = (vec![2.0; 9_999], vec![5.0; 9_999], vec![2.0; 9_999]);
        dropout_in_place(&mut y, mask);
        dropout_in_place(&mut dy, mask);
        dropout_in_place(&mut other, DropoutMask { stream: 2, ..mask });
        assert!(y.iter().zip(&dy).all(|(y, dy)| (*y == 0.0) == (*dy == 0.0)));
        assert_ne!(y, other);
    }

    #[test]
    fn element_i_depends_on_i_alone() {
        let mask = DropoutMask { seed: 1, stream: 9, p: 0.5 };
        let (mut long, mut short) = (vec![1.0; 10_001], vec![1.0; 77]);
        dropout_in_place(&mut long, mask);
        dropout_in_place(&mut short, mask);
        assert_eq!(long[..77], short);
    }
}
