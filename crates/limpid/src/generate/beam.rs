//! Beam search: several hypotheses are extended at once, and the most likely sequence wins.
//!
//! ```text
//! each step    score of beam b followed by token j:  s[b] + ln p(j | b)    2·B best: candidates
//!              candidates that end, if among the B best: finished, score s / length_penalty(n);
//!                                                        the B best finished are kept
//!              candidates that do not end: the B best are the next beams
//! ```
//!
//! The same sequences and scores as `transformers` 5.22 (`_beam_search`), but each prompt on its
//! own: the result for a prompt does not depend on the batch. Where fewer than B sequences are
//! possible there are fewer, not copies with a score of −10⁹. Of equal scores the earlier beam and
//! the smaller token come first. The caches follow by [`Session::select`].

use super::Session;
use super::batching::{Running, Search};
use super::decoding::{BeamSearch, EarlyStopping};
use super::logits_processor::{LogitsProcessor, ProcessorInput, check_logits};
use super::tokens::FinishReason;
use super::trace::{
    BeamCandidate, BeamStep, Observer, RunningBeam, ScoredTokens, Trace, next_tokens,
};
use crate::error::Result;
use limpid_tensor::kernels::softmax::{largest, log_normalizer, log_softmax};

/// A finished sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// The new tokens, without the end token.
    pub tokens: Vec<u32>,
    /// The sum of log-probabilities divided by the length penalty.
    pub score: f32,
    /// The sum of log-probabilities, the end token's included.
    pub log_probability: f32,
    /// Why it ended.
    pub finish_reason: FinishReason,
}

/// The settings of a search.
#[derive(Clone, Copy)]
pub(super) struct Settings<'a> {
    pub config: &'a BeamSearch,
    pub processor: &'a LogitsProcessor,
}

/// The search for one prompt.
pub(super) struct Beams {
    /// The number that the observer knows it by.
    pub number: usize,
    prompt: Vec<u32>,
    max_new_tokens: usize,
    step: usize,
    beams: Vec<Beam>,
    /// Best first.
    finished: Vec<Hypothesis>,
}

/// A hypothesis that is not finished.
#[derive(Clone)]
struct Beam {
    /// Prompt and new tokens.
    tokens: Vec<u32>,
    /// The sum of log-probabilities of the new tokens.
    sum: f32,
}

/// Searches for the best continuations of each prompt, at most `max_new_tokens[i]` tokens longer.
/// Gives `num_return_sequences` of each, best first, or as many as there are.
///
/// The session is fresh and has a sequence for each prompt, which is not empty.
/// # Errors
/// If the model answers with NaN, the logits processors exclude every token, or the observer fails.
pub fn beam_search(
    session: &mut (impl Session + ?Sized),
    prompts: &[Vec<u32>],
    max_new_tokens: &[usize],
    config: &BeamSearch,
    processor: &LogitsProcessor,
    observer: &mut impl Observer,
) -> Result<Vec<Vec<Hypothesis>>> {
    let mut running = Running::new();
    for (i, (prompt, max_new_tokens)) in prompts.iter().zip(max_new_tokens).enumerate() {
        running.add(Beams::new(i, prompt, *max_new_tokens, session.capacity()));
    }
    let settings = Settings { config, processor };
    let mut searches = running.finish(settings, session, observer)?;
    searches.sort_by_key(|search| search.number);
    Ok(searches.into_iter().map(|search| search.into_best(config)).collect())
}

impl Beams {
    /// A search in a session of this capacity.
    pub fn new(number: usize, prompt: &[u32], max_new_tokens: usize, capacity: usize) -> Self {
        // The last token needs no position: nothing follows it.
        let max_new_tokens = max_new_tokens.min(capacity + 1 - prompt.len());
        let prompt = prompt.to_vec();
        let first = Beam { tokens: prompt.clone(), sum: 0.0 };
        let nothing = Hypothesis {
            tokens: Vec::new(),
            score: 0.0,
            log_probability: 0.0,
            finish_reason: FinishReason::Length,
        };
        let (beams, finished) =
            if max_new_tokens == 0 { (vec![], vec![nothing]) } else { (vec![first], vec![]) };
        Self { number, prompt, max_new_tokens, step: 0, beams, finished }
    }

    /// The best hypotheses, as many as were asked for.
    pub fn into_best(mut self, config: &BeamSearch) -> Vec<Hypothesis> {
        self.finished.truncate(config.num_return_sequences);
        self.finished
    }

    /// Tells the observer of a step: the beams before it and its candidates.
    fn report(
        &self,
        beams: Vec<RunningBeam>,
        candidates: Vec<BeamCandidate>,
        observer: &mut impl Observer,
    ) -> Result<()> {
        let running = |beam: &Beam| ScoredTokens {
            tokens: beam.tokens[self.prompt.len()..].to_vec(),
            score: beam.sum,
        };
        let done = |h: &Hypothesis| ScoredTokens { tokens: h.tokens.clone(), score: h.score };
        let running = self.beams.iter().map(running).collect();
        let finished = self.finished.iter().map(done).collect();
        let (step, prompt) = (self.step, self.number);
        observer.on_beam_step(BeamStep { step, prompt, beams, candidates, running, finished })
    }

    /// Candidates become finished hypotheses and the next beams. Gives the parents of the latter.
    fn extend(
        &mut self,
        Settings { config, processor }: Settings,
        candidates: &mut [BeamCandidate],
        observer: &mut impl Observer,
    ) -> Result<Vec<usize>> {
        let step = self.step;
        let num_beams = config.num_beams;
        let last = step + 1 >= self.max_new_tokens;
        let mut beams = Vec::with_capacity(num_beams);
        let mut parents = Vec::with_capacity(num_beams);
        for (rank, candidate) in candidates.iter_mut().enumerate() {
            let mut tokens = self.beams[candidate.beam].tokens.clone();
            let reason = if processor.eos_token_ids.contains(&candidate.id) {
                Some(FinishReason::EosToken)
            } else {
                tokens.push(candidate.id);
                match observer.is_finished(self.number, &tokens[self.prompt.len()..])? {
                    true => Some(FinishReason::StopString),
                    false => last.then_some(FinishReason::Length),
                }
            };
            candidate.finishes = reason.is_some();
            match reason {
                // Only candidates among the B best end; the others are there to continue.
                Some(finish_reason) if rank < num_beams => {
                    let finished = Hypothesis {
                        tokens: tokens[self.prompt.len()..].to_vec(),
                        score: candidate.sum / config.length_penalty.divisor(step + 1),
                        log_probability: candidate.sum,
                        finish_reason,
                    };
                    self.finish(finished, num_beams);
                }
                Some(_) => {}
                None if beams.len() < num_beams => {
                    parents.push(candidate.beam);
                    beams.push(Beam { tokens, sum: candidate.sum });
                }
                None => {}
            }
        }
        if last || !self.can_improve(&beams, step + 1, config) {
            beams.clear();
            parents.clear();
        }
        self.beams = beams;
        Ok(parents)
    }

    /// For a trace: the beams, and the distribution of each one's next token before and after the
    /// logits processors.
    fn running_beams(
        &self,
        distributions: &[(Vec<f32>, Vec<f32>)],
        candidates: &[BeamCandidate],
        trace: Trace,
    ) -> Vec<RunningBeam> {
        let of = |(b, (before, processed)): (usize, &(Vec<f32>, Vec<f32>))| {
            let among = candidates.iter().filter(|candidate| candidate.beam == b).count();
            let (next, omitted) = next_tokens(before, processed, among, trace);
            let Beam { tokens, sum } = &self.beams[b];
            let tokens = tokens[self.prompt.len()..].to_vec();
            RunningBeam { tokens, log_probability: *sum, next, omitted }
        };
        distributions.iter().enumerate().map(of).collect()
    }

    /// Keeps a finished hypothesis if it is among the best `most`; of equals, the earlier.
    fn finish(&mut self, hypothesis: Hypothesis, most: usize) {
        let better = |other: &Hypothesis| hypothesis.score > other.score;
        let at = self.finished.iter().position(better).unwrap_or(self.finished.len());
        self.finished.insert(at, hypothesis);
        self.finished.truncate(most);
    }

    /// Whether more steps can change the result, by the rule of `early_stopping`.
    fn can_improve(&self, beams: &[Beam], length: usize, config: &BeamSearch) -> bool {
        let Some(best) = beams.first() else { return false };
        if self.finished.len() < config.num_beams {
            return true;
        }
        let at = match config.early_stopping {
            EarlyStopping::Immediate => return false,
            // Divided by more, a negative sum is better: a hypothesis can gain by growing.
            EarlyStopping::Never if config.length_penalty.exponent().0 > 0.0 => self.max_new_tokens,
            EarlyStopping::Never | EarlyStopping::Heuristic => length,
        };
        let worst = self.finished.last().expect("there are as many as beams").score;
        best.sum / config.length_penalty.divisor(at) > worst
    }
}

impl Search for Beams {
    type Settings<'s> = Settings<'s>;

    fn prompt(&self) -> &[u32] {
        &self.prompt
    }

    fn is_running(&self) -> bool {
        !self.beams.is_empty()
    }

    fn step(
        &mut self,
        settings: Settings<'_>,
        logits: &mut [f32],
        v: usize,
        observer: &mut impl Observer,
    ) -> Result<Vec<(usize, u32)>> {
        let Settings { config, processor } = settings;
        // So many that enough are left if every one that can end does.
        let wanted = config.num_beams * (1 + processor.eos_token_ids.len()).max(2);
        let mut best = Best::new(wanted);
        let trace = observer.trace();
        let mut distributions = Vec::new();
        for (b, (beam, scores)) in self.beams.iter().zip(logits.chunks_exact_mut(v)).enumerate() {
            let (tokens, max_new_tokens) = (&beam.tokens, self.max_new_tokens);
            let input = ProcessorInput { tokens, new_tokens: self.step, max_new_tokens };
            if trace == Trace::Off && processor.only_excludes(input) {
                // The row is not written: what all its elements share is subtracted where needed.
                let log_sum = log_normalizer(scores);
                processor.apply(scores, input);
                best.offer(b, beam.sum, scores, log_sum, self.step)?;
                continue;
            }
            log_softmax(scores);
            let before = (trace != Trace::Off).then(|| scores.to_vec());
            processor.apply(scores, input);
            best.offer(b, beam.sum, scores, 0.0, self.step)?;
            distributions.extend(before.map(|before| (before, scores.to_vec())));
        }
        let mut candidates = best.finish();
        let before = self.running_beams(&distributions, &candidates, trace);
        let parents = self.extend(settings, &mut candidates, observer)?;
        if trace != Trace::Off {
            self.report(before, candidates, observer)?;
        }
        self.step += 1;
        let last = |beam: &Beam| *beam.tokens.last().expect("a beam has its prompt");
        Ok(parents.into_iter().zip(self.beams.iter().map(last)).collect())
    }
}

/// The largest sums of all that are offered, without sorting the rest.
struct Best {
    wanted: usize,
    kept: Vec<BeamCandidate>,
    /// A sum that is not above this one is not among the largest.
    bar: f32,
}

/// Scores that are looked at together: most are below the bar.
const CHUNK: usize = 256;

impl Best {
    fn new(wanted: usize) -> Self {
        Self { wanted, kept: Vec::with_capacity(4 * wanted), bar: f32::NEG_INFINITY }
    }

    /// The tokens after a beam, whose log-probabilities are `scores` less `log_sum`.
    fn offer(
        &mut self,
        beam: usize,
        sum: f32,
        scores: &[f32],
        log_sum: f32,
        step: usize,
    ) -> Result<()> {
        let mut any = false;
        for (chunk, first) in scores.chunks(CHUNK).zip((0..).step_by(CHUNK)) {
            let best = largest(chunk) - log_sum;
            any |= best > f32::NEG_INFINITY;
            // Rounding keeps the order, so the largest score has the largest sum.
            if sum + best <= self.bar {
                continue;
            }
            for (id, score) in (first..).zip(chunk) {
                let log_probability = score - log_sum;
                let total = sum + log_probability;
                // Of equal sums the earlier beam and the smaller token win.
                if total > self.bar {
                    let finishes = false;
                    let sum = total;
                    self.kept.push(BeamCandidate { beam, id, log_probability, sum, finishes });
                    if self.kept.len() == 4 * self.wanted {
                        self.shrink();
                    }
                }
            }
        }
        // The usual row: no NaN, and not all of it is −∞.
        if any && !log_sum.is_nan() && log_sum != 0.0 {
            return Ok(());
        }
        let log_probabilities: Vec<f32> = scores.iter().map(|score| score - log_sum).collect();
        check_logits(&log_probabilities, step).map(|_| ())
    }

    fn shrink(&mut self) {
        if self.kept.len() > self.wanted {
            self.kept.select_nth_unstable_by(self.wanted - 1, better_first);
            self.kept.truncate(self.wanted);
            self.bar = self.kept[self.wanted - 1].sum;
        }
    }

    fn finish(mut self) -> Vec<BeamCandidate> {
        self.shrink();
        self.kept.sort_unstable_by(better_first);
        self.kept
    }
}

fn better_first(a: &BeamCandidate, b: &BeamCandidate) -> std::cmp::Ordering {
    b.sum.total_cmp(&a.sum).then(a.beam.cmp(&b.beam)).then(a.id.cmp(&b.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use limpid_tensor::rng::Stream;

    #[test]
    fn the_best_candidates_are_those_that_sorting_everything_would_give() {
        let mut rng = Stream::new(3, 1);
        for round in 0..50 {
            let (v, beams, wanted) = (1 + rng.below(60), 1 + rng.below(4), 1 + rng.below(9));
            // Few distinct values, so that ties happen.
            let rows: Vec<Vec<f32>> =
                (0..beams).map(|_| (0..v).map(|_| -(rng.below(7) as f32)).collect()).collect();
            let mut best = Best::new(wanted);
            for (b, row) in rows.iter().enumerate() {
                best.offer(b, -(b as f32), row, 0.0, 0).unwrap();
            }
            let got: Vec<(usize, u32)> = best.finish().iter().map(|c| (c.beam, c.id)).collect();
            let mut all: Vec<(f32, usize, u32)> = rows
                .iter()
                .enumerate()
                .flat_map(|(b, row)| {
                    row.iter().enumerate().map(move |(id, z)| (z - b as f32, b, id as u32))
                })
                .collect();
            all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
            let want: Vec<(usize, u32)> =
                all.iter().take(wanted).map(|(_, b, id)| (*b, *id)).collect();
            assert_eq!(got, want, "round {round}");
        }
    }

    #[test]
    fn log_probabilities_are_precise_even_where_the_probability_is_zero() {
        let mut got = [0.0, -1.0, -200.0, f32::NEG_INFINITY];
        log_softmax(&mut got);
        let log_sum = (1.0_f64 + (-1.0_f64).exp()).ln();
        for (got, z) in got.iter().zip([0.0, -1.0, -200.0]) {
            assert!((f64::from(*got) - (z - log_sum)).abs() < 1e-5, "{got}");
        }
        assert_eq!(got[3], f32::NEG_INFINITY);
    }
}
