//! `limpid tokenizer …`

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Subcommand)]
pub enum Tokenizer {
    /// Train a tokenizer on text files; the folder opens in `transformers` too
    Train(TokenizerTrain),
    /// Encode text into token ids
    Encode(TokenizerEncode),
    /// Decode token ids into text
    Decode(TokenizerDecode),
    /// Describe a tokenizer, and measure it on text files
    Info(TokenizerInfo),
}

/// The tokenization algorithm.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Algorithm {
    /// Every character is a token
    Char,
    /// Every byte is a token: nothing to train, no unknown tokens
    Byte,
    /// Words and punctuation marks
    Word,
    /// Byte-level BPE, as GPT-2: no unknown tokens
    Bpe,
    /// WordPiece, as BERT
    Wordpiece,
    /// Unigram language model, as SentencePiece
    Unigram,
}

/// The set of special tokens, by the model the tokenizer is for.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum For {
    /// <|endoftext|> (default for char, byte, bpe)
    Gpt,
    /// <pad> </s> <unk>, and </s> after a text (default for word, unigram)
    Translate,
    /// [PAD] [UNK] [CLS] [SEP] [MASK], and a text between [CLS] and [SEP] (default for wordpiece)
    Bert,
    /// No special tokens except <unk> where the algorithm needs one
    None,
}

#[derive(ClapArgs)]
pub struct TokenizerTrain {
    /// Tokenization algorithm
    pub algorithm: Algorithm,
    /// Text files, UTF-8; they may be larger than memory
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pub data: Vec<PathBuf>,
    /// Vocabulary size, special tokens included (required for bpe, wordpiece and unigram; otherwise
    /// unlimited)
    #[arg(long, value_name = "N")]
    pub vocab: Option<usize>,
    /// Output folder
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Lowercase all text
    #[arg(long)]
    pub lowercase: bool,
    /// Minimum frequency of a character, word, merge or piece [default: 2 for bpe, wordpiece and
    /// unigram, otherwise 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub min_frequency: Option<u64>,
    /// Special tokens, by the model the tokenizer is for [default: by algorithm]
    #[arg(long = "for", value_name = "USE")]
    pub purpose: Option<For>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(ClapArgs)]
pub struct TokenizerEncode {
    /// Folder with a tokenizer, or run folder
    #[arg(value_parser = tokenizer_folder)]
    pub model: PathBuf,
    /// Texts to encode [default: lines of standard input]
    pub text: Vec<String>,
    /// Print JSON Lines: {"text": …, "ids": […], "tokens": […]}
    #[arg(long)]
    pub json: bool,
    /// Add special tokens
    #[arg(long)]
    pub special: bool,
}

#[derive(ClapArgs)]
pub struct TokenizerDecode {
    /// Folder with a tokenizer, or run folder
    #[arg(value_parser = tokenizer_folder)]
    pub model: PathBuf,
    /// Token ids, separated by spaces or commas [default: lines of standard input]
    pub ids: Vec<String>,
    /// Print JSON Lines: {"ids": […], "text": …}
    #[arg(long)]
    pub json: bool,
    /// Keep special tokens in the text
    #[arg(long)]
    pub special: bool,
}

#[derive(ClapArgs)]
pub struct TokenizerInfo {
    /// Folder with a tokenizer, or run folder
    #[arg(value_parser = tokenizer_folder)]
    pub model: PathBuf,
    /// Text files to measure: tokens per word, share of unknown tokens
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pub data: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Resolves a run folder to the tokenizer inside it.
fn tokenizer_folder(text: &str) -> Result<PathBuf, std::convert::Infallible> {
    let folder = PathBuf::from(text);
    let places = [folder.clone(), folder.join("model"), folder.join("tokenizer")];
    let found = places.into_iter().find(|place| limpid::text::Tokenizer::exists_in(place));
    Ok(found.unwrap_or(folder))
}
