//! Matrix products: c = a·b, or c += a·b.
//!
//! ```text
//! c[i][j] = Σ_k a[i][k] · b[k][j]            a (m,k)   b (k,n)   c (m,n)
//! ```
//!
//! Transposes are strides, not copies: `w.t()` reads the same memory with rows and columns
//! exchanged. The derivative of a product is two more products: dA = dC·Bᵀ and dB = Aᵀ·dC.
//!
//! ```
//! use limpid_tensor::kernels::matmul::{Accumulate, Mat, MatMut, product};
//!
//! let (x, w) = ([1.0, 2.0], [3.0, 4.0, 5.0, 6.0]); // x (1, 2), W (2, 2)
//! let mut y = [0.0; 2];
//! let w_t = Mat::new(&w, 2, 2).t();
//! product(MatMut::new(&mut y, 1, 2), Mat::new(&x, 1, 2), w_t, 1.0, Accumulate::Overwrite);
//! assert_eq!(y, [11.0, 17.0]); // x·Wᵀ
//! ```
//!
//! # How
//! As in BLIS (Van Zee and van de Geijn 2015): `micro` keeps a tile of c in registers, `pack`
//! copies panels of b (and of a transposed a) into the order in which it reads them, `block` is the
//! loops around it, `small` handles products with few rows; this file splits a product into tasks.
//! On the team, b is packed once by all threads, then blocks of c are computed from it; a right
//! operand that many products share is packed once for all of them (`packed`).
//!
//! # Reproducibility
//! k is split into blocks of a length that depends on k alone (`block::depth_block`). Each element
//! of c is, block by block, one chain of multiply-adds that starts at 0 and follows k, times alpha,
//! added to c. Tiles at the edges and products with few rows do the same. So, at one
//! instruction-set level, an element has the same bits for any number of threads, other rows and
//! columns of the product, strides and split: a row computed alone equals the row in a batch.
//! Between levels the bits differ: NEON, AVX2 and AVX-512 fuse the multiply-add (and agree with
//! each other), portable code rounds twice.

mod block;
mod micro;
#[cfg(target_arch = "aarch64")]
mod neon;
pub(in crate::kernels) mod pack;
mod packed;
mod small;
pub(in crate::kernels) mod vector;

pub use packed::PackedOperand;

use crate::simd::{Level, level};
use crate::team;
use block::{CHUNK, Finish, Packed, Product, blocks, depth_block};
use pack::{Purpose, with_scratch};
use std::ops::Range;

/// Whether a result replaces the content of its destination or is added to it (BLAS: β = 0 or 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulate {
    /// The old content is not read: it may be NaN.
    Overwrite,
    /// The result is added to the old content.
    Add,
}

/// A matrix to read: `rows` x `cols`, element (i, j) at `i·row_stride + j·col_stride`.
#[derive(Clone, Copy)]
pub struct Mat<'a> {
    data: &'a [f32],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a> Mat<'a> {
    /// A contiguous row-major matrix.
    ///
    /// # Panics
    /// If the slice is too short.
    #[track_caller]
    pub fn new(data: &'a [f32], rows: usize, cols: usize) -> Self {
        Self::with_stride(data, rows, cols, cols)
    }

    /// Rows that start `row_stride` elements apart, as columns of a wider matrix do.
    ///
    /// # Panics
    /// If the slice is too short, or rows overlap.
    #[track_caller]
    pub fn with_stride(data: &'a [f32], rows: usize, cols: usize, row_stride: usize) -> Self {
        check_fits(data.len(), rows, cols, row_stride);
        Self { data, rows, cols, row_stride, col_stride: 1 }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Row i.
    ///
    /// # Panics
    /// If the matrix is transposed, or has no such row.
    #[track_caller]
    pub fn row(&self, i: usize) -> &'a [f32] {
        assert!(self.col_stride == 1 && i < self.rows, "row {i} of {} rows", self.rows);
        &self.data[i * self.row_stride..][..self.cols]
    }

    /// Elements between the starts of two rows, if the rows are contiguous.
    pub(in crate::kernels) fn contiguous_rows(&self) -> Option<usize> {
        (self.col_stride == 1).then_some(self.row_stride)
    }

    /// The address of the first element.
    pub(in crate::kernels) fn start(&self) -> *const f32 {
        self.data.as_ptr()
    }

    /// The transpose, without copying.
    pub fn t(self) -> Self {
        Self {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }
}

/// A matrix to write: rows of `cols` elements, `row_stride` apart.
pub struct MatMut<'a> {
    data: &'a mut [f32],
    rows: usize,
    cols: usize,
    row_stride: usize,
}

impl<'a> MatMut<'a> {
    /// A contiguous row-major matrix.
    ///
    /// # Panics
    /// If the slice is too short.
    #[track_caller]
    pub fn new(data: &'a mut [f32], rows: usize, cols: usize) -> Self {
        Self::with_stride(data, rows, cols, cols)
    }

    /// Rows that start `row_stride` elements apart.
    ///
    /// # Panics
    /// If the slice is too short, or rows overlap.
    #[track_caller]
    pub fn with_stride(data: &'a mut [f32], rows: usize, cols: usize, row_stride: usize) -> Self {
        check_fits(data.len(), rows, cols, row_stride);
        Self { data, rows, cols, row_stride }
    }

    /// Rows and columns.
    pub(in crate::kernels) fn shape(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    /// The address of the first element, and the elements between the starts of two rows.
    pub(in crate::kernels) fn start(&mut self) -> (*mut f32, usize) {
        (self.data.as_mut_ptr(), self.row_stride)
    }
}

#[track_caller]
fn check_fits(len: usize, rows: usize, cols: usize, row_stride: usize) {
    let needed = if rows == 0 || cols == 0 { 0 } else { (rows - 1) * row_stride + cols };
    assert!(
        len >= needed && (row_stride >= cols || rows <= 1),
        "matrix ({rows},{cols}) with rows {row_stride} apart needs {needed} elements, \
         the slice has {len}"
    );
}

#[track_caller]
fn check_shapes(c: (usize, usize), a: Mat, b: Mat) {
    assert!(
        a.cols == b.rows && c == (a.rows, b.cols),
        "product: ({},{})·({},{}) does not give ({},{})",
        a.rows,
        a.cols,
        b.rows,
        b.cols,
        c.0,
        c.1
    );
}

/// c = alpha·a·b, or c += alpha·a·b, on the calling thread.
///
/// # Panics
/// If the shapes do not fit, naming all three.
#[track_caller]
pub fn product(c: MatMut, a: Mat, b: Mat, alpha: f32, accumulate: Accumulate) {
    check_shapes((c.rows, c.cols), a, b);
    on_this_thread(&Product::new(level(), c, a, b, alpha, accumulate, None));
}

/// c = a·b, or c += a·b, on the team. The epilogue `finish(row, first_column, part)` is called for
/// each finished part of a row of c (bias, activation) while it is in cache: every element of c is
/// in exactly one part.
///
/// How the product is split depends on its shape alone, and the bits do not depend on the split.
///
/// # Panics
/// If the shapes do not fit, naming all three.
#[track_caller]
pub fn product_on_team(
    c: MatMut,
    a: Mat,
    b: Mat,
    accumulate: Accumulate,
    finish: impl Fn(usize, usize, &mut [f32]) + Sync,
) {
    check_shapes((c.rows, c.cols), a, b);
    on_team(&Product::new(level(), c, a, b, 1.0, accumulate, Some(&finish)));
}

impl<'a> Product<'a> {
    /// The shapes have been checked.
    fn new(
        level: Level,
        c: MatMut<'a>,
        a: Mat<'a>,
        b: Mat<'a>,
        alpha: f32,
        accumulate: Accumulate,
        finish: Option<Finish<'a>>,
    ) -> Self {
        Self {
            level,
            c: c.data.as_mut_ptr(),
            stride: c.row_stride,
            a,
            b,
            alpha,
            accumulate,
            finish,
        }
    }

    /// All rows of columns `cols` of c.
    ///
    /// # Safety
    /// As for [`Product::compute`].
    unsafe fn compute_columns(&self, cols: Range<usize>) {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        if self.a.rows <= FEW && self.a.cols > 0 && self.level > Level::Scalar {
            // SAFETY: the same promise, and there are few rows.
            return unsafe { self.compute_few(cols) };
        }
        // SAFETY: the same promise.
        unsafe { self.compute(0..self.a.rows, cols, 0..self.a.cols, None) }
    }
}

/// Up to this number of rows a product takes the path of `small`.
const FEW: usize = 4;

fn on_this_thread(product: &Product) {
    if product.a.rows > 0 && product.b.cols > 0 {
        // SAFETY: `check_fits` made sure that every element of the three matrices lies in its
        // slice, and `c` is borrowed mutably for the job's lifetime, so it overlaps neither `a` nor
        // `b` and is ours alone.
        unsafe { product.compute_columns(0..product.b.cols) }
    }
}

fn on_team(product: &Product) {
    let (m, n, k) = (product.a.rows, product.b.cols, product.a.cols);
    match Split::of(product.level, m, n, k) {
        Split::Whole => on_this_thread(product),
        Split::Columns { cols } => team::run(n.div_ceil(cols), |task| {
            // SAFETY: as in `on_this_thread`; the columns of different tasks do not overlap.
            unsafe { product.compute_columns(task * cols..n.min((task + 1) * cols)) }
        }),
        Split::Grid { rows, cols } => {
            // Panels for as many columns and k's as fit the scratch: almost always all of them.
            let (width, depth) = (micro::size(product.level).cols, depth_block(k));
            let stretch = (SHARED / depth / CHUNK * CHUNK).min(n.next_multiple_of(width));
            let deep = (SHARED / stretch / depth).max(1) * depth;
            for columns in blocks(0..n, stretch) {
                for depths in blocks(0..k, deep) {
                    grid(product, columns.clone(), depths, (rows, cols));
                }
            }
        }
    }
}

/// Packs b's `columns` for the k's in `depths` on the team, then computes blocks of `(rows, cols)`
/// of c.
fn grid(
    product: &Product,
    columns: Range<usize>,
    depths: Range<usize>,
    (rows, cols): (usize, usize),
) {
    let (m, width) = (product.a.rows, micro::size(product.level).cols);
    let panels = columns.len().div_ceil(width);
    with_scratch(Purpose::SharedB, |scratch| {
        let shared = Packed {
            start: scratch.at_least(panels * width * depths.len()),
            first_k: depths.start,
            first_col: columns.start,
            width: panels * width,
        };
        let depth_block = depth_block(product.a.cols);
        team::run(panels * depths.len().div_ceil(depth_block), |task| {
            let first = depths.start + task / panels * depth_block;
            let depth = first..depths.end.min(first + depth_block);
            let col = columns.start + task % panels * width;
            let panel_cols = col..columns.end.min(col + width);
            // SAFETY: the panel lies in the scratch, and every task has its own.
            unsafe {
                pack::panel(
                    product.level,
                    shared.panel(&depth, col),
                    product.b,
                    depth,
                    panel_cols,
                    width,
                )
            };
        });
        let row_blocks = m.div_ceil(rows);
        team::run(row_blocks * columns.len().div_ceil(cols), |task| {
            let (i, j) = (task % row_blocks * rows, columns.start + task / row_blocks * cols);
            // SAFETY: as in `on_this_thread`; blocks of different tasks do not overlap; b's panels
            // are packed.
            unsafe {
                product.compute(
                    i..m.min(i + rows),
                    j..columns.end.min(j + cols),
                    depths.clone(),
                    Some(&shared),
                );
            }
        });
    });
}

/// The largest number of elements of b that are packed at a time for all tasks: 16 MB.
const SHARED: usize = 4 << 20;

/// How a product is split into tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Split {
    /// Not split: too small to outweigh the cost of scheduling.
    Whole,
    /// All rows of some columns: a task packs its own part of b, or needs no packing.
    Columns { cols: usize },
    /// Blocks of rows and columns, which share the packed b.
    Grid { rows: usize, cols: usize },
}

impl Split {
    /// A function of the shape and of the tile size of the micro-kernel, not of the number of
    /// threads.
    fn of(level: Level, m: usize, n: usize, k: usize) -> Self {
        let size = micro::size(level);
        // An estimate: 90 floating-point operations or 20 bytes of memory per nanosecond.
        let nanoseconds = m * n * k / 45 + (m * k + k * n + m * n) / 5;
        if nanoseconds < 20_000 {
            return Self::Whole;
        }
        if m <= FEW {
            // A quarter of a megabyte of b.
            return Self::Columns { cols: (65_536 / k.max(1)).next_multiple_of(size.cols) };
        }
        if m <= 384 && n >= 12 * m {
            // One block of rows: panels are not shared, and stay in this core's L2 cache.
            let cols = (n / 24).next_multiple_of(size.cols).clamp(2 * size.cols, CHUNK);
            return Self::Columns { cols };
        }
        let chunks = n.div_ceil(CHUNK);
        let cols = n.div_ceil(chunks).next_multiple_of(size.cols);
        let rows =
            (m * chunks / 24).next_multiple_of(size.rows).clamp(4 * size.rows, 24 * size.rows);
        Self::Grid { rows, cols }
    }
}

#[cfg(test)]
mod invariants;
#[cfg(test)]
mod tests;
