//! Weights in the order in which products read them: packed once for many inference passes.
//!
//! A weight (out, in) is read transposed, and a product with more than a few rows copies it into
//! panels first. Where the same weights are used again and again, as in generation, they are packed
//! on first use and kept: as much memory again as the weights of linear layers, for products
//! without packing. The bits do not change.
//!
//! ```
//! use limpid_tensor::kernels::activation::Activation;
//! use limpid_tensor::packed_weights::PackedWeights;
//! use limpid_tensor::params::{Init, Params};
//! use limpid_tensor::tape::{Tape, Var};
//! use limpid_tensor::tensor::Tensor;
//!
//! let mut builder = Params::builder();
//! let w = builder.add("w", [3, 2], Init::Normal(1.0));
//! let params = builder.build(0);
//! let packed = PackedWeights::new(&params);
//! let x = Var::constant(Tensor::new([1, 2], &[1.0, 2.0]));
//! let plain = Tape::inference(&params).linear(&x, w, None, Activation::None);
//! let same = Tape::inference(&params).with_packed(&packed).linear(&x, w, None, Activation::None);
//! assert_eq!(same.data(), plain.data());
//! ```

use crate::arena::Bytes;
use crate::kernels::matmul::{Mat, PackedOperand};
use crate::params::{ParamId, Params};
use crate::tape::Tape;
use std::sync::OnceLock;

/// The weights of one [`Params`] that have been packed. The parameters must not change while they
/// are in use.
pub struct PackedWeights {
    panels: Vec<OnceLock<Bytes>>,
}

impl PackedWeights {
    /// Nothing is packed yet.
    pub fn new(params: &Params) -> Self {
        Self { panels: params.iter().map(|_| OnceLock::new()).collect() }
    }

    /// A weight (out, in) as the right operand (in, out) of a product, packed if it is not yet.
    #[track_caller]
    pub(crate) fn get(&self, params: &Params, w: ParamId) -> PackedOperand<'_> {
        let shape = params.shape(w);
        let (out, width) = (shape.dim(0), shape.dim(1));
        let panels = self.panels[w.index()].get_or_init(|| {
            let weight = Mat::new(params.get(w), out, width).t();
            Bytes::filled_with_floats(PackedOperand::packed_len(width, out), |panels| {
                PackedOperand::new(panels, weight);
            })
        });
        PackedOperand::of_panels(panels.floats(), width, out)
    }

    /// Bytes of what has been packed.
    pub fn bytes(&self) -> usize {
        self.panels.iter().filter_map(OnceLock::get).map(|panels| panels.len()).sum()
    }
}

/// Parameters for inference, with their packed form if there is one.
#[derive(Clone, Copy)]
pub struct Weights<'a> {
    /// The parameters.
    pub params: &'a Params,
    /// The same, packed.
    pub packed: Option<&'a PackedWeights>,
}

impl<'a> From<&'a Params> for Weights<'a> {
    fn from(params: &'a Params) -> Self {
        Self { params, packed: None }
    }
}

impl<'a> Weights<'a> {
    /// A tape for inference with them.
    pub fn tape(self) -> Tape<'a> {
        let tape = Tape::inference(self.params);
        match self.packed {
            Some(packed) => tape.with_packed(packed),
            None => tape,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::random_tensor;
    use crate::kernels::activation::Activation;
    use crate::params::Init;
    use crate::tape::Var;

    #[test]
    fn packed_weights_give_the_same_bits_and_are_packed_once() {
        for (n, i, o) in [(1, 7, 5), (3, 64, 100), (4, 400, 33), (13, 33, 8), (130, 385, 97)] {
            let mut builder = Params::builder();
            let (w, b) = (
                builder.add("w", [o, i], Init::Normal(0.5)),
                builder.add("b", [o], Init::Normal(0.5)),
            );
            let params = builder.build(7);
            let (packed, x) = (PackedWeights::new(&params), Var::constant(random_tensor([n, i])));
            let plain = Tape::inference(&params).linear(&x, w, Some(b), Activation::Gelu);
            for _ in 0..2 {
                let mut tape = Tape::inference(&params).with_packed(&packed);
                let got = tape.linear(&x, w, Some(b), Activation::Gelu);
                assert_eq!(got.data(), plain.data(), "({n},{i})·({i},{o})");
                assert_eq!(packed.bytes(), 4 * PackedOperand::packed_len(i, o));
            }
        }
    }
}
