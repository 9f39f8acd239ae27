//! The kinds of tokenizers and their special tokens.

/// How a text is tokenized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenizerKind {
    /// Every character (Unicode scalar value) of the training text is a token.
    Character,
    /// Every byte is a token: a fixed vocabulary of 256.
    Byte,
    /// Words and punctuation marks; other words become the unknown token.
    Word,
    /// Byte-level BPE as in GPT-2; nothing is out of vocabulary.
    Bpe,
    /// Word pieces, `##` marking those that continue a word, as in BERT.
    WordPiece,
    /// Word pieces with probabilities; the most likely segmentation wins (Kudo 2018).
    Unigram,
}

impl TokenizerKind {
    /// All kinds.
    pub const ALL: [TokenizerKind; 6] =
        [Self::Character, Self::Byte, Self::Word, Self::Bpe, Self::WordPiece, Self::Unigram];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Character => "characters",
            Self::Byte => "bytes",
            Self::Word => "words",
            Self::Bpe => "byte-level BPE",
            Self::WordPiece => "WordPiece",
            Self::Unigram => "Unigram",
        }
    }

    /// Whether a text can be out of vocabulary.
    pub(super) fn has_unknown(self) -> bool {
        !matches!(self, Self::Byte | Self::Bpe)
    }

    /// What the kind is mostly used for, as in the original papers.
    pub fn default_purpose(self) -> Purpose {
        match self {
            Self::Character | Self::Byte | Self::Bpe => Purpose::LanguageModel,
            Self::Word | Self::Unigram => Purpose::Translation,
            Self::WordPiece => Purpose::Encoder,
        }
    }
}

/// What the tokens are for: decides the special tokens and the post-processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A language model like GPT: `<|endoftext|>` between documents, and `<unk>` for the kinds that
    /// can be out of vocabulary.
    LanguageModel,
    /// Translation like Marian: `<pad>` 0 (also the decoder's start token), `</s>` 1, `<unk>` 2.
    Translation,
    /// An encoder like BERT: `[PAD]` 0, `[UNK]` 1, `[CLS]` 2, `[SEP]` 3, `[MASK]` 4.
    Encoder,
    /// No special tokens, except `<unk>` for the kinds that can be out of vocabulary.
    Bare,
}

impl Purpose {
    /// The special tokens; their ids are 0, 1, …
    pub fn special_tokens(self, kind: TokenizerKind) -> Vec<&'static str> {
        let unknown = kind.has_unknown().then_some("<unk>");
        match self {
            Self::LanguageModel => ["<|endoftext|>"].into_iter().chain(unknown).collect(),
            Self::Translation => vec!["<pad>", "</s>", "<unk>"],
            Self::Encoder => vec!["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
            Self::Bare => unknown.into_iter().collect(),
        }
    }

    /// The unknown token, for the kinds that have one.
    pub(super) fn unknown(self, kind: TokenizerKind) -> Option<&'static str> {
        kind.has_unknown().then_some(match self {
            Self::Encoder => "[UNK]",
            _ => "<unk>",
        })
    }
}

/// Whether the tokenizer distinguishes upper and lower case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Casing {
    /// Case is preserved.
    #[default]
    Cased,
    /// Text is lowercased; [`TokenizerKind::WordPiece`] also strips accents, as BERT does.
    Uncased,
}
