//! The exact entropy of a grammar.
//!
//! If no text has two derivations (the tests prove it), the probability of a story is the product
//! of those of its choices, and by the chain rule its entropy is the sum, over the choices, of
//!
//! ```text
//! P(the choice is made) · ln(number of equally likely possibilities)
//! ```
//!
//! Which choices are made depends on what came before only through which slots are filled, and,
//! where a [`Node::Case`] asks, with what. So it is enough to carry, from left to right, the
//! probability of each such state; there are few.

use super::grammar::{Grammar, Node, Word};
use std::collections::BTreeMap;

/// The entropy and the length of a story.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entropy {
    /// Nats per story: the mean of −ln p.
    pub per_story: f64,
    /// Words per story, punctuation marks included: the mean.
    pub words: f64,
}

impl Entropy {
    /// Nats per word: the entropy bound of a language model's loss. The end of a story is not
    /// counted as a word. It costs nothing, as no story is a prefix of another.
    pub fn per_word(&self) -> f64 {
        self.per_story / self.words
    }
}

/// What is known of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    Empty,
    /// Filled; each value is as likely as any other.
    Filled,
    /// Filled with this.
    Value(usize),
}

/// The probability of each state; a map with an order, so that sums have the same bits every time.
type States = BTreeMap<Vec<Known>, f64>;

/// The entropy of the texts of `node`.
pub(super) fn entropy(grammar: &Grammar, node: &Node) -> Entropy {
    let mut walk = Walk { grammar, total: Entropy { per_story: 0.0, words: 0.0 } };
    walk.through(node, States::from([(vec![Known::Empty; grammar.slots.len()], 1.0)]));
    walk.total
}

struct Walk<'a> {
    grammar: &'a Grammar,
    total: Entropy,
}

impl Walk<'_> {
    fn through(&mut self, node: &Node, states: States) -> States {
        match node {
            Node::Word(_) => {
                self.total.words += states.values().sum::<f64>();
                states
            }
            Node::Sequence(nodes) => {
                nodes.iter().fold(states, |states, node| self.through(node, states))
            }
            Node::Choice(nodes) => {
                let n = nodes.len() as f64;
                self.total.per_story += states.values().sum::<f64>() * n.ln();
                let share: States = states.into_iter().map(|(state, p)| (state, p / n)).collect();
                let mut after = States::new();
                for node in nodes {
                    add(&mut after, self.through(node, share.clone()));
                }
                after
            }
            Node::Slot { slot, phrases } => self.slot(*slot, phrases, states),
            Node::Case(slot, nodes) => self.case(*slot, nodes, states),
        }
    }

    fn slot(&mut self, slot: usize, phrases: &[Vec<Word>], states: States) -> States {
        let mean = phrases.iter().map(Vec::len).sum::<usize>() as f64 / phrases.len() as f64;
        let mut after = States::new();
        for (mut state, p) in states {
            self.fill(slot, &state, p);
            match state[slot] {
                Known::Value(value) => self.total.words += p * phrases[value].len() as f64,
                Known::Empty | Known::Filled => {
                    self.total.words += p * mean;
                    state[slot] = Known::Filled;
                }
            }
            *after.entry(state).or_default() += p;
        }
        after
    }

    fn case(&mut self, slot: usize, nodes: &[Node], states: States) -> States {
        // A slot that must differ from others would not be uniform once one of those is known.
        assert_eq!(
            self.grammar.rivals(slot, |_| true),
            1,
            "a case asks for a slot with a table of its own"
        );
        let mut by_value = vec![States::new(); nodes.len()];
        for (mut state, p) in states {
            self.fill(slot, &state, p);
            match state[slot] {
                Known::Value(value) => *by_value[value].entry(state).or_default() += p,
                Known::Empty | Known::Filled => {
                    for (value, states) in by_value.iter_mut().enumerate() {
                        state[slot] = Known::Value(value);
                        *states.entry(state.clone()).or_default() += p / nodes.len() as f64;
                    }
                }
            }
        }
        let mut after = States::new();
        for (node, states) in nodes.iter().zip(by_value).filter(|(_, states)| !states.is_empty()) {
            add(&mut after, self.through(node, states));
        }
        after
    }

    /// Counts the entropy of filling a slot, if it is empty.
    fn fill(&mut self, slot: usize, state: &[Known], p: f64) {
        if state[slot] == Known::Empty {
            let taken = self.grammar.rivals(slot, |other| state[other] != Known::Empty);
            self.total.per_story += p * ((self.grammar.slots[slot].values - taken) as f64).ln();
        }
    }
}

fn add(to: &mut States, from: States) {
    for (state, p) in from {
        *to.entry(state).or_default() += p;
    }
}
