//! What is known of a text: its probability, and the best guesses of a masked word.

use super::entropy::{self, Entropy};
use super::grammar::{self, Grammar, Node, Word, is_mark};
use super::read::{Seen, Way, read};
use super::{TREE, write};
use limpid_tensor::rng::Stream;
use std::collections::BTreeMap;

/// The words and marks of a text, as the word tokenizer cuts them (without its ▁).
pub fn words(text: &str) -> Vec<&str> {
    grammar::split(text)
}

/// The natural logarithm of the probability that [`story`](super::story) writes this text; `None` if it never does.
pub fn log_probability(text: &str) -> Option<f64> {
    total(&TREE.grammar, &TREE.story, &seen(&TREE.grammar, &words(text))).map(f64::ln)
}

/// The exact mean of −ln p, and of the number of words.
pub fn entropy() -> Entropy {
    entropy::entropy(&TREE.grammar, &TREE.story)
}

/// The summary that belongs to a story, read from its text alone; `None` if it is not one of ours.
pub fn summarize(text: &str) -> Option<String> {
    let tree = &*TREE;
    let mut found = None;
    read(&tree.grammar, &tree.story, &seen(&tree.grammar, &words(text)), &mut |way: Way| {
        found = Some(way.filled.clone());
    });
    // Nothing is drawn, so any stream will do.
    let summary = write::write(&tree.grammar, &tree.summary, &mut found?, &mut Stream::new(0, 0));
    Some(tree.grammar.text(&summary))
}

/// A word that could stand in place of a masked one.
#[derive(Clone, Debug, PartialEq)]
pub struct Guess {
    /// The word.
    pub word: String,
    /// Its probability, given all other words.
    pub probability: f64,
}

/// Every word that can stand at place `i` of [`words`]`(text)`, with its probability given all the others; the likeliest first, of
/// equals the first in the alphabet. Empty if the rest is not from a story.
///
/// # Panics
/// If there is no word `i`.
#[track_caller]
pub fn masked(text: &str, i: usize) -> Vec<Guess> {
    let words = words(text);
    assert!(i < words.len(), "masked: there is no word {i} among {}", words.len());
    let mut seen = seen(&TREE.grammar, &words);
    seen[i] = Seen::Hole;
    let by_word = fillers(&TREE.grammar, &TREE.story, &seen);
    let mut guesses: Vec<Guess> = by_word
        .into_iter()
        .map(|(word, probability)| Guess { word: TREE.grammar.words[word as usize].clone(), probability })
        .collect();
    guesses.sort_by(|a, b| b.probability.total_cmp(&a.probability).then_with(|| a.word.cmp(&b.word)));
    guesses
}

/// The best accuracy that any guesser of one masked word at a time can have on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaskedCeiling {
    /// Places, over all texts.
    pub positions: usize,
    /// The mean over all places of the largest probability of a word given the rest.
    pub accuracy: f64,
    /// Places with a word, not a mark.
    pub word_positions: usize,
    /// The mean over the places with a word.
    pub word_accuracy: f64,
}

/// The ceiling on these stories. Places of texts that are not stories count as unguessable.
pub fn ceiling<'a>(texts: impl IntoIterator<Item = &'a str>) -> MaskedCeiling {
    let (mut n, mut sum, mut word_n, mut word_sum) = (0, 0.0, 0, 0.0);
    for text in texts {
        for (i, word) in words(text).into_iter().enumerate() {
            let best = masked(text, i).first().map_or(0.0, |guess| guess.probability);
            (n, sum) = (n + 1, sum + best);
            if !is_mark(word) {
                (word_n, word_sum) = (word_n + 1, word_sum + best);
            }
        }
    }
    let mean = |sum: f64, n: usize| sum / n.max(1) as f64;
    MaskedCeiling {
        positions: n,
        accuracy: mean(sum, n),
        word_positions: word_n,
        word_accuracy: mean(word_sum, word_n),
    }
}

/// Words as the reader takes them.
pub(super) fn seen(grammar: &Grammar, words: &[&str]) -> Vec<Seen> {
    words.iter().map(|word| grammar.id(word).map_or(Seen::Unknown, Seen::Word)).collect()
}

/// The sum over all ways to write a text.
pub(super) fn total(grammar: &Grammar, node: &Node, text: &[Seen]) -> Option<f64> {
    let mut sum = 0.0;
    read(grammar, node, text, &mut |way| sum += way.probability);
    (sum > 0.0).then_some(sum)
}

/// The probability of each word in the hole, given the rest.
pub(super) fn fillers(grammar: &Grammar, node: &Node, text: &[Seen]) -> BTreeMap<Word, f64> {
    let mut by_word = BTreeMap::new();
    read(grammar, node, text, &mut |way| {
        *by_word.entry(way.filler.expect("the text has a hole")).or_default() += way.probability;
    });
    let total: f64 = by_word.values().sum();
    by_word.values_mut().for_each(|p| *p /= total);
    by_word
}
