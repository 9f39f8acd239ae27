//! Limpid, the library.
#![forbid(unsafe_code)]

pub mod config;
pub mod error;
pub mod eval;
pub mod nn;
