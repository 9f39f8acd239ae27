//! Products with few rows (decoding: one token, or a few, times a weight). Each element of b is
//! used once or a few times, so packing it would cost more than the product, and the limit is the
//! memory bandwidth at which b is read.
//!
//! The additions are those of the micro-kernel, in the same order, so a row computed here has the
//! bits it has in a batch. For a row-major b, a strip of sums is updated by several rows of b at a
//! time. For a transposed b, where a dot product along k would be the obvious loop, squares of 8 x
//! 8 are transposed in registers instead: 16 shuffles per 256 bytes, hidden by the memory latency.
//! A weight that fits the caches would be read 1.2 to 1.9 times as fast by dot products; one that
//! comes from memory, as all weights of a model do in turn, would not.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

use super::block::{Product, blocks, depth_block};
use super::pack::{Purpose, with_scratch};
use super::vector::{Eight, Vector, prefetch, transpose_8x8};
use super::{Accumulate, Mat};
use std::ops::Range;

/// Number of sums, which stay in the L1 cache while rows of b are streamed.
const STRIP: usize = 512;
/// Elements of a cache line.
const LINE: usize = 16;
/// Number of rows of b that are streamed at a time.
const AT_ONCE: usize = 8;

impl Product<'_> {
    /// All rows of c, columns `cols`.
    ///
    /// # Safety
    /// As for `Product::compute`; the level must be NEON, AVX2 or above; there must be at most
    /// `FEW` rows, and at least one k.
    pub(super) unsafe fn compute_few(&self, cols: Range<usize>) {
        with_scratch(Purpose::A, |scratch| {
            let Mat { rows, cols: k, row_stride, col_stride, .. } = self.a;
            // Rows of a with contiguous k's, copied only if they are not.
            let (rows_of_a, stride) = if col_stride == 1 {
                (self.a.data.as_ptr(), row_stride)
            } else {
                let copy = scratch.at_least(rows * k);
                for (i, p) in (0..rows).flat_map(|i| (0..k).map(move |p| (i, p))) {
                    // SAFETY: (i, p) lies in a and in the copy.
                    unsafe { *copy.add(i * k + p) = self.a.data[i * row_stride + p * col_stride] };
                }
                (copy.cast_const(), k)
            };
            // SAFETY: by the caller's contract; nothing past the last row of a is read.
            unsafe {
                match rows {
                    1 => few::<1>(self, rows_of_a, stride, cols),
                    2 => few::<2>(self, rows_of_a, stride, cols),
                    3 => few::<3>(self, rows_of_a, stride, cols),
                    4 => few::<4>(self, rows_of_a, stride, cols),
                    _ => unreachable!("{rows} rows are not few"),
                }
            }
        });
    }

    fn accumulate_at(&self, depth: &Range<usize>) -> Accumulate {
        if depth.start == 0 { self.accumulate } else { Accumulate::Add }
    }
}

/// # Safety
/// As for [`Product::compute_few`], with M rows of a, `stride` apart.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn few<const M: usize>(product: &Product, a: *const f32, stride: usize, cols: Range<usize>) {
    // SAFETY: the same promise.
    unsafe {
        if product.b.row_stride == 1 {
            // Two squares at a time: each hides the latency of the other's chain of additions. Four
            // were slower. Columns a multiple of 4 KB apart share one set of the L1 cache, which
            // has eight ways.
            let (mut at, end) = (cols.start, cols.end);
            let crowded = product.b.col_stride.is_multiple_of(1024);
            while at + 16 <= end && !crowded {
                squares::<M, 2>(product, a, stride, at);
                at += 16;
            }
            while at + 8 <= end {
                squares::<M, 1>(product, a, stride, at);
                at += 8;
            }
            (at..end).for_each(|col| column::<M>(product, a, stride, col));
        } else {
            for strip in blocks(cols.clone(), STRIP) {
                stream_rows::<M>(product, a, stride, strip);
            }
        }
        (0..M).for_each(|row| product.finish(row, cols.clone()));
    }
}

/// Columns `col .. col + 8·G` of c, where b is transposed: its columns are contiguous.
///
/// # Safety
/// As for [`few`]; the columns must exist.
#[inline(always)]
unsafe fn squares<const M: usize, const G: usize>(
    product: &Product,
    a: *const f32,
    stride: usize,
    col: usize,
) {
    let ld = product.b.col_stride;
    // SAFETY: k's below `depth.end` of rows of a and of columns of b, and the columns of c, exist.
    unsafe {
        for depth in blocks(0..product.a.cols, depth_block(product.a.cols)) {
            let b = product.b.data.as_ptr().add(col * ld + depth.start);
            let a = a.add(depth.start);
            let mut sums = [[Eight::splat(0.0); M]; G];
            let whole = depth.len() / LINE * LINE;
            // The next squares start 8·G columns further; they may not exist: a prefetch cannot
            // fault.
            let next =
                product.b.data.as_ptr().wrapping_add((col + 8 * G) * ld + 8 * G * depth.start);
            whole_lines(&mut sums, (a, stride), (b, ld), next, whole);
            for p in whole..depth.len() {
                for (g, sums) in sums.iter_mut().enumerate() {
                    let column: [f32; 8] = std::array::from_fn(|j| *b.add((8 * g + j) * ld + p));
                    let b = Eight::load(column.as_ptr());
                    for (i, sum) in sums.iter_mut().enumerate() {
                        *sum = sum.plus_product(Eight::splat(*a.add(i * stride + p)), b);
                    }
                }
            }
            for (g, sums) in sums.iter().enumerate() {
                for (i, sum) in sums.iter().enumerate() {
                    let c = product.c.add(i * product.stride + col + 8 * g);
                    let sum = sum.times(Eight::splat(product.alpha));
                    match product.accumulate_at(&depth) {
                        Accumulate::Overwrite => sum.store(c),
                        Accumulate::Add => Eight::load(c).plus(sum).store(c),
                    }
                }
            }
        }
    }
}

/// Adds `depth` k's, in whole cache lines, to the sums of 8·G columns of b that begin `ld` apart.
///
/// Not inlined: the caller would run out of registers for the addresses.
///
/// # Safety
/// As for [`few`]; the columns must exist.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
#[inline(never)]
unsafe fn whole_lines<const M: usize, const G: usize>(
    sums: &mut [[Eight; M]; G],
    (a, stride): (*const f32, usize),
    (b, ld): (*const f32, usize),
    next: *const f32,
    depth: usize,
) {
    let mut now = *sums;
    for start in (0..depth).step_by(LINE) {
        for (g, sums) in now.iter_mut().enumerate() {
            let column = opaque(b.wrapping_add(8 * g * ld + start));
            // A whole cache line of each column at a time: columns a power of two apart would
            // otherwise evict each other from the L1 cache between its halves.
            for p in [0, 8] {
                // SAFETY: k's below `depth` of 8 columns of b and of the rows of a exist.
                unsafe {
                    let square = transpose_8x8(column.add(p), ld);
                    for (q, b) in square.into_iter().enumerate() {
                        for (i, sum) in sums.iter_mut().enumerate() {
                            *sum = sum
                                .plus_product(Eight::splat(*a.add(i * stride + start + p + q)), b);
                        }
                    }
                }
            }
        }
        // Prefetches as many lines of the next columns as are used here, in memory order rather
        // than the same k's, which are scattered: 1.5 times as fast where columns are 12 KB long.
        for line in 0..8 * G {
            prefetch(next.wrapping_add(8 * G * start + LINE * line));
        }
    }
    *sums = now;
}

/// The same pointer, but opaque to the optimizer, which would otherwise keep a pointer for each
/// column, run out of registers and reload pointers in the loop; from an opaque one it computes the
/// addresses.
#[inline(always)]
#[allow(clippy::pointers_in_nomem_asm_block)] // Nothing is done with the pointer.
fn opaque(mut at: *const f32) -> *const f32 {
    // SAFETY: no instruction at all.
    unsafe {
        std::arch::asm!("/* {0} */", inout(reg) at, options(pure, nomem, nostack, preserves_flags))
    };
    at
}

/// One column of c, where b is transposed.
///
/// # Safety
/// As for [`few`]; the column must exist.
#[inline(always)]
unsafe fn column<const M: usize>(product: &Product, a: *const f32, stride: usize, col: usize) {
    for depth in blocks(0..product.a.cols, depth_block(product.a.cols)) {
        let b = &product.b.data[col * product.b.col_stride + depth.start..][..depth.len()];
        let mut sums = [0.0_f32; M];
        for (p, b) in b.iter().enumerate() {
            for (i, sum) in sums.iter_mut().enumerate() {
                // SAFETY: k `depth.start + p` of row i of a exists. With FMA compiled in, this is
                // one instruction.
                *sum = unsafe { *a.add(i * stride + depth.start + p) }.mul_add(*b, *sum);
            }
        }
        for (i, sum) in sums.iter().enumerate() {
            // SAFETY: the column exists in c.
            unsafe { add_up(product, i, col, *sum, &depth) };
        }
    }
}

/// c[i][col] = alpha·sum, or c[i][col] + alpha·sum.
///
/// # Safety
/// The element must exist and be ours.
#[inline(always)]
unsafe fn add_up(product: &Product, i: usize, col: usize, sum: f32, depth: &Range<usize>) {
    // SAFETY: by the caller's promise.
    let c = unsafe { &mut *product.c.add(i * product.stride + col) };
    match product.accumulate_at(depth) {
        Accumulate::Overwrite => *c = product.alpha * sum,
        Accumulate::Add => *c += product.alpha * sum,
    }
}

/// A strip of columns of c, where b is row-major.
///
/// # Safety
/// As for [`few`]; the columns must exist, at most [`STRIP`].
#[inline(always)]
#[allow(clippy::needless_range_loop)] // j counts columns of b and of all sums
unsafe fn stream_rows<const M: usize>(
    product: &Product,
    a: *const f32,
    stride: usize,
    cols: Range<usize>,
) {
    let (ld, width) = (product.b.row_stride, cols.len());
    let whole = width / 8 * 8;
    let mut sums = [[0.0_f32; STRIP]; M];
    for depth in blocks(0..product.a.cols, depth_block(product.a.cols)) {
        sums.iter_mut().for_each(|sums| sums[..width].fill(0.0));
        for together in blocks(depth.clone(), AT_ONCE) {
            // SAFETY: the k's and columns exist in a, b and the strip; registers cover whole eights
            // of columns.
            unsafe {
                let b = product.b.data.as_ptr().add(together.start * ld + cols.start);
                let a = |i: usize, q: usize| *a.add(i * stride + together.start + q);
                for j in (0..whole).step_by(8) {
                    let mut sum: [Eight; M] =
                        std::array::from_fn(|i| Eight::load(sums[i].as_ptr().add(j)));
                    let mut pass = |q: usize| {
                        let b = Eight::load(b.add(q * ld + j));
                        (0..M).for_each(|i| sum[i] = sum[i].plus_product(Eight::splat(a(i, q)), b));
                    };
                    // The common count as a constant, so that the loop is unrolled: 1.5 times as
                    // fast.
                    if together.len() == AT_ONCE {
                        (0..AT_ONCE).for_each(&mut pass);
                    } else {
                        (0..together.len()).for_each(&mut pass);
                    }
                    (0..M).for_each(|i| sum[i].store(sums[i].as_mut_ptr().add(j)));
                }
                for j in whole..width {
                    for q in 0..together.len() {
                        let b = *b.add(q * ld + j);
                        (0..M).for_each(|i| sums[i][j] = a(i, q).mul_add(b, sums[i][j]));
                    }
                }
            }
        }
        for (i, sums) in sums.iter().enumerate() {
            for (col, sum) in cols.clone().zip(sums) {
                // SAFETY: the column exists in c.
                unsafe { add_up(product, i, col, *sum, &depth) };
            }
        }
    }
}
