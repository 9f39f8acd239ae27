//! Text for unit tests: sentences of English and French words, the same on every run.

use limpid_tensor::rng::Stream;

const STEMS: &str = "dog sleep garden étudiant maison river walk quiet fenêtre book winter chanter \
    light table forêt travel letter jardin stone hiver paint bread lumière bridge";
const ENDINGS: [&str; 12] =
    ["", "s", "ing", "ed", "er", "ment", "aient", "ful", "less", "ly", "'s", "-ci"];
const SMALL: [&str; 8] = ["the", "a", "le", "une", "of", "dans", "is", "très"];

/// `count` sentences of three to ten words. Frequent words are frequent, rare ones rare.
pub(crate) fn sentences(count: usize, seed: u64) -> Vec<String> {
    let mut random = Stream::new(seed, 7);
    let mut below = |n: usize| random.below(n);
    let stems: Vec<&str> = STEMS.split(' ').collect();
    let mut all = vec!["The dog sleeps.".to_string()];
    while all.len() < count {
        let words: Vec<String> = (0..3 + below(8))
            .map(|i| match i % 2 {
                0 => SMALL[below(SMALL.len())].to_string(),
                // The smaller of two numbers prefers the first stems and endings.
                _ => {
                    let stem = stems[below(stems.len()).min(below(stems.len()))];
                    format!("{stem}{}", ENDINGS[below(ENDINGS.len()).min(below(ENDINGS.len()))])
                }
            })
            .collect();
        let sentence = words.join(" ");
        let (first, rest) = sentence.split_at(1);
        all.push(format!("{}{rest}{}", first.to_uppercase(), [".", "?", "!", ", yes."][below(4)]));
    }
    all
}
