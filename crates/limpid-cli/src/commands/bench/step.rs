//! `limpid bench step`: time of a training step, by operation.

use super::interactive::{About, Timed, memory_mb, serve};
use super::llama::llama;
use super::median_and_best;
use super::models::{bert, gpt, seq2seq};
use super::recurrent::{self, Layers};
use crate::args::{BenchOptions, BenchStep};
use crate::error::Result;
use limpid::data::batch::{LmBatch, MaskedBatch, PairBatch};
use limpid::model::Stack;
use limpid::optim::{Activations, AdamConfig, Optimizer};
use limpid_tensor::machine::{self, LinearShape};
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::Params;
use limpid_tensor::tape::{Profile, Tape, Var};
use limpid_tensor::team;
use serde_json::json;
use std::time::{Duration, Instant};

/// Measures a training step of the chosen model.
pub fn run(step: BenchStep) -> Result<()> {
    let (mut benchmark, options) = match step {
        BenchStep::Gpt(args) => (gpt(&args)?, args.options),
        BenchStep::Llama(args) => (llama(&args)?, args.options),
        BenchStep::Seq2seq(args) => (seq2seq(&args)?, args.options),
        BenchStep::Bert(args) => (bert(&args)?, args.options),
        BenchStep::Rnn(args) => (recurrent::benchmark(&args)?, args.options),
    };
    if options.interactive { benchmark.interactive() } else { benchmark.report(&options) }
}

/// A model or layers with one batch, and the cost of a step.
pub(super) struct StepBenchmark {
    params: Params,
    work: Work,
    smoothing: f32,
    optimizer: Optimizer,
    tokens: usize,
    /// Floating-point operations of the matrix products of one step, forward and backward.
    flops: f64,
    /// Its linear layers, and how often each shape occurs.
    layers: Vec<(LinearShape, usize)>,
    /// Resident set before the model was created, in MB.
    own_mb: Option<f64>,
}

/// What a step differentiates.
pub(super) enum Work {
    /// The loss of a whole model.
    Model(Box<(Stack, Batch)>),
    /// Recurrent layers only.
    Layers(Layers),
}

pub(super) enum Batch {
    Lm(LmBatch),
    Pairs(PairBatch),
    Masked(MaskedBatch),
}

/// The batch never changes: a usual learning rate would overfit it during the measurement.
const LR: f32 = 1e-5;

impl StepBenchmark {
    pub(super) fn new(
        (params, work): (Params, Work),
        smoothing: f32,
        tokens: usize,
        flops: f64,
        layers: Vec<(LinearShape, usize)>,
    ) -> Self {
        let adam = AdamConfig {
            clip_norm: None,
            weight_decay: 0.01,
            eps: 1e-8,
            beta2: 0.999,
            ..Default::default()
        };
        let optimizer = Optimizer::new(&params, adam, 1);
        Self { params, work, smoothing, optimizer, tokens, flops, layers, own_mb: None }
    }

    /// Notes the resident set before the model was created.
    pub(super) fn with_own_mb(mut self, own_mb: Option<f64>) -> Self {
        self.own_mb = own_mb;
        self
    }

    /// Chooses what of the forward pass is kept for the backward pass.
    pub(super) fn with_activations(mut self, activations: Activations) -> Self {
        self.optimizer = self.optimizer.with_activations(activations);
        self
    }

    fn step(&mut self, profile: Option<&mut Profile>) -> Result<f32> {
        let (work, smoothing) = (&self.work, self.smoothing);
        let loss = |tape: &mut Tape| -> Var {
            let (stack, batch) = match work {
                Work::Model(model) => (&model.0, &model.1),
                Work::Layers(layers) => return layers.loss(tape),
            };
            match (stack, batch) {
                (Stack::Decoder(gpt), Batch::Lm(batch)) => gpt.loss(
                    tape,
                    batch,
                    LossSpec { smoothing, weight: 1.0 / batch.targets.len() as f32 },
                ),
                (Stack::EncoderDecoder(model), Batch::Pairs(batch)) => model.loss(
                    tape,
                    batch,
                    LossSpec { smoothing, weight: 1.0 / batch.targets.len() as f32 },
                ),
                (Stack::Encoder(bert), Batch::Masked(batch)) => {
                    let weight = 1.0 / batch.targets.len() as f32;
                    bert.masked_loss(tape, batch, LossSpec { smoothing, weight })
                }
                _ => unreachable!("batch and model belong together"),
            }
        };
        Ok(self.optimizer.step(&mut self.params, LR, profile, loss)?.loss)
    }

    /// Steps for `seconds`, at least one: the time of each, and the last loss.
    fn run(&mut self, seconds: f64, mut profile: Option<&mut Profile>) -> Result<(Vec<f64>, f32)> {
        let (begin, mut times, mut loss) = (Instant::now(), Vec::new(), f32::NAN);
        while times.is_empty() || begin.elapsed().as_secs_f64() < seconds {
            let before = Instant::now();
            loss = self.step(profile.as_deref_mut())?;
            times.push(before.elapsed().as_secs_f64() * 1e3);
        }
        Ok((times, loss))
    }

    fn report(&mut self, options: &BenchOptions) -> Result<()> {
        let measured = self.measure(options.seconds)?;
        if options.json {
            println!("{}", measured.json());
        } else {
            measured.print();
        }
        Ok(())
    }

    fn measure(&mut self, seconds: f64) -> Result<Measured> {
        for _ in 0..2 {
            self.step(None)?;
        }
        let mut profile = Profile::default();
        let (times, loss) = self.run(seconds, Some(&mut profile))?;
        let steps = times.len();
        let (median_ms, best_ms) = median_and_best(times);
        let per_step = |time: &Duration| time.as_secs_f64() * 1e3 / steps as f64;
        let operations = profile.by_operation.iter();
        let operations = operations
            .map(|(name, forward, backward)| (*name, per_step(forward), per_step(backward)))
            .collect();
        Ok(Measured {
            steps,
            median_ms,
            best_ms,
            loss,
            operations,
            parameters: self.params.count(),
            tokens_per_second: self.tokens as f64 / median_ms * 1e3,
            gflops: self.flops / median_ms / 1e6,
            // Measured now: the peak changes with the load of the machine.
            fma_peak: machine::fma_peak(0.3),
            // Before the products alone, which take memory of their own.
            peak_mb: memory_mb("VmHWM"),
            products: machine::products_rate(&self.layers, seconds.min(2.0)),
        })
    }

    /// Serves the protocol of side-by-side benchmarks.
    fn interactive(&mut self) -> Result<()> {
        for _ in 0..2 {
            self.step(None)?;
        }
        let about = About { parameters: self.params.count(), own_mb: self.own_mb };
        serve(about, |seconds| {
            let (step_ms, loss) = self.run(seconds, None)?;
            Ok(Timed { step_ms, loss: Some(loss) })
        })
    }
}

/// What was measured, per step.
struct Measured {
    steps: usize,
    median_ms: f64,
    best_ms: f64,
    loss: f32,
    parameters: usize,
    tokens_per_second: f64,
    /// Rate of the matrix products in the whole step.
    gflops: f64,
    /// Limit of this machine, where it can be measured.
    fma_peak: Option<f64>,
    peak_mb: Option<f64>,
    /// Rate of the same products alone.
    products: f64,
    /// Name, and milliseconds of forward and backward pass.
    operations: Vec<(&'static str, f64, f64)>,
}

impl Measured {
    fn json(&self) -> serde_json::Value {
        let operation = |(name, forward, backward): &(&str, f64, f64)| {
            json!({ "name": name,
            "forward_ms": forward, "backward_ms": backward })
        };
        json!({
            "median_ms": self.median_ms, "best_ms": self.best_ms, "steps": self.steps,
            "threads": team::threads(), "loss": self.loss, "parameters": self.parameters,
            "tokens_per_second": self.tokens_per_second, "gflops": self.gflops,
            "peak_rss_mb": self.peak_mb, "fma_peak_gflops": self.fma_peak,
            "product_gflops": self.products,
            "operations": self.operations.iter().map(operation).collect::<Vec<_>>(),
        })
    }

    fn print(&self) {
        let Measured { median_ms, best_ms, steps, gflops, products, .. } = self;
        println!("parameters      {:>12}", self.parameters);
        println!("threads         {:>12}", team::threads());
        println!("median step     {median_ms:>12.2} ms   (best {best_ms:.2}, {steps} steps)");
        println!("tokens          {:>12.0} /s", self.tokens_per_second);
        let share = self.fma_peak.map_or(String::new(), |peak| {
            format!("{:.0}% of the FMA peak, ", 100.0 * gflops / peak)
        });
        let alone = 100.0 * gflops / products;
        println!(
            "products        {gflops:>12.1} GFLOP/s   \
             ({share}{alone:.0}% of the products alone: {products:.1})"
        );
        if let Some(peak_mb) = self.peak_mb {
            println!("peak memory     {peak_mb:>12.0} MB");
        }
        println!("\n{:<16}{:>14}{:>14}", "ms per step", "forward", "backward");
        for (name, forward, backward) in &self.operations {
            println!("{name:<16}{forward:>14.3}{backward:>14.3}");
        }
    }
}
