//! `limpid bench`, from outside.

use super::*;

#[test]
fn bench_step_reports_json_and_speaks_the_protocol_of_side_by_side_runs() {
    let small =
        ["--layers", "1", "--heads", "2", "--width", "16", "--context", "8", "--batch", "2", "--vocab", "11"];
    let args = [&["bench", "step", "gpt"][..], &small, &["--seconds", "0.05", "--json"]].concat();
    let report: serde_json::Value = serde_json::from_str(&stdout(&run(&args))).unwrap();
    assert_eq!(report["parameters"], 11 * 16 + 8 * 16 + 12 * 16 * 16 + 13 * 16 + 32);
    assert!(report["median_ms"].as_f64().unwrap() > 0.0);
    assert!(report["operations"].as_array().unwrap().iter().any(|op| op["name"] == "attention"));

    let args = [&["bench", "step", "gpt"][..], &small, &["--interactive"]].concat();
    let mut child = limpid(&args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"run 0.01\nquit\n").unwrap();
    let text = stdout(&child.wait_with_output().unwrap());
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["ready"], true);
    assert!(lines[1]["step_ms"].as_array().unwrap().len() >= 3);
}
