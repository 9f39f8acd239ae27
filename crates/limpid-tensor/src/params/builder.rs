//! Collecting the parameters of a model.

use super::spec::fill;
use super::storage::{Storage, Stored, check_matrix};
use super::{Init, ParamId, ParamSpec, Params, Role, Use, places};
use crate::pool::Buffer;
use crate::rng::Stream;
use crate::tensor::Shape;
use std::ops::Range;

/// Collects the parameters of a model while its layers are built.
#[derive(Default)]
pub struct ParamsBuilder {
    specs: Vec<ParamSpec>,
}

impl ParamsBuilder {
    /// Adds a trained parameter.
    ///
    /// # Panics
    /// If another parameter has this name.
    #[track_caller]
    pub fn add(&mut self, name: impl Into<String>, shape: impl Into<Shape>, init: Init) -> ParamId {
        self.add_with_role(name.into(), shape.into(), init, Role::Trained)
    }

    /// Adds a trained matrix (out, in) that operations use in products and look-ups of rows alone.
    ///
    /// # Panics
    /// If another parameter has this name.
    #[track_caller]
    pub fn add_weight(
        &mut self,
        name: impl Into<String>,
        shape: impl Into<Shape>,
        init: Init,
    ) -> ParamId {
        let id = self.add(name, shape, init);
        self.specs[id.index()].used_for = Use::Weight;
        id
    }

    /// Adds a parameter of the role [`Role::Fixed`].
    ///
    /// # Panics
    /// If another parameter has this name.
    #[track_caller]
    pub fn add_fixed(
        &mut self,
        name: impl Into<String>,
        shape: impl Into<Shape>,
        init: Init,
    ) -> ParamId {
        self.add_with_role(name.into(), shape.into(), init, Role::Fixed)
    }

    /// Adds a parameter of the role [`Role::Statistic`].
    ///
    /// # Panics
    /// If another parameter has this name.
    #[track_caller]
    pub fn add_statistic(
        &mut self,
        name: impl Into<String>,
        shape: impl Into<Shape>,
        init: Init,
    ) -> ParamId {
        self.add_with_role(name.into(), shape.into(), init, Role::Statistic)
    }

    #[track_caller]
    fn add_with_role(&mut self, name: String, shape: Shape, init: Init, role: Role) -> ParamId {
        assert!(
            self.specs.iter().all(|spec| spec.name != name),
            "two parameters are called {name}"
        );
        self.specs.push(ParamSpec { name, shape, init, role, used_for: Use::Any });
        ParamId((self.specs.len() - 1) as u32)
    }

    /// The parameters added so far, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ParamId, &ParamSpec)> {
        self.specs.iter().enumerate().map(|(i, spec)| (ParamId(i as u32), spec))
    }

    /// Name, shape and role of a parameter.
    pub fn spec(&self, id: ParamId) -> &ParamSpec {
        &self.specs[id.index()]
    }

    /// Allocates the parameters and samples their initial values: parameter i from stream i of the
    /// seed.
    pub fn build(self, seed: u64) -> Params {
        let mut params = self.build_zeroed();
        for i in 0..params.specs.len() {
            let spec = params.specs[i].clone();
            // The top bit of the stream number separates initial values from every other use of the
            // seed.
            let rng = Stream::new(seed, 1 << 63 | i as u64);
            fill(params.get_mut(ParamId(i as u32)), &spec, rng);
        }
        params
    }

    /// Allocates the parameters as zeros, for a loader that writes every one of them.
    pub fn build_zeroed(self) -> Params {
        self.build_stored(|_| None)
    }

    /// The same with those parameters in a mapped file or quantized that `stored` finds; no f32
    /// are allocated for them. They can be read; to be trained, mapped ones must be moved into
    /// memory by [`Params::set_roles`], and quantized ones cannot be.
    ///
    /// # Panics
    /// If one does not have the parameter's size or shape.
    #[track_caller]
    pub fn build_stored(self, stored: impl FnMut(ParamId) -> Option<Stored>) -> Params {
        let ids = (0..self.specs.len() as u32).map(ParamId);
        let mut found: Vec<Option<Stored>> = ids.map(stored).collect();
        for (spec, stored) in self.specs.iter().zip(&found) {
            match stored {
                Some(Stored::Mapped(floats)) => {
                    let (len, other) = (spec.shape.len(), floats.as_slice().len());
                    assert!(other == len, "{other} numbers mapped for {len}");
                }
                Some(Stored::Quantized(matrix)) => check_matrix(spec, matrix),
                None => {}
            }
        }
        let (places, len) = places(&self.specs, |i| found[i].is_some());
        let place = |(i, place): (usize, Option<Range<usize>>)| match (found[i].take(), place) {
            (Some(Stored::Mapped(floats)), _) => Storage::Mapped(floats),
            (Some(Stored::Quantized(matrix)), _) => Storage::Quantized { matrix, values: None },
            (None, Some(range)) => Storage::Flat(range),
            (None, None) => Storage::owned(self.specs[i].shape.len()),
        };
        let storage = places.into_iter().enumerate().map(place).collect();
        let values = Buffer::zeroed(len);
        Params { specs: self.specs, storage, values, len, adapters: Vec::new() }
    }
}
