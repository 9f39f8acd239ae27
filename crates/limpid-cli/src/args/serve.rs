//! `limpid serve`

use clap::{Args as ClapArgs, ValueEnum};
use std::path::PathBuf;

/// How the log is written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object per line.
    Json,
    /// Nothing but errors.
    Quiet,
}

#[derive(ClapArgs)]
pub struct Serve {
    /// Model folders or run folders to serve, each with an optional name for clients [default name:
    /// the folder's]; the name of a translator tells its languages, such as `fr-en`
    #[arg(value_name = "[NAME=]FOLDER", required_unless_present = "demo")]
    pub models: Vec<String>,
    /// Address to listen on; one that other machines can reach needs --api-key-file or --no-auth
    #[arg(long, default_value = "127.0.0.1")]
    pub host: String,
    /// Port to listen on; 0 for any free port
    #[arg(long, default_value_t = 8000)]
    pub port: u16,
    /// Unix socket to listen on, instead of a host and port
    #[arg(long, value_name = "PATH", conflicts_with_all = ["host", "port"])]
    pub unix: Option<PathBuf>,
    /// File of API keys, one per line [default: the environment variable LIMPID_API_KEY]
    #[arg(long, value_name = "FILE")]
    pub api_key_file: Option<PathBuf>,
    /// Serve other machines without API keys
    #[arg(long, conflicts_with = "api_key_file")]
    pub no_auth: bool,
    /// Host name that requests may ask for, besides localhost; may be repeated
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Tokens in the queue, read and generated; more are refused with status 429
    #[arg(long, value_name = "N", default_value_t = 65_536)]
    pub max_queue_tokens: usize,
    /// Memory for keys and values, such as 512MB or 2GB
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = size)]
    pub memory: u64,
    /// Memory for keys and values of beginnings that prompts share, for each model; 0 for none
    #[arg(long, value_name = "SIZE", default_value = "128MB", value_parser = size_or_none)]
    pub prefix_cache: u64,
    /// Generations at once
    #[arg(long, value_name = "N", default_value_t = 64,
        value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub max_running: u16,
    /// Connections at once
    #[arg(long, value_name = "N", default_value_t = 1024,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_connections: u32,
    /// Size of a request body
    #[arg(long, value_name = "SIZE", default_value = "2MB", value_parser = size)]
    pub max_body: u64,
    /// Seconds that a request may take
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub timeout: u64,
    /// Seconds that running requests have to finish after SIGTERM or Ctrl-C
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub drain_timeout: u64,
    /// Format of the log on standard error
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log: LogFormat,
    /// Load the models, check every setting, and exit
    #[arg(long)]
    pub check: bool,
    /// Serve the models of `limpid demo --all` in limpid-demo, trained first if they are not there
    #[arg(long)]
    pub demo: bool,
}

/// A number of bytes, or 0.
fn size_or_none(text: &str) -> Result<u64, String> {
    if text == "0" { Ok(0) } else { size(text) }
}

/// A number of bytes: `1500`, `512MB`, `2GB`.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "KB" | "K" => 1 << 10,
        "MB" | "M" => 1 << 20,
        "GB" | "G" => 1 << 30,
        _ => return Err("expected a size such as 512MB or 2GB".into()),
    };
    let number: u64 = digits.parse().map_err(|_| "expected a size such as 512MB or 2GB")?;
    number.checked_mul(unit).filter(|n| *n > 0).ok_or_else(|| "out of range".into())
}
