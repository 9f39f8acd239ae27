//! Sentences whose words have labels: CoNLL columns, or JSON Lines with lists of words and labels.
//!
//! ```text
//! EU     B-ORG          {"words": ["EU", "rejects"], "labels": ["B-ORG", "O"]}
//! rejects O
//!                       an empty line ends a sentence
//! ```
//!
//! ```
//! use limpid::data::tagged::TaggedSpec;
//!
//! let file = std::env::temp_dir().join("limpid-doc-tagged.conll");
//! std::fs::write(&file, "Ann B-PER\nsleeps O\n\nBob B-PER\n").unwrap();
//! let files = [file.clone()];
//! let sentences: Vec<_> = TaggedSpec::default().sentences(&files).collect::<Result<_, _>>()?;
//! assert_eq!((sentences[0].text(), sentences[1].labels()), ("Ann sleeps", &["B-PER".into()][..]));
//! # std::fs::remove_file(&file).unwrap();
//! # Ok::<(), limpid::error::Error>(())
//! ```

use super::labelled::Location;
use super::sequence_file::Record;
use super::table::Column;
use crate::error::{ColumnError, DataError, Result, RowError};
use crate::text::{TextReader, is_blank};
use serde_json::{Map, Value};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How labelled words are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaggedFormat {
    /// A line per word: columns between tabs, or else between spaces. Empty lines end a sentence;
    /// lines that begin with `-DOCSTART-` are left out.
    Conll,
    /// An object per sentence, with a list of words and a list of labels.
    JsonLines,
}

impl TaggedFormat {
    /// Known by the extension: `.jsonl`, `.ndjson`; or `.conll`, `.bio`, `.iob`, `.iob2`, `.txt`,
    /// `.tsv`.
    /// # Errors
    /// [`DataError::AmbiguousFormat`] for any other.
    pub fn from_extension(path: &Path) -> Result<Self> {
        match path.extension().and_then(|end| end.to_str()) {
            Some("jsonl" | "ndjson") => Ok(Self::JsonLines),
            Some("conll" | "bio" | "iob" | "iob2" | "txt" | "tsv") => Ok(Self::Conll),
            _ => Err(DataError::AmbiguousFormat { path: path.to_path_buf() }.into()),
        }
    }
}

/// Which format and columns labelled words have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaggedSpec {
    /// By the extension of each file if `None`.
    pub format: Option<TaggedFormat>,
    /// The column of words: 1 unless set, `words` in JSON Lines.
    pub words: Option<Column>,
    /// The column of labels: the last unless set, `labels` in JSON Lines.
    pub labels: Option<Column>,
}

/// A sentence: its words joined by spaces, and the label of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    text: String,
    /// The bytes of the text that each word is.
    words: Vec<Range<usize>>,
    labels: Vec<String>,
    /// The labels in one text.
    joined: String,
    /// Where it begins.
    pub location: Location,
}

impl Sentence {
    /// # Panics
    /// If there is not one label per word.
    fn new(words: &[String], labels: Vec<String>, location: Location) -> Self {
        assert_eq!(words.len(), labels.len(), "one label per word");
        let (mut text, mut places) = (String::new(), Vec::with_capacity(words.len()));
        for word in words {
            if !text.is_empty() {
                text.push(' ');
            }
            places.push(text.len()..text.len() + word.len());
            text.push_str(word);
        }
        Self { text, words: places, joined: labels.join(" "), labels, location }
    }

    /// The words, joined by spaces.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The label of each word.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The words.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|place| &self.text[place.clone()])
    }

    /// The word that each token is the first of, given the bytes that tokens cover; `None` for
    /// further tokens of a word and tokens of spaces. A token belongs to the word with its last
    /// byte: many begin with the space before a word.
    pub fn first_tokens(&self, offsets: &[(usize, usize)]) -> Vec<Option<usize>> {
        let mut next = 0;
        let word = |(start, end): &(usize, usize)| {
            let last = end.checked_sub(1).filter(|_| start < end)?;
            let at = next + self.words[next..].iter().position(|place| place.contains(&last))?;
            next = at + 1;
            Some(at)
        };
        offsets.iter().map(word).collect()
    }
}

impl Record for Sentence {
    fn fields(&self) -> Vec<&str> {
        vec![&self.text, &self.joined]
    }
}

/// Sentences, or what is wrong with a file.
type Sentences = Box<dyn Iterator<Item = Result<Sentence>> + Send>;

impl TaggedSpec {
    /// The sentences of some files, one after another. A file that cannot be opened yields an error
    /// in place of its sentences.
    pub fn sentences<'a>(
        &'a self,
        paths: &'a [PathBuf],
    ) -> impl Iterator<Item = Result<Sentence>> + 'a {
        paths.iter().flat_map(move |path| {
            self.read(path).unwrap_or_else(|error| Box::new(std::iter::once(Err(error))))
        })
    }

    fn read(&self, path: &Path) -> Result<Sentences> {
        let (reader, file) = (TextReader::open(path)?, Arc::from(path));
        match self.format.map_or_else(|| TaggedFormat::from_extension(path), Ok)? {
            TaggedFormat::Conll => {
                let words = column_number(path, self.words.as_ref())?.unwrap_or(0);
                let labels = column_number(path, self.labels.as_ref())?;
                Ok(conll(reader, file, (words, labels)))
            }
            TaggedFormat::JsonLines => {
                let key = |column: &Option<Column>, default: &str| match column {
                    None => Ok(default.to_string()),
                    Some(Column::Name(name) | Column::List(name)) => Ok(name.clone()),
                    Some(Column::Number(_)) => {
                        let problem = RowError::NumberedKey;
                        Err(DataError::Row { path: path.to_path_buf(), line: 1, problem })
                    }
                };
                let keys = [key(&self.words, "words")?, key(&self.labels, "labels")?];
                Ok(json_lines(reader, file, keys))
            }
        }
    }
}

/// The index of a column that is given by its number.
fn column_number(path: &Path, column: Option<&Column>) -> Result<Option<usize>> {
    let problem = match column {
        None => return Ok(None),
        Some(Column::Number(number @ 1..)) => return Ok(Some(number - 1)),
        Some(Column::Number(_)) => ColumnError::Zero,
        Some(Column::Name(name) | Column::List(name)) => {
            ColumnError::NoHeader { name: name.clone() }
        }
    };
    Err(DataError::Column { path: path.to_path_buf(), problem }.into())
}

fn conll(reader: TextReader, file: Arc<Path>, columns: (usize, Option<usize>)) -> Sentences {
    let mut lines = reader.lines().enumerate();
    Box::new(std::iter::from_fn(move || {
        let (mut words, mut labels, mut first) = (Vec::new(), Vec::new(), 0);
        for (i, line) in lines.by_ref() {
            let line = match line {
                Ok(line) => line,
                Err(error) => return Some(Err(error)),
            };
            if line.trim().is_empty() {
                if words.is_empty() {
                    continue;
                }
                break;
            }
            if line.starts_with("-DOCSTART-") {
                continue;
            }
            if words.is_empty() {
                first = i as u64 + 1;
            }
            match word_and_label(&line, columns) {
                Ok((word, label)) => {
                    words.push(word);
                    labels.push(label);
                }
                Err(problem) => {
                    let (path, line) = (file.to_path_buf(), i as u64 + 1);
                    return Some(Err(DataError::Row { path, line, problem }.into()));
                }
            }
        }
        let location = Location { file: file.clone(), line: first };
        (!words.is_empty()).then(|| Ok(Sentence::new(&words, labels, location)))
    }))
}

fn word_and_label(
    line: &str,
    (word, label): (usize, Option<usize>),
) -> Result<(String, String), RowError> {
    let fields: Vec<&str> = match line.contains('\t') {
        true => line.trim_end().split('\t').collect(),
        false => line.split_whitespace().collect(),
    };
    let label = label.unwrap_or(fields.len().saturating_sub(1));
    let field = |column: usize| {
        let wanted = RowError::TooFewColumns { found: fields.len(), wanted: column + 1 };
        fields.get(column).map(|field| field.trim()).ok_or(wanted)
    };
    let (word, label) = (field(word)?, field(label.max(usize::from(fields.len() == 1)))?);
    match (word, label) {
        ("", _) => Err(RowError::EmptyWord { number: 1 }),
        (_, "") => Err(RowError::EmptyLabel { number: 1 }),
        _ => Ok((word.to_string(), label.to_string())),
    }
}

fn json_lines(reader: TextReader, file: Arc<Path>, keys: [String; 2]) -> Sentences {
    let lines = reader.lines().enumerate().filter(|(_, line)| !is_blank(line));
    Box::new(lines.map(move |(i, line)| {
        let (text, line) = (line?, i as u64 + 1);
        let bad = |problem| DataError::Row { path: file.to_path_buf(), line, problem };
        let [words, labels] = json_lists(&text, &keys).map_err(bad)?;
        let location = Location { file: file.clone(), line };
        Ok(Sentence::new(&words, labels, location))
    }))
}

fn json_lists(text: &str, [words, labels]: &[String; 2]) -> Result<[Vec<String>; 2], RowError> {
    let value: Value = serde_json::from_str(text).map_err(|e| RowError::NotJson(e.to_string()))?;
    let object = value.as_object().ok_or(RowError::NotAnObject)?;
    let (words, labels) = (json_list(object, words)?, json_list(object, labels)?);
    if words.len() != labels.len() {
        return Err(RowError::UnequalLists { words: words.len(), labels: labels.len() });
    }
    let empty = |list: &[String]| list.iter().position(|item| item.trim().is_empty());
    if let Some(i) = empty(&words) {
        return Err(RowError::EmptyWord { number: i + 1 });
    }
    match empty(&labels) {
        Some(i) => Err(RowError::EmptyLabel { number: i + 1 }),
        None => Ok([words, labels]),
    }
}

fn json_list(object: &Map<String, Value>, key: &str) -> Result<Vec<String>, RowError> {
    let item = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let Some(value) = object.get(key) else {
        let found = object.keys().take(8).cloned().collect();
        return Err(RowError::NoKey { key: key.into(), found });
    };
    let list = value.as_array().and_then(|all| all.iter().map(item).collect());
    list.ok_or_else(|| RowError::NotAList { key: key.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str, spec: &TaggedSpec) -> Result<Vec<Sentence>> {
        let name = format!("limpid-tagged-{}-{name}", std::process::id());
        let paths = [std::env::temp_dir().join(name)];
        std::fs::write(&paths[0], text).unwrap();
        let found = spec.sentences(&paths).collect();
        std::fs::remove_file(&paths[0]).unwrap();
        found
    }

    #[test]
    fn both_formats_give_the_same_sentences() {
        let conll = "-DOCSTART- -X- O O\n\nEU NNP I-NP B-ORG\nsays VBZ I-VP O\n\n\n. . O O\n";
        let json = "{\"words\": [\"EU\", \"says\"], \"labels\": [\"B-ORG\", \"O\"]}\n\
                    {\"labels\": [\"O\"], \"words\": [\".\"]}\n";
        let plain = TaggedSpec::default();
        for sentences in [read("a.conll", conll, &plain), read("a.jsonl", json, &plain)] {
            let found: Vec<(String, Vec<String>)> = sentences
                .unwrap()
                .iter()
                .map(|sentence| (sentence.text().into(), sentence.labels().to_vec()))
                .collect();
            let owned = |labels: &[&str]| labels.iter().map(|l| l.to_string()).collect::<Vec<_>>();
            let expected =
                [("EU says".to_string(), owned(&["B-ORG", "O"])), (".".into(), owned(&["O"]))];
            assert_eq!(found, expected);
        }
        let second = TaggedSpec { labels: Some(Column::Number(2)), ..plain };
        let tabs = read("b.tsv", "New York\tB-LOC\tx\n", &second).unwrap();
        assert_eq!(
            (tabs[0].words().collect::<Vec<_>>(), tabs[0].labels().len()),
            (vec!["New York"], 1)
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let plain = TaggedSpec::default();
        for (name, text, expected) in [
            ("a.conll", "a O\nb\n", "line 2: 1 columns, but column 2 was requested"),
            ("a.jsonl", "{\"words\": [\"a\"], \"labels\": []}", "line 1: 1 words and 0 labels"),
            ("b.jsonl", "{\"words\": [\" \"], \"labels\": [1]}", "line 1: word 1 is empty"),
            ("c.jsonl", "{\"words\": \"a\", \"labels\": []}", "line 1: \"words\" is not a list"),
        ] {
            let error = read(name, text, &plain).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let named = TaggedSpec { words: Some(Column::Name("w".into())), ..plain };
        assert!(read("d.conll", "a O\n", &named).unwrap_err().to_string().contains("no header"));
    }

    #[test]
    fn a_word_begins_with_its_first_token_also_if_that_begins_with_a_space() {
        let words = ["ab", "c"].map(String::from);
        let location = Location { file: Path::new("x").into(), line: 1 };
        let sentence = Sentence::new(&words, vec!["O".into(), "X".into()], location);
        assert_eq!(sentence.text(), "ab c");
        let found = |offsets: &[(usize, usize)]| sentence.first_tokens(offsets);
        assert_eq!(found(&[(0, 1), (1, 2), (3, 4)]), [Some(0), None, Some(1)]);
        assert_eq!(found(&[(0, 2), (2, 4)]), [Some(0), Some(1)]);
        assert_eq!(found(&[(0, 2), (2, 3), (3, 4)]), [Some(0), None, Some(1)]);
        assert_eq!(found(&[(0, 0), (0, 4)]), [None, Some(1)]);
    }
}
