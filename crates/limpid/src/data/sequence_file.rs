//! Tokenized sequences in files: examples are tokenized once and memory-mapped afterwards, so that
//! a dataset may be larger than memory. Only the start of each sequence is held in memory, eight
//! bytes per sequence.
//!
//! Two files in the format of [`super::tokens`]: `NAME.tokens` has the ids of all sequences,
//! concatenated; `NAME.lengths` has three counts (examples read, duplicates, empty ones) and then
//! the length of each sequence.
//!
//! ```
//! use limpid::data::sequence_file::{Recipe, SequenceFile};
//! use limpid::text::{each_line, word_tokenizer};
//!
//! let folder = std::env::temp_dir().join("limpid-doc-sequences");
//! std::fs::create_dir_all(&folder).unwrap();
//! let files = [folder.join("lines.txt")];
//! std::fs::write(&files[0], "a cat\na dog sat\n").unwrap();
//! let tokenizer = word_tokenizer(["a cat", "a dog sat"])?;
//! let recipe = Recipe {
//!     files: &files,
//!     processing: "lines".into(),
//!     tokenizer: &tokenizer,
//!     id_limit: tokenizer.vocab_size(),
//!     clean: None,
//! };
//! let lines = || Ok(each_line(&files));
//! let tokenize = |line: &String| Ok(vec![tokenizer.encode(line)?]);
//! let sequences =
//!     SequenceFile::build(&folder.join("cache"), &recipe, lines, tokenize, &mut |_bytes| {})?;
//! assert_eq!((sequences.count(), sequences.len_of(1)), (2, 3));
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), limpid::error::Error>(())
//! ```

use super::clean::{Cleaner, Cleaning, Duplicates};
use super::labelled::Example;
use super::token_writer::{Key, TokenWriter};
use super::tokens::TokenFile;
use crate::error::{DataError, Result};
use crate::text::{BLOCK, Tokenizer, map_in_order};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The most examples that one thread tokenizes at a time; fewer if they are long.
const GROUP_SIZE: usize = 256;
/// Counts before the lengths.
const COUNTS: usize = 3;

/// Tokenized sequences in files.
#[derive(Debug)]
pub struct SequenceFile {
    ids: TokenFile,
    /// The start of each sequence, and the end of the last.
    starts: Vec<u64>,
    cleaning: Cleaning,
}

/// An example as text fields.
pub trait Record: Send + Sync {
    /// All fields: examples with equal fields are duplicates.
    fn fields(&self) -> Vec<&str>;
}

impl Record for String {
    fn fields(&self) -> Vec<&str> {
        vec![self]
    }
}

impl Record for (String, String) {
    fn fields(&self) -> Vec<&str> {
        vec![&self.0, &self.1]
    }
}

impl Record for Example {
    fn fields(&self) -> Vec<&str> {
        self.texts.iter().chain([&self.label]).map(String::as_str).collect()
    }
}

/// Everything that determines the sequences of a file; it is rebuilt when any of it changes.
pub struct Recipe<'a> {
    /// The files that records are read from, by content hash.
    pub files: &'a [PathBuf],
    /// A description of the processing; anything else that changes the sequences belongs here.
    pub processing: String,
    /// The tokenizer.
    pub tokenizer: &'a Tokenizer,
    /// All ids in the sequences are below this.
    pub id_limit: usize,
    /// Leave out records with a blank field and treat duplicates so; `None` keeps all records.
    pub clean: Option<Duplicates>,
}

impl SequenceFile {
    /// The sequences of all records: from the cache files `path`.tokens and `path`.lengths if these
    /// are up to date, else tokenized into them by all threads. `progress` gets the bytes of text
    /// processed so far.
    /// # Errors
    /// If a file cannot be read or written, a record or its tokenization fails, or an existing
    /// cache is damaged.
    pub fn build<R: Record, I: Iterator<Item = Result<R>>>(
        path: &Path,
        recipe: &Recipe,
        records: impl FnOnce() -> Result<I>,
        sequences: impl Fn(&R) -> Result<Vec<Vec<u32>>> + Sync,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let processing = format!("{}; cleaned: {:?}", recipe.processing, recipe.clean);
        let key = Key::new(recipe.tokenizer, recipe.files, &processing, recipe.id_limit)?;
        let (ids_path, lengths_path) =
            (path.with_extension("tokens"), path.with_extension("lengths"));
        let policy = recipe.clean.unwrap_or_default();
        let cached =
            (TokenFile::reuse(&ids_path, key)?, TokenFile::reuse(&lengths_path, key.wide())?);
        if let (Some(ids), Some(lengths)) = cached {
            return Self::new(ids, &lengths, policy, &lengths_path);
        }
        let mut cleaner = Cleaner::new(policy);
        let mut ids = TokenWriter::create(&ids_path, key)?;
        let (mut lengths, mut done) = (Vec::new(), 0);
        let kept = records()?.filter(|record| match (record, recipe.clean) {
            (Ok(record), Some(_)) => cleaner.keep(&record.fields()),
            _ => true,
        });
        map_in_order(
            Groups(kept),
            |group: &Vec<R>| group.iter().map(&sequences).collect::<Result<Vec<_>>>(),
            |tokenized, group| {
                for sequence in tokenized.into_iter().flatten() {
                    lengths.push(narrow(sequence.len(), "tokens of a text")?);
                    ids.put(&sequence)?;
                }
                done += group.iter().map(bytes).sum::<u64>();
                progress(done);
                Ok(())
            },
        )?;
        let found = cleaner.stats();
        narrow(lengths.len(), "sequences")?;
        let counts = [found.read, found.duplicates, found.empty];
        let counts = counts.into_iter().map(|count| narrow(count, "examples"));
        let counts = counts.collect::<Result<Vec<u32>>>()?;
        // The ids first: while lengths are missing or of another text, both are rebuilt.
        let ids = ids.finish()?;
        let mut writer = TokenWriter::create(&lengths_path, key.wide())?;
        writer.put(&counts)?;
        writer.put(&lengths)?;
        Self::new(ids, &writer.finish()?, policy, &lengths_path)
    }

    fn new(ids: TokenFile, lengths: &TokenFile, policy: Duplicates, path: &Path) -> Result<Self> {
        let damaged = || DataError::DamagedCache {
            path: path.to_path_buf(),
            reason: "the lengths do not match the .tokens file".into(),
        };
        let numbers = lengths.slice(0..lengths.len());
        let (counts, lengths) = numbers.split_at_checked(COUNTS).ok_or_else(damaged)?;
        let mut starts = Vec::with_capacity(lengths.len() + 1);
        starts.push(0);
        for length in lengths {
            starts.push(starts[starts.len() - 1] + u64::from(*length));
        }
        if starts[lengths.len()] != ids.len() as u64 {
            return Err(damaged().into());
        }
        let [read, duplicates, empty] = [0, 1, 2].map(|i| counts[i] as usize);
        let left_out = if policy == Duplicates::Drop { duplicates } else { 0 };
        let kept = read.saturating_sub(empty + left_out);
        let cleaning = Cleaning { read, duplicates, policy, empty, too_long: 0, kept };
        Ok(Self { ids, starts, cleaning })
    }

    /// The number of sequences.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The length of sequence `i`.
    /// # Panics
    /// If there is no sequence `i`.
    pub fn len_of(&self, i: usize) -> usize {
        (self.starts[i + 1] - self.starts[i]) as usize
    }

    /// Sequence `i`.
    /// # Panics
    /// If there is no sequence `i`.
    pub fn get(&self, i: usize) -> Vec<u32> {
        self.ids.slice(self.starts[i] as usize..self.starts[i + 1] as usize)
    }

    /// A part of sequence `i`.
    /// # Panics
    /// If the range reaches beyond its end.
    #[track_caller]
    pub fn part(&self, i: usize, part: Range<usize>) -> Vec<u32> {
        assert!(part.end <= self.len_of(i), "{part:?} of a sequence of {}", self.len_of(i));
        let start = self.starts[i] as usize;
        self.ids.slice(start + part.start..start + part.end)
    }

    /// Counts of what cleaning left out.
    pub fn cleaning(&self) -> Cleaning {
        self.cleaning
    }
}

/// The records with these indices (ascending) among those that remain after cleaning. Reads no
/// further than the last.
pub fn select_cleaned<R: Record>(
    records: impl Iterator<Item = Result<R>>,
    policy: Duplicates,
    which: &[usize],
) -> impl Iterator<Item = Result<R>> {
    let mut cleaner = Cleaner::new(policy);
    let kept = records.filter(move |record| {
        record.as_ref().map_or(true, |record| cleaner.keep(&record.fields()))
    });
    kept.take(which.last().map_or(0, |last| last + 1))
        .enumerate()
        .filter(|(i, record)| record.is_err() || which.binary_search(i).is_ok())
        .map(|(_, record)| record)
}

/// Counts in a cache are 32-bit.
fn narrow(count: usize, what: &'static str) -> Result<u32> {
    u32::try_from(count).map_err(|_| DataError::CacheLimit { count, what, limit: u32::MAX }.into())
}

fn bytes(record: &impl Record) -> u64 {
    record.fields().iter().map(|field| field.len() as u64 + 1).sum()
}

/// Records in groups large enough to occupy a thread.
struct Groups<I>(I);

impl<R: Record, I: Iterator<Item = Result<R>>> Iterator for Groups<I> {
    type Item = Result<Vec<R>>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut group, mut size) = (Vec::new(), 0);
        while group.len() < GROUP_SIZE && size < BLOCK as u64 {
            match self.0.next() {
                None => break,
                Some(Err(error)) => return Some(Err(error)),
                Some(Ok(record)) => {
                    size += bytes(&record);
                    group.push(record);
                }
            }
        }
        (!group.is_empty()).then_some(Ok(group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::text::TokenizerKind;
    use crate::text::train::{TokenizerSpec, train};
    use std::fs;

    fn tokenizer() -> Tokenizer {
        train(&TokenizerSpec::new(TokenizerKind::Byte), []).unwrap().tokenizer
    }

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("limpid-sequences-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Builds from `records` in a folder; returns the file and how many records were read.
    fn build(
        folder: &Path,
        records: &[(&str, &str)],
        clean: Option<Duplicates>,
    ) -> (Result<SequenceFile>, usize) {
        let (tokenizer, source) = (tokenizer(), folder.join("source"));
        fs::write(&source, format!("{records:?}")).unwrap();
        let (id_limit, read) = (tokenizer.vocab_size(), std::cell::Cell::new(0));
        let recipe = Recipe {
            files: &[source],
            processing: "pairs".into(),
            tokenizer: &tokenizer,
            id_limit,
            clean,
        };
        let all = || {
            let count = |(a, b): &(&str, &str)| {
                read.set(read.get() + 1);
                Ok((a.to_string(), b.to_string()))
            };
            Ok(records.iter().map(count))
        };
        let tokenize =
            |(a, b): &(String, String)| Ok(vec![tokenizer.encode(a)?, tokenizer.encode(b)?]);
        (
            SequenceFile::build(&folder.join("train"), &recipe, all, tokenize, &mut |_| {}),
            read.get(),
        )
    }

    #[test]
    fn sequences_are_in_order_with_counts_of_what_was_left_out_and_tokenized_once() {
        let folder = folder("order");
        let long = "x".repeat(70_000);
        let mut records = vec![("a", "bc"), ("", "q"), ("a", "bc"), (&long, "d")];
        let many: Vec<String> = (0..2_000).map(|i| format!("number {i}")).collect();
        records.extend(many.iter().map(|text| (text.as_str(), "n")));
        let (file, asked) = build(&folder, &records, Some(Duplicates::Drop));
        let file = file.unwrap();
        assert_eq!((asked, file.count()), (2_004, 2 * 2_002));
        let text = |i| tokenizer().decode(&file.get(i)).unwrap();
        assert_eq!(
            [text(0), text(1), text(3), text(4)],
            ["a", "bc", "d", "number 0"].map(String::from)
        );
        assert_eq!((file.len_of(2), text(2)), (70_000, long.clone()));
        assert_eq!(file.part(4, 2..5), file.get(4)[2..5]);
        assert_eq!(text(2 * 2_001), "number 1999");
        let found = file.cleaning();
        assert_eq!((found.read, found.duplicates, found.empty, found.kept), (2_004, 1, 1, 2_002));
        // Indices count the records that remain.
        let all = records.iter().map(|(a, b)| Ok((a.to_string(), b.to_string())));
        let some: Vec<_> =
            select_cleaned(all, Duplicates::Drop, &[0, 2]).collect::<Result<_>>().unwrap();
        assert_eq!(
            some,
            [("a", "bc"), ("number 0", "n")].map(|(a, b)| (a.to_string(), b.to_string()))
        );
        let broken = [Err(Error::Interrupted), Ok(("a".to_string(), "b".to_string()))];
        assert!(
            select_cleaned(broken.into_iter(), Duplicates::Keep, &[1])
                .any(|record| record.is_err())
        );
        // The second time only the cache is read.
        let (again, asked) = build(&folder, &records, Some(Duplicates::Drop));
        assert_eq!((asked, again.unwrap().cleaning()), (0, found));
        // Other cleaning means other content, and so does another text.
        let (kept, asked) = build(&folder, &records, None);
        assert_eq!((asked, kept.unwrap().count()), (2_004, 2 * 2_004));
        assert_eq!(build(&folder, &records[..3], None).0.unwrap().count(), 6);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_crash_between_the_two_files_is_repaired_and_damage_is_refused() {
        let folder = folder("crash");
        let (before, after): (&[_], &[_]) = (&[("a", "bc"), ("d", "e")], &[("a", "b")]);
        let lengths = folder.join("train.lengths");
        build(&folder, before, None).0.unwrap();
        let old = fs::read(&lengths).unwrap();
        build(&folder, after, None).0.unwrap();
        // The new ids beside the old lengths, or beside none.
        fs::write(&lengths, &old).unwrap();
        let (made, asked) = build(&folder, after, None);
        assert_eq!((made.unwrap().count(), asked), (2, 1));
        fs::remove_file(&lengths).unwrap();
        assert_eq!(build(&folder, after, None).1, 1);
        let mut damaged = fs::read(&lengths).unwrap();
        *damaged.last_mut().unwrap() ^= 1;
        fs::write(&lengths, damaged).unwrap();
        assert!(build(&folder, after, None).0.unwrap_err().to_string().contains("damaged"));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn an_error_among_the_records_leaves_nothing_behind() {
        let folder = folder("error");
        let (tokenizer, source) = (tokenizer(), folder.join("source"));
        fs::write(&source, "x").unwrap();
        let recipe = Recipe {
            files: &[source],
            processing: String::new(),
            tokenizer: &tokenizer,
            id_limit: 300,
            clean: None,
        };
        let records = || {
            Ok((0..1_000)
                .map(|i| if i == 700 { Err(Error::Interrupted) } else { Ok(i.to_string()) }))
        };
        let tokenize = |text: &String| Ok(vec![tokenizer.encode(text)?]);
        let built =
            SequenceFile::build(&folder.join("train"), &recipe, records, tokenize, &mut |_| {});
        assert!(matches!(built.unwrap_err(), Error::Interrupted));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
