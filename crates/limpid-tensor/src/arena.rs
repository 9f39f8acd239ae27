//! Memory for weights that stay: many small matrices share blocks of huge pages.
//!
//! A matrix of a megabyte on pages of 4 KB costs a TLB miss per page each time it is read, and the
//! CPU's prefetching ends at each page. Blocks are mapped, not allocated: what is not written takes
//! no memory. A block is freed when the last matrix in it is dropped.

use memmap2::{MmapMut, MmapOptions};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, Weak};

const HUGE_PAGE: usize = 2 << 20;
/// Bytes of a block; a larger matrix has a block of its own.
const BLOCK: usize = 16 * HUGE_PAGE;
/// Every matrix starts on a cache line.
const LINE: usize = 64;

/// A mapped block. Parts of it belong to [`Bytes`].
struct Block {
    start: NonNull<u8>,
    _map: MmapMut,
}

// SAFETY: a block gives out disjoint parts, each written by its owner before it is shared.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    fn new(len: usize) -> Arc<Self> {
        // The map may start anywhere: one huge page more, so that a start can be chosen.
        let mut map = MmapOptions::new()
            .len(len + HUGE_PAGE)
            .map_anon()
            .expect("the system refused to map memory for weights");
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        let offset = map.as_ptr().align_offset(HUGE_PAGE);
        let start = NonNull::from(&mut map[offset]);
        Arc::new(Self { start, _map: map })
    }
}

/// Where the next small matrix is placed.
struct Current {
    block: Weak<Block>,
    used: usize,
}

static CURRENT: Mutex<Current> = Mutex::new(Current { block: Weak::new(), used: BLOCK });

/// Bytes in a block.
pub(crate) struct Bytes {
    block: Arc<Block>,
    offset: usize,
    len: usize,
}

impl Bytes {
    /// `len` bytes, which `fill` writes.
    pub(crate) fn filled(len: usize, fill: impl FnOnce(&mut [u8])) -> Self {
        let (block, offset) = place(len);
        // SAFETY: `place` gave this part of the block to nobody else; mapped memory is zeros.
        fill(unsafe { std::slice::from_raw_parts_mut(block.start.as_ptr().add(offset), len) });
        Self { block, offset, len }
    }

    /// `len` f32, which `fill` writes; [`Bytes::floats`] reads them.
    pub(crate) fn filled_with_floats(len: usize, fill: impl FnOnce(&mut [f32])) -> Self {
        Self::filled(size_of::<f32>() * len, |bytes| {
            // SAFETY: the bytes are initialized, any of them are f32, and they start on a line.
            fill(unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), len) });
        })
    }

    /// The same bytes as f32; what does not fill one is left out.
    pub(crate) fn floats(&self) -> &[f32] {
        let len = self.len / size_of::<f32>();
        // SAFETY: as for writing.
        unsafe { std::slice::from_raw_parts(self.as_ptr().cast(), len) }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the part was written when it was made, and nothing writes to it since.
        unsafe { std::slice::from_raw_parts(self.block.start.as_ptr().add(self.offset), self.len) }
    }
}

/// A part of `len` bytes that nobody else has: its block, and where it starts.
fn place(len: usize) -> (Arc<Block>, usize) {
    if len > BLOCK / 2 {
        return (Block::new(len.next_multiple_of(HUGE_PAGE)), 0);
    }
    let mut current = CURRENT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let kept = current.block.upgrade().filter(|_| current.used + len <= BLOCK);
    let block = kept.unwrap_or_else(|| {
        let block = Block::new(BLOCK);
        *current = Current { block: Arc::downgrade(&block), used: 0 };
        block
    });
    let offset = current.used;
    current.used += len.next_multiple_of(LINE);
    (block, offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_read_as_they_were_written() {
        let numbers: Vec<f32> = (0..1000).map(|i| i as f32 / 7.0).collect();
        let bytes = Bytes::filled_with_floats(1000, |to| to.copy_from_slice(&numbers));
        assert_eq!(bytes.floats(), numbers);
    }

    #[test]
    fn parts_keep_what_was_written_and_do_not_overlap() {
        let lens = [0, 1, 63, 64, 65, 1000, 3 << 20, BLOCK / 2, BLOCK / 2 + 1, BLOCK + 5, 7];
        for _ in 0..3 {
            let content = |i: usize, len: usize| (0..len).map(move |at| (at * 31 + i) as u8);
            let parts: Vec<(Bytes, Vec<u8>)> = (0..3 * lens.len())
                .map(|i| {
                    let bytes: Vec<u8> = content(i, lens[i % lens.len()]).collect();
                    (Bytes::filled(bytes.len(), |to| to.copy_from_slice(&bytes)), bytes)
                })
                .collect();
            for (part, bytes) in &parts {
                assert!(**part == **bytes);
                assert!(part.is_empty() || part.as_ptr().align_offset(LINE) == 0);
            }
        }
    }
}
