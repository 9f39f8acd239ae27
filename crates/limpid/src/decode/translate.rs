//! Translating texts: tokens, batches of similar length, greedy decoding, text again, in the order they came.

use super::{Seq2SeqSession, greedy};
use crate::config::Seq2SeqConfig;
use crate::error::{Error, Result};
use crate::model::Seq2Seq;
use crate::text::Tokenizer;
use limpid_tensor::params::Params;

/// Tokens of source that are translated side by side.
const TOKENS_AT_A_TIME: usize = 2_048;

/// Translates texts. An empty one stays empty.
pub fn translate<S: AsRef<str>>(
    model: &Seq2Seq,
    params: &Params,
    tokenizer: &Tokenizer,
    texts: &[S],
) -> Result<Vec<String>> {
    let config = model.config();
    let sources = texts.iter().enumerate().map(|(i, text)| source_ids(model, tokenizer, i, text.as_ref()));
    let sources: Vec<Vec<u32>> = sources.collect::<Result<_>>()?;
    let mut order: Vec<usize> = (0..sources.len()).filter(|i| sources[*i].len() > 1).collect();
    order.sort_by_key(|i| sources[*i].len());

    let mut translations = vec![String::new(); texts.len()];
    let mut rest = &order[..];
    while let Some(first) = rest.first() {
        let count = (TOKENS_AT_A_TIME / sources[*first].len()).clamp(1, rest.len());
        let (now, later) = rest.split_at(count);
        rest = later;
        let batch: Vec<&[u32]> = now.iter().map(|i| &sources[*i][..]).collect();
        // Of each its own, whatever the others in the batch are: the batch must not change a translation.
        let longest: Vec<usize> = batch.iter().map(|ids| longest_translation(ids)).collect();
        let capacity = longest.iter().max().unwrap_or(&0) + 1;
        let mut session = Seq2SeqSession::new(model, params, &batch, capacity);
        let prompts = vec![vec![config.decoder_start_token_id]; batch.len()];
        let written = greedy(&mut session, &prompts, Some(config.eos_token_id), &never(config), &longest)?;
        for (i, ids) in now.iter().zip(written) {
            translations[*i] = tokenizer.decode(&ids)?;
        }
    }
    Ok(translations)
}

/// Twice the source and a little: a translation that is longer has lost its way.
pub(crate) fn longest_translation(source: &[u32]) -> usize {
    2 * source.len() + 10
}

/// Padding is not a word: it is never said, unless it is also what ends a sentence.
pub(crate) fn never(config: &Seq2SeqConfig) -> Vec<u32> {
    (config.pad_token_id != config.eos_token_id).then_some(config.pad_token_id).into_iter().collect()
}

/// The ids of one source with its end token; an error if it is longer than the model has positions for.
pub(crate) fn source_ids(model: &Seq2Seq, tokenizer: &Tokenizer, i: usize, text: &str) -> Result<Vec<u32>> {
    let config = model.config();
    let mut ids = tokenizer.encode(text)?;
    ids.push(config.eos_token_id);
    if let Some(id) = ids.iter().find(|id| **id as usize >= config.vocab_size) {
        return Err(Error::data(format!(
            "the tokenizer gives token {id}, the model knows {} tokens",
            config.vocab_size
        ))
        .hint("tokenizer.json and config.json in this folder do not belong together"));
    }
    let longest = config.max_position_embeddings;
    if ids.len() > longest {
        let message =
            format!("text {} has {} tokens, the model has positions for {longest}", i + 1, ids.len());
        return Err(Error::data(message).hint("translate it sentence by sentence"));
    }
    Ok(ids)
}
