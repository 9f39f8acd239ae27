//! From text to batches.

pub mod batch;
pub mod clean;
pub mod corpus;
pub mod frame;
pub mod labelled;
pub mod line_pairs;
pub mod masking;
pub mod order;
pub mod pairs;
pub mod parallel;
pub mod sequence_file;
pub mod sequences;
pub mod split;
pub mod table;
mod token_writer;
pub mod tokens;
