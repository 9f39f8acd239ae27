//! From text to batches.

pub mod batch;
