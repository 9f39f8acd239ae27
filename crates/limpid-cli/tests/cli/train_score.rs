//! The end of a translator's training: what `summary.json` says is what `limpid eval` finds. And
//! pairs in tables.

use super::train::{finish, pairs, result, start, text};
use super::*;
use serde_json::Value;
use std::fs;

const SMALL: [&str; 10] = [
    "train.steps=60",
    "model.layers=1",
    "model.hidden_size=32",
    "model.heads=2",
    "model.intermediate_size=64",
    "tokenizer.kind=word",
    "train.batch_tokens=400",
    "train.warmup_steps=10",
    "train.lr=0.005",
    "train.validate_every=20",
];

fn translate_args(out: &Path, files: &[(&str, &Path)], more: &[&str]) -> Vec<String> {
    let mut args: Vec<String> = ["train", "translate", "--out"].map(String::from).to_vec();
    args.push(out.display().to_string());
    for (flag, path) in files {
        match flag.strip_prefix("--") {
            Some(_) => args.extend([flag.to_string(), path.display().to_string()]),
            None => args.extend(["--set".to_string(), format!("{flag}={}", path.display())]),
        }
    }
    args.extend(SMALL.iter().flat_map(|pair| ["--set".to_string(), pair.to_string()]));
    args.extend(more.iter().map(|arg| arg.to_string()));
    args
}

/// Lines `range` of a file, as a file of their own.
fn part(path: &Path, name: &str, range: std::ops::Range<usize>) -> PathBuf {
    let whole = fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let to = path.with_file_name(name);
    fs::write(&to, lines[range].join("\n") + "\n").unwrap();
    to
}

fn summary(run: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(run.join("summary.json")).unwrap()).unwrap()
}

fn eval(run: &Path, source: &Path, target: &Path, more: &[&str]) -> Value {
    let mut args =
        vec!["eval", run.to_str().unwrap(), "--json", "--source", source.to_str().unwrap()];
    args.extend(["--target", target.to_str().unwrap()]);
    args.extend(more);
    let output = super::run(&args);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

#[test]
fn the_end_of_a_translators_run_says_what_eval_finds() {
    let folder = scratch("train-score");
    let (source, target) = pairs(&folder, 300);
    let (val_source, val_target) =
        (part(&source, "v.src", 240..270), part(&target, "v.tgt", 240..270));
    let (test_source, test_target) =
        (part(&source, "t.src", 270..300), part(&target, "t.tgt", 270..300));
    let run = folder.join("run");
    let files: [(&str, &Path); 4] = [
        ("--source", &part(&source, "l.src", 0..240)),
        ("--target", &part(&target, "l.tgt", 0..240)),
        ("data.validation_source", &val_source),
        ("data.validation_target", &val_target),
    ];
    let said = finish(&translate_args(&run, &files, &[]));
    let found = summary(&run);
    let expected = eval(&run, &val_source, &val_target, &[]);
    for key in ["bleu", "bleu_signature", "chrf", "chrf_signature"] {
        assert_eq!(found[key], expected[key], "{key}");
    }
    assert_eq!(
        (&found["scored_on"], &found["scored_sentences"]),
        (&"validation".into(), &30.into())
    );
    assert!(found["bleu"].as_f64().unwrap() > 0.0, "{found}");
    let printed = format!("BLEU {:.2}  nrefs:1|case:mixed", found["bleu"].as_f64().unwrap());
    assert!(said.contains(&printed), "'{printed}' is not in:\n{said}");

    // Fewer, or none at all.
    finish(&translate_args(&run, &files, &["--resume", "--set", "score.max_sentences=7"]));
    assert_eq!(summary(&run)["scored_sentences"], 7);
    finish(&translate_args(&run, &files, &["--resume", "--set", "score.max_sentences=0"]));
    assert!(summary(&run).get("bleu").is_none());

    // Nothing has to be learnt again to be judged on something else, in another way.
    let weights = result(&run);
    let test: [(&str, &Path); 2] =
        [("data.test_source", &test_source), ("data.test_target", &test_target)];
    let more = ["--resume", "--set", "score.num_beams=3", "--set", "score.lowercase=true"];
    finish(&translate_args(&run, &[&files[..], &test].concat(), &more));
    assert!(weights == result(&run));
    let found = summary(&run);
    let expected = eval(&run, &test_source, &test_target, &["--num-beams", "3", "--lowercase"]);
    for key in ["bleu", "bleu_signature", "chrf", "chrf_signature"] {
        assert_eq!(found[key], expected[key], "{key}");
    }
    assert_eq!((&found["scored_on"], &found["test_loss"]), (&"test".into(), &expected["loss"]));
    assert!(found["bleu_signature"].as_str().unwrap().contains("case:lc"));

    // By length: every sentence is in one group, and the page draws them.
    let groups = found["bleu_by_length"].as_array().unwrap();
    let sentences: u64 = groups.iter().map(|group| group["sentences"].as_u64().unwrap()).sum();
    assert_eq!(sentences, 30, "{groups:?}");
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("BLEU by source length") && page.contains("words in the source"));

    // And `score` finds the same in the translations that were kept.
    let hypotheses = run.join("translations.txt");
    let score = super::run(&[
        "score",
        "--hyp",
        hypotheses.to_str().unwrap(),
        "--ref",
        test_target.to_str().unwrap(),
        "--lowercase",
        "--json",
    ]);
    assert!(score.status.success(), "{}", stderr(&score));
    let shown = format!("{:.4}", found["bleu"].as_f64().unwrap());
    assert!(
        stdout(&score).contains(&shown[..shown.len() - 1]),
        "{shown} is not in {}",
        stdout(&score)
    );
}

#[test]
fn test_files_that_cannot_be_used_are_refused_before_the_training() {
    let folder = scratch("train-score-bad");
    let (source, target) = pairs(&folder, 100);
    let out = folder.join("never");
    let with = |test_source: &Path, test_target: Option<&Path>| {
        let mut files: Vec<(&str, &Path)> =
            vec![("--source", &source), ("--target", &target), ("data.test_source", test_source)];
        files.extend(test_target.map(|path| ("data.test_target", path)));
        start(&translate_args(&out, &files, &[])).output().unwrap()
    };
    refused(&with(&source, None), "data.test_target is missing", "data.test_pairs");
    refused(&with(&part(&source, "one.src", 0..1), Some(&target)), "has 1 lines", "");
    let long = folder.join("long.src");
    fs::write(&long, "the cat ".repeat(200) + "\n").unwrap();
    refused(
        &with(&long, Some(&part(&target, "one.tgt", 0..1))),
        "long.src: line 1: 401 tokens exceed",
        "",
    );
    assert!(!out.exists());
}

#[test]
fn pairs_in_a_table_teach_what_two_files_teach() {
    let folder = scratch("train-table");
    let (source, target) = pairs(&folder, 150);
    let (a, b) = (fs::read_to_string(&source).unwrap(), fs::read_to_string(&target).unwrap());
    let table = |name: &str, head: &str, row: &dyn Fn(&str, &str) -> String| {
        let rows: String = a.lines().zip(b.lines()).map(|(a, b)| row(a, b) + "\n").collect();
        let path = folder.join(name);
        fs::write(&path, head.to_string() + &rows).unwrap();
        path
    };
    let train = |out: &str, files: &[(&str, &Path)], more: &[&str]| {
        finish(&translate_args(&folder.join(out), files, more));
        result(&folder.join(out))
    };
    let whole = train("two", &[("--source", &source), ("--target", &target)], &["--steps", "8"]);
    let tsv = table("plain.tsv", "", &|a, b| format!("{a}\t{b}"));
    assert!(whole == train("tsv", &[("--pairs", &tsv)], &["--steps", "8"]));
    let strange = table("plain.tab", "", &|a, b| format!("{a}\t{b}"));
    assert!(whole == train("tab", &[("--pairs", &strange)], &["--steps", "8", "--format", "tsv"]));
    let jsonl = table("keys.jsonl", "", &|a, b| {
        serde_json::json!({ "source": a, "target": b }).to_string()
    });
    assert!(whole == train("jsonl", &[("--pairs", &jsonl)], &["--steps", "8"]));
    let csv = table("named.csv", "english,id,turned\n", &|a, b| format!("\"{a}\",7,\"{b}\""));
    let columns = [
        "--steps",
        "8",
        "--set",
        "data.source_column=english",
        "--set",
        "data.target_column=turned",
    ];
    assert!(whole == train("csv", &[("--pairs", &csv)], &columns));

    let refuse = |path: &Path, more: &[&str]| {
        start(&translate_args(&folder.join("never"), &[("--pairs", path)], more)).output().unwrap()
    };
    let torn = folder.join("torn.tsv");
    fs::write(&torn, "un\tone\ndeux\n").unwrap();
    refused(&refuse(&torn, &[]), "line 2: 1 columns", "");
    refused(
        &refuse(&csv, &["--set", "data.source_column=french"]),
        "no column \"french\"",
        "english",
    );
    refused(
        &refuse(&tsv, &["--source", "a.src"]),
        "data.source and data.pairs are both set",
        "leave out data.source or data.pairs",
    );
    refused(&refuse(&text(&folder, 9).with_extension("xml"), &[]), "text.xml", "--format");
    refused(
        &refuse(&strange, &["--format", "label-first"]),
        "data.format = label-first: expected one of tsv, csv, jsonl for pairs",
        "formats.md",
    );
    // What is learnt from says nothing about what is new, and all keys can be seen.
    let same = format!("data.validation_pairs={:?}", tsv);
    let said = finish(&translate_args(
        &folder.join("same"),
        &[("--pairs", &tsv)],
        &["--steps", "2", "--set", &same],
    ));
    assert!(said.contains("plain.tsv is both trained and validated on"), "{said}");
    let shown = stdout(&run(&["train", "gpt", "--data", "a.txt", "--show-config"]));
    assert!(shown.contains("[model]") && shown.contains("# not set: validation_text"), "{shown}");
    assert!(limpid::train::RunConfig::parse(&shown, &[]).is_ok(), "what is shown can be used");
}

#[test]
fn eval_measures_what_translate_writes_from_two_files_or_from_a_table() {
    let folder = scratch("eval-as-translate");
    let (source, target) = pairs(&folder, 100);
    let run = folder.join("run");
    finish(&translate_args(&run, &[("--source", &source), ("--target", &target)], &[]));
    let (source, target) = (part(&source, "t.src", 0..20), part(&target, "t.tgt", 0..20));
    let whole = eval(&run, &source, &target, &[]);
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let rows: Vec<String> = read(&source)
        .lines()
        .zip(read(&target).lines())
        .map(|(a, b)| format!("{b}\t{a}\n"))
        .collect();
    let table = folder.join("t.tsv");
    fs::write(&table, rows.concat()).unwrap();
    let (model, table) = (run.to_str().unwrap(), table.to_str().unwrap());
    for flag in ["--pairs", "--data"] {
        let args =
            ["eval", model, flag, table, "--source-column", "2", "--target-column", "1", "--json"];
        let output = super::run(&args);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(serde_json::from_str::<Value>(&stdout(&output)).unwrap(), whole);
    }
    refused(
        &super::run(&["eval", model, "--pairs", source.to_str().unwrap()]),
        "t.src",
        "--format",
    );
    // Stop strings, by flag and by file; a limit of the file.
    let translated = |more: &[&str]| {
        stdout(&super::encoder::piped(&[&["translate", model], more].concat(), &read(&source)))
    };
    let evaluated = |more: &[&str]| {
        let said = folder.join("said");
        eval(&run, &source, &target, &[more, &["--output", said.to_str().unwrap()]].concat());
        read(&said)
    };
    let plain = translated(&[]);
    assert_eq!(evaluated(&[]), plain);
    let stop = ["--stop-strings", "A"];
    assert_ne!(translated(&stop), plain);
    assert_eq!(evaluated(&stop), translated(&stop));
    let file = run.join("model/generation_config.json");
    let mut settings: Value = serde_json::from_str(&read(&file)).unwrap();
    settings["max_new_tokens"] = 2.into();
    fs::write(&file, settings.to_string()).unwrap();
    assert_ne!(translated(&[]), plain);
    assert_eq!(evaluated(&[]), translated(&[]));
}

#[test]
fn a_tokenizer_of_another_order_gives_its_own_ids_and_one_without_padding_is_refused() {
    let folder = scratch("translate-tokenizer");
    let (source, target) = pairs(&folder, 100);
    let learn = |purpose: &str, kind: &str| {
        let out = folder.join(format!("{kind}-{purpose}"));
        let files = [source.to_str().unwrap(), target.to_str().unwrap()];
        let args = [
            "tokenizer",
            "train",
            kind,
            "--for",
            purpose,
            "--out",
            out.to_str().unwrap(),
            "--data",
        ];
        let output = super::run(&[&args[..], &files].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        format!("tokenizer.from={}", out.display())
    };
    let train = |name: &str, from: &str| {
        let mut args = translate_args(
            &folder.join(name),
            &[("--source", &source), ("--target", &target)],
            &[],
        );
        *args.iter_mut().find(|arg| *arg == "tokenizer.kind=word").unwrap() = from.to_string();
        args
    };
    let wrong = start(&train("gpt", &learn("gpt", "word"))).output().unwrap();
    refused(&wrong, "the tokenizer has no padding (<pad>) token", "--for translate");
    finish(&train("bert", &learn("bert", "word")));
    let config: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("bert/model/config.json")).unwrap())
            .unwrap();
    let ids = fs::read_to_string(folder.join("bert/model/tokenizer.json")).unwrap();
    let ids: Value = serde_json::from_str(&ids).unwrap();
    let id = |token: &str| {
        let added = ids["added_tokens"].as_array().unwrap();
        added.iter().find(|entry| entry["content"] == token).unwrap()["id"].clone()
    };
    assert_eq!((&config["eos_token_id"], &config["pad_token_id"]), (&id("[SEP]"), &id("[PAD]")));
    assert!(summary(&folder.join("bert"))["bleu"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_translation_is_one_line_even_where_a_model_of_bytes_writes_line_ends() {
    let folder = scratch("train-score-lines");
    let (source, target) = pairs(&folder, 60);
    let out = folder.join("run");
    let files = [("--source", &*source), ("--target", &*target)];
    let more = [
        "--set",
        "train.steps=2",
        "--set",
        "tokenizer.kind=byte",
        "--set",
        "model.context_length=400",
    ];
    finish(&translate_args(&out, &files, &more));
    let run = out.to_str().unwrap();
    let input = fs::read(&source).unwrap();
    let lines = input.iter().filter(|byte| **byte == b'\n').count();
    // So hot that every byte is as likely as any other.
    let hot = ["--temperature", "50", "--max-new-tokens", "300", "--min-new-tokens", "300"];
    let translated = |more: &[&str]| {
        let mut child = limpid(&[&["translate", run], &hot[..], more].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), &input).unwrap();
        stdout(&child.wait_with_output().unwrap())
    };
    let json = translated(&["--json"]);
    assert_eq!(json.lines().count(), lines);
    assert!(json.contains("\\n"), "the model writes line ends, or nothing is tested: {json}");
    let plain = translated(&[]);
    assert_eq!(plain.lines().count(), lines);
    assert!(!plain.contains('\r'));
}
