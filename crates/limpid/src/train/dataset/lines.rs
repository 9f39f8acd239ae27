//! Lines as documents of their own, for language models and encoders.

use crate::data::clean::{Cleaning, Duplicates};
use crate::data::sequence_file::{Recipe, SequenceFile};
use crate::data::split::split;
use crate::error::{DatasetError, Result, SplitName};
use crate::text::{Tokenizer, each_line};
use std::path::{Path, PathBuf};

/// The lines of some files as token ids, without empty ones.
pub(super) fn cleaned_lines(
    (files, policy): (&[PathBuf], Duplicates),
    tokenizer: &Tokenizer,
    path: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<SequenceFile> {
    let (processing, id_limit) = ("lines".to_string(), tokenizer.vocab_size());
    let recipe = Recipe { files, processing, tokenizer, id_limit, clean: Some(policy) };
    let cut = |line: &String| Ok(vec![tokenizer.encode(line)?]);
    SequenceFile::build(path, &recipe, || Ok(each_line(files)), cut, progress)
}

/// Indices of the training and of the validation lines; `validation` is the number of lines in
/// files of their own, if there are such.
pub(super) fn split_lines(
    validation_split: Option<f64>,
    seed: u64,
    lines: usize,
    validation: Option<usize>,
) -> Result<(Vec<usize>, Vec<usize>)> {
    let empty = |split| Err(DatasetError::Empty { split, unit: "lines".into() }.into());
    match (lines, validation) {
        (0, _) => empty(SplitName::Train),
        (_, Some(0)) | (1, None) => empty(SplitName::Validation),
        (lines, Some(validation)) => Ok(((0..lines).collect(), (0..validation).collect())),
        (lines, None) => {
            let fraction = validation_split.expect("without validation files some are held out");
            split(lines, fraction, seed)
        }
    }
}

/// How many lines there are, in how many pieces, and what cleaning dropped. The iterators give the
/// line of every piece; pieces of one line are neighbours.
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
        if all == lines {
            format!("{lines} lines")
        } else {
            format!("{lines} lines in {all} pieces")
        }
    };
    let (train, kept) = (count(&mut { train }), count(&mut { kept }));
    match kept_cleaning {
        None => format!("training: {train}, validation: {kept} ({cleaning})"),
        Some(theirs) => {
            format!("training: {train} ({cleaning}), validation: {kept} ({theirs})")
        }
    }
}
