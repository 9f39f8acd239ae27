//! The attention mask, and the queries and keys of one sequence and head.

use super::views::{Heads, Rows, Span};

/// Whether a query attends to later keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Causality {
    /// Every query sees every key.
    Full,
    /// Query i of t sees key j of s if j ≤ i + (s − t). The two are aligned at the end, so the rule
    /// covers training (t = s) and decoding with cached keys (t = 1: the query sees all s keys).
    Causal,
}

/// Which rows are padding. `true` is a real token, by row of the packed matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding<'a> {
    /// No padding: packed sequences need none.
    None,
    /// Padding keys get weight 0; padding queries are computed like others.
    Keys(&'a [bool]),
    /// Padding keys get weight 0, and padding queries a zero row.
    KeysAndQueries {
        /// Real keys.
        keys: &'a [bool],
        /// Real queries.
        queries: &'a [bool],
    },
}

/// Shape, scale and mask of an attention: everything but its operands.
#[derive(Clone, Copy, Debug)]
pub struct AttentionSpec<'a> {
    /// h.
    pub heads: usize,
    /// Factor on the scores, 1/√d_k by default in the literature.
    pub scale: f32,
    /// Whether queries attend to later keys.
    pub causality: Causality,
    /// Which rows are padding.
    pub padding: Padding<'a>,
    /// The rows of each sequence in q and z, in ascending order.
    pub q_spans: &'a [Span],
    /// The rows of each sequence in k and v. In the forward pass several sequences may share keys
    /// (the hypotheses of a beam share their source); the backward pass requires ascending order.
    pub k_spans: &'a [Span],
}

impl<'a> AttentionSpec<'a> {
    #[track_caller]
    pub(super) fn check(&self, q: Heads, k: Heads) {
        assert!(self.heads > 0, "attention: no heads");
        assert!(
            self.q_spans.len() == self.k_spans.len(),
            "attention: {} sequences of queries, {} of keys",
            self.q_spans.len(),
            self.k_spans.len()
        );
        assert!(
            q.width == k.width,
            "attention: queries have {} columns per head, keys have {}",
            q.width,
            k.width
        );
        q.check("q", self.heads, self.q_spans);
        k.check("k", self.heads, self.k_spans);
        let (keys, queries) = self.padding.masks();
        for (name, mask, spans) in
            [("keys", keys, self.k_spans), ("queries", queries, self.q_spans)]
        {
            let rows = spans.iter().map(|span| span.start + span.len).max().unwrap_or(0);
            let len = mask.map_or(rows, <[bool]>::len);
            assert!(
                len >= rows,
                "attention: the padding of {name} has {len} rows, the sequences end at row {rows}"
            );
        }
    }

    /// The queries and keys of one sequence and head.
    pub(super) fn pair(
        &self,
        q: Heads<'a>,
        k: Heads<'a>,
        sequence: usize,
        head: usize,
    ) -> Pair<'a> {
        let (q_span, k_span) = (self.q_spans[sequence], self.k_spans[sequence]);
        let (keys, queries) = self.padding.masks();
        Pair {
            q_span,
            k_span,
            head,
            q: q.rows(q_span, head),
            k: k.rows(k_span, head),
            scale: self.scale,
            causality: self.causality,
            keys: keys.map(|keys| &keys[k_span.start..][..k_span.len]),
            queries: queries.map(|queries| &queries[q_span.start..][..q_span.len]),
        }
    }
}

impl<'a> Padding<'a> {
    fn masks(self) -> (Option<&'a [bool]>, Option<&'a [bool]>) {
        match self {
            Padding::None => (None, None),
            Padding::Keys(keys) => (Some(keys), None),
            Padding::KeysAndQueries { keys, queries } => (Some(keys), Some(queries)),
        }
    }
}

/// The queries and keys of one sequence and head, and its part of the mask.
pub(super) struct Pair<'a> {
    pub q_span: Span,
    pub k_span: Span,
    pub head: usize,
    /// (t, d_k).
    pub q: Rows<'a>,
    /// (s, d_k).
    pub k: Rows<'a>,
    pub scale: f32,
    pub causality: Causality,
    pub keys: Option<&'a [bool]>,
    pub queries: Option<&'a [bool]>,
}

impl Pair<'_> {
    pub fn t(&self) -> usize {
        self.q_span.len
    }

    pub fn s(&self) -> usize {
        self.k_span.len
    }

    /// The causal mask lets query i see keys `0..visible(i)`: one more for each later query.
    #[inline(always)]
    pub fn visible(&self, i: usize) -> usize {
        match self.causality {
            Causality::Full => self.s(),
            Causality::Causal => (i + 1 + self.s()).saturating_sub(self.t()),
        }
    }

    /// The first query that sees key j by the causal mask.
    #[inline(always)]
    pub fn first_query(&self, j: usize) -> usize {
        match self.causality {
            Causality::Full => 0,
            Causality::Causal => (j + self.t()).saturating_sub(self.s()),
        }
    }

    /// Whether query i is padding.
    #[inline(always)]
    pub fn is_hidden(&self, i: usize) -> bool {
        self.queries.is_some_and(|queries| !queries[i])
    }

    /// Masks scores of query i against keys `0..scores.len()`: −∞ where the key or the query is
    /// padding.
    #[inline(always)]
    pub fn hide(&self, scores: &mut [f32], i: usize) {
        if self.is_hidden(i) {
            scores.fill(f32::NEG_INFINITY);
        } else if let Some(keys) = self.keys {
            for (score, visible) in scores.iter_mut().zip(keys) {
                *score = if *visible { *score } else { f32::NEG_INFINITY };
            }
        }
    }
}
