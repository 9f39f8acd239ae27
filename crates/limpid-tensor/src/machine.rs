//! The two ceilings of the roofline model, measured: peak arithmetic throughput and memory
//! bandwidth.
//!
//! Benchmarks are stated relative to them: a training step is bound by the first, decoding by the
//! second.

use crate::kernels::matmul::{Accumulate, Mat, MatMut, product_on_team};
use crate::pool::Buffer;
use crate::simd::{self, Level, vectorized};
use crate::team;
use std::hint::black_box;
use std::time::Instant;

/// Iterations of the timed loop, and independent sums in each: enough to hide the latency of the
/// multiply-add on current CPUs.
const TURNS: usize = 100_000;
const SUMS: usize = 12;

/// Peak throughput of fused multiply-adds of all threads together, in GFLOP/s (two per
/// multiply-add). `None` at a level without the instruction.
pub fn fma_peak(seconds: f64) -> Option<f64> {
    let (lanes, chains): (usize, fn(f32) -> f32) = match simd::level() {
        Level::Scalar => return None,
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level says that the CPU has AVX2 and FMA.
        Level::Avx2 => (8, |start| unsafe { chains_avx2(start) }),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level says that the CPU has AVX-512.
        Level::Avx512 => (16, |start| unsafe { chains_avx512(start) }),
        #[cfg(target_arch = "aarch64")]
        Level::Neon => (4, chains_neon),
        #[allow(unreachable_patterns)] // Which levels are left depends on the architecture.
        _ => return None,
    };
    let tasks = 4 * team::threads();
    let flops = (2 * tasks * TURNS * SUMS * lanes) as f64;
    Some(best_rate(seconds, flops, || team::run(tasks, |_| _ = black_box(chains(black_box(5.0))))))
}

/// Chains of x ← 0.999·x + 0.001 in registers. Intrinsics, because the compiler keeps the sums of a
/// plain loop in memory.
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

#[cfg(target_arch = "aarch64")]
fn chains_neon(start: f32) -> f32 {
    use std::arch::aarch64::{vdupq_n_f32, vfmaq_f32, vgetq_lane_f32};
    // SAFETY: every aarch64 CPU has NEON.
    unsafe {
        let (a, b) = (vdupq_n_f32(black_box(0.999)), vdupq_n_f32(black_box(0.001)));
        let mut sums = [vdupq_n_f32(start); SUMS];
        for _ in 0..TURNS {
            sums.iter_mut().for_each(|sum| *sum = vfmaq_f32(b, *sum, a));
        }
        sums.iter().map(|sum| vgetq_lane_f32::<0>(*sum)).sum()
    }
}

/// Read bandwidth of all threads together for memory that is in no cache, in GB/s.
pub fn read_bandwidth(seconds: f64) -> f64 {
    read_bandwidth_of(4 * MEMORY, seconds)
}

/// Read bandwidth of all threads together for a buffer of this many bytes, which a cache may hold,
/// in GB/s: the limit of what reads weights of that size again and again.
pub fn read_bandwidth_of(bytes: usize, seconds: f64) -> f64 {
    let mut memory = Buffer::zeroed(bytes.div_ceil(4));
    memory.as_mut_slice().fill(1.0);
    let memory = memory.as_slice();
    vectorized! {
        fn sum(x: &[f32]) -> f32 {
            simd::sum_by(x, |x| x)
        }
    }
    best_rate(seconds, (4 * memory.len()) as f64, || {
        team::run(memory.len().div_ceil(READ), |i| {
            black_box(sum(&memory[i * READ..memory.len().min((i + 1) * READ)]));
        });
    })
}

/// Elements of a task that reads: a quarter of a megabyte.
const READ: usize = 1 << 16;

/// Bandwidth of all threads together for updating memory that is in no cache, in GB/s, reads and
/// writes counted.
pub fn update_bandwidth(seconds: f64) -> f64 {
    let mut memory = vec![1.0_f32; MEMORY];
    vectorized! {
        fn update(x: &mut [f32]) {
            x.iter_mut().for_each(|x| *x = *x * 0.5 + 0.5);
        }
    }
    best_rate(seconds, (8 * MEMORY) as f64, || {
        team::for_each_chunk(&mut memory, CHUNK, |_, x| update(x))
    })
}

/// 256 MB, several times the last-level cache of current CPUs.
const MEMORY: usize = 64 << 20;
const CHUNK: usize = 1 << 20;

/// One of the three products of a linear layer y = x·Wᵀ, x (n, i), W (o, i): each has another
/// operand transposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// y = x·Wᵀ: (n, i)·(i, o).
    Forward,
    /// dx = dy·W: (n, o)·(o, i).
    InputGradient,
    /// dW = dyᵀ·x: (o, n)·(n, i).
    WeightGradient,
}

impl Pass {
    /// All three, in the order of a training step.
    pub const ALL: [Pass; 3] = [Pass::Forward, Pass::InputGradient, Pass::WeightGradient];
}

/// A linear layer: n rows from width i to width o.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinearShape {
    /// n.
    pub rows: usize,
    /// i.
    pub inputs: usize,
    /// o.
    pub outputs: usize,
}

impl LinearShape {
    /// Floating-point operations of each of its three products.
    pub fn flops(&self) -> f64 {
        2.0 * self.rows as f64 * self.inputs as f64 * self.outputs as f64
    }
}

/// Throughput of the matrix product for one pass of a linear layer, in GFLOP/s.
pub fn product_rate(shape: LinearShape, pass: Pass, seconds: f64) -> f64 {
    let LinearShape { rows: n, inputs: i, outputs: o } = shape;
    let [mut x, mut w, mut y] =
        [(n * i, 0.5), (o * i, 0.25), (n * o, 0.125)].map(|(len, x)| vec![x; len]);
    best_rate(seconds, shape.flops(), || {
        let overwrite = Accumulate::Overwrite;
        match pass {
            Pass::Forward => {
                let (x, w_t) = (Mat::new(&x, n, i), Mat::new(&w, o, i).t());
                product_on_team(MatMut::new(&mut y, n, o), x, w_t, overwrite, |_, _, _| {});
            }
            Pass::InputGradient => {
                let (dy, w) = (Mat::new(&y, n, o), Mat::new(&w, o, i));
                product_on_team(MatMut::new(&mut x, n, i), dy, w, overwrite, |_, _, _| {});
            }
            Pass::WeightGradient => {
                let (dy_t, x) = (Mat::new(&y, n, o).t(), Mat::new(&x, n, i));
                product_on_team(MatMut::new(&mut w, o, i), dy_t, x, overwrite, |_, _, _| {});
            }
        }
    })
}

/// Throughput of all products of some layers, forward and backward, in GFLOP/s: their operations
/// divided by the sum of their best times. `layers` gives the number of layers of each shape.
pub fn products_rate(layers: &[(LinearShape, usize)], seconds: f64) -> f64 {
    let each = seconds / (3 * layers.len().max(1)) as f64;
    let (mut flops, mut time) = (0.0, 0.0);
    for (shape, times) in layers {
        for pass in Pass::ALL {
            let work = *times as f64 * shape.flops();
            flops += work;
            time += work / product_rate(*shape, pass, each);
        }
    }
    flops / time
}

/// The best rate of `work` units per run within some seconds, in 10⁹ per second: other programs can
/// only make a run slower.
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

    /// Timing is not tested: every pass runs on its shapes and gives a rate.
    #[test]
    fn all_passes_of_a_layer_can_be_measured() {
        let shape = LinearShape { rows: 3, inputs: 5, outputs: 7 };
        assert_eq!(shape.flops(), 210.0);
        let rate = products_rate(&[(shape, 2), (LinearShape { rows: 2, ..shape }, 1)], 0.01);
        assert!(rate.is_finite() && rate > 0.0, "{rate}");
    }

    /// The timed work is done: x ← 0.999·x + 0.001 has its fixed point at 1.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[test]
    fn the_multiply_adds_converge_to_their_fixed_point() {
        let near = |sum: f32| (sum / SUMS as f32 - 1.0).abs() < 1e-3;
        for level in Level::available() {
            match level {
                Level::Scalar => {}
                #[cfg(target_arch = "aarch64")]
                Level::Neon => assert!(near(chains_neon(5.0))),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the level is available.
                Level::Avx2 => assert!(near(unsafe { chains_avx2(5.0) })),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the level is available.
                Level::Avx512 => assert!(near(unsafe { chains_avx512(5.0) })),
                other => unreachable!("{other:?} on another architecture"),
            }
        }
    }
}
