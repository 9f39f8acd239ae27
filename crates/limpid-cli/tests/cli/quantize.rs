//! `limpid quantize` from outside, and what runs its folders.

use super::*;
use std::fs;

/// The demo's translator, quantized.
fn quantized(name: &str, args: &[&str]) -> (PathBuf, Output) {
    let out = scratch(name).join("model");
    let folder = out.to_str().unwrap().to_string();
    let mut all = vec!["quantize", model().to_str().unwrap(), "--out", &folder];
    all.extend(args);
    let output = run(&all);
    (out, output)
}

#[test]
fn a_quantized_translator_is_smaller_and_translates() {
    let (out, output) = quantized("quantize-int8", &["--to", "int8", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    assert!(number(&found["bytes"][1]) < 0.5 * number(&found["bytes"][0]), "{found}");
    assert!(number(&found["cost"]["increase"]).abs() < 0.05, "{found}");
    assert!((number(&found["bleu"][0]) - number(&found["bleu"][1])).abs() < 3.0, "{found}");
    assert_eq!(found["kept_share"], 0.0);
    let size = |folder: &Path| fs::metadata(folder.join("model.safetensors")).unwrap().len();
    assert!(2 * size(&out) < size(model()));

    let translated = run(&["translate", out.to_str().unwrap(), "Je suis étudiant"]);
    assert!(translated.status.success(), "{}", stderr(&translated));
    let info = stdout(&run(&["info", out.to_str().unwrap()]));
    assert!(info.contains("weights as int8"), "{info}");
}

#[test]
fn kept_weights_stay_in_f32_and_a_limit_of_zero_keeps_what_costs() {
    let (_, output) = quantized("quantize-keep", &["--to", "int4", "--keep", "encoder", "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for weight in found["weights"].as_array().unwrap() {
        let kept = weight["name"].as_str().unwrap().starts_with("encoder.");
        assert_eq!(weight["dtype"] == "f32", kept, "{weight}");
    }
    let (_, output) = quantized("quantize-limit", &["--to", "int4", "--max-loss", "0", "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(found["kept_share"].as_f64().unwrap() > 0.0, "{found}");
}

#[test]
fn what_cannot_be_quantized_or_trained_is_refused_with_what_to_do() {
    let (out, output) = quantized("quantize-refused", &["--to", "bf16"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let folder = out.to_str().unwrap();
    let other = scratch("quantize-other");
    let other = other.join("x");
    let again = run(&["quantize", folder, "--to", "int8", "--out", other.to_str().unwrap()]);
    refused(&again, "cannot be quantized again", "before it was quantized");
    let same = run(&["quantize", model().to_str().unwrap(), "--to", "int8", "--out", folder]);
    refused(&same, "holds a model already", "another folder");
    let run_folder = scratch("quantize-train").join("run");
    let files = [model(), model()].map(|folder| folder.join("config.json"));
    let train = run(&[
        "train",
        "translate",
        "--from",
        folder,
        "--source",
        files[0].to_str().unwrap(),
        "--target",
        files[1].to_str().unwrap(),
        "--out",
        run_folder.to_str().unwrap(),
    ]);
    refused(&train, "it cannot be trained", "before it was quantized");
    let keep = ["--to", "int8", "--keep", "nothing.like.it"];
    refused(&quantized("quantize-name", &keep).1, "is called 'nothing.like.it'", "--keep takes");
}

#[test]
fn a_damaged_quantized_folder_is_refused_by_name() {
    let (out, _) = quantized("quantize-damaged", &["--to", "int8"]);
    let config = fs::read_to_string(out.join("config.json")).unwrap();
    let translate = || run(&["translate", out.to_str().unwrap(), "Merci"]);
    let edit = |from: &str, to: &str| {
        assert!(config.contains(from), "{from}");
        fs::write(out.join("config.json"), config.replace(from, to)).unwrap();
        translate()
    };
    refused(&edit("\"version\": 2", "\"version\": 1"), "version is 1", "correct the file");
    refused(&edit("\"int8\"", "\"int4\""), "packed weights of type I8", "limpid quantize");
    refused(&edit("\"int8\"", "\"bf16\""), "packed weights of type I8", "limpid quantize");
    refused(&edit("\"group_size\": 32", "\"group_size\": 64"), "group_size is 64", "correct");
}
