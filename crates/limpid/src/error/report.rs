//! Errors of run folders that are read for a report, and of charts.

use std::path::PathBuf;

/// A run folder or a chart that cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A folder without `metrics.jsonl`: not a run folder.
    #[error("{} has no metrics.jsonl: not a run folder", folder.display())]
    NotARun {
        /// The folder.
        folder: PathBuf,
    },
    /// A line of `metrics.jsonl` that is not a metric.
    #[error("{}: line {line}: {reason}", path.display())]
    Metric {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What the JSON parser says.
        reason: String,
    },
    /// A file of a run folder that is not what it should be.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A description of a chart that is not one.
    #[error("{}: not a chart: {reason}", path.display())]
    Chart {
        /// The file.
        path: PathBuf,
        /// What the JSON parser says.
        reason: String,
    },
}
