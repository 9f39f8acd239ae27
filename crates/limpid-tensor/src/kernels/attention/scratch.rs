//! Scratch memory of one thread, and operands in the layout that `tile::product` reads.

use super::tile::{RightView, TILE_ROWS};
use super::views::Rows;
use crate::simd::LANES;
use std::cell::RefCell;
use std::ops::Range;

/// One cache line: a vector load at its start never crosses into the next.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; LANES]);

thread_local! {
    static SCRATCH: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with N slices of at least the given lengths and arbitrary content.
///
/// The memory belongs to the thread and grows to the largest request: later calls allocate nothing.
pub(super) fn with<const N: usize>(lens: [usize; N], work: impl FnOnce([&mut [f32]; N])) {
    SCRATCH.with_borrow_mut(|lines| {
        let needed = lens.iter().map(|len| len.div_ceil(LANES)).sum::<usize>();
        if lines.len() < needed {
            lines.resize(needed, Line([0.0; LANES]));
        }
        let mut rest: &mut [Line] = lines;
        work(lens.map(|len| {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(len.div_ceil(LANES));
            rest = after;
            // SAFETY: a `Line` is 16 f32 without padding (its size, 64, is its alignment).
            unsafe {
                std::slice::from_raw_parts_mut(part.as_mut_ptr().cast::<f32>(), part.len() * LANES)
            }
        }));
    });
}

/// Number of columns, rounded up to a whole number of lanes.
pub(super) fn lanes(cols: usize) -> usize {
    cols.next_multiple_of(LANES)
}

/// Row stride of the scores of `cols` keys, with space for [`LANES`] more, so that a row can be
/// padded by one store. An odd number of cache lines: a column walk with a power-of-two stride
/// would use few sets of the L1 cache.
pub(super) fn score_width(cols: usize) -> usize {
    ((cols + LANES).div_ceil(LANES) | 1) * LANES
}

/// Rows of a wide matrix are often a multiple of a large power of two apart and then share few
/// cache sets: this many still fit.
const FEW_ROWS: usize = 32;

/// Rows as a right operand for `readers` rows of a left operand: in place where their width is
/// whole lanes, they follow each other, and are few or read only once; otherwise copied
/// contiguously and padded with zeros.
pub(super) fn right<'a>(
    rows: Rows<'a>,
    count: usize,
    readers: usize,
    scratch: &'a mut [f32],
) -> RightView<'a> {
    let in_place = rows.width.is_multiple_of(LANES) && rows.numbers.is_none();
    if in_place && (count <= FEW_ROWS || readers <= TILE_ROWS) {
        return RightView { data: rows.data, stride: rows.stride };
    }
    let stride = lanes(rows.width);
    for (i, to) in scratch.chunks_exact_mut(stride).take(count).enumerate() {
        to[..rows.width].copy_from_slice(rows.row(i));
        to[rows.width..].fill(0.0);
    }
    RightView { data: scratch, stride }
}

/// The transpose of `count` rows, times `scale`, as a right operand with rows `stride` apart: at
/// least `count`, rounded up to eights.
pub(super) fn transposed<'a>(
    rows: Rows,
    count: usize,
    scale: f32,
    stride: usize,
    scratch: &'a mut [f32],
) -> RightView<'a> {
    // Columns past the last key are computed but never used: their content does not matter.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    let done = transpose_eights(scratch, rows, count, scale, stride);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let done = 0;
    transpose_plain(scratch, rows, done..count, 0..rows.width, scale, stride);
    RightView { data: scratch, stride }
}

/// Transposes all keys in groups of eight, if the level has the registers; returns how many keys.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn transpose_eights(to: &mut [f32], rows: Rows, count: usize, scale: f32, stride: usize) -> usize {
    if crate::simd::level() > crate::simd::Level::Scalar {
        let cols = rows.width / 8 * 8;
        for i in (0..count).step_by(8) {
            // A last group that is not whole repeats its last key, in columns that are never used.
            let eight = std::array::from_fn(|j| rows.row((i + j).min(count - 1)));
            for p in (0..cols).step_by(8) {
                #[allow(unused_unsafe)] // NEON is part of the baseline.
                // SAFETY: this CPU has AVX2, or NEON.
                unsafe {
                    transpose_8x8(&mut to[p * stride + i..], stride, &eight, p, scale)
                };
            }
        }
        transpose_plain(to, rows, 0..count, cols..rows.width, scale, stride);
        return count;
    }
    0
}

fn transpose_plain(
    to: &mut [f32],
    rows: Rows,
    keys: Range<usize>,
    cols: Range<usize>,
    scale: f32,
    stride: usize,
) {
    for i in keys {
        for (p, x) in cols.clone().zip(&rows.row(i)[cols.clone()]) {
            to[p * stride + i] = scale * x;
        }
    }
}

/// Eight columns from `p` of eight rows, in registers: see below.
#[cfg(target_arch = "aarch64")]
fn transpose_8x8(to: &mut [f32], stride: usize, rows: &[&[f32]; 8], p: usize, scale: f32) {
    use crate::kernels::matmul::vector::transpose_4x4;
    use std::arch::aarch64::{vmulq_n_f32, vst1q_f32};
    for (i, rows) in rows.as_chunks::<4>().0.iter().enumerate() {
        for p_of_four in [0, 4] {
            let fours: [&[f32; 4]; 4] = std::array::from_fn(|j| {
                rows[j][p + p_of_four..].first_chunk().expect("eight columns")
            });
            // SAFETY: each is four f32.
            let columns = unsafe { transpose_4x4(fours.map(|four| four.as_ptr())) };
            for (q, column) in columns.into_iter().enumerate() {
                let at = (p_of_four + q) * stride + 4 * i;
                let four: &mut [f32; 4] = to[at..].first_chunk_mut().expect("eight keys");
                // SAFETY: `four` is four f32; every aarch64 CPU has NEON.
                unsafe { vst1q_f32(four.as_mut_ptr(), vmulq_n_f32(column, scale)) };
            }
        }
    }
}

/// Eight columns from `p` of eight rows, in registers: an elementwise transpose took an eighth of
/// the time of small batches.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn transpose_8x8(to: &mut [f32], stride: usize, rows: &[&[f32]; 8], p: usize, scale: f32) {
    use std::arch::x86_64::*;
    let scale = _mm256_set1_ps(scale);
    let r: [__m256; 8] = std::array::from_fn(|i| {
        let eight: &[f32; 8] = rows[i][p..].first_chunk().expect("eight columns");
        // SAFETY: `eight` is eight f32.
        unsafe { _mm256_mul_ps(scale, _mm256_loadu_ps(eight.as_ptr())) }
    });
    // Pairs of rows, then fours, then eights: after each step a register holds that many rows of a
    // column.
    let low = |i: usize| _mm256_unpacklo_ps(r[i], r[i + 1]);
    let high = |i: usize| _mm256_unpackhi_ps(r[i], r[i + 1]);
    let fours =
        |a: __m256, b: __m256| (_mm256_shuffle_ps::<0x44>(a, b), _mm256_shuffle_ps::<0xee>(a, b));
    let ((a0, a1), (a2, a3)) = (fours(low(0), low(2)), fours(high(0), high(2)));
    let ((b0, b1), (b2, b3)) = (fours(low(4), low(6)), fours(high(4), high(6)));
    let columns = [
        _mm256_permute2f128_ps::<0x20>(a0, b0),
        _mm256_permute2f128_ps::<0x20>(a1, b1),
        _mm256_permute2f128_ps::<0x20>(a2, b2),
        _mm256_permute2f128_ps::<0x20>(a3, b3),
        _mm256_permute2f128_ps::<0x31>(a0, b0),
        _mm256_permute2f128_ps::<0x31>(a1, b1),
        _mm256_permute2f128_ps::<0x31>(a2, b2),
        _mm256_permute2f128_ps::<0x31>(a3, b3),
    ];
    for (p, column) in columns.into_iter().enumerate() {
        let eight: &mut [f32; 8] = to[p * stride..].first_chunk_mut().expect("eight keys");
        // SAFETY: `eight` is eight f32.
        unsafe { _mm256_storeu_ps(eight.as_mut_ptr(), column) };
    }
}
