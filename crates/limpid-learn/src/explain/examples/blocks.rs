//! The feed-forward layer, and the output layer that predicts a word.

use super::{Walkthrough, dot_product_text, strings, walkthrough};
use crate::error::{ExampleError, Result};
use crate::explain::inputs::{Arguments, dims, numbered, plural};
use crate::explain::maths::Matrix;
use crate::explain::model::{Cell, Step, Table};
use crate::explain::number::{grouped, short};
use limpid::generate::argmax;
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::embedding::embedding_forward;

pub fn feed_forward(args: &Arguments) -> Result<Walkthrough> {
    let (x, w_1, w_2) = (args.matrix("rows"), args.matrix("w-1"), args.matrix("w-2"));
    let (b_1, b_2) = (args.row("b-1"), args.row("b-2"));
    args.check_shape("w-1", &w_1, Some(x.cols()), None, "it multiplies a row of that width")?;
    args.check_length("b-1", b_1.len(), w_1.cols(), "one for each column of W₁")?;
    args.check_shape("w-2", &w_2, Some(w_1.cols()), None, "it multiplies the output of W₁")?;
    args.check_length("b-2", b_2.len(), w_2.cols(), "one for each column of W₂")?;
    let (phi, phi_name) = match args.choice("activation") {
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
        Step::new("Expand", format!("z = x·W₁ + b₁,  ({})·({})", x.size(), w_1.size()))
            .table(Table::matrix("x", &names, &dims(x.cols()), &x))
            .table(Table::matrix("W₁", &dims(x.cols()), &hidden, &w_1))
            .table(Table::matrix("b₁", &bias, &hidden, &Matrix::row_of(&b_1)))
            .table(Table::matrix("z", &names, &hidden, &wide))
            .remark(first_number(x.row(0), &w_1, "b₁", b_1[0], wide.row(0)[0])),
        Step::new("Activate", format!("h = φ(z),  {phi_name}"))
            .why("Each hidden unit is a detector that is active or not.")
            .table(Table::matrix("", &names, &hidden, &bent)),
        Step::new("Project back", format!("y = h·W₂ + b₂,  ({})·({})", bent.size(), w_2.size()))
            .table(Table::matrix("W₂", &hidden, &dims(o), &w_2))
            .table(Table::matrix("b₂", &bias, &dims(o), &Matrix::row_of(&b_2)))
            .table(Table::matrix("y", &names, &dims(o), &out))
            .remark(first_number(bent.row(0), &w_2, "b₂", b_2[0], out.row(0)[0])),
        Step::new("Why an activation", "(x·W₁)·W₂ = x·(W₁·W₂)")
            .why("Without φ, two matrices equal one: the hidden layer would add nothing.")
            .table(Table::matrix("W₁·W₂", &dims(x.cols()), &dims(o), &w_1.times(&w_2))),
        gpt_1(),
    ];
    let introduction = format!(
        "After attention has mixed the words, each goes through the same small network by itself: \
         from {} to {} and back to {}. No word depends on another here.",
        plural(x.cols(), "number"),
        f,
        o
    );
    Ok(walkthrough(introduction, steps))
}

/// The first number of word 1 with its operands.
fn first_number(row: &[f32], w: &Matrix, bias_name: &str, bias: f32, result: f32) -> String {
    let product = Matrix::row_of(row).times(w).row(0)[0];
    let dot = dot_product_text(row, w.transposed().row(0), product);
    let sign = if bias < 0.0 { '−' } else { '+' };
    format!(
        "First number of word 1: {dot}; with the first number of {bias_name}, {} {sign} {} = {}.",
        short(product),
        short(bias.abs()),
        short(result)
    )
}

/// The parameters of GPT-1 by kind of layer.
fn gpt_1() -> Step {
    let (v, c, positions, layers) = (40_478_usize, 768_usize, 512_usize, 12_usize);
    let f = 4 * c;
    let attention = 4 * (c * c + c);
    let feed_forward = (c * f + f) + (f * c + c);
    let norms = 2 * 2 * c;
    let rows = [
        ("token embedding: v·c", v * c),
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
    Step::new(
        "Its share of the parameters",
        "GPT-1: 12 layers, c = 768, f = 4c = 3072, v = 40,478, 512 positions",
    )
    .why("Two thirds of the parameters of every layer are feed-forward.")
    .table(Table::new("", &names, &strings(&["parameters", "%"]), cells))
    .remark(format!(
        "Usually quoted as 117 million; counted, {}. The output layer is tied to the token \
         embedding, and there is no norm after the last layer.",
        grouped(total)
    ))
}

pub fn output_layer(args: &Arguments) -> Result<Walkthrough> {
    let words = args.words("vocabulary");
    let word = &args.word("word")?;
    let v = words.len();
    let index = words.iter().position(|w| w == word).ok_or_else(|| {
        let (word, vocabulary) = (word.clone(), words.clone());
        ExampleError::OutOfVocabulary { option: "word", word, vocabulary }
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
        Step::new(
            format!("One-hot of \"{word}\""),
            format!("1 at its index, {index}, and 0 elsewhere"),
        )
        .why("As many numbers as the vocabulary has words: the target of the prediction.")
        .table(Table::matrix(
            "",
            std::slice::from_ref(word),
            &words,
            &Matrix::row_of(&one_hot),
        )),
    ];
    let logits = logits(args, &words, &mut steps)?;
    let p = Matrix::row_of(&logits).softmax();
    let best = argmax(p.row(0));
    steps.push(
        Step::new("Probabilities", "p[j] = exp(z[j]) / Σ exp(z)")
            .table(Table::columns("", &words, &[("logit", &logits), ("probability", p.row(0))]))
            .remark(format!(
                "The largest is \"{}\" with {}: greedy decoding chooses it.",
                words[best],
                short(p.row(0)[best])
            )),
    );
    let introduction = format!(
        "The decoder's last layer gives a vector. A linear layer turns it into one score (logit) \
         for each of the {v} words of the vocabulary ({}), softmax turns logits into \
         probabilities, and a word is chosen.",
        words.join(", ")
    );
    Ok(walkthrough(introduction, steps))
}

/// The logits that were set, or those of a vector and a matrix that make "am" the best of six.
fn logits(args: &Arguments, words: &[String], steps: &mut Vec<Step>) -> Result<Vec<f32>> {
    if let Some(logits) = args.explicit_row("logits") {
        args.check_length(
            "logits",
            logits.len(),
            words.len(),
            "one for each word of the vocabulary",
        )?;
        return Ok(logits);
    }
    let pattern =
        [[0.0, 1.0, 0.5], [2.0, 0.5, 1.0], [1.0, -1.0, 0.0], [-1.0, 0.0, 0.5], [0.5, 1.0, -1.0]];
    let rows: Vec<f32> = (0..words.len()).flat_map(|i| pattern[i % pattern.len()]).collect();
    let w = Matrix::new(words.len(), 3, rows);
    let x = Matrix::row_of(&[1.0, 0.5, 0.25]);
    let z = x.times_transposed(&w);
    steps.push(
        Step::new("Logits", format!("z = x·Wᵀ,  ({})·({})", x.size(), w.transposed().size()))
            .why("One row of W for each word; the logit is its dot product with the vector.")
            .table(Table::matrix("x", &strings(&["decoder's vector"]), &dims(3), &x))
            .table(Table::matrix("W", words, &dims(3), &w))
            .table(Table::columns("z", words, &[("logit", z.row(0))]))
            .remark(format!(
                "{}: {}.",
                words[0],
                dot_product_text(x.row(0), w.row(0), z.row(0)[0])
            )),
    );
    Ok(z.row(0).to_vec())
}
