//! The initial pieces of Unigram: the frequent substrings of words.
//!
//! Repeated substrings are found by sorting all suffixes of words: those with a common prefix are
//! neighbours.
//!
//! ```text
//! ▁lower ▁low   suffixes:  er  low  lower  ow  ower  r  w  wer  ▁low  ▁lower
//!                          ow is the common prefix of "ow" and "ower"
//! ```

/// The longest piece, in characters.
pub(super) const LONGEST: usize = 16;
/// The most initial pieces.
const MOST: usize = 1_000_000;

/// A substring: characters `start..start + len` of word `word`, and its count over all words.
#[derive(Clone, Copy)]
struct Part {
    word: u32,
    start: u32,
    len: u32,
    weight: u64,
}

/// Substrings of two to [`LONGEST`] characters that occur at least `least` times, by the text they
/// cover, ties in character order. A word is a sequence of character numbers with a count;
/// substrings do not span [`super::lattice::GAP`].
pub(super) fn substrings(words: &[(Vec<u32>, u64)], least: u64) -> Vec<(Vec<u32>, u64)> {
    let suffixes = sorted_suffixes(words);
    let text = |part: &Part| {
        &words[part.word as usize].0[part.start as usize..(part.start + part.len) as usize]
    };
    let mut found: Vec<Part> = Vec::new();
    let mut keep = |part: Part| {
        if part.len >= 2 && part.weight >= least {
            found.push(part);
        }
    };
    // Open prefixes: each longer than the one below it, all prefixes of the current suffix.
    let mut open: Vec<Part> = Vec::new();
    for (i, suffix) in suffixes.iter().enumerate() {
        let shared = match suffixes.get(i + 1) {
            Some(next) => {
                text(suffix).iter().zip(text(next)).take_while(|(a, b)| a == b).count() as u32
            }
            None => 0,
        };
        // A suffix that is no prefix of the next is complete here, with its own weight alone.
        let mut weight = suffix.weight;
        if suffix.len > shared && suffix.len > open.last().map_or(0, |part| part.len) {
            keep(*suffix);
        }
        while let Some(part) = open.last_mut() {
            if part.len <= shared {
                break;
            }
            weight += part.weight;
            keep(Part { weight, ..*part });
            open.pop();
        }
        match open.last_mut() {
            Some(part) if part.len == shared => part.weight += weight,
            _ if shared > 0 => open.push(Part { len: shared, weight, ..*suffix }),
            _ => {}
        }
    }
    found.sort_by(|a, b| {
        let covered = |part: &Part| part.weight * u64::from(part.len);
        covered(b).cmp(&covered(a)).then_with(|| text(a).cmp(text(b)))
    });
    found.truncate(MOST);
    found.iter().map(|part| (text(part).to_vec(), part.weight)).collect()
}

/// All suffixes of words, truncated to the longest piece and to the next gap, in character order;
/// equal ones as one, with the sum of their counts.
fn sorted_suffixes(words: &[(Vec<u32>, u64)]) -> Vec<Part> {
    let mut suffixes = Vec::new();
    for (w, (word, count)) in words.iter().enumerate() {
        for start in 0..word.len() {
            let len = word[start..]
                .iter()
                .take(LONGEST)
                .take_while(|c| **c != super::lattice::GAP)
                .count();
            suffixes.push(Part {
                word: w as u32,
                start: start as u32,
                len: len as u32,
                weight: *count,
            });
        }
    }
    let text = |part: &Part| {
        &words[part.word as usize].0[part.start as usize..(part.start + part.len) as usize]
    };
    // Unstable is enough: equal suffixes become one.
    suffixes.sort_unstable_by(|a, b| text(a).cmp(text(b)));
    suffixes.dedup_by(|next, kept| {
        let same = text(next) == text(kept);
        if same {
            kept.weight += next.weight;
            // Which of the equals represents them must not depend on the sort.
            if (next.word, next.start) < (kept.word, kept.start) {
                (kept.word, kept.start) = (next.word, next.start);
            }
        }
        same
    });
    suffixes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// All substrings, counted one by one.
    fn naive(words: &[(Vec<u32>, u64)]) -> BTreeMap<Vec<u32>, u64> {
        let mut counts = BTreeMap::new();
        for (word, count) in words {
            for start in 0..word.len() {
                for end in start + 2..=word.len().min(start + LONGEST) {
                    *counts.entry(word[start..end].to_vec()).or_default() += count;
                }
            }
        }
        counts
    }

    #[test]
    fn substrings_have_their_counts_and_what_is_missing_is_always_followed_by_the_same_character() {
        let texts = ["abcabcab", "abc", "bcabca", "aaaaaaaaaaaaaaaaaaaaaaaa", "xyz", "zyxabc", "b"];
        let words: Vec<(Vec<u32>, u64)> = texts
            .iter()
            .enumerate()
            .map(|(i, w)| (w.chars().map(|c| c as u32).collect(), 1 + i as u64 % 3))
            .collect();
        let found = substrings(&words, 1);
        let naive = naive(&words);
        let in_found: BTreeMap<Vec<u32>, u64> = found.iter().cloned().collect();
        assert_eq!(in_found.len(), found.len(), "no substring twice");
        for (text, count) in &found {
            assert_eq!(naive.get(text), Some(count), "{text:?}");
        }
        // A substring that is left out adds nothing: a longer one occurs exactly as often.
        for (text, count) in naive.iter().filter(|(text, _)| !in_found.contains_key(*text)) {
            assert!(
                naive
                    .iter()
                    .any(|(t, c)| t.len() > text.len() && t.starts_with(text) && c == count),
                "{text:?}"
            );
        }
        assert!(
            found.windows(2).all(|f| f[0].0.len() as u64 * f[0].1 >= f[1].0.len() as u64 * f[1].1)
        );
        assert!(substrings(&words, 5).iter().all(|(_, count)| *count >= 5));
    }
}
