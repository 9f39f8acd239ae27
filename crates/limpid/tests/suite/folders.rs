//! Folders as people download them: what a folder lacks is said by what it has.

use limpid::error::{Error, FileError, ModelError, TokenizerError, WeightFormat};
use limpid::hub;
use limpid::model::Model;
use limpid::model::config::DecoderConfig;
use limpid::text::Tokenizer;
use std::fs;
use std::path::PathBuf;

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n\
    oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n\
    size 12345\n";

/// A folder with a saved model, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("limpid-has-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        hub::save(&Model::new(DecoderConfig::gpt2(5, 4, 1, 1, 4), 1).unwrap(), &folder).unwrap();
        Self(folder)
    }

    fn without_weights(name: &str) -> Self {
        let folder = Self::new(name);
        fs::remove_file(folder.0.join("model.safetensors")).unwrap();
        folder
    }

    fn with(self, file: &str, text: &str) -> Self {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn error(&self) -> Error {
        hub::load(&self.0).err().expect("refused")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn weights_in_another_format_are_named_with_their_format() {
    for (file, format) in [
        ("pytorch_model.bin", WeightFormat::Pickle),
        ("pytorch_model.bin.index.json", WeightFormat::Pickle),
        ("model-Q4_K_M.gguf", WeightFormat::Gguf),
        ("onnx/model.onnx", WeightFormat::Onnx),
        ("tf_model.h5", WeightFormat::TensorFlow),
        ("flax_model.msgpack", WeightFormat::Flax),
    ] {
        let folder = Folder::without_weights("other-weights").with(file, "…");
        let with_config = folder.error();
        // A folder of GGUF files has no config.json.
        fs::remove_file(folder.0.join("config.json")).unwrap();
        for error in [with_config, folder.error()] {
            assert!(error.to_string().contains(file), "{error}");
            let Error::Model(ModelError::OtherWeights { format: found, .. }) = error else {
                panic!("{error}")
            };
            assert_eq!(found, format);
        }
    }
    let nothing = Folder::without_weights("no-weights").error();
    assert!(
        matches!(nothing, Error::Model(ModelError::MissingFile { file: "model.safetensors", .. })),
        "{nothing}"
    );
    // Beside weights that are read, they do not matter.
    let both = Folder::new("both").with("pytorch_model.bin", "…").with("onnx/model.onnx", "…");
    assert!(hub::load(&both.0).unwrap().1.is_empty());
}

#[test]
fn a_git_lfs_pointer_is_not_taken_for_a_damaged_file() {
    let is_pointer = |error: &Error, file: &str| match error {
        Error::File(FileError::GitLfsPointer { path }) => path.ends_with(file),
        _ => false,
    };
    let weights = Folder::new("pointer").with("model.safetensors", POINTER).error();
    assert!(is_pointer(&weights, "model.safetensors"), "{weights}");
    let folder = Folder::new("pointer-tokenizer").with("tokenizer.json", POINTER);
    let tokenizer = Tokenizer::load(&folder.0).err().unwrap();
    assert!(is_pointer(&tokenizer, "tokenizer.json"), "{tokenizer}");
    let shard = Folder::without_weights("pointer-shard")
        .with("model.safetensors.index.json", r#"{"weight_map": {"a": "one.safetensors"}}"#)
        .with("one.safetensors", POINTER);
    assert!(is_pointer(&shard.error(), "one.safetensors"), "{}", shard.error());
}

#[test]
fn an_adapter_without_its_weights_or_its_base_is_refused() {
    let settings = r#"{"peft_type": "LORA", "r": 4, "base_model_name_or_path": "org/base"}"#;
    let beside = Folder::new("adapter-beside").with("adapter_config.json", settings);
    let error = beside.error();
    let missing = "adapter_model.safetensors";
    let Error::Model(ModelError::MissingFile { file, .. }) = error else { panic!("{error}") };
    assert_eq!(file, missing);
    let alone = Folder::without_weights("adapter").with("adapter_config.json", settings);
    fs::remove_file(alone.0.join("config.json")).unwrap();
    let error = alone.error();
    let Error::Model(ModelError::AdapterOnly { base, .. }) = error else { panic!("{error}") };
    assert_eq!(base, "org/base");
    let broken = Folder::without_weights("adapter-broken").with("adapter_config.json", "{");
    assert!(broken.error().to_string().contains("adapter_config.json: not valid JSON"));
}

#[test]
fn quantized_weights_are_refused_by_their_method() {
    let folder = Folder::new("quantized");
    let text = fs::read_to_string(folder.0.join("config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&text).unwrap();
    config["quantization_config"] = serde_json::json!({"quant_method": "gptq", "bits": 4});
    let folder = folder.with("config.json", &config.to_string());
    let error = folder.error().to_string();
    assert!(error.contains("quantized with gptq are not supported"), "{error}");
    config["quantization_config"] = serde_json::Value::Null;
    assert!(hub::load(&folder.with("config.json", &config.to_string()).0).is_ok());
}

#[test]
fn a_missing_tokenizer_is_said_with_the_files_that_are_there() {
    let folder = Folder::new("tokenizer");
    match Tokenizer::load(&folder.0).err().unwrap() {
        Error::Tokenizer(TokenizerError::NotFound { found, .. }) => assert!(found.is_empty()),
        other => panic!("{other}"),
    }
    let folder = folder.with("vocab.json", "{}");
    match hub::load_tokenizer(&folder.0).err().unwrap() {
        Error::Tokenizer(TokenizerError::Incomplete { found, missing, .. }) => {
            assert_eq!((found.as_slice(), missing), (&["vocab.json"][..], "merges.txt"));
        }
        other => panic!("{other}"),
    }
}
