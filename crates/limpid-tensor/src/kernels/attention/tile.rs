//! Small matrix products on operands in place: c = a·b or c += a·b.
//!
//! ```text
//! c[i][j] = Σ_k a[i][k] · b[k][j]        for the j and k within the extent of a tile of rows
//! ```
//!
//! Why not `matmul::product`: it computes whole rectangles, of which the causal mask needs a
//! staircase (half of a block of 64 queries and keys); and it packs its operands in every call,
//! while keys and values are used by all blocks of queries. On rectangles the two are close: 59 and
//! 62 GFLOP/s for 24 x 32 x 24 with the transpose of the keys, 104 and 113 for 64 x 64 x 256 with
//! keys already transposed (one thread, AVX-512). Here `b` has rows of whole lanes already, one
//! element of `a` at a time is broadcast to a register, and each tile of up to six rows has an
//! extent of its own.
//!
//! Every element is summed in the order of k, in whichever tile it is: the bits of a row of
//! attention do not depend on the other rows.

use super::views::Rows;
use crate::kernels::matmul::Accumulate;
use crate::simd::{self, LANES, Level};
use std::ops::Range;

/// Rows of the largest tile: 6 x 32 sums fill 12 of 32 AVX-512 registers, 6 x 16 fill 12 of 16 AVX2
/// registers.
pub(super) const TILE_ROWS: usize = 6;

/// The left operand: a[i][k] at `i·row_stride + k·col_stride`.
#[derive(Clone, Copy)]
pub(super) struct LeftView<'a> {
    pub data: &'a [f32],
    pub row_stride: usize,
    pub col_stride: usize,
}

/// The right operand: rows `stride` apart, readable up to a whole number of lanes.
#[derive(Clone, Copy)]
pub(super) struct RightView<'a> {
    pub data: &'a [f32],
    pub stride: usize,
}

/// The extent of a tile of rows: columns `0..cols` (rounded up to lanes), summed over `inner`.
pub(super) struct Extent {
    pub inner: Range<usize>,
    pub cols: usize,
}

/// `rows` rows of c, `stride` apart; `extent` gives the part of the product that each tile of rows
/// needs.
pub(super) fn product(
    c: &mut [f32],
    stride: usize,
    rows: usize,
    a: LeftView,
    b: RightView,
    accumulate: Accumulate,
    extent: &dyn Fn(Range<usize>) -> Extent,
) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn avx2(c: Output, a: LeftView, b: RightView, extent: &dyn Fn(Range<usize>) -> Extent) {
            walk::<TILE_ROWS, 1, true>(c, a, b, extent);
        }
        #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
        fn avx512(c: Output, a: LeftView, b: RightView, extent: &dyn Fn(Range<usize>) -> Extent) {
            walk::<TILE_ROWS, 2, true>(c, a, b, extent);
        }
        match simd::level() {
            Level::Avx512 => {
                // SAFETY: `level` never exceeds what this CPU supports.
                return unsafe { avx512(Output { c, stride, rows, accumulate }, a, b, extent) };
            }
            Level::Avx2 => {
                // SAFETY: as above.
                return unsafe { avx2(Output { c, stride, rows, accumulate }, a, b, extent) };
            }
            Level::Scalar | Level::Neon => {}
        }
    }
    #[cfg(target_arch = "aarch64")]
    if simd::level() == Level::Neon {
        // 32 registers of 4, and a fused multiply-add: 24 of them are sums.
        return walk::<TILE_ROWS, 1, true>(Output { c, stride, rows, accumulate }, a, b, extent);
    }
    // The baseline has 16 registers of 4: two rows of 16 leave registers for the operands.
    walk::<2, 1, false>(Output { c, stride, rows, accumulate }, a, b, extent);
}

/// One row of c: Σ_k a[k] · b[k][j] for the j below `cols` (rounded up to lanes), in the order of k
/// and with the operations of [`product`]. Four registers of sums hide the latency of each other's
/// chains, which the one row of a tile would wait for.
pub(super) fn row_product(c: &mut [f32], a: &[f32], b: RightView, cols: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn avx2(c: &mut [f32], a: &[f32], b: RightView, cols: usize) {
            walk_row::<true>(c, a, b, cols);
        }
        #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
        fn avx512(c: &mut [f32], a: &[f32], b: RightView, cols: usize) {
            walk_row::<true>(c, a, b, cols);
        }
        match simd::level() {
            // SAFETY: `level` never exceeds what this CPU supports.
            Level::Avx512 => return unsafe { avx512(c, a, b, cols) },
            // SAFETY: as above.
            Level::Avx2 => return unsafe { avx2(c, a, b, cols) },
            Level::Scalar | Level::Neon => {}
        }
    }
    #[cfg(target_arch = "aarch64")]
    if simd::level() == Level::Neon {
        return walk_row::<true>(c, a, b, cols);
    }
    walk_row::<false>(c, a, b, cols);
}

/// The columns of one row, as many at a time as there are.
#[inline(always)]
fn walk_row<const FUSED: bool>(c: &mut [f32], a: &[f32], b: RightView, cols: usize) {
    let inner = 0..a.len();
    let mut out = Output { c, stride: 0, rows: 1, accumulate: Accumulate::Overwrite };
    let a = LeftView { data: a, row_stride: 0, col_stride: 1 };
    let mut col = 0;
    while col < cols {
        let (inner, registers) = (inner.clone(), (cols - col).div_ceil(LANES).min(4));
        match registers {
            1 => tile::<1, 1, FUSED>(&mut out, 0, col, a, b, inner),
            2 => tile::<1, 2, FUSED>(&mut out, 0, col, a, b, inner),
            3 => tile::<1, 3, FUSED>(&mut out, 0, col, a, b, inner),
            _ => tile::<1, 4, FUSED>(&mut out, 0, col, a, b, inner),
        }
        col += registers * LANES;
    }
}

/// Σ_k a[k] · rows[k], in the order of k and with the operations of [`product`]. Rows whose width
/// is not whole lanes are padded in `padded`, of that many lanes.
pub(super) fn sum_of_rows(c: &mut [f32], a: &[f32], rows: Rows, padded: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn avx2(c: &mut [f32], a: &[f32], rows: Rows, padded: &mut [f32]) {
            walk_sum::<true>(c, a, rows, padded);
        }
        #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
        fn avx512(c: &mut [f32], a: &[f32], rows: Rows, padded: &mut [f32]) {
            walk_sum::<true>(c, a, rows, padded);
        }
        match simd::level() {
            // SAFETY: `level` never exceeds what this CPU supports.
            Level::Avx512 => return unsafe { avx512(c, a, rows, padded) },
            // SAFETY: as above.
            Level::Avx2 => return unsafe { avx2(c, a, rows, padded) },
            Level::Scalar | Level::Neon => {}
        }
    }
    #[cfg(target_arch = "aarch64")]
    if simd::level() == Level::Neon {
        return walk_sum::<true>(c, a, rows, padded);
    }
    walk_sum::<false>(c, a, rows, padded);
}

#[inline(always)]
fn walk_sum<const FUSED: bool>(c: &mut [f32], a: &[f32], rows: Rows, padded: &mut [f32]) {
    let width = rows.width.next_multiple_of(LANES);
    let mut col = 0;
    while col < width {
        let registers = ((width - col) / LANES).min(4);
        let c = &mut c[col..][..registers * LANES];
        match registers {
            1 => sum_strip::<1, FUSED>(c, a, rows, col, padded),
            2 => sum_strip::<2, FUSED>(c, a, rows, col, padded),
            3 => sum_strip::<3, FUSED>(c, a, rows, col, padded),
            _ => sum_strip::<4, FUSED>(c, a, rows, col, padded),
        }
        col += registers * LANES;
    }
}

/// V·LANES columns from `col` on.
#[inline(always)]
fn sum_strip<const V: usize, const FUSED: bool>(
    c: &mut [f32],
    a: &[f32],
    rows: Rows,
    col: usize,
    padded: &mut [f32],
) {
    let mut sums = [[0.0_f32; LANES]; V];
    for (k, x) in a.iter().enumerate() {
        let row = &rows.row(k)[col..];
        let lanes = if row.len() < V * LANES {
            padded[..row.len()].copy_from_slice(row);
            padded[row.len()..V * LANES].fill(0.0);
            &padded[..V * LANES]
        } else {
            &row[..V * LANES]
        };
        let (lanes, _) = lanes.as_chunks::<LANES>();
        for v in 0..V {
            for l in 0..LANES {
                let sum = &mut sums[v][l];
                *sum = if FUSED { x.mul_add(lanes[v][l], *sum) } else { x * lanes[v][l] + *sum };
            }
        }
    }
    c.as_chunks_mut::<LANES>().0.copy_from_slice(&sums);
}

struct Output<'a> {
    c: &'a mut [f32],
    stride: usize,
    rows: usize,
    accumulate: Accumulate,
}

/// Tiles of R rows and V·LANES columns; column panels in the outer loop, so that a panel of b stays
/// in the L1 cache.
#[inline(always)]
fn walk<const R: usize, const V: usize, const FUSED: bool>(
    mut out: Output,
    a: LeftView,
    b: RightView,
    extent: &dyn Fn(Range<usize>) -> Extent,
) {
    let mut col = 0;
    loop {
        let mut more = false;
        for row in (0..out.rows).step_by(R) {
            let rows = row..out.rows.min(row + R);
            let Extent { inner, cols } = extent(rows.clone());
            if cols > col {
                more |= cols > col + V * LANES;
                if V == 2 && cols - col > LANES {
                    tile_of_rows::<V, FUSED>(&mut out, rows, col, a, b, inner);
                } else {
                    tile_of_rows::<1, FUSED>(&mut out, rows, col, a, b, inner);
                }
            }
        }
        if !more {
            return;
        }
        col += V * LANES;
    }
}

/// Makes the number of rows a constant, so that their sums stay in registers.
#[inline(always)]
fn tile_of_rows<const V: usize, const FUSED: bool>(
    out: &mut Output,
    rows: Range<usize>,
    col: usize,
    a: LeftView,
    b: RightView,
    inner: Range<usize>,
) {
    match rows.len() {
        1 => tile::<1, V, FUSED>(out, rows.start, col, a, b, inner),
        2 => tile::<2, V, FUSED>(out, rows.start, col, a, b, inner),
        3 => tile::<3, V, FUSED>(out, rows.start, col, a, b, inner),
        4 => tile::<4, V, FUSED>(out, rows.start, col, a, b, inner),
        5 => tile::<5, V, FUSED>(out, rows.start, col, a, b, inner),
        _ => tile::<6, V, FUSED>(out, rows.start, col, a, b, inner),
    }
}

#[inline(always)]
#[allow(clippy::needless_range_loop)] // Constant bounds keep `sums` in registers.
fn tile<const R: usize, const V: usize, const FUSED: bool>(
    out: &mut Output,
    row: usize,
    col: usize,
    a: LeftView,
    b: RightView,
    inner: Range<usize>,
) {
    let first = row * out.stride + col;
    assert!(first + (R - 1) * out.stride + V * LANES <= out.c.len(), "tile outside its result");
    if inner.start < inner.end {
        let last = (row + R - 1) * a.row_stride + (inner.end - 1) * a.col_stride;
        assert!(last < a.data.len(), "tile outside its left operand");
        let end = (inner.end - 1) * b.stride + col + V * LANES;
        assert!(end <= b.data.len(), "tile outside its right operand");
    }
    let mut sums = [[[0.0_f32; LANES]; V]; R];
    // SAFETY: the largest address of each operand was checked above; arrays of f32 need no more
    // alignment than f32.
    unsafe {
        let c = out.c.as_mut_ptr().add(first);
        if out.accumulate == Accumulate::Add {
            for r in 0..R {
                sums[r] = *c.add(r * out.stride).cast();
            }
        }
        let (a_rows, b_cols) = (a.data.as_ptr().add(row * a.row_stride), b.data.as_ptr().add(col));
        for k in inner {
            let b_row = *b_cols.add(k * b.stride).cast::<[[f32; LANES]; V]>();
            for r in 0..R {
                let x = *a_rows.add(r * a.row_stride + k * a.col_stride);
                for v in 0..V {
                    for l in 0..LANES {
                        let sum = &mut sums[r][v][l];
                        // Without the instruction, `mul_add` would be a call into the C library.
                        *sum = if FUSED {
                            x.mul_add(b_row[v][l], *sum)
                        } else {
                            x * b_row[v][l] + *sum
                        };
                    }
                }
            }
        }
        for r in 0..R {
            *c.add(r * out.stride).cast() = sums[r];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn tiles_agree_with_the_definition_for_every_shape_and_write_nothing_else() {
        let mut rng = Stream::new(3, 1);
        for rows in [1, 2, 5, 6, 7, 13, 64] {
            for inner in [0, 1, 3, 31] {
                for cols in [1_usize, 16, 17, 33, 70] {
                    let (stride, width) =
                        (cols.next_multiple_of(LANES) + 5, cols.next_multiple_of(LANES));
                    let mut random =
                        |n: usize| (0..n).map(|_| rng.uniform() - 0.5).collect::<Vec<f32>>();
                    let (a, b, before) =
                        (random(rows * (inner + 2)), random(inner * stride), random(rows * stride));
                    for (row_stride, col_stride) in [(inner + 2, 1), (1, rows)] {
                        for accumulate in [Accumulate::Overwrite, Accumulate::Add] {
                            let mut c = before.clone();
                            product(
                                &mut c,
                                stride,
                                rows,
                                LeftView { data: &a, row_stride, col_stride },
                                RightView { data: &b, stride },
                                accumulate,
                                &|_| Extent { inner: 0..inner, cols },
                            );
                            for (at, (c, before)) in c.iter().zip(&before).enumerate() {
                                let (i, j) = (at / stride, at % stride);
                                if j >= width {
                                    assert_eq!(
                                        c, before,
                                        "({rows},{inner},{cols}) wrote to ({i},{j})"
                                    );
                                } else if j < cols {
                                    let sum: f64 = (0..inner)
                                        .map(|k| {
                                            f64::from(a[i * row_stride + k * col_stride])
                                                * f64::from(b[k * stride + j])
                                        })
                                        .sum();
                                    let kept = f64::from(*before)
                                        * f64::from(accumulate == Accumulate::Add);
                                    assert!((f64::from(*c) - sum - kept).abs() < 1e-6, "({i},{j})");
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
