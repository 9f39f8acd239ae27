//! Which keys a query may attend to: the causal mask, the padding mask, and both.

use super::{Walkthrough, walkthrough};
use crate::error::{ExampleError, Expected, Result};
use crate::explain::inputs::{Arguments, dims, numbered, plural};
use crate::explain::maths::{Mask, Matrix, attend, mask_scores, visible};
use crate::explain::model::{Step, Table};
use crate::explain::number::{list, short};
use limpid_tensor::kernels::attention::{Causality, Padding};

pub fn causal(args: &Arguments) -> Result<Walkthrough> {
    let t = args.count("length");
    let names = numbered("token", t);
    let keys: Vec<String> = (1..=t).map(|i| i.to_string()).collect();
    let visible = visible(t, t, Mask::CAUSAL);
    let mask = mask_scores(&Matrix::filled(t, t, 0.0), &visible);

    // Any tokens that differ will do.
    let pattern =
        [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 1.0]];
    let before = Matrix::new(t, 4, (0..t).flat_map(|i| pattern[i % 4]).collect());
    let mut after = before.clone();
    after.row_mut(t - 1).copy_from_slice(&[0.0, 2.0, 1.0, 0.0]);
    let z = |x: &Matrix| attend(x, x, x, 1, Mask::CAUSAL).z;
    let (z_before, z_after) = (z(&before), z(&after));

    let steps =
        vec![
        Step::new("Visible keys", "visible[i][j] = 1 if j ≤ i, else 0")
            .table(Table::matrix("rows attend to columns", &names, &keys, &visible)),
        Step::new("The mask", "M[i][j] = 0 if j ≤ i, else −∞")
            .why("It is added to the scores: 0 changes nothing, −∞ makes the weight exp(−∞) = 0.")
            .table(Table::matrix("", &names, &keys, &mask))
            .misconception(
                "a mask with 1 where a key is visible and −∞ elsewhere",
                "0 where a key is visible",
                "the mask is added to the scores; the 1 belongs to the visibility matrix above, \
                 which is multiplied. (A constant added to a whole row does not change softmax)",
            ),
        Step::new("Weights of equal scores", "A = softmax(0 + M)")
            .why("Each token divides its attention equally among the visible keys.")
            .table(Table::matrix("", &names, &keys, &mask.softmax())),
        Step::new("Two sentences to compare", "X, and X with another last token")
            .why("Q = K = V = X in the next step.")
            .table(Table::matrix("X", &names, &dims(4), &before))
            .table(Table::matrix("X, last token changed", &names, &dims(4), &after)),
        Step::new(
            "The future cannot change the past",
            "Z = softmax(Q·Kᵀ/√d + M)·V, before and after the last token changes",
        )
        .why(
            "Only the last row differs. So one pass over a sentence trains every position at once, \
             and generation can cache the past.",
        )
        .table(Table::matrix("before", &names, &dims(4), &z_before))
        .table(Table::matrix("after", &names, &dims(4), &z_after))
        .same_decimals(),
    ];
    let introduction = format!(
        "A model that generates from left to right must not see the tokens it has to predict. Of \
         {}, each may attend to itself and to those before it.",
        plural(t, "token")
    );
    Ok(walkthrough(introduction, steps))
}

pub fn padding(args: &Arguments) -> Result<Walkthrough> {
    let (x, flags) = (args.matrix("tokens"), args.row("padding"));
    args.check_length("padding", flags.len(), x.rows(), "one for each token")?;
    if let Some(other) = flags.iter().find(|flag| **flag != 0.0 && **flag != 1.0) {
        let (text, expected) = (short(*other), Expected::ZeroOrOne);
        return Err(ExampleError::OutOfRange { option: "padding", text, expected }.into());
    }
    let real: Vec<bool> = flags.iter().map(|flag| *flag == 1.0).collect();
    let kind = match args.choice("kind") {
        "keys" => Padding::Keys(&real),
        _ => Padding::KeysAndQueries { keys: &real, queries: &real },
    };
    let t = x.rows();
    let names: Vec<String> = (1..=t)
        .map(|i| format!("token {i}{}", if real[i - 1] { "" } else { " (padding)" }))
        .collect();
    let keys: Vec<String> = (1..=t).map(|i| i.to_string()).collect();
    let scores = x.times_transposed(&x);
    let scaled = scores.scaled(1.0 / (x.cols() as f32).sqrt());
    let both = Mask { causality: Causality::Causal, padding: kind };
    let combined = visible(t, t, both);
    let attended = attend(&x, &x, &x, 1, both);
    let weights = &attended.weights[0];
    let all_default = args.all_default();

    let mut steps =
        vec![
        Step::new("Embeddings", "Q = K = V = X")
            .table(Table::matrix("", &names, &dims(x.cols()), &x)),
        Step::new("Scores", format!("S = Q·Kᵀ, then divided by √{}", x.cols()))
            .table(Table::matrix("S", &names, &keys, &scores))
            .table(Table::matrix(format!("S/√{}", x.cols()), &names, &keys, &scaled)),
        mask_step(t, &names, &keys, kind, &combined, all_default),
        Step::new("Masked scores", "s[i][j] = S[i][j]/√d where visible, else −∞")
            .table(Table::matrix("", &names, &keys, &mask_scores(&scaled, &combined))),
        Step::new("Weights", "A = softmax(s)")
            .table(Table::matrix("", &names, &keys, weights))
            .when(all_default, |s| {
                let third = list(weights.row(2));
                s.remark(format!("Row 3: softmax of 0.55, 1.39, 2.23 and −∞ is {third}.")).remark(
                    "The scores of token 4 are 0, 0, 0 and −∞: equal scores get equal weights, \
                     1/3 each.",
                )
            }),
        Step::new("Output", "Z = A·V")
            .table(Table::matrix("", &names, &dims(x.cols()), &attended.z)),
    ];
    if all_default {
        steps.push(queries_masked());
    }
    let introduction = format!(
        "Sentences of different lengths are padded to make a rectangular batch. Of {}, {} padding. \
         No token may attend to padding, nor to a later token.",
        plural(t, "token"),
        match real.iter().filter(|real| !**real).count() {
            1 => "1 is".to_owned(),
            n => format!("{n} are"),
        }
    );
    Ok(walkthrough(introduction, steps))
}

fn mask_step(
    t: usize,
    names: &[String],
    keys: &[String],
    kind: Padding,
    combined: &Matrix,
    all_default: bool,
) -> Step {
    let padding = Mask { causality: Causality::Full, padding: kind };
    Step::new("Two masks, multiplied", "visible = causal ∘ padding, element by element")
        .why("1 is visible, 0 is not; a key is visible if both masks allow it.")
        .table(Table::matrix("causal", names, keys, &visible(t, t, Mask::CAUSAL)))
        .table(Table::matrix("padding", names, keys, &visible(t, t, padding)))
        .table(Table::matrix("product", names, keys, combined))
        .when(all_default, |s| {
            s.remark(
                "There are two kinds of padding mask. Here keys are masked (option kind: keys): no \
                 token attends to padding, but the padding itself attends, with row [1 1 1 0], and \
                 its output is not used. With kind keys-and-queries its row is 0 as well.",
            )
        })
}

/// The other kind on three tokens, the last of which is padding.
fn queries_masked() -> Step {
    let real = [true, true, false];
    let mask = Mask {
        causality: Causality::Causal,
        padding: Padding::KeysAndQueries { keys: &real, queries: &real },
    };
    let names =
        [String::from("token 1"), String::from("token 2"), String::from("token 3 (padding)")];
    let keys = ["1", "2", "3"].map(str::to_owned);
    let x = Matrix::new(3, 2, vec![1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    Step::new(
        "The other kind, on three tokens",
        "A = softmax(X·Xᵀ/√2 where visible),  padding [1 1 0] masked as keys and as queries",
    )
    .why(
        "Row 3 has no visible key. exp(−∞)/Σ exp(−∞) would be 0/0; here such a row is 0 by \
         definition, never NaN, and its gradient is 0.",
    )
    .table(Table::matrix("X", &names, &dims(2), &x))
    .table(Table::matrix("visible", &names, &keys, &visible(3, 3, mask)))
    .table(Table::matrix("weights", &names, &keys, &attend(&x, &x, &x, 1, mask).weights[0]))
}
