//! candle: the training steps T, S, G, D, and decoding with the shape of GPT-2 small.

mod decode;
mod gpt;
mod layers;
mod seq2seq;
mod train;

use protocol::{Contender, Result, Shape};

fn main() -> std::process::ExitCode {
    protocol::main("candle 0.11.1", |job| make(job).map_err(|message| format!("{job}: {message}")))
}

fn make(job: &str) -> Result<Box<dyn Contender>> {
    let said = |error: candle_core::Error| error.to_string();
    if job == "decode" {
        return Ok(Box::new(decode::Decoder::new().map_err(said)?));
    }
    match Shape::named(job)? {
        Shape::Gpt(shape) => train::start(|vb| gpt::Gpt::new(&shape, vb), shape.vocab),
        Shape::Seq2Seq(shape) => train::start(|vb| seq2seq::Seq2Seq::new(&shape, vb), shape.vocab),
    }
}
