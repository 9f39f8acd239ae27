//! A word-level tokenizer: every word form is a token, and decoding restores the text.
//!
//! ```text
//! "L'homme est là."  ->  ▁L'  homme  ▁est  ▁là  .          ▁ marks a space
//! ```

use super::Tokenizer;
use super::kind::{Purpose, TokenizerKind};
use super::train::{TokenizerSpec, train};
use crate::error::Result;

/// A tokenizer for translation with every word of `texts`, the most frequent first; ties are in
/// alphabetical order, so that the same texts give the same ids on every machine.
/// # Errors
/// If the library cannot tokenize the texts.
pub fn word_tokenizer<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Tokenizer> {
    word_tokenizer_for(texts, TokenizerKind::Word.default_purpose())
}

/// The same with the special tokens of another purpose.
/// # Errors
/// If the library cannot tokenize the texts.
pub fn word_tokenizer_for<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    purpose: Purpose,
) -> Result<Tokenizer> {
    let spec =
        TokenizerSpec { purpose, min_frequency: 1, ..TokenizerSpec::new(TokenizerKind::Word) };
    Ok(train(&spec, texts.into_iter().map(|text| Ok(text.to_string())))?.tokenizer)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 3] =
        ["L'homme est là.", "Est-ce que l'homme n'est pas là?", "Oui, il est là!"];

    #[test]
    fn a_text_of_known_words_decodes_to_itself() {
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
    fn different_spellings_of_one_text_give_the_same_ids() {
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
    fn a_mask_is_one_token_wherever_it_stands() {
        let tokenizer = word_tokenizer_for(["The cat sat on the mat."], Purpose::Encoder).unwrap();
        let (mask, _) = tokenizer.mask_token().unwrap();
        let text = tokenizer.encode("The cat sat on the mat.").unwrap();
        let words = ["The", "cat", "sat", "on", "the", "mat"];
        for (i, word) in words.iter().enumerate() {
            let mut ids = text.clone();
            ids[i] = mask;
            let masked = "The cat sat on the mat.".replacen(word, "[MASK]", 1);
            assert_eq!(tokenizer.encode(&masked).unwrap(), ids, "{masked}");
        }
        assert!(tokenizer.encode(" ").unwrap().is_empty());
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
