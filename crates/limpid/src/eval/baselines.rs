//! Baselines for translation and summarization.
//!
//! Word for word: a dictionary learned from the training pairs by IBM Model 1 (Brown et al. 1993),
//! each word replaced in place. Nearest sentence: the translation of the training sentence with the
//! largest TF-IDF cosine. Lead sentence: the first sentence of a text as its summary.
//!
//! ```
//! use limpid::eval::baselines::{NearestSentence, WordForWord};
//!
//! let pairs = [("le chat", "the cat"), ("le chien", "the dog"), ("un chat dort", "a cat sleeps")];
//! assert_eq!(WordForWord::learn(pairs).translate("le chien"), "The dog");
//! assert_eq!(NearestSentence::new(pairs).translate("il dort"), "a cat sleeps");
//! ```

use std::collections::{BTreeSet, HashMap};

/// Splits on spaces, with punctuation apart, so that "chat." and "chat" are one word.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for piece in text.split_whitespace() {
        let end = piece.trim_end_matches(['.', ',', ';', ':', '!', '?']).len();
        words.extend((end > 0).then(|| piece[..end].to_lowercase()));
        words.extend(piece[end..].chars().map(String::from));
    }
    words
}

fn unique_words(text: &str) -> BTreeSet<String> {
    words(text).into_iter().collect()
}

fn is_punctuation(word: &str) -> bool {
    matches!(word, "." | "," | ";" | ":" | "!" | "?")
}

/// Joins words into a sentence.
fn join(words: &[&str]) -> String {
    let mut text = String::new();
    for word in words {
        if !text.is_empty() && !is_punctuation(word) {
            text.push(' ');
        }
        text += word;
    }
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().collect::<String>() + letters.as_str(),
        None => text,
    }
}

/// Ids of words.
#[derive(Default)]
struct Numbers {
    ids: HashMap<String, u32>,
    words: Vec<String>,
}

impl Numbers {
    fn id(&mut self, word: String) -> u32 {
        *self.ids.entry(word).or_insert_with_key(|word| {
            self.words.push(word.clone());
            (self.words.len() - 1) as u32
        })
    }
}

/// Replaces each word by its most likely translation.
pub struct WordForWord {
    best: HashMap<String, String>,
}

impl WordForWord {
    /// Learns a dictionary from (source, target) pairs: five rounds of expectation-maximization
    /// over t(target | source).
    pub fn learn<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let (mut sources, mut targets) = (Numbers::default(), Numbers::default());
        let pairs: Vec<(Vec<u32>, Vec<u32>)> = pairs
            .into_iter()
            .map(|(s, t)| {
                // Punctuation translates itself; left in, it would look like a translation of
                // "the".
                let of = |text| words(text).into_iter().filter(|word| !is_punctuation(word));
                let s = of(s).map(|w| sources.id(w)).collect();
                (s, of(t).map(|w| targets.id(w)).collect())
            })
            .collect();
        let named = |(s, t): (u32, u32)| {
            (sources.words[s as usize].clone(), targets.words[t as usize].clone())
        };
        Self { best: model_1(&pairs).into_iter().map(named).collect() }
    }

    /// The translation, word by word; words that are not in the dictionary are copied.
    pub fn translate(&self, text: &str) -> String {
        let source = words(text);
        let target: Vec<&str> =
            source.iter().map(|word| self.best.get(word).unwrap_or(word).as_str()).collect();
        join(&target)
    }
}

/// IBM Model 1: the most likely target word of each source word, by expectation-maximization over
/// t(target | source).
///
/// Only words that were seen together have an entry. The entries of all sentences are numbered
/// once, so that a round is a walk over arrays, in a fixed order.
fn model_1(pairs: &[(Vec<u32>, Vec<u32>)]) -> Vec<(u32, u32)> {
    let seen = pairs.iter().flat_map(|(s, t)| s.iter().flat_map(|s| t.iter().map(|t| (*s, *t))));
    let mut entries: Vec<(u32, u32)> = seen.collect();
    entries.sort_unstable();
    entries.dedup();
    let entry = |s: u32, t: u32| entries.binary_search(&(s, t)).expect("every pair was listed");
    // For each sentence and each of its target words, the entries with all its source words.
    let places: Vec<Vec<usize>> = pairs
        .iter()
        .flat_map(|(s, t)| t.iter().map(|t| s.iter().map(|s| entry(*s, *t)).collect::<Vec<_>>()))
        .collect();
    let mut chances = vec![1.0_f64; entries.len()];
    for _ in 0..5 {
        let mut counts = vec![0.0; entries.len()];
        for places in &places {
            let total: f64 = places.iter().map(|e| chances[*e]).sum();
            places.iter().for_each(|e| counts[*e] += chances[*e] / total);
        }
        // Entries of one source word follow each other: they sum to 1.
        let mut first = 0;
        for row in entries.chunk_by(|a, b| a.0 == b.0) {
            let counts = &mut counts[first..first + row.len()];
            let total: f64 = counts.iter().sum();
            counts.iter_mut().for_each(|count| *count /= total);
            first += row.len();
        }
        chances = counts;
    }
    let mut first = 0;
    let likeliest = |row: &[(u32, u32)]| {
        let range = first..first + row.len();
        first = range.end;
        range.max_by(|a, b| chances[*a].total_cmp(&chances[*b])).map(|e| entries[e])
    };
    entries.chunk_by(|a, b| a.0 == b.0).filter_map(likeliest).collect()
}

/// Gives the translation of the most similar training sentence.
pub struct NearestSentence<'a> {
    targets: Vec<&'a str>,
    /// For each word, the sentences that contain it.
    places: HashMap<String, Vec<u32>>,
    /// Length of each sentence's vector.
    lengths: Vec<f64>,
}

impl<'a> NearestSentence<'a> {
    /// Indexes (source, target) pairs.
    pub fn new(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let (mut targets, mut places) = (Vec::new(), HashMap::<String, Vec<u32>>::new());
        let mut all_words = Vec::new();
        for (i, (source, target)) in pairs.into_iter().enumerate() {
            targets.push(target);
            let unique = unique_words(source);
            unique.iter().for_each(|word| places.entry(word.clone()).or_default().push(i as u32));
            all_words.push(unique);
        }
        let n = targets.len();
        let weight = |word: &String| (n as f64 / places[word].len() as f64).ln().powi(2);
        let lengths =
            all_words.iter().map(|words| words.iter().map(weight).sum::<f64>().sqrt()).collect();
        Self { targets, places, lengths }
    }

    /// The target of the sentence with the largest cosine of rarity-weighted words; of equals, the
    /// first.
    pub fn translate(&self, text: &str) -> String {
        let mut scores = vec![0.0; self.targets.len()];
        for word in unique_words(text) {
            let Some(places) = self.places.get(&word) else { continue };
            let weight = (self.targets.len() as f64 / places.len() as f64).ln().powi(2);
            places.iter().for_each(|i| scores[*i as usize] += weight);
        }
        let cosine = |i: usize| scores[i] / self.lengths[i].max(1e-9);
        // From the back, as `max_by` gives the last of equals.
        let found = (0..scores.len()).rev().filter(|i| scores[*i] > 0.0);
        let best = found.max_by(|a, b| cosine(*a).total_cmp(&cosine(*b)));
        best.map_or(String::new(), |i| self.targets[i].to_string())
    }
}

/// The first sentence of a text: up to its first `.`, `!` or `?` that ends a word; all of it if
/// there is none.
pub fn lead_sentence(text: &str) -> &str {
    let text = text.trim();
    let ends = text.match_indices(['.', '!', '?']).map(|(i, _)| i + 1);
    let mut ends = ends.filter(|end| text[*end..].chars().next().is_none_or(char::is_whitespace));
    ends.next().map_or(text, |end| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIRS: [(&str, &str); 5] = [
        ("Le chat dort.", "The cat sleeps."),
        ("Le chien dort.", "The dog sleeps."),
        ("Le chat mange.", "The cat eats."),
        ("La souris mange.", "The mouse eats."),
        ("La fleur dort.", "The flower sleeps."),
    ];

    #[test]
    fn a_dictionary_is_learnt_from_sentences_alone() {
        let baseline = WordForWord::learn(PAIRS);
        assert_eq!(baseline.translate("Le chien mange."), "The dog eats.");
        assert_eq!(baseline.translate("La souris zyx dort!"), "The mouse zyx sleeps!");
    }

    #[test]
    fn the_nearest_sentence_shares_the_rarest_words() {
        let baseline = NearestSentence::new(PAIRS);
        assert_eq!(baseline.translate("Le chien mange."), "The dog sleeps.");
        assert_eq!(baseline.translate("zyx"), "");
    }

    #[test]
    fn a_lead_sentence_ends_at_the_first_mark_that_ends_a_word() {
        for (text, lead) in [
            ("Ann lost a ball. Ben found it.", "Ann lost a ball."),
            (" Why? Nobody knows. ", "Why?"),
            ("It cost 3.50 and was sold. Then", "It cost 3.50 and was sold."),
            ("no end here", "no end here"),
            ("", ""),
        ] {
            assert_eq!(lead_sentence(text), lead);
        }
    }
}
