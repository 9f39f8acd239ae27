//! `limpid bench …`

use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

#[derive(Subcommand)]
pub enum Bench {
    /// One training step, forward to optimizer
    #[command(subcommand)]
    Step(BenchStep),
    /// A GPT-2 writing, token by token
    Decode(BenchDecode),
    /// An encoder stack over a batch
    Encode(BenchEncode),
    /// The limits of the machine: multiply-adds, memory, products
    Machine(BenchMachine),
    /// Draw measured numbers as an SVG
    Chart(BenchChart),
}

#[derive(ClapArgs)]
pub struct BenchChart {
    /// The numbers, as docs/formats.md describes them
    #[arg(value_name = "FILE.json")]
    pub numbers: PathBuf,
    /// The picture to write
    #[arg(long, value_name = "FILE.svg")]
    pub out: PathBuf,
}

#[derive(ClapArgs)]
pub struct BenchDecode {
    /// Layers
    #[arg(long, default_value_t = 12)]
    pub layers: usize,
    /// Heads of each attention layer
    #[arg(long, default_value_t = 12)]
    pub heads: usize,
    /// Width of the model
    #[arg(long, default_value_t = 768)]
    pub width: usize,
    /// Size of the vocabulary
    #[arg(long, default_value_t = 50_257)]
    pub vocab: usize,
    /// Tokens of a sequence
    #[arg(long, default_value_t = 1024)]
    pub context: usize,
    /// Tokens of the prompt
    #[arg(long, default_value_t = 16)]
    pub prompt: usize,
    /// Tokens to write after it
    #[arg(long, default_value_t = 64)]
    pub tokens: usize,
    /// Sequences that are written side by side
    #[arg(long, default_value_t = 1)]
    pub streams: usize,
    /// How long to measure
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// Machine-readable
    #[arg(long)]
    pub json: bool,
    /// Read `run SECONDS` and `quit` from standard input, for side-by-side runs (bench/)
    #[arg(long)]
    pub interactive: bool,
}

#[derive(ClapArgs)]
pub struct BenchEncode {
    /// Layers
    #[arg(long, default_value_t = 6)]
    pub layers: usize,
    /// Heads of each attention layer
    #[arg(long, default_value_t = 12)]
    pub heads: usize,
    /// Width of the model
    #[arg(long, default_value_t = 384)]
    pub width: usize,
    /// Width of the feed-forward layers
    #[arg(long, default_value_t = 1536)]
    pub ffn: usize,
    /// Size of the vocabulary
    #[arg(long, default_value_t = 30_522)]
    pub vocab: usize,
    /// Sequences of a batch
    #[arg(long, default_value_t = 32)]
    pub batch: usize,
    /// Tokens of a sequence
    #[arg(long, default_value_t = 128)]
    pub length: usize,
    /// Lengths from 8 to --length, evenly spread
    #[arg(long)]
    pub mixed: bool,
    /// How long to measure
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// Machine-readable
    #[arg(long)]
    pub json: bool,
    /// Read `run SECONDS` and `quit` from standard input, for side-by-side runs (bench/)
    #[arg(long)]
    pub interactive: bool,
}

#[derive(ClapArgs)]
pub struct BenchMachine {
    /// Width of the model whose products are measured
    #[arg(long, default_value_t = 384)]
    pub width: usize,
    /// Tokens of its batch
    #[arg(long, default_value_t = 2048)]
    pub tokens: usize,
    /// Its vocabulary
    #[arg(long, default_value_t = 256)]
    pub vocab: usize,
    /// How long to measure
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// Machine-readable
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum BenchStep {
    /// A GPT-2
    Gpt(BenchGpt),
    /// An encoder-decoder
    Seq2seq(BenchSeq2seq),
    /// A BERT with masked words
    Bert(BenchBert),
    /// Recurrent layers alone
    Rnn(BenchRnn),
}

#[derive(ClapArgs)]
pub struct BenchRnn {
    /// tanh, gru or lstm
    #[arg(long, default_value = "gru", value_name = "NAME")]
    pub cell: String,
    /// Layers
    #[arg(long, default_value_t = 2)]
    pub layers: usize,
    /// Width of the input and of every state
    #[arg(long, default_value_t = 512)]
    pub width: usize,
    /// Sequences of a batch
    #[arg(long, default_value_t = 64)]
    pub batch: usize,
    /// Tokens of a sequence
    #[arg(long, default_value_t = 24)]
    pub length: usize,
    /// Sequences of 1 to so many tokens instead, evenly spread
    #[arg(long)]
    pub mixed: bool,
    #[command(flatten)]
    pub how: BenchHow,
}

#[derive(ClapArgs)]
pub struct BenchGpt {
    /// Layers
    #[arg(long, default_value_t = 6)]
    pub layers: usize,
    /// Heads of each attention layer
    #[arg(long, default_value_t = 6)]
    pub heads: usize,
    /// Width of the model
    #[arg(long, default_value_t = 384)]
    pub width: usize,
    /// Tokens of a sequence
    #[arg(long, default_value_t = 256)]
    pub context: usize,
    /// Sequences of a batch
    #[arg(long, default_value_t = 8)]
    pub batch: usize,
    /// Size of the vocabulary
    #[arg(long, default_value_t = 256)]
    pub vocab: usize,
    #[command(flatten)]
    pub how: BenchHow,
}

#[derive(ClapArgs)]
pub struct BenchBert {
    /// Layers
    #[arg(long, default_value_t = 6)]
    pub layers: usize,
    /// Heads of each attention layer
    #[arg(long, default_value_t = 12)]
    pub heads: usize,
    /// Width of the model
    #[arg(long, default_value_t = 384)]
    pub width: usize,
    /// Width of the feed-forward layers
    #[arg(long, default_value_t = 1536)]
    pub ffn: usize,
    /// Tokens of a sequence
    #[arg(long, default_value_t = 128)]
    pub context: usize,
    /// Sequences of a batch
    #[arg(long, default_value_t = 16)]
    pub batch: usize,
    /// Size of the vocabulary
    #[arg(long, default_value_t = 30_522)]
    pub vocab: usize,
    /// The part of the tokens that is masked, 0 to 1; one a sequence at least
    #[arg(long, default_value_t = 0.15)]
    pub masked: f64,
    #[command(flatten)]
    pub how: BenchHow,
}

#[derive(ClapArgs)]
pub struct BenchSeq2seq {
    /// Layers of the encoder
    #[arg(long, default_value_t = 3)]
    pub encoder_layers: usize,
    /// Layers of the decoder
    #[arg(long, default_value_t = 3)]
    pub decoder_layers: usize,
    /// Heads of each attention layer
    #[arg(long, default_value_t = 8)]
    pub heads: usize,
    /// Width of the model
    #[arg(long, default_value_t = 256)]
    pub width: usize,
    /// Width of the feed-forward layers
    #[arg(long, default_value_t = 1024)]
    pub ffn: usize,
    /// Sequences of a batch
    #[arg(long, default_value_t = 64)]
    pub batch: usize,
    /// Tokens of a source
    #[arg(long, default_value_t = 24)]
    pub source_len: usize,
    /// Tokens of a target
    #[arg(long, default_value_t = 24)]
    pub target_len: usize,
    /// Size of the vocabulary
    #[arg(long, default_value_t = 8000)]
    pub vocab: usize,
    /// Label smoothing, 0 to 1
    #[arg(long, default_value_t = 0.1)]
    pub label_smoothing: f32,
    #[command(flatten)]
    pub how: BenchHow,
}

#[derive(ClapArgs)]
pub struct BenchHow {
    /// How long to measure
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// Machine-readable
    #[arg(long)]
    pub json: bool,
    /// Read `run SECONDS` and `quit` from standard input, for side-by-side runs (bench/)
    #[arg(long)]
    pub interactive: bool,
}
