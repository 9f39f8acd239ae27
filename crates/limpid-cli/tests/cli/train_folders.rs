//! The folder of a run: what was ended before it began, what is missing, what was changed by hand.

use super::train::{finish, gpt_args, pairs, result, start, text};
use super::*;
use std::fs;
use std::time::Duration;

#[test]
fn a_run_that_was_ended_before_its_first_step_needs_no_force_and_nobodys_own_file_is_lost() {
    let folder = scratch("train-never-began");
    let (data, run, whole) = (text(&folder, 200), folder.join("run"), folder.join("whole"));
    let short = ["--set", "train.steps=3"];
    finish(&gpt_args(&data, &whole, &short));
    // What a kill while it prepares leaves: its settings, perhaps for other sizes, and half of its cache.
    fs::create_dir_all(run.join("cache")).unwrap();
    let other = fs::read_to_string(whole.join("config.toml")).unwrap().replace("width = 32", "width = 64");
    fs::write(run.join("config.toml"), other).unwrap();
    fs::write(run.join("cache/train.tokens"), "half").unwrap();
    let theirs = start(&gpt_args(&data, &run, &short)).output().unwrap();
    refused(&theirs, "holds a run already", "config.toml --resume");
    assert!(run.join("config.toml").is_file(), "it may be somebody's own");
    fs::write(run.join(".lock"), "").unwrap();
    finish(&gpt_args(&data, &run, &short));
    assert!(result(&run) == result(&whole));
    // Without its settings nobody knows what the run is.
    fs::remove_file(run.join("config.toml")).unwrap();
    let lost = start(&gpt_args(&data, &run, &["--resume"])).output().unwrap();
    refused(&lost, "config.toml is gone", "put it back");
    // A run that was to be replaced is not lost, and whoever looks for its model is told where it is.
    let waiting = folder.join("waiting");
    fs::create_dir_all(waiting.join(".replaced")).unwrap();
    fs::write(waiting.join("config.toml"), "").unwrap();
    let looked = super::run(&["info", waiting.to_str().unwrap()]);
    refused(&looked, "has kept no model yet", "waits in .replaced");
}

#[test]
fn a_run_that_is_forced_and_ends_before_it_begins_leaves_the_old_one() {
    let folder = scratch("train-forced");
    let (data, run) = (text(&folder, 300), folder.join("run"));
    let short = ["--set", "train.steps=3"];
    finish(&gpt_args(&data, &run, &short));
    let before = result(&run);
    // Steps so large that the first one takes a while: killed while it is measured, before it has begun.
    let large =
        ["--force", "--set", "model.width=512", "--set", "train.batch=256", "--set", "model.layers=12"];
    let mut child = start(&gpt_args(&data, &run, &large)).stderr(Stdio::null()).spawn().unwrap();
    while !run.join(".replaced").is_dir() {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let again = start(&gpt_args(&data, &run, &short)).output().unwrap();
    refused(&again, "holds a finished run already", "--resume");
    assert!(result(&run) == before);
}

#[test]
fn a_tokenizer_that_was_changed_is_refused_and_one_that_is_gone_is_made_again() {
    let folder = scratch("train-tokenizer");
    let (data, run, whole) = (text(&folder, 300), folder.join("run"), folder.join("whole"));
    let args = |out: &Path, steps: &str| {
        gpt_args(&data, out, &["--resume", "--set", "train.schedule=constant", "--steps", steps])
    };
    finish(&args(&whole, "20"));
    finish(&args(&run, "14"));
    let path = run.join("tokenizer/tokenizer.json");
    let (old, kept) =
        (fs::read_to_string(&path).unwrap(), fs::read(run.join("model/tokenizer.json")).unwrap());
    let value: serde_json::Value = serde_json::from_str(&old).unwrap();
    let id = |token: &str| value["model"]["vocab"][token].as_u64().unwrap();
    let (a, t) = (id("a"), id("t"));
    let swapped = old
        .replace(&format!("\"a\": {a}"), &format!("\"a\": {t}"))
        .replace(&format!("\"t\": {t}"), &format!("\"t\": {a}"));
    assert_ne!(swapped, old);
    fs::write(&path, swapped).unwrap();
    let before = result(&run);
    let changed = start(&args(&run, "20")).output().unwrap();
    refused(&changed, "tokenizer.json: it is not what the run has cut its text with", "put the old one back");
    assert!(result(&run) == before && fs::read(run.join("model/tokenizer.json")).unwrap() == kept);
    fs::remove_dir_all(run.join("tokenizer")).unwrap();
    finish(&args(&run, "20"));
    assert!(result(&run).1 == result(&whole).1);
}

#[cfg(unix)]
#[test]
fn a_polite_kill_saves_as_ctrl_c_does() {
    let folder = scratch("train-term");
    let (data, run) = (text(&folder, 400), folder.join("run"));
    let endless =
        gpt_args(&data, &run, &["--set", "train.steps=100000", "--set", "train.checkpoint_every=0"]);
    let mut child = start(&endless).stderr(Stdio::piped()).spawn().unwrap();
    while !fs::metadata(run.join("metrics.jsonl")).is_ok_and(|file| file.len() > 0) {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("everything is saved"), "{}", stderr(&output));
    assert!(run.join("checkpoints").is_dir());
}

#[test]
fn settings_that_would_change_nothing_and_sizes_that_cannot_be_are_refused_at_once() {
    let folder = scratch("train-settings");
    let (data, run) = (text(&folder, 100), folder.join("run"));
    let (source, target) = pairs(&folder, 100);
    let bad = |more: &[&str], error: &str, hint: &str| {
        refused(&start(&gpt_args(&data, &run, more)).output().unwrap(), error, hint);
        assert!(!run.exists());
    };
    bad(&["--set", "masking.whole_words=true"], "'masking' would change nothing", "train bert");
    bad(&["--set", "score.beams=5"], "'score' would change nothing", "train translate");
    bad(&["--set", "table.label=2"], "'table' would change nothing", "train classify");
    bad(&["--set", "model.heads=3"], "cannot be divided into 3 heads", "--set model.heads=2 in a run");
    // The nearest number of heads is looked for among divisors, not among all numbers.
    bad(
        &["--set", "model.width=999999999999", "--set", "model.heads=5"],
        "cannot be divided into 5",
        "would do",
    );
    bad(&["--set", "tokenizer.kind=bpe", "--set", "tokenizer.vocab=100000"], "100000", "or give more text");
    let empty = folder.join("empty.txt");
    fs::write(&empty, "").unwrap();
    let validation = format!("data.validation_text=[{empty:?}]");
    bad(&["--set", &validation], "empty.txt", "validation");
    let translate =
        ["train", "translate", "--out", run.to_str().unwrap(), "--source", source.to_str().unwrap()];
    let set = |pair: &'static str| {
        super::run(&[&translate[..], &["--target", target.to_str().unwrap(), "--set", pair]].concat())
    };
    refused(&set("masking.share=0.4"), "'masking' would change nothing", "train bert");
    refused(&set("score.targets=poems"), "score.targets = 'poems'", "summaries");
}

#[test]
fn summaries_are_scored_as_summaries_at_the_end_of_a_run() {
    let folder = scratch("train-summaries");
    let (source, target) = pairs(&folder, 120);
    let out = folder.join("run");
    let mut args: Vec<String> = ["train", "translate", "--steps", "4", "--out"].map(String::from).to_vec();
    args.push(out.display().to_string());
    args.extend([
        "--source".into(),
        source.display().to_string(),
        "--target".into(),
        target.display().to_string(),
    ]);
    for pair in [
        "model.layers=1",
        "model.width=32",
        "model.heads=2",
        "tokenizer.kind=word",
        "score.targets=summaries",
    ] {
        args.extend(["--set".to_string(), pair.to_string()]);
    }
    let said = finish(&args);
    for part in ["ROUGE-L 0.", "exact match 0.", "the first sentence of each text", "-- summarize "] {
        assert!(said.contains(part), "'{part}' is not in:\n{said}");
    }
    let read = |path: PathBuf| fs::read_to_string(path).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&read(out.join("summary.json"))).unwrap();
    // Nothing but what `eval --summaries` finds on the same texts: targets are capitals of sources, so the first sentences have all their words.
    assert!(summary["rouge_l"].is_f64() && summary["lead"]["rouge_l"].as_f64().unwrap() > 0.1, "{summary}");
    assert!(read(out.join("report.html")).contains("; ROUGE-L "));
}
