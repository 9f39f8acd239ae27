//! What can be wrong with a SentencePiece model.

/// Why a file is not a SentencePiece model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SentencePieceProblem {
    /// More bytes than any vocabulary needs.
    #[error("{bytes} bytes are more than the {max_bytes} that are read")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The largest that is read.
        max_bytes: usize,
    },
    /// A length that reaches beyond the end.
    #[error("the file ends inside of a field: it is truncated, or not protobuf")]
    Truncated,
    /// A number of more than ten bytes.
    #[error("a number has more than ten bytes: the file is not protobuf")]
    BadVarint,
    /// A field number or wire type that there is not.
    #[error("a field has no valid number or wire type: the file is not protobuf")]
    BadField,
    /// A field of another type than the format has.
    #[error("'{field}' has the wrong type")]
    WireType {
        /// Its name.
        field: &'static str,
    },
    /// A string that is not UTF-8.
    #[error("'{field}' is not UTF-8")]
    NotUtf8 {
        /// Its name.
        field: &'static str,
    },
    /// NaN or infinity.
    #[error("'{field}' is not a finite number")]
    NotFinite {
        /// Its name.
        field: &'static str,
    },
    /// An algorithm that there is not.
    #[error("model_type {value} is unknown (1 unigram, 2 BPE, 3 word, 4 char)")]
    ModelType {
        /// The number.
        value: u64,
    },
    /// A kind of piece that there is not.
    #[error("piece {id} has the unknown type {value}")]
    PieceType {
        /// Its id.
        id: usize,
        /// The number.
        value: u64,
    },
    /// An empty piece, one with a zero byte, or a byte piece that is none.
    #[error("piece {id} is empty, contains a zero byte, or is a byte piece out of place")]
    BadPiece {
        /// Its id.
        id: usize,
    },
    /// A piece that is there twice.
    #[error("the piece '{piece}' is there twice")]
    DuplicatePiece {
        /// Its text.
        piece: String,
    },
    /// Two unknown tokens.
    #[error("it has two unknown tokens")]
    UnknownTwice,
    /// No unknown token.
    #[error("it has no unknown token")]
    NoUnknown,
    /// Byte fallback without all bytes.
    #[error("it has byte_fallback, but not all 256 byte pieces")]
    MissingBytes,
    /// No piece that text can have.
    #[error("it has no pieces")]
    NoPieces,
    /// Rules that are not a trie, or lead outside of it.
    #[error("precompiled_charsmap is damaged")]
    BadCharsMap,
}
