//! Counting words: the only pass over the text.

use super::{Stage, TokenizerSpec};
use crate::error::Result;
use crate::text::blocks::map_in_order;
use crate::text::kind::TokenizerKind;
use crate::text::layout::untrained;
use std::collections::{BTreeMap, HashMap};

/// Statistics of a training text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CorpusCounts {
    /// Bytes of text.
    pub bytes: u64,
    /// Line ends.
    pub line_ends: u64,
    /// Words as the pre-tokenizer finds them (characters for [`TokenizerKind::Character`]).
    pub words: u64,
    /// Distinct words.
    pub distinct: usize,
}

/// The distinct words of a text with their counts, in byte order, so that the order of counting
/// does not matter.
pub(super) struct Words {
    pub words: Vec<(String, u64)>,
    pub counts: CorpusCounts,
}

impl Words {
    /// Counts, with all threads.
    pub fn count(
        spec: &TokenizerSpec,
        texts: impl Iterator<Item = Result<String>>,
        progress: &mut dyn FnMut(Stage),
    ) -> Result<Self> {
        let pre_tokenizer = untrained(spec)?;
        let count_block = |text: &str| -> Result<HashMap<String, u64>> {
            let mut counts = HashMap::new();
            if spec.kind == TokenizerKind::Character {
                let mut characters: HashMap<char, u64> = HashMap::new();
                for c in pre_tokenizer.normalized(text)?.chars() {
                    *characters.entry(c).or_default() += 1;
                }
                counts.extend(characters.into_iter().map(|(c, n)| (c.to_string(), n)));
            } else {
                pre_tokenizer.pre_tokenize(text, |word| match counts.get_mut(word) {
                    Some(count) => *count += 1,
                    None => {
                        counts.insert(word.to_string(), 1);
                    }
                })?;
            }
            Ok(counts)
        };
        let mut counts = CorpusCounts::default();
        let mut all: HashMap<String, u64> = HashMap::new();
        map_in_order(
            texts,
            |text| Ok((count_block(text)?, text.bytes().filter(|byte| *byte == b'\n').count())),
            |(in_block, line_ends), text| {
                counts.bytes += text.len() as u64;
                counts.line_ends += line_ends as u64;
                for (word, count) in in_block {
                    counts.words += count;
                    *all.entry(word).or_default() += count;
                }
                progress(Stage::Counting(counts.bytes));
                Ok(())
            },
        )?;
        let mut words: Vec<(String, u64)> = all.into_iter().collect();
        words.sort_unstable();
        counts.distinct = words.len();
        Ok(Self { words, counts })
    }

    /// The characters that occur at least `min_frequency` times, in Unicode order.
    pub fn alphabet(&self, min_frequency: u64) -> Vec<char> {
        let mut counts: BTreeMap<char, u64> = BTreeMap::new();
        for (word, count) in &self.words {
            word.chars().for_each(|c| *counts.entry(c).or_default() += count);
        }
        counts.retain(|_, count| *count >= min_frequency);
        counts.into_keys().collect()
    }
}
