//! An encoder-decoder, as `Seq2Seq` of bench/torch_models.py.

use crate::layers::{Attention, LayerNorm, causal_mask, linear, look_up, table};
use crate::train::Model;
use candle_core::{D, Device, Result, Tensor};
use candle_nn::{Linear, Module, VarBuilder, ops};
use protocol::{Random, sinusoids};

pub struct Seq2Seq {
    tokens: Tensor,
    positions: Tensor,
    encoder: Vec<Layer>,
    decoder: Vec<Layer>,
    mask: Tensor,
    source: Tensor,
    target_in: Tensor,
    targets: Tensor,
    label_smoothing: f64,
}

/// Of the encoder, or with `cross` of the decoder.
struct Layer {
    attention: Attention,
    norm1: LayerNorm,
    cross: Option<(Attention, LayerNorm)>,
    up: Linear,
    down: Linear,
    norm2: LayerNorm,
}

impl Layer {
    fn new(shape: &protocol::Seq2Seq, cross: Option<VarBuilder>, vb: VarBuilder) -> Result<Self> {
        let c = shape.width;
        let cross = cross.map(|vb| -> Result<_> {
            Ok((
                Attention::new(c, shape.heads, vb.pp("attention"))?,
                LayerNorm::new(c, vb.pp("norm"))?,
            ))
        });
        Ok(Self {
            attention: Attention::new(c, shape.heads, vb.pp("attention"))?,
            norm1: LayerNorm::new(c, vb.pp("norm1"))?,
            cross: cross.transpose()?,
            up: linear(c, shape.ffn, vb.pp("up"))?,
            down: linear(shape.ffn, c, vb.pp("down"))?,
            norm2: LayerNorm::new(c, vb.pp("norm2"))?,
        })
    }

    fn forward(
        &self,
        x: &Tensor,
        memory: Option<&Tensor>,
        mask: Option<&Tensor>,
    ) -> Result<Tensor> {
        let mut x = self.norm1.forward(&(x + self.attention.forward(x, x, mask)?)?)?;
        if let (Some((attention, norm)), Some(memory)) = (&self.cross, memory) {
            x = norm.forward(&(&x + attention.forward(&x, memory, None)?)?)?;
        }
        let fed = self.down.forward(&self.up.forward(&x)?.relu()?)?;
        self.norm2.forward(&(&x + fed)?)
    }
}

impl Seq2Seq {
    pub fn new(shape: &protocol::Seq2Seq, vb: VarBuilder) -> Result<Self> {
        let mut random = Random::new(1);
        let source = random.ids(shape.batch * shape.length, shape.vocab);
        let (target_in, targets) = random.shifted_ids(shape.batch, shape.length, shape.vocab);
        let pairs = (shape.batch, shape.length);
        let encoder = |i: usize| Layer::new(shape, None, vb.pp(format!("encoder.{i}")));
        let decoder = |i: usize| {
            let vb = vb.pp(format!("decoder.{i}"));
            Layer::new(shape, Some(vb.pp("cross")), vb)
        };
        Ok(Self {
            tokens: table(shape.vocab, shape.width, vb.pp("tokens"))?,
            positions: Tensor::from_vec(
                sinusoids(shape.length, shape.width),
                (shape.length, shape.width),
                &Device::Cpu,
            )?,
            encoder: (0..shape.layers).map(encoder).collect::<Result<_>>()?,
            decoder: (0..shape.layers).map(decoder).collect::<Result<_>>()?,
            mask: causal_mask(shape.length)?,
            source: Tensor::from_vec(source, pairs, &Device::Cpu)?,
            target_in: Tensor::from_vec(target_in, pairs, &Device::Cpu)?,
            targets: Tensor::from_vec(targets, shape.batch * shape.length, &Device::Cpu)?,
            label_smoothing: shape.label_smoothing,
        })
    }

    fn embed(&self, ids: &Tensor) -> Result<Tensor> {
        let scale = (self.tokens.dim(1)? as f64).sqrt();
        (look_up(&self.tokens, ids)? * scale)?.broadcast_add(&self.positions)
    }
}

impl Model for Seq2Seq {
    fn loss(&self) -> Result<Tensor> {
        let mut memory = self.embed(&self.source)?;
        for layer in &self.encoder {
            memory = layer.forward(&memory, None, None)?;
        }
        let mut x = self.embed(&self.target_in)?;
        for layer in &self.decoder {
            x = layer.forward(&x, Some(&memory), Some(&self.mask))?;
        }
        smoothed_cross_entropy(
            &x.flatten_to(1)?.matmul(&self.tokens.t()?)?,
            &self.targets,
            self.label_smoothing,
        )
    }
}

/// (1-ε)·(−log p of the target) + ε·(−log p on average over the vocabulary), averaged over the
/// tokens.
fn smoothed_cross_entropy(logits: &Tensor, targets: &Tensor, epsilon: f64) -> Result<Tensor> {
    let log_p = ops::log_softmax(logits, D::Minus1)?;
    let of_target = log_p.gather(&targets.unsqueeze(1)?, 1)?.mean_all()?;
    (of_target * -(1.0 - epsilon))? - (log_p.mean_all()? * epsilon)?
}
