//! The tests of the library from outside, in one binary: 31 would each be linked with it again.
//! `cargo test -p limpid --test suite parity::` runs those of one file. Tests that count the
//! allocations of their process have a binary of their own beside this folder.

mod adapters;
mod attention_cells;
mod batch_invariance;
mod bleu;
#[cfg(feature = "chat")]
mod chat_templates;
mod configs;
mod convert;
mod distributed;
mod examples;
mod explain;
mod families;
mod folders;
mod fuzz;
#[cfg(feature = "chat")]
mod fuzz_chat;
mod fuzz_folders;
mod fuzz_reports;
mod fuzz_runs;
mod fuzz_sentencepiece;
mod fuzz_text;
mod generation;
mod gguf;
mod inspect_pass;
mod invariants;
mod multilingual;
mod parity;
mod pipeline;
mod pipelines;
mod rnn;
mod runs;
mod score;
mod sentence;
mod slots;
mod speculative;
mod tokenizers;
mod variants;
