//! `limpid report` and `limpid compare`, from outside.

use super::*;

/// A run folder of some steps, with everything a trainer leaves.
fn run_folder(parent: &Path, name: &str, rate: f64) -> PathBuf {
    let folder = parent.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let mut lines = String::new();
    for step in 1..=60 {
        let loss = 1.5 + 4.0 * f64::exp(-rate * f64::from(step));
        let line = serde_json::json!({
            "kind": "train", "step": step, "epoch": 0.1 * f64::from(step), "tokens": 2048 * step,
            "loss": loss, "lr": 1e-3,
            "grad_norm": 1.0, "seconds": 0.3 * f64::from(step), "tokens_per_second": 6600.0,
        });
        lines += &format!("{line}\n");
    }
    lines += "{\"kind\":\"validation\",\"step\":60,\"loss\":2.5,\"perplexity\":12.18,\"bleu\":31.5,\"best\":true}\n";
    lines += "{\"kind\":\"sample\",\"step\":60,\"prompt\":\"Merci\",\"text\":\"Thanks \
        <3\",\"reference\":\"Thanks\"}\n";
    std::fs::write(folder.join("metrics.jsonl"), lines).unwrap();
    std::fs::write(folder.join("config.toml"), format!("[train]\nsteps = 60\nlr = {rate}\n"))
        .unwrap();
    let summary =
        r#"{"test_bleu":30.25,"bleu_by_length":[{"from":0,"to":10,"sentences":120,"bleu":35.1}]}"#;
    std::fs::write(folder.join("summary.json"), summary).unwrap();
    folder
}

#[test]
fn report_writes_one_page_into_the_run_folder() {
    let folder = run_folder(&scratch("report"), "first", 0.05);
    let output = run(&["report", folder.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let out = folder.join("report.html");
    assert_eq!(stdout(&output).trim_end(), out.to_str().unwrap());
    let page = std::fs::read_to_string(out).unwrap();
    for text in [
        "<h1>first</h1>",
        "<title>Loss</title>",
        "Thanks &lt;3",
        "steps = 60",
        "0–10 words: BLEU 35.1",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("class=\"note\""));

    let elsewhere = folder.join("elsewhere.html");
    let output = run(&["report", folder.to_str().unwrap(), "--out", elsewhere.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(elsewhere).unwrap(), page);
    assert!(output.stderr.is_empty());
    let json = run(&["report", folder.to_str().unwrap(), "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["report"], folder.join("report.html").to_str().unwrap());
    assert_eq!(json["figures"]["test_bleu"], 30.25);
}

#[test]
fn a_killed_run_has_a_report_that_says_what_is_missing() {
    let folder = run_folder(&scratch("killed"), "run", 0.05);
    std::fs::remove_file(folder.join("summary.json")).unwrap();
    let metrics = folder.join("metrics.jsonl");
    let text = std::fs::read_to_string(&metrics).unwrap();
    std::fs::write(&metrics, &text[..text.len() - 20]).unwrap();
    let output = run(&["report", folder.to_str().unwrap()]);
    assert!(output.status.success());
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    for words in ["metrics.jsonl, 62, is incomplete", "There is no summary.json"] {
        assert!(stderr(&output).contains(words) && page.contains(words), "{words}");
    }
}

#[test]
fn compare_prints_figures_and_only_the_settings_that_differ() {
    let parent = scratch("compare");
    let (a, b) = (run_folder(&parent, "slow", 0.05), run_folder(&parent, "fast", 0.25));
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    let page = parent.join("both.html");
    let output = run(&["compare", a, b, "--out", page.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.lines().next().unwrap().split_whitespace().eq(["slow", "fast"]), "{text}");
    assert!(text.contains("train.lr") && !text.contains("train.steps"), "{text}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("<title>Training loss</title>")
            && page.contains(">slow</text>")
            && page.contains(">fast</text>")
    );

    let report: serde_json::Value =
        serde_json::from_str(&stdout(&run(&["compare", a, b, "--json"]))).unwrap();
    assert_eq!(report["runs"][1]["name"], "fast");
    assert_eq!(report["runs"][1]["figures"]["test_bleu"], 30.25);
    assert_eq!(report["runs"][0]["figures"]["steps"], 60);
    assert_eq!(
        report["differences"],
        serde_json::json!([{"key": "train.lr", "values": ["0.05", "0.25"]}])
    );
}

#[test]
fn what_is_no_run_folder_is_refused_with_file_and_line() {
    let parent = scratch("no-run");
    refused(&run(&["report", parent.to_str().unwrap()]), "metrics.jsonl", "limpid train");
    let folder = run_folder(&parent, "run", 0.05);
    let path = folder.to_str().unwrap();
    std::fs::write(
        folder.join("metrics.jsonl"),
        "{\"kind\":\"train\",\"step\":1,\"loss\":2}\n\n{\"step\":2}\n",
    )
    .unwrap();
    refused(
        &run(&["report", path]),
        "metrics.jsonl: line 3: missing field `kind`",
        "docs/formats.md",
    );
    std::fs::write(folder.join("metrics.jsonl"), "").unwrap();
    std::fs::write(folder.join("config.toml"), "[train\n").unwrap();
    let output = run(&["report", path]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("config.toml: ") && stderr(&output).contains("line 1"),
        "{}",
        stderr(&output)
    );
    assert_eq!(run(&["compare", path]).status.code(), Some(2), "one run is nothing to compare");
}

#[test]
fn a_page_is_not_written_over_something_else() {
    let folder = scratch("report-over");
    let run_of = run_folder(&folder, "a", 1.0);
    let (run_of, diary) = (run_of.to_str().unwrap(), folder.join("diary.txt"));
    std::fs::write(&diary, "dear").unwrap();
    let diary = diary.to_str().unwrap();
    refused(&run(&["report", run_of, "--out", diary]), "holds something else", "another name");
    refused(
        &run(&["compare", run_of, run_of, "--out", diary]),
        "holds something else",
        "another name",
    );
    assert_eq!(std::fs::read_to_string(diary).unwrap(), "dear");
    let page = folder.join("page.html");
    for _ in 0..2 {
        assert!(run(&["report", run_of, "--out", page.to_str().unwrap()]).status.success());
    }
}
