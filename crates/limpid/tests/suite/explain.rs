//! Any number of a forward pass is the sum of its terms, and its operands lead down to weights and
//! token ids. The models are the fixtures of every family.

use limpid::data::batch::{EncoderInput, Packed};
use limpid::error::{Error, InspectError};
use limpid::hub;
use limpid::inspect::{Element, Explainer, Explanation, Origin, RecurrentPart};
use limpid::model::{Model, Seq2Seq, Stack};
use limpid_tensor::rng::Stream;
use limpid_tensor::tape::{Tape, Trace};
use limpid_tensor::tensor::Tensor;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Decoders, encoders and encoder-decoders with every kind of layer that a family has.
const FIXTURES: [&str; 29] = [
    "gpt2-tiny",
    "gpt1-tiny",
    "llama-tiny",
    "llama-yarn",
    "mistral-tiny",
    "qwen2-window",
    "qwen3-tiny",
    "gemma-tiny",
    "neox-tiny",
    "phi-tiny",
    "opt-tiny",
    "bert-mlm",
    "roberta-bare",
    "distilbert-classifier",
    "electra-mlm",
    "mpnet-bare",
    "modernbert-mean",
    "marian-tiny",
    "bart-tiny",
    "t5-gated",
    "t5-tiny",
    "m2m-tiny",
    "rnn-gru-additive",
    "rnn-gru-dot",
    "rnn-lstm-none",
    "rnn-lstm-additive",
    "rnn-lstm-dot",
    "rnn-tanh-additive",
    "rnn-tanh-none",
];
/// The bound on the difference of a number and its terms added again, in units in the last place
/// of their magnitude: sums of up to some hundred products in another order.
const BOUND: f64 = 8.0;

fn load(name: &str) -> Model {
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures");
    hub::load(&fixtures.join(name)).unwrap().0
}

/// A forward pass over two short sequences: its last tensor and its trace.
fn traced(model: &Model) -> (Tensor, Trace) {
    let vocab = model.stack.vocab_size() as u32;
    let ids = |start: u32, len: u32| (0..len).map(|i| (start + 3 * i) % vocab).collect::<Vec<_>>();
    let sequences = [ids(5, 6), ids(2, 4)];
    let mut trace = Trace::default();
    let mut tape = Tape::inference(&model.params).with_trace(&mut trace);
    let last = match &model.stack {
        Stack::Decoder(decoder) => {
            let hidden = decoder.hidden(&mut tape, &Packed::new(&sequences), None);
            decoder.logits(&mut tape, &hidden)
        }
        Stack::Encoder(encoder) => {
            let texts = sequences.map(|ids| (ids.clone(), vec![0; ids.len()]));
            let input = EncoderInput::new(&texts);
            let hidden = encoder.hidden(&mut tape, &input);
            match encoder.labels() {
                Some(_) => encoder.class_logits(&mut tape, &hidden, &input),
                None => hidden,
            }
        }
        Stack::EncoderDecoder(model) => {
            let (source, target) = (Packed::new(&sequences), Packed::new(&[ids(1, 3), ids(7, 5)]));
            Seq2Seq::from(model).scores(&mut tape, &source, &target)
        }
        Stack::Recurrent(model) => {
            let (source, target) = (Packed::new(&sequences), Packed::new(&[ids(1, 3), ids(7, 5)]));
            Seq2Seq::from(model).scores(&mut tape, &source, &target)
        }
    };
    drop(tape);
    (last.value().clone(), trace)
}

/// Explains an element, checks it, and one of its operands, down to the bottom.
fn descend(
    explainer: &Explainer,
    mut element: Element,
    rng: &mut Stream,
    seen: &mut BTreeSet<&str>,
) {
    let mut depth = 0;
    loop {
        let found = explainer.explain(element).unwrap();
        let difference = found.ulps();
        assert!(difference <= BOUND, "{} is off by {difference} ULP: {found:?}", found.name);
        seen.insert(found.operation);
        depth += 1;
        assert!(depth < 1_000, "operands lead on without end");
        let factors: Vec<_> = found.terms.iter().flat_map(|term| &term.factors).collect();
        assert!(!factors.is_empty(), "{} comes from nothing", found.name);
        match &factors[rng.below(factors.len())].origin {
            Origin::Element(next) => element = *next,
            Origin::Param { .. } => return,
            Origin::Constant(letter) => {
                assert_ne!(*letter, "input", "an operand of {} was not traced", found.name);
                return;
            }
        }
    }
}

#[test]
fn every_number_is_the_sum_of_its_terms_down_to_weights_and_tokens() {
    let mut seen = BTreeSet::new();
    for name in FIXTURES {
        let model = load(name);
        let (_, trace) = traced(&model);
        let explainer = Explainer::new(&trace, &model.params);
        let mut rng = Stream::new(7, 0);
        for (step, traced) in trace.steps.iter().enumerate() {
            for (output, tensor) in traced.outputs.iter().enumerate() {
                let (rows, columns) = tensor.rows_cols();
                // The cell state of a layer without one is empty.
                for _ in 0..if rows > 0 { 8 } else { 0 } {
                    let (row, column) = (rng.below(rows), rng.below(columns));
                    let element = Element::Output { step, output, row, column };
                    descend(&explainer, element, &mut rng, &mut seen);
                }
            }
        }
    }
    let all = [
        "add_norm",
        "add_rms_norm",
        "additive_attention",
        "attention",
        "concat",
        "embedding",
        "gated",
        "head_norm",
        "layer_norm",
        "linear",
        "positions",
        "recurrent",
        "rms_norm",
        "rotary",
        "span_mean",
    ];
    for operation in all {
        assert!(seen.contains(operation), "no {operation} among {seen:?}");
    }
}

#[test]
fn a_number_has_the_value_that_the_model_computed() {
    let model = load("gpt2-tiny");
    let (logits, trace) = traced(&model);
    let explainer = Explainer::new(&trace, &model.params);
    let element = explainer.element(&logits, 3, 11).unwrap();
    let found = explainer.explain(element).unwrap();
    assert_eq!(found.value, logits.row(3)[11]);
    let width = model.decoder().unwrap().config().hidden_size;
    assert_eq!((found.operation, found.terms.len()), ("linear", width));
    let (largest, others, rest) = found.largest(3);
    assert_eq!((largest.len(), others), (3, width - 3));
    assert!(largest.windows(2).all(|two| two[0].value.abs() >= two[1].value.abs()));
    let again: f64 = largest.iter().map(|term| term.value).sum::<f64>() + rest;
    assert!((again - found.sum).abs() < 1e-12);
}

#[test]
fn a_weight_that_was_changed_after_the_pass_is_noticed() {
    let mut model = load("llama-tiny");
    let (logits, trace) = traced(&model);
    let output = model.params.iter().map(|(id, spec)| (id, spec.name.clone()));
    let (id, _) = output.last().unwrap();
    let numbers = model.params.get_mut(id);
    numbers.iter_mut().for_each(|w| *w += 0.01);
    let explainer = Explainer::new(&trace, &model.params);
    let off = |found: &Explanation| found.ulps() > BOUND;
    let last = trace.steps.len() - 1;
    let mut all = (0..logits.rows_cols().1).map(|column| {
        let element = Element::Output { step: last, output: 0, row: 0, column };
        explainer.explain(element).unwrap()
    });
    assert!(all.any(|found| off(&found)));
}

#[test]
fn attention_weights_sum_to_one_over_the_keys_that_a_query_sees() {
    let model = load("mistral-tiny");
    let (_, trace) = traced(&model);
    let explainer = Explainer::new(&trace, &model.params);
    let step = trace.steps.iter().position(|step| {
        matches!(step.operation, limpid_tensor::tape::Operation::Attention { .. })
    });
    let step = step.unwrap();
    let weight =
        |query, key| explainer.explain(Element::AttentionWeight { step, head: 0, query, key });
    for query in 0..6 {
        let sum: f32 = (0..=query).filter_map(|key| weight(query, key).ok()).map(|w| w.value).sum();
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
        // The future, and the other sequence.
        for key in [query + 1, 7] {
            let refused = weight(query, key).unwrap_err();
            assert!(matches!(refused, Error::Inspect(InspectError::NoElement)), "{refused}");
        }
    }
}

#[test]
fn what_cannot_be_opened_is_refused() {
    let model = load("rnn-gru-additive");
    let (_, trace) = traced(&model);
    let explainer = Explainer::new(&trace, &model.params);
    let layer = trace
        .steps
        .iter()
        .position(|step| matches!(step.operation, limpid_tensor::tape::Operation::Recurrent(_)));
    let step = layer.unwrap();
    for part in [RecurrentPart::Gate(3), RecurrentPart::Cell, RecurrentPart::Query] {
        let element = Element::Recurrent { step, part, row: 0, column: 0 };
        let refused = explainer.explain(element).unwrap_err();
        assert!(matches!(refused, Error::Inspect(InspectError::NoElement)), "{refused}");
    }
    let beyond = Element::Output { step: 0, output: 0, row: 99, column: 0 };
    let refused = explainer.explain(beyond).unwrap_err();
    assert!(matches!(refused, Error::Inspect(InspectError::NoElement)), "{refused}");
}
