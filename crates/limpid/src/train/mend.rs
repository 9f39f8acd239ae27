//! The folder of a run after an accident: what can be made again is removed, so that it is made again.

use super::checkpoint;
use crate::data::tokens::TokenFile;
use crate::error::{Error, Result};
use crate::files::remove_asides;
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

/// What is said if `metrics.jsonl` has lost some of the bytes that a checkpoint knows of.
pub(super) fn lost_metrics(folder: &Path, known: u64) -> Option<Error> {
    let path = folder.join("metrics.jsonl");
    let there = fs::metadata(&path).map_or(0, |file| file.len());
    (there < known).then(|| {
        Error::data(format!(
            "{} has {there} of the {known} bytes that were written: curves will lack what is lost, the weights lack nothing",
            path.display()
        ))
    })
}
