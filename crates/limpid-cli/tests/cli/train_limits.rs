//! Words that a run does not know, memory that it does not have, data that it could read only once.

use super::train::{finish, gpt_args, pairs, start, text};
use super::*;
use std::fs;

const WORDS: [&str; 2] = ["--set", "tokenizer.kind=word"];

#[test]
fn words_outside_the_vocabulary_are_counted_before_a_training_and_when_a_model_is_measured() {
    let folder = scratch("unknown-words");
    let (data, kept) = (text(&folder, 200), folder.join("kept.txt"));
    let validation = format!("data.validation_text=[\"{}\"]", kept.display());
    let said = |name: &str, line: &str| {
        fs::write(&kept, line.repeat(50)).unwrap();
        let short = [
            "--set",
            &validation,
            "--set",
            "train.steps=1",
            "--set",
            "train.gradient_accumulation_steps=1",
        ];
        finish(&gpt_args(&data, &folder.join(name), &[&WORDS[..], &short].concat()))
    };
    let knows_all = said("all", "the cat sat on a mat.\n");
    assert!(!knows_all.contains("Unknown tokens"), "{knows_all}");
    let some = said("some", "the zebra sat on a mat.\n");
    let (_, behind) =
        some.split_once("Unknown tokens: 0.00% of the training split, ").expect(&some);
    let share: f64 = behind.split_once('%').unwrap().0.parse().unwrap();
    // One of six words; more tokens if the end of a line is one, or the full stop.
    assert!((100.0 / 8.0..=100.0 / 6.0).contains(&share), "{some}");

    let (source, target) = pairs(&folder, 200);
    let run_folder = folder.join("translator");
    let small = ["model.layers=1", "model.hidden_size=16", "train.steps=2", "tokenizer.kind=word"];
    let mut args = vec!["train", "translate", "--out", run_folder.to_str().unwrap()];
    args.extend(["--source", source.to_str().unwrap(), "--target", target.to_str().unwrap()]);
    args.extend(small.iter().flat_map(|set| ["--set", set]));
    finish(&args.into_iter().map(String::from).collect::<Vec<_>>());
    let measured = |line: &str| {
        let (source, target) = (folder.join("new.src"), folder.join("new.tgt"));
        fs::write(&source, line).unwrap();
        fs::write(&target, "MAT THE\n").unwrap();
        let files = ["--source", source.to_str().unwrap(), "--target", target.to_str().unwrap()];
        let output = run(&[&["eval", run_folder.to_str().unwrap()][..], &files].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        stderr(&output)
    };
    assert!(!measured("the mat\n").contains("vocabulary"));
    let said = measured("the zebra\n");
    assert!(said.contains("warning: 1 of ") && said.contains("are out of vocabulary"), "{said}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_limit_of_the_process_is_all_the_memory_there_is() {
    let folder = scratch("memory-limit");
    let (data, out) = (text(&folder, 200), folder.join("run"));
    // 2 GB of addresses; 12 layers of this width would take ten times as much.
    let sizes = ["--set", "model.hidden_size=2048", "--set", "model.layers=12"];
    let args = gpt_args(&data, &out, &sizes);
    let limited = |args: &[String]| {
        let mut limited = Command::new("sh");
        limited
            .args(["-c", "ulimit -v 2000000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_limpid")])
            .args(args);
        limited.stdin(Stdio::null()).output().unwrap()
    };
    let output = limited(&args);
    refused(&output, "GB are free", "--set model.hidden_size=");
    let said = stderr(&output);
    let free = said.split_once("GB of memory, ").unwrap().1.split_once(" GB").unwrap().0;
    assert!(free.parse::<f64>().unwrap() <= 2.05, "{said}");
    // Where positions are too many, fewer of them are what helps.
    let (source, target) = pairs(&folder, 50);
    let files = ["--source", source.to_str().unwrap(), "--target", target.to_str().unwrap()];
    let long = [
        "train",
        "translate",
        "--out",
        out.to_str().unwrap(),
        "--set",
        "model.context_length=3000000",
    ];
    let args: Vec<String> =
        [&long[..], &files, &WORDS].concat().into_iter().map(String::from).collect();
    refused(&limited(&args), "GB are free", "--set model.context_length=");
    assert!(!out.exists());
}

#[test]
#[cfg(unix)]
fn data_that_can_be_read_only_once_is_refused() {
    let folder = scratch("read-once");
    let output =
        start(&gpt_args(Path::new("/dev/stdin"), &folder.join("run"), &[])).output().unwrap();
    refused(&output, "is not a regular file", "save it to a file");
    assert!(!folder.join("run").exists());
}

#[test]
fn a_context_is_measured_by_the_text_and_pairs_that_are_all_too_long_are_counted() {
    let folder = scratch("too-long");
    let (data, out) = (text(&folder, 200), folder.join("run"));
    let far = start(&gpt_args(&data, &out, &["--set", "model.context_length=10000000"]))
        .output()
        .unwrap();
    refused(
        &far,
        "bytes of text are too few for a context length of 10000000",
        "--set model.context_length=128",
    );
    let (source, target) = pairs(&folder, 200);
    let files = ["--source", source.to_str().unwrap(), "--target", target.to_str().unwrap()];
    let refuse = |set: &str, error: &str, hint: &str| {
        let args =
            [&["train", "translate", "--out", out.to_str().unwrap(), "--set", set][..], &files]
                .concat();
        refused(&run(&[&args[..], &WORDS].concat()), error, hint);
        assert!(!out.exists());
    };
    refuse("data.max_tokens=3", "all 180 exceed 3 tokens on a side", "data.max_tokens=");
    refuse("model.context_length=3", "all 180 exceed 3 tokens on a side", "model.context_length=");
}
