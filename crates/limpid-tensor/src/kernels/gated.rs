//! The gate of a gated feed-forward network: y = φ(g)·u.
//!
//! ```text
//! y[j] = φ(x[j]) · x[f + j]          x (n, 2f): the gate g beside u;  y (n, f)
//! ```
//!
//! SwiGLU with SiLU, GeGLU with GELU. Saved for the backward pass: x; φ and φ′ are computed again,
//! which costs less than reading them from memory. Reference: Shazeer 2020.

use super::activation::{Activation, activate, value_and_derivative};
use crate::simd::vectorized;
use crate::team::{self, Parts};

/// y (n, f) = φ(g)·u of x (n, 2f).
///
/// # Panics
/// If x is not twice as long as y, or they are not whole rows.
#[track_caller]
pub fn gated_forward(y: &mut [f32], x: &[f32], f: usize, phi: Activation) {
    check(y.len(), x.len(), f);
    let rows = team::rows_per_task(2 * f);
    team::for_each_chunk(y, rows * f, |task, y| {
        rows_forward(y, &x[task * rows * 2 * f..][..2 * y.len()], f, phi);
    });
}

vectorized! {
    fn rows_forward(y: &mut [f32], x: &[f32], f: usize, phi: Activation) {
        for (y, x) in y.chunks_exact_mut(f).zip(x.chunks_exact(2 * f)) {
            let (gate, up) = x.split_at(f);
            y.copy_from_slice(gate);
            activate(y, phi);
            y.iter_mut().zip(up).for_each(|(y, up)| *y *= up);
        }
    }
}

/// Writes dx (n, 2f), given `dy` (n, f) and x.
///
/// # Panics
/// If the lengths do not fit.
#[track_caller]
pub fn gated_backward(dx: &mut [f32], dy: &[f32], x: &[f32], f: usize, phi: Activation) {
    check(dy.len(), x.len(), f);
    assert_eq!(dx.len(), x.len(), "gated backward: dx");
    let (n, rows) = (dy.len() / f, team::rows_per_task(2 * f));
    let dx = Parts::new(dx);
    team::run(n.div_ceil(rows), |task| {
        let (first, last) = (task * rows, n.min((task + 1) * rows));
        // SAFETY: rows first .. last belong to this task alone.
        let dx = unsafe { dx.part(first * 2 * f, (last - first) * 2 * f) };
        rows_backward(dx, &dy[first * f..last * f], &x[first * 2 * f..last * 2 * f], f, phi);
    });
}

vectorized! {
    fn rows_backward(dx: &mut [f32], dy: &[f32], x: &[f32], f: usize, phi: Activation) {
        let rows = dx.chunks_exact_mut(2 * f).zip(dy.chunks_exact(f)).zip(x.chunks_exact(2 * f));
        for ((dx, dy), x) in rows {
            let ((dgate, dup), (gate, up)) = (dx.split_at_mut(f), x.split_at(f));
            // Forward: y = φ(g)·u. So du = dy·φ(g) and dg = dy·u·φ′(g).
            value_and_derivative(dup, dgate, gate, phi);
            for (((dgate, dup), dy), up) in dgate.iter_mut().zip(dup).zip(dy).zip(up) {
                *dup *= dy;
                *dgate *= dy * up;
            }
        }
    }
}

#[track_caller]
fn check(y: usize, x: usize, f: usize) {
    assert!(
        f > 0 && y.is_multiple_of(f) && x == 2 * y,
        "gated: {x} inputs and {y} outputs are not rows of {} and {f}",
        2 * f
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(n: usize, seed: usize) -> Vec<f32> {
        (0..n).map(|i| (((i + seed) * 17) % 23) as f32 / 5.75 - 1.9).collect()
    }

    #[test]
    fn rows_are_the_activated_gate_times_the_other_half() {
        for (n, f) in [(1, 1), (3, 5), (40, 33), (700, 16)] {
            for phi in Activation::ALL {
                let x = fill(n * 2 * f, 3);
                let mut y = vec![f32::NAN; n * f];
                gated_forward(&mut y, &x, f, phi);
                for (y, x) in y.chunks(f).zip(x.chunks(2 * f)) {
                    let mut want = x[..f].to_vec();
                    activate(&mut want, phi);
                    want.iter_mut().zip(&x[f..]).for_each(|(y, up)| *y *= up);
                    assert_eq!(y, want, "{phi:?}");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "gated: 9 inputs and 4 outputs are not rows of 4 and 2")]
    fn halves_that_do_not_fit_panic_with_their_sizes() {
        gated_forward(&mut [0.0; 4], &[0.0; 9], 2, Activation::Silu);
    }
}
