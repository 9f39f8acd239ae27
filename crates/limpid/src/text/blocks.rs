//! Texts larger than memory: read in blocks, processed by all threads, collected in order.
//!
//! Block boundaries must not change the tokens. A line end between two visible characters is a
//! safe boundary for every kind of tokenizer here: no token spans it, and it does not merge with
//! other whitespace. A block ends at the first one after [`BLOCK`] bytes; a text that has none for
//! a long time is divided at a line end, or between two characters.

use super::lines::{TextReader, decode_utf8};
use crate::error::{Error, Result};
use limpid_tensor::team;
use std::io::Read;
use std::sync::Mutex;

/// Bytes after which a block ends at the next safe boundary.
pub const BLOCK: usize = 1 << 16;
/// Bytes after which a block ends at any boundary.
const LONGEST: usize = 4 * BLOCK;

/// A text in blocks of about [`BLOCK`] bytes; concatenated they are the text, without its byte
/// order mark.
pub struct Blocks {
    text: TextReader,
    /// Bytes that were read and not yet returned.
    pending: Vec<u8>,
    /// The line in which `pending` begins.
    line: usize,
    begun: bool,
    ended: bool,
}

impl Blocks {
    /// The blocks of a text, from its beginning.
    pub fn new(text: TextReader) -> Self {
        Self { text, pending: Vec::new(), line: 1, begun: false, ended: false }
    }

    /// Reads until there are enough bytes to choose a boundary, however few each read returns.
    fn fill(&mut self) -> Result<()> {
        if !self.ended && self.pending.len() <= LONGEST {
            let wanted = (2 * LONGEST - self.pending.len()) as u64;
            let read = self.text.reader.by_ref().take(wanted).read_to_end(&mut self.pending);
            let read = read.map_err(|e| Error::io("read", &self.text.path, e))?;
            self.ended = (read as u64) < wanted;
        }
        if !self.begun {
            self.begun = true;
            if self.pending.starts_with("\u{feff}".as_bytes()) {
                self.pending.drain(..3);
            }
        }
        Ok(())
    }

    fn block(&mut self) -> Result<Option<String>> {
        self.fill()?;
        if self.pending.is_empty() {
            return Ok(None);
        }
        let rest = self.pending.split_off(block_len(&self.pending, self.ended));
        let block = std::mem::replace(&mut self.pending, rest);
        let lines = block.iter().filter(|byte| **byte == b'\n').count();
        let block = decode_utf8(&self.text.path, self.line, block)?;
        self.line += lines;
        Ok(Some(block))
    }
}

impl Iterator for Blocks {
    type Item = Result<String>;

    fn next(&mut self) -> Option<Result<String>> {
        let block = self.block().transpose();
        if matches!(block, Some(Err(_))) {
            // Nothing after an error.
            (self.ended, self.pending) = (true, Vec::new());
        }
        block
    }
}

/// How many bytes the next block takes.
fn block_len(bytes: &[u8], ended: bool) -> usize {
    if ended && bytes.len() <= BLOCK {
        return bytes.len();
    }
    let most = bytes.len().min(LONGEST);
    let ends = || (BLOCK..most).filter(|at| bytes[at - 1] == b'\n');
    if let Some(at) = ends().find(|at| visible_before(bytes, at - 1) && visible_after(bytes, *at)) {
        return at;
    }
    if ended && bytes.len() <= LONGEST {
        return bytes.len();
    }
    let between_characters = || (BLOCK..most).rev().find(|at| bytes[*at] & 0xC0 != 0x80);
    ends().next_back().or_else(between_characters).unwrap_or(most)
}

fn visible(c: char) -> bool {
    // U+FFFD stands for a character that is incomplete here.
    !c.is_whitespace() && !c.is_control() && !matches!(c, '\u{feff}' | '\u{200b}' | '\u{fffd}')
}

/// Whether the character that ends before byte `at` is visible.
fn visible_before(bytes: &[u8], at: usize) -> bool {
    String::from_utf8_lossy(&bytes[at.saturating_sub(4)..at])
        .chars()
        .next_back()
        .is_some_and(visible)
}

/// Whether the character that begins at byte `at` is visible.
fn visible_after(bytes: &[u8], at: usize) -> bool {
    let end = bytes.len().min(at + 4);
    String::from_utf8_lossy(&bytes[at..end]).chars().next().is_some_and(visible)
}

/// Applies `work` to each part with all threads and passes the results to `take` in the order of
/// the parts, each with its part. A few parts per thread are held in memory at a time.
/// # Errors
/// The first error of `parts`, `work` or `take`; nothing after it is passed on.
pub fn map_in_order<P: Send + Sync, T: Send>(
    parts: impl Iterator<Item = Result<P>>,
    work: impl Fn(&P) -> Result<T> + Sync,
    mut take: impl FnMut(T, P) -> Result<()>,
) -> Result<()> {
    let mut parts = parts.peekable();
    let at_a_time = 4 * team::threads();
    while parts.peek().is_some() {
        let mut failed = Ok(());
        let mut batch = Vec::with_capacity(at_a_time);
        for part in parts.by_ref().take(at_a_time) {
            match part {
                Ok(part) => batch.push(part),
                Err(error) => {
                    failed = Err(error);
                    break;
                }
            }
        }
        let results = in_parallel(batch.len(), |i| work(&batch[i]));
        for (part, result) in batch.into_iter().zip(results) {
            take(result?, part)?;
        }
        failed?;
    }
    Ok(())
}

/// The results of `work` on 0, 1, …, `count` − 1, computed by all threads.
pub(super) fn in_parallel<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let results: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    team::run(count, |i| *results[i].lock().expect("only this task has it") = Some(work(i)));
    let result = |cell: Mutex<Option<T>>| cell.into_inner().expect("no task panicked");
    results.into_iter().map(|cell| result(cell).expect("every task ran")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn blocks(bytes: Vec<u8>) -> Vec<Result<String>> {
        Blocks::new(TextReader::from_reader(Path::new("a.txt"), std::io::Cursor::new(bytes)))
            .collect()
    }

    /// Returns few bytes per read.
    struct Drops(std::io::Cursor<Vec<u8>>);

    impl Read for Drops {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let n = buffer.len().min(977);
            self.0.read(&mut buffer[..n])
        }
    }

    #[test]
    fn blocks_are_the_text_and_end_between_visible_characters_for_any_read_size() {
        let text: String = (0..40_000)
            .map(|i| if i % 5 == 0 { "\n  ".into() } else { format!("Zeile {i} — ж\n") })
            .collect();
        let whole: Vec<String> =
            blocks(text.clone().into_bytes()).into_iter().map(Result::unwrap).collect();
        assert!(whole.len() > 5);
        assert_eq!(whole.concat(), text);
        for (a, b) in whole.iter().zip(&whole[1..]) {
            assert!(a.len() >= BLOCK && a.len() < BLOCK + 100, "{}", a.len());
            assert!(
                a.ends_with("ж\n") && b.starts_with('Z'),
                "{:?} | {:?}",
                &a[a.len() - 9..],
                &b[..9]
            );
        }
        let drops = TextReader::from_reader(
            Path::new("a.txt"),
            Drops(std::io::Cursor::new(text.into_bytes())),
        );
        assert_eq!(Blocks::new(drops).map(Result::unwrap).collect::<Vec<_>>(), whole);
    }

    #[test]
    fn a_text_without_lines_is_divided_between_characters_and_no_block_is_larger_than_the_limit() {
        let text = "жö€x".repeat(200_000);
        let parts: Vec<String> =
            blocks(text.clone().into_bytes()).into_iter().map(Result::unwrap).collect();
        assert_eq!(parts.concat(), text);
        assert!(parts.len() > 3 && parts.iter().all(|part| part.len() <= LONGEST));
    }

    #[test]
    fn an_error_late_in_a_text_names_its_line_and_ends_the_blocks() {
        let mut bytes: Vec<u8> = "some words\n".repeat(30_000).into_bytes();
        bytes.extend(b"bad \xff here\nmore\n");
        let parts = blocks(bytes);
        assert_eq!(
            parts.last().unwrap().as_ref().unwrap_err().to_string(),
            "a.txt: line 30001 is not UTF-8 (byte 5)"
        );
        assert_eq!(parts.iter().filter(|part| part.is_err()).count(), 1);
    }

    #[test]
    fn results_come_in_the_order_of_the_blocks_and_an_error_ends_the_work() {
        let blocks = || (0..100).map(|i| Ok(i.to_string()));
        let mut seen = Vec::new();
        let collect = |text, _| {
            seen.push(text);
            Ok(())
        };
        map_in_order(blocks(), |text| Ok(text.clone()), collect).unwrap();
        assert_eq!(seen, (0..100).map(|i| i.to_string()).collect::<Vec<_>>());
        let mut taken = 0;
        let work = |text: &String| if text == "42" { Err(Error::Interrupted) } else { Ok(()) };
        let take = |(), _| {
            taken += 1;
            Ok(())
        };
        assert!(map_in_order(blocks(), work, take).is_err());
        assert_eq!(taken, 42);
    }
}
