use super::super::run::{Metric, Train, Validation};
use super::super::svg::tests::assert_well_formed;
use super::*;

fn sample(step: u64, prompt: &str, text: &str) -> Metric {
    Metric::Sample(Sample { step, prompt: prompt.into(), text: text.into(), reference: None })
}

fn run() -> Run {
    let mut metrics: Vec<Metric> = (1..=100)
        .map(|i| {
            let (loss, lr) = (5.0 - 0.03 * i as f64, Some(1e-3 / i as f64));
            Metric::Train(Train {
                step: 10 * i,
                loss,
                lr,
                grad_norm: Some(1.0),
                ..Train::default()
            })
        })
        .collect();
    metrics.push(Metric::Validation(Validation {
        step: 1000,
        loss: 2.25,
        ..Validation::default()
    }));
    metrics.extend((1..=9).map(|i| sample(100 * i, "To be", &format!("or not {i}"))));
    let summary = serde_json::json!({
        "bleu": 35.5, "bleu_after_last_step": 33.0, "scored_on": "test",
        "bleu_by_length": [
            {"from": 0, "to": 10, "sentences": 120, "bleu": 35.1},
            {"from": 11, "to": null, "sentences": 4, "bleu": 20.0},
        ],
    });
    Run {
        name: "a run".into(),
        metrics,
        config: "[train]\nsteps = 1000\n".into(),
        summary: summary.as_object().unwrap().clone(),
        ..Run::default()
    }
}

/// The page without what HTML writes in another way than XML.
fn as_xml(page: &str) -> String {
    page.lines()
        .filter(|line| !line.starts_with("<!DOCTYPE") && !line.starts_with("<meta"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_page_has_figures_curves_samples_bars_and_configuration() {
    let page = html(&run());
    for text in [
        "<h1>a run</h1>",
        "1,000 steps; best validation loss 2.25 at step 1,000; BLEU 35.50 on test.",
        "<title>Loss</title>",
        "<title>Learning rate</title>",
        "<title>BLEU by source length</title>",
        ">n = 120</text>",
        "<td>120</td><td>35.1</td>",
        "11+ words: BLEU 20.0, 4 sentences",
        "<td>or not 9</td>",
        "all 9</summary>",
        "steps = 1000",
        "scored_on",
        "<title>BLEU on test</title>",
    ] {
        assert!(page.contains(text), "{text} is not in the page");
    }
    assert_well_formed(&as_xml(&page));
}

#[test]
fn a_page_is_offline_and_has_no_script() {
    let page = html(&run()).replace("http://www.w3.org/2000/svg", "");
    for word in ["http:", "https:", "<script", "<link", "<img", "src=", "@import", "url("] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn what_a_model_writes_stays_text() {
    let mut run = run();
    let hostile = "</td><script>alert(1)</script>&amp;\u{0}";
    run.metrics.push(sample(1, hostile, hostile));
    (run.name, run.config) = (hostile.into(), hostile.into());
    run.notes.push(hostile.into());
    run.summary.insert(hostile.into(), hostile.into());
    let page = html(&run);
    assert!(!page.contains("<script"));
    assert_well_formed(&as_xml(&page));
}

#[test]
fn a_run_that_has_only_begun_has_a_page() {
    let page = html(&Run { name: "new".into(), ..Run::default() });
    assert!(page.contains("No metrics yet.") && !page.contains("<h2>"));
    assert_well_formed(&as_xml(&page));
}

#[test]
fn many_samples_are_thinned_evenly_with_the_first_and_the_last() {
    let all: Vec<Sample> = (0..100).map(|step| Sample { step, ..Sample::default() }).collect();
    let all: Vec<&Sample> = all.iter().collect();
    let steps: Vec<u64> = spread(&all, 6).iter().map(|sample| sample.step).collect();
    assert_eq!(steps, [0, 19, 39, 59, 79, 99]);
    assert_eq!(spread(&all[..3], 6).len(), 3);
}
