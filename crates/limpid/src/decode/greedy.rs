//! Greedy decoding: always the likeliest next token.

use super::{Session, argmax};

/// Continues each of `prompts` until `end` or until it has grown by as many tokens as `longest` allows it. Gives the new tokens, without `end`.
/// Tokens in `banned` are never chosen.
///
/// What a sequence becomes does not depend on the others: one that has ended leaves the batch.
pub fn greedy(
    session: &mut impl Session,
    prompts: &[Vec<u32>],
    end: Option<u32>,
    banned: &[u32],
    longest: &[usize],
) -> Vec<Vec<u32>> {
    let mut written: Vec<Vec<u32>> = vec![Vec::new(); prompts.len()];
    let mut live: Vec<usize> = (0..prompts.len()).collect();
    let mut given = prompts.to_vec();
    for step in 0.. {
        // Never a token that the next step has no position for.
        let full = |i: &usize| step >= longest[*i] || prompts[*i].len() + step > session.capacity();
        let keep: Vec<usize> = (0..live.len()).filter(|at| !full(&live[*at])).collect();
        if keep.len() < live.len() {
            session.select(&keep);
            live = keep.iter().map(|at| live[*at]).collect();
            given = keep.iter().map(|at| std::mem::take(&mut given[*at])).collect();
        }
        if live.is_empty() {
            break;
        }
        let mut scores = session.advance(&given);
        let (_, v) = scores.rows_cols();
        for row in scores.data_mut().chunks_exact_mut(v) {
            banned.iter().for_each(|token| row[*token as usize] = f32::NEG_INFINITY);
        }
        let next: Vec<u32> = (0..live.len()).map(|at| argmax(scores.row(at)) as u32).collect();
        let going: Vec<usize> = (0..live.len()).filter(|at| Some(next[*at]) != end).collect();
        going.iter().for_each(|at| written[live[*at]].push(next[*at]));
        if going.len() < live.len() {
            session.select(&going);
        }
        given = going.iter().map(|at| vec![next[*at]]).collect();
        live = going.iter().map(|at| live[*at]).collect();
    }
    written
}
