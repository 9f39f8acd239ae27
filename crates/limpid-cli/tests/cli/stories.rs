//! Models of the built-in stories from outside: lines as texts of their own, and `limpid eval
//! --stories`.

use super::*;
use serde_json::Value;

/// A corpus of a few stories, and a small model that learnt from its lines.
fn trained(name: &str, task: &str, more: &[&str]) -> (PathBuf, PathBuf) {
    let folder = scratch(name);
    let (corpus, out) = (folder.join("corpus"), folder.join("run"));
    let text = |path: &Path| path.to_str().unwrap().to_string();
    stdout(&run(&[
        "corpus",
        "stories",
        "--out",
        &text(&corpus),
        "--stories",
        "300",
        "--held-out",
        "20",
    ]));
    let (train, kept) = (text(&corpus.join("train.story")), text(&corpus.join("validation.story")));
    let kept = format!("data.validation_text=[\"{kept}\"]");
    let out_text = text(&out);
    let mut args = vec!["train", task, "--data", &train, "--out", &out_text, "--set", &kept];
    for pair in [
        "data.unit=lines",
        "tokenizer.kind=word",
        "model.layers=1",
        "model.hidden_size=16",
        "model.heads=2",
        "model.context_length=192",
        "train.batch_tokens=1024",
        "train.steps=20",
        "train.warmup_steps=5",
        "train.lr=0.01",
    ] {
        args.extend(["--set", pair]);
    }
    args.extend(more);
    stdout(&run(&args));
    (out, corpus)
}

fn eval(model: &Path, corpus: &Path, more: &[&str]) -> Output {
    let (train, test) = (corpus.join("train.story"), corpus.join("test.story"));
    let files = [model, &test, &train].map(|path| path.to_str().unwrap().to_string());
    let args = ["eval", &files[0], "--stories", &files[1], "--data", &files[2]];
    run(&args.iter().chain(more).copied().collect::<Vec<_>>())
}

#[test]
fn a_language_model_reads_lines_and_is_measured_beside_the_grammar() {
    let (model, corpus) = trained("story-gpt", "gpt", &[]);
    let value: Value = serde_json::from_str(&stdout(&eval(&model, &corpus, &["--json"]))).unwrap();
    let figure = |key: &str| value[key].as_f64().unwrap();
    assert_eq!(value["stories"], 20);
    // Twenty steps learn how frequent words are, no more.
    assert!(figure("entropy_bound") > 0.2 && figure("entropy_bound") < 0.5, "{value}");
    assert!(figure("loss_per_word") > figure("bigram"), "{value}");
    assert!(figure("loss_per_word") < 1.3 * figure("unigram"), "{value}");
    assert!(stdout(&eval(&model, &corpus, &[])).contains("entropy bound (exact)"));

    // `eval` reads the lines as the run did, each a text of its own; a copy of the model elsewhere
    // must be told.
    let kept = corpus.join("validation.story");
    let loss = |model: &Path, more: &[&str]| {
        let files = [model, &kept].map(|path| path.to_str().unwrap().to_string());
        let args = ["eval", &files[0], "--data", &files[1], "--json"];
        let value: Value = serde_json::from_str(&stdout(&run(&args
            .iter()
            .chain(more)
            .copied()
            .collect::<Vec<_>>())))
        .unwrap();
        (value["unit"].as_str().unwrap().to_string(), value["loss"].as_f64().unwrap())
    };
    let summary: Value =
        serde_json::from_str(&std::fs::read_to_string(model.join("summary.json")).unwrap())
            .unwrap();
    let (unit, lines) = loss(&model, &[]);
    assert_eq!(unit, "lines");
    assert!(
        (lines - summary["validation_loss"].as_f64().unwrap()).abs() < 1e-6,
        "{lines} and {summary}"
    );
    assert_eq!(loss(&model, &["--windows"]).0, "windows");
    let copy = scratch("story-gpt-copy");
    for entry in std::fs::read_dir(model.join("model")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
    }
    assert_eq!(loss(&copy, &["--lines"]), ("lines".to_string(), lines));
    let (unit, windows) = loss(&copy, &[]);
    assert!(unit == "windows" && windows != lines && windows == loss(&model, &["--windows"]).1);

    // The order of lines is a function of the seed: the same run gives the same bytes.
    let (again, _) = trained("story-gpt-again", "gpt", &[]);
    let weights = |run: &Path| std::fs::read(run.join("model/model.safetensors")).unwrap();
    assert!(weights(&model) == weights(&again));
    let (short, corpus) = trained("story-gpt-short", "gpt", &["--set", "model.context_length=32"]);
    refused(&eval(&short, &corpus, &[]), "maximum of 32", "model.context_length=192");
}

#[test]
fn an_encoder_fills_words_hidden_one_at_a_time() {
    let (model, corpus) = trained("story-bert", "bert", &[]);
    let json = stdout(&eval(&model, &corpus, &["--json", "--positions", "50"]));
    let value: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["positions"], 50);
    assert!(value["ceiling"].as_f64().unwrap() > 0.9, "{value}");
    assert!(value["accuracy"].as_f64().unwrap() < 0.5, "{value}");
    assert!(value["most_frequent"].as_f64().unwrap() > 0.0, "{value}");

    let folder = scratch("story-eval-refused");
    let other = folder.join("other");
    std::fs::write(&other, "This is none of them.\n").unwrap();
    let (model, other) = (model.to_str().unwrap(), other.to_str().unwrap());
    let train = corpus.join("train.story");
    let args = ["eval", model, "--stories", other, "--data", train.to_str().unwrap()];
    refused(&run(&args), "not one of the built-in stories", "limpid corpus stories");
    std::fs::write(other, "\n").unwrap();
    refused(&run(&args), "no stories to measure on", "limpid corpus stories");
    let translator = super::model().to_str().unwrap();
    let args = ["eval", translator, "--stories", other, "--data", other];
    refused(&run(&args), "neither a language model", "--summaries");
}

#[test]
fn a_unit_that_a_task_has_not_is_refused() {
    let folder = scratch("unit");
    let file = folder.join("a.txt");
    std::fs::write(&file, "one line\n".repeat(50)).unwrap();
    let file = file.to_str().unwrap();
    let args = ["train", "gpt", "--data", file, "--set", "data.unit=pairs"];
    refused(&run(&args), "data.unit = pairs: expected one of windows, lines", "data.unit=lines");
    let args =
        ["train", "translate", "--source", file, "--target", file, "--set", "data.unit=lines"];
    refused(&run(&args), "data.unit has no effect for translate", "leave data.unit out");
}
