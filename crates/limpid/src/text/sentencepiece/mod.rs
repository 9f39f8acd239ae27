//! SentencePiece models (Kudo and Richardson 2018): `spiece.model`, `tokenizer.model`,
//! `source.spm`. The same ids, offsets and decoded texts as the `sentencepiece` package.
//!
//! A text is normalized (`normalizer`: rules, whitespace), segmented into pieces (`unigram`,
//! `bpe`, words or characters), and every piece becomes its id; what is out of vocabulary becomes
//! the unknown token, or bytes.
//!
//! ```no_run
//! use limpid::text::sentencepiece::SentencePiece;
//!
//! let model = SentencePiece::load("t5-small/spiece.model".as_ref())?;
//! let ids: Vec<u32> = model.encode("A cat sat.").into_iter().map(|piece| piece.id).collect();
//! # Ok::<(), limpid::error::Error>(())
//! ```

mod bpe;
mod charsmap;
mod decode;
mod model;
mod normalizer;
mod trie;
mod unigram;
mod wire;

use crate::error::{Result, SentencePieceProblem as Problem, TokenizerError};
use bpe::Bpe;
use model::Model;
pub use model::{Algorithm, Piece, PieceKind};
use normalizer::{Normalizer, SPACE};
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use trie::Trie;
use unigram::Unigram;

/// A token of an encoded text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedPiece {
    /// Its id.
    pub id: u32,
    /// Its text after normalization; of an unknown token, the characters that are unknown.
    pub piece: String,
    /// The byte range of the text that it came from; of several bytes of one character, the last
    /// has it.
    pub range: Range<usize>,
}

/// A SentencePiece model, ready to encode and decode.
#[derive(Clone, Debug)]
pub struct SentencePiece {
    model: Model,
    /// Ids of normal, user-defined and unused pieces, which text can have.
    ids: HashMap<String, u32>,
    /// Ids of the others: unknown, control and byte pieces.
    reserved: HashMap<String, u32>,
    unknown: u32,
    symbols: Trie,
    normalizer: Normalizer,
    denormalizer: Option<Normalizer>,
    /// Of a unigram model.
    unigram: Option<Unigram>,
}

impl SentencePiece {
    /// Opens a file.
    ///
    /// # Errors
    /// [`TokenizerError::Unreadable`], or [`TokenizerError::SentencePiece`] if it is not a model.
    pub fn load(path: &Path) -> Result<Self> {
        match std::fs::read(path) {
            Ok(bytes) => Self::from_bytes(path, &bytes),
            Err(source) => {
                Err(TokenizerError::Unreadable { path: path.to_path_buf(), source }.into())
            }
        }
    }

    /// Parses the bytes of a file; `path` is what errors call it.
    ///
    /// # Errors
    /// [`TokenizerError::SentencePiece`] if they are not a model.
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self> {
        Self::parse(bytes).map_err(|problem| {
            TokenizerError::SentencePiece { path: path.to_path_buf(), problem }.into()
        })
    }

    fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        let model = Model::parse(bytes)?;
        let (mut ids, mut reserved) = (HashMap::new(), HashMap::new());
        let mut unknown = None;
        let mut has_byte = [false; 256];
        for (piece, id) in model.pieces.iter().zip(0..) {
            let map = match piece.kind {
                PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused => &mut ids,
                PieceKind::Unknown | PieceKind::Control | PieceKind::Byte => &mut reserved,
            };
            if map.insert(piece.text.clone(), id).is_some() {
                return Err(Problem::DuplicatePiece { piece: piece.text.clone() });
            }
            match piece.kind {
                PieceKind::Unknown if unknown.replace(id).is_some() => {
                    return Err(Problem::UnknownTwice);
                }
                PieceKind::Byte => match decode::byte(&piece.text) {
                    Some(byte) if model.trainer.byte_fallback => has_byte[usize::from(byte)] = true,
                    _ => return Err(Problem::BadPiece { id: id as usize }),
                },
                _ => {}
            }
        }
        let unknown = unknown.ok_or(Problem::NoUnknown)?;
        if model.trainer.byte_fallback && has_byte.contains(&false) {
            return Err(Problem::MissingBytes);
        }
        if ids.is_empty() {
            return Err(Problem::NoPieces);
        }
        let defined = model.pieces.iter().filter(|piece| piece.kind == PieceKind::UserDefined);
        let symbols = Trie::new(defined.map(|piece| (piece.text.as_str(), 0)));
        let suffix = model.trainer.treat_whitespace_as_suffix;
        let normalizer = Normalizer::new(&model.normalizer, suffix)?;
        let denormalizer = match &model.denormalizer {
            Some(spec) if !spec.charsmap.is_empty() => Some(Normalizer::new(spec, false)?),
            _ => None,
        };
        let is_unigram = model.trainer.algorithm == Algorithm::Unigram;
        let unigram = is_unigram.then(|| Unigram::new(&model.pieces, unknown));
        Ok(Self { model, ids, reserved, unknown, symbols, normalizer, denormalizer, unigram })
    }

    /// The tokens of a text.
    pub fn encode(&self, text: &str) -> Vec<EncodedPiece> {
        let normalized = self.normalizer.normalize(text, &self.symbols);
        let mut encoded: Vec<EncodedPiece> = Vec::new();
        let mut after_unknown = false;
        for (range, id) in self.segment(&normalized.text) {
            let piece = &normalized.text[range.clone()];
            let from = normalized.origin[range.start]..normalized.origin[range.end];
            let is_unknown = id == self.unknown;
            if is_unknown && self.model.trainer.byte_fallback {
                for (i, byte) in piece.bytes().enumerate() {
                    let piece = decode::byte_piece(byte);
                    let end = if i + 1 < range.len() { from.start } else { from.end };
                    let id = self.id(&piece).unwrap_or(self.unknown);
                    encoded.push(EncodedPiece { id, piece, range: from.start..end });
                }
            } else if let Some(last) = encoded.last_mut().filter(|_| after_unknown && is_unknown) {
                // One unknown token for a run of unknown characters.
                last.piece.push_str(piece);
                last.range.end = from.end;
            } else {
                encoded.push(EncodedPiece { id, piece: piece.to_string(), range: from });
            }
            after_unknown = is_unknown;
        }
        encoded
    }

    /// A text after the normalizer.
    pub fn normalized(&self, text: &str) -> String {
        self.normalizer.normalize(text, &self.symbols).text
    }

    /// The pieces of a normalized text: byte ranges and ids.
    fn segment(&self, text: &str) -> Vec<(Range<usize>, u32)> {
        let with_id = |range: Range<usize>| {
            let id = self.id(&text[range.clone()]).unwrap_or(self.unknown);
            (range, id)
        };
        match (self.model.trainer.algorithm, &self.unigram) {
            (Algorithm::Unigram, Some(unigram)) => unigram.encode(&self.model.pieces, text),
            (Algorithm::Word, _) => words(text).into_iter().map(with_id).collect(),
            (Algorithm::Char, _) => {
                let mut found = Vec::new();
                let mut start = 0;
                while let Some(character) = text[start..].chars().next() {
                    let symbol = self.symbols.longest_prefix(&text.as_bytes()[start..]);
                    let end = start + symbol.unwrap_or(character.len_utf8());
                    found.push(with_id(start..end));
                    start = end;
                }
                found
            }
            _ => {
                let (pieces, ids) = (&self.model.pieces, &self.ids);
                let bpe = Bpe { pieces, ids, symbols: &self.symbols };
                bpe.encode(text).into_iter().map(with_id).collect()
            }
        }
    }

    /// The id of a piece, as the model spells it.
    pub fn id(&self, piece: &str) -> Option<u32> {
        self.reserved.get(piece).or_else(|| self.ids.get(piece)).copied()
    }

    /// The pieces; their ids are their indices.
    pub fn pieces(&self) -> &[Piece] {
        &self.model.pieces
    }

    /// The id of the unknown token.
    pub fn unknown_id(&self) -> u32 {
        self.unknown
    }

    /// The algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.model.trainer.algorithm
    }

    /// Whether characters that are out of vocabulary become bytes.
    pub fn byte_fallback(&self) -> bool {
        self.model.trainer.byte_fallback
    }

    /// The compiled rules of the normalizer; empty if it has none.
    pub fn charsmap(&self) -> &[u8] {
        &self.model.normalizer.charsmap
    }

    /// Whether a space is added before (or behind) each text.
    pub fn adds_dummy_prefix(&self) -> bool {
        self.model.normalizer.add_dummy_prefix
    }

    /// Whether spaces at both ends and repeated ones are removed.
    pub fn removes_extra_whitespaces(&self) -> bool {
        self.model.normalizer.remove_extra_whitespaces
    }

    /// The id of the control symbol that begins a text.
    pub fn bos_id(&self) -> Option<u32> {
        self.control(&self.model.trainer.bos_piece)
    }

    /// The id of the control symbol that ends a text.
    pub fn eos_id(&self) -> Option<u32> {
        self.control(&self.model.trainer.eos_piece)
    }

    /// The id of the control symbol that pads a text.
    pub fn pad_id(&self) -> Option<u32> {
        self.control(&self.model.trainer.pad_piece)
    }

    fn control(&self, piece: &str) -> Option<u32> {
        let id = self.id(piece)?;
        (self.model.pieces[id as usize].kind == PieceKind::Control).then_some(id)
    }
}

/// The words of a normalized text: each begins with the mark of a space.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut starts: Vec<usize> = text.match_indices(SPACE).map(|(at, _)| at).collect();
    if !text.is_empty() && starts.first() != Some(&0) {
        starts.insert(0, 0);
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}
