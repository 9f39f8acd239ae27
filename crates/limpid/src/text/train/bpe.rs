//! Byte pair encoding: the most frequent pair of neighbours becomes one symbol, again and again (Sennrich et al. 2016).
//!
//! ```text
//! l o w  l o w e r  n e w      (l, o) 2, (o, w) 2, (e, w) 1 …   ->   lo w  lo w e r  n e w   ->   low  low e r  n e w
//! ```
//!
//! The tie rule: of pairs with equal counts the one whose first symbol has the lower id, then the one whose second has. Ids follow the order of
//! learning, so this is the order the `tokenizers` crate means, too. WordPiece is learnt the same way, as that crate does, with `##` before what
//! continues a word; the original scores pairs by likelihood, and was never published as code.

use super::count::Words;
use super::hash::QuickMap;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

/// What merging begins with.
pub(super) struct Alphabet {
    /// The first symbols, in the order of their ids.
    pub symbols: Vec<String>,
    /// Stands before a symbol that continues a word.
    pub prefix: &'static str,
}

impl Alphabet {
    /// All bytes, written as GPT-2 writes them, in the order of those characters.
    pub fn bytes() -> Self {
        let symbols: BTreeSet<char> = (0..=255).map(byte_symbol).collect();
        Self { symbols: symbols.iter().map(char::to_string).collect(), prefix: "" }
    }

    /// The characters that are frequent enough, then those of them that continue a word, with the prefix.
    pub fn with_prefix(prefix: &'static str, words: &Words, min_frequency: u64) -> Self {
        let first = words.alphabet(min_frequency);
        let later: BTreeSet<char> = words.words.iter().flat_map(|(word, _)| word.chars().skip(1)).collect();
        let later =
            later.into_iter().filter(|c| first.binary_search(c).is_ok()).map(|c| format!("{prefix}{c}"));
        Self { symbols: first.iter().map(char::to_string).chain(later).collect(), prefix }
    }
}

/// How GPT-2 writes a byte: as itself where it can be seen, else as the next free character from U+0100.
pub(super) fn byte_symbol(byte: u8) -> char {
    let seen = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    if seen(byte) {
        return char::from(byte);
    }
    let hidden_before = (0..byte).filter(|b| !seen(*b)).count() as u32;
    char::from_u32(0x100 + hidden_before).expect("below U+0200")
}

/// What was learnt.
pub(super) struct Merges {
    /// All tokens: reserved ones, the alphabet, then one for each merge that made a new one.
    pub tokens: Vec<String>,
    /// The pairs in the order in which they are to be merged.
    pub merges: Vec<(String, String)>,
}

/// A character without a symbol: nothing is merged over it.
const GAP: u32 = u32::MAX;

/// Two neighbours.
struct Pair {
    ids: (u32, u32),
    /// How often they stand side by side, over all words.
    count: u64,
    /// Words that have held the pair since it was last merged; some may no longer.
    words: Vec<u32>,
    /// A rule for it exists already: the pair came back because another merge makes one of its sides as well.
    is_rule: bool,
}

/// A count, the ids of the pair (of equals, the lower first), and its place in `pairs`.
type Candidate = (u64, Reverse<(u32, u32)>, u32);

struct Learner<'a> {
    counts: &'a [(String, u64)],
    words: Vec<Vec<u32>>,
    pairs: Vec<Pair>,
    index: QuickMap<(u32, u32), u32>,
    /// Counts at the time they were noted, the largest first; a note that is out of date is corrected when it comes up.
    queue: BinaryHeap<Candidate>,
    /// Pairs whose count has grown and must be noted again.
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
            // Spelt out in a text, a special token is found before anything is merged: this one would never be used.
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
            index: QuickMap::default(),
            queue: BinaryHeap::new(),
            grown: Vec::new(),
        };
        for (w, word) in words.iter().enumerate() {
            word.windows(2).for_each(|pair| learner.add(pair[0], pair[1], w as u32));
        }
        learner.words = words;
        learner.note_grown();
        learner
    }

    /// One more of a pair in word w.
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

    /// One less of a pair in word w.
    fn remove(&mut self, a: u32, b: u32, w: u32) {
        if a != GAP && b != GAP {
            let i = self.index[&(a, b)];
            self.pairs[i as usize].count -= self.counts[w as usize].1;
        }
    }

    fn note_grown(&mut self) {
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
            let (noted, ids, i) = self.queue.pop()?;
            let count = self.pairs[i as usize].count;
            if count == noted && count >= min_frequency {
                return Some(i);
            }
            // Fewer by now: it waits for its turn. More: a later note says so.
            if count < noted && count >= min_frequency {
                self.queue.push((count, ids, i));
            }
        }
    }

    /// Takes a pair out of the running.
    fn forget(&mut self, pair: u32) {
        self.pairs[pair as usize].count = 0;
        let (a, b) = self.pairs[pair as usize].ids;
        let words = std::mem::take(&mut self.pairs[pair as usize].words);
        // A gap between the two keeps the counts of their other neighbours right.
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

    /// Puts `new` in the place of a pair, in all words.
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
                // What is before `write` is merged already, what is from `read` on is not.
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
        self.note_grown();
    }
}
