//! Attention: random lengths, heads, widths, strides and masks, forward and backward.

use crate::cases::{Inputs, check, close, inputs, near};
use crate::exact::Exact;
use crate::memory::Guarded;
use crate::reference::softmax;
use limpid_tensor::kernels::attention::{
    AttentionSpec, Causality, Heads, HeadsMut, Padding, Span, attention_backward,
    attention_forward, attention_weights,
};
use limpid_tensor::rng::Stream;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

/// z, lse and the gradients are within this many ULPs of their sizes, in which the absolute
/// products of the scores count by how far the exponential passes them on. Measured on these cases:
/// 5.2 (of dv, a sum over queries), all else 3.2.
const ULPS: f64 = 8.0;

#[derive(Clone, Copy, Debug)]
enum Hidden {
    Nothing,
    Keys,
    KeysAndQueries,
}

#[derive(Clone, Debug)]
struct Case {
    heads: usize,
    d_k: usize,
    d_v: usize,
    /// (t, s) of each sequence.
    lens: Vec<(usize, usize)>,
    /// Unused rows before each sequence, unused columns before and after the heads.
    gaps: (usize, usize, usize),
    causality: Causality,
    hidden: Hidden,
    inputs: Inputs,
}

fn cases() -> impl Strategy<Value = Case> {
    let len = || prop_oneof![0..=3_usize, 1..=20_usize, 1..=75_usize];
    // Widths of whole lanes are read in place, others are copied.
    let width = || prop_oneof![1..=24_usize, Just(16), Just(32)];
    let causality = prop_oneof![Just(Causality::Full), Just(Causality::Causal)];
    let hidden =
        prop_oneof![Just(Hidden::Nothing), Just(Hidden::Keys), Just(Hidden::KeysAndQueries)];
    let shape = (1..=3_usize, width(), width(), prop::collection::vec((len(), len()), 1..=3));
    let gaps = (0..=1_usize, 0..=3_usize, 0..=3_usize);
    (shape, gaps, causality, hidden, inputs()).prop_map(
        |((heads, d_k, d_v, lens), gaps, causality, hidden, inputs)| {
            let inputs = inputs.moderate();
            Case { heads, d_k, d_v, lens, gaps, causality, hidden, inputs }
        },
    )
}

/// The layout of a matrix (rows, h·d), with unused columns around the heads. It ends with its last
/// head.
#[derive(Clone, Copy)]
struct Place {
    rows: usize,
    stride: usize,
    first: usize,
    width: usize,
    heads: usize,
}

impl Place {
    fn len(&self) -> usize {
        self.rows.saturating_sub(1) * self.stride
            + (self.first + self.heads * self.width) * self.rows.min(1)
    }

    fn at(&self, row: usize, head: usize, p: usize) -> usize {
        row * self.stride + self.first + head * self.width + p
    }

    fn view<'a>(&self, data: &'a [f32]) -> Heads<'a> {
        Heads { data, stride: self.stride, first: self.first, width: self.width }
    }

    fn view_mut<'a>(&self, data: &'a mut [f32]) -> HeadsMut<'a> {
        HeadsMut::new(data, self.stride, self.first, self.width)
    }
}

impl Case {
    fn spans(&self, lens: impl Iterator<Item = usize>) -> Vec<Span> {
        let mut end = 0;
        lens.map(|len| {
            let start = end + self.gaps.0;
            end = start + len;
            Span { start, len }
        })
        .collect()
    }

    fn place(&self, spans: &[Span], width: usize) -> Place {
        let rows = spans.last().map_or(0, |span| span.start + span.len);
        let (_, first, after) = self.gaps;
        Place { rows, stride: first + self.heads * width + after, first, width, heads: self.heads }
    }

    fn visible(&self, which: u64, rows: usize) -> Vec<bool> {
        let mut rng = Stream::new(17, which);
        (0..rows).map(|_| rng.uniform() < 0.7).collect()
    }
}

/// Gradients of one operand by the definition, and which elements are written.
struct Want(Vec<Option<Exact>>);

impl Want {
    fn new(place: Place) -> Self {
        Self(vec![None; place.len()])
    }

    fn add(&mut self, at: usize, term: Exact) {
        let sum = self.0[at].unwrap_or(0.0_f64.into());
        self.0[at] = Some(sum + term);
    }

    /// Unused elements must still be NaN.
    fn check(&self, what: &str, got: &[f32]) -> TestCaseResult {
        for (at, (got, want)) in got.iter().zip(&self.0).enumerate() {
            match want {
                Some(want) => near(what, at, *got, *want, ULPS)?,
                None => prop_assert!(got.is_nan(), "{what}[{at}] was written outside the operand"),
            }
        }
        Ok(())
    }
}

fn property(case: Case) -> TestCaseResult {
    let (h, inputs) = (case.heads, case.inputs);
    let q_spans = case.spans(case.lens.iter().map(|len| len.0));
    let k_spans = case.spans(case.lens.iter().map(|len| len.1));
    let (q_at, k_at) = (case.place(&q_spans, case.d_k), case.place(&k_spans, case.d_k));
    let (z_at, v_at) = (case.place(&q_spans, case.d_v), case.place(&k_spans, case.d_v));
    let (queries, keys) = (case.visible(1, q_at.rows), case.visible(2, k_at.rows));
    let scale = 1.0 / (case.d_k as f32).sqrt();
    let spec = AttentionSpec {
        padding: match case.hidden {
            Hidden::Nothing => Padding::None,
            Hidden::Keys => Padding::Keys(&keys),
            Hidden::KeysAndQueries => Padding::KeysAndQueries { keys: &keys, queries: &queries },
        },
        ..AttentionSpec::new(h, scale, case.causality, &q_spans, &k_spans)
    };
    let [q, k, v, dz] = [(1, q_at), (2, k_at), (3, v_at), (4, z_at)]
        .map(|(which, at)| inputs.guarded(which, at.len()));
    let mut lse = inputs.output(q_at.rows * h);
    let [mut z, mut dq, mut dk, mut dv] =
        [z_at, q_at, k_at, v_at].map(|at| inputs.output(at.len()));
    attention_forward(
        z_at.view_mut(&mut z),
        &mut lse,
        q_at.view(&q),
        k_at.view(&k),
        v_at.view(&v),
        &spec,
    );
    attention_backward(
        q_at.view_mut(&mut dq),
        k_at.view_mut(&mut dk),
        v_at.view_mut(&mut dv),
        &mut [],
        z_at.view(&dz),
        z_at.view(&z),
        &lse,
        q_at.view(&q),
        k_at.view(&k),
        v_at.view(&v),
        &spec,
    );

    let [mut want_z, mut want_dq, mut want_dk, mut want_dv] =
        [z_at, q_at, k_at, v_at].map(Want::new);
    let value = |x: &Guarded, at: usize| Exact::from(x[at]);
    for (sequence, (q_span, k_span)) in q_spans.iter().zip(&k_spans).enumerate() {
        let (t, s) = (q_span.len, k_span.len);
        // Every element of a sequence is written, also where everything is masked.
        for (want, at, span) in [(&mut want_dk, k_at, k_span), (&mut want_dv, v_at, k_span)] {
            for (j, head, p) in each(s, h, at.width) {
                want.add(at.at(span.start + j, head, p), 0.0_f64.into());
            }
        }
        for head in 0..h {
            let mut weights = inputs.output(t * s);
            let rows = (sequence, head, 0..t);
            attention_weights(&mut weights, q_at.view(&q), k_at.view(&k), &spec, rows);
            for i in 0..t {
                let (row, k_row) = (q_span.start + i, |j: usize| k_span.start + j);
                let sees = |j: usize| match case.hidden {
                    Hidden::Nothing => true,
                    Hidden::Keys => keys[k_row(j)],
                    Hidden::KeysAndQueries => keys[k_row(j)] && queries[row],
                };
                let past = |j: usize| case.causality == Causality::Full || j + t <= i + s;
                let score = |j: usize| -> Exact {
                    if !(sees(j) && past(j)) {
                        return f64::NEG_INFINITY.into();
                    }
                    let dot = |p| {
                        value(&q, q_at.at(row, head, p)) * value(&k, k_at.at(k_row(j), head, p))
                    };
                    Exact::from(scale) * (0..case.d_k).map(dot).sum::<Exact>()
                };
                let (p_row, want_lse) = softmax(&(0..s).map(score).collect::<Vec<_>>());
                close("weights", &weights[i * s..][..s], &p_row, ULPS)?;
                let got_lse = lse[row * h + head];
                if want_lse.value == f64::NEG_INFINITY {
                    prop_assert_eq!(got_lse, f32::NEG_INFINITY);
                } else {
                    near("lse", row, got_lse, want_lse, ULPS)?;
                }
                for c in 0..case.d_v {
                    let sum =
                        (0..s).map(|j| p_row[j] * value(&v, v_at.at(k_row(j), head, c))).sum();
                    want_z.add(z_at.at(row, head, c), sum);
                }
                // z = P·v, P = softmax(S), S = scale·q·kᵀ, by the chain rule.
                let dp = |j: usize| -> Exact {
                    let term = |c| {
                        value(&dz, z_at.at(row, head, c)) * value(&v, v_at.at(k_row(j), head, c))
                    };
                    (0..case.d_v).map(term).sum()
                };
                let dp: Vec<Exact> = (0..s).map(dp).collect();
                let mean: Exact = dp.iter().zip(&p_row).map(|(dp, p)| *dp * *p).sum();
                for p in 0..case.d_k {
                    want_dq.add(q_at.at(row, head, p), 0.0_f64.into());
                }
                for j in 0..s {
                    let ds = Exact::from(scale) * p_row[j] * (dp[j] - mean);
                    for p in 0..case.d_k {
                        let (q_p, k_p) = (q_at.at(row, head, p), k_at.at(k_row(j), head, p));
                        want_dq.add(q_p, ds * value(&k, k_p));
                        want_dk.add(k_p, ds * value(&q, q_p));
                    }
                    for c in 0..case.d_v {
                        let dv = p_row[j] * value(&dz, z_at.at(row, head, c));
                        want_dv.add(v_at.at(k_row(j), head, c), dv);
                    }
                }
            }
        }
    }
    want_z.check("z", &z)?;
    want_dq.check("dq", &dq)?;
    want_dk.check("dk", &dk)?;
    want_dv.check("dv", &dv)
}

fn each(rows: usize, heads: usize, width: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..rows * heads * width).map(move |at| (at / width / heads, at / width % heads, at % width))
}

#[test]
fn attention_and_its_gradients_are_the_definition_for_every_length_mask_and_stride() {
    check(96, cases(), property);
}

/// Decoding: one query of each sequence, many keys.
#[test]
fn one_query_over_many_keys_is_the_definition() {
    let decoding = (cases(), prop::collection::vec(1..=130_usize, 1..=3));
    check(48, decoding, |(case, s)| {
        property(Case { lens: s.into_iter().map(|s| (1, s)).collect(), ..case })
    });
}
