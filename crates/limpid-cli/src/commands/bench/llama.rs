//! The training step of a Llama: grouped keys and values, gated feed-forward layers, RMSNorm.

use super::interactive::memory_mb;
use super::step::{Batch, StepBenchmark, Work};
use super::{check_memory, check_positive, check_seconds, check_tokens, random_ids};
use crate::args::BenchLlama;
use crate::error::Result;
use limpid::data::batch::LmBatch;
use limpid::model::Model;
use limpid::model::config::{DecoderConfig, Tie};
use limpid::optim::Activations;
use limpid_tensor::machine::LinearShape;
use limpid_tensor::rng::Stream;

/// A Llama whose output layer is its token embedding, with random tokens.
pub fn llama(args: &BenchLlama) -> Result<StepBenchmark> {
    check_positive(&[("batch", args.batch), ("context", args.context), ("vocab", args.vocab)])?;
    let config = DecoderConfig {
        tie_word_embeddings: Tie::Shared,
        ..DecoderConfig::llama(
            args.vocab,
            args.context,
            args.layers,
            [args.heads, args.kv_heads],
            [args.width, args.ffn],
        )
    };
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
    let (rows, layers) = (batch.targets.len(), linear_layers(&config, batch.targets.len()));
    let weights: usize = layers.iter().map(|(shape, n)| shape.inputs * shape.outputs * n).sum();
    // Scores and values of half a square of keys, as the rest is masked.
    let attention = args.layers * args.heads * config.head_dim() * args.context;
    let flops = 6.0 * rows as f64 * (weights + attention) as f64;
    let activations = match args.activation_checkpointing {
        true => Activations::Recomputed,
        false => Activations::Kept,
    };
    let work = Work::Model(Box::new((model.stack, Batch::Lm(batch))));
    Ok(StepBenchmark::new((model.params, work), 0.0, rows, flops, layers)
        .with_own_mb(own_mb)
        .with_activations(activations))
}

/// The linear layers, and how often each shape occurs.
fn linear_layers(config: &DecoderConfig, rows: usize) -> Vec<(LinearShape, usize)> {
    let (c, f, l) = (config.hidden_size, config.intermediate_size, config.num_hidden_layers);
    let (d, heads, kv_heads) = (config.head_dim(), config.num_attention_heads, config.kv_heads());
    let layer = |inputs, outputs, times| (LinearShape { rows, inputs, outputs }, times);
    vec![
        layer(c, (heads + 2 * kv_heads) * d, l),
        layer(heads * d, c, l),
        layer(c, 2 * f, l),
        layer(f, c, l),
        layer(c, config.vocab_size, 1),
    ]
}
