//! Many sequences of token ids in files: examples are tokenized once, mapped into memory afterwards, so that there may be more of them than
//! memory holds. What stays in memory is where each begins, eight bytes a sequence.
//!
//! Two files in the format of [`super::tokens`]: `NAME.tokens` has the ids of all sequences one after another, `NAME.lengths` three numbers
//! (examples that were read, duplicates, empty ones) and then how long each sequence is.

use super::clean::{Cleaner, Cleaning, Duplicates};
use super::labelled::Example;
use super::token_writer::{Key, TokenWriter};
use super::tokens::TokenFile;
use crate::error::{Error, Result};
use crate::text::{BLOCK, Tokenizer, in_order};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Examples that one thread cuts at a time, at most; fewer if they are long.
const AT_A_TIME: usize = 256;
/// Numbers before the lengths.
const COUNTS: usize = 3;

/// Sequences in files.
#[derive(Debug)]
pub struct SequenceFile {
    ids: TokenFile,
    /// Where each sequence begins, and the end of the last.
    starts: Vec<u64>,
    cleaning: Cleaning,
}

/// What an example is, as text.
pub trait Record: Send + Sync {
    /// All that makes it what it is.
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
        Example::fields(self)
    }
}

/// What sequences follow from.
pub struct Recipe<'a> {
    /// The files that records are read from.
    pub files: &'a [PathBuf],
    /// How they are read and what becomes of them, in words: whatever changes the sequences is named here.
    pub how: String,
    /// What cuts them.
    pub tokenizer: &'a Tokenizer,
    /// Numbers in sequences are below this.
    pub ids: usize,
    /// Whether records with an empty field are left out, and what becomes of duplicates; `None` keeps all as they are.
    pub clean: Option<Duplicates>,
}

impl SequenceFile {
    /// The sequences of all records, from the files `path`.tokens and `path`.lengths if they hold them already, else tokenized into them by
    /// all threads. `progress` is told how many bytes of text are done.
    pub fn build<R: Record, I: Iterator<Item = Result<R>>>(
        path: &Path,
        recipe: &Recipe,
        records: impl FnOnce() -> Result<I>,
        sequences: impl Fn(&R) -> Result<Vec<Vec<u32>>> + Sync,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let how = format!("{}; cleaned: {:?}", recipe.how, recipe.clean);
        let key = Key::new(recipe.tokenizer, recipe.files, &how, recipe.ids)?;
        let (ids_path, lengths_path) = (path.with_extension("tokens"), path.with_extension("lengths"));
        let policy = recipe.clean.unwrap_or_default();
        let there = (TokenFile::reuse(&ids_path, key)?, TokenFile::reuse(&lengths_path, key.wide())?);
        if let (Some(ids), Some(lengths)) = there {
            return Self::new(ids, &lengths, policy, &lengths_path);
        }
        let mut cleaner = Cleaner::new(policy);
        let mut ids = TokenWriter::create(&ids_path, key)?;
        let (mut lengths, mut done) = (Vec::new(), 0);
        let kept = records()?.filter(|record| match (record, recipe.clean) {
            (Ok(record), Some(_)) => cleaner.keeps(&record.fields()),
            _ => true,
        });
        in_order(
            Groups(kept),
            |group: &Vec<R>| group.iter().map(&sequences).collect::<Result<Vec<_>>>(),
            |cut, group| {
                for sequence in cut.into_iter().flatten() {
                    lengths.push(narrow(sequence.len(), "tokens of a text")?);
                    ids.put(&sequence)?;
                }
                done += group.iter().map(bytes).sum::<u64>();
                progress(done);
                Ok(())
            },
        )?;
        let found = cleaner.found();
        narrow(lengths.len(), "sequences")?;
        let counts = [found.read, found.duplicates, found.empty];
        let counts =
            counts.into_iter().map(|count| narrow(count, "examples")).collect::<Result<Vec<u32>>>()?;
        // The ids first: while lengths are missing or another text's, both are made again.
        let ids = ids.finish()?;
        let mut writer = TokenWriter::create(&lengths_path, key.wide())?;
        writer.put(&counts)?;
        writer.put(&lengths)?;
        Self::new(ids, &writer.finish()?, policy, &lengths_path)
    }

    fn new(ids: TokenFile, lengths: &TokenFile, policy: Duplicates, path: &Path) -> Result<Self> {
        let damaged = || {
            Error::format(path, "it does not belong to the tokens beside it")
                .hint("remove the file; it is made anew from the text")
        };
        let numbers = lengths.slice(0..lengths.len());
        let (counts, lengths) = numbers.split_at_checked(COUNTS).ok_or_else(damaged)?;
        let mut starts = Vec::with_capacity(lengths.len() + 1);
        starts.push(0);
        for length in lengths {
            starts.push(starts[starts.len() - 1] + u64::from(*length));
        }
        if starts[lengths.len()] != ids.len() as u64 {
            return Err(damaged());
        }
        let [read, duplicates, empty] = [0, 1, 2].map(|i| counts[i] as usize);
        let left_out = if policy == Duplicates::Drop { duplicates } else { 0 };
        let kept = read.saturating_sub(empty + left_out);
        let cleaning = Cleaning { read, duplicates, policy, empty, too_long: 0, kept };
        Ok(Self { ids, starts, cleaning })
    }

    /// How many sequences there are.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many ids sequence `i` has.
    pub fn len_of(&self, i: usize) -> usize {
        (self.starts[i + 1] - self.starts[i]) as usize
    }

    /// Sequence `i`.
    pub fn get(&self, i: usize) -> Vec<u32> {
        self.ids.slice(self.starts[i] as usize..self.starts[i + 1] as usize)
    }

    /// A part of sequence `i`.
    ///
    /// # Panics
    /// If it has not so many.
    #[track_caller]
    pub fn part(&self, i: usize, part: Range<usize>) -> Vec<u32> {
        assert!(part.end <= self.len_of(i), "{part:?} of a sequence of {}", self.len_of(i));
        let start = self.starts[i] as usize;
        self.ids.slice(start + part.start..start + part.end)
    }

    /// What was left out, unless nothing was to be.
    pub fn cleaning(&self) -> Cleaning {
        self.cleaning
    }
}

/// Some of the records that stay when they are cleaned (their numbers ascend), as they are written. Nothing is read behind the last of them.
pub fn pick<R: Record>(
    records: impl Iterator<Item = Result<R>>,
    policy: Duplicates,
    which: &[usize],
) -> impl Iterator<Item = Result<R>> {
    let mut cleaner = Cleaner::new(policy);
    let kept =
        records.filter(move |record| record.as_ref().map_or(true, |record| cleaner.keeps(&record.fields())));
    kept.take(which.last().map_or(0, |last| last + 1))
        .enumerate()
        .filter(|(i, record)| record.is_err() || which.binary_search(i).is_ok())
        .map(|(_, record)| record)
}

/// Numbers of four bytes count everything here.
fn narrow(count: usize, what: &str) -> Result<u32> {
    u32::try_from(count).map_err(|_| {
        Error::data(format!("{count} {what} are more than the {} that a cache of tokens holds", u32::MAX))
            .hint("give the corpus in parts")
    })
}

fn bytes(record: &impl Record) -> u64 {
    record.fields().iter().map(|field| field.len() as u64 + 1).sum()
}

/// Records in groups that are worth a thread's while, and no larger.
struct Groups<I>(I);

impl<R: Record, I: Iterator<Item = Result<R>>> Iterator for Groups<I> {
    type Item = Result<Vec<R>>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut group, mut size) = (Vec::new(), 0);
        while group.len() < AT_A_TIME && size < BLOCK as u64 {
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
    use crate::text::TokenizerKind;
    use crate::text::train::{TokenizerSpec, train};
    use std::fs;

    fn tokenizer() -> Tokenizer {
        train(&TokenizerSpec::new(TokenizerKind::Byte), []).unwrap().tokenizer
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("limpid-sequences-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Builds from `records` in a folder; gives the file and how many records were asked for.
    fn build(
        folder: &Path,
        records: &[(&str, &str)],
        clean: Option<Duplicates>,
    ) -> (Result<SequenceFile>, usize) {
        let (tokenizer, source) = (tokenizer(), folder.join("source"));
        fs::write(&source, format!("{records:?}")).unwrap();
        let (ids, asked) = (tokenizer.vocab_size(), std::cell::Cell::new(0));
        let recipe = Recipe { files: &[source], how: "pairs".into(), tokenizer: &tokenizer, ids, clean };
        let all = || {
            let count = |(a, b): &(&str, &str)| {
                asked.set(asked.get() + 1);
                Ok((a.to_string(), b.to_string()))
            };
            Ok(records.iter().map(count))
        };
        let cut = |(a, b): &(String, String)| Ok(vec![tokenizer.encode(a)?, tokenizer.encode(b)?]);
        (SequenceFile::build(&folder.join("train"), &recipe, all, cut, &mut |_| {}), asked.get())
    }

    #[test]
    fn sequences_come_back_in_order_with_what_was_left_out_and_are_cut_once() {
        let folder = folder("order");
        let long = "x".repeat(70_000);
        let mut records = vec![("a", "bc"), ("", "q"), ("a", "bc"), (&long, "d")];
        let many: Vec<String> = (0..2_000).map(|i| format!("number {i}")).collect();
        records.extend(many.iter().map(|text| (text.as_str(), "n")));
        let (file, asked) = build(&folder, &records, Some(Duplicates::Drop));
        let file = file.unwrap();
        assert_eq!((asked, file.count()), (2_004, 2 * 2_002));
        let text = |i| tokenizer().decode(&file.get(i)).unwrap();
        assert_eq!([text(0), text(1), text(3), text(4)], ["a", "bc", "d", "number 0"].map(String::from));
        assert_eq!((file.len_of(2), text(2)), (70_000, long.clone()));
        assert_eq!(file.part(4, 2..5), file.get(4)[2..5]);
        assert_eq!(text(2 * 2_001), "number 1999");
        let found = file.cleaning();
        assert_eq!((found.read, found.duplicates, found.empty, found.kept), (2_004, 1, 1, 2_002));
        // Numbers are those of what stayed.
        let all = records.iter().map(|(a, b)| Ok((a.to_string(), b.to_string())));
        let some: Vec<_> = pick(all, Duplicates::Drop, &[0, 2]).collect::<Result<_>>().unwrap();
        assert_eq!(some, [("a", "bc"), ("number 0", "n")].map(|(a, b)| (a.to_string(), b.to_string())));
        let broken = [Err(Error::data("no")), Ok(("a".to_string(), "b".to_string()))];
        assert!(pick(broken.into_iter(), Duplicates::Keep, &[1]).any(|record| record.is_err()));
        // The second time nothing is read but the files.
        let (again, asked) = build(&folder, &records, Some(Duplicates::Drop));
        assert_eq!((asked, again.unwrap().cleaning()), (0, found));
        // Another way of cleaning is another content, and so is another text.
        let (kept, asked) = build(&folder, &records, None);
        assert_eq!((asked, kept.unwrap().count()), (2_004, 2 * 2_004));
        assert_eq!(build(&folder, &records[..3], None).0.unwrap().count(), 6);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_crash_between_the_two_files_is_made_good_and_damage_is_refused() {
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
        let recipe =
            Recipe { files: &[source], how: String::new(), tokenizer: &tokenizer, ids: 300, clean: None };
        let records =
            || Ok((0..1_000).map(|i| if i == 700 { Err(Error::data("no")) } else { Ok(i.to_string()) }));
        let cut = |text: &String| Ok(vec![tokenizer.encode(text)?]);
        let built = SequenceFile::build(&folder.join("train"), &recipe, records, cut, &mut |_| {});
        assert_eq!(built.unwrap_err().to_string(), "no");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
