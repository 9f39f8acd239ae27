//! The definition in f64, without blocks, tiles or a saved lse; and central differences of it.

use super::*;

/// A batch in f64: q, k, v and the bias.
#[derive(Clone)]
struct Numbers([Vec<f64>; 4]);

impl Numbers {
    fn of(case: &Case) -> Self {
        Numbers([widen(&case.q), widen(&case.k), widen(&case.v), widen(&case.bias)])
    }
}

fn widen(x: &[f32]) -> Vec<f64> {
    x.iter().map(|x| f64::from(*x)).collect()
}

/// (z, lse) of one query: softmax(scale·q·kᵀ + bias + mask)·v, written out.
fn naive_row(case: &Case, x: &Numbers, sequence: usize, head: usize, i: usize) -> (Vec<f64>, f64) {
    let Numbers([q, k, v, bias]) = x;
    let (h, g, d_k, d_v) = (case.heads, case.kv_heads, case.d_k, case.d_v);
    let kv_head = head / (h / g);
    let (q_row, k_span) = (case.q_spans[sequence].start + i, case.k_spans[sequence]);
    let score = |j: usize| -> f64 {
        if !case.sees(sequence, i, j) {
            return f64::NEG_INFINITY;
        }
        let (q_at, k_at) = ((q_row * h + head) * d_k, ((k_span.start + j) * g + kv_head) * d_k);
        let score = (0..d_k).map(|p| q[q_at + p] * k[k_at + p]).sum::<f64>();
        let distance = j as isize - (i + k_span.len) as isize + case.q_spans[sequence].len as isize;
        let at = head * (2 * REACH + 1) + distance.wrapping_add_unsigned(REACH) as usize;
        score * f64::from(case.scale) + bias.get(at).unwrap_or(&0.0)
    };
    let scores: Vec<f64> = (0..k_span.len).map(score).collect();
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if max == f64::NEG_INFINITY {
        return (vec![0.0; d_v], max);
    }
    let sum: f64 = scores.iter().map(|x| (x - max).exp()).sum();
    let value = |p: usize| -> f64 {
        let term = |j: usize| {
            (scores[j] - max).exp() / sum * v[((k_span.start + j) * g + kv_head) * d_v + p]
        };
        (0..k_span.len).map(term).sum()
    };
    ((0..d_v).map(value).collect(), max + sum.ln())
}

/// Σ dz·z over one sequence and head: the loss whose gradient by z is dz.
fn loss(case: &Case, x: &Numbers, sequence: usize, head: usize) -> f64 {
    let span = case.q_spans[sequence];
    let row = |i: usize| -> f64 {
        let dz = &case.dz[((span.start + i) * case.heads + head) * case.d_v..][..case.d_v];
        let (z, _) = naive_row(case, x, sequence, head, i);
        z.iter().zip(dz).map(|(z, dz)| z * f64::from(*dz)).sum()
    };
    (0..span.len).map(row).sum()
}

fn check_forward(case: &Case, got: &Outcome, name: &str) {
    let x = Numbers::of(case);
    let mut inside = vec![false; got.lse.len() / case.heads];
    for (sequence, span) in case.q_spans.iter().enumerate() {
        for i in 0..span.len {
            inside[span.start + i] = true;
            for head in 0..case.heads {
                let (want, want_lse) = naive_row(case, &x, sequence, head, i);
                let at = (span.start + i) * case.heads + head;
                for (z, want) in got.z[at * case.d_v..][..case.d_v].iter().zip(&want) {
                    assert!(
                        (f64::from(*z) - want).abs() < 2e-6,
                        "{name}: row {i}: {z} is not {want}"
                    );
                }
                let lse = f64::from(got.lse[at]);
                assert!(
                    lse == want_lse || (lse - want_lse).abs() < 4e-6,
                    "{name}: lse {lse}, not {want_lse}"
                );
            }
        }
    }
    for (row, inside) in inside.iter().enumerate() {
        let z = &got.z[row * case.heads * case.d_v..][..case.heads * case.d_v];
        assert!(
            *inside || z.iter().all(|z| z.is_nan()),
            "{name}: wrote to row {row}, outside every sequence"
        );
    }
}

/// Central differences of up to `samples` elements of each operand of each sequence and head.
fn check_backward(case: &Case, got: &Outcome, samples: usize, name: &str) {
    let x = Numbers::of(case);
    let (h, g) = (case.heads, case.kv_heads);
    let operands = [
        (&got.dq, &case.q_spans, h, case.d_k, "dq"),
        (&got.dk, &case.k_spans, g, case.d_k, "dk"),
        (&got.dv, &case.k_spans, g, case.d_v, "dv"),
    ];
    for (operand, (gradient, spans, heads, d, label)) in operands.into_iter().enumerate() {
        for (sequence, span) in spans.iter().enumerate() {
            for head in 0..heads {
                // The query heads that use this head.
                let users = head * (h / heads)..(head + 1) * (h / heads);
                let count = span.len * d;
                let step = count.div_ceil(samples).max(1);
                for n in (0..count).step_by(step) {
                    // A step of whole rows would sample one column only.
                    let n = (n + n / step % d).min(count - 1);
                    let at = ((span.start + n / d) * heads + head) * d + n % d;
                    let nudged = |by: f64| -> f64 {
                        let mut x = x.clone();
                        x.0[operand][at] += by;
                        users.clone().map(|head| loss(case, &x, sequence, head)).sum()
                    };
                    let want = (nudged(1e-4) - nudged(-1e-4)) / 2e-4;
                    let error = (f64::from(gradient[at]) - want).abs();
                    assert!(error < 4e-6, "{name}: {label}[{at}] = {}, slope {want}", gradient[at]);
                }
            }
        }
    }
}

/// Central differences of the bias of a few distances, in each sequence and head.
fn check_bias(case: &Case, got: &Outcome, name: &str) {
    let x = Numbers::of(case);
    for (sequence, span) in case.k_spans.iter().enumerate() {
        for (head, distance) in (0..case.heads).flat_map(|h| [-70, -3, -1, 0, 1, 9].map(|d| (h, d)))
        {
            let at = head * (2 * REACH + 1) + REACH.wrapping_add_signed(distance);
            let nudged = |by: f64| {
                let mut x = x.clone();
                x.0[3][at] += by;
                loss(case, &x, sequence, head)
            };
            let want = (nudged(1e-4) - nudged(-1e-4)) / 2e-4;
            let dbias = got.dbias[sequence * case.bias.len() + at];
            let error = (f64::from(dbias) - want).abs();
            assert!(error < 1e-5, "{name} {span:?}: dbias[{at}] = {dbias}, slope {want}");
        }
    }
}

/// Grouped heads, windows and biases, together and apart, with every mask.
fn options() -> impl Iterator<Item = (Case, String)> {
    let lens: [&[(usize, usize)]; 3] = [
        &[(1, 1), (1, 40), (5, 3), (0, 3), (3, 0), (23, 23), (7, 40)],
        &[(64, 64), (5, 64), (70, 2)],
        &[(130, 130), (67, 130)],
    ];
    let heads = [(4, 2), (3, 1), (2, 2)];
    let masks = [
        (Causality::Full, PaddingKind::None),
        (Causality::Causal, PaddingKind::None),
        (Causality::Full, PaddingKind::Keys),
        (Causality::Causal, PaddingKind::KeysAndQueries),
    ];
    lens.into_iter().flat_map(move |lens| {
        heads.into_iter().flat_map(move |heads| {
            masks.into_iter().flat_map(move |(causality, padding)| {
                let windows = if lens[0].0 < 64 { vec![1, 2, 17, 1000] } else { vec![3, 40] };
                windows.into_iter().map(move |window| {
                    let case = Case::grouped(heads, (6, 16), lens, causality, padding);
                    let name = format!("{heads:?} window {window} {causality:?} {padding:?}");
                    (case.with_window(window).with_bias(), name)
                })
            })
        })
    })
}

#[test]
fn grouped_heads_windows_and_biases_agree_with_the_definition_and_central_differences() {
    for (case, name) in options() {
        let got = case.run();
        check_forward(&case, &got, &name);
        let samples = if case.q_spans[0].len < 64 { 6 } else { 2 };
        check_backward(&case, &got, samples, &name);
        check_bias(&case, &got, &name);
    }
}

fn table() -> impl Iterator<Item = (Case, String)> {
    let lens: [&[(usize, usize)]; 6] = [
        &[(1, 1), (1, 7), (7, 1), (2, 2)],
        &[(3, 5), (5, 3), (4, 4), (0, 3), (3, 0), (11, 11)],
        &[(13, 17), (6, 6), (1, 19), (29, 23)],
        &[(64, 64), (5, 64)],
        &[(65, 65), (1, 65), (65, 2)],
        &[(130, 130), (67, 130), (130, 67)],
    ];
    let causalities = [Causality::Full, Causality::Causal];
    let paddings = [PaddingKind::None, PaddingKind::Keys, PaddingKind::KeysAndQueries];
    let widths = [(1, 1, 1), (1, 16, 5), (2, 3, 7), (3, 8, 32), (2, 32, 16), (1, 19, 50)];
    lens.into_iter().enumerate().flat_map(move |(n, lens)| {
        causalities.into_iter().flat_map(move |causality| {
            paddings.into_iter().flat_map(move |padding| {
                // The naive reference is slow for long sequences: two of the widths, different ones
                // for each padding.
                let every = if lens[0].0 < 64 { 1 } else { 3 };
                let skip = (n + padding as usize) % every;
                widths.into_iter().skip(skip).step_by(every).map(move |(heads, d_k, d_v)| {
                    let name = format!(
                        "h={heads} d_k={d_k} d_v={d_v} {causality:?} {padding:?} (t,s) {lens:?}"
                    );
                    (Case::new(heads, (d_k, d_v), lens, causality, padding), name)
                })
            })
        })
    })
}

#[test]
fn forward_agrees_with_the_definition_for_every_shape_and_mask() {
    for (case, name) in table() {
        check_forward(&case, &case.run(), &name);
    }
}

#[test]
fn backward_agrees_with_central_differences_for_every_shape_and_mask() {
    for (case, name) in table() {
        let samples = if case.q_spans[0].len < 64 { 12 } else { 3 };
        check_backward(&case, &case.run(), samples, &name);
    }
}

#[test]
fn weights_are_the_softmax_and_exactly_zero_where_masked() {
    for (case, name) in table().chain(options()) {
        let (q, k, _) = case.views();
        let got = case.run();
        let kv_head = case.kv_heads - 1;
        for (sequence, (q_span, k_span)) in case.q_spans.iter().zip(&case.k_spans).enumerate() {
            let (t, s, head) = (q_span.len, k_span.len, case.heads - 1);
            let mut weights = vec![f32::NAN; t * s];
            attention_weights(&mut weights, q, k, &case.spec(), (sequence, head, 0..t));
            let mut some = vec![f32::NAN; (t - t / 2) * s];
            attention_weights(&mut some, q, k, &case.spec(), (sequence, head, t / 2..t));
            assert_eq!(some, weights[t / 2 * s..], "{name}: some rows have other bits");
            for i in 0..t {
                let row = &weights[i * s..][..s];
                let masked = (0..s).all(|j| case.sees(sequence, i, j) || row[j] == 0.0);
                assert!(masked, "{name}: a masked weight is not 0");
                let sum: f32 = row.iter().sum();
                let want = if (0..s).any(|j| case.sees(sequence, i, j)) { 1.0 } else { 0.0 };
                assert!((sum - want).abs() < 1e-5, "{name}: weights sum to {sum}");
                for p in 0..case.d_v {
                    let z = got.z[((q_span.start + i) * case.heads + head) * case.d_v + p];
                    let row_of = |j: usize| (k_span.start + j) * case.kv_heads + kv_head;
                    let value = |j: usize| case.v[row_of(j) * case.d_v + p];
                    let want: f32 = row.iter().enumerate().map(|(j, w)| w * value(j)).sum();
                    assert!((z - want).abs() < 2e-6, "{name}: {z} is not {want}");
                }
            }
        }
    }
}

/// Scores of ±10,000 and more: the largest takes all, nothing overflows, and the gradients are
/// finite.
#[test]
fn scores_of_ten_thousand_neither_overflow_nor_give_nan() {
    for t in [1, 2, 9] {
        let mut case = Case::new(2, (8, 16), &[(t, 9)], Causality::Full, PaddingKind::None);
        case.scale = 1e4;
        let got = case.run();
        let x = Numbers::of(&case);
        for i in 0..t {
            for head in 0..2 {
                let (want, _) = naive_row(&case, &x, 0, head, i);
                let row = ((case.q_spans[0].start + i) * 2 + head) * 16;
                for (z, want) in got.z[row..][..16].iter().zip(want) {
                    assert!((f64::from(*z) - want).abs() < 0.02, "{z} is not {want}");
                }
                let dq = &got.dq[((case.q_spans[0].start + i) * 2 + head) * 8..][..8];
                assert!(dq.iter().all(|x| x.is_finite()), "{dq:?}");
            }
        }
    }
}
