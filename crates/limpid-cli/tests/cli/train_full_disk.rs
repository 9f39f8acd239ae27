//! A disk that is full while a run writes. A limit on the size of files stands for it: writes fail
//! in the same way, at a moment that can be chosen.

use super::train::{finish, gpt_args, result, start, text, timeless};
use super::*;
use std::fs;

/// The same command, in a shell whose files cannot grow beyond so many blocks of 512 bytes. The
/// signal that would end the program is ignored, and so the write fails, as it does on a full disk.
fn limited(args: &[String], blocks: u64) -> Output {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    Command::new("sh")
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_limpid")])
        .args(args)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Exit code 2, what could not be written, and how to go on; before it, a run may have told of its
/// steps.
#[track_caller]
fn gave_up(output: &Output, error: &str, hint: &str) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    let (said, hinted) = text.rsplit_once("\nerror: ").unwrap().1.split_once("\nhint: ").unwrap();
    assert!(
        said.starts_with("cannot write") && said.contains(error),
        "'{error}' is not in:\n{text}"
    );
    assert!(hinted.contains(hint), "'{hint}' is not in:\n{text}");
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}

/// Nothing half-written is left beside what was there.
fn no_leftovers(run: &Path) {
    let mut folders = vec![run.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(!name.ends_with(".tmp") && !name.starts_with("tmp-"), "{}", path.display());
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
}

#[test]
fn a_disk_that_is_full_costs_the_steps_since_the_last_checkpoint_and_no_more() {
    let folder = scratch("train-full");
    let (data, whole, run) = (text(&folder, 300), folder.join("whole"), folder.join("run"));
    // No validation before the end: there a model would be written, too.
    let args = |out: &Path, steps: &str| {
        let more = [
            "--resume",
            "--steps",
            steps,
            "--set",
            "train.schedule=constant",
            "--set",
            "train.log_every=1",
        ];
        gpt_args(&data, out, &[&more[..], &["--set", "train.validate_every=0"]].concat())
    };
    finish(&args(&whole, "28"));
    finish(&args(&run, "14"));
    let checkpoint = run.join("checkpoints/step-00000014");
    let numbers = fs::read(checkpoint.join("state.safetensors")).unwrap();
    let kept = size(&run.join("metrics.jsonl"));

    // A checkpoint that is larger than there is room for.
    let full = limited(&args(&run, "28"), numbers.len() as u64 / 512 - 1);
    gave_up(&full, "state.safetensors", "--resume: it continues from step 14");
    assert!(fs::read(checkpoint.join("state.safetensors")).unwrap() == numbers);
    no_leftovers(&run);

    // Metrics that are.
    let full = limited(&args(&run, "28"), (kept + 600).div_ceil(512));
    gave_up(&full, "metrics.jsonl", "--resume: it continues from step 14");
    no_leftovers(&run);

    // With room again, everything is as if nothing had happened. (A run of 14 steps that was made
    // longer has looked at its validation there.)
    finish(&args(&run, "28"));
    assert!(result(&run).1 == result(&whole).1);
    let train = |run: &Path| -> Vec<serde_json::Value> {
        timeless(run).into_iter().filter(|line| line["kind"] == "train").collect()
    };
    assert_eq!(train(&run), train(&whole));

    // The page at the very end.
    let (page, summary) = (run.join("report.html"), run.join("summary.json"));
    let blocks = size(&page) / 512 - 1;
    let small = [run.join("config.toml"), summary.clone(), run.join("metrics.jsonl")];
    assert!(
        small.iter().all(|path| size(path) < blocks * 512),
        "another file is larger than the page"
    );
    fs::remove_file(&page).unwrap();
    gave_up(&limited(&args(&run, "28"), blocks), "report.html", "--resume");
    assert!(!page.exists());
    finish(&args(&run, "28"));
    assert!(page.is_file());
}

#[test]
fn a_disk_that_is_full_at_the_beginning_leaves_nothing_behind() {
    let folder = scratch("train-full-begin");
    let (data, run) = (text(&folder, 300), folder.join("run"));
    refused(&limited(&gpt_args(&data, &run, &[]), 1), "cannot write", "free some disk space");
    assert!(!run.exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_log_on_a_full_disk_does_not_end_a_run() {
    let folder = scratch("train-full-log");
    let (data, run) = (text(&folder, 300), folder.join("run"));
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = start(&gpt_args(&data, &run, &["--steps", "5"]))
        .stdout(Stdio::null())
        .stderr(full)
        .status();
    assert_eq!(status.unwrap().code(), Some(0));
    assert!(run.join("summary.json").is_file());
}
