//! Reading: every way in which the grammar could have written a text, with its probability.
//!
//! A search through the tree with the text in hand. A word that does not fit ends a branch at once, so nearly all end within a
//! word or two. One place of the text may be a hole that any word fits: the sum of the probabilities by the word there is what
//! is needed to guess a masked word as well as possible.

use super::grammar::{Filled, Grammar, Node, Word};

/// A text as the grammar sees it: words that it does not have fit nowhere.
#[derive(Clone, Copy)]
pub(super) enum Seen {
    Word(Word),
    Unknown,
    Hole,
}

/// One way to write a text.
pub(super) struct Way<'a> {
    pub probability: f64,
    /// The word in the hole.
    pub filler: Option<Word>,
    pub filled: &'a Filled,
}

/// Calls `found` for every way in which `node` writes exactly this text.
pub(super) fn read(grammar: &Grammar, node: &Node, text: &[Seen], found: &mut dyn FnMut(Way)) {
    let filled = vec![None; grammar.slots.len()];
    let mut reader = Reader { grammar, text, filled, filler: None, found };
    reader.read(Rest { nodes: std::slice::from_ref(node), then: None }, 0, 1.0);
}

/// What must still be written: these nodes, then those of the outer sequences.
#[derive(Clone, Copy)]
struct Rest<'a> {
    nodes: &'a [Node],
    then: Option<&'a Rest<'a>>,
}

struct Reader<'a> {
    grammar: &'a Grammar,
    text: &'a [Seen],
    filled: Filled,
    filler: Option<Word>,
    found: &'a mut dyn FnMut(Way),
}

impl Reader<'_> {
    /// Follows the rest from place `at`, reached with this probability.
    fn read(&mut self, mut rest: Rest, mut at: usize, probability: f64) {
        let before = self.filler;
        // Words are a loop, not a recursion: they are most of the nodes.
        let node = loop {
            let Some((first, others)) = rest.nodes.split_first() else {
                let Some(outer) = rest.then else {
                    if at == self.text.len() {
                        (self.found)(Way { probability, filler: self.filler, filled: &self.filled });
                    }
                    self.filler = before;
                    return;
                };
                rest = *outer;
                continue;
            };
            rest.nodes = others;
            let Node::Word(word) = first else { break first };
            if !self.fits(&[*word], &mut at) {
                self.filler = before;
                return;
            }
        };
        match node {
            Node::Word(_) => unreachable!("words are followed in the loop"),
            Node::Sequence(nodes) => self.read(Rest { nodes, then: Some(&rest) }, at, probability),
            Node::Choice(nodes) => {
                let each = probability / nodes.len() as f64;
                for node in nodes {
                    self.read(Rest { nodes: std::slice::from_ref(node), then: Some(&rest) }, at, each);
                }
            }
            Node::Slot { slot, phrases } => self.for_each_value(*slot, probability, |reader, value, p| {
                let (mut at, before) = (at, reader.filler);
                if reader.fits(&phrases[value], &mut at) {
                    reader.read(rest, at, p);
                }
                reader.filler = before;
            }),
            Node::Case(slot, nodes) => self.for_each_value(*slot, probability, |reader, value, p| {
                reader.read(Rest { nodes: std::slice::from_ref(&nodes[value]), then: Some(&rest) }, at, p);
            }),
        }
        self.filler = before;
    }

    /// What fills the slot, or everything that could.
    fn for_each_value(
        &mut self,
        slot: usize,
        probability: f64,
        mut follow: impl FnMut(&mut Self, usize, f64),
    ) {
        if let Some(value) = self.filled[slot] {
            follow(self, value, probability);
            return;
        }
        let open = self.grammar.open(slot, &self.filled);
        let each = probability / open.len() as f64;
        for value in open {
            self.filled[slot] = Some(value);
            follow(self, value, each);
            self.filled[slot] = None;
        }
    }

    /// Whether these words stand at `at`, which then moves behind them.
    fn fits(&mut self, words: &[Word], at: &mut usize) -> bool {
        for word in words {
            match self.text.get(*at) {
                Some(Seen::Word(seen)) if seen == word => {}
                Some(Seen::Hole) => self.filler = Some(*word),
                _ => return false,
            }
            *at += 1;
        }
        true
    }
}
