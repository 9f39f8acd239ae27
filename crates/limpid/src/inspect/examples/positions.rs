//! Sinusoidal positions.

use super::{Told, told};
use crate::error::{Error, Result};
use crate::inspect::inputs::{Given, dims, plural};
use crate::inspect::maths::Matrix;
use crate::inspect::model::{Cell, Step, Table};
use crate::inspect::number::list;
use limpid_tensor::kernels::positions::{SinusoidLayout, sinusoid_table};

/// More dot products than this say the same again.
const DISTANCES: usize = 8;

pub fn positions(given: &Given) -> Result<Told> {
    let tokens = given.matrix("tokens");
    let c = if given.has("width") { given.count("width") } else { tokens.cols() };
    if given.has("tokens") && c != tokens.cols() {
        return Err(Error::config(format!("--width {c}, but --tokens has {} numbers a row", tokens.cols()))
            .hint("leave --width out: positions are as wide as the tokens they are added to"));
    }
    if !c.is_multiple_of(2) {
        let (what, hint) = if given.has("tokens") {
            (format!("--tokens has {} a row", plural(c, "number")), format!("give {} numbers a row", c + 1))
        } else {
            (format!("--width {c}"), format!("use --width {} or {}", c - 1, c + 1))
        };
        return Err(
            Error::config(format!("{what}: an odd width leaves a sine without its cosine")).hint(hint)
        );
    }
    let n = given.count("length");
    if given.has("tokens") && tokens.rows() > n {
        return Err(Error::config(format!("--length {n} is too short for {} tokens", tokens.rows()))
            .hint(format!("use --length {}", tokens.rows())));
    }
    let words = given.labels("words", tokens.rows(), "token")?;
    let layout = match given.choice("layout") {
        "split" => SinusoidLayout::Split,
        _ => SinusoidLayout::Interleaved,
    };
    let mut table = vec![0.0; n * c];
    sinusoid_table(&mut table, c, layout);
    let encoding = Matrix::new(n, c, table);
    let names: Vec<String> = (0..n).map(|p| format!("pos {p}")).collect();
    let formula = match layout {
        SinusoidLayout::Interleaved => {
            "PE(p, 2i) = sin(p / 10000^(2i/c))    PE(p, 2i+1) = cos(p / 10000^(2i/c))"
        }
        SinusoidLayout::Split => "PE(p, i) = sin(p / 10000^(2i/c))    PE(p, c/2+i) = cos(p / 10000^(2i/c))",
    };

    let mut steps = vec![
        waves(c),
        Step::new("Positions", formula)
            .why("Each row is one place; no two are alike, and neighbours are similar.")
            .table(Table::matrix(format!("PE ({})", encoding.size()), &names, &dims(c), &encoding))
            .often_printed(
                "10000^((2i+1)/c) under the cosine",
                "10000^(2i/c) under both",
                "i counts pairs of columns: a sine and its cosine share one wave, or products would not depend on \
                 distance alone",
            ),
    ];
    if tokens.cols() == c && tokens.rows() <= n {
        steps.push(addition(given, &tokens, &words, &encoding));
    }
    steps.push(distances(&encoding));
    let story = format!(
        "Attention sees a set of words, not a row: it would answer the same if they were shuffled. So each place gets a \
         vector of {c} numbers of its own, and it is added to the word that stands there."
    );
    Ok(told(story, steps))
}

fn waves(c: usize) -> Step {
    let pairs = c / 2;
    let names: Vec<String> = (0..pairs).map(|i| format!("pair {i}")).collect();
    let cells = (0..pairs)
        .map(|i| {
            let slowness = 10_000_f64.powf(2.0 * i as f64 / c as f64);
            vec![Cell::Number(slowness), Cell::Number(std::f64::consts::TAU * slowness)]
        })
        .collect();
    Step::new("One wave for each pair of columns", "wavelength of pair i = 2π·10000^(2i/c)")
        .why("The first pair tells neighbours apart, the last tells pages apart, as seconds and hours do on a clock.")
        .table(Table::new("", &names, &["10000^(2i/c)".to_owned(), "wavelength".to_owned()], cells))
}

fn addition(given: &Given, tokens: &Matrix, words: &[String], encoding: &Matrix) -> Step {
    let (t, c) = (tokens.rows(), tokens.cols());
    let head = Matrix::new(t, c, encoding.data()[..t * c].to_vec());
    let sum = tokens.plus(&head);
    let step = Step::new("Added to the words", "x = embedding + PE(p)")
        .table(Table::matrix("embedding", words, &dims(c), tokens))
        .table(Table::matrix("PE", words, &dims(c), &head))
        .table(Table::matrix("sum", words, &dims(c), &sum));
    step.when(given.untouched(), |step| {
        step.often_printed(
            "[0.1 1.2 0.3 0.4] for The",
            list(sum.row(0)),
            "the last number is 0.4 + cos 0 = 0.4 + 1",
        )
        .often_printed(
            "[1.34 0.94 0.01 1.79] for CAT",
            list(sum.row(1)),
            "0.6 + 0.5403 = 1.1403, and the third number is 0.7 + 0.01, not 0.01",
        )
    })
}

fn distances(encoding: &Matrix) -> Step {
    let n = encoding.rows().min(DISTANCES);
    let shown = Matrix::new(n, encoding.cols(), encoding.data()[..n * encoding.cols()].to_vec());
    let names: Vec<String> = (0..n).map(|p| format!("pos {p}")).collect();
    Step::new("Distance can be seen", "PE(p)·PE(p+k) = Σ_i cos(k / 10000^(2i/c))")
        .why(
            "Every diagonal holds one number: the product depends on the distance k alone, not on the place. One-hot \
             places would give 1 on the diagonal and 0 everywhere else: no place nearer than another.",
        )
        .table(Table::matrix("", &names, &names, &shown.times_transposed(&shown)))
}
