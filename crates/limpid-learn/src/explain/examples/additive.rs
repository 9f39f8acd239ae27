//! Additive attention of a recurrent decoder (Bahdanau, Cho and Bengio 2015).

use super::{Walkthrough, dot_product_text, strings, walkthrough};
use crate::error::Result;
use crate::explain::inputs::{Arguments, dims, plural};
use crate::explain::maths::{Matrix, additive_attention};
use crate::explain::model::{Step, Table};
use crate::explain::number::short;
use limpid::generate::argmax;
use limpid_tensor::kernels::activation::Activation;

pub fn additive(args: &Arguments) -> Result<Walkthrough> {
    let (state, memory) = (Matrix::row_of(&args.row("state")), args.matrix("memory"));
    let (w, u) = (args.matrix("w"), args.matrix("u"));
    let v = args.row("v");
    args.check_shape("w", &w, None, Some(state.cols()), "it multiplies the decoder's state")?;
    let (k, m) = (w.rows(), memory.cols());
    let reason = "as many rows as w, and a column for each number of an encoder state";
    args.check_shape("u", &u, Some(k), Some(m), reason)?;
    args.check_length("v", v.len(), k, "one for each row of w")?;
    let words = args.labels("words", memory.rows(), "source")?;

    let query = state.times_transposed(&w);
    let keys = memory.times_transposed(&u);
    let sums = keys.plus_row(query.row(0));
    let hidden = sums.activated(Activation::Tanh);
    let scores = hidden.times_transposed(&Matrix::row_of(&v)).transposed();
    let attended = additive_attention(query.row(0), &keys, &memory, &v);
    let weights = attended.weights.row(0);

    let units: Vec<String> = (1..=k).map(|i| format!("a{i}")).collect();
    let (here, s) = (strings(&["decoder"]), dims(state.cols()));
    let best = argmax(weights);
    let mut steps = vec![
        Step::new(
            "The decoder's state and the encoder's states",
            "s: query    h_j: keys and values",
        )
        .why(
            "s is the state before the next word is generated. A bidirectional encoder gives \
                 one state h_j for each source word.",
        )
        .table(Table::matrix("s", &here, &s, &state))
        .table(Table::matrix("h", &words, &dims(m), &memory)),
        Step::new("Projections", "q = W·s    u_j = U·h_j")
            .why("The keys u_j do not depend on the decoder: they are computed once per sentence.")
            .table(Table::matrix("W", &units, &s, &w))
            .table(Table::matrix("U", &units, &dims(m), &u))
            .table(Table::matrix("q", &here, &units, &query))
            .table(Table::matrix("u", &words, &units, &keys))
            .remark(format!(
                "First number of q: {}.",
                dot_product_text(w.row(0), state.row(0), query.row(0)[0])
            )),
        Step::new("A small network", "tanh(q + u_j)")
            .table(Table::matrix("q + u", &words, &units, &sums))
            .table(Table::matrix("tanh(q + u)", &words, &units, &hidden)),
        Step::new("Scores", "e_j = v·tanh(q + u_j)")
            .why("One hidden layer with the output weights v: also called the MLP score.")
            .table(Table::matrix("v", &strings(&["v"]), &units, &Matrix::row_of(&v)))
            .table(Table::columns("", &words, &[("e", scores.row(0))]))
            .remark(format!(
                "{}: {}.",
                words[0],
                dot_product_text(&v, hidden.row(0), scores.row(0)[0])
            )),
        Step::new("Weights", "α = softmax(e)")
            .table(Table::columns("", &words, &[("α", weights)]))
            .remark(format!(
                "The decoder attends most to {}: {}.",
                words[best],
                short(weights[best])
            )),
        Step::new("Context vector", "c = Σ_j α_j·h_j")
            .why(
                "Every target word has its own context vector: the next state is computed from s, \
                 the previous word and c. Without attention there is one vector for all.",
            )
            .table(Table::matrix("", &strings(&["c"]), &dims(m), &attended.z)),
    ];
    if state.cols() == m {
        steps.push(dot_score(&state, &memory, &words, weights));
    }
    let introduction = format!(
        "A recurrent decoder is about to generate a word of the translation of \"{}\" ({}). \
         Additive attention (Bahdanau et al. 2015) scores each source word with a small network, \
         and averages the encoder's states by these scores.",
        words.join(" "),
        plural(memory.rows(), "word")
    );
    Ok(walkthrough(introduction, steps))
}

/// The dot-product score of the same states.
fn dot_score(state: &Matrix, memory: &Matrix, words: &[String], additive: &[f32]) -> Step {
    let scores = state.times_transposed(memory);
    let weights = scores.softmax();
    Step::new("Compared with the dot-product score", "e_j = s·h_j    α = softmax(e)")
        .why(
            "No parameters and one matrix product, but both states need the same width. With \
             projections and 1/√d it is the attention of a Transformer.",
        )
        .table(Table::columns(
            "",
            words,
            &[
                ("s·h", scores.row(0)),
                ("α, dot product", weights.row(0)),
                ("α, additive", additive),
            ],
        ))
}
