//! Low-rank adapters of weight matrices (LoRA, Hu et al. 2021).

use super::spec::fill;
use super::storage::Storage;
use super::{Init, ParamId, ParamSpec, Params, Role, Use};
use crate::rng::Stream;
use std::ops::Range;

/// An adapter of some rows of a weight W (o, i): `y[rows] += scale · (dropout(x)·Aᵀ)·Bᵀ`.
#[derive(Clone, Debug, PartialEq)]
pub struct Adapter {
    /// The rows of W that it changes: all, or one of several matrices that are stacked.
    pub rows: Range<usize>,
    /// A (r, i).
    pub a: ParamId,
    /// B (rows, r).
    pub b: ParamId,
    /// Factor on its output, α/r.
    pub scale: f32,
    /// Probability that an element of x is dropped in training.
    pub dropout: f32,
}

/// An adapter to be added.
#[derive(Clone, Debug, PartialEq)]
pub struct AdapterSpec {
    /// The weight W (o, i).
    pub weight: ParamId,
    /// The rows of W that it changes.
    pub rows: Range<usize>,
    /// Names of A and B.
    pub names: [String; 2],
    /// r.
    pub rank: usize,
    /// Factor on its output, α/r.
    pub scale: f32,
    /// Probability that an element of x is dropped in training.
    pub dropout: f32,
}

impl Params {
    /// Adds adapters. A is uniform in ±1/√i, as that of a linear layer in PyTorch (Kaiming uniform
    /// with a = √5), and B is 0, so that nothing changes at first; parameter k is sampled from
    /// stream k of the seed.
    ///
    /// # Panics
    /// If a name is taken, the weight is not a matrix, or it does not have these rows.
    #[track_caller]
    pub fn add_adapters(&mut self, adapters: &[AdapterSpec], seed: u64) {
        for adapter in adapters {
            let AdapterSpec { weight, rows, names: [a, b], rank, scale, dropout } = adapter.clone();
            let shape = self.shape(weight);
            let name = &self.spec(weight).name;
            assert!(
                shape.rank() == 2 && rows.end <= shape.dim(0),
                "adapter of rows {rows:?} of {name} {shape}"
            );
            let i = shape.dim(1);
            let bound = (1.0 / i as f32).sqrt();
            let a = self.append(a, [rank, i], Init::Uniform(bound), seed);
            let b = self.append(b, [rows.len(), rank], Init::Zeros, seed);
            if self.adapters.len() <= weight.index() {
                self.adapters.resize(weight.index() + 1, Vec::new());
            }
            self.adapters[weight.index()].push(Adapter { rows, a, b, scale, dropout });
        }
        self.lay_out(|storage| matches!(storage, Storage::Mapped(_)));
    }

    /// The adapters of a weight.
    pub fn adapters(&self, weight: ParamId) -> &[Adapter] {
        self.adapters.get(weight.index()).map_or(&[], Vec::as_slice)
    }

    /// All adapters, with the weight of each.
    pub fn all_adapters(&self) -> impl Iterator<Item = (ParamId, &Adapter)> {
        let weights = (0..self.adapters.len() as u32).map(ParamId);
        weights.flat_map(|w| self.adapters(w).iter().map(move |adapter| (w, adapter)))
    }

    /// Removes all adapters and their parameters, which were added last.
    pub fn remove_adapters(&mut self) {
        let first = self.all_adapters().map(|(_, adapter)| adapter.a.index()).min();
        let Some(first) = first else { return };
        self.adapters.clear();
        self.specs.truncate(first);
        self.storage.truncate(first);
        self.lay_out(|storage| matches!(storage, Storage::Mapped(_)));
    }

    /// Whether a parameter belongs to an adapter.
    pub fn is_adapter(&self, id: ParamId) -> bool {
        self.all_adapters().any(|(_, adapter)| adapter.a == id || adapter.b == id)
    }

    #[track_caller]
    fn append(&mut self, name: String, shape: [usize; 2], init: Init, seed: u64) -> ParamId {
        assert!(self.find(&name).is_none(), "two parameters are called {name}");
        let id = ParamId(self.specs.len() as u32);
        let spec =
            ParamSpec { name, shape: shape.into(), init, role: Role::Trained, used_for: Use::Any };
        self.storage.push(Storage::owned(spec.shape.len()));
        self.specs.push(spec.clone());
        fill(self.get_mut(id), &spec, Stream::new(seed, 1 << 63 | id.index() as u64));
        id
    }
}
