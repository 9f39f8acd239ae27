//! Templates: sentences with slots and choices, turned into nodes.
//!
//! ```text
//! {hero} looked {spot}, but there was [only dust|nothing].
//! ```
//!
//! `{slot}` is the first form of what fills the slot, `{slot.form}` another, `{slot.a}` the first
//! with its article; a form of a person without a slot (`{his}`) is the hero's. Sentences begin
//! with a capital letter by themselves.

use super::grammar::{Grammar, Node, Table, Word, is_mark};
use std::iter::Peekable;
use std::str::Chars;

/// The position of a word in its sentence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Position {
    /// It is the first, and has a capital letter.
    Start,
    Inside,
}

/// Turns templates into nodes of a grammar.
pub(super) struct Templates<'a> {
    pub grammar: &'a mut Grammar,
    pub tables: &'a [Table],
}

impl Templates<'_> {
    /// One of these, equally likely; an empty template is nothing at all.
    pub fn choice(&mut self, templates: &[&str]) -> Node {
        match templates {
            [only] => self.parse(only, Position::Start),
            _ => Node::Choice(
                templates.iter().map(|text| self.parse(text, Position::Start)).collect(),
            ),
        }
    }

    /// One of each in turn.
    pub fn steps(&mut self, steps: &[&[&str]]) -> Node {
        Node::Sequence(steps.iter().map(|templates| self.choice(templates)).collect())
    }

    /// Turns one template into a node.
    ///
    /// # Panics
    /// If it names a slot or a form that does not exist, or a bracket is missing: templates are
    /// part of the source.
    pub fn parse(&mut self, text: &str, position: Position) -> Node {
        let mut letters = text.chars().peekable();
        let (node, _) = self.sequence(&mut letters, position);
        assert!(letters.next().is_none(), "a bracket too many in '{text}'");
        node
    }

    /// Everything up to a `|`, a `]` or the end, and the position of the next word.
    fn sequence(
        &mut self,
        letters: &mut Peekable<Chars>,
        mut position: Position,
    ) -> (Node, Position) {
        let mut nodes = Vec::new();
        while let Some(letter) = letters.next_if(|c| !matches!(c, '|' | ']')) {
            match letter {
                ' ' => continue,
                '{' => {
                    let name: String = letters.by_ref().take_while(|c| *c != '}').collect();
                    nodes.push(self.slot(&name, position));
                    position = Position::Inside;
                }
                '[' => {
                    let (choice, after) = self.brackets(letters, position);
                    nodes.push(choice);
                    position = after;
                }
                mark if is_mark(&mark.to_string()) => {
                    nodes.push(Node::Word(self.grammar.intern(&mark.to_string())));
                    position = if mark == ',' { Position::Inside } else { Position::Start };
                }
                first => {
                    let mut word = String::from(first);
                    while let Some(letter) = letters.next_if(|c| c.is_alphanumeric()) {
                        word.push(letter);
                    }
                    nodes.push(Node::Word(self.word(&word, position)));
                    position = Position::Inside;
                }
            }
        }
        (Node::Sequence(nodes), position)
    }

    fn brackets(&mut self, letters: &mut Peekable<Chars>, position: Position) -> (Node, Position) {
        let mut choices = Vec::new();
        loop {
            let (node, after) = self.sequence(letters, position);
            assert_eq!(
                after,
                Position::Inside,
                "a choice in brackets is a part of a sentence, and has its first word"
            );
            choices.push(node);
            match letters.next() {
                Some('|') => {}
                Some(']') => return (Node::Choice(choices), Position::Inside),
                _ => panic!("a choice without its closing bracket"),
            }
        }
    }

    fn slot(&mut self, name: &str, position: Position) -> Node {
        let (slot, form) = match name.split_once('.') {
            Some((slot, form)) => (slot, Some(form)),
            None if self.grammar.slot(name).is_some() => (name, None),
            None => ("hero", Some(name)),
        };
        let slot = self.grammar.slot(slot).unwrap_or_else(|| panic!("there is no slot {{{name}}}"));
        let (tables, wanted) = (self.tables, self.grammar.slots[slot].table);
        let table =
            tables.iter().find(|table| table.name == wanted).expect("every slot has its table");
        let column = match form {
            None | Some("a") => 0,
            Some(form) => table.forms.iter().position(|have| *have == form).unwrap_or_else(|| {
                panic!("{{{name}}}: the table {wanted} has only the forms {:?}", table.forms)
            }),
        };
        let phrase = |row: &&str| {
            let phrase = row.split('/').nth(column).expect("every row has all forms");
            match form {
                Some("a") => format!("{} {phrase}", article(phrase)),
                _ => phrase.to_owned(),
            }
        };
        let phrases: Vec<String> = table.rows.iter().map(phrase).collect();
        Node::Slot {
            slot,
            phrases: phrases.iter().map(|phrase| self.words(phrase, position)).collect(),
        }
    }

    fn words(&mut self, phrase: &str, position: Position) -> Vec<Word> {
        let places = std::iter::once(position).chain(std::iter::repeat(Position::Inside));
        phrase.split(' ').zip(places).map(|(word, position)| self.word(word, position)).collect()
    }

    fn word(&mut self, text: &str, position: Position) -> Word {
        match position {
            Position::Inside => self.grammar.intern(text),
            Position::Start => {
                let mut letters = text.chars();
                let first = letters.next().map_or(String::new(), |c| c.to_uppercase().collect());
                self.grammar.intern(&(first + letters.as_str()))
            }
        }
    }
}

fn article(phrase: &str) -> &'static str {
    if phrase.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}
