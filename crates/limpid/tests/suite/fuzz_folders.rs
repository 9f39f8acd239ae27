//! Mutated files of other people's folders: configurations of every family, indexes of shards,
//! tokenizer files, sentence-transformers settings, weights of other formats. Refused or accepted,
//! never a panic, never long, never much memory.

use crate::fuzz::{never_panics, scratch};
use limpid::hub;
use limpid::text::Tokenizer;
use std::fs;
use std::path::{Path, PathBuf};

const CASES: u64 = 10_000;
const TEXT: &str = "  The cat's 🙂 naïve é <mask> x\u{0}\t日本語 aaaaaaaaaaaaaaaaaaaa…</s> ";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures")
}

/// Copies the files of a folder, not those below it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.path().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

#[test]
fn configurations_of_every_family_survive_any_bytes() {
    let folders = fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().path());
    let seeds: Vec<Vec<u8>> =
        folders.filter_map(|folder| fs::read(folder.join("config.json")).ok()).collect();
    assert!(seeds.len() >= 40, "{} configurations", seeds.len());
    let folder = scratch("configs");
    let path = folder.join("config.json");
    never_panics("config.json", &seeds, CASES, |bytes| {
        fs::write(&path, bytes).unwrap();
        let _ = hub::read_config(&path);
    });
    fs::remove_dir_all(&folder).unwrap();
}

/// The tensors of a safetensors file in two files, and their index.
fn shard(folder: &Path) {
    let bytes = fs::read(folder.join("model.safetensors")).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut parts: [Vec<(String, _)>; 2] = Default::default();
    let mut map = serde_json::Map::new();
    for (i, (name, view)) in tensors.tensors().into_iter().enumerate() {
        map.insert(name.clone(), format!("model-0000{}-of-00002.safetensors", i % 2 + 1).into());
        parts[i % 2].push((name, view));
    }
    for (i, part) in parts.into_iter().enumerate() {
        let file = folder.join(format!("model-0000{}-of-00002.safetensors", i + 1));
        fs::write(file, safetensors::serialize(part, None).unwrap()).unwrap();
    }
    let index = serde_json::json!({ "metadata": { "total_size": bytes.len() }, "weight_map": map });
    fs::write(folder.join("model.safetensors.index.json"), index.to_string()).unwrap();
    fs::remove_file(folder.join("model.safetensors")).unwrap();
}

#[test]
fn indexes_and_shards_survive_any_bytes() {
    let folder = scratch("shards");
    copy(&fixtures().join("gpt2-tiny"), &folder);
    shard(&folder);
    hub::load(&folder).unwrap();
    for file in ["model.safetensors.index.json", "model-00002-of-00002.safetensors"] {
        let path = folder.join(file);
        let good = fs::read(&path).unwrap();
        never_panics(file, std::slice::from_ref(&good), CASES, |bytes| {
            fs::write(&path, bytes).unwrap();
            let _ = hub::load(&folder);
        });
        fs::write(&path, good).unwrap();
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn tokenizer_files_survive_any_bytes() {
    let folders: Vec<PathBuf> =
        fs::read_dir(fixtures().join("tokenizers")).unwrap().map(|e| e.unwrap().path()).collect();
    let files = |folder: &PathBuf| {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        // Models of SentencePiece have a harness of their own.
        let text = |name: &str| name.ends_with(".json") || name.ends_with(".txt");
        let names = names.map(|name| name.into_string().unwrap());
        names.filter(|name| text(name) && name != "expected.json").collect::<Vec<_>>()
    };
    let number: usize = folders.iter().map(|folder| files(folder).len()).sum();
    for from in &folders {
        let name = from.file_name().unwrap().to_str().unwrap();
        let folder = scratch(&format!("tokenizer-{name}"));
        copy(from, &folder);
        for file in files(from) {
            let path = folder.join(&file);
            let good = fs::read(&path).unwrap();
            let cases = CASES / number as u64 + 1;
            never_panics(&format!("{name}/{file}"), std::slice::from_ref(&good), cases, |bytes| {
                fs::write(&path, bytes).unwrap();
                let Ok(tokenizer) = Tokenizer::load(&folder) else { return };
                if let Ok(ids) = tokenizer.encode_with_special(TEXT) {
                    let _ = tokenizer.decode(&ids);
                }
                let _ = tokenizer.encode_target(TEXT);
            });
            fs::write(&path, good).unwrap();
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn settings_of_sentence_transformers_survive_any_bytes() {
    let from = fixtures().join("sentence-dense");
    let folder = scratch("sentence");
    copy(&from, &folder);
    for part in ["1_Pooling", "2_Dense", "3_Normalize"] {
        copy(&from.join(part), &folder.join(part));
    }
    let files = [
        "modules.json",
        "sentence_bert_config.json",
        "config_sentence_transformers.json",
        "1_Pooling/config.json",
        "2_Dense/config.json",
        "2_Dense/model.safetensors",
    ];
    for file in files {
        let path = folder.join(file);
        let good = fs::read(&path).unwrap();
        never_panics(file, std::slice::from_ref(&good), CASES / 4, |bytes| {
            fs::write(&path, bytes).unwrap();
            let _ = hub::load_sentence_config(&folder);
        });
        fs::write(&path, good).unwrap();
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// A LoRA adapter of rank 2 on the attention of `gpt2-tiny`, as PEFT writes it.
fn adapter() -> [(&'static str, Vec<u8>); 2] {
    let config = serde_json::json!({
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": "gpt2-tiny",
        "r": 2, "lora_alpha": 4, "lora_dropout": 0.0, "target_modules": ["c_attn"], "bias": "none",
        "fan_in_fan_out": true, "inference_mode": true, "use_rslora": false, "use_dora": false,
        "modules_to_save": null, "layers_to_transform": null, "rank_pattern": {},
        "alpha_pattern": {},
    });
    let (a, b) = (vec![0u8; 2 * 24 * 4], vec![0u8; 72 * 2 * 4]);
    let view = |shape: [usize; 2], bytes| {
        safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape.to_vec(), bytes)
    };
    let name = |layer: usize, side: &str| {
        format!("base_model.model.transformer.h.{layer}.attn.c_attn.lora_{side}.weight")
    };
    let tensors = (0..2).flat_map(|layer| {
        [
            (name(layer, "A"), view([2, 24], &a).unwrap()),
            (name(layer, "B"), view([72, 2], &b).unwrap()),
        ]
    });
    let weights = safetensors::serialize(tensors.collect::<Vec<_>>(), None).unwrap();
    [
        ("adapter_config.json", config.to_string().into_bytes()),
        ("adapter_model.safetensors", weights),
    ]
}

#[test]
fn adapters_survive_any_bytes() {
    let folder = scratch("adapter");
    copy(&fixtures().join("gpt2-tiny"), &folder);
    for (file, good) in adapter() {
        fs::write(folder.join(file), good).unwrap();
    }
    for (file, good) in adapter() {
        let path = folder.join(file);
        never_panics(file, std::slice::from_ref(&good), CASES, |bytes| {
            fs::write(&path, bytes).unwrap();
            let _ = hub::load(&folder);
        });
        fs::write(&path, good).unwrap();
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// The beginning of a GGUF file: magic, version, no tensors, one key.
fn gguf() -> Vec<u8> {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(3u32.to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.extend(1u64.to_le_bytes());
    bytes.extend(20u64.to_le_bytes());
    bytes.extend(b"general.architecture");
    bytes.extend(8u32.to_le_bytes());
    bytes.extend(5u64.to_le_bytes());
    bytes.extend(b"llama");
    bytes
}

#[test]
fn weights_of_other_formats_survive_any_bytes() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 548105171\n";
    let seeds = [gguf(), pointer.into(), b"PK\x03\x04pytorch".to_vec(), b"\x08\x07onnx".to_vec()];
    let folder = scratch("formats");
    copy(&fixtures().join("gpt2-tiny"), &folder);
    fs::remove_file(folder.join("model.safetensors")).unwrap();
    let files = [
        "model.gguf",
        "model-Q4_K_M.gguf",
        "model.safetensors",
        "pytorch_model.bin",
        "model.onnx",
        "pytorch_model.bin.index.json",
    ];
    for file in files {
        let path = folder.join(file);
        never_panics(file, &seeds, CASES / files.len() as u64, |bytes| {
            fs::write(&path, bytes).unwrap();
            assert!(hub::load(&folder).is_err(), "there are no weights");
        });
        fs::remove_file(&path).unwrap();
    }
    fs::remove_dir_all(&folder).unwrap();
}
