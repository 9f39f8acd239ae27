//! Variants of the standard Transformer, each shown to be what it says by comparing it with a
//! standard model whose numbers were changed.

use limpid::data::batch::{LmBatch, Packed, PairBatch};
use limpid::hub;
use limpid::model::config::{DecoderConfig, EncoderDecoderConfig};
use limpid::model::{Decoder, EncoderDecoder, Model, Stack};
use limpid::nn::{
    Bias, FeedForwardKind, LayerOptions, NormPlacement, Normalization, Positions, Residual, Scaling,
};
use limpid::optim::AdamConfig;
use limpid::optim::Optimizer;
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::positions::{SinusoidLayout, sinusoid_table};
use limpid_tensor::ops::LossSpec;
use limpid_tensor::rng::Stream;
use limpid_tensor::tape::{Gradients, Tape, Var};

const V: usize = 31;
const C: usize = 24;
const LONGEST: usize = 20;

fn config(norm: NormPlacement, change: impl FnOnce(&mut LayerOptions)) -> DecoderConfig {
    let mut config = DecoderConfig { norm, ..DecoderConfig::gpt2(V, LONGEST, 2, 3, C) };
    change(&mut config.options);
    config
}

fn gpt(model: &Model) -> &Decoder {
    model.decoder().expect("a decoder")
}

fn translator(model: &Model) -> &EncoderDecoder {
    model.encoder_decoder().expect("an encoder-decoder")
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

/// The loss of a model on the batch of a step.
type LossOf<'a> = &'a dyn Fn(&Stack, &mut Tape, u64) -> Var;

/// The gradient of every number of a table, none of them 0, against central differences.
fn gradient_agrees(mut model: Model, table: &str, loss: LossOf) {
    const STEP: f32 = 0.05;
    let id = model.params.find(table).unwrap_or_else(|| panic!("no {table}"));
    for (i, bias) in model.params.get_mut(id).iter_mut().enumerate() {
        *bias = (i as f32 + 1.0).sin();
    }
    let mut gradients = Gradients::new(&model.params);
    let mut tape = Tape::training(&model.params, &mut gradients);
    let value = loss(&model.stack, &mut tape, 0);
    tape.backward(&value);
    let gradient = gradients.get(&model.params, id).unwrap().to_vec();
    let largest = gradient.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    assert!(largest > 1e-3, "{table} has no effect");
    for (i, found) in gradient.iter().enumerate() {
        let mut at = |by: f32| {
            model.params.get_mut(id)[i] += by;
            let value = loss(&model.stack, &mut Tape::inference(&model.params), 0).data()[0];
            model.params.get_mut(id)[i] -= by;
            value
        };
        let numerical = (at(STEP) - at(-STEP)) / (2.0 * STEP);
        let by = (found - numerical).abs();
        assert!(by < 3e-2 * largest, "{table}[{i}]: {found}, by differences {numerical}");
    }
}

/// Trains, and gives the mean loss of the last twenty steps.
fn trained(model: &mut Model, steps: u64, loss: LossOf) -> f32 {
    let mut optimizer = Optimizer::new(&model.params, AdamConfig::default(), 1);
    let stack = model.stack.clone();
    let losses = (0..steps).map(|step| {
        optimizer.step(&mut model.params, 1e-2, None, |t| loss(&stack, t, step)).unwrap().loss
    });
    losses.collect::<Vec<_>>()[steps as usize - 20..].iter().sum::<f32>() / 20.0
}

/// Saved and loaded, with every bit of the parameters.
fn round_trip(model: &Model, model_type: &str) {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(model_type);
    hub::save(model, &folder).unwrap();
    let (again, warnings) = hub::load(&folder).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(again.model_type, Some(model_type));
    assert_eq!(again.params.flat(), model.params.flat());
}

/// The target of each token is the one two before it, among random tokens: only a distance tells.
#[test]
fn a_gpt_with_relative_positions_learns_to_copy_from_a_distance() {
    let loss = |stack: &Stack, t: &mut Tape, step: u64| {
        let mut rng = Stream::new(5, step);
        let rows: Vec<Vec<u32>> =
            (0..8).map(|_| (0..10).map(|_| 3 + rng.below(4) as u32).collect()).collect();
        let two_before = |row: &Vec<u32>| [&row[..2], &row[..8]].concat();
        let targets: Vec<u32> = rows.iter().flat_map(two_before).collect();
        let spec = LossSpec { smoothing: 0.0, weight: 1.0 / targets.len() as f32 };
        let batch = LmBatch { input: Packed::new(&rows), targets };
        let gpt = stack.decoder().expect("a decoder");
        gpt.loss(t, &batch, spec)
    };
    let with = |positions| {
        let mut config = DecoderConfig::gpt2(V, LONGEST, 1, 3, C);
        config.options.positions = positions;
        Model::new(&config, 7).unwrap()
    };
    gradient_agrees(with(Positions::Relative), "relative_bias.weight", &loss);
    let [mut relative, mut blind] = [Positions::Relative, Positions::None].map(with);
    let [found, without] = [&mut relative, &mut blind].map(|model| trained(model, 300, &loss));
    assert!(found < 0.5 * without, "{found} with relative positions, {without} without");
    round_trip(&relative, "limpid-gpt");
}

/// The target is what stands after and before token 3 in the source: only a distance tells.
#[test]
fn a_translator_with_relative_positions_learns_what_stands_beside_a_token() {
    let loss = |stack: &Stack, t: &mut Tape, step: u64| {
        let mut rng = Stream::new(5, step);
        let mut pair = || {
            let mut source: Vec<u32> = (0..5).map(|_| 4 + rng.below(4) as u32).collect();
            let at = 1 + rng.below(3);
            source[at] = 3;
            let target = vec![source[at + 1], source[at - 1]];
            (source, target)
        };
        let batch = PairBatch::new(&(0..16).map(|_| pair()).collect::<Vec<_>>(), 0);
        let spec = LossSpec { smoothing: 0.0, weight: 1.0 / batch.targets.len() as f32 };
        let translator = stack.encoder_decoder().expect("an encoder-decoder");
        translator.loss(t, &batch, spec)
    };
    let with = |positions| {
        let mut config = EncoderDecoderConfig::new(V, 2, 3, C, 40);
        // Differences need a smooth activation.
        config.activation_function = Activation::Gelu;
        config.max_position_embeddings = LONGEST;
        config.options.positions = positions;
        Model::new(&config, 7).unwrap()
    };
    for table in ["encoder.relative_bias.weight", "decoder.relative_bias.weight"] {
        gradient_agrees(with(Positions::Relative), table, &loss);
    }
    let [mut relative, mut blind] = [Positions::Relative, Positions::None].map(with);
    let [found, without] = [&mut relative, &mut blind].map(|model| trained(model, 400, &loss));
    assert!(found < 0.5 * without, "{found} with relative positions, {without} without");
    round_trip(&relative, "limpid-seq2seq");
}
