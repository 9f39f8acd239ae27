//! `metrics.jsonl`: one JSON object per line, in order; and the same as TensorBoard events.

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
    /// Opens or creates `metrics.jsonl` in `folder`, truncated to its first `bytes` bytes: later
    /// lines are of steps after the checkpoint, which are done again. TensorBoard's file is written
    /// anew from the same lines. `started` is when the run started, in seconds since 1970.
    pub fn open(folder: &Path, bytes: u64, started: u64) -> Result<Self> {
        let path = &folder.join("metrics.jsonl");
        let failed = |e| Error::io("write", path, e);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .map_err(failed)?;
        // A damaged file may be shorter: then all its complete lines.
        let mut text = std::fs::read(path).map_err(|e| Error::io("read", path, e))?;
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
        Ok(Self {
            path: path.to_path_buf(),
            file,
            bytes,
            events: Appender::open(&events, started)?,
        })
    }

    /// Appends a line.
    pub fn write(&mut self, metric: &Metric) -> Result<()> {
        let mut line = serde_json::to_string(metric).expect("a metric is JSON");
        line.push('\n');
        self.file.write_all(line.as_bytes()).map_err(|e| Error::io("write", &self.path, e))?;
        self.bytes += line.len() as u64;
        self.events.append(metric)
    }

    /// Flushes the file; returns its length.
    pub fn flush(&mut self) -> Result<u64> {
        self.file.sync_data().map_err(|e| Error::io("write", &self.path, e))?;
        Ok(self.bytes)
    }
}
