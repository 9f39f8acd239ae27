//! SentencePiece tokenizers as a `tokenizer.json`.

use super::class::Class;
use super::families::{bpe, byte_decoders};
use super::parts::{metaspace, precompiled, replace, sequence};
use super::pieces::{PieceTokenizer, Side};
use crate::error::{Result, TokenizerError};
use crate::text::sentencepiece::{Algorithm, PieceKind};
use serde_json::{Value, json};

impl PieceTokenizer {
    /// A `tokenizer.json` that comes as near as the `tokenizers` library can.
    pub fn to_library(&self) -> Result<Value> {
        let refuse = |reason: &str| TokenizerError::NotConvertible { reason: reason.to_string() };
        if self.target_vocab.is_some() {
            return Err(refuse("the two sides have vocabularies of their own").into());
        }
        let model = &self.source;
        let mut normalizers: Vec<Value> = precompiled(model.charsmap()).into_iter().collect();
        let strip = json!({ "type": "Strip", "strip_left": false, "strip_right": true });
        let spaces = replace(&json!({ "Regex": " {2,}" }), "▁");
        if model.removes_extra_whitespaces() {
            normalizers.extend([strip, spaces]);
        }
        let space = metaspace(if model.adds_dummy_prefix() { "always" } else { "never" }, true);
        let vocabulary: Vec<String> =
            (0..self.vocab_size(Side::Source) as u32).map(|id| self.name(id)).collect();
        let (json, decoder) = match (model.algorithm(), self.class) {
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
        let is_symbol = |id: &u32| {
            let piece = model.id(self.token(*id)?)?;
            (model.pieces()[piece as usize].kind == PieceKind::UserDefined).then_some(())
        };
        let symbols = self.vocab.tokens.iter().filter(|(id, _)| is_symbol(id).is_some());
        let symbols = symbols.map(|(id, content)| (*id, content.clone(), false));
        let added = special.chain(symbols).map(|(id, content, special)| {
            json!({
                "id": id, "content": content, "special": special, "single_word": false,
                "lstrip": false, "rstrip": false, "normalized": false,
            })
        });
        Ok(json!({
            "version": "1.0", "truncation": null, "padding": null,
            "added_tokens": added.collect::<Vec<Value>>(),
            "normalizer": sequence(normalizers),
            "pre_tokenizer": space, "post_processor": null, "decoder": decoder, "model": json,
        }))
    }

    fn name(&self, id: u32) -> String {
        self.token(id).map_or_else(|| format!("<unused_{id}>"), str::to_string)
    }
}
