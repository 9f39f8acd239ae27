//! Layer normalisation beside batch normalisation, and the residual that it follows.

use super::{Told, strings, told};
use crate::error::{Error, Result};
use crate::inspect::inputs::{Given, dims, numbered, plural};
use crate::inspect::maths::{self, Matrix, Sight, attend};
use crate::inspect::model::{Cell, Step, Table};
use crate::inspect::number::short;
use limpid_tensor::params::Params;
use limpid_tensor::tape::{Gradients, Tape};
use limpid_tensor::tensor::Tensor;

pub fn layer_norm(given: &Given) -> Result<Told> {
    let x = given.matrix("rows");
    let (n, c) = (x.rows(), x.cols());
    let parameter = |name: &str, usual: f32| {
        let row = given.given_row(name).unwrap_or_else(|| vec![usual; c]);
        given.check_length(name, &row, c, "one for each column")?;
        Ok::<_, crate::error::Error>(row)
    };
    let (gamma, beta, eps) = (parameter("gamma", 1.0)?, parameter("beta", 0.0)?, given.number("eps"));
    let names = if given.untouched() { strings(&["CAT"]) } else { numbered("row", n) };
    let plain = maths::layer_norm(&x, None, &vec![1.0; c], &vec![0.0; c], eps);
    let learned = maths::layer_norm(&x, None, &gamma, &beta, eps);
    let centred = x.map(|i, _, x| x - plain.mean[i]);
    let variance: Vec<f32> = (0..n)
        .map(|i| {
            let row = Matrix::row_of(centred.row(i));
            row.times_transposed(&row).data()[0] / c as f32
        })
        .collect();
    let deviation: Vec<f32> = plain.rstd.iter().map(|rstd| 1.0 / rstd).collect();

    let steps = vec![
        Step::new("Mean of each row", "μ = Σ x / c")
            .table(Table::matrix("x", &names, &dims(c), &x))
            .table(Table::columns("", &names, &[("μ", &plain.mean)])),
        Step::new("Variance of each row", "σ² = Σ (x − μ)² / c")
            .table(Table::matrix("x − μ", &names, &dims(c), &centred))
            .table(Table::columns("", &names, &[("σ²", &variance), ("√(σ² + ε)", &deviation)]))
            .when(given.untouched(), |s| {
                s.remark(
                    "Divided by c = 4, not by c − 1: the row is all there is, not a sample of something larger. (A \
                     library's var() may divide by 3 and give 6.6667.)",
                )
            }),
        Step::new("Normalised", format!("x̂ = (x − μ) / √(σ² + ε),  ε = {}", short(eps)))
            .why("Mean 0 and variance 1, whatever the row was; ε keeps a constant row from dividing by 0.")
            .table(Table::matrix("x̂", &names, &dims(c), &plain.y)),
        Step::new("Scale and shift", "y = γ·x̂ + β")
            .why("Learned for each column, so that the model can undo what it does not need.")
            .table(Table::matrix(
                "",
                &strings(&["γ", "β"]),
                &dims(c),
                &Matrix::new(2, c, [gamma.clone(), beta.clone()].concat()),
            ))
            .table(Table::matrix("y", &names, &dims(c), &learned.y)),
        beside_batch_norm(&given.matrix("houses"))?,
    ];
    let story = format!(
        "A row of {} is a word inside a model. Sums of many layers drift; layer norm brings every row back to mean 0 and \
         variance 1, by its own numbers alone, then applies a learned scale and shift.",
        plural(c, "number")
    );
    Ok(told(story, steps))
}

/// Some houses: columns normalised over the batch, rows normalised over the features.
fn beside_batch_norm(houses: &Matrix) -> Result<Step> {
    let (n, c) = (houses.rows(), houses.cols());
    let usual = ["size", "rooms", "price"];
    let features = if c == usual.len() { strings(&usual) } else { numbered("feature", c) };
    let names = numbered("house", n);
    let varies =
        |matrix: &Matrix| (0..matrix.rows()).all(|i| matrix.row(i).iter().any(|x| *x != matrix.row(i)[0]));
    if !varies(houses) || !varies(&houses.transposed()) {
        return Err(Error::config(
            "--houses: where all numbers of a row or a column are the same, their deviation is 0",
        )
        .hint("give houses that differ in everything: --houses \"1200 2 45; 1500 3 70\""));
    }
    let (ones, zeros) = (vec![1.0; n.max(c)], vec![0.0; n.max(c)]);
    // Batch norm is layer norm of the transpose; no ε, so these are plain z-scores.
    let by_column =
        maths::layer_norm(&houses.transposed(), None, &ones[..n], &zeros[..n], 0.0).y.transposed();
    let by_row = maths::layer_norm(houses, None, &ones[..c], &zeros[..c], 0.0).y;
    Ok(Step::new("Beside batch norm", "z = (x − μ) / σ    μ, σ of a column (batch norm) or of a row (layer norm)")
        .why(
            "Batch norm asks how a house compares with the other houses, feature by feature. Layer norm never looks at \
             another row: it does the same for one sentence as for a thousand, and when generating word by word.",
        )
        .table(Table::matrix("houses", &names, &features, houses))
        .table(Table::matrix("batch norm: by column", &names, &features, &by_column))
        .table(Table::matrix("layer norm: by row", &names, &features, &by_row))
        .remark(
            "For features in different units, columns are the sensible choice. The numbers of a word vector have no units, \
             and the sentences of a batch have nothing to do with each other: there, rows are.",
        ))
}

pub fn residual(given: &Given) -> Result<Told> {
    let x = given.matrix("tokens");
    let words = given.labels("words", x.rows(), "token")?;
    let c = x.cols();
    let f = attend(&x, &x, &x, 1, Sight::FULL).z;
    let (ones, zeros) = (vec![1.0; c], vec![0.0; c]);
    let post = maths::layer_norm(&x, Some(&f), &ones, &zeros, 1e-5);
    let normed = maths::layer_norm(&x, None, &ones, &zeros, 1e-5).y;
    let pre = x.plus(&attend(&normed, &normed, &normed, 1, Sight::FULL).z);

    let steps = vec![
        Step::new("What the layer says", "f(x) = softmax(x·xᵀ/√d)·x, a self-attention")
            .table(Table::matrix("x", &words, &dims(c), &x))
            .table(Table::matrix("f(x)", &words, &dims(c), &f)),
        Step::new("Add", "x + f(x)")
            .why("The word itself goes on; the layer only adds what it has found out.")
            .table(Table::matrix("", &words, &dims(c), &post.sum)),
        Step::new("Normalise after (Vaswani et al. 2017, GPT-1)", "y = LayerNorm(x + f(x)),  γ = 1, β = 0")
            .table(Table::matrix("", &words, &dims(c), &post.y))
            .when(given.untouched(), |s| {
                s.remark("The four numbers of SAT are equal; less their mean, nothing is left of them.")
            }),
        Step::new("Or before (GPT-2 and most since)", "y = x + f(LayerNorm(x))")
            .why("Nothing stands in the way of x itself; deep models train without a warm-up.")
            .table(Table::matrix("", &words, &dims(c), &pre)),
        straight_way(given.number("slope")),
    ];
    let story = format!(
        "A layer of a Transformer does not replace {}, it adds to them: x + f(x). Here f is the self-attention of {}, and \
         the sum is normalised.",
        if x.rows() == 1 { "its input" } else { "its inputs" },
        words.join(", ")
    );
    Ok(told(story, steps))
}

/// How layers follow each other.
#[derive(Clone, Copy)]
enum Stack {
    /// x ← f(x).
    Plain,
    /// x ← x + f(x).
    Residual,
}

/// ∂y/∂x of a stack of layers f(x) = slope·x, by the tape.
fn straight_way(slope: f32) -> Step {
    let gradient = |depth: usize, stack: Stack| -> f32 {
        let params = Params::builder().build(0);
        let mut gradients = Gradients::new(&params);
        let mut tape = Tape::training(&params, &mut gradients);
        let x = tape.leaf(Tensor::scalar(1.0));
        let y = (0..depth).fold(x.clone(), |x, _| {
            let f = tape.scale(&x, slope);
            match stack {
                Stack::Plain => f,
                Stack::Residual => tape.add(&x, &f),
            }
        });
        tape.backward(&y);
        x.id().and_then(|id| gradients.of(id)).map_or(0.0, Tensor::item)
    };
    let depths = [1, 2, 4, 6, 12];
    let names: Vec<String> = depths.iter().map(|depth| plural(*depth, "layer")).collect();
    let cells = depths
        .iter()
        .map(|d| vec![gradient(*d, Stack::Plain).into(), gradient(*d, Stack::Residual).into()])
        .collect::<Vec<Vec<Cell>>>();
    Step::new("A straight way back", format!("∂(x + f(x))/∂x = 1 + f′,  here f′ = {}", short(slope)))
        .why(
            "How much of the error reaches the first layer. Without the sum it is multiplied by f′ in every layer and \
             dies out; with it, the 1 carries it through.",
        )
        .table(Table::new("", &names, &strings(&["f(f(…x))", "with x + f(x)"]), cells))
}
