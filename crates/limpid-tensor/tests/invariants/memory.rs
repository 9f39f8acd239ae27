//! Operands between guard pages: the byte after the last element, or the byte before the first,
//! belongs to an inaccessible page. An out-of-bounds access of a kernel ends the process with
//! SIGSEGV.
//!
//! Buffers of tensors would not do: they are rounded up (`pool.rs`), and an overrun would land in
//! the padding.

use std::ops::{Deref, DerefMut};

/// Which edge of the slice touches a guard page. An overrun at the other one is not detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The element after the last is inaccessible.
    End,
    /// The element before the first is inaccessible.
    Start,
}

/// A slice of f32 next to a guard page.
pub struct Guarded {
    _memory: Memory,
    start: *mut f32,
    len: usize,
}

/// Owns the memory that `start` points to.
#[allow(dead_code)]
enum Memory {
    /// Pages with a guard page on each side.
    #[cfg(target_os = "linux")]
    Pages(pages::Pages),
    /// An allocation of exactly this size: valgrind checks both edges.
    Heap(Box<[f32]>),
}

impl Guarded {
    /// A copy of `values`.
    pub fn new(edge: Edge, values: &[f32]) -> Self {
        let (memory, start) = allocate(edge, values.len());
        let guarded = Self { _memory: memory, start, len: values.len() };
        // SAFETY: `allocate` returned this many elements, and no other reference to them exists.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), start, values.len()) };
        guarded
    }

    /// `len` copies of one value.
    pub fn filled(edge: Edge, len: usize, value: f32) -> Self {
        Self::new(edge, &vec![value; len])
    }
}

fn allocate(edge: Edge, len: usize) -> (Memory, *mut f32) {
    #[cfg(target_os = "linux")]
    if !std::env::var("LIMPID_TEST_MEMORY").is_ok_and(|value| value == "heap") {
        let pages = pages::Pages::new(4 * len);
        let offset = match edge {
            Edge::Start => 0,
            Edge::End => pages.bytes() - 4 * len,
        };
        // Inside the usable pages, or at their end if there is no element.
        let start = pages.start().wrapping_add(offset).cast();
        return (Memory::Pages(pages), start);
    }
    let _ = edge;
    let mut heap = vec![0.0_f32; len].into_boxed_slice();
    let start = heap.as_mut_ptr();
    (Memory::Heap(heap), start)
}

impl Deref for Guarded {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        // SAFETY: `allocate` gave this many elements, `new` filled them; f32 lie on multiples of 4
        // bytes.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl DerefMut for Guarded {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above, and we hold the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

#[cfg(target_os = "linux")]
mod pages {
    /// Usable pages between two guard pages.
    pub struct Pages {
        base: *mut u8,
        page: usize,
        usable: usize,
    }

    impl Pages {
        pub fn new(bytes: usize) -> Self {
            // SAFETY: a query without side effects.
            let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
            let usable = bytes.next_multiple_of(page).max(page);
            // SAFETY: fresh anonymous memory at an address of the system's choice, with no access
            // at first.
            let base = unsafe {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                libc::mmap(std::ptr::null_mut(), usable + 2 * page, libc::PROT_NONE, flags, -1, 0)
            };
            assert!(
                base != libc::MAP_FAILED,
                "mmap of {usable} bytes: {}",
                std::io::Error::last_os_error()
            );
            let pages = Self { base: base.cast(), page, usable };
            // SAFETY: the pages in the middle are ours.
            let done = unsafe {
                libc::mprotect(pages.start().cast(), usable, libc::PROT_READ | libc::PROT_WRITE)
            };
            assert!(done == 0, "mprotect of {usable} bytes: {}", std::io::Error::last_os_error());
            pages
        }

        pub fn start(&self) -> *mut u8 {
            self.base.wrapping_add(self.page)
        }

        pub fn bytes(&self) -> usize {
            self.usable
        }
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            // SAFETY: the mapping that `new` made, whole.
            unsafe { libc::munmap(self.base.cast(), self.usable + 2 * self.page) };
        }
    }
}

/// The guard pages work: a child process that reads one element past a slice is killed.
#[cfg(target_os = "linux")]
#[test]
fn one_element_past_either_edge_is_fatal() {
    use std::os::unix::process::ExitStatusExt;
    if let Ok(edge) = std::env::var("LIMPID_TEST_OVERRUN") {
        let (edge, by) = if edge == "end" { (Edge::End, 5) } else { (Edge::Start, -1) };
        let guarded = Guarded::filled(edge, 5, 1.0);
        // SAFETY: none; this is the error that must be detected.
        let outside = unsafe { guarded.as_ptr().wrapping_offset(by).read_volatile() };
        println!("read {outside}");
        return;
    }
    for edge in ["end", "start"] {
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "memory::one_element_past_either_edge_is_fatal"])
            .env("LIMPID_TEST_OVERRUN", edge)
            .env("LIMPID_TEST_MEMORY", "pages")
            .output()
            .unwrap();
        assert_eq!(child.status.signal(), Some(libc::SIGSEGV), "{edge}: {:?}", child.status);
    }
}
