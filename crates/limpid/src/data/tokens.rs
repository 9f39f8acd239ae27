//! A corpus as token ids in a file: tokenized once, mapped into memory afterwards, so that it may be larger than memory.
//!
//! ```text
//! bytes   0  "LIMPIDTK"                    24  hash of how the text is read, and of its files
//!         8  version, 1 (u32)              32  number of ids (u64)
//!        12  bytes of an id, 2 or 4 (u32)  40  hash of the ids
//!        16  hash of the tokenizer         48  hash of bytes 0..48, then zeros up to 64, then the ids; all little-endian
//! ```
//!
//! The text is read in blocks, tokenized by all threads, and written in order; only some blocks are held at a time. Where blocks end does not
//! change the tokens ([`crate::text::Blocks`]).

use super::token_writer::{HEADER, Header, Key, TokenWriter};
use crate::error::{Error, Result};
use crate::hash::hash_file;
use crate::text::{Blocks, Text, Tokenizer, in_order};
use limpid_tensor::mapped::Mapped;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Token ids of a corpus, in a file.
#[derive(Debug)]
pub struct TokenFile {
    ids: Mapped,
    header: Header,
}

/// Whether the corpus had to be tokenized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is in the file already, from the same tokenizer and the same text.
    Reused,
    /// It was tokenized now: there was no file, or one of another tokenizer or text.
    Built,
}

impl TokenFile {
    /// The ids of `sources`, one file after another, each followed by `separator` if there is one: from the file `path` if it holds them already,
    /// else tokenized into it. `progress` is told how many bytes of text are done.
    pub fn build(
        path: &Path,
        tokenizer: &Tokenizer,
        sources: &[PathBuf],
        separator: Option<u32>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(Self, Origin)> {
        let how = separator.map_or("whole".to_string(), |id| format!("whole, {id} after each"));
        let key = Key::new(tokenizer, sources, &how, tokenizer.vocab_size())?;
        if let Some(there) = Self::reuse(path, key)? {
            return Ok((there, Origin::Reused));
        }
        let mut writer = TokenWriter::create(path, key)?;
        let mut done = 0;
        for source in sources {
            in_order(
                Blocks::new(Text::open(source)?),
                |block| tokenizer.encode(block),
                |ids, block| {
                    done += block.len() as u64;
                    progress(done);
                    writer.put(&ids)
                },
            )?;
            writer.put(separator.as_slice())?;
        }
        Ok((writer.finish()?, Origin::Built))
    }

    /// The file, if it is there and was made from the same.
    pub(super) fn reuse(path: &Path, key: Key) -> Result<Option<Self>> {
        if !path.exists() {
            return Ok(None);
        }
        let there = Self::open(path)?;
        Ok((there.header.key == key).then_some(there))
    }

    /// Opens a file of ids. All of it is read once, to be sure that it is undamaged.
    pub fn open(path: &Path) -> Result<Self> {
        let damaged = |what: &str| {
            Error::format(path, format!("a damaged cache of tokens: {what}"))
                .hint("remove the file; it is made anew from the text")
        };
        let ids = Mapped::open(path).map_err(|e| Error::io("read", path, &e))?;
        if ids.len() < HEADER {
            return Err(damaged(&format!("{} bytes are not even its beginning", ids.len())));
        }
        let header = Header::read(&ids.bytes(0..HEADER)).map_err(damaged)?;
        let size = usize::try_from(header.count).ok().and_then(|n| n.checked_mul(header.key.width.bytes()));
        if size.and_then(|size| size.checked_add(HEADER)) != Some(ids.len()) {
            return Err(damaged(&format!("{} ids do not fit into {} bytes", header.count, ids.len())));
        }
        if hash_file(path, HEADER as u64)?.1 != header.ids {
            return Err(damaged("its ids are not those that were written"));
        }
        Ok(Self { ids, header })
    }

    /// How many ids there are.
    pub fn len(&self) -> usize {
        self.header.count as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A copy of some ids.
    ///
    /// # Panics
    /// If the range reaches beyond the end.
    #[track_caller]
    pub fn slice(&self, range: Range<usize>) -> Vec<u32> {
        self.ids.numbers(HEADER, self.header.key.width, range)
    }

    /// What a language model reads at `position` and what it is to say: `context` ids and the one after them.
    ///
    /// # Panics
    /// If there are not so many from there on; [`TokenFile::windows`] says how many positions there are.
    #[track_caller]
    pub fn window(&self, position: usize, context: usize) -> Vec<u32> {
        self.slice(position..position + context + 1)
    }

    /// How many windows of `context` ids and the one after them there are, each a step of one id after the other.
    pub fn windows(&self, context: usize) -> Result<usize> {
        self.len().checked_sub(context).filter(|windows| *windows > 0).ok_or_else(|| {
            let longest = self.len().saturating_sub(1);
            Error::data(format!("the text has {} tokens: too few for a context of {context}", self.len()))
                .hint(match longest {
                    0 => "give more text".to_string(),
                    _ => format!("use a context of at most {longest}, or give more text"),
                })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::corpus::generate;
    use crate::text::TokenizerKind;
    use crate::text::train::{TokenizerSpec, train};
    use std::fs;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("limpid-tokens-{name}-{}", std::process::id()));
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
        let pairs = generate(3000, 2).train;
        let line = |(i, pair): (usize, &crate::data::corpus::Pair)| match i % 5 {
            0 => format!("{} {}\n", pair.english, pair.french),
            1 => format!("{}  \n\n\n", pair.french),
            2 => format!("\t{}\r\n", pair.english),
            _ => format!("{}\n", pair.french),
        };
        pairs.iter().enumerate().map(line).collect()
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
            let size = matches!(kind, TokenizerKind::Bpe | TokenizerKind::WordPiece | TokenizerKind::Unigram);
            let tokenizer = tokenizer(kind, size.then_some(400), &text);
            let path = folder.0.join(format!("{kind:?}.tokens"));
            let (file, _) = TokenFile::build(&path, &tokenizer, &source, None, &mut |_| {}).unwrap();
            assert_eq!(file.slice(0..file.len()), tokenizer.encode(&text).unwrap(), "{kind:?}");
        }
    }

    #[test]
    fn a_cache_is_reused_while_text_and_tokenizer_are_the_same_and_made_anew_when_they_are_not() {
        let folder = Folder::new("reuse");
        let bytes = tokenizer(TokenizerKind::Byte, None, "");
        let path = folder.0.join("cache");
        let sources = [folder.file("a.txt", "one\n"), folder.file("b.txt", "two\n")];
        let build = |tokenizer: &Tokenizer, separator| {
            let mut told = 0;
            let (file, origin) =
                TokenFile::build(&path, tokenizer, &sources, separator, &mut |done| told = done).unwrap();
            (file.slice(0..file.len()), origin, told)
        };
        let with_separator = [112, 111, 102, 11, 0, 117, 120, 112, 11, 0];
        assert_eq!(build(&bytes, Some(0)), (with_separator.to_vec(), Origin::Built, 8));
        assert_eq!(build(&bytes, Some(0)), (with_separator.to_vec(), Origin::Reused, 0));
        assert_eq!(build(&bytes, None).1, Origin::Built);
        // Another text of the same size and name.
        folder.file("b.txt", "tow\n");
        assert_eq!(build(&bytes, None).1, Origin::Built);
        assert_eq!(build(&tokenizer(TokenizerKind::Character, None, "onetw\n"), None).1, Origin::Built);
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
            assert!(
                error.to_string().contains("damaged") && error.hint_text().unwrap().contains("remove"),
                "{at}: {error}"
            );
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
    fn windows_are_steps_of_one_and_a_context_longer_than_the_text_is_refused() {
        let folder = Folder::new("windows");
        let bytes = tokenizer(TokenizerKind::Byte, None, "");
        let source = [folder.file("a.txt", "abcdef")];
        let (file, _) =
            TokenFile::build(&folder.0.join("cache"), &bytes, &source, None, &mut |_| {}).unwrap();
        assert_eq!(file.windows(4).unwrap(), 2);
        assert_eq!(file.window(1, 4), [99, 100, 101, 102, 103]);
        let error = file.windows(6).unwrap_err();
        assert_eq!(error.to_string(), "the text has 6 tokens: too few for a context of 6");
        assert_eq!(error.hint_text(), Some("use a context of at most 5, or give more text"));
        assert_eq!(file.windows(5).unwrap(), 1);
    }
}
