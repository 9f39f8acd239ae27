//! numpy arrays: results move into them, parameters are viewed through them.

use limpid::tensor::tensor::Tensor;
use numpy::ndarray::{ArrayView, ArrayViewD, Ix2, IxDyn};
use numpy::{IntoPyArray, PyArray, PyArray2, PyArray3, PyArrayDyn, PyArrayMethods};
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Token ids: an array of uint32, or anything that is a sequence of whole numbers.
#[derive(FromPyObject)]
pub enum Ids<'py> {
    Array(PyReadonlyArray1<'py, u32>),
    Sequence(Vec<u32>),
}

impl Ids<'_> {
    /// Calls `work` with the ids, without a copy if they are contiguous.
    pub fn with<T>(&self, work: impl FnOnce(&[u32]) -> T) -> T {
        match self {
            Ids::Array(array) => match array.as_slice() {
                Ok(ids) => work(ids),
                Err(_) => work(&array.as_array().to_vec()),
            },
            Ids::Sequence(ids) => work(ids),
        }
    }
}

/// The rows of a matrix as an array (rows, `cols`): one copy, into memory that the array takes.
pub fn matrix<'py>(
    py: Python<'py>,
    rows: &[Vec<f32>],
    cols: usize,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    rows.concat().into_pyarray(py).reshape([rows.len(), cols])
}

/// Weights of heads (h, t, s): one copy, into memory that the array takes.
pub fn heads<'py>(py: Python<'py>, heads: &[Vec<Vec<f32>>]) -> PyResult<Bound<'py, PyArray3<f32>>> {
    let t = heads.first().map_or(0, Vec::len);
    let s = heads.first().and_then(|head| head.first()).map_or(0, Vec::len);
    heads.concat().concat().into_pyarray(py).reshape([heads.len(), t, s])
}

/// Keeps a tensor alive for the array that shows it.
#[pyclass(frozen, module = "limpid")]
struct TensorOwner {
    tensor: Tensor,
}

/// A matrix that nobody else holds as an array, without a copy.
pub fn of_tensor(py: Python<'_>, mut tensor: Tensor) -> PyResult<Bound<'_, PyArray2<f32>>> {
    let (rows, cols) = tensor.rows_cols();
    if tensor.try_data_mut().is_none() {
        return tensor.data().to_vec().into_pyarray(py).reshape([rows, cols]);
    }
    let owner = Bound::new(py, TensorOwner { tensor })?;
    let view = ArrayView::<f32, Ix2>::from_shape((rows, cols), owner.get().tensor.data())
        .expect("a tensor has the numbers of its shape");
    // SAFETY: the memory belongs to the tensor that `owner` holds; the array holds `owner`, which
    // nothing else can reach, and no other tensor shares the memory: writing to the array cannot be
    // seen from elsewhere.
    Ok(unsafe { PyArray::borrow_from_array(&view, owner.clone().into_any()) })
}

/// Numbers that `owner` keeps alive and unchanged, as a read-only array without a copy.
///
/// # Safety
/// The memory must stay valid and unchanged for as long as `owner` lives.
pub unsafe fn borrowed<'py>(
    owner: Bound<'py, PyAny>,
    shape: &[usize],
    data: &[f32],
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let view = ArrayViewD::<f32>::from_shape(IxDyn(shape), data)
        .map_err(|error| PyTypeError::new_err(error.to_string()))?;
    // SAFETY: by the caller's promise; the array holds `owner`, and is made read-only before
    // anybody sees it. It does not own its data, so Python cannot make it writeable again.
    let array = unsafe { PyArray::borrow_from_array(&view, owner) };
    debug_assert_eq!(array.shape(), shape);
    array.readwrite().make_nonwriteable();
    Ok(array)
}
