//! How to write: the flags that `generate` and `translate` share.

use clap::{Args as ClapArgs, ValueEnum};
use limpid::decode::{EarlyStopping, Request, Trace};

/// When a beam search stops.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stopping {
    /// As soon as there are as many finished texts as beams
    True,
    /// When none that is being written would be better if it ended now
    False,
    /// When none that is being written can become better
    Never,
}

/// Without any of these the model's generation_config.json decides, and without that the likeliest token is taken each time.
#[derive(ClapArgs)]
#[command(next_help_heading = "How to write")]
pub struct DecodingFlags {
    /// Draw at random: below 1 closer to the likeliest, above 1 more freely; 0 never draws
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub temperature: Option<f32>,
    /// Draw among the K likeliest tokens
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub top_k: Option<usize>,
    /// Draw among the fewest tokens that have probability P together
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub top_p: Option<f32>,
    /// Seed of the draws [default: 0]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Draw so many texts of each
    #[arg(long, value_name = "N")]
    pub samples: Option<usize>,
    /// Beam search: follow the B likeliest texts
    #[arg(long, value_name = "B")]
    pub beams: Option<usize>,
    /// Give the N best texts of a beam search
    #[arg(long, value_name = "N")]
    pub nbest: Option<usize>,
    /// Scores are divided by length^A [default: 1]
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub length_penalty: Option<f32>,
    /// Scores are divided by ((5 + length)/6)^A instead
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub gnmt: Option<f32>,
    /// When a beam search stops [default: false]
    #[arg(long, value_name = "WHEN")]
    pub early_stopping: Option<Stopping>,
    /// Above 1: tokens that are in the text already become less likely
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub repetition_penalty: Option<f32>,
    /// No N tokens come twice in the same order
    #[arg(long, value_name = "N")]
    pub no_repeat_ngram: Option<usize>,
    /// New tokens there must be before the end
    #[arg(long, value_name = "N")]
    pub min_tokens: Option<usize>,
    /// End at this text, which is left out; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub stop: Vec<String>,
    /// Write every step with its distribution to this file, a JSON object a line; - is standard output, and then all of it is JSON
    #[arg(long, value_name = "FILE")]
    pub trace: Option<std::path::PathBuf>,
    /// Of each distribution in the trace, list what could be chosen and the N likeliest others [default: all]
    #[arg(long, value_name = "N", requires = "trace")]
    pub trace_top: Option<usize>,
}

impl DecodingFlags {
    /// What ends a text: as was said, or as the model's files say.
    pub fn stops_or(&self, file: Vec<String>) -> Vec<String> {
        if self.stop.is_empty() { file } else { self.stop.clone() }
    }

    /// What was asked for.
    pub fn request(&self) -> Request {
        let stopping = |stopping| match stopping {
            Stopping::True => EarlyStopping::AtOnce,
            Stopping::False => EarlyStopping::Heuristic,
            Stopping::Never => EarlyStopping::Never,
        };
        Request {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            samples: self.samples,
            seed: self.seed,
            beams: self.beams,
            length_penalty: self.length_penalty,
            gnmt: self.gnmt,
            early_stopping: self.early_stopping.map(stopping),
            nbest: self.nbest,
            repetition_penalty: self.repetition_penalty,
            no_repeat_ngram: self.no_repeat_ngram,
            min_new: self.min_tokens,
        }
    }

    /// Whether every step is to be reported.
    pub fn tracing(&self) -> Trace {
        match (&self.trace, self.trace_top) {
            (None, _) => Trace::Off,
            (Some(_), None) => Trace::Whole,
            (Some(_), Some(others)) => Trace::Likeliest(others),
        }
    }

    /// Whether standard output holds nothing but JSON.
    pub fn trace_to_stdout(&self) -> bool {
        self.trace.as_ref().is_some_and(|path| path.as_os_str() == "-")
    }
}
