//! Laws of every kernel on random shapes: it agrees with the definition in f64, to a stated number of ULPs, and it
//! neither reads nor writes past its slices.
//!
//! One run checks both, because every operand lies at the edge of its memory ([`memory`]). A reference is the naive
//! definition in f64 that also knows how much of an error is inherent in its sums ([`exact`]). Shapes come from
//! `proptest`, always the same ones, and a failure is shrunk to a small shape ([`cases`]).
//!
//! The kernels run on the instruction set in use: `LIMPID_SIMD=scalar` and `avx2` choose others (`scripts/test` does).
//! `scripts/valgrind` runs the same program under memcheck.

mod attention;
mod cases;
mod elements;
mod exact;
mod matmul;
mod memory;
mod optimizer;
mod reference;
mod rows;
