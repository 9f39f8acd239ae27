//! Fine-tuning of multilingual translators: what a run is told of its languages stands in the model
//! folder that it saves, and a folder beside a tokenizer keeps its files.

use limpid::Translator;
use limpid::error::{Error, PretrainedError, TokenizerError};
use limpid::hub;
use limpid::model::Model;
use limpid::model::config::StackConfig;
use limpid::text::Tokenizer;
use limpid::train::setup::{RunStart, open};
use limpid::train::{Control, RunConfig};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn fixtures(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures").join(name)
}

/// An empty folder that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = format!("limpid-multilingual-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// A small model of a family with the tokenizer of its family; it starts its texts with `start`.
fn pretrained(folder: &Path, model: &str, tokenizer: &str, start: &str) -> Tokenizer {
    fs::create_dir_all(folder).unwrap();
    for entry in fs::read_dir(fixtures("tokenizers").join(tokenizer)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    let tokenizer = Tokenizer::load(folder).unwrap();
    let (config, _) = hub::read_config(&fixtures(model).join("config.json")).unwrap();
    let StackConfig::EncoderDecoder(mut config) = config else { panic!("an encoder-decoder") };
    (config.vocab_size, config.decoder_vocab_size) =
        (tokenizer.vocab_size(), tokenizer.vocab_size());
    config.decoder_start_token_id = tokenizer.id(start).unwrap();
    (config.eos_token_id, config.pad_token_id) =
        (tokenizer.id("</s>").unwrap(), tokenizer.id("<pad>").unwrap());
    hub::save(&Model::new(config, 1).unwrap(), folder).unwrap();
    tokenizer
}

fn run_config(folder: &Path, set: &[&str]) -> RunConfig {
    let pairs = folder.join("pairs.tsv");
    let lines = (0..40).map(|i| format!("eine Katze {i}\tund ein Hund {i}\n"));
    fs::write(&pairs, lines.collect::<String>()).unwrap();
    let text = format!(
        "task = 'translate'\n[data]\npairs = {pairs:?}\n[model]\nfrom = {:?}\n[train]\nsteps = 4\n\
         validate_every = 2\nbatch_tokens = 200\n",
        folder.join("pretrained")
    );
    let set: Vec<String> = set.iter().map(ToString::to_string).collect();
    RunConfig::parse(&text, &set).unwrap()
}

fn trained(folder: &Path, set: &[&str]) -> PathBuf {
    let run = folder.join("run");
    let _ = fs::remove_dir_all(&run);
    let config = run_config(folder, set);
    let mut opened = open(config, &run, RunStart::New, &mut |_| {}).unwrap();
    opened.run.train(&mut |_| Control::Continue).unwrap();
    run
}

const LANGUAGES: [&str; 2] = ["data.source_lang=fr_XX", "data.target_lang=ro_RO"];

#[test]
fn a_fine_tuned_mbart_begins_with_the_language_it_was_trained_to_write() {
    let scratch = Scratch::new("mbart");
    let folder = &scratch.0;
    let own = pretrained(&folder.join("pretrained"), "mbart-tiny", "mbart", "en_XX");
    let run = trained(folder, &LANGUAGES);
    let saved = run.join("model");
    let romanian = own.id("ro_RO").unwrap();
    for file in ["config.json", "generation_config.json"] {
        assert_eq!(json(&saved.join(file))["decoder_start_token_id"], romanian, "{file}");
    }
    assert_eq!(json(&saved.join("generation_config.json"))["forced_bos_token_id"], Value::Null);
    let settings = json(&saved.join("tokenizer_config.json"));
    assert_eq!(settings["src_lang"], "fr_XX");
    assert_eq!(settings["tgt_lang"], "ro_RO");
    assert_eq!(settings["tokenizer_class"], "MBartTokenizer");
    // The folder alone says what a source looks like.
    let end = own.id("</s>").unwrap();
    let tokenizer = hub::load_tokenizer(&saved).unwrap();
    let source = tokenizer.source_sentence("Katze", end).unwrap();
    assert_eq!(source.last(), own.id("fr_XX").as_ref());
    assert_eq!(source[..source.len() - 1], [own.encode("Katze").unwrap(), vec![end]].concat());
    Translator::load(&run).unwrap().translate(&["eine Katze"]).unwrap();
    // Goes on with the same data.
    let config = run_config(folder, &[&LANGUAGES[..], &["train.steps=6"]].concat());
    let mut opened = open(config, &run, RunStart::Resume, &mut |_| {}).unwrap();
    assert!(opened.warnings.is_empty(), "{:?}", opened.warnings);
    opened.run.train(&mut |_| Control::Continue).unwrap();
    // What it translates into is now known; another source may be named.
    let (from, to) = (folder.join("pretrained"), folder.join("first"));
    fs::rename(&from, to).unwrap();
    fs::rename(&saved, from).unwrap();
    let again = trained(folder, &["data.source_lang=de_DE"]).join("model");
    assert_eq!(json(&again.join("config.json"))["decoder_start_token_id"], romanian);
    assert_eq!(json(&again.join("tokenizer_config.json"))["src_lang"], "de_DE");
}

#[test]
fn a_fine_tuned_m2m_100_is_forced_to_the_language_it_was_trained_to_write() {
    let scratch = Scratch::new("m2m");
    let folder = &scratch.0;
    let own = pretrained(&folder.join("pretrained"), "m2m-tiny", "m2m_100", "</s>");
    let set = ["data.source_lang=fr", "data.target_lang=ceb"];
    let saved = trained(folder, &set).join("model");
    let generation = json(&saved.join("generation_config.json"));
    assert_eq!(generation["forced_bos_token_id"], own.id("__ceb__").unwrap());
    assert_eq!(json(&saved.join("config.json"))["decoder_start_token_id"], own.id("</s>").unwrap());
    let settings = json(&saved.join("tokenizer_config.json"));
    assert_eq!((&settings["src_lang"], &settings["tgt_lang"]), (&"fr".into(), &"ceb".into()));
    let tokenizer = hub::load_tokenizer(&saved).unwrap();
    let end = own.id("</s>").unwrap();
    assert_eq!(tokenizer.source_sentence("Katze", end).unwrap()[0], own.id("__fr__").unwrap());
}

#[test]
fn languages_that_are_missing_or_unknown_are_refused_before_anything_is_made() {
    let scratch = Scratch::new("refused");
    let folder = &scratch.0;
    pretrained(&folder.join("pretrained"), "mbart-tiny", "mbart", "</s>");
    let refused = |set: &[&str]| {
        let run = folder.join("run");
        let error = open(run_config(folder, set), &run, RunStart::New, &mut |_| {}).err();
        assert!(!run.exists());
        error.expect("refused")
    };
    let error = refused(&["data.source_lang=fr_XX"]);
    let Error::Pretrained(PretrainedError::NoTargetLanguage { known, .. }) = error else {
        panic!("{error}")
    };
    assert!(known.contains(&"ro_RO".to_string()));
    let error = refused(&["data.target_lang=ro"]);
    let Error::Tokenizer(TokenizerError::LacksLanguage { nearest, .. }) = error else {
        panic!("{error}")
    };
    assert_eq!(nearest.as_deref(), Some("ro_RO"));
}

#[test]
fn what_stands_beside_a_tokenizer_is_saved_as_it_was() {
    let scratch = Scratch::new("beside");
    let from = scratch.0.join("from");
    fs::create_dir_all(&from).unwrap();
    let tokenizer = limpid::text::word_tokenizer(["a b c"]).unwrap();
    tokenizer.save(&from).unwrap();
    let files = [
        ("tokenizer_config.json", r#"{"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>"}"#),
        ("special_tokens_map.json", r#"{"bos_token": "<s>"}"#),
        ("chat_template.jinja", "{{ messages[0].content }}"),
    ];
    for (name, text) in files {
        fs::write(from.join(name), text).unwrap();
    }
    let to = scratch.0.join("to");
    Tokenizer::load(&from).unwrap().save(&to).unwrap();
    for (name, text) in files {
        assert_eq!(fs::read_to_string(to.join(name)).unwrap(), text, "{name}");
    }
    assert_eq!(fs::read_dir(&to).unwrap().count(), files.len() + 1);
}
