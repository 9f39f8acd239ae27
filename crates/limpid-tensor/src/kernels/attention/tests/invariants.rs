//! Invariants that hold for any operands.

use super::*;
use crate::team;

const LENS: [(usize, usize); 5] = [(70, 70), (9, 9), (1, 40), (24, 31), (130, 130)];

fn every_mask() -> impl Iterator<Item = (Causality, PaddingKind)> {
    [Causality::Full, Causality::Causal].into_iter().flat_map(|c| {
        [PaddingKind::None, PaddingKind::Keys, PaddingKind::KeysAndQueries]
            .map(|padding| (c, padding))
    })
}

fn all_bits(outcome: &Outcome) -> Vec<u32> {
    let Outcome { z, lse, dq, dk, dv, dbias } = outcome;
    [z, lse, dq, dk, dv, dbias].into_iter().flat_map(|x| bits(x)).collect()
}

#[test]
fn one_two_three_and_four_threads_give_the_same_bits() {
    for (causality, padding) in every_mask() {
        for lens in [&LENS[..], &LENS[4..]] {
            let case = Case::grouped((6, 3), (20, 32), lens, causality, padding);
            let case = case.with_window(33).with_bias();
            let outcomes = [1, 2, 3, 4].map(|threads| {
                team::set_threads(threads);
                all_bits(&case.run())
            });
            assert!(
                outcomes.iter().all(|outcome| *outcome == outcomes[0]),
                "{causality:?} {padding:?}"
            );
        }
    }
    team::set_threads(2);
}

/// A batch of one sequence gives the same bits as that sequence in a larger batch.
#[test]
fn other_sequences_in_the_batch_change_nothing() {
    for (causality, padding) in every_mask() {
        let together = Case::new(2, (16, 24), &LENS, causality, padding).with_window(40);
        let all = together.run();
        for sequence in 0..LENS.len() {
            let mut alone = together.clone();
            alone.q_spans = vec![together.q_spans[sequence]];
            alone.k_spans = vec![together.k_spans[sequence]];
            // The matrices keep their rows; only the spans are removed.
            let one = run_in_place(&alone);
            let (q, k) = (alone.q_spans[0], alone.k_spans[0]);
            let part = |x: &[f32], span: Span, width: usize| {
                bits(&x[span.start * width..][..span.len * width])
            };
            for (a, b, span, width) in [
                (&one.z, &all.z, q, 2 * 24),
                (&one.lse, &all.lse, q, 2),
                (&one.dq, &all.dq, q, 2 * 16),
                (&one.dk, &all.dk, k, 2 * 16),
                (&one.dv, &all.dv, k, 2 * 24),
            ] {
                assert_eq!(
                    part(a, span, width),
                    part(b, span, width),
                    "{causality:?} {padding:?} {sequence}"
                );
            }
        }
    }
}

fn run_in_place(case: &Case) -> Outcome {
    let mut case = case.clone();
    // `run` derives the length of lse from the last span: an empty sequence at the end keeps it.
    let rows = |x: &[f32], heads: usize| x.len() / heads / case.d_k;
    let (n_q, n_k) = (rows(&case.q, case.heads), rows(&case.k, case.kv_heads));
    case.q_spans.push(Span { start: n_q - PADDING_ROWS, len: 0 });
    case.k_spans.push(Span { start: n_k - PADDING_ROWS, len: 0 });
    case.run()
}

#[test]
fn the_future_cannot_change_the_past() {
    let case = Case::new(2, (8, 16), &[(100, 100)], Causality::Causal, PaddingKind::None);
    let before = case.run();
    for cut in [1, 5, 63, 64, 99] {
        let mut changed = case.clone();
        let start = case.q_spans[0].start;
        changed.q[(start + cut) * 16..].fill(3.0);
        changed.k[(start + cut) * 16..].fill(-2.0);
        changed.v[(start + cut) * 32..].fill(100.0);
        let after = changed.run();
        let past = ..(start + cut) * 32;
        assert_eq!(bits(&before.z[past]), bits(&after.z[past]), "from {cut} on");
    }
}

/// Decoding with cached keys: queries a..b with the keys up to b are rows a..b of the whole, bit for
/// bit, wherever a prompt is cut; a chunk of one query included.
#[test]
fn a_prompt_cut_anywhere_has_the_bits_of_the_whole() {
    let mut rng = Stream::new(23, 4);
    let options = |case: Case, option: usize| match option {
        0 => case,
        1 => case.with_window(21),
        2 => case.with_bias(),
        _ => case.with_window(50).with_bias(),
    };
    let shapes = [
        ((2, 2), (24, 16)),
        ((4, 2), (64, 64)),
        ((3, 1), (8, 5)),
        ((1, 1), (32, 80)),
        ((2, 1), (17, 32)),
    ];
    for (round, (heads, widths)) in (0..4).flat_map(|i| shapes.map(|shape| (i, shape))) {
        for s in [1, 2, 5, 16, 17, 64, 65, 130] {
            let case =
                Case::grouped(heads, widths, &[(s, s)], Causality::Causal, PaddingKind::None);
            let case = options(case, round);
            let (whole, start, width) = (case.run(), case.q_spans[0].start, heads.0 * widths.1);
            let mut from = 0;
            while from < s {
                let len = if rng.below(2) == 0 { 1 } else { 1 + rng.below(s - from) };
                let mut step = case.clone();
                step.q_spans[0] = Span { start: start + from, len };
                step.k_spans[0] = Span { start, len: from + len };
                let got = run_in_place(&step);
                let rows = |width: usize| (start + from) * width..(start + from + len) * width;
                let at = format!("{heads:?} {widths:?}, queries {from}+{len} of {s}");
                assert_eq!(bits(&got.z[rows(width)]), bits(&whole.z[rows(width)]), "{at}");
                let lse = rows(heads.0);
                assert_eq!(bits(&got.lse[lse.clone()]), bits(&whole.lse[lse]), "lse, {at}");
                from += len;
            }
        }
    }
}

/// Cross-attention of one query, or of several: the same bits.
#[test]
fn queries_of_full_attention_alone_have_the_bits_of_the_block() {
    for padding in [PaddingKind::None, PaddingKind::Keys, PaddingKind::KeysAndQueries] {
        for (t, s) in [(2, 1), (7, 15), (70, 33), (3, 200)] {
            let case = Case::new(2, (16, 24), &[(t, s)], Causality::Full, padding);
            let (whole, start) = (case.run(), case.q_spans[0].start);
            for i in 0..t {
                let mut alone = case.clone();
                alone.q_spans[0] = Span { start: start + i, len: 1 };
                let got = run_in_place(&alone);
                let row = (start + i) * 48..(start + i + 1) * 48;
                assert_eq!(bits(&got.z[row.clone()]), bits(&whole.z[row]), "{i} of {t}, {s} keys");
            }
        }
    }
}

/// The (n, 3c) matrix of a fused projection, and its gradient, without copies.
#[test]
fn columns_of_one_fused_matrix_give_the_same_bits_as_separate_matrices() {
    for (causality, padding) in every_mask() {
        for (d_k, d_v) in [(16, 16), (8, 5)] {
            let h = 3;
            let case = Case::new(h, (d_k, d_v), &[(70, 70), (9, 9), (2, 2)], causality, padding);
            let want = case.run();
            let n = case.q.len() / (h * d_k);
            let stride = h * (2 * d_k + d_v);
            let fused: Vec<f32> = (0..n)
                .flat_map(|row| {
                    let part = |x: &[f32], width: usize| x[row * width..][..width].to_vec();
                    [part(&case.q, h * d_k), part(&case.k, h * d_k), part(&case.v, h * d_v)]
                        .concat()
                })
                .collect();
            let view = |first: usize, width: usize| Heads { data: &fused, stride, first, width };
            let (q, k, v) = (view(0, d_k), view(h * d_k, d_k), view(2 * h * d_k, d_v));
            let (mut z, mut lse) = (vec![f32::NAN; n * h * d_v], vec![f32::NAN; n * h]);
            attention_forward(
                HeadsMut::new(&mut z, h * d_v, 0, d_v),
                &mut lse,
                q,
                k,
                v,
                &case.spec(),
            );
            assert_eq!(bits(&z), bits(&want.z));
            let mut gradient = vec![f32::NAN; n * stride];
            let columns = [(0, d_k), (h * d_k, d_k), (2 * h * d_k, d_v)];
            let [dq, dk, dv] = HeadsMut::split(&mut gradient, stride, columns);
            let (dz, z) = (Heads::new(&case.dz, h, d_v), Heads::new(&z, h, d_v));
            attention_backward(dq, dk, dv, &mut [], dz, z, &lse, q, k, v, &case.spec());
            for row in 0..n {
                let wanted = [(&want.dq, h * d_k), (&want.dk, h * d_k), (&want.dv, h * d_v)]
                    .map(|(x, width)| bits(&x[row * width..][..width]))
                    .concat();
                assert_eq!(bits(&gradient[row * stride..][..stride]), wanted, "row {row}");
            }
        }
    }
}

/// A window that reaches every key, one key-value head per query head and a bias of zeros change no
/// bit.
#[test]
fn options_without_effect_change_nothing() {
    for (causality, padding) in every_mask() {
        let plain = Case::new(2, (16, 24), &LENS, causality, padding);
        let mut same = plain.clone().with_window(1000).with_bias();
        same.bias.fill(0.0);
        let (a, b) = (plain.run(), same.run());
        assert_eq!(all_bits(&Outcome { dbias: Vec::new(), ..b }), all_bits(&a));
    }
}

/// Grouped heads are what repeated keys and values would be, also in the gradients, which add up.
#[test]
fn grouped_heads_equal_repeated_keys_and_values() {
    let grouped =
        Case::grouped((4, 2), (8, 16), &[(70, 70), (9, 9)], Causality::Causal, PaddingKind::None);
    let repeat = |x: &[f32], d: usize| -> Vec<f32> {
        x.chunks_exact(d).flat_map(|head| [head, head].concat()).collect()
    };
    let mut repeated = grouped.clone();
    repeated.kv_heads = 4;
    (repeated.k, repeated.v) = (repeat(&grouped.k, 8), repeat(&grouped.v, 16));
    let (a, b) = (grouped.run(), repeated.run());
    assert_eq!(bits(&a.z), bits(&b.z));
    assert_eq!(bits(&a.dq), bits(&b.dq));
    for (own, each, d) in [(&a.dk, &b.dk, 8), (&a.dv, &b.dv, 16)] {
        for (own, two) in own.chunks_exact(d).zip(each.chunks_exact(2 * d)) {
            for (p, own) in own.iter().enumerate().filter(|(_, own)| !own.is_nan()) {
                assert!((own - (two[p] + two[d + p])).abs() < 1e-5);
            }
        }
    }
}

#[test]
fn several_sequences_may_share_their_keys_in_the_forward_pass() {
    let mut case = Case::new(2, (8, 8), &[(4, 20), (4, 20)], Causality::Full, PaddingKind::None);
    case.k_spans[1] = case.k_spans[0];
    let (first, second) = (case.q_spans[0].start * 16, case.q_spans[1].start * 16);
    case.q.copy_within(first..first + 64, second);
    let (q, k, v) = case.views();
    let (mut z, mut lse) = (vec![0.0; case.dz.len()], vec![0.0; case.dz.len() / 8]);
    attention_forward(HeadsMut::new(&mut z, 16, 0, 8), &mut lse, q, k, v, &case.spec());
    assert_eq!(z[first..first + 64], z[second..second + 64]);
}

#[test]
#[should_panic(expected = "attention: queries have 4 columns per head, keys have 3")]
fn heads_of_different_width_panic_and_name_both() {
    let case = Case::new(1, (4, 4), &[(2, 2)], Causality::Full, PaddingKind::None);
    let (q, _, v) = case.views();
    let k = Heads { width: 3, ..q };
    attention_forward(HeadsMut::new(&mut [0.0; 20], 4, 0, 4), &mut [0.0; 5], q, k, v, &case.spec());
}

#[test]
#[should_panic(expected = "attention: the sequences of dk overlap or do not ascend")]
fn keys_shared_in_the_backward_pass_panic() {
    let mut case = Case::new(1, (4, 4), &[(2, 2), (2, 2)], Causality::Full, PaddingKind::None);
    case.k_spans[1] = case.k_spans[0];
    case.run();
}

#[test]
#[should_panic(expected = "attention: 2 heads of width 4 do not fit columns 4..8 of dk")]
fn views_of_one_matrix_that_would_overlap_panic() {
    let case = Case::new(2, (4, 4), &[(2, 2)], Causality::Full, PaddingKind::None);
    let (q, k, v) = case.views();
    let (mut dq, mut gradient) = (vec![0.0; 5 * 8], vec![0.0; 5 * 16]);
    let dq = HeadsMut::new(&mut dq, 8, 0, 4);
    // dv starts in the middle of dk.
    let [dk, dv] = HeadsMut::split(&mut gradient, 16, [(4, 4), (8, 4)]);
    let dz = Heads::new(&case.dz, 2, 4);
    attention_backward(dq, dk, dv, &mut [], dz, dz, &[0.0; 10], q, k, v, &case.spec());
}
