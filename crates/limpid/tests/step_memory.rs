//! Peak memory of a training step: 16 bytes per parameter, and per token what the architecture
//! needs (docs/maths.md, "Memory of a training step"). A counting allocator measures the peak. A
//! matrix of all logits (n, v), or stored attention weights (t, t), would exceed the budget.

use limpid::data::batch::{LmBatch, PairBatch};
use limpid::model::config::{DecoderConfig, EncoderDecoderConfig};
use limpid::model::{Model, Stack};
use limpid::optim::AdamConfig;
use limpid::optim::Optimizer;
use limpid_tensor::counting::CountingAllocator;
use limpid_tensor::kernels::activation::{Activation, SavedForBackward};
use limpid_tensor::ops::LossSpec;
use limpid_tensor::tape::{Tape, Var};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

const SPEC: LossSpec = LossSpec { smoothing: 0.1, weight: 0.01 };

/// The largest number of logits at a time, by `ops/output_loss.rs`.
const LOGITS_AT_A_TIME: usize = 8 << 20;

/// Elements saved for the backward pass, transient gradients, and packed operands.
struct Budget {
    /// Trained parameters.
    parameters: usize,
    /// Parameters without gradient and fixed tables.
    fixed: usize,
    /// Activations saved for the backward pass.
    kept: usize,
    /// Gradients and results of the largest operation.
    passing: usize,
    /// Logits of one chunk of rows.
    logits: usize,
    /// Packed operands of the largest product and of the largest attention.
    scratch: usize,
}

impl Budget {
    /// Buffers are rounded up by at most an eighth. A million bytes for lists, names, the corpus
    /// and the test itself.
    fn bytes(&self) -> usize {
        let pooled = self.kept + self.passing + self.logits;
        16 * self.parameters + 4 * self.fixed + 4 * pooled * 9 / 8 + 4 * self.scratch + (1 << 20)
    }
}

/// Elements that a feed-forward layer saves per token, beside its norm: φ's output, and φ′ where it
/// is saved.
fn feed_forward(f: usize, phi: Activation) -> usize {
    if phi.saved_for_backward() == SavedForBackward::Derivative { 2 * f } else { f }
}

/// A residual connection with its norm saves the sum (c), the normed sum (c), μ and 1/σ.
fn norm(c: usize) -> usize {
    2 * c + 2
}

/// The logits of n rows, and their losses and the gradient by the rows.
fn logits(n: usize, v: usize) -> usize {
    (n * v).min(LOGITS_AT_A_TIME)
}

/// The largest product packs its right operand: a weight, or the rows whose weight gradient is
/// computed; the scratch grows by doubling. Attention holds, for one sequence and head, keys and
/// values (and their transposes and gradients) and scores of 64 queries twice: 64·2·s and 6·s·d,
/// rounded up to whole registers.
fn scratch(n: usize, widest: usize, weights: usize, s: usize, d: usize) -> usize {
    let (s, d) = (s + 32, d.next_multiple_of(16));
    2 * (n * widest).max(weights).min(4 << 20) + 2 * (2 * 64 * s + 6 * s * d)
}

fn gpt_budget(config: &DecoderConfig, parameters: usize, n: usize, t: usize) -> Budget {
    let (c, f, h, v) = (
        config.hidden_size,
        config.intermediate_size,
        config.num_attention_heads,
        config.vocab_size,
    );
    // q, k, v (3c), z (c) and lse (h).
    let attention = norm(c) + 4 * c + h;
    let layer = attention + norm(c) + feed_forward(f, config.activation_function);
    Budget {
        parameters,
        fixed: 0,
        // The embedding with its positions, the layers, the last norm, the loss and its gradient.
        kept: n * (c + config.num_hidden_layers * layer + norm(c) + c + 1),
        // In a backward: the stream's gradient and the next one, dy and dx of the widest layer.
        passing: n * (4 * c + f),
        logits: logits(n, v),
        scratch: scratch(n, f, v.max(f) * c, t, c / h),
    }
}

/// A Llama: no φ′ is saved and no gated value, only gate and up side by side.
fn llama_budget(config: &DecoderConfig, parameters: usize, n: usize, t: usize) -> Budget {
    let (c, f, h, v) = (
        config.hidden_size,
        config.intermediate_size,
        config.num_attention_heads,
        config.vocab_size,
    );
    let d = config.head_dim();
    // The sum (c), the normed sum (c) and 1/σ.
    let norm = 2 * c + 1;
    // q, k and v, rotated; z (c) and lse (h).
    let attention = norm + (h + 2 * config.kv_heads()) * d + h * d + h;
    let layer = attention + norm + 2 * f;
    Budget {
        parameters,
        fixed: 0,
        // The embedding, the table of angles, the layers, the last norm, the loss and its gradient.
        kept: n * (c + d + config.num_hidden_layers * layer + norm + c + 1),
        // In a backward: the stream's gradient and the next one, the gated values and their
        // gradient, and that of gate and up.
        passing: n * (4 * c + 4 * f),
        logits: logits(n, v),
        scratch: scratch(n, 2 * f, v.max(2 * f) * c, t, d),
    }
}

fn seq2seq_budget(
    config: &EncoderDecoderConfig,
    parameters: usize,
    source: usize,
    target: usize,
    t: usize,
) -> Budget {
    let (c, f, h, v) =
        (config.d_model, config.encoder_ffn_dim, config.encoder_attention_heads, config.vocab_size);
    let ffn = norm(c) + feed_forward(f, config.activation_function);
    let attention = norm(c) + 4 * c + h;
    // q (c) and z (c) for each token of the target, k and v (2c) for each of the source.
    let cross = norm(c) + 2 * c + h;
    let encoder = source * (c + config.encoder_layers * (attention + ffn));
    let decoder = target * (c + config.decoder_layers * (attention + cross + ffn));
    Budget {
        parameters,
        fixed: v + config.max_position_embeddings * c,
        kept: encoder + decoder + source * config.decoder_layers * 2 * c + target * (c + 1),
        // The gradient of the encoder's output exists during the backward pass of the decoder.
        passing: source.max(target) * (4 * c + f) + source * c,
        logits: logits(target, v),
        scratch: scratch(source.max(target), f, v * c, t, c / h),
    }
}

/// Ids that differ.
fn sequences(count: usize, len: usize, vocab: usize) -> Vec<Vec<u32>> {
    (0..count).map(|b| (0..len).map(|i| ((b * 31 + i * 7 + 3) % vocab) as u32).collect()).collect()
}

/// The most bytes during two steps of a fresh model, its own included; and how many numbers it
/// trains.
fn measure(
    make: impl FnOnce() -> Model,
    loss: impl Fn(&Stack, &mut Tape) -> Var,
) -> (usize, usize) {
    // Buffers of the previous shape do not count.
    limpid_tensor::pool::release();
    ALLOCATOR.reset_peak();
    let before = ALLOCATOR.bytes();
    let mut model = make();
    let mut optimizer = Optimizer::new(&model.params, AdamConfig::default(), 1);
    let stack = model.stack.clone();
    for _ in 0..2 {
        optimizer.step(&mut model.params, 1e-3, None, |tape| loss(&stack, tape)).unwrap();
    }
    (ALLOCATOR.peak_bytes() - before, model.params.count())
}

fn measure_gpt(config: &DecoderConfig, batch: &LmBatch) -> (usize, usize) {
    measure(
        || Model::new(config, 1).unwrap(),
        |model, tape| match model {
            Stack::Decoder(gpt) => gpt.loss(tape, batch, SPEC),
            _ => unreachable!("a GPT was made"),
        },
    )
}

#[track_caller]
fn check(name: &str, peak: usize, budget: &Budget) {
    let (most, share) = (budget.bytes(), peak as f64 / budget.bytes() as f64);
    println!("{name}: {peak} of {most} bytes, {share:.2}");
    assert!(peak <= most, "{name}: a step takes {peak} bytes, {share:.2} of the {most} it may");
    // A loose bound would prove nothing.
    assert!(share > 0.6, "{name}: a step takes {peak} bytes, only {share:.2} of the bound {most}");
}

// One test: allocations of other threads are counted, too.
#[test]
fn a_training_step_takes_16_bytes_per_parameter_and_the_activations_of_its_tokens() {
    limpid_tensor::team::set_threads(1);

    // Like S, with more tokens for its width: a matrix of weights of one layer (2, 4, 512, 512) is
    // 8 MB.
    let (b, t) = (2, 512);
    let config = DecoderConfig::gpt2(256, t, 2, 4, 32);
    let batch = LmBatch::new(&sequences(b, t + 1, 256));
    let (peak, parameters) = measure_gpt(&config, &batch);
    let budget = gpt_budget(&config, parameters, b * t, t);
    check("GPT, long context", peak, &budget);
    let weights = 4 * b * config.num_attention_heads * t * t;
    assert!(peak + weights > budget.bytes(), "the weights of a layer would not be detected");

    // Like G: a vocabulary whose logits (512, 32768) are 64 MB, twice what may exist at a time.
    let (b, t, v) = (4, 128, 32_768);
    let config = DecoderConfig::gpt2(v, t, 2, 2, 32);
    let batch = LmBatch::new(&sequences(b, t + 1, v));
    let (peak, parameters) = measure_gpt(&config, &batch);
    let budget = gpt_budget(&config, parameters, b * t, t);
    check("GPT, large vocabulary", peak, &budget);
    assert!(
        peak + 4 * (b * t * v - LOGITS_AT_A_TIME) > budget.bytes(),
        "all logits would not be detected"
    );

    // A Llama of 16 layers: the gated values of all of them would be 12 MB.
    let (b, t, v, f) = (4, 128, 256, 384);
    let config = DecoderConfig::llama(v, t, 16, [4, 2], [64, f]);
    let batch = LmBatch::new(&sequences(b, t + 1, v));
    let (peak, parameters) = measure_gpt(&config, &batch);
    let budget = llama_budget(&config, parameters, b * t, t);
    check("Llama", peak, &budget);
    let gated = 4 * b * t * f * config.num_hidden_layers;
    assert!(peak + gated > budget.bytes(), "stored gated values would not be detected");

    // Like D: 24 and 24 tokens, a vocabulary of 8,000: logits (1536, 8000) are 49 MB, 15 more than
    // may exist at a time.
    let (b, t, v) = (64, 24, 8000);
    let config = EncoderDecoderConfig {
        max_position_embeddings: t,
        ..EncoderDecoderConfig::new(v, 3, 4, 64, 256)
    };
    let pairs: Vec<_> = sequences(b, t, v).into_iter().zip(sequences(b, t, v)).collect();
    let batch = PairBatch::new(&pairs, config.decoder_start_token_id);
    let (source, target) = (batch.source.ids.len(), batch.input.ids.len());
    let (peak, parameters) = measure(
        || Model::new(&config, 1).unwrap(),
        |model, tape| match model {
            Stack::EncoderDecoder(model) => model.loss(tape, &batch, SPEC),
            _ => unreachable!("an encoder-decoder was made"),
        },
    );
    let budget = seq2seq_budget(&config, parameters, source, target, t + 1);
    check("encoder-decoder", peak, &budget);
    assert!(
        peak + 4 * (target * v - LOGITS_AT_A_TIME) > budget.bytes(),
        "all logits would not be detected"
    );
}
