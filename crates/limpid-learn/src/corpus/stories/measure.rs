//! Exact inference on a text: its probability, and the posterior of a masked word.

use super::entropy::{self, Entropy};
use super::grammar::{self, Grammar, Node, Word, is_mark};
use super::parse::{Derivation, Token, parse, parse_beginning};
use super::{TREE, sample};
use limpid_tensor::rng::Stream;
use std::collections::BTreeMap;

/// The words and punctuation marks of a text, as the word tokenizer splits them (without its ▁).
pub fn words(text: &str) -> Vec<&str> {
    grammar::split(text)
}

/// The natural logarithm of the probability that [`story`](super::story) generates this text;
/// `None` if it never does.
pub fn log_probability(text: &str) -> Option<f64> {
    total(&TREE.grammar, &TREE.story, &tokens(&TREE.grammar, &words(text))).map(f64::ln)
}

/// The exact mean of −ln p, and of the number of words.
pub fn entropy() -> Entropy {
    entropy::entropy(&TREE.grammar, &TREE.story)
}

/// The summary of a story, from its text alone; `None` if it is not a built-in story.
pub fn summarize(text: &str) -> Option<String> {
    let tree = &*TREE;
    let mut found = None;
    parse(
        &tree.grammar,
        &tree.story,
        &tokens(&tree.grammar, &words(text)),
        &mut |way: Derivation| {
            found = Some(way.filled.clone());
        },
    );
    // Nothing is sampled, so any stream will do.
    let summary = sample::sample(&tree.grammar, &tree.summary, &mut found?, &mut Stream::new(0, 0));
    Some(tree.grammar.text(&summary))
}

/// A possible word at a masked position.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The word.
    pub word: String,
    /// Its probability given all other words.
    pub probability: f64,
}

/// The posterior of word `i` of [`words`]`(text)` given all the others, most likely first, of
/// equals in alphabetical order. Empty if the other words are not from a story.
///
/// # Panics
/// If there is no word `i`.
#[track_caller]
pub fn masked(text: &str, i: usize) -> Vec<Candidate> {
    let words = words(text);
    assert!(i < words.len(), "masked: there is no word {i} among {}", words.len());
    let mut tokens = tokens(&TREE.grammar, &words);
    tokens[i] = Token::Masked;
    let by_word = candidates(&TREE.grammar, &TREE.story, &tokens);
    let mut guesses: Vec<Candidate> = by_word
        .into_iter()
        .map(|(word, probability)| Candidate {
            word: TREE.grammar.words[word as usize].clone(),
            probability,
        })
        .collect();
    guesses
        .sort_by(|a, b| b.probability.total_cmp(&a.probability).then_with(|| a.word.cmp(&b.word)));
    guesses
}

/// What may follow the beginning of a story.
#[derive(Clone, Debug, PartialEq)]
pub struct NextWord {
    /// The word; `None` for the end of the story.
    pub word: Option<String>,
    /// Its probability given the beginning.
    pub probability: f64,
}

/// The exact distribution of the next word after the words of `text`, most likely first, of equals
/// in alphabetical order. Empty if no story begins so.
///
/// ```
/// use limpid_learn::corpus::stories::next_words;
///
/// let next = next_words("Once there was");
/// assert_eq!(next[0].word.as_deref(), Some("a"));
/// assert!((next.iter().map(|next| next.probability).sum::<f64>() - 1.0).abs() < 1e-12);
/// assert!(next_words("Once there once").is_empty());
/// ```
pub fn next_words(text: &str) -> Vec<NextWord> {
    let mut tokens = tokens(&TREE.grammar, &words(text));
    tokens.push(Token::Masked);
    let mut by_word: BTreeMap<Option<Word>, f64> = BTreeMap::new();
    parse_beginning(&TREE.grammar, &TREE.story, &tokens, &mut |way| {
        *by_word.entry(way.masked_word).or_default() += way.probability;
    });
    let total: f64 = by_word.values().sum();
    let named = |(word, probability): (Option<Word>, f64)| NextWord {
        word: word.map(|word| TREE.grammar.words[word as usize].clone()),
        probability: probability / total,
    };
    let mut next: Vec<NextWord> = by_word.into_iter().map(named).collect();
    next.sort_by(|a, b| b.probability.total_cmp(&a.probability).then_with(|| a.word.cmp(&b.word)));
    next
}

/// As [`masked`], of the beginning of a story: the words after the last are not known.
///
/// # Panics
/// If there is no word `i`.
#[track_caller]
pub fn masked_beginning(text: &str, i: usize) -> Vec<Candidate> {
    let words = words(text);
    assert!(i < words.len(), "masked: there is no word {i} among {}", words.len());
    let mut tokens = tokens(&TREE.grammar, &words);
    tokens[i] = Token::Masked;
    let mut by_word: BTreeMap<Word, f64> = BTreeMap::new();
    parse_beginning(&TREE.grammar, &TREE.story, &tokens, &mut |way| {
        if let Some(word) = way.masked_word {
            *by_word.entry(word).or_default() += way.probability;
        }
    });
    let total: f64 = by_word.values().sum();
    let named = |(word, probability): (Word, f64)| Candidate {
        word: TREE.grammar.words[word as usize].clone(),
        probability: probability / total,
    };
    let mut found: Vec<Candidate> = by_word.into_iter().map(named).collect();
    found.sort_by(|a, b| b.probability.total_cmp(&a.probability).then_with(|| a.word.cmp(&b.word)));
    found
}

/// The ceiling of the accuracy on one masked word at a time: no model has a higher expectation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaskedCeiling {
    /// Positions, over all texts.
    pub positions: usize,
    /// The mean over all positions of the largest probability of a word given the others.
    pub accuracy: f64,
    /// Positions with a word, not a punctuation mark.
    pub word_positions: usize,
    /// The mean over the positions with a word.
    pub word_accuracy: f64,
}

/// The ceiling on these stories. Positions of texts that are not stories count as 0.
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

/// Words as the parser takes them.
pub(super) fn tokens(grammar: &Grammar, words: &[&str]) -> Vec<Token> {
    words.iter().map(|word| grammar.id(word).map_or(Token::Unknown, Token::Word)).collect()
}

/// The sum over all derivations of a text.
pub(super) fn total(grammar: &Grammar, node: &Node, text: &[Token]) -> Option<f64> {
    let mut sum = 0.0;
    parse(grammar, node, text, &mut |way| sum += way.probability);
    (sum > 0.0).then_some(sum)
}

/// The probability of each word at the masked position, given the others.
pub(super) fn candidates(grammar: &Grammar, node: &Node, text: &[Token]) -> BTreeMap<Word, f64> {
    let mut by_word = BTreeMap::new();
    parse(grammar, node, text, &mut |way| {
        *by_word.entry(way.masked_word.expect("the text has a hole")).or_default() +=
            way.probability;
    });
    let total: f64 = by_word.values().sum();
    by_word.values_mut().for_each(|p| *p /= total);
    by_word
}
