//! `limpid bench`, from outside.

use super::*;

#[test]
fn bench_step_reports_json() {
    let small = [
        "--layers",
        "1",
        "--heads",
        "2",
        "--width",
        "16",
        "--context",
        "8",
        "--batch",
        "2",
        "--vocab",
        "11",
    ];
    let args = [&["bench", "step", "gpt"][..], &small, &["--seconds", "0.05", "--json"]].concat();
    let report: serde_json::Value = serde_json::from_str(&stdout(&run(&args))).unwrap();
    assert_eq!(report["parameters"], 11 * 16 + 8 * 16 + 12 * 16 * 16 + 13 * 16 + 32);
    assert!(report["median_ms"].as_f64().unwrap() > 0.0);
    // The products of the step alone.
    assert!(report["product_gflops"].as_f64().unwrap() > 0.0);
    assert!(report["operations"].as_array().unwrap().iter().any(|op| op["name"] == "attention"));
}

#[test]
fn bench_step_bert_reports_json_and_refuses_a_masking_probability_of_zero() {
    // So short that even a fast machine takes few steps and does not overfit the batch.
    let small = "--layers 1 --heads 2 --width 16 --ffn 32 --context 8 --batch 2 --vocab 11 \
        --seconds 0.000001 --json";
    let with = |more: &str| {
        let words = format!("bench step bert {small} {more}");
        run(&words.split_whitespace().collect::<Vec<_>>())
    };
    let report: serde_json::Value = serde_json::from_str(&stdout(&with(""))).unwrap();
    // Three tables and a norm; q, k, v and out; up and down; two norms; the head: a layer, a norm,
    // a bias for each token.
    let layer = 4 * (16 * 16 + 16) + (2 * 16 * 32 + 32 + 16) + 4 * 16;
    assert_eq!(report["parameters"], (11 + 8 + 2 + 2) * 16 + layer + (16 * 16 + 16 + 32 + 11));
    // Random words of a vocabulary of 11, with weights near 0.
    assert!((report["loss"].as_f64().unwrap() - 11_f64.ln()).abs() < 0.3, "{report}");
    assert!(report["operations"].as_array().unwrap().iter().any(|op| op["name"] == "rows"));
    refused(&with("--masked 0"), "--masked 0 is not in (0, 1]", "0.15");
}

const SMALL_GPT: &str = "--layers 1 --heads 2 --width 16 --vocab 11 --threads 1 --interactive";

/// The answers to the lines of `input`.
fn interactive(flags: &str, input: &str) -> Vec<serde_json::Value> {
    let args: Vec<&str> = ["bench"].into_iter().chain(flags.split_whitespace()).collect();
    let mut child = limpid(&args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    let text = stdout(&child.wait_with_output().unwrap());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn bench_step_follows_the_protocol_of_side_by_side_benchmarks() {
    let lines = interactive(
        &format!("step gpt --context 8 --batch 2 {SMALL_GPT}"),
        "run 0.01\nrun 0\nquit\nrun 1\n",
    );
    assert_eq!(lines.len(), 3, "nothing is run after quit");
    assert_eq!(lines[0]["ready"], true);
    assert_eq!(lines[0]["parameters"], 11 * 16 + 8 * 16 + 12 * 16 * 16 + 13 * 16 + 32);
    assert_eq!(lines[0]["threads"], 1);
    assert!(lines[1]["step_ms"].as_array().unwrap().len() >= 3);
    assert!(lines[1]["loss"].as_f64().unwrap() > 0.0);
    assert_eq!(lines[2]["step_ms"].as_array().unwrap().len(), 1, "at least one step");
}

#[test]
fn bench_decode_follows_the_protocol_and_times_whole_sequences() {
    let lines = interactive(
        &format!("decode --context 8 --prompt 3 --tokens 5 {SMALL_GPT}"),
        "run 0\nrun 0.01\n",
    );
    assert_eq!(lines.len(), 3, "the end of input ends it");
    assert_eq!(lines[0]["parameters"], 11 * 16 + 8 * 16 + 12 * 16 * 16 + 13 * 16 + 32);
    assert_eq!(lines[1]["step_ms"].as_array().unwrap().len(), 5);
    assert_eq!(lines[2]["step_ms"].as_array().unwrap().len() % 5, 0);
    assert!(lines[1].get("loss").is_none());
}

#[test]
fn bench_encode_follows_the_protocol_and_counts_encoder_parameters_only() {
    for mixed in ["", "--mixed"] {
        let flags = format!("encode --ffn 32 --batch 3 --length 9 {mixed} {SMALL_GPT}");
        let lines = interactive(&flags, "run 0\nquit\n");
        // The table; q, k, v and out; up and down; two norms.
        let layer = 4 * (16 * 16 + 16) + (2 * 16 * 32 + 32 + 16) + 4 * 16;
        assert_eq!(lines[0]["parameters"], 11 * 16 + layer);
        assert_eq!(lines[1]["step_ms"].as_array().unwrap().len(), 1);
        assert!(lines[1].get("loss").is_none());
    }
}

#[test]
fn bench_refuses_a_line_outside_the_protocol() {
    let flags = format!("bench encode --ffn 32 --batch 1 --length 4 {SMALL_GPT}");
    for line in ["walk 1\n", "run soon\n", "run -1\n"] {
        let args: Vec<&str> = flags.split_whitespace().collect();
        let mut child = limpid(&args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), line.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("hint: "), "{line}");
    }
}

#[test]
fn bench_machine_measures_every_product_of_a_layer_forward_and_backward() {
    let args = [
        "bench",
        "machine",
        "--width",
        "8",
        "--tokens",
        "6",
        "--vocab",
        "11",
        "--seconds",
        "0.1",
        "--json",
    ];
    let report: serde_json::Value = serde_json::from_str(&stdout(&run(&args))).unwrap();
    let products = report["products"].as_array().unwrap();
    let shape = |name: &str, pass: &str| {
        let product = products.iter().find(|p| p["name"] == name && p["pass"] == pass).unwrap();
        assert!(product["gflops"].as_f64().unwrap() > 0.0);
        ["m", "k", "n"].map(|key| product[key].as_u64().unwrap())
    };
    // y = x·Wᵀ, dx = dy·W, dW = dyᵀ·x of the output layer: 6 tokens from width 8 to a vocabulary of
    // 11.
    assert_eq!(shape("output", "forward"), [6, 8, 11]);
    assert_eq!(shape("output", "input gradient"), [6, 11, 8]);
    assert_eq!(shape("output", "weight gradient"), [11, 6, 8]);
    assert_eq!(products.len(), 15);
}

#[test]
fn bench_chart_plots_a_file_and_refuses_another_format() {
    let folder = scratch("chart");
    let path = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let (numbers, picture) = (path("growth.json"), path("growth.svg"));
    let chart = serde_json::json!({
        "title": "Step time", "x": {"label": "tokens", "scale": "log"}, "y": {"label": "ms",
        "include": 0},
        "series": [{"name": "limpid", "points": [[64, 10.5], [128, 21.0], [256, null]]}],
    });
    std::fs::write(&numbers, chart.to_string()).unwrap();
    let output = run(&["bench", "chart", &numbers, "--out", &picture]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output).trim_end(), picture);
    let svg = std::fs::read_to_string(&picture).unwrap();
    assert!(
        svg.starts_with("<svg")
            && svg.contains(">Step time</text>")
            && svg.contains(">limpid</text>")
    );

    std::fs::write(&numbers, chart.to_string().replace("points", "dots")).unwrap();
    refused(
        &run(&["bench", "chart", &numbers, "--out", &path("no.svg")]),
        "not a chart: ",
        "docs/formats.md",
    );
    assert!(!folder.join("no.svg").exists());
    refused(
        &run(&["bench", "chart", &path("gone.json"), "--out", &picture]),
        "cannot read",
        "check the path",
    );
}
