//! Byte pair encoding: the most frequent pair of adjacent symbols is merged into one, repeatedly
//! (Sennrich et al. 2016).
//!
//! ```text
//! l o w  l o w e r  n e w      counts: (l, o) 2, (o, w) 2, (e, w) 1 …
//! lo w   lo w e r   n e w      after merging (l, o)
//! low    low e r    n e w      after merging (lo, w)
//! ```
//!
//! Ties: of pairs with equal counts the one whose first symbol has the lower id, then the one whose
//! second has. Ids follow the order of learning, as in the `tokenizers` crate. WordPiece is learned
//! the same way, as in that crate, with `##` before symbols that continue a word; the original
//! scores pairs by likelihood, and its code was never published.

use super::count::Words;
use super::hash::FastMap;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

/// The symbols before the first merge.
pub(super) struct Alphabet {
    /// The symbols, in the order of their ids.
    pub symbols: Vec<String>,
    /// Prefix of a symbol that continues a word.
    pub prefix: &'static str,
}

impl Alphabet {
    /// All bytes as GPT-2's characters, in the order of those.
    pub fn bytes() -> Self {
        let symbols: BTreeSet<char> = (0..=255).map(byte_symbol).collect();
        Self { symbols: symbols.iter().map(char::to_string).collect(), prefix: "" }
    }

    /// The characters that are frequent enough, then, with the prefix, those that continue a word.
    pub fn with_prefix(prefix: &'static str, words: &Words, min_frequency: u64) -> Self {
        let first = words.alphabet(min_frequency);
        let later: BTreeSet<char> =
            words.words.iter().flat_map(|(word, _)| word.chars().skip(1)).collect();
        let later = later
            .into_iter()
            .filter(|c| first.binary_search(c).is_ok())
            .map(|c| format!("{prefix}{c}"));
        Self { symbols: first.iter().map(char::to_string).chain(later).collect(), prefix }
    }
}

/// GPT-2's character for a byte: itself if printable, else the next free one from U+0100.
pub(super) fn byte_symbol(byte: u8) -> char {
    let printable = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    if printable(byte) {
        return char::from(byte);
    }
    let unprintable_before = (0..byte).filter(|b| !printable(*b)).count() as u32;
    char::from_u32(0x100 + unprintable_before).expect("below U+0200")
}

/// A learned vocabulary and its merges.
pub(super) struct Merges {
    /// All tokens: reserved ones, the alphabet, then one per merge that made a new one.
    pub tokens: Vec<String>,
    /// The merged pairs, in order.
    pub merges: Vec<(String, String)>,
}

/// A character without a symbol: no merge spans it.
const GAP: u32 = u32::MAX;

/// Two adjacent symbols.
struct Pair {
    ids: (u32, u32),
    /// Their count over all words.
    count: u64,
    /// Words that contained the pair since it was last merged; some may no longer.
    words: Vec<u32>,
    /// Already a merge rule: the pair came back because another merge also produces one of its
    /// sides.
    is_rule: bool,
}

/// A count, the ids of the pair (lower first among equals), and its index in `pairs`.
type Candidate = (u64, Reverse<(u32, u32)>, u32);

struct Learner<'a> {
    counts: &'a [(String, u64)],
    words: Vec<Vec<u32>>,
    pairs: Vec<Pair>,
    index: FastMap<(u32, u32), u32>,
    /// Counts when they were pushed, largest first; a stale entry is corrected when it is popped.
    queue: BinaryHeap<Candidate>,
    /// Pairs whose count has grown and must be pushed again.
    grown: Vec<u32>,
}

/// Merges until there are `size` tokens, or no pair occurs `min_frequency` times.
pub(super) fn learn_merges(
    counts: &[(String, u64)],
    reserved: &[String],
    alphabet: &Alphabet,
    size: usize,
    min_frequency: u64,
    progress: &mut dyn FnMut(usize),
) -> Merges {
    let mut tokens: Vec<String> = reserved.iter().chain(&alphabet.symbols).cloned().collect();
    let mut ids: HashMap<String, u32> =
        tokens.iter().enumerate().map(|(id, token)| (token.clone(), id as u32)).collect();
    let mut merges = Vec::new();
    let mut learner = Learner::new(counts, &ids, alphabet.prefix);
    while tokens.len() < size {
        let Some(pair) = learner.most_frequent(min_frequency) else { break };
        let (a, b) = learner.pairs[pair as usize].ids;
        let (left, right) = (&tokens[a as usize], &tokens[b as usize]);
        let token = format!("{left}{}", right.strip_prefix(alphabet.prefix).unwrap_or(right));
        if reserved.contains(&token) {
            // A special token in the text is matched before any merge: this one would be dead.
            learner.forget(pair);
            continue;
        }
        if !learner.pairs[pair as usize].is_rule {
            merges.push((left.clone(), right.clone()));
        }
        let id = *ids.entry(token).or_insert_with_key(|token| {
            tokens.push(token.clone());
            (tokens.len() - 1) as u32
        });
        learner.merge(pair, id);
        if merges.len().is_multiple_of(256) {
            progress(tokens.len());
        }
    }
    Merges { tokens, merges }
}

impl<'a> Learner<'a> {
    fn new(counts: &'a [(String, u64)], ids: &HashMap<String, u32>, prefix: &str) -> Self {
        let symbol = |(i, c): (usize, char)| {
            let mut text = if i > 0 { prefix.to_string() } else { String::new() };
            text.push(c);
            ids.get(&text).copied().unwrap_or(GAP)
        };
        let words: Vec<Vec<u32>> =
            counts.iter().map(|(word, _)| word.chars().enumerate().map(symbol).collect()).collect();
        let mut learner = Self {
            counts,
            words: Vec::new(),
            pairs: Vec::new(),
            index: FastMap::default(),
            queue: BinaryHeap::new(),
            grown: Vec::new(),
        };
        for (w, word) in words.iter().enumerate() {
            word.windows(2).for_each(|pair| learner.add(pair[0], pair[1], w as u32));
        }
        learner.words = words;
        learner.push_grown();
        learner
    }

    /// Counts one more occurrence of a pair in word w.
    fn add(&mut self, a: u32, b: u32, w: u32) {
        if a == GAP || b == GAP {
            return;
        }
        let pairs = &mut self.pairs;
        let i = *self.index.entry((a, b)).or_insert_with(|| {
            pairs.push(Pair { ids: (a, b), count: 0, words: Vec::new(), is_rule: false });
            (pairs.len() - 1) as u32
        });
        let pair = &mut self.pairs[i as usize];
        pair.count += self.counts[w as usize].1;
        if pair.words.last() != Some(&w) {
            pair.words.push(w);
        }
        self.grown.push(i);
    }

    /// Counts one occurrence less of a pair in word w.
    fn remove(&mut self, a: u32, b: u32, w: u32) {
        if a != GAP && b != GAP {
            let i = self.index[&(a, b)];
            self.pairs[i as usize].count -= self.counts[w as usize].1;
        }
    }

    fn push_grown(&mut self) {
        let mut grown = std::mem::take(&mut self.grown);
        grown.sort_unstable();
        grown.dedup();
        for i in &grown {
            let pair = &self.pairs[*i as usize];
            self.queue.push((pair.count, Reverse(pair.ids), *i));
        }
        grown.clear();
        self.grown = grown;
    }

    /// The next pair to merge, if one is frequent enough.
    fn most_frequent(&mut self, min_frequency: u64) -> Option<u32> {
        loop {
            let (pushed, ids, i) = self.queue.pop()?;
            let count = self.pairs[i as usize].count;
            if count == pushed && count >= min_frequency {
                return Some(i);
            }
            // Lower by now: pushed again. Higher: a later entry has the new count.
            if count < pushed && count >= min_frequency {
                self.queue.push((count, ids, i));
            }
        }
    }

    /// Excludes a pair from merging.
    fn forget(&mut self, pair: u32) {
        self.pairs[pair as usize].count = 0;
        let (a, b) = self.pairs[pair as usize].ids;
        let words = std::mem::take(&mut self.pairs[pair as usize].words);
        // A gap between the two keeps the counts of the pairs around them right.
        for w in words {
            let mut word = std::mem::take(&mut self.words[w as usize]);
            let mut i = 0;
            while i + 1 < word.len() {
                if (word[i], word[i + 1]) == (a, b) {
                    word.insert(i + 1, GAP);
                }
                i += 1;
            }
            self.words[w as usize] = word;
        }
    }

    /// Replaces a pair by `new` in all words.
    fn merge(&mut self, pair: u32, new: u32) {
        let (a, b) = self.pairs[pair as usize].ids;
        self.pairs[pair as usize].is_rule = true;
        let words = std::mem::take(&mut self.pairs[pair as usize].words);
        for w in words {
            let mut word = std::mem::take(&mut self.words[w as usize]);
            let (mut read, mut write) = (0, 0);
            while read < word.len() {
                if word[read] != a || word.get(read + 1) != Some(&b) {
                    word[write] = word[read];
                    read += 1;
                    write += 1;
                    continue;
                }
                // Symbols before `write` are merged already, those from `read` on are not.
                self.remove(a, b, w);
                if write > 0 {
                    self.remove(word[write - 1], a, w);
                    self.add(word[write - 1], new, w);
                }
                if let Some(&next) = word.get(read + 2) {
                    self.remove(b, next, w);
                    self.add(new, next, w);
                }
                word[write] = new;
                read += 2;
                write += 1;
            }
            word.truncate(write);
            self.words[w as usize] = word;
        }
        self.push_grown();
    }
}
