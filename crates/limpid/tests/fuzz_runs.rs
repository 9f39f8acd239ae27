//! Mutated run configurations, checkpoints and model folders: refused or accepted, never a panic.

mod fuzz;

use fuzz::never_panics;
use limpid::config::GptConfig;
use limpid::hub;
use limpid::model::Model;
use limpid::train::checkpoint::{Checkpoint, Keep, State, save};
use limpid::train::{RunConfig, TaskKind};
use std::fs;
use std::path::PathBuf;

const CASES: u64 = 10_000;

/// In memory where the system has such a folder: ten thousand files that are written and flushed would take minutes elsewhere.
fn scratch(name: &str) -> PathBuf {
    let shared = PathBuf::from("/dev/shm");
    let base = if shared.is_dir() { shared } else { std::env::temp_dir() };
    let folder = base.join(format!("limpid-fuzz-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

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

#[test]
fn model_folders_survive_any_bytes_in_any_file() {
    let folder = scratch("model");
    hub::save(&Model::gpt(&GptConfig::gpt2(7, 4, 1, 2, 4), 1).unwrap(), &folder).unwrap();
    for file in ["config.json", "model.safetensors", "generation_config.json"] {
        let path = folder.join(file);
        let good = fs::read(&path).unwrap();
        never_panics(file, std::slice::from_ref(&good), CASES, |bytes| {
            fs::write(&path, bytes).unwrap();
            let _ = hub::load(&folder);
            let _ = hub::load_generation(&folder);
        });
        fs::write(&path, good).unwrap();
    }
    fs::remove_dir_all(&folder).unwrap();
}
