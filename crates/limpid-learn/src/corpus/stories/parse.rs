//! Parsing: every derivation of a text by the grammar, with its probability.
//!
//! A depth-first search through the tree. A word that does not match ends a branch at once, so
//! nearly all end within a word or two. One position of the text may be masked and match any word:
//! the sums of the probabilities by the word there are the posterior of a masked word.

use super::grammar::{Filled, Grammar, Node, Word};

/// A word of a text; one that the grammar does not have matches nothing.
#[derive(Clone, Copy)]
pub(super) enum Token {
    Word(Word),
    Unknown,
    Masked,
}

/// One derivation of a text.
pub(super) struct Derivation<'a> {
    pub probability: f64,
    /// The word at the masked position.
    pub masked_word: Option<Word>,
    pub filled: &'a Filled,
}

/// Calls `found` for every derivation of exactly this text from `node`.
pub(super) fn parse(
    grammar: &Grammar,
    node: &Node,
    text: &[Token],
    found: &mut dyn FnMut(Derivation),
) {
    run(grammar, node, text, Extent::Whole, found);
}

/// Calls `found` for every derivation of a text that begins with these tokens, as far as they go.
/// If the last is masked, a text that ends before it is found without a word there. The
/// probability is that of the choices so far: those that are left sum to 1.
pub(super) fn parse_beginning(
    grammar: &Grammar,
    node: &Node,
    text: &[Token],
    found: &mut dyn FnMut(Derivation),
) {
    run(grammar, node, text, Extent::Beginning, found);
}

/// How much of a text is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Whole,
    Beginning,
}

fn run(
    grammar: &Grammar,
    node: &Node,
    text: &[Token],
    extent: Extent,
    found: &mut dyn FnMut(Derivation),
) {
    let filled = vec![None; grammar.slots.len()];
    let mut parser = Parser { grammar, text, extent, filled, masked_word: None, found };
    parser.parse(Rest { nodes: std::slice::from_ref(node), then: None }, 0, 1.0);
}

/// What must still match: these nodes, then those of the outer sequences.
#[derive(Clone, Copy)]
struct Rest<'a> {
    nodes: &'a [Node],
    then: Option<&'a Rest<'a>>,
}

struct Parser<'a> {
    grammar: &'a Grammar,
    text: &'a [Token],
    extent: Extent,
    filled: Filled,
    masked_word: Option<Word>,
    found: &'a mut dyn FnMut(Derivation),
}

impl Parser<'_> {
    /// Matches the rest from word `at` on, reached with this probability.
    fn parse(&mut self, mut rest: Rest, mut at: usize, probability: f64) {
        let before = self.masked_word;
        // Words are a loop, not a recursion: they are most of the nodes.
        let node = loop {
            if self.extent == Extent::Beginning && at == self.text.len() {
                self.report(probability);
                self.masked_word = before;
                return;
            }
            let Some((first, others)) = rest.nodes.split_first() else {
                let Some(outer) = rest.then else {
                    // A beginning whose last token would follow the end.
                    let end = match (self.extent, self.text.last()) {
                        (Extent::Beginning, Some(Token::Masked)) => self.text.len() - 1,
                        _ => self.text.len(),
                    };
                    if at == end {
                        self.report(probability);
                    }
                    self.masked_word = before;
                    return;
                };
                rest = *outer;
                continue;
            };
            rest.nodes = others;
            let Node::Word(word) = first else { break first };
            if !self.fits(&[*word], &mut at) {
                self.masked_word = before;
                return;
            }
        };
        match node {
            Node::Word(_) => unreachable!("words are matched in the loop"),
            Node::Sequence(nodes) => self.parse(Rest { nodes, then: Some(&rest) }, at, probability),
            Node::Choice(nodes) => {
                let each = probability / nodes.len() as f64;
                for node in nodes {
                    self.parse(
                        Rest { nodes: std::slice::from_ref(node), then: Some(&rest) },
                        at,
                        each,
                    );
                }
            }
            Node::Slot { slot, phrases } => {
                self.for_each_value(*slot, probability, |parser, value, p| {
                    let (mut at, before) = (at, parser.masked_word);
                    if parser.fits(&phrases[value], &mut at) {
                        parser.parse(rest, at, p);
                    }
                    parser.masked_word = before;
                })
            }
            Node::Case(slot, nodes) => {
                self.for_each_value(*slot, probability, |parser, value, p| {
                    parser.parse(
                        Rest { nodes: std::slice::from_ref(&nodes[value]), then: Some(&rest) },
                        at,
                        p,
                    );
                })
            }
        }
        self.masked_word = before;
    }

    fn report(&mut self, probability: f64) {
        let (masked_word, filled) = (self.masked_word, &self.filled);
        (self.found)(Derivation { probability, masked_word, filled });
    }

    /// The value of the slot, or every value it could have.
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

    /// Whether these words are at `at`, which then moves past them.
    fn fits(&mut self, words: &[Word], at: &mut usize) -> bool {
        for word in words {
            match self.text.get(*at) {
                Some(Token::Word(tokens)) if tokens == word => {}
                Some(Token::Masked) => self.masked_word = Some(*word),
                // The rest of a phrase follows the beginning.
                None if self.extent == Extent::Beginning => return true,
                _ => return false,
            }
            *at += 1;
        }
        true
    }
}
