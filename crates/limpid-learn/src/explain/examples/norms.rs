//! Layer normalization compared with batch normalization, and the residual connection.

use super::{Walkthrough, strings, walkthrough};
use crate::error::{ExampleError, Result};
use crate::explain::inputs::{Arguments, dims, numbered, plural};
use crate::explain::maths::{self, Mask, Matrix, attend};
use crate::explain::model::{Cell, Step, Table};
use crate::explain::number::short;
use limpid_tensor::params::Params;
use limpid_tensor::tape::{Gradients, Tape};
use limpid_tensor::tensor::Tensor;

pub fn layer_norm(args: &Arguments) -> Result<Walkthrough> {
    let x = args.matrix("rows");
    let (n, c) = (x.rows(), x.cols());
    let parameter = |name: &str, default: f32| {
        let row = args.explicit_row(name).unwrap_or_else(|| vec![default; c]);
        args.check_length(name, row.len(), c, "one for each column")?;
        Ok::<_, crate::error::Error>(row)
    };
    let (gamma, beta, eps) =
        (parameter("gamma", 1.0)?, parameter("beta", 0.0)?, args.number("eps"));
    let names = if args.all_default() { strings(&["CAT"]) } else { numbered("row", n) };
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
            .when(args.all_default(), |s| {
                s.remark(
                    "Divided by c = 4, not by c − 1: the row is the whole population, not a \
                     sample. (A library's var() may divide by 3 and give 6.6667.)",
                )
            }),
        Step::new("Normalized", format!("x̂ = (x − μ) / √(σ² + ε),  ε = {}", short(eps)))
            .why(
                "Mean 0 and variance 1, whatever the row was; ε avoids a division by 0 for a \
                 constant row.",
            )
            .table(Table::matrix("x̂", &names, &dims(c), &plain.y)),
        Step::new("Scale and shift", "y = γ·x̂ + β")
            .why("Learned for each column, so that the model can undo the normalization.")
            .table(Table::matrix(
                "",
                &strings(&["γ", "β"]),
                &dims(c),
                &Matrix::new(2, c, [gamma.clone(), beta.clone()].concat()),
            ))
            .table(Table::matrix("y", &names, &dims(c), &learned.y)),
        compared_with_batch_norm(&args.matrix("houses"))?,
    ];
    let introduction = format!(
        "A row of {} is a word inside a model. Sums over many layers grow; layer normalization \
         gives every row mean 0 and variance 1, from its own numbers alone, then applies a learned \
         scale and shift.",
        plural(c, "number")
    );
    Ok(walkthrough(introduction, steps))
}

/// The same table normalized by column (over the batch) and by row (over the features).
fn compared_with_batch_norm(houses: &Matrix) -> Result<Step> {
    let (n, c) = (houses.rows(), houses.cols());
    let default = ["size", "rooms", "price"];
    let features = if c == default.len() { strings(&default) } else { numbered("feature", c) };
    let names = numbered("house", n);
    let varies = |matrix: &Matrix| {
        (0..matrix.rows()).all(|i| matrix.row(i).iter().any(|x| *x != matrix.row(i)[0]))
    };
    if !varies(houses) || !varies(&houses.transposed()) {
        let default = "1200 2 45; 1500 3 70";
        return Err(ExampleError::NoVariance { option: "houses", default }.into());
    }
    let (ones, zeros) = (vec![1.0; n.max(c)], vec![0.0; n.max(c)]);
    // Batch norm is layer norm of the transpose; no ε, so these are plain z-scores.
    let by_column =
        maths::layer_norm(&houses.transposed(), None, &ones[..n], &zeros[..n], 0.0).y.transposed();
    let by_row = maths::layer_norm(houses, None, &ones[..c], &zeros[..c], 0.0).y;
    Ok(Step::new(
        "Compared with batch norm",
        "z = (x − μ) / σ    μ, σ of a column (batch norm) or of a row (layer norm)",
    )
    .why(
        "Batch norm compares a house with the other houses, feature by feature. Layer norm never \
         uses another row: it computes the same for one sentence as for a thousand, and when \
         generating word by word.",
    )
    .table(Table::matrix("houses", &names, &features, houses))
    .table(Table::matrix("batch norm: by column", &names, &features, &by_column))
    .table(Table::matrix("layer norm: by row", &names, &features, &by_row))
    .remark(
        "For features in different units, normalize columns. The numbers of a word vector have no \
         units, and the sentences of a batch are independent: there, normalize rows.",
    ))
}

pub fn residual(args: &Arguments) -> Result<Walkthrough> {
    let x = args.matrix("tokens");
    let words = args.labels("words", x.rows(), "token")?;
    let c = x.cols();
    let f = attend(&x, &x, &x, 1, Mask::FULL).z;
    let (ones, zeros) = (vec![1.0; c], vec![0.0; c]);
    let post = maths::layer_norm(&x, Some(&f), &ones, &zeros, 1e-5);
    let normed = maths::layer_norm(&x, None, &ones, &zeros, 1e-5).y;
    let pre = x.plus(&attend(&normed, &normed, &normed, 1, Mask::FULL).z);

    let steps = vec![
        Step::new("The sub-layer", "f(x) = softmax(x·xᵀ/√d)·x, a self-attention")
            .table(Table::matrix("x", &words, &dims(c), &x))
            .table(Table::matrix("f(x)", &words, &dims(c), &f)),
        Step::new("Add", "x + f(x)")
            .why("The word itself passes unchanged; the sub-layer only adds to it.")
            .table(Table::matrix("", &words, &dims(c), &post.sum)),
        Step::new(
            "Post-norm (Vaswani et al. 2017, GPT-1)",
            "y = LayerNorm(x + f(x)),  γ = 1, β = 0",
        )
        .table(Table::matrix("", &words, &dims(c), &post.y))
        .when(args.all_default(), |s| {
            s.remark("The four numbers of SAT are equal; minus their mean, they are 0.")
        }),
        Step::new("Pre-norm (GPT-2 and most later models)", "y = x + f(LayerNorm(x))")
            .why(
                "The path of x itself has no norm in it; deep models train stably, even with \
                 little warm-up.",
            )
            .table(Table::matrix("", &words, &dims(c), &pre)),
        gradient_step(args.number("slope")),
    ];
    let introduction = format!(
        "A sub-layer of a Transformer does not replace its input, it adds to it: x + f(x). Here f \
         is the self-attention of {}, and the sum is normalized.",
        words.join(", ")
    );
    Ok(walkthrough(introduction, steps))
}

/// How layers are connected.
#[derive(Clone, Copy)]
enum Connection {
    /// x ← f(x).
    Plain,
    /// x ← x + f(x).
    Residual,
}

/// ∂y/∂x of a stack of layers f(x) = slope·x, by the tape.
fn gradient_step(slope: f32) -> Step {
    let gradient = |depth: usize, connection: Connection| -> f32 {
        let params = Params::builder().build(0);
        let mut gradients = Gradients::new(&params);
        let mut tape = Tape::training(&params, &mut gradients);
        let x = tape.leaf(Tensor::scalar(1.0));
        let y = (0..depth).fold(x.clone(), |x, _| {
            let f = tape.scale(&x, slope);
            match connection {
                Connection::Plain => f,
                Connection::Residual => tape.add(&x, &f),
            }
        });
        tape.backward(&y);
        x.id().and_then(|id| gradients.of(id)).map_or(0.0, Tensor::item)
    };
    let depths = [1, 2, 4, 6, 12];
    let names: Vec<String> = depths.iter().map(|depth| plural(*depth, "layer")).collect();
    let cells = depths
        .iter()
        .map(|d| [Connection::Plain, Connection::Residual].map(|c| gradient(*d, c).into()).to_vec())
        .collect::<Vec<Vec<Cell>>>();
    let formula = format!("∂(x + f(x))/∂x = 1 + f′,  here f′ = {}", short(slope));
    Step::new("The gradient through many layers", formula)
        .why(
            "How much of the gradient reaches the first layer. Without the sum it is multiplied by \
             f′ in every layer and vanishes; with it, the 1 carries it through.",
        )
        .table(Table::new("", &names, &strings(&["f(f(…x))", "with x + f(x)"]), cells))
}
