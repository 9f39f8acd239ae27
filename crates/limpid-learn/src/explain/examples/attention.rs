//! Self-attention from embeddings to outputs, and why its scores are scaled.

use super::{Walkthrough, dot_product_text, root_text, walkthrough};
use crate::error::Result;
use crate::explain::inputs::{Arguments, dims, plural};
use crate::explain::maths::{Mask, Matrix, attend, mask_scores, visible};
use crate::explain::model::{Cell, Step, Table};
use crate::explain::number::short;
use limpid_tensor::kernels::attention::Causality;
use limpid_tensor::kernels::matmul::Accumulate;
use limpid_tensor::kernels::softmax::softmax_backward;
use limpid_tensor::rng::Stream;

pub fn self_attention(args: &Arguments) -> Result<Walkthrough> {
    let x = args.matrix("tokens");
    let words = args.labels("words", x.rows(), "token")?;
    let projection = |name: &str| {
        let w = args.explicit_matrix(name).unwrap_or_else(|| Matrix::identity(x.cols()));
        args.check_shape(name, &w, Some(x.cols()), None, "it multiplies a token of that width")?;
        Ok::<_, crate::error::Error>(w)
    };
    let (w_q, w_k, w_v) = (projection("w-q")?, projection("w-k")?, projection("w-v")?);
    args.check_shape(
        "w-k",
        &w_k,
        None,
        Some(w_q.cols()),
        "its dot product with a query needs equal widths",
    )?;
    let mask = if args.choice("mask") == "causal" { Mask::CAUSAL } else { Mask::FULL };

    let mask_term = match mask.causality {
        Causality::Causal => " + M,  M = −∞ above the diagonal",
        Causality::Full => "",
    };

    let (q, k, v) = (x.times(&w_q), x.times(&w_k), x.times(&w_v));
    let scores = q.times_transposed(&k);
    let scaled = mask_scores(
        &scores.scaled(1.0 / (q.cols() as f32).sqrt()),
        &visible(x.rows(), x.rows(), mask),
    );
    let attended = attend(&q, &k, &v, 1, mask);
    let (weights, last) = (&attended.weights[0], x.rows() - 1);

    let projected = if q == k && k == v {
        let table = Table::matrix(format!("Q = K = V ({})", q.size()), &words, &dims(q.cols()), &q);
        Step::new("Queries, keys, values", "Q = X·W_Q    K = X·W_K    V = X·W_V").table(table).when(
            args.all_default(),
            |s| {
                s.remark(
                    "Here W_Q = W_K = W_V is the identity, so nothing changes. A trained model has \
                     learned three different matrices.",
                )
            },
        )
    } else {
        Step::new("Queries, keys, values", "Q = X·W_Q    K = X·W_K    V = X·W_V").tables(
            [("Q", &q), ("K", &k), ("V", &v)].map(|(name, m)| {
                Table::matrix(format!("{name} ({})", m.size()), &words, &dims(m.cols()), m)
            }),
        )
    }
    .why(
        "A query says what a word is looking for, a key what it can be found by, a value what it \
         has to give.",
    );

    let steps = vec![
        Step::new("Embeddings", format!("X: one row for each token, {}", x.size()))
            .table(Table::matrix("", &words, &dims(x.cols()), &x)),
        projected,
        Step::new("Scores", "S = Q·Kᵀ,  S[i][j] = Σ_d Q[i][d]·K[j][d]")
            .why(
                "How well does each query (row) match each key (column)? A dot product is large \
                 where both are large.",
            )
            .table(Table::matrix("", &words, &words, &scores))
            .remark(format!(
                "{} attending to {}: {}.",
                words[0],
                words[last],
                dot_product_text(q.row(0), k.row(last), scores.row(0)[last])
            )),
        Step::new("Scaled scores", format!("S/√d_k{mask_term}, here {}", root_text(q.cols())))
            .why(
                "The more numbers are multiplied, the larger the sums; dividing keeps softmax \
                 where it has a gradient.",
            )
            .table(Table::matrix("", &words, &words, &scaled)),
        softmax_step(&words, weights),
        output_step(&words, &v, &attended.z, weights),
        sizes(),
    ];
    let introduction = format!(
        "{}, each {}: {}. Every token asks every token how relevant it is, and its output is a \
         weighted average of all values. This is scaled dot-product attention, \
         softmax(Q·Kᵀ/√d_k)·V, one step at a time.",
        plural(x.rows(), "token"),
        plural(x.cols(), "number"),
        words.join(", ")
    );
    Ok(walkthrough(introduction, steps))
}

fn softmax_step(words: &[String], weights: &Matrix) -> Step {
    Step::new("Weights", "A[i][j] = exp(s[i][j]) / Σ_j exp(s[i][j]),  s = scaled scores")
        .why(
            "Softmax makes each row positive with sum 1: how much of each value a word takes. It \
             is taken of the scaled scores.",
        )
        .table(Table::matrix("", words, words, weights))
}

fn output_step(words: &[String], v: &Matrix, z: &Matrix, weights: &Matrix) -> Step {
    let terms: Vec<String> = weights
        .row(0)
        .iter()
        .zip(words)
        .map(|(w, word)| format!("{}·V[{word}]", short(*w)))
        .collect();
    Step::new("Output", "Z = A·V")
        .why("Each row is a weighted average of the values: the word in its context.")
        .table(Table::matrix("", words, &dims(v.cols()), z))
        .remark(format!("Z[{}] = {}.", words[0], terms.join(" + ")))
        .remark(
            "A check: a weighted average lies between the smallest and the largest of its values, \
             column by column.",
        )
}

/// The shapes of a larger model, by multiplying matrices of zeros.
fn sizes() -> Step {
    let (t, c, d_k, d_v) = (10, 512, 64, 128);
    let zeros = |rows, cols| Matrix::filled(rows, cols, 0.0);
    let x = zeros(t, c);
    let (w_q, w_k, w_v) = (zeros(c, d_k), zeros(c, d_k), zeros(c, d_v));
    let (q, k, v) = (x.times(&w_q), x.times(&w_k), x.times(&w_v));
    let z = attend(&q, &k, &v, 1, Mask::FULL).z;
    let all =
        [("X", &x), ("W_Q", &w_q), ("W_K", &w_k), ("W_V", &w_v), ("Q", &q), ("K", &k), ("V", &v)];
    let mut rows: Vec<(String, usize, usize)> =
        all.iter().map(|(name, m)| ((*name).to_owned(), m.rows(), m.cols())).collect();
    rows.push(("Q·Kᵀ".to_owned(), q.rows(), k.rows()));
    rows.push(("Z".to_owned(), z.rows(), z.cols()));
    let names: Vec<String> = rows.iter().map(|(name, ..)| name.clone()).collect();
    let cells = rows.iter().map(|(_, r, c)| vec![Cell::from(*r), Cell::from(*c)]).collect();
    Step::new(
        "The same in a larger model",
        "10 tokens of width 512, with Q 10×64 and V 10×128: which shapes do the others have?",
    )
    .why(
        "Keys must be as wide as queries, for they are multiplied; values may have a width of \
         their own, which is the width of Z.",
    )
    .table(Table::new("", &names, &["rows".to_owned(), "columns".to_owned()], cells))
}

pub fn scaling(args: &Arguments) -> Result<Walkthrough> {
    let (q, keys) = (Matrix::row_of(&args.row("query")), args.matrix("keys"));
    args.check_shape(
        "keys",
        &keys,
        None,
        Some(q.cols()),
        "its dot product with the query needs equal widths",
    )?;
    let names: Vec<String> = (1..=keys.rows()).map(|i| format!("key {i}")).collect();
    let d = q.cols();
    let scores = q.times_transposed(&keys);
    let scaled = scores.scaled(1.0 / (d as f32).sqrt());
    let (raw, soft) = (scores.softmax(), scaled.softmax());

    let dots = (0..keys.rows()).map(|i| {
        format!("Key {}: {}.", i + 1, dot_product_text(q.row(0), keys.row(i), scores.row(0)[i]))
    });
    let score_step = Step::new("Scores", "s[j] = q·k[j]")
        .table(Table::matrix("query", &["q".to_owned()], &dims(d), &q))
        .table(Table::matrix("keys", &names, &dims(d), &keys))
        .table(Table::columns("scores", &names, &[("s", scores.row(0))]));
    let steps =
        vec![
            dots.fold(score_step, Step::remark),
            Step::new("Softmax without scaling", "a[j] = exp(s[j]) / Σ exp(s)").table(
                Table::columns("", &names, &[("score", scores.row(0)), ("weight", raw.row(0))]),
            ),
            Step::new("Softmax with scaling", format!("a[j] = softmax(s/√d),  {}", root_text(d)))
                .why("The order stays, but the other keys keep some weight.")
                .table(Table::columns(
                    "",
                    &names,
                    &[("score/√d", scaled.row(0)), ("weight", soft.row(0))],
                )),
            saturation_step(),
            gradient_step(&names, &raw, &soft),
            variance_step(),
        ];
    let introduction = format!(
        "A query of {} is compared with {}. Scores grow with the number of dimensions; softmax \
         turns large differences into weights near 0 and 1; and there its gradient vanishes. So \
         scores are divided by √d before softmax.",
        plural(d, "number"),
        plural(keys.rows(), "key")
    );
    Ok(walkthrough(introduction, steps))
}

/// Softmax of two scores that are far apart.
fn saturation_step() -> Step {
    let scores = Matrix::row_of(&[10.0, 1.0]);
    let weights = scores.softmax();
    let names = [String::from("first"), String::from("second")];
    Step::new("How fast softmax saturates", "softmax([10 1]) = [1/(1 + e⁻⁹)  1/(1 + e⁹)]")
        .table(Table::columns("", &names, &[("score", scores.row(0)), ("weight", weights.row(0))]))
        .remark("The scores differ by 9, so the second weight is e⁻⁹ = 0.000123 of the first.")
}

/// The derivative of each weight by its own score, by the kernel of the backward pass.
fn gradient_step(names: &[String], raw: &Matrix, soft: &Matrix) -> Step {
    let derivatives = |weights: &Matrix| -> Vec<f32> {
        let n = weights.cols();
        let derivative = |j: usize| {
            let (mut dx, mut dy) = (vec![0.0; n], vec![0.0; n]);
            dy[j] = 1.0;
            softmax_backward(&mut dx, &dy, weights.row(0), n, Accumulate::Overwrite);
            dx[j]
        };
        (0..n).map(derivative).collect()
    };
    let (unscaled, scaled) = (derivatives(raw), derivatives(soft));
    Step::new("The gradient that is left", "∂a[j]/∂s[j] = a[j]·(1 − a[j])")
        .why(
            "How far a weight moves when its score moves. Near 0 and 1 it hardly moves: the \
             gradient vanishes.",
        )
        .table(Table::columns("", names, &[("unscaled", &unscaled), ("scaled", &scaled)]))
}

/// The standard deviation of random dot products, measured.
fn variance_step() -> Step {
    const PAIRS: usize = 2000;
    let (mut rng, mut cells, mut names) = (Stream::new(7, 1), Vec::new(), Vec::new());
    for d in [4, 16, 64, 256] {
        let mut sample = |n: usize| Matrix::new(1, n, (0..n).map(|_| rng.normal()).collect());
        let dots: Vec<f32> =
            (0..PAIRS).map(|_| sample(d).times_transposed(&sample(d)).data()[0]).collect();
        let row = Matrix::row_of(&dots);
        // The mean of a product of independent numbers is 0, so this is the variance.
        let deviation = (row.times_transposed(&row).data()[0] / PAIRS as f32).sqrt();
        names.push(format!("d = {d}"));
        cells.push(vec![
            deviation.into(),
            (d as f32).sqrt().into(),
            (deviation / (d as f32).sqrt()).into(),
        ]);
    }
    let cols = ["std. deviation of q·k", "√d", "after dividing"].map(str::to_owned);
    Step::new(
        "Why √d and not d",
        "Var(q·k) = Σ_i Var(q_i·k_i) = d·1 = d,  so the standard deviation is √d",
    )
    .why(format!(
        "Measured on {PAIRS} pairs of random vectors whose numbers have mean 0 and variance 1:"
    ))
    .table(Table::new("", &names, &cols, cells))
}
