//! The feed-forward layer, and the output layer that ends in a word.

use super::{Told, dot_in_words, strings, told};
use crate::decode::argmax;
use crate::error::{Error, Result};
use crate::inspect::inputs::{Given, dims, numbered, plural};
use crate::inspect::maths::Matrix;
use crate::inspect::model::{Cell, Step, Table};
use crate::inspect::number::{grouped, short};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::embedding::embedding_forward;

pub fn feed_forward(given: &Given) -> Result<Told> {
    let (x, w_1, w_2) = (given.matrix("rows"), given.matrix("w-1"), given.matrix("w-2"));
    let (b_1, b_2) = (given.row("b-1"), given.row("b-2"));
    given.check_size("w-1", &w_1, Some(x.cols()), None, "it multiplies a row of that width")?;
    given.check_length("b-1", &b_1, w_1.cols(), "one for each column of W₁")?;
    given.check_size("w-2", &w_2, Some(w_1.cols()), None, "it multiplies what W₁ has made")?;
    given.check_length("b-2", &b_2, w_2.cols(), "one for each column of W₂")?;
    let (phi, phi_name) = match given.choice("activation") {
        "gelu" => (Activation::Gelu, "GELU: z·Φ(z)"),
        _ => (Activation::Relu, "ReLU: max(0, z)"),
    };
    let names = numbered("word", x.rows());
    let (f, o) = (w_1.cols(), w_2.cols());
    let wide = x.times(&w_1).plus_row(&b_1);
    let bent = wide.activated(phi);
    let out = bent.times(&w_2).plus_row(&b_2);
    let bias = strings(&["every word"]);
    let hidden: Vec<String> = (1..=f).map(|i| format!("h{i}")).collect();

    let steps = vec![
        Step::new("Widen", format!("z = x·W₁ + b₁,  ({})·({})", x.size(), w_1.size()))
            .table(Table::matrix("x", &names, &dims(x.cols()), &x))
            .table(Table::matrix("W₁", &dims(x.cols()), &hidden, &w_1))
            .table(Table::matrix("b₁", &bias, &hidden, &Matrix::row_of(&b_1)))
            .table(Table::matrix("z", &names, &hidden, &wide))
            .remark(first_number(x.row(0), &w_1, "b₁", b_1[0], wide.row(0)[0])),
        Step::new("Bend", format!("h = φ(z),  {phi_name}"))
            .why("Each hidden number is a detector that fires or does not.")
            .table(Table::matrix("", &names, &hidden, &bent)),
        Step::new("Narrow", format!("y = h·W₂ + b₂,  ({})·({})", bent.size(), w_2.size()))
            .table(Table::matrix("W₂", &hidden, &dims(o), &w_2))
            .table(Table::matrix("b₂", &bias, &dims(o), &Matrix::row_of(&b_2)))
            .table(Table::matrix("y", &names, &dims(o), &out))
            .remark(first_number(bent.row(0), &w_2, "b₂", b_2[0], out.row(0)[0])),
        Step::new("What the bend is for", "(x·W₁)·W₂ = x·(W₁·W₂)")
            .why("Without φ, two matrices are one: all the width in the middle would buy nothing.")
            .table(Table::matrix("W₁·W₂", &dims(x.cols()), &dims(o), &w_1.times(&w_2))),
        gpt_1(),
    ];
    let story = format!(
        "After attention has mixed the words, each goes through the same small network by itself: from {} to {} and back \
         to {}. No word sees another here.",
        plural(x.cols(), "number"),
        f,
        o
    );
    Ok(told(story, steps))
}

/// The first number of word 1, with all that goes into it.
fn first_number(row: &[f32], w: &Matrix, bias_name: &str, bias: f32, result: f32) -> String {
    let product = Matrix::row_of(row).times(w).row(0)[0];
    let dot = dot_in_words(row, w.transposed().row(0), product);
    let sign = if bias < 0.0 { '−' } else { '+' };
    format!(
        "First number of word 1: {dot}; with the first number of {bias_name}, {} {sign} {} = {}.",
        short(product),
        short(bias.abs()),
        short(result)
    )
}

/// Where the weights of GPT-1 are.
fn gpt_1() -> Step {
    let (v, c, positions, layers) = (40_478_usize, 768_usize, 512_usize, 12_usize);
    let f = 4 * c;
    let attention = 4 * (c * c + c);
    let feed_forward = (c * f + f) + (f * c + c);
    let norms = 2 * 2 * c;
    let rows = [
        ("words: v·c", v * c),
        ("positions: 512·c", positions * c),
        ("attention: 12·4·(c² + c)", layers * attention),
        ("feed-forward: 12·(8c² + 5c)", layers * feed_forward),
        ("layer norms: 12·4c", layers * norms),
    ];
    let total: usize = rows.iter().map(|(_, n)| n).sum();
    let names: Vec<String> =
        rows.iter().map(|(name, _)| (*name).to_owned()).chain(["all".to_owned()]).collect();
    let share = |n: usize| Cell::Number((10_000.0 * n as f64 / total as f64).round() / 100.0);
    let counts = rows.iter().map(|(_, n)| *n).chain([total]);
    let cells = counts.map(|n| vec![Cell::from(n), share(n)]).collect();
    Step::new("How much of a model this is", "GPT-1: 12 layers, c = 768, f = 4c = 3072, v = 40,478, 512 positions")
        .why("Two thirds of every layer are feed-forward.")
        .table(Table::new("", &names, &strings(&["parameters", "%"]), cells))
        .remark(format!(
            "Usually quoted as 117 million; counted, {}. The output layer is the table of words again, and there is no \
             norm after the last layer.",
            grouped(total)
        ))
}

pub fn output_layer(given: &Given) -> Result<Told> {
    let words = given.words("vocabulary");
    let word = given.words("word");
    let v = words.len();
    let [word] = &word[..] else {
        return Err(
            Error::config(format!("--word takes one word, found {}", word.len())).hint("use --word am")
        );
    };
    let index = words.iter().position(|w| w == word).ok_or_else(|| {
        Error::config(format!("--word {word} is not in the vocabulary"))
            .hint(format!("use one of: {}", words.join(", ")))
    })?;
    let indices: Vec<f32> = (0..v).map(|i| i as f32).collect();
    let mut one_hot = vec![0.0; v];
    embedding_forward(&mut one_hot, Matrix::identity(v).data(), &[index as u32], v, 1.0);

    let mut steps = vec![
        Step::new("Vocabulary", "one index for each word").table(Table::columns(
            "",
            &words,
            &[("index", &indices)],
        )),
        Step::new(format!("One-hot of \"{word}\""), format!("1 at its index, {index}, and 0 elsewhere"))
            .why("As many numbers as there are words: that is what the model is asked to say.")
            .table(Table::matrix("", std::slice::from_ref(word), &words, &Matrix::row_of(&one_hot)))
            .when(given.untouched(), |s| {
                s.often_printed(
                    "[0 1 0 0 0 0 0], seven numbers",
                    "[0 1 0 0 0 0]",
                    "six words need six numbers",
                )
            }),
    ];
    let logits = logits(given, &words, &mut steps)?;
    let p = Matrix::row_of(&logits).softmax();
    let best = argmax(p.row(0));
    steps.push(
        Step::new("Probabilities", "p[j] = exp(z[j]) / Σ exp(z)")
            .table(Table::columns("", &words, &[("logit", &logits), ("probability", p.row(0))]))
            .remark(format!(
                "The largest is \"{}\" with {}: greedy decoding writes it.",
                words[best],
                short(p.row(0)[best])
            )),
    );
    let story = format!(
        "The decoder ends with a vector. A linear layer turns it into one score for each of the {v} words that the model \
         knows ({}), softmax turns scores into probabilities, and a word is chosen.",
        words.join(", ")
    );
    Ok(told(story, steps))
}

/// The logits that were given, or those of a vector and a matrix that make "am" the best of six.
fn logits(given: &Given, words: &[String], steps: &mut Vec<Step>) -> Result<Vec<f32>> {
    if let Some(logits) = given.given_row("logits") {
        given.check_length("logits", &logits, words.len(), "one for each word of the vocabulary")?;
        return Ok(logits);
    }
    let pattern = [[0.0, 1.0, 0.5], [2.0, 0.5, 1.0], [1.0, -1.0, 0.0], [-1.0, 0.0, 0.5], [0.5, 1.0, -1.0]];
    let rows: Vec<f32> = (0..words.len()).flat_map(|i| pattern[i % pattern.len()]).collect();
    let w = Matrix::new(words.len(), 3, rows);
    let x = Matrix::row_of(&[1.0, 0.5, 0.25]);
    let z = x.times_transposed(&w);
    steps.push(
        Step::new("Logits", format!("z = x·Wᵀ,  ({})·({})", x.size(), w.transposed().size()))
            .why("One row of W for each word; the logit is how well the vector fits it.")
            .table(Table::matrix("x", &strings(&["decoder's vector"]), &dims(3), &x))
            .table(Table::matrix("W", words, &dims(3), &w))
            .table(Table::columns("z", words, &[("logit", z.row(0))]))
            .remark(format!("{}: {}.", words[0], dot_in_words(x.row(0), w.row(0), z.row(0)[0]))),
    );
    Ok(z.row(0).to_vec())
}
