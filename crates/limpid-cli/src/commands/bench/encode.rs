//! `limpid bench encode`: an encoder over a batch of sequences of equal or mixed length.

use super::interactive::{About, Timed, memory_mb, repeat, serve};
use super::{check_memory, check_positive, check_seconds, median_and_best, quantize, random_ids};
use crate::args::BenchEncode;
use crate::error::Result;
use limpid::data::batch::Packed;
use limpid::model::config::EncoderDecoderConfig;
use limpid::model::{EncoderDecoder, Model};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::rng::Stream;
use limpid_tensor::tape::Tape;
use limpid_tensor::team;
use serde_json::json;
use std::time::Instant;

/// Encodes the same batch repeatedly.
pub fn run(args: &BenchEncode) -> Result<()> {
    check_seconds(args.seconds)?;
    check_positive(&[("batch", args.batch), ("length", args.length)])?;
    let config = EncoderDecoderConfig {
        encoder_layers: args.layers,
        decoder_layers: 1,
        max_position_embeddings: args.length,
        activation_function: Activation::Gelu,
        ..EncoderDecoderConfig::new(args.vocab, args.layers, args.heads, args.width, args.ffn)
    };
    config.validate()?;
    check_memory(config.parameters_about() / 4.0)?;
    let own_mb = memory_mb("VmRSS");
    let mut model = Model::new(&config, 1)?;
    quantize(&mut model, args.quantize)?;
    let seq2seq = model.encoder_decoder().expect("an encoder-decoder");
    let source = Packed::new(&sequences(args));
    encode(&model, seq2seq, &source);
    if args.interactive {
        // The model has a decoder, which is not part of this benchmark.
        let of_decoder = |name: &str| name.starts_with("decoder.");
        let parameters = model.params.count()
            - model
                .params
                .iter()
                .filter(|(_, s)| of_decoder(&s.name))
                .map(|(_, s)| s.shape.len())
                .sum::<usize>();
        return serve(About { parameters, own_mb }, |seconds| {
            Ok(Timed {
                step_ms: repeat(seconds, || vec![encode(&model, seq2seq, &source)]),
                loss: None,
            })
        });
    }
    let (median, best) =
        median_and_best(repeat(args.seconds, || vec![encode(&model, seq2seq, &source)]));
    let rate = source.tokens() as f64 / median * 1e3;
    if args.json {
        println!(
            "{}",
            json!({
                "median_ms": median, "best_ms": best, "tokens": source.tokens(),
                "tokens_per_second": rate, "threads": team::threads(),
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

/// Random tokens. Mixed: 8 to `length` of them, evenly spread, the longest included.
fn sequences(args: &BenchEncode) -> Vec<Vec<u32>> {
    let mut rng = Stream::new(1, 0);
    let shortest = 8.min(args.length);
    let length = |i: usize| match args.mixed {
        true => shortest + (args.length - shortest) * i / (args.batch - 1).max(1),
        false => args.length,
    };
    (0..args.batch).map(|i| random_ids(&mut rng, length(i), args.vocab)).collect()
}

/// Milliseconds of one forward pass.
fn encode(model: &Model, seq2seq: &EncoderDecoder, source: &Packed) -> f64 {
    let before = Instant::now();
    let mut tape = Tape::inference(&model.params);
    std::hint::black_box(seq2seq.encode(&mut tape, source));
    before.elapsed().as_secs_f64() * 1e3
}
