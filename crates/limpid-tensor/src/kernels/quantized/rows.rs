//! Activations as bytes: each row with one scale, chosen while the product runs.
//!
//! ```text
//! scale = max |x| / 127 of the row,   q = round(x / scale), ties to even      −127 ..= 127
//! ```
//!
//! Plain f32 operations in a fixed order: the same bytes on every instruction set, and a row's
//! bytes do not depend on other rows. A row with an element that is infinite or not a number gets
//! the scale NaN, so that its results are NaN and not wrong numbers. A row whose largest element
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
    /// One per row.
    pub(super) scales: *const f32,
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
/// `unit` bytes. The memory is this thread's scratch.
pub(super) fn with_quantized_rows(
    a: Mat,
    offset: u8,
    unit: usize,
    sums: Sums,
    use_them: impl FnOnce(Rows),
) {
    let (m, k) = (a.rows(), a.cols());
    let stride = k.next_multiple_of(unit);
    let groups = if sums == Sums::Groups { stride / GROUP } else { 0 };
    with_scratch(Purpose::Quantized, |scratch| {
        let words = (m * stride).div_ceil(64) * 16;
        let start = scratch.at_least(words + m + m * groups);
        // SAFETY: the scratch has room for the bytes, in whole cache lines, then m scales, then
        // the sums.
        let output = unsafe {
            let scales = start.add(words);
            Output { bytes: start.cast(), scales, sums: scales.add(m).cast() }
        };
        let rows = team::rows_per_task(k);
        team::run(m.div_ceil(rows), |task| {
            let output = &output;
            for row in task * rows..m.min((task + 1) * rows) {
                // SAFETY: row `row` of each of the three, which no other task uses.
                let (bytes, scale, sums) = unsafe {
                    (
                        std::slice::from_raw_parts_mut(output.bytes.add(row * stride), stride),
                        &mut *output.scales.add(row),
                        std::slice::from_raw_parts_mut(output.sums.add(row * groups), groups),
                    )
                };
                *scale = quantize_row(bytes, a.row(row), offset);
                group_sums(sums, bytes);
            }
        });
        use_them(Rows { bytes: output.bytes, stride, scales: output.scales, sums: output.sums });
    });
}

vectorized! {
    /// Writes a row and returns its scale.
    pub(super) fn quantize_row(bytes: &mut [u8], x: &[f32], offset: u8) -> f32 {
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
