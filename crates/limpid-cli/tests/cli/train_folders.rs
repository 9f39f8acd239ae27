//! The folder of a run: what was ended before it began, what is missing, what was changed by hand.

use super::train::{finish, gpt_args, pairs, result, start, text};
use super::*;
use std::fs;

#[test]
fn a_run_that_was_ended_before_its_first_step_begins_with_resume_and_nobodys_own_file_is_lost() {
    let folder = scratch("train-never-began");
    let (data, run, whole) = (text(&folder, 200), folder.join("run"), folder.join("whole"));
    let short = ["--set", "train.steps=3"];
    finish(&gpt_args(&data, &whole, &short));
    let settings = fs::read_to_string(whole.join("config.toml")).unwrap();
    // Somebody's own settings, beside things that a run would call so, too.
    fs::create_dir_all(run.join("model")).unwrap();
    fs::write(run.join("config.toml"), settings.clone() + "# my notes\n").unwrap();
    fs::write(run.join("model/weights.bin"), "precious").unwrap();
    fs::write(run.join("summary.json"), "{}").unwrap();
    for how in [&[][..], &["--resume"], &["--force"]] {
        let theirs = start(&gpt_args(&data, &run, &[&short[..], how].concat())).output().unwrap();
        refused(&theirs, "which is not part of a run", "--out DIR");
        assert!(run.join("config.toml").is_file() && run.join("model/weights.bin").is_file());
    }
    fs::remove_dir_all(&run).unwrap();
    // What a kill while it prepares leaves: its settings, and half of its cache.
    fs::create_dir_all(run.join("cache")).unwrap();
    fs::write(run.join("config.toml"), settings).unwrap();
    fs::write(run.join("cache/train.tokens"), "half").unwrap();
    let plain = start(&gpt_args(&data, &run, &short)).output().unwrap();
    refused(&plain, "already contains a run", "--resume");
    finish(&gpt_args(&data, &run, &["--set", "train.steps=3", "--resume"]));
    assert!(result(&run) == result(&whole));
    // Without its settings nobody knows what the run is.
    fs::remove_file(run.join("config.toml")).unwrap();
    let lost = start(&gpt_args(&data, &run, &["--resume"])).output().unwrap();
    refused(&lost, "config.toml is missing", "put it back");
    // A run that was to be replaced is not lost, and whoever looks for its model is told where it
    // is.
    let waiting = folder.join("waiting");
    fs::create_dir_all(waiting.join(".replaced")).unwrap();
    fs::write(waiting.join("config.toml"), "").unwrap();
    let looked = super::run(&["info", waiting.to_str().unwrap()]);
    refused(&looked, "has not saved a model yet", "waits in .replaced");
}

#[test]
fn a_run_that_is_forced_and_ends_before_it_begins_leaves_the_old_one() {
    let folder = scratch("train-forced");
    let (data, run) = (text(&folder, 300), folder.join("run"));
    let short = ["--set", "train.steps=3"];
    finish(&gpt_args(&data, &run, &short));
    let before = result(&run);
    // Steps that take a while: killed while the first is measured, when everything but that is
    // said.
    let large = [
        "--force",
        "--set",
        "model.hidden_size=512",
        "--set",
        "train.batch_size=256",
        "--set",
        "model.layers=12",
    ];
    let mut child = start(&gpt_args(&data, &run, &large)).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
    assert!(lines.any(|line| line.unwrap().contains("parameters, ")));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(run.join(".replaced").is_dir() && run.join("metrics.jsonl").is_file());
    let again = start(&gpt_args(&data, &run, &short)).output().unwrap();
    refused(&again, "already contains a finished run", "was restored");
    assert!(result(&run) == before);
    // One that comes to nothing, after its first step, is not worth the old one either.
    let diverges = [
        "--force",
        "--set",
        "train.lr=1e30",
        "--set",
        "train.warmup_steps=0",
        "--set",
        "train.max_grad_norm=0",
    ];
    let output = start(&gpt_args(&data, &run, &diverges)).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let said = finish(&gpt_args(&data, &run, &["--set", "train.steps=3", "--resume"]));
    assert!(said.contains("was restored") && result(&run) == before, "{said}");
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
    refused(&changed, "tokenizer.json changed since this run started", "put the old one back");
    assert!(result(&run) == before && fs::read(run.join("model/tokenizer.json")).unwrap() == kept);
    fs::remove_dir_all(run.join("tokenizer")).unwrap();
    finish(&args(&run, "20"));
    assert!(result(&run).1 == result(&whole).1);
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
    bad(&["--set", "masking.whole_words=true"], "only bert masks tokens", "leave masking");
    bad(&["--set", "score.num_beams=5"], "only translate is scored", "leave score.num_beams out");
    bad(
        &["--set", "data.label_column=2"],
        "plain text has no columns",
        "leave data.label_column out",
    );
    bad(&["--set", "model.heads=3"], "is not divisible by 3 heads", "--set model.heads=2");
    // The nearest number of heads is looked for among divisors, not among all numbers.
    bad(
        &["--set", "model.hidden_size=999999999999", "--set", "model.heads=5"],
        "is not divisible by 5 heads",
        "would do",
    );
    bad(
        &["--set", "tokenizer.kind=bpe", "--set", "tokenizer.vocab_size=100000"],
        "100000",
        "or give more text",
    );
    let empty = folder.join("empty.txt");
    fs::write(&empty, "").unwrap();
    let validation = format!("data.validation_text=[{empty:?}]");
    bad(&["--set", &validation], "empty.txt", "validation");
    let translate = [
        "train",
        "translate",
        "--out",
        run.to_str().unwrap(),
        "--source",
        source.to_str().unwrap(),
    ];
    let set = |pair: &'static str| {
        super::run(
            &[&translate[..], &["--target", target.to_str().unwrap(), "--set", pair]].concat(),
        )
    };
    refused(&set("masking.probability=0.4"), "only bert masks tokens", "leave masking");
    refused(&set("score.targets=poems"), "score.targets = poems: expected", "score.targets=");
}

#[test]
fn summaries_are_scored_as_summaries_at_the_end_of_a_run() {
    let folder = scratch("train-summaries");
    let (source, target) = pairs(&folder, 120);
    let out = folder.join("run");
    let files = ["--source", source.to_str().unwrap(), "--target", target.to_str().unwrap()];
    let kept = [
        format!("data.validation_source={}", source.display()),
        format!("data.validation_target={}", target.display()),
    ];
    let mut args = vec!["train", "translate", "--steps", "4", "--out", out.to_str().unwrap()];
    args.extend(files);
    let sizes = ["model.layers=1", "model.hidden_size=32", "model.heads=2", "tokenizer.kind=word"];
    let set =
        sizes.into_iter().chain(["score.targets=summaries"]).chain(kept.iter().map(String::as_str));
    args.extend(set.flat_map(|pair| ["--set", pair]));
    let said = finish(&args.into_iter().map(String::from).collect::<Vec<_>>());
    for part in ["ROUGE-L 0.", "exact match 0.", "baseline (first sentence)", "-- summarize "] {
        assert!(said.contains(part), "'{part}' is not in:\n{said}");
    }
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let read = |path: PathBuf| fs::read_to_string(path).unwrap();
    let (summary, run) = (json(&read(out.join("summary.json"))), out.to_str().unwrap());
    let found = super::run(&[&["eval", run, "--summaries", "--json"], &files[..]].concat());
    let found = json(&stdout(&found));
    for key in ["rouge_l", "exact_match", "lead"] {
        assert!(summary[key] == found[key] && !found[key].is_null(), "{key}: {summary} {found}");
    }
    assert!(read(out.join("report.html")).contains("; ROUGE-L "));
}
