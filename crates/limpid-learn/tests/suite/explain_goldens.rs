//! The goldens of the worked examples, G1 to G24, read from the explanations: so the text, the
//! tables and the kernels agree with arithmetic done in f64 elsewhere.

use limpid_learn::explain::{Explanation, Inputs, Note, Step, explain};

const MASKED: f64 = f64::NEG_INFINITY;

fn default(name: &str) -> Explanation {
    explain(name, &Inputs::default()).unwrap()
}

fn with(name: &str, options: &[(&str, &str)]) -> Explanation {
    explain(name, &Inputs::parse(name, options).unwrap()).unwrap()
}

/// Table `table` of the step whose title begins with `title`.
fn numbers(explanation: &Explanation, title: &str, table: usize) -> Vec<Vec<f64>> {
    explanation.step(title).tables[table].numbers()
}

#[track_caller]
fn near(got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len(), "{got:?} {want:?}");
    for (g, w) in got.iter().zip(want) {
        assert!(g == w || (g - w).abs() <= 1e-6 * w.abs().max(1.0), "{got:?} is not {want:?}");
    }
}

#[track_caller]
fn all_near(got: &[Vec<f64>], want: &[&[f64]]) {
    assert_eq!(got.len(), want.len());
    got.iter().zip(want).for_each(|(got, want)| near(got, want));
}

#[track_caller]
fn column(rows: &[Vec<f64>], j: usize) -> Vec<f64> {
    rows.iter().map(|row| row[j]).collect()
}

#[track_caller]
fn corrects(step: &Step, wrong: &str, right: &str) {
    let found = step.notes.iter().any(|note| {
        matches!(note, Note::Misconception { claim, correct, reason }
            if claim.contains(wrong) && correct.contains(right) && !reason.is_empty())
    });
    assert!(found, "{wrong} → {right} is not among {:?}", step.notes);
}

#[test]
fn g1_to_g4_the_cat_sat() {
    let e = default("self-attention");
    all_near(&numbers(&e, "Scores", 0), &[&[2.0, 0.0, 2.0], &[0.0, 2.0, 2.0], &[2.0, 2.0, 4.0]]);
    all_near(&numbers(&e, "Scaled", 0), &[&[1.0, 0.0, 1.0], &[0.0, 1.0, 1.0], &[1.0, 1.0, 2.0]]);
    all_near(
        &numbers(&e, "Weights", 0),
        &[
            &[0.422319, 0.155362, 0.422319],
            &[0.155362, 0.422319, 0.422319],
            &[0.211942, 0.211942, 0.576117],
        ],
    );
    let (a, b, c) = (0.844638, 0.577681, 0.788058);
    all_near(&numbers(&e, "Output", 0), &[&[a, b, a, b], &[b, a, b, a], &[c, c, c, c]]);
}

#[test]
fn g5_to_g7_scaling() {
    let e = default("scaling");
    near(&column(&numbers(&e, "Scores", 2), 0), &[6.0, 4.0]);
    near(&column(&numbers(&e, "Softmax without", 0), 1), &[0.880797, 0.119203]);
    near(&column(&numbers(&e, "Softmax with scaling", 0), 0), &[3.0, 2.0]);
    near(&column(&numbers(&e, "Softmax with scaling", 0), 1), &[0.731059, 0.268941]);
    near(&column(&numbers(&e, "How fast", 0), 1), &[0.999877, 0.000123]);
    // p·(1 − p) of the two.
    near(&column(&numbers(&e, "The gradient that is left", 0), 0), &[0.104994, 0.104994]);
    near(&column(&numbers(&e, "The gradient that is left", 0), 1), &[0.196612, 0.196612]);
}

#[test]
fn g8_to_g10_positions() {
    let e = default("positions");
    let pe = numbers(&e, "Positions", 0);
    near(&pe[0], &[0.0, 1.0, 0.0, 1.0]);
    near(&pe[1], &[0.841471, 0.540302, 0.010000, 0.999950]);
    near(&pe[2], &[0.909297, -0.416147, 0.019999, 0.999800]);
    let sum = numbers(&e, "Added", 2);
    near(&sum[0], &[0.1, 1.2, 0.3, 1.4]);
    near(&sum[1], &[1.341471, 1.140302, 0.710000, 1.799950]);
    let products = numbers(&e, "Distance", 0);
    for (p, row) in products.iter().enumerate() {
        for (k, want) in [2.0, 1.540252, 0.583653, 0.009558].iter().enumerate().take(4 - p) {
            near(&[row[p + k]], &[*want]);
        }
    }
}

#[test]
fn g11_and_g24_layer_norm_beside_batch_norm() {
    let e = default("layer-norm");
    near(&numbers(&e, "Mean", 1)[0], &[5.0]);
    near(&numbers(&e, "Variance", 1)[0][..1], &[5.0]);
    near(&numbers(&e, "Normalized", 0)[0], &[-1.341639, -0.447213, 0.447213, 1.341639]);
    near(&numbers(&e, "Scale and shift", 1)[0], &[-1.341639, -0.447213, 0.447213, 1.341639]);
    all_near(&numbers(&e, "Compared with batch norm", 1), &[&[-1.0; 3], &[1.0; 3]]);
}

#[test]
fn g12_to_g16_padding() {
    let e = default("padding-mask");
    let zeros = [0.0; 4];
    let scores: [&[f64]; 4] =
        [&[0.3, 0.7, 1.1, 0.0], &[0.7, 1.74, 2.78, 0.0], &[1.1, 2.78, 4.46, 0.0], &zeros];
    all_near(&numbers(&e, "Scores", 0), &scores);
    let halves: Vec<Vec<f64>> =
        scores.iter().map(|row| row.iter().map(|x| x / 2.0).collect()).collect();
    all_near(&numbers(&e, "Scores", 1), &halves.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let keys_only: [&[f64]; 4] = [
        &[1.0, 0.0, 0.0, 0.0],
        &[1.0, 1.0, 0.0, 0.0],
        &[1.0, 1.0, 1.0, 0.0],
        &[1.0, 1.0, 1.0, 0.0],
    ];
    all_near(&numbers(&e, "Two masks", 2), &keys_only);
    near(&numbers(&e, "Masked", 0)[1], &[0.35, 0.87, MASKED, MASKED]);
    let third = 1.0 / 3.0;
    all_near(
        &numbers(&e, "Weights", 0),
        &[
            &[1.0, 0.0, 0.0, 0.0],
            &[0.372852, 0.627148, 0.0, 0.0],
            &[0.115182, 0.266803, 0.618015, 0.0],
            &[third, third, third, 0.0],
        ],
    );
    all_near(
        &numbers(&e, "Output", 0),
        &[
            &[0.1, 0.2, 0.3, 0.4],
            &[0.350859, 0.450859, 0.550859, 0.650859],
            &[0.701133, 0.801133, 0.901133, 1.001133],
            &[0.5, 0.6, 0.7, 0.8],
        ],
    );
    all_near(
        &numbers(&e, "The other kind", 1),
        &[&[1.0, 0.0, 0.0], &[1.0, 1.0, 0.0], &[0.0, 0.0, 0.0]],
    );
    near(&numbers(&e, "The other kind", 2)[2], &[0.0; 3]);
}

#[test]
fn g13_keys_and_queries_hide_the_whole_row() {
    let e = with("padding-mask", &[("kind", "keys-and-queries")]);
    near(&numbers(&e, "Two masks", 2)[3], &[0.0; 4]);
    near(&numbers(&e, "Masked", 0)[3], &[MASKED; 4]);
    near(&numbers(&e, "Weights", 0)[3], &[0.0; 4]);
    near(&numbers(&e, "Output", 0)[3], &[0.0; 4]);
}

#[test]
fn g17_the_causal_mask() {
    let e = default("causal-mask");
    let m = MASKED;
    let want: [&[f64]; 4] = [&[0.0, m, m, m], &[0.0, 0.0, m, m], &[0.0, 0.0, 0.0, m], &[0.0; 4]];
    all_near(&numbers(&e, "The mask", 0), &want);
    let (before, after) = (numbers(&e, "The future", 0), numbers(&e, "The future", 1));
    assert_eq!(before[..3], after[..3], "the future changed the past");
    assert_ne!(before[3], after[3]);
}

#[test]
fn g18_soft_retrieval() {
    for (query, want) in [("75", 1250.0), ("72", 1100.0), ("70", 1000.0)] {
        near(&numbers(&with("soft-retrieval", &[("query", query)]), "The answer", 0)[0], &[want]);
    }
    let e = default("soft-retrieval");
    near(&column(&numbers(&e, "Other queries", 0), 2), &[1250.0, 1100.0, 1000.0]);
    near(&column(&numbers(&e, "Similarity", 0), 1), &[0.2, 0.2]);
}

#[test]
fn g19_roulette() {
    let e = default("roulette");
    let drawn: Vec<String> =
        e.step("The draw").tables[0].cells.iter().map(|row| format!("{:?}", row[0])).collect();
    assert_eq!(drawn, ["Text(\"mat\")", "Text(\"rug\")"]);
    near(&column(&numbers(&e, "The wheel", 0), 2), &[0.5, 0.7, 0.85, 0.95, 1.0]);
}

#[test]
fn g20_one_hot_has_six_numbers() {
    let e = default("output-layer");
    near(&numbers(&e, "One-hot", 0)[0], &[0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn g21_to_g23_sizes() {
    let sizes = default("self-attention").step("The same in a larger model").tables[0].clone();
    let of = |name: &str| {
        sizes.numbers()[sizes.row_labels.iter().position(|label| label == name).unwrap()].clone()
    };
    assert_eq!(
        (of("X"), of("K"), of("Z")),
        (vec![10.0, 512.0], vec![10.0, 64.0], vec![10.0, 128.0])
    );
    near(&column(&numbers(&default("multi-head"), "In the paper", 0), 0), &[512.0, 8.0, 64.0, 8.0]);
    let parameters = column(&numbers(&default("feed-forward"), "Its share", 0), 0);
    assert_eq!(parameters.last(), Some(&116_534_784.0));
    assert_eq!(parameters[..5].iter().sum::<f64>(), 116_534_784.0);
}

#[test]
fn the_decoding_table() {
    let e = default("decoding");
    let temperature = numbers(&e, "Temperature", 0);
    near(&temperature[0], &[1.0, 0.0, 0.0, 0.0, 0.0]);
    near(&temperature[1], &[0.999889, 0.000105, 0.000006, 0.0, 0.0]);
    near(&temperature[2], &[0.769231, 0.123077, 0.069231, 0.030769, 0.007692]);
    near(&temperature[4], &[0.339718, 0.214856, 0.186071, 0.151926, 0.107428]);
    near(&temperature[5], &[0.202422, 0.200575, 0.199999, 0.199190, 0.197814]);
    near(&numbers(&e, "Top-k", 0)[1], &[0.714286, 0.285714, 0.0, 0.0, 0.0]);
    let top_p = numbers(&e, "Top-p", 0);
    near(&top_p[0], &[1.0, 0.0, 0.0, 0.0, 0.0]);
    near(&top_p[1], &[0.714286, 0.285714, 0.0, 0.0, 0.0]);
    near(&top_p[2], &[0.588235, 0.235294, 0.176471, 0.0, 0.0]);
    near(&top_p[3], &[0.5, 0.2, 0.15, 0.1, 0.05]);
}

#[test]
fn the_loss_of_two_scores_and_its_gradient() {
    let e = default("cross-entropy");
    near(&numbers(&e, "Loss", 0)[0], &[0.126928]);
    let gradient = numbers(&e, "Gradient", 0);
    near(&column(&gradient, 2), &[-0.119203, 0.119203]);
    for row in &gradient {
        assert!((row[2] - row[3]).abs() < 1e-5, "{row:?}");
    }
}

#[test]
fn teacher_forcing_has_a_term_for_every_word_and_reports_sum_and_mean() {
    let e = default("teacher-forcing");
    let p: [f64; 5] = [0.6, 0.9, 0.5, 0.8, 0.95];
    let losses: Vec<f64> = p.iter().map(|p| -p.ln()).collect();
    near(&column(&numbers(&e, "Loss of each", 0), 1), &losses);
    let sum: f64 = losses.iter().sum();
    let want = [p.iter().product::<f64>(), sum, sum / 5.0, (sum / 5.0).exp()];
    near(&column(&numbers(&e, "Loss of the sentence", 0), 0), &want);
    // Certain of every word: no loss, and no ln 0 on the way.
    let certain = with("teacher-forcing", &[("probabilities", "1 1 1 1 1")]);
    near(&column(&numbers(&certain, "Loss of each", 0), 1), &[0.0; 5]);
}

#[test]
fn the_backward_pass_agrees_with_finite_differences_and_a_step_lowers_the_loss() {
    for tokens in ["1 0 1 0; 0 1 0 1; 1 1 1 1", "0.3 -1; 2 0.5", "0.5"] {
        let e = with("backward", &[("tokens", tokens)]);
        let (tape, numerical) = (numbers(&e, "The tokens", 0), numbers(&e, "The tokens", 1));
        for (a, b) in tape.concat().iter().zip(numerical.concat()) {
            assert!((a - b).abs() < 1e-4, "{tokens}: {a} is not {b}");
        }
        let loss = column(&numbers(&e, "One optimizer step", 0), 0);
        assert!(loss[1] < loss[0], "{tokens}: {loss:?}");
        // Softmax sees differences only.
        for row in numbers(&e, "Weights and scores", 1) {
            assert!(row.iter().sum::<f64>().abs() < 1e-6);
        }
    }
}

#[test]
fn the_steps_of_the_backward_pass_fit_each_other() {
    let e = default("backward");
    let (dq, dk, dv) =
        (numbers(&e, "Queries", 0), numbers(&e, "Queries", 1), numbers(&e, "Queries", 2));
    let dx = numbers(&e, "The tokens", 0);
    for i in 0..3 {
        let sum: Vec<f64> = (0..4).map(|j| dq[i][j] + dk[i][j] + dv[i][j]).collect();
        near(&sum, &dx[i]);
    }
    // dQ = dS·K/√d by hand from the shown dS.
    let (ds, x) = (numbers(&e, "Weights and scores", 1), numbers(&e, "Forward: attention", 0));
    for i in 0..3 {
        let by_hand: Vec<f64> =
            (0..4).map(|d| (0..3).map(|j| ds[i][j] * x[j][d]).sum::<f64>() / 2.0).collect();
        near(&by_hand, &dq[i]);
    }
}

#[test]
fn feed_forward_can_be_checked_by_hand_from_what_is_shown() {
    let e = default("feed-forward");
    let shown = |step: &str| {
        let table = |i| numbers(&e, step, i);
        (table(0), table(1), table(2))
    };
    let affine = |x: &[f64], w: &[Vec<f64>], b: &[f64]| -> Vec<f64> {
        (0..b.len()).map(|j| b[j] + x.iter().zip(w).map(|(x, w)| x * w[j]).sum::<f64>()).collect()
    };
    let (x, w_1, b_1) = shown("Expand");
    let (z, h) = (numbers(&e, "Expand", 3), numbers(&e, "Activate", 0));
    let (w_2, b_2, y) = shown("Project back");
    for i in 0..2 {
        near(&affine(&x[i], &w_1, &b_1[0]), &z[i]);
        near(&z[i].iter().map(|z| z.max(0.0)).collect::<Vec<_>>(), &h[i]);
        near(&affine(&h[i], &w_2, &b_2[0]), &y[i]);
    }
}

#[test]
fn the_gradient_of_the_output_layer_is_shown_and_it_moves() {
    let e = default("backward");
    let (dlogits, z) = (numbers(&e, "Backward: logits", 0), numbers(&e, "Forward: attention", 1));
    let (d_out, moved) = (numbers(&e, "The weights", 3), numbers(&e, "One optimizer step", 4));
    let mut w_out = numbers(&e, "Forward: attention", 0);
    w_out.push(vec![0.0; 4]);
    for class in 0..4 {
        let by_hand: Vec<f64> =
            (0..4).map(|d| (0..3).map(|i| dlogits[i][class] * z[i][d]).sum::<f64>()).collect();
        near(&by_hand, &d_out[class]);
        let by_adam: Vec<f64> =
            (0..4).map(|d| w_out[class][d] - 0.05 * by_hand[d].signum()).collect();
        near(&by_adam, &moved[class]);
    }
}

#[test]
fn residual_keeps_the_gradient_alive() {
    let way = numbers(&default("residual"), "The gradient through", 0);
    near(&column(&way, 0), &[0.1, 0.01, 1e-4, 1e-6, 1e-12]);
    near(&column(&way, 1), &[1.1, 1.21, 1.4641, 1.771561, 3.138428]);
}

#[test]
fn one_head_is_plain_attention_and_numbers_can_be_changed() {
    let tokens = ("tokens", "1 0 1 0; 0 1 0 1; 1 1 1 1");
    let one = with("multi-head", &[tokens, ("heads", "1")]);
    let plain = default("self-attention");
    assert_eq!(numbers(&one, "Concatenate", 0), numbers(&plain, "Output", 0));
    let changed =
        with("self-attention", &[("tokens", "1 0; 0 2"), ("w-v", "1; 1"), ("mask", "causal")]);
    near(&numbers(&changed, "Output", 0)[0], &[1.0]);
}

#[test]
fn common_misconceptions_are_corrected() {
    for (example, step, wrong, right) in [
        ("causal-mask", "The mask", "1 where a key is visible", "0 where a key is visible"),
        ("cross-attention", "Two sequences", "from the encoder", "from the decoder"),
        ("context", "Training objectives", "skip-gram", "CBOW"),
        ("context", "How many vectors", "one vector per sentence", "one per token"),
        ("positions", "Positions", "(2i+1)/c", "2i/c"),
        ("teacher-forcing", "Loss of the sentence", "averages", "a sum"),
        ("roulette", "The draw", "highest probability", "sampled"),
        ("decoding", "Top-p", "exceeds", "≥ p₀"),
    ] {
        corrects(default(example).step(step), wrong, right);
    }
}

/// Attention of one row over others by itself, in f64: softmax(x·Xᵀ/2)·X.
fn mixed(word: &[f64], all: &[&[f64]]) -> (Vec<f64>, Vec<f64>) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let exps: Vec<f64> = all.iter().map(|other| (dot(word, other) / 2.0).exp()).collect();
    let weights: Vec<f64> = exps.iter().map(|e| e / exps.iter().sum::<f64>()).collect();
    let mix = |d: usize| weights.iter().zip(all).map(|(w, other)| w * other[d]).sum();
    (weights.clone(), (0..word.len()).map(mix).collect())
}

#[test]
fn a_word_has_one_static_vector_and_another_contextual_one_in_each_sentence() {
    let e = default("context");
    let table = numbers(&e, "Static embeddings", 0);
    assert_eq!(table.len(), 7, "the cat sat on mat lay rug: each word once");
    let twice = numbers(&e, "The same word twice", 0);
    assert_eq!(twice[0], twice[1]);
    assert_eq!(twice[0], table[1]);
    let row = |i: usize| &table[i][..];
    // the cat sat on the mat; the cat lay on the rug.
    for (i, sentence) in [[0, 1, 2, 3, 0, 4], [0, 1, 5, 3, 0, 6]].iter().enumerate() {
        let (weights, mixture) = mixed(row(1), &sentence.map(row));
        near(&column(&numbers(&e, "Attention weights", i), 0), &weights);
        near(&numbers(&e, "Contextual vectors", 0)[i], &mixture);
    }
    // Words of one's own, and one that is not there.
    let flags = [("first", "a red flag"), ("second", "one more flag"), ("word", "flag")];
    let own = numbers(&with("context", &flags), "The same word twice", 0);
    assert_eq!(own[0], own[1]);
    let missing = Inputs::parse("context", &[("word", "dog")]).unwrap();
    let error = explain("context", &missing).unwrap_err();
    assert_eq!(
        error.to_string(),
        "option first: \"the cat sat on the mat\" does not contain the word 'dog'"
    );
}
