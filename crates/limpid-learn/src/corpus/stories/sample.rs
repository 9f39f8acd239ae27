//! Sampling: walking through the tree, with a random choice at every branch.

use super::grammar::{Filled, Grammar, Node, Word};
use limpid_tensor::rng::Stream;

/// Samples the words of a node; `filled` has the slots that are filled before, and afterwards those
/// that are filled then.
pub(super) fn sample(
    grammar: &Grammar,
    node: &Node,
    filled: &mut Filled,
    rng: &mut Stream,
) -> Vec<Word> {
    let mut sampler = TreeSampler { grammar, rng, filled, words: Vec::new() };
    sampler.sample(node);
    sampler.words
}

struct TreeSampler<'a> {
    grammar: &'a Grammar,
    rng: &'a mut Stream,
    filled: &'a mut Filled,
    words: Vec<Word>,
}

impl TreeSampler<'_> {
    fn sample(&mut self, node: &Node) {
        match node {
            Node::Word(word) => self.words.push(*word),
            Node::Slot { slot, phrases } => {
                let value = self.value(*slot);
                self.words.extend(&phrases[value]);
            }
            Node::Sequence(nodes) => nodes.iter().for_each(|node| self.sample(node)),
            Node::Choice(nodes) => {
                let choice = self.rng.below(nodes.len());
                self.sample(&nodes[choice]);
            }
            Node::Case(slot, nodes) => {
                let value = self.value(*slot);
                self.sample(&nodes[value]);
            }
        }
    }

    /// The value of the slot; the first time, it is sampled.
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
