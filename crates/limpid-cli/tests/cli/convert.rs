//! `convert`, and `info` on the folders that people have.

use super::{refused, run, scratch, stderr, stdout};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures").join(name)
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The logits of token ids 3, 5 and 7.
fn logits(model: &Path) -> Vec<f64> {
    let output = run(&["logits", path(model), "--ids", "3,5,7", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let rows = found["logits"].as_array().unwrap().iter();
    rows.flat_map(|row| row.as_array().unwrap()).map(|x| x.as_f64().unwrap()).collect()
}

#[test]
fn a_converted_model_gives_the_logits_of_the_original() {
    let folder = scratch("convert");
    let (from, to) = (fixture("llama-tiny"), folder.join("bf16"));
    let arguments = ["convert", path(&from), "--out", path(&to), "--dtype", "bf16"];
    let output = run(&[&arguments[..], &["--max-shard-size", "4KB"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("weight files"), "{}", stdout(&output));
    let (original, converted) = (logits(&from), logits(&to));
    let largest = original.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let worst = original.iter().zip(&converted).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
    // bf16 has eight bits.
    assert!(worst > 0.0 && worst < 0.05 * largest, "{worst} of {largest}");
    refused(&run(&arguments), "is not empty", "another folder");
    let other = folder.join("q8");
    let q8 = ["convert", path(&from), "--out", path(&other), "--dtype", "q8_0"];
    refused(&run(&q8), "no weights of type q8_0", "--to gguf");
    let file = folder.join("model.gguf");
    let gguf = ["convert", path(&from), "--to", "gguf", "--out", path(&file)];
    refused(&run(&gguf), "holds its tokenizer, and the folder has none", "docs/formats.md");
    let shards = [&gguf[..], &["--max-shard-size", "1MB"]].concat();
    refused(&run(&shards), "has no shards", "--max-shard-size");
    let info: Value = serde_json::from_str(&stdout(&run(&["info", path(&to), "--json"]))).unwrap();
    assert_eq!(info["model_type"], "llama");
    let weights = &info["weights"];
    assert!(weights["files"].as_array().unwrap().len() > 1, "{weights}");
    // Two bytes for each parameter.
    assert_eq!(
        weights["bytes_by_type"],
        json!({ "bf16": 2 * info["parameters"].as_u64().unwrap() })
    );
    assert_eq!(info["missing"], json!(["no tokenizer in the folder"]));
    assert_eq!(info["commands"], json!(["convert", "logits"]));
}

#[test]
fn info_says_what_a_folder_lacks_and_what_an_adapter_is() {
    let folder = scratch("info-folders");
    let pickled = folder.join("pickled");
    fs::create_dir(&pickled).unwrap();
    fs::copy(fixture("gpt2-tiny").join("config.json"), pickled.join("config.json")).unwrap();
    fs::write(pickled.join("pytorch_model.bin"), "x").unwrap();
    let text = stdout(&run(&["info", path(&pickled)]));
    for expected in ["a decoder", "family gpt2", "2 layers", "missing: ", "pytorch_model.bin"] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(!text.contains("works with"), "{text}");
    let adapter = folder.join("adapter");
    fs::create_dir(&adapter).unwrap();
    let config = json!({
        "peft_type": "LORA", "r": 8, "base_model_name_or_path": "gpt2",
        "target_modules": ["c_attn", "c_proj"],
    });
    fs::write(adapter.join("adapter_config.json"), config.to_string()).unwrap();
    let text = stdout(&run(&["info", path(&adapter)]));
    for expected in ["an adapter (LORA) of rank 8", "c_attn, c_proj", "its base model, gpt2"] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
}
