//! Limpid, the library.
#![forbid(unsafe_code)]

pub mod config;
pub mod decode;
pub mod error;
pub mod eval;
pub mod inspect;
pub mod nn;
