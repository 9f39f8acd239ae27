//! Products with quantized weights beside the f32 product, on the shapes of GPT-2 small.
//!
//! ```text
//! cargo run --release -p limpid-tensor --example bench_quantized [TEXT]
//! ```
//!
//! `decode` runs all products of one token, m rows at a time: milliseconds, and the bytes of the
//! weights divided by that time beside the read bandwidth of a buffer of the same size, measured
//! in turns. `product` runs one product of many rows. TEXT selects lines that contain it.

use limpid_tensor::kernels::matmul::{Accumulate, Mat, MatMut, product_on_team};
use limpid_tensor::kernels::quantized::{Format, IntegerDot, QuantizedMatrix};
use limpid_tensor::rng::Stream;
use limpid_tensor::{machine, simd, team};
use std::time::Instant;

/// (out, in) of the products of a layer, 12 times, and of the output layer.
const LAYER: [(usize, usize); 4] = [(2304, 768), (768, 768), (3072, 768), (768, 3072)];
const OUTPUT: (usize, usize) = (50_257, 768);

fn random(n: usize) -> Vec<f32> {
    let mut rng = Stream::new(1, 2);
    (0..n).map(|_| rng.uniform() - 0.5).collect()
}

/// The weights of a model: one per layer, so that none is in a cache because it was just read.
enum Weights {
    F32(Vec<f32>, (usize, usize)),
    Quantized(QuantizedMatrix),
}

impl Weights {
    fn new(format: Option<Format>, shape: (usize, usize)) -> Self {
        let values = random(shape.0 * shape.1);
        match format {
            None => Self::F32(values, shape),
            Some(format) => Self::Quantized(
                QuantizedMatrix::quantize(format, &values, shape).expect("finite, whole groups"),
            ),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::F32(values, _) => 4 * values.len(),
            Self::Quantized(w) => w.bytes(),
        }
    }

    fn product(&self, c: &mut [f32], a: &[f32], m: usize) {
        match self {
            Self::F32(w, (o, i)) => product_on_team(
                MatMut::new(&mut c[..m * o], m, *o),
                Mat::new(&a[..m * i], m, *i),
                Mat::new(w, *o, *i).t(),
                Accumulate::Overwrite,
                |_, _, _| {},
            ),
            Self::Quantized(w) => {
                let (o, i) = w.shape();
                let c = MatMut::new(&mut c[..m * o], m, o);
                w.product_on_team(c, Mat::new(&a[..m * i], m, i), |_, _, _| {});
            }
        }
    }
}

fn name(format: Option<Format>) -> &'static str {
    format.map_or("f32", Format::name)
}

fn seconds(work: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn decode(format: Option<Format>, threads: usize, filter: &str) {
    let rows = [1, 2, 4, 8, 32];
    let selected = |m: usize| format!("decode {} {m} x{threads}", name(format)).contains(filter);
    if !rows.into_iter().any(selected) {
        return;
    }
    let shapes = (0..12).flat_map(|_| LAYER).chain([OUTPUT]);
    let weights: Vec<Weights> = shapes.map(|shape| Weights::new(format, shape)).collect();
    let bytes: usize = weights.iter().map(Weights::bytes).sum();
    let (a, mut c) = (random(32 * 3072), vec![0.0; 32 * OUTPUT.0]);
    for m in rows.into_iter().filter(|m| selected(*m)) {
        let mut token = || weights.iter().for_each(|w| w.product(&mut c, &a, m));
        token();
        let rounds = 15;
        let (mut ours, mut reads) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            ours.push(seconds(&mut token));
            reads.push(machine::read_bandwidth_of(bytes, 0.02));
        }
        let (time, read) = (median(ours), median(reads));
        println!(
            "decode {:5} {m:3} rows x{threads} {:8.2} ms {:7.1} tokens/s {:6.1} MB {:6.1} GB/s, \
             reading {read:.1}",
            name(format),
            1e3 * time,
            m as f64 / time,
            bytes as f64 * 1e-6,
            bytes as f64 / time * 1e-9,
        );
    }
}

fn product(format: Option<Format>, (m, (o, i)): (usize, (usize, usize)), threads: usize) {
    let w = Weights::new(format, (o, i));
    let (a, mut c) = (random(m * i), vec![0.0; m * o]);
    let mut once = || w.product(&mut c, &a, m);
    once();
    let time = median((0..15).map(|_| seconds(&mut once)).collect());
    println!(
        "product {:5} {m:4},{i:4},{o:5} x{threads} {:8.3} ms {:7.1} G operations/s",
        name(format),
        1e3 * time,
        (2 * m * i * o) as f64 / time * 1e-9,
    );
}

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default().to_lowercase();
    println!("level {}, {:?}", simd::level(), IntegerDot::current());
    let formats = [None, Some(Format::Bf16), Some(Format::Int8), Some(Format::Int4)];
    for threads in [1, 2] {
        team::set_threads(threads);
        for format in formats {
            decode(format, threads, &filter);
        }
        for shape in LAYER {
            for format in formats {
                let line = format!("product {} x{threads}", name(format));
                if line.contains(&filter) {
                    product(format, (512, shape), threads);
                }
            }
        }
    }
}
