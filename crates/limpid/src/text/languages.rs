//! Languages of multilingual translators: mBART, NLLB and M2M-100 mark the language of a text with
//! a token of its own.
//!
//! ```text
//! mBART               text </s> de_DE
//! mBART-50, NLLB      de_DE text </s>        deu_Latn text </s>
//! M2M-100             __de__ text </s>
//! ```

use super::nearest::nearest;
use super::slots::Slot;
use super::tokenizer::{Backend, Tokenizer};
use crate::error::{Result, TokenizerError};
use serde_json::{Value, json};
use tokenizers::PostProcessorWrapper;

/// The languages of the sides of a translator, as the ids of their tokens; `None`: as the folder
/// has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Languages {
    /// What is translated from.
    pub source: Option<u32>,
    /// What is translated into.
    pub target: Option<u32>,
}

/// The code of a language token: `de_DE`, `deu_Latn`, or `de` for `__de__`.
fn code(token: &str) -> Option<&str> {
    let is = |text: &str, case: fn(&char) -> bool| text.chars().all(|c| case(&c));
    if let Some(inner) = token.strip_prefix("__").and_then(|rest| rest.strip_suffix("__")) {
        return ((2..=3).contains(&inner.len()) && is(inner, char::is_ascii_lowercase))
            .then_some(inner);
    }
    let (language, place) = token.split_once('_').filter(|_| token.is_ascii())?;
    let is_language = (2..=3).contains(&language.len()) && is(language, char::is_ascii_lowercase);
    let is_place = match place.len() {
        2 => is(place, char::is_ascii_uppercase),
        4 => is(&place[..1], char::is_ascii_uppercase) && is(&place[1..], char::is_ascii_lowercase),
        _ => false,
    };
    (is_language && is_place).then_some(token)
}

impl Tokenizer {
    /// The codes of the languages that a multilingual translator has, with the ids of their tokens;
    /// none of other models.
    pub fn languages(&self) -> Vec<(String, u32)> {
        let tokens = self.language_tokens().into_iter();
        tokens.filter_map(|(id, token)| Some((code(&token)?.to_string(), id))).collect()
    }

    /// Sets the languages of a multilingual translator by their codes, and returns their tokens.
    /// # Errors
    /// [`TokenizerError::NoLanguages`] for another model, [`TokenizerError::LacksLanguage`] for a
    /// language that it does not have.
    pub fn set_languages(
        &mut self,
        source: Option<&str>,
        target: Option<&str>,
    ) -> Result<Languages> {
        let known = self.languages();
        let id = |language: &str| -> Result<u32, TokenizerError> {
            if known.is_empty() {
                return Err(TokenizerError::NoLanguages { language: language.into() });
            }
            let found = known.iter().find(|(code, _)| code == language).map(|(_, id)| *id);
            found.ok_or_else(|| {
                let known: Vec<String> = known.iter().map(|(code, _)| code.clone()).collect();
                let nearest = nearest_code(language, &known);
                TokenizerError::LacksLanguage { language: language.into(), nearest, known }
            })
        };
        let languages =
            Languages { source: source.map(id).transpose()?, target: target.map(id).transpose()? };
        if let Some(source) = languages.source {
            self.put_into_post_processor(source)?;
        }
        self.languages = languages;
        Ok(languages)
    }

    /// Puts the token of a language where the post-processor has that of another one.
    fn put_into_post_processor(&mut self, language: u32) -> Result<()> {
        let token = self.token(language);
        let Backend::Library(inner) = &mut self.backend else { return Ok(()) };
        let Some(processor) = inner.get_post_processor() else { return Ok(()) };
        let invalid = |e: serde_json::Error| TokenizerError::Encode { reason: e.to_string() };
        let mut value = serde_json::to_value(processor).map_err(invalid)?;
        replace_language(&mut value, &token, language);
        let processor = serde_json::from_value(value).map_err(invalid)?;
        inner.with_post_processor(Some::<PostProcessorWrapper>(processor));
        Ok(())
    }

    /// The languages that were set, under the keys of `tokenizer_config.json`.
    pub(super) fn language_codes(&self) -> Vec<(&'static str, String)> {
        let sides = [("src_lang", self.languages.source), ("tgt_lang", self.languages.target)];
        let code_of = |(key, id): (&'static str, Option<u32>)| {
            Some((key, code(&self.token(id?))?.to_string()))
        };
        sides.into_iter().filter_map(code_of).collect()
    }

    /// The code of the language whose token this is.
    pub fn language_of(&self, id: u32) -> Option<String> {
        self.languages().into_iter().find(|(_, known)| *known == id).map(|(code, _)| code)
    }

    /// Whether a language stands around texts, so that a text has one.
    /// # Errors
    /// [`TokenizerError::Encode`] if the post-processor cannot be applied.
    pub fn marks_languages(&self) -> Result<bool> {
        let known = self.languages();
        let is_language = |id: u32| known.iter().any(|(_, language)| *language == id);
        let slots = self.slots(1)?;
        Ok(slots.iter().any(|slot| matches!(slot, Slot::Special { id, .. } if is_language(*id))))
    }

    /// The token of the target language, if one was set.
    pub fn target_language(&self) -> Option<u32> {
        self.languages.target
    }

    /// What stands before and behind the source text of a translator: the special tokens of the
    /// tokenizer's files (the end token if they name none), in a multilingual one with the token of
    /// its language.
    /// # Errors
    /// [`TokenizerError::Encode`] if the post-processor cannot be applied.
    pub fn source_affixes(&self, end: u32) -> Result<[Vec<u32>; 2]> {
        self.affixes(end, self.languages.source, Missing::AsInTheFile)
    }

    /// The same of its target text, which always ends with the end token or a language; only that
    /// token in a multilingual model without a target language.
    /// # Errors
    /// [`TokenizerError::Encode`] if the post-processor cannot be applied.
    pub fn target_affixes(&self, end: u32) -> Result<[Vec<u32>; 2]> {
        let [before, mut behind] = self.affixes(end, self.languages.target, Missing::LeftOut)?;
        // Without it a model would never learn to stop.
        if !behind.contains(&end) {
            behind.push(end);
        }
        Ok([before, behind])
    }

    /// The target language that was set, if it stands behind the texts: then a decoder starts with
    /// it. Elsewhere it is the first token that a decoder generates.
    /// # Errors
    /// [`TokenizerError::Encode`] if the post-processor cannot be applied.
    pub fn target_language_behind(&self, end: u32) -> Result<Option<u32>> {
        let Some(language) = self.target_language() else { return Ok(None) };
        let [_, behind] = self.target_affixes(end)?;
        Ok(behind.contains(&language).then_some(language))
    }

    fn affixes(&self, end: u32, language: Option<u32>, missing: Missing) -> Result<[Vec<u32>; 2]> {
        let slots = self.slots(1)?;
        let is_language = |id: u32| code(&self.token(id)).is_some();
        let has_language =
            slots.iter().any(|slot| matches!(slot, Slot::Special { id, .. } if is_language(*id)));
        let left_out = has_language && language.is_none() && missing == Missing::LeftOut;
        if left_out || !slots.iter().any(|slot| matches!(slot, Slot::Special { .. })) {
            return Ok([Vec::new(), vec![end]]);
        }
        let mut affixes = [Vec::new(), Vec::new()];
        let mut side = 0;
        for slot in slots {
            match slot {
                Slot::Text { .. } => side = 1,
                Slot::Special { id, .. } if is_language(id) => {
                    affixes[side].push(language.unwrap_or(id));
                }
                Slot::Special { id, .. } => affixes[side].push(id),
            }
        }
        Ok(affixes)
    }

    /// The token ids of a text of the source language, as a translator reads it.
    /// # Errors
    /// If the text cannot be tokenized.
    pub fn source_sentence(&self, text: &str, end: u32) -> Result<Vec<u32>> {
        let [before, behind] = self.source_affixes(end)?;
        Ok([before, self.encode(text)?, behind].concat())
    }

    /// The token ids of a text of the target language, as a translator is trained to generate it.
    /// # Errors
    /// If the text cannot be tokenized.
    pub fn target_sentence(&self, text: &str, end: u32) -> Result<Vec<u32>> {
        let [before, behind] = self.target_affixes(end)?;
        Ok([before, self.encode_target(text)?, behind].concat())
    }
}

/// Replaces languages in a post-processor of the library: `{"SpecialToken": {"id": "en_XX"}}` in
/// its templates, and `"en_XX": {"id", "ids", "tokens"}` among its special tokens.
fn replace_language(value: &mut Value, token: &str, id: u32) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace_language(item, token, id)),
        Value::Object(map) => {
            if let Some(special) = map.get_mut("SpecialToken")
                && special["id"].as_str().is_some_and(|there| code(there).is_some())
            {
                special["id"] = token.into();
            }
            if let Some(Value::Object(special)) = map.get_mut("special_tokens") {
                let before = special.len();
                special.retain(|there, _| code(there).is_none());
                if special.len() < before {
                    let own = json!({ "id": token, "ids": [id], "tokens": [token] });
                    special.insert(token.into(), own);
                }
            }
            map.values_mut().for_each(|item| replace_language(item, token, id));
        }
        _ => {}
    }
}

/// What stands for a language that is not set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// That of the tokenizer's files.
    AsInTheFile,
    /// Nothing.
    LeftOut,
}

/// The code that was probably meant: of the same language, or the nearest by edits.
fn nearest_code(language: &str, known: &[String]) -> Option<String> {
    let begins = |code: &&String| {
        let plain = language.to_lowercase();
        let own = code.split('_').next().unwrap_or_default();
        own == plain.split(['_', '-']).next().unwrap_or_default()
            || (plain.len() == 2 && own.len() == 3 && own.starts_with(&plain))
    };
    let same = known.iter().find(begins).cloned();
    same.or_else(|| nearest(language, known.iter().map(String::as_str)).map(String::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_languages_are_told_from_other_special_tokens() {
        for (token, expected) in [
            ("de_DE", Some("de_DE")),
            ("en_XX", Some("en_XX")),
            ("deu_Latn", Some("deu_Latn")),
            ("__de__", Some("de")),
            ("__ceb__", Some("ceb")),
            ("<mask>", None),
            ("__madeup__", None),
            ("a_b", None),
            ("DE_de", None),
            ("de_Déu", None),
        ] {
            assert_eq!(code(token), expected, "{token}");
        }
    }

    #[test]
    fn a_language_that_is_missing_is_answered_with_the_nearest() {
        let known = ["deu_Latn", "eng_Latn", "fra_Latn"].map(String::from);
        let near = |language| nearest_code(language, &known);
        assert_eq!(near("en").as_deref(), Some("eng_Latn"));
        assert_eq!(near("deu-Latn").as_deref(), Some("deu_Latn"));
        assert_eq!(near("fre_Latn").as_deref(), Some("fra_Latn"));
        assert_eq!(near("klingon"), None);
        let known = ["de_DE", "en_XX"].map(String::from);
        assert_eq!(nearest_code("de", &known).as_deref(), Some("de_DE"));
        assert_eq!(nearest_code("en_GB", &known).as_deref(), Some("en_XX"));
    }
}
