//! Sentence pairs for translation: two files whose lines belong together, or two columns of one.

use super::table::{Column, Header, TableFormat, read_rows};
use crate::error::{Error, Result};
use crate::text::{Lines, Text};
use std::path::Path;

/// Pairs, one at a time: a corpus may be larger than memory.
pub type Pairs = Box<dyn Iterator<Item = Result<(String, String)>> + Send>;

/// Line n of one file with line n of the other, all of them.
pub fn read_parallel(source: &Path, target: &Path) -> Result<Vec<(String, String)>> {
    parallel(Text::open(source)?, Text::open(target)?).collect()
}

/// Line n of one text with line n of the other. Texts without lines, or of which one ends before the other, are errors in place of a pair.
pub fn parallel(source: Text, target: Text) -> Pairs {
    Box::new(Parallel { source: source.lines(), target: target.lines(), ended: false })
}

struct Parallel {
    source: Lines,
    target: Lines,
    ended: bool,
}

impl Parallel {
    fn pair(&mut self) -> Result<Option<(String, String)>> {
        let (source, target) = (&mut self.source, &mut self.target);
        match (source.next().transpose()?, target.next().transpose()?) {
            (Some(source), Some(target)) => Ok(Some((source, target))),
            (None, None) if source.number() == 0 => Err(Error::data(format!(
                "{} and {} are empty",
                source.path().display(),
                target.path().display()
            ))
            .hint("are they the right files?")),
            (None, None) => Ok(None),
            _ => {
                // To the ends, so that the error can say how many lines each has.
                let count = |lines: &mut Lines| -> Result<usize> {
                    for line in lines.by_ref() {
                        line?;
                    }
                    Ok(lines.number())
                };
                let (in_source, in_target) = (count(source)?, count(target)?);
                Err(Error::data(format!(
                    "{} has {in_source} lines, {} has {in_target}: they cannot be translations line by line",
                    source.path().display(),
                    target.path().display()
                ))
                .hint("line n of one file must translate line n of the other; look for a line that is missing or broken in two"))
            }
        }
    }
}

impl Iterator for Parallel {
    type Item = Result<(String, String)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let pair = self.pair().transpose();
        self.ended = !matches!(pair, Some(Ok(_)));
        pair
    }
}

/// Two columns of a TSV, CSV or JSON Lines file.
pub fn pair_table(
    path: &Path,
    (format, header): (TableFormat, Header),
    source: &Column,
    target: &Column,
) -> Result<Pairs> {
    let mut rows = read_rows(path, format, header, &[source.clone(), target.clone()])?.peekable();
    if rows.peek().is_none() {
        return Err(Error::format(path, "there are no pairs in it").hint("is it the right file?"));
    }
    Ok(Box::new(rows.map(|row| {
        let [source, target] = row?.fields.try_into().expect("two were asked for");
        Ok((source, target))
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, text: &str) -> Text {
        Text::from_reader(Path::new(name), std::io::Cursor::new(text.to_string()))
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
            "a.fr has 4 lines, b.en has 2: they cannot be translations line by line"
        );
        let error = pairs("1\n", "1\n2\n3\n").unwrap_err();
        assert!(error.to_string().starts_with("a.fr has 1 lines, b.en has 3"), "{error}");
        assert!(pairs("", "").unwrap_err().to_string().contains("empty"));
    }
}
