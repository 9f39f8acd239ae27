//! Buffers that go round: a dropped tensor's memory serves the next tensor of about its size.
//!
//! Once the largest batch has been seen, a training step takes all its memory from here and allocates nothing.
//! Sizes are rounded up to one of eight steps per doubling, so that batches of slightly different length share
//! buffers and at most an eighth is wasted.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard};

/// Elements of a cache line, the unit of allocation: every buffer starts on a 64-byte boundary.
const LINE: usize = 16;
const LINE_BYTES: usize = 4 * LINE;

/// From this size on a buffer lies on huge pages: one entry of the CPU's page table cache then covers 2 MB instead of 4 KB.
const HUGE_PAGE: usize = 2 << 20;

/// A block of initialised memory for f32, aligned to 64 bytes, or to a huge page.
pub(crate) struct Buffer {
    start: NonNull<f32>,
    lines: usize,
}

// SAFETY: a Buffer owns its memory, like a Box<[f32]>.
unsafe impl Send for Buffer {}
// SAFETY: as above; a shared reference only reads.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// `len` zeros (rounded up to whole cache lines).
    pub(crate) fn zeroed(len: usize) -> Self {
        let lines = len.div_ceil(LINE);
        let layout = Self::layout(lines);
        if layout.size() == 0 {
            return Self { start: NonNull::dangling(), lines };
        }
        // SAFETY: the layout has a size.
        let Some(start) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        if layout.align() == HUGE_PAGE {
            ask_for_huge_pages(start, layout.size());
        }
        // SAFETY: the block has this size and is ours. Writing is also what makes the pages, so advice comes before.
        unsafe { start.write_bytes(0, layout.size()) };
        Self { start: start.cast(), lines }
    }

    fn layout(lines: usize) -> Layout {
        let bytes = lines.checked_mul(LINE_BYTES).expect("a buffer's size fits the address space");
        let align = if bytes >= 2 * HUGE_PAGE { HUGE_PAGE } else { LINE_BYTES };
        Layout::from_size_align(bytes, align).expect("a buffer's size fits the address space")
    }

    pub(crate) fn as_slice(&self) -> &[f32] {
        // SAFETY: the block holds this many initialised f32 (0 bits are 0.0), and we own it.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.lines * LINE) }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [f32] {
        // SAFETY: as above, and we hold the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.lines * LINE) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let layout = Self::layout(self.lines);
        if layout.size() > 0 {
            // SAFETY: `zeroed` allocated it with this layout.
            unsafe { dealloc(self.start.as_ptr().cast(), layout) }
        }
    }
}

/// Advice that the system may ignore; where there is no such advice, nothing happens.
fn ask_for_huge_pages(start: NonNull<u8>, bytes: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: the range is allocated, ours, and starts on a page; the advice changes no content.
    unsafe {
        libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes);
}

/// Free buffers by size class. The `Arc`s go round with their buffers: making a tensor allocates nothing.
struct Pool {
    free: Vec<Vec<Arc<Buffer>>>,
    held: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { free: Vec::new(), held: 0 });

fn pool() -> MutexGuard<'static, Pool> {
    // Nothing in here can be left half done by a panic.
    POOL.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The class of a size in lines, and the number of lines a buffer of that class has.
fn class(lines: usize) -> (usize, usize) {
    if lines <= 8 {
        return (lines, lines);
    }
    // Eight steps per doubling: round up to a multiple of an eighth of the power of two below.
    let step = 1 << (lines.ilog2() - 3);
    let rounded = lines.div_ceil(step) * step;
    let (log, step) = (rounded.ilog2() as usize, 1 << (rounded.ilog2() - 3));
    ((log - 2) * 8 + rounded / step - 8, rounded)
}

/// A buffer of at least `len` elements with arbitrary content.
pub(crate) fn take(len: usize) -> Arc<Buffer> {
    let (class, lines) = class(len.div_ceil(LINE));
    let mut pool = pool();
    if let Some(buffer) = pool.free.get_mut(class).and_then(Vec::pop) {
        pool.held -= lines * LINE * 4;
        drop(pool);
        return poisoned_in_debug(buffer);
    }
    drop(pool);
    poisoned_in_debug(Arc::new(Buffer::zeroed(lines * LINE)))
}

/// In debug builds stale content is NaN, so that a kernel that reads what nobody wrote is found out.
fn poisoned_in_debug(mut buffer: Arc<Buffer>) -> Arc<Buffer> {
    if cfg!(debug_assertions) {
        let unique = Arc::get_mut(&mut buffer).expect("a free buffer has one owner");
        unique.as_mut_slice().fill(f32::NAN);
    }
    buffer
}

/// Gives a buffer back, if this is its last owner.
pub(crate) fn give_back(mut buffer: Arc<Buffer>) {
    let Some(unique) = Arc::get_mut(&mut buffer) else { return };
    let lines = unique.lines;
    let (class, _) = class(lines);
    let mut pool = pool();
    if pool.free.len() <= class {
        pool.free.resize_with(class + 1, Vec::new);
    }
    pool.held += lines * LINE * 4;
    pool.free[class].push(buffer);
}

/// Bytes that wait in the pool for their next use.
pub fn held_bytes() -> usize {
    pool().held
}

/// Gives the memory of all free buffers back to the system.
pub fn release() {
    let free = {
        let mut pool = pool();
        pool.held = 0;
        std::mem::take(&mut pool.free)
    };
    drop(free);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_what_it_is_asked_for_and_wastes_at_most_an_eighth() {
        let mut last = (0, 0);
        for lines in 0..20_000 {
            let (number, size) = class(lines);
            assert!(size >= lines && size <= lines + lines / 8 + 1, "{lines} lines in {size}");
            assert_eq!(class(size), (number, size), "a class is its own class");
            assert!(number >= last.0 && (number > last.0 || size == last.1 || lines == 0), "{lines}");
            last = (number, size);
        }
    }

    #[test]
    fn buffers_of_every_size_are_zero_aligned_and_writable_to_the_end() {
        for len in [0, 1, 16, 17, 1000, (4 << 20) / 4, (4 << 20) / 4 + 1, 3_000_000] {
            let mut buffer = Buffer::zeroed(len);
            assert!(buffer.as_slice().len() >= len && buffer.as_slice().iter().all(|x| *x == 0.0));
            assert_eq!(buffer.as_slice().as_ptr() as usize % if len > 0 { 64 } else { 4 }, 0);
            buffer.as_mut_slice().fill(1.0);
        }
    }

    #[test]
    fn a_buffer_comes_back_from_the_pool() {
        let buffer = take(123_457);
        let address = buffer.as_slice().as_ptr();
        assert_eq!(address as usize % 64, 0);
        give_back(buffer);
        // Another test may take it in between, but none here asks for this size.
        assert_eq!(take(123_450).as_slice().as_ptr(), address);
    }
}
