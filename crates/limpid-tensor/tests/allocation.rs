//! Warm kernels do not allocate. The only test of its binary, because it counts every
//! allocation.

use limpid_tensor::counting::CountingAllocator;
use limpid_tensor::kernels::matmul::{Accumulate, Mat, MatMut, product, product_on_team};
use limpid_tensor::team;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

#[test]
fn a_warm_product_allocates_nothing() {
    // With more threads, a worker may run its first task, and grow its scratch, at any time.
    team::set_threads(1);
    let (a, b) = (vec![0.5; 300 * 700], vec![0.25; 700 * 600]);
    let mut c = vec![0.0; 300 * 600];
    let mut all = || {
        for (m, n, k) in [(1, 600, 700), (40, 600, 700), (300, 600, 700), (300, 20, 10)] {
            for (a, b) in [
                (Mat::new(&a[..m * k], m, k), Mat::new(&b[..n * k], k, n)),
                (Mat::new(&a[..m * k], m, k), Mat::new(&b[..n * k], n, k).t()),
                (Mat::new(&a[..m * k], k, m).t(), Mat::new(&b[..n * k], k, n)),
            ] {
                product(MatMut::new(&mut c[..m * n], m, n), a, b, 2.0, Accumulate::Add);
                product_on_team(
                    MatMut::new(&mut c[..m * n], m, n),
                    a,
                    b,
                    Accumulate::Overwrite,
                    |_, _, _| {},
                );
            }
        }
    };
    all();
    let before = ALLOCATOR.allocations();
    all();
    assert_eq!(ALLOCATOR.allocations(), before);
}
