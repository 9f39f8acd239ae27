//! Text files, read line by line; bytes that are not text are an error with file and line.

use crate::error::{DataError, Error, Result};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// An open text: its name, for errors, and its bytes.
pub struct TextReader {
    pub(super) path: PathBuf,
    pub(super) reader: Box<dyn BufRead + Send>,
}

impl TextReader {
    /// Opens a file.
    /// # Errors
    /// If it cannot be opened or is a folder.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io("read", path, e))?;
        if file.metadata().is_ok_and(|data| data.is_dir()) {
            return Err(DataError::NotAFile { path: path.to_path_buf() }.into());
        }
        Ok(Self::from_reader(path, file))
    }

    /// Reads from anything; `path` is what errors call it.
    pub fn from_reader(path: &Path, reader: impl Read + Send + 'static) -> Self {
        Self {
            path: path.to_path_buf(),
            reader: Box::new(BufReader::with_capacity(1 << 16, reader)),
        }
    }

    /// Its lines.
    pub fn lines(self) -> Lines {
        Lines { text: self, number: 0, failed: false }
    }
}

/// A text on one line: line ends become spaces, so that a file of generated texts has one line per
/// text.
pub fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// The lines of some files, one file after another. A file that cannot be opened yields an error in
/// place of its lines.
pub fn each_line(paths: &[PathBuf]) -> impl Iterator<Item = Result<String>> + '_ {
    paths.iter().flat_map(|path| -> Box<dyn Iterator<Item = Result<String>>> {
        match TextReader::open(path) {
            Ok(text) => Box::new(text.lines()),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    })
}

/// The lines of some files that are not blank.
/// # Errors
/// If a file cannot be read or is not text.
pub fn nonblank_lines(paths: &[PathBuf]) -> Result<Vec<String>> {
    each_line(paths).filter(|line| !is_blank(line)).collect()
}

/// Whether a line was read and is empty or whitespace.
pub fn is_blank(line: &Result<String>) -> bool {
    line.as_ref().is_ok_and(|line| line.trim().is_empty())
}

/// The total size of some files in bytes.
/// # Errors
/// If a file does not exist.
pub fn text_size(paths: &[PathBuf]) -> Result<u64> {
    let size = |path: &PathBuf| {
        std::fs::metadata(path).map_err(|e| Error::io("read", path, e)).map(|data| data.len())
    };
    paths.iter().map(size).sum()
}

/// The lines of a text without their line ends (LF or CR LF), nor a byte order mark before the
/// first.
pub struct Lines {
    text: TextReader,
    number: usize,
    failed: bool,
}

impl Lines {
    /// The number of the line that was given last, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The file, as errors call it.
    pub fn path(&self) -> &Path {
        &self.text.path
    }

    fn line(&mut self) -> Result<Option<String>> {
        let mut line = Vec::new();
        let read = self.text.reader.read_until(b'\n', &mut line);
        if read.map_err(|e| Error::io("read", &self.text.path, e))? == 0 {
            return Ok(None);
        }
        self.number += 1;
        let mut line = decode_utf8(&self.text.path, self.number, line)?;
        if line.ends_with('\n') {
            line.pop();
            if line.ends_with('\r') {
                line.pop();
            }
        }
        if self.number == 1 && line.starts_with('\u{feff}') {
            line.remove(0);
        }
        Ok(Some(line))
    }
}

impl Iterator for Lines {
    type Item = Result<String>;

    fn next(&mut self) -> Option<Result<String>> {
        if self.failed {
            return None;
        }
        let line = self.line().transpose();
        self.failed = matches!(line, Some(Err(_)));
        line
    }
}

/// The items of `next`, up to the end or the first error.
pub(crate) fn until_error<T>(
    mut next: impl FnMut() -> Result<Option<T>>,
) -> impl Iterator<Item = Result<T>> {
    let mut ended = false;
    std::iter::from_fn(move || {
        let item = if ended { None } else { next().transpose() };
        ended = !matches!(item, Some(Ok(_)));
        item
    })
}

/// Bytes as text; `first` is the number of their first line, for errors.
pub(crate) fn decode_utf8(path: &Path, first: usize, bytes: Vec<u8>) -> Result<String> {
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        let (line, _) = position(&bytes, at, first);
        return Err(DataError::ZeroByte { path: path.to_path_buf(), line }.into());
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let (line, byte) = position(e.as_bytes(), at, first);
        DataError::NotUtf8 { path: path.to_path_buf(), line, byte }.into()
    })
}

/// The line of a byte, and its column, both from 1.
fn position(bytes: &[u8], at: usize, first: usize) -> (usize, usize) {
    let before = &bytes[..at];
    let line = first + before.iter().filter(|byte| **byte == b'\n').count();
    let begin = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    (line, at - begin + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<String>> {
        TextReader::from_reader(Path::new("a.txt"), std::io::Cursor::new(bytes.to_vec()))
            .lines()
            .collect()
    }

    #[test]
    fn lines_lose_their_ends_and_the_byte_order_mark_and_nothing_else() {
        assert_eq!(read("\u{feff}a\r\n\n b \nc".as_bytes()).unwrap(), ["a", "", " b ", "c"]);
        assert!(read(b"").unwrap().is_empty());
        assert_eq!(read(b"a\n").unwrap(), ["a"]);
    }

    #[test]
    fn bytes_that_are_not_text_are_refused_with_file_line_and_byte() {
        let error = read(b"fine\nna\xefve\n").unwrap_err();
        assert_eq!(error.to_string(), "a.txt: line 2 is not UTF-8 (byte 3)");
        let error = read(b"fine\nfine\nPK\0\x03").unwrap_err();
        assert_eq!(error.to_string(), "a.txt: line 3 contains a zero byte: not a text file");
        assert!(TextReader::open(Path::new(".")).is_err());
    }
}
