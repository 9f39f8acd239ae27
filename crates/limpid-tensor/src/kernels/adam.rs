//! Adam and AdamW in one pass over flat memory.
//!
//! ```text
//! g = clip · dp   (+ λ·p for Adam with L2)
//! m = β₁·m + (1 − β₁)·g          v = β₂·v + (1 − β₂)·g²
//! p = p·(1 − lr·λ)                                           (AdamW: decoupled weight decay)
//! p = p − lr/(1 − β₁ᵗ) · m / (√(v / (1 − β₂ᵗ)) + ε)          t counts steps from 1
//! ```
//!
//! References: Kingma and Ba 2015; Loshchilov and Hutter 2019.

use crate::simd::vectorized;
use crate::team::{self, Parts};
use std::ops::Range;

/// How weight decay is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecayMode {
    /// AdamW: p is multiplied by 1 − lr·λ, independently of the gradient.
    Decoupled,
    /// Adam with L2 regularization: λ·p is added to the gradient.
    L2,
}

/// The hyperparameters of one step.
#[derive(Clone, Copy, Debug)]
pub struct AdamStep {
    /// Learning rate.
    pub lr: f32,
    /// β₁, decay of the first moment.
    pub beta1: f32,
    /// β₂, decay of the second moment.
    pub beta2: f32,
    /// ε, added to the denominator.
    pub eps: f32,
    /// λ; 0 for parameters without weight decay.
    pub weight_decay: f32,
    /// How λ is applied.
    pub decay_mode: DecayMode,
    /// Factor on every gradient: 1, or less when the global norm is clipped.
    pub clip: f32,
    /// Number of this step, from 1, for the bias correction.
    pub t: u64,
}

/// One step on the calling thread: parameters `p`, gradients `g` and moments `m`, `v`, all of one
/// length.
pub fn adam(p: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32], step: AdamStep) {
    // 1 − βᵗ in f64: at t = 1 and β₂ = 0.999, f32 would lose four digits.
    let correction = |beta: f32| 1.0 - f64::from(beta).powf(step.t as f64);
    let rate = (f64::from(step.lr) / correction(step.beta1)) as f32;
    let root = correction(step.beta2).sqrt() as f32;
    vectorized! {
        fn part(
            p: &mut [f32],
            m: &mut [f32],
            v: &mut [f32],
            g: &[f32],
            step: AdamStep,
            rate: f32,
            root: f32,
        ) {
            let (shrink, l2) = match step.decay_mode {
                DecayMode::Decoupled => (1.0 - step.lr * step.weight_decay, 0.0),
                DecayMode::L2 => (1.0, step.weight_decay),
            };
            let (b1, b2) = (step.beta1, step.beta2);
            for (((p, m), v), g) in p.iter_mut().zip(m).zip(v).zip(g) {
                let g = g * step.clip + l2 * *p;
                *m = b1 * *m + (1.0 - b1) * g;
                *v = b2 * *v + (1.0 - b2) * (g * g);
                *p = *p * shrink - rate * *m / (v.sqrt() / root + step.eps);
            }
        }
    }
    part(p, m, v, g, step, rate, root);
}

/// One step for ranges of flat memory, on the team. `step_of(i)` gives the hyperparameters of range
/// i; `None` leaves the range unchanged.
///
/// # Panics
/// If the ranges overlap or do not ascend.
#[track_caller]
pub fn adam_ranges(
    p: &mut [f32],
    m: &mut [f32],
    v: &mut [f32],
    g: &[f32],
    ranges: &[Range<usize>],
    step_of: impl Fn(usize) -> Option<AdamStep> + Sync,
) {
    assert!(
        ranges.windows(2).all(|pair| pair[0].end <= pair[1].start),
        "adam: ranges overlap or do not ascend"
    );
    let (p, m, v) = (Parts::new(p), Parts::new(m), Parts::new(v));
    team::run(ranges.len(), |i| {
        let Some(step) = step_of(i) else { return };
        let (from, len) = (ranges[i].start, ranges[i].len());
        // SAFETY: ranges do not overlap, and each is taken by one task.
        let (p, m, v) = unsafe { (p.part(from, len), m.part(from, len), v.part(from, len)) };
        adam(p, m, v, &g[ranges[i].clone()], step);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition in f64, step by step.
    #[test]
    fn a_hundred_steps_agree_with_the_definition() {
        for decay_mode in [DecayMode::Decoupled, DecayMode::L2] {
            let n = 37;
            let mut p: Vec<f32> = (0..n).map(|i| i as f32 * 0.1 - 1.5).collect();
            let (mut m, mut v) = (vec![0.0_f32; n], vec![0.0_f32; n]);
            let (mut p64, mut m64, mut v64): (Vec<f64>, _, _) =
                (p.iter().map(|p| f64::from(*p)).collect(), vec![0.0_f64; n], vec![0.0_f64; n]);
            for t in 1..=100_u64 {
                let g: Vec<f32> =
                    (0..n).map(|i| ((i as f32 + 1.0) * t as f32 * 0.37).sin()).collect();
                let step = AdamStep {
                    lr: 0.01,
                    beta1: 0.9,
                    beta2: 0.98,
                    eps: 1e-8,
                    weight_decay: 0.1,
                    decay_mode,
                    clip: 0.5,
                    t,
                };
                adam(&mut p, &mut m, &mut v, &g, step);
                for i in 0..n {
                    let mut g = 0.5 * f64::from(g[i]);
                    match decay_mode {
                        DecayMode::Decoupled => p64[i] *= 1.0 - 0.01 * 0.1,
                        DecayMode::L2 => g += 0.1 * p64[i],
                    }
                    m64[i] = 0.9 * m64[i] + 0.1 * g;
                    v64[i] = 0.98 * v64[i] + 0.02 * g * g;
                    let (m_hat, v_hat) = (
                        m64[i] / (1.0 - 0.9_f64.powi(t as i32)),
                        v64[i] / (1.0 - 0.98_f64.powi(t as i32)),
                    );
                    p64[i] -= 0.01 * m_hat / (v_hat.sqrt() + 1e-8);
                }
            }
            for (p, want) in p.iter().zip(&p64) {
                assert!((f64::from(*p) - want).abs() < 2e-5, "{decay_mode:?}: {p} is not {want}");
            }
        }
    }

    #[test]
    fn with_a_zero_gradient_only_weight_decay_changes_the_parameter() {
        let (mut p, mut m, mut v) = ([2.0], [0.0], [0.0]);
        let step = AdamStep {
            lr: 0.1,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            weight_decay: 0.5,
            decay_mode: DecayMode::Decoupled,
            clip: 1.0,
            t: 1,
        };
        adam(&mut p, &mut m, &mut v, &[0.0], step);
        assert!((p[0] - 2.0 * 0.95).abs() < 1e-6);
    }
}
