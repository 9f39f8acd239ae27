//! SentencePiece tokenizers as a `tokenizer.json`.

use super::class::Class;
use super::families::{bpe, byte_decoders};
use super::parts::{metaspace, precompiled, replace, sequence};
use super::pieces::{PieceTokenizer, Side};
use crate::error::{Result, TokenizerError};
use crate::text::sentencepiece::{Algorithm, Piece, PieceKind};
use serde_json::{Value, json};

/// Texts on which a `tokenizer.json` must agree with the model it was made of: spaces of all kinds
/// and places, characters that are out of vocabulary, composed and wide ones. (The spelling of a
/// special token in a text is that token in a `tokenizer.json`, whatever made it.)
pub(in crate::text) const PROBES: [&str; 16] = [
    "",
    " ",
    "a",
    "the cat sees the house",
    " leading and trailing ",
    "two  spaces   three",
    "tab\tand\nnewline\r\n",
    "no-break\u{a0}space",
    "▁marks▁of▁spaces ▁",
    "Größe, naïve, Œuvre: élève!",
    "e\u{301}a\u{30a} decomposed",
    "ﬁne ①②③ ｆｕｌｌ",
    "日本語とКириллица и العربية",
    "🙂🙂 👩‍👩‍👧",
    "CamelCase42 x_y #tag @name 3.14 1,000",
    "\u{0}control\u{7f}\u{200b}zero",
];

impl PieceTokenizer {
    /// A `tokenizer.json` of the same tokenizer, as far as [`PROBES`] show.
    /// # Errors
    /// [`TokenizerError::NotConvertible`] if the `tokenizers` library has nothing like it.
    pub fn to_library(&self) -> Result<Value> {
        let refuse = |reason: &str| TokenizerError::NotConvertible { reason: reason.to_string() };
        match self.class {
            Class::Marian => {
                return Err(refuse("source and target have a SentencePiece model each").into());
            }
            Class::SentencePiece => {}
            _ => {
                let reason = "its pieces are looked up in vocab.json behind SentencePiece";
                return Err(refuse(reason).into());
            }
        }
        let model = &self.source;
        let mut normalizers: Vec<Value> = precompiled(model.charsmap()).into_iter().collect();
        if model.removes_extra_whitespaces() {
            // The rules have made spaces of all kinds of whitespace that are one.
            let ends = replace(&json!({ "Regex": "^ +| +$" }), "");
            normalizers.extend([ends, replace(&json!({ "Regex": " {2,}" }), " ")]);
        }
        // Not by the pre-tokenizer, which makes a mark of an empty text too.
        if model.adds_dummy_prefix() {
            normalizers.push(json!({ "type": "Prepend", "prepend": "▁" }));
        }
        normalizers.push(replace(&json!({ "String": " " }), "▁"));
        let space = metaspace(if model.adds_dummy_prefix() { "always" } else { "never" }, true);
        let vocabulary: Vec<String> =
            (0..self.vocab_size(Side::Source) as u32).map(|id| self.name(id)).collect();
        let (mut json, decoder) = match (model.algorithm(), self.class) {
            (Algorithm::Unigram, _) => {
                // What this side's model does not have must never be chosen.
                let score = |token: &String| match model.id(token) {
                    Some(id) => f64::from(model.pieces()[id as usize].score),
                    None => -1e6,
                };
                let scored: Vec<(&String, f64)> =
                    vocabulary.iter().map(|token| (token, score(token))).collect();
                let bytes = model.byte_fallback() && self.class == Class::SentencePiece;
                let json = json!({
                    "type": "Unigram", "unk_id": self.unknown, "vocab": scored,
                    "byte_fallback": bytes,
                });
                (json, space.clone())
            }
            (Algorithm::Bpe, Class::SentencePiece) => {
                let unknown = Some(self.name(self.unknown));
                let json = bpe(&vocabulary, model, unknown, model.byte_fallback());
                (json, json!({ "type": "Sequence", "decoders": byte_decoders() }))
            }
            _ => return Err(refuse("only unigram models and bare BPE models have one").into()),
        };
        let special = self.special_tokens().into_iter().map(|(id, content)| (id, content, true));
        let added = special.map(|(id, content, special)| {
            json!({
                "id": id, "content": content, "special": special, "single_word": false,
                "lstrip": false, "rstrip": false, "normalized": false,
            })
        });
        // Not as added tokens: what stands between those is normalized part by part, and each part
        // would begin with a mark.
        let words = match self.symbols().as_slice() {
            [] => Value::Null,
            symbols => {
                json["ignore_merges"] = true.into();
                let each: Vec<String> = symbols.iter().map(|symbol| escaped(symbol)).collect();
                json!({
                    "type": "Split", "pattern": { "Regex": each.join("|") },
                    "behavior": "Isolated", "invert": false,
                })
            }
        };
        Ok(json!({
            "version": "1.0", "truncation": null, "padding": null,
            "added_tokens": added.collect::<Vec<Value>>(),
            "normalizer": sequence(normalizers),
            "pre_tokenizer": words, "post_processor": null, "decoder": decoder, "model": json,
        }))
    }

    /// The symbols that are one token wherever they stand, the longest first. SentencePiece looks
    /// for them where spaces are marks already: one with a space it never finds.
    pub fn symbols(&self) -> Vec<&str> {
        let is_symbol = |piece: &&Piece| piece.kind == PieceKind::UserDefined;
        let symbols = self.source.pieces().iter().filter(is_symbol).map(|piece| &piece.text[..]);
        let mut symbols: Vec<&str> = symbols.filter(|symbol| !symbol.contains(' ')).collect();
        symbols.sort_by_key(|symbol| std::cmp::Reverse(symbol.len()));
        symbols
    }

    fn name(&self, id: u32) -> String {
        self.token(id).map_or_else(|| format!("<unused_{id}>"), str::to_string)
    }
}

/// A pattern that matches this text.
fn escaped(text: &str) -> String {
    let escape = |c: char| r"\.+*?()|[]{}^$".contains(c);
    text.chars().flat_map(|c| escape(c).then_some('\\').into_iter().chain([c])).collect()
}
