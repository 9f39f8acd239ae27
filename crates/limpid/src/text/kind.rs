//! Which tokenizers there are, and which tokens they reserve for what.

/// How a text is cut into tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenizerKind {
    /// Every character (Unicode scalar value) of the training text is a token.
    Character,
    /// Every byte is a token: 256 of them, nothing to learn.
    Byte,
    /// Words and signs; what is not in the vocabulary is unknown.
    Word,
    /// Byte-level BPE, as GPT-2: no text is unknown.
    Bpe,
    /// Word pieces with `##` for what continues a word, as BERT.
    WordPiece,
    /// Pieces of words with probabilities; the likeliest segmentation is taken (Kudo 2018).
    Unigram,
}

impl TokenizerKind {
    /// All kinds.
    pub const ALL: [TokenizerKind; 6] =
        [Self::Character, Self::Byte, Self::Word, Self::Bpe, Self::WordPiece, Self::Unigram];

    /// In a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Character => "characters",
            Self::Byte => "bytes",
            Self::Word => "words",
            Self::Bpe => "byte-level BPE",
            Self::WordPiece => "WordPiece",
            Self::Unigram => "Unigram",
        }
    }

    /// Whether a text may hold what the vocabulary has no token for.
    pub(super) fn has_unknown(self) -> bool {
        !matches!(self, Self::Byte | Self::Bpe)
    }

    /// What the kind is mostly used for.
    pub fn usual_purpose(self) -> Purpose {
        match self {
            Self::Character | Self::Byte | Self::Bpe => Purpose::LanguageModel,
            Self::Word | Self::Unigram => Purpose::Translation,
            Self::WordPiece => Purpose::Encoder,
        }
    }
}

/// What the tokens are for: decides which special tokens there are, and what is put around a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A language model as GPT: `<|endoftext|>` between documents, and `<unk>` where a text may hold something unknown.
    LanguageModel,
    /// Translation as Marian: `<pad>` 0 (which also starts a translation), `</s>` 1, `<unk>` 2.
    Translation,
    /// An encoder as BERT: `[PAD]` 0, `[UNK]` 1, `[CLS]` 2, `[SEP]` 3, `[MASK]` 4.
    Encoder,
    /// No special tokens, except `<unk>` where a text may hold something unknown.
    Bare,
}

impl Purpose {
    /// The special tokens, in the order of their ids, which begin at 0.
    pub fn special_tokens(self, kind: TokenizerKind) -> Vec<&'static str> {
        let unknown = kind.has_unknown().then_some("<unk>");
        match self {
            Self::LanguageModel => ["<|endoftext|>"].into_iter().chain(unknown).collect(),
            Self::Translation => vec!["<pad>", "</s>", "<unk>"],
            Self::Encoder => vec!["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
            Self::Bare => unknown.into_iter().collect(),
        }
    }

    /// The token for what is not in the vocabulary, where that can happen.
    pub(super) fn unknown(self, kind: TokenizerKind) -> Option<&'static str> {
        kind.has_unknown().then_some(match self {
            Self::Encoder => "[UNK]",
            _ => "<unk>",
        })
    }
}

/// What happens to capital letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// They stay.
    #[default]
    Keep,
    /// All letters are made small; as in BERT, accents go with them for [`TokenizerKind::WordPiece`].
    Lower,
}
