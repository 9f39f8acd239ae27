//! Masked language modelling: which tokens are targets, and what replaces them.
//!
//! ```text
//! 15% of the tokens are targets; of those 80% become [MASK], 10% a random token, 10% stay
//! ```
//!
//! The last two, so that a model also learns to represent tokens that are not masked: at inference
//! there are no masks (Devlin et al. 2019). Masks are a function of (seed, batch, row) and the text
//! alone, so a resumed run masks the same tokens.
//!
//! ```
//! use limpid::data::masking::{MaskStream, MaskUnit, Masking};
//! use limpid::data::sequences::encode_each;
//! use limpid::text::{Purpose, word_tokenizer_for};
//!
//! let tokenizer = word_tokenizer_for(["the cat sat on the mat"], Purpose::Encoder)?;
//! let texts = encode_each(&tokenizer, ["the cat sat on the mat"])?;
//! let masking = Masking::new(&tokenizer, 0.5, MaskUnit::Token, 1)?;
//! let batch = masking.apply(MaskStream::Training(0), texts, None);
//! // The rows that are predicted, and the tokens that stood there.
//! assert_eq!(batch.rows.len(), batch.targets.len());
//! # Ok::<(), limpid::error::Error>(())
//! ```

use super::batch::{EncoderInput, MaskedBatch};
use crate::data::batch::EncodedText;
use crate::error::{Result, TokenPurpose, TokenizerError};
use crate::text::{Tokenizer, TokenizerKind};
use limpid_tensor::rng::{block, unit};

/// Random streams of a seed: bit 58 is masks, bit 57 those of validation (see `sampler.rs`).
const MASKS: u64 = 1 << 58;
const VALIDATION: u64 = 1 << 57;

/// What is masked as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskUnit {
    /// Each token on its own.
    Token,
    /// Whole-word masking: `play` and `##ing` are both targets, or neither.
    WholeWord,
}

/// The random stream that masks are sampled from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskStream {
    /// Batch n of training.
    Training(u64),
    /// Batch n of validation: the same at every evaluation.
    Validation(u64),
}

/// Masks tokens of sequences.
pub struct Masking {
    probability: f32,
    seed: u64,
    mask: u32,
    /// By id: whether a token may be a target.
    ordinary: Vec<bool>,
    /// The ids of those, from which random tokens are sampled.
    replacements: Vec<u32>,
    /// By id: whether a token continues the word of the token before it.
    continues: Vec<bool>,
}

impl Masking {
    /// Masking of a fraction `probability` of the tokens.
    /// # Errors
    /// If the tokenizer has no mask token or only special tokens, or, for whole-word masking, if
    /// its tokens do not mark word boundaries.
    pub fn new(tokenizer: &Tokenizer, probability: f32, unit: MaskUnit, seed: u64) -> Result<Self> {
        let (mask, _) = tokenizer.mask_token().ok_or(TokenizerError::MissingToken {
            token: "[MASK]",
            purpose: TokenPurpose::Masking,
        })?;
        let vocab = tokenizer.vocab_size();
        let mut ordinary = vec![true; vocab];
        for (id, _) in tokenizer.special_tokens() {
            // An id beyond the vocabulary (a file with gaps) is never a target anyway.
            if let Some(is_ordinary) = ordinary.get_mut(id as usize) {
                *is_ordinary = false;
            }
        }
        let replacements: Vec<u32> =
            (0..vocab as u32).filter(|id| ordinary[*id as usize]).collect();
        if replacements.is_empty() {
            return Err(TokenizerError::OnlySpecialTokens.into());
        }
        let continues = match (unit, tokenizer.kind()) {
            (MaskUnit::Token, _) | (MaskUnit::WholeWord, Some(TokenizerKind::Word)) => {
                vec![false; vocab]
            }
            (MaskUnit::WholeWord, Some(TokenizerKind::WordPiece)) => {
                (0..vocab as u32).map(|id| tokenizer.token(id).starts_with("##")).collect()
            }
            (MaskUnit::WholeWord, _) => return Err(TokenizerError::NoWordBoundaries.into()),
        };
        Ok(Self { probability, seed, mask, ordinary, replacements, continues })
    }

    /// Masks some tokens of each sequence, at least one (or one word) if any may be masked.
    pub fn apply(
        &self,
        stream: MaskStream,
        sequences: Vec<EncodedText>,
        next_sentence_labels: Option<Vec<u32>>,
    ) -> MaskedBatch {
        let size = sequences.len().max(1);
        let whole =
            self.apply_in_micro_batches(stream, sequences, next_sentence_labels, size).pop();
        MaskedBatch {
            targets_per_sequence: None,
            ..whole.expect("one micro-batch holds all sequences")
        }
    }

    /// The same as micro-batches of `size` sequences: together they mask what one batch would.
    pub fn apply_in_micro_batches(
        &self,
        stream: MaskStream,
        mut sequences: Vec<EncodedText>,
        next_sentence_labels: Option<Vec<u32>>,
        size: usize,
    ) -> Vec<MaskedBatch> {
        let stream = match stream {
            MaskStream::Training(n) => MASKS | n,
            MaskStream::Validation(n) => MASKS | VALIDATION | n,
        };
        // The random numbers of a token are those of its row in the whole batch.
        let (mut before, mut total) = (0, 0);
        let mut parts = Vec::new();
        for (part, sequences) in sequences.chunks_mut(size).enumerate() {
            let (mut rows, mut targets, first) = (Vec::new(), Vec::new(), before);
            for (ids, _) in sequences.iter_mut() {
                let at = before;
                let numbers = |i: usize| block(self.seed, stream, (at + i) as u64);
                for i in self.targets(ids, |i| unit(numbers(i)[0])) {
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
            total += targets.len();
            let range = part * size..part * size + sequences.len();
            parts.push(MaskedBatch {
                input: EncoderInput::new(sequences),
                rows: rows.into(),
                targets,
                next_sentence_labels: next_sentence_labels
                    .as_ref()
                    .map(|labels| labels[range].to_vec()),
                targets_per_sequence: None,
            });
        }
        let targets_per_sequence = Some(total as f32 / sequences.len() as f32);
        parts.iter_mut().for_each(|part| part.targets_per_sequence = targets_per_sequence);
        parts
    }

    /// The target positions of a sequence, ascending. A word has the random number of its first
    /// token.
    fn targets(&self, ids: &[u32], number: impl Fn(usize) -> f32) -> Vec<usize> {
        let allowed = |i: usize| self.ordinary.get(ids[i] as usize).copied().unwrap_or(false);
        let mut words: Vec<(f32, Vec<usize>)> = Vec::new();
        for i in (0..ids.len()).filter(|i| allowed(*i)) {
            let continues = i > 0 && allowed(i - 1) && self.continues[ids[i] as usize];
            match words.last_mut() {
                Some((_, word)) if continues => word.push(i),
                _ => words.push((number(i), vec![i])),
            }
        }
        let least = words.iter().map(|(number, _)| *number).fold(f32::INFINITY, f32::min);
        let chosen = |number: f32| {
            number < self.probability || (least >= self.probability && number == least)
        };
        words.into_iter().filter(|(number, _)| chosen(*number)).flat_map(|(_, word)| word).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::text::train::{Shortage, TokenizerSpec, train};

    fn tokenizer() -> Tokenizer {
        let text =
            "the player played and the players were playing while others sang songs\n".repeat(30);
        let spec = TokenizerSpec {
            vocab_size: Some(60),
            shortage: Shortage::Accept,
            ..TokenizerSpec::new(TokenizerKind::WordPiece)
        };
        train(&spec, [Ok(text)]).unwrap().tokenizer
    }

    fn sequences(tokenizer: &Tokenizer, copies: usize) -> Vec<EncodedText> {
        let text = "the player played and others were playing songs";
        vec![tokenizer.encode_with_types(text, None).unwrap(); copies]
    }

    #[test]
    fn micro_batches_mask_what_the_whole_batch_masks() {
        let tokenizer = tokenizer();
        let masking = Masking::new(&tokenizer, 0.3, MaskUnit::Token, 5).unwrap();
        let all = sequences(&tokenizer, 6);
        let whole =
            masking.apply(MaskStream::Training(3), all.clone(), Some(vec![0, 1, 0, 1, 1, 0]));
        let parts = masking.apply_in_micro_batches(
            MaskStream::Training(3),
            all,
            Some(vec![0, 1, 0, 1, 1, 0]),
            4,
        );
        assert_eq!(
            parts.iter().map(|part| part.input.tokens.spans.len()).collect::<Vec<_>>(),
            [4, 2]
        );
        let ids: Vec<u32> = parts.iter().flat_map(|part| part.input.tokens.ids.to_vec()).collect();
        assert_eq!(ids, whole.input.tokens.ids.to_vec());
        let targets: Vec<u32> = parts.iter().flat_map(|part| part.targets.clone()).collect();
        assert_eq!(targets, whole.targets);
        let before = parts[0].input.tokens.tokens() as u32;
        let rows: Vec<u32> = parts[0]
            .rows
            .iter()
            .copied()
            .chain(parts[1].rows.iter().map(|row| row + before))
            .collect();
        assert_eq!(rows, whole.rows.to_vec());
        let labels: Vec<u32> =
            parts.iter().flat_map(|part| part.next_sentence_labels.clone().unwrap()).collect();
        assert_eq!(Some(labels), whole.next_sentence_labels);
        let mean = whole.targets.len() as f32 / 6.0;
        assert!(parts.iter().all(|part| part.targets_per_sequence == Some(mean)));
        assert!(whole.targets_per_sequence.is_none());
    }

    #[test]
    fn fifteen_percent_are_targets_and_eighty_percent_of_those_are_masked() {
        let tokenizer = tokenizer();
        let masking = Masking::new(&tokenizer, 0.15, MaskUnit::Token, 1).unwrap();
        // One long sequence, so that hardly anything is due to the rule of one at least.
        let (ids, types): (Vec<u32>, Vec<u32>) = sequences(&tokenizer, 4000)
            .into_iter()
            .flat_map(|(ids, types)| ids.into_iter().zip(types))
            .unzip();
        let ordinary = ids.iter().filter(|id| masking.ordinary[**id as usize]).count() as f64;
        let batch = masking.apply(MaskStream::Training(0), vec![(ids.clone(), types)], None);
        let targets = batch.rows.len() as f64;
        assert!((targets / ordinary - 0.15).abs() < 0.01, "{targets} of {ordinary}");
        let (mut masked, mut kept) = (0.0, 0.0);
        for (row, target) in batch.rows.iter().zip(&batch.targets) {
            let now = batch.input.tokens.ids[*row as usize];
            assert_eq!(*target, ids[*row as usize], "the target is the original token");
            assert!(masking.ordinary[*target as usize], "special tokens are no targets");
            masked += f64::from(u8::from(now == masking.mask));
            kept += f64::from(u8::from(now == *target));
            assert!(now == masking.mask || masking.ordinary[now as usize]);
        }
        assert!((masked / targets - 0.8).abs() < 0.02, "{masked} of {targets}");
        // A random token may be the same by chance.
        assert!((kept / targets - 0.1).abs() < 0.02, "{kept} of {targets}");
        let changed = (0..ids.len()).filter(|i| batch.input.tokens.ids[*i] != ids[*i]);
        assert!(
            changed.into_iter().all(|i| batch.rows.contains(&(i as u32))),
            "nothing else changes"
        );
    }

    #[test]
    fn masks_are_a_function_of_seed_and_batch_and_every_sequence_has_one() {
        let tokenizer = tokenizer();
        let masking = |seed| Masking::new(&tokenizer, 0.05, MaskUnit::Token, seed).unwrap();
        let rows = |seed, stream| masking(seed).apply(stream, sequences(&tokenizer, 40), None).rows;
        let one = rows(1, MaskStream::Training(7));
        assert_eq!(one, rows(1, MaskStream::Training(7)));
        assert_ne!(one, rows(1, MaskStream::Training(8)));
        assert_ne!(one, rows(1, MaskStream::Validation(7)));
        assert_ne!(one, rows(2, MaskStream::Training(7)));
        let batch = masking(1).apply(MaskStream::Training(7), sequences(&tokenizer, 40), None);
        for span in batch.input.tokens.spans.iter() {
            let inside =
                |row: &&u32| (span.start..span.start + span.len).contains(&(**row as usize));
            assert!(batch.rows.iter().filter(inside).count() >= 1);
        }
    }

    #[test]
    fn whole_words_are_masked_with_all_their_pieces() {
        let tokenizer = tokenizer();
        let masking = Masking::new(&tokenizer, 0.3, MaskUnit::WholeWord, 1).unwrap();
        let (ids, _) = &sequences(&tokenizer, 1)[0];
        assert!(
            ids.iter().any(|id| masking.continues[*id as usize]),
            "the text has a word of several pieces"
        );
        for n in 0..50 {
            let batch = masking.apply(MaskStream::Training(n), sequences(&tokenizer, 1), None);
            let is_target = |i: usize| batch.rows.contains(&(i as u32));
            for i in (1..ids.len()).filter(|i| masking.continues[ids[*i] as usize]) {
                assert_eq!(is_target(i), is_target(i - 1), "batch {n}, position {i}");
            }
        }
    }

    #[test]
    fn a_tokenizer_without_a_mask_or_without_word_boundaries_is_refused() {
        let bytes = train(&TokenizerSpec::new(TokenizerKind::Byte), []).unwrap().tokenizer;
        let error = Masking::new(&bytes, 0.15, MaskUnit::Token, 1).err().unwrap();
        assert!(error.to_string().contains("no [MASK]"), "{error}");
        let spec = TokenizerSpec {
            purpose: crate::text::Purpose::Encoder,
            ..TokenizerSpec::new(TokenizerKind::Character)
        };
        let letters = train(&spec, [Ok("abc\n".repeat(9))]).unwrap().tokenizer;
        let error = Masking::new(&letters, 0.15, MaskUnit::WholeWord, 1).err().unwrap();
        let refused = matches!(error, Error::Tokenizer(TokenizerError::NoWordBoundaries));
        assert!(refused, "{error}");
    }
}
