//! A converted folder: the weights of the original in another precision and in shards, the files
//! beside them, and nothing where a conversion failed.

use limpid::error::{Error, FileError, ModelError, TokenizerError};
use limpid::hub::{self, ConvertOptions, Converted, Precision, TokenizerForm};
use limpid::model::Model;
use limpid::model::config::DecoderConfig;
use limpid::text::Tokenizer;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures").join(name)
}

/// A folder that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("limpid-convert-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const KEEP: ConvertOptions =
    ConvertOptions { precision: None, max_shard_size: None, tokenizer: TokenizerForm::Keep };

fn params(folder: &Path) -> Vec<f32> {
    hub::load(folder).unwrap().0.params.flat().to_vec()
}

#[test]
fn weights_are_rounded_to_the_precision_and_nothing_else_changes() {
    let scratch = Scratch::new("precision");
    for name in ["gpt2-tiny", "llama-tiny", "neox-tiny", "marian-tiny", "bert-mlm", "t5-tiny"] {
        let original = params(&fixture(name));
        for precision in [Precision::F32, Precision::F16, Precision::Bf16] {
            let to = scratch.0.join(format!("{name}-{}", precision.name()));
            let options = ConvertOptions { precision: Some(precision), ..KEEP };
            let done = hub::convert(&fixture(name), &to, &options).unwrap();
            let rounded: Vec<f32> = (original.iter())
                .map(|x| match precision {
                    Precision::F32 => *x,
                    Precision::F16 => half::f16::from_f32(*x).to_f32(),
                    Precision::Bf16 => half::bf16::from_f32(*x).to_f32(),
                })
                .collect();
            assert!(params(&to) == rounded, "{name} as {}", precision.name());
            assert_eq!(done.files, 1);
            let file = fs::metadata(to.join("model.safetensors")).unwrap().len();
            assert!(done.bytes < file && file < done.bytes + 10_000, "{file} {done:?}");
            let config: Value =
                serde_json::from_slice(&fs::read(to.join("config.json")).unwrap()).unwrap();
            let expected = match precision {
                Precision::F32 => "float32",
                Precision::F16 => "float16",
                Precision::Bf16 => "bfloat16",
            };
            assert_eq!(config["dtype"], expected);
        }
    }
}

#[test]
fn shards_hold_no_more_than_their_size_and_the_index_lists_every_tensor() {
    let scratch = Scratch::new("shards");
    let to = scratch.0.join("out");
    let options = ConvertOptions { max_shard_size: Some(10_000), ..KEEP };
    let Converted { tensors, bytes, files } =
        hub::convert(&fixture("gpt2-tiny"), &to, &options).unwrap();
    assert!(files > 2);
    let index: Value =
        serde_json::from_slice(&fs::read(to.join("model.safetensors.index.json")).unwrap())
            .unwrap();
    assert_eq!(index["metadata"]["total_size"], bytes);
    // All numbers of the fixture are f32.
    assert_eq!(index["metadata"]["total_parameters"], bytes / 4);
    let map = index["weight_map"].as_object().unwrap();
    assert_eq!(map.len(), tensors);
    for i in 1..=files {
        let path = to.join(format!("model-{i:05}-of-{files:05}.safetensors"));
        let bytes = fs::read(&path).unwrap();
        let stored = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let size: usize = stored.iter().map(|(_, view)| view.data().len()).sum();
        assert!(size <= 10_000 || stored.len() == 1, "{size} bytes in {path:?}");
    }
    assert!(params(&to) == params(&fixture("gpt2-tiny")));
    // And back to one file.
    let one = scratch.0.join("one");
    hub::convert(&to, &one, &KEEP).unwrap();
    assert!(one.join("model.safetensors").is_file());
    assert!(!one.join("model.safetensors.index.json").exists());
    assert!(params(&one) == params(&fixture("gpt2-tiny")));
}

#[test]
fn a_sentence_transformers_folder_is_converted_with_all_its_modules() {
    let scratch = Scratch::new("sentence");
    for name in ["sentence-dense", "sentence-subfolder"] {
        let to = scratch.0.join(name);
        let options = ConvertOptions { precision: Some(Precision::F32), ..KEEP };
        hub::convert(&fixture(name), &to, &options).unwrap();
        let [before, after] = [&fixture(name), &to].map(|folder| {
            let config = hub::load_sentence_config(folder).unwrap();
            (params(&hub::transformer_folder(folder)), hub::load_pooling(folder).unwrap(), config)
        });
        assert!(before == after, "{name}");
    }
}

#[test]
fn an_overflow_names_the_tensor_and_leaves_nothing() {
    let scratch = Scratch::new("overflow");
    let mut model = Model::new(DecoderConfig::gpt2(9, 4, 1, 1, 4), 1).unwrap();
    let id = model.params.find("token_embedding.weight").unwrap();
    model.params.get_mut(id)[7] = 1e6;
    let from = scratch.0.join("from");
    hub::save(&model, &from).unwrap();
    let options = ConvertOptions { precision: Some(Precision::F16), ..KEEP };
    let error = hub::convert(&from, &scratch.0.join("to"), &options).unwrap_err();
    let Error::Model(ModelError::Overflow { tensor, index, .. }) = &error else {
        panic!("{error}")
    };
    assert_eq!((tensor.as_str(), *index), ("transformer.wte.weight", 7));
    assert_eq!(scratch.names(), ["from"]);
}

#[test]
fn a_folder_that_is_not_empty_is_not_overwritten_and_an_empty_one_is_used() {
    let scratch = Scratch::new("occupied");
    fs::write(scratch.0.join("file"), "text").unwrap();
    let error = hub::convert(&fixture("gpt2-tiny"), &scratch.0, &KEEP).unwrap_err();
    assert!(matches!(error, Error::File(FileError::NotEmpty { .. })), "{error}");
    let error = hub::convert(&fixture("gpt2-tiny"), &scratch.0.join("file"), &KEEP).unwrap_err();
    assert!(matches!(error, Error::File(FileError::IsFile { .. })), "{error}");
    let empty = scratch.0.join("empty");
    fs::create_dir(&empty).unwrap();
    hub::convert(&fixture("gpt2-tiny"), &empty, &KEEP).unwrap();
    assert!(params(&empty) == params(&fixture("gpt2-tiny")));
    let missing = hub::convert(&scratch.0.join("none"), &scratch.0.join("new"), &KEEP);
    assert!(matches!(missing, Err(Error::Model(ModelError::NoSuchFolder { .. }))));
    assert_eq!(scratch.names(), ["empty", "file"]);
}

#[test]
fn an_adapter_beside_the_weights_is_not_lost_silently() {
    let scratch = Scratch::new("adapter");
    let from = scratch.0.join("from");
    fs::create_dir(&from).unwrap();
    for name in ["config.json", "model.safetensors"] {
        fs::copy(fixture("gpt2-tiny").join(name), from.join(name)).unwrap();
    }
    fs::write(from.join("adapter_config.json"), "{}").unwrap();
    let error = hub::convert(&from, &scratch.0.join("to"), &KEEP).unwrap_err();
    assert!(matches!(error, Error::Model(ModelError::AdapterBeside { .. })), "{error}");
    assert_eq!(scratch.names(), ["from"]);
}

#[test]
fn tokenizer_files_become_a_tokenizer_json_or_are_refused_with_the_reason() {
    let scratch = Scratch::new("tokenizer");
    let options = ConvertOptions { tokenizer: TokenizerForm::Json, ..KEEP };
    let folder = |name: &str| {
        let from = scratch.0.join(name);
        fs::create_dir(&from).unwrap();
        for folder in [fixture("gpt2-tiny"), fixture("tokenizers").join(name)] {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                fs::copy(&path, from.join(path.file_name().unwrap())).unwrap();
            }
        }
        from
    };
    for name in ["bert", "gpt2", "openai-gpt", "roberta", "llama", "t5", "mbart", "camembert"] {
        let (from, to) = (folder(name), scratch.0.join(format!("{name}-json")));
        hub::convert(&from, &to, &options).unwrap();
        let json = fs::read_to_string(to.join("tokenizer.json")).unwrap();
        let made = Tokenizer::from_json(Path::new("tokenizer.json"), &json).unwrap();
        let cases: Value =
            serde_json::from_slice(&fs::read(from.join("expected.json")).unwrap()).unwrap();
        let mut seen = 0;
        for case in cases.as_array().unwrap() {
            let ids = made.encode_with_special(case["text"].as_str().unwrap()).unwrap();
            let ids: Vec<u64> = ids.into_iter().map(u64::from).collect();
            let expected = case["special"].as_array().unwrap().iter();
            assert_eq!(ids, expected.map(|id| id.as_u64().unwrap()).collect::<Vec<_>>(), "{name}");
            seen += 1;
        }
        assert!(seen > 10, "{name}");
    }
    for name in ["marian", "m2m_100"] {
        let to = scratch.0.join(format!("{name}-json"));
        let error = hub::convert(&folder(name), &to, &options).unwrap_err();
        let refused = matches!(error, Error::Tokenizer(TokenizerError::NotConvertible { .. }));
        assert!(refused && !to.exists(), "{error}");
    }
}
