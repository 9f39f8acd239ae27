//! Every experiment as a smoke test: it runs to its end, its figures and tables are complete, and
//! what is a fact rather than a measurement has its verdict even at this size.

use limpid::train::Control;
use limpid_learn::error::{Error, ExperimentError};
use limpid_learn::experiment::{
    ALL, Effort, Lab, LabEvent, Outcome, SizeOverrides, Verdict, find, html,
};
use std::path::{Path, PathBuf};

fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("limpid-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

#[track_caller]
fn quick(name: &str) -> Outcome {
    let experiment = find(name).unwrap();
    let mut observer = |_: LabEvent| Control::Continue;
    let sizes = SizeOverrides::default();
    let mut lab = Lab::new(Effort::Quick, 1, sizes, &mut observer);
    let outcome = (experiment.run)(&mut lab).unwrap();
    assert!(!outcome.findings.is_empty());
    let json = outcome.json(experiment, Effort::Quick, 1, sizes);
    let page = html(experiment, Effort::Quick, sizes, &outcome);
    assert!(page.contains("<svg") && !page.contains("<script"));
    for text in [&page, &json.to_string()] {
        assert!(!text.contains("NaN"), "unknown values are said in words");
        assert!(!text.contains("confirmed\"") && !text.contains("refuted\""), "{text}");
    }
    assert!(json["verdict"].is_null() && json["findings"][0].get("verdict").is_none());
    outcome
}

#[track_caller]
fn verdict(outcome: &Outcome, what: &str) -> Verdict {
    let found = outcome.findings.iter().find(|finding| finding.what.contains(what));
    found.unwrap_or_else(|| panic!("no finding about '{what}': {:?}", outcome.findings)).verdict
}

/// The rows of a table, by its title.
#[track_caller]
fn rows(outcome: &Outcome, title: &str) -> Vec<Vec<String>> {
    outcome.tables.iter().find(|table| table.title.contains(title)).unwrap().rows.clone()
}

/// The numbers of a table's column.
#[track_caller]
fn column(outcome: &Outcome, table: usize, column: usize) -> Vec<usize> {
    outcome.tables[table].rows.iter().map(|row| row[column].parse().unwrap()).collect()
}

fn evidence(outcome: &Outcome) -> String {
    outcome.findings.iter().map(|finding| finding.evidence.clone() + "\n").collect()
}

#[test]
fn scaling_shows_that_the_softmax_saturates_without_it() {
    let outcome = quick("scaling");
    assert_eq!(verdict(&outcome, "entropy falls"), Verdict::Confirmed);
    assert_eq!(verdict(&outcome, "gradient vanishes"), Verdict::Confirmed);
}

#[test]
fn positions_end_with_their_table_unless_they_are_computed() {
    let outcome = quick("positions");
    let one_hot = "one-hot positions cannot be asked for position 17";
    assert_eq!(verdict(&outcome, one_hot), Verdict::Confirmed);
    assert!(evidence(&outcome).contains("any two of 16 are equally far apart"));
    assert_ne!(
        verdict(&outcome, "learned positions have no vector for position 17"),
        Verdict::Observation
    );
    assert_eq!(verdict(&outcome, "neighbours are nearest"), Verdict::Confirmed);
    assert_eq!(verdict(&outcome, "depends on the offset"), Verdict::Observation);
    let rows = rows(&outcome, "by position");
    let names: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names, ["none", "one-hot", "learned", "sinusoidal", "rotary", "relative"]);
    for row in &rows {
        // Name, position 16, position 17, then 9 to 16 and the blocks behind it.
        let refused: Vec<usize> = (0..row.len()).filter(|i| row[*i] == "refused").collect();
        let beyond: Vec<usize> = std::iter::once(2).chain(4..row.len()).collect();
        assert_eq!(refused, if row[0] == "one-hot" { beyond } else { vec![] }, "{row:?}");
    }
}

#[test]
fn norm_compares_all_kinds_and_shows_that_batch_norm_sees_the_future() {
    let outcome = quick("norm");
    assert_ne!(verdict(&outcome, "first layer's gradient vanishes"), Verdict::Observation);
    let leak = "batch norm lets a word see later ones";
    assert_eq!(verdict(&outcome, leak), Verdict::Confirmed);
    // Five norms with residuals and without; two depths, and the training loss.
    let losses = rows(&outcome, "ats per token");
    assert_eq!((losses.len(), losses[0].len()), (10, 5));
    assert_eq!(losses.iter().filter(|row| row[1] == "none").count(), 5);
    assert_eq!(rows(&outcome, "gradient").len(), 10);
}

#[test]
fn heads_that_are_all_off_isolate_every_word_and_weights_are_shares() {
    let outcome = quick("heads");
    assert_eq!(verdict(&outcome, "with all heads off"), Verdict::Confirmed);
    assert_eq!(rows(&outcome, "number of heads").len(), 2);
    // Two layers of four heads, and uniform weights.
    let heads = rows(&outcome, "heads of each layer");
    assert_eq!(heads.len(), 9);
    let number = |cell: &String| cell.parse::<f64>().unwrap();
    assert!(heads.iter().all(|row| row[1..5].iter().all(|x| (0.0..=1.0).contains(&number(x)))));
    // Uniform weights have the largest entropy and give every word the same on average.
    let (even, heads) = heads.split_last().unwrap();
    assert!(heads.iter().all(|row| number(&row[5]) <= number(&even[5])), "{heads:?} {even:?}");
    assert!(even[1] == even[2] && even[2] == even[3], "{even:?}");
}

#[test]
fn attention_compares_three_models_of_one_size_on_six_groups_of_lengths() {
    let outcome = quick("attention");
    assert_eq!(outcome.findings.len(), 6);
    let groups: Vec<&str> = outcome.tables[0].rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(groups[..3], ["5 to 10", "11 to 20", "21 to 30"]);
    assert_eq!(groups[5], "51 to 60 (not trained)");
    let parameters = column(&outcome, 2, 1);
    let (least, most) = (parameters.iter().min().unwrap(), parameters.iter().max().unwrap());
    assert!(parameters.len() == 3 && (most - least) * 33 < *most, "{parameters:?}");
}

#[test]
fn parallel_counts_steps_that_grow_with_the_length_only_in_recurrent_models() {
    let outcome = quick("parallel");
    // Times prove nothing while other tests run; the counts are exact.
    for what in ["steps that must follow one another", "recurrent with attention", "Transformer"] {
        assert_eq!(verdict(&outcome, what), Verdict::Observation);
    }
    assert_eq!(column(&outcome, 1, 0), [4, 16, 64]);
    assert_eq!(column(&outcome, 1, 1), [8, 32, 128]);
    assert_eq!(column(&outcome, 1, 3), [10; 3]);
}

#[test]
fn teacher_forcing_is_one_pass_per_step_and_free_running_many() {
    let outcome = quick("teacher-forcing");
    assert_eq!(verdict(&outcome, "one pass through the decoder"), Verdict::Confirmed);
    let passes = column(&outcome, 0, 6);
    assert!(passes[0] == 20 && passes[1] > 5 * 20, "{passes:?}");
}

#[test]
fn decoding_shows_what_is_deterministic_and_what_temperature_does() {
    let outcome = quick("decoding");
    assert_eq!(verdict(&outcome, "always gives the same text"), Verdict::Confirmed);
    assert_eq!(verdict(&outcome, "temperature makes text less likely"), Verdict::Confirmed);
    assert_eq!(verdict(&outcome, "sampling is less likely text"), Verdict::Confirmed);
}

#[test]
fn context_shows_what_a_vector_without_context_cannot_know() {
    let outcome = quick("context");
    assert_eq!(verdict(&outcome, "static embedding cannot tell"), Verdict::Confirmed);
    assert_eq!(verdict(&outcome, "[CLS] is the same for every text"), Verdict::Confirmed);
    verdict(&outcome, "better than that of random weights");
}

#[test]
fn transfer_pretrains_and_measures_fine_tuning_and_training_from_scratch() {
    let outcome = quick("transfer");
    let words = "pretraining without labels has taught words";
    assert_eq!(verdict(&outcome, words), Verdict::Confirmed);
    verdict(&outcome, "needs fewer labels: with 20");
    let rows = rows(&outcome, "Accuracy");
    assert_eq!(rows.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), ["20", "40"]);
}

/// Runs `transfer` in a folder and stops when training number `stop` has started; the events that
/// it reported.
fn interrupted(folder: &Path, stop: usize) -> (Option<Outcome>, Vec<String>) {
    let experiment = find("transfer").unwrap();
    let mut events = Vec::new();
    let mut observer = |event: LabEvent| {
        match event {
            LabEvent::Started(text) => events.push(format!("started {text}")),
            LabEvent::Restored(text) => events.push(format!("restored {text}")),
            LabEvent::Steps { .. } => {}
        }
        let stops = events.last().is_some_and(|e| e.contains(&format!("training {stop} of")));
        if stops { Control::Stop } else { Control::Continue }
    };
    let lab = Lab::new(Effort::Quick, 1, SizeOverrides::default(), &mut observer);
    let mut lab = lab.resumable(experiment, folder).unwrap();
    match (experiment.run)(&mut lab) {
        Ok(outcome) => (Some(outcome), events),
        Err(Error::Experiment(ExperimentError::Stopped)) => (None, events),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn an_interrupted_experiment_resumes_with_the_training_it_was_at_and_ends_the_same() {
    let folder = scratch("experiment-resume");
    let (nothing, events) = interrupted(&folder, 4);
    assert!(nothing.is_none() && events.len() == 4, "{events:?}");
    let (outcome, events) = interrupted(&folder, usize::MAX);
    assert!(events[..3].iter().all(|event| event.starts_with("restored")), "{events:?}");
    assert!(events[3].starts_with("started training 4 of 15"), "{events:?}");
    let (resumed, undisturbed) = (outcome.unwrap(), quick("transfer"));
    assert_eq!(resumed.findings, undisturbed.findings);
    assert_eq!(resumed.tables, undisturbed.tables);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn every_experiment_has_a_claim_and_an_estimate_of_its_time() {
    for experiment in ALL {
        assert!(experiment.claim.ends_with('.') && experiment.minutes > 0.0, "{}", experiment.name);
    }
    assert!(limpid_learn::experiment::speed().unwrap() > 0.0);
}
