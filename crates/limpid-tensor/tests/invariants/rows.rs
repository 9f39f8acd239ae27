//! Kernels that work row by row: layer normalization, softmax, cross-entropy; and sums over rows.

use crate::cases::{Inputs, accumulate, check, close, exact, inputs, length, near};
use crate::exact::Exact;
use crate::memory::Guarded;
use crate::reference;
use limpid_tensor::kernels::cross_entropy::{Gradient, IGNORE, cross_entropy};
use limpid_tensor::kernels::elementwise::column_sums;
use limpid_tensor::kernels::layer_norm::{
    NormInput, layer_norm_backward, layer_norm_forward, partial_sums,
};
use limpid_tensor::kernels::matmul::Accumulate;
use limpid_tensor::kernels::softmax::{log_sum_exp, softmax_backward, softmax_forward};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

/// Rows and columns: many rows are split into tasks.
fn shape() -> impl Strategy<Value = (usize, usize)> {
    prop_oneof![(length(40), length(300)), (length(400), length(30))]
}

/// Layer norm: within this many ULPs of the absolute terms. Measured on these cases: 2.4.
const NORM_ULPS: f64 = 4.0;

/// Where the residual comes in.
#[derive(Clone, Copy, Debug)]
enum Residual {
    Without,
    With,
}

#[test]
fn layer_norm_and_its_gradients_are_the_definition() {
    let residual = prop_oneof![Just(Residual::Without), Just(Residual::With)];
    check(96, (shape(), residual, inputs()), |((n, c), residual, inputs)| {
        check_layer_norm(n, c, residual, inputs)
    });
}

fn check_layer_norm(n: usize, c: usize, residual: Residual, inputs: Inputs) -> TestCaseResult {
    const EPS: f32 = 1e-5;
    let (a, b) = (inputs.guarded(1, n * c), inputs.guarded(2, n * c));
    let (gamma, beta, dy) = (inputs.guarded(3, c), inputs.guarded(4, c), inputs.guarded(5, n * c));
    let (mut y, mut mean, mut rstd) = (inputs.output(n * c), inputs.output(n), inputs.output(n));
    let (input, kept) = match residual {
        Residual::Without => (NormInput::Plain(&a), 0),
        Residual::With => (NormInput::Residual(&a, &b), n * c),
    };
    let (mut sum, dsum) = (inputs.output(kept), inputs.guarded(6, kept));
    layer_norm_forward(&mut y, &mut sum, &mut mean, &mut rstd, input, &gamma, &beta, EPS);
    let x: Vec<f32> = match residual {
        Residual::Without => a.to_vec(),
        Residual::With => a.iter().zip(&*b).map(|(a, b)| a + b).collect(),
    };
    prop_assert!(kept == 0 || sum[..] == x[..]);
    let (mut dx, mut dgamma, mut dbeta) =
        (inputs.output(n * c), inputs.output(c), inputs.output(c));
    let mut partial = inputs.output(2 * c * partial_sums(n));
    layer_norm_backward(
        &mut dx,
        &mut dgamma,
        &mut dbeta,
        &mut partial,
        &dy,
        &dsum,
        &x,
        &gamma,
        &mean,
        &rstd,
    );

    let (mut want_dgamma, mut want_dbeta) = (exact(&vec![0.0; c]), exact(&vec![0.0; c]));
    let (gamma, beta, share) = (exact(&gamma), exact(&beta), Exact::from(1.0 / c as f64));
    for i in 0..n {
        let (x, dy) = (exact(&x[i * c..][..c]), exact(&dy[i * c..][..c]));
        let mu = share * x.iter().copied().sum();
        let centred: Vec<Exact> = x.iter().map(|x| *x - mu).collect();
        let variance = share * centred.iter().map(|x| *x * *x).sum();
        let r = (variance + EPS.into()).sqrt().inverse();
        let xhat: Vec<Exact> = centred.iter().map(|x| *x * r).collect();
        near("mean", i, mean[i], mu, NORM_ULPS)?;
        near("rstd", i, rstd[i], r, NORM_ULPS)?;
        let dxhat: Vec<Exact> = (0..c).map(|j| dy[j] * gamma[j]).collect();
        let mean_dxhat = share * dxhat.iter().copied().sum();
        let mean_both = share * (0..c).map(|j| dxhat[j] * xhat[j]).sum();
        for j in 0..c {
            near("y", i * c + j, y[i * c + j], gamma[j] * xhat[j] + beta[j], NORM_ULPS)?;
            // x̂ⱼ depends on xᵢ by ∂x̂ⱼ/∂xᵢ = rstd·([i = j] − 1/c − x̂ᵢ·x̂ⱼ/c).
            let through = r * (dxhat[j] - mean_dxhat - xhat[j] * mean_both);
            let beside = if kept == 0 { 0.0_f64.into() } else { Exact::from(dsum[i * c + j]) };
            near("dx", i * c + j, dx[i * c + j], through + beside, NORM_ULPS)?;
            want_dgamma[j] = want_dgamma[j] + dy[j] * xhat[j];
            want_dbeta[j] = want_dbeta[j] + dy[j];
        }
    }
    close("dgamma", &dgamma, &want_dgamma, NORM_ULPS)?;
    close("dbeta", &dbeta, &want_dbeta, NORM_ULPS)
}

/// Softmax: ULPs of y·(1 + |x|), as x − max is rounded and the exponential makes that relative.
/// Measured: 1.1.
const SOFTMAX_ULPS: f64 = 2.0;

#[test]
fn softmax_and_its_gradient_are_the_definition_with_and_without_masked_numbers() {
    let masked = prop_oneof![Just(0.0_f32), Just(0.3), Just(1.0)];
    check(96, (shape(), masked, accumulate(), inputs()), |((n, c), masked, accumulate, inputs)| {
        let (mut x, dy) = (inputs.guarded(1, n * c), inputs.guarded(2, n * c));
        for (x, dice) in x.iter_mut().zip(inputs.below(3, n * c, 1000)) {
            *x = if (dice as f32) < 1000.0 * masked { f32::NEG_INFINITY } else { *x };
        }
        let mut y = inputs.output(n * c);
        softmax_forward(&mut y, &x, c);
        let before = inputs.plain(4, n * c);
        let mut dx = match accumulate {
            Accumulate::Add => Guarded::new(inputs.edge, &before),
            Accumulate::Overwrite => inputs.output(n * c),
        };
        softmax_backward(&mut dx, &dy, &y, c, accumulate);
        for i in 0..n {
            let row = i * c..(i + 1) * c;
            let (p, lse) = reference::softmax(&exact(&x[row.clone()]));
            close("y", &y[row.clone()], &p, SOFTMAX_ULPS)?;
            let got = log_sum_exp(&x[row.clone()]);
            if lse.value == f64::NEG_INFINITY {
                prop_assert_eq!(got, f32::NEG_INFINITY);
            } else {
                near("log_sum_exp", i, got, lse, SOFTMAX_ULPS)?;
            }
            let dy = exact(&dy[row.clone()]);
            let mean: Exact = p.iter().zip(&dy).map(|(p, dy)| *p * *dy).sum();
            for (j, at) in row.enumerate() {
                let slope = p[j] * (dy[j] - mean);
                let kept = if accumulate == Accumulate::Add { before[at] } else { 0.0 };
                near("dx", at, dx[at], Exact::from(kept) + slope, SOFTMAX_ULPS)?;
            }
        }
        Ok(())
    });
}

/// Cross-entropy: ULPs of the terms of the loss. Measured: 1.2.
const LOSS_ULPS: f64 = 2.0;

#[test]
fn cross_entropy_and_its_gradient_are_the_definition() {
    let smoothing = prop_oneof![Just(0.0_f32), Just(0.1), 0.0..0.9_f32];
    check(96, (shape(), smoothing, inputs()), |((n, v), smoothing, inputs)| {
        const WEIGHT: f32 = 0.37;
        let logits = inputs.plain(1, n * v);
        // One row in five has no target.
        let targets: Vec<u32> = inputs
            .below(2, n, 5)
            .into_iter()
            .zip(inputs.below(3, n, v))
            .map(|(dice, target)| if dice == 0 { IGNORE } else { target })
            .collect();
        let (mut z, mut losses) = (Guarded::new(inputs.edge, &logits), inputs.output(n));
        cross_entropy(&mut losses, &mut z, &targets, smoothing, WEIGHT, Gradient::Compute);
        let (mut used_up, mut again) = (Guarded::new(inputs.edge, &logits), inputs.output(n));
        cross_entropy(&mut again, &mut used_up, &targets, smoothing, WEIGHT, Gradient::Skip);
        prop_assert!(again[..] == losses[..], "the loss depends on whether the gradient is wanted");
        let (smooth, weight) = (Exact::from(smoothing), Exact::from(WEIGHT));
        let (hard, share) = (Exact::from(1.0_f64) - smooth, Exact::from(1.0 / v as f64));
        for (i, target) in targets.iter().enumerate() {
            let (row, got) = (exact(&logits[i * v..][..v]), &z[i * v..][..v]);
            if *target == IGNORE {
                prop_assert!(losses[i] == 0.0 && got.iter().all(|z| *z == 0.0));
                continue;
            }
            let (p, lse) = reference::softmax(&row);
            let mean: Exact = row.iter().map(|z| share * (lse - *z)).sum();
            let loss = hard * (lse - row[*target as usize]) + smooth * mean;
            near("loss", i, losses[i], loss, LOSS_ULPS)?;
            for j in 0..v {
                let wanted = if j == *target as usize { hard } else { 0.0_f64.into() };
                near(
                    "dz",
                    i * v + j,
                    got[j],
                    weight * (p[j] - wanted - smooth * share),
                    LOSS_ULPS,
                )?;
            }
        }
        Ok(())
    });
}

/// A chain of n additions in f32, measured as products are. Measured: 4.1.
const SUM_ULPS: f64 = 6.0;

#[test]
fn sums_over_rows_are_the_definition() {
    check(64, (shape(), accumulate(), inputs()), |((n, c), accumulate, inputs)| {
        let (x, before) = (inputs.guarded(1, n * c), inputs.plain(2, c));
        let mut sums = match accumulate {
            Accumulate::Add => Guarded::new(inputs.edge, &before),
            Accumulate::Overwrite => inputs.output(c),
        };
        column_sums(&mut sums, &x, accumulate);
        for (j, sum) in sums.iter().enumerate() {
            let kept = if accumulate == Accumulate::Add { before[j] } else { 0.0 };
            let want = (0..n)
                .map(|i| Exact::from(x[i * c + j]))
                .fold(kept.into(), |sum: Exact, x| sum + x);
            near("sum", j, *sum, want, SUM_ULPS)?;
        }
        Ok(())
    });
}
