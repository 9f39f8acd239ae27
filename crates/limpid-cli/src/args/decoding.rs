//! Decoding options: the flags that `generate`, `chat`, `translate` and `summarize` share.

use clap::{Args as ClapArgs, ValueEnum};
use limpid::generate::{EarlyStopping, GenerationOptions, KvFormat, Trace};

/// When a beam search stops.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stopping {
    /// As soon as there are as many finished hypotheses as beams
    True,
    /// When no beam would be better if it ended now
    False,
    /// When no beam can become better
    Never,
}

/// How keys and values are stored.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KvCacheDtype {
    /// As they are computed
    F32,
    /// In half the memory
    F16,
    /// In about a quarter of the memory
    Int8,
}

/// Options set here override the model's generation_config.json; without both, greedy search.
#[derive(ClapArgs)]
#[command(next_help_heading = "Decoding options")]
pub struct DecodingFlags {
    /// Sample from the model's distribution instead of taking the most likely token; implied by
    /// --temperature, --top-k, --top-p and --seed
    #[arg(long)]
    pub do_sample: bool,
    /// Softmax temperature for sampling: below 1 sharpens, above 1 flattens; 0 is greedy search
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub temperature: Option<f32>,
    /// Sample from the K most likely tokens
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub top_k: Option<usize>,
    /// Sample from the fewest tokens that have probability P together (nucleus sampling)
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub top_p: Option<f32>,
    /// Random seed of sampling [default: 0]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Beam search with B beams
    #[arg(long, value_name = "B")]
    pub num_beams: Option<usize>,
    /// Number of outputs per input: samples, or the N best of a beam search [default: 1]
    #[arg(long, value_name = "N")]
    pub num_return_sequences: Option<usize>,
    /// Beam search: divide scores by length^A [default: 1]
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub length_penalty: Option<f32>,
    /// Beam search: divide scores by ((5 + length)/6)^A instead (GNMT)
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub gnmt_length_penalty: Option<f32>,
    /// When a beam search stops [default: false]
    #[arg(long, value_name = "WHEN")]
    pub early_stopping: Option<Stopping>,
    /// Above 1, tokens that occurred before become less likely
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub repetition_penalty: Option<f32>,
    /// No N-gram of tokens occurs twice
    #[arg(long, value_name = "N")]
    pub no_repeat_ngram_size: Option<usize>,
    /// Minimum number of new tokens
    #[arg(long, value_name = "N")]
    pub min_new_tokens: Option<usize>,
    /// End the output before this text; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub stop_strings: Vec<String>,
    /// How the keys and values of earlier tokens are stored [default: f32]
    #[arg(long, value_name = "DTYPE")]
    pub kv_cache_dtype: Option<KvCacheDtype>,
    /// Write every step with its distribution to this file as JSON Lines; - is standard output, and
    /// then all of it is JSON
    #[arg(long, value_name = "FILE")]
    pub trace: Option<std::path::PathBuf>,
    /// List the candidates and the N most likely other tokens of each distribution in the trace
    /// [default: all]
    #[arg(long, value_name = "N", requires = "trace")]
    pub trace_top: Option<usize>,
}

impl DecodingFlags {
    /// The options of the library; `max_new_tokens` is a flag of each command.
    pub fn options(&self) -> GenerationOptions {
        let stopping = |stopping| match stopping {
            Stopping::True => EarlyStopping::Immediate,
            Stopping::False => EarlyStopping::Heuristic,
            Stopping::Never => EarlyStopping::Never,
        };
        GenerationOptions {
            do_sample: self.do_sample.then_some(true),
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            seed: self.seed,
            num_beams: self.num_beams,
            num_return_sequences: self.num_return_sequences,
            length_penalty: self.length_penalty,
            gnmt_length_penalty: self.gnmt_length_penalty,
            early_stopping: self.early_stopping.map(stopping),
            repetition_penalty: self.repetition_penalty,
            no_repeat_ngram_size: self.no_repeat_ngram_size,
            min_new_tokens: self.min_new_tokens,
            max_new_tokens: None,
            stop_strings: (!self.stop_strings.is_empty()).then(|| self.stop_strings.clone()),
            kv_cache_dtype: self.kv_cache_dtype.map(|dtype| match dtype {
                KvCacheDtype::F32 => KvFormat::F32,
                KvCacheDtype::F16 => KvFormat::F16,
                KvCacheDtype::Int8 => KvFormat::Int8,
            }),
        }
    }

    /// How much of each step is reported.
    pub fn tracing(&self) -> Trace {
        match (&self.trace, self.trace_top) {
            (None, _) => Trace::Off,
            (Some(_), None) => Trace::Full,
            (Some(_), Some(others)) => Trace::Top(others),
        }
    }

    /// Whether standard output holds nothing but JSON.
    pub fn trace_to_stdout(&self) -> bool {
        self.trace.as_ref().is_some_and(|path| path.as_os_str() == "-")
    }
}
