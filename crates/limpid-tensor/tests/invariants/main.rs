//! Invariants of every kernel on random shapes: it agrees with the definition in f64 to a stated
//! number of ULPs, and it neither reads nor writes past its slices.
//!
//! One run checks both, because every operand lies at the edge of its memory ([`memory`]). A
//! reference is the naive definition in f64 that also bounds the rounding error inherent in its
//! sums ([`exact`]). Shapes come from `proptest` with a fixed seed, and a failing one is shrunk
//! ([`cases`]).
//!
//! The kernels run at the best instruction-set level of the CPU; `LIMPID_SIMD=scalar` and `avx2`
//! select others (`scripts/test` does). `scripts/valgrind` runs the same program under memcheck.

mod attention;
mod cases;
mod elements;
mod exact;
mod matmul;
mod memory;
mod optimizer;
mod quantized;
mod reference;
mod rows;
#[path = "../support/mod.rs"]
mod support;
