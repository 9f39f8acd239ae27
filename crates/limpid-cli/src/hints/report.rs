//! Run folders and charts.

use limpid::error::ReportError;

pub(super) fn hint(error: &ReportError) -> Option<String> {
    Some(match error {
        ReportError::NotARun { .. } => {
            "give a run folder, as `limpid train` and `limpid demo` make it".into()
        }
        ReportError::Metric { .. } => "docs/formats.md describes the lines of metrics.jsonl".into(),
        ReportError::File { path, .. } if path.ends_with("summary.json") => {
            "remove it: `limpid train … --resume` writes it again".into()
        }
        ReportError::Chart { .. } => "docs/formats.md has the keys, under `bench chart`".into(),
        _ => return None,
    })
}
