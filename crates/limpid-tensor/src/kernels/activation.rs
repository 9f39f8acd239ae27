//! Activations: y = φ(z), element by element.
//!
//! | name | φ(z) | φ′(z) |
//! |---|---|---|
//! | ReLU | max(0, z) | 1 where y > 0 |
//! | GELU, exact | z·Φ(z) | Φ(z) + z·ϕ(z) |
//! | GELU, tanh | ½z·(1 + tanh u) | ½(1 + tanh u) + ½z·(1 − tanh² u)·u′ |
//! | SiLU | z·σ(z) | σ(z)·(1 + z·(1 − σ(z))) |
//! | quick GELU | z·σ(az), a = 1.702 | σ(az)·(1 + az·(1 − σ(az))) |
//! | squared ReLU | max(0, z)² | 2·max(0, z) |
//! | tanh | tanh z | 1 − y² |
//! | sigmoid | σ(z) = 1/(1 + e⁻ᶻ) | y·(1 − y) |
//!
//! Φ is the normal distribution function, ϕ its density, and u = √(2/π)·(z + 0.044715·z³). ReLU,
//! tanh and sigmoid need only y for the backward pass; for the others the forward pass stores the
//! derivative, because it has already computed the exponential.

use crate::simd::{exp, tanh, vectorized};
use crate::team::Parts;

/// The activation function φ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// y = z.
    None,
    /// max(0, z): the original Transformer.
    Relu,
    /// z·Φ(z): BERT.
    Gelu,
    /// The tanh approximation of GELU: GPT.
    GeluTanh,
    /// z·σ(z), also called swish: Marian.
    Silu,
    /// z·σ(1.702·z), an approximation of GELU: CLIP.
    QuickGelu,
    /// max(0, z)²: Primer.
    SquaredRelu,
    /// Recurrent networks, BERT's pooler.
    Tanh,
    /// Gates of recurrent networks.
    Sigmoid,
}

/// What an activation saves for its backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedForBackward {
    /// Nothing: φ is the identity.
    Nothing,
    /// The output.
    Output,
    /// The derivative, stored by [`activate_and_derive`].
    Derivative,
}

impl Activation {
    /// All activations.
    pub const ALL: [Activation; 9] = [
        Activation::None,
        Activation::Relu,
        Activation::Gelu,
        Activation::GeluTanh,
        Activation::Silu,
        Activation::QuickGelu,
        Activation::SquaredRelu,
        Activation::Tanh,
        Activation::Sigmoid,
    ];

    /// What [`activation_backward`] needs besides dy.
    pub fn saved_for_backward(self) -> SavedForBackward {
        match self {
            Activation::None => SavedForBackward::Nothing,
            Activation::Relu | Activation::Tanh | Activation::Sigmoid => SavedForBackward::Output,
            Activation::Gelu
            | Activation::GeluTanh
            | Activation::Silu
            | Activation::QuickGelu
            | Activation::SquaredRelu => SavedForBackward::Derivative,
        }
    }
}

const SQRT_2_OVER_PI: f32 = 0.797_884_6;
const CUBIC: f32 = 0.044_715;
const INV_SQRT_2PI: f32 = 0.398_942_3;
const QUICK: f32 = 1.702;

#[inline(always)]
pub(crate) fn sigmoid(z: f32) -> f32 {
    1.0 / (1.0 + exp(-z))
}

/// erf x for f32: an odd rational function on |x| ≤ 4; beyond, the result is ±1 to the last bit.
#[inline(always)]
fn erf(x: f32) -> f32 {
    let x = x.clamp(-4.0, 4.0);
    let s = x * x;
    let p = -2.726_142_4e-10;
    let p = p * s + 2.770_681_3e-8;
    let p = p * s - 2.101_024e-6;
    let p = p * s - 5.692_506_4e-5;
    let p = p * s - 7.349_906_5e-4;
    let p = p * s - 2.954_6e-3;
    let p = p * s - 1.609_603_3e-2;
    let q = -1.456_607_1e-5;
    let q = q * s - 2.133_740_5e-4;
    let q = q * s - 1.682_827e-3;
    let q = q * s - 7.373_329e-3;
    let q = q * s - 1.426_473_9e-2;
    (x * p / q).clamp(-1.0, 1.0)
}

/// (φ(z), φ′(z)) of the activations whose derivative is stored.
#[inline(always)]
fn gelu(z: f32) -> (f32, f32) {
    let phi = 0.5 + 0.5 * erf(z * std::f32::consts::FRAC_1_SQRT_2);
    (z * phi, phi + z * INV_SQRT_2PI * exp(-0.5 * z * z))
}

#[inline(always)]
fn gelu_tanh(z: f32) -> (f32, f32) {
    let square = z * z;
    let t = tanh(SQRT_2_OVER_PI * z * (1.0 + CUBIC * square));
    let half = 0.5 + 0.5 * t;
    (z * half, half + 0.5 * z * (1.0 - t * t) * SQRT_2_OVER_PI * (1.0 + 3.0 * CUBIC * square))
}

#[inline(always)]
fn silu(z: f32) -> (f32, f32) {
    let s = sigmoid(z);
    (z * s, s * (1.0 + z * (1.0 - s)))
}

#[inline(always)]
fn quick_gelu(z: f32) -> (f32, f32) {
    let s = sigmoid(QUICK * z);
    (z * s, s * (1.0 + QUICK * z * (1.0 - s)))
}

#[inline(always)]
fn squared_relu(z: f32) -> (f32, f32) {
    let positive = if z > 0.0 || z.is_nan() { z } else { 0.0 };
    (positive * positive, 2.0 * positive)
}

// `for` loops, not `for_each`: a closure with a long body may stay a function of its own, and that
// one is compiled without the vector instructions of its caller (it took 11% of a step of a small
// GPT).

vectorized! {
    /// y = φ(y), in place. Called per row by the product that makes z, while the row is in cache.
    pub fn activate(y: &mut [f32], activation: Activation) {
        match activation {
            Activation::None => {}
            Activation::Relu => {
                for y in y {
                    *y = if *y > 0.0 || y.is_nan() { *y } else { 0.0 };
                }
            }
            Activation::Gelu => {
                for y in y {
                    *y = gelu(*y).0;
                }
            }
            Activation::GeluTanh => {
                for y in y {
                    *y = gelu_tanh(*y).0;
                }
            }
            Activation::Silu => {
                for y in y {
                    *y = silu(*y).0;
                }
            }
            Activation::QuickGelu => {
                for y in y {
                    *y = quick_gelu(*y).0;
                }
            }
            Activation::SquaredRelu => {
                for y in y {
                    *y = squared_relu(*y).0;
                }
            }
            Activation::Tanh => {
                for y in y {
                    *y = tanh(*y);
                }
            }
            Activation::Sigmoid => {
                for y in y {
                    *y = sigmoid(*y);
                }
            }
        }
    }
}

vectorized! {
    /// y = φ(y) in place, and `derivative` = φ′, for the activations that save it.
    ///
    /// # Panics
    /// If [`Activation::saved_for_backward`] is not [`SavedForBackward::Derivative`].
    pub fn activate_and_derive(y: &mut [f32], derivative: &mut [f32], activation: Activation) {
        match activation {
            Activation::Gelu => {
                for (y, d) in y.iter_mut().zip(derivative) {
                    (*y, *d) = gelu(*y);
                }
            }
            Activation::GeluTanh => {
                for (y, d) in y.iter_mut().zip(derivative) {
                    (*y, *d) = gelu_tanh(*y);
                }
            }
            Activation::Silu => {
                for (y, d) in y.iter_mut().zip(derivative) {
                    (*y, *d) = silu(*y);
                }
            }
            Activation::QuickGelu => {
                for (y, d) in y.iter_mut().zip(derivative) {
                    (*y, *d) = quick_gelu(*y);
                }
            }
            Activation::SquaredRelu => {
                for (y, d) in y.iter_mut().zip(derivative) {
                    (*y, *d) = squared_relu(*y);
                }
            }
            other => panic!("{other:?} does not store its derivative"),
        }
    }
}

/// y = φ(z) and `derivative` = φ′(z), for any activation. Called per row by the backward pass of a
/// gate.
pub(super) fn value_and_derivative(
    y: &mut [f32],
    derivative: &mut [f32],
    z: &[f32],
    activation: Activation,
) {
    y.copy_from_slice(z);
    if activation.saved_for_backward() == SavedForBackward::Derivative {
        return activate_and_derive(y, derivative, activation);
    }
    activate(y, activation);
    derivative.fill(1.0);
    times_derivative(derivative, y, activation);
}

/// dz = dy · φ′(z), in place of dy. `saved` is y, φ′ or empty, as
/// [`Activation::saved_for_backward`] says.
///
/// # Panics
/// If dy and `saved` differ in length.
#[track_caller]
pub fn activation_backward(dy: &mut [f32], saved: &[f32], activation: Activation) {
    if activation == Activation::None {
        return;
    }
    assert_eq!(dy.len(), saved.len(), "activation: {} gradients, {} values", dy.len(), saved.len());
    const CHUNK: usize = 16_384;
    let (len, parts) = (dy.len(), Parts::new(dy));
    crate::team::run(len.div_ceil(CHUNK), |i| {
        let range = i * CHUNK..len.min((i + 1) * CHUNK);
        // SAFETY: chunks of different i do not overlap.
        let dy = unsafe { parts.part(range.start, range.len()) };
        times_derivative(dy, &saved[range], activation);
    });
}

vectorized! {
    /// dy = dy · φ′, from what the forward pass saved.
    fn times_derivative(dy: &mut [f32], saved: &[f32], activation: Activation) {
        let both = dy.iter_mut().zip(saved);
        match activation {
            Activation::None => {}
            // Forward: y = max(0, z). So dz = dy where y > 0, else 0.
            Activation::Relu => both.for_each(|(dy, y)| *dy = if *y > 0.0 { *dy } else { 0.0 }),
            // Forward: y = tanh z. So dz = dy·(1 − y²).
            Activation::Tanh => both.for_each(|(dy, y)| *dy *= 1.0 - y * y),
            // Forward: y = σ(z). So dz = dy·y·(1 − y).
            Activation::Sigmoid => both.for_each(|(dy, y)| *dy *= y * (1.0 - y)),
            // Forward stored φ′(z).
            Activation::Gelu
            | Activation::GeluTanh
            | Activation::Silu
            | Activation::QuickGelu
            | Activation::SquaredRelu => both.for_each(|(dy, d)| *dy *= d),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// erf in f64: the Maclaurin series near 0, the continued fraction of erfc where the series
    /// would cancel.
    fn erf64(x: f64) -> f64 {
        if x.abs() > 2.0 {
            let fraction =
                (1..200).rev().fold(x.abs(), |below, n| x.abs() + f64::from(n) / 2.0 / below);
            return x.signum() * (1.0 - (-x * x).exp() / std::f64::consts::PI.sqrt() / fraction);
        }
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while term.abs() > 1e-18 * sum.abs() {
            n += 1.0;
            term *= -x * x / n;
            sum += term / (2.0 * n + 1.0);
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
    }

    fn definition(activation: Activation, z: f64) -> f64 {
        match activation {
            Activation::None => z,
            Activation::Relu => z.max(0.0),
            Activation::Gelu => z * 0.5 * (1.0 + erf64(z / 2.0_f64.sqrt())),
            Activation::GeluTanh => {
                0.5 * z
                    * (1.0
                        + ((2.0 / std::f64::consts::PI).sqrt() * (z + 0.044715 * z.powi(3))).tanh())
            }
            Activation::Silu => z / (1.0 + (-z).exp()),
            Activation::QuickGelu => z / (1.0 + (-1.702 * z).exp()),
            Activation::SquaredRelu => z.max(0.0).powi(2),
            Activation::Tanh => z.tanh(),
            Activation::Sigmoid => 1.0 / (1.0 + (-z).exp()),
        }
    }

    fn points() -> Vec<f32> {
        // Off the kink of ReLU at 0.
        (-600..600).map(|i| (i as f32 + 0.5) * 0.01).collect()
    }

    #[test]
    fn every_activation_agrees_with_its_definition() {
        for activation in Activation::ALL {
            let mut y = points();
            activate(&mut y, activation);
            for (y, z) in y.iter().zip(points()) {
                let want = definition(activation, f64::from(z));
                // ½(1 + erf) is known to half an ULP of 1, and z multiplies it; squares are large.
                let bound = 2e-7 * f64::from(z.abs().max(1.0)).max(want);
                assert!(
                    (f64::from(*y) - want).abs() < bound,
                    "{activation:?}({z}) = {y}, not {want}"
                );
            }
        }
    }

    #[test]
    fn every_backward_agrees_with_central_differences_of_the_definition() {
        for activation in Activation::ALL {
            let z = points();
            let (mut y, mut derivative) = (z.clone(), vec![f32::NAN; z.len()]);
            let saved = match activation.saved_for_backward() {
                SavedForBackward::Derivative => {
                    activate_and_derive(&mut y, &mut derivative, activation);
                    &derivative
                }
                _ => {
                    activate(&mut y, activation);
                    &y
                }
            };
            let mut dy = vec![0.5; z.len()];
            activation_backward(&mut dy, saved, activation);
            for (dz, z) in dy.iter().zip(z) {
                let (z, h) = (f64::from(z), 1e-5);
                let slope =
                    (definition(activation, z + h) - definition(activation, z - h)) / (2.0 * h);
                assert!(
                    (f64::from(*dz) - 0.5 * slope).abs() < 1e-6,
                    "{activation:?}'({z}) = {dz}, slope {slope}"
                );
            }
        }
    }

    #[test]
    fn with_and_without_the_derivative_the_output_has_the_same_bits() {
        for activation in [
            Activation::Gelu,
            Activation::GeluTanh,
            Activation::Silu,
            Activation::QuickGelu,
            Activation::SquaredRelu,
        ] {
            let (mut a, mut b) = (points(), points());
            activate(&mut a, activation);
            let len = b.len();
            activate_and_derive(&mut b, &mut vec![0.0; len], activation);
            assert_eq!(a, b, "{activation:?}");
        }
    }

    #[test]
    fn large_arguments_do_not_overflow_and_nan_stays_nan() {
        for activation in Activation::ALL {
            let mut y = [-1e30, -100.0, 100.0, 1e30, f32::NAN];
            activate(&mut y, activation);
            assert!(!y[..4].iter().any(|y| y.is_nan()), "{activation:?} {y:?}");
            assert!(y[4].is_nan(), "{activation:?} {y:?}");
        }
    }
}
