//! The parts of a `tokenizer.json` around its vocabulary: normalizer, pre-tokenizer, decoder and
//! post-processor.

use super::kind::{Casing, Purpose, TokenizerKind};
use super::tokenizer::Tokenizer;
use super::train::TokenizerSpec;
use crate::error::Result;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Marks a space in a token, as SentencePiece does.
pub(super) const SPACE: char = '▁';

/// A tokenizer around this model (the part of the file that holds the vocabulary).
pub(super) fn assemble(spec: &TokenizerSpec, model: &Value) -> Result<Tokenizer> {
    let special = |(id, token): (usize, &&str)| {
        json!({
            "id": id, "content": token, "special": true,
            "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
        })
    };
    let special: Vec<Value> =
        spec.purpose.special_tokens(spec.kind).iter().enumerate().map(special).collect();
    let json = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": special,
        "normalizer": normalizer(spec.kind, spec.casing),
        "pre_tokenizer": pre_tokenizer(spec.kind),
        "post_processor": post_processor(spec.purpose),
        "decoder": decoder(spec.kind),
        "model": model,
    });
    Tokenizer::from_json(Path::new("tokenizer.json"), &json.to_string())
}

/// A tokenizer whose vocabulary is its special tokens: it pre-tokenizes as the trained one will.
pub(super) fn untrained(spec: &TokenizerSpec) -> Result<Tokenizer> {
    let unknown = spec.purpose.unknown(spec.kind).unwrap_or("<unk>");
    assemble(spec, &word_level(&spec.special_tokens(), unknown))
}

/// The model of a word-level vocabulary.
pub(super) fn word_level(tokens: &[String], unknown: &str) -> Value {
    json!({ "type": "WordLevel", "vocab": numbered(tokens), "unk_token": unknown })
}

/// Tokens and their ids.
pub(super) fn numbered(tokens: &[String]) -> Map<String, Value> {
    tokens.iter().enumerate().map(|(id, token)| (token.clone(), json!(id))).collect()
}

fn replace(pattern: &str, content: &str) -> Value {
    json!({ "type": "Replace", "pattern": { "Regex": pattern }, "content": content })
}

fn normalizer(kind: TokenizerKind, casing: Casing) -> Value {
    let lower = || (casing == Casing::Uncased).then(|| json!({ "type": "Lowercase" }));
    // Zero-width marks are removed; at the beginning they become a space, because the first word
    // is recognized by its offset in the original text. Spaces are not stripped on the left: after
    // a special token a space distinguishes a word from punctuation.
    let sequence = |form: &str, apostrophes: Option<Value>, spaces: &str| {
        let parts = [json!({ "type": form })].into_iter().chain(lower()).chain(apostrophes);
        let parts = parts.chain([
            replace("^[\u{feff}\u{200b}]+", " "),
            replace("[\u{feff}\u{200b}]", ""),
            replace(spaces, " "),
            json!({ "type": "Strip", "strip_left": false, "strip_right": true }),
        ]);
        json!({ "type": "Sequence", "normalizers": parts.collect::<Vec<_>>() })
    };
    match kind {
        // These decode to the input, byte for byte: nothing but the case may change.
        TokenizerKind::Character | TokenizerKind::Byte | TokenizerKind::Bpe => {
            lower().unwrap_or(Value::Null)
        }
        // Different spellings of one text become the same: composed letters, straight apostrophes,
        // plain spaces.
        TokenizerKind::Word => {
            sequence("NFC", Some(replace("[\u{2018}\u{2019}]", "'")), "[\\s\u{a0}]+")
        }
        TokenizerKind::WordPiece => json!({
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            // null: accents are stripped if and only if text is lowercased.
            "strip_accents": null, "lowercase": casing == Casing::Uncased,
        }),
        // Compatibility forms are unified (ﬁ is fi, full width is half width), SentencePiece's
        // default.
        TokenizerKind::Unigram => sequence("NFKC", None, "\\s+"),
    }
}

/// A space belongs to the word that follows it. The first word of a text gets one, too; a word
/// after a special token only if the text has it.
fn metaspace() -> Value {
    json!({ "type": "Metaspace", "replacement": SPACE, "prepend_scheme": "first", "split": true })
}

fn byte_level(split_words: bool) -> Value {
    json!({
        "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
        "use_regex": split_words,
    })
}

fn pre_tokenizer(kind: TokenizerKind) -> Value {
    let isolate = |pattern: &str, behavior: &str| {
        json!({
            "type": "Split", "pattern": { "Regex": pattern }, "behavior": behavior,
            "invert": false,
        })
    };
    match kind {
        TokenizerKind::Character => Value::Null,
        TokenizerKind::Byte => byte_level(false),
        TokenizerKind::Bpe => byte_level(true),
        TokenizerKind::Word => json!({
            "type": "Sequence",
            "pretokenizers": [
                metaspace(),
                // Punctuation is a token of its own; an apostrophe stays with its word.
                isolate("[.,;:!?]", "Isolated"),
                isolate("'", "MergedWithPrevious"),
            ],
        }),
        TokenizerKind::WordPiece => json!({ "type": "BertPreTokenizer" }),
        TokenizerKind::Unigram => metaspace(),
    }
}

fn decoder(kind: TokenizerKind) -> Value {
    match kind {
        TokenizerKind::Character => json!({ "type": "Fuse" }),
        TokenizerKind::Byte | TokenizerKind::Bpe => byte_level(true),
        TokenizerKind::Word | TokenizerKind::Unigram => metaspace(),
        TokenizerKind::WordPiece => json!({ "type": "WordPiece", "prefix": "##", "cleanup": true }),
    }
}

/// Special tokens that other programs add to a text; our own code adds what it needs itself.
fn post_processor(purpose: Purpose) -> Value {
    // The parts of a template with their token type ids; A and B are the texts.
    let parts = |parts: &[(&str, usize)]| -> Vec<Value> {
        let part = |&(id, kind): &(&str, usize)| {
            let piece = if matches!(id, "A" | "B") { "Sequence" } else { "SpecialToken" };
            json!({ piece: { "id": id, "type_id": kind } })
        };
        parts.iter().map(part).collect()
    };
    let template = |single: &[(&str, usize)], pair: &[(&str, usize)], ids: &[(&str, usize)]| {
        let known = |(token, id): &(&str, usize)| {
            (token.to_string(), json!({ "id": token, "ids": [id], "tokens": [token] }))
        };
        json!({
            "type": "TemplateProcessing", "single": parts(single), "pair": parts(pair),
            "special_tokens": ids.iter().map(known).collect::<Map<_, _>>(),
        })
    };
    match purpose {
        Purpose::LanguageModel | Purpose::Bare => Value::Null,
        Purpose::Translation => {
            template(&[("A", 0), ("</s>", 0)], &[("A", 0), ("B", 0), ("</s>", 0)], &[("</s>", 1)])
        }
        Purpose::Encoder => template(
            &[("[CLS]", 0), ("A", 0), ("[SEP]", 0)],
            &[("[CLS]", 0), ("A", 0), ("[SEP]", 0), ("B", 1), ("[SEP]", 1)],
            &[("[CLS]", 2), ("[SEP]", 3)],
        ),
    }
}
