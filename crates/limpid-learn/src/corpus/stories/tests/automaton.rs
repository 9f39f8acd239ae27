//! A proof that no text can be written in two ways, and that no story is the beginning of another.
//!
//! The tree is turned into an automaton that forgets what fills a slot: it accepts more texts than
//! the grammar writes. Were a text written in two ways, two different paths would spell it; the
//! pairs of states that two paths with one text can reach are few, and all of them are looked at.
//! Then the path is unique, and what fills a slot is too if every path that names the slot says it
//! once in words that differ from value to value.

use super::*;
use crate::corpus::stories::grammar::Word;
use std::collections::HashMap;

/// States are numbers; edges spell a word or nothing.
#[derive(Default)]
struct Automaton {
    edges: Vec<Vec<(Option<Word>, usize)>>,
}

/// What can follow a state: the next words, each with the state behind it, and whether the text may
/// end.
struct Next {
    words: Vec<(Word, usize)>,
    ends: usize,
}

impl Automaton {
    fn state(&mut self) -> usize {
        self.edges.push(Vec::new());
        self.edges.len() - 1
    }

    /// Adds a node between `from` and a new state.
    fn add(&mut self, node: &Node, from: usize) -> usize {
        match node {
            Node::Word(word) => self.spell(&[*word], from),
            Node::Sequence(nodes) => nodes.iter().fold(from, |from, node| self.add(node, from)),
            Node::Choice(nodes) | Node::Case(_, nodes) => {
                let ends: Vec<usize> =
                    nodes.iter().map(|node| self.branch(from, |a, at| a.add(node, at))).collect();
                self.join(&ends)
            }
            Node::Slot { phrases, .. } => {
                let distinct: BTreeSet<&Vec<Word>> = phrases.iter().collect();
                let ends: Vec<usize> = distinct
                    .into_iter()
                    .map(|phrase| self.branch(from, |a, at| a.spell(phrase, at)))
                    .collect();
                self.join(&ends)
            }
        }
    }

    fn branch(&mut self, from: usize, add: impl FnOnce(&mut Self, usize) -> usize) -> usize {
        let start = self.state();
        self.edges[from].push((None, start));
        add(self, start)
    }

    fn join(&mut self, ends: &[usize]) -> usize {
        let end = self.state();
        ends.iter().for_each(|at| self.edges[*at].push((None, end)));
        end
    }

    fn spell(&mut self, words: &[Word], from: usize) -> usize {
        words.iter().fold(from, |from, word| {
            let next = self.state();
            self.edges[from].push((Some(*word), next));
            next
        })
    }

    /// What follows a state. One entry for each way of getting there without a word.
    fn next(&self, state: usize, end: usize) -> Next {
        let mut next = Next { words: Vec::new(), ends: usize::from(state == end) };
        for (word, to) in &self.edges[state] {
            match word {
                Some(word) => next.words.push((*word, *to)),
                None => {
                    let behind = self.next(*to, end);
                    next.words.extend(behind.words);
                    next.ends += behind.ends;
                }
            }
        }
        next
    }
}

/// A text that two paths spell, or that ends one path while the other goes on: found, or proved not
/// to exist.
fn double(node: &Node) -> Option<String> {
    let mut automaton = Automaton::default();
    let start = automaton.state();
    let end = automaton.add(node, start);
    let mut cache: HashMap<usize, Next> = HashMap::new();
    let (mut tokens, mut open) =
        (HashSet::from([(start, start)]), vec![(start, start, String::new())]);
    while let Some((a, b, text)) = open.pop() {
        for state in [a, b] {
            cache.entry(state).or_insert_with(|| automaton.next(state, end));
        }
        let (after_a, after_b) = (&cache[&a], &cache[&b]);
        let many = if a == b { after_a.ends > 1 } else { after_a.ends > 0 && after_b.ends > 0 };
        let goes_on = after_a.ends > 0 && !after_b.words.is_empty()
            || after_b.ends > 0 && !after_a.words.is_empty();
        if many || goes_on {
            return Some(text);
        }
        for (i, (word, to_a)) in after_a.words.iter().enumerate() {
            for (j, (other, to_b)) in after_b.words.iter().enumerate() {
                // One path twice is not two paths: on the diagonal, an edge is only paired with
                // others.
                let same_edge = a == b && i == j;
                if word != other {
                    continue;
                }
                let text =
                    format!("{text} {}", TREE.grammar.words.get(*word as usize).map_or("?", |w| w));
                if to_a == to_b && !same_edge {
                    return Some(text);
                }
                if tokens.insert((*to_a, *to_b)) {
                    open.push((*to_a, *to_b, text));
                }
            }
        }
    }
    None
}

/// What a path has said of a slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Said {
    Nothing,
    /// Something that several values could have said.
    Vague,
    Value,
}

/// What paths through `node` can have said of a slot, given what could have been said before.
fn said(node: &Node, slot: usize, before: &BTreeSet<Said>) -> BTreeSet<Said> {
    match node {
        Node::Word(_) => before.clone(),
        Node::Sequence(nodes) => {
            nodes.iter().fold(before.clone(), |before, node| said(node, slot, &before))
        }
        Node::Choice(nodes) => nodes.iter().flat_map(|node| said(node, slot, before)).collect(),
        Node::Case(by, nodes) => {
            // The branch is known from the text, as no text has two paths.
            let before = if *by == slot { BTreeSet::from([Said::Value]) } else { before.clone() };
            nodes.iter().flat_map(|node| said(node, slot, &before)).collect()
        }
        Node::Slot { slot: named, phrases } if *named == slot => {
            let tells = phrases.iter().collect::<BTreeSet<_>>().len() == phrases.len();
            let after =
                |said: &Said| if tells || *said == Said::Value { Said::Value } else { Said::Vague };
            before.iter().map(after).collect()
        }
        Node::Slot { .. } => before.clone(),
    }
}

#[test]
fn no_text_can_be_written_in_two_ways_and_no_story_is_the_beginning_of_another() {
    assert_eq!(double(&TREE.story), None);
    for slot in 0..TREE.grammar.slots.len() {
        let ends = said(&TREE.story, slot, &BTreeSet::from([Said::Nothing]));
        assert!(
            !ends.contains(&Said::Vague),
            "a story may not say who {} is",
            TREE.grammar.slots[slot].name
        );
    }
}

#[test]
fn the_proof_finds_texts_with_two_ways() {
    let word = Node::Word;
    let one_or = |nodes: Vec<Node>| Node::Choice(nodes);
    let row = |nodes: Vec<Node>| Node::Sequence(nodes);
    // The same word twice; a b + c = a + b c; an end that need not be one; nothing in two ways.
    assert!(double(&one_or(vec![word(0), word(0)])).is_some());
    let left = one_or(vec![word(0), row(vec![word(0), word(1)])]);
    let right = one_or(vec![row(vec![word(1), word(2)]), word(2)]);
    assert!(double(&row(vec![left.clone(), right])).is_some());
    assert!(double(&left).is_some(), "0 is the beginning of 0 1");
    assert!(double(&row(vec![one_or(vec![row(vec![]), row(vec![])]), word(1)])).is_some());
    assert_eq!(double(&row(vec![left, word(2)])), None);
}
