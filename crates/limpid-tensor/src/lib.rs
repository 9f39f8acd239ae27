//! The numbers of Limpid.
pub mod rng;
