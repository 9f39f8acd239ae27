//! A global allocator that counts: number of allocations, bytes in use and their peak.
//!
//! For tests and benchmarks that state how much memory a step takes. It lives here because this is
//! the only crate with `unsafe` code; using it is safe:
//!
//! ```
//! use limpid_tensor::counting::CountingAllocator;
//!
//! #[global_allocator]
//! static ALLOCATOR: CountingAllocator = CountingAllocator::new();
//!
//! fn main() {
//!     let before = ALLOCATOR.allocations();
//!     let numbers = vec![1.0_f32; 1000];
//!     assert!(ALLOCATOR.allocations() > before && ALLOCATOR.bytes() >= 4000);
//!     drop(numbers);
//!     assert!(ALLOCATOR.peak_bytes() >= 4000);
//! }
//! ```
//!
//! Every allocation of the process is counted, those of other threads included: a test that relies
//! on exact numbers is the only one of its binary.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system allocator with counters.
#[derive(Debug, Default)]
pub struct CountingAllocator {
    allocations: AtomicUsize,
    bytes: AtomicUsize,
    peak: AtomicUsize,
}

impl CountingAllocator {
    /// An allocator that has counted nothing yet.
    pub const fn new() -> Self {
        Self {
            allocations: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
        }
    }

    /// Number of allocations and reallocations so far.
    pub fn allocations(&self) -> usize {
        self.allocations.load(Ordering::Relaxed)
    }

    /// Bytes allocated now.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The largest number of bytes allocated at a time since [`CountingAllocator::reset_peak`].
    pub fn peak_bytes(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// Restarts the peak from the bytes allocated now.
    pub fn reset_peak(&self) {
        self.peak.store(self.bytes(), Ordering::Relaxed);
    }

    fn count(&self, size: usize) {
        self.allocations.fetch_add(1, Ordering::Relaxed);
        let now = self.bytes.fetch_add(size, Ordering::Relaxed) + size;
        self.peak.fetch_max(now, Ordering::Relaxed);
    }
}

// SAFETY: every call is forwarded to the system allocator unchanged.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count(layout.size());
        // SAFETY: by the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.bytes.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: by the caller's contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old block may exist until its content has been copied: both count for the peak.
        self.count(size);
        self.bytes.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: by the caller's contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
