//! Activations as bytes, with scales chosen while the product runs: one per group of 64 for int8,
//! one per row for int4.
//!
//! ```text
//! scale = max |x| / 127 of the group,   q = round(x / scale), ties to even      −127 ..= 127
//! ```
//!
//! A row of hidden states has a few elements that are ten times the others: with one scale per row
//! they cost the embeddings of MiniLM a cosine of 0.0022, with one per 64 elements 0.0004.
//!
//! Plain f32 operations in a fixed order: the same bytes on every instruction set, and a row's
//! bytes do not depend on other rows. A row with an element that is infinite or not a number gets
//! the scale NaN, so that its results are NaN and not wrong numbers. A group whose largest element
//! is below 2^-119 counts as 0.

use super::GROUP;
use crate::kernels::matmul::Mat;
use crate::kernels::matmul::pack::{Purpose, with_scratch};
use crate::simd::vectorized;
use crate::team;

/// Quantised rows of a product's left operand.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// Rows of `stride` bytes, filled up with the byte of 0.
    pub(super) bytes: *const u8,
    pub(super) stride: usize,
    /// `groups` per row.
    pub(super) scales: *const f32,
    pub(super) groups: usize,
    /// −8 times the sum of each group, `stride / 32` per row; only if asked for.
    pub(super) sums: *const i32,
}

/// Where the tasks write: each its own rows.
#[derive(Clone, Copy)]
struct Output {
    bytes: *mut u8,
    scales: *mut f32,
    sums: *mut i32,
}
// SAFETY: every task writes the rows of its own chunk only.
unsafe impl Sync for Output {}

/// Whether the sums of groups are needed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sums {
    Groups,
    None,
}

/// Calls `use_them` with the rows of a as bytes plus `offset`, each filled up to a multiple of
/// `unit` bytes, with a scale for each `scaled` elements. The memory is this thread's scratch.
pub(super) fn with_quantized_rows(
    a: Mat,
    offset: u8,
    (unit, scaled): (usize, usize),
    sums: Sums,
    use_them: impl FnOnce(Rows),
) {
    let (m, k) = (a.rows(), a.cols());
    let stride = k.next_multiple_of(unit);
    let summed = if sums == Sums::Groups { stride / GROUP } else { 0 };
    let groups = k.div_ceil(scaled.max(1)).max(1);
    with_scratch(Purpose::Quantized, |scratch| {
        let words = (m * stride).div_ceil(64) * 16;
        let start = scratch.at_least(words + m * groups + m * summed);
        // SAFETY: the scratch has room for the bytes, in whole cache lines, then the scales, then
        // the sums.
        let output = unsafe {
            let scales = start.add(words);
            Output { bytes: start.cast(), scales, sums: scales.add(m * groups).cast() }
        };
        let rows = team::rows_per_task(k);
        team::run(m.div_ceil(rows), |task| {
            let output = &output;
            for row in task * rows..m.min((task + 1) * rows) {
                // SAFETY: row `row` of each of the three, which no other task uses.
                let (bytes, scales, sums) = unsafe {
                    (
                        std::slice::from_raw_parts_mut(output.bytes.add(row * stride), stride),
                        std::slice::from_raw_parts_mut(output.scales.add(row * groups), groups),
                        std::slice::from_raw_parts_mut(output.sums.add(row * summed), summed),
                    )
                };
                quantize_row(bytes, scales, a.row(row), scaled, offset);
                group_sums(sums, bytes);
            }
        });
        let Output { bytes, scales, sums } = output;
        use_them(Rows { bytes, stride, scales, groups, sums });
    });
}

vectorized! {
    /// Writes a row, and a scale for each `scaled` elements.
    fn quantize_row(
        bytes: &mut [u8],
        scales: &mut [f32],
        x: &[f32],
        scaled: usize,
        offset: u8
    ) {
        for (group, scale) in scales.iter_mut().enumerate() {
            let first = group * scaled;
            let last = x.len().min(first + scaled);
            // The last group writes what the row is filled up with.
            let end = if last == x.len() { bytes.len() } else { last };
            *scale = quantize_group(&mut bytes[first..end], &x[first..last], offset);
        }
    }
}

/// Writes a group and returns its scale.
#[inline(always)]
fn quantize_group(bytes: &mut [u8], x: &[f32], offset: u8) -> f32 {
    // As integers, magnitudes are ordered with ∞ and NaN last.
    let largest = x.iter().fold(0, |most: u32, x| most.max(x.to_bits() & 0x7fff_ffff));
    let (largest, finite) = (f32::from_bits(largest), largest < 0x7f80_0000);
    if !finite || largest < SMALLEST {
        bytes.fill(offset);
        return if finite { 0.0 } else { f32::NAN };
    }
    // Adding 1.5·2²³ leaves the rounded number in the low bits of the mantissa.
    const MAGIC: f32 = 12_582_912.0;
    let inverse = 127.0 / largest;
    let (now, padding) = bytes.split_at_mut(x.len());
    for (byte, x) in now.iter_mut().zip(x) {
        *byte = ((x * inverse + MAGIC).to_bits() as u8).wrapping_add(offset);
    }
    padding.fill(offset);
    largest / 127.0
}

/// 2^-119: 127 divided by it is finite.
const SMALLEST: f32 = f32::from_bits((127 - 119) << 23);

vectorized! {
    /// −8 times the sum of each group of bytes without offset.
    fn group_sums(sums: &mut [i32], bytes: &[u8]) {
        for (sum, group) in sums.iter_mut().zip(bytes.as_chunks::<GROUP>().0) {
            *sum = -8 * group.iter().map(|byte| i32::from(*byte as i8)).sum::<i32>();
        }
    }
}
