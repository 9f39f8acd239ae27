//! `limpid experiment`.

use super::*;

/// Runs an experiment quickly; its folder has what it promises, and its JSON all findings.
#[track_caller]
fn quick(name: &str) -> serde_json::Value {
    let out = scratch(&format!("experiment-{name}"));
    let run = super::run(&["experiment", name, "--quick", "--json", "--out", out.to_str().unwrap()]);
    assert!(run.status.success(), "{}", stderr(&run));
    let outcome: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let kept: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(out.join("outcome.json")).unwrap()).unwrap();
    assert_eq!(kept, outcome);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("<svg") && !page.contains("<script"));
    for picture in outcome["pictures"].as_array().unwrap() {
        assert!(out.join(picture.as_str().unwrap()).is_file());
    }
    assert!(!outcome["findings"].as_array().unwrap().is_empty());
    outcome
}

#[track_caller]
fn verdict<'a>(outcome: &'a serde_json::Value, what: &str) -> &'a str {
    let findings = outcome["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["what"].as_str().unwrap().contains(what));
    found.unwrap_or_else(|| panic!("no finding about '{what}' in {outcome}"))["verdict"].as_str().unwrap()
}

#[test]
fn scaling_shows_even_quickly_that_the_softmax_saturates_without_it() {
    let outcome = quick("scaling");
    assert_eq!(verdict(&outcome, "entropy falls"), "held");
    assert_eq!(verdict(&outcome, "gradient vanishes"), "held");
}

#[test]
fn the_list_names_every_experiment_and_an_unknown_one_is_refused_with_it() {
    let list = run(&["experiment"]);
    assert!(stdout(&list).contains("scaling"));
    let unknown = run(&["experiment", "scalling"]);
    refused(&unknown, "there is no experiment 'scalling'", "scaling");
}

#[test]
fn decoding_shows_even_quickly_what_is_determined_and_what_temperature_does() {
    let outcome = quick("decoding");
    assert_eq!(verdict(&outcome, "always gives the same text"), "held");
    assert_eq!(verdict(&outcome, "temperature makes text less likely"), "held");
    assert_eq!(verdict(&outcome, "sampling is less likely text"), "held");
}

#[test]
fn context_shows_even_quickly_what_a_vector_without_context_cannot_know() {
    let outcome = quick("context");
    assert_eq!(verdict(&outcome, "static embedding cannot tell"), "held");
    assert_eq!(verdict(&outcome, "[CLS] is the same for every text"), "held");
}

#[test]
fn transfer_pretrains_even_quickly_and_measures_both_beginnings() {
    let outcome = quick("transfer");
    assert_eq!(verdict(&outcome, "pretraining without labels has taught words"), "held");
    let rows = outcome["tables"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row[0].as_str().unwrap()).collect::<Vec<_>>(), ["20", "40"]);
}
