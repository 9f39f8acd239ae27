//! What a model is trained to do: the next word, given the right ones; and the loss that says how well.

use super::{Told, strings, told};
use crate::error::{Error, Result};
use crate::inspect::inputs::{Given, plural};
use crate::inspect::maths::{Matrix, Sight, loss, visible};
use crate::inspect::model::{Cell, Step, Table};
use crate::inspect::number::{list, short};

const START: &str = "<start>";

pub fn teacher_forcing(given: &Given) -> Result<Told> {
    let (target, source, p) = (given.words("target"), given.words("source"), given.row("probabilities"));
    let t = target.len();
    if p.len() != t {
        return Err(Error::config(format!(
            "--probabilities has {}, the target has {}",
            plural(p.len(), "number"),
            plural(t, "word")
        ))
        .hint("give the probability of each target word, <eos> included"));
    }
    let inputs: Vec<String> = std::iter::once(START.to_owned()).chain(target[..t - 1].to_vec()).collect();
    let places: Vec<String> = (1..=t).map(|i| format!("t = {i}")).collect();
    let shifted = (0..t).map(|i| vec![inputs[i].as_str().into(), target[i].as_str().into()]).collect();

    // Two classes, the right word and all others: their logits are the logs of their probabilities.
    let logits: Vec<f32> = p.iter().flat_map(|p| [p.ln(), (1.0 - p).ln()]).collect();
    let (losses, _) = loss(&Matrix::new(t, 2, logits), &vec![0; t], 0.0);
    let sum: f32 = losses.iter().sum();
    let mean = sum / t as f32;
    let product: f32 = p.iter().product();

    let steps = vec![
        Step::new("Shifted right", "input[t] = target[t−1],  input[1] = <start>")
            .why(
                "At every place the decoder is given the true words so far and is asked for the next one, whatever it \
                 would have said itself. All places are trained in one pass.",
            )
            .table(Table::new("", &places, &strings(&["the decoder is given", "and must say"]), shifted))
            .remark(format!(
                "With a start token there are as many terms as words: T = {t}. Without one the first word has nothing to \
                 be predicted from, and there are T − 1 = {}. Here there is one.",
                t - 1
            )),
        Step::new("What each place sees", "visible[t][j] = 1 if j ≤ t")
            .why("The causal mask keeps the answers hidden, though all inputs are there at once.")
            .table(Table::matrix("", &target, &inputs, &visible(t, t, Sight::CAUSAL))),
        Step::new("Loss of each place", "L[t] = −ln p(word t | words before it, source)")
            .why("The probabilities p are made up for this example (--probabilities); a model would compute them.")
            .table(Table::columns("", &target, &[("p", &p), ("−ln p", &losses)])),
        Step::new("Loss of the sentence", "sum = Σ_t L[t] = −ln Π_t p[t]    mean = sum / T")
            .why("The likelihood of the sentence is a product of probabilities; its logarithm is a sum.")
            .table(Table::new(
                "",
                &strings(&["Π p", "sum", "mean", "perplexity e^mean"]),
                &[String::new()],
                [product, sum, mean, mean.exp()].map(|x| vec![Cell::from(x)]).to_vec(),
            ))
            .often_printed(
                "\"the sum averages the loss over the words\"",
                format!("a sum, {}; the average is {}", short(sum), short(mean)),
                format!("one is {t} times the other: a program has to say which one it reports"),
            ),
        free_running(&target, &inputs, &places),
    ];
    let story = format!(
        "A translator learns that \"{}\" is \"{}\". It is trained like a pupil whose teacher corrects every word at once: \
         a mistake costs, but it never leads the next word astray.",
        source.join(" "),
        target.join(" ")
    );
    Ok(told(story, steps))
}

/// The inputs with a teacher, and without one after a mistake.
fn free_running(target: &[String], inputs: &[String], places: &[String]) -> Step {
    let mistake = 1.min(target.len() - 1);
    let cells = (0..target.len())
        .map(|i| {
            let own: Cell = match i {
                i if i <= mistake => inputs[i].as_str().into(),
                i if i == mistake + 1 => "(its mistake)".into(),
                _ => "(whatever follows from it)".into(),
            };
            vec![inputs[i].as_str().into(), own]
        })
        .collect();
    Step::new("Without a teacher", "free running: input[t] = what the model said at t − 1")
        .why(format!(
            "Suppose the model gets \"{}\" wrong. With a teacher the next input is right again; running free, as in real \
             use, it has to go on from its own mistake, and each word has to wait for the one before.",
            target[mistake]
        ))
        .table(Table::new("", places, &strings(&["teacher forcing", "free running"]), cells))
}

pub fn cross_entropy(given: &Given) -> Result<Told> {
    let (logits, target, smoothing) = (given.row("logits"), given.count("target"), given.number("smoothing"));
    let v = logits.len();
    if target >= v {
        return Err(Error::config(format!("--target {target}, but there are {}", plural(v, "logit")))
            .hint(format!("use 0 to {}", v - 1)));
    }
    let z = Matrix::row_of(&logits);
    let p = z.softmax();
    let at = |z: &Matrix, smoothing: f32| loss(z, &[target as u32], smoothing);
    let (losses, gradient) = at(&z, smoothing);
    let names: Vec<String> =
        (0..v).map(|j| format!("class {j}{}", if j == target { " (right)" } else { "" })).collect();
    let wanted: Vec<f32> =
        (0..v).map(|j| f32::from(u8::from(j == target)) * (1.0 - smoothing) + smoothing / v as f32).collect();
    // Fourth order, so that the step can be large enough for f32.
    let slope = |j: usize| {
        let nudged =
            |by: f32| f64::from(at(&z.map(|_, i, z| if i == j { z + by } else { z }), smoothing).0[0]);
        let h = 0.05_f32;
        ((8.0 * (nudged(h) - nudged(-h)) - (nudged(2.0 * h) - nudged(-2.0 * h))) / (12.0 * f64::from(h)))
            as f32
    };
    let slopes: Vec<f32> = (0..v).map(slope).collect();

    let steps = vec![
        Step::new("Probabilities", "p = softmax(z)").table(Table::columns(
            "",
            &names,
            &[("logit", &logits), ("p", p.row(0))],
        )),
        Step::new(
            "Loss",
            if smoothing == 0.0 {
                "L = −ln p[target]".to_owned()
            } else {
                format!("L = −(1 − ε)·ln p[target] − ε/v · Σ_j ln p[j],  ε = {}", short(smoothing))
            },
        )
        .why("0 if the model was certain and right; it grows without bound as it is certain and wrong.")
        .table(Table::columns("", &strings(&["L"]), &[("", &losses)])),
        Step::new("Gradient", if smoothing == 0.0 { "∂L/∂z = p − y" } else { "∂L/∂z = p − y,  y smoothed" })
            .why("What was said minus what came. It sums to 0: what one score gains, others lose.")
            .table(Table::columns(
                "",
                &names,
                &[("p", p.row(0)), ("y", &wanted), ("p − y", gradient.row(0)), ("slope, by trying", &slopes)],
            )),
        surprise(),
        smoothed(&z, target),
    ];
    let story = format!(
        "A model has to choose one of {v} {} and gives each of them a score: {}. Class {target} is the right one. How \
         wrong is that, and which way should each score move?",
        if v == 1 { "class" } else { "classes" },
        list(&logits)
    );
    Ok(told(story, steps))
}

fn surprise() -> Step {
    let p = [0.99_f32, 0.9, 0.5, 0.1, 0.01, 0.001];
    let logits: Vec<f32> = p.iter().flat_map(|p| [p.ln(), (1.0 - p).ln()]).collect();
    let (losses, _) = loss(&Matrix::new(p.len(), 2, logits), &[0; 6], 0.0);
    let names: Vec<String> = p.iter().map(|p| format!("p = {}", short(*p))).collect();
    Step::new("A scale of surprise", "−ln p").table(Table::columns("", &names, &[("loss", &losses)]))
}

fn smoothed(z: &Matrix, target: usize) -> Step {
    let amounts = [0.0_f32, 0.1, 0.2];
    let names: Vec<String> = amounts.iter().map(|e| format!("ε = {}", short(*e))).collect();
    let rows = amounts.map(|e| loss(z, &[target as u32], e));
    let cells = rows.iter().map(|(loss, gradient)| {
        std::iter::once(loss[0]).chain(gradient.row(0).to_vec()).map(Cell::from).collect()
    });
    let cols: Vec<String> =
        std::iter::once("loss".to_owned()).chain((0..z.cols()).map(|j| format!("∂L/∂z[{j}]"))).collect();
    Step::new("Label smoothing", "y = (1 − ε)·one-hot + ε/v")
        .why("Asks for a little doubt: being too certain begins to cost, so logits stop growing. (Vaswani et al. 2017, \"Attention Is All You Need\", use ε = 0.1.)")
        .table(Table::new("", &names, &cols, cells.collect()))
}
