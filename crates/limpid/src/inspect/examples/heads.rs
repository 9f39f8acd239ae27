//! Several heads, and attention between two sequences.

use super::{Told, dot_in_words, root_in_words, told};
use crate::error::{Error, Result};
use crate::inspect::inputs::{Given, dims, plural};
use crate::inspect::maths::{Matrix, Sight, attend};
use crate::inspect::model::{Cell, Step, Table};
use crate::inspect::number::short;

pub fn multi_head(given: &Given) -> Result<Told> {
    let (x, h) = (given.matrix("tokens"), given.count("heads"));
    let words = given.labels("words", x.rows(), "token")?;
    let c = x.cols();
    if !c.is_multiple_of(h) {
        let fits: Vec<String> =
            (1..=c.min(16)).filter(|h| c.is_multiple_of(*h)).map(|h| h.to_string()).collect();
        return Err(Error::config(format!(
            "--heads {h}: a width of {c} cannot be shared out to {h} heads alike"
        ))
        .hint(format!("use --heads {}", fits.join(" or "))));
    }
    let w_o = given.given_matrix("w-o").unwrap_or_else(|| Matrix::identity(c));
    given.check_size("w-o", &w_o, Some(c), None, "it multiplies the heads side by side")?;
    let d = c / h;
    let attended = attend(&x, &x, &x, h, Sight::FULL);
    let out = attended.z.times(&w_o);
    let scale = 1.0 / (d as f32).sqrt();
    let head_columns = |head: usize| dims(c)[head * d..(head + 1) * d].to_vec();

    let mut steps = vec![
        Step::new("Share out the columns", format!("c = h·d:  {c} = {h}·{d}"))
            .why("Each head sees only its own columns of Q, K and V (here Q = K = V = X), and so its own kind of likeness.")
            .tables((0..h).map(|head| {
                let title = format!("head {} ({}×{d})", head + 1, x.rows());
                Table::matrix(title, &words, &head_columns(head), &x.columns(head * d, d))
            })),
    ];
    for head in 0..h {
        let part = x.columns(head * d, d);
        let scores = part.times_transposed(&part);
        let title = format!("Head {}", head + 1);
        steps.push(
            Step::new(title, format!("Z = softmax(Q·Kᵀ/√{d})·V,  {}", root_in_words(d)))
                .table(Table::matrix("scaled scores", &words, &words, &scores.scaled(scale)))
                .table(Table::matrix("weights", &words, &words, &attended.weights[head]))
                .table(Table::matrix("Z", &words, &head_columns(head), &attended.z.columns(head * d, d)))
                .when(given.untouched() && head == 1, |s| {
                    s.remark("In the columns of head 2, The and CAT are alike, so it mixes them; to head 1 they differ.")
                }),
        );
    }
    steps.push(
        Step::new("Side by side, then mixed", "output = [Z₁ Z₂ …]·W_O")
            .why("W_O lets every output number use every head.")
            .table(Table::matrix("[Z₁ Z₂ …]", &words, &dims(c), &attended.z))
            .when(given.has("w-o"), |s| s.table(Table::matrix("output", &words, &dims(out.cols()), &out)))
            .when(!given.has("w-o"), |s| s.remark("Here W_O is the identity, and the output is the same.")),
    );
    steps.push(paper_sizes());
    let story = format!(
        "One attention can weigh a word by one kind of likeness only. With {} it has as many: the {c} numbers of each of \
         {} are shared out, each head attends with its share, and the results stand side by side again.",
        plural(h, "head"),
        plural(x.rows(), "token")
    );
    Ok(told(story, steps))
}

fn paper_sizes() -> Step {
    let (c, h) = (512_usize, 8_usize);
    let d = c / h;
    let names = ["width c", "heads h", "d_k = d_v = c/h", "scale √d_k"].map(str::to_owned);
    let cells = [c as f32, h as f32, d as f32, (d as f32).sqrt()].map(|x| vec![Cell::from(x)]).to_vec();
    Step::new("In the paper (Vaswani et al. 2017, \"Attention Is All You Need\")", "c = 512, h = 8").table(Table::new("", &names, &[String::new()], cells)).remark(
        "Eight heads of width 64 cost as much as one of width 512: the products are the same, only shared out.",
    )
}

pub fn cross_attention(given: &Given) -> Result<Told> {
    let (x, memory) = (given.matrix("tokens"), given.matrix("memory"));
    given.check_size(
        "memory",
        &memory,
        None,
        Some(x.cols()),
        "a key is compared with a query number by number",
    )?;
    let words = given.labels("words", x.rows(), "token")?;
    let sources = given.labels("memory-words", memory.rows(), "source")?;
    let d = x.cols();
    let scores = x.times_transposed(&memory);
    let attended = attend(&x, &memory, &memory, 1, Sight::FULL);
    let weights = &attended.weights[0];
    let best = |i: usize| &sources[crate::decode::argmax(weights.row(i))];
    let looks: Vec<String> =
        (0..x.rows()).map(|i| format!("{} looks most at {}", words[i], best(i))).collect();

    let steps = vec![
        Step::new("Two sequences", "Q from the decoder    K = V from the encoder")
            .why("The decoder asks, the encoded source answers. (W_Q, W_K, W_V are the identity here.)")
            .table(Table::matrix(format!("decoder, Q ({})", x.size()), &words, &dims(d), &x))
            .table(Table::matrix(format!("encoder, K = V ({})", memory.size()), &sources, &dims(d), &memory))
            .often_printed(
                "\"the query comes from the encoder\"",
                "from the decoder",
                "the one who writes asks; the encoder's output gives the keys and the values",
            ),
        Step::new("Scores", "S = Q·Kᵀ")
            .why(format!("{} by {}: the table need not be square.", x.rows(), memory.rows()))
            .table(Table::matrix("", &words, &sources, &scores))
            .remark(format!(
                "{} looking at {}: {}.",
                words[0],
                sources[0],
                dot_in_words(x.row(0), memory.row(0), scores.row(0)[0])
            )),
        Step::new("Weights", format!("A = softmax(S/√{d}),  {}", root_in_words(d)))
            .table(Table::matrix("", &words, &sources, weights))
            .remark(format!("{}. Nothing is hidden: the source is known from the start.", looks.join("; "))),
        Step::new("Output", "Z = A·V")
            .why("One row for each decoder token, made of what the source says.")
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
    let story = format!(
        "A translator has read \"{}\" and has written \"{}\" so far. Each word it has written looks at the words it has \
         read, to decide what comes next.",
        sources.join(" "),
        words.join(" ")
    );
    Ok(told(story, steps))
}
