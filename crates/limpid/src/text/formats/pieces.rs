//! Tokenizers that use SentencePiece itself: a bare model, Marian (pieces looked up in
//! `vocab.json`, a model per side) and M2M-100 (the same with one model and language codes).

use super::class::Class;
use super::languages;
use super::parts::{roles, tokens_to_add};
use super::settings::{Settings, invalid};
use crate::error::{Result, TokenizerError};
use crate::text::sentencepiece::{Algorithm, PieceKind, SentencePiece};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;
use tokenizers::AddedToken;

/// The most ids a vocabulary may have.
const MAX_ID: u64 = 1 << 24;

/// A text is of the source language or of the target language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::text) enum Side {
    /// The text that an encoder reads; the only side of a tokenizer with one.
    Source,
    /// The text that a decoder generates.
    Target,
}

/// Tokens by id, and back.
#[derive(Default)]
pub(super) struct Vocabulary {
    ids: HashMap<String, u32>,
    pub(super) tokens: BTreeMap<u32, String>,
}

/// A tokenizer of SentencePiece models.
pub(in crate::text) struct PieceTokenizer {
    pub(super) class: Class,
    pub(super) source: SentencePiece,
    /// `None`: the same as the source's.
    target: Option<SentencePiece>,
    pub(super) vocab: Vocabulary,
    /// `None`: both sides share one.
    pub(super) target_vocab: Option<Vocabulary>,
    /// Tokens that are found in a text before SentencePiece sees it.
    added: Vec<(AddedToken, u32)>,
    pub(super) unknown: u32,
    /// Around a text that is encoded with special tokens.
    prefix: Vec<u32>,
    suffix: Vec<u32>,
    cleans_up: bool,
    /// The files as they were, to save them again.
    files: Vec<(String, Vec<u8>)>,
}

/// A token and the byte range of the text that it came from.
pub(in crate::text) type Token = (u32, Range<usize>);

impl Vocabulary {
    fn new(tokens: impl IntoIterator<Item = (String, u32)>) -> Self {
        let ids: HashMap<String, u32> = tokens.into_iter().collect();
        let tokens = ids.iter().map(|(token, id)| (*id, token.clone())).collect();
        Self { ids, tokens }
    }

    fn insert(&mut self, token: &str, id: u32) {
        self.ids.insert(token.to_string(), id);
        self.tokens.insert(id, token.to_string());
    }
}

/// The files that are read, each kept.
struct Files<'a> {
    folder: &'a Path,
    read: Vec<(String, Vec<u8>)>,
}

impl Files<'_> {
    fn optional(&mut self, name: &str) -> Option<&[u8]> {
        let bytes = std::fs::read(self.folder.join(name)).ok()?;
        self.read.push((name.to_string(), bytes));
        self.read.last().map(|(_, bytes)| bytes.as_slice())
    }

    fn model(
        &mut self,
        settings: &Settings,
        class: Class,
        name: &'static str,
    ) -> Result<SentencePiece> {
        let path = self.folder.join(name);
        let bytes = self.optional(name).ok_or_else(|| class.missing(settings, name))?;
        SentencePiece::from_bytes(&path, bytes)
    }

    fn vocab(
        &mut self,
        settings: &Settings,
        class: Class,
        name: &'static str,
    ) -> Result<Vocabulary> {
        let path = self.folder.join(name);
        let bytes = self.optional(name).ok_or_else(|| class.missing(settings, name))?;
        let ids: HashMap<String, u64> =
            serde_json::from_slice(bytes).map_err(|e| invalid(&path, e))?;
        if let Some((token, id)) = ids.iter().find(|(_, id)| **id >= MAX_ID) {
            return Err(invalid(&path, format!("'{token}' has the id {id}")).into());
        }
        Ok(Vocabulary::new(ids.into_iter().map(|(token, id)| (token, id as u32))))
    }
}

impl PieceTokenizer {
    pub(super) fn load(class: Class, settings: &Settings) -> Result<Self> {
        let mut files = Files { folder: &settings.folder, read: Vec::new() };
        let (source, target, mut vocab, target_vocab) = match class {
            Class::Marian => {
                let source = files.model(settings, class, "source.spm")?;
                let target = files.model(settings, class, "target.spm")?;
                let vocab = files.vocab(settings, class, "vocab.json")?;
                let separate = settings.flag("separate_vocabs").unwrap_or(false);
                let target_vocab = match separate {
                    true => Some(files.vocab(settings, class, "target_vocab.json")?),
                    false => None,
                };
                (source, Some(target), vocab, target_vocab)
            }
            Class::M2M100 => {
                let source = files.model(settings, class, "sentencepiece.bpe.model")?;
                (source, None, files.vocab(settings, class, "vocab.json")?, None)
            }
            _ => {
                let source = files.model(settings, class, class.model_file(settings)?)?;
                let pieces = source.pieces().iter().zip(0..);
                let vocab = Vocabulary {
                    ids: pieces.clone().map(|(piece, id)| (piece.text.clone(), id)).collect(),
                    tokens: pieces.map(|(piece, id)| (id, piece.text.clone())).collect(),
                };
                (source, None, vocab, None)
            }
        };
        for name in ["tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"] {
            files.optional(name);
        }
        let codes = language_codes(class, settings)?;
        let size = vocab.ids.len() as u32;
        for (code, i) in codes.iter().zip(0..) {
            vocab.insert(&format!("__{code}__"), size + i);
        }
        let mut tokenizer = Self {
            class,
            unknown: source.unknown_id(),
            source,
            target,
            vocab,
            target_vocab,
            added: Vec::new(),
            prefix: Vec::new(),
            suffix: Vec::new(),
            cleans_up: settings.flag("clean_up_tokenization_spaces").unwrap_or(false),
            files: files.read,
        };
        if class != Class::SentencePiece {
            tokenizer.add_special(settings)?;
        }
        Ok(tokenizer)
    }

    /// Special and added tokens, and what stands around a text.
    fn add_special(&mut self, settings: &Settings) -> Result<()> {
        let defaults = match self.class {
            Class::Marian => {
                roles(&[("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "<pad>")])
            }
            _ => roles(&[
                ("bos_token", "<s>"),
                ("eos_token", "</s>"),
                ("unk_token", "<unk>"),
                ("sep_token", "</s>"),
                ("pad_token", "<pad>"),
            ]),
        };
        let path = settings.folder.join("vocab.json");
        for token in tokens_to_add(settings, &defaults, settings.extra()) {
            let listed = settings.added.iter().find(|(_, t)| t.content == token.content);
            let known = self.vocab.ids.get(&token.content).copied();
            let next = self.vocab.tokens.last_key_value().map_or(0, |(id, _)| id + 1);
            let id = listed.map(|(id, _)| *id).or(known).unwrap_or(next);
            if u64::from(id) >= MAX_ID {
                return Err(invalid(&path, format!("'{}' has the id {id}", token.content)).into());
            }
            if token.single_word {
                let reason = format!("'{}' has single_word, which is not supported", token.content);
                return Err(invalid(&path, reason).into());
            }
            self.vocab.insert(&token.content, id);
            self.added.retain(|(added, _)| added.content != token.content);
            self.added.push((token, id));
        }
        // The longest first: the longest of those that begin at a place is found.
        self.added.sort_by_key(|(token, _)| std::cmp::Reverse(token.content.len()));
        let role = |role: &str| {
            let default = || defaults.iter().find(|(name, _)| *name == role);
            let token = settings.role(role).or_else(|| default().map(|(_, token)| token.clone()));
            let content = token.map(|token| token.content).unwrap_or_default();
            let missing = || invalid(&path, format!("the vocabulary has no {content}"));
            self.vocab.ids.get(&content).copied().ok_or_else(missing)
        };
        self.unknown = role("unk_token")?;
        self.suffix = vec![role("eos_token")?];
        if self.class == Class::M2M100 {
            let language = settings.text("src_lang").unwrap_or("en").to_string();
            let id = self.vocab.ids.get(&format!("__{language}__")).copied();
            let codes = language_codes(self.class, settings)?;
            let known = codes.into_iter().map(String::from).collect();
            let unknown = TokenizerError::UnknownLanguage { path, language, known };
            self.prefix = vec![id.ok_or(unknown)?];
        }
        Ok(())
    }

    fn model(&self, side: Side) -> &SentencePiece {
        match (side, &self.target) {
            (Side::Target, Some(target)) => target,
            _ => &self.source,
        }
    }

    fn vocabulary(&self, side: Side) -> &Vocabulary {
        match (side, &self.target_vocab) {
            (Side::Target, Some(target)) => target,
            _ => &self.vocab,
        }
    }

    /// The tokens of a text, without special tokens around it.
    pub fn encode(&self, text: &str, side: Side) -> Vec<Token> {
        let mut tokens = Vec::new();
        let mut from = 0;
        while let Some((range, added, id)) = self.next_added(text, from) {
            let before = &text[from..range.start];
            let before = if added.lstrip { before.trim_end() } else { before };
            self.encode_plain(before, from, side, &mut tokens);
            tokens.push((id, range.clone()));
            from = range.end;
            if added.rstrip {
                from = text.len() - text[from..].trim_start().len();
            }
        }
        self.encode_plain(&text[from..], from, side, &mut tokens);
        tokens
    }

    /// The first added token behind a place.
    fn next_added(&self, text: &str, from: usize) -> Option<(Range<usize>, &AddedToken, u32)> {
        let found = self.added.iter().filter_map(|(token, id)| {
            let at = from + text[from..].find(&token.content)?;
            Some((at..at + token.content.len(), token, *id))
        });
        // Of those that begin together, min_by_key takes the first, which is the longest.
        found.min_by_key(|(range, ..)| range.start)
    }

    fn encode_plain(&self, text: &str, offset: usize, side: Side, tokens: &mut Vec<Token>) {
        let ids = &self.vocabulary(side).ids;
        let mut from = 0;
        if self.class == Class::Marian
            && text.starts_with(">>")
            && let Some(end) = text.find("<<")
        {
            from = end + 2;
            let id = ids.get(&text[..from]).copied().unwrap_or(self.unknown);
            tokens.push((id, offset..offset + from));
        }
        let pieces = self.model(side).encode(&text[from..]);
        tokens.extend(pieces.into_iter().map(|token| {
            let id = match self.class {
                Class::SentencePiece => token.id,
                _ => ids.get(&token.piece).copied().unwrap_or(self.unknown),
            };
            (id, offset + from + token.range.start..offset + from + token.range.end)
        }));
    }

    /// Ids with the special tokens around them.
    pub fn surround(&self, ids: &[u32]) -> Vec<u32> {
        [&self.prefix, ids, &self.suffix].concat()
    }

    /// The text of ids.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String> {
        // A shared vocabulary is decoded by the source's model, as in `transformers`.
        let side = if self.target_vocab.is_some() { Side::Target } else { Side::Source };
        let (model, vocabulary) = (self.model(side), self.vocabulary(side));
        if self.class == Class::SentencePiece && skip_special {
            return model.decode(ids);
        }
        let gap = if self.class == Class::Marian { " " } else { "" };
        let mut text = String::new();
        let mut pieces: Vec<&str> = Vec::new();
        for id in ids {
            let special = self.special(*id);
            if special.is_some() && skip_special {
                continue;
            }
            let added = self.added.iter().find(|(_, added)| added == id);
            let token = added.map(|(token, _)| token.content.as_str());
            let token = token.or_else(|| Some(vocabulary.tokens.get(id)?.as_str()));
            let token = token.ok_or_else(|| {
                let size = vocabulary.tokens.len();
                TokenizerError::Decode { reason: format!("id {id} of a vocabulary of {size}") }
            })?;
            if special.is_some() {
                text += &model.decode_pieces(pieces.drain(..));
                text += token;
                text += gap;
            } else {
                pieces.push(token);
            }
        }
        text += &model.decode_pieces(pieces);
        if self.class == Class::Marian {
            text = text.replace('▁', " ");
        }
        let text = text.trim();
        Ok(if self.cleans_up { clean_up(text) } else { text.to_string() })
    }

    /// A special token.
    fn special(&self, id: u32) -> Option<&str> {
        if self.class == Class::SentencePiece {
            let piece = self.source.pieces().get(id as usize)?;
            let is_special = matches!(piece.kind, PieceKind::Control | PieceKind::Unknown);
            return is_special.then_some(&piece.text);
        }
        let (token, _) = self.added.iter().find(|(token, added)| *added == id && token.special)?;
        Some(&token.content)
    }

    /// The special tokens and their ids, in the order of the ids.
    pub fn special_tokens(&self) -> Vec<(u32, String)> {
        let ids = self.vocab.tokens.keys();
        ids.filter_map(|id| Some((*id, self.special(*id)?.to_string()))).collect()
    }

    /// The tokens among which those of languages are.
    pub fn language_tokens(&self) -> Vec<(u32, String)> {
        match self.class {
            Class::M2M100 => self.vocab.tokens.iter().map(|(id, t)| (*id, t.clone())).collect(),
            _ => self.special_tokens(),
        }
    }

    pub fn unknown(&self) -> u32 {
        self.unknown
    }

    pub fn id(&self, token: &str) -> Option<u32> {
        self.vocab.ids.get(token).copied()
    }

    /// The token of an id; where the sides have vocabularies of their own, the source's.
    pub fn token(&self, id: u32) -> Option<&str> {
        self.vocab.tokens.get(&id).map(String::as_str)
    }

    /// One more than the largest id of a side.
    pub fn vocab_size(&self, side: Side) -> usize {
        let last = self.vocabulary(side).tokens.last_key_value();
        last.map_or(0, |(id, _)| *id as usize + 1)
    }

    pub fn algorithm(&self) -> Algorithm {
        self.source.algorithm()
    }

    pub fn normalized(&self, text: &str) -> String {
        self.source.normalized(text)
    }

    /// The files that it was read from.
    pub fn files(&self) -> &[(String, Vec<u8>)] {
        &self.files
    }
}

/// The codes of M2M-100, whose ids follow the vocabulary.
fn language_codes(class: Class, settings: &Settings) -> Result<Vec<&'static str>> {
    if class != Class::M2M100 {
        return Ok(Vec::new());
    }
    match settings.text("language_codes").unwrap_or("m2m100") {
        "m2m100" => Ok(languages::M2M100.split(' ').collect()),
        "wmt21" => Ok(languages::WMT21.split(' ').collect()),
        other => {
            let path = settings.folder.join("tokenizer_config.json");
            Err(invalid(&path, format!("language_codes '{other}' is not m2m100 or wmt21")).into())
        }
    }
}

/// `clean_up_tokenization` of `transformers`: no space before English punctuation.
fn clean_up(text: &str) -> String {
    let pairs = [
        (" .", "."),
        (" ?", "?"),
        (" !", "!"),
        (" ,", ","),
        (" ' ", "'"),
        (" n't", "n't"),
        (" 'm", "'m"),
        (" 's", "'s"),
        (" 've", "'ve"),
        (" 're", "'re"),
    ];
    pairs.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to))
}
