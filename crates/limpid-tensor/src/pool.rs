//! The buffer pool: the memory of a dropped tensor is reused by the next tensor of about its size.
//!
//! Once the largest batch has been seen, a training step takes all its buffers from the pool and
//! allocates nothing. Sizes are rounded up to one of eight classes per doubling, so that batches of
//! slightly different length share buffers and at most an eighth is wasted.
//!
//! # When memory is freed
//! A buffer that no tensor has used during a whole window of [`WINDOW`] requests to the pool is
//! returned to the allocator: some hundred training steps, or some thousand generated tokens. A
//! batch shape that recurs within that time keeps its buffers, so a steady training loop still
//! allocates nothing; a process that trained a large model and then generates with a small one
//! shrinks. An idle process makes no requests and frees nothing by itself: [`release`] frees all
//! unused buffers at once.
//!
//! ```
//! use limpid_tensor::{pool, tensor::Tensor};
//!
//! drop(Tensor::zeros([1 << 20]));
//! assert!(pool::held_bytes() >= 4 << 20);
//! pool::release();
//! assert_eq!(pool::held_bytes(), 0);
//! ```

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard};

/// Elements of a cache line, the unit of allocation: every buffer starts on a 64-byte boundary.
const LINE: usize = 16;
const LINE_BYTES: usize = 4 * LINE;

/// Large buffers are aligned to huge pages: one TLB entry then covers 2 MB instead of 4 KB.
const HUGE_PAGE: usize = 2 << 20;

/// Number of requests after which buffers that none of them used are freed.
pub const WINDOW: usize = 1 << 18;

/// A block of initialized memory for f32, aligned to 64 bytes, or to a huge page.
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
        let Some(start) = NonNull::new(unsafe { alloc(layout) }) else {
            handle_alloc_error(layout)
        };
        if layout.align() == HUGE_PAGE {
            advise_huge_pages(start, layout.size());
        }
        // SAFETY: the block has this size and is ours. The first write maps the pages, so the
        // advice comes before it.
        unsafe { start.write_bytes(0, layout.size()) };
        Self { start: start.cast(), lines }
    }

    fn bytes(&self) -> usize {
        self.lines * LINE_BYTES
    }

    fn layout(lines: usize) -> Layout {
        let bytes = lines.checked_mul(LINE_BYTES).expect("a buffer's size fits the address space");
        let align = if bytes >= 2 * HUGE_PAGE { HUGE_PAGE } else { LINE_BYTES };
        Layout::from_size_align(bytes, align).expect("a buffer's size fits the address space")
    }

    pub(crate) fn as_slice(&self) -> &[f32] {
        // SAFETY: the block holds this many initialized f32 (0 bits are 0.0), and we own it.
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

/// Advice that the system may ignore; a no-op where there is none.
fn advise_huge_pages(start: NonNull<u8>, bytes: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: the range is allocated, ours, and starts on a page; the advice changes no content.
    unsafe {
        libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes);
}

/// The unused buffers of one size class, the most recently used last.
#[derive(Default)]
struct SizeClass {
    /// `Arc`s are kept with their buffers, so that making a tensor does not allocate one.
    free: Vec<Arc<Buffer>>,
    /// The smallest length of `free` in this window: this many buffers at its front went unused.
    unused: usize,
}

/// Unused buffers by size class.
struct Pool {
    classes: Vec<SizeClass>,
    /// Bytes of all unused buffers.
    held: usize,
    /// Requests since the window began.
    requests: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { classes: Vec::new(), held: 0, requests: 0 });

fn pool() -> MutexGuard<'static, Pool> {
    // No method of `Pool` can panic between two changes that belong together.
    POOL.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Pool {
    /// Counts a request. At the end of a window: the buffers that went unused in it, to be freed.
    fn end_window(&mut self) -> Vec<Arc<Buffer>> {
        self.requests += 1;
        if self.requests < WINDOW {
            return Vec::new();
        }
        self.requests = 0;
        let mut unused = Vec::new();
        for class in &mut self.classes {
            unused.extend(class.free.drain(..class.unused));
            class.unused = class.free.len();
        }
        self.held -= unused.iter().map(|buffer| buffer.bytes()).sum::<usize>();
        unused
    }

    /// The most recently used buffer of a class.
    fn pop(&mut self, class: usize) -> Option<Arc<Buffer>> {
        let class = self.classes.get_mut(class)?;
        let buffer = class.free.pop()?;
        class.unused = class.unused.min(class.free.len());
        self.held -= buffer.bytes();
        Some(buffer)
    }
}

/// The class of a size in lines, and the number of lines of a buffer of that class.
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
    let (reused, unused) = {
        let mut pool = pool();
        (pool.pop(class), pool.end_window())
    };
    // Outside the lock: returning pages to the system takes time.
    drop(unused);
    poisoned_in_debug(reused.unwrap_or_else(|| Arc::new(Buffer::zeroed(lines * LINE))))
}

/// In debug builds a fresh buffer is full of NaN, which exposes a kernel that reads elements before
/// they are written.
fn poisoned_in_debug(mut buffer: Arc<Buffer>) -> Arc<Buffer> {
    if cfg!(debug_assertions) {
        let unique = Arc::get_mut(&mut buffer).expect("a free buffer has one owner");
        unique.as_mut_slice().fill(f32::NAN);
    }
    buffer
}

/// Returns a buffer to the pool, if this is its last owner.
pub(crate) fn give_back(mut buffer: Arc<Buffer>) {
    let Some(unique) = Arc::get_mut(&mut buffer) else { return };
    let (class, _) = class(unique.lines);
    let mut pool = pool();
    if pool.classes.len() <= class {
        pool.classes.resize_with(class + 1, SizeClass::default);
    }
    pool.held += buffer.bytes();
    pool.classes[class].free.push(buffer);
}

/// Bytes of the unused buffers that the pool holds.
pub fn held_bytes() -> usize {
    pool().held
}

/// Frees all unused buffers now, as after the last step of a large model.
pub fn release() {
    let classes = {
        let mut pool = pool();
        pool.held = 0;
        std::mem::take(&mut pool.classes)
    };
    drop(classes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_class_is_large_enough_and_wastes_at_most_an_eighth() {
        let mut last = (0, 0);
        for lines in 0..20_000 {
            let (number, size) = class(lines);
            assert!(size >= lines && size <= lines + lines / 8 + 1, "{lines} lines in {size}");
            assert_eq!(class(size), (number, size), "a class is its own class");
            assert!(
                number >= last.0 && (number > last.0 || size == last.1 || lines == 0),
                "{lines}"
            );
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
    fn a_returned_buffer_is_reused() {
        let buffer = take(123_457);
        let address = buffer.as_slice().as_ptr();
        assert_eq!(address as usize % 64, 0);
        give_back(buffer);
        // Concurrent tests use the same pool, but none of them asks for this size.
        assert_eq!(take(123_450).as_slice().as_ptr(), address);
    }

    /// A pool of its own with `n` buffers of class 1 and a full window behind it.
    fn pool_with(n: usize) -> Pool {
        let free = (0..n).map(|_| Arc::new(Buffer::zeroed(LINE))).collect();
        let classes = vec![SizeClass::default(), SizeClass { free, unused: n }];
        Pool { classes, held: n * LINE_BYTES, requests: 0 }
    }

    #[test]
    fn a_window_frees_exactly_the_buffers_that_were_never_used_in_it() {
        let mut pool = pool_with(5);
        // At most two at a time are in use.
        let (a, b) = (pool.pop(1).unwrap(), pool.pop(1).unwrap());
        let used = [Arc::as_ptr(&a), Arc::as_ptr(&b)];
        pool.held += 2 * LINE_BYTES;
        pool.classes[1].free.extend([b, a]);
        pool.requests = WINDOW - 2;
        assert!(pool.end_window().is_empty(), "the window is not over");
        assert_eq!(pool.end_window().len(), 3);
        let left: Vec<_> = pool.classes[1].free.iter().map(Arc::as_ptr).collect();
        assert_eq!(left, [used[1], used[0]]);
        assert_eq!(pool.held, 2 * LINE_BYTES);
        // Nothing is requested in the next window.
        pool.requests = WINDOW - 1;
        assert_eq!((pool.end_window().len(), pool.held), (2, 0));
    }
}
