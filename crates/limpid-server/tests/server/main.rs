//! A real server on loopback, asked by a client of a few lines, with small models of known weights.

mod answers;
mod errors;
mod fixtures;
mod fuzz;
mod inside;
mod lab;
mod load;
mod prefixes;
mod support;
mod vendored;
