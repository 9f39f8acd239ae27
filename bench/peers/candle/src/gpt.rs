//! A GPT, as `Gpt` of bench/torch_models.py.

use crate::layers::{Attention, LayerNorm, causal_mask, linear, look_up, table};
use crate::train::Model;
use candle_core::{Device, Result, Tensor};
use candle_nn::{Linear, Module, VarBuilder, loss};
use protocol::Random;

pub struct Gpt {
    tokens: Tensor,
    positions: Tensor,
    blocks: Vec<Block>,
    norm: LayerNorm,
    mask: Tensor,
    ids: Tensor,
    targets: Tensor,
}

struct Block {
    norm1: LayerNorm,
    attention: Attention,
    norm2: LayerNorm,
    up: Linear,
    down: Linear,
}

impl Block {
    fn new(width: usize, heads: usize, vb: VarBuilder) -> Result<Self> {
        Ok(Self {
            norm1: LayerNorm::new(width, vb.pp("norm1"))?,
            attention: Attention::new(width, heads, vb.pp("attention"))?,
            norm2: LayerNorm::new(width, vb.pp("norm2"))?,
            up: linear(width, 4 * width, vb.pp("up"))?,
            down: linear(4 * width, width, vb.pp("down"))?,
        })
    }

    fn forward(&self, x: &Tensor, mask: &Tensor) -> Result<Tensor> {
        let normed = self.norm1.forward(x)?;
        let x = (x + self.attention.forward(&normed, &normed, Some(mask))?)?;
        // `gelu` is the approximation by tanh here.
        let hidden = self.up.forward(&self.norm2.forward(&x)?)?.gelu()?;
        &x + self.down.forward(&hidden)?
    }
}

impl Gpt {
    pub fn new(shape: &protocol::Gpt, vb: VarBuilder) -> Result<Self> {
        let block = |i: usize| Block::new(shape.width, shape.heads, vb.pp(format!("blocks.{i}")));
        let (ids, targets) = Random::new(1).shifted_ids(shape.batch, shape.context, shape.vocab);
        Ok(Self {
            tokens: table(shape.vocab, shape.width, vb.pp("tokens"))?,
            positions: table(shape.context, shape.width, vb.pp("positions"))?,
            blocks: (0..shape.layers).map(block).collect::<Result<_>>()?,
            norm: LayerNorm::new(shape.width, vb.pp("norm"))?,
            mask: causal_mask(shape.context)?,
            ids: Tensor::from_vec(ids, (shape.batch, shape.context), &Device::Cpu)?,
            targets: Tensor::from_vec(targets, shape.batch * shape.context, &Device::Cpu)?,
        })
    }
}

impl Model for Gpt {
    fn loss(&self) -> Result<Tensor> {
        let mut x = look_up(&self.tokens, &self.ids)?.broadcast_add(&self.positions)?;
        for block in &self.blocks {
            x = block.forward(&x, &self.mask)?;
        }
        let x = self.norm.forward(&x)?.flatten_to(1)?; // (b,t,c) -> (n,c)
        loss::cross_entropy(&x.matmul(&self.tokens.t()?)?, &self.targets)
    }
}
