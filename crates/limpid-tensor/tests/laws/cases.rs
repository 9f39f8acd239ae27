//! Random cases, the same ones in every run, shrunk when they fail.

use crate::exact::Exact;
use crate::memory::{Edge, Guarded};
use limpid_tensor::kernels::matmul::Accumulate;
use limpid_tensor::rng::Stream;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseResult, TestRng, TestRunner};

/// Checks `law` on `cases` random values of `strategy` (at most `LIMPID_LAWS_CASES`, which valgrind needs).
#[track_caller]
pub fn check<S: Strategy>(cases: u32, strategy: S, law: impl Fn(S::Value) -> TestCaseResult) {
    let most = std::env::var("LIMPID_LAWS_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(cases);
    // Nothing is written beside the sources: the same seed finds the same case again.
    let config = Config { cases: cases.min(most), failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    if let Err(failure) = TestRunner::new_with_rng(config, rng).run(&strategy, law) {
        panic!("{failure}");
    }
}

/// Fails the case unless every number is within `ulps` ULPs of the size of what it should be.
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
    // LIMPID_LAWS_WORST=1 lists errors: how the bounds were chosen.
    if error > 0.5 && std::env::var_os("LIMPID_LAWS_WORST").is_some() {
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

/// The numbers of a case, and where they lie.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    seed: u64,
    pub edge: Edge,
    spread: f32,
    shift: f32,
}

/// Numbers of three magnitudes, around 0 or all of one sign.
pub fn setting() -> impl Strategy<Value = Setting> {
    let edge = prop_oneof![Just(Edge::End), Just(Edge::Start)];
    let spread = prop_oneof![Just(1.0_f32), Just(0.01), Just(30.0)];
    (any::<u64>(), edge, spread, prop_oneof![Just(0.0_f32), Just(1.5)])
        .prop_map(|(seed, edge, spread, shift)| Setting { seed, edge, spread, shift })
}

impl Setting {
    /// With numbers of about 1: for what goes through an exponential, where 30·30 would say nothing.
    pub fn moderate(self) -> Self {
        Self { spread: self.spread.min(1.0), ..self }
    }

    /// Operand number `which`, in guarded memory.
    pub fn numbers(&self, which: u64, len: usize) -> Guarded {
        Guarded::new(self.edge, &self.plain(which, len))
    }

    /// The same numbers in a vector.
    pub fn plain(&self, which: u64, len: usize) -> Vec<f32> {
        let mut rng = Stream::new(self.seed, which);
        (0..len).map(|_| (rng.uniform() * 2.0 - 1.0 + self.shift) * self.spread).collect()
    }

    /// Whole numbers below `n`.
    pub fn below(&self, which: u64, len: usize, n: usize) -> Vec<u32> {
        let mut rng = Stream::new(self.seed, which);
        (0..len).map(|_| rng.below(n) as u32).collect()
    }

    /// Room for results: NaN, so that what is not written shows.
    pub fn room(&self, len: usize) -> Guarded {
        Guarded::filled(self.edge, len, f32::NAN)
    }
}

/// Lengths of which many are short, some just past a register or a tile, and a few long.
pub fn length(longest: usize) -> impl Strategy<Value = usize> {
    prop_oneof![1..=4_usize, 1..=40_usize.min(longest), 1..=longest]
}

pub fn accumulate() -> impl Strategy<Value = Accumulate> {
    prop_oneof![Just(Accumulate::Overwrite), Just(Accumulate::Add)]
}

pub fn exact(x: &[f32]) -> Vec<Exact> {
    x.iter().map(|x| Exact::from(*x)).collect()
}

/// `scripts/valgrind` reads this: a level that is not there falls back to a lower one.
#[test]
fn the_instruction_set_in_use() {
    println!("instruction set: {:?}", limpid_tensor::simd::level());
    assert!(limpid_tensor::simd::Level::available().contains(&limpid_tensor::simd::level()));
}
