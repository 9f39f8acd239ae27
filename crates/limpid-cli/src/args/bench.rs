//! `limpid bench …`

use super::WeightsAs;
use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

#[derive(Subcommand)]
pub enum Bench {
    /// One training step: forward pass, backward pass and optimizer
    #[command(subcommand)]
    Step(BenchStep),
    /// Generation with a GPT-2, token by token
    Decode(BenchDecode),
    /// An encoder over a batch
    Encode(BenchEncode),
    /// Translation or embedding of the lines of a file with a model
    Texts(BenchTexts),
    /// Load on an HTTP server: latency, throughput, and whether every answer is right
    Serve(BenchServe),
    /// Limits of this machine: multiply-adds, memory bandwidth, matrix products
    Machine(BenchMachine),
    /// Plot measurements as an SVG
    Chart(BenchChart),
}

#[derive(ClapArgs)]
pub struct BenchChart {
    /// Measurements in the format of docs/formats.md
    #[arg(value_name = "FILE.json")]
    pub numbers: PathBuf,
    /// SVG file to write
    #[arg(long, value_name = "FILE.svg")]
    pub out: PathBuf,
}

#[derive(ClapArgs)]
pub struct BenchServe {
    /// Host and port of the server
    #[arg(value_name = "HOST:PORT")]
    pub address: String,
    /// Requests, one JSON object per line: `path`, `body`, and `expect` with `pointer` and `value`
    #[arg(long, value_name = "FILE.jsonl")]
    pub requests: PathBuf,
    /// Clients that each send a request when they have the answer to the last
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub clients: u32,
    /// Requests per second that arrive at random, instead of --clients
    #[arg(long, value_name = "N", conflicts_with = "clients")]
    pub rate: Option<f64>,
    /// Fraction of the requests whose clients leave before the answer; needs --rate
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0, requires = "rate")]
    pub leaving: f64,
    /// Fraction of the requests whose answers are read slowly; needs --rate
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0, requires = "rate")]
    pub slow: f64,
    /// Connections that send a request a byte at a time (slowloris)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub dripping: usize,
    /// Duration of the measurement in seconds
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// Seed of arrivals and of who leaves
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

#[derive(ClapArgs)]
pub struct BenchDecode {
    /// Number of layers
    #[arg(long, default_value_t = 12)]
    pub layers: usize,
    /// Attention heads per layer
    #[arg(long, default_value_t = 12)]
    pub heads: usize,
    /// Model width
    #[arg(long, default_value_t = 768)]
    pub width: usize,
    /// Vocabulary size
    #[arg(long, default_value_t = 50_257)]
    pub vocab: usize,
    /// Tokens per sequence
    #[arg(long, default_value_t = 1024)]
    pub context: usize,
    /// Prompt tokens
    #[arg(long, default_value_t = 16)]
    pub prompt: usize,
    /// Tokens to generate; 0 measures the prompt alone
    #[arg(long, default_value_t = 64)]
    pub tokens: usize,
    /// Sequences generated in parallel
    #[arg(long, default_value_t = 1)]
    pub streams: usize,
    /// Quantize the weights first
    #[arg(long, value_name = "FORMAT")]
    pub quantize: Option<WeightsAs>,
    /// Duration of the measurement in seconds
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Read `run SECONDS` and `quit` from standard input, for side-by-side benchmarks (bench/)
    #[arg(long)]
    pub interactive: bool,
}

#[derive(ClapArgs)]
pub struct BenchEncode {
    /// Number of layers
    #[arg(long, default_value_t = 6)]
    pub layers: usize,
    /// Attention heads per layer
    #[arg(long, default_value_t = 12)]
    pub heads: usize,
    /// Model width
    #[arg(long, default_value_t = 384)]
    pub width: usize,
    /// Feed-forward width
    #[arg(long, default_value_t = 1536)]
    pub ffn: usize,
    /// Vocabulary size
    #[arg(long, default_value_t = 30_522)]
    pub vocab: usize,
    /// Sequences per batch
    #[arg(long, default_value_t = 32)]
    pub batch: usize,
    /// Tokens per sequence
    #[arg(long, default_value_t = 128)]
    pub length: usize,
    /// Sequence lengths from 8 to --length, evenly spread
    #[arg(long)]
    pub mixed: bool,
    /// Quantize the weights first
    #[arg(long, value_name = "FORMAT")]
    pub quantize: Option<WeightsAs>,
    /// Duration of the measurement in seconds
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Read `run SECONDS` and `quit` from standard input, for side-by-side benchmarks (bench/)
    #[arg(long)]
    pub interactive: bool,
}

#[derive(ClapArgs)]
pub struct BenchTexts {
    /// Model folder: a translator or an embedder
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// Texts, one per line
    #[arg(value_name = "FILE")]
    pub texts: PathBuf,
    /// Use the first N lines
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub lines: usize,
    /// Beams of a translation; 1 is greedy search
    #[arg(long, default_value_t = 1)]
    pub num_beams: usize,
    /// Largest number of new tokens of a translation
    #[arg(long, default_value_t = 64)]
    pub max_new_tokens: usize,
    /// One text at a time: the times of single calls
    #[arg(long)]
    pub one_by_one: bool,
    /// Duration of the measurement in seconds
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// Write the translations, or the embeddings as JSON, to this file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Read `run SECONDS` and `quit` from standard input, for side-by-side benchmarks (bench/)
    #[arg(long)]
    pub interactive: bool,
}

#[derive(ClapArgs)]
pub struct BenchMachine {
    /// Model width of the measured products
    #[arg(long, default_value_t = 384)]
    pub width: usize,
    /// Tokens per batch
    #[arg(long, default_value_t = 2048)]
    pub tokens: usize,
    /// Vocabulary size
    #[arg(long, default_value_t = 256)]
    pub vocab: usize,
    /// Duration of the measurement in seconds
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum BenchStep {
    /// A GPT-2
    Gpt(BenchGpt),
    /// A Llama
    Llama(BenchLlama),
    /// An encoder-decoder
    Seq2seq(BenchSeq2seq),
    /// A BERT with masked language modelling
    Bert(BenchBert),
    /// Recurrent layers only
    Rnn(BenchRnn),
}

#[derive(ClapArgs)]
pub struct BenchRnn {
    /// Cell: tanh, gru or lstm
    #[arg(long, default_value = "gru", value_name = "NAME")]
    pub cell: String,
    /// Number of layers
    #[arg(long, default_value_t = 2)]
    pub layers: usize,
    /// Width of the input and of the hidden states
    #[arg(long, default_value_t = 512)]
    pub width: usize,
    /// Sequences per batch
    #[arg(long, default_value_t = 64)]
    pub batch: usize,
    /// Tokens per sequence
    #[arg(long, default_value_t = 24)]
    pub length: usize,
    /// Sequence lengths from 1 to --length, evenly spread
    #[arg(long)]
    pub mixed: bool,
    #[command(flatten)]
    pub options: BenchOptions,
}

#[derive(ClapArgs)]
pub struct BenchGpt {
    /// Number of layers
    #[arg(long, default_value_t = 6)]
    pub layers: usize,
    /// Attention heads per layer
    #[arg(long, default_value_t = 6)]
    pub heads: usize,
    /// Model width
    #[arg(long, default_value_t = 384)]
    pub width: usize,
    /// Tokens per sequence
    #[arg(long, default_value_t = 256)]
    pub context: usize,
    /// Sequences per batch
    #[arg(long, default_value_t = 8)]
    pub batch: usize,
    /// Vocabulary size
    #[arg(long, default_value_t = 256)]
    pub vocab: usize,
    #[command(flatten)]
    pub options: BenchOptions,
}

#[derive(ClapArgs)]
pub struct BenchLlama {
    /// Number of layers
    #[arg(long, default_value_t = 30)]
    pub layers: usize,
    /// Attention heads per layer
    #[arg(long, default_value_t = 9)]
    pub heads: usize,
    /// Heads of keys and values per layer
    #[arg(long, default_value_t = 3)]
    pub kv_heads: usize,
    /// Model width
    #[arg(long, default_value_t = 576)]
    pub width: usize,
    /// Feed-forward width
    #[arg(long, default_value_t = 1536)]
    pub ffn: usize,
    /// Tokens per sequence
    #[arg(long, default_value_t = 256)]
    pub context: usize,
    /// Sequences per batch
    #[arg(long, default_value_t = 2)]
    pub batch: usize,
    /// Vocabulary size
    #[arg(long, default_value_t = 49_152)]
    pub vocab: usize,
    /// Compute layers again in the backward pass
    #[arg(long)]
    pub activation_checkpointing: bool,
    #[command(flatten)]
    pub options: BenchOptions,
}

#[derive(ClapArgs)]
pub struct BenchBert {
    /// Number of layers
    #[arg(long, default_value_t = 6)]
    pub layers: usize,
    /// Attention heads per layer
    #[arg(long, default_value_t = 12)]
    pub heads: usize,
    /// Model width
    #[arg(long, default_value_t = 384)]
    pub width: usize,
    /// Feed-forward width
    #[arg(long, default_value_t = 1536)]
    pub ffn: usize,
    /// Tokens per sequence
    #[arg(long, default_value_t = 128)]
    pub context: usize,
    /// Sequences per batch
    #[arg(long, default_value_t = 16)]
    pub batch: usize,
    /// Vocabulary size
    #[arg(long, default_value_t = 30_522)]
    pub vocab: usize,
    /// Masking probability, 0 to 1; at least one token per sequence is masked
    #[arg(long, default_value_t = 0.15)]
    pub masked: f64,
    #[command(flatten)]
    pub options: BenchOptions,
}

#[derive(ClapArgs)]
pub struct BenchSeq2seq {
    /// Encoder layers
    #[arg(long, default_value_t = 3)]
    pub encoder_layers: usize,
    /// Decoder layers
    #[arg(long, default_value_t = 3)]
    pub decoder_layers: usize,
    /// Attention heads per layer
    #[arg(long, default_value_t = 8)]
    pub heads: usize,
    /// Model width
    #[arg(long, default_value_t = 256)]
    pub width: usize,
    /// Feed-forward width
    #[arg(long, default_value_t = 1024)]
    pub ffn: usize,
    /// Sequences per batch
    #[arg(long, default_value_t = 64)]
    pub batch: usize,
    /// Source tokens per pair
    #[arg(long, default_value_t = 24)]
    pub source_len: usize,
    /// Target tokens per pair
    #[arg(long, default_value_t = 24)]
    pub target_len: usize,
    /// Vocabulary size
    #[arg(long, default_value_t = 8000)]
    pub vocab: usize,
    /// Label smoothing, 0 to 1
    #[arg(long, default_value_t = 0.1)]
    pub label_smoothing: f32,
    #[command(flatten)]
    pub options: BenchOptions,
}

#[derive(ClapArgs)]
pub struct BenchOptions {
    /// Duration of the measurement in seconds
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Read `run SECONDS` and `quit` from standard input, for side-by-side benchmarks (bench/)
    #[arg(long)]
    pub interactive: bool,
}
