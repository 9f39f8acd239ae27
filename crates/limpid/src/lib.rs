//! Limpid, the library.
#![forbid(unsafe_code)]

pub mod eval;
