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
    // The products of the step alone, without anything between them.
    assert!(report["product_gflops"].as_f64().unwrap() > 0.0);
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

#[test]
fn bench_machine_measures_every_product_of_a_layer_forward_and_backward() {
    let args =
        ["bench", "machine", "--width", "8", "--tokens", "6", "--vocab", "11", "--seconds", "0.1", "--json"];
    let report: serde_json::Value = serde_json::from_str(&stdout(&run(&args))).unwrap();
    let products = report["products"].as_array().unwrap();
    let shape = |name: &str, pass: &str| {
        let product = products.iter().find(|p| p["name"] == name && p["pass"] == pass).unwrap();
        assert!(product["gflops"].as_f64().unwrap() > 0.0);
        ["m", "k", "n"].map(|key| product[key].as_u64().unwrap())
    };
    // y = x·Wᵀ, dx = dy·W, dW = dyᵀ·x of the output layer: 6 tokens from width 8 to a vocabulary of 11.
    assert_eq!(shape("output", "forward"), [6, 8, 11]);
    assert_eq!(shape("output", "input gradient"), [6, 11, 8]);
    assert_eq!(shape("output", "weight gradient"), [11, 6, 8]);
    assert_eq!(products.len(), 15);
}
