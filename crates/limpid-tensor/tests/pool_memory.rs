//! The buffer pool returns memory that is no longer needed. The only test of its binary, because
//! every allocation of the process is counted.

use limpid_tensor::counting::CountingAllocator;
use limpid_tensor::pool;
use limpid_tensor::tensor::Tensor;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// Tensors of these lengths, alive at the same time.
fn step(lengths: &[usize]) {
    let tensors: [Option<Tensor>; 4] =
        std::array::from_fn(|i| lengths.get(i).map(|len| Tensor::uninit([*len])));
    drop(tensors);
}

#[test]
fn memory_of_a_large_step_is_freed_after_small_ones_and_recurring_shapes_keep_theirs() {
    const MEGABYTE: usize = 1 << 20;
    let (large, small) = (&[8 * MEGABYTE, 6 * MEGABYTE, 4 * MEGABYTE][..], &[100, 200][..]);
    step(small);
    let before = ALLOCATOR.bytes();
    step(large);
    assert!(ALLOCATOR.bytes() - before >= 4 * 18 * MEGABYTE);
    // The buffers were used in the first window, and are freed at the end of the second.
    for _ in 0..2 * pool::WINDOW / small.len() {
        step(small);
    }
    // Of 72 MB some KB stay: the list of size classes, and what the test harness allocates.
    assert!(ALLOCATOR.bytes() - before < 65_536, "{} bytes stay", ALLOCATOR.bytes() - before);
    assert!(pool::held_bytes() < 4096, "{} bytes are held", pool::held_bytes());

    // A larger batch that recurs within a window, for several windows: nothing is freed.
    let (long, short) = (&[3000, 2000, 1000][..], &[300, 200, 100][..]);
    step(long);
    step(short);
    let (allocations, bytes) = (ALLOCATOR.allocations(), ALLOCATOR.bytes());
    for i in 0..4 * pool::WINDOW / 3 {
        step(if i % 50_000 == 0 { long } else { short });
    }
    assert_eq!((ALLOCATOR.allocations(), ALLOCATOR.bytes()), (allocations, bytes));
}
