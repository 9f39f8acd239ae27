//! The special tokens around what an encoder reads: `[CLS] a [SEP]`, or `[CLS] a [SEP] b [SEP]`.

use crate::encode::Read;
use crate::error::{Error, Result};
use crate::text::Tokenizer;

/// The two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    cls: u32,
    sep: u32,
}

impl Frame {
    /// Those of a tokenizer.
    pub fn of(tokenizer: &Tokenizer) -> Result<Self> {
        let id = |token: &str| {
            tokenizer.id(token).ok_or_else(|| {
                Error::config(format!("the tokenizer has no {token}, which an encoder needs"))
                    .hint("limpid tokenizer train … --for bert makes one that has; `train bert` learns one if it is given none")
            })
        };
        Ok(Self { cls: id("[CLS]")?, sep: id("[SEP]")? })
    }

    /// One text.
    pub fn one(&self, text: &[u32]) -> Read {
        let ids: Vec<u32> = [self.cls].into_iter().chain(text.iter().copied()).chain([self.sep]).collect();
        let types = vec![0; ids.len()];
        (ids, types)
    }

    /// Two texts.
    pub fn two(&self, first: &[u32], second: &[u32]) -> Read {
        let (mut ids, mut types) = self.one(first);
        ids.extend(second);
        ids.push(self.sep);
        types.resize(ids.len(), 1);
        (ids, types)
    }

    /// The same, cut to `longest` tokens in all: the longer of two texts first, at its end. Gives how many tokens were left out, too.
    pub fn cut(&self, first: &[u32], second: Option<&[u32]>, longest: usize) -> (Read, usize) {
        let room = longest.saturating_sub(if second.is_some() { 3 } else { 2 });
        let (mut a, mut b) = (first.len(), second.map_or(0, <[u32]>::len));
        let left_out = (a + b).saturating_sub(room);
        for _ in 0..left_out {
            if a >= b { a -= 1 } else { b -= 1 }
        }
        match second {
            None => (self.one(&first[..a]), left_out),
            Some(second) => (self.two(&first[..a], &second[..b]), left_out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_tokens_stand_around_and_the_longer_text_is_cut_first() {
        let frame = Frame { cls: 2, sep: 3 };
        assert_eq!(frame.one(&[7, 8]), (vec![2, 7, 8, 3], vec![0; 4]));
        assert_eq!(frame.two(&[7, 8], &[9]), (vec![2, 7, 8, 3, 9, 3], vec![0, 0, 0, 0, 1, 1]));
        assert_eq!(frame.cut(&[7, 8, 9], None, 4), (frame.one(&[7, 8]), 1));
        assert_eq!(frame.cut(&[7], Some(&[8, 9, 10, 11]), 6), (frame.two(&[7], &[8, 9]), 2));
        assert_eq!(frame.cut(&[7, 8, 9, 10], Some(&[11]), 6), (frame.two(&[7, 8], &[11]), 2));
        assert_eq!(frame.cut(&[7], Some(&[8]), 6).1, 0);
    }
}
