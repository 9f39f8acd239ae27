//! The command from outside: arguments, output and exit codes. One file per command.

mod bench;
mod chat;
mod convert;
mod corpus;
mod demo;
mod encoder;
mod experiment;
mod explain;
mod folders;
mod generate;
mod heads;
mod lab;
mod lora;
mod packaging;
mod quantize;
mod quiz;
mod readme;
mod report;
mod rnn;
mod score;
mod serve;
mod speculative;
mod stories;
mod summarize;
mod tokenizer;
mod train;
mod train_cache;
mod train_find_lr;
mod train_folders;
mod train_from;
mod train_full_disk;
mod train_heads;
mod train_limits;
mod train_score;
mod translate;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

fn limpid(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_limpid"));
    command.args(args).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    limpid(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// An empty folder for one test.
fn scratch(name: &str) -> PathBuf {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A model from a demo of a few steps: hardly trained, but complete.
fn model() -> &'static Path {
    static MODEL: OnceLock<(PathBuf, String)> = OnceLock::new();
    &MODEL.get_or_init(|| short_demo("model")).0
}

fn short_demo(name: &str) -> (PathBuf, String) {
    let folder = scratch(name).join("fr-en");
    let output = run(&["demo", "--steps", "12", "--out", folder.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    (folder, stdout(&output))
}

/// Asserts exit code 2, an error with these words, and a hint with these.
#[track_caller]
fn refused(output: &Output, error: &str, hint: &str) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.starts_with("error: ") && text.contains(error), "'{error}' is not in:\n{text}");
    assert!(text.contains("hint: ") && text.contains(hint), "the hint '{hint}' is not in:\n{text}");
    assert!(!text.contains("panicked"), "{text}");
}
