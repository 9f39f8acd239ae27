//! A run after a kill or an accident: whatever can be made again and is damaged is removed, so that
//! it is made again.

use crate::data::tokens::TokenFile;
use crate::error::{Error, Result};
use crate::files::{remove_temporaries, write_atomic};
use crate::report::parse_metrics;
use crate::text::Tokenizer;
use crate::train::checkpoint;
use crate::train::warning::{MetricsLoss, RunWarning};
use std::fs;
use std::path::Path;

/// Removes damaged caches, a damaged tokenizer, and temporary files of a killed process. Returns
/// what was damaged.
///
/// Weights are not touched: a run resumes from the newest undamaged checkpoint.
pub(in crate::train) fn repair(folder: &Path) -> Result<Vec<RunWarning>> {
    checkpoint::recover(folder)?;
    for part in ["", "model", "tokenizer", "cache"] {
        remove_temporaries(&folder.join(part))?;
    }
    let mut warnings = Vec::new();
    let listed = fs::read_dir(folder.join("cache")).into_iter().flatten().flatten();
    for path in listed.map(|entry| entry.path()) {
        let has_extension = |name: &str| path.extension().is_some_and(|found| found == name);
        if (has_extension("tokens") || has_extension("lengths"))
            && let Err(source) = TokenFile::open(&path)
        {
            fs::remove_file(&path).map_err(|e| Error::io("remove", &path, e))?;
            warnings.push(RunWarning::CacheRebuilt { source });
        }
    }
    let tokenizer = folder.join("tokenizer");
    if Tokenizer::exists_in(&tokenizer)
        && let Err(source) = Tokenizer::load(&tokenizer)
    {
        fs::remove_dir_all(&tokenizer).map_err(|e| Error::io("remove", &tokenizer, e))?;
        warnings.push(RunWarning::TokenizerRebuilt { source });
    }
    Ok(warnings)
}

/// What `metrics.jsonl` has lost of the `written` bytes that a checkpoint knows of. Lines that
/// cannot be parsed are removed.
pub(in crate::train) fn lost_metrics(folder: &Path, written: u64) -> Result<Option<RunWarning>> {
    let path = folder.join("metrics.jsonl");
    let mut text = fs::read(&path).unwrap_or_default();
    let found = text.len() as u64;
    // Later lines are going to be written again.
    text.truncate(written as usize);
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let is_readable = |line: &&&[u8]| parse_metrics(line, &path).is_ok();
    let readable: Vec<&[u8]> = lines.iter().filter(is_readable).copied().collect();
    let loss = if readable.len() < lines.len() {
        write_atomic(&path, &readable.concat())?;
        MetricsLoss::Lines { unreadable: lines.len() - readable.len(), of: lines.len() }
    } else if found < written {
        MetricsLoss::Bytes { found, written }
    } else {
        return Ok(None);
    };
    Ok(Some(RunWarning::MetricsLost { path, loss }))
}
