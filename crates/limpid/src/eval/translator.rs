//! Evaluation of a translator on sentence pairs: its loss on the references, and BLEU and chrF of
//! its own translations. Shared by training and evaluation, so that they cannot disagree.
//!
//! ```
//! use limpid::eval::Case;
//! use limpid::eval::translator::score_translator;
//! use limpid::generate::DecodingConfig;
//! use limpid::model::Model;
//! use limpid::model::config::EncoderDecoderConfig;
//! use limpid::text::word_tokenizer;
//!
//! let tokenizer = word_tokenizer(["Il dort.", "He sleeps."])?;
//! let model = Model::new(EncoderDecoderConfig::new(tokenizer.vocab_size(), 1, 2, 8, 8), 1)?;
//! let translator = model.stack.translator().expect("an encoder-decoder");
//! let pairs = [("Il dort.".to_string(), "He sleeps.".to_string())];
//! let files = ["test.fr".as_ref(), "test.en".as_ref()]; // named in errors
//! let decoding = DecodingConfig::greedy(&[translator.end()]);
//! let (model, data) = ((translator, &model.params), (&pairs[..], files));
//! let scores = score_translator(model, &tokenizer, data, &decoding, Case::Mixed)?;
//! println!("BLEU {:.1}, perplexity {:.1}", scores.bleu.score, scores.loss.perplexity());
//! # Ok::<(), limpid::error::Error>(())
//! ```

use super::lengths::{LENGTH_BOUNDS, LengthGroup, bleu_by_length};
use super::loss::{Loss, pairs_loss};
use super::{Bleu, BleuScore, BleuTokenizer, Case, Chrf, chrf::ChrfScore};
use crate::data::pairs::{TokenPair, tokenize_pairs};
use crate::error::{EvalError, Result};
use crate::generate::{DecodingConfig, TranslateOptions, translate_with};
use crate::model::Seq2Seq;
use crate::text::{Tokenizer, one_line};
use limpid_tensor::params::Params;
use std::path::Path;

/// Scores of a translator.
#[derive(Clone, Debug, PartialEq)]
pub struct TranslatorScores {
    /// Cross-entropy loss of the references.
    pub loss: Loss,
    /// Its own translations, in order.
    pub translations: Vec<String>,
    /// Their BLEU.
    pub bleu: BleuScore,
    /// Their chrF.
    pub chrf: ChrfScore,
    /// BLEU by words of the source.
    pub by_length: Vec<LengthGroup>,
    /// Unknown tokens, and all tokens of the pairs.
    pub unknown: (usize, usize),
}

/// Pairs from these files as token ids.
/// # Errors
/// [`EvalError::TooLong`] if a side has more than `longest` tokens.
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
            let (file, tokens) =
                if source > longest { (source_file, source) } else { (target_file, target) };
            // In a table a pair may have several lines, and a header one more.
            let unit = if source_file == target_file { "pair" } else { "line" };
            let path = file.to_path_buf();
            Err(EvalError::TooLong { path, unit, number: i + 1, tokens, maximum: longest }.into())
        }
    }
}

/// Translates the source of every pair and scores the translation against its target.
/// # Errors
/// If a pair is too long for the model, or the tokenizer is another model's.
pub fn score_translator(
    (model, params): (Seq2Seq, &Params),
    tokenizer: &Tokenizer,
    (pairs, files): (&[(String, String)], [&Path; 2]),
    decoding: &DecodingConfig,
    case: Case,
) -> Result<TranslatorScores> {
    let ids = tokens_to_score(tokenizer, pairs, files, model.end(), model.longest())?;
    ids.iter().try_for_each(|(source, target)| {
        check_ids(source, model.vocab_size())?;
        check_ids(target, model.decoder_vocab_size())
    })?;
    let loss = pairs_loss((model, params), ids.iter().map(|(source, target)| (source, target)));
    let sources: Vec<&str> = pairs.iter().map(|(source, _)| source.as_str()).collect();
    let options = TranslateOptions::default();
    let found = translate_with((model, params), tokenizer, &sources, decoding, &options, None)?;
    // One line each, as in a file of translations: scoring that file gives the same result.
    let translations: Vec<String> = found.into_iter().map(|best| one_line(&best[0].text)).collect();
    let texts: Vec<&str> = translations.iter().map(String::as_str).collect();
    let references: Vec<Vec<&str>> =
        pairs.iter().map(|(_, target)| vec![target.as_str()]).collect();
    let bleu = Bleu { case, ..Bleu::default() };
    let by_length =
        bleu_by_length(&bleu, BleuTokenizer::V13a, &LENGTH_BOUNDS, &sources, &texts, &references)?;
    let chrf = Chrf { case, ..Chrf::default() }.corpus(&texts, &references)?;
    let bleu = bleu.corpus(&texts, &references)?;
    let all = ids.iter().flat_map(|(source, target)| source.iter().chain(target));
    let unknown = tokenizer.unk_id();
    let unknown = (all.clone().filter(|id| Some(**id) == unknown).count(), all.count());
    Ok(TranslatorScores { loss, translations, bleu, chrf, by_length, unknown })
}

/// Checks that all token ids are in a model's vocabulary.
/// # Errors
/// [`EvalError::TokenOutOfRange`] for the first that is not.
pub fn check_ids(ids: &[u32], vocab_size: usize) -> Result<()> {
    match ids.iter().find(|id| **id as usize >= vocab_size) {
        Some(&id) => Err(EvalError::TokenOutOfRange { id, vocab_size }.into()),
        None => Ok(()),
    }
}
