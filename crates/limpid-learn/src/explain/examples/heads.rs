//! Several heads, and attention between two sequences.

use super::{Walkthrough, dot_product_text, root_text, walkthrough};
use crate::error::{ExampleError, Result};
use crate::explain::inputs::{Arguments, dims, plural};
use crate::explain::maths::{Mask, Matrix, attend};
use crate::explain::model::{Cell, Step, Table};
use crate::explain::number::short;

pub fn multi_head(args: &Arguments) -> Result<Walkthrough> {
    let (x, h) = (args.matrix("tokens"), args.count("heads"));
    let words = args.labels("words", x.rows(), "token")?;
    let c = x.cols();
    if !c.is_multiple_of(h) {
        let divisors = (1..=c.min(16)).filter(|h| c.is_multiple_of(*h)).collect();
        return Err(ExampleError::Heads { width: c, heads: h, divisors }.into());
    }
    let w_o = args.explicit_matrix("w-o").unwrap_or_else(|| Matrix::identity(c));
    args.check_shape("w-o", &w_o, Some(c), None, "it multiplies the heads side by side")?;
    let d = c / h;
    let attended = attend(&x, &x, &x, h, Mask::FULL);
    let out = attended.z.times(&w_o);
    let scale = 1.0 / (d as f32).sqrt();
    let head_columns = |head: usize| dims(c)[head * d..(head + 1) * d].to_vec();

    let mut steps = vec![
        Step::new("Split into heads", format!("c = h·d:  {c} = {h}·{d}"))
            .why(
                "Each head has only its own columns of Q, K and V (here Q = K = V = X), and so its \
                 own kind of similarity.",
            )
            .tables((0..h).map(|head| {
                let title = format!("head {} ({}×{d})", head + 1, x.rows());
                Table::matrix(title, &words, &head_columns(head), &x.columns(head * d, d))
            })),
    ];
    for head in 0..h {
        let part = x.columns(head * d, d);
        let scores = part.times_transposed(&part);
        let (title, z) = (format!("Head {}", head + 1), attended.z.columns(head * d, d));
        steps.push(
            Step::new(title, format!("Z = softmax(Q·Kᵀ/√{d})·V,  {}", root_text(d)))
                .table(Table::matrix("scaled scores", &words, &words, &scores.scaled(scale)))
                .table(Table::matrix("weights", &words, &words, &attended.weights[head]))
                .table(Table::matrix("Z", &words, &head_columns(head), &z))
                .when(args.all_default() && head == 1, |s| {
                    s.remark(
                        "In the columns of head 2, The and CAT are equal, so it mixes them; in \
                         those of head 1 they differ.",
                    )
                }),
        );
    }
    steps.push(
        Step::new("Concatenate and project", "output = [Z₁ Z₂ …]·W_O")
            .why("W_O lets every output number use every head.")
            .table(Table::matrix("[Z₁ Z₂ …]", &words, &dims(c), &attended.z))
            .when(args.is_set("w-o"), |s| {
                s.table(Table::matrix("output", &words, &dims(out.cols()), &out))
            })
            .when(!args.is_set("w-o"), |s| {
                s.remark("Here W_O is the identity, and the output is the same.")
            }),
    );
    steps.push(paper_sizes());
    let introduction = format!(
        "One attention can weigh words by one kind of similarity only. Here are {}: the {c} \
         numbers of each of {} are split among them, each head attends with its part, and the \
         results are concatenated.",
        plural(h, "head"),
        plural(x.rows(), "token")
    );
    Ok(walkthrough(introduction, steps))
}

fn paper_sizes() -> Step {
    let (c, h) = (512_usize, 8_usize);
    let d = c / h;
    let names = ["width c", "heads h", "d_k = d_v = c/h", "scale √d_k"].map(str::to_owned);
    let cells =
        [c as f32, h as f32, d as f32, (d as f32).sqrt()].map(|x| vec![Cell::from(x)]).to_vec();
    let title = "In the paper (Vaswani et al. 2017, \"Attention Is All You Need\")";
    Step::new(title, "c = 512, h = 8")
        .table(Table::new("", &names, &[String::new()], cells))
        .remark("Eight heads of width 64 cost as many multiplications as one of width 512.")
}

pub fn cross_attention(args: &Arguments) -> Result<Walkthrough> {
    let (x, memory) = (args.matrix("tokens"), args.matrix("memory"));
    args.check_shape(
        "memory",
        &memory,
        None,
        Some(x.cols()),
        "its dot product with a query needs equal widths",
    )?;
    let words = args.labels("words", x.rows(), "token")?;
    let sources = args.labels("memory-words", memory.rows(), "source")?;
    let d = x.cols();
    let scores = x.times_transposed(&memory);
    let attended = attend(&x, &memory, &memory, 1, Mask::FULL);
    let weights = &attended.weights[0];
    let best = |i: usize| &sources[limpid::generate::argmax(weights.row(i))];
    let looks: Vec<String> =
        (0..x.rows()).map(|i| format!("{} attends most to {}", words[i], best(i))).collect();

    let steps = vec![
        Step::new("Two sequences", "Q from the decoder    K = V from the encoder")
            .why("(W_Q, W_K, W_V are the identity here.)")
            .table(Table::matrix(format!("decoder, Q ({})", x.size()), &words, &dims(d), &x))
            .table(Table::matrix(
                format!("encoder, K = V ({})", memory.size()),
                &sources,
                &dims(d),
                &memory,
            ))
            .misconception(
                "\"the query comes from the encoder\"",
                "from the decoder",
                "the decoder generates, so it asks; keys and values come from the encoder's output",
            ),
        Step::new("Scores", "S = Q·Kᵀ")
            .why(format!("{} by {}: the matrix need not be square.", x.rows(), memory.rows()))
            .table(Table::matrix("", &words, &sources, &scores))
            .remark(format!(
                "{} attending to {}: {}.",
                words[0],
                sources[0],
                dot_product_text(x.row(0), memory.row(0), scores.row(0)[0])
            )),
        Step::new("Weights", format!("A = softmax(S/√{d}),  {}", root_text(d)))
            .table(Table::matrix("", &words, &sources, weights))
            .remark(format!(
                "{}. Nothing is masked: the source is known from the start.",
                looks.join("; ")
            )),
        Step::new("Output", "Z = A·V")
            .why("One row for each decoder token: a weighted average of source vectors.")
            .table(Table::matrix("", &words, &dims(d), &attended.z))
            .remark(format!(
                "The first number of {}: {}.",
                words[0],
                weights
                    .row(0)
                    .iter()
                    .zip(memory.iter_rows())
                    .map(|(w, v)| format!("{}·{}", short(*w), short(v[0])))
                    .collect::<Vec<_>>()
                    .join(" + ")
            )),
    ];
    let introduction = format!(
        "A translator has encoded \"{}\" and has generated \"{}\" so far. Each generated word \
         attends to the words of the source, to decide what comes next.",
        sources.join(" "),
        words.join(" ")
    );
    Ok(walkthrough(introduction, steps))
}
