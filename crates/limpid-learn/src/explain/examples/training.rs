//! Teacher forcing, and the cross-entropy loss.

use super::{Walkthrough, strings, walkthrough};
use crate::error::{ExampleError, Expected, Result};
use crate::explain::inputs::Arguments;
use crate::explain::maths::{Mask, Matrix, loss, visible};
use crate::explain::model::{Cell, Step, Table};
use crate::explain::number::{list, short};

const START: &str = "<start>";

pub fn teacher_forcing(args: &Arguments) -> Result<Walkthrough> {
    let (target, source, p) =
        (args.words("target"), args.words("source"), args.row("probabilities"));
    let t = target.len();
    args.check_length("probabilities", p.len(), t, "one for each target word, <eos> included")?;
    let inputs: Vec<String> =
        std::iter::once(START.to_owned()).chain(target[..t - 1].to_vec()).collect();
    let positions: Vec<String> = (1..=t).map(|i| format!("t = {i}")).collect();
    let shifted =
        (0..t).map(|i| vec![inputs[i].as_str().into(), target[i].as_str().into()]).collect();

    // Two classes, the target and all others: the logs of their probabilities are their logits.
    let logits: Vec<f32> = p.iter().flat_map(|p| [p.ln(), (1.0 - p).ln()]).collect();
    let (losses, _) = loss(&Matrix::new(t, 2, logits), &vec![0; t], 0.0);
    let sum: f32 = losses.iter().sum();
    let mean = sum / t as f32;
    let product: f32 = p.iter().product();

    let steps =
        vec![
        Step::new("Shifted right", "input[t] = target[t−1],  input[1] = <start>")
            .why(
                "At every position the decoder's input is the true words so far, and its target is \
                 the next one, whatever it would have predicted. All positions are trained in one \
                 pass.",
            )
            .table(Table::new("", &positions, &strings(&["input", "target"]), shifted))
            .remark(format!(
                "With a start token there are as many terms as words: T = {t}. Without one nothing \
                 precedes the first word, and there are T − 1 = {}. Here there is one.",
                t - 1
            )),
        Step::new("Visible inputs", "visible[t][j] = 1 if j ≤ t")
            .why("The causal mask hides the targets, though all inputs are present at once.")
            .table(Table::matrix("", &target, &inputs, &visible(t, t, Mask::CAUSAL))),
        Step::new("Loss of each position", "L[t] = −ln p(word t | words before it, source)")
            .why(
                "The probabilities p are made up for this example (option probabilities); a model \
                 would compute them.",
            )
            .table(Table::columns("", &target, &[("p", &p), ("−ln p", &losses)])),
        Step::new("Loss of the sentence", "sum = Σ_t L[t] = −ln Π_t p[t]    mean = sum / T")
            .why("The likelihood of the sentence is a product of probabilities; its logarithm is a \
                  sum.")
            .table(Table::new(
                "",
                &strings(&["Π p", "sum", "mean", "perplexity e^mean"]),
                &[String::new()],
                [product, sum, mean, mean.exp()].map(|x| vec![Cell::from(x)]).to_vec(),
            ))
            .misconception(
                "\"the sum averages the loss over the words\"",
                format!("a sum, {}; the average is {}", short(sum), short(mean)),
                format!("one is {t} times the other: a report has to say which one it gives"),
            ),
        free_running(&target, &inputs, &positions),
    ];
    let introduction = format!(
        "A translator learns that \"{}\" is \"{}\". It is trained like a pupil whose teacher \
         corrects every word at once: a mistake costs, but the next word is predicted from the \
         true ones.",
        source.join(" "),
        target.join(" ")
    );
    Ok(walkthrough(introduction, steps))
}

/// The decoder's inputs with teacher forcing, and without it after a mistake.
fn free_running(target: &[String], inputs: &[String], positions: &[String]) -> Step {
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
    Step::new("Without teacher forcing", "free running: input[t] = the model's own word t − 1")
        .why(format!(
            "Suppose the model gets \"{}\" wrong. With teacher forcing the next input is correct \
             again; free running, as in generation, continues from the mistake, and each word has \
             to wait for the one before.",
            target[mistake]
        ))
        .table(Table::new("", positions, &strings(&["teacher forcing", "free running"]), cells))
}

pub fn cross_entropy(args: &Arguments) -> Result<Walkthrough> {
    let (logits, target, smoothing) =
        (args.row("logits"), args.count("target"), args.number("smoothing"));
    let v = logits.len();
    if target >= v {
        let (text, expected) = (target.to_string(), Expected::Integer(0, v - 1));
        return Err(ExampleError::OutOfRange { option: "target", text, expected }.into());
    }
    let z = Matrix::row_of(&logits);
    let p = z.softmax();
    let at = |z: &Matrix, smoothing: f32| loss(z, &[target as u32], smoothing);
    let (losses, gradient) = at(&z, smoothing);
    let names: Vec<String> = (0..v)
        .map(|j| format!("class {j}{}", if j == target { " (target)" } else { "" }))
        .collect();
    let targets: Vec<f32> = (0..v)
        .map(|j| f32::from(u8::from(j == target)) * (1.0 - smoothing) + smoothing / v as f32)
        .collect();
    // Fourth order, so that the step can be large enough for f32.
    let finite_difference = |j: usize| {
        let nudged = |by: f32| {
            f64::from(at(&z.map(|_, i, z| if i == j { z + by } else { z }), smoothing).0[0])
        };
        let h = 0.05_f32;
        ((8.0 * (nudged(h) - nudged(-h)) - (nudged(2.0 * h) - nudged(-2.0 * h)))
            / (12.0 * f64::from(h))) as f32
    };
    let numerical: Vec<f32> = (0..v).map(finite_difference).collect();

    let steps =
        vec![
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
        .why("0 if the target has probability 1; it grows without bound as that goes to 0.")
        .table(Table::columns("", &strings(&["L"]), &[("", &losses)])),
        Step::new(
            "Gradient",
            if smoothing == 0.0 { "∂L/∂z = p − y" } else { "∂L/∂z = p − y,  y smoothed" },
        )
        .why(
            "Prediction minus target. It sums to 0: what one logit gains, others lose. The last \
             column is the numerical gradient (finite differences).",
        )
        .table(Table::columns(
            "",
            &names,
            &[
                ("p", p.row(0)),
                ("y", &targets),
                ("p − y", gradient.row(0)),
                ("numerical", &numerical),
            ],
        )),
        losses_by_probability(),
        smoothed(&z, target),
    ];
    let introduction = format!(
        "A classifier of {v} {} gives the logits {}. Class {target} is the target. How large is \
         the loss, and in which direction should each logit move?",
        if v == 1 { "class" } else { "classes" },
        list(&logits)
    );
    Ok(walkthrough(introduction, steps))
}

fn losses_by_probability() -> Step {
    let p = [0.99_f32, 0.9, 0.5, 0.1, 0.01, 0.001];
    let logits: Vec<f32> = p.iter().flat_map(|p| [p.ln(), (1.0 - p).ln()]).collect();
    let (losses, _) = loss(&Matrix::new(p.len(), 2, logits), &[0; 6], 0.0);
    let names: Vec<String> = p.iter().map(|p| format!("p = {}", short(*p))).collect();
    Step::new("Loss by probability", "−ln p").table(Table::columns(
        "",
        &names,
        &[("loss", &losses)],
    ))
}

fn smoothed(z: &Matrix, target: usize) -> Step {
    let amounts = [0.0_f32, 0.1, 0.2];
    let names: Vec<String> = amounts.iter().map(|e| format!("ε = {}", short(*e))).collect();
    let rows = amounts.map(|e| loss(z, &[target as u32], e));
    let cells = rows.iter().map(|(loss, gradient)| {
        std::iter::once(loss[0]).chain(gradient.row(0).to_vec()).map(Cell::from).collect()
    });
    let cols: Vec<String> = std::iter::once("loss".to_owned())
        .chain((0..z.cols()).map(|j| format!("∂L/∂z[{j}]")))
        .collect();
    Step::new("Label smoothing", "y = (1 − ε)·one-hot + ε/v")
        .why(
            "The target keeps a little uncertainty: overconfidence begins to cost, so logits stop \
             growing. (Vaswani et al. 2017, \"Attention Is All You Need\", use ε = 0.1.)",
        )
        .table(Table::new("", &names, &cols, cells.collect()))
}
