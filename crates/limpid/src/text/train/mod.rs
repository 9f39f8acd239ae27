//! Training a tokenizer: learning a vocabulary from text.
//!
//! ```
//! use limpid::text::TokenizerKind;
//! use limpid::text::train::{TokenizerSpec, train};
//!
//! let spec = TokenizerSpec { vocab_size: Some(259), ..TokenizerSpec::new(TokenizerKind::Bpe) };
//! let tokenizer = train(&spec, [Ok("low lower lowest\n".repeat(9))])?.tokenizer;
//! // <|endoftext|>, 256 bytes, then "lo" and "low": the pair (l, o) ties with (o, w) and
//! // others, and l has the lower id.
//! let ids = tokenizer.encode("low")?;
//! let tokens: Vec<String> = ids.into_iter().map(|id| tokenizer.token(id)).collect();
//! assert_eq!(tokens, ["low"]);
//! # Ok::<(), limpid::error::Error>(())
//! ```
//!
//! Counting, merging and pruning are our own; the result is a `tokenizer.json`, used through the
//! `tokenizers` crate, so that any other program gives the same ids. The crate's own trainers are
//! not used, because their results depend on the iteration order of randomly seeded hash maps and
//! on the number of threads: WordPiece numbers its pieces in that order (and breaks ties by the
//! numbers), Unigram sums probabilities and orders rare characters in it, BPE may learn a merge
//! twice. Here the same text gives the same bytes on every machine: words are sorted before
//! anything is learned, and every tie has a rule.

mod bpe;
mod count;
mod hash;
mod lattice;
mod seeds;
mod unigram;

pub use count::CorpusCounts;

use super::blocks::Blocks;
use super::kind::{Casing, Purpose, TokenizerKind};
use super::layout::{assemble, numbered, word_level};
use super::lines::TextReader;
use super::tokenizer::Tokenizer;
use crate::error::{Error, Result, TokenizerError, VocabContent};
use bpe::{Alphabet, learn_merges};
use count::Words;
use serde_json::{Value, json};
use std::path::PathBuf;

/// What tokenizer to train.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenizerSpec {
    /// How text is tokenized.
    pub kind: TokenizerKind,
    /// What the tokens are for.
    pub purpose: Purpose,
    /// The number of tokens, special ones included. Required for BPE, WordPiece and Unigram;
    /// without it characters and words take all of the text.
    pub vocab_size: Option<usize>,
    /// Characters, words, merges and pieces that occur less often get no token.
    pub min_frequency: u64,
    /// Whether text is lowercased.
    pub casing: Casing,
    /// What to do if the text yields fewer tokens.
    pub shortage: Shortage,
}

/// What to do if a text yields fewer tokens than the vocabulary size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// An error with the largest size that works: the size was set by the user.
    Refuse,
    /// Take the smaller vocabulary: the size was a default. For BPE, WordPiece and Unigram.
    Accept,
}

impl TokenizerSpec {
    /// Defaults of a kind: its purpose, every character and word, and merges and pieces that occur
    /// at least twice.
    pub fn new(kind: TokenizerKind) -> Self {
        let min_frequency = match kind {
            TokenizerKind::Bpe | TokenizerKind::Unigram | TokenizerKind::WordPiece => 2,
            TokenizerKind::Character | TokenizerKind::Byte | TokenizerKind::Word => 1,
        };
        Self {
            kind,
            purpose: kind.default_purpose(),
            vocab_size: None,
            min_frequency,
            casing: Casing::Cased,
            shortage: Shortage::Refuse,
        }
    }

    pub(super) fn special_tokens(&self) -> Vec<String> {
        self.purpose.special_tokens(self.kind).into_iter().map(String::from).collect()
    }
}

/// A trained tokenizer and statistics of its training text.
pub struct TrainedTokenizer {
    /// The tokenizer.
    pub tokenizer: Tokenizer,
    /// What was counted in the text.
    pub counts: CorpusCounts,
}

/// Progress of a training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Bytes that have been read and counted.
    Counting(u64),
    /// Tokens learned so far, of how many.
    Learning(usize, usize),
}

/// The least size of a text of one line: below it, it is most likely the wrong file; above it, a
/// corpus without line ends.
const MIN_LINE_BYTES: u64 = 1 << 16;

/// Trains on texts in memory; how the corpus is divided into texts does not matter as long as no
/// word is divided.
/// # Errors
/// The first error of `texts`, or a [`TokenizerError`] if the vocabulary size does not fit the
/// text.
pub fn train(
    spec: &TokenizerSpec,
    texts: impl IntoIterator<Item = Result<String>>,
) -> Result<TrainedTokenizer> {
    let words = Words::count(spec, texts.into_iter(), &mut |_| {})?;
    learn(spec, words, &mut |_| {})
}

/// Trains on files, read in blocks: only their distinct words have to fit into memory.
/// # Errors
/// If a file cannot be read, has no text, or does not fit the vocabulary size.
pub fn train_files(
    spec: &TokenizerSpec,
    files: &[PathBuf],
    progress: &mut dyn FnMut(Stage),
) -> Result<TrainedTokenizer> {
    // A byte vocabulary needs no text.
    if spec.kind == TokenizerKind::Byte {
        return train(spec, []);
    }
    if files.is_empty() {
        return Err(TokenizerError::NoText.into());
    }
    let texts =
        files.iter().map(|path| TextReader::open(path)).collect::<Result<Vec<TextReader>>>()?;
    let words = Words::count(spec, texts.into_iter().flat_map(Blocks::new), progress)?;
    let (files, bytes) = (files.to_vec(), words.counts.bytes);
    if words.counts.words == 0 {
        return Err(TokenizerError::BlankText { files, bytes }.into());
    }
    if words.counts.line_ends <= 1 && bytes < MIN_LINE_BYTES {
        return Err(TokenizerError::ShortText { files, bytes, minimum: MIN_LINE_BYTES }.into());
    }
    learn(spec, words, progress)
}

fn learn(
    spec: &TokenizerSpec,
    words: Words,
    progress: &mut dyn FnMut(Stage),
) -> Result<TrainedTokenizer> {
    let model = match spec.kind {
        TokenizerKind::Character => characters(spec, &words)?,
        TokenizerKind::Byte => bytes(spec)?,
        TokenizerKind::Word => whole_words(spec, &words)?,
        TokenizerKind::Bpe | TokenizerKind::WordPiece => merged(spec, &words, progress)?,
        TokenizerKind::Unigram => unigram::learn(spec, &words, progress)?,
    };
    Ok(TrainedTokenizer { tokenizer: assemble(spec, &model)?, counts: words.counts })
}

/// BPE without merges: one token per symbol.
fn single_symbols(tokens: &[String], unknown: Option<&str>) -> Value {
    json!({
        "type": "BPE", "dropout": null, "unk_token": unknown, "continuing_subword_prefix": null,
        "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
        "ignore_merges": false, "vocab": numbered(tokens), "merges": [],
    })
}

/// Every character that is frequent enough, in Unicode order.
fn characters(spec: &TokenizerSpec, words: &Words) -> Result<Value> {
    let mut tokens = spec.special_tokens();
    tokens.extend(words.alphabet(spec.min_frequency).iter().map(char::to_string));
    match spec.vocab_size {
        Some(requested) if requested > tokens.len() => Err(too_large(requested, tokens.len())),
        Some(requested) if requested < tokens.len() => {
            Err(too_small(requested, tokens.len(), VocabContent::AllCharacters))
        }
        _ => Ok(single_symbols(&tokens, spec.purpose.unknown(spec.kind))),
    }
}

fn bytes(spec: &TokenizerSpec) -> Result<Value> {
    let mut tokens = spec.special_tokens();
    tokens.extend((0..=255).map(|byte| bpe::byte_symbol(byte).to_string()));
    match spec.vocab_size {
        Some(requested) if requested != tokens.len() => {
            Err(TokenizerError::ByteVocab { requested, size: tokens.len() }.into())
        }
        _ => Ok(single_symbols(&tokens, None)),
    }
}

/// The most frequent words; equal counts in byte order.
fn whole_words(spec: &TokenizerSpec, words: &Words) -> Result<Value> {
    let mut tokens = spec.special_tokens();
    // A word spelt like a special token is that token, and has its id already.
    let fits =
        |(word, count): &&(String, u64)| *count >= spec.min_frequency && !tokens.contains(word);
    let mut learned: Vec<&(String, u64)> = words.words.iter().filter(fits).collect();
    // Stable: equal counts stay in the order of their bytes.
    learned.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let all = tokens.len() + learned.len();
    if let Some(requested) = spec.vocab_size {
        if requested > all {
            return Err(too_large(requested, all));
        }
        if requested <= tokens.len() {
            let content = VocabContent::OneWord { all };
            return Err(too_small(requested, tokens.len() + 1, content));
        }
        learned.truncate(requested - tokens.len());
    }
    tokens.extend(learned.iter().map(|(word, _)| word.clone()));
    let unknown = spec.purpose.unknown(spec.kind).expect("a word may be unknown");
    Ok(word_level(&tokens, unknown))
}

/// Byte-level BPE and WordPiece: an alphabet and its merges.
fn merged(spec: &TokenizerSpec, words: &Words, progress: &mut dyn FnMut(Stage)) -> Result<Value> {
    let special = spec.special_tokens();
    let requested = required_vocab_size(spec)?;
    let alphabet = match spec.kind {
        TokenizerKind::Bpe => Alphabet::bytes(),
        _ => Alphabet::with_prefix("##", words, spec.min_frequency),
    };
    let minimum = special.len() + alphabet.symbols.len();
    if requested < minimum {
        return Err(too_small(requested, minimum, VocabContent::Alphabet));
    }
    let mut progress = |done| progress(Stage::Learning(done, requested));
    let least = spec.min_frequency.max(1);
    let learned = learn_merges(&words.words, &special, &alphabet, requested, least, &mut progress);
    if learned.tokens.len() < requested && spec.shortage == Shortage::Refuse {
        return Err(too_large(requested, learned.tokens.len()));
    }
    Ok(match spec.kind {
        TokenizerKind::Bpe => {
            let mut model = single_symbols(&learned.tokens, None);
            model["merges"] = json!(learned.merges);
            model
        }
        _ => json!({
            "type": "WordPiece", "unk_token": spec.purpose.unknown(spec.kind),
            "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
            "vocab": numbered(&learned.tokens),
        }),
    })
}

/// The vocabulary size, for kinds that cannot do without.
fn required_vocab_size(spec: &TokenizerSpec) -> Result<usize> {
    let missing = TokenizerError::NoVocabSize { algorithm: spec.kind.name() };
    spec.vocab_size.ok_or_else(|| missing.into())
}

fn too_large(requested: usize, available: usize) -> Error {
    TokenizerError::VocabTooLarge { requested, available }.into()
}

fn too_small(requested: usize, minimum: usize, content: VocabContent) -> Error {
    TokenizerError::VocabTooSmall { requested, minimum, content }.into()
}

#[cfg(test)]
mod tests;
