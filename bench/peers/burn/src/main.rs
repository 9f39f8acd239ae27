//! burn with its Flex backend, its fastest on the CPU: the training steps T, S, G, D.

mod gpt;
mod layers;
mod seq2seq;
mod train;

use burn::tensor::Device;
use protocol::{Contender, Result, Shape};

fn main() -> std::process::ExitCode {
    protocol::main("burn 0.22.1, Flex", make)
}

fn make(job: &str) -> Result<Box<dyn Contender>> {
    let device = Device::flex().autodiff();
    match Shape::named(job)? {
        Shape::Gpt(shape) => train::start(
            gpt::Gpt::new(&shape, &device),
            shape.vocab,
            gpt::Batch::new(&shape, &device),
        ),
        Shape::Seq2Seq(shape) => train::start(
            seq2seq::Seq2Seq::new(&shape, &device),
            shape.vocab,
            seq2seq::Batch::new(&shape, &device),
        ),
    }
}
