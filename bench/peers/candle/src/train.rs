//! Forward, backward, AdamW.

use candle_core::{DType, Device, Tensor};
use candle_nn::{AdamW, Optimizer, ParamsAdamW, VarBuilder, VarMap};
use protocol::{Contender, Gradients, Losses, Result, Run, repeat};

/// A model with its one batch.
pub trait Model {
    fn loss(&self) -> candle_core::Result<Tensor>;
}

struct Trainer<M> {
    model: M,
    variables: VarMap,
    optimizer: AdamW,
}

/// A trainer that has shown that it trains everything, and that is warm.
pub fn start<M: Model + 'static>(
    model: impl FnOnce(VarBuilder) -> candle_core::Result<M>,
    vocab: usize,
) -> Result<Box<dyn Contender>> {
    let said = |error: candle_core::Error| error.to_string();
    let variables = VarMap::new();
    let model =
        model(VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu)).map_err(said)?;
    // The batch never changes, so a usual rate would learn it by heart while being measured.
    let how = ParamsAdamW { lr: 1e-5, beta1: 0.9, beta2: 0.98, eps: 1e-8, weight_decay: 0.1 };
    let optimizer = AdamW::new(variables.all_vars(), how).map_err(said)?;
    let mut trainer = Trainer { model, variables, optimizer };
    trainer.gradients().map_err(said)?.check()?;
    let losses = (0..3).map(|_| trainer.step().map_err(said)).collect::<Result<_>>()?;
    Losses(losses).check(vocab)?;
    Ok(Box::new(trainer))
}

impl<M: Model> Trainer<M> {
    fn step(&mut self) -> candle_core::Result<f64> {
        let loss = self.model.loss()?;
        self.optimizer.step(&loss.backward()?)?;
        Ok(loss.to_scalar::<f32>()?.into())
    }

    fn gradients(&self) -> candle_core::Result<Gradients> {
        let found = self.model.loss()?.backward()?;
        let mut gradients = Gradients::default();
        for (name, variable) in
            self.variables.data().lock().expect("nobody panics holding it").iter()
        {
            let sum = |gradient: &Tensor| gradient.abs()?.sum_all()?.to_scalar::<f32>();
            gradients.push(name, found.get(variable).map(sum).transpose()?);
        }
        Ok(gradients)
    }
}

impl<M: Model> Contender for Trainer<M> {
    fn parameters(&self) -> usize {
        self.variables.all_vars().iter().map(|variable| variable.elem_count()).sum()
    }

    fn run(&mut self, seconds: f64) -> Result<Run> {
        repeat(seconds, || self.step().map_err(|error| error.to_string()))
    }
}
