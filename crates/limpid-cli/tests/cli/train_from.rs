//! `limpid train … --from MODEL`: language models and translators that go on learning, and what
//! they refuse. Encoders are in encoder.rs.

use super::train::{finish, gpt_args, pairs, start, text};
use super::*;
use serde_json::Value;
use std::fs;

/// The bytes of a run's best model.
fn weights(run: &Path) -> Vec<u8> {
    fs::read(run.join("model/model.safetensors")).unwrap()
}

fn json(path: PathBuf) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// A run of some steps that begins with a model, with other data and sizes that are not said; a
/// learning rate that changes no number.
fn still(task: &str, data: &[&str], from: &Path, out: &Path, more: &[&str]) -> Vec<String> {
    let mut args: Vec<&str> = vec!["train", task];
    args.extend(data);
    args.extend([
        "--from",
        from.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
        "--set",
        "train.steps=4",
    ]);
    args.extend([
        "--set",
        "train.lr=1e-30",
        "--set",
        "train.validate_every=2",
        "--set",
        "train.samples=1",
    ]);
    let batch = if task == "gpt" { "train.batch_size=4" } else { "train.batch_tokens=300" };
    args.extend(["--set", batch]);
    args.extend(more);
    args.into_iter().map(String::from).collect()
}

#[test]
fn a_language_model_goes_on_with_its_sizes_tokens_and_weights() {
    let folder = scratch("from-gpt");
    let (data, first) = (text(&folder, 300), folder.join("first"));
    // Positions of another kind, lines that end: things that a configuration would have to say
    // again.
    let more = [
        "--set",
        "model.positions=sinusoidal",
        "--set",
        "data.unit=lines",
        "--set",
        "tokenizer.kind=word",
    ];
    finish(&gpt_args(&data, &first, &more));
    let other = folder.join("other.txt");
    fs::write(&other, "the dog saw a cat and sat on the mat.\n".repeat(60)).unwrap();
    let (data, second) = (["--data", other.to_str().unwrap()], folder.join("second"));
    // The folder of the run stands for its model; the context is no longer than there are
    // positions.
    finish(&still("gpt", &data, &first, &second, &["--set", "model.dropout=0.1"]));
    assert!(weights(&first) == weights(&second));
    for file in ["config.json", "generation_config.json", "tokenizer.json"] {
        assert_eq!(
            json(first.join("model").join(file)),
            json(second.join("model").join(file)),
            "{file}"
        );
    }
    assert!(json(second.join("model/generation_config.json"))["eos_token_id"].is_u64());
    let info = |more: &str| stdout(&run(&["info", second.to_str().unwrap(), "--depth", "0", more]));
    assert!(info("--threads=1").contains("\npositions: sinusoidal\n"), "{}", info("--threads=1"));
    let found: Value = serde_json::from_str(&info("--json")).unwrap();
    assert!(found.to_string().contains("\"positions\":\"sinusoidal\""), "{found}");
    // A configuration may also name the run; the memory is that of the model, not of the usual
    // sizes.
    let by_key = folder.join("by-key");
    let (first_run, second_run) =
        (format!("model.from={}", first.display()), by_key.to_str().unwrap());
    let short = [
        "--out",
        second_run,
        "--set",
        &first_run,
        "--set",
        "train.steps=1",
        "--set",
        "train.batch_size=1",
    ];
    finish(
        &[&["train", "gpt"][..], &data, &short]
            .concat()
            .into_iter()
            .map(String::from)
            .collect::<Vec<_>>(),
    );
    assert!(fs::read_to_string(by_key.join("config.toml")).unwrap().contains("hidden_size = 32"));
    // With a learning rate it learns, and it goes on bit for bit after a stop.
    let learns = |name: &str, steps: &str, more: &[&str]| {
        let (out, set) = (folder.join(name), ["--set", "train.lr=1e-3", "--set", steps]);
        finish(
            &[
                still("gpt", &data, &first, &out, &set),
                more.iter().map(|s| s.to_string()).collect(),
            ]
            .concat(),
        );
        weights(&out)
    };
    let whole = learns("whole", "train.steps=40", &[]);
    assert!(whole != weights(&first));
    learns(
        "parts",
        "train.steps=20",
        &["--set", "train.checkpoint_every=10", "--set", "train.schedule=constant"],
    );
    let parts =
        ["--resume", "--set", "train.checkpoint_every=10", "--set", "train.schedule=constant"];
    let resumed = learns("parts", "train.steps=40", &parts);
    let straight = learns("straight", "train.steps=40", &["--set", "train.schedule=constant"]);
    assert!(resumed == straight);

    let refuse = |set: &str, error: &str, hint: &str| {
        let out = folder.join("refused");
        let args = still("gpt", &data, &first, &out, &["--set", set]);
        refused(&start(&args).output().unwrap(), error, hint);
        assert!(!out.exists());
    };
    refuse(
        "model.hidden_size=64",
        "model.hidden_size = 64, but the model in",
        "leave model.hidden_size out",
    );
    refuse("model.intermediate_size=48", "has 128", "leave model.intermediate_size out");
    // What is asked for may be what is usual.
    refuse("model.hidden_size=128", "has 32", "leave model.hidden_size out");
    refuse("model.context_length=128", "exceeds the 16 positions", "model.context_length=16");
    refuse("model.norm=post", "has pre", "leave model.norm out");
    refuse("model.positions=learned", "has sinusoidal", "leave model.positions out");
    refuse("model.activation=relu", "has gelu_new", "leave model.activation out");
    refuse("model.context_length=17", "exceeds the 16 positions", "model.context_length=16");
    refuse("model.bias=false", "has biases", "leave out model.bias");
    refuse(
        "tokenizer.kind=char",
        "tokenizer.kind has no effect for gpt: the tokenizer is the pretrained model's",
        "leave",
    );
    let larger = folder.join("larger");
    let output = run(&[
        "tokenizer",
        "train",
        "byte",
        "--data",
        other.to_str().unwrap(),
        "--out",
        larger.to_str().unwrap(),
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    refuse(
        &format!("tokenizer.from={}", larger.display()),
        "the tokenizer has",
        "leave out tokenizer.from",
    );
    // Other families.
    let (source, target) = pairs(&folder, 50);
    let files = ["--source", source.to_str().unwrap(), "--target", target.to_str().unwrap()];
    let output =
        start(&still("translate", &files, &first, &folder.join("no"), &[])).output().unwrap();
    refused(&output, "does not hold an encoder-decoder", "limpid train translate");
    let output = start(&still("gpt", &data, model(), &folder.join("no"), &[])).output().unwrap();
    refused(&output, "does not hold a decoder", "limpid train gpt");
}

#[test]
fn translators_of_both_kinds_go_on_with_their_sizes_tokens_and_weights() {
    let folder = scratch("from-translator");
    let (source, target) = pairs(&folder, 200);
    let files = ["--source", source.to_str().unwrap(), "--target", target.to_str().unwrap()];
    for (name, own, other, own_value) in [
        ("transformer", "model.norm=pre", "model.norm=post", "has pre"),
        ("rnn", "model.cell=lstm", "model.cell=gru", "has lstm"),
    ] {
        let (first, second) = (folder.join(name), folder.join(format!("{name}-on")));
        let arch = format!("model.arch={name}");
        let small = [
            "model.layers=1",
            "model.hidden_size=16",
            "train.steps=8",
            "train.batch_tokens=400",
            "tokenizer.kind=word",
            &arch,
            own,
        ];
        let mut args: Vec<&str> = vec!["train", "translate", "--out", first.to_str().unwrap()];
        args.extend(files);
        args.extend(small.iter().flat_map(|set| ["--set", set]));
        finish(&args.into_iter().map(String::from).collect::<Vec<_>>());
        finish(&still("translate", &files, &first, &second, &[]));
        assert!(weights(&first) == weights(&second), "{name}");
        for file in ["config.json", "tokenizer.json", "generation_config.json"] {
            let said = |path: &Path| json(path.join("model").join(file));
            assert_eq!(said(&first), said(&second), "{name} {file}");
        }
        let args = still(
            "translate",
            &files,
            &first,
            &folder.join("no"),
            &["--set", &arch, "--set", other],
        );
        refused(&start(&args).output().unwrap(), own_value, "leave model.");
        // Its configuration alone begins the same run.
        let again = folder.join(format!("{name}-again"));
        let config = second.join("config.toml");
        finish(
            &["train", config.to_str().unwrap(), "--out", again.to_str().unwrap()]
                .map(String::from),
        );
        assert!(weights(&again) == weights(&second), "{name}");
    }
    // A setting of its own kind need not say which kind that is; one of the other kind is refused,
    // and leaves nothing.
    let on = |name: &str, more: &[&str]| {
        start(&still("translate", &files, &folder.join("rnn"), &folder.join(name), more))
            .output()
            .unwrap()
    };
    let same = on("same", &["--cell", "lstm"]);
    assert!(same.status.success(), "{}", stderr(&same));
    refused(
        &on("no", &["--set", "model.norm=pre"]),
        "model.norm has no effect for translate: it belongs to a Transformer",
        "leave model.norm out",
    );
    assert!(!folder.join("no").exists());
    // Without positions it learns longer texts than before.
    let long = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        fs::write(
            path,
            text.lines().map(|line| format!("{line} ").repeat(3) + "\n").collect::<String>(),
        )
        .unwrap();
    };
    let short = on("short", &["--set", "model.context_length=12"]);
    assert!(short.status.success(), "{}", stderr(&short));
    [&source, &target].into_iter().for_each(|path| long(path));
    let longer =
        start(&still("translate", &files, &folder.join("short"), &folder.join("longer"), &[]));
    let longer = { longer }.output().unwrap();
    assert!(longer.status.success(), "{}", stderr(&longer));
    // Other settings for writing stay what they were, and a run that is begun with is not replaced.
    let kept = folder.join("longer/model/generation_config.json");
    let mut settings = json(kept.clone());
    settings["num_beams"] = 3.into();
    fs::write(&kept, settings.to_string()).unwrap();
    finish(&still("translate", &files, &folder.join("longer"), &folder.join("last"), &[]));
    assert_eq!(json(folder.join("last/model/generation_config.json")), settings);
    let own = start(&still(
        "translate",
        &files,
        &folder.join("last"),
        &folder.join("last"),
        &["--force"],
    ));
    refused(&{ own }.output().unwrap(), "which lies inside the folder it overwrites", "--out DIR");
    fs::remove_file(folder.join("last/model/tokenizer.json")).unwrap();
    let without = start(&still("translate", &files, &folder.join("last"), &folder.join("no"), &[]));
    refused(&{ without }.output().unwrap(), "has no tokenizer.json", "tokenizer.from");
    let mixed = still(
        "translate",
        &files,
        &folder.join("rnn"),
        &folder.join("no"),
        &["--arch", "transformer"],
    );
    refused(
        &start(&mixed).output().unwrap(),
        "model.arch = transformer, but",
        "leave model.arch out",
    );
}

#[test]
fn the_head_of_a_classifier_is_taken_over_with_its_labels_or_not_at_all() {
    let folder = scratch("from-classifier");
    let table = |name: &str, labels: [&str; 2]| {
        let lines = fs::read_to_string(text(&folder, 100)).unwrap();
        let row = |(i, line): (usize, &str)| format!("{line}\t{}\n", labels[i % 2]);
        let rows: String = lines.lines().enumerate().map(row).collect();
        fs::write(folder.join(name), format!("text\tlabel\n{rows}")).unwrap();
        folder.join(name).display().to_string()
    };
    let (first, other) = (table("first.tsv", ["bad", "good"]), table("other.tsv", ["x", "y"]));
    let made = folder.join("made");
    let small = [
        "model.layers=1",
        "model.hidden_size=16",
        "model.heads=2",
        "train.steps=4",
        "tokenizer.kind=word",
    ];
    let mut args: Vec<&str> =
        vec!["train", "classify", "--data", &first, "--out", made.to_str().unwrap()];
    args.extend(small.iter().flat_map(|set| ["--set", set]));
    finish(&args.into_iter().map(String::from).collect::<Vec<_>>());
    // With a rate of 0 nothing is learnt: what is saved is what was taken over.
    let again = |data: &str, name: &str| {
        let out = folder.join(name);
        let said = finish(&still("classify", &["--data", data], &made, &out, &[]));
        (said, weights(&out))
    };
    let (said, same) = again(&first, "same");
    assert!(same == weights(&made) && !said.contains("other labels"), "{said}");
    let (said, _) = again(&other, "new");
    assert!(
        said.contains("has other labels: the classification head starts from scratch"),
        "{said}"
    );
    let head = |run: &str| {
        let (model, _) = limpid::hub::load(&folder.join(run).join("model")).unwrap();
        let of = |name: &str| model.params.get(model.params.find(name).unwrap()).to_vec();
        [of("classifier.weight"), of("classifier.bias"), of("pooler.weight")]
    };
    let ([weight, bias, pooler], [new_weight, new_bias, new_pooler]) = (head("made"), head("new"));
    assert!(weight != new_weight && bias != new_bias && pooler == new_pooler);
    assert!(new_bias.iter().all(|number| number.abs() < 1e-20), "{new_bias:?}");
}
