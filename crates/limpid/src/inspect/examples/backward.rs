//! Gradients through a small attention model, by the tape of training, beside the slope found by trying.

use super::{Told, told};
use crate::error::Result;
use crate::inspect::inputs::{Given, dims};
use crate::inspect::maths::{Matrix, loss};
use crate::inspect::model::{Step, Table};
use crate::inspect::number::short;
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::adam::{AdamStep, DecayKind, adam};
use limpid_tensor::kernels::attention::{Causality, Span};
use limpid_tensor::kernels::matmul::Accumulate;
use limpid_tensor::kernels::softmax::softmax_backward;
use limpid_tensor::ops::{AttentionPlan, Columns, LossSpec, PaddingMask};
use limpid_tensor::params::{Init, ParamId, Params};
use limpid_tensor::tape::{Gradients, Tape, Var};
use limpid_tensor::tensor::Tensor;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Step of the finite differences, and of the training step at the end.
const H: f32 = 0.02;
const RATE: f32 = 0.05;

/// W_Q, W_K, W_V and the output layer: all that can learn.
struct Model {
    params: Params,
    w: [ParamId; 3],
    out: ParamId,
    targets: Vec<u32>,
}

/// Where intermediate gradients are written down as they pass.
type Seen = Rc<RefCell<Vec<(&'static str, Matrix)>>>;

impl Model {
    /// Projections that are the identity, and an output layer that is the table of tokens: word i is to say word i + 1, the
    /// last one the end.
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
        let plan = AttentionPlan {
            heads: 1,
            scale: 1.0 / (c as f32).sqrt(),
            causality: Causality::Full,
            padding: PaddingMask::None,
            q_spans: spans.clone(),
            k_spans: spans,
        };
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

/// Passes a variable on, and writes down its gradient on the way back.
fn watch(tape: &mut Tape, x: &Var, name: &'static str, seen: &Seen) -> Var {
    let (id, seen) = (x.id(), seen.clone());
    tape.record("watch", x.value().clone(), move |dy, sweep| {
        seen.borrow_mut().push((name, matrix(&dy)));
        sweep.give(id, dy);
    })
}

/// The slope of `f` at 0, of fourth order so that the step can be large enough for f32.
fn slope(f: impl Fn(f32) -> f32) -> f32 {
    let f = |by| f64::from(f(by));
    ((8.0 * (f(H) - f(-H)) - (f(2.0 * H) - f(-2.0 * H))) / (12.0 * f64::from(H))) as f32
}

pub fn backward(given: &Given) -> Result<Told> {
    let x = given.matrix("tokens");
    let words = given.labels("words", x.rows(), "token")?;
    let (t, c) = (x.rows(), x.cols());
    let mut model = Model::new(&x);
    let seen = Seen::default();
    let mut gradients = Gradients::new(&model.params);
    let mut tape = Tape::training(&model.params, &mut gradients);
    let leaf = tape.leaf(tensor(&x));
    let loss = model.run(&mut tape, &leaf, &seen);
    let before = loss.value().item();
    tape.backward(&loss);
    let dx = matrix(leaf.id().and_then(|id| gradients.of(id)).expect("the loss depends on the tokens"));
    let by_trying =
        x.map(|i, j, _| slope(|by| model.loss(&x.map(|r, s, x| if (r, s) == (i, j) { x + by } else { x }))));
    let seen = seen.take();
    let of = |name: &str| &seen.iter().find(|(seen, _)| *seen == name).expect("watched").1;

    let mut steps = forward_steps(&x, &words, &model, before);
    steps.extend(attention_steps(&x, &words, of));
    let d = dims(c);
    steps.push(
        Step::new("Queries, keys, values", "dQ = dS_scaled·K/√d    dK = dS_scaledᵀ·Q/√d    dV = Aᵀ·dZ")
            .why("A product sends back to each factor the gradient times the other factor.")
            .tables(["dQ", "dK", "dV"].map(|name| Table::matrix(name, &words, &d, of(name)))),
    );
    let weights = ["W_Q", "W_K", "W_V"].iter().zip(model.w).map(|(name, id)| {
        let g = Matrix::new(c, c, gradients.get(&model.params, id).expect("on the way of the loss").to_vec());
        Table::matrix(format!("d{name}"), &d, &d, &g)
    });
    let classes = classes(&words);
    let g = gradients.get(&model.params, model.out).expect("on the way of the loss").to_vec();
    let d_out = Table::matrix("dW_out", &classes, &d, &Matrix::new(t + 1, c, g));
    steps.push(
        Step::new("The weights", "dW = dyᵀ·X for y = X·Wᵀ    dW_out = dlogitsᵀ·Z")
            .why("This is what training uses: how each learned number should move. (Rows are outputs, as they are stored.)")
            .tables(weights)
            .table(d_out),
    );
    steps.push(
        Step::new("The tokens, and the proof", "dX = dQ·W_Q + dK·W_K + dV·W_V    ≈ (L(x + h) − L(x − h)) / 2h")
            .why(
                "X was used three times, so three gradients add up. Beside it, the slope found by nudging each number and \
                 running the model again: nothing was differentiated there.",
            )
            .table(Table::matrix("dX by the tape", &words, &d, &dx))
            .table(Table::matrix("slope, by trying", &words, &d, &by_trying))
            .remark(format!(
                "The largest difference is {}; the numbers are f32, with seven digits.",
                short(dx.distance(&by_trying))
            )),
    );
    steps.push(learn(&mut model, &mut gradients, &x, &classes, before));
    let story = format!(
        "{} go through one self-attention and an output layer; each is to say the next word, the last one the end (.). \
         The error at the end is sent back, and every number learns what it has contributed. The way back is the way \
         there, in reverse: {t} words, {c} numbers each.",
        words.join(", ")
    );
    Ok(told(story, steps))
}

/// What can be said: the words, and the end.
fn classes(words: &[String]) -> Vec<String> {
    words.iter().cloned().chain([".".to_owned()]).collect()
}

/// The logits of every place, their loss, and where the way back begins.
fn forward_steps(x: &Matrix, words: &[String], model: &Model, mean: f32) -> Vec<Step> {
    let t = x.rows();
    let z = crate::inspect::maths::attend(x, x, x, 1, crate::inspect::maths::Sight::FULL).z;
    let w = Matrix::new(t + 1, x.cols(), model.params.get(model.out).to_vec());
    let logits = z.times_transposed(&w);
    let (losses, gradient) = loss(&logits, &model.targets, 0.0);
    let classes = classes(words);
    vec![
        Step::new("There: attention", "Z = softmax(Q·Kᵀ/√d)·V,  Q = K = V = X as W_Q = W_K = W_V = I")
            .table(Table::matrix("X", words, &dims(x.cols()), x))
            .table(Table::matrix("Z", words, &dims(x.cols()), &z)),
        Step::new("There: loss", "L = mean of −ln softmax(Z·W_outᵀ)[next word]")
            .why("The output layer is the table of words itself, with a row of 0 for the end.")
            .table(Table::matrix("p", words, &classes, &logits.softmax()))
            .table(Table::columns("", words, &[("loss", &losses)]))
            .remark(format!("The mean is L = {}.", short(mean))),
        Step::new("Back: logits", "dlogits = (p − one-hot) / T")
            .why("What was said minus what came; divided by T because L is a mean.")
            .table(Table::matrix("", words, &classes, &gradient.scaled(1.0 / t as f32))),
    ]
}

/// The inside of attention, which training computes in one go.
fn attention_steps<'a>(x: &Matrix, words: &[String], of: impl Fn(&str) -> &'a Matrix) -> Vec<Step> {
    let t = x.rows();
    let weights =
        crate::inspect::maths::attend(x, x, x, 1, crate::inspect::maths::Sight::FULL).weights.swap_remove(0);
    let da = of("dZ").times_transposed(x);
    let mut ds = vec![0.0; t * t];
    softmax_backward(&mut ds, da.data(), weights.data(), t, Accumulate::Overwrite);
    vec![
        Step::new("Attention's output", "dZ = dlogits·W_out").table(Table::matrix("", words, &dims(x.cols()), of("dZ"))),
        Step::new("Weights and scores", "dA = dZ·Vᵀ    dS_scaled = A ∘ (dA − Σ_j A ∘ dA),  S_scaled = Q·Kᵀ/√d")
            .why("Here · multiplies matrices, ∘ number by number; Σ_j sums a row. Rows of dS_scaled sum to 0: softmax only sees \
                 differences of scores. A small weight lets little through.")
            .table(Table::matrix("dA", words, words, &da))
            .table(Table::matrix("dS_scaled", words, words, &Matrix::new(t, t, ds))),
    ]
}

/// One step of Adam on every parameter, and the loss after it.
fn learn(model: &mut Model, gradients: &mut Gradients, x: &Matrix, classes: &[String], before: f32) -> Step {
    let ids: Vec<ParamId> = model.w.iter().copied().chain([model.out]).collect();
    for id in ids {
        let g = gradients.get(&model.params, id).expect("on the way of the loss").to_vec();
        let (mut m, mut v) = (vec![0.0; g.len()], vec![0.0; g.len()]);
        let step = AdamStep {
            lr: RATE,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            decay: 0.0,
            kind: DecayKind::Decoupled,
            clip: 1.0,
            t: 1,
        };
        adam(model.params.get_mut(id), &mut m, &mut v, &g, step);
    }
    let (after, c) = (model.loss(x), x.cols());
    let names = ["before", "after"].map(str::to_owned);
    Step::new("One step of learning", format!("Adam: w ← w − lr·m̂/(√v̂ + ε),  lr = {}", short(RATE)))
        .why("W_Q, W_K, W_V and W_out move, the tokens X stay. In its first step Adam has m̂ = g and √v̂ = |g|, so every number \
             with a gradient moves by lr against its sign; and the same words cost less.")
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
