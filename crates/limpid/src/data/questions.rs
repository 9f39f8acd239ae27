//! Questions about texts, for extractive question answering: SQuAD's JSON, or JSON Lines.
//!
//! ```text
//! {"question": "Who sleeps?", "context": "Ann sleeps.", "answer": "Ann", "start": 0}
//! {"question": …, "context": …, "answers": {"text": ["Ann"], "answer_start": [0]}}
//! ```
//!
//! `start` counts characters from 0. A question without an answer has `null` or an empty list.
//!
//! ```
//! use limpid::data::questions::{QuestionFormat, read_questions};
//!
//! let file = std::env::temp_dir().join("limpid-doc-questions.jsonl");
//! let line = r#"{"question": "Who?", "context": "It is Ann.", "answer": "Ann", "start": 6}"#;
//! std::fs::write(&file, line).unwrap();
//! let questions = read_questions(&file, QuestionFormat::JsonLines)?;
//! assert_eq!(questions[0].answers()[0].0, "Ann");
//! # std::fs::remove_file(&file).unwrap();
//! # Ok::<(), limpid::error::Error>(())
//! ```

use super::sequence_file::Record;
use crate::error::{DataError, Error, Result, RowError};
use crate::text::{TextReader, decode_utf8, is_blank};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How questions are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionFormat {
    /// SQuAD's: `data`, `paragraphs`, `qas`.
    Squad,
    /// An object per question.
    JsonLines,
}

impl QuestionFormat {
    /// Known by the extension: `.json`, or `.jsonl` and `.ndjson`.
    /// # Errors
    /// [`DataError::AmbiguousFormat`] for any other.
    pub fn from_extension(path: &Path) -> Result<Self> {
        match path.extension().and_then(|end| end.to_str()) {
            Some("json") => Ok(Self::Squad),
            Some("jsonl" | "ndjson") => Ok(Self::JsonLines),
            _ => Err(DataError::AmbiguousFormat { path: path.to_path_buf() }.into()),
        }
    }
}

/// A question about a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The question.
    pub question: String,
    /// The text with the answer.
    pub context: Arc<str>,
    /// Correct answers and the byte of the context at which each begins.
    answers: Vec<(String, usize)>,
    /// The answers in one text.
    joined: String,
}

impl Question {
    fn new(question: &str, context: Arc<str>, found: &[(String, usize)]) -> Result<Self, RowError> {
        let answer = |(text, start): &(String, usize)| {
            let at = context.char_indices().map(|(at, _)| at).nth(*start).unwrap_or(context.len());
            match context[at..].starts_with(text.as_str()) && !text.trim().is_empty() {
                true => Ok((text.clone(), at)),
                false => Err(RowError::AnswerNotThere { answer: text.clone(), start: *start }),
            }
        };
        let answers = found.iter().map(answer).collect::<Result<Vec<_>, _>>()?;
        let joined = json!(answers).to_string();
        Ok(Self { question: question.into(), context, answers, joined })
    }

    /// Correct answers and the byte of the context at which each begins; none if the context does
    /// not answer the question.
    pub fn answers(&self) -> &[(String, usize)] {
        &self.answers
    }

    /// The tokens of the context that its first answer spans, given the bytes that tokens cover:
    /// from the last that begins at its first byte or before, to the first that ends at its last
    /// byte or behind.
    pub fn answer_tokens(&self, offsets: &[(usize, usize)]) -> Option<[u32; 2]> {
        let (text, start) = self.answers.first()?;
        let end = start + text.len();
        let first = offsets.iter().rposition(|(from, _)| from <= start)?;
        let last = offsets.iter().position(|(_, to)| *to >= end)?;
        Some([first.min(last) as u32, last as u32])
    }
}

impl Record for Question {
    fn fields(&self) -> Vec<&str> {
        vec![&self.question, &self.context, &self.joined]
    }
}

/// The questions of some files; their formats by their extensions if `None`.
/// # Errors
/// Those of [`read_questions`].
pub fn each_question(paths: &[PathBuf], format: Option<QuestionFormat>) -> Result<Vec<Question>> {
    let mut all = Vec::new();
    for path in paths {
        let format = format.map_or_else(|| QuestionFormat::from_extension(path), Ok)?;
        all.extend(read_questions(path, format)?);
    }
    Ok(all)
}

/// The questions of a file.
/// # Errors
/// If it cannot be read, or an answer is not where it should be in its context.
pub fn read_questions(path: &Path, format: QuestionFormat) -> Result<Vec<Question>> {
    match format {
        QuestionFormat::Squad => squad(path),
        QuestionFormat::JsonLines => {
            let lines = TextReader::open(path)?.lines().enumerate();
            let lines = lines.filter(|(_, line)| !is_blank(line));
            let question = |(i, line): (usize, Result<String>)| {
                json_line(&line?).map_err(|problem| {
                    let (path, line) = (path.to_path_buf(), i as u64 + 1);
                    Error::from(DataError::Row { path, line, problem })
                })
            };
            lines.map(question).collect()
        }
    }
}

fn json_line(text: &str) -> Result<Question, RowError> {
    let value: Value = serde_json::from_str(text).map_err(|e| RowError::NotJson(e.to_string()))?;
    let object = value.as_object().ok_or(RowError::NotAnObject)?;
    let answers = match (object.get("answers"), object.get("answer")) {
        (Some(answers), _) => answer_list(answers)?,
        (None, Some(Value::Null)) => Vec::new(),
        (None, Some(_)) => vec![(string(object, "answer")?.to_string(), place(object, "start")?)],
        (None, None) => return Err(no_key(object, "answer")),
    };
    let context = Arc::from(string(object, "context")?);
    Question::new(string(object, "question")?, context, &answers)
}

/// Answers as SQuAD lists them, or as the datasets of Hugging Face do.
fn answer_list(answers: &Value) -> Result<Vec<(String, usize)>, RowError> {
    let wrong = || RowError::NotAList { key: "answers".into() };
    match answers {
        Value::Null => Ok(Vec::new()),
        Value::Array(all) => {
            let one = |value: &Value| {
                let object = value.as_object().ok_or_else(wrong)?;
                Ok((string(object, "text")?.to_string(), place(object, "answer_start")?))
            };
            all.iter().map(one).collect()
        }
        Value::Object(lists) => {
            let list = |key: &str| lists.get(key).and_then(Value::as_array).ok_or_else(wrong);
            let (texts, starts) = (list("text")?, list("answer_start")?);
            let one = |(text, start): (&Value, &Value)| {
                Some((text.as_str()?.to_string(), start.as_u64()? as usize))
            };
            let all: Option<Vec<_>> = texts.iter().zip(starts).map(one).collect();
            all.filter(|_| texts.len() == starts.len()).ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}

fn squad(path: &Path) -> Result<Vec<Question>> {
    let bytes = std::fs::read(path).map_err(|e| Error::io("read", path, e))?;
    let text = decode_utf8(path, 1, bytes)?;
    let mut questions = Vec::new();
    squad_questions(&text, &mut questions).map_err(|problem| {
        let (path, number) = (path.to_path_buf(), questions.len() + 1);
        DataError::Question { path, number, problem }
    })?;
    Ok(questions)
}

fn squad_questions(text: &str, questions: &mut Vec<Question>) -> Result<(), RowError> {
    let value: Value = serde_json::from_str(text).map_err(|e| RowError::NotJson(e.to_string()))?;
    for article in array(object(&value)?, "data")? {
        for paragraph in array(object(article)?, "paragraphs")? {
            let paragraph = object(paragraph)?;
            let context: Arc<str> = Arc::from(string(paragraph, "context")?);
            for question in array(paragraph, "qas")? {
                let question = object(question)?;
                // Answers of a question that has none are plausible ones.
                let is_impossible = question.get("is_impossible") == Some(&Value::Bool(true));
                let answers = match question.get("answers") {
                    Some(answers) if !is_impossible => answer_list(answers)?,
                    None if !is_impossible => return Err(no_key(question, "answers")),
                    _ => Vec::new(),
                };
                let text = string(question, "question")?;
                questions.push(Question::new(text, context.clone(), &answers)?);
            }
        }
    }
    Ok(())
}

fn object(value: &Value) -> Result<&Map<String, Value>, RowError> {
    value.as_object().ok_or(RowError::NotAnObject)
}

fn no_key(object: &Map<String, Value>, key: &str) -> RowError {
    RowError::NoKey { key: key.into(), found: object.keys().take(8).cloned().collect() }
}

fn string<'a>(object: &'a Map<String, Value>, key: &str) -> Result<&'a str, RowError> {
    let value = object.get(key).ok_or_else(|| no_key(object, key))?;
    value.as_str().ok_or_else(|| RowError::NotText { key: key.into() })
}

fn place(object: &Map<String, Value>, key: &str) -> Result<usize, RowError> {
    let value = object.get(key).ok_or_else(|| no_key(object, key))?;
    value.as_u64().map(|at| at as usize).ok_or_else(|| RowError::NotAPlace { key: key.into() })
}

fn array<'a>(object: &'a Map<String, Value>, key: &str) -> Result<&'a Vec<Value>, RowError> {
    let value = object.get(key).ok_or_else(|| no_key(object, key))?;
    value.as_array().ok_or_else(|| RowError::NotAList { key: key.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: &str = "Café: Ann sleeps.";

    #[test]
    fn all_forms_of_an_answer_are_read_and_places_count_characters() {
        for answers in [
            r#""answer": "Ann", "start": 6"#,
            r#""answers": [{"text": "Ann", "answer_start": 6}]"#,
            r#""answers": {"text": ["Ann"], "answer_start": [6]}"#,
        ] {
            let line = format!(r#"{{"question": "Who?", "context": "{CONTEXT}", {answers}}}"#);
            let question = json_line(&line).unwrap();
            // é has two bytes.
            assert_eq!(question.answers(), [("Ann".to_string(), 7)], "{answers}");
            let tokens = [(0, 5), (5, 6), (6, 10), (10, 17), (17, 18)];
            assert_eq!(question.answer_tokens(&tokens), Some([2, 2]));
        }
        let none = r#"{"question": "Who?", "context": "x", "answers": []}"#;
        assert!(json_line(none).unwrap().answers().is_empty());
        let text = format!(
            r#"{{"data": [{{"paragraphs": [{{"context": "{CONTEXT}", "qas": [
                {{"question": "Who?", "answers": [{{"text": "Ann", "answer_start": 6}}]}},
                {{"question": "Where?", "is_impossible": true, "answers": []}}]}}]}}]}}"#
        );
        let mut questions = Vec::new();
        squad_questions(&text, &mut questions).unwrap();
        assert_eq!(questions.iter().map(|q| q.answers().len()).collect::<Vec<_>>(), [1, 0]);
    }

    #[test]
    fn an_answer_that_is_elsewhere_is_refused() {
        for (line, expected) in [
            (
                r#"{"question": "q", "context": "Ann", "answer": "Ann", "start": 1}"#,
                "answer 'Ann' is not at character 1 of the context",
            ),
            (r#"{"question": "q", "context": "Ann"}"#, "no key \"answer\""),
            (r#"{"question": "q", "context": "x", "answers": 3}"#, "\"answers\" is not a list"),
            (
                r#"{"question": "q", "context": "x", "answer": "x", "start": -1}"#,
                "\"start\" is not a number of characters",
            ),
        ] {
            assert_eq!(json_line(line).unwrap_err().to_string(), expected);
        }
    }
}
