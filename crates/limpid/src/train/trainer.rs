//! The training loop: micro-batches, gradients, one optimizer step, a callback; again.
//!
//! A step is a function of its number: its micro-batches come from the dataset by number, its
//! dropout masks from the seed and its number. So training that is resumed from a checkpoint (see
//! [`Run`](super::Run)) continues bit for bit.

use super::checkpoint::{Checkpoint, TensorSource, send_slice};
use super::dataset::{Batch, Dataset};
use crate::distributed::{Sharding, World};
use crate::error::{Result, RunError};
use crate::model::Model;
use crate::optim::{Activations, AdamConfig, DataParallel, LearningRate, Optimizer};
use limpid_tensor::kernels::elementwise::move_towards;
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::ParamBuffer;
use std::cell::RefCell;
use std::time::Instant;

/// What a callback answers: whether training continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Continue with the next step.
    Continue,
    /// Stop after this step; a run saves a checkpoint first.
    Stop,
}

/// How training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All steps are done.
    Completed,
    /// The validation metric has not improved for as many validations as `train.patience` allows.
    EarlyStopped,
    /// A callback stopped it; a run can be resumed.
    Interrupted,
}

/// How a model is trained, besides its data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainerConfig {
    /// Learning rate of every step, and the number of steps.
    pub learning_rate: LearningRate,
    /// The optimizer.
    pub adam: AdamConfig,
    /// Probability that label smoothing spreads over the vocabulary.
    pub label_smoothing: f32,
    /// Decay of the exponential moving average of the weights; none without one.
    pub ema_decay: Option<f32>,
    /// Seed of dropout.
    pub seed: u64,
    /// What of a forward pass is kept for its backward pass.
    pub activations: Activations,
    /// How many micro-batches a step has, whose gradients are added along a tree: what the ranks of
    /// a world share. The batches of a step are divided equally among them.
    pub micro_batches: usize,
    /// Where the moments of the optimizer lie, in a world of several ranks.
    pub sharding: Sharding,
}

impl TrainerConfig {
    /// AdamW with its defaults, no label smoothing, no moving average.
    pub fn new(learning_rate: LearningRate, seed: u64) -> Self {
        let adam = AdamConfig::default();
        let activations = Activations::Kept;
        Self {
            learning_rate,
            adam,
            label_smoothing: 0.0,
            ema_decay: None,
            seed,
            activations,
            micro_batches: 1,
            sharding: Sharding::Sliced,
        }
    }
}

/// What one step did.
#[derive(Clone, Copy, Debug)]
pub struct StepReport {
    /// Steps done, this one included.
    pub step: u64,
    /// Steps in all.
    pub steps: u64,
    /// Mean loss per target before the update, with label smoothing.
    pub loss: f32,
    /// Global norm of the gradient before clipping.
    pub grad_norm: f32,
    /// Learning rate of this step.
    pub lr: f32,
    /// Tokens read or predicted.
    pub tokens: usize,
    /// Terms of the loss: predicted tokens; for a classifier, texts.
    pub targets: usize,
    /// Wall-clock time, making the batches included.
    pub seconds: f64,
}

/// A model, a dataset and an optimizer: everything a training loop needs.
pub struct Trainer<D> {
    model: Model,
    dataset: D,
    config: TrainerConfig,
    optimizer: Optimizer,
    /// The exponential moving average of the weights.
    ema: Option<ParamBuffer>,
    /// Whether a process alone was asked to stop.
    stops: bool,
    /// Bytes sent before this process joined a world, and the step at which it did.
    sent_before: u64,
    joined_at: u64,
}

impl<D: Dataset> Trainer<D> {
    /// Training from step 0, with the weights that `model` has.
    pub fn new(model: Model, dataset: D, config: TrainerConfig) -> Self {
        let optimizer = Optimizer::new(&model.params, config.adam, config.seed)
            .with_activations(config.activations);
        let ema = config.ema_decay.map(|_| {
            let mut ema = ParamBuffer::zeros_like(&model.params);
            ema.flat_mut().copy_from_slice(model.params.flat());
            ema
        });
        let (stops, sent_before, joined_at) = (false, 0, 0);
        Self { model, dataset, config, optimizer, ema, stops, sent_before, joined_at }
    }

    /// The same with the ranks of a world, each with its share of the micro-batches. Every rank has
    /// the same model, dataset and configuration; every rank gets the same weights, with the bits
    /// that one process alone would get.
    ///
    /// Whoever stops training in a world does it on all ranks at the same step: see
    /// [`Trainer::request_stop`].
    ///
    /// # Errors
    /// If there are more ranks than micro-batches.
    pub fn join(&mut self, world: World) -> Result<()> {
        let TrainerConfig { micro_batches, sharding, .. } = self.config;
        (self.sent_before, self.joined_at) = (world.sent_bytes(), self.step_count());
        self.optimizer.join(&self.model.params, world, micro_batches, sharding)
    }

    /// Runs all steps that are left, and calls `on_step` after each. Nothing is left if all are
    /// done already.
    ///
    /// # Errors
    /// [`RunError::Diverged`] if a loss or gradient is not finite, [`RunError::EmptyBatch`] if a
    /// step has no targets, and whatever `on_step` returns.
    pub fn train(
        &mut self,
        mut on_step: impl FnMut(&mut Self, &StepReport) -> Result<Control>,
    ) -> Result<Outcome> {
        while self.step_count() < self.steps() {
            let report = self.step()?;
            let control = on_step(self, &report)?;
            if control == Control::Stop && self.step_count() < self.steps() {
                return Ok(Outcome::Interrupted);
            }
        }
        Ok(Outcome::Completed)
    }

    /// One step with the learning rate of its number.
    ///
    /// # Errors
    /// As [`Trainer::train`].
    pub fn step(&mut self) -> Result<StepReport> {
        self.step_with_lr(self.config.learning_rate.at(self.step_count() + 1))
    }

    /// One step with another learning rate than the schedule's.
    ///
    /// # Errors
    /// As [`Trainer::train`].
    pub fn step_with_lr(&mut self, lr: f32) -> Result<StepReport> {
        let start = Instant::now();
        let micro_batches = self.dataset.micro_batches(self.step_count());
        self.step_on(&micro_batches, lr, start)
    }

    /// One step on these micro-batches instead of the dataset's: for training whose input depends
    /// on the model, such as free running.
    ///
    /// # Errors
    /// As [`Trainer::train`].
    pub fn step_on_batches(&mut self, micro_batches: &[Batch]) -> Result<StepReport> {
        let lr = self.config.learning_rate.at(self.step_count() + 1);
        self.step_on(micro_batches, lr, Instant::now())
    }

    fn step_on(&mut self, batches: &[Batch], lr: f32, start: Instant) -> Result<StepReport> {
        let targets: usize = batches.iter().map(Batch::targets).sum();
        let tokens = batches.iter().map(Batch::tokens).sum();
        if targets == 0 {
            return Err(RunError::EmptyBatch { step: self.step_count() + 1 }.into());
        }
        // The mean over the targets of all micro-batches, whichever of them a target is in.
        let spec =
            LossSpec { smoothing: self.config.label_smoothing, weight: 1.0 / targets as f32 };
        let Model { stack, params, .. } = &mut self.model;
        let output =
            self.optimizer.step_accumulated(params, lr, batches.len(), None, |tape, i| {
                batches[i].loss(stack, tape, spec)
            })?;
        self.update_ema();
        Ok(StepReport {
            step: self.step_count(),
            steps: self.steps(),
            loss: output.loss,
            grad_norm: output.grad_norm,
            lr,
            tokens,
            targets,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    fn update_ema(&mut self) {
        let t = self.optimizer.steps() as f32;
        if let (Some(ema), Some(decay)) = (&mut self.ema, self.config.ema_decay) {
            // A lower decay in the first steps, whose weights are still close to random.
            let decay = decay.min((1.0 + t) / (10.0 + t));
            move_towards(ema.flat_mut(), self.model.params.flat(), 1.0 - decay);
        }
    }

    /// Seconds and tokens of one step: making its micro-batches, and the faster of two forward and
    /// backward passes of the first. No step is taken.
    pub fn measure_step(&mut self) -> (f64, usize) {
        let start = Instant::now();
        let batches = self.dataset.micro_batches(self.step_count());
        let making = start.elapsed().as_secs_f64();
        let tokens = batches.iter().map(Batch::tokens).sum();
        let spec = LossSpec { smoothing: 0.0, weight: 1e-3 };
        let mut best = f64::INFINITY;
        for _ in 0..2 {
            let start = Instant::now();
            self.optimizer.backward_only(&self.model.params, |tape| {
                batches[0].loss(&self.model.stack, tape, spec)
            });
            best = best.min(start.elapsed().as_secs_f64());
        }
        // The largest share of a rank, in whole micro-batches.
        let (all, (ranks, _)) = (self.config.micro_batches, self.ranks());
        let share = all.div_ceil(ranks) as f64 / all as f64;
        (making + best * share * batches.len() as f64, tokens)
    }
}

impl<D> Trainer<D> {
    /// The ranks it trains with, if its steps have several micro-batches.
    pub fn parallel(&mut self) -> Option<&mut DataParallel> {
        self.optimizer.parallel_mut()
    }

    /// What is needed to validate together: the dataset, the model, the processes.
    pub fn validation_parts(&mut self) -> (&D, &Model, Option<&mut World>) {
        let world = self.optimizer.parallel_mut().map(|parallel| &mut parallel.world);
        (&self.dataset, &self.model, world)
    }

    /// The number of processes, and whether this is the main one.
    pub fn ranks(&self) -> (usize, bool) {
        self.optimizer.parallel().map_or((1, true), |p| (p.world.size(), p.world.is_main()))
    }

    /// Bytes that this process has sent per step on average, without what the transport adds.
    pub fn sent_bytes_per_step(&self) -> f64 {
        let parallel = self.optimizer.parallel();
        let sent = parallel.map_or(0, |parallel| parallel.world.sent_bytes() - self.sent_before);
        sent as f64 / (self.step_count() - self.joined_at).max(1) as f64
    }

    /// Asks all ranks to stop: a process alone after this step, ranks of a world after the next
    /// one, when all of them know.
    pub fn request_stop(&mut self) {
        match self.optimizer.parallel_mut() {
            Some(parallel) => parallel.request_stop(),
            None => self.stops = true,
        }
    }

    /// Whether all ranks stop after this step.
    pub fn stops(&self) -> bool {
        self.optimizer.parallel().map_or(self.stops, DataParallel::stops)
    }

    /// Steps done.
    pub fn step_count(&self) -> u64 {
        self.optimizer.steps()
    }

    /// Steps in all.
    pub fn steps(&self) -> u64 {
        self.config.learning_rate.total
    }

    /// Learning rate of the last step.
    pub fn learning_rate(&self) -> f32 {
        self.config.learning_rate.at(self.step_count())
    }

    /// The model with its current weights.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The model with its current weights, to be changed.
    pub fn model_mut(&mut self) -> &mut Model {
        &mut self.model
    }

    /// The model, when training is over.
    pub fn into_model(self) -> Model {
        self.model
    }

    /// What it is trained on.
    pub fn dataset(&self) -> &D {
        &self.dataset
    }

    /// What it is trained on, to be asked for batches.
    pub fn dataset_mut(&mut self) -> &mut D {
        &mut self.dataset
    }

    /// Calls `work` with the weights that are validated and saved: the moving average, if there is
    /// one.
    pub fn with_ema<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let Some(mut ema) = self.ema.take() else { return work(self) };
        self.model.params.flat_mut().swap_with_slice(ema.flat_mut());
        let result = work(self);
        self.model.params.flat_mut().swap_with_slice(ema.flat_mut());
        self.ema = Some(ema);
        result
    }

    /// What a checkpoint saves: weights, both moments of Adam and the moving average, as flat
    /// blocks in the order of the parameters; and their number of elements.
    pub fn tensors(&self) -> [(&'static str, usize); 4] {
        let len = self.model.params.flat().len();
        let ema = self.ema.as_ref().map_or(0, |ema| ema.flat().len());
        [("params", len), ("m", len), ("v", len), ("ema", ema)]
    }

    /// Calls `save` with all of them, in pieces: moments of other ranks come from there. On other
    /// ranks than the main one `save` is not called: they send theirs.
    ///
    /// # Errors
    /// Those of `save`; if another process is gone.
    pub fn save_tensors(
        &mut self,
        save: impl FnOnce(&mut [TensorSource]) -> Result<()>,
    ) -> Result<()> {
        let (params, is_main) = (self.model.params.flat(), self.ranks().1);
        let ema = self.ema.as_ref().map(|ema| TensorSource::flat("ema", ema.flat()));
        let ((m, v), parallel) = self.optimizer.moments();
        let slices = parallel.as_ref().and_then(|parallel| parallel.sliced_moments());
        let (Some(parallel), Some(slices)) = (parallel, slices) else {
            let of = [("params", params), ("m", m), ("v", v)];
            let flat = of.map(|(name, values)| TensorSource::flat(name, values));
            let mut sources: Vec<TensorSource> = flat.into_iter().chain(ema).collect();
            return if is_main { save(&mut sources) } else { Ok(()) };
        };
        let rank = parallel.world.rank();
        let world = &mut parallel.world;
        if rank == 0 {
            let world = RefCell::new(world);
            let of = |name, slice| TensorSource::sliced(name, slice, &slices, &world);
            let first = [TensorSource::flat("params", params), of("m", m), of("v", v)];
            return save(&mut first.into_iter().chain(ema).collect::<Vec<_>>());
        }
        let (_, own) = slices.iter().find(|(of, _)| *of == rank).expect("every rank has a slice");
        [m, v].into_iter().try_for_each(|slice| send_slice(slice, own, params.len(), world))
    }

    /// Continues from a checkpoint.
    ///
    /// # Errors
    /// If it is of another model, or has no moving average where one is needed.
    pub fn restore(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        checkpoint.read("params", self.model.params.flat_mut())?;
        let (m, v) = self.optimizer.adam.restore(checkpoint.state.step);
        checkpoint.read("m", m)?;
        checkpoint.read("v", v)?;
        match &mut self.ema {
            Some(ema) => checkpoint.read("ema", ema.flat_mut()),
            None => Ok(()),
        }
    }
}
