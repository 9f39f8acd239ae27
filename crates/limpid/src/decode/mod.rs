//! From the scores of a model to the next token.

pub mod filter;
