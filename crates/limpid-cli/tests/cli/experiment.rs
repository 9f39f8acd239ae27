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

/// The numbers of a table's column.
#[track_caller]
fn column(outcome: &serde_json::Value, table: usize, column: usize) -> Vec<usize> {
    let rows = outcome["tables"][table]["rows"].as_array().unwrap();
    rows.iter().map(|row| row[column].as_str().unwrap().parse().unwrap()).collect()
}

#[test]
fn attention_compares_three_models_of_one_size_on_six_groups_of_lengths() {
    let outcome = quick("attention");
    assert_eq!(outcome["findings"].as_array().unwrap().len(), 6);
    let groups: Vec<&str> =
        outcome["tables"][0]["rows"].as_array().unwrap().iter().map(|row| row[0].as_str().unwrap()).collect();
    assert_eq!(groups[..3], ["5 to 10", "11 to 20", "21 to 30"]);
    assert_eq!(groups[5], "51 to 60 (not trained)");
    let parameters = column(&outcome, 2, 1);
    let (least, most) = (parameters.iter().min().unwrap(), parameters.iter().max().unwrap());
    assert!(parameters.len() == 3 && (most - least) * 33 < *most, "{parameters:?}");
}

#[test]
fn parallel_counts_steps_that_grow_with_the_length_only_in_recurrent_models() {
    let outcome = quick("parallel");
    // The times prove nothing while other tests run; the counts are exact.
    assert_eq!(verdict(&outcome, "steps that must follow one another"), "held");
    assert_eq!(column(&outcome, 1, 0), [4, 16, 64]);
    assert_eq!(column(&outcome, 1, 1), [8, 32, 128]);
    assert_eq!(column(&outcome, 1, 3), [10; 3]);
}

#[test]
fn teacher_forcing_is_one_pass_a_step_and_free_running_many() {
    let outcome = quick("teacher-forcing");
    assert_eq!(verdict(&outcome, "one pass through the decoder"), "held");
    let passes = column(&outcome, 0, 6);
    assert!(passes[0] == 20 && passes[1] > 5 * 20, "{passes:?}");
}

#[test]
fn the_list_names_every_experiment_and_an_unknown_one_is_refused_with_it() {
    let list = run(&["experiment"]);
    assert!(stdout(&list).contains("scaling"));
    let unknown = run(&["experiment", "scalling"]);
    refused(&unknown, "there is no experiment 'scalling'", "scaling");
}
