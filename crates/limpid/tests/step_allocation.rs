//! Once the largest batch has been seen, a training step allocates nothing: a counting allocator
//! counts.

use limpid::data::batch::{EncoderInput, LabelledBatch, LmBatch, MaskedBatch, PairBatch};
use limpid::model::config::{
    Cell, DecoderConfig, Directions, EncoderConfig, EncoderDecoderConfig, EncoderHead,
    RecurrentAttention, RecurrentConfig,
};
use limpid::model::{Model, Stack};
use limpid::optim::AdamConfig;
use limpid::optim::Optimizer;
use limpid_tensor::counting::CountingAllocator;
use limpid_tensor::ops::LossSpec;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

fn sequences(lengths: &[usize]) -> Vec<Vec<u32>> {
    lengths.iter().map(|len| (0..*len as u32).map(|i| (i * 7 + 3) % 97).collect()).collect()
}

/// Allocations of each of some steps after `warm` others; batches take turns.
fn count(model: &mut Model, batches: &[Batch], warm: usize) -> Vec<usize> {
    let mut optimizer = Optimizer::new(&model.params, AdamConfig::default(), 1);
    let stack = model.stack.clone();
    let mut counts = Vec::with_capacity(2 * warm);
    for step in 0..2 * warm {
        let batch = &batches[step % batches.len()];
        let before = ALLOCATOR.allocations();
        let loss = |tape: &mut limpid_tensor::tape::Tape| match (&stack, batch) {
            (Stack::Decoder(gpt), Batch::Lm(b)) => {
                gpt.loss(tape, b, LossSpec { smoothing: 0.0, weight: 0.01 })
            }
            (Stack::EncoderDecoder(m), Batch::Pairs(b)) => {
                m.loss(tape, b, LossSpec { smoothing: 0.1, weight: 0.01 })
            }
            (Stack::Recurrent(m), Batch::Pairs(b)) => {
                m.loss(tape, b, LossSpec { smoothing: 0.1, weight: 0.01 })
            }
            (Stack::Encoder(m), Batch::Masked(b)) => {
                m.masked_loss(tape, b, LossSpec { smoothing: 0.0, weight: 0.01 })
            }
            (Stack::Encoder(m), Batch::Labelled(b)) => {
                m.class_loss(tape, b, LossSpec { smoothing: 0.0, weight: 0.01 })
            }
            _ => unreachable!(),
        };
        optimizer.step(&mut model.params, 1e-3, None, loss).unwrap();
        counts.push(ALLOCATOR.allocations() - before);
    }
    counts.split_off(warm)
}

enum Batch {
    Lm(LmBatch),
    Pairs(PairBatch),
    Masked(MaskedBatch),
    Labelled(LabelledBatch),
}

// One test: allocations of other threads are counted, too.
#[test]
fn a_warm_training_step_allocates_nothing() {
    // With more threads, a worker may run its first task of a type, and grow its scratch, at any
    // time.
    limpid_tensor::team::set_threads(1);
    let config = DecoderConfig { dropout: 0.1, ..DecoderConfig::gpt2(97, 64, 2, 4, 64) };
    let mut gpt = Model::new(&config, 1).unwrap();
    let batches = [&[40, 17, 30][..], &[33, 9], &[64, 64, 64, 64]]
        .map(|l| Batch::Lm(LmBatch::new(&sequences(l))));
    assert_eq!(count(&mut gpt, &batches, 12), [0; 12]);

    let config =
        EncoderDecoderConfig { dropout: 0.1, ..EncoderDecoderConfig::new(97, 2, 4, 64, 128) };
    let mut seq2seq = Model::new(&config, 1).unwrap();
    let pairs = |s: &[usize], t: &[usize]| {
        let pairs: Vec<_> = sequences(s).into_iter().zip(sequences(t)).collect();
        Batch::Pairs(PairBatch::new(&pairs, 0))
    };
    let batches =
        [pairs(&[12, 20, 5], &[10, 24, 7]), pairs(&[60; 20], &[60; 20]), pairs(&[1], &[2])];
    assert_eq!(count(&mut seq2seq, &batches, 12), [0; 12]);

    for (cell, attention) in [
        (Cell::Gru, RecurrentAttention::Additive),
        (Cell::Lstm, RecurrentAttention::Dot),
        (Cell::Tanh, RecurrentAttention::None),
    ] {
        let base = RecurrentConfig::new(97, cell, attention, 2, 32);
        let config =
            RecurrentConfig { dropout: 0.1, directions: Directions::Bidirectional, ..base };
        let mut rnn = Model::new(&config, 1).unwrap();
        assert_eq!(count(&mut rnn, &batches, 12), [0; 12], "{cell:?}, {attention:?}");
    }

    let bert = |head| {
        let config = EncoderConfig { dropout: 0.1, head, ..EncoderConfig::new(97, 64, 2, 4, 64) };
        Model::new(&config, 1).unwrap()
    };
    let lengths = [&[40, 17, 30][..], &[33, 9], &[64, 64, 64, 64]];
    let batches = lengths.map(|lengths| {
        let input = EncoderInput::single(&sequences(lengths));
        let rows: Vec<u32> = (0..input.tokens.tokens() as u32).step_by(7).collect();
        let targets = rows.iter().map(|row| row % 97).collect();
        let next_sentence_labels = Some(vec![1; lengths.len()]);
        Batch::Masked(MaskedBatch {
            input,
            rows: rows.into(),
            targets,
            next_sentence_labels,
            targets_per_sequence: None,
        })
    });
    assert_eq!(count(&mut bert(EncoderHead::PreTraining), &batches, 12), [0; 12]);
    let batches = lengths.map(|lengths| {
        let labels = (0..lengths.len() as u32).map(|i| i % 2).collect();
        Batch::Labelled(LabelledBatch { input: EncoderInput::single(&sequences(lengths)), labels })
    });
    let labels = vec!["a".to_string(), "b".to_string()];
    assert_eq!(count(&mut bert(EncoderHead::Classifier(labels.into())), &batches, 12), [0; 12]);
}
