//! Forward, backward, AdamW.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::{AdamWConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::Tensor;
use protocol::{Contender, Gradients, Losses, Result, Run, repeat};

pub trait Model: Module + 'static {
    type Batch: 'static;
    fn loss(&self, batch: &Self::Batch) -> Tensor<1>;
}

struct Trainer<M: Model> {
    /// Taken and put back by each step: burn's optimizer consumes it.
    model: Option<M>,
    batch: M::Batch,
    optimizer: ModuleOptimizer,
}

/// A trainer that has shown that it trains everything, and that is warm.
pub fn start<M: Model>(model: M, vocab: usize, batch: M::Batch) -> Result<Box<dyn Contender>> {
    let how = AdamWConfig::new()
        .with_beta_1(0.9)
        .with_beta_2(0.98)
        .with_epsilon(1e-8)
        .with_weight_decay(0.1);
    gradients(&model, &batch).check()?;
    let mut trainer = Trainer { model: Some(model), batch, optimizer: how.init() };
    let losses = (0..3).map(|_| trainer.step()).collect::<Result<_>>()?;
    Losses(losses).check(vocab)?;
    Ok(Box::new(trainer))
}

impl<M: Model> Trainer<M> {
    fn step(&mut self) -> Result<f64> {
        let model = self.model.take().ok_or("the step before failed")?;
        let loss = model.loss(&self.batch);
        let found = GradientsParams::from_grads(loss.backward(), &model);
        // The batch never changes, so a usual rate would learn it by heart while being measured.
        self.model = Some(self.optimizer.step(1e-5, model, found));
        Ok(loss.into_scalar::<f32>().into())
    }
}

/// Looks up the gradient of every parameter it visits.
struct Look {
    found: GradientsParams,
    path: Vec<String>,
    gradients: Gradients,
}

impl ModuleVisitor for Look {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let sum =
            self.found.get::<D>(param.id).map(|gradient| gradient.abs().sum().into_scalar::<f32>());
        self.gradients.push(self.path.join("."), sum);
    }

    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.into());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }
}

fn gradients<M: Model>(model: &M, batch: &M::Batch) -> Gradients {
    let found = GradientsParams::from_grads(model.loss(batch).backward(), model);
    let mut look = Look { found, path: Vec::new(), gradients: Gradients::default() };
    model.visit(&mut look);
    look.gradients
}

impl<M: Model> Contender for Trainer<M> {
    fn parameters(&self) -> usize {
        self.model.as_ref().map_or(0, |model| model.num_params())
    }

    fn run(&mut self, seconds: f64) -> Result<Run> {
        repeat(seconds, || self.step())
    }
}
