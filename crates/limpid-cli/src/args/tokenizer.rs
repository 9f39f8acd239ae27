//! `limpid tokenizer …`

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Subcommand)]
pub enum Tokenizer {
    /// Learn a vocabulary from text files, and write a folder that `transformers` opens, too
    Train(TokenizerTrain),
    /// Text to token ids
    Encode(TokenizerEncode),
    /// Token ids to text
    Decode(TokenizerDecode),
    /// What a tokenizer is, and how well it fits a text
    Info(TokenizerInfo),
}

/// How text is cut.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Every character is a token
    Char,
    /// Every byte is a token: nothing is learnt, no text is unknown
    Byte,
    /// Words and signs
    Word,
    /// Byte-level BPE, as GPT-2: no text is unknown
    Bpe,
    /// Word pieces, as BERT
    Wordpiece,
    /// Pieces with probabilities, as SentencePiece
    Unigram,
}

/// What the tokens are for.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum For {
    /// <|endoftext|> (usual for char, byte, bpe)
    Gpt,
    /// <pad> </s> <unk>, and </s> after a text (usual for word, unigram)
    Translate,
    /// [PAD] [UNK] [CLS] [SEP] [MASK], and a text between [CLS] and [SEP] (usual for wordpiece)
    Bert,
    /// No special tokens but <unk> where one is needed
    None,
}

#[derive(ClapArgs)]
pub struct TokenizerTrain {
    /// How text is cut
    pub kind: Kind,
    /// Text files, UTF-8; read in blocks, so they may be larger than memory
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pub data: Vec<PathBuf>,
    /// Tokens of the vocabulary, special ones included (needed for bpe, wordpiece, unigram; otherwise all there are)
    #[arg(long, value_name = "N")]
    pub vocab: Option<usize>,
    /// Folder to write to
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Make all letters small
    #[arg(long)]
    pub lowercase: bool,
    /// Leave out what occurs less often: characters, words, merges, pieces [default: 2 for bpe, wordpiece, unigram; else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub min_frequency: Option<u64>,
    /// Which special tokens there are [default: by kind]
    #[arg(long = "for", value_name = "USE")]
    pub purpose: Option<For>,
    /// Machine-readable
    #[arg(long)]
    pub json: bool,
}

#[derive(ClapArgs)]
pub struct TokenizerEncode {
    /// A folder with a tokenizer.json, or the folder of a run
    #[arg(value_parser = tokenizer_folder)]
    pub model: PathBuf,
    /// What to encode; without it, standard input line by line
    pub text: Vec<String>,
    /// One JSON object a line: {"text": …, "ids": […], "tokens": […]}
    #[arg(long)]
    pub json: bool,
    /// With the special tokens that stand around a text
    #[arg(long)]
    pub special: bool,
}

#[derive(ClapArgs)]
pub struct TokenizerDecode {
    /// A folder with a tokenizer.json, or the folder of a run
    #[arg(value_parser = tokenizer_folder)]
    pub model: PathBuf,
    /// Token ids, separated by spaces or commas; without them, standard input line by line
    pub ids: Vec<String>,
    /// One JSON object a line: {"ids": […], "text": …}
    #[arg(long)]
    pub json: bool,
    /// Show special tokens, too
    #[arg(long)]
    pub special: bool,
}

#[derive(ClapArgs)]
pub struct TokenizerInfo {
    /// A folder with a tokenizer.json, or the folder of a run
    #[arg(value_parser = tokenizer_folder)]
    pub model: PathBuf,
    /// Text files to measure: tokens a word, share of unknown tokens
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pub data: Vec<PathBuf>,
    /// Machine-readable
    #[arg(long)]
    pub json: bool,
}

/// The folder of a run stands for the tokenizer in it.
fn tokenizer_folder(text: &str) -> Result<PathBuf, std::convert::Infallible> {
    let folder = PathBuf::from(text);
    let places = [folder.clone(), folder.join("model"), folder.join("tokenizer")];
    let found = places.into_iter().find(|place| place.join("tokenizer.json").exists());
    Ok(found.unwrap_or(folder))
}
