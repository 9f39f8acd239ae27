//! Beam search: several texts are followed at once, and the likeliest as a whole wins.
//!
//! ```text
//! each step    score of text b followed by token j:  s[b] + ln p(j | b)        the 2·B best of all are candidates
//!              candidates that end, if among the B best:   finished, worth s / penalty(n); the B best finished are kept
//!              candidates that go on:                      the B best are followed
//! ```
//!
//! The same texts and scores as `transformers` 5.22 (`_beam_search`), but each prompt on its own: what a prompt gives does not
//! depend on the batch. Where fewer than B texts are possible there are fewer, not copies with a score of −10⁹. Of equal scores
//! the earlier text and the smaller token come first. The caches follow by [`Session::select`].

use super::rules::{Place, Rules, check_scores};
use super::settings::{Beams, EarlyStopping};
use super::trace::{BeamCandidate, BeamStep, Followed, Listener, Scored, Trace, next_tokens};
use super::write::Ended;
use super::{Session, argmax};
use crate::error::Result;
use limpid_tensor::kernels::softmax::softmax_forward;

/// A finished text.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// The new tokens, without the end token.
    pub tokens: Vec<u32>,
    /// The sum of log-probabilities divided by the length penalty.
    pub score: f32,
    /// The sum of log-probabilities, the end token's included.
    pub log_probability: f32,
    /// Why it ended.
    pub ended: Ended,
}

/// The search for one prompt.
struct Search<'a> {
    prompt: &'a [u32],
    limit: usize,
    running: Vec<Running>,
    /// Best first.
    finished: Vec<Hypothesis>,
}

/// A text that is followed.
#[derive(Clone)]
struct Running {
    /// Prompt and new tokens.
    text: Vec<u32>,
    sum: f32,
}

/// Searches for the best continuations of each prompt, at most `limits[i]` tokens longer. Best first, `nbest` of each, or as
/// many as there are.
///
/// The session is fresh and has a sequence for each prompt, which is not empty.
pub fn beam_search(
    session: &mut impl Session,
    prompts: &[Vec<u32>],
    limits: &[usize],
    beams: &Beams,
    rules: &Rules,
    listener: &mut impl Listener,
) -> Result<Vec<Vec<Hypothesis>>> {
    let mut searches: Vec<Search> = prompts
        .iter()
        .zip(limits)
        .map(|(prompt, limit)| Search {
            prompt,
            // The last token needs no position: nothing follows it.
            limit: (*limit).min(session.capacity() + 1 - prompt.len()),
            running: vec![Running { text: prompt.clone(), sum: 0.0 }],
            finished: Vec::new(),
        })
        .collect();
    for search in searches.iter_mut().filter(|search| search.limit == 0) {
        search.running.clear();
        search.finished.push(Hypothesis {
            tokens: Vec::new(),
            score: 0.0,
            log_probability: 0.0,
            ended: Ended::Length,
        });
    }
    let mut given = prompts.to_vec();
    let mut step = 0;
    // The first rows are one for each prompt, also for those that want nothing.
    let mut row_of: Vec<usize> = (0..prompts.len()).collect();
    while searches.iter().any(|search| !search.running.is_empty()) {
        let scores = session.advance(&given);
        let (mut rows, mut tokens, mut next_row_of) = (Vec::new(), Vec::new(), Vec::new());
        for (i, search) in searches.iter_mut().enumerate() {
            let first_row = row_of[i];
            let row = |b: usize| scores.row(first_row + b);
            next_row_of.push(rows.len());
            if search.running.is_empty() {
                continue;
            }
            for parent in search.advance(i, step, row, beams, rules, listener)? {
                rows.push(first_row + parent);
            }
            tokens
                .extend(search.running.iter().map(|running| running.text[running.text.len() - 1..].to_vec()));
        }
        row_of = next_row_of;
        if rows.iter().copied().ne(0..given.len()) {
            session.select(&rows);
        }
        given = tokens;
        step += 1;
    }
    let best = |search: Search| search.finished.into_iter().take(beams.nbest).collect();
    Ok(searches.into_iter().map(best).collect())
}

impl Search<'_> {
    /// One token further. Gives, for each text that is followed now, which one of the last step it continues.
    fn advance<'s>(
        &mut self,
        i: usize,
        step: usize,
        row: impl Fn(usize) -> &'s [f32],
        beams: &Beams,
        rules: &Rules,
        listener: &mut impl Listener,
    ) -> Result<Vec<usize>> {
        // So many that enough are left when all that can end do.
        let wanted = beams.beams * (1 + rules.ends.len()).max(2);
        let mut best = Best::new(wanted);
        let trace = listener.traces();
        let mut seen = Vec::new();
        for (b, running) in self.running.iter().enumerate() {
            let mut scores = log_probabilities(row(b));
            let before = (trace != Trace::Off).then(|| scores.clone());
            rules.apply(&mut scores, Place { text: &running.text, new: step, limit: self.limit });
            check_scores(&scores, step)?;
            best.offer(b, running.sum, &scores);
            seen.extend(before.map(|before| (before, scores)));
        }
        let mut candidates = best.finish();
        let followed = self.followed(&seen, &candidates, trace);
        let last = step + 1 >= self.limit;
        let mut running = Vec::with_capacity(beams.beams);
        let mut parents = Vec::with_capacity(beams.beams);
        for (rank, candidate) in candidates.iter_mut().enumerate() {
            let mut text = self.running[candidate.from].text.clone();
            let ended = if rules.ends.contains(&candidate.id) {
                Some(Ended::EndToken)
            } else {
                text.push(candidate.id);
                let stopped = listener.ends(i, &text[self.prompt.len()..])?;
                if stopped { Some(Ended::StopString) } else { last.then_some(Ended::Length) }
            };
            candidate.ends = ended.is_some();
            match ended {
                // Only what is among the best B ends; the others are there to go on.
                Some(ended) if rank < beams.beams => {
                    let score = candidate.sum / beams.penalty.divisor(step + 1);
                    self.finish(text, score, candidate.sum, ended, beams.beams);
                }
                Some(_) => {}
                None if running.len() < beams.beams => {
                    parents.push(candidate.from);
                    running.push(Running { text, sum: candidate.sum });
                }
                None => {}
            }
        }
        if last || !self.can_improve(&running, step + 1, beams) {
            running.clear();
            parents.clear();
        }
        self.running = running;
        if trace != Trace::Off {
            let new = |running: &Running| Scored {
                tokens: running.text[self.prompt.len()..].to_vec(),
                score: running.sum,
            };
            let done = |h: &Hypothesis| Scored { tokens: h.tokens.clone(), score: h.score };
            let (running, finished) =
                (self.running.iter().map(new).collect(), self.finished.iter().map(done).collect());
            listener.beams(BeamStep { step, prompt: i, followed, candidates, running, finished });
        }
        Ok(parents)
    }

    /// For a trace: the texts that are followed, and what the model says of each one's next token, before the rules and after them.
    fn followed(
        &self,
        seen: &[(Vec<f32>, Vec<f32>)],
        candidates: &[BeamCandidate],
        trace: Trace,
    ) -> Vec<Followed> {
        let of = |(b, (before, ruled)): (usize, &(Vec<f32>, Vec<f32>))| {
            let among = candidates.iter().filter(|candidate| candidate.from == b).count();
            let (next, left_out) = next_tokens(before, ruled, among, trace);
            let Running { text, sum } = &self.running[b];
            Followed { tokens: text[self.prompt.len()..].to_vec(), sum: *sum, next, left_out }
        };
        seen.iter().enumerate().map(of).collect()
    }

    /// Keeps a finished text if it is among the best; of equals, the earlier.
    fn finish(&mut self, text: Vec<u32>, score: f32, log_probability: f32, ended: Ended, most: usize) {
        let at = self.finished.iter().position(|other| score > other.score).unwrap_or(self.finished.len());
        let tokens = text[self.prompt.len()..].to_vec();
        self.finished.insert(at, Hypothesis { tokens, score, log_probability, ended });
        self.finished.truncate(most);
    }

    /// Whether going on can change the result, by the measure of `stopping`.
    fn can_improve(&self, running: &[Running], length: usize, beams: &Beams) -> bool {
        let Some(best) = running.first() else { return false };
        if self.finished.len() < beams.beams {
            return true;
        }
        let at = match beams.stopping {
            EarlyStopping::AtOnce => return false,
            // Divided by more, a negative sum is better: a text can gain by growing to its longest.
            EarlyStopping::Never if beams.penalty.exponent() > 0.0 => self.limit,
            EarlyStopping::Never | EarlyStopping::Heuristic => length,
        };
        let worst = self.finished.last().expect("there are as many as beams").score;
        best.sum / beams.penalty.divisor(at) > worst
    }
}

/// ln softmax(logits).
fn log_probabilities(logits: &[f32]) -> Vec<f32> {
    let mut p = vec![0.0; logits.len()];
    softmax_forward(&mut p, logits, logits.len());
    let best = argmax(logits);
    // The largest has p = 1/Σ exp(z − max): its logarithm is precise, that of a p that rounds to 0 would not be.
    let log_sum = logits[best] - p[best].ln();
    p.iter_mut().zip(logits).for_each(|(p, z)| *p = z - log_sum);
    p
}

/// The largest sums of all that are offered, without sorting the rest.
struct Best {
    wanted: usize,
    kept: Vec<BeamCandidate>,
    /// A sum that is not above this one is not among the largest.
    bar: f32,
}

impl Best {
    fn new(wanted: usize) -> Self {
        Self { wanted, kept: Vec::with_capacity(4 * wanted), bar: f32::NEG_INFINITY }
    }

    fn offer(&mut self, from: usize, sum: f32, scores: &[f32]) {
        for (id, score) in scores.iter().enumerate() {
            let total = sum + score;
            // What comes later loses against an equal: text by text, token by token.
            if total > self.bar {
                self.kept.push(BeamCandidate {
                    from,
                    id: id as u32,
                    log_probability: *score,
                    sum: total,
                    ends: false,
                });
                if self.kept.len() == 4 * self.wanted {
                    self.shrink();
                }
            }
        }
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
    b.sum.total_cmp(&a.sum).then(a.from.cmp(&b.from)).then(a.id.cmp(&b.id))
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
            rows.iter().enumerate().for_each(|(b, row)| best.offer(b, -(b as f32), row));
            let got: Vec<(usize, u32)> = best.finish().iter().map(|c| (c.from, c.id)).collect();
            let mut all: Vec<(f32, usize, u32)> = rows
                .iter()
                .enumerate()
                .flat_map(|(b, row)| row.iter().enumerate().map(move |(id, z)| (z - b as f32, b, id as u32)))
                .collect();
            all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
            let want: Vec<(usize, u32)> = all.iter().take(wanted).map(|(_, b, id)| (*b, *id)).collect();
            assert_eq!(got, want, "round {round}");
        }
    }

    #[test]
    fn log_probabilities_are_precise_even_where_the_probability_is_zero() {
        let got = log_probabilities(&[0.0, -1.0, -200.0, f32::NEG_INFINITY]);
        let log_sum = (1.0_f64 + (-1.0_f64).exp()).ln();
        for (got, z) in got.iter().zip([0.0, -1.0, -200.0]) {
            assert!((f64::from(*got) - (z - log_sum)).abs() < 1e-5, "{got}");
        }
        assert_eq!(got[3], f32::NEG_INFINITY);
    }
}
