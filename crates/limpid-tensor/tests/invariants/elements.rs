//! Kernels that work element by element or row by number: activations, arithmetic, dropout,
//! embeddings, positions.

use crate::cases::{accumulate, check, close, exact, inputs, length, near};
use crate::exact::Exact;
use crate::memory::Guarded;
use crate::reference;
use limpid_tensor::kernels::activation::{
    Activation, SavedForBackward, activate, activate_and_derive, activation_backward,
};
use limpid_tensor::kernels::dropout::{DropoutMask, dropout_in_place};
use limpid_tensor::kernels::elementwise::{
    add_assign, add_forward, multiply_assign, scale_forward, sum_of_squares,
};
use limpid_tensor::kernels::embedding::{embedding_backward, embedding_forward};
use limpid_tensor::kernels::matmul::Accumulate;
use limpid_tensor::kernels::positions::{SinusoidLayout, sinusoid_table};
use limpid_tensor::rng;
use proptest::prelude::*;

/// Lengths within one chunk of work, and over several.
fn any_length() -> impl Strategy<Value = usize> {
    prop_oneof![3 => length(700), 1 => 16_300..40_000_usize]
}

/// Activations: ULPs of the terms of φ and φ′; ½(1 + erf) counts as numbers of about 1. Measured:
/// 3.8.
const ACTIVATION_ULPS: f64 = 5.0;

#[test]
fn every_activation_and_its_gradient_is_the_definition() {
    let phi = prop::sample::select(Activation::ALL.to_vec());
    check(96, (phi, length(700), inputs()), |(phi, n, inputs)| {
        let (z, dy) = (inputs.plain(1, n), inputs.plain(2, n));
        let (mut y, mut derivative) = (Guarded::new(inputs.edge, &z), inputs.output(n));
        let saved = match phi.saved_for_backward() {
            SavedForBackward::Derivative => {
                activate_and_derive(&mut y, &mut derivative, phi);
                &derivative
            }
            SavedForBackward::Output | SavedForBackward::Nothing => {
                activate(&mut y, phi);
                &y
            }
        };
        let mut dz = Guarded::new(inputs.edge, &dy);
        activation_backward(&mut dz, saved, phi);
        for (at, (z, dy)) in z.iter().zip(&dy).enumerate() {
            let (want, slope) = reference::activation(phi, (*z).into());
            near("y", at, y[at], want, ACTIVATION_ULPS)?;
            near("dz", at, dz[at], slope * (*dy).into(), ACTIVATION_ULPS)?;
        }
        Ok(())
    });
}

/// One operation is one rounding.
#[test]
fn arithmetic_is_rounded_once() {
    check(64, (any_length(), inputs()), |(n, inputs)| {
        let (a, b) = (inputs.guarded(1, n), inputs.guarded(2, n));
        let both = || a.iter().zip(&*b).map(|(a, b)| (Exact::from(*a), Exact::from(*b)));
        let mut y = inputs.output(n);
        add_forward(&mut y, &a, &b);
        close("a + b", &y, &both().map(|(a, b)| a + b).collect::<Vec<_>>(), 0.5)?;
        scale_forward(&mut y, &a, 1.7);
        close("1.7·a", &y, &both().map(|(a, _)| a * 1.7_f32.into()).collect::<Vec<_>>(), 0.5)?;
        let mut y = Guarded::new(inputs.edge, &a);
        add_assign(&mut y, &b);
        close("a += b", &y, &both().map(|(a, b)| a + b).collect::<Vec<_>>(), 0.5)?;
        let mut y = Guarded::new(inputs.edge, &a);
        multiply_assign(&mut y, &b);
        close("a *= b", &y, &both().map(|(a, b)| a * b).collect::<Vec<_>>(), 0.5)?;
        let want: f64 = a.iter().map(|a| f64::from(*a) * f64::from(*a)).sum();
        prop_assert!((sum_of_squares(&a) - want).abs() <= 1e-13 * want);
        Ok(())
    });
}

#[test]
fn dropout_keeps_what_the_random_number_of_each_element_says() {
    let p = prop_oneof![Just(0.0_f32), Just(0.1), 0.0..0.95_f32];
    check(
        64,
        (any_length(), p, any::<u64>(), 0..u64::from(u32::MAX), inputs()),
        |(n, p, seed, stream, inputs)| {
            let x = inputs.plain(1, n);
            let mut y = Guarded::new(inputs.edge, &x);
            dropout_in_place(&mut y, DropoutMask { seed, stream, p });
            for (at, (y, x)) in y.iter().zip(&x).enumerate() {
                // The random number has 24 bits: u ≥ p, compared as whole numbers.
                let kept = rng::number(seed, stream, at as u64) >> 8
                    >= (f64::from(p) * 16_777_216.0) as u32;
                let factor = if kept { 1.0 / (1.0 - f64::from(p)) } else { 0.0 };
                // 1 − p, its inverse, the product: three roundings of half a ULP, the first of
                // which the inverse enlarges.
                near("y", at, *y, Exact::from(*x) * factor.into(), 1.5 + factor)?;
            }
            Ok(())
        },
    );
}

#[test]
fn embedding_picks_rows_and_its_gradient_adds_them_up() {
    let shape = (length(60), length(40), length(200));
    check(64, (shape, accumulate(), inputs()), |((n, v, c), accumulate, inputs)| {
        const SCALE: f32 = 1.3;
        let (table, dy, ids) =
            (inputs.guarded(1, v * c), inputs.guarded(2, n * c), inputs.below(3, n, v));
        let mut y = inputs.output(n * c);
        embedding_forward(&mut y, &table, &ids, c, SCALE);
        let before = inputs.plain(4, v * c);
        let mut dtable = match accumulate {
            Accumulate::Add => Guarded::new(inputs.edge, &before),
            Accumulate::Overwrite => inputs.output(v * c),
        };
        embedding_backward(&mut dtable, accumulate, &dy, &ids, c, SCALE);
        let mut want = match accumulate {
            Accumulate::Add => exact(&before),
            Accumulate::Overwrite => exact(&vec![0.0; v * c]),
        };
        for (at, y) in y.iter().enumerate() {
            let row = ids[at / c] as usize * c + at % c;
            near("y", at, *y, Exact::from(SCALE) * table[row].into(), 0.5)?;
            want[row] = want[row] + Exact::from(SCALE) * dy[at].into();
        }
        // Up to 60 terms in a row: half a ULP each at worst, less as they go both ways. Measured:
        // 3.0.
        close("dtable", &dtable, &want, 4.0)
    });
}

#[test]
fn positions_are_the_sines_and_cosines_of_their_angles() {
    use SinusoidLayout::{Interleaved, Split, Tensor2Tensor};
    let layout = prop_oneof![Just(Interleaved), Just(Split), Just(Tensor2Tensor)];
    check(48, (length(80), length(70), layout, inputs()), |(n, c, layout, inputs)| {
        let mut table = inputs.output(n * c);
        sinusoid_table(&mut table, c, layout);
        for (at, got) in table.iter().enumerate() {
            let (position, j, half) = (at / c, at % c, c.div_ceil(2));
            let (pair, phase) = match layout {
                Interleaved => (j / 2, j % 2),
                Split => (j % half, j / half),
                Tensor2Tensor if c % 2 == 1 && j == c - 1 => {
                    prop_assert_eq!(*got, 0.0);
                    continue;
                }
                Tensor2Tensor => (j % (c / 2), j / (c / 2)),
            };
            let exponent = match layout {
                Tensor2Tensor if c < 4 => 0.0,
                Tensor2Tensor => pair as f64 / (c / 2 - 1) as f64,
                _ => 2.0 * pair as f64 / c as f64,
            };
            // A cosine is a sine a quarter turn later.
            let angle = position as f64 * (-exponent * 10_000_f64.ln()).exp();
            let want = (angle + phase as f64 * std::f64::consts::FRAC_PI_2).sin();
            prop_assert!(
                (f64::from(*got) - want).abs() < 1e-7,
                "({position},{j}) = {got}, not {want}"
            );
        }
        Ok(())
    });
}
