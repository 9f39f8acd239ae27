//! The models whose training step is measured, each with one random batch.

use super::interactive::memory_mb;
use super::step::{Batch, StepBenchmark, Work};
use super::{check_memory, check_positive, check_seconds, check_tokens, random_ids};
use crate::args::{BenchBert, BenchGpt, BenchSeq2seq};
use crate::error::{Error, Result};
use limpid::data::batch::{EncoderInput, LmBatch, MaskedBatch, PairBatch};
use limpid::model::Model;
use limpid::model::config::{DecoderConfig, EncoderConfig, EncoderDecoderConfig};
use limpid_tensor::machine::LinearShape;
use limpid_tensor::rng::Stream;

/// A GPT-2.
pub fn gpt(args: &BenchGpt) -> Result<StepBenchmark> {
    check_positive(&[("batch", args.batch), ("context", args.context), ("vocab", args.vocab)])?;
    let config = DecoderConfig::gpt2(args.vocab, args.context, args.layers, args.heads, args.width);
    config.validate()?;
    check_memory(config.parameters_about())?;
    check_tokens(args.batch.saturating_mul(args.context))?;
    check_seconds(args.options.seconds)?;
    let own_mb = memory_mb("VmRSS");
    let model = Model::new(&config, 1)?;
    let mut rng = Stream::new(1, 0);
    let sequences: Vec<Vec<u32>> =
        (0..args.batch).map(|_| random_ids(&mut rng, args.context + 1, args.vocab)).collect();
    let batch = LmBatch::new(&sequences);
    let (n, c, l) = (batch.targets.len() as f64, args.width as f64, args.layers as f64);
    // Per layer 12c² weights; scores and values of half a square of keys, as the rest is masked.
    let per_token = l * (12.0 * c * c + c * args.context as f64) + c * args.vocab as f64;
    let (rows, width) = (n as usize, args.width);
    let layers = [(width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)]
        .map(|(inputs, outputs)| (LinearShape { rows, inputs, outputs }, args.layers));
    let output = (LinearShape { rows, inputs: width, outputs: args.vocab }, 1);
    let layers = layers.into_iter().chain([output]).collect();
    let work = Work::Model(Box::new((model.stack, Batch::Lm(batch))));
    Ok(StepBenchmark::new((model.params, work), 0.0, rows, 6.0 * n * per_token, layers)
        .with_own_mb(own_mb))
}

/// An encoder-decoder.
pub fn seq2seq(args: &BenchSeq2seq) -> Result<StepBenchmark> {
    check_positive(&[
        ("batch", args.batch),
        ("source-len", args.source_len),
        ("target-len", args.target_len),
    ])?;
    check_positive(&[("vocab", args.vocab)])?;
    let config = EncoderDecoderConfig {
        encoder_layers: args.encoder_layers,
        decoder_layers: args.decoder_layers,
        max_position_embeddings: args.source_len.max(args.target_len),
        ..EncoderDecoderConfig::new(
            args.vocab,
            args.encoder_layers,
            args.heads,
            args.width,
            args.ffn,
        )
    };
    config.validate()?;
    check_memory(config.parameters_about())?;
    check_tokens(args.batch.saturating_mul(args.source_len.saturating_add(args.target_len)))?;
    check_seconds(args.options.seconds)?;
    if !(0.0..1.0).contains(&args.label_smoothing) {
        let message = format!("--label-smoothing {} is not in [0, 1)", args.label_smoothing);
        return Err(Error::config(message).hint("the default is 0.1"));
    }
    let own_mb = memory_mb("VmRSS");
    let model = Model::new(&config, 1)?;
    let mut rng = Stream::new(1, 0);
    let pair = |rng: &mut Stream| {
        (random_ids(rng, args.source_len, args.vocab), random_ids(rng, args.target_len, args.vocab))
    };
    let pairs: Vec<_> = (0..args.batch).map(|_| pair(&mut rng)).collect();
    let batch = PairBatch::new(&pairs, config.decoder_start_token_id);
    let (source, target) = (args.source_len as f64, args.target_len as f64);
    let (c, f) = (args.width as f64, args.ffn as f64);
    let encoder =
        source * args.encoder_layers as f64 * (4.0 * c * c + 2.0 * c * f + 2.0 * c * source);
    let decoder = args.decoder_layers as f64
        * (target * (6.0 * c * c + 2.0 * c * f + c * target + 2.0 * c * source)
            + source * 2.0 * c * c);
    let flops = 6.0 * args.batch as f64 * (encoder + decoder + target * c * args.vocab as f64);
    let (from, to) = (args.batch * args.source_len, args.batch * args.target_len);
    let work = Work::Model(Box::new((model.stack, Batch::Pairs(batch))));
    let layers = layers(args, from, to);
    let benchmark =
        StepBenchmark::new((model.params, work), args.label_smoothing, from + to, flops, layers);
    Ok(benchmark.with_own_mb(own_mb))
}

/// A BERT with masked tokens.
pub fn bert(args: &BenchBert) -> Result<StepBenchmark> {
    check_positive(&[("batch", args.batch), ("context", args.context), ("vocab", args.vocab)])?;
    if !(args.masked > 0.0 && args.masked <= 1.0) {
        let message = format!("--masked {} is not in (0, 1]", args.masked);
        return Err(Error::config(message).hint("the default is 0.15"));
    }
    let config = EncoderConfig {
        intermediate_size: args.ffn,
        ..EncoderConfig::new(args.vocab, args.context, args.layers, args.heads, args.width)
    };
    config.validate()?;
    check_memory(config.parameters_about())?;
    check_tokens(args.batch.saturating_mul(args.context))?;
    check_seconds(args.options.seconds)?;
    let own_mb = memory_mb("VmRSS");
    let model = Model::new(&config, 1)?;
    let mut rng = Stream::new(1, 0);
    let sequences: Vec<Vec<u32>> =
        (0..args.batch).map(|_| random_ids(&mut rng, args.context, args.vocab)).collect();
    let of_each = ((args.context as f64 * args.masked).round() as usize).clamp(1, args.context);
    let mut rows: Vec<u32> = Vec::new();
    for sequence in 0..args.batch {
        let mut places: Vec<u32> = (0..args.context as u32).collect();
        rng.shuffle(&mut places);
        rows.extend(places[..of_each].iter().map(|place| (sequence * args.context) as u32 + place));
    }
    rows.sort_unstable();
    let targets = random_ids(&mut rng, rows.len(), args.vocab);
    let (n, masked) = (args.batch * args.context, rows.len());
    let batch = MaskedBatch {
        input: EncoderInput::single(&sequences),
        rows: rows.into(),
        targets,
        next_sentence_labels: None,
        targets_per_sequence: None,
    };
    let (c, f) = (args.width as f64, args.ffn as f64);
    // Per layer 4c² + 2cf weights, scores and values of all keys; the head meets the masked rows
    // alone.
    let encoder = args.layers as f64 * (4.0 * c * c + 2.0 * c * f + 2.0 * c * args.context as f64);
    let flops = 6.0 * (n as f64 * encoder + masked as f64 * (c * c + c * args.vocab as f64));
    let layer = |rows, inputs, outputs, times| (LinearShape { rows, inputs, outputs }, times);
    let (c, f, l) = (args.width, args.ffn, args.layers);
    let layers = vec![
        layer(n, c, 3 * c, l),
        layer(n, c, c, l),
        layer(n, c, f, l),
        layer(n, f, c, l),
        layer(masked, c, c, 1),
        layer(masked, c, args.vocab, 1),
    ];
    let work = Work::Model(Box::new((model.stack, Batch::Masked(batch))));
    Ok(StepBenchmark::new((model.params, work), 0.0, n, flops, layers).with_own_mb(own_mb))
}

/// The linear layers of an encoder-decoder, for `from` and `to` rows of source and target.
fn layers(args: &BenchSeq2seq, from: usize, to: usize) -> Vec<(LinearShape, usize)> {
    let (c, f, encoder, decoder) = (args.width, args.ffn, args.encoder_layers, args.decoder_layers);
    let layer = |rows, inputs, outputs, times| (LinearShape { rows, inputs, outputs }, times);
    let stack = |rows, times| [(c, 3 * c), (c, f), (f, c)].map(|(i, o)| layer(rows, i, o, times));
    let mut layers: Vec<_> = stack(from, encoder).into_iter().chain(stack(to, decoder)).collect();
    // Outputs of attention; queries, keys and values of attention to the source.
    layers.extend([
        layer(from, c, c, encoder),
        layer(to, c, c, 3 * decoder),
        layer(from, c, 2 * c, decoder),
    ]);
    layers.push(layer(to, c, args.vocab, 1));
    layers
}
