//! Rows of bytes that come and go: the memory of a cache of keys and values.
//!
//! The memory is mapped, not written: the system provides a page when it is first written, so a
//! pool costs what was used of it at its fullest, not its capacity. A pool that is full doubles,
//! and the old pages are given back at once.

use memmap2::MmapMut;
use std::ops::Range;

/// The first capacity, in rows.
const FIRST: usize = 256;

/// A multiple of the size of a page on every system.
#[cfg(target_os = "linux")]
const PAGE: usize = 64 << 10;

/// Rows of one width, by number. Their content is arbitrary (but initialized) until written.
pub struct RowPool {
    map: Option<MmapMut>,
    /// Bytes of a row.
    width: usize,
    rows: usize,
}

impl RowPool {
    /// An empty pool of rows of `width` bytes.
    pub fn new(width: usize) -> Self {
        Self { map: None, width, rows: 0 }
    }

    /// Bytes of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Makes sure that the rows below `rows` exist.
    ///
    /// # Panics
    /// If the system has no address space for them.
    #[track_caller]
    pub fn reserve(&mut self, rows: usize) {
        if rows <= self.rows {
            return;
        }
        let rows = rows.next_power_of_two().max(FIRST);
        let bytes = rows.checked_mul(self.width.max(1)).expect("a pool fits the address space");
        let mut map = MmapMut::map_anon(bytes)
            .unwrap_or_else(|error| panic!("no memory for {rows} rows of a cache: {error}"));
        if let Some(old) = &self.map {
            map[..old.len()].copy_from_slice(old);
        }
        (self.map, self.rows) = (Some(map), rows);
    }

    /// All rows, one after another.
    pub fn data(&self) -> &[u8] {
        self.map.as_ref().map_or(&[], |map| &map[..self.rows * self.width])
    }

    /// All rows as f32, if that is what was written to them.
    ///
    /// # Panics
    /// If a row is not a whole number of f32.
    #[track_caller]
    pub fn floats(&self) -> &[f32] {
        let (data, width) = (self.data(), self.width);
        assert!(width.is_multiple_of(4), "a row of {width} bytes is no whole number of f32");
        if data.is_empty() {
            return &[];
        }
        // SAFETY: a map begins at a page, so it is aligned, and any four bytes are an f32.
        unsafe { std::slice::from_raw_parts(data.as_ptr().cast(), data.len() / 4) }
    }

    /// Gives the pages of some rows, as far as no other row is on them, back to the system: what
    /// was in the rows is lost.
    ///
    /// # Panics
    /// If they do not exist.
    #[track_caller]
    pub fn discard(&mut self, rows: Range<usize>) {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "{rows:?} of {}", self.rows);
        #[cfg(target_os = "linux")]
        if let Some(map) = &self.map {
            let first = (rows.start * self.width).next_multiple_of(PAGE);
            let end = rows.end * self.width / PAGE * PAGE;
            if first < end {
                // SAFETY: the map is private, anonymous and borrowed mutably: nobody else reads
                // these pages, and afterwards they are zeros, which are bytes like any others.
                let given = unsafe {
                    map.unchecked_advise_range(
                        memmap2::UncheckedAdvice::DontNeed,
                        first,
                        end - first,
                    )
                };
                // Refused, the pages stay: more memory is used, and nothing else differs.
                drop(given);
            }
        }
    }

    /// One row, to be written.
    ///
    /// # Panics
    /// If it does not exist.
    #[track_caller]
    pub fn row_mut(&mut self, row: usize) -> &mut [u8] {
        assert!(row < self.rows, "row {row} of a pool of {}", self.rows);
        let map = self.map.as_mut().expect("a pool with rows is mapped");
        &mut map[row * self.width..][..self.width]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_content_while_the_pool_grows() {
        let mut pool = RowPool::new(12);
        assert!(pool.data().is_empty() && pool.floats().is_empty());
        for row in 0..2_000 {
            pool.reserve(row + 1);
            let (to, _) = pool.row_mut(row).as_chunks_mut::<4>();
            to.fill((row as f32).to_ne_bytes());
        }
        for row in 0..2_000 {
            assert_eq!(pool.floats()[3 * row..][..3], [row as f32; 3]);
        }
        assert_eq!((pool.data().len(), pool.width()), (12 * 2_048, 12));
    }

    #[test]
    fn discarded_rows_are_rows_and_their_neighbours_keep_their_content() {
        let mut pool = RowPool::new(1_000);
        pool.reserve(1_024);
        (0..1_024).for_each(|row| pool.row_mut(row).fill(7));
        pool.discard(100..900);
        for row in (0..100).chain(900..1_024) {
            assert!(pool.row_mut(row).iter().all(|byte| *byte == 7), "{row}");
        }
        if cfg!(target_os = "linux") {
            assert!(pool.row_mut(500).iter().all(|byte| *byte == 0));
        }
        pool.row_mut(500).fill(9);
        assert_eq!(pool.data()[500 * 1_000], 9);
        pool.discard(3..3);
    }

    #[test]
    #[should_panic(expected = "row 256 of a pool of 256")]
    fn a_row_that_does_not_exist_panics() {
        let mut pool = RowPool::new(2);
        pool.reserve(7);
        pool.row_mut(256);
    }
}
