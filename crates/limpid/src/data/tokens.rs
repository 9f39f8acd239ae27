//! Token caches: a corpus as token ids in a file, tokenized once and memory-mapped afterwards, so
//! that it may be larger than memory.
//!
//! ```text
//! bytes   0  "LIMPIDTK"                    24  hash of the processing and of the files
//!         8  version, 1 (u32)              32  number of ids (u64)
//!        12  bytes of an id, 2 or 4 (u32)  40  hash of the ids
//!        16  hash of the tokenizer         48  hash of bytes 0..48, zeros up to 64, then the ids
//! ```
//!
//! All numbers are little-endian. The text is read in blocks, tokenized by all threads, and written
//! in order; block boundaries do not change the tokens ([`crate::text::Blocks`]).
//!
//! ```
//! use limpid::data::tokens::TokenFile;
//! use limpid::text::word_tokenizer;
//!
//! let folder = std::env::temp_dir();
//! let name = format!("limpid-doc-tokens-{}", std::process::id());
//! let (text, cache) = (folder.join(format!("{name}.txt")), folder.join(format!("{name}.tokens")));
//! std::fs::write(&text, "a cat sat").unwrap();
//! let tokenizer = word_tokenizer(["a cat sat"])?;
//! let tokens = TokenFile::build(&cache, &tokenizer, &[text.clone()], None, &mut |_bytes| {})?;
//! assert_eq!(tokens.slice(0..tokens.len()), tokenizer.encode("a cat sat")?);
//! # drop(tokens);
//! # [text, cache].map(|path| std::fs::remove_file(path).unwrap());
//! # Ok::<(), limpid::error::Error>(())
//! ```

use super::token_writer::{HEADER, Header, Key, TokenWriter};
use crate::error::{DataError, Error, Result};
use crate::hash::hash_file;
use crate::text::{Blocks, TextReader, Tokenizer, map_in_order};
use limpid_tensor::mapped::MappedFile;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The token ids of a corpus, in a memory-mapped file.
#[derive(Debug)]
pub struct TokenFile {
    ids: MappedFile,
    header: Header,
}

impl TokenFile {
    /// The ids of `sources`, concatenated, each followed by `separator` if there is one: from the
    /// cache file `path` if it is up to date, else tokenized into it. `progress` gets the bytes of
    /// text processed so far.
    /// # Errors
    /// If a file cannot be read or written, is not text, or an existing cache is damaged.
    pub fn build(
        path: &Path,
        tokenizer: &Tokenizer,
        sources: &[PathBuf],
        separator: Option<u32>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let processing =
            separator.map_or("whole".to_string(), |id| format!("whole, {id} after each"));
        let key = Key::new(tokenizer, sources, &processing, tokenizer.vocab_size())?;
        if let Some(cached) = Self::reuse(path, key)? {
            return Ok(cached);
        }
        let mut writer = TokenWriter::create(path, key)?;
        let mut done = 0;
        for source in sources {
            map_in_order(
                Blocks::new(TextReader::open(source)?),
                |block| tokenizer.encode(block),
                |ids, block| {
                    done += block.len() as u64;
                    progress(done);
                    writer.put(&ids)
                },
            )?;
            writer.put(separator.as_slice())?;
        }
        writer.finish()
    }

    /// The file, if it exists and its key matches.
    pub(super) fn reuse(path: &Path, key: Key) -> Result<Option<Self>> {
        if !path.exists() {
            return Ok(None);
        }
        let cached = Self::open(path)?;
        Ok((cached.header.key == key).then_some(cached))
    }

    /// Opens a token cache. All of it is read once, to check its hash.
    /// # Errors
    /// If it cannot be read, or [`DataError::DamagedCache`] if it is not what was written.
    pub fn open(path: &Path) -> Result<Self> {
        let damaged = |reason: &str| DataError::DamagedCache {
            path: path.to_path_buf(),
            reason: reason.to_string(),
        };
        let ids = MappedFile::open(path).map_err(|e| Error::io("read", path, e))?;
        if ids.len() < HEADER {
            let reason = format!("{} bytes are shorter than the header", ids.len());
            return Err(damaged(&reason).into());
        }
        let header = Header::read(&ids.bytes(0..HEADER)).map_err(damaged)?;
        let size = usize::try_from(header.count)
            .ok()
            .and_then(|n| n.checked_mul(header.key.width.bytes()));
        if size.and_then(|size| size.checked_add(HEADER)) != Some(ids.len()) {
            let reason = format!("{} ids do not match {} bytes", header.count, ids.len());
            return Err(damaged(&reason).into());
        }
        if hash_file(path, HEADER as u64)?.1 != header.ids {
            return Err(damaged("the hash of the ids does not match").into());
        }
        Ok(Self { ids, header })
    }

    /// The number of ids.
    pub fn len(&self) -> usize {
        self.header.count as usize
    }

    /// Whether there are no ids.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A copy of some ids.
    /// # Panics
    /// If the range reaches beyond the end.
    #[track_caller]
    pub fn slice(&self, range: Range<usize>) -> Vec<u32> {
        self.ids.numbers(HEADER, self.header.key.width, range)
    }

    /// The training window at `position`: `context` input ids and the one after them.
    /// # Panics
    /// If the window reaches beyond the end; [`TokenFile::windows`] gives the number of positions.
    #[track_caller]
    pub fn window(&self, position: usize, context: usize) -> Vec<u32> {
        self.slice(position..position + context + 1)
    }

    /// The number of windows of `context` + 1 ids, at every position.
    /// # Errors
    /// [`DataError::TextShorterThanContext`] if there is none.
    pub fn windows(&self, context: usize) -> Result<usize> {
        let windows = self.len().checked_sub(context).filter(|windows| *windows > 0);
        let too_short = DataError::TextShorterThanContext { tokens: self.len(), context };
        windows.ok_or_else(|| too_short.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_text::sentences;
    use crate::text::TokenizerKind;
    use crate::text::train::{TokenizerSpec, train};
    use std::fs;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder =
                std::env::temp_dir().join(format!("limpid-tokens-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }
        fn file(&self, name: &str, text: &str) -> PathBuf {
            fs::write(self.0.join(name), text).unwrap();
            self.0.join(name)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// Paragraphs with empty lines, indents and spaces at line ends, longer than several blocks.
    fn text() -> String {
        let line = |(i, sentence): (usize, String)| match i % 5 {
            0 => format!("{sentence} {sentence}\n"),
            1 => format!("{sentence}  \n\n\n"),
            2 => format!("\t{sentence}\r\n"),
            _ => format!("{sentence}\n"),
        };
        sentences(3000, 2).into_iter().enumerate().map(line).collect()
    }

    fn tokenizer(kind: TokenizerKind, vocab_size: Option<usize>, text: &str) -> Tokenizer {
        let spec = TokenizerSpec { vocab_size, ..TokenizerSpec::new(kind) };
        train(&spec, [Ok(text.to_string())]).unwrap().tokenizer
    }

    #[test]
    fn the_ids_of_a_file_are_those_of_the_whole_text_for_every_kind() {
        let folder = Folder::new("whole");
        let text = text();
        assert!(text.len() > 2 * crate::text::BLOCK, "{}", text.len());
        let source = [folder.file("a.txt", &text)];
        for kind in TokenizerKind::ALL {
            let size = matches!(
                kind,
                TokenizerKind::Bpe | TokenizerKind::WordPiece | TokenizerKind::Unigram
            );
            let tokenizer = tokenizer(kind, size.then_some(400), &text);
            let path = folder.0.join(format!("{kind:?}.tokens"));
            let file = TokenFile::build(&path, &tokenizer, &source, None, &mut |_| {}).unwrap();
            assert_eq!(file.slice(0..file.len()), tokenizer.encode(&text).unwrap(), "{kind:?}");
        }
    }

    #[test]
    fn a_cache_is_reused_for_the_same_text_and_tokenizer_and_rebuilt_otherwise() {
        let folder = Folder::new("reuse");
        let bytes = tokenizer(TokenizerKind::Byte, None, "");
        let path = folder.0.join("cache");
        let sources = [folder.file("a.txt", "one\n"), folder.file("b.txt", "two\n")];
        // A cache that is reused reports no progress.
        let build = |tokenizer: &Tokenizer, separator| {
            let mut told = 0;
            let file =
                TokenFile::build(&path, tokenizer, &sources, separator, &mut |done| told = done)
                    .unwrap();
            (file.slice(0..file.len()), told)
        };
        let with_separator = [112, 111, 102, 11, 0, 117, 120, 112, 11, 0];
        assert_eq!(build(&bytes, Some(0)), (with_separator.to_vec(), 8));
        assert_eq!(build(&bytes, Some(0)), (with_separator.to_vec(), 0));
        assert_eq!(build(&bytes, None).1, 8);
        // Another text of the same size and name.
        folder.file("b.txt", "tow\n");
        assert_eq!(build(&bytes, None).1, 8);
        assert_eq!(build(&tokenizer(TokenizerKind::Character, None, "onetw\n"), None).1, 8);
        // Nothing but the sources and the cache is left.
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 3);
    }

    #[test]
    fn a_damaged_cache_is_refused_wherever_the_damage_is_and_a_failed_build_leaves_nothing() {
        let folder = Folder::new("damage");
        let bytes = tokenizer(TokenizerKind::Byte, None, "");
        let path = folder.0.join("cache");
        let sources = [folder.file("a.txt", "some text\n")];
        TokenFile::build(&path, &bytes, &sources, None, &mut |_| {}).unwrap();
        let whole = fs::read(&path).unwrap();
        for at in (0..56).chain(HEADER..whole.len()) {
            let mut damaged = whole.clone();
            damaged[at] ^= 4;
            fs::write(&path, &damaged).unwrap();
            let error = TokenFile::build(&path, &bytes, &sources, None, &mut |_| {}).unwrap_err();
            assert!(error.to_string().contains("damaged token cache"), "{at}: {error}");
        }
        for len in [0, 1, HEADER - 1, HEADER, whole.len() - 1] {
            fs::write(&path, &whole[..len]).unwrap();
            assert!(TokenFile::open(&path).is_err(), "{len}");
        }
        fs::remove_file(&path).unwrap();
        fs::write(&sources[0], b"good\nb\xffd\n").unwrap();
        let error = TokenFile::build(&path, &bytes, &sources, None, &mut |_| {}).unwrap_err();
        assert!(error.to_string().ends_with("a.txt: line 2 is not UTF-8 (byte 2)"), "{error}");
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    }

    #[test]
    fn there_is_a_window_at_every_position_and_a_context_longer_than_the_text_is_refused() {
        let folder = Folder::new("windows");
        let bytes = tokenizer(TokenizerKind::Byte, None, "");
        let source = [folder.file("a.txt", "abcdef")];
        let file =
            TokenFile::build(&folder.0.join("cache"), &bytes, &source, None, &mut |_| {}).unwrap();
        assert_eq!(file.windows(4).unwrap(), 2);
        assert_eq!(file.window(1, 4), [99, 100, 101, 102, 103]);
        let error = file.windows(6).unwrap_err();
        assert_eq!(error.to_string(), "the text has 6 tokens, too few for a context of 6");
        assert_eq!(file.windows(5).unwrap(), 1);
    }
}
