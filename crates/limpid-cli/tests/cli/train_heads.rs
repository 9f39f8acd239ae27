//! `limpid train classify|tag|answer` of every head from outside: trained, killed and resumed,
//! evaluated, used; what is refused.

use super::*;
use serde_json::{Value, json};
use std::fs;

/// An encoder with a masked-LM head, from scratch.
fn encoder() -> &'static Path {
    static ENCODER: OnceLock<PathBuf> = OnceLock::new();
    ENCODER.get_or_init(|| {
        let folder = scratch("heads-encoder");
        let data = folder.join("text.txt");
        fs::write(&data, "Ann met Bob in Rome .\nBob likes the red cat .\n".repeat(40)).unwrap();
        let run = folder.join("run");
        train("bert", &data, &run, &["tokenizer.kind=word", "data.unit=lines"]);
        run
    })
}

/// A decoder, from scratch.
fn decoder() -> &'static Path {
    static DECODER: OnceLock<PathBuf> = OnceLock::new();
    DECODER.get_or_init(|| {
        let folder = scratch("heads-decoder");
        let data = folder.join("text.txt");
        fs::write(&data, "Ann met Bob in Rome .\nBob likes the red cat .\n".repeat(40)).unwrap();
        let run = folder.join("run");
        train("gpt", &data, &run, &["tokenizer.kind=word", "data.unit=lines"]);
        run
    })
}

/// Arguments of a small run.
fn args(task: &str, data: &Path, out: &Path, more: &[&str]) -> Vec<String> {
    let paths = [data, out].map(|path| path.to_str().unwrap());
    let mut args = vec!["train", task, "--data", paths[0], "--out", paths[1]];
    let is_pretrained = more.contains(&"--from");
    if !is_pretrained {
        let sizes = ["model.layers=1", "model.heads=2", "model.hidden_size=32"];
        args.extend(sizes.iter().flat_map(|set| ["--set", set]));
    }
    let common = [
        "train.steps=60",
        "train.lr=5e-3",
        "train.warmup_steps=5",
        "train.checkpoint_every=20",
        "train.validate_every=20",
        "train.keep_checkpoints=9",
        "model.context_length=64",
    ];
    args.extend(common.iter().flat_map(|set| ["--set", set]));
    let mut is_value = false;
    for word in more {
        match word.starts_with("--") || is_value || !word.contains('=') {
            true => args.push(word),
            false => args.extend(["--set", word]),
        }
        is_value = word.starts_with("--") && *word != "--resume";
    }
    args.into_iter().map(String::from).collect()
}

#[track_caller]
fn train(task: &str, data: &Path, out: &Path, more: &[&str]) {
    let args = args(task, data, out, more);
    let output = run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(output.status.success(), "{}", stderr(&output));
}

#[track_caller]
fn json_of(args: &[&str]) -> Value {
    let output = run(args);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

fn eval(run: &Path, data: &Path) -> Value {
    json_of(&["eval", run.to_str().unwrap(), "--data", data.to_str().unwrap(), "--json"])
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} in {value}"))
}

/// Trains, cuts the run back to its first checkpoint as a kill would, resumes it, and expects the
/// same weights; returns the run.
#[track_caller]
fn trained_and_resumed(name: &str, task: &str, data: &Path, more: &[&str]) -> PathBuf {
    let folder = scratch(name);
    let [whole, cut] = ["whole", "cut"].map(|run| folder.join(run));
    train(task, data, &whole, more);
    train(task, data, &cut, more);
    for step in [40, 60] {
        fs::remove_dir_all(cut.join(format!("checkpoints/step-{step:08}"))).unwrap();
    }
    train(task, data, &cut, &[more, &["--resume"]].concat());
    let weights = |run: &Path| {
        let names = ["model/model.safetensors", "model/adapter_model.safetensors"];
        let found = names.iter().find_map(|name| fs::read(run.join(name)).ok());
        found.expect("weights")
    };
    assert!(weights(&whole) == weights(&cut), "{name}: resumed differs from uninterrupted");
    whole
}

/// Texts whose number of `a` words is the target.
fn counted() -> String {
    let row = |i: usize| {
        let words: Vec<&str> =
            (0..6).map(|k| if (i * 7 + k * 5) % 11 < 1 + i % 5 { "red" } else { "cat" }).collect();
        let count = words.iter().filter(|word| **word == "red").count();
        format!("{}\t{}\n", words.join(" "), count as f64 / 2.0)
    };
    format!("text\tlabel\n{}", (0..80).map(row).collect::<String>())
}

#[test]
fn a_regression_is_trained_resumed_evaluated_and_used() {
    let folder = scratch("regression-data");
    let data = folder.join("scores.tsv");
    fs::write(&data, counted()).unwrap();
    for (name, more) in [
        ("regression", &["--problem-type", "regression"][..]),
        (
            "regression-decoder",
            &["--from", decoder().to_str().unwrap(), "--problem-type", "regression"],
        ),
    ] {
        let run_folder = trained_and_resumed(name, "classify", &data, more);
        let found = eval(&run_folder, &data);
        assert!(number(&found, "pearson") > 0.8, "{name}: {found}");
        assert!(number(&found, "spearman") > 0.7 && number(&found, "mse") < 1.0, "{name}: {found}");
        let summary: Value =
            serde_json::from_slice(&fs::read(run_folder.join("summary.json")).unwrap()).unwrap();
        assert!(summary["validation_pearson"].is_f64(), "{summary}");
        assert!(summary.get("validation_perplexity").is_none());
        let config: Value =
            serde_json::from_slice(&fs::read(run_folder.join("model/config.json")).unwrap())
                .unwrap();
        assert_eq!(config["problem_type"], "regression");
        let model = run_folder.to_str().unwrap();
        let score = |text: &str| {
            json_of(&["classify", model, text, "--json"])["values"]["LABEL_0"].as_f64().unwrap()
        };
        assert!(score("red red red red red red") > score("cat cat cat cat cat cat"));
        let ranked = run(&["rerank", model, "--query", "red", "cat cat", "red red"]);
        assert!(ranked.status.success(), "{}", stderr(&ranked));
    }
}

#[test]
fn several_labels_are_trained_from_text_and_from_json_lists() {
    let folder = scratch("labels-data");
    let words = ["red", "cat", "Rome"];
    let examples: Vec<(String, Vec<&str>)> = (0..80)
        .map(|i| {
            let on: Vec<&str> = words
                .iter()
                .enumerate()
                .filter(|(k, _)| i >> k & 1 == 1)
                .map(|(_, w)| *w)
                .collect();
            (format!("Ann likes {} .", if on.is_empty() { "it".into() } else { on.join(" ") }), on)
        })
        .collect();
    let tsv: String =
        examples.iter().map(|(text, on)| format!("{text}\t{}\n", on.join("|"))).collect();
    let lines: String = examples
        .iter()
        .map(|(text, on)| format!("{}\n", json!({ "text": text, "label": on })))
        .collect();
    let [table, list] = ["labels.tsv", "labels.jsonl"].map(|name| folder.join(name));
    fs::write(&table, format!("text\tlabel\n{tsv}")).unwrap();
    fs::write(&list, lines).unwrap();
    let problem = ["--problem-type", "multi_label_classification"];
    let from = ["--from", encoder().to_str().unwrap()];
    let separated = [&problem[..], &from, &["data.label_separator=|"]].concat();
    let run_folder = trained_and_resumed("labels", "classify", &table, &separated);
    let found = eval(&run_folder, &table);
    assert!(number(&found, "micro_f1") > 0.9, "{found}");
    assert!(number(&found, "macro_f1") > 0.9 && number(&found, "accuracy") > 0.6, "{found}");
    assert_eq!(found["classes"].as_array().unwrap().len(), 3);
    // The same texts and labels: the same weights.
    let of_lists = scratch("labels-list").join("run");
    train("classify", &list, &of_lists, &[&problem[..], &from].concat());
    let weights = |run: &Path| fs::read(run.join("model/model.safetensors")).unwrap();
    assert!(weights(&run_folder) == weights(&of_lists));
    let model = run_folder.to_str().unwrap();
    let shown = json_of(&["classify", model, "Ann likes red cat .", "--json"]);
    assert!(shown["probabilities"]["red"].as_f64() > shown["probabilities"]["Rome"].as_f64());
}

#[test]
fn a_decoder_becomes_a_classifier_with_all_weights_or_with_adapters() {
    let folder = scratch("decoder-data");
    let data = folder.join("labels.tsv");
    let row = |i: usize| match i % 2 {
        0 => format!("Ann likes the red cat {}\tgood\n", "Bob ".repeat(i % 5)),
        _ => format!("Ann met Bob in Rome {}\tbad\n", "cat ".repeat(i % 7)),
    };
    fs::write(&data, format!("text\tlabel\n{}", (0..60).map(row).collect::<String>())).unwrap();
    let from = ["--from", decoder().to_str().unwrap()];
    for (name, more) in [
        ("decoder-full", &["train.activation_checkpointing=true"][..]),
        ("decoder-lora", &["lora.rank=4"]),
        ("decoder-frozen", &["train.freeze=[\"embeddings\"]"]),
    ] {
        let run_folder = trained_and_resumed(name, "classify", &data, &[&from[..], more].concat());
        let found = eval(&run_folder, &data);
        assert!(number(&found, "accuracy") > 0.9, "{name}: {found}");
        let model = run_folder.to_str().unwrap();
        let shown = json_of(&["classify", model, "Ann likes the red cat", "--json"]);
        assert_eq!(shown["label"], "good", "{name}: {shown}");
    }
}

/// Sentences with people and places.
fn sentences() -> Vec<(Vec<&'static str>, Vec<&'static str>)> {
    let (people, places) = (["Ann", "Bob"], ["Rome", "York"]);
    (0..60)
        .map(|i| match i % 3 {
            0 => (
                vec![people[i % 2], "met", people[(i + 1) % 2], "in", places[i % 2], "."],
                vec!["B-PER", "O", "B-PER", "O", "B-LOC", "O"],
            ),
            1 => (
                vec!["the", "cat", "likes", "New", places[i % 2], "."],
                vec!["O", "O", "O", "B-LOC", "I-LOC", "O"],
            ),
            _ => (vec![people[i % 2], "likes", "the", "cat"], vec!["B-PER", "O", "O", "O"]),
        })
        .collect()
}

#[test]
fn words_are_tagged_from_conll_columns_and_from_json_lists() {
    let folder = scratch("tag-data");
    let [conll, list] = ["words.conll", "words.jsonl"].map(|name| folder.join(name));
    let columns: String = sentences()
        .iter()
        .map(|(words, labels)| {
            let lines = words.iter().zip(labels).map(|(word, label)| format!("{word} x {label}\n"));
            lines.collect::<String>() + "\n"
        })
        .collect();
    fs::write(&conll, columns).unwrap();
    let lists: String = sentences()
        .iter()
        .map(|(words, labels)| format!("{}\n", json!({ "tokens": words, "tags": labels })))
        .collect();
    fs::write(&list, lists).unwrap();
    let run_folder = trained_and_resumed("tag", "tag", &conll, &[]);
    let found = eval(&run_folder, &conll);
    assert!(number(&found, "f1") > 0.9 && number(&found, "accuracy") > 0.9, "{found}");
    let named = ["data.word_column=tokens", "data.label_column=tags"];
    let of_lists = scratch("tag-list").join("run");
    train("tag", &list, &of_lists, &named);
    let weights = |run: &Path| fs::read(run.join("model/model.safetensors")).unwrap();
    assert!(weights(&run_folder) == weights(&of_lists));
    // Read as the run read its data.
    assert_eq!(eval(&of_lists, &list)["f1"], found["f1"]);
    let model = run_folder.to_str().unwrap();
    let entities = &json_of(&["tag", model, "Ann met Bob in Rome .", "--json"])["entities"];
    let kinds: Vec<&Value> =
        entities.as_array().unwrap().iter().map(|entity| &entity["entity_group"]).collect();
    assert_eq!(kinds, ["PER", "PER", "LOC"]);
    // Fine-tuned with adapters.
    let lora = ["--from", encoder().to_str().unwrap(), "lora.rank=4"];
    let adapted = trained_and_resumed("tag-lora", "tag", &conll, &lora);
    assert!(number(&eval(&adapted, &conll), "f1") > 0.5);
    let tag = run(&["tag", adapted.to_str().unwrap(), "Ann met Bob"]);
    assert!(tag.status.success(), "{}", stderr(&tag));
}

/// Questions whose answer is a name in a context of some length.
fn questions(filler: usize) -> Vec<Value> {
    let people = ["Ann", "Bob", "Eve", "Tom"];
    (0..60)
        .map(|i| {
            let (one, other) = (people[i % 4], people[(i + 1 + i % 3) % 4]);
            let before = "the cat sleeps . ".repeat(i % (filler + 1));
            let context = format!("{before}{one} likes red . {other} likes Rome .");
            let (question, answer) = match i % 2 {
                0 => ("who likes red ?", one),
                _ => ("who likes Rome ?", other),
            };
            let start = if i % 2 == 0 { before.len() } else { before.len() + one.len() + 13 };
            json!({ "question": question, "context": context, "answer": answer, "start": start })
        })
        .collect()
}

#[test]
fn questions_are_answered_from_json_lines_and_squad_also_in_windows() {
    let folder = scratch("answer-data");
    let [lines, squad] = ["questions.jsonl", "questions.json"].map(|name| folder.join(name));
    let all = questions(9);
    fs::write(&lines, all.iter().map(|one| format!("{one}\n")).collect::<String>()).unwrap();
    let paragraph = |one: &Value| {
        let answers = json!([{ "text": one["answer"], "answer_start": one["start"] }]);
        let question = json!({ "question": one["question"], "id": "x", "answers": answers });
        json!({ "context": one["context"], "qas": [question] })
    };
    let paragraphs: Vec<Value> = all.iter().map(paragraph).collect();
    fs::write(&squad, json!({ "data": [{ "paragraphs": paragraphs }] }).to_string()).unwrap();
    let long =
        ["model.context_length=32", "data.doc_stride=12", "train.steps=200", "train.lr=3e-3"];
    let first = ["tokenizer.kind=word", "train.checkpoint_every=20"];
    let more = [&long[..], &first].concat();
    let run_folder = scratch("answer").join("run");
    train("answer", &lines, &run_folder, &more);
    let found = eval(&run_folder, &lines);
    assert!(number(&found, "f1") > 0.8 && number(&found, "exact_match") > 0.8, "{found}");
    let of_squad = scratch("answer-squad").join("run");
    train("answer", &squad, &of_squad, &more);
    let weights = |run: &Path| fs::read(run.join("model/model.safetensors")).unwrap();
    assert!(weights(&run_folder) == weights(&of_squad));
    assert_eq!(eval(&of_squad, &squad), found);
    let model = run_folder.to_str().unwrap();
    let context = "Ann likes red . Bob likes Rome .";
    let args = ["answer", model, "--question", "who likes red ?", "--context", context, "--json"];
    assert_eq!(json_of(&args)["answers"][0]["answer"], "Ann");
    let resumed = ["tokenizer.kind=word", "model.context_length=32", "data.doc_stride=12"];
    trained_and_resumed("answer-resumed", "answer", &lines, &resumed);
    let lora = ["--from", encoder().to_str().unwrap(), "lora.rank=4", "model.context_length=32"];
    trained_and_resumed("answer-lora", "answer", &lines, &lora);
}

#[test]
fn what_does_not_fit_a_head_is_refused_with_what_would() {
    let folder = scratch("heads-refused");
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let failed = |task: &str, data: &Path, more: &[&str]| {
        let args = args(task, data, &folder.join("run"), more);
        run(&args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let words = write("words.conll", "Ann B-PER\nsleeps O\n\nBob B-PER\nsleeps O\n");
    let labels = write("labels.tsv", "text\tlabel\na\tgood\nb\tbad\n");
    let questions =
        write("q.jsonl", "{\"question\":\"q\",\"context\":\"Ann\",\"answer\":\"Ann\",\"start\":1}");
    let decoder = decoder().to_str().unwrap();
    refused(&failed("tag", &words, &["--from", decoder]), "does not hold an encoder", "train bert");
    refused(&failed("answer", &questions, &["--from", decoder]), "an encoder", "train bert");
    let translator = model().to_str().unwrap();
    let output = failed("classify", &labels, &["--from", translator]);
    refused(&output, "does not hold an encoder or a decoder", "train gpt");
    let output = failed("classify", &labels, &["--problem-type", "regression"]);
    refused(&output, "line 2: label 'good' is not a number", "data.label_column");
    let output = failed("classify", &labels, &["--problem-type", "ranking"]);
    refused(&output, "expected one of regression", "");
    let output = failed("tag", &words, &["--problem-type", "regression"]);
    refused(&output, "--problem-type is not for limpid train tag", "classify");
    refused(&failed("answer", &questions, &[]), "line 1: answer 'Ann' is not at", "from 0");
    let output = failed("tag", &write("one.conll", "Ann O\n\nBob O\n"), &[]);
    refused(&output, "every example has the label O", "two classes");
    refused(&failed("tag", &write("x.xml", "a"), &[]), "cannot be told", ".conll");
    let set = ["--problem-type", "regression", "train.best_metric=accuracy"];
    refused(
        &failed("classify", &labels, &set),
        "train.best_metric = accuracy",
        "train.best_metric",
    );
    let set = ["--problem-type", "regression", "train.label_smoothing=0.1"];
    refused(&failed("classify", &labels, &set), "no effect for classify", "leave");
    let encoder = encoder().to_str().unwrap();
    let output = failed("tag", &words, &["--from", encoder, "lora.rank=999"]);
    refused(&output, "999", "rank");
    let long = write(
        "long.jsonl",
        "{\"question\":\"q q q q q q q q q q q q q q q q q q q q\",\"context\":\"Ann\",\
         \"answer\":\"Ann\",\"start\":0}\n{\"question\":\"q\",\"context\":\"Ann\",\
         \"answer\":\"Ann\",\"start\":0}\n",
    );
    let set = ["model.context_length=24", "tokenizer.kind=word"];
    refused(&failed("answer", &long, &set), "leaves no room", "model.context_length=");
    // Models and data of another kind.
    let run_folder = scratch("heads-refused-tag").join("run");
    train("tag", &words, &run_folder, &["train.steps=2"]);
    let tagger = run_folder.to_str().unwrap();
    let other = write("other.conll", "Ann B-LOC\n");
    let output = run(&["eval", tagger, "--data", other.to_str().unwrap()]);
    refused(&output, "label 'B-LOC' was not seen in training", "B-PER");
    let output = run(&["eval", tagger, "--data", words.to_str().unwrap(), "--lines"]);
    refused(&output, "--lines is for", "leave it out");
}
