//! Naive definitions in f64 that several tests share.

use crate::exact::Exact;
use limpid_tensor::kernels::activation::Activation;

/// Softmax of a row, and the logarithm of the sum of its exponentials. A row of −∞ alone gives
/// zeros and −∞.
pub fn softmax(x: &[Exact]) -> (Vec<Exact>, Exact) {
    // f64 would overflow without the shift, too; it cancels, so it adds no error.
    let shift = x.iter().map(|x| x.value).fold(f64::NEG_INFINITY, f64::max);
    if shift == f64::NEG_INFINITY {
        return (vec![0.0_f64.into(); x.len()], shift.into());
    }
    let masked = |x: &Exact| x.value == f64::NEG_INFINITY;
    let e: Vec<Exact> =
        x.iter()
            .map(|x| {
                if masked(x) {
                    0.0_f64.into()
                } else {
                    Exact { value: x.value - shift, ..*x }.exp()
                }
            })
            .collect();
    let sum: Exact = e.iter().copied().sum();
    let lse = sum.ln() + shift.into();
    (e.into_iter().map(|e| e * sum.inverse()).collect(), lse)
}

/// φ(z) and φ′(z).
pub fn activation(phi: Activation, z: Exact) -> (Exact, Exact) {
    let (one, half) = (Exact::from(1.0_f64), Exact::from(0.5_f64));
    let sigmoid = |z: Exact| {
        let s = 1.0 / (1.0 + (-z.value).exp());
        z.map(s, s * (1.0 - s))
    };
    let tanh = |u: Exact| u.map(u.value.tanh(), 1.0 - u.value.tanh().powi(2));
    match phi {
        Activation::None => (z, one),
        Activation::Relu if z.value > 0.0 => (z, one),
        Activation::Relu => (z.map(0.0, 1.0), 0.0_f64.into()),
        Activation::Gelu => {
            let erf = z.map(erf(z.value / 2.0_f64.sqrt()), 2.0 * density(z.value));
            let cdf = half + half * erf;
            // φ′ = Φ(z) + z·ϕ(z), and ϕ′(z) = −z·ϕ(z).
            (z * cdf, cdf + z * z.map(density(z.value), z.value * density(z.value)))
        }
        Activation::GeluTanh => {
            let root = Exact::from((2.0 / std::f64::consts::PI).sqrt());
            let cubic = Exact::from(0.044_715_f64);
            let t = tanh(root * (z + cubic * z * z * z));
            let inner = root * (one + Exact::from(3.0_f64) * cubic * z * z);
            (z * (half + half * t), half + half * t + half * z * (one - t * t) * inner)
        }
        Activation::Silu => (z * sigmoid(z), sigmoid(z) * (one + z * (one - sigmoid(z)))),
        Activation::QuickGelu => {
            let u = Exact::from(1.702_f64) * z;
            (z * sigmoid(u), sigmoid(u) * (one + u * (one - sigmoid(u))))
        }
        Activation::SquaredRelu if z.value > 0.0 => (z * z, Exact::from(2.0_f64) * z),
        Activation::SquaredRelu => (z.map(0.0, 1.0), z.map(0.0, 2.0)),
        Activation::Tanh => (tanh(z), one - tanh(z) * tanh(z)),
        Activation::Sigmoid => (sigmoid(z), sigmoid(z) * (one - sigmoid(z))),
    }
}

/// ϕ: the density of the normal distribution.
fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// erf by Simpson's rule on its definition 2/√π·∫₀ˣ exp(−t²) dt: slow, and right to 13 digits.
fn erf(x: f64) -> f64 {
    let x_end = x.clamp(-6.5, 6.5);
    let (steps, f) = (400, |t: f64| (-t * t).exp());
    let h = x_end / f64::from(steps);
    let inner: f64 =
        (1..steps).map(|i| if i % 2 == 1 { 4.0 } else { 2.0 } * f(h * f64::from(i))).sum();
    std::f64::consts::FRAC_2_SQRT_PI * h / 3.0 * (f(0.0) + inner + f(x_end))
}

#[test]
fn erf_has_the_values_of_the_tables() {
    for (x, want) in [
        (0.5, 0.520_499_877_813_046_5),
        (1.0, 0.842_700_792_949_714_9),
        (3.0, 0.999_977_909_503_001_4),
    ] {
        assert!(
            (erf(x) - want).abs() < 1e-11 && (erf(-x) + want).abs() < 1e-11,
            "erf({x}) = {}",
            erf(x)
        );
    }
}
