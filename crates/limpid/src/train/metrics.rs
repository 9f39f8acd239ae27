//! `metrics.jsonl`: what happened, one JSON object a line, in the order in which it happened; and the same for TensorBoard.

use crate::error::{Error, Result};
use crate::report::tensorboard::{self, Appender};
use crate::report::{Metric, parse_metrics};
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The file, open at its end.
pub struct Metrics {
    path: PathBuf,
    file: File,
    bytes: u64,
    events: Appender,
}

impl Metrics {
    /// Opens or makes `metrics.jsonl` in `folder`, and cuts it back to its first `bytes` bytes: what was written after the checkpoint that is being
    /// resumed is going to happen again. TensorBoard's file is made to say the same. `started` is when the run began, in seconds since 1970.
    pub fn open(folder: &Path, bytes: u64, started: u64) -> Result<Self> {
        let path = &folder.join("metrics.jsonl");
        let failed = |e| Error::io("write", path, &e);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .map_err(failed)?;
        // After an accident there may be less: then all its whole lines.
        let mut text = std::fs::read(path).map_err(|e| Error::io("read", path, &e))?;
        if (text.len() as u64) < bytes {
            text.truncate(text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1));
        } else {
            text.truncate(bytes as usize);
        }
        let bytes = text.len() as u64;
        file.set_len(bytes).map_err(failed)?;
        file.seek(SeekFrom::Start(bytes)).map_err(failed)?;
        let events = folder.join(tensorboard::file_name(started));
        tensorboard::write_all(&events, started, &parse_metrics(&text, path)?.0)?;
        Ok(Self { path: path.to_path_buf(), file, bytes, events: Appender::open(&events, started)? })
    }

    /// Appends a line.
    pub fn write(&mut self, metric: &Metric) -> Result<()> {
        let mut line = serde_json::to_string(metric).expect("a metric is JSON");
        line.push('\n');
        self.file.write_all(line.as_bytes()).map_err(|e| Error::io("write", &self.path, &e))?;
        self.bytes += line.len() as u64;
        self.events.append(metric)
    }

    /// Flushes it to the disk; gives its size.
    pub fn flush(&mut self) -> Result<u64> {
        self.file.sync_data().map_err(|e| Error::io("write", &self.path, &e))?;
        Ok(self.bytes)
    }
}
