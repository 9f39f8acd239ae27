//! `limpid bench encode`: an encoder stack over a batch of sequences of equal or mixed length.

use super::{check_memory, check_positive, check_seconds, median_and_best, random_ids};
use crate::args::BenchEncode;
use limpid::config::Seq2SeqConfig;
use limpid::data::batch::Packed;
use limpid::error::Result;
use limpid::model::{Architecture, Model};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::rng::Stream;
use limpid_tensor::tape::Tape;
use limpid_tensor::team;
use serde_json::json;
use std::time::Instant;

/// Encodes the same batch again and again.
pub fn run(args: &BenchEncode) -> Result<()> {
    check_seconds(args.seconds)?;
    check_positive(&[("batch", args.batch), ("length", args.length)])?;
    let config = Seq2SeqConfig {
        encoder_layers: args.layers,
        decoder_layers: 1,
        max_position_embeddings: args.length,
        activation_function: Activation::Gelu,
        ..Seq2SeqConfig::new(args.vocab, args.layers, args.heads, args.width, args.ffn)
    };
    config.validate()?;
    check_memory(config.parameters_about() / 4.0)?;
    let model = Model::seq2seq(&config, 1)?;
    let Architecture::Seq2Seq(seq2seq) = &model.architecture else { unreachable!("an encoder was made") };
    let mut rng = Stream::new(1, 0);
    // Mixed: 8 to `length` tokens, evenly spread, the longest included.
    let shortest = 8.min(args.length);
    let length = |i: usize| match args.mixed {
        true => shortest + (args.length - shortest) * i / (args.batch - 1).max(1),
        false => args.length,
    };
    let sequences: Vec<Vec<u32>> =
        (0..args.batch).map(|i| random_ids(&mut rng, length(i), args.vocab)).collect();
    let source = Packed::new(&sequences);
    let (begin, mut times) = (Instant::now(), Vec::new());
    while times.len() < 2 || begin.elapsed().as_secs_f64() < args.seconds {
        let before = Instant::now();
        let mut tape = Tape::inference(&model.params);
        std::hint::black_box(seq2seq.encode(&mut tape, &source));
        times.push(before.elapsed().as_secs_f64() * 1e3);
    }
    let (median, best) = median_and_best(times.split_off(1));
    let rate = source.tokens() as f64 / median * 1e3;
    if args.json {
        println!(
            "{}",
            json!({
                "median_ms": median, "best_ms": best, "tokens": source.tokens(), "tokens_per_second": rate,
                "threads": team::threads(),
            })
        );
        return Ok(());
    }
    println!("threads         {:>12}", team::threads());
    println!("tokens          {:>12}   ({} sequences)", source.tokens(), args.batch);
    println!("median          {median:>12.2} ms   (best {best:.2})");
    println!("rate            {rate:>12.0} tokens/s");
    Ok(())
}
