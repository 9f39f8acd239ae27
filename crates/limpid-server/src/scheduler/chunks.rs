//! Where a prompt is cut into chunks.

use std::ops::Range;

/// Rows of a chunk.
pub const CHUNK: usize = 128;

/// The chunk of a prompt of `length` tokens that begins at `done`. It depends on the two alone, so
/// a prompt is always cut at the same places.
///
/// A chunk of one row would take another path through attention, with other rounding: the last one
/// takes a row that would be left alone.
pub fn chunk(length: usize, done: usize) -> Range<usize> {
    let left = length.saturating_sub(done);
    done..done + if left <= CHUNK + 1 { left } else { CHUNK }
}
