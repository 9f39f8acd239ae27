//! Speculative decoding: a draft proposes tokens, and the model checks all of them in one pass.
//!
//! ```text
//! a round     draft: x₁ … x_k, each from its distribution q     model: p after each of them
//! greedy      x stays while it is the model's token; the first other one is the model's
//! sampling    x stays with probability min(1, p(x)/q(x)); instead of the first that does not, a
//!             sample of max(p − q, 0), normalized
//! all stay    one more token of p
//! ```
//!
//! So a round yields 1 to k + 1 tokens for one reading of the weights. The tokens have exactly the
//! distribution of plain sampling, whatever the draft is (Leviathan et al. 2023, theorem 1), and
//! those of greedy search are the same: the logits of a position have the same bits however many
//! positions are computed together. p and q are what logits processors, temperature, top-k and
//! top-p leave.
//!
//! A draft is a smaller model, or the text itself: what followed the last tokens when they occurred
//! before (prompt lookup), which is a distribution with all of its mass on one token.

use super::logits_processor::{ProcessorInput, check_logits};
use super::sampling::{SamplingFilter, sample_categorical};
use super::slots::{DecoderSlots, Slot, Slots};
use super::tokens::{Growth, Sequence, Settings, TokenSelection};
use super::trace::Observer;
use crate::error::{GenerationError, Result};
use crate::model::Decoder;
use limpid_tensor::kernels::kv_format::KvFormat;
use limpid_tensor::kernels::softmax::softmax_in_place;
use limpid_tensor::packed_weights::Weights;
use limpid_tensor::rng::{number, unit};

/// The longest n-gram that prompt lookup searches for; shorter ones if it does not occur.
const LONGEST_NGRAM: usize = 3;

/// What proposes tokens.
#[derive(Clone, Copy)]
pub enum Draft<'a> {
    /// A model with the same vocabulary.
    Model(&'a Decoder, Weights<'a>),
    /// What followed the same tokens before, in the prompt or the new text.
    PromptLookup,
}

/// How a text is generated speculatively.
#[derive(Clone, Copy)]
pub struct Speculation<'a> {
    /// What proposes tokens.
    pub draft: Draft<'a>,
    /// Tokens that are proposed per round, at least 1.
    pub num_tokens: usize,
}

impl Speculation<'_> {
    /// Checks it for a model with this vocabulary.
    /// # Errors
    /// A [`GenerationError`].
    pub(super) fn validate(&self, vocab_size: usize) -> Result<()> {
        let most = 64;
        if !(1..=most).contains(&self.num_tokens) {
            let (found, expected) = (self.num_tokens.to_string(), format!("in 1 to {most}"));
            let key = match self.draft {
                Draft::Model(..) => "num_assistant_tokens",
                Draft::PromptLookup => "prompt_lookup_num_tokens",
            };
            return Err(GenerationError::OutOfRange { key, found, expected }.into());
        }
        match self.draft {
            Draft::Model(model, _) if model.config().vocab_size != vocab_size => {
                let draft = model.config().vocab_size;
                Err(GenerationError::DraftVocabularySize { draft, vocab_size }.into())
            }
            _ => Ok(()),
        }
    }
}

/// Proposed tokens, each with the distribution that it was sampled from; none if there was no
/// choice.
type Proposals = Vec<(u32, Option<Vec<f32>>)>;

/// A sequence of the model, and that of its draft.
pub(super) struct Speculator<'a> {
    target: DecoderSlots<'a>,
    slot: Slot,
    draft: DraftSequence<'a>,
    num_tokens: usize,
}

enum DraftSequence<'a> {
    Model(Box<DecoderSlots<'a>>, Slot),
    PromptLookup,
}

impl<'a> Speculator<'a> {
    /// An empty sequence of at most `capacity` tokens.
    pub fn new(
        (model, weights, format): (&'a Decoder, Weights<'a>, KvFormat),
        speculation: Speculation<'a>,
        capacity: usize,
    ) -> Self {
        let open = |model: &'a Decoder, weights: Weights<'a>| {
            let mut slots = DecoderSlots::new(model, weights, capacity).with_kv_format(format);
            let slot = slots.open(&[&[]]).swap_remove(0);
            (slots, slot)
        };
        let (target, slot) = open(model, weights);
        let draft = match speculation.draft {
            Draft::Model(model, weights) => {
                let (slots, slot) = open(model, weights);
                DraftSequence::Model(Box::new(slots), slot)
            }
            Draft::PromptLookup => DraftSequence::PromptLookup,
        };
        Self { target, slot, draft, num_tokens: speculation.num_tokens }
    }

    /// The largest number of tokens of the sequence.
    pub fn capacity(&self) -> usize {
        self.target.capacity()
    }

    /// Generates until the sequence has ended, or fills its capacity.
    /// # Errors
    /// As [`super::generate_tokens`].
    pub fn run(
        &mut self,
        number: usize,
        sequence: &mut Sequence,
        settings: Settings,
        observer: &mut impl Observer,
    ) -> Result<()> {
        if sequence.end_if_full() {
            return Ok(());
        }
        loop {
            let window = sequence.window().len();
            let count = self.num_tokens.min(sequence.remaining() - 1).min(self.capacity() - window);
            let proposals = self.draft.propose(sequence, count, settings)?;
            let known = self.target.len(self.slot);
            let mut input = sequence.window()[known..].to_vec();
            input.extend(proposals.iter().map(|(token, _)| token));
            let rows = proposals.len() + 1;
            let mut logits = self.target.advance_last(self.slot, &input, rows);
            let v = logits.rows_cols().1;
            let mut proposals = proposals.iter();
            for row in logits.data_mut().chunks_exact_mut(v) {
                let proposal = proposals.next();
                let proposed = proposal.map(|(token, q)| (*token, q.as_deref()));
                let token = decide(sequence, row, proposed, settings)?;
                if sequence.grow(number, token, settings, observer)? == Growth::Over {
                    return Ok(());
                }
                if proposal.is_some_and(|(proposed, _)| *proposed != token) {
                    break;
                }
            }
            // The last token is not in the caches, whether it was proposed or not.
            let kept = sequence.window().len() - 1;
            self.target.truncate(self.slot, kept);
            self.draft.truncate(kept);
        }
    }
}

impl DraftSequence<'_> {
    /// Proposes up to `count` tokens after a sequence.
    fn propose(
        &mut self,
        sequence: &Sequence,
        count: usize,
        settings: Settings,
    ) -> Result<Proposals> {
        match self {
            Self::PromptLookup => {
                let found = look_up(sequence.window(), count);
                Ok(found.iter().map(|token| (*token, None)).collect())
            }
            Self::Model(slots, slot) => {
                let (mut tokens, first) = (sequence.tokens.clone(), sequence.tokens.len());
                let start = first - sequence.window().len();
                let mut proposals = Vec::with_capacity(count);
                while proposals.len() < count && tokens.len() - start <= slots.capacity() {
                    let known = start + slots.len(*slot);
                    let mut logits = slots.advance(&[(*slot, &tokens[known..])]);
                    let step = sequence.new_tokens().len() + proposals.len();
                    let row = logits.data_mut();
                    let best = process(sequence, row, &tokens, step, settings)?;
                    let (token, q) = match settings.selection {
                        TokenSelection::Greedy => (best as u32, None),
                        TokenSelection::Sample(filter, seed) => {
                            filtered(row, filter);
                            let u = random(sequence, seed, Purpose::Propose, step);
                            (sample_categorical(row, u) as u32, Some(row.to_vec()))
                        }
                    };
                    proposals.push((token, q));
                    tokens.push(token);
                    if settings.processor.eos_token_ids.contains(&token) {
                        break;
                    }
                }
                Ok(proposals)
            }
        }
    }

    /// Drops what the model did not accept.
    fn truncate(&mut self, kept: usize) {
        if let Self::Model(slots, slot) = self {
            let len = slots.len(*slot).min(kept);
            slots.truncate(*slot, len);
        }
    }
}

/// The tokens that followed the last occurrence of the longest n-gram at the end of a text that
/// occurs before.
fn look_up(tokens: &[u32], count: usize) -> &[u32] {
    for n in (1..=LONGEST_NGRAM.min(tokens.len().saturating_sub(1))).rev() {
        let (before, last) = (&tokens[..tokens.len() - 1], &tokens[tokens.len() - n..]);
        if let Some(at) = before.windows(n).rposition(|ngram| ngram == last) {
            let after = &tokens[at + n..];
            return &after[..count.min(after.len())];
        }
    }
    &[]
}

/// Applies the logits processors to the logits after `tokens`; gives the index of the largest.
fn process(
    sequence: &Sequence,
    row: &mut [f32],
    tokens: &[u32],
    step: usize,
    settings: Settings,
) -> Result<usize> {
    let max_new_tokens = sequence.remaining() + sequence.new_tokens().len();
    settings.processor.apply(row, ProcessorInput { tokens, new_tokens: step, max_new_tokens });
    check_logits(row, step)
}

/// Logits become the probabilities of what the filter leaves.
fn filtered(row: &mut [f32], filter: &SamplingFilter) {
    filter.apply(row);
    softmax_in_place(row);
}

/// The next token of a sequence: the proposed one if it stays. Overwrites the row.
fn decide(
    sequence: &Sequence,
    row: &mut [f32],
    proposed: Option<(u32, Option<&[f32]>)>,
    settings: Settings,
) -> Result<u32> {
    let step = sequence.new_tokens().len();
    let best = process(sequence, row, &sequence.tokens, step, settings)?;
    let TokenSelection::Sample(filter, seed) = settings.selection else { return Ok(best as u32) };
    let random = |purpose| random(sequence, seed, purpose, step);
    let Some((proposed, q)) = proposed else {
        return Ok(filter.sample(row, best, random(Purpose::Sample)) as u32);
    };
    filtered(row, filter);
    // Without a choice q is 1 for the proposed token and 0 for the others.
    let q_of = |j: usize| q.map_or(f32::from(u8::from(j == proposed as usize)), |q| q[j]);
    if random(Purpose::Accept) * q_of(proposed as usize) < row[proposed as usize] {
        return Ok(proposed);
    }
    let rest = |j: usize, p: f32| f64::from((p - q_of(j)).max(0.0));
    let total: f64 = row.iter().enumerate().map(|(j, p)| rest(j, *p)).sum();
    let u = f64::from(random(Purpose::Sample)) * total;
    let (mut cumulative, mut last) = (0.0, None);
    for (j, p) in row.iter().enumerate().filter(|(j, p)| rest(*j, **p) > 0.0) {
        cumulative += rest(j, *p);
        last = Some(j);
        if u < cumulative {
            break;
        }
    }
    // Nothing is left only if rounding made p and q the same.
    Ok(last.unwrap_or(proposed as usize) as u32)
}

/// What a random number is for. Each has a stream of its own, so that they are independent.
#[derive(Clone, Copy)]
enum Purpose {
    /// As in plain sampling.
    Sample,
    Propose,
    Accept,
}

fn random(sequence: &Sequence, seed: u64, purpose: Purpose, step: usize) -> f32 {
    // Odd constants of splitmix64: streams far apart.
    let stream = match purpose {
        Purpose::Sample => 0,
        Purpose::Propose => 0x9e37_79b9_7f4a_7c15,
        Purpose::Accept => 0xbf58_476d_1ce4_e5b9,
    };
    unit(number(seed, sequence.stream() ^ stream, step as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_lookup_takes_what_followed_the_longest_ngram_last() {
        //            0  1  2  3  4  5  6  7  8  9
        let tokens = [5, 1, 2, 7, 9, 1, 2, 8, 1, 2];
        assert_eq!(look_up(&tokens, 3), [8, 1, 2], "after 1 2, the last time");
        assert_eq!(look_up(&tokens, 1), [8]);
        let tokens = [4, 1, 2, 7, 9, 1, 2, 8, 4, 1, 2];
        assert_eq!(look_up(&tokens, 2), [7, 9], "4 1 2 is longer");
        assert_eq!(look_up(&[1, 1], 4), [1], "a text that repeats itself");
        assert!(look_up(&[1, 2, 3], 4).is_empty() && look_up(&[1], 4).is_empty());
    }
}
