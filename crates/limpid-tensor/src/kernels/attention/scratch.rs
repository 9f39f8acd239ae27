//! Scratch memory of one thread, and operands laid out the way `tile::product` reads them.

use super::tile::Right;
use super::views::Rows;
use crate::simd::LANES;
use std::cell::RefCell;

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

/// Distance of rows of at least `cols` columns: an odd number of cache lines, because walking down a column with a
/// power of two would use a few sets of the first cache only.
pub(super) fn odd_lines(cols: usize) -> usize {
    cols.div_ceil(LANES) / 2 * 2 * LANES + LANES
}

/// Rows as a right operand: in place where they are whole lanes, otherwise copied and filled up with zeros.
pub(super) fn right<'a>(rows: Rows<'a>, count: usize, scratch: &'a mut [f32]) -> Right<'a> {
    if rows.width.is_multiple_of(LANES) {
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
    transpose(scratch, rows, count, scale, stride);
    Right { data: scratch, stride }
}

crate::simd::vectorized! {
    fn transpose(to: &mut [f32], rows: Rows, count: usize, scale: f32, stride: usize) {
        for j in (0..count).step_by(LANES) {
            // Columns past the last key are computed and never read; they repeat it, so that they are finite.
            let sources: [&[f32]; LANES] = std::array::from_fn(|l| rows.row((j + l).min(count - 1)));
            for p in 0..rows.width {
                let line = &mut to[p * stride + j..][..LANES];
                for l in 0..LANES {
                    line[l] = scale * sources[l][p];
                }
            }
        }
    }
}
