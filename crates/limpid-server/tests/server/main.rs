//! A real server on loopback, asked by a client of a few lines, with small models of known weights.

mod answers;
mod errors;
mod load;
mod support;
