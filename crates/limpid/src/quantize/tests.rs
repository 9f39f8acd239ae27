//! Choosing, quantizing, measuring and storing.

use super::*;
use crate::data::batch::Packed;
use crate::error::Error;
use crate::hub;
use crate::model::config::{
    DecoderConfig, EncoderConfig, EncoderDecoderConfig, RecurrentAttention, RecurrentConfig,
};
use limpid_tensor::kernels::recurrent::Cell;
use limpid_tensor::tape::Tape;

fn gpt() -> Model {
    Model::new(DecoderConfig::gpt2(90, 32, 2, 2, 64), 3).unwrap()
}

fn logits(model: &Model) -> Vec<f32> {
    let gpt = model.decoder().expect("a decoder");
    let mut tape = Tape::inference(&model.params);
    let hidden = gpt.hidden(&mut tape, &Packed::new(&[vec![1, 7, 42, 80, 3]]), None);
    gpt.logits(&mut tape, &hidden).data().to_vec()
}

fn quantized(format: Format, keep: &[String]) -> Model {
    let mut model = gpt();
    let choices = choose(&model, format, keep).unwrap();
    quantize(&mut model, &choices).unwrap();
    model
}

#[test]
fn a_quantized_decoder_gives_logits_near_those_of_f32_and_the_fewer_bits_the_farther() {
    let want = logits(&gpt());
    let error = |format: Format| -> f64 {
        let got = logits(&quantized(format, &[]));
        let square = |(a, b): (&f32, &f32)| f64::from(a - b).powi(2);
        let size: f64 = want.iter().map(|x| f64::from(*x).powi(2)).sum();
        (got.iter().zip(&want).map(square).sum::<f64>() / size).sqrt()
    };
    let [bf16, int8, int4] = [Format::Bf16, Format::Int8, Format::Int4].map(error);
    assert!(bf16 < 0.01 && int8 < 0.03 && int4 < 0.25, "{bf16} {int8} {int4}");
    assert!(bf16 < int8 && int8 < int4, "{bf16} {int8} {int4}");
}

#[test]
fn a_saved_quantized_model_has_the_same_logits_and_a_smaller_file() {
    let folder = std::env::temp_dir().join(format!("limpid-quantized-{}", std::process::id()));
    for (format, share) in [(Format::Int8, 0.31), (Format::Int4, 0.25), (Format::Bf16, 0.55)] {
        hub::save(&gpt(), &folder).unwrap();
        let size = || std::fs::metadata(folder.join("model.safetensors")).unwrap().len() as f64;
        let before = size();
        let model = quantized(format, &["layers.1.self_attention".into()]);
        hub::save(&model, &folder).unwrap();
        let (again, warnings) = hub::load(&folder).unwrap();
        assert_eq!((logits(&again), warnings.len()), (logits(&model), 0));
        assert_eq!(format_of(&again), format_of(&model));
        assert!(size() < before * (share + 0.15), "{} of {before}", size());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn every_stack_can_be_quantized_saved_and_loaded() {
    let folder = std::env::temp_dir().join(format!("limpid-stacks-{}", std::process::id()));
    let models = [
        gpt(),
        Model::new(EncoderConfig::new(90, 32, 2, 2, 64), 3).unwrap(),
        Model::new(EncoderDecoderConfig::new(90, 2, 2, 64, 128), 3).unwrap(),
        Model::new(RecurrentConfig::new(90, Cell::Gru, RecurrentAttention::Additive, 2, 64), 3)
            .unwrap(),
    ];
    for mut model in models {
        let choices = choose(&model, Format::Int4, &[]).unwrap();
        assert!(choices.iter().filter(|choice| choice.format.is_some()).count() > 4);
        quantize(&mut model, &choices).unwrap();
        hub::save(&model, &folder).unwrap();
        let (again, warnings) = hub::load(&folder).unwrap();
        assert_eq!(warnings, []);
        for (id, spec) in model.params.iter() {
            let bytes = |model: &Model| model.params.quantized(id).map(|m| m.weights().to_vec());
            assert_eq!(bytes(&again), bytes(&model), "{}", spec.name);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn kept_names_are_parameters_or_modules_and_unknown_ones_are_refused() {
    let model = gpt();
    let kept = |keep: &str| {
        let choices = choose(&model, Format::Int8, &[keep.into()]).unwrap();
        choices.iter().filter(|choice| choice.format.is_none()).count()
    };
    assert_eq!(kept("layers.0"), 4);
    assert_eq!(kept("token_embedding.weight"), 1);
    let error = choose(&model, Format::Int8, &["layers.7".into()]).unwrap_err();
    assert!(
        matches!(error, Error::Model(ModelError::NoSuchWeight { name, .. }) if name == "layers.7")
    );
}

#[test]
fn a_model_cannot_be_quantized_twice_and_int4_needs_whole_groups() {
    let error = choose(&quantized(Format::Bf16, &[]), Format::Int8, &[]).unwrap_err();
    assert!(error.to_string().contains("it cannot be quantized again"), "{error}");
    let mut odd = Model::new(DecoderConfig::gpt2(90, 32, 1, 1, 48), 3).unwrap();
    let choices = choose(&odd, Format::Int4, &[]).unwrap();
    let error = quantize(&mut odd, &choices).unwrap_err().to_string();
    assert!(error.contains("groups of 32 do not divide 48 inputs"), "{error}");
}
