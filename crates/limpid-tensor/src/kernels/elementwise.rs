//! Elementwise sums and products of whole tensors, and sums over their rows, on the team.

use crate::simd::vectorized;
use crate::team::{self, for_each_chunk};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Elements per task: enough to outweigh the cost of scheduling, few enough to balance the load.
const CHUNK: usize = 16_384;

/// The same for a look at numbers that come from a file, page by page.
const FINITE_CHUNK: usize = 1 << 18;

/// The part of `x` that belongs to chunk `i`.
fn chunk_of(x: &[f32], i: usize, len: usize) -> &[f32] {
    &x[i * CHUNK..i * CHUNK + len]
}

#[track_caller]
fn check_len(operation: &str, a: usize, b: usize) {
    assert_eq!(a, b, "{operation}: {a} and {b} elements");
}

/// y += x.
///
/// # Panics
/// If the lengths differ.
#[track_caller]
pub fn add_assign(y: &mut [f32], x: &[f32]) {
    check_len("add", y.len(), x.len());
    vectorized! {
        fn part(y: &mut [f32], x: &[f32]) {
            y.iter_mut().zip(x).for_each(|(y, x)| *y += x);
        }
    }
    for_each_chunk(y, CHUNK, |i, y| part(y, chunk_of(x, i, y.len())));
}

/// y = a + b.
///
/// # Panics
/// If the lengths differ.
#[track_caller]
pub fn add_forward(y: &mut [f32], a: &[f32], b: &[f32]) {
    check_len("add", a.len(), b.len());
    check_len("add", y.len(), a.len());
    vectorized! {
        fn part(y: &mut [f32], a: &[f32], b: &[f32]) {
            y.iter_mut().zip(a).zip(b).for_each(|((y, a), b)| *y = a + b);
        }
    }
    for_each_chunk(y, CHUNK, |i, y| part(y, chunk_of(a, i, y.len()), chunk_of(b, i, y.len())));
}

/// y = factor · x. The backward pass is the same operation: dx = factor · dy.
///
/// # Panics
/// If the lengths differ.
#[track_caller]
pub fn scale_forward(y: &mut [f32], x: &[f32], factor: f32) {
    check_len("scale", y.len(), x.len());
    vectorized! {
        fn part(y: &mut [f32], x: &[f32], factor: f32) {
            y.iter_mut().zip(x).for_each(|(y, x)| *y = factor * x);
        }
    }
    for_each_chunk(y, CHUNK, |i, y| part(y, chunk_of(x, i, y.len()), factor));
}

/// y *= x, element by element.
///
/// # Panics
/// If the lengths differ.
#[track_caller]
pub fn multiply_assign(y: &mut [f32], x: &[f32]) {
    check_len("multiply", y.len(), x.len());
    vectorized! {
        fn part(y: &mut [f32], x: &[f32]) {
            y.iter_mut().zip(x).for_each(|(y, x)| *y *= x);
        }
    }
    for_each_chunk(y, CHUNK, |i, y| part(y, chunk_of(x, i, y.len())));
}

/// y += weight · (x − y), linear interpolation from y to x. With x the parameters after each step,
/// y is their exponential moving average.
///
/// # Panics
/// If the lengths differ.
#[track_caller]
pub fn move_towards(y: &mut [f32], x: &[f32], weight: f32) {
    check_len("move", y.len(), x.len());
    vectorized! {
        fn part(y: &mut [f32], x: &[f32], weight: f32) {
            y.iter_mut().zip(x).for_each(|(y, x)| *y += weight * (x - *y));
        }
    }
    for_each_chunk(y, CHUNK, |i, y| part(y, chunk_of(x, i, y.len()), weight));
}

/// The index of the first element that is NaN or infinite.
pub fn first_not_finite(x: &[f32]) -> Option<usize> {
    vectorized! {
        fn is_finite(x: &[f32]) -> bool {
            // All ones in the exponent: infinite or NaN. Without a branch, so that it vectorizes.
            const EXPONENT: u32 = 0x7f80_0000;
            let all_ones = |x: &f32| u32::from(x.to_bits() & EXPONENT == EXPONENT);
            x.iter().fold(0, |any, x| any | all_ones(x)) == 0
        }
    }
    let chunks = x.len().div_ceil(FINITE_CHUNK);
    let first = AtomicUsize::new(chunks);
    team::run(chunks, |i| {
        if !is_finite(&x[i * FINITE_CHUNK..x.len().min((i + 1) * FINITE_CHUNK)]) {
            first.fetch_min(i, Ordering::Relaxed);
        }
    });
    let start = first.into_inner() * FINITE_CHUNK;
    x.get(start..)?.iter().position(|x| !x.is_finite()).map(|i| start + i)
}

/// out = Σ over the rows of x (n, c), or out += that: the gradient of a bias.
///
/// Each task owns some columns and sums all rows in order, so the order of additions is fixed.
///
/// # Panics
/// If x does not consist of whole rows of `out.len()` elements.
#[track_caller]
pub fn column_sums(out: &mut [f32], x: &[f32], accumulate: super::matmul::Accumulate) {
    let c = out.len();
    assert!(
        c > 0 && x.len().is_multiple_of(c),
        "column sums: {} elements are not rows of {c}",
        x.len()
    );
    vectorized! {
        fn part(out: &mut [f32], x: &[f32], c: usize, first: usize) {
            for row in x.chunks_exact(c) {
                out.iter_mut().zip(&row[first..]).for_each(|(out, x)| *out += x);
            }
        }
    }
    const COLUMNS: usize = 64;
    for_each_chunk(out, COLUMNS, |i, out| {
        if accumulate == super::matmul::Accumulate::Overwrite {
            out.fill(0.0);
        }
        part(out, x, c, i * COLUMNS);
    });
}

/// Σ x² in f64, over a fixed number of parts in a fixed order: for the global norm of a gradient.
pub fn sum_of_squares(x: &[f32]) -> f64 {
    vectorized! {
        fn part(x: &[f32]) -> f64 {
            let (lanes, rest) = x.as_chunks::<8>();
            let mut sums = [0.0_f64; 8];
            for x in lanes {
                for l in 0..8 {
                    sums[l] += f64::from(x[l]) * f64::from(x[l]);
                }
            }
            let rest = rest.iter().map(|x| f64::from(*x) * f64::from(*x));
            sums.iter().sum::<f64>() + rest.sum::<f64>()
        }
    }
    const PARTS: usize = 64;
    let len = x.len().div_ceil(PARTS).max(1);
    let sums: [std::sync::atomic::AtomicU64; PARTS] = std::array::from_fn(|_| 0.into());
    crate::team::run(x.len().div_ceil(len), |i| {
        let sum = part(&x[i * len..x.len().min((i + 1) * len)]);
        sums[i].store(sum.to_bits(), std::sync::atomic::Ordering::Relaxed);
    });
    sums.iter().map(|sum| f64::from_bits(sum.load(std::sync::atomic::Ordering::Relaxed))).sum()
}

#[cfg(test)]
mod tests {
    use super::super::matmul::Accumulate;
    use super::*;

    fn ramp(n: usize, step: f32) -> Vec<f32> {
        (0..n).map(|i| (i % 97) as f32 * step - 3.0).collect()
    }

    #[test]
    fn the_first_number_that_is_not_finite_is_found_wherever_it_is() {
        let mut x = vec![f32::MAX; 2 * FINITE_CHUNK + 77];
        assert_eq!(first_not_finite(&x), None);
        assert_eq!(first_not_finite(&[]), None);
        for i in [2 * FINITE_CHUNK + 76, 2 * FINITE_CHUNK, FINITE_CHUNK - 1, 5, 0] {
            x[i] = if i % 2 == 0 { f32::NAN } else { f32::NEG_INFINITY };
            assert_eq!(first_not_finite(&x), Some(i));
        }
    }

    #[test]
    fn sums_and_multiples_agree_with_the_definition_for_every_length() {
        for n in [0, 1, 7, 16, 17, 16_384, 16_385, 40_000] {
            let (a, b) = (ramp(n, 0.25), ramp(n, -0.5));
            let mut y = vec![f32::NAN; n];
            add_forward(&mut y, &a, &b);
            assert!(y.iter().zip(&a).zip(&b).all(|((y, a), b)| *y == a + b));
            add_assign(&mut y, &a);
            assert!(y.iter().zip(&a).zip(&b).all(|((y, a), b)| *y == a + b + a));
            scale_forward(&mut y, &a, 1.5);
            assert!(y.iter().zip(&a).all(|(y, a)| *y == 1.5 * a));
            multiply_assign(&mut y, &b);
            assert!(y.iter().zip(&a).zip(&b).all(|((y, a), b)| *y == 1.5 * a * b));
            scale_forward(&mut y, &a, 1.0);
            move_towards(&mut y, &b, 0.25);
            assert!(y.iter().zip(&a).zip(&b).all(|((y, a), b)| *y == a + 0.25 * (b - a)));
            let want: f64 = a.iter().map(|a| f64::from(*a) * f64::from(*a)).sum();
            assert!((sum_of_squares(&a) - want).abs() <= 1e-12 * want);
        }
    }

    #[test]
    fn column_sums_overwrite_or_add() {
        for (n, c) in [(1, 1), (3, 5), (7, 64), (5, 131)] {
            let x = ramp(n * c, 0.125);
            let want = |j: usize| (0..n).map(|i| f64::from(x[i * c + j])).sum::<f64>();
            let mut out = vec![f32::NAN; c];
            column_sums(&mut out, &x, Accumulate::Overwrite);
            assert!((0..c).all(|j| (f64::from(out[j]) - want(j)).abs() < 1e-4));
            column_sums(&mut out, &x, Accumulate::Add);
            assert!((0..c).all(|j| (f64::from(out[j]) - 2.0 * want(j)).abs() < 1e-4));
        }
    }

    #[test]
    #[should_panic(expected = "add: 3 and 4 elements")]
    fn lengths_that_differ_panic_with_both() {
        add_assign(&mut [0.0; 3], &[0.0; 4]);
    }
}
