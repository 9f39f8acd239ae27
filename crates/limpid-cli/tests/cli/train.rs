//! `limpid train`, from outside: what it makes, what it survives, what it refuses.

use super::*;
use std::fs;
use std::time::Duration;

/// Some text with words that come again.
pub(super) fn text(folder: &Path, lines: usize) -> PathBuf {
    let words = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "dog", "run"];
    let line = |i: usize| {
        (0..8).map(|j| words[(i * 7 + j * j * 3 + i / 5) % 10]).collect::<Vec<_>>().join(" ")
    };
    let path = folder.join("text.txt");
    fs::write(&path, (0..lines).map(|i| line(i) + ".\n").collect::<String>()).unwrap();
    path
}

/// A parallel corpus whose target is its source in capitals, reversed.
pub(super) fn pairs(folder: &Path, lines: usize) -> (PathBuf, PathBuf) {
    let text = fs::read_to_string(text(folder, lines)).unwrap();
    let turned =
        |line: &str| line.to_uppercase().split(' ').rev().collect::<Vec<_>>().join(" ") + "\n";
    let (source, target) = (folder.join("a.src"), folder.join("a.tgt"));
    fs::write(&source, &text).unwrap();
    fs::write(&target, text.lines().map(turned).collect::<String>()).unwrap();
    (source, target)
}

/// A run that takes a second or two; `more` comes last and wins.
pub(super) fn gpt_args(data: &Path, out: &Path, more: &[&str]) -> Vec<String> {
    let mut args =
        vec!["train".to_string(), "gpt".into(), "--data".into(), data.display().to_string()];
    args.extend(["--out".to_string(), out.display().to_string()]);
    let set = [
        "model.layers=2",
        "model.hidden_size=32",
        "model.heads=2",
        "model.context_length=16",
        "model.dropout=0.1",
        "train.batch_size=8",
        "train.steps=60",
        "train.warmup_steps=5",
        "train.checkpoint_every=7",
        "train.validate_every=20",
        "train.ema=0.9",
        "train.gradient_accumulation_steps=2",
    ];
    // Batches of lines are measured in tokens.
    let is_lines = more.contains(&"data.unit=lines");
    let set = set.iter().filter(|pair| !(is_lines && pair.starts_with("train.batch_size")));
    args.extend(set.flat_map(|pair| ["--set".to_string(), pair.to_string()]));
    args.extend(more.iter().map(|arg| arg.to_string()));
    args
}

pub(super) fn start(args: &[String]) -> Command {
    limpid(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

pub(super) fn finish(args: &[String]) -> String {
    let output = start(args).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output) + &stderr(&output)
}

/// The bytes of the best model and of the last checkpoint's numbers.
pub(super) fn result(run: &Path) -> (Vec<u8>, Vec<u8>) {
    let mut checkpoints: Vec<_> =
        fs::read_dir(run.join("checkpoints")).unwrap().map(|e| e.unwrap().path()).collect();
    checkpoints.sort();
    let last = checkpoints.pop().unwrap();
    (
        fs::read(run.join("model/model.safetensors")).unwrap(),
        fs::read(last.join("state.safetensors")).unwrap(),
    )
}

/// The lines of metrics without what a clock says.
pub(super) fn timeless(run: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let line = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        let object = line.as_object_mut().unwrap();
        ["seconds", "tokens_per_second"].iter().for_each(|key| drop(object.remove(*key)));
        line
    };
    text.lines().map(line).collect()
}

#[test]
fn a_language_model_is_trained_saved_and_used() {
    let folder = scratch("train-gpt");
    let (data, run) = (text(&folder, 400), folder.join("run"));
    let said = finish(&gpt_args(&data, &run, &[]));
    for part in
        ["parameters", "GB", "60 steps of about", "validation loss", "best so far", "generate"]
    {
        assert!(said.contains(part), "'{part}' is not in:\n{said}");
    }
    for file in [
        "config.toml",
        "metrics.jsonl",
        "summary.json",
        "model/config.json",
        "model/tokenizer.json",
    ] {
        assert!(run.join(file).is_file(), "{file}");
    }
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> =
        metrics.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let loss = |kind: &str, at: usize| {
        lines.iter().filter(|l| l["kind"] == kind).nth(at).unwrap()["loss"].as_f64().unwrap()
    };
    assert!(loss("train", 5) < loss("train", 0));
    assert!(lines.iter().any(|line| line["kind"] == "sample"));
    // The folder of the run stands for its model.
    let text = super::run(&[
        "generate",
        run.to_str().unwrap(),
        "--prompt",
        "the cat",
        "--max-new-tokens",
        "5",
    ]);
    assert!(text.status.success(), "{}", stderr(&text));
    let ids = super::run(&["tokenizer", "encode", run.to_str().unwrap(), "the cat"]);
    assert_eq!(stdout(&ids).split_whitespace().count(), 7, "{}", stderr(&ids));
    // What `eval` finds on the last tenth of the text is about what the run found; only the first
    // window differs.
    let whole = fs::read_to_string(&data).unwrap();
    let held = folder.join("held.txt");
    fs::write(&held, &whole[whole.len() - whole.len() / 10..]).unwrap();
    let eval =
        super::run(&["eval", run.to_str().unwrap(), "--data", held.to_str().unwrap(), "--json"]);
    let eval: serde_json::Value = serde_json::from_str(&stdout(&eval)).unwrap();
    let best = lines
        .iter()
        .filter(|l| l["kind"] == "validation")
        .map(|l| l["loss"].as_f64().unwrap())
        .fold(9.0, f64::min);
    assert!((eval["loss"].as_f64().unwrap() - best).abs() < 0.02, "{eval} and {best}");
    assert_eq!(eval["perplexity"].as_f64().unwrap(), eval["loss"].as_f64().unwrap().exp());
    let wrong = super::run(&["eval", run.to_str().unwrap(), "--source", "a", "--target", "b"]);
    refused(&wrong, "evaluate it with --data", "limpid eval");
}

#[test]
fn a_run_that_is_killed_again_and_again_ends_with_the_same_bytes() {
    let folder = scratch("train-kill");
    let (data, whole, killed) = (text(&folder, 400), folder.join("whole"), folder.join("killed"));
    let begin = std::time::Instant::now();
    finish(&gpt_args(&data, &whole, &[]));
    // After a tenth to a half of the time of the whole run, whatever the machine.
    let whole_time = begin.elapsed();
    let args = gpt_args(&data, &killed, &["--resume"]);
    let mut kills = 0;
    for percent in (0..).map(|i| 10 + i * 17 % 40) {
        let mut child = start(&args).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(whole_time * percent / 100);
        match child.try_wait().unwrap() {
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
            }
            Some(status) => {
                assert!(status.success());
                break;
            }
        }
        // Too quick for this machine? Then it may finish.
        if kills == 12 {
            finish(&args);
            break;
        }
    }
    assert!(kills >= 2, "{kills} kills prove little");
    assert!(result(&whole) == result(&killed), "other bytes after {kills} kills");
    assert_eq!(timeless(&whole), timeless(&killed));
}

#[test]
fn the_first_line_of_metrics_after_a_resume_is_about_all_its_steps() {
    let folder = scratch("train-since");
    let (data, whole, cut) = (text(&folder, 300), folder.join("whole"), folder.join("cut"));
    let args = |out: &Path| {
        gpt_args(&data, out, &["--resume", "--steps", "30", "--set", "train.keep_checkpoints=9"])
    };
    finish(&args(&whole));
    finish(&args(&cut));
    // As if it had been killed after the checkpoint of step 7: the line of step 10 is about steps 1
    // to 10 all the same.
    for step in [14, 21, 28, 30] {
        fs::remove_dir_all(cut.join(format!("checkpoints/step-{step:08}"))).unwrap();
    }
    finish(&args(&cut));
    assert_eq!(timeless(&whole), timeless(&cut));
    assert_eq!(timeless(&whole).iter().filter(|line| line["kind"] == "train").count(), 3);
}

#[test]
fn a_translation_run_is_resumed_bit_for_bit_and_averages_its_checkpoints() {
    let folder = scratch("train-pairs");
    let (source, target) = pairs(&folder, 300);
    let args = |out: &str, steps: u64| -> Vec<String> {
        let mut args: Vec<String> = ["train", "translate", "--source"].map(String::from).to_vec();
        args.extend([
            source.display().to_string(),
            "--target".into(),
            target.display().to_string(),
        ]);
        args.extend(["--out".into(), folder.join(out).display().to_string(), "--resume".into()]);
        let set = [
            "model.layers=1",
            "model.hidden_size=32",
            "model.heads=2",
            "tokenizer.kind=word",
            "train.batch_tokens=200",
            "train.schedule=constant",
            "train.checkpoint_every=10",
            "train.keep_checkpoints=3",
            "train.average_checkpoints=3",
            "train.warmup_steps=5",
            "train.bucketing=by-length",
        ];
        args.extend(set.iter().flat_map(|pair| ["--set".to_string(), pair.to_string()]));
        args.extend(["--steps".into(), steps.to_string()]);
        args
    };
    let said = finish(&args("whole", 40));
    assert!(said.contains("step 40, mean of the last 3 checkpoints: validation loss"), "{said}");
    let metrics = fs::read_to_string(folder.join("whole/metrics.jsonl")).unwrap();
    assert_eq!(metrics.matches("\"checkpoints_averaged\":3").count(), 1);
    // A shorter run, made longer: with a constant rate the same as the long one.
    finish(&args("longer", 25));
    finish(&args("longer", 40));
    assert!(result(&folder.join("whole")).1 == result(&folder.join("longer")).1);
    let model = folder.join("whole/model");
    let text = super::run(&["translate", model.to_str().unwrap(), "the cat sat"]);
    assert!(text.status.success(), "{}", stderr(&text));
}

#[test]
fn with_json_the_end_of_a_run_is_one_object_and_what_is_odd_is_said() {
    let folder = scratch("train json");
    let (data, run) = (text(&folder, 300), folder.join("a run"));
    let output = start(&gpt_args(&data, &run, &["--steps", "4", "--json"])).output().unwrap();
    assert!(
        stderr(&output).contains("warning: train.warmup_steps = 5 is longer"),
        "{}",
        stderr(&output)
    );
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["steps"], &found["outcome"]), (&4.into(), &"completed".into()));
    assert_eq!(found["folder"], run.to_str().unwrap());
    assert!(found["validation_loss"].as_f64().unwrap() > 0.0);
    // Without it, what to type next is as a shell takes it.
    let output = start(&gpt_args(&data, &run, &["--steps", "4", "--resume"])).output().unwrap();
    assert!(
        stdout(&output).contains(&format!("generate '{}' --prompt", run.display())),
        "{}",
        stdout(&output)
    );
}

/// Sends a signal to a run once it has a checkpoint, and waits for its end.
#[cfg(unix)]
fn end_by(signal: &str, data: &Path, run: &Path) -> Output {
    let mut child = start(&gpt_args(data, run, &["--set", "train.steps=100000"]))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !run.join("checkpoints").is_dir() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    child.wait_with_output().unwrap()
}

#[cfg(unix)]
#[test]
fn ctrl_c_and_sigterm_save_a_checkpoint_and_a_run_folder_alone_resumes() {
    let folder = scratch("train-interrupt");
    let data = text(&folder, 400);
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let run = folder.join(format!("run{signal}"));
        let output = end_by(signal, &data, &run);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains("a checkpoint is saved") && said.contains("--resume"), "{said}");
        let step = said.split_once("after step ").unwrap().1.split_once(' ').unwrap().0;
        let step: u64 = step.parse().unwrap();
        assert!(run.join(format!("checkpoints/step-{step:08}")).is_dir(), "{said}");
        // The folder is enough to resume: it knows its settings.
        let steps = format!("{}", step + 3);
        let resume = ["train", run.to_str().unwrap(), "--resume", "--steps", &steps];
        let output = super::run(&resume);
        let said = stderr(&output);
        assert!(output.status.success(), "{said}");
        assert!(said.contains(&format!("Resuming from step {step}")), "{said}");
    }
    let empty = folder.join("empty");
    fs::create_dir(&empty).unwrap();
    let nothing = super::run(&["train", empty.to_str().unwrap(), "--resume"]);
    refused(&nothing, "contains no run to resume", "run");
}

#[cfg(unix)]
#[test]
fn a_run_under_nohup_survives_the_end_of_its_terminal() {
    let folder = scratch("train-nohup");
    let (data, run) = (text(&folder, 400), folder.join("run"));
    let args = gpt_args(&data, &run, &["--steps", "400"]);
    // What `nohup` does: the signal is ignored, and a program inherits that.
    let mut child = Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_limpid")])
        .args(&args)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !run.join("checkpoints").is_dir() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    let killed = Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
    assert!(killed.success() && child.wait().unwrap().success());
    assert!(run.join("summary.json").is_file());
}

#[cfg(unix)]
#[test]
fn a_run_without_a_model_yet_says_how_to_continue() {
    let folder = scratch("train-no-model");
    let (data, run) = (text(&folder, 400), folder.join("run"));
    end_by("-INT", &data, &run);
    // Interrupted before its first validation, it has no model.
    let _ = fs::remove_dir_all(run.join("model"));
    refused(&super::run(&["info", run.to_str().unwrap()]), "has not saved a model yet", "--resume");
}

#[test]
fn a_folder_that_holds_something_is_never_overwritten_unasked() {
    let folder = scratch("train-folder");
    let (data, run) = (text(&folder, 200), folder.join("run"));
    let short = ["--set", "train.steps=3"];
    finish(&gpt_args(&data, &run, &short));
    let before = result(&run);
    let again = start(&gpt_args(&data, &run, &short)).output().unwrap();
    refused(&again, "already contains a finished run", "--resume");
    assert!(result(&run) == before);
    // Another model is another run.
    let other = start(&gpt_args(&data, &run, &["--resume", "--set", "model.hidden_size=64"]))
        .output()
        .unwrap();
    refused(&other, "model.hidden_size was 32 when this run started and is now 64", "--out");
    finish(&gpt_args(
        &data,
        &run,
        &["--set", "train.steps=3", "--set", "model.hidden_size=64", "--force"],
    ));
    assert!(result(&run) != before);
    fs::write(folder.join("diary.txt"), "dear").unwrap();
    let diary = start(&gpt_args(&data, &folder, &["--force"])).output().unwrap();
    refused(&diary, "which is not part of a run", "--out");
    // A finished run without its checkpoints is not begun again, its model is not lost.
    let kept = fs::read(run.join("model/model.safetensors")).unwrap();
    fs::rename(run.join("checkpoints"), folder.join("checkpoints-away")).unwrap();
    let wide = ["--resume", "--set", "train.steps=5", "--set", "model.hidden_size=64"];
    refused(
        &start(&gpt_args(&data, &run, &wide)).output().unwrap(),
        "without checkpoints",
        "--force",
    );
    assert!(fs::read(run.join("model/model.safetensors")).unwrap() == kept);
    fs::rename(folder.join("checkpoints-away"), run.join("checkpoints")).unwrap();
    // Without the best model so far, another becomes the best.
    fs::remove_dir_all(run.join("model")).unwrap();
    let said = finish(&gpt_args(
        &data,
        &run,
        &["--resume", "--set", "train.steps=3", "--set", "model.hidden_size=64"],
    ));
    assert!(said.contains("is gone: the best weights so far (of step 3) are lost"), "{said}");
    assert!(
        fs::read(run.join("model/model.safetensors")).unwrap() == kept,
        "the last step was the best"
    );
    let again = start(&gpt_args(&data, &run, &wide[1..])).output().unwrap();
    refused(&again, "already contains a finished run", "--resume");
    // Other text than the run began with.
    fs::write(&data, fs::read_to_string(&data).unwrap().replace("cat", "cow")).unwrap();
    let changed = start(&gpt_args(
        &data,
        &run,
        &["--resume", "--set", "train.steps=5", "--set", "model.hidden_size=64"],
    ))
    .output()
    .unwrap();
    refused(&changed, "text.txt changed since this run started", "--out");
}

#[test]
fn damaged_checkpoints_are_named_and_the_run_goes_on_from_the_last_good_one() {
    let folder = scratch("train-damaged");
    let (data, run, whole) = (text(&folder, 300), folder.join("run"), folder.join("whole"));
    let args = |out: &Path, steps: &str| {
        gpt_args(&data, out, &["--resume", "--set", "train.schedule=constant", "--steps", steps])
    };
    finish(&args(&whole, "20"));
    finish(&args(&run, "14"));
    let newest = run.join("checkpoints/step-00000014/state.safetensors");
    let bytes = fs::read(&newest).unwrap();
    fs::write(&newest, &bytes[..bytes.len() / 2]).unwrap();
    let said = finish(&args(&run, "20"));
    assert!(said.contains("step-00000014") && said.contains("older checkpoint"), "{said}");
    assert!(result(&run).1 == result(&whole).1);
    // Nothing good is left.
    for entry in fs::read_dir(run.join("checkpoints")).unwrap() {
        fs::write(entry.unwrap().path().join("manifest.json"), "[").unwrap();
    }
    refused(&start(&args(&run, "21")).output().unwrap(), "every checkpoint in", "--force");
}

#[test]
fn a_best_model_that_is_lost_stays_forgotten() {
    let folder = scratch("train-lost-best");
    let (data, run) = (text(&folder, 300), folder.join("run"));
    // The rate is so high at the end that the last step is not the best.
    let args = |steps: &str| {
        let set = [
            "train.validate_every=5",
            "train.schedule=constant",
            "train.warmup_steps=25",
            "train.lr=0.5",
            "train.ema=0",
        ];
        let steps = format!("train.steps={steps}");
        let set: Vec<&str> =
            set.iter().chain([&&steps[..]]).flat_map(|pair| ["--set", pair]).collect();
        gpt_args(&data, &run, &[&["--resume"], &set[..]].concat())
    };
    let summary = |key: &str| -> f64 {
        let text = fs::read_to_string(run.join("summary.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()[key].as_f64().unwrap()
    };
    finish(&args("20"));
    let best = summary("validation_loss");
    assert!(summary("best_step") < 20.0);
    fs::remove_dir_all(run.join("model")).unwrap();
    assert!(finish(&args("20")).contains("is gone: the best weights so far"));
    assert_eq!(summary("best_step"), 20.0);
    assert!(summary("validation_loss") > best);
    // What comes later is not held against a model that nobody has.
    assert!(!finish(&args("21")).contains("is gone"));
    assert!(summary("best_step") >= 20.0 && summary("validation_loss") > best);
}

#[test]
fn what_cannot_be_learnt_from_is_refused_with_a_hint() {
    let folder = scratch("train-bad");
    let good = text(&folder, 200);
    let with = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let train = |data: &Path, more: &[&str]| {
        let out = folder.join("never");
        let _ = fs::remove_dir_all(&out);
        start(&gpt_args(data, &out, more)).output().unwrap()
    };
    refused(&train(&with("empty", b""), &[]), "empty", "");
    refused(&train(&with("binary", b"a\0b\n\0\0\n"), &[]), "binary", "");
    refused(&train(&with("latin1", b"ab\ncaf\xe9\n"), &[]), "line 2", "");
    refused(&train(Path::new("no/such/file"), &[]), "no/such/file", "");
    refused(&train(&folder, &[]), "is a folder, not a training file", "--data");
    refused(
        &train(&good, &["--set", "model.context_length=100000"]),
        "context",
        "model.context_length",
    );
    refused(
        &train(&good, &["--set", "model.context_length=100000"]),
        "context",
        "model.context_length",
    );
    refused(
        &train(&good, &["--set", "tokenizer.kind=bpe", "--set", "tokenizer.vocab_size=9000"]),
        "9000",
        "",
    );
    refused(&train(&good, &["--set", "train.step=4"]), "step", "docs/formats.md");
    refused(
        &train(&good, &["--set", "train.steps=abc"]),
        "train.steps = abc: expected a whole number",
        "--set train.steps=2000",
    );
    refused(
        &train(&good, &["--set", "train.gradient_accumulation_steps=1000000000000"]),
        "expected a whole number from 1 to 65536",
        "train.gradient_accumulation_steps=4",
    );
    refused(
        &train(&good, &["--set", "data.validation_pairs=v.xml"]),
        "data.validation_pairs has no effect for gpt: the files of this task are data.text",
        "leave data.validation_pairs out",
    );
    refused(
        &train(&with("one", "a b c ".repeat(12_000).as_bytes()), &["--set", "data.unit=lines"]),
        "the validation split has no lines",
        "data.unit=windows",
    );
    refused(
        &train(&good, &["--set", "data.max_tokens=9"]),
        "data.max_tokens has no effect for gpt: only pairs are left out",
        "leave data.max_tokens out",
    );
    refused(
        &train(&good, &["--set", "data.drop_duplicates=true"]),
        "data.drop_duplicates has no effect for gpt",
        "leave data.drop_duplicates out",
    );
    refused(
        &train(&good, &["--set", "train.samples=100000"]),
        "train.samples = 100000",
        "train.samples=2",
    );
    refused(&train(&good, &["--set", "train.lr=nan"]), "train.lr = nan", "train.lr=1e-3");
    refused(
        &train(&good, &["--set", "train.min_lr=1"]),
        "train.min_lr = 1.0 does not fit train.lr = 0.001",
        "train.min_lr=",
    );
    refused(&train(&good, &["--source", "a.fr"]), "--source is not for limpid train gpt", "--data");
    refused(&train(&good, &["--set", "model.hidden_size=20000"]), "GB", "model.hidden_size=");
    let twice = ["--set", "tokenizer.from=x", "--set", "tokenizer.kind=bpe"];
    refused(
        &train(&good, &twice),
        "tokenizer.kind has no effect for gpt: the tokenizer is loaded from",
        "leave",
    );
    refused(
        &train(&good, &["--set", "train.batch_size=100000000", "--set", "model.context_length=64"]),
        "GB",
        "train.gradient_accumulation_steps",
    );
    let (source, target) = pairs(&folder, 50);
    fs::write(&target, "one line\n").unwrap();
    let out = folder.join("never");
    let unequal = super::run(&[
        "train",
        "translate",
        "--source",
        source.to_str().unwrap(),
        "--target",
        target.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ]);
    refused(&unequal, "50", "");
    assert!(!out.exists(), "a run that never began left something behind");
    let deep = folder.join("runs/a/never");
    refused(
        &start(&gpt_args(&with("binary", b"a\0b\n\0\0\n"), &deep, &[])).output().unwrap(),
        "binary",
        "",
    );
    assert!(!folder.join("runs").exists(), "nor the folder it was to be in");
    refused(&super::run(&["train", "gpt"]), "data.text is missing", "--data");
    refused(&super::run(&["train", "sing"]), "'sing'", "limpid train gpt");
}
