//! Two naive translators, to see what a model's score is worth.
//!
//! Word for word: a dictionary learnt from the training pairs by IBM Model 1 (Brown et al. 1993), each word replaced where it
//! stands. Nearest sentence: the translation of the training sentence that shares the most, and the rarest, words.

use std::collections::{BTreeMap, HashMap};

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

fn is_punctuation(word: &str) -> bool {
    matches!(word, "." | "," | ";" | ":" | "!" | "?")
}

/// Puts words together again.
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

/// Numbers for words.
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

/// Replaces each word by its likeliest translation.
pub struct WordForWord {
    best: HashMap<String, String>,
}

impl WordForWord {
    /// Learns a dictionary from (source, target) pairs: five rounds of expectation-maximisation over t(target | source).
    pub fn learn<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let (mut sources, mut targets) = (Numbers::default(), Numbers::default());
        let pairs: Vec<(Vec<u32>, Vec<u32>)> = pairs
            .into_iter()
            .map(|(s, t)| {
                // Punctuation translates itself; left in, it would look like a translation of "the".
                let of = |text| words(text).into_iter().filter(|word| !is_punctuation(word));
                let s = of(s).map(|w| sources.id(w)).collect();
                (s, of(t).map(|w| targets.id(w)).collect())
            })
            .collect();
        // t(target | source), sparse: only words that were ever seen together. BTreeMaps keep the order of sums fixed.
        let mut table: Vec<BTreeMap<u32, f64>> = vec![BTreeMap::new(); sources.words.len()];
        for (s, t) in &pairs {
            s.iter().for_each(|s| t.iter().for_each(|t| _ = table[*s as usize].insert(*t, 1.0)));
        }
        for _ in 0..5 {
            let mut counts: Vec<BTreeMap<u32, f64>> = vec![BTreeMap::new(); sources.words.len()];
            for (s, t) in &pairs {
                for t in t {
                    let total: f64 = s.iter().map(|s| table[*s as usize][t]).sum();
                    for s in s {
                        *counts[*s as usize].entry(*t).or_default() += table[*s as usize][t] / total;
                    }
                }
            }
            for row in &mut counts {
                let total: f64 = row.values().sum();
                row.values_mut().for_each(|count| *count /= total);
            }
            table = counts;
        }
        let likeliest =
            |row: &BTreeMap<u32, f64>| row.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(t, _)| *t);
        let best = table.iter().enumerate().filter_map(|(s, row)| {
            let target = likeliest(row)?;
            Some((sources.words[s].clone(), targets.words[target as usize].clone()))
        });
        Self { best: best.collect() }
    }

    /// The translation, word by word; what is not in the dictionary stays.
    pub fn translate(&self, text: &str) -> String {
        let source = words(text);
        let target: Vec<&str> =
            source.iter().map(|word| self.best.get(word).unwrap_or(word).as_str()).collect();
        join(&target)
    }
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
            let mut unique = words(source);
            unique.sort_unstable();
            unique.dedup();
            unique.iter().for_each(|word| places.entry(word.clone()).or_default().push(i as u32));
            all_words.push(unique);
        }
        let n = targets.len();
        let weight = |word: &String| (n as f64 / places[word].len() as f64).ln().powi(2);
        let lengths = all_words.iter().map(|words| words.iter().map(weight).sum::<f64>().sqrt()).collect();
        Self { targets, places, lengths }
    }

    /// The target of the sentence with the largest cosine of rarity-weighted words; of equals, the first.
    pub fn translate(&self, text: &str) -> String {
        let mut scores: HashMap<u32, f64> = HashMap::new();
        let mut unique = words(text);
        unique.sort_unstable();
        unique.dedup();
        for word in unique {
            let Some(places) = self.places.get(&word) else { continue };
            let weight = (self.targets.len() as f64 / places.len() as f64).ln().powi(2);
            places.iter().for_each(|i| *scores.entry(*i).or_default() += weight);
        }
        let cosine =
            |(i, score): (&u32, &f64)| (score / self.lengths[*i as usize].max(1e-9), std::cmp::Reverse(*i));
        let best = scores.iter().map(cosine).max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        best.map_or(String::new(), |(_, i)| self.targets[i.0 as usize].to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIRS: [(&str, &str); 4] = [
        ("Le chat dort.", "The cat sleeps."),
        ("Le chien dort.", "The dog sleeps."),
        ("Le chat mange.", "The cat eats."),
        ("La souris mange.", "The mouse eats."),
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
}
