//! Folders of sentence-transformers: embeddings equal to those it computes
//! (reference/make_sentence_fixtures.py), and what is refused.

use limpid::encode::Normalization;
use limpid::error::{EncodeError, Error};
use limpid::pipeline::EmbedderOptions;
use limpid::{Embedder, hub};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures").join(name)
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// As the folder gives them, which is what sentence-transformers does.
fn load(folder: &Path) -> Embedder {
    let options = EmbedderOptions { normalization: Normalization::None, ..Default::default() };
    Embedder::load_with(folder, options).unwrap()
}

fn assert_embeds(embedder: &Embedder, expected: &Value, key: &str) {
    let texts: Vec<String> = serde_json::from_value(expected["texts"].clone()).unwrap();
    let want: Vec<Vec<f32>> = serde_json::from_value(expected[key].clone()).unwrap();
    let found = embedder.embed(&texts).unwrap();
    assert_eq!(found[0].len(), embedder.dimension());
    for (text, (found, want)) in texts.iter().zip(found.iter().zip(&want)) {
        assert_eq!(found.len(), want.len());
        for (a, b) in found.iter().zip(want) {
            assert!((a - b).abs() < 1e-5, "{key} of {text:?}: {found:?}, expected {want:?}");
        }
    }
}

/// A copy of a fixture, to be changed.
fn copy(name: &str, of: &str) -> PathBuf {
    fn copy_all(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            let to = to.join(path.file_name().unwrap());
            match path.is_dir() {
                true => copy_all(&path, &to),
                false => assert!(fs::copy(&path, to).is_ok()),
            }
        }
    }
    let folder =
        std::env::temp_dir().join(format!("limpid-sentence-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    copy_all(&fixture(of), &folder);
    folder
}

fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value = read(path);
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

#[test]
fn prompts_dense_layers_normalization_and_truncation_are_those_of_sentence_transformers() {
    let folder = fixture("sentence-dense");
    let expected = read(&folder.join("expected.json"));
    let embedder = load(&folder);
    assert_eq!(embedder.warnings(), []);
    assert_embeds(&embedder, &expected, "default");
    assert_embeds(&embedder.with_prompt("passage").unwrap(), &expected, "passage");
    let error = load(&folder).with_prompt("title").err().unwrap();
    let Error::Encode(EncodeError::UnknownPrompt { available, .. }) = error else {
        panic!("{error}")
    };
    assert_eq!(available, ["document", "passage", "query"]);
}

#[test]
fn a_transformer_in_a_folder_of_its_own_is_found() {
    let folder = fixture("sentence-subfolder");
    assert_embeds(&load(&folder), &read(&folder.join("expected.json")), "default");
}

#[test]
fn truncated_dimensions_are_the_first_ones() {
    let folder = copy("dimensions", "sentence-dense");
    let whole = load(&folder).embed(&["the cat"]).unwrap();
    edit(&folder.join("config_sentence_transformers.json"), |c| c["truncate_dim"] = json!(3));
    let embedder = load(&folder);
    assert_eq!(embedder.dimension(), 3);
    assert_eq!(embedder.embed(&["the cat"]).unwrap()[0], whole[0][..3]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn dense_layers_that_cannot_be_applied_are_refused_by_name() {
    let folder = copy("dense", "sentence-dense");
    let config = folder.join("2_Dense/config.json");
    let good = read(&config);
    let error = |key: &str, value: Value| {
        edit(&config, |config| config[key] = value);
        let error = Embedder::load(&folder).err().unwrap().to_string();
        fs::write(&config, good.to_string()).unwrap();
        error
    };
    let gelu = json!("torch.nn.modules.activation.GELU");
    assert!(error("activation_function", gelu).contains("GELU is not supported"));
    assert!(error("use_residual", json!(true)).contains("use_residual = true is not supported"));
    let tokens = json!("token_embeddings");
    assert!(error("module_input_name", tokens).contains("module_input_name"));
    assert!(error("out_features", json!(5)).contains("linear.weight has shape [4, 6]"));
    assert!(error("out_features", json!(0)).contains("out_features is 0"));
    let weights = folder.join("2_Dense/model.safetensors");
    fs::rename(&weights, folder.join("2_Dense/pytorch_model.bin")).unwrap();
    let refusal = Embedder::load(&folder).err().unwrap().to_string();
    assert!(refusal.contains("pickle"), "{refusal}");
    fs::rename(folder.join("2_Dense/pytorch_model.bin"), &weights).unwrap();
    // Two of them: the second takes six components, the first gives four.
    edit(&folder.join("modules.json"), |modules| {
        let dense = modules[2].clone();
        modules.as_array_mut().unwrap().push(dense);
    });
    let refusal = Embedder::load(&folder).err().unwrap().to_string();
    assert!(refusal.contains("in_features is 6, expected 4"), "{refusal}");
    assert!(hub::load(&folder).is_ok(), "the encoder itself is as it was");
    fs::remove_dir_all(folder).unwrap();
}
