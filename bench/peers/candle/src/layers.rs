//! Layers whose every operation has a backward: candle's own `LayerNorm` and `softmax_last_dim`
//! have none, and a model made of them trains almost nothing without saying so.

use candle_core::{D, DType, Device, Result, Tensor};
use candle_nn::{Init, Linear, Module, VarBuilder, ops};

const SMALL: Init = Init::Randn { mean: 0.0, stdev: 0.02 };

pub fn linear(inputs: usize, outputs: usize, vb: VarBuilder) -> Result<Linear> {
    let weight = vb.get_with_hints((outputs, inputs), "weight", SMALL)?;
    Ok(Linear::new(weight, Some(vb.get_with_hints(outputs, "bias", Init::Const(0.0))?)))
}

/// A table of vectors; tied models use it as the weight of the output too.
pub fn table(rows: usize, width: usize, vb: VarBuilder) -> Result<Tensor> {
    vb.get_with_hints((rows, width), "weight", SMALL)
}

pub struct LayerNorm {
    weight: Tensor,
    bias: Tensor,
}

impl LayerNorm {
    pub fn new(width: usize, vb: VarBuilder) -> Result<Self> {
        let weight = vb.get_with_hints(width, "weight", Init::Const(1.0))?;
        Ok(Self { weight, bias: vb.get_with_hints(width, "bias", Init::Const(0.0))? })
    }

    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        ops::layer_norm_slow(x, &self.weight, &self.bias, 1e-5)
    }
}

/// Queries, keys and values by a product each: cutting one product in three took candle 25% longer
/// on S, because of its backward.
pub struct Attention {
    q: Linear,
    k: Linear,
    v: Linear,
    out: Linear,
    heads: usize,
}

impl Attention {
    pub fn new(width: usize, heads: usize, vb: VarBuilder) -> Result<Self> {
        let make = |name: &str| linear(width, width, vb.pp(name));
        Ok(Self { q: make("q")?, k: make("k")?, v: make("v")?, out: make("out")?, heads })
    }

    /// `x` asks `memory`, which is `x` itself in self-attention. `mask` is added to the scores.
    pub fn forward(&self, x: &Tensor, memory: &Tensor, mask: Option<&Tensor>) -> Result<Tensor> {
        let head_width = x.dim(D::Minus1)? / self.heads;
        let q = (self.split(&self.q.forward(x)?)? * (head_width as f64).powf(-0.5))?;
        let (k, v) = (self.split(&self.k.forward(memory)?)?, self.split(&self.v.forward(memory)?)?);
        let scores = q.matmul(&k.t()?)?; // (b,h,t,s)
        let scores = mask.map_or(Ok(scores.clone()), |mask| scores.broadcast_add(mask))?;
        let mixed = ops::softmax(&scores, D::Minus1)?.matmul(&v)?; // (b,h,t,d)
        self.out.forward(&mixed.transpose(1, 2)?.flatten_from(2)?)
    }

    /// (b,t,c) -> (b,h,t,d)
    fn split(&self, x: &Tensor) -> Result<Tensor> {
        let (b, t, c) = x.dims3()?;
        x.reshape((b, t, self.heads, c / self.heads))?.transpose(1, 2)?.contiguous()
    }
}

/// Zero up to the diagonal, -inf after it: added to scores, it hides the future.
pub fn causal_mask(length: usize) -> Result<Tensor> {
    let value = |i: usize| if i % length > i / length { f32::NEG_INFINITY } else { 0.0 };
    let values: Vec<f32> = (0..length * length).map(value).collect();
    Tensor::from_vec(values, (length, length), &Device::Cpu)?.to_dtype(DType::F32)
}

/// The rows of a table that `ids` name: (b,t) -> (b,t,c).
pub fn look_up(table: &Tensor, ids: &Tensor) -> Result<Tensor> {
    let (b, t) = ids.dims2()?;
    table.index_select(&ids.flatten_all()?, 0)?.reshape((b, t, table.dim(1)?))
}
