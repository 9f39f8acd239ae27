//! Limpid, the library.
#![forbid(unsafe_code)]
