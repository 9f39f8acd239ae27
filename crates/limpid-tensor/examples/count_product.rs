//! A product of 96 x 96 matrices, for counting the instructions that it takes:
//! `scripts/test-aarch64` runs it in an emulator that counts, once and twice, and the difference is
//! one product.
//!
//! ```sh
//! count_product KERNEL TIMES      # KERNEL: plain or rows (three loops), or a level
//! ```

use limpid_tensor::kernels::matmul::{Accumulate, Mat, MatMut, product};
use limpid_tensor::simd::{self, Level};
use std::hint::black_box;

const N: usize = 96;

/// c = a·b, as the definition says it.
#[inline(never)]
fn plain(c: &mut [f32], a: &[f32], b: &[f32]) {
    for i in 0..N {
        for j in 0..N {
            let (row, column) = (&a[i * N..][..N], b[j..].iter().step_by(N));
            c[i * N + j] = row.iter().zip(column).map(|(a, b)| a * b).sum();
        }
    }
}

/// The same, row by row of b: the order of loops that the compiler makes vector code of.
#[inline(never)]
fn by_rows(c: &mut [f32], a: &[f32], b: &[f32]) {
    c.fill(0.0);
    for (c, a) in c.chunks_exact_mut(N).zip(a.chunks_exact(N)) {
        for (a, b) in a.iter().zip(b.chunks_exact(N)) {
            c.iter_mut().zip(b).for_each(|(c, b)| *c += a * b);
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [kernel, times] = &words[..] else { panic!("count_product KERNEL TIMES") };
    let times: usize = times.parse().expect("TIMES is a number");
    let of = |seed: usize| (0..N * N).map(|i| ((i * seed) % 17) as f32 - 8.0).collect::<Vec<_>>();
    let (a, b, mut c) = (of(5), of(7), vec![0.0; N * N]);
    if !["plain", "rows"].contains(&&kernel[..]) {
        let level = Level::from_name(kernel).expect("KERNEL is plain, rows or a level");
        simd::set_level(level).expect("this CPU has the level");
    }
    for _ in 0..times {
        let (a, b) = (black_box(&a[..]), black_box(&b[..]));
        match &kernel[..] {
            "plain" => plain(&mut c, a, b),
            "rows" => by_rows(&mut c, a, b),
            _ => {
                let (a, b) = (Mat::new(a, N, N), Mat::new(b, N, N));
                product(MatMut::new(&mut c, N, N), a, b, 1.0, Accumulate::Overwrite);
            }
        }
        black_box(&mut c);
    }
    // Small whole numbers: every kernel has the same bits, so a wrong one is noticed.
    assert_eq!(c[1], (0..N).map(|k| a[k] * b[k * N + 1]).sum::<f32>());
}
