//! Departures from the usual Transformer, each shown to be what it says by comparing it with a
//! usual model whose numbers were changed.

use limpid::data::batch::{LmBatch, Packed};
use limpid::hub;
use limpid::model::config::{DecoderConfig, EncoderDecoderConfig};
use limpid::model::{Decoder, EncoderDecoder, Model, Stack};
use limpid::nn::{
    Bias, FeedForwardKind, LayerOptions, NormPlacement, Normalization, Positions, Residual, Scaling,
};
use limpid::optim::AdamConfig;
use limpid::optim::Optimizer;
use limpid_tensor::kernels::positions::{SinusoidLayout, sinusoid_table};
use limpid_tensor::ops::LossSpec;
use limpid_tensor::tape::Tape;

const V: usize = 31;
const C: usize = 24;
const LONGEST: usize = 20;

fn config(norm: NormPlacement, change: impl FnOnce(&mut LayerOptions)) -> DecoderConfig {
    let mut config = DecoderConfig { norm, ..DecoderConfig::gpt2(V, LONGEST, 2, 3, C) };
    change(&mut config.options);
    config
}

fn gpt(model: &Model) -> &Decoder {
    let Stack::Decoder(gpt) = &model.stack else { panic!("a GPT") };
    gpt
}

fn translator(model: &Model) -> &EncoderDecoder {
    let Stack::EncoderDecoder(seq2seq) = &model.stack else { panic!("a translator") };
    seq2seq
}

/// The same numbers wherever two models have a parameter of the same name; larger ones than fresh
/// models have.
fn like(mut model: Model, other: &Model) -> Model {
    let ids: Vec<_> = model.params.iter().map(|(id, spec)| (id, spec.name.clone())).collect();
    for (id, name) in ids {
        if let Some(from) = other.params.find(&name) {
            model.params.get_mut(id).copy_from_slice(other.params.get(from));
        }
    }
    model
}

fn usual() -> Model {
    let mut model = Model::new(config(NormPlacement::Pre, |_| ()), 3).unwrap();
    model.params.flat_mut().iter_mut().for_each(|x| *x *= 4.0);
    model
}

fn logits(model: &Model) -> Vec<f32> {
    let input = Packed::new(&[vec![4_u32, 8, 15, 16, 23, 4], vec![30, 2, 2]]);
    let mut tape = Tape::inference(&model.params);
    let hidden = gpt(model).hidden(&mut tape, &input, None);
    gpt(model).logits(&mut tape, &hidden).data().to_vec()
}

#[track_caller]
fn close(a: &[f32], b: &[f32], by: f32) {
    let far = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(a.len() == b.len() && far < by, "they differ by up to {far}");
}

fn differ(a: &[f32], b: &[f32]) -> bool {
    a.iter().zip(b).any(|(a, b)| (a - b).abs() > 1e-2)
}

#[test]
fn computed_positions_are_a_learned_table_with_those_numbers() {
    let base = usual();
    let mut waves = vec![0.0; LONGEST * C];
    sinusoid_table(&mut waves, C, SinusoidLayout::Split);
    waves.iter_mut().for_each(|x| *x *= 0.02 * std::f32::consts::SQRT_2);
    let one = 0.02 * (C as f32).sqrt();
    let identity: Vec<f32> =
        (0..LONGEST * C).map(|at| if at / C == at % C { one } else { 0.0 }).collect();
    for (positions, table) in [
        (Positions::Sinusoidal, waves),
        (Positions::OneHot, identity),
        (Positions::None, vec![0.0; LONGEST * C]),
    ] {
        let config = config(NormPlacement::Pre, |v| v.positions = positions);
        let model = like(Model::new(&config, 1).unwrap(), &base);
        let mut learned = usual();
        let id = learned.params.find("position_embedding.weight").unwrap();
        learned.params.get_mut(id).copy_from_slice(&table);
        close(&logits(&model), &logits(&learned), 1e-6);
        assert!(differ(&logits(&model), &logits(&base)), "{positions:?} changes nothing");
        assert_eq!(model.params.count(), base.params.count() - LONGEST * C);
    }
}

#[test]
fn without_scaling_queries_are_larger_by_the_root_of_the_heads_width() {
    let base = usual();
    let config = config(NormPlacement::Pre, |v| v.scaling = Scaling::None);
    let mut model = like(Model::new(&config, 1).unwrap(), &base);
    assert!(differ(&logits(&model), &logits(&base)));
    let by = 1.0 / ((C / 3) as f32).sqrt();
    let names: Vec<_> =
        model.params.iter().filter(|(_, s)| s.name.contains("qkv")).map(|(id, _)| id).collect();
    for id in names {
        // The first third of the rows makes queries.
        let numbers = model.params.get_mut(id);
        let third = numbers.len() / 3;
        numbers[..third].iter_mut().for_each(|x| *x *= by);
    }
    close(&logits(&model), &logits(&base), 1e-4);
}

#[test]
fn without_residuals_a_layer_that_makes_zeros_forgets_everything() {
    for norm in [NormPlacement::Pre, NormPlacement::Post] {
        for residual in [Residual::Added, Residual::None] {
            let mut model = Model::new(config(norm, |v| v.residual = residual), 1).unwrap();
            let last = model.params.find("layers.1.ffn.down.weight").unwrap();
            model.params.get_mut(last).fill(0.0);
            let zeros = logits(&model).iter().all(|x| *x == 0.0);
            assert_eq!(zeros, residual == Residual::None, "{norm:?}");
        }
    }
}

#[test]
fn fresh_batch_statistics_change_nothing_and_no_norm_has_no_parameters() {
    for norm in [NormPlacement::Pre, NormPlacement::Post] {
        let make = |kind| Model::new(config(norm, |v| v.normalization = kind), 1).unwrap();
        let none = make(Normalization::None);
        assert!(none.params.iter().all(|(_, spec)| !spec.name.contains("norm")));
        // Mean 0, variance 1, γ 1 and β 0: x / √(1 + 1e-5).
        let batch = like(make(Normalization::Batch), &none);
        close(&logits(&batch), &logits(&none), 1e-4);
        let layer = like(make(Normalization::Layer), &none);
        assert!(differ(&logits(&layer), &logits(&none)));
    }
}

#[test]
fn every_variant_learns_and_comes_back_from_its_folder_with_the_same_bits() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("variants");
    let batch = LmBatch::new(&[vec![1_u32, 2, 3, 4, 5, 6, 7, 8, 9], vec![1, 3, 5, 7, 9, 11]]);
    let changes: [fn(&mut LayerOptions); 9] = [
        |v| v.positions = Positions::OneHot,
        |v| v.positions = Positions::None,
        |v| v.positions = Positions::Rotary,
        |v| v.normalization = Normalization::Rms,
        |v| v.scaling = Scaling::SqrtWidthByLayer,
        |v| v.normalization = Normalization::Batch,
        |v| v.normalization = Normalization::None,
        |v| v.residual = Residual::None,
        |v| v.scaling = Scaling::None,
    ];
    for norm in [NormPlacement::Pre, NormPlacement::Post] {
        for change in changes {
            let config = config(norm, change);
            let mut model = Model::new(&config, 7).unwrap();
            let mut optimizer = Optimizer::new(&model.params, AdamConfig::default(), 1);
            let spec = LossSpec { smoothing: 0.0, weight: 1.0 / 13.0 };
            let mut losses = Vec::new();
            for _ in 0..60 {
                let gpt = gpt(&model).clone();
                let report = optimizer
                    .step(&mut model.params, 1e-2, None, |t| gpt.loss(t, &batch, spec))
                    .unwrap();
                losses.push(report.loss);
            }
            let variant = config.options;
            assert!(
                losses[59] < 0.7 * losses[0],
                "{norm:?} {variant:?}: {} -> {}",
                losses[0],
                losses[59]
            );
            hub::save(&model, &folder).unwrap();
            let written = std::fs::read_to_string(folder.join("config.json")).unwrap();
            // Two of them with norms before the sub-layers are models of others.
            let model_type = match (norm, variant.positions, variant.scaling) {
                (NormPlacement::Pre, Positions::Rotary, _) => "gpt_neox",
                (NormPlacement::Pre, _, Scaling::SqrtWidthByLayer) => "gpt2",
                _ => "limpid-gpt",
            };
            let model_type = format!("\"model_type\": \"{model_type}\"");
            assert!(written.contains(&model_type), "{written}");
            let (again, warnings) = hub::load(&folder).unwrap();
            assert_eq!(warnings, []);
            assert_eq!(gpt(&again).config(), &config);
            assert_eq!(logits(&again), logits(&model));
        }
    }
}

/// RMS norms, rotary positions and gates are Llama's, with biases or without; other mixtures of its
/// parts are ours.
#[test]
fn a_later_decoder_is_saved_as_the_family_that_can_hold_it() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("later-decoders");
    let llama = DecoderConfig::llama(V, LONGEST, 2, [4, 2], [C, 40]);
    let mut with_biases = llama.clone();
    with_biases.variant.attention.qkv_bias = Bias::Added;
    with_biases.variant.attention.out_bias = Bias::Added;
    with_biases.variant.ffn_bias = Bias::Added;
    let mut gated = config(NormPlacement::Pre, |_| ());
    gated.variant.feed_forward = FeedForwardKind::Gated;
    let mut grouped = config(NormPlacement::Pre, |v| v.positions = Positions::Rotary);
    grouped.variant.attention.kv_heads = Some(1);
    let cases = [(llama, "llama"), (with_biases, "llama"), (gated, "limpid-gpt")];
    for (config, model_type) in cases.into_iter().chain([(grouped, "limpid-gpt")]) {
        let model = Model::new(&config, 7).unwrap();
        hub::save(&model, &folder).unwrap();
        let (again, warnings) = hub::load(&folder).unwrap();
        assert_eq!(warnings, []);
        assert_eq!((again.model_type, gpt(&again).config()), (Some(model_type), &config));
        assert_eq!(logits(&again), logits(&model));
    }
}

#[test]
fn batch_statistics_follow_what_passes_in_training() {
    let config = config(NormPlacement::Pre, |v| v.normalization = Normalization::Batch);
    let batch = LmBatch::new(&[vec![1_u32, 2, 3, 4, 5, 6, 7, 8, 9]]);
    let mut model = Model::new(&config, 7).unwrap();
    let mut optimizer = Optimizer::new(&model.params, AdamConfig::default(), 1);
    let stack = gpt(&model).clone();
    let spec = LossSpec { smoothing: 0.0, weight: 1.0 / 8.0 };
    // A rate of 0: only the statistics move, towards those of this one batch.
    for _ in 0..200 {
        optimizer.step(&mut model.params, 0.0, None, |t| stack.loss(t, &batch, spec)).unwrap();
    }
    let report =
        optimizer.step(&mut model.params, 0.0, None, |t| stack.loss(t, &batch, spec)).unwrap();
    // In use the batch is judged by what is remembered of it: the variance by n − 1, the rest the
    // same.
    let mut tape = Tape::inference(&model.params);
    let used = stack.loss(&mut tape, &batch, spec).data()[0];
    assert!((used - report.loss).abs() < 0.02, "{used} in use, {} in training", report.loss);
    let fresh = Model::new(&config, 7).unwrap();
    let mut tape = Tape::inference(&fresh.params);
    let before = stack.loss(&mut tape, &batch, spec).data()[0];
    assert!((before - report.loss).abs() > 0.02, "the fresh statistics fit as well: {before}");
}

#[test]
fn a_translator_without_positions_does_not_see_the_order_of_its_source() {
    for (positions, sees) in
        [(Positions::None, false), (Positions::Sinusoidal, true), (Positions::Learned, true)]
    {
        let mut config = EncoderDecoderConfig {
            max_position_embeddings: 20,
            ..EncoderDecoderConfig::new(V, 2, 3, C, 40)
        };
        config.options.positions = positions;
        let model = Model::new(&config, 3).unwrap();
        let scores = |source: &[u32]| {
            let (source, input) =
                (Packed::new(&[source.to_vec()]), Packed::new(&[vec![0_u32, 5, 6]]));
            let (model, mut t) = (translator(&model), Tape::inference(&model.params));
            let encoded = model.encode(&mut t, &source);
            let memory = model.memory(&mut t, &encoded, &source);
            let hidden = model.decode(&mut t, &input, &memory, None);
            model.logits(&mut t, &hidden).data().to_vec()
        };
        assert_eq!(differ(&scores(&[7, 8, 9, 1]), &scores(&[9, 7, 8, 1])), sees, "{positions:?}");
    }
}

#[test]
fn one_hot_positions_need_a_width_of_the_longest_sequence() {
    let mut config = DecoderConfig::gpt2(V, 25, 1, 3, C);
    config.options.positions = Positions::OneHot;
    let error = config.validate().unwrap_err();
    assert_eq!(error.to_string(), "one-hot positions: 25 positions exceed the width of 24");
}
