//! The recurrent encoder-decoder from outside: trained, resumed, used, looked into, refused.

use super::*;
use std::fs;
use std::time::Duration;

/// A parallel corpus: words in capitals, in the same order.
fn pairs(folder: &Path) -> (String, String) {
    let words = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "dog", "run"];
    let line = |i: usize| {
        let word = |j: usize| words[(i * 7 + j * j * 3 + i / 5) % 10];
        (0..3 + i % 6).map(word).collect::<Vec<_>>().join(" ") + "\n"
    };
    let text: String = (0..300).map(line).collect();
    let (source, target) = (folder.join("a.src"), folder.join("a.tgt"));
    fs::write(&source, &text).unwrap();
    fs::write(&target, text.to_uppercase()).unwrap();
    (source.display().to_string(), target.display().to_string())
}

/// A run of some seconds; `more` comes last and wins.
fn args(folder: &Path, name: &str, more: &[&str]) -> Vec<String> {
    let (source, target) = pairs(folder);
    let mut args: Vec<String> =
        ["train", "translate", "--source", &source, "--target", &target].map(String::from).into();
    args.extend(["--out".to_string(), folder.join(name).display().to_string()]);
    let set = [
        "model.arch=rnn",
        "tokenizer.kind=word",
        "model.layers=1",
        "model.hidden_size=24",
        "model.embedding_size=16",
        "model.dropout=0.1",
        "train.batch_tokens=400",
        "train.steps=40",
        "train.warmup_steps=5",
        "train.checkpoint_every=5",
        "train.validate_every=20",
    ];
    args.extend(set.iter().flat_map(|pair| ["--set".to_string(), pair.to_string()]));
    args.extend(more.iter().map(|arg| arg.to_string()));
    args
}

fn start(args: &[String]) -> Command {
    limpid(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

#[track_caller]
fn finish(args: &[String]) {
    let output = start(args).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

fn ask(args: &[&str]) -> String {
    let output = super::run(args);
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn every_cell_and_attention_is_trained_and_used_by_the_same_verbs() {
    let folder = scratch("rnn-verbs");
    for (cell, attention, both) in [
        ("gru", "additive", "true"),
        ("lstm", "dot", "true"),
        ("gru", "dot", "false"),
        ("tanh", "none", "false"),
    ] {
        let name = format!("{cell}-{attention}-{both}");
        let flags =
            ["--arch", "rnn", "--cell", cell, "--attention", attention, "--bidirectional", both];
        finish(&args(&folder, &name, &flags));
        let run = folder.join(&name).display().to_string();
        let metrics = fs::read_to_string(folder.join(&name).join("metrics.jsonl")).unwrap();
        let losses: Vec<f64> = metrics
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .filter(|line| line["kind"] == "train")
            .map(|line| line["loss"].as_f64().unwrap())
            .collect();
        assert!(losses.last() < losses.first(), "{name}: {losses:?}");

        let info = ask(&["info", &run]);
        assert!(
            info.contains(cell) && info.contains("recurrent") && info.contains("weight_ih_l0"),
            "{info}"
        );
        for how in [&[][..], &["--num-beams", "3"], &["--temperature", "0.9", "--seed", "4"]] {
            let words = [&["translate", &run, "the cat sat"][..], how].concat();
            assert_eq!(ask(&words).lines().count(), 1, "{name} {how:?}");
        }
        let (source, target) = pairs(&folder);
        let found = ask(&["eval", &run, "--source", &source, "--target", &target, "--json"]);
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        assert!(
            found["loss"].as_f64().unwrap() < losses[0] && found["bleu"].is_number(),
            "{found}"
        );
        let scores = ask(&["logits", &run, "--source-ids", "4,5,1", "--ids", "0,4", "--json"]);
        let scores: serde_json::Value = serde_json::from_str(&scores).unwrap();
        assert_eq!(scores["logits"].as_array().unwrap().len(), 2);

        let aligned = super::run(&["translate", &run, "the cat sat", "--align"]);
        if attention == "none" {
            refused(&aligned, "this model has no attention", "dot or additive attention");
        } else {
            let line = stdout(&aligned);
            assert!(aligned.status.success() && line.contains('\t'), "{line}{}", stderr(&aligned));
            // A row for each token and the end; the words of the source above.
            let picture = ask(&["translate", &run, "the cat sat", "--attention"]);
            let rows: Vec<&str> =
                picture.lines().skip(1).take_while(|line| !line.is_empty()).collect();
            assert!(rows[0].contains("cat") && rows.last().unwrap().contains("</s>"), "{picture}");
            let value = ask(&["translate", &run, "the cat sat", "--attention", "--json"]);
            let looked =
                serde_json::from_str::<serde_json::Value>(&value).unwrap()["attention"].take();
            let weights: Vec<Vec<f64>> = serde_json::from_value(looked["weights"].clone()).unwrap();
            assert_eq!(weights.len(), rows.len() - 1);
            assert!(
                weights.iter().all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-5),
                "{looked}"
            );
        }
    }
}

#[test]
fn a_run_that_is_killed_and_resumed_ends_with_the_same_bytes() {
    let folder = scratch("rnn-resume");
    let kinds = [("gru", "additive"), ("lstm", "dot")];
    for (cell, attention) in kinds {
        let more = ["--cell", cell, "--attention", attention, "--resume"];
        let (whole, killed) = (format!("{cell}-whole"), format!("{cell}-killed"));
        finish(&args(&folder, &whole, &more));
        let again = args(&folder, &killed, &more);
        let mut child = start(&again).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        // After the first checkpoint, wherever it is then.
        let checkpoints = folder.join(&killed).join("checkpoints");
        let begun = || fs::read_dir(&checkpoints).is_ok_and(|mut all| all.next().is_some());
        while !begun() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        finish(&again);
        let model =
            |name: &str| fs::read(folder.join(name).join("model/model.safetensors")).unwrap();
        assert!(model(&whole) == model(&killed), "{cell}");
    }
}

#[test]
fn settings_that_cannot_be_are_refused_with_what_would_work() {
    let folder = scratch("rnn-refused");
    let refused_with = |more: &[&str], error: &str, hint: &str| {
        refused(&start(&args(&folder, "run", more)).output().unwrap(), error, hint);
    };
    refused_with(&["--cell", "relu"], "model.cell = relu: expected one of tanh, gru, lstm", "");
    refused_with(&["--attention", "mlp"], "expected one of none, dot, additive", "formats.md");
    refused_with(
        &["--set", "model.arch=cnn"],
        "model.arch = cnn: expected one of transformer, rnn",
        "",
    );
    refused_with(
        &["--set", "model.intermediate_size=64"],
        "model.intermediate_size has no effect for translate: it belongs to a Transformer",
        "leave model.intermediate_size out",
    );
    refused_with(
        &["--set", "model.layers=9"],
        "9 layers exceed the maximum of 8",
        "at most 8 layers",
    );
    refused_with(
        &["--arch", "transformer", "--cell", "gru"],
        "it belongs to a recurrent model",
        "leave model.cell out",
    );
    let gpt = super::run(&["train", "gpt", "--data", "a.txt", "--arch", "rnn"]);
    refused(&gpt, "only translate has two architectures", "leave model.arch out");
}

#[test]
fn a_folder_whose_options_we_do_not_have_is_refused_by_their_names() {
    let folder = scratch("rnn-folder");
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures/rnn-gru-additive");
    fs::copy(fixture.join("model.safetensors"), folder.join("model.safetensors")).unwrap();
    let config = fs::read_to_string(fixture.join("config.json")).unwrap();
    let with = |from: &str, to: &str| {
        let changed = config.replace(from, to);
        assert_ne!(changed, config);
        fs::write(folder.join("config.json"), changed).unwrap();
        super::run(&["logits", folder.to_str().unwrap(), "--source-ids", "5,1", "--ids", "0"])
    };
    let unknown = |output: &Output, error: &str, names: &str| {
        let text = stderr(output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(error) && text.contains(names), "{text}");
    };
    unknown(&with("\"gru\"", "\"mgu\""), "cell 'mgu' is unknown", "tanh, gru");
    unknown(&with("\"additive\"", "\"location\""), "attention 'location' is unknown", "additive");
    let output = with("\"dropout\": 0.0", "\"dropout\": 0.0, \"proj_size\": 8");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("proj_size = 8 is not supported"), "{}", stderr(&output));
    // Another kind than the weights are for.
    let output = with("\"bidirectional\": true", "\"bidirectional\": false");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let output = with("\"gru\"", "\"gru\" ");
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn recurrent_layers_are_measured_for_every_cell() {
    for cell in ["tanh", "gru", "lstm"] {
        let words = [
            "bench", "step", "rnn", "--cell", cell, "--width", "32", "--batch", "3", "--length",
            "4",
        ];
        let found = ask(&[&words[..], &["--seconds", "0.05", "--json", "--mixed"]].concat());
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        assert!(
            found["median_ms"].as_f64().unwrap() > 0.0 && found["gflops"].as_f64().unwrap() > 0.0
        );
    }
    let output = super::run(&["bench", "step", "rnn", "--cell", "relu"]);
    let text = stderr(&output);
    assert!(text.contains("cell 'relu' is unknown") && text.contains("tanh, gru"), "{text}");
}
