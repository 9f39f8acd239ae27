//! Adapters from outside: `limpid train … --set lora.rank=4`, used, resumed and merged; frozen
//! parts and layers that are computed again; what is refused.

use super::train::{finish, gpt_args, start, text};
use super::*;
use serde_json::Value;
use std::fs;

const ADAPTER: [&str; 2] = ["adapter_config.json", "adapter_model.safetensors"];

/// A small language model, and the arguments of runs that begin with it.
struct Base {
    folder: PathBuf,
    data: PathBuf,
    model: PathBuf,
}

impl Base {
    fn new(name: &str) -> Self {
        let folder = scratch(name);
        let (data, model) = (text(&folder, 300), folder.join("base"));
        finish(&gpt_args(&data, &model, &["--steps", "30", "--set", "train.ema=0"]));
        Self { folder, data, model }
    }

    fn args(&self, out: &str, more: &[&str]) -> Vec<String> {
        let out = self.folder.join(out);
        let mut args: Vec<&str> = vec!["train", "gpt", "--data", self.data.to_str().unwrap()];
        args.extend(["--from", self.model.to_str().unwrap(), "--out", out.to_str().unwrap()]);
        let set = ["train.steps=30", "train.lr=1e-2", "train.batch_size=8", "train.seed=3"];
        args.extend(set.iter().flat_map(|set| ["--set", set]));
        let every = ["train.checkpoint_every=10", "train.validate_every=10", "train.samples=1"];
        args.extend(every.iter().flat_map(|set| ["--set", set]));
        args.extend(more.iter().flat_map(|set| match set.starts_with("--") {
            true => vec![*set],
            false => vec!["--set", *set],
        }));
        args.into_iter().map(String::from).collect()
    }

    fn file(&self, run: &str, name: &str) -> Vec<u8> {
        fs::read(self.folder.join(run).join("model").join(name)).unwrap()
    }
}

const LORA: [&str; 3] = ["lora.rank=4", "lora.targets=[\"c_attn\", \"c_fc\"]", "lora.dropout=0.1"];

fn logits(folder: &Path) -> Vec<f64> {
    let output = run(&["logits", folder.to_str().unwrap(), "--ids", "5,9,3,11,4", "--json"]);
    let answer: Value = serde_json::from_str(&stdout(&output))
        .unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    let rows = answer["logits"].as_array().unwrap().iter();
    rows.flat_map(|row| row.as_array().unwrap()).map(|x| x.as_f64().unwrap()).collect()
}

/// The largest difference, as a part of the largest number.
fn difference(a: &[f64], b: &[f64]) -> f64 {
    let largest = |numbers: &mut dyn Iterator<Item = f64>| numbers.fold(0.0, f64::max);
    largest(&mut a.iter().zip(b).map(|(a, b)| (a - b).abs()))
        / largest(&mut a.iter().map(|a| a.abs()))
}

#[test]
fn an_adapter_is_trained_resumed_used_alone_and_merged() {
    let base = Base::new("lora");
    let before = fs::read(base.model.join("model/model.safetensors")).unwrap();
    let more = [&LORA[..], &["train.keep_checkpoints=9"]].concat();
    finish(&base.args("whole", &more));
    let adapter = base.folder.join("whole/model");
    assert!(!adapter.join("model.safetensors").exists());
    assert!(base.file("whole", ADAPTER[1]).len() < before.len() / 4);
    assert!(fs::read(base.model.join("model/model.safetensors")).unwrap() == before);

    // As if it had been killed after step 10.
    finish(&base.args("cut", &more));
    for step in [20, 30] {
        let checkpoint = format!("cut/checkpoints/step-{step:08}");
        fs::remove_dir_all(base.folder.join(checkpoint)).unwrap();
    }
    finish(&base.args("cut", &[&more[..], &["--resume"]].concat()));
    for file in ADAPTER {
        assert!(base.file("whole", file) == base.file("cut", file), "{file}");
    }
    // Layers that are computed again have the same dropout masks, and the same sums.
    let again = [&more[..], &["train.activation_checkpointing=true"]].concat();
    finish(&base.args("again", &again));
    assert!(base.file("whole", ADAPTER[1]) == base.file("again", ADAPTER[1]));

    let adapted = logits(&base.folder.join("whole"));
    assert!(difference(&adapted, &logits(&base.model)) > 1e-2, "nothing was learned");
    let [whole, merged] = ["whole", "merged"].map(|name| base.folder.join(name));
    let [from, whole, out] = [&base.model, &whole, &merged].map(|path| path.to_str().unwrap());
    let output = run(&["merge", from, whole, "--out", out]);
    assert!(output.status.success(), "{}", stderr(&output));
    let found = difference(&adapted, &logits(&merged));
    assert!(found < 1e-5, "{found}");
    refused(&run(&["merge", from, whole, "--out", out]), "is not empty", "new folder");

    // As PEFT saves it: the tokenizer and the rest are the base's.
    let alone = base.folder.join("alone");
    fs::create_dir(&alone).unwrap();
    for file in ADAPTER {
        fs::copy(adapter.join(file), alone.join(file)).unwrap();
    }
    assert_eq!(logits(&alone), adapted);
    let data = base.data.to_str().unwrap();
    for args in [
        vec![
            "generate",
            "--prompt",
            "the cat",
            "--max-new-tokens",
            "8",
            "--do-sample",
            "--seed",
            "3",
        ],
        vec!["eval", "--data", data, "--json"],
        vec!["tokenizer", "encode", "the cat"],
    ] {
        let answer = |folder: &Path| {
            let at = if args[0] == "tokenizer" { 2 } else { 1 };
            let mut args = args.clone();
            args.insert(at, folder.to_str().unwrap());
            let output = run(&args);
            assert!(output.status.success(), "{args:?}: {}", stderr(&output));
            stdout(&output)
        };
        assert_eq!(answer(&alone), answer(&adapter), "{args:?}");
        assert!(!answer(&alone).is_empty());
        // A loss has digits that depend on the order of its sums.
        if args[0] != "eval" {
            assert_eq!(answer(&alone), answer(&merged), "{args:?}");
        }
        assert_eq!(answer(&alone) == answer(&base.model), args[0] == "tokenizer", "{args:?}");
    }
}

/// The tensors of a safetensors file, by name: a length, a table of contents, and the data.
fn tensors(bytes: Vec<u8>) -> Vec<(String, Vec<u8>)> {
    let (length, rest) = bytes.split_at(8);
    let length = u64::from_le_bytes(length.try_into().unwrap()) as usize;
    let (table, data) = rest.split_at(length);
    let table: Value = serde_json::from_slice(table).unwrap();
    let tensors = table.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__");
    let bytes = |entry: &Value| {
        let [from, to] = [0, 1].map(|i| entry["data_offsets"][i].as_u64().unwrap() as usize);
        data[from..to].to_vec()
    };
    tensors.map(|(name, entry)| (name.clone(), bytes(entry))).collect()
}

#[test]
fn frozen_layers_keep_their_weights_and_the_others_learn() {
    let base = Base::new("lora-freeze");
    finish(&base.args("run", &["train.freeze=[\"embeddings\", \"layers.0\"]"]));
    let before = tensors(fs::read(base.model.join("model/model.safetensors")).unwrap());
    for (name, data) in tensors(base.file("run", "model.safetensors")) {
        let old = before.iter().find(|(old, _)| *old == name).unwrap();
        let is_frozen = ["wte", "wpe", "h.0."].iter().any(|part| name.contains(part));
        assert_eq!(old.1 == data, is_frozen, "{name}");
    }
    for (freeze, error, hint) in [
        ("[\"layers.9\"]", "layers.9", "layers.1"),
        ("[\"embeddings\", \"layers.0-1\", \"final_norm\"]", "nothing", "train.freeze"),
    ] {
        let set = format!("train.freeze={freeze}");
        refused(&start(&base.args("refused", &[&set])).output().unwrap(), error, hint);
    }
}

#[test]
fn adapters_that_cannot_be_are_refused() {
    let base = Base::new("lora-refused");
    let refuse = |set: &[&str], error: &str, hint: &str| {
        refused(&start(&base.args("refused", set)).output().unwrap(), error, hint);
    };
    refuse(&["lora.rank=33"], "rank 33 does not fit", "lora.rank to 32 or less");
    refuse(&["lora.rank=0"], "lora.rank", "at least 1");
    refuse(&["lora.rank=2", "lora.alpha=0"], "lora.alpha", "positive");
    refuse(&["lora.rank=2", "lora.alpha=-3"], "lora.alpha", "positive");
    refuse(&["lora.rank=2", "lora.dropout=1"], "lora.dropout", "below 1");
    refuse(&["lora.rank=2", "lora.targets=[]"], "lora.targets", "all-linear");
    refuse(&["lora.rank=2", "lora.targets=[\"q_proj\"]"], "'q_proj'", "c_attn");
    refuse(&["lora.rank=2", "lora.targets=[\"wte\"]"], "wte cannot have an adapter", "c_attn");
    refuse(&["lora.alpha=2"], "lora.alpha has no effect", "lora.rank");

    finish(&base.args("run", &["lora.rank=2"]));
    let adapter = base.folder.join("run/model");
    let path = adapter.to_str().unwrap();
    // It would be lost: only the base would be trained on.
    let from = ["--from", path];
    let on_top = [base.args("refused", &["lora.rank=2"]), from.map(String::from).to_vec()].concat();
    let at = on_top.iter().position(|word| word == "--from").unwrap();
    let on_top = [&on_top[..at], &on_top[at + 2..]].concat();
    refused(&start(&on_top).output().unwrap(), "has an adapter", "limpid merge");

    let other = model().to_str().unwrap();
    let out = base.folder.join("out");
    let out = out.to_str().unwrap();
    refused(&run(&["merge", other, path, "--out", out]), "error", "hint");
    // Alone, and the base is gone.
    let config = adapter.join(ADAPTER[0]);
    let text = fs::read_to_string(&config).unwrap();
    let mut keys: Value = serde_json::from_str(&text).unwrap();
    keys["base_model_name_or_path"] = "no/such/base".into();
    fs::write(&config, keys.to_string()).unwrap();
    let output = run(&["generate", path, "--prompt", "the"]);
    refused(&output, "its base model is no/such/base", "limpid merge");
}
