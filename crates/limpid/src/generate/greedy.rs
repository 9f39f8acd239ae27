//! Greedy search: always the most likely next token.

use super::Session;
use super::logits_processor::LogitsProcessor;
use super::tokens::{Sequence, TokenSelection, generate_tokens};
use super::trace::NoObserver;
use crate::error::Result;

/// Continues prompt i until the end token `eos`, by at most `max_new_tokens[i]` tokens, or until
/// the session is full. Gives the new tokens, without `eos`. Tokens in `excluded` are never
/// selected.
///
/// A sequence does not depend on the others: one that has ended leaves the batch.
///
/// # Errors
/// If the model answers with NaN, or `excluded` leaves no token.
pub fn greedy(
    session: &mut impl Session,
    prompts: &[Vec<u32>],
    eos: Option<u32>,
    excluded: &[u32],
    max_new_tokens: &[usize],
) -> Result<Vec<Vec<u32>>> {
    let processor = LogitsProcessor {
        eos_token_ids: eos.into_iter().collect(),
        bad_words_ids: excluded.iter().map(|token| vec![*token]).collect(),
        ..LogitsProcessor::default()
    };
    let mut sequences: Vec<Sequence> = prompts
        .iter()
        .zip(max_new_tokens)
        .enumerate()
        .map(|(i, (prompt, max_new_tokens))| Sequence::new(prompt, *max_new_tokens, i))
        .collect();
    let selection = TokenSelection::Greedy;
    generate_tokens(session, &mut sequences, selection, &processor, &mut NoObserver)?;
    Ok(sequences.iter().map(|sequence| sequence.new_tokens().to_vec()).collect())
}
