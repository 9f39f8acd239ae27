//! Tokenizers of model folders without `tokenizer.json`: SentencePiece models, `vocab.txt`,
//! `vocab.json` with `merges.txt`, read as the tokenizer class of `transformers` reads them.
//!
//! Most classes become a tokenizer of the `tokenizers` library, as in `transformers`; those that
//! use SentencePiece itself there do so here ([`pieces`]).

mod class;
mod export;
mod families;
mod languages;
mod parts;
mod pieces;
mod settings;
mod vocabulary;

use crate::error::Result;
use class::{Class, FILES};
pub(super) use export::PROBES;
pub(super) use pieces::{PieceTokenizer, Side, Token};
use settings::Settings;
pub(super) use settings::has_types;
use std::path::{Path, PathBuf};

/// A tokenizer that was not stored as `tokenizer.json`.
pub(super) enum Loaded {
    /// One of the `tokenizers` library.
    Library(Box<tokenizers::Tokenizer>),
    /// One of SentencePiece.
    Pieces(Box<PieceTokenizer>),
}

/// The first file of a tokenizer that a folder has.
pub(super) fn main_file(folder: &Path) -> Option<PathBuf> {
    FILES.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// All files of a folder's tokenizer.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let json = folder.join(FILES[0]);
    if json.is_file() {
        return vec![json];
    }
    let settings = ["tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"];
    let all = FILES.iter().chain(&settings).map(|name| folder.join(name));
    all.filter(|path| path.is_file()).collect()
}

/// Opens the tokenizer of a folder without `tokenizer.json`; `default` is the class of a folder
/// that names none.
pub(super) fn load(folder: &Path, default: Option<&str>) -> Result<Loaded> {
    let settings = Settings::read(folder)?;
    let class = Class::of(&settings, default)?;
    let library = |tokenizer| Loaded::Library(Box::new(tokenizer));
    match class {
        Class::Bert | Class::MpNet | Class::Gpt2 | Class::Roberta | Class::OpenAiGpt => {
            vocabulary::load(class, &settings).map(library)
        }
        Class::Marian | Class::M2M100 | Class::SentencePiece => {
            PieceTokenizer::load(class, &settings).map(|tokenizer| Loaded::Pieces(tokenizer.into()))
        }
        _ => families::load(class, &settings).map(library),
    }
}
