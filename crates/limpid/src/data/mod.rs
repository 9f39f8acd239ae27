//! From text to batches.

pub mod batch;
pub mod corpus;
pub mod pairs;
