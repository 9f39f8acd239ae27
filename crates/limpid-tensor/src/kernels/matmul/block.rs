//! One block of c on one thread: which panels to pack, and the loops around the micro-kernel.
//!
//! ```text
//! for each chunk of columns                  (its packed panels stay in the L2 cache)
//!   for each block of k                      (its length depends on k alone)
//!     pack the chunk's panels of b           (unless packed for all tasks, or used in place)
//!     for each tile of rows                  (its part of a stays in the L1 cache)
//!       for each panel of the chunk          micro-kernel
//!     after the last k: finish the rows
//! ```

use super::micro::{self, Layout, Tile};
use super::pack::{self, Purpose, with_scratch};
use super::{Accumulate, Mat};
use crate::simd::Level;
use std::ops::Range;

/// The largest number of k's that a micro-kernel sums in one call.
const DEPTH: usize = 384;

/// Rows this many elements apart (4 KB) map to the same set of the L1 cache, which has eight ways;
/// a tile reads twelve rows at once.
const SAME_SET: usize = 1024;

/// Columns whose panels are used together: 384 · 512 · 4 bytes = 768 KB of L2.
pub(super) const CHUNK: usize = 512;

/// The epilogue of a product: called with (row, first column, part of the row) when the part is
/// final.
pub(super) type Finish<'a> = &'a (dyn Fn(usize, usize, &mut [f32]) + Sync);

/// The operands and parameters of a product, shared by its tasks.
#[derive(Clone, Copy)]
pub(super) struct Product<'a> {
    pub(super) level: Level,
    /// Valid for (a.rows, b.cols) with rows `stride` apart.
    pub(super) c: *mut f32,
    pub(super) stride: usize,
    pub(super) a: Mat<'a>,
    pub(super) b: Mat<'a>,
    pub(super) alpha: f32,
    pub(super) accumulate: Accumulate,
    pub(super) finish: Option<Finish<'a>>,
}

// SAFETY: `c` is written by tasks in disjoint blocks only, as `compute` demands; the rest is shared
// for reading.
unsafe impl Sync for Product<'_> {}

/// Packed panels of b, for all tasks or for one: block of k after block of k, panel after panel.
#[derive(Clone, Copy)]
pub(super) struct Packed {
    pub(super) start: *mut f32,
    pub(super) first_k: usize,
    pub(super) first_col: usize,
    /// The width of all panels together.
    pub(super) width: usize,
}

// SAFETY: written by tasks in disjoint panels, and read only after all of them are done.
unsafe impl Sync for Packed {}

impl Packed {
    /// The panel that begins at column `col`, for the k's in `depth`.
    pub(super) fn panel(&self, depth: &Range<usize>, col: usize) -> *mut f32 {
        let offset =
            (depth.start - self.first_k) * self.width + (col - self.first_col) * depth.len();
        // Inside the allocation: `width` is a multiple of the panels' width.
        self.start.wrapping_add(offset)
    }
}

/// The length of a block of k's: nearly equal blocks, a multiple of 8. A function of k alone: this
/// is what fixes the order of additions.
pub(super) fn depth_block(k: usize) -> usize {
    k.div_ceil(k.div_ceil(DEPTH).max(1)).next_multiple_of(8)
}

/// The blocks of `range`, each `len` long but for the last.
pub(super) fn blocks(range: Range<usize>, len: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(len.max(1)).map(move |start| start..end.min(start + len))
}

impl Product<'_> {
    /// Block (rows, cols) of c, for the k's in `depth`, which begins with a block of k's; `finish`
    /// is called when `depth` ends with the last.
    ///
    /// # Safety
    /// The ranges must lie in c; no other reference to that block of c may be in use; `shared`, if
    /// given, must hold its panels.
    pub(super) unsafe fn compute(
        &self,
        rows: Range<usize>,
        cols: Range<usize>,
        depth: Range<usize>,
        shared: Option<&Packed>,
    ) {
        let size = micro::size(self.level);
        for chunk in blocks(cols, CHUNK) {
            if depth.is_empty() {
                // SAFETY: by the caller's promise.
                rows.clone().for_each(|row| unsafe { self.empty_sum(row, chunk.clone()) });
            }
            for depth in blocks(depth.clone(), depth_block(self.a.cols)) {
                with_scratch(Purpose::B, |scratch| {
                    let panels = match shared {
                        Some(shared) => Panels::Shared(*shared),
                        // Too few rows to outweigh the cost of packing.
                        None if self.b.col_stride == 1 && rows.len() <= 2 * size.rows => {
                            Panels::InPlace { last: scratch.at_least(size.cols * depth.len()) }
                        }
                        None => {
                            let width = chunk.len().next_multiple_of(size.cols);
                            let start = scratch.at_least(width * depth.len());
                            Panels::Own(Packed {
                                start,
                                first_k: depth.start,
                                first_col: chunk.start,
                                width,
                            })
                        }
                    };
                    for panel in blocks(chunk.clone(), size.cols) {
                        let to = match panels {
                            Panels::Own(panels) => panels.panel(&depth, panel.start),
                            Panels::InPlace { last } if panel.len() < size.cols => last,
                            Panels::InPlace { .. } | Panels::Shared(_) => continue,
                        };
                        // SAFETY: the panel lies in the scratch and in b.
                        unsafe {
                            pack::panel(self.level, to, self.b, depth.clone(), panel, size.cols)
                        };
                    }
                    // SAFETY: by the caller's promise, and the panels are ready.
                    unsafe { self.row_tiles(rows.clone(), chunk.clone(), depth.clone(), panels) };
                });
            }
        }
    }

    /// The address of a panel, and the stride of its k's.
    fn locate(
        &self,
        panels: Panels,
        panel: &Range<usize>,
        depth: &Range<usize>,
    ) -> (*const f32, usize) {
        let width = micro::size(self.level).cols;
        match panels {
            Panels::Shared(panels) | Panels::Own(panels) => {
                (panels.panel(depth, panel.start), width)
            }
            Panels::InPlace { last } if panel.len() < width => (last, width),
            Panels::InPlace { .. } => {
                let b = &self.b.data[depth.start * self.b.row_stride + panel.start..];
                (b.as_ptr(), self.b.row_stride)
            }
        }
    }

    /// All tiles of (rows, chunk) for one block of k's.
    ///
    /// # Safety
    /// As for [`Self::compute`].
    unsafe fn row_tiles(
        &self,
        rows: Range<usize>,
        chunk: Range<usize>,
        depth: Range<usize>,
        panels: Panels,
    ) {
        let size = micro::size(self.level);
        // A row-major a is read in place, unless its rows would evict each other from the cache.
        // Those, and a transposed a, are packed if they are used often enough.
        let worth_packing = self.a.col_stride != 1 || self.a.row_stride.is_multiple_of(SAME_SET);
        let pack_a = worth_packing && chunk.len() > 2 * size.cols;
        let accumulate = if depth.start == 0 { self.accumulate } else { Accumulate::Add };
        with_scratch(Purpose::A, |scratch| {
            // Tiles of nearly equal height: 64 rows are 10 and 11 at a time, not 12, 12, 12, 12, 12
            // and 4.
            let tiles = rows.len().div_ceil(size.rows);
            let to = scratch.at_least(size.rows * depth.len());
            for t in 0..tiles {
                let first = rows.start + rows.len() * t / tiles;
                let height = rows.start + rows.len() * (t + 1) / tiles - first;
                // SAFETY: (first, depth.start) is an element of a.
                let in_place = unsafe {
                    self.a
                        .data
                        .as_ptr()
                        .add(first * self.a.row_stride + depth.start * self.a.col_stride)
                };
                let (a, a_layout, a_step) = if pack_a {
                    // SAFETY: the panel has room for `height` rows of `depth`.
                    unsafe {
                        pack::panel(
                            self.level,
                            to,
                            self.a.t(),
                            depth.clone(),
                            first..first + height,
                            height,
                        )
                    };
                    (to.cast_const(), Layout::Interleaved, height)
                } else if self.a.col_stride == 1 {
                    (in_place, Layout::Rows, self.a.row_stride)
                } else {
                    (in_place, Layout::Interleaved, self.a.col_stride)
                };
                for panel in blocks(chunk.clone(), size.cols) {
                    let (b, b_step) = self.locate(panels, &panel, &depth);
                    let tile = Tile {
                        depth: depth.len(),
                        a,
                        a_layout,
                        a_step,
                        b,
                        b_step,
                        // SAFETY: (first, panel.start) is an element of c.
                        c: unsafe { self.c.add(first * self.stride + panel.start) },
                        c_stride: self.stride,
                        rows: height,
                        cols: panel.len(),
                        alpha: self.alpha,
                        accumulate,
                    };
                    // SAFETY: the tile lies in the block; a and b were checked or packed for it.
                    unsafe { micro::tile(self.level, &tile) };
                }
                if depth.end == self.a.cols {
                    // SAFETY: these rows of the chunk are final, and ours.
                    (first..first + height)
                        .for_each(|row| unsafe { self.finish(row, chunk.clone()) });
                }
            }
        });
    }

    /// One row of a product with k = 0: an empty sum is 0.
    ///
    /// # Safety
    /// As for [`Self::compute`].
    pub(super) unsafe fn empty_sum(&self, row: usize, cols: Range<usize>) {
        if self.accumulate == Accumulate::Overwrite {
            // SAFETY: by the caller's promise.
            unsafe {
                std::slice::from_raw_parts_mut(
                    self.c.add(row * self.stride + cols.start),
                    cols.len(),
                )
            }
            .fill(0.0);
        }
        // SAFETY: by the caller's promise.
        unsafe { self.finish(row, cols) }
    }

    /// Calls `finish` for columns `cols` of a row.
    ///
    /// # Safety
    /// The part must lie in c, and no other reference to it may be in use.
    #[inline]
    pub(super) unsafe fn finish(&self, row: usize, cols: Range<usize>) {
        if let Some(finish) = self.finish {
            // SAFETY: by the caller's promise.
            let part = unsafe {
                std::slice::from_raw_parts_mut(
                    self.c.add(row * self.stride + cols.start),
                    cols.len(),
                )
            };
            finish(row, cols.start, part);
        }
    }
}

/// The source of the panels of b.
#[derive(Clone, Copy)]
enum Panels {
    /// Packed for all tasks.
    Shared(Packed),
    /// Packed by this task.
    Own(Packed),
    /// Read in place; a last one that is not full is packed, so that whole registers can be read.
    InPlace { last: *mut f32 },
}
