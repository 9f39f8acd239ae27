//! `limpid quantize …`

use super::model_folder;
use clap::{Args as ClapArgs, ValueEnum};
use limpid_tensor::kernels::quantized::Format;
use std::path::PathBuf;

/// The format of quantized weights.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WeightsAs {
    /// A byte per weight, a scale per 64 weights
    Int8,
    /// Half a byte per weight, a scale per 32 weights; token tables and output layers as int8
    Int4,
    /// The upper half of an f32
    Bf16,
}

impl WeightsAs {
    pub fn format(self) -> Format {
        match self {
            Self::Int8 => Format::Int8,
            Self::Int4 => Format::Int4,
            Self::Bf16 => Format::Bf16,
        }
    }
}

#[derive(ClapArgs)]
pub struct Quantize {
    /// Model folder or run folder
    #[arg(value_parser = model_folder)]
    pub model: PathBuf,
    /// Format of the weights
    #[arg(long, value_name = "FORMAT")]
    pub to: WeightsAs,
    /// Folder for the quantized model
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Text to measure the cost on, for a language model or an encoder [default: built-in text]
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Source sentences to measure the cost on, for a translator [default: the built-in corpus]
    #[arg(long, value_name = "FILE", requires = "target")]
    pub source: Option<PathBuf>,
    /// Their translations, line by line
    #[arg(long, value_name = "FILE", requires = "source")]
    pub target: Option<PathBuf>,
    /// Weights to keep in f32: parameters or modules, as `limpid info` names them
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub keep: Vec<String>,
    /// Keep weights in f32, those that cost most first, until the loss has increased by at most X
    /// nats per token (for an encoder: until 1 − the mean cosine is at most X)
    #[arg(long, value_name = "X")]
    pub max_loss: Option<f64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
