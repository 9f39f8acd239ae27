//! Counting words: the one pass over the text.

use super::{Stage, TokenizerSpec};
use crate::error::Result;
use crate::text::blocks::in_order;
use crate::text::kind::TokenizerKind;
use crate::text::layout::untrained;
use std::collections::HashMap;

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Bytes of text.
    pub bytes: u64,
    /// Line ends.
    pub line_ends: u64,
    /// Words, as the tokenizer cuts them before it looks at its vocabulary (characters for [`TokenizerKind::Character`]).
    pub words: u64,
    /// Distinct ones among them.
    pub distinct: usize,
}

/// The distinct words of a text with their counts, in the order of their bytes: the same whatever order they were counted in.
pub(super) struct Words {
    pub words: Vec<(String, u64)>,
    pub counted: Counted,
}

impl Words {
    /// Counts, with all threads.
    pub fn count(
        spec: &TokenizerSpec,
        texts: impl Iterator<Item = Result<String>>,
        progress: &mut dyn FnMut(Stage),
    ) -> Result<Self> {
        let cutter = untrained(spec.kind, spec.purpose, spec.case)?;
        let in_block = |text: &str| -> Result<HashMap<String, u64>> {
            let mut counts = HashMap::new();
            if spec.kind == TokenizerKind::Character {
                let mut characters: HashMap<char, u64> = HashMap::new();
                cutter.normalized(text)?.chars().for_each(|c| *characters.entry(c).or_default() += 1);
                counts.extend(characters.into_iter().map(|(c, n)| (c.to_string(), n)));
            } else {
                cutter.split(text, |word| match counts.get_mut(word) {
                    Some(count) => *count += 1,
                    None => {
                        counts.insert(word.to_string(), 1);
                    }
                })?;
            }
            Ok(counts)
        };
        let mut counted = Counted::default();
        let mut all: HashMap<String, u64> = HashMap::new();
        in_order(
            texts,
            |text| Ok((in_block(text)?, text.bytes().filter(|byte| *byte == b'\n').count())),
            |(counts, line_ends), text| {
                counted.bytes += text.len() as u64;
                counted.line_ends += line_ends as u64;
                for (word, count) in counts {
                    counted.words += count;
                    *all.entry(word).or_default() += count;
                }
                progress(Stage::Counting(counted.bytes));
                Ok(())
            },
        )?;
        let mut words: Vec<(String, u64)> = all.into_iter().collect();
        words.sort_unstable();
        counted.distinct = words.len();
        Ok(Self { words, counted })
    }

    /// The characters that occur at least so often, in the order of Unicode.
    pub fn alphabet(&self, min_frequency: u64) -> Vec<char> {
        let mut counts: HashMap<char, u64> = HashMap::new();
        for (word, count) in &self.words {
            word.chars().for_each(|c| *counts.entry(c).or_default() += count);
        }
        let mut characters: Vec<char> =
            counts.into_iter().filter(|(_, count)| *count >= min_frequency).map(|(c, _)| c).collect();
        characters.sort_unstable();
        characters
    }
}
