//! What the two models share.

use burn::module::{Module, Param};
use burn::nn::{Initializer, Linear, LinearConfig};
use burn::tensor::activation::softmax;
use burn::tensor::module::embedding;
use burn::tensor::{Device, Int, Tensor, TensorData};

const SMALL: Initializer = Initializer::Normal { mean: 0.0, std: 0.02 };

pub fn linear(inputs: usize, outputs: usize, device: &Device) -> Linear {
    let mut linear = LinearConfig::new(inputs, outputs).with_initializer(SMALL).init(device);
    linear.bias = Some(Initializer::Zeros.init([outputs], device));
    linear
}

/// A table of vectors; tied models use it as the weight of the output too.
pub fn table(rows: usize, width: usize, device: &Device) -> Param<Tensor<2>> {
    SMALL.init([rows, width], device)
}

pub fn ids<const D: usize>(ids: Vec<u32>, shape: [usize; D], device: &Device) -> Tensor<D, Int> {
    let ids: Vec<i32> = ids.into_iter().map(|id| id as i32).collect();
    Tensor::from_data(TensorData::new(ids, shape), device)
}

/// (b,t) -> (b,t,c)
pub fn look_up(table: &Param<Tensor<2>>, ids: Tensor<2, Int>) -> Tensor<3> {
    embedding(table.val(), ids)
}

/// The scores of every token by the tied table: (b,t,c) -> (n,vocab).
pub fn tied_logits(x: Tensor<3>, table: &Param<Tensor<2>>) -> Tensor<2> {
    let [b, t, c] = x.dims();
    x.reshape([b * t, c]).matmul(table.val().transpose())
}

/// Queries, keys and values by a product each, and no fused attention: under autodiff burn's own falls back to
/// more operations than these.
#[derive(Module, Debug)]
pub struct Attention {
    q: Linear,
    k: Linear,
    v: Linear,
    out: Linear,
    heads: usize,
}

impl Attention {
    pub fn new(width: usize, heads: usize, device: &Device) -> Self {
        let make = || linear(width, width, device);
        Self { q: make(), k: make(), v: make(), out: make(), heads }
    }

    /// `x` asks `memory`, which is `x` itself in self-attention. `mask` is added to the scores.
    pub fn forward(&self, x: Tensor<3>, memory: Tensor<3>, mask: Option<Tensor<4>>) -> Tensor<3> {
        let [b, t, c] = x.dims();
        let q = self.split(self.q.forward(x)).mul_scalar(((c / self.heads) as f32).powf(-0.5));
        let (k, v) = (self.split(self.k.forward(memory.clone())), self.split(self.v.forward(memory)));
        let scores = q.matmul(k.swap_dims(2, 3)); // (b,h,t,s)
        let scores = match mask {
            Some(mask) => scores + mask,
            None => scores,
        };
        let mixed = softmax(scores, 3).matmul(v); // (b,h,t,d)
        self.out.forward(mixed.swap_dims(1, 2).reshape([b, t, c]))
    }

    /// (b,t,c) -> (b,h,t,d)
    fn split(&self, x: Tensor<3>) -> Tensor<4> {
        let [b, t, c] = x.dims();
        x.reshape([b, t, self.heads, c / self.heads]).swap_dims(1, 2)
    }
}

/// Zero up to the diagonal, -inf after it: added to scores, it hides the future. (1,1,t,t)
pub fn causal_mask(length: usize, device: &Device) -> Tensor<4> {
    let value = |i: usize| if i % length > i / length { f32::NEG_INFINITY } else { 0.0 };
    let values: Vec<f32> = (0..length * length).map(value).collect();
    Tensor::from_data(TensorData::new(values, [1, 1, length, length]), device)
}
