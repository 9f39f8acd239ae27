//! The parts of a `tokenizer.json` around its vocabulary: normalizer, pre-tokenizer, decoder and
//! post-processor.

use super::kind::{Casing, Purpose, TokenizerKind};
use super::tokenizer::Tokenizer;
use crate::error::Result;
use serde_json::{Value, json};
use std::path::Path;

/// Marks a space in a token, as SentencePiece does.
pub(super) const SPACE: char = '▁';

/// A tokenizer around this model (the part of the file that holds the vocabulary).
pub(super) fn assemble(
    kind: TokenizerKind,
    purpose: Purpose,
    casing: Casing,
    model: &Value,
) -> Result<Tokenizer> {
    let special = |(id, token): (usize, &&str)| {
        json!({
            "id": id, "content": token, "special": true,
            "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
        })
    };
    let special: Vec<Value> =
        purpose.special_tokens(kind).iter().enumerate().map(special).collect();
    let json = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": special,
        "normalizer": normalizer(kind, casing),
        "pre_tokenizer": pre_tokenizer(kind),
        "post_processor": post_processor(purpose),
        "decoder": decoder(kind),
        "model": model,
    });
    Tokenizer::from_json(Path::new("tokenizer.json"), &json.to_string())
}

/// A tokenizer whose vocabulary is its special tokens: it pre-tokenizes as the trained one will.
pub(super) fn untrained(
    kind: TokenizerKind,
    purpose: Purpose,
    casing: Casing,
) -> Result<Tokenizer> {
    let unknown = purpose.unknown(kind).unwrap_or("<unk>");
    let special = purpose.special_tokens(kind);
    let vocabulary: serde_json::Map<String, Value> =
        special.iter().enumerate().map(|(id, token)| (token.to_string(), json!(id))).collect();
    assemble(
        kind,
        purpose,
        casing,
        &json!({ "type": "WordLevel", "vocab": vocabulary, "unk_token": unknown }),
    )
}

fn replace(pattern: &str, content: &str) -> Value {
    json!({ "type": "Replace", "pattern": { "Regex": pattern }, "content": content })
}

fn normalizer(kind: TokenizerKind, casing: Casing) -> Value {
    let lower = || (casing == Casing::Uncased).then(|| json!({ "type": "Lowercase" }));
    // Zero-width marks are removed; at the beginning they become a space, because the first word
    // is recognised by its offset in the original text. Spaces are not stripped on the left: after
    // a special token a space distinguishes a word from punctuation.
    let strip = json!({ "type": "Strip", "strip_left": false, "strip_right": true });
    let sequence = |parts: Vec<Value>| json!({ "type": "Sequence", "normalizers": parts });
    match kind {
        // These decode to the input, byte for byte: nothing but the case may change.
        TokenizerKind::Character | TokenizerKind::Byte | TokenizerKind::Bpe => {
            lower().unwrap_or(Value::Null)
        }
        // Different spellings of one text become the same: composed letters, straight apostrophes,
        // plain spaces.
        TokenizerKind::Word => sequence(
            [json!({ "type": "NFC" })]
                .into_iter()
                .chain(lower())
                .chain([
                    replace("[\u{2018}\u{2019}]", "'"),
                    replace("^[\u{feff}\u{200b}]+", " "),
                    replace("[\u{feff}\u{200b}]", ""),
                    replace("[\\s\u{a0}]+", " "),
                    strip,
                ])
                .collect(),
        ),
        TokenizerKind::WordPiece => json!({
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            // null: accents are stripped if and only if text is lowercased.
            "strip_accents": null, "lowercase": casing == Casing::Uncased,
        }),
        // Compatibility forms are unified (ﬁ is fi, full width is half width), SentencePiece's
        // default.
        TokenizerKind::Unigram => sequence(
            [json!({ "type": "NFKC" })]
                .into_iter()
                .chain(lower())
                .chain([
                    replace("^[\u{feff}\u{200b}]+", " "),
                    replace("[\u{feff}\u{200b}]", ""),
                    replace("\\s+", " "),
                    strip,
                ])
                .collect(),
        ),
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
    let text = |id: &str, kind: usize| json!({ "Sequence": { "id": id, "type_id": kind } });
    let token =
        |token: &str, kind: usize| json!({ "SpecialToken": { "id": token, "type_id": kind } });
    let known = |token: &str, id: usize| {
        (token.to_string(), json!({ "id": token, "ids": [id], "tokens": [token] }))
    };
    let template = |single: Vec<Value>, pair: Vec<Value>, tokens: Vec<(String, Value)>| {
        let tokens: serde_json::Map<String, Value> = tokens.into_iter().collect();
        json!({
            "type": "TemplateProcessing", "single": single, "pair": pair,
            "special_tokens": tokens,
        })
    };
    match purpose {
        Purpose::LanguageModel | Purpose::Bare => Value::Null,
        Purpose::Translation => template(
            vec![text("A", 0), token("</s>", 0)],
            vec![text("A", 0), text("B", 0), token("</s>", 0)],
            vec![known("</s>", 1)],
        ),
        Purpose::Encoder => template(
            vec![token("[CLS]", 0), text("A", 0), token("[SEP]", 0)],
            vec![
                token("[CLS]", 0),
                text("A", 0),
                token("[SEP]", 0),
                text("B", 1),
                token("[SEP]", 1),
            ],
            vec![known("[CLS]", 2), known("[SEP]", 3)],
        ),
    }
}
