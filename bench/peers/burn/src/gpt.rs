//! A GPT, as `Gpt` of bench/torch_models.py.

use crate::layers::{Attention, Sight, ids, linear, look_up, table, tied_logits};
use crate::train::Model;
use burn::module::{Module, Param};
use burn::nn::loss::CrossEntropyLoss;
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::activation::gelu;
use burn::tensor::{Device, Int, Tensor};
use protocol::Random;

#[derive(Module, Debug)]
pub struct Gpt {
    tokens: Param<Tensor<2>>,
    positions: Param<Tensor<2>>,
    blocks: Vec<Block>,
    norm: LayerNorm,
}

#[derive(Module, Debug)]
struct Block {
    norm1: LayerNorm,
    attention: Attention,
    norm2: LayerNorm,
    up: Linear,
    down: Linear,
}

impl Block {
    fn new(width: usize, heads: usize, device: &Device) -> Self {
        Self {
            norm1: LayerNormConfig::new(width).init(device),
            attention: Attention::new(width, heads, device),
            norm2: LayerNormConfig::new(width).init(device),
            up: linear(width, 4 * width, device),
            down: linear(4 * width, width, device),
        }
    }

    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let normed = self.norm1.forward(x.clone());
        let x = x + self.attention.forward(normed.clone(), normed, Sight::Past);
        let hidden = self.up.forward(self.norm2.forward(x.clone()));
        // The exact GELU, not the approximation by tanh of the others: burn has a kernel for this
        // one and makes the other of eight operations, which doubles the time of T.
        x + self.down.forward(gelu(hidden))
    }
}

impl Gpt {
    pub fn new(shape: &protocol::Gpt, device: &Device) -> Self {
        Self {
            tokens: table(shape.vocab, shape.width, device),
            positions: table(shape.context, shape.width, device),
            blocks: (0..shape.layers)
                .map(|_| Block::new(shape.width, shape.heads, device))
                .collect(),
            norm: LayerNormConfig::new(shape.width).init(device),
        }
    }
}

pub struct Batch {
    ids: Tensor<2, Int>,
    targets: Tensor<1, Int>,
    criterion: CrossEntropyLoss,
}

impl Batch {
    pub fn new(shape: &protocol::Gpt, device: &Device) -> Self {
        let (inputs, targets) = Random::new(1).shifted_ids(shape.batch, shape.context, shape.vocab);
        Self {
            ids: ids(inputs, [shape.batch, shape.context], device),
            targets: ids(targets, [shape.batch * shape.context], device),
            criterion: CrossEntropyLoss::new(None, device),
        }
    }
}

impl Model for Gpt {
    type Batch = Batch;

    fn loss(&self, batch: &Batch) -> Tensor<1> {
        let mut x =
            look_up(&self.tokens, batch.ids.clone()) + self.positions.val().unsqueeze::<3>();
        for block in &self.blocks {
            x = block.forward(x);
        }
        batch
            .criterion
            .forward(tied_logits(self.norm.forward(x), &self.tokens), batch.targets.clone())
    }
}
