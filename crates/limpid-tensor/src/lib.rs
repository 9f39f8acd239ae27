//! The numbers of Limpid.
pub mod gradcheck;
pub mod kernels;
pub mod ops;
pub mod params;
pub mod pool;
pub mod rng;
pub mod simd;
pub mod tape;
pub mod team;
pub mod tensor;
