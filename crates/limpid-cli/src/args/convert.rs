//! `limpid convert`

use clap::{Args as ClapArgs, ValueEnum};
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct Convert {
    /// Model folder or run folder
    pub model: PathBuf,
    /// The folder to write, or the file with --to gguf
    #[arg(long, value_name = "PATH")]
    pub out: PathBuf,
    /// What to write: a model folder, or a GGUF file for llama.cpp
    #[arg(long, default_value = "folder")]
    pub to: ConvertTarget,
    /// Type of the weights; q8_0 (bytes with a scale per 32) for gguf only [default: as stored; f16
    /// for gguf]
    #[arg(long)]
    pub dtype: Option<WeightType>,
    /// Most bytes of a weight file; a model that is larger is written in shards
    #[arg(long, value_name = "2GB", value_parser = parse_size)]
    pub max_shard_size: Option<u64>,
    /// Write tokenizer.json, made of the other tokenizer files
    #[arg(long)]
    pub tokenizer_json: bool,
}

/// What a conversion writes.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ConvertTarget {
    Folder,
    Gguf,
}

/// A type of stored weights.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WeightType {
    F32,
    F16,
    Bf16,
    #[value(name = "q8_0")]
    Q8,
}

/// "500MB", "2GB", "1GiB": a number of bytes.
fn parse_size(text: &str) -> Result<u64, String> {
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor: f64 = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 1.0,
        "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KIB" => 1024.0,
        "MIB" => 1024.0 * 1024.0,
        "GIB" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(format!("unknown unit {unit}: use KB, MB or GB")),
    };
    match number.trim().parse::<f64>() {
        Ok(number) if number * factor >= 1.0 => Ok((number * factor) as u64),
        _ => Err("a size such as 500MB or 2GB was expected".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_units_of_hugging_face() {
        assert_eq!(parse_size("2GB"), Ok(2_000_000_000));
        assert_eq!(parse_size("1.5MiB"), Ok(1_572_864));
        assert_eq!(parse_size("100"), Ok(100));
        for wrong in ["", "GB", "-1GB", "2 potatoes", "0MB", "nan", "2TBB"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
