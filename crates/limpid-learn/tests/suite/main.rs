//! The tests of worked examples, stories and experiments, in one binary.

mod experiments;
mod explain_goldens;
mod explain_inputs;
mod explain_output;
mod explain_sequences;
mod stories;
