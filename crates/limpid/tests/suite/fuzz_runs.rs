//! Mutated run configurations, checkpoints and model folders: refused or accepted, never a panic.

use crate::fuzz::{never_panics, scratch};
use limpid::hub;
use limpid::model::Model;
use limpid::model::config::{
    DecoderConfig, EncoderConfig, EncoderDecoderConfig, EncoderHead, RecurrentAttention,
    RecurrentConfig,
};
use limpid::nn::{LayerOptions, Normalization, Positions};
use limpid::train::RunConfig;
use limpid::train::checkpoint::{Checkpoint, Keep, State, save};
use limpid_tensor::kernels::recurrent::Cell;
use std::fs;

const CASES: u64 = 10_000;

#[test]
fn configurations_survive_any_bytes() {
    let parse = |text: &str| RunConfig::parse(text, &[]).unwrap();
    let gpt = parse("task = \"gpt\"\n[data]\ntext = \"a\"\n");
    let translate = parse("task = \"translate\"\n[data]\nsource = \"a\"\ntarget = \"b\"\n");
    let seeds = [gpt.to_toml(), translate.to_toml()].map(String::into_bytes);
    never_panics("config.toml", &seeds, CASES, |bytes| {
        if let Ok(text) = std::str::from_utf8(bytes)
            && let Ok(config) = RunConfig::parse(text, &[])
        {
            // What is accepted is the same after it was saved.
            assert_eq!(RunConfig::parse(&config.to_toml(), &[]).unwrap(), config);
        }
    });
    never_panics(
        "--set",
        &[b"train.steps=500".to_vec(), b"data.text=[\"a\"]".to_vec()],
        CASES,
        |bytes| {
            let set = String::from_utf8_lossy(bytes).into_owned();
            let _ = RunConfig::parse(&gpt.to_toml(), &[set]);
        },
    );
}

#[test]
fn checkpoints_survive_any_bytes_in_any_file() {
    let folder = scratch("checkpoint");
    save(
        &folder,
        &State { step: 3, ..State::default() },
        &[("params", &[0.5; 20]), ("m", &[1.0; 20])],
        Keep { count: 1, every: 1, last: 3 },
    )
    .unwrap();
    let place = folder.join("checkpoints/step-00000003");
    for file in ["state.json", "state.safetensors", "manifest.json"] {
        let good = fs::read(place.join(file)).unwrap();
        never_panics(file, std::slice::from_ref(&good), CASES, |bytes| {
            fs::write(place.join(file), bytes).unwrap();
            let opened = Checkpoint::open(&place);
            if file != "manifest.json" {
                assert_eq!(opened.is_ok(), bytes == good, "a change went unnoticed");
            }
            if let Ok(checkpoint) = opened {
                let _ = checkpoint.read("params", &mut [0.0; 20]);
            }
        });
        fs::write(place.join(file), good).unwrap();
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// A small model of every family, and one that departs from its own.
fn models() -> Vec<Model> {
    let gpt = DecoderConfig::gpt2(7, 4, 1, 2, 4);
    let variant = LayerOptions {
        normalization: Normalization::Batch,
        ..LayerOptions::standard(Positions::OneHot)
    };
    let labels = EncoderHead::Classifier(vec!["good".into(), "bad".into()].into());
    let rnn = RecurrentConfig::new(7, Cell::Lstm, RecurrentAttention::Additive, 1, 4);
    let made = [
        Model::new(&gpt, 1),
        Model::new(&DecoderConfig { options: variant, ..gpt.clone() }, 1),
        Model::new(EncoderDecoderConfig::new(7, 1, 2, 4, 8), 1),
        Model::new(&EncoderConfig { head: labels, ..EncoderConfig::new(7, 4, 1, 2, 4) }, 1),
        Model::new(&rnn, 1),
    ];
    made.into_iter().map(|model| model.unwrap()).collect()
}

#[test]
fn model_folders_survive_any_bytes_in_any_file() {
    for (i, model) in models().iter().enumerate() {
        let folder = scratch(&format!("model-{i}"));
        hub::save(model, &folder).unwrap();
        for file in ["config.json", "model.safetensors", "generation_config.json"] {
            let path = folder.join(file);
            // An encoder does not write.
            let Ok(good) = fs::read(&path) else { continue };
            never_panics(file, std::slice::from_ref(&good), CASES, |bytes| {
                fs::write(&path, bytes).unwrap();
                let _ = hub::load(&folder);
                let _ = hub::load_generation_config(&folder);
            });
            fs::write(&path, good).unwrap();
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
