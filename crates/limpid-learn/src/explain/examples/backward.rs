//! Gradients through a small attention model, by the tape that training uses, beside numerical
//! gradients.

use super::{Walkthrough, walkthrough};
use crate::error::Result;
use crate::explain::inputs::{Arguments, dims};
use crate::explain::maths::{Matrix, loss};
use crate::explain::model::{Step, Table};
use crate::explain::number::short;
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::adam::{AdamStep, DecayMode, adam};
use limpid_tensor::kernels::attention::{Causality, Span};
use limpid_tensor::kernels::matmul::Accumulate;
use limpid_tensor::kernels::softmax::softmax_backward;
use limpid_tensor::ops::{AttentionPlan, Columns, LossSpec};
use limpid_tensor::params::{Init, ParamId, Params};
use limpid_tensor::tape::{Gradients, Tape, Var};
use limpid_tensor::tensor::Tensor;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Step of the finite differences.
const H: f32 = 0.02;
/// Learning rate of the training step at the end.
const RATE: f32 = 0.05;

/// W_Q, W_K, W_V and the output layer: all trainable parameters.
struct Model {
    params: Params,
    w: [ParamId; 3],
    out: ParamId,
    targets: Vec<u32>,
}

/// Intermediate gradients, recorded during the backward pass.
type Seen = Rc<RefCell<Vec<(&'static str, Matrix)>>>;

impl Model {
    /// Projections that are the identity, and an output layer that is the table of tokens: the
    /// target of word i is word i + 1, that of the last one the end.
    fn new(x: &Matrix) -> Self {
        let (t, c) = (x.rows(), x.cols());
        let mut builder = Params::builder();
        let w = ["W_Q", "W_K", "W_V"].map(|name| builder.add(name, [c, c], Init::Zeros));
        let out = builder.add("W_out", [t + 1, c], Init::Zeros);
        let mut params = builder.build(0);
        for id in w {
            params.get_mut(id).copy_from_slice(Matrix::identity(c).data());
        }
        params.get_mut(out)[..t * c].copy_from_slice(x.data());
        Self { params, w, out, targets: (1..=t as u32).collect() }
    }

    /// The loss, recorded on a tape.
    fn run(&self, tape: &mut Tape, x: &Var, seen: &Seen) -> Var {
        let (t, c) = x.rows_cols();
        let names = ["dQ", "dK", "dV"];
        let [q, k, v] = [0, 1, 2].map(|i| {
            let y = tape.linear(x, self.w[i], None, Activation::None);
            Columns { of: watch(tape, &y, names[i], seen), first: 0, width: c }
        });
        let spans: Arc<[Span]> = [Span { start: 0, len: t }].into();
        let scale = 1.0 / (c as f32).sqrt();
        let plan = AttentionPlan::new(1, scale, Causality::Full, &spans, &spans);
        let z = tape.attention(q, k, v, &plan);
        let z = watch(tape, &z, "dZ", seen);
        let spec = LossSpec { smoothing: 0.0, weight: 1.0 / t as f32 };
        tape.output_loss(&z, self.out, None, &self.targets, spec)
    }

    /// The loss alone.
    fn loss(&self, x: &Matrix) -> f32 {
        let x = Var::constant(tensor(x));
        self.run(&mut Tape::inference(&self.params), &x, &Seen::default()).value().item()
    }
}

fn tensor(x: &Matrix) -> Tensor {
    Tensor::new([x.rows(), x.cols()], x.data())
}

fn matrix(x: &Tensor) -> Matrix {
    let (rows, cols) = x.rows_cols();
    Matrix::new(rows, cols, x.data().to_vec())
}

/// The identity, which records its gradient in the backward pass.
fn watch(tape: &mut Tape, x: &Var, name: &'static str, seen: &Seen) -> Var {
    let (id, seen) = (x.id(), seen.clone());
    tape.record("watch", x.value().clone(), move |dy, pass| {
        seen.borrow_mut().push((name, matrix(&dy)));
        pass.add_gradient(id, dy);
    })
}

/// The derivative of `f` at 0 by finite differences, of fourth order so that the step can be large
/// enough for f32.
fn derivative(f: impl Fn(f32) -> f32) -> f32 {
    let f = |by| f64::from(f(by));
    ((8.0 * (f(H) - f(-H)) - (f(2.0 * H) - f(-2.0 * H))) / (12.0 * f64::from(H))) as f32
}

pub fn backward(args: &Arguments) -> Result<Walkthrough> {
    let x = args.matrix("tokens");
    let words = args.labels("words", x.rows(), "token")?;
    let (t, c) = (x.rows(), x.cols());
    let mut model = Model::new(&x);
    let seen = Seen::default();
    let mut gradients = Gradients::new(&model.params);
    let mut tape = Tape::training(&model.params, &mut gradients);
    let leaf = tape.leaf(tensor(&x));
    let loss = model.run(&mut tape, &leaf, &seen);
    let before = loss.value().item();
    tape.backward(&loss);
    let dx =
        matrix(leaf.id().and_then(|id| gradients.of(id)).expect("the loss depends on the tokens"));
    let numerical = x.map(|i, j, _| {
        derivative(|by| model.loss(&x.map(|r, s, x| if (r, s) == (i, j) { x + by } else { x })))
    });
    let seen = seen.take();
    let of = |name: &str| &seen.iter().find(|(seen, _)| *seen == name).expect("watched").1;

    let mut steps = forward_steps(&x, &words, &model, before);
    steps.extend(attention_steps(&x, &words, of));
    let d = dims(c);
    steps.push(
        Step::new(
            "Queries, keys, values",
            "dQ = dS_scaled·K/√d    dK = dS_scaledᵀ·Q/√d    dV = Aᵀ·dZ",
        )
        .why("The gradient by one factor of a product is the output's gradient times the other.")
        .tables(["dQ", "dK", "dV"].map(|name| Table::matrix(name, &words, &d, of(name)))),
    );
    let weights = ["W_Q", "W_K", "W_V"].iter().zip(model.w).map(|(name, id)| {
        let g = Matrix::new(
            c,
            c,
            gradients.get(&model.params, id).expect("the loss depends on it").to_vec(),
        );
        Table::matrix(format!("d{name}"), &d, &d, &g)
    });
    let classes = classes(&words);
    let g = gradients.get(&model.params, model.out).expect("the loss depends on it").to_vec();
    let d_out = Table::matrix("dW_out", &classes, &d, &Matrix::new(t + 1, c, g));
    steps.push(
        Step::new("The weights", "dW = dyᵀ·X for y = X·Wᵀ    dW_out = dlogitsᵀ·Z")
            .why("This is what an optimizer uses. (Rows are outputs, as they are stored.)")
            .tables(weights)
            .table(d_out),
    );
    steps.push(
        Step::new(
            "The tokens, and the proof",
            "dX = dQ·W_Q + dK·W_K + dV·W_V    ≈ (L(x + h) − L(x − h)) / 2h",
        )
        .why(
            "X is used three times, so three gradients add up. Beside it, the numerical gradient \
             (finite differences): each number is changed a little and the model runs again; \
             nothing is differentiated.",
        )
        .table(Table::matrix("dX by the tape", &words, &d, &dx))
        .table(Table::matrix("numerical gradient", &words, &d, &numerical))
        .remark(format!(
            "The largest difference is {}; the numbers are f32, with seven digits.",
            short(dx.distance(&numerical))
        )),
    );
    steps.push(optimizer_step(&mut model, &mut gradients, &x, &classes, before));
    let introduction = format!(
        "{} go through one self-attention and an output layer; each predicts the next word, the \
         last one the end (.). The backward pass runs the forward pass in reverse and gives the \
         gradient of the loss by every number: {t} words, {c} numbers each.",
        words.join(", ")
    );
    Ok(walkthrough(introduction, steps))
}

/// The vocabulary: the words, and the end.
fn classes(words: &[String]) -> Vec<String> {
    words.iter().cloned().chain([".".to_owned()]).collect()
}

/// The forward pass, and the gradient by the logits.
fn forward_steps(x: &Matrix, words: &[String], model: &Model, mean: f32) -> Vec<Step> {
    let t = x.rows();
    let z = crate::explain::maths::attend(x, x, x, 1, crate::explain::maths::Mask::FULL).z;
    let w = Matrix::new(t + 1, x.cols(), model.params.get(model.out).to_vec());
    let logits = z.times_transposed(&w);
    let (losses, gradient) = loss(&logits, &model.targets, 0.0);
    let classes = classes(words);
    vec![
        Step::new(
            "Forward: attention",
            "Z = softmax(Q·Kᵀ/√d)·V,  Q = K = V = X as W_Q = W_K = W_V = I",
        )
        .table(Table::matrix("X", words, &dims(x.cols()), x))
        .table(Table::matrix("Z", words, &dims(x.cols()), &z)),
        Step::new("Forward: loss", "L = mean of −ln softmax(Z·W_outᵀ)[next word]")
            .why("The output layer is the token table itself, with a row of 0 for the end.")
            .table(Table::matrix("p", words, &classes, &logits.softmax()))
            .table(Table::columns("", words, &[("loss", &losses)]))
            .remark(format!("The mean is L = {}.", short(mean))),
        Step::new("Backward: logits", "dlogits = (p − one-hot) / T")
            .why("Prediction minus target; divided by T because L is a mean.")
            .table(Table::matrix("", words, &classes, &gradient.scaled(1.0 / t as f32))),
    ]
}

/// The gradients inside attention, which training computes in one kernel.
fn attention_steps<'a>(x: &Matrix, words: &[String], of: impl Fn(&str) -> &'a Matrix) -> Vec<Step> {
    let t = x.rows();
    let weights = crate::explain::maths::attend(x, x, x, 1, crate::explain::maths::Mask::FULL)
        .weights
        .swap_remove(0);
    let da = of("dZ").times_transposed(x);
    let mut ds = vec![0.0; t * t];
    softmax_backward(&mut ds, da.data(), weights.data(), t, Accumulate::Overwrite);
    vec![
        Step::new("Attention's output", "dZ = dlogits·W_out").table(Table::matrix(
            "",
            words,
            &dims(x.cols()),
            of("dZ"),
        )),
        Step::new(
            "Weights and scores",
            "dA = dZ·Vᵀ    dS_scaled = A ∘ (dA − Σ_j A ∘ dA),  S_scaled = Q·Kᵀ/√d",
        )
        .why(
            "Here · multiplies matrices, ∘ element by element; Σ_j sums a row. Rows of dS_scaled \
             sum to 0: softmax depends on differences of scores only. A small weight lets little \
             gradient through.",
        )
        .table(Table::matrix("dA", words, words, &da))
        .table(Table::matrix("dS_scaled", words, words, &Matrix::new(t, t, ds))),
    ]
}

/// One step of Adam on every parameter, and the loss after it.
fn optimizer_step(
    model: &mut Model,
    gradients: &mut Gradients,
    x: &Matrix,
    classes: &[String],
    before: f32,
) -> Step {
    let ids: Vec<ParamId> = model.w.iter().copied().chain([model.out]).collect();
    for id in ids {
        let g = gradients.get(&model.params, id).expect("the loss depends on it").to_vec();
        let (mut m, mut v) = (vec![0.0; g.len()], vec![0.0; g.len()]);
        let step = AdamStep {
            lr: RATE,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            weight_decay: 0.0,
            decay_mode: DecayMode::Decoupled,
            clip: 1.0,
            t: 1,
        };
        adam(model.params.get_mut(id), &mut m, &mut v, &g, step);
    }
    let (after, c) = (model.loss(x), x.cols());
    let names = ["before", "after"].map(str::to_owned);
    let formula = format!("Adam: w ← w − lr·m̂/(√v̂ + ε),  lr = {}", short(RATE));
    Step::new("One optimizer step", formula)
        .why(
            "W_Q, W_K, W_V and W_out change, the tokens X stay. In its first step Adam has m̂ = g \
             and √v̂ = |g|, so every number with a gradient moves by lr against its sign; the loss \
             of the same words falls.",
        )
        .table(Table::columns("", &names, &[("L", &[before, after])]))
        .tables(["W_Q", "W_K", "W_V"].iter().zip(model.w).map(|(name, id)| {
            let moved = Matrix::new(c, c, model.params.get(id).to_vec());
            Table::matrix(format!("{name} after"), &dims(c), &dims(c), &moved)
        }))
        .table(Table::matrix(
            "W_out after",
            classes,
            &dims(c),
            &Matrix::new(classes.len(), c, model.params.get(model.out).to_vec()),
        ))
}
