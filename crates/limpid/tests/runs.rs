//! Runs that are stopped, damaged and gone on with, through the library: what they end with is what an undisturbed run ends with.

use limpid::train::setup::{Beginning, open};
use limpid::train::{Ended, News, RunConfig, Signal};
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
    let text = "task = \"gpt\"\n[data]\ntext = [\"a.txt\"]\n[model]\nlayers = 1\nheads = 1\nwidth = 8\ncontext = 8\n\
                [train]\nsteps = 40\nbatch = 2\nlr = 0.01\nschedule = \"constant\"\nwarmup = 5\nvalidate_every = 10\n\
                checkpoint_every = 10\nkeep = 2\naverage_last = 2\nsamples = 0\n";
    fs::write(folder.join("run.toml"), text).unwrap();
    let set: Vec<String> = set.iter().map(|set| set.to_string()).collect();
    RunConfig::read(&folder.join("run.toml"), &set).unwrap()
}

/// So high a rate that the mean of two checkpoints is better than either.
const NOISY: [&str; 2] = ["train.lr=0.1", "train.steps=200"];

/// One sitting: how it ended, and what was warned of.
fn sitting(config: &RunConfig, run: &Path, stops: &[u64]) -> (Ended, Vec<String>) {
    let mut opened = open(config.clone(), run, Beginning::Resume, &mut |_| {}).unwrap();
    let mut warnings: Vec<String> = opened.damaged.iter().map(|error| error.to_string()).collect();
    let ended = opened.run.train(&mut |news| {
        match news {
            News::Step { step, .. } if stops.contains(&step) => return Signal::Stop,
            News::Warning(text) => warnings.push(text),
            _ => {}
        }
        Signal::GoOn
    });
    (ended.unwrap(), warnings)
}

fn model(run: &Path) -> Vec<u8> {
    fs::read(run.join("model/model.safetensors")).unwrap()
}

fn summary(run: &Path, key: &str) -> Value {
    let text = fs::read_to_string(run.join("summary.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()[key].clone()
}

#[test]
fn somebodys_ctrl_c_does_not_change_what_is_averaged() {
    let folder = scratch("average");
    let (whole, stopped) = (folder.join("whole"), folder.join("stopped"));
    let config = config(&folder, &NOISY);
    assert_eq!(sitting(&config, &whole, &[]), (Ended::Done, vec![]));
    assert_eq!(summary(&whole, "model"), "average");
    let stops = [7, 123, 187, 193, 197];
    for _ in stops {
        assert_eq!(sitting(&config, &stopped, &stops), (Ended::Stopped, vec![]));
    }
    assert_eq!(sitting(&config, &stopped, &stops), (Ended::Done, vec![]));
    assert_eq!(summary(&stopped, "model"), "average");
    assert!(model(&stopped) == model(&whole));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_cannot_be_averaged_is_said_and_ends_no_run() {
    let folder = scratch("too-few");
    let run = folder.join("run");
    // The last one alone is regular.
    let (ended, warnings) = sitting(&config(&folder, &["train.checkpoint_every=0"]), &run, &[3]);
    assert_eq!((ended, warnings.len()), (Ended::Stopped, 0));
    let (ended, warnings) = sitting(&config(&folder, &["train.checkpoint_every=0"]), &run, &[]);
    assert_eq!(ended, Ended::Done);
    assert!(warnings[0].contains("nothing was averaged") && warnings.len() == 1, "{warnings:?}");
    // One of two is damaged.
    let run = folder.join("damaged");
    sitting(&config(&folder, &[]), &run, &[33]);
    fs::write(run.join("checkpoints/step-00000030/manifest.json"), "[").unwrap();
    let (ended, warnings) = sitting(&config(&folder, &["train.keep=3"]), &run, &[]);
    assert_eq!(ended, Ended::Done);
    assert!(warnings[0].contains("left out of the average"), "{warnings:?}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_damaged_checkpoint_never_outlives_a_good_one() {
    let folder = scratch("damaged");
    let (whole, run) = (folder.join("whole"), folder.join("run"));
    let set = ["train.average_last=0", "train.keep=1"];
    sitting(&config(&folder, &set), &whole, &[]);
    sitting(&config(&folder, &["train.average_last=0"]), &run, &[33]);
    fs::write(run.join("checkpoints/step-00000033/state.json"), "{").unwrap();
    // It falls back to step 30, and with one to be kept the next checkpoints must not be taken for older than the damaged one.
    let (ended, warnings) = sitting(&config(&folder, &set), &run, &[31]);
    assert_eq!(ended, Ended::Stopped);
    assert!(warnings[0].contains("an older checkpoint is used"), "{warnings:?}");
    assert_eq!(sitting(&config(&folder, &set), &run, &[]), (Ended::Done, vec![]));
    assert!(model(&run) == model(&whole));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_finished_run_that_goes_on_is_not_finished() {
    let folder = scratch("longer");
    let run = folder.join("run");
    sitting(&config(&folder, &[]), &run, &[]);
    assert_eq!(summary(&run, "steps"), 40);
    sitting(&config(&folder, &["train.steps=80"]), &run, &[45]);
    for stale in ["summary.json", "report.html"] {
        assert!(!run.join(stale).exists(), "{stale} is of an end that is none any more");
    }
    sitting(&config(&folder, &["train.steps=80"]), &run, &[]);
    assert_eq!(summary(&run, "steps"), 80);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_summary_is_about_the_weights_that_are_there() {
    let folder = scratch("other");
    let run = folder.join("run");
    // An average stands in the folder, and then none is wished any more.
    sitting(&config(&folder, &NOISY), &run, &[]);
    let (average, loss) = (model(&run), summary(&run, "validation_loss"));
    let (ended, warnings) =
        sitting(&config(&folder, &[&NOISY[..], &["train.average_last=0"]].concat()), &run, &[]);
    assert_eq!(ended, Ended::Done);
    assert!(warnings[0].contains("another moment"), "{warnings:?}");
    assert!(model(&run) == average);
    assert_eq!((summary(&run, "validation_loss"), summary(&run, "best_step")), (loss, Value::Null));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_folder_that_was_half_made_or_half_removed_can_be_used() {
    let folder = scratch("half");
    let run = folder.join("run");
    fs::create_dir_all(&run).unwrap();
    fs::write(run.join("config.toml.77.tmp"), "task").unwrap();
    sitting(&config(&folder, &[]), &run, &[12]);
    assert!(!run.join("config.toml.77.tmp").exists());
    // As a kill leaves it that comes while everything is being removed.
    for gone in ["metrics.jsonl", "tokenizer", "cache"] {
        let path = run.join(gone);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }
    fs::create_dir_all(run.join("checkpoints/aside-77")).unwrap();
    fs::write(run.join("model/model.safetensors.77.tmp"), "half").unwrap();
    let forced = open(config(&folder, &[]), &run, Beginning::Force, &mut |_| {});
    assert!(forced.is_ok());
    assert!(!run.join("checkpoints/aside-77").exists() && !run.join("model").exists());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_language_model_that_has_seen_where_texts_end_ends_them() {
    let folder = scratch("ends");
    let generation = |name: &str, set: &[&str]| -> Value {
        let run = folder.join(name);
        sitting(&config(&folder, set), &run, &[]);
        serde_json::from_str(&fs::read_to_string(run.join("model/generation_config.json")).unwrap()).unwrap()
    };
    let lines = generation("lines", &["data.unit=lines", "train.batch_tokens=64"]);
    assert!(lines["eos_token_id"].is_u64() && lines["bos_token_id"] == lines["eos_token_id"], "{lines}");
    assert_eq!(generation("windows", &[]), serde_json::json!({}));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_only_checkpoint_of_a_finished_run_is_found_after_a_kill_between_two_renames() {
    let folder = scratch("renames");
    let (run, config) = (folder.join("run"), config(&folder, &["train.average_last=0", "train.keep=1"]));
    sitting(&config, &run, &[]);
    let kept = model(&run);
    let at = |name: &str| run.join("checkpoints").join(name);
    fs::rename(at("step-00000040"), at("replaced-step-00000040")).unwrap();
    assert_eq!(sitting(&config, &run, &[]), (Ended::Done, vec![]));
    assert!(at("step-00000040").is_dir() && model(&run) == kept);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_best_model_that_cannot_be_read_is_named_and_ends_no_run() {
    let folder = scratch("unreadable");
    let (run, set) = (folder.join("run"), ["train.average_last=0"]);
    sitting(&config(&folder, &set), &run, &[]);
    fs::write(run.join("model/model.safetensors"), &model(&run)[..100]).unwrap();
    let (ended, warnings) = sitting(&config(&folder, &set), &run, &[]);
    assert_eq!(ended, Ended::Done);
    assert!(warnings.len() == 1 && warnings[0].contains("model.safetensors"), "{warnings:?}");
    assert!(warnings[0].contains("are lost"), "{warnings:?}");
    // The last weights have taken its place, and nothing is wrong any more.
    assert_eq!((summary(&run, "model"), summary(&run, "best_step")), ("best".into(), 40.into()));
    assert_eq!(sitting(&config(&folder, &set), &run, &[]), (Ended::Done, vec![]));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_run_that_is_to_be_replaced_is_kept_until_the_new_one_can_begin() {
    let folder = scratch("force");
    let run = folder.join("run");
    let (good, set) =
        (config(&folder, &["train.average_last=0"]), ["train.average_last=0", "model.context=100000"]);
    sitting(&good, &run, &[]);
    let kept = model(&run);
    let names = || {
        let mut names: Vec<_> = fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.retain(|name| name != ".lock");
        names.sort();
        names
    };
    let before = names();
    let force = |config: &RunConfig| {
        open(config.clone(), &run, Beginning::Force, &mut |_| {}).map(|opened| opened.run.steps())
    };
    assert!(force(&config(&folder, &set)).is_err());
    assert!(model(&run) == kept && names() == before, "{:?}", names());
    // Killed while it was moved away, and while the new one was prepared.
    fs::create_dir(run.join(".replacing")).unwrap();
    fs::rename(run.join("checkpoints"), run.join(".replacing/checkpoints")).unwrap();
    let goes_on = || {
        let (ended, said) = sitting(&good, &run, &[]);
        assert!(ended == Ended::Done && said.len() == 1 && said[0].contains("has been put back"), "{said:?}");
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
    let opened = open(good.clone(), &run, Beginning::Force, &mut |_| {}).unwrap();
    assert!(opened.run.steps() == (0, 40) && run.join(".replaced").exists());
    drop(opened);
    goes_on();
    assert!(model(&run) == kept && names() == before, "{:?}", names());
    let mut opened = open(good.clone(), &run, Beginning::Force, &mut |_| {}).unwrap();
    assert_eq!(opened.run.train(&mut |_| Signal::Stop).unwrap(), Ended::Stopped);
    assert!(
        !run.join("model").exists() && !run.join(".replaced").exists() && !run.join(".discarded").exists()
    );
    fs::remove_dir_all(&folder).unwrap();
}
