//! Recurrent cells, one time step after another: tanh, LSTM and GRU.

use super::{Walkthrough, dot_product_text, strings, walkthrough};
use crate::error::Result;
use crate::explain::inputs::{Arguments, dims, plural};
use crate::explain::maths::{Matrix, RecurrentState, RecurrentWeights, gradient_by_state};
use crate::explain::model::{Step, Table};
use crate::explain::number::short;
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::recurrent::Cell;

/// The inputs of an example: a sequence, and the weights of a cell.
struct Layer {
    x: Matrix,
    words: Vec<String>,
    weights: RecurrentWeights,
}

/// One computed time step: the state before and after it, and the terms of its gates.
struct TimeStep {
    before: RecurrentState,
    after: RecurrentState,
    /// x·W_xᵀ, (g·h).
    from_input: Vec<f32>,
    /// h·W_hᵀ, (g·h).
    from_state: Vec<f32>,
    /// The gates after their activations, (g·h).
    gates: Vec<f32>,
}

impl Layer {
    fn new(args: &Arguments, cell: Cell) -> Result<Self> {
        let x = args.matrix("tokens");
        let words = args.labels("words", x.rows(), "token")?;
        let (w_x, w_h, bias) = (args.matrix("w-x"), args.matrix("w-h"), args.row("bias"));
        let (rows, h) = (w_h.rows(), w_h.cols());
        let stacked = match cell {
            Cell::Tanh => "it maps the state to a state of the same width",
            Cell::Gru => "its rows are the gates r, z and n, each as wide as the state",
            Cell::Lstm => "its rows are the gates i, f, g and o, each as wide as the state",
        };
        args.check_shape("w-h", &w_h, Some(cell.gates() * h), None, stacked)?;
        let reason = "as many rows as w-h, and a column for each number of a token";
        args.check_shape("w-x", &w_x, Some(rows), Some(x.cols()), reason)?;
        args.check_length("bias", bias.len(), rows, "one for each row of w-h")?;
        Ok(Self { x, words, weights: RecurrentWeights { cell, w_x, w_h, bias } })
    }

    fn width(&self) -> usize {
        self.weights.w_h.cols()
    }

    /// All time steps, by the kernel.
    fn run(&self) -> Vec<TimeStep> {
        let mut state = RecurrentState::zeros(self.width());
        let mut steps = Vec::new();
        for x in self.x.iter_rows() {
            let before = state.clone();
            let (after, gates) = self.weights.step(x, &before);
            state = after.clone();
            let from_input = Matrix::row_of(x).times_transposed(&self.weights.w_x).row(0).to_vec();
            let from_state =
                Matrix::row_of(&before.h).times_transposed(&self.weights.w_h).row(0).to_vec();
            steps.push(TimeStep { before, after, from_input, from_state, gates });
        }
        steps
    }

    /// Labels of the rows of the weights: "i1", "i2", "f1", … or "h1", "h2", ….
    fn gate_labels(&self, gates: &[&str]) -> Vec<String> {
        let h = self.width();
        gates.iter().flat_map(|gate| (1..=h).map(move |j| format!("{gate}{j}"))).collect()
    }

    /// The sequence and the weights.
    fn parameters(&self, labels: &[String], formula: &str) -> Step {
        let (i, h) = (self.x.cols(), self.width());
        let states: Vec<String> = (1..=h).map(|j| format!("h{j}")).collect();
        Step::new("Inputs and weights", formula)
            .why(format!(
                "{}, a state of {} that starts at 0. The same weights are used at every time step.",
                plural(self.x.rows(), "token"),
                plural(h, "number")
            ))
            .table(Table::matrix("x", &self.words, &dims(i), &self.x))
            .table(Table::matrix("W_x", labels, &dims(i), &self.weights.w_x))
            .table(Table::matrix("W_h", labels, &states, &self.weights.w_h))
            .table(Table::columns("", labels, &[("b", &self.weights.bias)]))
    }

    /// The first row of W_x times the input, with its operands.
    fn first_product(&self, t: usize, step: &TimeStep, label: &str) -> String {
        let dot = dot_product_text(self.weights.w_x.row(0), self.x.row(t), step.from_input[0]);
        format!("{label}, first row of W_x times x: {dot}.")
    }
}

/// Sums of the three terms of each gate, before its activation. The kernel adds in this order.
fn sums(layer: &Layer, step: &TimeStep) -> Vec<f32> {
    let x = Matrix::row_of(&step.from_input).plus_row(&layer.weights.bias);
    x.plus_row(&step.from_state).row(0).to_vec()
}

pub fn tanh_cell(args: &Arguments) -> Result<Walkthrough> {
    let layer = Layer::new(args, Cell::Tanh)?;
    let labels = layer.gate_labels(&["h"]);
    let run = layer.run();
    let mut steps =
        vec![layer.parameters(&labels, "h_t = tanh(x_t·W_xᵀ + h_{t−1}·W_hᵀ + b),  h_0 = 0")];
    for (t, step) in run.iter().enumerate() {
        let title = format!("Time step {}: {}", t + 1, layer.words[t]);
        steps.push(
            Step::new(title, format!("h_{} = tanh(x·W_xᵀ + h_{t}·W_hᵀ + b)", t + 1))
                .table(Table::columns(
                    "",
                    &labels,
                    &[
                        ("h before", &step.before.h),
                        ("x·W_xᵀ", &step.from_input),
                        ("h·W_hᵀ", &step.from_state),
                        ("b", &layer.weights.bias),
                        ("sum", &sums(&layer, step)),
                        ("h after", &step.after.h),
                    ],
                ))
                .remark(layer.first_product(t, step, &labels[0])),
        );
    }
    let last = &run[run.len() - 1];
    steps.push(
        Step::new("One vector for the whole sequence", format!("h_{}", run.len()))
            .why(
                "An encoder-decoder without attention hands this state alone to its decoder: a \
                 sentence of any length in as many numbers. Attention lifts that limit.",
            )
            .table(Table::columns("", &labels, &[("h", &last.after.h)])),
    );
    steps.push(vanishing(&layer, &run, &labels));
    let introduction = format!(
        "A recurrent network reads {} one after another: {}. Each time step computes the new state \
         from the input and the old state, so step t has to wait for step t − 1.",
        plural(layer.x.rows(), "token"),
        layer.words.join(", ")
    );
    Ok(walkthrough(introduction, steps))
}

/// The gradient of the sum of the last state by each earlier one, by the kernel of the backward
/// pass.
fn vanishing(layer: &Layer, run: &[TimeStep], labels: &[String]) -> Step {
    let t = run.len();
    let mut gradient = vec![1.0; layer.width()];
    let mut rows = vec![gradient.clone()];
    for step in run.iter().rev() {
        gradient = gradient_by_state(&layer.weights, &step.gates, &gradient);
        rows.push(gradient.clone());
    }
    rows.reverse();
    let names: Vec<String> = (0..=t).map(|i| format!("by h_{i}")).collect();
    let matrix = Matrix::new(t + 1, layer.width(), rows.concat());
    Step::new(
        "The gradient through time",
        "∂L/∂h_{t−1} = (∂L/∂h_t ∘ (1 − h_t²))·W_h,  L = Σ h_T",
    )
    .why(
        "Every step back multiplies by 1 − h² ≤ 1 and by W_h: over many steps the gradient usually \
         vanishes, and early inputs are hardly learned from. (It can also explode.) LSTM and GRU \
         have a path that avoids this.",
    )
    .table(Table::matrix("", &names, labels, &matrix))
}

pub fn lstm(args: &Arguments) -> Result<Walkthrough> {
    let layer = Layer::new(args, Cell::Lstm)?;
    let labels = layer.gate_labels(&["i", "f", "g", "o"]);
    let (h, run) = (layer.width(), layer.run());
    let units: Vec<String> = (1..=h).map(|j| format!("unit {j}")).collect();
    let mut steps =
        vec![layer.parameters(
            &labels,
            "i, f, o = σ(x·W_xᵀ + h·W_hᵀ + b)    g = tanh(x·W_xᵀ + h·W_hᵀ + b)",
        )];
    for (t, step) in run.iter().enumerate() {
        steps.push(gate_step(&layer, t, step, &labels, "i, f, o = σ(sum),  g = tanh(sum)"));
        let gate = |k: usize| &step.gates[k * h..(k + 1) * h];
        let squashed = Matrix::row_of(&step.after.c).activated(Activation::Tanh);
        steps.push(
            Step::new(format!("State {}", t + 1), "c′ = f ∘ c + i ∘ g    h′ = o ∘ tanh(c′)")
                .table(Table::columns(
                    "cell state",
                    &units,
                    &[
                        ("f", gate(1)),
                        ("c", &step.before.c),
                        ("i", gate(0)),
                        ("g", gate(2)),
                        ("c′", &step.after.c),
                    ],
                ))
                .table(Table::columns(
                    "hidden state",
                    &units,
                    &[("o", gate(3)), ("tanh(c′)", squashed.row(0)), ("h′", &step.after.h)],
                ))
                .remark(format!(
                    "Unit 1: c′ = {}·{} + {}·{} = {}.",
                    short(gate(1)[0]),
                    bracketed(step.before.c[0]),
                    short(gate(0)[0]),
                    bracketed(gate(2)[0]),
                    short(step.after.c[0])
                )),
        );
    }
    steps.push(carried(&run, &units, h));
    let introduction = format!(
        "An LSTM reads {}. Beside its hidden state h it has a cell state c, and three gates \
         between 0 and 1: i writes the candidate g to it, f keeps the old content, o lets it out. \
         (Hochreiter and Schmidhuber 1997; forget gate: Gers et al. 2000.)",
        layer.words.join(", ")
    );
    Ok(walkthrough(introduction, steps))
}

/// How much of each cell state is left at the end: the product of the later forget gates.
fn carried(run: &[TimeStep], units: &[String], h: usize) -> Step {
    let t = run.len();
    let mut shares = vec![vec![1.0_f32; h]];
    for step in run.iter().rev() {
        let forget = &step.gates[h..2 * h];
        let next = shares[shares.len() - 1].iter().zip(forget).map(|(share, f)| share * f);
        shares.push(next.collect());
    }
    shares.reverse();
    let names: Vec<String> = (0..=t).map(|i| format!("of c_{i}")).collect();
    let matrix = Matrix::new(t + 1, h, shares.concat());
    Step::new("The path through time", "∂c_T/∂c_t along the cell state = f_{t+1} ∘ … ∘ f_T")
        .why(
            "The cell state is added to, not multiplied by a matrix: with forget gates near 1 its \
             content, and its gradient, pass many steps. Biases of f are therefore often started \
             at 1.",
        )
        .table(Table::matrix("", &names, units, &matrix))
}

pub fn gru(args: &Arguments) -> Result<Walkthrough> {
    let layer = Layer::new(args, Cell::Gru)?;
    let labels = layer.gate_labels(&["r", "z", "n"]);
    let (h, run) = (layer.width(), layer.run());
    let units: Vec<String> = (1..=h).map(|j| format!("unit {j}")).collect();
    let mut steps = vec![layer.parameters(
        &labels,
        "r, z = σ(x·W_xᵀ + h·W_hᵀ + b)    n = tanh(x·W_xᵀ + b + r ∘ (h·W_hᵀ))",
    )];
    for (t, step) in run.iter().enumerate() {
        steps.push(gate_step(
            &layer,
            t,
            step,
            &labels,
            "r, z = σ(sum),  n = tanh(x·W_xᵀ + b + r ∘ (h·W_hᵀ))",
        ));
        let gate = |k: usize| &step.gates[k * h..(k + 1) * h];
        steps.push(
            Step::new(format!("State {}", t + 1), "h′ = (1 − z) ∘ n + z ∘ h")
                .table(Table::columns(
                    "",
                    &units,
                    &[("z", gate(1)), ("n", gate(2)), ("h", &step.before.h), ("h′", &step.after.h)],
                ))
                .remark(format!(
                    "Unit 1: h′ = (1 − {})·{} + {}·{} = {}.",
                    short(gate(1)[0]),
                    bracketed(gate(2)[0]),
                    short(gate(1)[0]),
                    bracketed(step.before.h[0]),
                    short(step.after.h[0])
                )),
        );
    }
    steps.push(compared(h, layer.x.cols()));
    let introduction = format!(
        "A GRU reads {}. It has one state and two gates between 0 and 1: r resets the old state \
         inside the candidate n, z mixes the candidate with the old state. (Cho et al. 2014.)",
        layer.words.join(", ")
    );
    Ok(walkthrough(introduction, steps))
}

/// The parameters of the three cells.
fn compared(h: usize, i: usize) -> Step {
    let names = strings(&["tanh", "GRU", "LSTM"]);
    let gates = [Cell::Tanh, Cell::Gru, Cell::Lstm].map(|cell| cell.gates() as f32);
    let counts = gates.map(|g| g * (h * (i + h + 1)) as f32);
    Step::new("Compared with the other cells", format!("g·h·(i + h + 1),  i = {i}, h = {h}"))
        .why(
            "Parameters, with one bias per gate. z = 1 keeps the old state and z = 0 replaces it, \
             as in Cho et al. 2014 and PyTorch; some texts exchange the two. r is applied after \
             the product with W_h, as PyTorch and cuDNN do.",
        )
        .table(Table::columns("", &names, &[("gates", &gates), ("parameters", &counts)]))
}

/// The gates of one time step with their terms.
fn gate_step(layer: &Layer, t: usize, step: &TimeStep, labels: &[String], formula: &str) -> Step {
    let mut columns = vec![
        ("x·W_xᵀ", &step.from_input[..]),
        ("h·W_hᵀ", &step.from_state[..]),
        ("b", &layer.weights.bias[..]),
    ];
    // The candidate of a GRU is no plain sum: the reset gate is between its terms.
    let sums = sums(layer, step);
    if layer.weights.cell == Cell::Lstm {
        columns.push(("sum", &sums));
    }
    columns.push(("gate", &step.gates));
    Step::new(format!("Gates {}: {}", t + 1, layer.words[t]), formula)
        .table(Table::columns("", labels, &columns))
        .remark(layer.first_product(t, step, &labels[0]))
}

/// A number with a sign gets brackets.
fn bracketed(x: f32) -> String {
    if x < 0.0 { format!("({})", short(x)) } else { short(x) }
}
