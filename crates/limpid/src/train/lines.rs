//! Lines as texts of their own, for language models and encoders: read, divided, described.

use super::config::RunConfig;
use super::examples::USUAL_SHARE;
use crate::data::clean::{Cleaning, Duplicates};
use crate::data::sequence_file::{Recipe, SequenceFile};
use crate::data::split::{Split, split};
use crate::error::{Error, Result};
use crate::text::{Tokenizer, each_line};
use std::path::{Path, PathBuf};

/// The lines of some files as tokens, without those that say nothing.
pub(super) fn cleaned_lines(
    (files, policy): (&[PathBuf], Duplicates),
    tokenizer: &Tokenizer,
    path: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<SequenceFile> {
    let (how, ids) = ("lines".to_string(), tokenizer.vocab_size());
    let recipe = Recipe { files, how, tokenizer, ids, clean: Some(policy) };
    let cut = |line: &String| Ok(vec![tokenizer.encode(line)?]);
    SequenceFile::build(path, &recipe, || Ok(each_line(files)), cut, progress)
}

/// Which lines are learnt from, and which are kept: those of a file of their own, or some.
pub(super) fn divide_lines(
    config: &RunConfig,
    lines: usize,
    kept: Option<usize>,
) -> Result<(Vec<usize>, Vec<usize>)> {
    let few = |what: &str| {
        Err(Error::data(format!("there are too few lines {what}")).hint(
            "lines that are empty do not count; --set data.unit=windows reads a text without line ends",
        ))
    };
    match (lines, kept) {
        (0, _) => few("to learn from"),
        (_, Some(0)) => few("for validation"),
        (lines, Some(kept)) => Ok(((0..lines).collect(), (0..kept).collect())),
        (1, None) => few("to keep some for validation"),
        (lines, None) => {
            let share = config.data.validation_share.unwrap_or(USUAL_SHARE);
            split(lines, Split::Random { share, seed: config.train.seed })
        }
    }
}

/// How many lines there are, in how many pieces, and what was left out. Pieces of a line stand one after another; each says which line it is of.
pub(super) fn describe_lines(
    (train, cleaning): (impl Iterator<Item = u32>, Cleaning),
    (kept, kept_cleaning): (impl Iterator<Item = u32>, Option<Cleaning>),
) -> String {
    let count = |pieces: &mut dyn Iterator<Item = u32>| {
        let (mut lines, mut all, mut last) = (0, 0, None);
        for line in pieces {
            lines += usize::from(last.replace(line) != Some(line));
            all += 1;
        }
        if all == lines { format!("{lines} lines") } else { format!("{lines} lines in {all} pieces") }
    };
    let (train, kept) = (count(&mut { train }), count(&mut { kept }));
    match kept_cleaning {
        None => format!("{train} to learn from, {kept} kept for validation ({cleaning})"),
        Some(theirs) => format!("{train} to learn from ({cleaning}), {kept} for validation ({theirs})"),
    }
}
