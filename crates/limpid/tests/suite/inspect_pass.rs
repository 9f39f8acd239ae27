//! A pass that was kept: its catalogue, edits against weights changed by hand, pooled attention
//! against all weights, and the logit lens. The models are PyTorch's fixtures.

use limpid::error::{Error, InspectError};
use limpid::hub;
use limpid::inspect::{
    self, AttentionSite, ForwardPass, HeadChoice, PassInput, Replacement, Role, Site, SiteEdit,
    StackName,
};
use limpid::model::{Model, Stack};
use safetensors::SafeTensors;
use std::path::PathBuf;

fn load(name: &str) -> Model {
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures");
    hub::load(&fixtures.join(name)).unwrap().0
}

fn input(model: &Model) -> PassInput {
    let vocab = model.stack.vocab_size() as u32;
    let ids = |start: u32, len: u32| (0..len).map(|i| (start + 3 * i) % vocab).collect::<Vec<_>>();
    match &model.stack {
        Stack::Decoder(_) => PassInput::Tokens(ids(5, 7)),
        Stack::Encoder(_) => PassInput::Text((ids(5, 7), vec![0; 7])),
        _ => PassInput::Pair { source: ids(5, 7), target: ids(2, 5) },
    }
}

fn run(model: &Model, edits: &[SiteEdit]) -> ForwardPass {
    ForwardPass::run(&model.stack, (&model.params).into(), &input(model), edits).unwrap()
}

fn bits(pass: &ForwardPass) -> Vec<u32> {
    pass.logits.as_ref().unwrap().data().iter().map(|z| z.to_bits()).collect()
}

const ALL: [&str; 9] = [
    "gpt2-tiny",
    "gpt1-tiny",
    "llama-tiny",
    "neox-tiny",
    "bert-mlm",
    "marian-tiny",
    "bart-tiny",
    "t5-gated",
    "mistral-tiny",
];

#[test]
fn every_layer_has_its_attention_and_its_stream() {
    for name in ALL {
        let model = load(name);
        let pass = run(&model, &[]);
        let (attentions, streams) = match &model.stack {
            Stack::Decoder(m) => {
                let layers = m.config().num_hidden_layers;
                (layers, layers + 1)
            }
            Stack::Encoder(m) => {
                let layers = m.config().num_hidden_layers;
                (layers, layers + 1)
            }
            Stack::EncoderDecoder(m) => {
                let (e, d) = (m.config().encoder_layers, m.config().decoder_layers);
                (e + 2 * d, e + d + 2)
            }
            Stack::Recurrent(_) => unreachable!("none among them"),
        };
        assert_eq!(pass.attentions().len(), attentions, "{name}");
        assert_eq!(pass.streams().len(), streams, "{name}");
        let tensors = pass.tensors(&model.params);
        for role in [Role::Embedding, Role::Heads, Role::FeedForwardDown, Role::Logits] {
            assert!(tensors.iter().any(|tensor| tensor.role == role), "{name}: no {role:?}");
        }
        // Every tensor of a layer belongs to its stack, and rows of a sequence to that sequence.
        for tensor in &tensors {
            if matches!(tensor.role, Role::Heads | Role::FeedForwardDown) {
                assert!(tensor.stack.is_some() && tensor.layer.is_some(), "{name}: {tensor:?}");
                assert!(tensor.of.is_some(), "{name}: {tensor:?}");
            }
        }
    }
}

#[test]
fn a_pass_without_edits_has_the_bits_of_one_with_edits_that_change_nothing() {
    for name in ALL {
        let model = load(name);
        let pass = run(&model, &[]);
        let mut edits = Vec::new();
        for place in pass.attentions() {
            let site = Site::Head { attention: place.site, head: 0 };
            let rows = pass.rows_of(&site).unwrap();
            edits.push(SiteEdit { site, to: Replacement::Rows(rows) });
        }
        for place in pass.attentions().iter().filter(|place| !place.site.cross) {
            let (stack, layer) = (place.site.stack, place.site.layer);
            let site = Site::FeedForward { stack, layer };
            let rows = pass.rows_of(&site).unwrap();
            edits.push(SiteEdit { site, to: Replacement::Rows(rows) });
        }
        assert_eq!(bits(&pass), bits(&run(&model, &edits)), "{name}");
        for place in pass.streams() {
            let (stack, layer) = (place.stack, place.layer);
            let site = Site::Stream { stack, layer, position: Some(1) };
            let rows = pass.rows_of(&site).unwrap();
            let edited = run(&model, &[SiteEdit { site, to: Replacement::Rows(rows) }]);
            // A sum is rounded before the norm instead of within it: nearly the same bits.
            let both = pass.logits.iter().zip(&edited.logits);
            for (a, b) in both.flat_map(|(a, b)| a.data().iter().zip(b.data())) {
                assert!((a - b).abs() < 1e-4, "{name}: {a} {b}");
            }
        }
    }
}

/// Sets the columns of a head in the output projection to 0: the head adds nothing any more.
fn without_head(model: &mut Model, param: &str, head: usize, width: usize) {
    let id = model.params.iter().find(|(_, spec)| spec.name == param).unwrap().0;
    let columns = model.params.shape(id).dim(1);
    for row in model.params.get_mut(id).chunks_exact_mut(columns) {
        row[head * width..(head + 1) * width].fill(0.0);
    }
}

#[test]
fn a_head_that_is_switched_off_adds_nothing_as_if_its_projection_were_zero() {
    let cases = [
        ("gpt2-tiny", StackName::Layers, false, "layers.1.self_attention.out.weight"),
        ("bert-mlm", StackName::Layers, false, "layers.0.self_attention.out.weight"),
        ("marian-tiny", StackName::Decoder, true, "decoder.layers.0.cross_attention.out.weight"),
        ("marian-tiny", StackName::Encoder, false, "encoder.layers.0.self_attention.out.weight"),
    ];
    for (name, stack, cross, param) in cases {
        let mut model = load(name);
        let layer = param.split('.').find_map(|part| part.parse().ok()).unwrap();
        let attention = AttentionSite { stack, layer, cross };
        let plain = run(&model, &[]);
        let site = Site::Head { attention, head: 1 };
        let off = run(&model, &[SiteEdit { site, to: Replacement::Zero }]);
        assert_ne!(bits(&plain), bits(&off), "{name}: the head does nothing");
        let places = plain.attentions();
        let width = places.iter().find(|place| place.site == attention).unwrap().head_dim;
        without_head(&mut model, param, 1, width);
        let want = run(&model, &[]);
        let (off, want) = (off.logits.unwrap(), want.logits.unwrap());
        for (a, b) in off.data().iter().zip(want.data()) {
            assert!((a - b).abs() < 1e-5, "{name}: {a} {b}");
        }
    }
}

#[test]
fn a_mean_is_the_same_for_every_token_and_a_position_alone_can_be_patched() {
    let model = load("gpt2-tiny");
    let plain = run(&model, &[]);
    let (stack, layer) = (StackName::Layers, Some(0));
    let all = Site::Stream { stack, layer, position: None };
    let pass = run(&model, &[SiteEdit { site: all.clone(), to: Replacement::Mean }]);
    let rows = pass.rows_of(&all).unwrap();
    assert!((1..7).all(|i| rows.row(i) == rows.row(0)));
    let before = plain.rows_of(&all).unwrap();
    for (column, mean) in rows.row(0).iter().enumerate() {
        let sum: f64 = (0..7).map(|i| f64::from(before.row(i)[column])).sum();
        assert!((sum / 7.0 - f64::from(*mean)).abs() < 1e-6);
    }
    let one = Site::Stream { stack, layer, position: Some(4) };
    let pass = run(&model, &[SiteEdit { site: one, to: Replacement::Zero }]);
    let rows = pass.rows_of(&all).unwrap();
    assert!(rows.row(4).iter().all(|x| *x == 0.0) && rows.row(3) == before.row(3));
    // The past does not depend on it.
    let (a, b) = (plain.logits.unwrap(), pass.logits.unwrap());
    assert_eq!(a.row(3), b.row(3));
    assert_ne!(a.row(4), b.row(4));
}

#[test]
fn an_edit_of_a_place_that_is_not_there_is_refused_by_name() {
    let model = load("gpt2-tiny");
    let stack = StackName::Layers;
    let attention = |layer| AttentionSite { stack, layer, cross: false };
    for (site, named) in [
        (Site::Head { attention: attention(99), head: 0 }, "layers.99"),
        (Site::Head { attention: attention(0), head: 99 }, "head 99"),
        (Site::FeedForward { stack: StackName::Encoder, layer: 0 }, "encoder.0"),
        (Site::Stream { stack, layer: Some(0), position: Some(99) }, "layers.0"),
    ] {
        let edits = [SiteEdit { site, to: Replacement::Zero }];
        let weights = (&model.params).into();
        let Err(refused) = ForwardPass::run(&model.stack, weights, &input(&model), &edits) else {
            panic!("{named} is there")
        };
        assert!(matches!(refused, Error::Inspect(InspectError::NoSite { .. })), "{refused}");
        assert!(refused.to_string().contains(named), "{refused}");
    }
}

#[test]
fn thumbnails_and_tiles_are_the_largest_weights_of_their_parts() {
    for name in ["mistral-tiny", "bert-mlm", "t5-gated", "rnn-gru-additive"] {
        let model = load(name);
        let pass = run(&model, &[]);
        for (index, place) in pass.attentions().iter().enumerate() {
            let weights = pass.weights(index, &model.params).unwrap();
            assert_eq!((weights.queries, weights.keys), (place.t, place.s), "{name}");
            let (t, s) = (place.t, place.s);
            let full = |head: usize| {
                let mut all = vec![0.0; t * s];
                weights.rows(&mut all, head, 0..t);
                all
            };
            let size = 3;
            let grids = inspect::thumbnails(&weights, size);
            assert_eq!(grids.len(), place.heads);
            for (head, grid) in grids.iter().enumerate() {
                let all = full(head);
                assert_eq!((grid.rows, grid.columns), (t.min(size), s.min(size)));
                for i in 0..grid.rows {
                    for j in 0..grid.columns {
                        let rows = i * t / grid.rows..(i + 1) * t / grid.rows;
                        let largest = rows
                            .flat_map(|r| {
                                let keys = j * s / grid.columns..(j + 1) * s / grid.columns;
                                keys.map(move |c| r * s + c)
                            })
                            .map(|at| all[at])
                            .fold(0.0, f32::max);
                        assert_eq!(grid.data[i * grid.columns + j], largest, "{name} {head}");
                    }
                }
                let exact = inspect::tile(&weights, HeadChoice::Head(head), 0, [1..t, 0..s]);
                assert_eq!(exact.data, all[s..], "{name}: level 0 is every weight");
                let half = inspect::tile(&weights, HeadChoice::Head(head), 1, [0..99, 0..99]);
                assert_eq!((half.rows, half.columns), (t.div_ceil(2), s.div_ceil(2)));
                let corner = [all[0], all[1], all[s], all[s + 1]];
                assert_eq!(half.data[0], corner.into_iter().fold(0.0, f32::max));
            }
            let mean = inspect::tile(&weights, HeadChoice::Mean, 0, [0..t, 0..s]);
            for (at, value) in mean.data.iter().enumerate() {
                let sum: f32 = (0..place.heads).map(|head| full(head)[at]).sum();
                assert!((sum / place.heads as f32 - value).abs() < 1e-6);
            }
        }
    }
}

#[test]
fn the_lens_of_the_last_layer_is_what_the_model_predicts() {
    for name in ["gpt2-tiny", "gpt1-tiny", "llama-tiny", "marian-tiny", "t5-gated", "neox-tiny"] {
        let model = load(name);
        let pass = run(&model, &[]);
        let weights = (&model.params).into();
        let lens = inspect::pass_lens(&pass, &model.stack, weights, 5).unwrap();
        let predicted = pass.predictions(5);
        let last = lens.cells.last().unwrap();
        assert_eq!(last.len(), predicted.len(), "{name}");
        for (cell, want) in last.iter().zip(&predicted) {
            for (a, b) in cell.top.iter().zip(&want.top) {
                assert!((a.probability - b.probability).abs() < 1e-5, "{name}: {a:?} {b:?}");
            }
            assert_eq!(cell.next_rank, want.chosen.map(|chosen| chosen.rank), "{name}");
        }
        assert_eq!(lens.layers[0], None, "{name}: the embeddings come first");
    }
    let bert = load("bert-mlm");
    let refused =
        inspect::pass_lens(&run(&bert, &[]), &bert.stack, (&bert.params).into(), 3).unwrap_err();
    assert!(matches!(refused, Error::Inspect(InspectError::NoLens { .. })), "{refused}");
}

#[test]
fn a_causal_head_of_equal_scores_is_diffuse_and_the_first_token_sees_itself() {
    let mut model = load("gpt2-tiny");
    let id =
        model.params.iter().find(|(_, spec)| spec.name.ends_with("0.self_attention.qkv.weight"));
    let id = id.unwrap().0;
    model.params.get_mut(id).fill(0.0);
    let bias =
        model.params.iter().find(|(_, spec)| spec.name.ends_with("0.self_attention.qkv.bias"));
    let bias = bias.unwrap().0;
    model.params.get_mut(bias).fill(0.0);
    let pass = run(&model, &[]);
    let weights = pass.weights(0, &model.params).unwrap();
    for head in inspect::head_summary(&weights) {
        assert_eq!(head.role, inspect::HeadRole::Diffuse);
        // ln 1, ln 2, … ln 7.
        let want = (1..=7).map(|n| f64::from(n).ln()).sum::<f64>() / 7.0;
        assert!((head.entropy - want).abs() < 1e-6, "{}", head.entropy);
    }
}

/// Tensors that `transformers` has computed (`reference/make_inspect.py`).
fn expected(name: &str) -> impl Fn(&str) -> Vec<f32> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures/inspect");
    let bytes = std::fs::read(root.join(format!("{name}.safetensors"))).unwrap();
    move |key| {
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let tensor = file.tensor(key).unwrap_or_else(|e| panic!("{key}: {e}"));
        let numbers = tensor.data().as_chunks::<4>().0;
        numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }
}

#[track_caller]
fn agree(what: &str, got: &[f32], want: &[f32]) {
    assert_eq!(got.len(), want.len(), "{what}");
    let largest = want.iter().fold(1.0_f32, |m, x| m.max(x.abs()));
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= 1e-5 * largest, "{what}[{i}] is {got}, not {want}");
    }
}

#[test]
fn attention_streams_and_a_head_switched_off_are_those_of_transformers() {
    let ids = || vec![5, 8, 11, 14, 17, 20, 23];
    for (name, input, stack, cross, layer) in [
        ("gpt2-tiny", PassInput::Tokens(ids()), StackName::Layers, false, 1),
        ("bert-mlm", PassInput::Text((ids(), vec![0; 7])), StackName::Layers, false, 1),
        (
            "marian-tiny",
            PassInput::Pair { source: ids(), target: vec![2, 5, 8, 11] },
            StackName::Decoder,
            true,
            0,
        ),
    ] {
        let (model, want) = (load(name), expected(name));
        let weights = || (&model.params).into();
        let pass = ForwardPass::run(&model.stack, weights(), &input, &[]).unwrap();
        for (index, place) in pass.attentions().iter().enumerate() {
            let found = pass.weights(index, &model.params).unwrap();
            let mut all = vec![0.0; place.heads * place.t * place.s];
            for (head, all) in all.chunks_exact_mut(place.t * place.s).enumerate() {
                found.rows(all, head, 0..place.t);
            }
            let key = format!("attention.{index}");
            agree(&format!("{name}: {key}"), &all, &want(&key));
        }
        // Its last hidden state has gone through the final norm of a pre-norm model.
        let streams = pass.streams();
        let last = if name == "gpt2-tiny" { streams.len() - 1 } else { streams.len() };
        for (i, place) in streams.iter().enumerate().take(last) {
            let stream = &pass.trace.steps[place.step].outputs[place.output];
            let key = format!("hidden.{i}");
            agree(&format!("{name}: {key}"), stream.data(), &want(&key));
        }
        agree(name, pass.logits.as_ref().unwrap().data(), &want("logits"));
        let attention = AttentionSite { stack, layer, cross };
        let site = Site::Head { attention, head: 1 };
        let edits = [SiteEdit { site, to: Replacement::Zero }];
        let off = ForwardPass::run(&model.stack, weights(), &input, &edits).unwrap();
        agree(&format!("{name} without a head"), off.logits.unwrap().data(), &want("without_head"));
    }
}
