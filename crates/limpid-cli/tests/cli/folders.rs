//! Model folders, logits and corpora, from outside.

use super::*;

#[test]
fn tensors_that_no_part_of_the_model_uses_are_named() {
    let folder = edited_config("one-layer", |config| config["encoder_layers"] = 1.into());
    let output = run(&["translate", folder.to_str().unwrap(), "Merci"]);
    assert!(output.status.success());
    assert!(
        stderr(&output).contains("no part of the model uses tensor model.encoder.layers.1."),
        "{}",
        stderr(&output)
    );
}

/// A copy of the model with one file changed.
fn damaged(name: &str, file: &str, change: impl FnOnce(Vec<u8>) -> Option<Vec<u8>>) -> PathBuf {
    let folder = scratch(name);
    for entry in std::fs::read_dir(model()).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    let bytes = std::fs::read(folder.join(file)).unwrap();
    match change(bytes) {
        Some(bytes) => std::fs::write(folder.join(file), bytes).unwrap(),
        None => std::fs::remove_file(folder.join(file)).unwrap(),
    }
    folder
}

fn edited_config(name: &str, edit: impl FnOnce(&mut serde_json::Value)) -> PathBuf {
    damaged(name, "config.json", |bytes| {
        let mut config = serde_json::from_slice(&bytes).unwrap();
        edit(&mut config);
        Some(config.to_string().into_bytes())
    })
}

#[test]
fn damaged_model_folders_are_refused_with_the_file_and_what_to_do() {
    let translate = |folder: &Path| run(&["translate", folder.to_str().unwrap(), "Merci"]);
    let half = |bytes: Vec<u8>| Some(bytes[..bytes.len() / 2].to_vec());
    for (kept, name) in [(0, "nothing"), (7, "seven"), (100, "hundred")] {
        let folder = damaged(name, "model.safetensors", |bytes| Some(bytes[..kept].to_vec()));
        refused(&translate(&folder), "not a complete safetensors file", "copy it again");
    }
    refused(
        &translate(&damaged("half", "model.safetensors", half)),
        "not a complete safetensors file",
        "truncated",
    );
    let no_weights = damaged("no-weights", "model.safetensors", |_| None);
    refused(
        &translate(&no_weights),
        "has no model.safetensors",
        "needs config.json and model.safetensors",
    );
    let no_config = damaged("no-config", "config.json", |_| None);
    refused(&translate(&no_config), "has no config.json", "needs config.json");
    let no_tokenizer = damaged("no-tokenizer", "tokenizer.json", |_| None);
    refused(
        &translate(&no_tokenizer),
        "no tokenizer: none of its files is one",
        "needs a tokenizer",
    );
    let other = edited_config("other-width", |config| config["d_model"] = 64.into());
    refused(&translate(&other), "has shape", "does config.json belong to these weights?");
    let family = edited_config("family", |config| config["model_type"] = "mamba".into());
    refused(&translate(&family), "model_type 'mamba' is not supported", "marian");

    let not_a_number = damaged("nan", "model.safetensors", |mut bytes| {
        let end = bytes.len();
        bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
        Some(bytes)
    });
    refused(&translate(&not_a_number), "has NaN at element", "earlier checkpoint");
}

#[test]
fn a_folder_in_another_format_is_refused_with_the_way_out() {
    let translate = |folder: &Path| run(&["translate", folder.to_str().unwrap(), "Merci"]);
    let rename = |name: &str, to: &str| {
        let folder = damaged(name, "model.safetensors", Some);
        std::fs::rename(folder.join("model.safetensors"), folder.join(to)).unwrap();
        folder
    };
    refused(
        &translate(&rename("pickle", "pytorch_model.bin")),
        "its weights are in pytorch_model.bin (pickle, which can run code and is never read)",
        "save_pretrained",
    );
    refused(&translate(&rename("gguf", "model.gguf")), "model.gguf (GGUF)", "original folder");
    refused(&translate(&rename("onnx", "model.onnx")), "model.onnx (ONNX)", "model.safetensors");
    let pointer = |_| Some(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n".to_vec());
    for file in ["model.safetensors", "tokenizer.json"] {
        let folder = damaged(&format!("lfs-{file}"), file, pointer);
        refused(&translate(&folder), &format!("{file} is a git-LFS pointer"), "git lfs pull");
    }
    let adapter = damaged("adapter", "model.safetensors", Some);
    std::fs::write(adapter.join("adapter_config.json"), "{}").unwrap();
    refused(&translate(&adapter), "adapter_config.json: r is missing", "docs/formats.md");
    let quantized = edited_config("quantized", |config| {
        config["quantization_config"] = serde_json::json!({"quant_method": "awq"});
    });
    refused(&translate(&quantized), "quantized with awq", "before it was quantized");
    let no_json = damaged("other-tokenizer", "tokenizer.json", |_| None);
    std::fs::write(no_json.join("source.spm"), "…").unwrap();
    refused(&translate(&no_json), "not a valid SentencePiece model", "copy it again");
    let sharded = damaged("lost-shard", "model.safetensors", |_| None);
    let index = r#"{"weight_map": {"a": "model-1.safetensors"}}"#;
    std::fs::write(sharded.join("model.safetensors.index.json"), index).unwrap();
    refused(&translate(&sharded), "shard model-1.safetensors is missing", "download");
}

#[test]
fn broken_json_and_settings_that_would_change_the_result_are_refused_and_unknown_ones_named() {
    let translate = |folder: &Path| run(&["translate", folder.to_str().unwrap(), "Merci"]);
    let broken =
        damaged("broken-json", "config.json", |bytes| Some(bytes[..bytes.len() / 2].to_vec()));
    let output = translate(&broken);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("not valid JSON"), "{}", stderr(&output));
    let refused_key = edited_config("refused", |config| config["normalize_before"] = true.into());
    assert_eq!(translate(&refused_key).status.code(), Some(2));
    assert!(stderr(&translate(&refused_key)).contains("normalize_before = true is not supported"));
    let unknown = edited_config("unknown", |config| config["flux_capacitor"] = 1.into());
    let output = translate(&unknown);
    assert!(output.status.success());
    assert!(stderr(&output).contains("flux_capacitor"), "{}", stderr(&output));
}

#[test]
fn logits_are_those_of_the_fixture_and_ids_that_do_not_fit_are_refused() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures/gpt2-tiny");
    let gpt = fixture.to_str().unwrap();
    let output = run(&["logits", gpt, "--ids", "5,3,9", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let rows = value["logits"].as_array().unwrap();
    assert_eq!((rows.len(), rows[0].as_array().unwrap().len()), (3, 37));
    assert_eq!(stdout(&run(&["logits", gpt, "--ids", "5,3,9"])).lines().count(), 3);
    refused(
        &run(&["logits", gpt, "--ids", "5,37"]),
        "37 is beyond the model's vocabulary of 37",
        "0 to 36",
    );
    let long = vec!["1"; 17].join(",");
    refused(
        &run(&["logits", gpt, "--ids", &long]),
        "17 ids exceed the model's maximum of 16",
        "fewer",
    );
    refused(&run(&["logits", gpt, "--ids", "1", "--source-ids", "1"]), "no source", "leave out");
    let model = model().to_str().unwrap();
    refused(&run(&["logits", model, "--ids", "0"]), "needs a source", "--source-ids");
    assert_eq!(run(&["logits", gpt, "--ids", "1,x"]).status.code(), Some(2));
}

#[test]
fn the_corpus_is_written_in_pairs_of_files_that_share_no_sentence() {
    let (one, two) = (scratch("corpus-1"), scratch("corpus-2"));
    for folder in [&one, &two] {
        let output = run(&[
            "corpus",
            "translate",
            "--out",
            folder.to_str().unwrap(),
            "--pairs",
            "2000",
            "--seed",
            "7",
        ]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(stdout(&output).lines().count(), 6);
    }
    let read = |folder: &Path, name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    for language in ["en", "fr"] {
        let train = read(&one, &format!("train.{language}"));
        assert_eq!(
            train,
            read(&two, &format!("train.{language}")),
            "the same seed, the same files"
        );
        assert_eq!(train.lines().count(), 2000);
        let known: std::collections::HashSet<&str> = train.lines().collect();
        for name in ["validation", "test"] {
            let held_out = read(&one, &format!("{name}.{language}"));
            assert_eq!(held_out.lines().count(), 200);
            assert!(held_out.lines().all(|line| !known.contains(line)));
        }
    }
    assert_eq!(read(&one, "test.en").lines().count(), read(&one, "test.fr").lines().count());
    refused(
        &run(&["corpus", "translate", "--out", "x", "--pairs", "0"]),
        "empty corpus",
        "--pairs 50000",
    );
    refused(
        &run(&["corpus", "translate", "--out", "x", "--pairs", "5000000"]),
        "more than 1000000",
        "seeds",
    );
    // A corpus, or whatever has that name, is never overwritten.
    let mine = scratch("my-corpus");
    std::fs::write(mine.join("train.en"), "my own data").unwrap();
    let output = run(&["corpus", "translate", "--out", mine.to_str().unwrap(), "--pairs", "10"]);
    refused(&output, "train.en exists already", "--out");
    assert_eq!(read(&mine, "train.en"), "my own data");
}

#[test]
fn sizes_that_no_machine_holds_are_refused_before_memory_is_taken() {
    let translate = |folder: &Path| run(&["translate", folder.to_str().unwrap(), "Merci"]);
    for (key, value) in [
        ("encoder_layers", 2_000_000_000_u64),
        ("max_position_embeddings", 2_000_000_000),
        ("d_model", 1 << 30),
    ] {
        let folder = edited_config(&format!("huge-{key}"), |config| config[key] = value.into());
        let output = translate(&folder);
        assert_eq!(output.status.code(), Some(2), "{key}: {}", stderr(&output));
        assert!(stderr(&output).contains("hint: "), "{key}: {}", stderr(&output));
    }
    // Possible, but not what the file holds.
    let other = edited_config("large-vocabulary", |config| {
        config["vocab_size"] = 5_000_000.into();
        config["decoder_vocab_size"] = 5_000_000.into();
    });
    refused(&translate(&other), "has shape", "does config.json belong to these weights?");
    refused(&run(&["bench", "step", "gpt", "--width", "1000000002"]), "parameters", "smaller");
    refused(&run(&["bench", "step", "gpt", "--batch", "1000000000"]), "tokens", "--batch");
    refused(
        &run(&["bench", "step", "gpt", "--seconds", "inf"]),
        "--seconds inf is out of range",
        "3600",
    );
    refused(&run(&["bench", "step", "seq2seq", "--label-smoothing", "2"]), "not in [0, 1)", "0.1");
}

#[test]
fn info_counts_what_the_fixture_has_and_adds_up() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures/gpt2-tiny");
    let output = run(&["info", fixture.to_str().unwrap(), "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let info: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let parts = info["parts"].as_array().unwrap();
    let sum: u64 = parts.iter().map(|part| part["parameters"].as_u64().unwrap()).sum();
    assert_eq!(info["parameters"].as_u64(), Some(sum));
    let shape = |part: &serde_json::Value| {
        part["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).product::<u64>()
    };
    assert!(parts.iter().all(|part| Some(shape(part)) == part["parameters"].as_u64()));
    let text = stdout(&run(&["info", model().to_str().unwrap(), "--depth", "1"]));
    assert!(text.contains("encoder-decoder") && text.contains("1,490,944"), "{text}");
}
