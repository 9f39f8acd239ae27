//! `limpid bench step rnn`: recurrent layers only: forward pass, backward pass through time,
//! optimizer.

use super::interactive::memory_mb;
use super::step::{StepBenchmark, Work};
use super::{check_memory, check_positive, check_seconds, check_tokens};
use crate::args::BenchRnn;
use crate::error::Result;
use limpid::data::batch::Packed;
use limpid::model::config::{Cell, RecurrentAttention, RecurrentConfig};
use limpid::nn::Named;
use limpid_tensor::kernels::recurrent::{Direction, TimeOrder};
use limpid_tensor::machine::LinearShape;
use limpid_tensor::ops::{RecurrentState, RecurrentWeights};
use limpid_tensor::params::{Init, Params};
use limpid_tensor::rng::Stream;
use limpid_tensor::tape::{Tape, Var};
use limpid_tensor::tensor::Tensor;
use std::sync::Arc;

/// Layers on a fixed input, and the weights of their outputs in the loss.
pub struct Layers {
    weights: Vec<RecurrentWeights>,
    order: Arc<TimeOrder>,
    x: Var,
    zeros: RecurrentState,
    loss: Tensor,
}

impl Layers {
    /// Σ y·weight, so that every output has its own gradient.
    pub fn loss(&self, tape: &mut Tape) -> Var {
        let mut y = self.x.clone();
        for weights in &self.weights {
            y = tape.recurrent(&y, *weights, Direction::Forward, &self.order, &self.zeros).0;
        }
        tape.weighted_sum(&y, &self.loss)
    }
}

/// Layers of the given shape.
pub fn benchmark(args: &BenchRnn) -> Result<StepBenchmark> {
    check_positive(&[("batch", args.batch), ("length", args.length)])?;
    let cell = Cell::from_name(&args.cell)?;
    // Validates the sizes with the configuration of a model of such layers.
    let config = RecurrentConfig::new(2, cell, RecurrentAttention::None, args.layers, args.width);
    config.validate()?;
    check_memory(config.parameters_about())?;
    check_tokens(args.batch.saturating_mul(args.length))?;
    check_seconds(args.options.seconds)?;
    let own_mb = memory_mb("VmRSS");
    let (params, weights) = weights(cell, args.layers, args.width);
    let length = |i: usize| if args.mixed { 1 + i * args.length / args.batch } else { args.length };
    let sequences: Vec<Vec<u32>> = (0..args.batch).map(|i| vec![0; length(i)]).collect();
    let order = Packed::new(&sequences).time_major().order.clone();
    let (n, h, mut rng) = (order.tokens(), args.width, Stream::new(1, 0));
    let mut random = |factor: f32| {
        let numbers: Vec<f32> = (0..n * h).map(|_| factor * rng.normal()).collect();
        Tensor::new([n, h], &numbers)
    };
    let x = Var::constant(random(1.0));
    let layers = Layers {
        weights,
        order,
        x,
        zeros: RecurrentState::zeros(cell, args.batch, h),
        loss: random(1.0 / n as f32),
    };
    let g = cell.gates() * h;
    let shape = LinearShape { rows: n, inputs: h, outputs: g };
    // Input and state, each forward, by the weights and back; the first layer's input needs no
    // gradient.
    let flops = 2.0 * n as f64 * (g * h) as f64 * (6 * args.layers - 1) as f64;
    let work = (params, Work::Layers(layers));
    let benchmark = StepBenchmark::new(work, 0.0, n, flops, vec![(shape, 2 * args.layers)]);
    Ok(benchmark.with_own_mb(own_mb))
}

fn weights(cell: Cell, layers: usize, h: usize) -> (Params, Vec<RecurrentWeights>) {
    let mut builder = Params::builder();
    let (g, init) = (cell.gates() * h, Init::Uniform(1.0 / (h as f32).sqrt()));
    let weights = (0..layers)
        .map(|l| {
            let mut matrix = |part: &str| builder.add(format!("weight_{part}_l{l}"), [g, h], init);
            let (w_ih, w_hh) = (matrix("ih"), matrix("hh"));
            let mut bias = |part: &str| builder.add(format!("bias_{part}_l{l}"), [g], init);
            RecurrentWeights { cell, w_ih, w_hh, b_ih: bias("ih"), b_hh: bias("hh") }
        })
        .collect();
    (builder.build(1), weights)
}
