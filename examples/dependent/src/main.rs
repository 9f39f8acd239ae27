//! A linear layer on the tape in a debug build: prints the time of one training step.

use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::{Init, Params};
use limpid_tensor::tape::{Gradients, Tape, Var};
use limpid_tensor::tensor::Tensor;
use std::time::Instant;

fn main() {
    let (n, c, v) = (256, 256, 1000);
    let mut builder = Params::builder();
    let hidden = builder.add("hidden", [c, c], Init::Xavier);
    let output = builder.add("output", [v, c], Init::Xavier);
    let params = builder.build(1);
    let mut gradients = Gradients::new(&params);
    let x = Var::constant(Tensor::new([n, c], &vec![0.1; n * c]));
    let targets = vec![7; n];
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        gradients.clear();
        let mut tape = Tape::training(&params, &mut gradients);
        let h = tape.linear(&x, hidden, None, Activation::Gelu);
        let spec = LossSpec { smoothing: 0.0, weight: 1.0 / n as f32 };
        let loss = tape.output_loss(&h, output, None, &targets, spec);
        assert!(loss.value().item().is_finite());
        tape.backward(&loss);
        best = best.min(start.elapsed().as_secs_f64());
    }
    assert!(gradients.get(&params, hidden).is_some());
    println!("one training step takes {:.1} ms in this debug build", 1e3 * best);
}
