//! An experiment as one page.

use super::{Effort, Experiment, Outcome, Settings, Verdict};
use crate::report::{chart_grid, escape, page, section, table};

/// `report.html` of an experiment: one file, without network and without script.
pub fn html(experiment: &Experiment, effort: Effort, settings: Settings, outcome: &Outcome) -> String {
    let title = format!("Experiment: {}", experiment.name);
    let mut body = format!("<h1>{}</h1>\n<p>{}</p>\n", escape(&title), escape(experiment.claim));
    if effort == Effort::Quick {
        body += "<p class=\"note\">A quick run, to see that it works: its figures prove nothing.</p>\n";
    }
    if let Some(asked) = settings.asked() {
        let note =
            format!("Run with {asked} in place of the usual sizes: what is judged is models of this size.");
        body += &format!("<p class=\"note\">{}</p>\n", escape(&note));
    }
    let findings =
        outcome.findings.iter().map(|f| vec![f.what.clone(), f.verdict.words().into(), f.evidence.clone()]);
    let head = ["what", "verdict", "evidence"].map(String::from);
    body += &section(heading(effort, outcome.verdict()), &table("", &head, &findings.collect::<Vec<_>>()));
    let pictures: Vec<String> = outcome.pictures.iter().map(|picture| picture.svg.clone()).collect();
    body += &section("Pictures", &chart_grid(&pictures));
    for one in &outcome.tables {
        body += &section(&one.title, &table("words", &one.head, &one.rows));
    }
    body += &section("How it was done", &format!("<p>{}</p>\n", escape(&outcome.method)));
    page(&title, &body)
}

fn heading(effort: Effort, verdict: Verdict) -> &'static str {
    match (effort, verdict) {
        (Effort::Quick, _) => "A quick run: the claim is not judged",
        (_, Verdict::Held) => "The claim held",
        (_, Verdict::DidNotHold) => "The claim did not hold",
        (_, Verdict::NotClear | Verdict::Told) => "It is not clear whether the claim holds",
    }
}
