//! Instruction sets: one plain loop, compiled for several of them, selected at run time.
//!
//! Kernels are loops over slices that LLVM turns into vector code; which instructions it may use
//! depends on the features the function was compiled with. `vectorized!` compiles the same body for
//! the baseline, for AVX2 + FMA and for AVX-512, so that one binary is fast everywhere and the code
//! a reader sees is the plain loop. On aarch64 the baseline has NEON, as every such CPU does.
//!
//! The default is the best level of this CPU. A program that wants another one selects it before
//! the first kernel runs:
//!
//! ```
//! use limpid_tensor::simd::{self, Level};
//!
//! simd::set_level(Level::Scalar)?;
//! assert_eq!(simd::level(), Level::Scalar);
//! assert!(simd::set_level(Level::Avx2).is_err()); // too late, or not supported
//! # Ok::<(), simd::SetLevelError>(())
//! ```
//!
//! The bodies use `a * b + c`, never a fused multiply-add, and sum into [`LANES`] partial sums
//! whatever the instruction set, so they give the same bits on all of them. (Matrix products are
//! the exception: see `kernels::matmul`.) So aarch64 gives the bits of x86-64, with two exceptions.
//! The NaN that an operation makes has another sign. And sines, cosines, logarithms and powers,
//! which rotary angles, initial weights and learning rates are made of, come from the C library of
//! the system, whose last bit may depend on its version and on the CPU.

use std::fmt;
use std::sync::OnceLock;

/// Number of partial sums of a reduction: one AVX-512 register of f32, two AVX2 registers.
pub const LANES: usize = 16;

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The baseline of this architecture.
    Scalar,
    /// NEON (every aarch64 CPU).
    Neon,
    /// AVX2 and FMA (most x86-64 CPUs since 2013).
    Avx2,
    /// AVX-512 F, BW, CD, DQ and VL.
    Avx512,
}

impl Level {
    /// Every level there is, slowest first.
    pub const ALL: [Level; 4] = [Level::Scalar, Level::Neon, Level::Avx2, Level::Avx512];

    /// Every level this CPU supports, slowest first.
    pub fn available() -> Vec<Level> {
        Level::ALL.into_iter().filter(|level| level.is_available()).collect()
    }

    fn is_available(self) -> bool {
        let elsewhere = self == Level::Neon && cfg!(not(target_arch = "aarch64"));
        self <= detect() && !elsewhere
    }

    /// The level's name in lower case: `scalar`, `neon`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        match self {
            Level::Scalar => "scalar",
            Level::Neon => "neon",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    /// The level with this [`Level::name`].
    pub fn from_name(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why [`set_level`] left the level as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetLevelError {
    /// The CPU lacks the instructions.
    Unsupported {
        /// The level that was asked for.
        requested: Level,
        /// The best level of this CPU.
        best: Level,
    },
    /// A kernel has already run, or another level was selected before.
    TooLate {
        /// The level that was asked for.
        requested: Level,
        /// The level in use for the rest of the process.
        in_use: Level,
    },
}

impl fmt::Display for SetLevelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported { requested, best } => {
                write!(f, "this CPU does not support {requested}; its best level is {best}")
            }
            Self::TooLate { requested, in_use } => write!(
                f,
                "cannot change the instruction set to {requested}: kernels already use {in_use}"
            ),
        }
    }
}

impl std::error::Error for SetLevelError {}

static LEVEL: OnceLock<Level> = OnceLock::new();

/// The level in use: the one [`set_level`] selected, or the best of this CPU.
pub fn level() -> Level {
    *LEVEL.get_or_init(default_level)
}

/// Selects the level of all kernels for the rest of the process, before the first of them runs.
/// Selecting the level that is already in use is no error.
///
/// # Errors
/// If the CPU does not support the level, or another one is already in use.
pub fn set_level(requested: Level) -> Result<(), SetLevelError> {
    if !requested.is_available() {
        return Err(SetLevelError::Unsupported { requested, best: detect() });
    }
    match *LEVEL.get_or_init(|| requested) {
        in_use if in_use == requested => Ok(()),
        in_use => Err(SetLevelError::TooLate { requested, in_use }),
    }
}

#[cfg(not(test))]
fn default_level() -> Level {
    detect()
}

/// The crate's unit tests run at the level that `LIMPID_SIMD` names, so that `scripts/test` can
/// repeat them for each; the library itself reads no environment variable.
#[cfg(test)]
fn default_level() -> Level {
    let name = std::env::var("LIMPID_SIMD").ok();
    let requested = name.map(|name| Level::from_name(&name).expect("LIMPID_SIMD names a level"));
    requested.filter(|level| level.is_available()).unwrap_or(detect())
}

fn detect() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        if avx2 && avx512 {
            return Level::Avx512;
        }
        if avx2 {
            return Level::Avx2;
        }
    }
    if cfg!(target_arch = "aarch64") { Level::Neon } else { Level::Scalar }
}

/// Defines a function whose body is compiled once per [`Level`] and dispatched by [`level`] at each
/// call.
macro_rules! vectorized {
    (
        $(#[$attr:meta])*
        $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block
    ) => {
        $(#[$attr])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            fn body($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                #[allow(clippy::too_many_arguments)]
                fn avx2($($arg: $ty),*) $(-> $ret)? {
                    body($($arg),*)
                }
                #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
                #[allow(clippy::too_many_arguments)]
                fn avx512($($arg: $ty),*) $(-> $ret)? {
                    body($($arg),*)
                }
                match $crate::simd::level() {
                    // SAFETY: `level` never exceeds what `detect` found on this CPU.
                    $crate::simd::Level::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::simd::Level::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::simd::Level::Scalar | $crate::simd::Level::Neon => {}
                }
            }
            body($($arg),*)
        }
    };
}
pub(crate) use vectorized;

/// Σ aᵢ·bᵢ in [`LANES`] partial sums: the same bits on every instruction set.
#[inline(always)]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a_lanes, a_rest) = a.as_chunks::<LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for l in 0..LANES {
            sums[l] += a[l] * b[l];
        }
    }
    // The remainder goes to the same lanes: with a sum of its own, LLVM vectorized the whole
    // function two lanes at a time.
    for (sum, (a, b)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *sum += a * b;
    }
    sum_lanes(sums)
}

/// Σ f(xᵢ) in [`LANES`] partial sums.
#[inline(always)]
pub fn sum_by(x: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let (lanes, rest) = x.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for x in lanes {
        for l in 0..LANES {
            sums[l] += f(x[l]);
        }
    }
    for (sum, x) in sums.iter_mut().zip(rest) {
        *sum += f(*x);
    }
    sum_lanes(sums)
}

/// The largest element, −∞ for an empty slice.
#[inline(always)]
pub fn max(x: &[f32]) -> f32 {
    let (lanes, rest) = x.as_chunks::<LANES>();
    let mut best = [f32::NEG_INFINITY; LANES];
    for x in lanes {
        for l in 0..LANES {
            best[l] = if x[l] > best[l] { x[l] } else { best[l] };
        }
    }
    for (best, x) in best.iter_mut().zip(rest) {
        *best = if *x > *best { *x } else { *best };
    }
    // Pairwise: for the short rows of attention a chain of sixteen comparisons takes longer than
    // the loop above.
    let mut width = LANES / 2;
    while width > 0 {
        for l in 0..width {
            best[l] = if best[l + width] > best[l] { best[l + width] } else { best[l] };
        }
        width /= 2;
    }
    best[0]
}

/// Adds the partial sums pairwise, as a tree: smaller rounding error than a chain, and a fixed
/// order.
#[inline(always)]
pub fn sum_lanes(mut sums: [f32; LANES]) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for l in 0..width {
            sums[l] += sums[l + width];
        }
        width /= 2;
    }
    sums[0]
}

/// eˣ, within 2 ULP for every finite x, without a branch: it vectorizes.
///
/// x = n·ln 2 + r with |r| ≤ ln 2 / 2; then eˣ = 2ⁿ·eʳ, and eʳ is a polynomial of degree 6.
/// Below −87.3 the result is 0 (it would be subnormal), above 88.72 it is ∞.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    // ln 2 in two parts, the first with trailing zeros so that n·LN2_HIGH is exact.
    #[allow(clippy::excessive_precision)] // All its digits: it is exact.
    const LN2_HIGH: f32 = 0.693_359_375;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    // Adding 1.5·2²³ leaves round(x·log₂e) in the low bits of the mantissa.
    const MAGIC: f32 = 12_582_912.0;
    // The smallest argument with a normal result: a subnormal one may take a CPU a hundred cycles.
    let clamped = x.clamp(-87.336_54, 89.0);
    let shifted = clamped * LOG2_E + MAGIC;
    let n = shifted - MAGIC;
    let r = clamped - n * LN2_HIGH - n * LN2_LOW;
    let p = 1.987_569_2e-4;
    let p = p * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_5e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 0.5;
    let e_r = p * (r * r) + r + 1.0;
    // 2ⁿ by its bits, in two halves, so that n = 128 does not overflow before the product does.
    let n_bits = (shifted.to_bits() as i32).wrapping_sub(MAGIC.to_bits() as i32);
    let half = n_bits >> 1;
    let power = |n: i32| f32::from_bits(((n + 127) as u32) << 23);
    let result = e_r * power(half) * power(n_bits - half);
    let result = if x > 88.722_84 { f32::INFINITY } else { result };
    let result = if x < -87.336_54 { 0.0 } else { result };
    // Both comparisons are false for NaN.
    if x.is_nan() { x } else { result }
}

/// tanh x, with a relative error below 6e-7: 1 − 2 / (e²ˣ + 1), and the odd series near 0 where
/// that cancels.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let square = x * x;
    // |x| < 0.3: the series through x⁹ errs by less than 2e-8 relative.
    let series = x
        * (1.0
            + square
                * (-0.333_333_33
                    + square
                        * (0.133_333_33 + square * (-0.053_968_254 + square * 0.021_869_488))));
    let large = 1.0 - 2.0 / (exp(2.0 * x.clamp(-20.0, 20.0)) + 1.0);
    if x.abs() < 0.3 { series } else { large }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ulps(got: f32, want: f64) -> f64 {
        let want32 = want as f32;
        let spacing =
            f64::from(f32::from_bits(want32.abs().to_bits() + 1)) - f64::from(want32.abs());
        (f64::from(got) - want).abs() / spacing
    }

    #[test]
    fn exp_is_within_two_ulps_everywhere() {
        let mut worst = 0.0_f64;
        for i in -87_300..=88_700 {
            let x = i as f32 * 1e-3;
            worst = worst.max(ulps(exp(x), f64::from(x).exp()));
        }
        assert!(worst <= 2.0, "{worst} ULP");
    }

    #[test]
    fn exp_at_the_edges() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp(-1e30), 0.0);
        assert_eq!(exp(f32::INFINITY), f32::INFINITY);
        assert_eq!(exp(100.0), f32::INFINITY);
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn tanh_is_close_everywhere_and_exact_at_zero() {
        for i in -30_000..=30_000 {
            let x = i as f32 * 1e-3;
            let want = f64::from(x).tanh();
            let error = (f64::from(tanh(x)) - want).abs();
            assert!(error <= 6e-7 * want.abs(), "tanh({x}) = {}, not {want}", tanh(x));
        }
        assert_eq!(tanh(0.0), 0.0);
        assert_eq!(tanh(1e30), 1.0);
        assert!(tanh(f32::NAN).is_nan());
    }

    #[test]
    fn every_level_has_a_name_that_parses_back_and_unsupported_ones_are_refused() {
        for level in Level::ALL {
            assert_eq!(Level::from_name(&level.to_string()), Some(level));
            if !Level::available().contains(&level) {
                let refused = SetLevelError::Unsupported { requested: level, best: detect() };
                assert_eq!(set_level(level), Err(refused));
            }
        }
        assert_eq!(Level::from_name("mmx"), None);
    }

    #[test]
    fn the_level_in_use_can_be_selected_again_and_no_other() {
        let in_use = level();
        for requested in Level::available() {
            let expected = if requested == in_use {
                Ok(())
            } else {
                Err(SetLevelError::TooLate { requested, in_use })
            };
            assert_eq!(set_level(requested), expected);
        }
    }

    #[test]
    fn sums_agree_with_f64_for_lengths_that_do_not_fill_the_lanes() {
        for n in [0, 1, 7, 16, 17, 31, 33, 100] {
            let x: Vec<f32> = (0..n).map(|i| i as f32 * 0.25).collect();
            let want: f64 = x.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
            assert!((f64::from(dot(&x, &x)) - want).abs() <= 1e-6 * want);
            let want: f64 = x.iter().map(|x| f64::from(*x)).sum();
            assert!((f64::from(sum_by(&x, |x| x)) - want).abs() <= 1e-6 * want);
            assert_eq!(max(&x), x.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        }
    }
}
