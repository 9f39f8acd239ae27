//! Sentence pairs for translation: two files whose lines belong together, or two columns of one.

use super::table::{Column, Header, TableFormat, read_columns};
use crate::error::{Error, Result};
use crate::text::Text;
use std::path::Path;

/// Line n of one file with line n of the other.
pub fn read_parallel(source: &Path, target: &Path) -> Result<Vec<(String, String)>> {
    parallel(Text::open(source)?, Text::open(target)?)
}

/// The same, from texts that are open already.
pub fn parallel(source: Text, target: Text) -> Result<Vec<(String, String)>> {
    let (mut source, mut target) = (source.lines(), target.lines());
    let mut pairs = Vec::new();
    loop {
        match (source.next().transpose()?, target.next().transpose()?) {
            (Some(source), Some(target)) => pairs.push((source, target)),
            (None, None) => break,
            (a, b) => {
                // To the ends, so that the error can say how many lines each has.
                let count = |lines: &mut crate::text::Lines| -> Result<usize> {
                    for line in lines.by_ref() {
                        line?;
                    }
                    Ok(lines.number())
                };
                debug_assert!(a.is_some() != b.is_some());
                let (in_source, in_target) = (count(&mut source)?, count(&mut target)?);
                return Err(Error::data(format!(
                    "{} has {in_source} lines, {} has {in_target}: they cannot be translations line by line",
                    source.path().display(),
                    target.path().display()
                ))
                .hint("line n of one file must translate line n of the other; look for a line that is missing or broken in two"));
            }
        }
    }
    if pairs.is_empty() {
        return Err(Error::data(format!(
            "{} and {} are empty",
            source.path().display(),
            target.path().display()
        ))
        .hint("are they the right files?"));
    }
    Ok(pairs)
}

/// Two columns of a TSV, CSV or JSON Lines file.
pub fn read_pair_table(
    path: &Path,
    header: Header,
    source: &Column,
    target: &Column,
) -> Result<Vec<(String, String)>> {
    let rows = read_columns(path, TableFormat::of(path)?, header, &[source.clone(), target.clone()])?;
    if rows.is_empty() {
        return Err(Error::format(path, "there are no pairs in it").hint("is it the right file?"));
    }
    let pair = |fields: Vec<String>| {
        let [source, target] = fields.try_into().expect("two were asked for");
        (source, target)
    };
    Ok(rows.into_iter().map(|row| pair(row.fields)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, text: &str) -> Text {
        Text::from_reader(Path::new(name), std::io::Cursor::new(text.to_string()))
    }

    #[test]
    fn lines_are_paired_in_order_and_empty_ones_keep_their_place() {
        let pairs = parallel(text("a", "un\n\ntrois\n"), text("b", "one\ntwo\nthree")).unwrap();
        assert_eq!(pairs[1], (String::new(), "two".to_string()));
        assert_eq!(pairs[2], ("trois".to_string(), "three".to_string()));
    }

    #[test]
    fn unequal_line_counts_are_refused_with_both_counts() {
        let error = parallel(text("a.fr", "1\n2\n3\n4\n"), text("b.en", "1\n2\n")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a.fr has 4 lines, b.en has 2: they cannot be translations line by line"
        );
        let error = parallel(text("a.fr", "1\n"), text("b.en", "1\n2\n3\n")).unwrap_err();
        assert!(error.to_string().starts_with("a.fr has 1 lines, b.en has 3"), "{error}");
        assert!(parallel(text("a.fr", ""), text("b.en", "")).unwrap_err().to_string().contains("empty"));
    }
}
