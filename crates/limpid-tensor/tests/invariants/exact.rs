//! Reference values: a value in f64, and the magnitude at which errors of an f32 computation are
//! measured.
//!
//! ULPs of the result are meaningless where it is a small difference of large numbers:
//! 1 − 0.9999999 in f32 has lost all its digits, and no kernel could keep them. So each value
//! carries its *size*, the sum of the absolute values of its terms, and an error is counted in ULPs
//! of that. For a sum of products the size is Σ|a·b|; without cancellation it is |value|, and these
//! are the usual ULPs of the result. Other functions propagate errors by their derivative: f(x) has
//! size |f(x)| + |f′(x)|·size(x).

use std::iter::Sum;
use std::ops::{Add, Mul, Neg, Sub};

/// A value and its size: size ≥ |value|.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    pub value: f64,
    pub size: f64,
}

impl Exact {
    /// f(self), where f has this value and this derivative at `self.value`.
    pub fn map(self, value: f64, slope: f64) -> Self {
        Self { value, size: value.abs() + slope.abs() * self.size }
    }

    pub fn exp(self) -> Self {
        self.map(self.value.exp(), self.value.exp())
    }

    pub fn ln(self) -> Self {
        self.map(self.value.ln(), 1.0 / self.value)
    }

    pub fn sqrt(self) -> Self {
        self.map(self.value.sqrt(), 0.5 / self.value.sqrt())
    }

    pub fn inverse(self) -> Self {
        self.map(1.0 / self.value, 1.0 / (self.value * self.value))
    }

    /// The error of `got`, in ULPs of the size.
    pub fn ulps(self, got: f32) -> f64 {
        let error = (f64::from(got) - self.value).abs();
        if error <= TINY {
            return 0.0;
        }
        error / spacing(self.size)
    }
}

/// Smaller differences count as 0: our exponential flushes subnormal results (below 1.2e-38) to 0,
/// which a later factor may have magnified.
const TINY: f64 = 1e-35;

/// The distance from an f32 of this magnitude to the next one: one ULP.
pub fn spacing(size: f64) -> f64 {
    let size = size.min(f64::from(f32::MAX) / 2.0) as f32;
    f64::from(f32::from_bits(size.to_bits() + 1)) - f64::from(size)
}

impl From<f32> for Exact {
    /// An input: it has no error, and its size is its absolute value.
    fn from(x: f32) -> Self {
        Self::from(f64::from(x))
    }
}

impl From<f64> for Exact {
    fn from(x: f64) -> Self {
        Self { value: x, size: x.abs() }
    }
}

impl Add for Exact {
    type Output = Self;
    fn add(self, b: Self) -> Self {
        Self { value: self.value + b.value, size: self.size + b.size }
    }
}

impl Neg for Exact {
    type Output = Self;
    fn neg(self) -> Self {
        Self { value: -self.value, ..self }
    }
}

impl Sub for Exact {
    type Output = Self;
    fn sub(self, b: Self) -> Self {
        self + -b
    }
}

impl Mul for Exact {
    type Output = Self;
    /// An error of a is multiplied by b, and vice versa; |a·b| is counted in both. The last term
    /// keeps a product of two zeros with errors from looking exact.
    fn mul(self, b: Self) -> Self {
        let value = self.value * b.value;
        let size = self.value.abs() * b.size + b.value.abs() * self.size - value.abs();
        let second =
            (self.size - self.value.abs()) * (b.size - b.value.abs()) * f64::from(f32::EPSILON);
        Self { value, size: size + second }
    }
}

impl Sum for Exact {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::from(0.0_f64), |sum, term| sum + term)
    }
}

#[test]
fn the_size_of_a_sum_of_products_is_the_sum_of_their_absolute_values() {
    let pairs = [(1.0_f32, 3.0_f32), (-2.0, 1.5), (0.5, -4.0)];
    let sum: Exact = pairs.iter().map(|(a, b)| Exact::from(*a) * Exact::from(*b)).sum();
    assert_eq!((sum.value, sum.size), (-2.0, 8.0));
    // One ULP of 8 is four ULPs of 2.
    assert_eq!(sum.ulps(-f32::from_bits(2.0_f32.to_bits() + 4)), 1.0);
}
