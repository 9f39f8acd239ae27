//! Where the values of a parameter are.

use super::spec::{ParamSpec, Use};
use crate::kernels::quantized::QuantizedMatrix;
use crate::mapped::MappedFile;
use crate::pool::Buffer;
use crate::tensor::Shape;
use std::ops::Range;
use std::sync::Arc;

/// Where the values of a parameter are. Kernels read them as f32 slices whatever the place, but for
/// quantized ones.
pub(super) enum Storage {
    /// In the flat buffer: what a training step changes, or may change.
    Flat(Range<usize>),
    /// In memory of its own: what training leaves as it is. It has no gradient, no moments and no
    /// place in a checkpoint.
    Owned {
        /// Whole cache lines.
        values: Buffer,
        /// Elements.
        len: usize,
    },
    /// In a mapped file, read-only: no private memory.
    Mapped(MappedFloats),
    /// Quantized: there are no f32 to read, but products and look-ups of rows.
    Quantized {
        /// The packed matrix.
        matrix: Arc<QuantizedMatrix>,
        /// Where the f32 it was made from are, if they are still there.
        values: Option<Box<Storage>>,
    },
}

/// A parameter that a loader has in another form than f32 to be copied.
pub enum Stored {
    /// In a mapped file.
    Mapped(MappedFloats),
    /// Quantized.
    Quantized(Arc<QuantizedMatrix>),
}

#[track_caller]
pub(super) fn check_matrix(spec: &ParamSpec, matrix: &QuantizedMatrix) {
    let (rows, cols) = matrix.shape();
    let fits = spec.shape == Shape::from([rows, cols]) && spec.used_for == Use::Weight;
    assert!(fits, "{} {} cannot be a quantized ({rows},{cols})", spec.name, spec.shape);
}

impl Storage {
    /// Zeros outside the flat buffer.
    pub(super) fn owned(len: usize) -> Self {
        Self::Owned { values: Buffer::zeroed(len), len }
    }
}

/// f32 numbers of a mapped file, used in place.
///
/// See [`MappedFile`] on files that change while they are mapped: one that is replaced by renaming
/// keeps its old content here, one that is truncated ends the process when the missing part is
/// read.
#[derive(Clone, Debug)]
pub struct MappedFloats {
    file: Arc<MappedFile>,
    first: usize,
    len: usize,
}

impl MappedFloats {
    /// `len` little-endian f32 that begin at byte `first`; `None` if they cannot be used in place:
    /// they are not aligned, the machine has another byte order, or they reach beyond the file.
    pub fn new(file: Arc<MappedFile>, first: usize, len: usize) -> Option<Self> {
        file.floats(first, len)?;
        Some(Self { file, first, len })
    }

    /// The numbers.
    pub fn as_slice(&self) -> &[f32] {
        self.file.floats(self.first, self.len).expect("checked when it was made")
    }
}
