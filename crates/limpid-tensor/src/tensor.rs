//! Tensors: a shape and a shared, contiguous, row-major buffer of f32.
//!
//! ```
//! use limpid_tensor::tensor::Tensor;
//!
//! let x = Tensor::new([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
//! assert_eq!(x.row(1), [4.0, 5.0, 6.0]);
//! let same = x.reshape([3, 2]); // shares the data
//! assert_eq!(same.row(2), [5.0, 6.0]);
//! ```
//!
//! Buffers come from the [`pool`], and return to it when the last clone is dropped.

use crate::pool::{self, Buffer};
use std::fmt;
use std::sync::Arc;

/// Up to four dimensions, the last one contiguous.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    dims: [u32; 4],
    rank: u8,
}

impl Shape {
    /// A shape with these dimensions.
    ///
    /// # Panics
    /// With more than four dimensions, or one of 2³² or more.
    #[track_caller]
    pub fn new(dims: &[usize]) -> Self {
        assert!(dims.len() <= 4, "a tensor has at most 4 dimensions, not {}", dims.len());
        let mut shape = Self { dims: [1; 4], rank: dims.len() as u8 };
        for (to, &from) in shape.dims.iter_mut().zip(dims) {
            *to = u32::try_from(from).expect("a dimension is below 2^32");
        }
        shape
    }

    /// Size of dimension `i`.
    ///
    /// # Panics
    /// If there are not more than `i` dimensions.
    #[track_caller]
    pub fn dim(&self, i: usize) -> usize {
        assert!(i < usize::from(self.rank), "dimension {i} of {self}");
        self.dims[i] as usize
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        usize::from(self.rank)
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.dims.iter().map(|d| *d as usize).product()
    }

    /// Whether the number of elements is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The dimensions, in order.
    pub fn dims(&self) -> impl ExactSizeIterator<Item = usize> + use<> {
        let (dims, rank) = (self.dims, self.rank());
        (0..rank).map(move |i| dims[i] as usize)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.dims().map(|d| d.to_string()).collect();
        write!(f, "({})", dims.join(","))
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    #[track_caller]
    fn from(dims: [usize; N]) -> Self {
        Shape::new(&dims)
    }
}

/// A tensor of f32. Cloning shares the data, which is mutable only while it has one owner.
pub struct Tensor {
    /// `None` only while being dropped.
    buffer: Option<Arc<Buffer>>,
    shape: Shape,
}

impl Tensor {
    /// A tensor with arbitrary (but initialized) content, for an operation that writes every
    /// element. In debug builds it is filled with NaN.
    ///
    /// # Panics
    /// As [`Shape::new`].
    #[track_caller]
    pub fn uninit(shape: impl Into<Shape>) -> Self {
        let shape = shape.into();
        Self { buffer: Some(pool::take(shape.len())), shape }
    }

    /// A tensor of zeros.
    ///
    /// # Panics
    /// As [`Shape::new`].
    #[track_caller]
    pub fn zeros(shape: impl Into<Shape>) -> Self {
        let mut tensor = Self::uninit(shape);
        tensor.data_mut().fill(0.0);
        tensor
    }

    /// A copy of `data`.
    ///
    /// # Panics
    /// If `data` does not have as many elements as the shape.
    #[track_caller]
    pub fn new(shape: impl Into<Shape>, data: &[f32]) -> Self {
        let shape = shape.into();
        assert_eq!(
            shape.len(),
            data.len(),
            "shape {shape} has {} elements, not {}",
            shape.len(),
            data.len()
        );
        let mut tensor = Self::uninit(shape);
        tensor.data_mut().copy_from_slice(data);
        tensor
    }

    /// A tensor of shape (1).
    pub fn scalar(value: f32) -> Self {
        Self::new([1], &[value])
    }

    /// Whether both have the same memory: one is a clone of the other, or a reshaped one.
    pub fn shares_data(&self, other: &Tensor) -> bool {
        match (&self.buffer, &other.buffer) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// The shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The elements, row by row.
    pub fn data(&self) -> &[f32] {
        let buffer = self.buffer.as_ref().expect("present until dropped");
        &buffer.as_slice()[..self.shape.len()]
    }

    /// The elements, mutable.
    ///
    /// # Panics
    /// If the data is shared with another tensor.
    #[track_caller]
    pub fn data_mut(&mut self) -> &mut [f32] {
        let shape = self.shape;
        self.try_data_mut()
            .unwrap_or_else(|| panic!("tensor {shape} is shared: it cannot be written"))
    }

    /// The elements, mutable, or `None` if the data is shared.
    pub fn try_data_mut(&mut self) -> Option<&mut [f32]> {
        let len = self.shape.len();
        let buffer = self.buffer.as_mut().expect("present until dropped");
        Arc::get_mut(buffer).map(|buffer| &mut buffer.as_mut_slice()[..len])
    }

    /// The same data under another shape.
    ///
    /// # Panics
    /// If the number of elements differs.
    #[track_caller]
    pub fn reshape(&self, shape: impl Into<Shape>) -> Self {
        let shape = shape.into();
        assert_eq!(
            shape.len(),
            self.shape.len(),
            "reshape: {} and {shape} differ in their number of elements",
            self.shape
        );
        Self { buffer: self.buffer.clone(), shape }
    }

    /// Rows and columns of a matrix.
    ///
    /// # Panics
    /// If the tensor does not have two dimensions.
    #[track_caller]
    pub fn rows_cols(&self) -> (usize, usize) {
        assert!(self.shape.rank() == 2, "expected a matrix (rows, columns), found {}", self.shape);
        (self.shape.dim(0), self.shape.dim(1))
    }

    /// Row `i` of a matrix.
    ///
    /// # Panics
    /// If the tensor is not a matrix of more than `i` rows.
    #[track_caller]
    pub fn row(&self, i: usize) -> &[f32] {
        let (rows, cols) = self.rows_cols();
        assert!(i < rows, "row {i} of {}", self.shape);
        &self.data()[i * cols..(i + 1) * cols]
    }

    /// The element of a scalar.
    ///
    /// # Panics
    /// If there is not exactly one element.
    #[track_caller]
    pub fn item(&self) -> f32 {
        assert_eq!(self.shape.len(), 1, "item: {} is not a scalar", self.shape);
        self.data()[0]
    }
}

impl Clone for Tensor {
    fn clone(&self) -> Self {
        Self { buffer: self.buffer.clone(), shape: self.shape }
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            pool::give_back(buffer);
        }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data = self.data();
        write!(
            f,
            "Tensor{} {:?}{}",
            self.shape,
            &data[..data.len().min(8)],
            if data.len() > 8 { "…" } else { "" }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_until_one_is_left() {
        let mut a = Tensor::new([2, 2], &[1.0, 2.0, 3.0, 4.0]);
        let b = a.clone();
        assert!(a.try_data_mut().is_none());
        drop(b);
        a.data_mut()[0] = 9.0;
        assert_eq!(a.row(0), [9.0, 2.0]);
        assert_eq!(a.reshape([4]).data(), [9.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn a_tensor_may_be_empty() {
        let none = Tensor::zeros([0, 5]);
        assert!(none.shape().is_empty());
        assert_eq!(none.data().len(), 0);
    }

    #[test]
    #[should_panic(expected = "shape (2,3) has 6 elements, not 5")]
    fn a_wrong_number_of_elements_panics_with_both_numbers() {
        let _ = Tensor::new([2, 3], &[0.0; 5]);
    }
}
