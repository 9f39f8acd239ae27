//! `metrics.jsonl`: what happened, one JSON object a line, in the order in which it happened.

use crate::error::{Error, Result};
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Something that happened at a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Metric {
    /// Some steps of training.
    Train {
        /// The last of them.
        step: u64,
        /// Times through the data.
        epoch: f64,
        /// Tokens seen since the beginning.
        tokens: u64,
        /// Mean loss a token since the last line, with smoothing.
        loss: f64,
        /// The learning rate of the last step.
        lr: f32,
        /// The norm of its gradient, before clipping.
        grad_norm: f32,
        /// Seconds of training since the beginning.
        seconds: f64,
        /// Since the last line.
        tokens_per_second: f64,
    },
    /// A look at what was kept back.
    Validation {
        /// After which step.
        step: u64,
        /// Mean of −ln p a token.
        loss: f64,
        /// Its exponential.
        perplexity: f64,
        /// Whether it is the best so far.
        best: bool,
        /// For a text.
        #[serde(skip_serializing_if = "Option::is_none")]
        bits_per_character: Option<f64>,
    },
    /// What the model writes.
    Sample {
        /// After which step.
        step: u64,
        /// What it was given.
        prompt: String,
        /// What it wrote.
        text: String,
        /// What a person wrote.
        #[serde(skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
    },
}

/// The file, open at its end.
pub struct Metrics {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl Metrics {
    /// Opens or makes the file, and cuts it back to its first `bytes` bytes: what was written after the checkpoint that is being resumed
    /// is going to happen again.
    pub fn open(path: &Path, bytes: u64) -> Result<Self> {
        let failed = |e| Error::io("write", path, &e);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .map_err(failed)?;
        if file.metadata().map_err(failed)?.len() < bytes {
            return Err(Error::format(
                path,
                format!("it is shorter than the {bytes} bytes that the checkpoint knows of"),
            )
            .hint("it was changed by somebody else; --force begins the run anew"));
        }
        file.set_len(bytes).map_err(failed)?;
        file.seek(SeekFrom::Start(bytes)).map_err(failed)?;
        Ok(Self { path: path.to_path_buf(), file, bytes })
    }

    /// Appends a line.
    pub fn write(&mut self, metric: &Metric) -> Result<()> {
        let mut line = serde_json::to_string(metric).expect("a metric is JSON");
        line.push('\n');
        self.file.write_all(line.as_bytes()).map_err(|e| Error::io("write", &self.path, &e))?;
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// Flushes it to the disk; gives its size.
    pub fn flush(&mut self) -> Result<u64> {
        self.file.sync_data().map_err(|e| Error::io("write", &self.path, &e))?;
        Ok(self.bytes)
    }
}
