//! `precompiled_charsmap`: the rules of a normalizer as a double-array trie (Darts) from sequences
//! of characters to offsets of their replacements.
//!
//! ```text
//! u32 size of the trie in bytes | trie: u32 units | replacements, each ended by a zero byte
//! ```
//! A unit of the trie, from its lowest bit: 8 bits label, 1 bit "has a value", 1 bit "the offset is
//! shifted by 8", 21 bits offset, 1 bit "this unit is a value". The child of the unit at `i` by the
//! byte `c` is at `i ^ offset ^ c`, and is one if its label is `c`; the value, at `i ^ offset`.

use crate::error::SentencePieceProblem as Problem;

/// Rules that replace sequences of characters.
#[derive(Clone, Debug)]
pub(super) struct CharsMap {
    units: Vec<u32>,
    replacements: String,
}

fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & (1 << 9)) >> 6)) as usize
}

fn has_value(unit: u32) -> bool {
    unit & (1 << 8) != 0
}

/// The byte of a unit; of one that is a value, no byte.
fn label(unit: u32) -> u32 {
    unit & ((1 << 31) | 0xff)
}

impl CharsMap {
    /// Parses and checks a map: wherever a lookup can get to, it stays inside of the trie and of
    /// the replacements.
    pub fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        let (size, rest) = bytes.split_first_chunk::<4>().ok_or(Problem::BadCharsMap)?;
        let size = u32::from_le_bytes(*size) as usize;
        let (trie, replacements) = rest.split_at_checked(size).ok_or(Problem::BadCharsMap)?;
        let (units, odd) = trie.as_chunks::<4>();
        if units.is_empty() || !odd.is_empty() {
            return Err(Problem::BadCharsMap);
        }
        let units = units.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
        let replacements = std::str::from_utf8(replacements).map_err(|_| Problem::BadCharsMap)?;
        let map = Self { units, replacements: replacements.to_string() };
        map.check()?;
        Ok(map)
    }

    fn check(&self) -> Result<(), Problem> {
        let mut seen = vec![false; self.units.len()];
        let mut waiting = vec![0];
        seen[0] = true;
        while let Some(at) = waiting.pop() {
            let unit = self.units[at];
            let children = at ^ offset(unit);
            if has_value(unit) {
                let value = *self.units.get(children).ok_or(Problem::BadCharsMap)?;
                self.replacement(value).ok_or(Problem::BadCharsMap)?;
            }
            for byte in 1..=255 {
                let child = children ^ byte as usize;
                let unit = *self.units.get(child).ok_or(Problem::BadCharsMap)?;
                if label(unit) == byte && !seen[child] {
                    seen[child] = true;
                    waiting.push(child);
                }
            }
        }
        Ok(())
    }

    /// The replacement that a value points to: up to its zero byte.
    fn replacement(&self, value: u32) -> Option<&str> {
        let from = self.replacements.get((value & 0x7fff_ffff) as usize..)?;
        Some(&from[..from.find('\0')?])
    }

    /// The longest rule that applies at the beginning of a text: the number of bytes it replaces,
    /// and by what.
    pub fn longest_prefix(&self, text: &str) -> Option<(usize, &str)> {
        let mut at = offset(*self.units.first()?);
        let mut best = None;
        for (i, byte) in text.bytes().enumerate() {
            at ^= usize::from(byte);
            let unit = *self.units.get(at)?;
            if label(unit) != u32::from(byte) {
                break;
            }
            at ^= offset(unit);
            // A rule of half a character would tear the text.
            if has_value(unit) && text.is_char_boundary(i + 1) {
                best = Some((i + 1, *self.units.get(at)?));
            }
        }
        best.and_then(|(length, value)| Some((length, self.replacement(value)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The trie of one rule, "a" to "bc", written by hand: the root's children are at 256 ^ byte.
    fn one_rule() -> Vec<u8> {
        let mut units = vec![0_u32; 1024];
        units[0] = 256 << 10;
        // 'a' at 256 ^ 97 = 353, with a value; its children are at 353 ^ 609 = 256 · 3.
        units[256 ^ 97] = 97 | (1 << 8) | ((353 ^ 768) << 10);
        units[768] = 1 << 31;
        // An empty unit has the label 0, which no byte that is looked up equals.
        let mut bytes = (4 * units.len() as u32).to_le_bytes().to_vec();
        bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        bytes.extend(b"bc\0");
        bytes
    }

    #[test]
    fn a_rule_replaces_its_characters_and_no_others() {
        let map = CharsMap::parse(&one_rule()).unwrap();
        assert_eq!(map.longest_prefix("ab"), Some((1, "bc")));
        assert_eq!(map.longest_prefix("ba"), None);
        assert_eq!(map.longest_prefix(""), None);
    }

    #[test]
    fn tries_that_lead_outside_are_refused() {
        let good = one_rule();
        for (at, value) in [(4, u32::MAX), (4 + 4 * 353, 97 | (1 << 8) | (0x1f_ffff << 10))] {
            let mut bad = good.clone();
            bad[at..at + 4].copy_from_slice(&value.to_le_bytes());
            assert_eq!(CharsMap::parse(&bad).err(), Some(Problem::BadCharsMap), "{at}");
        }
        // The value points behind the replacements; there is no zero byte; half of a trie.
        let mut beyond = good.clone();
        beyond[4 + 4 * 768] = 9;
        assert!(CharsMap::parse(&beyond).is_err());
        assert!(CharsMap::parse(&good[..good.len() - 1]).is_err());
        assert!(CharsMap::parse(&good[..2000]).is_err());
        assert!(CharsMap::parse(&[]).is_err());
    }
}
