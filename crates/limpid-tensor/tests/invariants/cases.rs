//! Random cases, the same ones in every run, shrunk when they fail.

use crate::exact::Exact;
use crate::memory::{Edge, Guarded};
use crate::support::apply_environment;
use limpid_tensor::kernels::matmul::Accumulate;
use limpid_tensor::rng::Stream;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseResult, TestRng, TestRunner};

/// Checks `property` on `cases` random values of `strategy`, or on `LIMPID_TEST_CASES` if that is
/// less: valgrind needs about fifty times as long per instruction.
#[track_caller]
pub fn check<S: Strategy>(cases: u32, strategy: S, property: impl Fn(S::Value) -> TestCaseResult) {
    apply_environment();
    let most =
        std::env::var("LIMPID_TEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(cases);
    // Nothing is written beside the sources: the same seed finds the same case again.
    let config = Config { cases: cases.min(most), failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    if let Err(failure) = TestRunner::new_with_rng(config, rng).run(&strategy, property) {
        panic!("{failure}");
    }
}

/// Fails the case unless every number is within `ulps` ULPs of its reference, measured at the
/// reference's [`Exact::size`].
pub fn close(what: &str, got: &[f32], want: &[Exact], ulps: f64) -> TestCaseResult {
    prop_assert_eq!(got.len(), want.len(), "{}: lengths", what);
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        near(what, at, *got, *want, ulps)?;
    }
    Ok(())
}

/// The same for one number.
pub fn near(what: &str, at: usize, got: f32, want: Exact, ulps: f64) -> TestCaseResult {
    let error = want.ulps(got);
    // Lists all errors: how the bounds were chosen.
    if error > 0.5 && std::env::var_os("LIMPID_TEST_ERRORS").is_some() {
        println!("ULPS {what} {error:.2} of {ulps:.1}");
    }
    prop_assert!(
        error <= ulps,
        "{what}[{at}] = {got} is {error:.1} ULPs of {:.3e} away from {:.9e}, more than {ulps}",
        want.size,
        want.value
    );
    Ok(())
}

/// The random operands of a case, and the edge of memory they touch.
#[derive(Clone, Copy, Debug)]
pub struct Inputs {
    seed: u64,
    pub edge: Edge,
    spread: f32,
    shift: f32,
}

/// Operands of three magnitudes, around 0 or all of one sign.
pub fn inputs() -> impl Strategy<Value = Inputs> {
    let edge = prop_oneof![Just(Edge::End), Just(Edge::Start)];
    let spread = prop_oneof![Just(1.0_f32), Just(0.01), Just(30.0)];
    (any::<u64>(), edge, spread, prop_oneof![Just(0.0_f32), Just(1.5)])
        .prop_map(|(seed, edge, spread, shift)| Inputs { seed, edge, spread, shift })
}

impl Inputs {
    /// Limits the magnitude to about 1, for operands of an exponential: exp(30·30) overflows.
    pub fn moderate(self) -> Self {
        Self { spread: self.spread.min(1.0), ..self }
    }

    /// Operand `which`, in guarded memory.
    pub fn guarded(&self, which: u64, len: usize) -> Guarded {
        Guarded::new(self.edge, &self.plain(which, len))
    }

    /// The same operand in a vector.
    pub fn plain(&self, which: u64, len: usize) -> Vec<f32> {
        let mut rng = Stream::new(self.seed, which);
        (0..len).map(|_| (rng.uniform() * 2.0 - 1.0 + self.shift) * self.spread).collect()
    }

    /// Random integers below `n`.
    pub fn below(&self, which: u64, len: usize, n: usize) -> Vec<u32> {
        let mut rng = Stream::new(self.seed, which);
        (0..len).map(|_| rng.below(n) as u32).collect()
    }

    /// An output buffer filled with NaN, so that an element that is not written shows.
    pub fn output(&self, len: usize) -> Guarded {
        Guarded::filled(self.edge, len, f32::NAN)
    }
}

/// Lengths: many short ones, some just past a register or a tile, a few long ones.
pub fn length(longest: usize) -> impl Strategy<Value = usize> {
    prop_oneof![1..=4_usize, 1..=40_usize.min(longest), 1..=longest]
}

pub fn accumulate() -> impl Strategy<Value = Accumulate> {
    prop_oneof![Just(Accumulate::Overwrite), Just(Accumulate::Add)]
}

pub fn exact(x: &[f32]) -> Vec<Exact> {
    x.iter().map(|x| Exact::from(*x)).collect()
}

/// `scripts/valgrind` parses this output: an unsupported level falls back to a lower one.
#[test]
fn the_instruction_set_in_use_is_available() {
    apply_environment();
    println!("instruction set: {}", limpid_tensor::simd::level());
    assert!(limpid_tensor::simd::Level::available().contains(&limpid_tensor::simd::level()));
}
