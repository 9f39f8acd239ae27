//! Limpid, the library.
#![forbid(unsafe_code)]

pub mod data;
