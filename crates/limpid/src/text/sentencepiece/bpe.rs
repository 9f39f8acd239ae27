//! BPE as SentencePiece does it: of all neighbours whose concatenation is a piece, those with the
//! highest score are merged first, from left to right.

use super::model::{Piece, PieceKind};
use super::trie::Trie;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

/// A merge that may be done.
struct Merge {
    left: usize,
    right: usize,
    score: f32,
    length: usize,
}

impl Ord for Merge {
    fn cmp(&self, other: &Self) -> Ordering {
        // Scores are finite. Zero and minus zero are equal, as in SentencePiece.
        let by_score = self.score.partial_cmp(&other.score).unwrap_or(Ordering::Equal);
        by_score.then(other.left.cmp(&self.left))
    }
}

impl PartialOrd for Merge {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Merge {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Merge {}

/// A symbol of the text; empty when it has been merged into the one on its left.
struct Symbol {
    range: Range<usize>,
    previous: Option<usize>,
    next: Option<usize>,
    /// A user-defined symbol, which takes part in no merge.
    frozen: bool,
}

/// What the algorithm needs of a model.
pub(super) struct Bpe<'a> {
    pub pieces: &'a [Piece],
    /// The ids of the pieces that text can have.
    pub ids: &'a HashMap<String, u32>,
    /// The user-defined symbols.
    pub symbols: &'a Trie,
}

/// A text on its way.
struct State<'a> {
    model: &'a Bpe<'a>,
    text: &'a str,
    symbols: Vec<Symbol>,
    agenda: BinaryHeap<Merge>,
    /// How pieces that are unused came about: what they are split into again.
    unused: HashMap<&'a str, (Range<usize>, Range<usize>)>,
}

impl Bpe<'_> {
    /// The pieces of a normalized text, as byte ranges.
    pub fn encode(&self, text: &str) -> Vec<Range<usize>> {
        let mut state = State::new(self, text);
        while let Some(merge) = state.agenda.pop() {
            state.merge(&merge);
        }
        let mut found = Vec::new();
        let mut at = (!state.symbols.is_empty()).then_some(0);
        while let Some(symbol) = at.map(|at| &state.symbols[at]) {
            // Not by recursion: a hostile vocabulary makes it as deep as a piece is long.
            let mut waiting = vec![symbol.range.clone()];
            while let Some(range) = waiting.pop() {
                match state.unused.get(&text[range.clone()]) {
                    Some((left, right)) => waiting.extend([right.clone(), left.clone()]),
                    None => found.push(range),
                }
            }
            at = symbol.next;
        }
        found
    }
}

impl<'a> State<'a> {
    fn new(model: &'a Bpe<'a>, text: &'a str) -> Self {
        let mut symbols: Vec<Symbol> = Vec::new();
        let mut start = 0;
        while let Some(character) = text[start..].chars().next() {
            let symbol = model.symbols.longest_prefix(&text.as_bytes()[start..]);
            let end = start + symbol.unwrap_or(character.len_utf8());
            let (i, frozen) = (symbols.len(), symbol.is_some());
            let next = (end < text.len()).then_some(i + 1);
            symbols.push(Symbol { range: start..end, previous: i.checked_sub(1), next, frozen });
            start = end;
        }
        let (agenda, unused) = (BinaryHeap::new(), HashMap::new());
        let mut state = Self { model, text, symbols, agenda, unused };
        for right in 1..state.symbols.len() {
            state.consider(Some(right - 1), Some(right));
        }
        state
    }

    /// Puts two neighbours on the agenda if they can be merged.
    fn consider(&mut self, left: Option<usize>, right: Option<usize>) {
        let (Some(left), Some(right)) = (left, right) else { return };
        let [a, b] = [left, right].map(|i| &self.symbols[i]);
        if a.frozen || b.frozen {
            return;
        }
        let merged = &self.text[a.range.start..b.range.end];
        let Some(&id) = self.model.ids.get(merged) else { return };
        let piece = &self.model.pieces[id as usize];
        if piece.kind == PieceKind::Unused {
            self.unused.insert(merged, (a.range.clone(), b.range.clone()));
        }
        self.agenda.push(Merge { left, right, score: piece.score, length: merged.len() });
    }

    fn merge(&mut self, merge: &Merge) {
        let [left, right] = [merge.left, merge.right].map(|i| self.symbols[i].range.clone());
        // One of them may have been merged with another neighbour in the meantime.
        if left.is_empty() || right.is_empty() || left.len() + right.len() != merge.length {
            return;
        }
        let next = self.symbols[merge.right].next;
        self.symbols[merge.right].range = right.end..right.end;
        self.symbols[merge.left].range = left.start..right.end;
        self.symbols[merge.left].next = next;
        if let Some(next) = next {
            self.symbols[next].previous = Some(merge.left);
        }
        self.consider(self.symbols[merge.left].previous, Some(merge.left));
        self.consider(Some(merge.left), next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(pieces: &[(&str, f32, PieceKind)], text: &str) -> Vec<String> {
        let pieces: Vec<Piece> = (pieces.iter())
            .map(|(text, score, kind)| Piece { text: text.to_string(), score: *score, kind: *kind })
            .collect();
        let ids = pieces.iter().zip(0..).map(|(piece, id)| (piece.text.clone(), id)).collect();
        let defined = pieces.iter().filter(|piece| piece.kind == PieceKind::UserDefined);
        let symbols = Trie::new(defined.map(|piece| (piece.text.as_str(), 0)));
        let bpe = Bpe { pieces: &pieces, ids: &ids, symbols: &symbols };
        bpe.encode(text).into_iter().map(|range| text[range].to_string()).collect()
    }

    #[test]
    fn merges_go_by_score_then_from_left_to_right() {
        use PieceKind::Normal;
        let pieces = [("ab", -0.0, Normal), ("bc", -1.0, Normal), ("abc", -2.0, Normal)];
        assert_eq!(encode(&pieces, "abc"), ["abc"]);
        assert_eq!(encode(&pieces, "bcab"), ["bc", "ab"]);
        assert_eq!(encode(&[("aa", 0.0, Normal)], "aaaaa"), ["aa", "aa", "a"]);
        assert_eq!(encode(&pieces, ""), [""; 0]);
    }

    #[test]
    fn unused_pieces_are_split_again_and_user_defined_ones_never_merged() {
        use PieceKind::{Normal, Unused, UserDefined};
        let pieces = [("ab", 0.0, Unused), ("abc", -1.0, Normal), ("abd", -1.0, Unused)];
        assert_eq!(encode(&pieces, "abcabd"), ["abc", "a", "b", "d"]);
        let pieces = [("ab", 0.0, Normal), ("b", 0.0, UserDefined)];
        assert_eq!(encode(&pieces, "ab"), ["a", "b"]);
    }
}
