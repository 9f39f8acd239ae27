//! Sentence pairs for translation: two line-aligned files, or two columns of a table.
//!
//! ```
//! use limpid::data::parallel::parallel;
//! use limpid::text::TextReader;
//!
//! let french = TextReader::from_reader("train.fr".as_ref(), "Il dort.\nMerci\n".as_bytes());
//! let english = TextReader::from_reader("train.en".as_ref(), "He sleeps.\nThanks\n".as_bytes());
//! let pairs: Vec<(String, String)> = parallel(french, english).collect::<Result<_, _>>()?;
//! assert_eq!(pairs[1], ("Merci".into(), "Thanks".into()));
//! # Ok::<(), limpid::error::Error>(())
//! ```

use super::table::{Column, Header, TableFormat, read_rows};
use crate::error::{DataError, Result};
use crate::text::{Lines, TextReader, until_error};
use std::path::{Path, PathBuf};

/// Pairs, one at a time, so that a corpus may be larger than memory.
pub type Pairs = Box<dyn Iterator<Item = Result<(String, String)>> + Send>;

/// Pairs on disk, ready to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairFiles {
    /// Line n of the second file translates line n of the first.
    Parallel(PathBuf, PathBuf),
    /// A TSV, CSV or JSON Lines file.
    Table {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: TableFormat,
        /// Whether its first line names the columns.
        header: Header,
        /// The column of sources.
        source: Column,
        /// The column of targets.
        target: Column,
    },
}

impl PairFiles {
    /// All pairs, in order, one at a time.
    ///
    /// # Errors
    /// A file cannot be opened.
    pub fn pairs(&self) -> Result<Pairs> {
        match self {
            PairFiles::Parallel(source, target) => {
                Ok(parallel(TextReader::open(source)?, TextReader::open(target)?))
            }
            PairFiles::Table { path, format, header, source, target } => {
                pair_table(path, (*format, *header), source, target)
            }
        }
    }

    /// The files.
    pub fn files(&self) -> Vec<PathBuf> {
        match self {
            PairFiles::Parallel(source, target) => vec![source.clone(), target.clone()],
            PairFiles::Table { path, .. } => vec![path.clone()],
        }
    }

    /// The file of the source and that of the target.
    pub fn sides(&self) -> [&Path; 2] {
        match self {
            PairFiles::Parallel(source, target) => [source, target],
            PairFiles::Table { path, .. } => [path, path],
        }
    }

    /// How they are read, in words: part of the key of a token cache.
    pub(crate) fn how(&self) -> String {
        match self {
            PairFiles::Parallel(..) => "parallel lines".into(),
            PairFiles::Table { format, header, source, target, .. } => {
                format!("{format:?} table, header {header:?}, columns {source:?} and {target:?}")
            }
        }
    }
}

/// Line n of one text with line n of the other. Empty texts and texts of different lengths yield an
/// error in place of a pair.
pub fn parallel(source: TextReader, target: TextReader) -> Pairs {
    let (mut source, mut target) = (source.lines(), target.lines());
    Box::new(until_error(move || next_pair(&mut source, &mut target)))
}

fn next_pair(source: &mut Lines, target: &mut Lines) -> Result<Option<(String, String)>> {
    match (source.next().transpose()?, target.next().transpose()?) {
        (Some(source), Some(target)) => Ok(Some((source, target))),
        (None, None) if source.number() == 0 => {
            let files = vec![source.path().to_path_buf(), target.path().to_path_buf()];
            Err(DataError::NoExamples { files, what: "pairs" }.into())
        }
        (None, None) => Ok(None),
        _ => {
            // Read both to the end, so that the error can give both counts.
            let count = |lines: &mut Lines| -> Result<usize> {
                lines.try_for_each(|line| line.map(drop))?;
                Ok(lines.number())
            };
            let (source_lines, target_lines) = (count(source)?, count(target)?);
            Err(DataError::UnequalLines {
                source_path: source.path().to_path_buf(),
                source_lines,
                target_path: target.path().to_path_buf(),
                target_lines,
            }
            .into())
        }
    }
}

/// Two columns of a TSV, CSV or JSON Lines file.
/// # Errors
/// If the file cannot be read, has no rows, or lacks a column.
pub fn pair_table(
    path: &Path,
    (format, header): (TableFormat, Header),
    source: &Column,
    target: &Column,
) -> Result<Pairs> {
    let mut rows = read_rows(path, format, header, &[source.clone(), target.clone()])?.peekable();
    if rows.peek().is_none() {
        let files = vec![path.to_path_buf()];
        return Err(DataError::NoExamples { files, what: "pairs" }.into());
    }
    Ok(Box::new(rows.map(|row| {
        let [source, target] = row?.fields.try_into().expect("two columns were requested");
        Ok((source, target))
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, text: &str) -> TextReader {
        TextReader::from_reader(Path::new(name), std::io::Cursor::new(text.to_string()))
    }

    fn pairs(source: &str, target: &str) -> Result<Vec<(String, String)>> {
        parallel(text("a.fr", source), text("b.en", target)).collect()
    }

    #[test]
    fn lines_are_paired_in_order_and_empty_ones_keep_their_place() {
        let pairs = pairs("un\n\ntrois\n", "one\ntwo\nthree").unwrap();
        assert_eq!(pairs[1], (String::new(), "two".to_string()));
        assert_eq!(pairs[2], ("trois".to_string(), "three".to_string()));
    }

    #[test]
    fn unequal_line_counts_are_refused_with_both_counts() {
        let error = pairs("1\n2\n3\n4\n", "1\n2\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "a.fr has 4 lines, b.en has 2: parallel files must have the same number of lines"
        );
        let error = pairs("1\n", "1\n2\n3\n").unwrap_err();
        assert!(error.to_string().starts_with("a.fr has 1 lines, b.en has 3"), "{error}");
        assert_eq!(pairs("", "").unwrap_err().to_string(), "a.fr, b.en: no pairs found");
    }
}
