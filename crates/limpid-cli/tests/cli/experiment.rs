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
    assert!(page.contains("the claim is not judged") && !page.contains("The claim"));
    assert!(
        !page.contains("NaN") && !outcome.to_string().contains("NaN"),
        "what is not known is said in words"
    );
    for picture in outcome["pictures"].as_array().unwrap() {
        assert!(out.join(picture.as_str().unwrap()).is_file());
    }
    assert_eq!((&outcome["experiment"], &outcome["effort"]), (&name.into(), &"quick".into()));
    assert_eq!((&outcome["verdict"], &outcome["seed"]), (&"not judged".into(), &1.into()));
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

/// The rows of a table, by its title.
#[track_caller]
fn rows(outcome: &serde_json::Value, title: &str) -> Vec<Vec<String>> {
    let tables = outcome["tables"].as_array().unwrap();
    let table = tables.iter().find(|table| table["title"].as_str().unwrap().contains(title)).unwrap();
    serde_json::from_value(table["rows"].clone()).unwrap()
}

#[test]
fn positions_end_with_their_table_unless_they_are_computed() {
    let outcome = quick("positions");
    assert_eq!(verdict(&outcome, "one-hot positions cannot be asked for position 17"), "held");
    assert!(outcome.to_string().contains("17 of them do not fit into a width of 16"));
    assert_ne!(verdict(&outcome, "learned positions have no vector for position 17"), "told");
    assert!(outcome.to_string().contains("not one number more"));
    assert!(outcome.to_string().contains("any two of 16 are equally far apart"));
    assert_eq!(verdict(&outcome, "neighbours are nearest"), "held");
    assert_eq!(verdict(&outcome, "depends on the offset"), "told");
    let rows = rows(&outcome, "by position");
    let names: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names, ["none", "one-hot", "learned", "sinusoidal"]);
    for row in &rows {
        // Name, position 16, position 17, then 9 to 16 and the blocks behind it.
        let refused: Vec<usize> = (0..row.len()).filter(|i| row[*i] == "refused").collect();
        let beyond: Vec<usize> = std::iter::once(2).chain(4..row.len()).collect();
        assert_eq!(refused, if row[0] == "one-hot" { beyond } else { vec![] }, "{row:?}");
        assert!(!row.iter().any(|cell| cell.contains("NaN")), "{row:?}");
    }
}

#[test]
fn norm_compares_all_kinds_and_shows_even_quickly_that_batch_norm_sees_the_future() {
    let outcome = quick("norm");
    assert_ne!(verdict(&outcome, "first layer's gradient vanishes"), "told");
    assert_eq!(verdict(&outcome, "batch norm lets a word see later ones"), "held");
    // Five norms with residuals and without; two depths, and the loss in training.
    let losses = rows(&outcome, "Nats a word");
    assert_eq!((losses.len(), losses[0].len()), (10, 5));
    assert_eq!(losses.iter().filter(|row| row[1] == "none").count(), 5);
    assert_eq!(rows(&outcome, "gradient").len(), 10);
}

#[test]
fn heads_that_are_all_off_leave_every_word_alone_and_weights_are_shares() {
    let outcome = quick("heads");
    assert_eq!(verdict(&outcome, "with all heads off"), "held");
    assert_eq!(rows(&outcome, "number of heads").len(), 2);
    // Two layers of four heads, and what even weights would be.
    let heads = rows(&outcome, "heads of each layer");
    assert_eq!(heads.len(), 9);
    let number = |cell: &String| cell.parse::<f64>().unwrap();
    assert!(heads.iter().all(|row| row[1..5].iter().all(|share| (0.0..=1.0).contains(&number(share)))));
    // Weights that are all alike have the largest entropy, and give every single word the same on average.
    let (even, heads) = heads.split_last().unwrap();
    assert!(heads.iter().all(|row| number(&row[5]) <= number(&even[5])), "{heads:?} {even:?}");
    assert!(even[1] == even[2] && even[2] == even[3], "{even:?}");
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
    assert_eq!(verdict(&outcome, "steps that must follow one another"), "told");
    assert_eq!(verdict(&outcome, "recurrent with attention: a token's time"), "told");
    assert_eq!(verdict(&outcome, "in a Transformer"), "told");
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
    verdict(&outcome, "better than that of random weights");
}

#[test]
fn transfer_pretrains_even_quickly_and_measures_both_beginnings() {
    let outcome = quick("transfer");
    assert_eq!(verdict(&outcome, "pretraining without labels has taught words"), "held");
    assert_eq!(verdict(&outcome, "how many of its labelled stories it knows"), "told");
    verdict(&outcome, "needs fewer labels: with 20");
    let rows = outcome["tables"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row[0].as_str().unwrap()).collect::<Vec<_>>(), ["20", "40"]);
}

#[test]
fn sizes_can_be_asked_for_and_those_that_cannot_be_are_refused() {
    let out = scratch("experiment-sizes");
    let run = |more: &[&str]| {
        super::run(&[&["experiment", "heads", "--quick", "--out", out.to_str().unwrap()], more].concat())
    };
    let output = run(&["--steps", "12", "--width", "24"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("4 heads of width 6, seed 1: 12 steps"), "{}", stderr(&output));
    // What an experiment has left is replaced; what nobody knows is not touched.
    let outcome = std::fs::read_to_string(out.join("outcome.json")).unwrap();
    let another = outcome.replacen("\"pictures\": [", "\"pictures\": [\"of-another.svg\", \"gone.svg\", ", 1);
    assert_ne!(another, outcome);
    std::fs::write(out.join("outcome.json"), another).unwrap();
    std::fs::write(out.join("of-another.svg"), "<svg/>").unwrap();
    assert!(run(&["--steps", "12", "--width", "24"]).status.success());
    assert!(out.join("report.html").is_file() && !out.join("of-another.svg").exists());
    assert_eq!(std::fs::read_to_string(out.join("outcome.json")).unwrap(), outcome);
    std::fs::write(out.join("mine.svg"), "<svg/>").unwrap();
    refused(&run(&["--steps", "12"]), "no experiment has made: mine.svg", "--out");
    std::fs::remove_file(out.join("mine.svg")).unwrap();
    refused(&run(&["--width", "30"]), "--width 30 cannot be divided", "--width 32");
    refused(&run(&["--width", "8000000"]), "GB", "fits");
    refused(&run(&["--steps", "1"]), "too few", "10 at least");
    refused(&super::run(&["experiment", "scaling", "--width", "64"]), "'scaling' has no --width", "--steps");
}
