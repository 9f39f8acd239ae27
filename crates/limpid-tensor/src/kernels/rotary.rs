//! Rotary positions: queries and keys are turned by an angle that grows with their position.
//!
//! ```text
//! y[i]     = x[i]·cos(p·ω_i) − x[i + r/2]·sin(p·ω_i)        0 ≤ i < r/2
//! y[i+r/2] = x[i + r/2]·cos(p·ω_i) + x[i]·sin(p·ω_i)        the other columns of a head: y = x
//! ```
//!
//! p is the position of the token, ω_i = base^(−2i/r) unless scaled. The product of a query at p
//! and a key at p′ depends on p − p′ alone. Shapes: `x`, `y` (n, w), whose rows begin with heads of
//! width d, of which r columns are turned; `table` (n, r): the cosines of a row, then its sines.
//! Nothing is saved for the backward pass, which turns back. Reference: Su et al. 2021; columns
//! are paired as in GPT-NeoX and Llama.

use crate::simd::vectorized;
use crate::team::{self, Parts};

/// Writes the table (n, r) of the given positions: r/2 frequencies ω, and a factor on all of it
/// (1 unless the scaling has an attention factor).
///
/// # Panics
/// If the table is not (n, 2·frequencies).
#[track_caller]
pub fn rotary_table(table: &mut [f32], positions: &[u32], frequencies: &[f32], factor: f32) {
    let half = frequencies.len();
    assert_eq!(table.len(), positions.len() * 2 * half, "rotary table: length");
    for (row, position) in table.chunks_exact_mut((2 * half).max(1)).zip(positions) {
        let (cos, sin) = row.split_at_mut(half);
        for ((cos, sin), frequency) in cos.iter_mut().zip(sin).zip(frequencies) {
            // The angle is rounded to f32, as in `transformers`; its sine and cosine are exact.
            let angle = f64::from(*position as f32 * frequency);
            (*cos, *sin) = (factor * angle.cos() as f32, factor * angle.sin() as f32);
        }
    }
}

/// The columns that are turned: `heads` heads of `width` at the start of each row, the first
/// `rotated` columns of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RotaryShape {
    /// Heads of queries and keys together.
    pub heads: usize,
    /// d.
    pub width: usize,
    /// r, even.
    pub rotated: usize,
}

/// Which way heads are turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// By the angle of their position: the forward pass.
    Forward,
    /// Back: the backward pass, because the inverse of a rotation is its transpose.
    Back,
}

/// Turns the heads of each row of x (n, stride) into y, and copies the other columns.
///
/// # Panics
/// If the heads do not fit the rows, or the table is not (n, r).
#[track_caller]
pub fn rotary(
    y: &mut [f32],
    x: &[f32],
    table: &[f32],
    stride: usize,
    shape: RotaryShape,
    turn: Turn,
) {
    let RotaryShape { heads, width, rotated } = shape;
    assert!(
        heads * width <= stride && rotated <= width && rotated.is_multiple_of(2),
        "rotary: {heads} heads of {width} with {rotated} columns turned, in rows of {stride}"
    );
    let n = x.len() / stride.max(1);
    assert!(
        x.len() == n * stride && y.len() == x.len() && table.len() == n * rotated,
        "rotary: {} elements in rows of {stride}, {} outputs, a table of {}",
        x.len(),
        y.len(),
        table.len()
    );
    let rows = team::rows_per_task(stride);
    let y = Parts::new(y);
    team::run(n.div_ceil(rows), |task| {
        for row in task * rows..n.min((task + 1) * rows) {
            // SAFETY: each row belongs to one task.
            let y = unsafe { y.part(row * stride, stride) };
            let x = &x[row * stride..][..stride];
            y.copy_from_slice(x);
            turn_row(y, x, &table[row * rotated..][..rotated], shape, turn);
        }
    });
}

vectorized! {
    fn turn_row(y: &mut [f32], x: &[f32], table: &[f32], shape: RotaryShape, turn: Turn) {
        let half = shape.rotated / 2;
        let (cos, sin) = table.split_at(half);
        let sign = if turn == Turn::Forward { 1.0 } else { -1.0 };
        let heads = y.chunks_exact_mut(shape.width).zip(x.chunks_exact(shape.width));
        for (y, x) in heads.take(shape.heads) {
            let ((y1, y2), (x1, x2)) = (y.split_at_mut(half), x.split_at(half));
            let outputs = y1.iter_mut().zip(y2);
            let inputs = x1.iter().zip(x2).zip(cos.iter().zip(sin));
            for ((y1, y2), ((x1, x2), (cos, sin))) in outputs.zip(inputs) {
                let sin = sign * sin;
                *y1 = x1 * cos - x2 * sin;
                *y2 = x2 * cos + x1 * sin;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(n: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 17) % 23) as f32 / 11.5 - 1.0).collect()
    }

    #[test]
    fn heads_agree_with_complex_rotations_and_other_columns_are_copied() {
        let shape = RotaryShape { heads: 3, width: 10, rotated: 6 };
        let (stride, positions) = (37, [0_u32, 1, 7, 1000]);
        let frequencies = [1.0_f32, 0.1, 0.01];
        let x = fill(positions.len() * stride);
        let (mut y, mut table) = (vec![f32::NAN; x.len()], vec![f32::NAN; 4 * 6]);
        rotary_table(&mut table, &positions, &frequencies, 1.0);
        rotary(&mut y, &x, &table, stride, shape, Turn::Forward);
        for (row, position) in positions.into_iter().enumerate() {
            let (x, y) = (&x[row * stride..][..stride], &y[row * stride..][..stride]);
            for at in 0..stride {
                let (head, p) = (at / 10, at % 10);
                let want = if head >= 3 || p >= 6 {
                    f64::from(x[at])
                } else {
                    let (i, at) = (p % 3, head * 10);
                    let (re, im) = (f64::from(x[at + i]), f64::from(x[at + i + 3]));
                    let angle = f64::from(position as f32 * frequencies[i]);
                    if p < 3 {
                        re * angle.cos() - im * angle.sin()
                    } else {
                        re * angle.sin() + im * angle.cos()
                    }
                };
                assert!((f64::from(y[at]) - want).abs() < 1e-6, "row {row} column {at}");
            }
        }
        let mut back = vec![f32::NAN; x.len()];
        rotary(&mut back, &y, &table, stride, shape, Turn::Back);
        assert!(back.iter().zip(&x).all(|(back, x)| (back - x).abs() < 1e-6));
    }

    #[test]
    fn the_product_of_two_turned_vectors_depends_on_their_distance_alone() {
        let shape = RotaryShape { heads: 1, width: 8, rotated: 8 };
        let (q, k) = (fill(8), fill(16)[8..].to_vec());
        let product = |p: u32, other: u32| -> f32 {
            let turned = |x: &[f32], position: u32| {
                let (mut y, mut table) = ([0.0; 8], [0.0; 8]);
                rotary_table(&mut table, &[position], &[1.0, 0.3, 0.1, 0.03], 1.0);
                rotary(&mut y, x, &table, 8, shape, Turn::Forward);
                y
            };
            turned(&q, p).iter().zip(turned(&k, other)).map(|(a, b)| a * b).sum()
        };
        assert!((product(3, 1) - product(12, 10)).abs() < 1e-5);
        assert!((product(3, 1) - product(12, 9)).abs() > 1e-2);
    }

    #[test]
    #[should_panic(expected = "rotary: 2 heads of 4 with 4 columns turned, in rows of 7")]
    fn heads_that_do_not_fit_panic_with_their_sizes() {
        let shape = RotaryShape { heads: 2, width: 4, rotated: 4 };
        rotary(&mut [0.0; 7], &[0.0; 7], &[0.0; 4], 7, shape, Turn::Forward);
    }
}
