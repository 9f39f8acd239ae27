//! `limpid bench step`: how fast this machine trains, and where the time goes.

use super::interactive::{About, Timed, memory_mb, serve};
use super::recurrent::{self, Layers};
use super::{check_memory, check_positive, check_seconds, check_tokens, median_and_best, random_ids};
use crate::args::{BenchBert, BenchGpt, BenchHow, BenchSeq2seq, BenchStep};
use limpid::config::{BertConfig, GptConfig, Seq2SeqConfig};
use limpid::data::batch::{LmBatch, MaskedBatch, PairBatch, Typed};
use limpid::error::{Error, Result};
use limpid::model::{Architecture, Model};
use limpid::optim::AdamConfig;
use limpid::train::Stepper;
use limpid_tensor::machine::{self, LinearShape};
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::Params;
use limpid_tensor::rng::Stream;
use limpid_tensor::tape::{Profile, Tape, Var};
use limpid_tensor::team;
use serde_json::json;
use std::time::{Duration, Instant};

/// Measures what was asked for.
pub fn run(step: BenchStep) -> Result<()> {
    let (mut job, how) = match step {
        BenchStep::Gpt(args) => (gpt(&args)?, args.how),
        BenchStep::Seq2seq(args) => (seq2seq(&args)?, args.how),
        BenchStep::Bert(args) => (bert(&args)?, args.how),
        BenchStep::Rnn(args) => (recurrent::job(&args)?, args.how),
    };
    if how.interactive { job.interactive() } else { job.report(&how) }
}

/// What is trained, its one batch, and what a step costs.
pub(super) struct Job {
    params: Params,
    work: Work,
    smoothing: f32,
    stepper: Stepper,
    tokens: usize,
    /// Floating-point operations of the matrix products of one step, forward and backward.
    flops: f64,
    /// Its linear layers, and how often each shape occurs.
    layers: Vec<(LinearShape, usize)>,
    /// Resident size before the model was made.
    pub(super) own_mb: Option<f64>,
}

/// What a step computes.
pub(super) enum Work {
    /// The loss of a whole model.
    Model(Box<(Architecture, Batch)>),
    /// Recurrent layers alone.
    Layers(Layers),
}

pub(super) enum Batch {
    Lm(LmBatch),
    Pairs(PairBatch),
    Masked(MaskedBatch),
}

/// The batch never changes, so a usual rate would learn it by heart while being measured.
const LR: f32 = 1e-5;

fn gpt(args: &BenchGpt) -> Result<Job> {
    check_positive(&[("batch", args.batch), ("context", args.context), ("vocab", args.vocab)])?;
    let config = GptConfig::gpt2(args.vocab, args.context, args.layers, args.heads, args.width);
    config.validate()?;
    check_memory(config.parameters_about())?;
    check_tokens(args.batch.saturating_mul(args.context))?;
    check_seconds(args.how.seconds)?;
    let own_mb = memory_mb("VmRSS");
    let model = Model::gpt(&config, 1)?;
    let mut rng = Stream::new(1, 0);
    let sequences: Vec<Vec<u32>> =
        (0..args.batch).map(|_| random_ids(&mut rng, args.context + 1, args.vocab)).collect();
    let batch = LmBatch::new(&sequences);
    let (n, c, l) = (batch.targets.len() as f64, args.width as f64, args.layers as f64);
    // Per layer 12c² weights; scores and values of half a square of keys, as the rest is masked.
    let per_token = l * (12.0 * c * c + c * args.context as f64) + c * args.vocab as f64;
    let (rows, width) = (n as usize, args.width);
    let layers = [(width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)]
        .map(|(inputs, outputs)| (LinearShape { rows, inputs, outputs }, args.layers));
    let output = (LinearShape { rows, inputs: width, outputs: args.vocab }, 1);
    let layers = layers.into_iter().chain([output]).collect();
    let work = Work::Model(Box::new((model.architecture, Batch::Lm(batch))));
    Ok(Job { own_mb, ..Job::new((model.params, work), 0.0, rows, 6.0 * n * per_token, layers) })
}

fn seq2seq(args: &BenchSeq2seq) -> Result<Job> {
    check_positive(&[
        ("batch", args.batch),
        ("source-len", args.source_len),
        ("target-len", args.target_len),
    ])?;
    check_positive(&[("vocab", args.vocab)])?;
    let config = Seq2SeqConfig {
        encoder_layers: args.encoder_layers,
        decoder_layers: args.decoder_layers,
        max_position_embeddings: args.source_len.max(args.target_len),
        ..Seq2SeqConfig::new(args.vocab, args.encoder_layers, args.heads, args.width, args.ffn)
    };
    config.validate()?;
    check_memory(config.parameters_about())?;
    check_tokens(args.batch.saturating_mul(args.source_len.saturating_add(args.target_len)))?;
    check_seconds(args.how.seconds)?;
    if !(0.0..1.0).contains(&args.label_smoothing) {
        let message = format!("--label-smoothing {} is not in [0, 1)", args.label_smoothing);
        return Err(Error::config(message).hint("usual is 0.1"));
    }
    let own_mb = memory_mb("VmRSS");
    let model = Model::seq2seq(&config, 1)?;
    let mut rng = Stream::new(1, 0);
    let pair = |rng: &mut Stream| {
        (random_ids(rng, args.source_len, args.vocab), random_ids(rng, args.target_len, args.vocab))
    };
    let pairs: Vec<_> = (0..args.batch).map(|_| pair(&mut rng)).collect();
    let batch = PairBatch::new(&pairs, config.decoder_start_token_id);
    let (source, target) = (args.source_len as f64, args.target_len as f64);
    let (c, f) = (args.width as f64, args.ffn as f64);
    let encoder = source * args.encoder_layers as f64 * (4.0 * c * c + 2.0 * c * f + 2.0 * c * source);
    let decoder = args.decoder_layers as f64
        * (target * (6.0 * c * c + 2.0 * c * f + c * target + 2.0 * c * source) + source * 2.0 * c * c);
    let flops = 6.0 * args.batch as f64 * (encoder + decoder + target * c * args.vocab as f64);
    let (from, to) = (args.batch * args.source_len, args.batch * args.target_len);
    let work = Work::Model(Box::new((model.architecture, Batch::Pairs(batch))));
    let layers = layers(args, from, to);
    let job = Job::new((model.params, work), args.label_smoothing, from + to, flops, layers);
    Ok(Job { own_mb, ..job })
}

fn bert(args: &BenchBert) -> Result<Job> {
    check_positive(&[("batch", args.batch), ("context", args.context), ("vocab", args.vocab)])?;
    if !(args.masked > 0.0 && args.masked <= 1.0) {
        let message = format!("--masked {} is not a part of the tokens", args.masked);
        return Err(Error::config(message).hint("usual is 0.15"));
    }
    let config = BertConfig {
        intermediate_size: args.ffn,
        ..BertConfig::new(args.vocab, args.context, args.layers, args.heads, args.width)
    };
    config.validate()?;
    check_memory(config.parameters_about())?;
    check_tokens(args.batch.saturating_mul(args.context))?;
    check_seconds(args.how.seconds)?;
    let own_mb = memory_mb("VmRSS");
    let model = Model::bert(&config, 1)?;
    let mut rng = Stream::new(1, 0);
    let sequences: Vec<Vec<u32>> =
        (0..args.batch).map(|_| random_ids(&mut rng, args.context, args.vocab)).collect();
    let of_each = ((args.context as f64 * args.masked).round() as usize).clamp(1, args.context);
    let mut rows: Vec<u32> = Vec::new();
    for sequence in 0..args.batch {
        let mut places: Vec<u32> = (0..args.context as u32).collect();
        rng.shuffle(&mut places);
        rows.extend(places[..of_each].iter().map(|place| (sequence * args.context) as u32 + place));
    }
    rows.sort_unstable();
    let targets = random_ids(&mut rng, rows.len(), args.vocab);
    let (n, masked) = (args.batch * args.context, rows.len());
    let batch = MaskedBatch {
        input: Typed::single(&sequences),
        rows: rows.into(),
        targets,
        follows: None,
        asked_a_sequence: None,
    };
    let (c, f) = (args.width as f64, args.ffn as f64);
    // Per layer 4c² + 2cf weights, scores and values of all keys; the head meets the masked rows alone.
    let encoder = args.layers as f64 * (4.0 * c * c + 2.0 * c * f + 2.0 * c * args.context as f64);
    let flops = 6.0 * (n as f64 * encoder + masked as f64 * (c * c + c * args.vocab as f64));
    let layer = |rows, inputs, outputs, times| (LinearShape { rows, inputs, outputs }, times);
    let (c, f, l) = (args.width, args.ffn, args.layers);
    let layers = vec![
        layer(n, c, 3 * c, l),
        layer(n, c, c, l),
        layer(n, c, f, l),
        layer(n, f, c, l),
        layer(masked, c, c, 1),
        layer(masked, c, args.vocab, 1),
    ];
    let work = Work::Model(Box::new((model.architecture, Batch::Masked(batch))));
    Ok(Job { own_mb, ..Job::new((model.params, work), 0.0, n, flops, layers) })
}

/// The linear layers of an encoder-decoder, for `from` and `to` rows of source and target.
fn layers(args: &BenchSeq2seq, from: usize, to: usize) -> Vec<(LinearShape, usize)> {
    let (c, f, encoder, decoder) = (args.width, args.ffn, args.encoder_layers, args.decoder_layers);
    let layer = |rows, inputs, outputs, times| (LinearShape { rows, inputs, outputs }, times);
    let stack = |rows, times| [(c, 3 * c), (c, f), (f, c)].map(|(i, o)| layer(rows, i, o, times));
    let mut layers: Vec<_> = stack(from, encoder).into_iter().chain(stack(to, decoder)).collect();
    // Outputs of attention; queries, keys and values of attention to the source.
    layers.extend([layer(from, c, c, encoder), layer(to, c, c, 3 * decoder), layer(from, c, 2 * c, decoder)]);
    layers.push(layer(to, c, args.vocab, 1));
    layers
}

impl Job {
    pub(super) fn new(
        (params, work): (Params, Work),
        smoothing: f32,
        tokens: usize,
        flops: f64,
        layers: Vec<(LinearShape, usize)>,
    ) -> Self {
        let adam =
            AdamConfig { clip_norm: None, weight_decay: 0.01, eps: 1e-8, beta2: 0.999, ..Default::default() };
        let stepper = Stepper::new(&params, adam, 1);
        Self { params, work, smoothing, stepper, tokens, flops, layers, own_mb: None }
    }

    fn step(&mut self, profile: Option<&mut Profile>) -> Result<f32> {
        let (work, smoothing) = (&self.work, self.smoothing);
        let loss = |tape: &mut Tape| -> Var {
            let (architecture, batch) = match work {
                Work::Model(job) => (&job.0, &job.1),
                Work::Layers(layers) => return layers.loss(tape),
            };
            match (architecture, batch) {
                (Architecture::Gpt(gpt), Batch::Lm(batch)) => {
                    gpt.loss(tape, batch, LossSpec { smoothing, weight: 1.0 / batch.targets.len() as f32 })
                }
                (Architecture::Seq2Seq(model), Batch::Pairs(batch)) => {
                    model.loss(tape, batch, LossSpec { smoothing, weight: 1.0 / batch.targets.len() as f32 })
                }
                (Architecture::Bert(bert), Batch::Masked(batch)) => {
                    let weight = 1.0 / batch.targets.len() as f32;
                    bert.masked_loss(tape, batch, LossSpec { smoothing, weight })
                }
                _ => unreachable!("a job's batch is of its model's kind"),
            }
        };
        Ok(self.stepper.step(&mut self.params, LR, profile, loss)?.loss)
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

    fn report(&mut self, how: &BenchHow) -> Result<()> {
        for _ in 0..2 {
            self.step(None)?;
        }
        let mut profile = Profile::default();
        let (times, loss) = self.run(how.seconds, Some(&mut profile))?;
        let steps = times.len();
        let (median, best) = median_and_best(times);
        // What the machine could do at most, measured now: another minute it may be another number.
        let peak = machine::fma_peak(0.3);
        let resident = memory_mb("VmHWM"); // before the next line, which takes memory of its own
        let products = machine::products_rate(&self.layers, how.seconds.min(2.0));
        let per_step = |time: Duration| time.as_secs_f64() * 1e3 / steps as f64;
        let gflops = self.flops / median / 1e6;
        let rate = self.tokens as f64 / median * 1e3;
        if how.json {
            let operations: Vec<_> = profile
                .by_operation
                .iter()
                .map(|(name, forward, backward)| {
                    json!({ "name": name, "forward_ms": per_step(*forward), "backward_ms": per_step(*backward) })
                })
                .collect();
            println!(
                "{}",
                json!({
                    "median_ms": median, "best_ms": best, "steps": steps, "threads": team::threads(), "loss": loss,
                    "tokens_per_second": rate, "gflops": gflops, "parameters": self.params.count(),
                    "peak_rss_mb": resident, "fma_peak_gflops": peak, "product_gflops": products,
                    "operations": operations,
                })
            );
            return Ok(());
        }
        println!("parameters      {:>12}", self.params.count());
        println!("threads         {:>12}", team::threads());
        println!("median step     {median:>12.2} ms   (best {best:.2}, {steps} steps)");
        println!("tokens          {rate:>12.0} /s");
        let share =
            peak.map_or(String::new(), |peak| format!("{:.0}% of the FMA peak, ", 100.0 * gflops / peak));
        let alone = 100.0 * gflops / products;
        println!(
            "products        {gflops:>12.1} GFLOP/s   ({share}{alone:.0}% of the products alone: {products:.1})"
        );
        if let Some(resident) = resident {
            println!("peak memory     {resident:>12.0} MB");
        }
        println!("\n{:<16}{:>14}{:>14}", "ms a step", "forward", "backward");
        for (name, forward, backward) in &profile.by_operation {
            println!("{name:<16}{:>14.3}{:>14.3}", per_step(*forward), per_step(*backward));
        }
        Ok(())
    }

    /// For a driver that lets several programs take turns.
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
