//! `limpid experiment`.

use super::*;

#[test]
fn a_smoke_test_writes_report_figures_and_json_without_verdicts() {
    let out = scratch("experiment-scaling");
    let args = ["experiment", "scaling", "--quick", "--json", "--out", out.to_str().unwrap()];
    let run = super::run(&args);
    assert!(run.status.success(), "{}", stderr(&run));
    let outcome: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let file = std::fs::read_to_string(out.join("outcome.json")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&file).unwrap(), outcome);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("Smoke test: too small for a verdict"));
    for figure in outcome["figures"].as_array().unwrap() {
        assert!(out.join(figure.as_str().unwrap()).is_file());
    }
    assert_eq!((&outcome["experiment"], &outcome["effort"]), (&"scaling".into(), &"quick".into()));
    assert!(outcome["verdict"].is_null() && outcome["seed"] == 1);
    let entries = std::fs::read_dir(&out).unwrap().flatten();
    let names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(!names.iter().any(|name| name == ".trainings"), "{names:?}");
    let text = super::run(&[&args[..3], &args[4..]].concat()); // without --json
    assert!(stdout(&text).contains("Smoke test: too small for a verdict"), "{}", stdout(&text));
    assert!(!stdout(&text).contains("confirmed"), "{}", stdout(&text));
}

#[test]
fn the_list_names_every_experiment_and_an_unknown_one_is_refused_with_it() {
    let list = run(&["experiment"]);
    let text = stdout(&list);
    for name in ["scaling", "transfer"] {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line.contains(" s ") || line.contains(" min ") || line.contains(" h "), "{line}");
    }
    let unknown = run(&["experiment", "scalling"]);
    refused(&unknown, "there is no experiment 'scalling'", "scaling");
}

#[test]
fn sizes_can_be_asked_for_and_those_that_cannot_be_are_refused() {
    let out = scratch("experiment-sizes");
    let run = |more: &[&str]| {
        super::run(
            &[&["experiment", "heads", "--quick", "--out", out.to_str().unwrap()], more].concat(),
        )
    };
    let output = run(&["--steps", "12", "--width", "24"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("4 heads of width 6, seed 1: 12 steps"),
        "{}",
        stderr(&output)
    );
    // What an experiment has left is replaced; what nobody knows is not touched.
    let outcome = std::fs::read_to_string(out.join("outcome.json")).unwrap();
    let another =
        outcome.replacen("\"figures\": [", "\"figures\": [\"of-another.svg\", \"gone.svg\", ", 1);
    assert_ne!(another, outcome);
    std::fs::write(out.join("outcome.json"), another).unwrap();
    std::fs::write(out.join("of-another.svg"), "<svg/>").unwrap();
    assert!(run(&["--steps", "12", "--width", "24"]).status.success());
    assert!(out.join("report.html").is_file() && !out.join("of-another.svg").exists());
    assert_eq!(std::fs::read_to_string(out.join("outcome.json")).unwrap(), outcome);
    std::fs::write(out.join("mine.svg"), "<svg/>").unwrap();
    refused(&run(&["--steps", "12"]), "no experiment has made: mine.svg", "--out");
    std::fs::remove_file(out.join("mine.svg")).unwrap();
    refused(&run(&["--width", "30"]), "width 30 is not a multiple of 8", "use --width 32");
    refused(&run(&["--width", "8000000"]), "GB", "fits");
    refused(&run(&["--steps", "1"]), "1 training steps are not in 10 to", "use --steps 10 or more");
    refused(
        &super::run(&["experiment", "scaling", "--width", "64"]),
        "'scaling' has no setting width",
        "it has --steps",
    );
}
