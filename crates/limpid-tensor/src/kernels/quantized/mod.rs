//! Products with quantised weights: c = a·Wᵀ, where W (o, i) is packed as int8, int4 or bf16.
//!
//! ```text
//! int8   c[r][j] = Σ_groups (Σ_k q[r][k] · w[j][k]) · t[group][j] · s[r][group]
//! int4   c[r][j] = (Σ_groups (Σ_k q[r][k] · w[j][k]) · t[group][j]) · s[r]
//! bf16   c[r][j] = Σ_k a[r][k] · w[j][k]
//! ```
//!
//! q is a as bytes and s their scales; groups are 64 k's of int8 and 32 of int4.
//!
//! ```
//! use limpid_tensor::kernels::matmul::{Mat, MatMut};
//! use limpid_tensor::kernels::quantized::{Format, QuantizedMatrix};
//!
//! let w = QuantizedMatrix::quantize(Format::Int8, &[127.0, -1.0, 0.0, 254.0], (2, 2)).unwrap();
//! let mut c = [0.0; 2];
//! w.product_on_team(MatMut::new(&mut c, 1, 2), Mat::new(&[127.0, 10.0], 1, 2), |_, _, _| {});
//! assert_eq!(c, [127.0 * 127.0 - 10.0, 2540.0]);
//! ```
//!
//! The formats are in [`matrix`], how weights become one in `encode`, activations in `rows`; `dot`
//! has the instructions, [`headroom`] what they need to know of int8 weights, `micro` the loops
//! over k, this file the split into tasks.
//!
//! # Reproducibility
//! Sums of products of integers are exact, and the f32 operations on them have one order: int8 and
//! int4 give the same bits on every instruction set. bf16 is one chain of multiply-adds over k,
//! fused at NEON, AVX2 and AVX-512 and rounded twice in portable code, as f32 products are. In all
//! three a row of c depends on its row of a alone: it has the same bits for any number of rows and
//! threads.

mod dot;
mod encode;
pub mod half;
pub mod headroom;
pub mod matrix;
mod micro;
#[cfg(target_arch = "aarch64")]
mod neon;
mod rows;

pub use dot::IntegerDot;
pub use matrix::{Format, QuantizeError, QuantizedMatrix};

use super::matmul::pack::{Purpose, with_scratch};
use super::matmul::{Mat, MatMut};
use crate::team;
use micro::{Kernel, Kernels, Tile};
use rows::{Rows, Sums, with_quantized_rows};
use std::ops::Range;

/// Output channels of a panel: the 32-bit sums of an AVX-512 register.
pub const PANEL: usize = 16;
/// Inputs that share a scale in int4.
pub const GROUP: usize = 32;
/// Inputs that share a scale in int8, weights and activations.
pub const INT8_GROUP: usize = 64;

impl QuantizedMatrix {
    /// c = a·Wᵀ on the team, a (m, i), c (m, o). The epilogue `finish(row, first_column, part)` is
    /// called for each finished part of a row of c: every element is in exactly one part.
    ///
    /// # Panics
    /// If the shapes do not fit, naming all three, or there are no inputs.
    #[track_caller]
    pub fn product_on_team(
        &self,
        c: MatMut,
        a: Mat,
        finish: impl Fn(usize, usize, &mut [f32]) + Sync,
    ) {
        self.product_with(IntegerDot::current(), c, a, finish);
    }

    /// The same with other instructions than the best, for tests and measurements. bf16 uses the
    /// f32 instructions of their level.
    ///
    /// # Panics
    /// If the shapes do not fit, or the CPU does not have the instructions.
    #[track_caller]
    pub fn product_with(
        &self,
        dot: IntegerDot,
        mut c: MatMut,
        a: Mat,
        finish: impl Fn(usize, usize, &mut [f32]) + Sync,
    ) {
        let (o, i) = self.shape();
        assert!(
            a.cols() == i && c.shape() == (a.rows(), o) && a.contiguous_rows().is_some(),
            "product: ({},{})·({i},{o}) does not give ({},{})",
            a.rows(),
            a.cols(),
            c.shape().0,
            c.shape().1
        );
        assert!(dot == IntegerDot::current() || IntegerDot::available().contains(&dot));
        assert!(i > 0, "product: a matrix without inputs");
        if a.rows() == 0 || o == 0 {
            return;
        }
        let (kernels, depth) = match self.format {
            Format::Int8 => (micro::int8_kernels(dot, self.headroom), i.div_ceil(4)),
            Format::Int4 => (micro::int4_kernels(dot), i / GROUP),
            Format::Bf16 => (micro::bf16_kernels(dot.level()), i),
        };
        let (m, (start, c_stride)) = (a.rows(), c.start());
        let product = |rows: Rows| {
            let product =
                Product { w: self, m, kernels, depth, rows, c: start, c_stride, finish: &finish };
            product.on_team();
        };
        match self.format {
            Format::Int8 => {
                let offset = dot.offset(self.headroom);
                with_quantized_rows(a, offset, (4, INT8_GROUP), Sums::None, product)
            }
            Format::Int4 => with_quantized_rows(a, 0, (GROUP, i), Sums::Groups, product),
            Format::Bf16 => product(Rows {
                bytes: a.start().cast(),
                stride: 4 * a.contiguous_rows().expect("checked above"),
                scales: std::ptr::null(),
                groups: 0,
                sums: std::ptr::null(),
            }),
        }
    }
}

/// One product. The pointers are those of matrices whose shapes have been checked.
struct Product<'a> {
    w: &'a QuantizedMatrix,
    m: usize,
    kernels: Kernels,
    depth: usize,
    rows: Rows,
    c: *mut f32,
    c_stride: usize,
    finish: &'a (dyn Fn(usize, usize, &mut [f32]) + Sync),
}

// SAFETY: the weights and rows are only read, and tasks write different parts of c.
unsafe impl Sync for Product<'_> {}

/// Columns of the widest tile of any instruction set.
const STRIP: usize = 4 * PANEL;
/// Rows of the highest tile.
const MOST_ROWS: usize = 6;

impl Product<'_> {
    /// Splits the product by its shape.
    fn on_team(&self) {
        let ((o, i), m) = (self.w.shape(), self.m);
        // An estimate: 200 multiply-adds or 20 bytes of weights per nanosecond.
        if m * o * i / 200 + self.w.bytes() / 20 < 10_000 {
            return self.block(0..m, 0..o);
        }
        // Columns: about 64 KB of weights, whole groups of panels. Rows: blocks that stay in the
        // L2 cache with them.
        let rows = m.div_ceil(m.div_ceil(96));
        let bytes_per_column = (self.w.bytes() / o).max(1);
        let cols = (65_536 / bytes_per_column).next_multiple_of(STRIP).clamp(STRIP, 8 * STRIP);
        let row_blocks = m.div_ceil(rows);
        team::run(row_blocks * o.div_ceil(cols), |task| {
            let (r, j) = (task % row_blocks * rows, task / row_blocks * cols);
            self.block(r..m.min(r + rows), j..o.min(j + cols));
        });
    }

    /// Rows `rows` of columns `cols` of c; the first column is that of a panel.
    fn block(&self, rows: Range<usize>, cols: Range<usize>) {
        match self.kernels.for_unpacked(rows.len()) {
            Some(kernels) => self.unpacked(kernels, rows.clone(), cols.clone()),
            None => self.packed(rows.clone(), cols.clone()),
        }
        for row in rows {
            // SAFETY: these columns of the row lie in c and belong to this task alone.
            let part = unsafe {
                let start = self.c.add(row * self.c_stride + cols.start);
                std::slice::from_raw_parts_mut(start, cols.len())
            };
            (self.finish)(row, cols.start, part);
        }
    }

    /// Block by block of panels as they are stored.
    fn packed(&self, rows: Range<usize>, cols: Range<usize>) {
        // The panels of a tile stay in the cache for all rows.
        let strip = self.kernels.strip();
        for first in cols.clone().step_by(strip) {
            for row in rows.clone().step_by(self.kernels.rows()) {
                let tile_rows = row..rows.end.min(row + self.kernels.rows());
                self.strip(tile_rows, first..cols.end.min(first + strip));
            }
        }
    }

    /// Panel by panel, unpacked for all rows.
    fn unpacked(&self, kernels: Kernels, rows: Range<usize>, cols: Range<usize>) {
        let packed_bytes = self.w.format.panel_bytes(self.w.cols);
        with_scratch(Purpose::Unpacked, |scratch| {
            let start = scratch.at_least(2 * packed_bytes / 4);
            // SAFETY: the scratch has room for twice the bytes of a panel, initialized.
            let bytes = unsafe { std::slice::from_raw_parts_mut(start.cast(), 2 * packed_bytes) };
            for col in cols.clone().step_by(PANEL) {
                let panel = col / PANEL;
                micro::unpack(bytes, &self.w.weights()[panel * packed_bytes..][..packed_bytes]);
                let width = (cols.end - col).min(PANEL);
                for row in rows.clone().step_by(kernels.rows()) {
                    let count = kernels.rows().min(rows.end - row);
                    let kernel = kernels.tile(count, 1).0;
                    let w = Some(bytes.as_ptr());
                    self.write(kernel, row..row + count, col..col + width, w);
                }
            }
        });
    }

    /// One tile's rows of at most [`STRIP`] columns.
    fn strip(&self, rows: Range<usize>, cols: Range<usize>) {
        let mut col = cols.start;
        while col < cols.end {
            let left = (cols.end - col).div_ceil(PANEL);
            let (kernel, panels) = self.kernels.tile(rows.len(), left);
            let width = (cols.end - col).min(panels * PANEL);
            self.write(kernel, rows.clone(), col..col + width, None);
            col += panels * PANEL;
        }
    }

    /// One tile: whole panels, but for the last columns of c. `w` are its weights if they have been
    /// unpacked.
    fn write(&self, kernel: Kernel, rows: Range<usize>, cols: Range<usize>, w: Option<*const u8>) {
        // SAFETY: the rows and columns exist in c and belong to this task alone.
        let c = unsafe { self.c.add(rows.start * self.c_stride + cols.start) };
        let mut edge = [0.0; MOST_ROWS * STRIP];
        let whole = cols.len().is_multiple_of(PANEL);
        let (to, stride) = if whole { (c, self.c_stride) } else { (edge.as_mut_ptr(), STRIP) };
        let tile = self.tile(rows.start, cols.start / PANEL, (to, stride));
        let tile = Tile { w: w.unwrap_or(tile.w), ..tile };
        // SAFETY: the CPU has the kernel's instructions; its rows lie in a, its panels, the last of
        // them filled up, in the matrix, and whole panels fit `to`.
        unsafe { kernel(&tile) };
        if !whole {
            for (r, edge) in edge.chunks_exact(STRIP).take(rows.len()).enumerate() {
                // SAFETY: as for `c`.
                let to = unsafe { c.add(r * self.c_stride) };
                // SAFETY: these columns exist in this row of c.
                unsafe { std::ptr::copy_nonoverlapping(edge.as_ptr(), to, cols.len()) };
            }
        }
    }

    /// The operands of the tile at a row and a panel.
    fn tile(&self, row: usize, panel: usize, (c, c_stride): (*mut f32, usize)) -> Tile {
        let panel_bytes = self.w.format.panel_bytes(self.w.cols);
        let integers = self.w.format != Format::Bf16;
        let first = panel * self.w.format.groups(self.w.cols) * PANEL;
        let (scales, sums) = match self.w.format {
            Format::Int8 => (self.w.scales[first..].as_ptr(), self.w.sums[first..].as_ptr()),
            Format::Int4 => (self.w.scales[first..].as_ptr(), std::ptr::null()),
            Format::Bf16 => (std::ptr::null(), std::ptr::null()),
        };
        Tile {
            depth: self.depth,
            a: self.rows.bytes.wrapping_add(row * self.rows.stride),
            a_stride: self.rows.stride,
            a_scales: self.rows.scales.wrapping_add(row * self.rows.groups),
            a_groups: self.rows.groups,
            a_sums: self.rows.sums.wrapping_add(if integers { row * self.depth } else { 0 }),
            w: self.w.weights()[panel * panel_bytes..].as_ptr(),
            panel_bytes,
            scales,
            sums,
            c,
            c_stride,
        }
    }
}

#[cfg(test)]
mod tests;
