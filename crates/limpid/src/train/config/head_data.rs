//! `[data]` of tasks with labelled words or questions.

use super::data::{VALIDATION_SPLIT, split_key, texts};
use super::section::{Keys, Section, section};
use super::settings::Settings;
use crate::data::clean::Duplicates;
use crate::data::questions::QuestionFormat;
use crate::data::table::Column;
use crate::data::tagged::{TaggedFormat, TaggedSpec};
use crate::error::Result;
use crate::nn::named;
use std::path::PathBuf;

named!(TaggedFormat, "format", "conll" => Conll, "jsonl" => JsonLines);
named!(QuestionFormat, "format", "squad" => Squad, "jsonl" => JsonLines);

section! {
    /// Sentences with labelled words, of a token classifier.
    pub struct TaggedData in "data" {
        /// Files to train on.
        text: Vec<PathBuf>,
        /// Files for validation.
        validation_text: Vec<PathBuf>,
        /// By the extension of each file if `None`.
        format: Option<TaggedFormat>,
        /// The column of words: 1 unless set, `words` in JSON Lines.
        word_column: Option<Column>,
        /// The column of labels: the last unless set, `labels` in JSON Lines.
        label_column: Option<Column>,
        ;
        /// The share that is held out; `None` with validation files.
        validation_split: Option<f64>,
        /// What happens to duplicates.
        duplicates: Duplicates,
    }
}

impl TaggedData {
    pub(super) fn read_keys(s: &mut Settings) -> Result<Self> {
        let data = Self {
            text: texts(s, "a token classifier is trained on sentences with labelled words")?,
            validation_text: Vec::new(),
            format: None,
            word_column: None,
            label_column: None,
            validation_split: Some(VALIDATION_SPLIT),
            duplicates: Duplicates::Keep,
        };
        data.read(s)
    }

    /// How the files are read.
    pub fn spec(&self) -> TaggedSpec {
        TaggedSpec {
            format: self.format,
            words: self.word_column.clone(),
            labels: self.label_column.clone(),
        }
    }
}

impl Section for TaggedData {
    fn keys(&mut self, keys: &mut Keys) -> Result<()> {
        self.own_keys(keys)?;
        keys.key("data.drop_duplicates", &mut self.duplicates)?;
        split_key(keys, &mut self.validation_split, !self.validation_text.is_empty())
    }
}

section! {
    /// Questions about texts, of question answering.
    pub struct QuestionData in "data" {
        /// Files to train on.
        text: Vec<PathBuf>,
        /// Files for validation.
        validation_text: Vec<PathBuf>,
        /// By the extension of each file if `None`.
        format: Option<QuestionFormat>,
        /// Tokens that neighbouring windows of a context share; 128 unless set, or half of a
        /// shorter window.
        doc_stride: Option<usize>,
        ;
        /// The share of questions that is held out; `None` with validation files.
        validation_split: Option<f64>,
        /// What happens to duplicates.
        duplicates: Duplicates,
    }
}

impl QuestionData {
    pub(super) fn read_keys(s: &mut Settings) -> Result<Self> {
        let data = Self {
            text: texts(s, "question answering is trained on questions, contexts and answers")?,
            validation_text: Vec::new(),
            format: None,
            doc_stride: None,
            validation_split: Some(VALIDATION_SPLIT),
            duplicates: Duplicates::Keep,
        };
        data.read(s)
    }
}

impl Section for QuestionData {
    fn keys(&mut self, keys: &mut Keys) -> Result<()> {
        self.own_keys(keys)?;
        keys.key("data.drop_duplicates", &mut self.duplicates)?;
        split_key(keys, &mut self.validation_split, !self.validation_text.is_empty())
    }
}
