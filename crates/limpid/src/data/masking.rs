//! Masked words: which tokens are hidden, and behind what.
//!
//! ```text
//! of the tokens 15% are asked for;  of those  80% become [MASK],  10% another token,  10% stay as they are
//! ```
//!
//! The last two so that a model learns a representation of what it sees, too: in use there are no masks (Devlin et al. 2019). A row's fate is a
//! function of (seed, batch, row) and the text alone, so a resumed run hides the same words.

use super::batch::{MaskedBatch, Typed};
use crate::encode::Read;
use crate::error::{Error, Result};
use crate::text::{Tokenizer, TokenizerKind};
use limpid_tensor::rng::{block, unit};

/// Streams of a seed: bit 58 is masks, bit 57 those of validation (see `order.rs`).
const MASKS: u64 = 1 << 58;
const VALIDATION: u64 = 1 << 57;

/// What is hidden together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hide {
    /// Each token for itself.
    Tokens,
    /// All pieces of a word: `play` and `##ing` are both asked for, or neither.
    WholeWords,
}

/// Which masks: another batch, other masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Of batch n of a training.
    Training(u64),
    /// Of group n of what was kept back: the same at every validation.
    Validation(u64),
}

/// How words are hidden.
pub struct Masking {
    share: f32,
    seed: u64,
    mask: u32,
    /// By id: whether a token may be asked for.
    ordinary: Vec<bool>,
    /// The ids of those.
    replacements: Vec<u32>,
    /// By id: whether a token continues the word of the token before it.
    continues: Vec<bool>,
}

impl Masking {
    /// Refuses a tokenizer without a mask, and whole words where tokens do not show them.
    pub fn new(tokenizer: &Tokenizer, share: f32, hide: Hide, seed: u64) -> Result<Self> {
        let (mask, _) = tokenizer.mask().ok_or_else(|| {
            Error::config("the tokenizer has no token for a mask ([MASK])")
                .hint("limpid tokenizer train … --for bert makes one that has; `train bert` learns one if it is given none")
        })?;
        let vocab = tokenizer.vocab_size();
        let mut ordinary = vec![true; vocab];
        for (id, _) in tokenizer.special_tokens() {
            // An id beyond the vocabulary (a file with gaps) is never asked for anyway.
            if let Some(place) = ordinary.get_mut(id as usize) {
                *place = false;
            }
        }
        let replacements: Vec<u32> = (0..vocab as u32).filter(|id| ordinary[*id as usize]).collect();
        if replacements.is_empty() {
            return Err(
                Error::config("the tokenizer has nothing but special tokens").hint("is it the right one?")
            );
        }
        let continues = match (hide, tokenizer.kind()) {
            (Hide::Tokens, _) | (Hide::WholeWords, Some(TokenizerKind::Word)) => vec![false; vocab],
            (Hide::WholeWords, Some(TokenizerKind::WordPiece)) => {
                (0..vocab as u32).map(|id| tokenizer.token(id).starts_with("##")).collect()
            }
            (Hide::WholeWords, _) => {
                return Err(Error::config("tokens of this tokenizer do not show where a word begins")
                    .hint("--set tokenizer.kind=wordpiece, or --set masking.whole_words=false"));
            }
        };
        Ok(Self { share, seed, mask, ordinary, replacements, continues })
    }

    /// Hides some tokens of each sequence, one (or one word) at least if there is any that may be.
    pub fn apply(&self, draw: Draw, sequences: Vec<Read>, follows: Option<Vec<u32>>) -> MaskedBatch {
        let size = sequences.len().max(1);
        let whole = self.apply_in_parts(draw, sequences, follows, size).pop();
        MaskedBatch { asked_a_sequence: None, ..whole.expect("one part holds all of them") }
    }

    /// The same as several batches of `size` sequences: together they hide what one would.
    pub fn apply_in_parts(
        &self,
        draw: Draw,
        mut sequences: Vec<Read>,
        follows: Option<Vec<u32>>,
        size: usize,
    ) -> Vec<MaskedBatch> {
        let stream = match draw {
            Draw::Training(n) => MASKS | n,
            Draw::Validation(n) => MASKS | VALIDATION | n,
        };
        // A token's numbers are those of its place in the whole draw.
        let (mut before, mut asked) = (0, 0);
        let mut parts = Vec::new();
        for (part, sequences) in sequences.chunks_mut(size).enumerate() {
            let (mut rows, mut targets, first) = (Vec::new(), Vec::new(), before);
            for (ids, _) in sequences.iter_mut() {
                let at = before;
                let numbers = |i: usize| block(self.seed, stream, (at + i) as u64);
                for i in self.chosen(ids, |i| unit(numbers(i)[0])) {
                    rows.push((at - first + i) as u32);
                    targets.push(ids[i]);
                    let [_, fate, which, _] = numbers(i);
                    ids[i] = match unit(fate) {
                        x if x < 0.8 => self.mask,
                        x if x < 0.9 => {
                            let n = self.replacements.len() as u64;
                            self.replacements[((u64::from(which) * n) >> 32) as usize]
                        }
                        _ => ids[i],
                    };
                }
                before += ids.len();
            }
            asked += targets.len();
            let range = part * size..part * size + sequences.len();
            parts.push(MaskedBatch {
                input: Typed::new(sequences),
                rows: rows.into(),
                targets,
                follows: follows.as_ref().map(|follows| follows[range].to_vec()),
                asked_a_sequence: None,
            });
        }
        let asked_a_sequence = Some(asked as f32 / sequences.len() as f32);
        parts.iter_mut().for_each(|part| part.asked_a_sequence = asked_a_sequence);
        parts
    }

    /// The places of a sequence that are asked for, ascending. A word has the number of its first token.
    fn chosen(&self, ids: &[u32], number: impl Fn(usize) -> f32) -> Vec<usize> {
        let may = |i: usize| self.ordinary.get(ids[i] as usize).copied().unwrap_or(false);
        let mut words: Vec<(f32, Vec<usize>)> = Vec::new();
        for i in (0..ids.len()).filter(|i| may(*i)) {
            let continues = i > 0 && may(i - 1) && self.continues[ids[i] as usize];
            match words.last_mut() {
                Some((_, word)) if continues => word.push(i),
                _ => words.push((number(i), vec![i])),
            }
        }
        let least = words.iter().map(|(number, _)| *number).fold(f32::INFINITY, f32::min);
        let chosen = |number: f32| number < self.share || (least >= self.share && number == least);
        words.into_iter().filter(|(number, _)| chosen(*number)).flat_map(|(_, word)| word).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::train::{Shortage, TokenizerSpec, train};

    fn tokenizer() -> Tokenizer {
        let text = "the player played and the players were playing while others sang songs\n".repeat(30);
        let spec = TokenizerSpec {
            vocab_size: Some(60),
            shortage: Shortage::Accept,
            ..TokenizerSpec::new(TokenizerKind::WordPiece)
        };
        train(&spec, [Ok(text)]).unwrap().tokenizer
    }

    fn sequences(tokenizer: &Tokenizer, copies: usize) -> Vec<Read> {
        let text = "the player played and others were playing songs";
        vec![tokenizer.encode_typed(text, None).unwrap(); copies]
    }

    #[test]
    fn the_parts_of_a_draw_hide_what_the_whole_hides() {
        let tokenizer = tokenizer();
        let masking = Masking::new(&tokenizer, 0.3, Hide::Tokens, 5).unwrap();
        let all = sequences(&tokenizer, 6);
        let whole = masking.apply(Draw::Training(3), all.clone(), Some(vec![0, 1, 0, 1, 1, 0]));
        let parts = masking.apply_in_parts(Draw::Training(3), all, Some(vec![0, 1, 0, 1, 1, 0]), 4);
        assert_eq!(parts.iter().map(|part| part.input.tokens.spans.len()).collect::<Vec<_>>(), [4, 2]);
        let ids: Vec<u32> = parts.iter().flat_map(|part| part.input.tokens.ids.to_vec()).collect();
        assert_eq!(ids, whole.input.tokens.ids.to_vec());
        let targets: Vec<u32> = parts.iter().flat_map(|part| part.targets.clone()).collect();
        assert_eq!(targets, whole.targets);
        let before = parts[0].input.tokens.tokens() as u32;
        let rows: Vec<u32> =
            parts[0].rows.iter().copied().chain(parts[1].rows.iter().map(|row| row + before)).collect();
        assert_eq!(rows, whole.rows.to_vec());
        let follows: Vec<u32> = parts.iter().flat_map(|part| part.follows.clone().unwrap()).collect();
        assert_eq!(Some(follows), whole.follows);
        let asked = whole.targets.len() as f32 / 6.0;
        assert!(parts.iter().all(|part| part.asked_a_sequence == Some(asked)));
        assert!(whole.asked_a_sequence.is_none());
    }

    #[test]
    fn about_fifteen_in_a_hundred_are_asked_for_and_eight_in_ten_of_those_are_masked() {
        let tokenizer = tokenizer();
        let masking = Masking::new(&tokenizer, 0.15, Hide::Tokens, 1).unwrap();
        // One long sequence, so that hardly anything is due to the rule of one at least.
        let (ids, types): (Vec<u32>, Vec<u32>) = sequences(&tokenizer, 4000)
            .into_iter()
            .flat_map(|(ids, types)| ids.into_iter().zip(types))
            .unzip();
        let ordinary = ids.iter().filter(|id| masking.ordinary[**id as usize]).count() as f64;
        let batch = masking.apply(Draw::Training(0), vec![(ids.clone(), types)], None);
        let asked = batch.rows.len() as f64;
        assert!((asked / ordinary - 0.15).abs() < 0.01, "{asked} of {ordinary}");
        let (mut masked, mut kept) = (0.0, 0.0);
        for (row, target) in batch.rows.iter().zip(&batch.targets) {
            let now = batch.input.tokens.ids[*row as usize];
            assert_eq!(*target, ids[*row as usize], "the target is what stood there");
            assert!(masking.ordinary[*target as usize], "special tokens are not asked for");
            masked += f64::from(u8::from(now == masking.mask));
            kept += f64::from(u8::from(now == *target));
            assert!(now == masking.mask || masking.ordinary[now as usize]);
        }
        assert!((masked / asked - 0.8).abs() < 0.02, "{masked} of {asked}");
        // A random token may be the same by chance.
        assert!((kept / asked - 0.1).abs() < 0.02, "{kept} of {asked}");
        let changed = (0..ids.len()).filter(|i| batch.input.tokens.ids[*i] != ids[*i]);
        assert!(changed.into_iter().all(|i| batch.rows.contains(&(i as u32))), "nothing else changes");
    }

    #[test]
    fn masks_are_a_function_of_seed_and_batch_and_every_sequence_has_one() {
        let tokenizer = tokenizer();
        let masking = |seed| Masking::new(&tokenizer, 0.05, Hide::Tokens, seed).unwrap();
        let rows = |seed, draw| masking(seed).apply(draw, sequences(&tokenizer, 40), None).rows;
        let one = rows(1, Draw::Training(7));
        assert_eq!(one, rows(1, Draw::Training(7)));
        assert_ne!(one, rows(1, Draw::Training(8)));
        assert_ne!(one, rows(1, Draw::Validation(7)));
        assert_ne!(one, rows(2, Draw::Training(7)));
        let batch = masking(1).apply(Draw::Training(7), sequences(&tokenizer, 40), None);
        for span in batch.input.tokens.spans.iter() {
            let inside = |row: &&u32| (span.start..span.start + span.len).contains(&(**row as usize));
            assert!(batch.rows.iter().filter(inside).count() >= 1);
        }
    }

    #[test]
    fn whole_words_are_asked_for_with_all_their_pieces() {
        let tokenizer = tokenizer();
        let masking = Masking::new(&tokenizer, 0.3, Hide::WholeWords, 1).unwrap();
        let (ids, _) = &sequences(&tokenizer, 1)[0];
        assert!(
            ids.iter().any(|id| masking.continues[*id as usize]),
            "the text has a word of several pieces"
        );
        for n in 0..50 {
            let batch = masking.apply(Draw::Training(n), sequences(&tokenizer, 1), None);
            let asked = |i: usize| batch.rows.contains(&(i as u32));
            for i in (1..ids.len()).filter(|i| masking.continues[ids[*i] as usize]) {
                assert_eq!(asked(i), asked(i - 1), "batch {n}, place {i}");
            }
        }
    }

    #[test]
    fn a_tokenizer_without_a_mask_or_without_words_is_refused_with_what_would_work() {
        let bytes = train(&TokenizerSpec::new(TokenizerKind::Byte), []).unwrap().tokenizer;
        let error = Masking::new(&bytes, 0.15, Hide::Tokens, 1).err().unwrap();
        assert!(error.to_string().contains("[MASK]") && error.hint_text().unwrap().contains("--for bert"));
        let spec = TokenizerSpec {
            purpose: crate::text::Purpose::Encoder,
            ..TokenizerSpec::new(TokenizerKind::Character)
        };
        let letters = train(&spec, [Ok("abc\n".repeat(9))]).unwrap().tokenizer;
        let error = Masking::new(&letters, 0.15, Hide::WholeWords, 1).err().unwrap();
        assert!(error.hint_text().unwrap().contains("wordpiece"), "{error}");
    }
}
