//! What a pass predicts at each row of its logits.

use super::ForwardPass;
use std::cmp::Ordering;

/// A token, or a label, with its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// Token id, or index of a label.
    pub id: u32,
    /// Its probability.
    pub probability: f64,
    /// How many are more likely.
    pub rank: usize,
}

/// What is predicted at a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The row of the sequence; `None` for a head that reads the whole of it.
    pub row: Option<usize>,
    /// The token that stands there in the text.
    pub chosen: Option<Ranked>,
    /// The most likely ones, of equals the smaller ids first.
    pub top: Vec<Ranked>,
    /// −Σ p ln p, in nats.
    pub entropy: f64,
}

/// The most likely of a distribution given by ln p, and its entropy.
pub(crate) fn most_likely(log_p: &[f64], top: usize) -> (Vec<Ranked>, f64) {
    let order = |a: &u32, b: &u32| -> Ordering {
        log_p[*b as usize].total_cmp(&log_p[*a as usize]).then(a.cmp(b))
    };
    let mut ids: Vec<u32> = (0..log_p.len() as u32).collect();
    let top = top.min(ids.len());
    if top < ids.len() {
        ids.select_nth_unstable_by(top, order);
        ids.truncate(top);
    }
    ids.sort_unstable_by(order);
    let ranked = |(rank, id): (usize, u32)| {
        let probability = log_p[id as usize].exp();
        Ranked { id, probability, rank }
    };
    let entropy = log_p.iter().map(|l| if l.is_finite() { -l.exp() * l } else { 0.0 }).sum();
    (ids.into_iter().enumerate().map(ranked).collect(), entropy)
}

/// A token among all of a distribution.
pub(crate) fn ranked(log_p: &[f64], id: u32) -> Option<Ranked> {
    let own = *log_p.get(id as usize)?;
    let before = |(i, l): (usize, &f64)| *l > own || (*l == own && i < id as usize);
    let rank = log_p.iter().enumerate().filter(|at| before(*at)).count();
    Some(Ranked { id, probability: own.exp(), rank })
}

impl ForwardPass {
    /// What each row of the logits predicts, with so many of the most likely.
    pub fn predictions(&self, top: usize) -> Vec<Prediction> {
        let one = |i: usize| {
            let log_p = self.log_softmax(i)?;
            let (top, entropy) = most_likely(&log_p, top);
            let chosen = self.targets[i].and_then(|id| ranked(&log_p, id));
            Some(Prediction { row: self.logit_rows.get(i).copied(), chosen, top, entropy })
        };
        (0..self.targets.len()).filter_map(one).collect()
    }
}
