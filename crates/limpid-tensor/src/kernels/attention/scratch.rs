//! Scratch memory of one thread, and operands laid out the way `tile::product` reads them.

use super::tile::{Right, TILE_ROWS};
use super::views::Rows;
use crate::simd::LANES;
use std::cell::RefCell;
use std::ops::Range;

/// One cache line: a vector that begins here never crosses into the next.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; LANES]);

thread_local! {
    static SCRATCH: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with N slices of at least the given lengths, whose contents may be anything.
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
            unsafe { std::slice::from_raw_parts_mut(part.as_mut_ptr().cast::<f32>(), part.len() * LANES) }
        }));
    });
}

/// Columns up to a whole number of lanes.
pub(super) fn lanes(cols: usize) -> usize {
    cols.next_multiple_of(LANES)
}

/// Distance of rows of scores of `cols` keys, with room for [`LANES`] more, so that a row can be filled up by one store.
/// An odd number of cache lines: walking down a column in steps of a power of two would use a few sets of the first
/// cache only.
pub(super) fn score_width(cols: usize) -> usize {
    ((cols + LANES).div_ceil(LANES) | 1) * LANES
}

/// Rows of a wide matrix are often a multiple of a large power of two apart and then share a few sets of the caches: as few
/// as these still fit.
const FEW_ROWS: usize = 32;

/// Rows as a right operand that `readers` rows of a left operand are multiplied with. In place where they are whole lanes and
/// few, or read only once; otherwise copied close together and filled up with zeros.
pub(super) fn right<'a>(rows: Rows<'a>, count: usize, readers: usize, scratch: &'a mut [f32]) -> Right<'a> {
    if rows.width.is_multiple_of(LANES) && (count <= FEW_ROWS || readers <= TILE_ROWS) {
        return Right { data: rows.data, stride: rows.stride };
    }
    let stride = lanes(rows.width);
    for (i, to) in scratch.chunks_exact_mut(stride).take(count).enumerate() {
        to[..rows.width].copy_from_slice(rows.row(i));
        to[rows.width..].fill(0.0);
    }
    Right { data: scratch, stride }
}

/// The transpose of `count` rows, times `scale`, as a right operand with rows `stride` apart.
pub(super) fn transposed<'a>(
    rows: Rows,
    count: usize,
    scale: f32,
    stride: usize,
    scratch: &'a mut [f32],
) -> Right<'a> {
    // Columns past the last key are never read: what they hold does not matter.
    let done = transpose_eights(scratch, rows, count, scale, stride);
    transpose_plain(scratch, rows, done..count, 0..rows.width, scale, stride);
    Right { data: scratch, stride }
}

/// As many keys as there are whole eights, where there are registers for it; says how many.
fn transpose_eights(to: &mut [f32], rows: Rows, count: usize, scale: f32, stride: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    if crate::simd::level() >= crate::simd::Level::Avx2 {
        let (keys, cols) = (count / 8 * 8, rows.width / 8 * 8);
        for i in (0..keys).step_by(8) {
            for p in (0..cols).step_by(8) {
                // SAFETY: this CPU has AVX2.
                unsafe { transpose_8x8(&mut to[p * stride + i..], stride, rows.from(i), p, scale) };
            }
        }
        transpose_plain(to, rows, 0..keys, cols..rows.width, scale, stride);
        return keys;
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

/// Eight columns from `p` of eight rows, through registers: a transpose by single elements took an eighth of the time of
/// small batches.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn transpose_8x8(to: &mut [f32], stride: usize, rows: Rows, p: usize, scale: f32) {
    use std::arch::x86_64::*;
    let scale = _mm256_set1_ps(scale);
    let r: [__m256; 8] = std::array::from_fn(|i| {
        let eight: &[f32; 8] = rows.row(i)[p..].first_chunk().expect("eight columns");
        // SAFETY: `eight` is eight f32.
        unsafe { _mm256_mul_ps(scale, _mm256_loadu_ps(eight.as_ptr())) }
    });
    // Pairs of rows, then fours, then eights: after each step a register holds that many rows of a column.
    let low = |i: usize| _mm256_unpacklo_ps(r[i], r[i + 1]);
    let high = |i: usize| _mm256_unpackhi_ps(r[i], r[i + 1]);
    let fours = |a: __m256, b: __m256| (_mm256_shuffle_ps::<0x44>(a, b), _mm256_shuffle_ps::<0xee>(a, b));
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
        let eight: &mut [f32; 8] = to[p * stride..].first_chunk_mut().expect("room for eight keys");
        // SAFETY: `eight` is eight f32.
        unsafe { _mm256_storeu_ps(eight.as_mut_ptr(), column) };
    }
}
