//! Runs that are interrupted, damaged and resumed, through the library: they end with the bytes of
//! an uninterrupted run.

use limpid::train::setup::{RunStart, open};
use limpid::train::{Control, Outcome, RunConfig, TrainEvent};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("limpid-runs-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let words = ["the cat sat", "a dog ran", "on the mat", "to the sea", "and back"];
    let text: String = (0..400).map(|i| format!("{}.\n", words[i * i % 7 % 5])).collect();
    fs::write(folder.join("a.txt"), text).unwrap();
    folder
}

fn config(folder: &Path, set: &[&str]) -> RunConfig {
    let text = "task = \"gpt\"\n[data]\ntext = [\"a.txt\"]\n\
                [model]\nlayers = 1\nheads = 1\nhidden_size = 8\ncontext_length = 8\n\
                [train]\nsteps = 40\nlr = 0.01\nschedule = \"constant\"\n\
                warmup_steps = 5\nvalidate_every = 10\n\
                checkpoint_every = 10\nkeep_checkpoints = 2\naverage_checkpoints = 2\n\
                samples = 0\n";
    fs::write(folder.join("run.toml"), text).unwrap();
    let windows = (!set.contains(&"data.unit=lines")).then_some("train.batch_size=2");
    let set: Vec<String> = windows.iter().chain(set).map(|set| set.to_string()).collect();
    RunConfig::read(&folder.join("run.toml"), &set, None).unwrap()
}

/// A learning rate so high that the mean of two checkpoints is better than either.
const NOISY: [&str; 2] = ["train.lr=0.1", "train.steps=200"];

/// One session: how it ended, and its warnings.
fn session(config: &RunConfig, run: &Path, stops: &[u64]) -> (Outcome, Vec<String>) {
    let mut opened = open(config.clone(), run, RunStart::Resume, &mut |_| {}).unwrap();
    let mut warnings: Vec<String> = opened.warnings.iter().map(ToString::to_string).collect();
    let outcome = opened.run.train(&mut |event| {
        match event {
            TrainEvent::Step(report) if stops.contains(&report.step) => return Control::Stop,
            TrainEvent::Warning(warning) => warnings.push(warning.to_string()),
            _ => {}
        }
        Control::Continue
    });
    (outcome.unwrap(), warnings)
}

fn model(run: &Path) -> Vec<u8> {
    fs::read(run.join("model/model.safetensors")).unwrap()
}

fn summary(run: &Path, key: &str) -> Value {
    let text = fs::read_to_string(run.join("summary.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()[key].clone()
}

#[test]
fn interruptions_do_not_change_which_checkpoints_are_averaged() {
    let folder = scratch("average");
    let (whole, stopped) = (folder.join("whole"), folder.join("stopped"));
    let config = config(&folder, &NOISY);
    assert_eq!(session(&config, &whole, &[]), (Outcome::Completed, vec![]));
    assert_eq!(summary(&whole, "model"), "average");
    let stops = [7, 123, 187, 193, 197];
    for _ in stops {
        assert_eq!(session(&config, &stopped, &stops), (Outcome::Interrupted, vec![]));
    }
    assert_eq!(session(&config, &stopped, &stops), (Outcome::Completed, vec![]));
    assert_eq!(summary(&stopped, "model"), "average");
    assert!(model(&stopped) == model(&whole));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn too_few_checkpoints_to_average_are_a_warning() {
    let folder = scratch("too-few");
    let run = folder.join("run");
    // The last one alone is regular.
    let (ended, warnings) = session(&config(&folder, &["train.checkpoint_every=0"]), &run, &[3]);
    assert_eq!((ended, warnings.len()), (Outcome::Interrupted, 0));
    let (ended, warnings) = session(&config(&folder, &["train.checkpoint_every=0"]), &run, &[]);
    assert_eq!(ended, Outcome::Completed);
    assert!(
        warnings[0].contains("no checkpoints are averaged") && warnings.len() == 1,
        "{warnings:?}"
    );
    // One of two is damaged.
    let run = folder.join("damaged");
    session(&config(&folder, &[]), &run, &[33]);
    fs::write(run.join("checkpoints/step-00000030/manifest.json"), "[").unwrap();
    let (ended, warnings) = session(&config(&folder, &["train.keep_checkpoints=3"]), &run, &[]);
    assert_eq!(ended, Outcome::Completed);
    assert!(warnings[0].contains("left out of the average"), "{warnings:?}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_damaged_checkpoint_never_outlives_a_good_one() {
    let folder = scratch("damaged");
    let (whole, run) = (folder.join("whole"), folder.join("run"));
    let set = ["train.average_checkpoints=0", "train.keep_checkpoints=1"];
    session(&config(&folder, &set), &whole, &[]);
    session(&config(&folder, &["train.average_checkpoints=0"]), &run, &[33]);
    fs::write(run.join("checkpoints/step-00000033/state.json"), "{").unwrap();
    // It falls back to step 30, and with one to be kept the next checkpoints must not be taken for
    // older than the damaged one.
    let (ended, warnings) = session(&config(&folder, &set), &run, &[31]);
    assert_eq!(ended, Outcome::Interrupted);
    assert!(warnings[0].contains("an older checkpoint is used"), "{warnings:?}");
    assert_eq!(session(&config(&folder, &set), &run, &[]), (Outcome::Completed, vec![]));
    assert!(model(&run) == model(&whole));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_finished_run_that_is_extended_is_not_finished() {
    let folder = scratch("longer");
    let run = folder.join("run");
    session(&config(&folder, &[]), &run, &[]);
    assert_eq!(summary(&run, "steps"), 40);
    session(&config(&folder, &["train.steps=80"]), &run, &[45]);
    for stale in ["summary.json", "report.html"] {
        assert!(!run.join(stale).exists(), "{stale} is of an earlier end");
    }
    session(&config(&folder, &["train.steps=80"]), &run, &[]);
    assert_eq!(summary(&run, "steps"), 80);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_summary_describes_the_saved_weights() {
    let folder = scratch("other");
    let run = folder.join("run");
    // An average stands in the folder, and then none is wished any more.
    session(&config(&folder, &NOISY), &run, &[]);
    let (average, loss) = (model(&run), summary(&run, "validation_loss"));
    let (ended, warnings) = session(
        &config(&folder, &[&NOISY[..], &["train.average_checkpoints=0"]].concat()),
        &run,
        &[],
    );
    assert_eq!(ended, Outcome::Completed);
    assert!(warnings[0].contains("another moment"), "{warnings:?}");
    assert!(model(&run) == average);
    assert_eq!((summary(&run, "validation_loss"), summary(&run, "best_step")), (loss, Value::Null));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_folder_that_is_half_made_or_half_removed_can_be_used() {
    let folder = scratch("half");
    let run = folder.join("run");
    fs::create_dir_all(&run).unwrap();
    fs::write(run.join("config.toml.77.tmp"), "task").unwrap();
    session(&config(&folder, &[]), &run, &[12]);
    assert!(!run.join("config.toml.77.tmp").exists());
    // As a kill leaves it that comes while everything is being removed.
    for gone in ["metrics.jsonl", "tokenizer", "cache"] {
        let path = run.join(gone);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap()
        } else {
            fs::remove_file(path).unwrap()
        }
    }
    fs::create_dir_all(run.join("checkpoints/tmp-77")).unwrap();
    fs::write(run.join("model/model.safetensors.77.tmp"), "half").unwrap();
    let forced = open(config(&folder, &[]), &run, RunStart::Overwrite, &mut |_| {});
    assert!(forced.is_ok());
    assert!(!run.join("checkpoints/tmp-77").exists() && !run.join("model").exists());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_language_model_trained_with_end_tokens_generates_them() {
    let folder = scratch("ends");
    let generation = |name: &str, set: &[&str]| -> Value {
        let run = folder.join(name);
        session(&config(&folder, set), &run, &[]);
        serde_json::from_str(&fs::read_to_string(run.join("model/generation_config.json")).unwrap())
            .unwrap()
    };
    let lines = generation("lines", &["data.unit=lines", "train.batch_tokens=64"]);
    assert!(
        lines["eos_token_id"].is_u64() && lines["bos_token_id"] == lines["eos_token_id"],
        "{lines}"
    );
    assert_eq!(generation("windows", &[]), serde_json::json!({}));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_only_checkpoint_of_a_finished_run_is_found_after_a_kill_between_two_renames() {
    let folder = scratch("renames");
    let (run, config) = (
        folder.join("run"),
        config(&folder, &["train.average_checkpoints=0", "train.keep_checkpoints=1"]),
    );
    session(&config, &run, &[]);
    let kept = model(&run);
    let at = |name: &str| run.join("checkpoints").join(name);
    fs::rename(at("step-00000040"), at("replaced-step-00000040")).unwrap();
    assert_eq!(session(&config, &run, &[]), (Outcome::Completed, vec![]));
    assert!(at("step-00000040").is_dir() && model(&run) == kept);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_unreadable_best_model_is_a_warning() {
    let folder = scratch("unreadable");
    let (run, set) = (folder.join("run"), ["train.average_checkpoints=0"]);
    session(&config(&folder, &set), &run, &[]);
    fs::write(run.join("model/model.safetensors"), &model(&run)[..100]).unwrap();
    let (ended, warnings) = session(&config(&folder, &set), &run, &[]);
    assert_eq!(ended, Outcome::Completed);
    assert!(warnings.len() == 1 && warnings[0].contains("model.safetensors"), "{warnings:?}");
    assert!(warnings[0].contains("are lost"), "{warnings:?}");
    // The last weights have taken its place, and nothing is wrong any more.
    assert_eq!((summary(&run, "model"), summary(&run, "best_step")), ("best".into(), 40.into()));
    assert_eq!(session(&config(&folder, &set), &run, &[]), (Outcome::Completed, vec![]));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_overwritten_run_is_kept_until_the_new_one_has_a_checkpoint() {
    let folder = scratch("force");
    let run = folder.join("run");
    let (good, set) = (
        config(&folder, &["train.average_checkpoints=0"]),
        ["train.average_checkpoints=0", "model.context_length=100000"],
    );
    session(&good, &run, &[]);
    let kept = model(&run);
    let names = || {
        let mut names: Vec<_> =
            fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.retain(|name| name != ".lock");
        names.sort();
        names
    };
    let before = names();
    let force = |config: &RunConfig| {
        open(config.clone(), &run, RunStart::Overwrite, &mut |_| {})
            .map(|opened| opened.run.steps())
    };
    assert!(force(&config(&folder, &set)).is_err());
    assert!(model(&run) == kept && names() == before, "{:?}", names());
    // Killed while it was moved away, and while the new one was prepared.
    fs::create_dir(run.join(".replacing")).unwrap();
    fs::rename(run.join("checkpoints"), run.join(".replacing/checkpoints")).unwrap();
    let goes_on = || {
        let (ended, said) = session(&good, &run, &[]);
        assert!(
            ended == Outcome::Completed && said.len() == 1 && said[0].contains("was restored"),
            "{said:?}"
        );
    };
    goes_on();
    fs::create_dir(run.join(".replaced")).unwrap();
    for name in names().iter().filter(|name| *name != ".replaced") {
        fs::rename(run.join(name), run.join(".replaced").join(name)).unwrap();
    }
    fs::create_dir(run.join("tokenizer")).unwrap();
    fs::write(run.join("config.toml"), "task = \"bert\"\n").unwrap();
    goes_on();
    assert!(model(&run) == kept && names() == before, "{:?}", names());
    // One that can begin waits for its first checkpoint, and then takes its place.
    let opened = open(good.clone(), &run, RunStart::Overwrite, &mut |_| {}).unwrap();
    assert!(opened.run.steps() == (0, 40) && run.join(".replaced").exists());
    drop(opened);
    goes_on();
    assert!(model(&run) == kept && names() == before, "{:?}", names());
    let mut opened = open(good.clone(), &run, RunStart::Overwrite, &mut |_| {}).unwrap();
    assert_eq!(opened.run.train(&mut |_| Control::Stop).unwrap(), Outcome::Interrupted);
    assert!(
        !run.join("model").exists()
            && !run.join(".replaced").exists()
            && !run.join(".discarded").exists()
    );
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_classifier_saves_the_model_of_the_metric_that_its_settings_name() {
    let folder = scratch("metric");
    // Labels that follow from nothing: the loss soon rises, the accuracy goes up and down.
    let label = |i: usize| if ((i * i + i / 3) % 7).is_multiple_of(2) { "even" } else { "odd" };
    let line = |i: usize| format!("word{} word{}\t{}\n", i % 23, i % 11, label(i));
    let table: String = (0..120).map(line).collect();
    fs::write(folder.join("a.tsv"), format!("text\tlabel\n{table}")).unwrap();
    let text = "task = \"classify\"\n[data]\ntext = [\"a.tsv\"]\n[model]\nlayers = 1\nheads = 1\n\
                hidden_size = 8\ncontext_length = 8\n[train]\nsteps = 60\nlr = 0.02\n\
                validate_every = 5\nsamples = 0\n";
    fs::write(folder.join("classify.toml"), text).unwrap();
    let best = |metric: &str| {
        let run = folder.join(metric);
        let set = [format!("train.best_metric={metric}")];
        let config = RunConfig::read(&folder.join("classify.toml"), &set, None).unwrap();
        assert_eq!(session(&config, &run, &[]), (Outcome::Completed, vec![]));
        let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
        let lines = metrics.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let lines: Vec<Value> = lines.filter(|line| line["kind"] == "validation").collect();
        let value = |line: &Value, key: &str| line[key].as_f64().unwrap();
        // The first line with the best value, found here without the run.
        let key = if metric == "f1" { "macro_f1" } else { metric };
        let sign = if metric == "loss" { -1.0 } else { 1.0 };
        let expected = lines
            .iter()
            .rev()
            .max_by(|a, b| (sign * value(a, key)).total_cmp(&(sign * value(b, key))));
        let expected = expected.unwrap()["step"].clone();
        assert_eq!(summary(&run, "best_step"), expected, "{metric}");
        assert_eq!(summary(&run, "best_metric"), metric);
        expected.as_u64().unwrap()
    };
    let steps = ["loss", "accuracy", "f1"].map(best);
    assert!(steps[0] != steps[1], "the metrics agree, and the test shows nothing: {steps:?}");
    fs::remove_dir_all(&folder).unwrap();
}
