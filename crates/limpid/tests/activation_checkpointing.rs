//! Activation checkpointing: the same bits of gradients in less memory, in every stack of layers.

use limpid::data::batch::{EncoderInput, LabelledBatch, LmBatch, PairBatch};
use limpid::model::Model;
use limpid::model::config::{DecoderConfig, EncoderConfig, EncoderDecoderConfig, EncoderHead};
use limpid::nn::NormPlacement;
use limpid_tensor::counting::CountingAllocator;
use limpid_tensor::ops::LossSpec;
use limpid_tensor::tape::{DropoutStream, Gradients, Tape, Var};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

const SPEC: LossSpec = LossSpec { smoothing: 0.0, weight: 0.01 };

fn sequences(count: usize, len: usize) -> Vec<Vec<u32>> {
    (0..count).map(|b| (0..len).map(|i| ((b * 31 + i * 7 + 3) % 61) as u32).collect()).collect()
}

/// Bits of the loss and of all gradients, and the most bytes that the pass took.
fn pass(
    model: &Model,
    is_checkpointed: bool,
    loss: &dyn Fn(&mut Tape) -> Var,
) -> (Vec<u32>, usize) {
    limpid_tensor::pool::release();
    let mut gradients = Gradients::new(&model.params);
    ALLOCATOR.reset_peak();
    let before = ALLOCATOR.bytes();
    let mut tape = Tape::training(&model.params, &mut gradients)
        .with_dropout(DropoutStream { seed: 3, pass: 1 });
    if is_checkpointed {
        tape = tape.with_activation_checkpointing();
    }
    let value = loss(&mut tape);
    tape.backward(&value);
    let taken = ALLOCATOR.peak_bytes() - before;
    let bits = value.data().iter().chain(gradients.flat()).map(|x| x.to_bits()).collect();
    (bits, taken)
}

#[track_caller]
fn compare(name: &str, model: &Model, loss: &dyn Fn(&mut Tape) -> Var) {
    let (kept, all) = pass(model, false, loss);
    let (again, some) = pass(model, true, loss);
    assert!(kept == again, "{name}: other gradients");
    let share = some as f64 / all as f64;
    println!("{name}: {some} of {all} bytes, {share:.2}");
    assert!(share < 0.6, "{name}: {some} of {all} bytes");
}

// One test: allocations of other threads are counted, too.
#[test]
fn recomputed_layers_give_the_same_bits_in_less_memory_in_every_stack() {
    limpid_tensor::team::set_threads(1);
    let batch = LmBatch::new(&sequences(8, 65));
    for norm in [NormPlacement::Pre, NormPlacement::Post] {
        let config = DecoderConfig { norm, dropout: 0.1, ..DecoderConfig::gpt2(64, 64, 8, 2, 32) };
        let model = Model::new(&config, 1).unwrap();
        let decoder = model.decoder().expect("a decoder").clone();
        compare("decoder", &model, &|t| decoder.loss(t, &batch, SPEC));
    }

    let texts: Vec<_> = sequences(8, 64).into_iter().map(|ids| (ids, vec![0; 64])).collect();
    let batch = LabelledBatch {
        input: EncoderInput::new(&texts),
        labels: vec![0, 1, 0, 1, 1, 0, 0, 1].into(),
    };
    let labels = ["no", "yes"].map(String::from).to_vec();
    let head = EncoderHead::Classifier(labels.into());
    let config = EncoderConfig { head, dropout: 0.1, ..EncoderConfig::new(64, 64, 8, 2, 32) };
    let model = Model::new(config, 1).unwrap();
    let encoder = model.encoder().expect("an encoder").clone();
    compare("encoder", &model, &|t| encoder.class_loss(t, &batch, SPEC));

    let config =
        EncoderDecoderConfig { dropout: 0.1, ..EncoderDecoderConfig::new(64, 6, 2, 32, 128) };
    let pairs: Vec<_> = sequences(8, 40).into_iter().zip(sequences(8, 50)).collect();
    let batch = PairBatch::new(&pairs, config.decoder_start_token_id);
    let model = Model::new(&config, 1).unwrap();
    let seq2seq = model.encoder_decoder().expect("an encoder-decoder").clone();
    compare("encoder-decoder", &model, &|t| seq2seq.loss(t, &batch, SPEC));
}
