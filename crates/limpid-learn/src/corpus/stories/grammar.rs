//! The grammar of stories: a tree of uniform choices, with slots that are filled once and reused.
//!
//! There are five kinds of node, so that the same tree samples stories ([`super::sample`]), parses
//! them and gives their probability ([`super::parse`]), and has an exact entropy
//! ([`super::entropy`]). It has no recursion, so all three terminate.

use std::collections::HashMap;

/// The id of a word or a punctuation mark.
pub(super) type Word = u32;

/// The values of a slot: one row per value, with its forms between slashes.
pub(super) struct Table {
    pub name: &'static str,
    /// Names of the forms, in the order of a row.
    pub forms: &'static [&'static str],
    pub rows: &'static [&'static str],
}

/// A part of the grammar.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// This word.
    Word(Word),
    /// The phrase for what fills a slot; the first time, it is filled.
    Slot {
        slot: usize,
        /// For each value, its words.
        phrases: Vec<Vec<Word>>,
    },
    /// One after the other.
    Sequence(Vec<Node>),
    /// One of these, each as likely as the others.
    Choice(Vec<Node>),
    /// The one that belongs to what fills a slot; the first time, it is filled.
    Case(usize, Vec<Node>),
}

/// A slot: how many values it can have, and which slots it must differ from.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub name: &'static str,
    pub table: &'static str,
    pub values: usize,
}

/// What fills each slot so far.
pub(super) type Filled = Vec<Option<usize>>;

/// A grammar: a tree, and the words in it.
#[derive(Debug, Default)]
pub(super) struct Grammar {
    pub slots: Vec<Slot>,
    /// The text of each word.
    pub words: Vec<String>,
    ids: HashMap<String, Word>,
}

impl Grammar {
    /// A grammar with these slots and no words yet.
    pub fn new(slots: Vec<Slot>) -> Self {
        Self { slots, ..Self::default() }
    }

    /// The number of a word, which is new if it has not been seen.
    pub fn intern(&mut self, text: &str) -> Word {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = self.words.len() as Word;
        self.words.push(text.to_owned());
        self.ids.insert(text.to_owned(), id);
        id
    }

    /// The number of a word, if the grammar has it.
    pub fn id(&self, text: &str) -> Option<Word> {
        self.ids.get(text).copied()
    }

    /// The slot of this name.
    pub fn slot(&self, name: &str) -> Option<usize> {
        self.slots.iter().position(|slot| slot.name == name)
    }

    /// What a slot can still have, when the others have this: every value is equally likely.
    ///
    /// Slots of one table differ, so this is sampling without replacement: whichever of them is
    /// filled first, all orders are equally likely, and each slot alone is uniform.
    pub fn open(&self, slot: usize, filled: &Filled) -> Vec<usize> {
        let table = self.slots[slot].table;
        let taken = |value: usize| {
            self.slots
                .iter()
                .zip(filled)
                .any(|(other, filled)| other.table == table && *filled == Some(value))
        };
        (0..self.slots[slot].values).filter(|value| !taken(*value)).collect()
    }

    /// How many of the slots that must differ from this one are filled.
    pub fn rivals(&self, slot: usize, is_filled: impl Fn(usize) -> bool) -> usize {
        let table = self.slots[slot].table;
        (0..self.slots.len())
            .filter(|other| self.slots[*other].table == table && is_filled(*other))
            .count()
    }

    /// Words as text: a space before each but the marks.
    pub fn text(&self, words: &[Word]) -> String {
        let mut text = String::new();
        for word in words {
            let word = &self.words[*word as usize];
            if !text.is_empty() && !is_mark(word) {
                text.push(' ');
            }
            text += word;
        }
        text
    }
}

/// Whether this is a punctuation mark, which follows a word without a space.
pub(super) fn is_mark(word: &str) -> bool {
    matches!(word, "." | "," | "!" | "?")
}

/// The words and marks of a text, as [`Grammar::text`] puts them together.
pub(super) fn split(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for piece in text.split_whitespace() {
        let end = piece.trim_end_matches(|c: char| is_mark(c.encode_utf8(&mut [0; 4]))).len();
        words.extend((end > 0).then(|| &piece[..end]));
        words.extend(piece[end..].split_inclusive(|_| true));
    }
    words
}
