//! The parts of a `tokenizer.json` around its vocabulary: how text is normalised, cut, put together again, and what is put around it.

use super::kind::{Case, Purpose, TokenizerKind};
use super::tokenizer::Tokenizer;
use crate::error::Result;
use serde_json::{Value, json};
use std::path::Path;

/// Marks a space in a token.
pub(super) const SPACE: char = '▁';

/// The file of a tokenizer with this model (the part that holds the vocabulary).
pub(super) fn assemble(
    kind: TokenizerKind,
    purpose: Purpose,
    case: Case,
    model: &Value,
) -> Result<Tokenizer> {
    let special = |(id, token): (usize, &&str)| {
        json!({
            "id": id, "content": token, "special": true,
            "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
        })
    };
    let json = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": purpose.special_tokens(kind).iter().enumerate().map(special).collect::<Vec<_>>(),
        "normalizer": normalizer(kind, case),
        "pre_tokenizer": pre_tokenizer(kind),
        "post_processor": post_processor(purpose),
        "decoder": decoder(kind),
        "model": model,
    });
    Tokenizer::from_json(Path::new("tokenizer.json"), &json.to_string())
}

/// A tokenizer whose vocabulary is its special tokens: it cuts text as the trained one will.
pub(super) fn untrained(kind: TokenizerKind, purpose: Purpose, case: Case) -> Result<Tokenizer> {
    let unknown = purpose.unknown(kind).unwrap_or("<unk>");
    let special = purpose.special_tokens(kind);
    let vocabulary: serde_json::Map<String, Value> =
        special.iter().enumerate().map(|(id, token)| (token.to_string(), json!(id))).collect();
    assemble(kind, purpose, case, &json!({ "type": "WordLevel", "vocab": vocabulary, "unk_token": unknown }))
}

fn replace(pattern: &str, content: &str) -> Value {
    json!({ "type": "Replace", "pattern": { "Regex": pattern }, "content": content })
}

fn normalizer(kind: TokenizerKind, case: Case) -> Value {
    let lower = || (case == Case::Lower).then(|| json!({ "type": "Lowercase" }));
    // Marks without width are nothing; at the beginning a space, since the first word is told by its place in the text as it was.
    // No spaces are taken from the left: behind a special token a space tells a word from a sign that follows at once.
    let strip = json!({ "type": "Strip", "strip_left": false, "strip_right": true });
    let sequence = |parts: Vec<Value>| json!({ "type": "Sequence", "normalizers": parts });
    match kind {
        // These give back what they were given, to the last byte: nothing is changed but the case that is asked for.
        TokenizerKind::Character | TokenizerKind::Byte | TokenizerKind::Bpe => lower().unwrap_or(Value::Null),
        // Typed in other ways, it is the same text: composed letters, straight apostrophes, plain spaces.
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
            // null: accents go when letters are made small.
            "strip_accents": null, "lowercase": case == Case::Lower,
        }),
        // Compatible forms are one (ﬁ is fi, full width is plain), as SentencePiece does by default.
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

/// A space belongs to the word behind it. The first word of a text has one, too; what follows a special token has one only if it is there.
fn metaspace() -> Value {
    json!({ "type": "Metaspace", "replacement": SPACE, "prepend_scheme": "first", "split": true })
}

fn byte_level(cut: bool) -> Value {
    json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": cut })
}

fn pre_tokenizer(kind: TokenizerKind) -> Value {
    let isolate = |pattern: &str, behavior: &str| json!({ "type": "Split", "pattern": { "Regex": pattern }, "behavior": behavior, "invert": false });
    match kind {
        TokenizerKind::Character => Value::Null,
        TokenizerKind::Byte => byte_level(false),
        TokenizerKind::Bpe => byte_level(true),
        TokenizerKind::Word => json!({
            "type": "Sequence",
            "pretokenizers": [
                metaspace(),
                // Punctuation is a token of its own; an apostrophe stays with the word it shortens.
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

/// What other programs put around a text when they are asked for special tokens; our own code adds what it needs itself.
fn post_processor(purpose: Purpose) -> Value {
    let text = |id: &str, kind: usize| json!({ "Sequence": { "id": id, "type_id": kind } });
    let token = |token: &str, kind: usize| json!({ "SpecialToken": { "id": token, "type_id": kind } });
    let known =
        |token: &str, id: usize| (token.to_string(), json!({ "id": token, "ids": [id], "tokens": [token] }));
    let template = |single: Vec<Value>, pair: Vec<Value>, tokens: Vec<(String, Value)>| {
        let tokens: serde_json::Map<String, Value> = tokens.into_iter().collect();
        json!({ "type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens })
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
            vec![token("[CLS]", 0), text("A", 0), token("[SEP]", 0), text("B", 1), token("[SEP]", 1)],
            vec![known("[CLS]", 2), known("[SEP]", 3)],
        ),
    }
}
