//! The unigram model: the segmentation with the highest sum of scores, by the Viterbi algorithm.

use super::model::{Piece, PieceKind};
use super::trie::Trie;
use std::ops::Range;

/// What an unknown character scores below the lowest piece.
const UNKNOWN_PENALTY: f32 = 10.0;

/// A unigram model.
#[derive(Clone, Debug)]
pub(super) struct Unigram {
    trie: Trie,
    unknown: u32,
    unknown_score: f32,
    max_score: f32,
}

/// The last piece of the best segmentation that ends at a byte.
#[derive(Clone, Copy)]
struct Best {
    id: u32,
    score: f32,
    start: usize,
}

impl Unigram {
    /// The model of these pieces.
    pub fn new(pieces: &[Piece], unknown: u32) -> Self {
        // SentencePiece begins with FLT_MIN, the least positive number: scores are negative, so
        // that is the highest score of most models.
        let (mut min, mut max) = (f32::MAX, f32::MIN_POSITIVE);
        for piece in pieces.iter().filter(|piece| piece.kind == PieceKind::Normal) {
            (min, max) = (min.min(piece.score), max.max(piece.score));
        }
        let in_text = |piece: &Piece| {
            matches!(piece.kind, PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused)
        };
        let keys = pieces.iter().zip(0..).filter(|(piece, _)| in_text(piece));
        Self {
            trie: Trie::new(keys.map(|(piece, id)| (piece.text.as_str(), id))),
            unknown,
            unknown_score: min - UNKNOWN_PENALTY,
            max_score: max,
        }
    }

    /// The pieces of a normalized text: byte ranges and ids.
    ///
    /// Sums are rounded to f32 before they are compared, as in SentencePiece 0.2.3: which of two
    /// equal segmentations of a long repeat wins depends on it.
    pub fn encode(&self, pieces: &[Piece], text: &str) -> Vec<(Range<usize>, u32)> {
        let mut best: Vec<Option<Best>> = vec![None; text.len() + 1];
        let better = |old: Option<Best>, score: f32| old.is_none_or(|old| score > old.score);
        for (start, character) in text.char_indices() {
            let so_far = best[start].map_or(0.0, |best| best.score);
            let mut has_single = false;
            for (length, id) in self.trie.prefixes(&text.as_bytes()[start..]) {
                let piece = &pieces[id as usize];
                let score = match piece.kind {
                    PieceKind::Unused => continue,
                    // A bonus that lets it win nearly always.
                    PieceKind::UserDefined => length as f32 * self.max_score - 0.1,
                    _ => piece.score,
                };
                let score = score + so_far;
                let end = &mut best[start + length];
                if better(*end, score) {
                    *end = Some(Best { id, score, start });
                }
                has_single |= length == character.len_utf8();
            }
            if !has_single {
                let score = self.unknown_score + so_far;
                let end = &mut best[start + character.len_utf8()];
                if better(*end, score) {
                    *end = Some(Best { id: self.unknown, score, start });
                }
            }
        }
        let mut found = Vec::new();
        let mut end = text.len();
        // Every character has a way to its end, by a piece or as unknown.
        while let Some(Best { id, start, .. }) = best[end] {
            found.push((start..end, id));
            end = start;
        }
        found.reverse();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str, score: f32, kind: PieceKind) -> Piece {
        Piece { text: text.into(), score, kind }
    }

    #[test]
    fn the_segmentation_has_the_highest_sum_of_all() {
        let scored = [("a", -1.0), ("b", -1.5), ("ab", -2.25), ("ba", -2.75), ("aba", -3.0)];
        let mut pieces = vec![piece("<unk>", 0.0, PieceKind::Unknown)];
        pieces.extend(scored.map(|(text, score)| piece(text, score, PieceKind::Normal)));
        let model = Unigram::new(&pieces, 0);
        /// All segmentations, by trying.
        fn best(pieces: &[Piece], text: &str) -> f32 {
            if text.is_empty() {
                return 0.0;
            }
            let rest = |piece: &Piece| {
                Some(piece.score + best(pieces, text.strip_prefix(piece.text.as_str())?))
            };
            pieces[1..].iter().filter_map(rest).fold(f32::NEG_INFINITY, f32::max)
        }
        for text in ["a", "ab", "aba", "abab", "babab", "abaaba", "bbab"] {
            let found = model.encode(&pieces, text);
            let sum: f32 = found.iter().map(|(_, id)| pieces[*id as usize].score).sum();
            assert_eq!(sum, best(&pieces, text), "{text}");
            let joined: String = found.iter().map(|(range, _)| &text[range.clone()]).collect();
            assert_eq!(joined, text);
        }
    }

    #[test]
    fn user_defined_symbols_win_and_unused_pieces_never_do() {
        let pieces = [
            piece("<unk>", 0.0, PieceKind::Unknown),
            piece("abc", -0.5, PieceKind::Normal),
            piece("a", -9.0, PieceKind::Normal),
            piece("bc", 0.0, PieceKind::UserDefined),
            piece("abcd", 0.0, PieceKind::Unused),
        ];
        let ids = |text| -> Vec<u32> {
            let model = Unigram::new(&pieces, 0);
            model.encode(&pieces, text).into_iter().map(|(_, id)| id).collect()
        };
        assert_eq!(ids("bc"), [3]);
        assert_eq!(ids("abcd"), [1, 0]);
        assert_eq!(ids("éa"), [0, 2]);
        assert!(ids("").is_empty());
    }
}
