//! Learning a vocabulary from text.
//!
//! ```
//! use limpid::text::TokenizerKind;
//! use limpid::text::train::{TokenizerSpec, train};
//!
//! let spec = TokenizerSpec { vocab_size: Some(259), ..TokenizerSpec::new(TokenizerKind::Bpe) };
//! let tokenizer = train(&spec, [Ok("low lower lowest\n".repeat(9))])?.tokenizer;
//! // <|endoftext|>, 256 bytes, then "lo" and "low": the pair (l, o) ties with (o, w) and others, and l has the lower id.
//! let tokens: Vec<String> = tokenizer.encode("low")?.into_iter().map(|id| tokenizer.token(id)).collect();
//! assert_eq!(tokens, ["low"]);
//! # Ok::<(), limpid::error::Error>(())
//! ```
//!
//! Counting, merging and pruning are our own; what is learnt is written as a `tokenizer.json` and used through the `tokenizers`
//! crate, so that any other program gives the same ids. The crate's own trainers are not used, because their results depend on the
//! order of hash maps with random keys, and on the number of threads: WordPiece numbers its pieces in that order (and breaks ties by
//! the numbers), Unigram adds up probabilities and orders rare characters in it, BPE may learn a merge twice. Here the same text gives the
//! same bytes everywhere: words are sorted before anything is learnt, and every tie has a rule.

mod bpe;
mod count;
mod hash;
mod lattice;
mod seeds;
mod unigram;

pub use count::Counted;

use super::blocks::Blocks;
use super::kind::{Case, Purpose, TokenizerKind};
use super::layout::assemble;
use super::lines::Text;
use super::tokenizer::Tokenizer;
use crate::error::{Error, Result};
use bpe::{Alphabet, learn_merges};
use count::Words;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// What to learn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenizerSpec {
    /// How text is cut.
    pub kind: TokenizerKind,
    /// What the tokens are for.
    pub purpose: Purpose,
    /// How many tokens, special ones included. Needed for BPE, WordPiece and Unigram; characters and words take all there are without it.
    pub vocab_size: Option<usize>,
    /// What occurs less often gets no token of its own: characters, words, merges, pieces.
    pub min_frequency: u64,
    /// What happens to capital letters.
    pub case: Case,
    /// What happens if the text gives fewer tokens.
    pub shortage: Shortage,
}

/// What happens if a text does not give as many tokens as were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// An error that says how many it gives: somebody wanted that number.
    Refuse,
    /// As many as it gives are taken: the number was only what is usual. For BPE, WordPiece and Unigram.
    Accept,
}

impl TokenizerSpec {
    /// The usual for a kind: its purpose, every character and word; merges and pieces that occur twice.
    pub fn new(kind: TokenizerKind) -> Self {
        let min_frequency = match kind {
            TokenizerKind::Bpe | TokenizerKind::Unigram | TokenizerKind::WordPiece => 2,
            TokenizerKind::Character | TokenizerKind::Byte | TokenizerKind::Word => 1,
        };
        Self {
            kind,
            purpose: kind.usual_purpose(),
            vocab_size: None,
            min_frequency,
            case: Case::Keep,
            shortage: Shortage::Refuse,
        }
    }

    fn special_tokens(&self) -> Vec<String> {
        self.purpose.special_tokens(self.kind).into_iter().map(String::from).collect()
    }
}

/// A tokenizer, and what it was learnt from.
pub struct Trained {
    /// The tokenizer.
    pub tokenizer: Tokenizer,
    /// What was read.
    pub counted: Counted,
}

/// How far a training is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Bytes that have been read and counted.
    Counting(u64),
    /// Tokens that have been learnt, of so many.
    Learning(usize, usize),
}

/// The least that a text of one line may have, in bytes: below it is a mistake (the wrong file), above it a corpus without line ends.
const LEAST_LINE: u64 = 1 << 16;

/// Learns from texts in memory; where they are cut does not matter as long as no word is.
pub fn train(spec: &TokenizerSpec, texts: impl IntoIterator<Item = Result<String>>) -> Result<Trained> {
    let words = Words::count(spec, texts.into_iter(), &mut |_| {})?;
    learn(spec, words, &mut |_| {})
}

/// Learns from files, which are read in blocks: only what is distinct in them has to fit into memory.
pub fn train_files(
    spec: &TokenizerSpec,
    files: &[PathBuf],
    progress: &mut dyn FnMut(Stage),
) -> Result<Trained> {
    // Bytes are known without a file.
    if spec.kind == TokenizerKind::Byte {
        return train(spec, []);
    }
    if files.is_empty() {
        return Err(Error::config("there is no text to learn from").hint("name a file: --data text.txt"));
    }
    let texts = files.iter().map(|path| Text::open(path)).collect::<Result<Vec<Text>>>()?;
    let words = Words::count(spec, texts.into_iter().flat_map(Blocks::new), progress)?;
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let names = names.join(", ");
    if words.counted.words == 0 {
        let what = if words.counted.bytes == 0 { "empty" } else { "nothing but spaces" };
        return Err(
            Error::data(format!("{names}: {what}: there is nothing to learn")).hint("is it the right file?")
        );
    }
    if words.counted.line_ends <= 1 && words.counted.bytes < LEAST_LINE {
        return Err(Error::data(format!(
            "{names}: one line of {} bytes: too little to learn a vocabulary from",
            words.counted.bytes
        ))
        .hint("give the text itself, some thousand sentences a line each (a text of one line must have 65,536 bytes)"));
    }
    learn(spec, words, progress)
}

fn learn(spec: &TokenizerSpec, words: Words, progress: &mut dyn FnMut(Stage)) -> Result<Trained> {
    let model = match spec.kind {
        TokenizerKind::Character => characters(spec, &words)?,
        TokenizerKind::Byte => bytes(spec)?,
        TokenizerKind::Word => whole_words(spec, &words)?,
        TokenizerKind::Bpe | TokenizerKind::WordPiece => merged(spec, &words, progress)?,
        TokenizerKind::Unigram => unigram::learn(spec, &words, progress)?,
    };
    Ok(Trained { tokenizer: assemble(spec.kind, spec.purpose, spec.case, &model)?, counted: words.counted })
}

fn numbered(tokens: &[String]) -> Map<String, Value> {
    tokens.iter().enumerate().map(|(id, token)| (token.clone(), json!(id))).collect()
}

/// BPE that merges nothing: a token for each character, found in one pass.
fn single_symbols(tokens: &[String], unknown: Option<&str>) -> Value {
    json!({
        "type": "BPE", "dropout": null, "unk_token": unknown, "continuing_subword_prefix": null, "end_of_word_suffix": null,
        "fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": numbered(tokens), "merges": [],
    })
}

/// Every character that is frequent enough, in the order of Unicode.
fn characters(spec: &TokenizerSpec, words: &Words) -> Result<Value> {
    let mut tokens = spec.special_tokens();
    tokens.extend(words.alphabet(spec.min_frequency).iter().map(char::to_string));
    match spec.vocab_size {
        Some(asked) if asked > tokens.len() => Err(too_large(asked, tokens.len())),
        Some(asked) if asked < tokens.len() => Err(too_small(asked, tokens.len(), "all its characters")
            .hint(format!("use --vocab {}, or --min-frequency to leave rare characters out", tokens.len()))),
        _ => Ok(single_symbols(&tokens, spec.purpose.unknown(spec.kind))),
    }
}

fn bytes(spec: &TokenizerSpec) -> Result<Value> {
    let mut tokens = spec.special_tokens();
    tokens.extend((0..=255).map(|byte| bpe::byte_symbol(byte).to_string()));
    match spec.vocab_size {
        Some(asked) if asked != tokens.len() => {
            let there = tokens.len();
            Err(Error::config(format!("--vocab {asked}: bytes and their special tokens are {there}"))
                .hint(format!("use --vocab {there}, or leave it out")))
        }
        _ => Ok(single_symbols(&tokens, None)),
    }
}

/// The most frequent words; equal counts in the order of their bytes.
fn whole_words(spec: &TokenizerSpec, words: &Words) -> Result<Value> {
    let mut tokens = spec.special_tokens();
    // A word that looks like a special token is that token, and has its id already.
    let fits = |(word, count): &&(String, u64)| *count >= spec.min_frequency && !tokens.contains(word);
    let mut learnt: Vec<&(String, u64)> = words.words.iter().filter(fits).collect();
    // Stable: equal counts stay in the order of their bytes.
    learnt.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let there = tokens.len() + learnt.len();
    if let Some(asked) = spec.vocab_size {
        if asked > there {
            return Err(too_large(asked, there));
        }
        if asked <= tokens.len() {
            return Err(too_small(asked, tokens.len() + 1, "the special tokens and a word")
                .hint(format!("use --vocab {there} for all words")));
        }
        learnt.truncate(asked - tokens.len());
    }
    tokens.extend(learnt.iter().map(|(word, _)| word.clone()));
    Ok(
        json!({ "type": "WordLevel", "vocab": numbered(&tokens), "unk_token": spec.purpose.unknown(spec.kind) }),
    )
}

/// Byte-level BPE and WordPiece: an alphabet and merges of it.
fn merged(spec: &TokenizerSpec, words: &Words, progress: &mut dyn FnMut(Stage)) -> Result<Value> {
    let special = spec.special_tokens();
    let asked = needed_vocabulary(spec)?;
    let alphabet = match spec.kind {
        TokenizerKind::Bpe => Alphabet::bytes(),
        _ => Alphabet::with_prefix("##", words, spec.min_frequency),
    };
    let least = special.len() + alphabet.symbols.len();
    if asked < least {
        return Err(too_small(asked, least, "its alphabet and the special tokens")
            .hint(format!("use --vocab {least} or more")));
    }
    let learnt =
        learn_merges(&words.words, &special, &alphabet, asked, spec.min_frequency.max(1), &mut |done| {
            progress(Stage::Learning(done, asked));
        });
    if learnt.tokens.len() < asked && spec.shortage == Shortage::Refuse {
        return Err(too_large(asked, learnt.tokens.len()));
    }
    Ok(match spec.kind {
        TokenizerKind::Bpe => {
            let mut model = single_symbols(&learnt.tokens, None);
            model["merges"] = json!(learnt.merges);
            model
        }
        _ => json!({
            "type": "WordPiece", "unk_token": spec.purpose.unknown(spec.kind), "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": numbered(&learnt.tokens),
        }),
    })
}

/// The size that must be given.
fn needed_vocabulary(spec: &TokenizerSpec) -> Result<usize> {
    spec.vocab_size.ok_or_else(|| {
        Error::config(format!("{} needs the size of its vocabulary", spec.kind.words()))
            .hint("for example --vocab 8000")
    })
}

fn too_large(asked: usize, there: usize) -> Error {
    Error::config(format!("a vocabulary of {asked} was asked for, the text gives {there}"))
        .hint(format!("use --vocab {there}, give more text, or a lower --min-frequency"))
}

fn too_small(asked: usize, least: usize, what: &str) -> Error {
    Error::config(format!("a vocabulary of {asked} is too small: {what} need {least}"))
}

#[cfg(test)]
mod tests;
