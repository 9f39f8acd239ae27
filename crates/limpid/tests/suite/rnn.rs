//! Recurrent layers and encoder-decoders against PyTorch, and what must hold of them whatever their
//! numbers.
//!
//! Outputs agree within 1e-5 of the largest of their tensor, gradients within 1e-4.

use limpid::data::batch::{Packed, PairBatch};
use limpid::generate::{
    BeamSearch, EarlyStopping, LengthPenalty, LogitsProcessor, NoObserver, RecurrentSession,
    Session, beam_search, greedy,
};
use limpid::hub;
use limpid::model::config::{Cell, Directions, RecurrentAttention, RecurrentConfig};
use limpid::model::{Model, Recurrent};
use limpid_tensor::kernels::recurrent::{Direction, TimeOrder};
use limpid_tensor::ops::{LossSpec, RecurrentState, RecurrentWeights};
use limpid_tensor::params::{Init, ParamId, Params};
use limpid_tensor::tape::{Gradients, Probe, Tape};
use limpid_tensor::tensor::Tensor;
use safetensors::SafeTensors;
use std::path::PathBuf;
use std::sync::Arc;

const MODELS: [&str; 7] = [
    "rnn-tanh-none",
    "rnn-lstm-none",
    "rnn-gru-dot",
    "rnn-lstm-dot",
    "rnn-gru-additive",
    "rnn-lstm-additive",
    "rnn-tanh-additive",
];

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures").join(name)
}

struct Expected(Vec<u8>);

impl Expected {
    fn load(name: &str) -> Self {
        Self(std::fs::read(folder(name).join("expected.safetensors")).unwrap())
    }

    fn tensor(&self, name: &str) -> Tensor {
        let tensors = SafeTensors::deserialize(&self.0).unwrap();
        let view = tensors.tensor(name).unwrap_or_else(|e| panic!("{name}: {e}"));
        let numbers: Vec<f32> =
            view.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        Tensor::new(limpid_tensor::tensor::Shape::new(view.shape()), &numbers)
    }

    fn ids(&self, name: &str) -> Vec<u32> {
        let tensors = SafeTensors::deserialize(&self.0).unwrap();
        let view = tensors.tensor(name).unwrap_or_else(|e| panic!("{name}: {e}"));
        view.data().as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b) as u32).collect()
    }

    fn sequences(&self, ids: &str, lengths: &str) -> Vec<Vec<u32>> {
        let ids = self.ids(ids);
        let mut rest = &ids[..];
        let cut = |len: u32| {
            let (now, later) = rest.split_at(len as usize);
            rest = later;
            now.to_vec()
        };
        self.ids(lengths).into_iter().map(cut).collect()
    }

    /// Within `bound` of the largest.
    #[track_caller]
    fn agrees(&self, name: &str, got: &[f32], bound: f32) {
        let want = self.tensor(name);
        let largest = want.data().iter().fold(1e-2_f32, |m, x| m.max(x.abs()));
        assert_eq!(got.len(), want.data().len(), "{name}: number of values");
        for (i, (got, want)) in got.iter().zip(want.data()).enumerate() {
            assert!(
                (got - want).abs() <= bound * largest,
                "{name}[{i}] is {got}, PyTorch has {want}"
            );
        }
    }
}

/// Parameters with the numbers that a fixture has for them.
fn layer_weights(
    expected: &Expected,
    name: &str,
    cell: Cell,
) -> (Params, Vec<Vec<RecurrentWeights>>) {
    let mut builder = Params::builder();
    let mut all: Vec<(String, ParamId)> = Vec::new();
    let mut layers = Vec::new();
    for l in 0..2 {
        let ways = ["", "_reverse"].map(|way| {
            let mut add = |part: &str| {
                let key = format!("{part}_l{l}{way}");
                let shape = expected.tensor(&format!("{name}.{key}")).shape();
                let id = builder.add(key.clone(), shape, Init::Zeros);
                all.push((key, id));
                id
            };
            let (w_ih, w_hh) = (add("weight_ih"), add("weight_hh"));
            RecurrentWeights { cell, w_ih, w_hh, b_ih: add("bias_ih"), b_hh: add("bias_hh") }
        });
        layers.push(ways.to_vec());
    }
    let mut params = builder.build(0);
    for (key, id) in all {
        params.get_mut(id).copy_from_slice(expected.tensor(&format!("{name}.{key}")).data());
    }
    (params, layers)
}

#[test]
fn two_layers_both_ways_give_pytorchs_outputs_states_and_gradients_for_every_cell() {
    let expected = Expected::load("recurrent-layers");
    let lengths = [3, 5, 1, 3];
    let packed = Packed::new(&lengths.map(|len| vec![0; len]));
    let order = Arc::new(TimeOrder::new(&packed.spans));
    for (name, cell) in [("tanh", Cell::Tanh), ("gru", Cell::Gru), ("lstm", Cell::Lstm)] {
        let (params, layers) = layer_weights(&expected, name, cell);
        let mut gradients = Gradients::new(&params);
        let mut tape = Tape::training(&params, &mut gradients);
        let get = |key: &str| expected.tensor(&format!("{name}.{key}"));
        let x = tape.leaf(get("x"));
        // (4, b, h): layer by layer, there and back.
        let part = |all: &Tensor, i: usize| {
            let (b, h) = (all.shape().dim(1), all.shape().dim(2));
            Tensor::new([b, h], &all.data()[i * b * h..(i + 1) * b * h])
        };
        let mut rows = tape.rows(&x, order.rows());
        let (mut firsts, mut lasts) = (Vec::new(), Vec::new());
        for (l, ways) in layers.iter().enumerate() {
            let mut sides = Vec::new();
            for (w, direction) in [Direction::Forward, Direction::Backward].into_iter().enumerate()
            {
                let h = tape.leaf(part(&get("h0"), 2 * l + w));
                let c = cell.has_cell_state().then(|| tape.leaf(part(&get("c0"), 2 * l + w)));
                let first = RecurrentState { h, c };
                let (y, last) = tape.recurrent(&rows, ways[w], direction, &order, &first);
                sides.push(y);
                firsts.push(first);
                lasts.push(last);
            }
            rows = tape.concat(&[&sides[0], &sides[1]]);
        }
        let y = tape.rows(&rows, order.back());
        expected.agrees(&format!("{name}.out.y"), y.data(), 1e-5);
        let all = |states: Vec<&[f32]>| states.concat();
        let h = all(lasts.iter().map(|last| last.h.data()).collect());
        expected.agrees(&format!("{name}.out.h"), &h, 1e-5);
        // The loss of the fixture: Σ y·dy + Σ h·dh + Σ c·dc.
        let mut loss = tape.weighted_sum(&y, &get("dy"));
        for (i, last) in lasts.iter().enumerate() {
            let term = tape.weighted_sum(&last.h, &part(&get("dh"), i));
            loss = tape.add(&loss, &term);
            if let Some(c) = &last.c {
                let term = tape.weighted_sum(c, &part(&get("dc"), i));
                loss = tape.add(&loss, &term);
            }
        }
        if cell.has_cell_state() {
            let c = all(lasts.iter().map(|last| last.c.as_ref().unwrap().data()).collect());
            expected.agrees(&format!("{name}.out.c"), &c, 1e-5);
        }
        tape.backward(&loss);
        let of = |id| gradients.of(id).expect("a gradient").data().to_vec();
        expected.agrees(&format!("{name}.out.dx"), &of(x.id().unwrap()), 1e-4);
        let dh0: Vec<f32> = firsts.iter().flat_map(|first| of(first.h.id().unwrap())).collect();
        expected.agrees(&format!("{name}.out.dh0"), &dh0, 1e-4);
        if cell.has_cell_state() {
            let dc0 = firsts.iter().flat_map(|first| of(first.c.as_ref().unwrap().id().unwrap()));
            expected.agrees(&format!("{name}.out.dc0"), &dc0.collect::<Vec<f32>>(), 1e-4);
        }
        for (id, spec) in params.iter() {
            let gradient = gradients.get(&params, id).unwrap();
            expected.agrees(&format!("{name}.out.d_{}", spec.name), gradient, 1e-4);
        }
    }
}

fn rnn(model: &Model) -> &Recurrent {
    model.recurrent().expect("a recurrent model")
}

fn load(name: &str) -> (Model, Expected, PairBatch) {
    let (model, warnings) = hub::load(&folder(name)).unwrap();
    assert_eq!(warnings, []);
    let expected = Expected::load(name);
    let sources = expected.sequences("source_ids", "source_lengths");
    let targets = expected.sequences("target_ids", "target_lengths");
    let pairs: Vec<_> = sources.into_iter().zip(targets).collect();
    let batch = PairBatch::new(&pairs, rnn(&model).config().decoder_start_token_id);
    (model, expected, batch)
}

#[test]
fn models_of_every_cell_and_attention_give_pytorchs_logits_loss_and_gradients() {
    for name in MODELS {
        let (model, expected, batch) = load(name);
        let mut tape = Tape::inference(&model.params);
        let translator = model.stack.translator().unwrap();
        let logits = translator.scores(&mut tape, &batch.source, &batch.input);
        expected.agrees("logits", logits.data(), 1e-5);
        let weight = 1.0 / batch.targets.len() as f32;
        let loss = rnn(&model).loss(&mut tape, &batch, LossSpec { smoothing: 0.0, weight });
        expected.agrees("loss", loss.data(), 1e-5);
        let mut gradients = Gradients::new(&model.params);
        let mut tape = Tape::training(&model.params, &mut gradients);
        let loss = rnn(&model).loss(&mut tape, &batch, LossSpec { smoothing: 0.1, weight });
        tape.backward(&loss);
        for file in &hub::file_tensors(&model).unwrap() {
            let gradient = gradients.get(&model.params, file.param);
            let gradient =
                gradient.unwrap_or_else(|| panic!("{name}: {} received no gradient", file.name));
            expected.agrees(&format!("grad.{}", file.name), gradient, 1e-4);
        }
    }
}

#[test]
fn greedy_translation_gives_pytorchs_tokens_in_a_batch_and_alone() {
    for name in MODELS {
        let (model, expected, _) = load(name);
        let sources = expected.sequences("source_ids", "source_lengths");
        let want: Vec<Vec<u32>> = expected
            .sequences("greedy", "greedy_lengths")
            .into_iter()
            .map(|tokens| tokens.into_iter().take_while(|t| *t != 1).collect())
            .collect();
        let translate = |sources: &[Vec<u32>]| {
            let mut session = RecurrentSession::new(rnn(&model), &model.params, sources, 20);
            let starts = vec![vec![0]; sources.len()];
            greedy(&mut session, &starts, Some(1), &[], &vec![12; sources.len()]).unwrap()
        };
        assert_eq!(translate(&sources), want, "{name}");
        for (source, want) in sources.iter().zip(want) {
            assert_eq!(translate(std::slice::from_ref(source)), [want], "{name}");
        }
    }
}

#[derive(Default)]
struct Weights(Vec<Tensor>);

impl Probe for Weights {
    fn wants(&self, name: &str) -> bool {
        name.ends_with("cross_attention.weights")
    }
    fn take(&mut self, _: &str, value: &Tensor) {
        self.0.push(value.clone());
    }
}

#[test]
fn a_probe_sees_pytorchs_attention_and_none_where_there_is_none() {
    for name in MODELS {
        let (model, expected, _) = load(name);
        let source = expected.sequences("source_ids", "source_lengths").swap_remove(2);
        let target = expected.sequences("target_ids", "target_lengths").swap_remove(2);
        let batch = PairBatch::new(&[(source, target)], 0);
        let mut probe = Weights::default();
        let mut tape = Tape::inference(&model.params).with_probe(&mut probe);
        model.stack.translator().unwrap().scores(&mut tape, &batch.source, &batch.input);
        drop(tape);
        if name.ends_with("none") {
            assert!(probe.0.is_empty(), "{name}");
        } else {
            assert_eq!(probe.0.len(), 1, "{name}");
            expected.agrees("attention", probe.0[0].data(), 1e-5);
        }
    }
}

#[test]
fn a_saved_model_is_byte_for_byte_the_loaded_one() {
    for name in MODELS {
        let (model, ..) = load(name);
        let saved = std::env::temp_dir().join(format!("limpid-{name}-{}", std::process::id()));
        hub::save(&model, &saved).unwrap();
        for file in ["config.json", "generation_config.json", "model.safetensors"] {
            let (ours, theirs) =
                (std::fs::read(saved.join(file)), std::fs::read(folder(name).join(file)));
            assert!(ours.unwrap() == theirs.unwrap(), "{name}: {file} differs");
        }
        std::fs::remove_dir_all(&saved).unwrap();
    }
}

/// Every cell and attention, one way and both, of two layers.
fn models() -> Vec<Model> {
    let mut all = Vec::new();
    for cell in [Cell::Tanh, Cell::Gru, Cell::Lstm] {
        for attention in
            [RecurrentAttention::None, RecurrentAttention::Dot, RecurrentAttention::Additive]
        {
            for directions in [Directions::Forward, Directions::Bidirectional] {
                let usual = RecurrentConfig::new(53, cell, attention, 2, 24);
                let config =
                    RecurrentConfig { directions, attention_size: 18, max_length: 40, ..usual };
                all.push(Model::new(&config, 5).unwrap());
            }
        }
    }
    all
}

fn sequences(seed: u32, lengths: &[usize]) -> Vec<Vec<u32>> {
    let token = |i: usize, j: usize| (seed * 31 + i as u32 * 17 + j as u32 * 13) % 51 + 2;
    lengths.iter().enumerate().map(|(i, len)| (0..*len).map(|j| token(i, j)).collect()).collect()
}

#[track_caller]
fn same_row(got: &[f32], want: &[f32]) {
    let largest = want.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() <= 1e-5 * largest, "{got} is not {want}");
    }
}

#[test]
fn a_prompt_in_one_pass_or_token_by_token_gives_the_same_scores() {
    for model in models() {
        let sources = sequences(1, &[6, 3]);
        let prompts = sequences(2, &[5, 5]);
        let session = || RecurrentSession::new(rnn(&model), &model.params, &sources, 30);
        let (mut at_once, mut one_by_one) = (session(), session());
        let want = at_once.advance(&prompts);
        let step = |j: usize| prompts.iter().map(|prompt| vec![prompt[j]]).collect::<Vec<_>>();
        let got = (0..5).map(|j| one_by_one.advance(&step(j))).last().unwrap();
        (0..2).for_each(|i| same_row(got.row(i), want.row(i)));
    }
}

#[test]
fn sequences_can_be_dropped_doubled_and_reordered_while_decoding() {
    for model in models() {
        let sources = sequences(6, &[3, 11, 5]);
        let session = || RecurrentSession::new(rnn(&model), &model.params, &sources, 30);
        let (mut plain, mut selected) = (session(), session());
        let tokens = [vec![0, 4], vec![0, 9, 2], vec![0]];
        plain.advance(&tokens);
        selected.advance(&tokens);
        selected.select(&[2, 0, 2]);
        let want = plain.advance(&[vec![7], vec![8], vec![9]]);
        let got = selected.advance(&[vec![9], vec![7], vec![9]]);
        same_row(got.row(0), want.row(2));
        same_row(got.row(1), want.row(0));
        same_row(got.row(2), want.row(2));
    }
}

#[test]
fn one_beam_is_greedy_search_and_the_score_of_a_beam_is_that_of_its_tokens_read_as_a_whole() {
    for model in models() {
        let sources = sequences(3, &[4, 9]);
        let search = |num_beams: usize| {
            let mut session = RecurrentSession::new(rnn(&model), &model.params, &sources, 30);
            // Sums of log-probabilities.
            let settings = BeamSearch {
                num_beams,
                length_penalty: LengthPenalty::Power(0.0),
                early_stopping: EarlyStopping::Never,
                num_return_sequences: num_beams,
            };
            let (starts, processor) = (vec![vec![0]; 2], LogitsProcessor::default());
            beam_search(&mut session, &starts, &[8, 8], &settings, &processor, &mut NoObserver)
                .unwrap()
        };
        let mut session = RecurrentSession::new(rnn(&model), &model.params, &sources, 30);
        let want = greedy(&mut session, &vec![vec![0]; 2], None, &[], &[8, 8]).unwrap();
        let one: Vec<Vec<u32>> =
            search(1).into_iter().map(|mut best| best.remove(0).tokens).collect();
        assert_eq!(one, want);
        for (source, found) in sources.iter().zip(search(4)) {
            for hypothesis in found {
                let batch = PairBatch::new(&[(source.clone(), hypothesis.tokens.clone())], 0);
                let mut tape = Tape::inference(&model.params);
                let spec = LossSpec { smoothing: 0.0, weight: 1.0 };
                let sum = -rnn(&model).loss(&mut tape, &batch, spec).data()[0];
                assert!((sum - hypothesis.score).abs() < 1e-3, "{sum} is not {}", hypothesis.score);
            }
        }
    }
}

#[test]
fn without_attention_the_source_reaches_the_decoder_through_its_first_state_alone() {
    for model in models().iter().filter(|m| rnn(m).config().attention == RecurrentAttention::None) {
        let mut tape = Tape::inference(&model.params);
        let sources = sequences(4, &[7, 2]);
        let memories = [0, 1].map(|i| rnn(model).encode(&mut tape, &Packed::new(&[&sources[i]])));
        assert!(memories.iter().all(|memory| memory.source.is_none()));
        // Two sources, one state: nothing is left to tell them apart.
        let input = Packed::new(&[vec![0, 5, 9]]);
        let decode = |tape: &mut Tape, memory: usize, states: usize| {
            let source = memories[memory].source.as_ref();
            rnn(model).decode(tape, &input, source, &memories[states].states).0.data().to_vec()
        };
        assert_eq!(decode(&mut tape, 0, 0), decode(&mut tape, 1, 0));
        assert_ne!(decode(&mut tape, 0, 0), decode(&mut tape, 0, 1));
    }
}

#[test]
fn a_step_has_the_same_bits_at_any_number_of_threads() {
    // Wide enough, with enough sequences, that the products of a single step are split.
    let wide = [(Cell::Gru, RecurrentAttention::Additive), (Cell::Lstm, RecurrentAttention::Dot)]
        .map(|(cell, attention)| {
            let usual = RecurrentConfig::new(53, cell, attention, 2, 128);
            Model::new(&RecurrentConfig { directions: Directions::Bidirectional, ..usual }, 5)
                .unwrap()
        });
    let small = models().into_iter().map(|model| (model, 4));
    for (model, count) in small.chain(wide.map(|model| (model, 40))) {
        let lengths = |step: usize| (0..count).map(|i| 1 + i * step % 19).collect::<Vec<_>>();
        let pairs: Vec<_> =
            sequences(7, &lengths(7)).into_iter().zip(sequences(8, &lengths(5))).collect();
        let batch = PairBatch::new(&pairs, 0);
        let run = |threads: usize| {
            limpid_tensor::team::set_threads(threads);
            let mut gradients = Gradients::new(&model.params);
            let mut tape = Tape::training(&model.params, &mut gradients);
            let loss =
                rnn(&model).loss(&mut tape, &batch, LossSpec { smoothing: 0.1, weight: 0.1 });
            let value = loss.data()[0];
            tape.backward(&loss);
            (value.to_bits(), gradients.flat().iter().map(|g| g.to_bits()).collect::<Vec<u32>>())
        };
        let one = run(1);
        assert!(one == run(2) && one == run(5));
    }
}
