//! The folder of a run after an accident: what can be made again is removed, so that it is made again.

use super::checkpoint;
use crate::data::tokens::TokenFile;
use crate::error::{Error, Result};
use crate::files::{remove_asides, write_aside};
use crate::report::parse_metrics;
use crate::text::Tokenizer;
use std::fs;
use std::path::Path;

/// Removes damaged caches, a damaged tokenizer, and files that were being written when the program was killed. Says what was damaged.
///
/// Weights are not touched: a run goes on from the newest checkpoint that is whole.
pub(super) fn mend(folder: &Path) -> Result<Vec<Error>> {
    checkpoint::mend(folder)?;
    for part in ["", "model", "tokenizer", "cache"] {
        remove_asides(&folder.join(part))?;
    }
    let mut damaged = Vec::new();
    let entries = fs::read_dir(folder.join("cache")).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let ends = |end: &str| path.extension().is_some_and(|extension| extension == end);
        if (ends("tokens") || ends("lengths"))
            && let Err(error) = TokenFile::open(&path)
        {
            fs::remove_file(&path).map_err(|e| Error::io("remove", &path, &e))?;
            damaged.push(Error::data(format!("{error}; it is made again from the text")));
        }
    }
    let tokenizer = folder.join("tokenizer");
    if tokenizer.join("tokenizer.json").is_file()
        && let Err(error) = Tokenizer::load(&tokenizer)
    {
        fs::remove_dir_all(&tokenizer).map_err(|e| Error::io("remove", &tokenizer, &e))?;
        damaged.push(Error::data(format!("{error}; it is made again")));
    }
    Ok(damaged)
}

/// What is said if `metrics.jsonl` has lost some of the bytes that a checkpoint knows of. Lines that nobody can read are removed.
pub(super) fn lost_metrics(folder: &Path, known: u64) -> Result<Option<Error>> {
    let path = folder.join("metrics.jsonl");
    let mut text = fs::read(&path).unwrap_or_default();
    let there = text.len() as u64;
    // What came later is going to happen again.
    text.truncate(known as usize);
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let is_readable = |line: &&&[u8]| parse_metrics(line, &path).is_ok();
    let readable: Vec<&[u8]> = lines.iter().filter(is_readable).copied().collect();
    let what = if readable.len() < lines.len() {
        write_aside(&path, &readable.concat())?;
        format!(
            "{} of its {} lines could not be read and are removed",
            lines.len() - readable.len(),
            lines.len()
        )
    } else if there < known {
        format!("it has {there} of the {known} bytes that were written")
    } else {
        return Ok(None);
    };
    let message = format!("{what}: curves will lack what is lost, the weights lack nothing");
    Ok(Some(Error::format(&path, message)))
}
