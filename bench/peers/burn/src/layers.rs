//! What the two models share.

use burn::module::{Module, Param};
use burn::nn::{Initializer, Linear, LinearConfig};
use burn::tensor::module::{attention, embedding};
use burn::tensor::ops::AttentionModuleOptions;
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

/// Which keys a query may see.
#[derive(Clone, Copy, PartialEq)]
pub enum Sight {
    All,
    Past,
}

/// Queries, keys and values by a product each: cutting one product in three took burn 10% longer on
/// S.
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

    /// `x` asks `memory`, which is `x` itself in self-attention.
    pub fn forward(&self, x: Tensor<3>, memory: Tensor<3>, sight: Sight) -> Tensor<3> {
        let [b, t, c] = x.dims();
        let q = self.split(self.q.forward(x));
        let (k, v) =
            (self.split(self.k.forward(memory.clone())), self.split(self.v.forward(memory)));
        // Under autodiff it is made of single operations; written out by hand with burn's softmax
        // it took the same time.
        let options =
            AttentionModuleOptions { is_causal: sight == Sight::Past, ..Default::default() };
        let mixed = attention(q, k, v, None, None, options); // (b,h,t,d)
        self.out.forward(mixed.swap_dims(1, 2).reshape([b, t, c]))
    }

    /// (b,t,c) -> (b,h,t,d)
    fn split(&self, x: Tensor<3>) -> Tensor<4> {
        let [b, t, c] = x.dims();
        x.reshape([b, t, self.heads, c / self.heads]).swap_dims(1, 2)
    }
}
