//! The limits of the machine: how fast it multiplies and adds, and how fast it reads and writes memory.
//!
//! Everything else is measured against these: a step that runs at 80% of the first is nearly done, a decoder at 90% of the
//! second is done.

use crate::kernels::matmul::{Accumulate, Mat, MatMut, product_on_team};
use crate::simd::{self, Level, vectorized};
use crate::team;
use std::hint::black_box;
use std::time::Instant;

/// Turns of the loop that is timed, and independent sums in each: enough to hide the latency of every CPU there is.
const TURNS: usize = 100_000;
const SUMS: usize = 12;

/// The most multiply-adds, in GFLOP/s (two for each), that the threads in use do together. `None` without a fused
/// multiply-add: then there is no such limit to compare with.
pub fn fma_peak(seconds: f64) -> Option<f64> {
    let (lanes, chains): (usize, fn(f32) -> f32) = match simd::level() {
        Level::Scalar => return None,
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level says that the CPU has AVX2 and FMA.
        Level::Avx2 => (8, |start| unsafe { chains_avx2(start) }),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level says that the CPU has AVX-512.
        Level::Avx512 => (16, |start| unsafe { chains_avx512(start) }),
        #[cfg(not(target_arch = "x86_64"))]
        _ => return None,
    };
    let tasks = 4 * team::threads();
    let flops = (2 * tasks * TURNS * SUMS * lanes) as f64;
    Some(best_rate(seconds, flops, || team::run(tasks, |_| _ = black_box(chains(black_box(5.0))))))
}

/// Chains of x ← 0.999·x + 0.001 in registers. (Plain loops would do, but the compiler keeps them in memory.)
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn chains_avx2(start: f32) -> f32 {
    use std::arch::x86_64::{_mm256_cvtss_f32, _mm256_fmadd_ps, _mm256_set1_ps};
    let (a, b) = (_mm256_set1_ps(black_box(0.999)), _mm256_set1_ps(black_box(0.001)));
    let mut sums = [_mm256_set1_ps(start); SUMS];
    for _ in 0..TURNS {
        sums.iter_mut().for_each(|sum| *sum = _mm256_fmadd_ps(*sum, a, b));
    }
    sums.iter().map(|sum| _mm256_cvtss_f32(*sum)).sum()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn chains_avx512(start: f32) -> f32 {
    use std::arch::x86_64::{_mm512_cvtss_f32, _mm512_fmadd_ps, _mm512_set1_ps};
    let (a, b) = (_mm512_set1_ps(black_box(0.999)), _mm512_set1_ps(black_box(0.001)));
    let mut sums = [_mm512_set1_ps(start); SUMS];
    for _ in 0..TURNS {
        sums.iter_mut().for_each(|sum| *sum = _mm512_fmadd_ps(*sum, a, b));
    }
    sums.iter().map(|sum| _mm512_cvtss_f32(*sum)).sum()
}

/// How fast the threads in use read memory that is in no cache, in GB/s.
pub fn read_bandwidth(seconds: f64) -> f64 {
    let memory = vec![1.0_f32; MEMORY];
    vectorized! {
        fn sum(x: &[f32]) -> f32 {
            simd::sum_by(x, |x| x)
        }
    }
    best_rate(seconds, (4 * MEMORY) as f64, || {
        team::run(MEMORY / CHUNK, |i| {
            black_box(sum(&memory[i * CHUNK..(i + 1) * CHUNK]));
        });
    })
}

/// How fast the threads in use change memory that is in no cache, in GB/s read and written.
pub fn update_bandwidth(seconds: f64) -> f64 {
    let mut memory = vec![1.0_f32; MEMORY];
    vectorized! {
        fn update(x: &mut [f32]) {
            x.iter_mut().for_each(|x| *x = *x * 0.5 + 0.5);
        }
    }
    best_rate(seconds, (8 * MEMORY) as f64, || team::for_each_chunk(&mut memory, CHUNK, |_, x| update(x)))
}

/// 256 MB: eight times the largest cache of the machines at hand.
const MEMORY: usize = 64 << 20;
const CHUNK: usize = 1 << 20;

/// How fast our product is for a (m,k) times the transpose of b (n,k), in GFLOP/s.
pub fn product_rate(m: usize, k: usize, n: usize, seconds: f64) -> f64 {
    let (a, b, mut c) = (vec![0.5_f32; m * k], vec![0.25_f32; n * k], vec![0.0_f32; m * n]);
    best_rate(seconds, 2.0 * (m * k * n) as f64, || {
        let out = MatMut::new(&mut c, m, n);
        product_on_team(out, Mat::new(&a, m, k), Mat::new(&b, n, k).t(), Accumulate::Overwrite, |_, _, _| {});
    })
}

/// The best rate of `work` units per run within some seconds, in 10⁹ a second. The best, because every disturbance makes a run
/// slower and none makes it faster.
fn best_rate(seconds: f64, work: f64, mut run: impl FnMut()) -> f64 {
    run();
    let (begin, mut best) = (Instant::now(), f64::INFINITY);
    while begin.elapsed().as_secs_f64() < seconds {
        let before = Instant::now();
        run();
        best = best.min(before.elapsed().as_secs_f64());
    }
    work / best * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No timing is tested, only that what is timed is done: x ← 0.999·x + 0.001 has its fixed point at 1.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_multiply_adds_converge_to_their_fixed_point() {
        let near = |sum: f32| (sum / SUMS as f32 - 1.0).abs() < 1e-3;
        for level in Level::available() {
            match level {
                Level::Scalar => {}
                // SAFETY: the level is available.
                Level::Avx2 => assert!(near(unsafe { chains_avx2(5.0) })),
                // SAFETY: the level is available.
                Level::Avx512 => assert!(near(unsafe { chains_avx512(5.0) })),
            }
        }
    }
}
