//! The numbers of Limpid.
pub mod kernels;
pub mod rng;
pub mod simd;
pub mod team;
