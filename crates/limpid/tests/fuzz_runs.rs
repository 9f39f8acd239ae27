//! Mutated run configurations, checkpoints and model folders: refused or accepted, never a panic.

mod fuzz;

use fuzz::{never_panics, scratch};
use limpid::config::{
    BertConfig, BertHead, GptConfig, Normalisation, Positions, RnnAttention, RnnConfig, Seq2SeqConfig,
    Variant,
};
use limpid::hub;
use limpid::model::Model;
use limpid::train::checkpoint::{Checkpoint, Keep, State, save};
use limpid::train::{RunConfig, TaskKind};
use limpid_tensor::kernels::recurrent::Cell;
use std::fs;

const CASES: u64 = 10_000;

#[test]
fn configurations_survive_any_bytes() {
    let mut gpt = RunConfig::new(TaskKind::Gpt);
    gpt.data.text = vec!["a".into()];
    let mut translate = RunConfig::new(TaskKind::Translate);
    (translate.data.source, translate.data.target) = (Some("a".into()), Some("b".into()));
    let seeds = [gpt.to_toml(), translate.to_toml()].map(String::into_bytes);
    never_panics("config.toml", &seeds, CASES, |bytes| {
        if let Ok(text) = std::str::from_utf8(bytes)
            && let Ok(config) = RunConfig::parse(text, &[])
        {
            // What is accepted is the same after it was saved.
            assert_eq!(RunConfig::parse(&config.to_toml(), &[]).unwrap(), config);
        }
    });
    never_panics("--set", &[b"train.steps=500".to_vec(), b"data.text=[\"a\"]".to_vec()], CASES, |bytes| {
        let _ = gpt.with(&[String::from_utf8_lossy(bytes).into_owned()]);
    });
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
    for file in ["state.json", "numbers.safetensors", "manifest.json"] {
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
    let gpt = GptConfig::gpt2(7, 4, 1, 2, 4);
    let variant = Variant { normalisation: Normalisation::Batch, ..Variant::usual(Positions::OneHot) };
    let labels = BertHead::Classifier(vec!["good".into(), "bad".into()]);
    let rnn = RnnConfig::new(7, Cell::Lstm, RnnAttention::Additive, 1, 4);
    let made = [
        Model::gpt(&gpt, 1),
        Model::gpt(&GptConfig { variant, ..gpt.clone() }, 1),
        Model::seq2seq(&Seq2SeqConfig::new(7, 1, 2, 4, 8), 1),
        Model::bert(&BertConfig { head: labels, ..BertConfig::new(7, 4, 1, 2, 4) }, 1),
        Model::rnn(&rnn, 1),
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
                let _ = hub::load_generation(&folder);
            });
            fs::write(&path, good).unwrap();
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
