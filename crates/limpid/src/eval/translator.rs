//! A translator on sentence pairs: how well it predicts them, and how good its own translations are. `limpid eval` and the end of a
//! training both come here, so that they cannot disagree.

use super::lengths::{LONGEST, LengthGroup, bleu_by_length};
use super::loss::{Loss, pairs_loss};
use super::{Bleu, BleuScore, Case, Chrf, Tokenizer as Words, chrf::ChrfScore};
use crate::data::pairs::{TokenPair, tokenize_pairs};
use crate::decode::{Decoding, Request, TranslateOptions, translate_with};
use crate::error::{Error, Result};
use crate::hub::{self, Warning};
use crate::model::Translator;
use crate::text::{Tokenizer, one_line};
use limpid_tensor::params::Params;
use std::path::Path;

/// What a translator is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct TranslatorScores {
    /// −ln p of the given translations.
    pub loss: Loss,
    /// Its own translations, in order.
    pub translations: Vec<String>,
    /// Their BLEU.
    pub bleu: BleuScore,
    /// Their chrF.
    pub chrf: ChrfScore,
    /// BLEU by words of the source.
    pub by_length: Vec<LengthGroup>,
    /// Tokens that stand for something that is not in the vocabulary, of all tokens of the pairs.
    pub unknown: (usize, usize),
}

/// How a translator writes, and until when.
pub type Manner = (Decoding, TranslateOptions);

/// How the model in `folder` is to write: as asked, then as its files say.
pub fn manner_of(folder: &Path, model: Translator, request: &Request) -> Result<(Manner, Vec<Warning>)> {
    let (mut generation, warnings) = hub::load_generation(folder)?;
    if generation.ends.is_empty() {
        generation.ends = vec![model.end()];
    }
    let decoding = request.resolve_in(folder, &generation, model.decoder_vocab_size())?;
    Ok(((decoding, TranslateOptions::of(&generation)), warnings))
}

/// Pairs from these files as ids, if a model with positions for `longest` tokens can read and predict all of them.
pub fn tokens_to_score(
    tokenizer: &Tokenizer,
    pairs: &[(String, String)],
    [source_file, target_file]: [&Path; 2],
    end: u32,
    longest: usize,
) -> Result<Vec<TokenPair>> {
    let texts = pairs.iter().map(|(source, target)| (source.as_str(), target.as_str()));
    let ids = tokenize_pairs(tokenizer, texts, end)?;
    match ids.iter().position(|(source, target)| source.len().max(target.len()) > longest) {
        None => Ok(ids),
        Some(i) => {
            let (source, target) = (ids[i].0.len(), ids[i].1.len());
            let (file, tokens) = if source > longest { (source_file, source) } else { (target_file, target) };
            // In a table a pair may have several lines, and a header one more.
            let what = if source_file == target_file { "pair" } else { "line" };
            let excess = tokens - longest;
            let message = format!(
                "{what} {} has {tokens} tokens, {excess} more than the {longest} the model reads",
                i + 1
            );
            Err(Error::format(file, message).hint(format!("leave the {what} out")))
        }
    }
}

/// Translates the first of every pair and compares with the second.
pub fn score_translator(
    (model, params): (Translator, &Params),
    tokenizer: &Tokenizer,
    (pairs, files): (&[(String, String)], [&Path; 2]),
    (decoding, options): &Manner,
    case: Case,
) -> Result<TranslatorScores> {
    let ids = tokens_to_score(tokenizer, pairs, files, model.end(), model.longest())?;
    ids.iter().try_for_each(|(source, target)| {
        check_ids(source, model.vocab_size())?;
        check_ids(target, model.decoder_vocab_size())
    })?;
    let loss = pairs_loss((model, params), ids.iter().map(|(source, target)| (source, target)));
    let sources: Vec<&str> = pairs.iter().map(|(source, _)| source.as_str()).collect();
    let found = translate_with((model, params), tokenizer, &sources, decoding, options, &mut |_| Ok(()))?;
    // As they stand in a file, a line each: what is scored here is what `limpid score` would score.
    let translations: Vec<String> = found.into_iter().map(|best| one_line(&best[0].text)).collect();
    let texts: Vec<&str> = translations.iter().map(String::as_str).collect();
    let references: Vec<Vec<&str>> = pairs.iter().map(|(_, target)| vec![target.as_str()]).collect();
    let bleu = Bleu { case, ..Bleu::default() };
    let by_length = bleu_by_length(&bleu, Words::V13a, &LONGEST, &sources, &texts, &references)?;
    let chrf = Chrf { case, ..Chrf::default() }.corpus(&texts, &references)?;
    let bleu = bleu.corpus(&texts, &references)?;
    let all = ids.iter().flat_map(|(source, target)| source.iter().chain(target));
    let unknown = tokenizer.unknown();
    let unknown = (all.clone().filter(|id| Some(**id) == unknown).count(), all.count());
    Ok(TranslatorScores { loss, translations, bleu, chrf, by_length, unknown })
}

/// Refuses ids that a model with so many tokens does not know.
pub fn check_ids(ids: &[u32], vocabulary: usize) -> Result<()> {
    match ids.iter().find(|id| **id as usize >= vocabulary) {
        Some(id) => Err(Error::data(format!("the tokenizer gives token {id}, the model knows {vocabulary}"))
            .hint("the tokenizer and the model do not belong together")),
        None => Ok(()),
    }
}
