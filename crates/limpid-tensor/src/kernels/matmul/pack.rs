//! Packing: copies a block of a matrix into the order in which the micro-kernel reads it.
//!
//! ```text
//! a panel of width w holds columns j .. j+w of b for depth k's:  panel[p·w + (j' − j)] = b[p][j']
//! ```
//!
//! A panel of a is a panel of its transpose: rows are interleaved. Where the matrix ends inside a
//! panel of b, the panel is padded with zeros, so that whole registers can be read.

use super::Mat;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::vector::{Vector, transpose_8x8};
use crate::simd::Level;
use std::cell::Cell;
use std::ops::Range;

/// Memory for packed panels, 64-byte aligned. It grows to the largest request and is reused: a warm
/// product allocates nothing.
#[derive(Default)]
pub(in crate::kernels) struct Scratch(Vec<Line>);

/// A cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; 16]);

impl Scratch {
    /// At least `len` elements with arbitrary content.
    pub(in crate::kernels) fn at_least(&mut self, len: usize) -> *mut f32 {
        let lines = len.div_ceil(16);
        if self.0.len() < lines {
            self.0.resize(lines, Line([0.0; 16]));
        }
        self.0.as_mut_ptr().cast()
    }
}

/// The use of a scratch buffer: a thread may need all of them at once.
#[derive(Clone, Copy)]
pub(in crate::kernels) enum Purpose {
    /// Panels of a that one task uses.
    A,
    /// Panels of b that one task uses.
    B,
    /// Panels of b that all tasks of a product use.
    SharedB,
    /// Quantised rows of a, which all tasks of a product use.
    Quantized,
    /// A panel of quantised weights that one task has unpacked.
    Unpacked,
}

thread_local! {
    static KEPT: [Cell<Scratch>; 5] = const { [const { Cell::new(Scratch(Vec::new())) }; 5] };
}

/// Calls `use_it` with this thread's scratch. A product inside a product (in its `finish`) gets a
/// fresh one.
pub(in crate::kernels) fn with_scratch<T>(
    purpose: Purpose,
    use_it: impl FnOnce(&mut Scratch) -> T,
) -> T {
    let mut scratch = KEPT.with(|kept| kept[purpose as usize].take());
    let result = use_it(&mut scratch);
    KEPT.with(|kept| kept[purpose as usize].set(scratch));
    result
}

/// Packs columns `cols` of `mat` for the k's in `depth` into a panel of `width` columns at `to`.
///
/// # Safety
/// The CPU must have `level`; `to` must be valid for `depth.len() · width` elements; the ranges
/// must lie in the matrix, with at most `width` columns.
pub(super) unsafe fn panel(
    level: Level,
    to: *mut f32,
    mat: Mat,
    depth: Range<usize>,
    cols: Range<usize>,
    width: usize,
) {
    let from = mat.data[depth.start * mat.row_stride + cols.start * mat.col_stride..].as_ptr();
    // SAFETY: `from` is element (0, 0) of the part to copy, which lies in the matrix.
    unsafe {
        match level {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            Level::Neon | Level::Avx2 | Level::Avx512 if mat.row_stride == 1 => {
                transposed(to, from, mat.col_stride, depth.len(), cols.len(), width);
            }
            _ if mat.col_stride == 1 => {
                contiguous(to, from, mat.row_stride, depth.len(), cols.len(), width);
            }
            _ => any(to, from, (mat.row_stride, mat.col_stride), depth.len(), 0..cols.len(), width),
        }
    }
}

/// The definition, for the first `depth` k's of columns `cols` (counted in the panel); columns from
/// `cols.end` become 0.
///
/// # Safety
/// As for [`panel`].
#[inline(always)]
unsafe fn any(
    to: *mut f32,
    from: *const f32,
    strides: (usize, usize),
    depth: usize,
    cols: Range<usize>,
    width: usize,
) {
    for p in 0..depth {
        for j in cols.clone() {
            // SAFETY: (p, j) lies in the matrix and in the panel.
            unsafe { *to.add(p * width + j) = *from.add(p * strides.0 + j * strides.1) };
        }
        for j in cols.end..width {
            // SAFETY: (p, j) lies in the panel.
            unsafe { *to.add(p * width + j) = 0.0 };
        }
    }
}

/// Rows of b that are contiguous: a copy.
///
/// # Safety
/// As for [`panel`].
#[inline(always)]
unsafe fn contiguous(
    to: *mut f32,
    from: *const f32,
    stride: usize,
    depth: usize,
    cols: usize,
    width: usize,
) {
    // SAFETY: by the caller's promise; a copy of known length has exactly the width of the panel.
    unsafe {
        match width {
            32 if cols == 32 => copy::<32>(to, from, stride, depth, width),
            16 if cols == 16 => copy::<16>(to, from, stride, depth, width),
            12 if cols == 12 => copy::<12>(to, from, stride, depth, width),
            6 if cols == 6 => copy::<6>(to, from, stride, depth, width),
            _ => {
                let whole = cols / 8 * 8;
                for j in (0..whole).step_by(8) {
                    copy::<8>(to.add(j), from.add(j), stride, depth, width);
                }
                any(to, from, (stride, 1), depth, whole..cols, width);
            }
        }
    }
}

/// W columns of `depth` k's: a few moves each, because W is a constant.
///
/// # Safety
/// They must lie in the matrix and in the panel.
#[inline(always)]
unsafe fn copy<const W: usize>(
    to: *mut f32,
    from: *const f32,
    stride: usize,
    depth: usize,
    width: usize,
) {
    for p in 0..depth {
        // SAFETY: by the caller's promise.
        unsafe {
            to.add(p * width)
                .cast::<[f32; W]>()
                .write(from.add(p * stride).cast::<[f32; W]>().read());
        }
    }
}

/// Columns of b that are contiguous in memory (a transposed weight): 8 x 8 at a time through
/// registers.
///
/// # Safety
/// As for [`panel`], with a row stride of 1, and NEON or AVX2.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn transposed(
    to: *mut f32,
    from: *const f32,
    stride: usize,
    depth: usize,
    cols: usize,
    width: usize,
) {
    // SAFETY: the squares cover whole eights of both ranges, `any` the rest: k's that do not fill
    // an eight, then columns that do not. All lie in the matrix and in the panel.
    unsafe {
        let (whole_depth, whole_cols) = (depth / 8 * 8, cols / 8 * 8);
        for j in (0..whole_cols).step_by(8) {
            for p in (0..whole_depth).step_by(8) {
                let square = transpose_8x8(from.add(j * stride + p), stride);
                for (q, row) in square.into_iter().enumerate() {
                    row.store(to.add((p + q) * width + j));
                }
            }
        }
        if whole_cols < width {
            any(to, from, (1, stride), whole_depth, whole_cols..cols, width);
        }
        any(
            to.add(whole_depth * width),
            from.add(whole_depth),
            (1, stride),
            depth - whole_depth,
            0..cols,
            width,
        );
    }
}
