//! Writing token by token, greedily or by drawing: one loop for every model.
//!
//! ```text
//! logits of the last position  →  rules  →  greedy: the largest
//!                                           drawing: temperature, top-k, top-p  →  softmax  →  roulette with u
//! ```
//!
//! **The draw.** The candidates that are left are summed up in the order of their ids, and the first whose sum exceeds u is
//! chosen ([`roulette`]). u is number `step` of a random stream (Philox, see [`limpid_tensor::rng`]): the seed is the
//! setting's, the stream a hash of the prompt and the number of the sample ([`Writing::drawing`]), `step` counts new tokens
//! from 0. So what is drawn depends on seed, prompt and sample alone: not on what else is in the batch, and not on when.

use super::filter::{Filter, probabilities, roulette};
use super::rules::{Place, Rules, check_scores};
use super::trace::{Listener, Step, Trace, candidates};
use super::{Session, argmax};
use crate::error::Result;
use limpid_tensor::rng::{number, unit};

/// Why a text ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The model said an end token.
    EndToken,
    /// A stop string was written.
    StopString,
    /// It has as many tokens as were asked for.
    Length,
    /// The model has no position for another token.
    Context,
}

impl Ended {
    /// In a word, as JSON has it.
    pub fn name(self) -> &'static str {
        match self {
            Ended::EndToken => "end",
            Ended::StopString => "stop",
            Ended::Length => "length",
            Ended::Context => "context",
        }
    }
}

/// How many tokens a text may grow by, and what it is called to have written them all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub tokens: usize,
    reached: Ended,
}

impl Limit {
    /// As many as are wished for, as far as there is room.
    pub fn within(wished: usize, room: usize) -> Self {
        let reached = if wished <= room { Ended::Length } else { Ended::Context };
        Self { tokens: wished.min(room), reached }
    }

    /// As many as are usual. One fewer than there is room for is all of it, too: so `max_length` counts, which is often the context.
    pub fn usual(wished: usize, room: usize) -> Self {
        let reached = if wished.saturating_add(1) < room { Ended::Length } else { Ended::Context };
        Self { tokens: wished.min(room), reached }
    }

    /// Why a text ended: the end of the model's context is no length that somebody wished for.
    pub fn ended(self, ended: Ended) -> Ended {
        if ended == Ended::Length { self.reached } else { ended }
    }
}

/// A text that is being written.
#[derive(Clone, Debug)]
pub struct Writing {
    /// The prompt and what was written, without an end token.
    pub tokens: Vec<u32>,
    /// Why it ended; `None` while it can go on.
    pub ended: Option<Ended>,
    prompt: usize,
    limit: usize,
    stream: u64,
    /// The first token that the session knows; earlier ones slid out of the context.
    first: usize,
    /// Which sequence of the session it continues.
    of: usize,
}

impl Writing {
    /// A text that begins with `prompt` (not empty), grows by `limit` tokens at most, and continues sequence `of` of a session.
    pub fn new(prompt: &[u32], limit: usize, of: usize) -> Self {
        let tokens = prompt.to_vec();
        let prompt = tokens.len();
        Self { tokens, ended: None, prompt, limit, stream: 0, first: 0, of }
    }

    /// The same, drawing its own random numbers: those of the text `source` (for an encoder-decoder), its prompt and the
    /// number of the sample.
    pub fn drawing(mut self, source: &[u32], sample: usize) -> Self {
        // FNV-1a over the ids; a separator, so that source and prompt cannot be confused.
        let numbers = source.iter().chain([&u32::MAX]).chain(&self.tokens).copied();
        let samples = [sample as u32, (sample as u64 >> 32) as u32];
        let bytes = numbers.chain(samples).flat_map(u32::to_le_bytes);
        self.stream = bytes
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        self
    }

    /// What was written after the prompt.
    pub fn written(&self) -> &[u32] {
        &self.tokens[self.prompt..]
    }

    /// Goes on in a new session, as its sequence `of`, which has read nothing: it will read the last `window` tokens.
    pub fn slide(&mut self, window: usize, of: usize) {
        self.first = self.tokens.len().saturating_sub(window);
        self.of = of;
    }

    /// Which sequence of its session it continues.
    pub fn sequence(&self) -> usize {
        self.of
    }

    /// The most tokens it can have.
    pub fn longest(&self) -> usize {
        self.prompt.saturating_add(self.limit)
    }

    /// The tokens that a new session has to read.
    pub fn window(&self) -> &[u32] {
        &self.tokens[self.first..]
    }
}

/// How one row of scores becomes a token.
#[derive(Clone, Copy, Debug)]
pub enum Choice<'a> {
    /// The largest.
    Largest,
    /// A draw with this seed among what the filter leaves.
    Draw(&'a Filter, u64),
}

/// Writes until every text has ended, or fills the session (then `ended` is `None`: [`Writing::slide`] or call it the end).
///
/// The session is fresh. Its sequences are what `of` of the writings counts: texts with the same prompt share one, and the
/// prompt is read once.
pub fn write(
    session: &mut impl Session,
    writings: &mut [Writing],
    choice: Choice,
    rules: &Rules,
    listener: &mut impl Listener,
) -> Result<()> {
    let sequences = writings.iter().map(|w| w.of + 1).max().unwrap_or(0);
    let mut given: Vec<Vec<u32>> = vec![Vec::new(); sequences];
    writings.iter().for_each(|w| given[w.of] = w.window().to_vec());
    // Which row of the session each live text reads.
    let mut live: Vec<(usize, usize)> = writings.iter().enumerate().map(|(i, w)| (i, w.of)).collect();
    for w in writings.iter_mut().filter(|w| w.written().len() >= w.limit) {
        w.ended = Some(Ended::Length);
    }
    live.retain(|(i, _)| writings[*i].ended.is_none());
    while !live.is_empty() {
        let scores = session.advance(&given);
        let mut going = Vec::with_capacity(live.len());
        for (i, row) in live {
            let w = &mut writings[i];
            let chosen = choose(i, w, scores.row(row), choice, rules, listener)?;
            if rules.ends.contains(&chosen) {
                w.ended = Some(Ended::EndToken);
                continue;
            }
            w.tokens.push(chosen);
            if listener.token(i, chosen)?.is_break() {
                w.ended = Some(Ended::StopString);
            } else if w.written().len() >= w.limit {
                w.ended = Some(Ended::Length);
            } else if w.window().len() <= session.capacity() {
                going.push((i, row, chosen));
            }
        }
        let rows: Vec<usize> = going.iter().map(|(_, row, _)| *row).collect();
        if rows.iter().copied().ne(0..given.len()) {
            session.select(&rows);
        }
        given = going.iter().map(|(_, _, token)| vec![*token]).collect();
        live = going.iter().enumerate().map(|(at, (i, _, _))| (*i, at)).collect();
    }
    Ok(())
}

fn choose(
    i: usize,
    w: &Writing,
    logits: &[f32],
    choice: Choice,
    rules: &Rules,
    listener: &mut impl Listener,
) -> Result<u32> {
    let step = w.written().len();
    let mut scores = logits.to_vec();
    rules.apply(&mut scores, Place { text: &w.tokens, new: step, limit: w.limit });
    check_scores(&scores, step)?;
    let trace = listener.traces();
    let ruled = if trace == Trace::Off { Vec::new() } else { scores.clone() };
    let (u, chosen, after) = match choice {
        Choice::Largest => (None, argmax(&scores), None),
        Choice::Draw(filter, seed) => {
            filter.apply(&mut scores);
            let after = probabilities(&scores);
            let u = unit(number(seed, w.stream, step as u64));
            (Some(u), roulette(&after, u), Some(after))
        }
    };
    if trace != Trace::Off {
        // Greedy search leaves one candidate.
        let after = after.unwrap_or_else(|| {
            let mut only = vec![0.0; logits.len()];
            only[chosen] = 1.0;
            only
        });
        let (candidates, left_out) = candidates(logits, &ruled, &after, trace);
        listener.step(Step { step, sequence: i, u, chosen: chosen as u32, candidates, left_out });
    }
    Ok(chosen as u32)
}
