//! Times the attention kernels on the shapes of real models: `cargo run --release --example
//! bench_attention`, or only some of them: `… -- decode`.
//!
//! GFLOP/s count the scores a query may see, two products forward and five backward (the backward
//! recomputes one).

use limpid_tensor::kernels::attention::*;
use limpid_tensor::team;
use std::time::Instant;

struct Shape {
    name: &'static str,
    sequences: usize,
    t: usize,
    s: usize,
    heads: usize,
    d: usize,
    causality: Causality,
}

fn main() {
    use Causality::{Causal, Full};
    let shapes = [
        ("S: 8 x 256, 6 x 64, causal", 8, 256, 256, 6, 64, Causal),
        ("T: 12 x 64, 4 x 32, causal", 12, 64, 64, 4, 32, Causal),
        ("D: 64 x 24, 8 x 32, full", 64, 24, 24, 8, 32, Full),
        ("long: 1 x 1024, 2 x 64, causal", 1, 1024, 1024, 2, 64, Causal),
        ("decode: 1 query, 512 keys, 12 x 64", 1, 1, 512, 12, 64, Causal),
        ("verify: 4 x 8 queries, 512 keys, 8 x 64", 4, 8, 512, 8, 64, Causal),
        ("beam: 4 x 1 query, 24 keys, 8 x 32", 4, 1, 24, 8, 32, Full),
    ];
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for (name, sequences, t, s, heads, d, causality) in shapes {
        if !name.contains(&wanted) {
            continue;
        }
        let shape = Shape { name, sequences, t, s, heads, d, causality };
        for threads in [1, 2] {
            team::set_threads(threads);
            bench(&shape, threads);
        }
    }
}

fn bench(shape: &Shape, threads: usize) {
    let Shape { sequences, t, s, heads: h, d, .. } = *shape;
    let spans =
        |len: usize| (0..sequences).map(|i| Span { start: i * len, len }).collect::<Vec<_>>();
    let (q_spans, k_spans) = (spans(t), spans(s));
    let spec = AttentionSpec::new(h, 1.0 / (d as f32).sqrt(), shape.causality, &q_spans, &k_spans);
    // q, k and v in one matrix, as a fused projection leaves them, where the lengths allow it.
    let (c, n_q, n_k) = (h * d, sequences * t, sequences * s);
    let value = |i: usize| ((i * 2_654_435_761) >> 7 & 0xffff) as f32 / 32_768.0 - 1.0;
    let fused: Vec<f32> = (0..n_k * 3 * c).map(value).collect();
    let view = |first: usize| Heads { data: &fused, stride: 3 * c, first, width: d };
    let (q, k, v) = (view(0), view(c), view(2 * c));
    let dz: Vec<f32> = (0..n_q * c).map(value).collect();
    let (mut z, mut lse, mut gradient) =
        (vec![0.0; n_q * c], vec![0.0; n_q * h], vec![0.0; n_k * 3 * c]);

    let seen: usize = match shape.causality {
        Causality::Full => t * s,
        Causality::Causal => (0..t).map(|i| i + 1 + s - t).sum(),
    };
    let flops = (2 * 2 * seen * d * h * sequences) as f64;
    let forward = best_of(|| {
        attention_forward(HeadsMut::new(&mut z, c, 0, d), &mut lse, q, k, v, &spec);
    });
    print!("{:36} {threads} threads: forward {}", shape.name, figures(forward, flops));
    if t > 1 {
        let backward = best_of(|| {
            let [dq, dk, dv] = HeadsMut::split(&mut gradient, 3 * c, [(0, d), (c, d), (2 * c, d)]);
            let (dz, z) = (Heads::new(&dz, h, d), Heads::new(&z, h, d));
            attention_backward(dq, dk, dv, &mut [], dz, z, &lse, q, k, v, &spec);
        });
        print!("   backward {}", figures(backward, 2.5 * flops));
    }
    println!();
}

fn figures(seconds: f64, flops: f64) -> String {
    format!("{:8.1} µs {:6.1} GFLOP/s", seconds * 1e6, flops / seconds / 1e9)
}

/// The best of many repetitions: other programs only ever add time.
fn best_of(mut work: impl FnMut()) -> f64 {
    let begun = Instant::now();
    let (mut best, mut rounds) = (f64::MAX, 0);
    while rounds < 5 || begun.elapsed().as_secs_f64() < 0.4 {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64());
        rounds += 1;
    }
    best
}
