//! Once the largest batch has been seen, a training step allocates nothing: a counting allocator watches.

use limpid::config::{
    BertConfig, BertHead, Cell, Directions, GptConfig, RnnAttention, RnnConfig, Seq2SeqConfig,
};
use limpid::data::batch::{LabelledBatch, LmBatch, MaskedBatch, PairBatch, Typed};
use limpid::model::{Architecture, Model};
use limpid::optim::AdamConfig;
use limpid::train::Stepper;
use limpid_tensor::ops::LossSpec;

mod counting;
use counting::allocations;

fn sequences(lengths: &[usize]) -> Vec<Vec<u32>> {
    lengths.iter().map(|len| (0..*len as u32).map(|i| (i * 7 + 3) % 97).collect()).collect()
}

/// Allocations of each of some steps after `warm` others; batches take turns.
fn count(model: &mut Model, batches: &[Batch], warm: usize) -> Vec<usize> {
    let mut stepper = Stepper::new(&model.params, AdamConfig::default(), 1);
    let architecture = model.architecture.clone();
    let mut counts = Vec::with_capacity(2 * warm);
    for step in 0..2 * warm {
        let batch = &batches[step % batches.len()];
        let before = allocations();
        let loss = |tape: &mut limpid_tensor::tape::Tape| match (&architecture, batch) {
            (Architecture::Gpt(gpt), Batch::Lm(b)) => {
                gpt.loss(tape, b, LossSpec { smoothing: 0.0, weight: 0.01 })
            }
            (Architecture::Seq2Seq(m), Batch::Pairs(b)) => {
                m.loss(tape, b, LossSpec { smoothing: 0.1, weight: 0.01 })
            }
            (Architecture::Rnn(m), Batch::Pairs(b)) => {
                m.loss(tape, b, LossSpec { smoothing: 0.1, weight: 0.01 })
            }
            (Architecture::Bert(m), Batch::Masked(b)) => {
                m.masked_loss(tape, b, LossSpec { smoothing: 0.0, weight: 0.01 })
            }
            (Architecture::Bert(m), Batch::Labelled(b)) => {
                m.class_loss(tape, b, LossSpec { smoothing: 0.0, weight: 0.01 })
            }
            _ => unreachable!(),
        };
        stepper.step(&mut model.params, 1e-3, None, loss).unwrap();
        counts.push(allocations() - before);
    }
    counts.split_off(warm)
}

enum Batch {
    Lm(LmBatch),
    Pairs(PairBatch),
    Masked(MaskedBatch),
    Labelled(LabelledBatch),
}

// One test: another one on another thread would be counted too.
#[test]
fn a_warm_training_step_allocates_nothing() {
    // With more threads, a worker may meet its first task of a kind, and grow its scratch, at any time.
    limpid_tensor::team::set_threads(1);
    let config = GptConfig { dropout: 0.1, ..GptConfig::gpt2(97, 64, 2, 4, 64) };
    let mut gpt = Model::gpt(&config, 1).unwrap();
    let batches =
        [&[40, 17, 30][..], &[33, 9], &[64, 64, 64, 64]].map(|l| Batch::Lm(LmBatch::new(&sequences(l))));
    assert_eq!(count(&mut gpt, &batches, 12), [0; 12]);

    let config = Seq2SeqConfig { dropout: 0.1, ..Seq2SeqConfig::new(97, 2, 4, 64, 128) };
    let mut seq2seq = Model::seq2seq(&config, 1).unwrap();
    let pairs = |s: &[usize], t: &[usize]| {
        let pairs: Vec<_> = sequences(s).into_iter().zip(sequences(t)).collect();
        Batch::Pairs(PairBatch::new(&pairs, 0))
    };
    let batches = [pairs(&[12, 20, 5], &[10, 24, 7]), pairs(&[60; 20], &[60; 20]), pairs(&[1], &[2])];
    assert_eq!(count(&mut seq2seq, &batches, 12), [0; 12]);

    for (cell, attention) in [
        (Cell::Gru, RnnAttention::Additive),
        (Cell::Lstm, RnnAttention::Dot),
        (Cell::Tanh, RnnAttention::None),
    ] {
        let usual = RnnConfig::new(97, cell, attention, 2, 32);
        let config = RnnConfig { dropout: 0.1, directions: Directions::Both, ..usual };
        let mut rnn = Model::rnn(&config, 1).unwrap();
        assert_eq!(count(&mut rnn, &batches, 12), [0; 12], "{cell:?}, {attention:?}");
    }

    let bert = |head| {
        let config = BertConfig { dropout: 0.1, head, ..BertConfig::new(97, 64, 2, 4, 64) };
        Model::bert(&config, 1).unwrap()
    };
    let lengths = [&[40, 17, 30][..], &[33, 9], &[64, 64, 64, 64]];
    let batches = lengths.map(|lengths| {
        let input = Typed::single(&sequences(lengths));
        let rows: Vec<u32> = (0..input.tokens.tokens() as u32).step_by(7).collect();
        let targets = rows.iter().map(|row| row % 97).collect();
        let follows = Some(vec![1; lengths.len()]);
        Batch::Masked(MaskedBatch { input, rows: rows.into(), targets, follows, asked_a_sequence: None })
    });
    assert_eq!(count(&mut bert(BertHead::PreTraining), &batches, 12), [0; 12]);
    let batches = lengths.map(|lengths| {
        let labels = (0..lengths.len() as u32).map(|i| i % 2).collect();
        Batch::Labelled(LabelledBatch { input: Typed::single(&sequences(lengths)), labels })
    });
    let labels = vec!["a".to_string(), "b".to_string()];
    assert_eq!(count(&mut bert(BertHead::Classifier(labels)), &batches, 12), [0; 12]);
}
