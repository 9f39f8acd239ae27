//! The worked examples of the source notes, through the kernels.

use super::*;

/// One sequence, one head.
struct Example<'a> {
    q: &'a [f32],
    k: &'a [f32],
    v: &'a [f32],
    d: usize,
    scale: f32,
    causality: Causality,
    padding: Padding<'a>,
}

impl Example<'_> {
    /// (weights (t, s), z (t, d), lse (t)).
    fn compute(&self) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
        let (t, s) = (self.q.len() / self.d, self.k.len() / self.d);
        let (q_spans, k_spans) = ([Span { start: 0, len: t }], [Span { start: 0, len: s }]);
        let spec = AttentionSpec {
            padding: self.padding,
            ..AttentionSpec::new(1, self.scale, self.causality, &q_spans, &k_spans)
        };
        let d_v = self.v.len() / s;
        let (q, k, v) = (
            Heads::new(self.q, 1, self.d),
            Heads::new(self.k, 1, self.d),
            Heads::new(self.v, 1, d_v),
        );
        let (mut weights, mut z, mut lse) =
            (vec![f32::NAN; t * s], vec![f32::NAN; t * d_v], vec![f32::NAN; t]);
        attention_weights(&mut weights, q, k, &spec, (0, 0, 0..t));
        attention_forward(HeadsMut::new(&mut z, d_v, 0, d_v), &mut lse, q, k, v, &spec);
        (weights, z, lse)
    }
}

const THE_CAT_SAT: [f32; 12] = [1., 0., 1., 0., 0., 1., 0., 1., 1., 1., 1., 1.];

/// The scores, recovered from the weights: log(weight) + lse. None of them is masked here.
fn scores(weights: &[f32], lse: &[f32]) -> Vec<f32> {
    let s = weights.len() / lse.len();
    weights.iter().enumerate().map(|(at, w)| w.ln() + lse[at / s]).collect()
}

/// The = [1,0,1,0], CAT = [0,1,0,1], SAT = [1,1,1,1] attend to each other; the projections are
/// identities.
#[test]
fn the_cat_sat_gives_the_scores_weights_and_values_worked_by_hand() {
    let x = &THE_CAT_SAT;
    let mut example = Example {
        q: x,
        k: x,
        v: x,
        d: 4,
        scale: 1.0,
        causality: Causality::Full,
        padding: Padding::None,
    };
    // G1: q·kᵀ, unscaled.
    let (weights, _, lse) = example.compute();
    assert_close(&scores(&weights, &lse), &[2., 0., 2., 0., 2., 2., 2., 2., 4.], 2e-6);
    // G2: divided by √4.
    example.scale = 0.5;
    let (weights, z, lse) = example.compute();
    assert_close(&scores(&weights, &lse), &[1., 0., 1., 0., 1., 1., 1., 1., 2.], 2e-6);
    // G3: their softmax.
    let want =
        [0.422319, 0.155362, 0.422319, 0.155362, 0.422319, 0.422319, 0.211942, 0.211942, 0.576117];
    assert_close(&weights, &want, 1e-6);
    // G4: the weighted values. Some notes print 1.2669, but a weighted average cannot exceed its
    // values.
    let (a, b, c) = (0.844638, 0.577681, 0.788058);
    assert_close(&z, &[a, b, a, b, b, a, b, a, c, c, c, c], 1e-6);
}

/// G5 and G6: the query [2,3,4,1] scores 6 and 4 against the keys [1,0,1,0] and [0,1,0,1].
#[test]
fn one_query_against_two_keys_with_and_without_the_scale() {
    let (q, k) = ([2., 3., 4., 1.], [1., 0., 1., 0., 0., 1., 0., 1.]);
    let mut example = Example {
        q: &q,
        k: &k,
        v: &k,
        d: 4,
        scale: 1.0,
        causality: Causality::Full,
        padding: Padding::None,
    };
    let (weights, _, lse) = example.compute();
    assert_close(&scores(&weights, &lse), &[6., 4.], 2e-6);
    assert_close(&weights, &[0.880797, 0.119203], 1e-6);
    example.scale = 0.5;
    assert_close(&example.compute().0, &[0.731059, 0.268941], 1e-6);
}

/// G7: softmax of [10, 1]. Some notes print .99 and .01.
#[test]
fn scores_of_ten_and_one_leave_almost_nothing_to_the_second() {
    let example = Example {
        q: &[1.0],
        k: &[10.0, 1.0],
        v: &[1.0, 0.0],
        d: 1,
        scale: 1.0,
        causality: Causality::Full,
        padding: Padding::None,
    };
    let (weights, z, _) = example.compute();
    assert_close(&weights, &[0.999877, 0.000123], 1e-6);
    assert_close(&z, &[0.999877], 1e-6);
}

/// Three words and a padding token that is all zeros.
const PADDED: [f32; 16] =
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 0., 0., 0., 0.];

/// G12: the scores of [.1 .2 .3 .4], [.5 .6 .7 .8], [.9 1 1.1 1.2] and a padding token of zeros,
/// unscaled and halved.
#[test]
fn the_padded_sentence_has_the_scores_worked_by_hand() {
    let x = &PADDED;
    let want = [0.3, 0.7, 1.1, 0., 0.7, 1.74, 2.78, 0., 1.1, 2.78, 4.46, 0., 0., 0., 0., 0.];
    for scale in [1.0, 0.5] {
        let example = Example {
            q: x,
            k: x,
            v: x,
            d: 4,
            scale,
            causality: Causality::Full,
            padding: Padding::None,
        };
        let (weights, _, lse) = example.compute();
        assert_close(&scores(&weights, &lse), &want.map(|score| score * scale), 3e-6);
    }
}

/// G13, G14, G15: the same with look-ahead mask and key padding. The padding query attends to the
/// three words.
#[test]
fn look_ahead_and_key_padding_together_give_the_weights_and_values_worked_by_hand() {
    let x = &PADDED;
    let real = [true, true, true, false];
    let mut example = Example {
        q: x,
        k: x,
        v: x,
        d: 4,
        scale: 0.5,
        causality: Causality::Causal,
        padding: Padding::Keys(&real),
    };
    let (weights, z, _) = example.compute();
    let visible: Vec<u8> = weights.iter().map(|w| u8::from(*w > 0.0)).collect();
    assert_eq!(visible, [1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0]);
    let third = 1.0 / 3.0;
    let want = [
        1., 0., 0., 0., 0.372852, 0.627148, 0., 0., 0.115182, 0.266803, 0.618015, 0., third, third,
        third, 0.,
    ];
    assert_close(&weights, &want, 1e-6);
    let want = [
        [0.1, 0.2, 0.3, 0.4],
        [0.350859, 0.450859, 0.550859, 0.650859],
        [0.701133, 0.801133, 0.901133, 1.001133],
        [0.5, 0.6, 0.7, 0.8],
    ];
    assert_close(&z, want.as_flattened(), 1e-6);
    // With key-and-query padding the padding query gets a zero row.
    example.padding = Padding::KeysAndQueries { keys: &real, queries: &real };
    let (weights, z, lse) = example.compute();
    assert_eq!(weights[12..], [0.0; 4]);
    assert_eq!(z[12..], [0.0; 4]);
    assert_eq!(lse[3], f32::NEG_INFINITY);
}

/// G16: padding [1,1,0] with look-ahead, keys and queries masked: the third row is all zero, never
/// NaN.
#[test]
fn a_query_that_is_padding_itself_gets_zeros() {
    let (x, real) = (&THE_CAT_SAT, [true, true, false]);
    let padding = Padding::KeysAndQueries { keys: &real, queries: &real };
    let example =
        Example { q: x, k: x, v: x, d: 4, scale: 0.5, causality: Causality::Causal, padding };
    let (weights, z, _) = example.compute();
    let visible: Vec<u8> = weights.iter().map(|w| u8::from(*w > 0.0)).collect();
    assert_eq!(visible, [1, 0, 0, 1, 1, 0, 0, 0, 0]);
    assert_eq!(z[8..], [0.0; 4]);
}

/// G17: the causal mask of four tokens is 0 on and below the diagonal and −∞ above.
#[test]
fn the_causal_mask_of_four_tokens_hides_what_is_above_the_diagonal() {
    let zeros = [0.0; 16];
    let example = Example {
        q: &zeros,
        k: &zeros,
        v: &zeros,
        d: 4,
        scale: 1.0,
        causality: Causality::Causal,
        padding: Padding::None,
    };
    let (weights, _, _) = example.compute();
    for i in 0..4 {
        for j in 0..4 {
            // Equal scores: the visible keys share the weight.
            let want = if j <= i { 1.0 / (i + 1) as f32 } else { 0.0 };
            assert!(
                (weights[i * 4 + j] - want).abs() < 1e-7 && (j <= i || weights[i * 4 + j] == 0.0),
                "({i},{j})"
            );
        }
    }
}
