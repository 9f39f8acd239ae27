//! SentencePiece's normalizer: rules, whitespace, and where each byte came from.

use super::charsmap::CharsMap;
use super::model::NormalizerSpec;
use super::trie::Trie;
use crate::error::SentencePieceProblem as Problem;

/// Marks a space in a piece.
pub(super) const SPACE: &str = "\u{2581}";

/// Where the space that is added to a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DummySpace {
    /// Nowhere.
    None,
    /// Before the text.
    Prefix,
    /// Behind it (`treat_whitespace_as_suffix`).
    Suffix,
}

/// A normalizer, or a denormalizer.
#[derive(Clone, Debug)]
pub(super) struct Normalizer {
    rules: Option<CharsMap>,
    dummy_space: DummySpace,
    remove_extra_whitespaces: bool,
    /// What a space becomes.
    space: &'static str,
}

/// A normalized text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Normalized {
    pub text: String,
    /// For each byte of the text and its end, the byte of the original that it came from. Empty for
    /// an empty text.
    pub origin: Vec<usize>,
}

impl Normalized {
    fn push(&mut self, text: &str, from: usize) {
        self.text.push_str(text);
        self.origin.resize(self.text.len(), from);
    }
}

impl Normalizer {
    /// The normalizer of a specification.
    pub fn new(spec: &NormalizerSpec, whitespace_as_suffix: bool) -> Result<Self, Problem> {
        let rules = match spec.charsmap.is_empty() {
            true => None,
            false => Some(CharsMap::parse(&spec.charsmap)?),
        };
        let dummy_space = match (spec.add_dummy_prefix, whitespace_as_suffix) {
            (false, _) => DummySpace::None,
            (true, false) => DummySpace::Prefix,
            (true, true) => DummySpace::Suffix,
        };
        let space = if spec.escape_whitespaces { SPACE } else { " " };
        let remove_extra_whitespaces = spec.remove_extra_whitespaces;
        Ok(Self { rules, dummy_space, remove_extra_whitespaces, space })
    }

    /// What a text begins with after normalization, and how many bytes that replaces.
    fn prefix<'a>(&'a self, text: &'a str, protected: &Trie) -> (&'a str, usize) {
        if let Some(length) = protected.longest_prefix(text.as_bytes()) {
            return (&text[..length], length);
        }
        if let Some((length, replacement)) =
            self.rules.as_ref().and_then(|rules| rules.longest_prefix(text))
        {
            return (replacement, length);
        }
        let length = text.chars().next().map_or(0, char::len_utf8);
        (&text[..length], length)
    }

    /// Normalizes a text. User-defined symbols (`protected`) are left as they are.
    pub fn normalize(&self, original: &str, protected: &Trie) -> Normalized {
        let mut at = 0;
        if self.remove_extra_whitespaces {
            while at < original.len() {
                let (" ", length) = self.prefix(&original[at..], protected) else { break };
                at += length;
            }
        }
        let mut normalized = Normalized::default();
        if at == original.len() {
            return normalized;
        }
        if self.dummy_space == DummySpace::Prefix {
            normalized.push(self.space, at);
        }
        let mut after_space = self.remove_extra_whitespaces;
        while at < original.len() {
            let (mut piece, length) = self.prefix(&original[at..], protected);
            if after_space {
                piece = piece.trim_start_matches(' ');
            }
            for (i, part) in piece.split(' ').enumerate() {
                if i > 0 {
                    normalized.push(self.space, at);
                }
                normalized.push(part, at);
            }
            if !piece.is_empty() {
                after_space = self.remove_extra_whitespaces && piece.ends_with(' ');
            }
            at += length;
        }
        if self.remove_extra_whitespaces {
            while normalized.text.ends_with(self.space) {
                let length = normalized.text.len() - self.space.len();
                at = normalized.origin[length];
                normalized.text.truncate(length);
                normalized.origin.truncate(length);
            }
        }
        if self.dummy_space == DummySpace::Suffix {
            normalized.push(self.space, at);
        }
        normalized.origin.push(at);
        normalized
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalize(spec: &NormalizerSpec, suffix: bool, text: &str) -> String {
        Normalizer::new(spec, suffix).unwrap().normalize(text, &Trie::default()).text
    }

    #[test]
    fn whitespace_follows_the_specification() {
        let spec = NormalizerSpec::default();
        assert_eq!(normalize(&spec, false, "  a  b "), "▁a▁b");
        assert_eq!(normalize(&spec, true, "  a  b "), "a▁b▁");
        assert_eq!(normalize(&spec, false, "   "), "");
        let keep = NormalizerSpec { remove_extra_whitespaces: false, ..spec.clone() };
        assert_eq!(normalize(&keep, false, " a  "), "▁▁a▁▁");
        let bare = NormalizerSpec { add_dummy_prefix: false, ..keep.clone() };
        assert_eq!(normalize(&bare, false, " a"), "▁a");
        let plain = NormalizerSpec { escape_whitespaces: false, ..spec };
        assert_eq!(normalize(&plain, false, "a  b"), " a b");
    }

    #[test]
    fn every_byte_knows_where_it_came_from() {
        let normalizer = Normalizer::new(&NormalizerSpec::default(), false).unwrap();
        let normalized = normalizer.normalize(" a  b ", &Trie::default());
        assert_eq!(normalized.text, "▁a▁b");
        assert_eq!(normalized.origin, [1, 1, 1, 1, 2, 2, 2, 4, 5]);
    }

    #[test]
    fn user_defined_symbols_are_left_as_they_are() {
        let symbols = Trie::new([("  x", 0)]);
        let normalizer = Normalizer::new(&NormalizerSpec::default(), false).unwrap();
        assert_eq!(normalizer.normalize("a  x", &symbols).text, "▁a▁▁x");
    }
}
