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

/// How far a query sees, in both directions where [`Causality`] allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// As far as there are keys.
    Unlimited,
    /// Keys less than this many positions away: 1 is the query's own position alone. As under the
    /// causal mask, query i of t stands at the position of key i + (s − t).
    Sliding(usize),
}

/// A bias on the scores that depends on the head and on the distance from query to key.
#[derive(Clone, Copy, Debug)]
pub struct DistanceBias<'a> {
    /// (h, 2·reach + 1): the bias at distance −reach, …, reach (key position − query position).
    pub values: &'a [f32],
    /// The largest distance; no query may see a key farther away.
    pub reach: usize,
}

/// Shape, scale and mask of an attention: everything but its operands.
#[derive(Clone, Copy, Debug)]
pub struct AttentionSpec<'a> {
    /// h.
    pub heads: usize,
    /// g, the heads of k and v: h, or a divisor of h (grouped-query attention). Query head i uses
    /// key-value head i / (h/g).
    pub kv_heads: usize,
    /// Factor on the scores, 1/√d_k by default in the literature.
    pub scale: f32,
    /// Whether queries attend to later keys.
    pub causality: Causality,
    /// How far queries see.
    pub window: Window,
    /// Added to the scaled scores.
    pub bias: Option<DistanceBias<'a>>,
    /// Which rows are padding.
    pub padding: Padding<'a>,
    /// The rows of each sequence in q and z, in ascending order.
    pub q_spans: &'a [Span],
    /// The rows of each sequence in k and v. In the forward pass several sequences may share keys
    /// (the hypotheses of a beam share their source); the backward pass requires ascending order.
    pub k_spans: &'a [Span],
    /// If given, the spans of keys are parts of this list, and key j of a sequence is the row of k
    /// and v with number `k_rows[start + j]`: pages of a cache, in any order, shared by any number
    /// of sequences. Only the forward pass takes it.
    pub k_rows: Option<&'a [u32]>,
}

impl<'a> AttentionSpec<'a> {
    /// As many heads of keys and values as of queries; no window, no bias, no padding.
    pub fn new(
        heads: usize,
        scale: f32,
        causality: Causality,
        q_spans: &'a [Span],
        k_spans: &'a [Span],
    ) -> Self {
        Self {
            heads,
            kv_heads: heads,
            scale,
            causality,
            window: Window::Unlimited,
            bias: None,
            padding: Padding::None,
            q_spans,
            k_spans,
            k_rows: None,
        }
    }

    #[track_caller]
    pub(super) fn check(&self, q: Heads, k: Heads) {
        assert!(
            q.width == k.width,
            "attention: queries have {} columns per head, keys have {}",
            q.width,
            k.width
        );
        self.check_queries(q);
        self.check_keys("k", k);
    }

    /// Checks everything but keys and values.
    #[track_caller]
    pub(super) fn check_queries(&self, q: Heads) {
        assert!(
            self.kv_heads > 0 && self.heads > 0 && self.heads.is_multiple_of(self.kv_heads),
            "attention: {} heads of queries, {} of keys and values",
            self.heads,
            self.kv_heads
        );
        assert!(
            self.q_spans.len() == self.k_spans.len(),
            "attention: {} sequences of queries, {} of keys",
            self.q_spans.len(),
            self.k_spans.len()
        );
        q.check("q", self.heads, self.q_spans);
        if let Some(bias) = self.bias {
            let longest = self.q_spans.iter().chain(self.k_spans).map(|span| span.len).max();
            assert!(
                bias.values.len() == self.heads * (2 * bias.reach + 1)
                    && bias.reach + 1 >= longest.unwrap_or(0),
                "attention: a bias of {} values for {} heads, a reach of {} and sequences of up to \
                 {} tokens",
                bias.values.len(),
                self.heads,
                bias.reach,
                longest.unwrap_or(0)
            );
        }
        assert!(self.window != Window::Sliding(0), "attention: a window of 0 keys");
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

    /// Checks that the rows of keys or values exist.
    #[track_caller]
    pub(super) fn check_keys(&self, name: &str, heads: Heads) {
        let Some(numbers) = self.k_rows else {
            return heads.check(name, self.kv_heads, self.k_spans);
        };
        let rows = self.k_spans.iter().map(|span| span.start + span.len).max().unwrap_or(0);
        assert!(
            rows <= numbers.len(),
            "attention: the sequences of {name} end at {rows} of {} row numbers",
            numbers.len()
        );
        heads.check_numbered(name, self.kv_heads, numbers);
    }

    /// The keys or values of one sequence and head.
    #[inline(always)]
    pub(super) fn keys(&self, heads: Heads<'a>, sequence: usize, kv_head: usize) -> Rows<'a> {
        let span = self.k_spans[sequence];
        match self.k_rows {
            None => heads.rows(span, kv_head),
            Some(numbers) => heads.numbered(&numbers[span.start..][..span.len], kv_head),
        }
    }

    /// Query heads that share a key-value head.
    pub(super) fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    /// The queries and keys of one sequence and head.
    pub(super) fn pair(
        &self,
        q: Heads<'a>,
        k: Heads<'a>,
        sequence: usize,
        head: usize,
    ) -> Pair<'a> {
        let k = self.keys(k, sequence, head / self.group());
        self.pair_with(q, k, sequence, head)
    }

    /// The same with these keys.
    pub(super) fn pair_with<'b>(
        &self,
        q: Heads<'b>,
        k: Rows<'b>,
        sequence: usize,
        head: usize,
    ) -> Pair<'b>
    where
        'a: 'b,
    {
        let (q_span, k_span) = (self.q_spans[sequence], self.k_spans[sequence]);
        let (keys, queries) = self.padding.masks();
        Pair {
            q_span,
            k_span,
            head,
            kv_head: head / self.group(),
            q: q.rows(q_span, head),
            k,
            scale: self.scale,
            causality: self.causality,
            window: self.window,
            bias: self.bias,
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
    pub kv_head: usize,
    /// (t, d_k).
    pub q: Rows<'a>,
    /// (s, d_k).
    pub k: Rows<'a>,
    pub scale: f32,
    pub causality: Causality,
    pub window: Window,
    pub bias: Option<DistanceBias<'a>>,
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

    /// Query i sees no key from here on: neither of two queries sees farther than the later one.
    #[inline(always)]
    pub fn visible(&self, i: usize) -> usize {
        // Query i stands at the position of key i + (s − t).
        match (self.causality, self.window) {
            (Causality::Causal, _) => (i + 1 + self.s()).saturating_sub(self.t()),
            (Causality::Full, Window::Unlimited) => self.s(),
            (Causality::Full, Window::Sliding(w)) => {
                (i + self.s()).saturating_add(w).saturating_sub(self.t()).min(self.s())
            }
        }
    }

    /// Query i sees no key before this one, by the window.
    #[inline(always)]
    pub fn first_key(&self, i: usize) -> usize {
        match self.window {
            Window::Unlimited => 0,
            Window::Sliding(w) => {
                (i + 1 + self.s()).saturating_sub(self.t().saturating_add(w)).min(self.s())
            }
        }
    }

    /// The first query that sees key j by [`Pair::visible`].
    #[inline(always)]
    pub fn first_query(&self, j: usize) -> usize {
        match (self.causality, self.window) {
            (Causality::Causal, _) => (j + self.t()).saturating_sub(self.s()),
            (Causality::Full, Window::Unlimited) => 0,
            (Causality::Full, Window::Sliding(w)) => {
                (j + 1 + self.t()).saturating_sub(self.s().saturating_add(w))
            }
        }
    }

    /// Whether query i is padding.
    #[inline(always)]
    pub fn is_hidden(&self, i: usize) -> bool {
        self.queries.is_some_and(|queries| !queries[i])
    }

    /// Where the distance from query i to key `first` stands in a head's row of biases.
    #[inline(always)]
    pub fn distance(&self, bias: DistanceBias, i: usize, first: usize) -> usize {
        bias.reach + first + self.t() - i - self.s()
    }

    /// Adds the bias to the scores of query i against the keys from `first` on, then masks them: −∞
    /// where the key is outside the window, or the key or the query is padding.
    #[inline(always)]
    pub fn hide(&self, scores: &mut [f32], i: usize, first: usize) {
        if let Some(bias) = self.bias {
            let row = self.head * (2 * bias.reach + 1) + self.distance(bias, i, first);
            scores.iter_mut().zip(&bias.values[row..]).for_each(|(score, bias)| *score += bias);
        }
        let outside = self.first_key(i).saturating_sub(first).min(scores.len());
        scores[..outside].fill(f32::NEG_INFINITY);
        if self.is_hidden(i) {
            scores.fill(f32::NEG_INFINITY);
        } else if let Some(keys) = self.keys {
            for (score, visible) in scores.iter_mut().zip(&keys[first..]) {
                *score = if *visible { *score } else { f32::NEG_INFINITY };
            }
        }
    }
}
