//! `ModelProto` of SentencePiece: the pieces and those settings that change the result.
//!
//! Field numbers are those of `sentencepiece_model.proto`.

use super::wire::{Fields, Value};
use crate::error::SentencePieceProblem as Problem;

/// The longest file that is read; the largest published vocabularies (a million pieces) have 20 MB.
pub(super) const MAX_BYTES: usize = 256 << 20;

/// The algorithm that splits a text into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// The most likely segmentation by piece scores (Kudo 2018).
    Unigram,
    /// Merges of neighbours, the one with the highest score first.
    Bpe,
    /// Whitespace-separated words.
    Word,
    /// Characters.
    Char,
}

impl Algorithm {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unigram => "unigram",
            Self::Bpe => "BPE",
            Self::Word => "word",
            Self::Char => "char",
        }
    }
}

/// What a piece is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// A piece of text.
    Normal,
    /// The unknown token; there is exactly one.
    Unknown,
    /// Never produced from text and invisible in decoded text: `<s>`, `</s>`, `<pad>`.
    Control,
    /// Always one token wherever it stands in a text.
    UserDefined,
    /// Never produced; BPE splits it again.
    Unused,
    /// One byte of a character that is out of vocabulary: `<0x0A>`.
    Byte,
}

/// A piece; its id is its index.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Its text; ▁ is a space.
    pub text: String,
    /// Log-probability (unigram), or minus the rank of its merge (BPE).
    pub score: f32,
    /// What it is for.
    pub kind: PieceKind,
}

/// `TrainerSpec`.
#[derive(Clone, Debug)]
pub(super) struct TrainerSpec {
    pub algorithm: Algorithm,
    pub byte_fallback: bool,
    pub treat_whitespace_as_suffix: bool,
    pub unk_piece: String,
    pub bos_piece: String,
    pub eos_piece: String,
    pub pad_piece: String,
    /// What `<unk>` is in decoded text.
    pub unk_surface: String,
}

impl Default for TrainerSpec {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Unigram,
            byte_fallback: false,
            treat_whitespace_as_suffix: false,
            unk_piece: "<unk>".into(),
            bos_piece: "<s>".into(),
            eos_piece: "</s>".into(),
            pad_piece: "<pad>".into(),
            unk_surface: " \u{2047} ".into(),
        }
    }
}

impl TrainerSpec {
    fn merge(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        // An empty name means the default.
        let name = |value: Value<'_>, field, default: &str| {
            value.text(field).map(|text| if text.is_empty() { default } else { text }.to_string())
        };
        for field in Fields::new(bytes) {
            let (number, value) = field?;
            match number {
                3 => {
                    self.algorithm = match value.varint("model_type")? {
                        1 => Algorithm::Unigram,
                        2 => Algorithm::Bpe,
                        3 => Algorithm::Word,
                        4 => Algorithm::Char,
                        value => return Err(Problem::ModelType { value }),
                    }
                }
                24 => {
                    self.treat_whitespace_as_suffix = value.flag("treat_whitespace_as_suffix")?;
                }
                35 => self.byte_fallback = value.flag("byte_fallback")?,
                44 => self.unk_surface = value.text("unk_surface")?.to_string(),
                45 => self.unk_piece = name(value, "unk_piece", "<unk>")?,
                46 => self.bos_piece = name(value, "bos_piece", "<s>")?,
                47 => self.eos_piece = name(value, "eos_piece", "</s>")?,
                48 => self.pad_piece = name(value, "pad_piece", "<pad>")?,
                // How the model was trained. Ids of special tokens (40 to 43) are found by their
                // pieces, as SentencePiece does.
                _ => {}
            }
        }
        Ok(())
    }
}

/// `NormalizerSpec`.
#[derive(Clone, Debug)]
pub(super) struct NormalizerSpec {
    /// The rules as a compiled trie; empty for `identity`.
    pub charsmap: Vec<u8>,
    pub add_dummy_prefix: bool,
    pub remove_extra_whitespaces: bool,
    pub escape_whitespaces: bool,
}

impl Default for NormalizerSpec {
    fn default() -> Self {
        Self {
            charsmap: Vec::new(),
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
            escape_whitespaces: true,
        }
    }
}

impl NormalizerSpec {
    fn merge(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        for field in Fields::new(bytes) {
            let (number, value) = field?;
            match number {
                2 => self.charsmap = value.bytes("precompiled_charsmap")?.to_vec(),
                3 => self.add_dummy_prefix = value.flag("add_dummy_prefix")?,
                4 => self.remove_extra_whitespaces = value.flag("remove_extra_whitespaces")?,
                5 => self.escape_whitespaces = value.flag("escape_whitespaces")?,
                // Its name, and the rules as text: the trie is what counts.
                _ => {}
            }
        }
        Ok(())
    }
}

/// A parsed file.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub pieces: Vec<Piece>,
    pub trainer: TrainerSpec,
    pub normalizer: NormalizerSpec,
    pub denormalizer: Option<NormalizerSpec>,
}

impl Model {
    /// Parses a `.model` or `.spm` file.
    pub fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        if bytes.len() > MAX_BYTES {
            return Err(Problem::TooLarge { bytes: bytes.len(), max_bytes: MAX_BYTES });
        }
        let mut model = Self::default();
        for field in Fields::new(bytes) {
            let (number, value) = field?;
            match number {
                1 => {
                    let piece = piece(value.bytes("pieces")?, model.pieces.len())?;
                    model.pieces.push(piece);
                }
                2 => model.trainer.merge(value.bytes("trainer_spec")?)?,
                3 => model.normalizer.merge(value.bytes("normalizer_spec")?)?,
                5 => {
                    let spec = model.denormalizer.get_or_insert_default();
                    spec.merge(value.bytes("denormalizer_spec")?)?;
                }
                // Self-test data and extensions.
                _ => {}
            }
        }
        Ok(model)
    }
}

fn piece(bytes: &[u8], id: usize) -> Result<Piece, Problem> {
    let mut piece = Piece { text: String::new(), score: 0.0, kind: PieceKind::Normal };
    for field in Fields::new(bytes) {
        let (number, value) = field?;
        match number {
            1 => piece.text = value.text("piece")?.to_string(),
            2 => piece.score = value.float("score")?,
            3 => {
                piece.kind = match value.varint("type")? {
                    1 => PieceKind::Normal,
                    2 => PieceKind::Unknown,
                    3 => PieceKind::Control,
                    4 => PieceKind::UserDefined,
                    5 => PieceKind::Unused,
                    6 => PieceKind::Byte,
                    value => return Err(Problem::PieceType { id, value }),
                }
            }
            _ => {}
        }
    }
    // A zero byte ends a key of SentencePiece's trie: such a piece means something else there.
    if piece.text.is_empty() || piece.text.contains('\0') {
        return Err(Problem::BadPiece { id });
    }
    Ok(piece)
}
