//! Limpid, the library.
#![forbid(unsafe_code)]

pub mod config;
pub mod data;
pub mod decode;
pub mod error;
pub mod eval;
pub mod hub;
pub mod inspect;
pub mod model;
pub mod nn;
pub mod optim;
pub mod text;
pub mod train;
