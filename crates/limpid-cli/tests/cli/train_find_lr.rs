//! `limpid train … --find-lr`: a suggestion, a picture, and nothing else.

use super::train::{finish, gpt_args, start, text};
use super::*;
use std::fs;

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_learning_rate_is_suggested_twice_the_same_and_nothing_else_is_left() {
    let folder = scratch("find-lr");
    let (data, out, temporary) = (text(&folder, 300), folder.join("out"), folder.join("tmp"));
    fs::create_dir(&temporary).unwrap();
    let search = || {
        let mut args = gpt_args(&data, &out, &["--find-lr=80"]);
        args.extend(["--set".to_string(), "train.gradient_accumulation_steps=1".into()]);
        let output = start(&args).env("TMPDIR", &temporary).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let said = search();
    let rate = said.rsplit_once("--set train.lr=").unwrap().1.trim();
    let rate: f64 = rate.parse().unwrap();
    assert!((1e-5..1.0).contains(&rate), "{said}");
    let row = said.lines().find(|line| line.ends_with("<- suggested")).unwrap();
    let numbers: Vec<f64> = row.split_whitespace().take(3).map(|n| n.parse().unwrap()).collect();
    assert!((numbers[0] / rate - 1.0).abs() < 1e-6 && numbers[2] < 0.0, "{row}");
    assert_eq!(names(&out), ["find-lr.svg"]);
    let picture = fs::read_to_string(out.join("find-lr.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("learning rate"));
    assert_eq!(search(), said);
    assert_eq!(names(&out), ["find-lr.svg"]);
    assert_eq!(names(&temporary), [] as [&str; 0]);
    assert_eq!(names(&folder), ["out", "text.txt", "tmp"]);
    // A folder with a picture is still free for a run.
    finish(&gpt_args(&data, &out, &["--steps", "2"]));
    assert!(out.join("find-lr.svg").is_file() && out.join("summary.json").is_file());
}

#[test]
fn a_sweep_that_could_not_show_anything_is_refused() {
    let folder = scratch("find-lr-bad");
    let (data, out) = (text(&folder, 100), folder.join("out"));
    let search = |more: &[&str]| start(&gpt_args(&data, &out, more)).output().unwrap();
    refused(&search(&["--find-lr=9"]), "search of 9 steps", "200");
    assert_eq!(search(&["--find-lr", "--resume"]).status.code(), Some(2));
    assert!(!out.exists());
}

#[test]
fn an_interrupt_ends_it_at_once_and_leaves_nothing_behind() {
    let folder = scratch("find-lr-interrupt");
    let (data, scratch) = (text(&folder, 400), folder.join("tmp"));
    fs::create_dir_all(&scratch).unwrap();
    let args = gpt_args(&data, &folder.join("never"), &["--find-lr=50000"]);
    let mut child = start(&args)
        .env("TMPDIR", &scratch)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let is_there = || fs::read_dir(&scratch).unwrap().next().is_some();
    while !is_there() {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!is_there() && !folder.join("never").exists());
}
