//! A word-level tokenizer for the built-in corpora: every word form is a token, and the text can be put together again.
//!
//! ```text
//! "L'homme est là."  ->  ▁L'  homme  ▁est  ▁là  .          ▁ marks where a space was
//! ```

use super::Tokenizer;
use crate::error::Result;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Tokens that are not words, in the order of their ids: padding (and start of a translation), end, unknown.
pub const SPECIAL: [&str; 3] = ["<pad>", "</s>", "<unk>"];

/// Marks a space in a token.
const SPACE: char = '▁';

/// Makes a tokenizer whose vocabulary is every word of `texts`, the frequent ones first; ties in alphabetical order, so that the same
/// texts give the same ids everywhere.
pub fn word_tokenizer<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Tokenizer> {
    let untrained = build(&Map::new())?;
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for text in texts {
        // A word that looks like a special token is that token, and has its id already.
        let words = untrained.split(text)?.into_iter().filter(|word| !SPECIAL.contains(&word.as_str()));
        for word in words {
            *counts.entry(word).or_default() += 1;
        }
    }
    let mut words: Vec<(String, u64)> = counts.into_iter().collect();
    // Stable: equal counts stay in the order of the BTreeMap.
    words.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let tokens = SPECIAL.iter().map(|token| token.to_string()).chain(words.into_iter().map(|(word, _)| word));
    let vocabulary = tokens.enumerate().map(|(id, token)| (token, json!(id))).collect();
    build(&vocabulary)
}

/// The tokenizer with a given vocabulary, by way of the file that stores it.
fn build(vocabulary: &Map<String, Value>) -> Result<Tokenizer> {
    let special = |(id, token): (usize, &&str)| {
        json!({
            "id": id, "content": token, "special": true,
            "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
        })
    };
    let mut vocabulary = vocabulary.clone();
    for (id, token) in SPECIAL.iter().enumerate() {
        vocabulary.insert(token.to_string(), json!(id));
    }
    let isolate = |pattern: &str, behavior: &str| json!({ "type": "Split", "pattern": { "Regex": pattern }, "behavior": behavior, "invert": false });
    let replace = |pattern: &str, content: &str| json!({ "type": "Replace", "pattern": { "Regex": pattern }, "content": content });
    let metaspace =
        json!({ "type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": true });
    let json = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": SPECIAL.iter().enumerate().map(special).collect::<Vec<_>>(),
        // Typed in other ways, it is the same text: composed letters, straight apostrophes, plain spaces.
        "normalizer": { "type": "Sequence", "normalizers": [
            { "type": "NFC" },
            replace("[\u{2018}\u{2019}]", "'"),
            replace("[\u{feff}\u{200b}]", ""),
            replace("[\\s\u{a0}]+", " "),
            { "type": "Strip", "strip_left": true, "strip_right": true },
        ] },
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                metaspace,
                // Punctuation is a token of its own; an apostrophe stays with the word it shortens.
                isolate("[.,;:!?]", "Isolated"),
                isolate("'", "MergedWithPrevious"),
            ],
        },
        // What other programs add when they are asked for special tokens; we add the end token ourselves.
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{ "Sequence": { "id": "A", "type_id": 0 } }, { "SpecialToken": { "id": "</s>", "type_id": 0 } }],
            "pair": [
                { "Sequence": { "id": "A", "type_id": 0 } }, { "Sequence": { "id": "B", "type_id": 0 } },
                { "SpecialToken": { "id": "</s>", "type_id": 0 } },
            ],
            "special_tokens": { "</s>": { "id": "</s>", "ids": [1], "tokens": ["</s>"] } },
        },
        "decoder": metaspace,
        "model": { "type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>" },
    });
    Tokenizer::from_json(Path::new("tokenizer.json"), &json.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 3] = ["L'homme est là.", "Est-ce que l'homme n'est pas là?", "Oui, il est là!"];

    #[test]
    fn a_text_of_known_words_comes_back_as_it_was() {
        let tokenizer = word_tokenizer(TEXTS).unwrap();
        for text in TEXTS.into_iter().chain(["Oui, l'homme est là."]) {
            let ids = tokenizer.encode(text).unwrap();
            assert!(!ids.contains(&2), "{text}: unknown word in {ids:?}");
            assert_eq!(tokenizer.decode(&ids).unwrap(), text);
        }
        let ids = tokenizer.encode("L'homme est là.").unwrap();
        let tokens: Vec<String> = ids.iter().map(|id| tokenizer.token(*id)).collect();
        assert_eq!(tokens, ["▁L'", "homme", "▁est", "▁là", "."]);
    }

    #[test]
    fn other_ways_of_typing_the_same_text_give_the_same_ids() {
        let tokenizer = word_tokenizer(TEXTS).unwrap();
        let ids = tokenizer.encode("L'homme est là.").unwrap();
        for text in [
            "L\u{2019}homme est là.",
            "L'homme est la\u{300}.",
            " L'homme\u{a0}est\t là. ",
            "\u{feff}L'homme est là.\n",
        ] {
            assert_eq!(tokenizer.encode(text).unwrap(), ids, "{text:?}");
        }
    }

    #[test]
    fn unknown_words_and_empty_text_are_no_errors() {
        let tokenizer = word_tokenizer(TEXTS).unwrap();
        assert!(tokenizer.encode("").unwrap().is_empty());
        assert!(tokenizer.encode("zyx").unwrap().contains(&2));
    }

    #[test]
    fn the_same_texts_give_the_same_ids_and_the_frequent_words_come_first() {
        let (a, b) = (word_tokenizer(TEXTS).unwrap(), word_tokenizer(TEXTS).unwrap());
        assert_eq!(a.vocab_size(), b.vocab_size());
        assert!((0..a.vocab_size() as u32).all(|id| a.token(id) == b.token(id)));
        assert_eq!(a.token(3), "▁là");
        assert_eq!((a.id("<pad>"), a.id("</s>"), a.id("<unk>")), (Some(0), Some(1), Some(2)));
    }
}
