//! Writing: walking through the tree, and drawing at every choice.

use super::grammar::{Filled, Grammar, Node, Word};
use limpid_tensor::rng::Stream;

/// Draws what a node says; `filled` are the slots that are filled already, and afterwards those that are filled now.
pub(super) fn write(grammar: &Grammar, node: &Node, filled: &mut Filled, rng: &mut Stream) -> Vec<Word> {
    let mut writer = Writer { grammar, rng, filled, words: Vec::new() };
    writer.write(node);
    writer.words
}

struct Writer<'a> {
    grammar: &'a Grammar,
    rng: &'a mut Stream,
    filled: &'a mut Filled,
    words: Vec<Word>,
}

impl Writer<'_> {
    fn write(&mut self, node: &Node) {
        match node {
            Node::Word(word) => self.words.push(*word),
            Node::Slot { slot, phrases } => {
                let value = self.value(*slot);
                self.words.extend(&phrases[value]);
            }
            Node::Sequence(nodes) => nodes.iter().for_each(|node| self.write(node)),
            Node::Choice(nodes) => {
                let choice = self.rng.below(nodes.len());
                self.write(&nodes[choice]);
            }
            Node::Case(slot, nodes) => {
                let value = self.value(*slot);
                self.write(&nodes[value]);
            }
        }
    }

    /// What fills the slot; the first time, it is drawn.
    fn value(&mut self, slot: usize) -> usize {
        if let Some(value) = self.filled[slot] {
            return value;
        }
        let open = self.grammar.open(slot, self.filled);
        assert!(!open.is_empty(), "nothing is left for {}", self.grammar.slots[slot].name);
        let value = open[self.rng.below(open.len())];
        self.filled[slot] = Some(value);
        value
    }
}
