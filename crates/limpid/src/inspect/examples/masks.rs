//! Who may look where: the causal mask, padding, and both.

use super::{Told, told};
use crate::error::{Error, Result};
use crate::inspect::inputs::{Given, dims, numbered, plural};
use crate::inspect::maths::{Matrix, Sight, attend, hidden, visible};
use crate::inspect::model::{Step, Table};
use crate::inspect::number::{list, short};
use limpid_tensor::kernels::attention::{Causality, Padding};

pub fn causal(given: &Given) -> Result<Told> {
    let t = given.count("length");
    let names = numbered("token", t);
    let keys: Vec<String> = (1..=t).map(|i| i.to_string()).collect();
    let visible = visible(t, t, Sight::CAUSAL);
    let mask = hidden(&Matrix::filled(t, t, 0.0), &visible);

    // Any tokens that differ will do.
    let pattern = [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 1.0]];
    let before = Matrix::new(t, 4, (0..t).flat_map(|i| pattern[i % 4]).collect());
    let mut after = before.clone();
    after.row_mut(t - 1).copy_from_slice(&[0.0, 2.0, 1.0, 0.0]);
    let z = |x: &Matrix| attend(x, x, x, 1, Sight::CAUSAL).z;
    let (z_before, z_after) = (z(&before), z(&after));

    let steps = vec![
        Step::new("Who may look where", "visible[i][j] = 1 if j ≤ i, else 0")
            .table(Table::matrix("rows look at columns", &names, &keys, &visible)),
        Step::new("The mask", "M[i][j] = 0 if j ≤ i, else −∞")
            .why("It is added to the scores: 0 changes nothing, −∞ makes the weight exp(−∞) = 0.")
            .table(Table::matrix("", &names, &keys, &mask))
            .often_printed(
                "a mask with 1 where a key is visible and −∞ elsewhere",
                "0 where a key is visible",
                "the mask is added. (1 for a whole row would do no harm, softmax does not see a constant; but the 1 belongs \
                 to the table above, which is multiplied)",
            ),
        Step::new("Weights when all scores are alike", "A = softmax(0 + M)")
            .why("Each token shares its attention equally among what it may see.")
            .table(Table::matrix("", &names, &keys, &mask.softmax())),
        Step::new("Two sentences to compare", "X, and X with another last token")
            .why("Q = K = V = X in the next step.")
            .table(Table::matrix("X", &names, &dims(4), &before))
            .table(Table::matrix("X, last token changed", &names, &dims(4), &after)),
        Step::new("The future cannot change the past", "Z = softmax(Q·Kᵀ/√d + M)·V, before and after the last token changes")
            .why(
                "Only the last row differs. So one pass over a sentence trains every place at once, and decoding need \
                 not compute the past again.",
            )
            .table(Table::matrix("before", &names, &dims(4), &z_before))
            .table(Table::matrix("after", &names, &dims(4), &z_after))
            .same_decimals(),
    ];
    let story = format!(
        "A model that writes from left to right must not see what it is about to write. Of {}, each may look at itself \
         and at those before it.",
        plural(t, "token")
    );
    Ok(told(story, steps))
}

pub fn padding(given: &Given) -> Result<Told> {
    let (x, flags) = (given.matrix("tokens"), given.row("padding"));
    given.check_length("padding", &flags, x.rows(), "one for each token")?;
    if let Some(odd) = flags.iter().find(|flag| **flag != 0.0 && **flag != 1.0) {
        return Err(Error::config(format!("--padding: {} is neither 1 nor 0", short(*odd)))
            .hint("write 1 for a word and 0 for padding"));
    }
    let real: Vec<bool> = flags.iter().map(|flag| *flag == 1.0).collect();
    let kind = match given.choice("kind") {
        "keys" => Padding::Keys(&real),
        _ => Padding::KeysAndQueries { keys: &real, queries: &real },
    };
    let t = x.rows();
    let names: Vec<String> =
        (1..=t).map(|i| format!("token {i}{}", if real[i - 1] { "" } else { " (padding)" })).collect();
    let keys: Vec<String> = (1..=t).map(|i| i.to_string()).collect();
    let scores = x.times_transposed(&x);
    let scaled = scores.scaled(1.0 / (x.cols() as f32).sqrt());
    let both = Sight { causality: Causality::Causal, padding: kind };
    let combined = visible(t, t, both);
    let attended = attend(&x, &x, &x, 1, both);
    let weights = &attended.weights[0];
    let usual = given.untouched();

    let mut steps = vec![
        Step::new("Embeddings", "Q = K = V = X").table(Table::matrix("", &names, &dims(x.cols()), &x)),
        Step::new("Scores", format!("S = Q·Kᵀ, then divided by √{}", x.cols()))
            .table(Table::matrix("S", &names, &keys, &scores))
            .table(Table::matrix(format!("S/√{}", x.cols()), &names, &keys, &scaled))
            .when(usual, |s| {
                s.often_printed(
                    "[0.7 1.9 3.1 0] and [1.1 3.1 5.1 0] for tokens 2 and 3, under the heading S/2",
                    format!("{} and {}", list(scores.row(1)), list(scores.row(2))),
                    "0.5² + 0.6² + 0.7² + 0.8² = 1.74; and these are the scores before they are halved",
                )
            }),
        mask_step(t, &names, &keys, kind, &combined, usual),
        Step::new("Masked scores", "s[i][j] = S[i][j]/√d where visible, else −∞")
            .table(Table::matrix("", &names, &keys, &hidden(&scaled, &combined))),
        Step::new("Weights", "A = softmax(s)")
            .table(Table::matrix("", &names, &keys, weights))
            .when(usual, |s| {
                s.often_printed(
                    "[0.3 0.7 0 0], [0.1 0.3 0.6 0] and [1 0 0 0] for tokens 2, 3 and 4",
                    format!("{}, {} and {}", list(weights.row(1)), list(weights.row(2)), list(weights.row(3))),
                    "the first two are rounded from other scores; and the scores of token 4 are 0, 0, 0, −∞: equal \
                     scores share equally",
                )
            }),
        Step::new("Output", "Z = A·V").table(Table::matrix("", &names, &dims(x.cols()), &attended.z)),
    ];
    if usual {
        steps.push(smaller());
    }
    let story = format!(
        "Sentences of different lengths are filled up to make a rectangle. Of {}, {} padding. Nobody may look at \
         padding, and nobody may look ahead.",
        plural(t, "token"),
        match real.iter().filter(|real| !**real).count() {
            1 => "1 is".to_owned(),
            n => format!("{n} are"),
        }
    );
    Ok(told(story, steps))
}

fn mask_step(
    t: usize,
    names: &[String],
    keys: &[String],
    kind: Padding,
    combined: &Matrix,
    usual: bool,
) -> Step {
    let padding = Sight { causality: Causality::Full, padding: kind };
    Step::new("Two masks, multiplied", "visible = look-ahead ∘ padding, number by number")
        .why("1 is visible, 0 is not; a place is visible if both say so.")
        .table(Table::matrix("look-ahead", names, keys, &visible(t, t, Sight::CAUSAL)))
        .table(Table::matrix("padding", names, keys, &visible(t, t, padding)))
        .table(Table::matrix("product", names, keys, combined))
        .when(usual, |s| {
            s.remark(
                "There are two kinds of padding mask. Here only keys are hidden (--kind keys): padding is never looked \
                 at, but still looks, and its own output is simply not used. With --kind keys-and-queries the row of \
                 the padding is 0 as well.",
            )
            .often_printed(
                "a padding mask whose row 4 is all 0, with a product whose row 4 is [1 1 1 0]",
                "[0 0 0 0] in both (keys and queries hidden) or [1 1 1 0] in both (keys hidden)",
                "0 times anything is 0",
            )
        })
}

/// The other kind on three tokens, the last of which is padding.
fn smaller() -> Step {
    let real = [true, true, false];
    let sight = Sight {
        causality: Causality::Causal,
        padding: Padding::KeysAndQueries { keys: &real, queries: &real },
    };
    let names = [String::from("token 1"), String::from("token 2"), String::from("token 3 (padding)")];
    let keys = ["1", "2", "3"].map(str::to_owned);
    let x = Matrix::new(3, 2, vec![1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    Step::new("The other kind, on three tokens", "A = softmax(X·Xᵀ/√2 where visible),  padding [1 1 0] hidden as keys and as queries")
        .why(
            "Row 3 may look nowhere. exp(−∞)/Σ exp(−∞) would be 0/0; here such a row is 0 by definition, never NaN, and \
             sends no gradient.",
        )
        .table(Table::matrix("X", &names, &dims(2), &x))
        .table(Table::matrix("visible", &names, &keys, &visible(3, 3, sight)))
        .table(Table::matrix("weights", &names, &keys, &attend(&x, &x, &x, 1, sight).weights[0]))
}
