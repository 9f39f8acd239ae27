//! Sinusoidal position encodings.

use super::{Walkthrough, walkthrough};
use crate::error::{ExampleError, Result};
use crate::explain::inputs::{Arguments, dims};
use crate::explain::maths::Matrix;
use crate::explain::model::{Cell, Step, Table};
use limpid_tensor::kernels::positions::{SinusoidLayout, sinusoid_table};

/// Dot products of more positions show nothing new.
const DISTANCES: usize = 8;

pub fn positions(args: &Arguments) -> Result<Walkthrough> {
    let tokens = args.matrix("tokens");
    let c = if args.is_set("width") { args.count("width") } else { tokens.cols() };
    if args.is_set("tokens") && c != tokens.cols() {
        return Err(ExampleError::PositionWidth { width: c, tokens: tokens.cols() }.into());
    }
    if !c.is_multiple_of(2) {
        let option = if args.is_set("tokens") { "tokens" } else { "width" };
        return Err(ExampleError::OddWidth { option, width: c }.into());
    }
    let n = args.count("length");
    if args.is_set("tokens") && tokens.rows() > n {
        return Err(ExampleError::TooFewPositions { length: n, tokens: tokens.rows() }.into());
    }
    let words = args.labels("words", tokens.rows(), "token")?;
    let (layout, formula) = match args.choice("layout") {
        "split" => (
            SinusoidLayout::Split,
            "PE(p, i) = sin(p / 10000^(2i/c))    PE(p, c/2+i) = cos(p / 10000^(2i/c))",
        ),
        _ => (
            SinusoidLayout::Interleaved,
            "PE(p, 2i) = sin(p / 10000^(2i/c))    PE(p, 2i+1) = cos(p / 10000^(2i/c))",
        ),
    };
    let mut table = vec![0.0; n * c];
    sinusoid_table(&mut table, c, layout);
    let encoding = Matrix::new(n, c, table);
    let names: Vec<String> = (0..n).map(|p| format!("pos {p}")).collect();

    let mut steps = vec![
        waves(c),
        Step::new("Positions", formula)
            .why("Each row is one position; no two are equal, and neighbours are similar.")
            .table(Table::matrix(format!("PE ({})", encoding.size()), &names, &dims(c), &encoding))
            .misconception(
                "10000^((2i+1)/c) under the cosine",
                "10000^(2i/c) under both",
                "i counts pairs of columns: a sine and its cosine share one frequency, or dot \
                 products would not depend on the distance alone",
            ),
    ];
    if tokens.cols() == c && tokens.rows() <= n {
        steps.push(addition(&tokens, &words, &encoding));
    }
    steps.push(distances(&encoding));
    let introduction = format!(
        "Attention sees a set of words, not a sequence: shuffled words would give the same \
         outputs, shuffled. So each position has a vector of {c} numbers, which is added to the \
         word at that position."
    );
    Ok(walkthrough(introduction, steps))
}

fn waves(c: usize) -> Step {
    let pairs = c / 2;
    let names: Vec<String> = (0..pairs).map(|i| format!("pair {i}")).collect();
    let cells = (0..pairs)
        .map(|i| {
            let divisor = 10_000_f64.powf(2.0 * i as f64 / c as f64);
            vec![Cell::Number(divisor), Cell::Number(std::f64::consts::TAU * divisor)]
        })
        .collect();
    Step::new("One wave for each pair of columns", "wavelength of pair i = 2π·10000^(2i/c)")
        .why(
            "The first pair distinguishes neighbours, the last distinguishes pages, as seconds and \
             hours do on a clock.",
        )
        .table(Table::new("", &names, &["10000^(2i/c)".to_owned(), "wavelength".to_owned()], cells))
}

fn addition(tokens: &Matrix, words: &[String], encoding: &Matrix) -> Step {
    let (t, c) = (tokens.rows(), tokens.cols());
    let head = Matrix::new(t, c, encoding.data()[..t * c].to_vec());
    let sum = tokens.plus(&head);
    Step::new("Added to the words", "x = embedding + PE(p)")
        .table(Table::matrix("embedding", words, &dims(c), tokens))
        .table(Table::matrix("PE", words, &dims(c), &head))
        .table(Table::matrix("sum", words, &dims(c), &sum))
}

fn distances(encoding: &Matrix) -> Step {
    let n = encoding.rows().min(DISTANCES);
    let shown = Matrix::new(n, encoding.cols(), encoding.data()[..n * encoding.cols()].to_vec());
    let names: Vec<String> = (0..n).map(|p| format!("pos {p}")).collect();
    Step::new("Distance is visible", "PE(p)·PE(p+k) = Σ_i cos(k / 10000^(2i/c))")
        .why(
            "Every diagonal holds one number: the dot product depends on the distance k alone, not \
             on the position. One-hot positions would give 1 on the diagonal and 0 everywhere \
             else: no position nearer than another.",
        )
        .table(Table::matrix("", &names, &names, &shown.times_transposed(&shown)))
}
