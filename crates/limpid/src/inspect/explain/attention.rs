//! The terms of attention: z = Σ w·v, w = softmax of the scores, score = scale·Σ q·k + bias.

use super::steps::softmax_terms;
use super::{
    Computed, Element, Explainer, Explanation, Factor, Origin, Output, Term, constant, term,
};
use crate::error::{InspectError, Result};
use limpid_tensor::kernels::attention::{Causality, Span, Window};
use limpid_tensor::ops::{AttentionPlan, PaddingMask};
use limpid_tensor::tape::{Operation, TracedHeads};
use std::ops::Range;

/// An attention of the pass.
pub(super) struct Attention<'a> {
    q: &'a TracedHeads,
    k: &'a TracedHeads,
    v: &'a TracedHeads,
    plan: &'a AttentionPlan,
}

impl<'a> Explainer<'a> {
    pub(super) fn attention(&self, step: usize) -> Result<Attention<'a>> {
        match &self.step(step)?.operation {
            Operation::Attention { q, k, v, plan } => match plan.padding {
                PaddingMask::None => Ok(Attention { q, k, v, plan }),
                _ => Err(InspectError::Unsupported { operation: "attention with padding" }.into()),
            },
            _ => Err(InspectError::NoElement.into()),
        }
    }
}

impl Attention<'_> {
    /// The sequences of a row of queries: (rows of queries, rows of keys).
    fn spans(&self, query: usize) -> Option<(Span, Span)> {
        let spans = self.plan.q_spans.iter().zip(self.plan.k_spans.iter());
        let of = |span: &Span| (span.start..span.start + span.len).contains(&query);
        spans.map(|(q, k)| (*q, *k)).find(|(q, _)| of(q))
    }

    /// The rows of keys that a row of queries sees.
    fn visible(&self, query: usize) -> Range<usize> {
        let Some((q, k)) = self.spans(query) else { return 0..0 };
        // Query i of t stands at the position of key i + (s − t).
        let own = (query - q.start + k.len) as isize - q.len as isize;
        let (mut first, mut end) = (0, k.len as isize);
        if self.plan.causality == Causality::Causal {
            end = end.min(own + 1);
        }
        if let Window::Sliding(window) = self.plan.window {
            first = first.max(own - window as isize + 1);
            end = end.min(own + window as isize);
        }
        let clamp = |at: isize| k.start + at.clamp(0, k.len as isize) as usize;
        clamp(first)..clamp(end).max(clamp(first))
    }

    /// The head of keys and values that a head of queries reads.
    fn kv_head(&self, head: usize) -> usize {
        head / (self.plan.heads / self.plan.kv_heads)
    }

    /// The terms of a score: scale·q·k by column, and the bias.
    fn score_terms(
        &self,
        explainer: &Explainer,
        [head, query, key]: [usize; 3],
    ) -> Result<Vec<Term>> {
        let scale = constant("scale", f64::from(self.plan.scale));
        let kv_head = self.kv_head(head);
        let mut terms: Vec<Term> = (0..self.q.width)
            .map(|i| {
                let [q, k] =
                    [(self.q, head, query), (self.k, kv_head, key)].map(|(x, head, row)| {
                        explainer.operand(&x.of, row, x.first + head * x.width + i)
                    });
                term([scale.clone(), q, k])
            })
            .collect();
        if let (Some(bias), Some((q, k))) = (self.plan.bias, self.spans(query)) {
            let own = (query - q.start + k.len) as isize - q.len as isize;
            let bucket = bias.buckets.of((key - k.start) as isize - own);
            terms.push(term([explainer.param(bias.table, bucket, head)?]));
        }
        Ok(terms)
    }

    fn scores(&self, explainer: &Explainer, head: usize, query: usize) -> Result<Vec<f64>> {
        let score = |key| {
            let terms = self.score_terms(explainer, [head, query, key])?;
            Ok(terms.iter().map(|term| term.value).sum())
        };
        self.visible(query).map(score).collect()
    }

    fn check(&self, [head, query, key]: [usize; 3]) -> Result<()> {
        match head < self.plan.heads && self.visible(query).contains(&key) {
            true => Ok(()),
            false => Err(InspectError::NoElement.into()),
        }
    }

    /// z = Σ w·v over the keys that the query sees.
    pub(super) fn output(&self, explainer: &Explainer, at: Output) -> Result<Computed> {
        let Output { step, row, column, .. } = at;
        let (head, within) = (column / self.v.width, column % self.v.width);
        let exps = softmax_terms(self.scores(explainer, head, row)?.into_iter());
        let total: f64 = exps.iter().sum();
        let column = self.v.first + self.kv_head(head) * self.v.width + within;
        let terms = self.visible(row).zip(&exps).map(|(key, exp)| {
            let element = Element::AttentionWeight { step, head, query: row, key };
            let weight = Factor { value: exp / total, origin: Origin::Element(element) };
            term([weight, explainer.operand(&self.v.of, key, column)])
        });
        Ok(Computed::sum("attention", "z = Σ w·v", terms.collect()))
    }

    /// w = exp(score − max)/Σ exp(score − max).
    pub(super) fn weight(
        &self,
        explainer: &Explainer,
        step: usize,
        [head, query, key]: [usize; 3],
    ) -> Result<Explanation> {
        self.check([head, query, key])?;
        let scores = self.scores(explainer, head, query)?;
        let exps = softmax_terms(scores.iter().copied());
        let terms: Vec<Term> = self
            .visible(query)
            .zip(scores.iter().zip(&exps))
            .map(|(key, (score, exp))| {
                let element = Element::AttentionScore { step, head, query, key };
                let score = Factor { value: *score, origin: Origin::Element(element) };
                Term { value: *exp, factors: vec![score] }
            })
            .collect();
        let sum: f64 = exps.iter().sum();
        let again = exps[key - self.visible(query).start] / sum;
        let formula = "w = exp(score − max)/Σ exp(score − max)";
        let computed = Computed::sum("attention", formula, terms);
        let element = Element::AttentionWeight { step, head, query, key };
        let name = self.part_name(explainer, step, "weights")?;
        let computed = Computed { sum, again, magnitude: again, ..computed };
        // The blocked kernel keeps no weight: this is its value, rounded to f32.
        Ok(computed.explanation(element, name, again as f32))
    }

    /// score = scale·Σ q·k + bias.
    pub(super) fn score(
        &self,
        explainer: &Explainer,
        step: usize,
        [head, query, key]: [usize; 3],
    ) -> Result<Explanation> {
        self.check([head, query, key])?;
        let terms = self.score_terms(explainer, [head, query, key])?;
        let formula = match self.plan.bias {
            None => "score = Σ scale·q·k",
            Some(_) => "score = Σ scale·q·k + bias",
        };
        let computed = Computed::sum("attention", formula, terms);
        let element = Element::AttentionScore { step, head, query, key };
        let name = self.part_name(explainer, step, "scores")?;
        let value = computed.sum as f32;
        Ok(computed.explanation(element, name, value))
    }

    fn part_name(&self, explainer: &Explainer, step: usize, part: &str) -> Result<String> {
        Ok(format!("{}{part}", explainer.step(step)?.scope))
    }
}
