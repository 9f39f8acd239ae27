//! Adam: one step on random weights, gradients and moments, in random ranges of the flat memory.

use crate::cases::{check, close, inputs};
use crate::exact::Exact;
use crate::memory::Guarded;
use limpid_tensor::kernels::adam::{AdamStep, DecayMode, adam_ranges};
use proptest::prelude::*;
use std::ops::Range;

/// ULPs of the terms of p, m and v. Measured: 3.1.
const ULPS: f64 = 4.0;

fn steps() -> impl Strategy<Value = AdamStep> {
    let decay_mode = prop_oneof![Just(DecayMode::Decoupled), Just(DecayMode::L2)];
    let t = prop_oneof![1..5_u64, 1..100_000_u64];
    (1e-5..0.1_f32, 0.5..0.95_f32, 0.9..0.9999_f32, 0.0..0.2_f32, decay_mode, 0.01..1.0_f32, t)
        .prop_map(|(lr, beta1, beta2, weight_decay, decay_mode, clip, t)| AdamStep {
            lr,
            beta1,
            beta2,
            eps: 1e-8,
            weight_decay,
            decay_mode,
            clip,
            t,
        })
}

/// The definition for one element: (p, m, v).
fn naive(p: f32, m: f32, v: f32, g: f32, step: AdamStep) -> (Exact, Exact, Exact) {
    let [mut p, m, v, g]: [Exact; 4] = [p, m, v, g].map(Exact::from);
    let [lr, b1, b2, eps, decay, clip]: [Exact; 6] =
        [step.lr, step.beta1, step.beta2, step.eps, step.weight_decay, step.clip].map(Exact::from);
    // Betas are given as f32: 1 − β is exact in f64, and has no error to speak of.
    let rest = |beta: f32| Exact::from(1.0 - f64::from(beta));
    let corrected = |beta: f32| Exact::from(1.0 - f64::from(beta).powf(step.t as f64));
    let mut g = clip * g;
    match step.decay_mode {
        DecayMode::L2 => g = g + decay * p,
        DecayMode::Decoupled => p = p - lr * decay * p,
    }
    let m = b1 * m + rest(step.beta1) * g;
    let v = b2 * v + rest(step.beta2) * (g * g);
    let (m_hat, v_hat) = (m * corrected(step.beta1).inverse(), v * corrected(step.beta2).inverse());
    (p - lr * m_hat * (v_hat.sqrt() + eps).inverse(), m, v)
}

#[test]
fn a_step_of_adam_is_the_definition_in_its_ranges_and_nothing_elsewhere() {
    // Lengths of ranges and of what lies between them, and whether a gradient reached the range.
    let ranges = prop::collection::vec((0..90_usize, 0..4_usize, any::<bool>()), 1..6);
    check(96, (ranges, steps(), inputs()), |(ranges, step, inputs)| {
        let mut n = 0;
        let ranges: Vec<(Range<usize>, bool)> = ranges
            .into_iter()
            .map(|(len, gap, reached)| {
                let start = n + gap;
                n = start + len;
                (start..n, reached)
            })
            .collect();
        let before = [1, 2, 3].map(|which| inputs.plain(which, n));
        let squares: Vec<f32> = before[2].iter().map(|v| v * v).collect();
        let [mut p, mut m, mut v] =
            [&before[0], &before[1], &squares].map(|x| Guarded::new(inputs.edge, x));
        let g = inputs.guarded(4, n);
        let bare: Vec<Range<usize>> = ranges.iter().map(|(range, _)| range.clone()).collect();
        adam_ranges(&mut p, &mut m, &mut v, &g, &bare, |i| ranges[i].1.then_some(step));
        let mut want = [&before[0], &before[1], &squares].map(|x| crate::cases::exact(x));
        let mut touched = vec![false; n];
        for at in ranges.iter().filter(|(_, reached)| *reached).flat_map(|(range, _)| range.clone())
        {
            let (p, m, v) = naive(before[0][at], before[1][at], squares[at], g[at], step);
            (want[0][at], want[1][at], want[2][at]) = (p, m, v);
            touched[at] = true;
        }
        for (what, got, before, want) in [
            ("p", &p, &before[0], &want[0]),
            ("m", &m, &before[1], &want[1]),
            ("v", &v, &squares, &want[2]),
        ] {
            close(what, got, want, ULPS)?;
            let kept = (0..n).all(|at| touched[at] || got[at].to_bits() == before[at].to_bits());
            prop_assert!(kept, "{what} changed outside the ranges");
        }
        Ok(())
    });
}
