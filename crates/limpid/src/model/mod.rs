//! Models: each a screenful of composition over packed batches. The numbers live outside, in
//! [`limpid_tensor::params::Params`].

pub mod gpt;
pub mod seq2seq;

pub use gpt::Gpt;
pub use seq2seq::Seq2Seq;
