//! Our matrix product beside the `gemm` crate, on the shapes that Transformers have.
//!
//! ```text
//! cargo run --release -p limpid-tensor --example bench_products [few|small|large|TEXT]
//! ```
//!
//! The two alternate, sample by sample, so that a disturbance hits both. GFLOP/s (GB/s of b for few
//! rows) are the best of each; "best" is the ratio of those, "median" that of the samples taken
//! side by side. TEXT selects rows of the table that contain it.

use limpid_tensor::kernels::matmul::{Accumulate, Mat, MatMut, product, product_on_team};
use limpid_tensor::rng::Stream;
use limpid_tensor::{machine, simd, team};
use std::time::Instant;

/// Which of the factors is stored transposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Nn,
    Nt,
    Tn,
}
use Form::{Nn, Nt, Tn};

/// What a row of the table measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Large,
    /// Blocks of attention: `product` on one thread, rows of a and b three times as far apart as
    /// they are long.
    Small,
    /// Decoding.
    Few,
}

const LARGE: [(usize, usize, usize); 17] = [
    (768, 128, 384),
    (768, 128, 512),
    (768, 512, 128),
    (768, 128, 65),
    (2048, 384, 1152),
    (2048, 384, 1536),
    (2048, 1536, 384),
    (2048, 384, 256),
    (1536, 256, 256),
    (1536, 256, 768),
    (1536, 256, 1024),
    (1536, 1024, 256),
    (1536, 256, 8000),
    (256, 768, 3072),
    (256, 3072, 768),
    (256, 768, 50257),
    (4096, 384, 1536),
];
const GRADIENTS: [(usize, usize, usize); 5] =
    [(384, 768, 128), (128, 768, 512), (1536, 2048, 384), (384, 2048, 1152), (256, 1536, 8000)];
const SMALL: [(usize, usize, usize); 5] =
    [(64, 64, 256), (64, 256, 64), (24, 32, 24), (64, 32, 64), (32, 64, 32)];
const FEW: [(usize, usize, usize); 8] = [
    (1, 768, 2304),
    (1, 3072, 768),
    (1, 768, 50257),
    (2, 768, 50257),
    (4, 768, 50257),
    (8, 768, 50257),
    (32, 768, 50257),
    (1, 256, 1024),
];

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default().to_lowercase();
    println!("level {:?}", simd::level());
    for threads in [1, 2] {
        team::set_threads(threads);
        println!(
            "FMA peak, {threads} threads: {:.0} GFLOP/s",
            machine::fma_peak(0.5).unwrap_or(f64::NAN)
        );
    }
    println!(
        "{:6} {:>6} {:>5} {:>6} {:3} {:>7} {:>7} {:>7} {:>6} {:>6}",
        "", "m", "k", "n", "", "threads", "ours", "gemm", "best", "median"
    );
    let mut rows = Vec::new();
    for shape in SMALL {
        rows.extend([Nn, Nt, Tn].map(|form| (Group::Small, shape, form)));
    }
    for shape in LARGE {
        rows.extend([Nn, Nt, Tn].map(|form| (Group::Large, shape, form)));
    }
    rows.extend(GRADIENTS.map(|shape| (Group::Large, shape, Tn)));
    for shape in FEW {
        rows.extend([Nn, Nt].map(|form| (Group::Few, shape, form)));
    }
    let mut ratios = Vec::new();
    for (group, (m, k, n), form) in rows {
        let name = format!("{group:?} {m},{k},{n} {form:?}").to_lowercase();
        for threads in [1, 2] {
            let selected = format!("{name} x{threads}").contains(&filter);
            if selected && (group != Group::Small || threads == 1) {
                team::set_threads(threads);
                ratios.push(compare(group, (m, k, n), form, threads));
            }
        }
    }
    println!("geometric mean of the ratios: {:.3}", geometric_mean(&ratios));
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

fn compare(group: Group, (m, k, n): (usize, usize, usize), form: Form, threads: usize) -> f64 {
    let mut rng = Stream::new(1, 2);
    let mut random = |n: usize| -> Vec<f32> { (0..n).map(|_| rng.uniform() - 0.5).collect() };
    let apart = if group == Group::Small { 3 } else { 1 };
    let ((a_rows, a_cols), (b_rows, b_cols)) =
        (if form == Tn { (k, m) } else { (m, k) }, if form == Nt { (n, k) } else { (k, n) });
    let (a, b) = (random(a_rows * a_cols * apart), random(b_rows * b_cols * apart));
    let (a_data, b_data) = (Read(a.as_ptr()), Read(b.as_ptr()));
    let a = Mat::with_stride(&a, a_rows, a_cols, a_cols * apart);
    let b = Mat::with_stride(&b, b_rows, b_cols, b_cols * apart);
    let (a, b) = (if form == Tn { a.t() } else { a }, if form == Nt { b.t() } else { b });
    let (mut ours_c, mut gemm_c) = (vec![0.0; m * n], vec![0.0; m * n]);
    let mut ours = || {
        let c = MatMut::new(&mut ours_c, m, n);
        if group == Group::Small {
            product(c, a, b, 1.0, Accumulate::Overwrite);
        } else {
            product_on_team(c, a, b, Accumulate::Overwrite, |_, _, _| {});
        }
    };
    let (a_strides, b_strides) =
        (strides(form == Tn, a_cols * apart), strides(form == Nt, b_cols * apart));
    let mut gemms = || {
        let (row_block, col_block) = match group {
            Group::Small => (m, n),
            _ if m >= n => (m.div_ceil(8).max(64), n),
            _ => (m, n.div_ceil(8).max(64)),
        };
        let (row_blocks, col_blocks) = (m.div_ceil(row_block), n.div_ceil(col_block));
        let parts = team::Parts::new(&mut gemm_c);
        let one = |task: usize| {
            let (i, j) = (task / col_blocks * row_block, task % col_blocks * col_block);
            let (rows, cols) = (row_block.min(m - i), col_block.min(n - j));
            // SAFETY: blocks of different tasks do not overlap, and all lie in the three matrices.
            unsafe {
                gemm::gemm(
                    rows,
                    cols,
                    k,
                    parts.as_mut_ptr().add(i * n + j),
                    1,
                    n as isize,
                    false,
                    a_data.at(i * a_strides.0),
                    a_strides.1 as isize,
                    a_strides.0 as isize,
                    b_data.at(j * b_strides.1),
                    b_strides.1 as isize,
                    b_strides.0 as isize,
                    1.0_f32,
                    1.0,
                    false,
                    false,
                    false,
                    gemm::Parallelism::None,
                );
            }
        };
        team::run(row_blocks * col_blocks, one);
    };
    let (ours_s, gemm_s, ratio) = alternate(&mut ours, &mut gemms);
    for (x, y) in ours_c.iter().zip(&gemm_c) {
        assert!((x - y).abs() < 1e-3, "{x} is not {y}");
    }
    let (work, unit) = match group {
        Group::Few => ((k * n * 4) as f64, "GB/s"),
        _ => ((2 * m * k * n) as f64, "GFLOP/s"),
    };
    println!(
        "{:6} {m:6} {k:5} {n:6} {form:?} {threads:>8} {:7.1} {:7.1} {:6.2} {ratio:6.2}  {unit}",
        format!("{group:?}"),
        work / ours_s * 1e-9,
        work / gemm_s * 1e-9,
        gemm_s / ours_s,
    );
    gemm_s / ours_s
}

fn strides(transposed: bool, apart: usize) -> (usize, usize) {
    if transposed { (1, apart) } else { (apart, 1) }
}

/// A pointer that tasks may share: the matrix is only read.
struct Read(*const f32);
// SAFETY: the memory is only read while it is shared.
unsafe impl Sync for Read {}

impl Read {
    fn at(&self, offset: usize) -> *const f32 {
        self.0.wrapping_add(offset)
    }
}

/// Best seconds of each, and the median of gemm's time divided by ours.
fn alternate(ours: &mut dyn FnMut(), gemms: &mut dyn FnMut()) -> (f64, f64, f64) {
    let time = |f: &mut dyn FnMut(), times: usize| {
        let start = Instant::now();
        (0..times).for_each(|_| f());
        start.elapsed().as_secs_f64() / times as f64
    };
    time(gemms, 1);
    time(ours, 1);
    let once = time(ours, 1);
    let times = (0.001 / once).ceil() as usize;
    let rounds = ((1.0 / (once * times as f64)) as usize).clamp(5, 100);
    let pairs: Vec<(f64, f64)> =
        (0..rounds).map(|_| (time(ours, times), time(gemms, times))).collect();
    let best = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).fold(f64::MAX, f64::min);
    let mut ratios: Vec<f64> = pairs.iter().map(|(ours, gemms)| gemms / ours).collect();
    ratios.sort_by(f64::total_cmp);
    (best(|p| p.0), best(|p| p.1), ratios[ratios.len() / 2])
}
