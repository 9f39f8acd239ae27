//! An encoder-decoder, as `Seq2Seq` of bench/torch_models.py.

use crate::layers::{Attention, Sight, ids, linear, look_up, table, tied_logits};
use crate::train::Model;
use burn::module::{Module, Param};
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::activation::{log_softmax, relu};
use burn::tensor::{Device, Int, Tensor, TensorData};
use protocol::{Random, sinusoids};

#[derive(Module, Debug)]
pub struct Seq2Seq {
    tokens: Param<Tensor<2>>,
    encoder: Vec<Layer>,
    decoder: Vec<Layer>,
}

/// Of the encoder, or with `cross` of the decoder.
#[derive(Module, Debug)]
struct Layer {
    attention: Attention,
    norm1: LayerNorm,
    cross: Option<Cross>,
    up: Linear,
    down: Linear,
    norm2: LayerNorm,
}

#[derive(Module, Debug)]
struct Cross {
    attention: Attention,
    norm: LayerNorm,
}

impl Layer {
    fn new(shape: &protocol::Seq2Seq, cross: Option<Cross>, device: &Device) -> Self {
        let c = shape.width;
        Self {
            attention: Attention::new(c, shape.heads, device),
            norm1: LayerNormConfig::new(c).init(device),
            cross,
            up: linear(c, shape.ffn, device),
            down: linear(shape.ffn, c, device),
            norm2: LayerNormConfig::new(c).init(device),
        }
    }

    fn forward(&self, x: Tensor<3>, memory: Option<Tensor<3>>) -> Tensor<3> {
        let sight = if self.cross.is_some() { Sight::Past } else { Sight::All };
        let mut x = self.norm1.forward(x.clone() + self.attention.forward(x.clone(), x, sight));
        if let (Some(cross), Some(memory)) = (&self.cross, memory) {
            x = cross.norm.forward(x.clone() + cross.attention.forward(x, memory, Sight::All));
        }
        let fed = self.down.forward(relu(self.up.forward(x.clone())));
        self.norm2.forward(x + fed)
    }
}

impl Seq2Seq {
    pub fn new(shape: &protocol::Seq2Seq, device: &Device) -> Self {
        let cross = || Cross {
            attention: Attention::new(shape.width, shape.heads, device),
            norm: LayerNormConfig::new(shape.width).init(device),
        };
        Self {
            tokens: table(shape.vocab, shape.width, device),
            encoder: (0..shape.layers).map(|_| Layer::new(shape, None, device)).collect(),
            decoder: (0..shape.layers).map(|_| Layer::new(shape, Some(cross()), device)).collect(),
        }
    }

    fn embed(&self, ids: Tensor<2, Int>, positions: Tensor<3>) -> Tensor<3> {
        let scale = (self.tokens.val().dims()[1] as f32).sqrt();
        look_up(&self.tokens, ids).mul_scalar(scale) + positions
    }
}

pub struct Batch {
    source: Tensor<2, Int>,
    target_in: Tensor<2, Int>,
    targets: Tensor<2, Int>,
    positions: Tensor<3>,
    label_smoothing: f64,
}

impl Batch {
    pub fn new(shape: &protocol::Seq2Seq, device: &Device) -> Self {
        let mut random = Random::new(1);
        let source = random.ids(shape.batch * shape.length, shape.vocab);
        let (target_in, targets) = random.shifted_ids(shape.batch, shape.length, shape.vocab);
        let (length, width) = (shape.length, shape.width);
        let positions = TensorData::new(sinusoids(length, width), [1, length, width]);
        Self {
            source: ids(source, [shape.batch, length], device),
            target_in: ids(target_in, [shape.batch, length], device),
            targets: ids(targets, [shape.batch * length, 1], device),
            positions: Tensor::from_data(positions, device),
            label_smoothing: shape.label_smoothing,
        }
    }
}

impl Model for Seq2Seq {
    type Batch = Batch;

    fn loss(&self, batch: &Batch) -> Tensor<1> {
        let mut memory = self.embed(batch.source.clone(), batch.positions.clone());
        for layer in &self.encoder {
            memory = layer.forward(memory, None);
        }
        let mut x = self.embed(batch.target_in.clone(), batch.positions.clone());
        for layer in &self.decoder {
            x = layer.forward(x, Some(memory.clone()));
        }
        smoothed_cross_entropy(
            tied_logits(x, &self.tokens),
            batch.targets.clone(),
            batch.label_smoothing,
        )
    }
}

/// (1-ε)·(−log p of the target) + ε·(−log p on average over the vocabulary), averaged over the
/// tokens: burn's own loss says the same with a table of smoothed targets as large as the scores.
fn smoothed_cross_entropy(logits: Tensor<2>, targets: Tensor<2, Int>, epsilon: f64) -> Tensor<1> {
    let log_p = log_softmax(logits, 1);
    let of_target = log_p.clone().gather(1, targets).mean();
    of_target.mul_scalar(-(1.0 - epsilon)) - log_p.mean().mul_scalar(epsilon)
}
