//! Greedy decoding: always the likeliest next token.

use super::Session;
use super::rules::Rules;
use super::trace::Silent;
use super::write::{Choice, Writing, write};
use crate::error::Result;

/// Continues each of `prompts` until `end` or until it has grown by as many tokens as `longest` allows it, or the session is full. Gives
/// the new tokens, without `end`. Tokens in `banned` are never chosen.
///
/// What a sequence becomes does not depend on the others: one that has ended leaves the batch.
pub fn greedy(
    session: &mut impl Session,
    prompts: &[Vec<u32>],
    end: Option<u32>,
    banned: &[u32],
    longest: &[usize],
) -> Result<Vec<Vec<u32>>> {
    let rules = Rules {
        ends: end.into_iter().collect(),
        never: banned.iter().map(|token| vec![*token]).collect(),
        ..Rules::default()
    };
    let mut writings: Vec<Writing> = prompts
        .iter()
        .zip(longest)
        .enumerate()
        .map(|(i, (prompt, longest))| Writing::new(prompt, *longest, i))
        .collect();
    write(session, &mut writings, Choice::Largest, &rules, &mut Silent)?;
    Ok(writings.iter().map(|w| w.written().to_vec()).collect())
}
