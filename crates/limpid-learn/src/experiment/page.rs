//! An experiment as one HTML page.

use super::{Effort, Experiment, Finding, Outcome, SizeOverrides, Verdict};
use limpid::report::{chart_grid, escape, page, section, table};

/// Colours of verdicts in both themes; the word is always there too.
const STYLE: &str = "<style>
.finding{margin:.6rem 0;padding-left:.7rem;border-left:4px solid #8a8a8a}
.finding .verdict{font-weight:600;margin-right:.4rem;color:#6b6b6b}
.finding.confirmed{border-color:#2e8b57}.finding.confirmed .verdict{color:#2e8b57}
.finding.refuted{border-color:#c0392b}.finding.refuted .verdict{color:#c0392b}
.finding .evidence{display:block}
</style>
";

/// `report.html` of an experiment: one file, without network and without script.
pub fn html(
    experiment: &Experiment,
    effort: Effort,
    sizes: SizeOverrides,
    outcome: &Outcome,
) -> String {
    let title = format!("Experiment: {}", experiment.name);
    let mut body =
        format!("{STYLE}<h1>{}</h1>\n<p>{}</p>\n", escape(&title), escape(experiment.claim));
    if let Some(sizes) = sizes.describe() {
        let note = format!("With {sizes} instead of the defaults: verdicts are about this size.");
        body += &format!("<p class=\"note\">{}</p>\n", escape(&note));
    }
    let findings: String = outcome.findings.iter().map(|f| finding(f, effort)).collect();
    body += &section(heading(effort, outcome.verdict()), &findings);
    let pictures: Vec<String> =
        outcome.pictures.iter().map(|picture| picture.svg.clone()).collect();
    body += &section("Figures", &chart_grid(&pictures));
    for one in &outcome.tables {
        body += &section(&one.title, &table("words", &one.head, &one.rows));
    }
    body += &section("Method", &format!("<p>{}</p>\n", escape(&outcome.method)));
    page(&title, &body)
}

/// A finding with its verdict; in a smoke test without.
fn finding(finding: &Finding, effort: Effort) -> String {
    let (what, evidence) = (escape(&finding.what), escape(&finding.evidence));
    let (class, verdict) = match effort {
        Effort::Quick => ("", String::new()),
        Effort::Full => {
            let word = finding.verdict.name();
            (word, format!("<span class=\"verdict\">{word}</span>"))
        }
    };
    format!(
        "<div class=\"finding {class}\">{verdict}{what}<span class=\"evidence\">{evidence}</span>\
         </div>\n"
    )
}

fn heading(effort: Effort, verdict: Verdict) -> &'static str {
    match (effort, verdict) {
        (Effort::Quick, _) => "Smoke test: too small for a verdict",
        (_, Verdict::Confirmed) => "Verdict: confirmed",
        (_, Verdict::Refuted) => "Verdict: refuted",
        (_, Verdict::Inconclusive | Verdict::Observation) => "Verdict: inconclusive",
    }
}
