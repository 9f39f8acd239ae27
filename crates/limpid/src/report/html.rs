//! `report.html`: a run on one page, a single offline file without scripts.

use super::bars::{Bar, Bars};
use super::figures::{Figure, counted, figures, summary, thousands};
use super::run::{LengthBleu, Run, Sample};
use super::scale::short_number;
use super::{curves, escape};
use serde_json::Value;
use std::fmt::Write;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1c2024;--soft:#5c6670;--line:#d8dde3;--page:#fff;\
--card:#f5f7f9}\
@media(prefers-color-scheme:dark){:root{--ink:#e8ebef;--soft:#a4adb8;--line:#363d46;\
--page:#14171b;--card:#1d2228}}\
*{box-sizing:border-box}\
body{margin:0 auto;padding:1rem;max-width:76rem;background:var(--page);color:var(--ink);\
font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}\
h1{font-size:1.6rem;margin:.5rem 0;overflow-wrap:anywhere}\
h2{font-size:1.2rem;margin:2rem 0 .7rem}\
h3{font-size:1rem;margin:1.2rem 0 .4rem;overflow-wrap:anywhere;white-space:pre-wrap}\
p{margin:.3rem 0 .8rem;color:var(--soft)}\
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(9rem,1fr));gap:.6rem;margin:0}\
.figures div{background:var(--card);border-radius:.5rem;padding:.6rem .8rem}\
.figures dt{color:var(--soft);font-size:.85rem}\
.figures dd{margin:0;font-size:1.25rem;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}\
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,30rem),1fr));gap:1rem}\
.charts svg{width:100%;height:auto;background:var(--card);border-radius:.5rem;padding:.4rem}\
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%}\
td,th{border-top:1px solid var(--line);padding:.35rem .8rem .35rem 0;text-align:left;\
vertical-align:top;overflow-wrap:anywhere}\
th{font-weight:600}thead th{overflow-wrap:normal}.words td:first-child{overflow-wrap:normal}\
.text td:last-child{white-space:pre-wrap}\
.text th[scope=row]{width:1%;padding-right:1.5rem;white-space:nowrap}\
pre{background:var(--card);border-radius:.5rem;padding:.8rem;overflow-x:auto;font-size:.85rem}\
summary{cursor:pointer;color:var(--soft)}.note{border-left:4px solid #c58a1a;padding-left:.7rem}";

/// Samples shown per prompt; the others are folded away.
const SAMPLES_SHOWN: usize = 6;

/// An HTML page with this title and body.
pub fn page(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escape(title)
    )
}

/// A run as one page.
pub fn html(run: &Run) -> String {
    let mut body = format!("<h1>{}</h1>\n", escape(&run.name));
    let _ = writeln!(body, "<p>{}</p>", escape(&headline(run)));
    for note in &run.notes {
        let _ = writeln!(body, "<p class=\"note\">{}</p>", escape(note));
    }
    let card = |f: &Figure| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(&f.name), escape(&f.shown))
    };
    let cards: String = figures(run).iter().map(card).collect();
    let _ = writeln!(body, "<dl class=\"figures\">\n{cards}</dl>");
    let charts: Vec<String> = curves::of_run(run).iter().map(super::Chart::svg).collect();
    body += &section("Curves", &chart_grid(&charts));
    let (by_length, length_table) = bleu_by_length(&run.bleu_by_length());
    body += &section("Scores", &(chart_grid(&[test_scores(run), by_length]) + &length_table));
    let rows: Vec<_> = summary(run).into_iter().map(|f| vec![f.name, f.shown]).collect();
    body += &section("Summary", &table("text", &[], &rows));
    body += &section("Samples over time", &samples(run));
    if !run.config.is_empty() {
        body += &section("Configuration", &format!("<pre>{}</pre>\n", escape(&run.config)));
    }
    page(&run.name, &body)
}

/// One sentence: length of the training and its best scores.
fn headline(run: &Run) -> String {
    let all = figures(run);
    let shown = |name: &str| {
        all.iter().find(|figure| figure.name == name).map(|figure| figure.shown.as_str())
    };
    let mut text = match (shown("steps"), shown("training time")) {
        (Some(steps), Some(time)) => format!("{steps} steps in {time}"),
        (Some(steps), None) => format!("{steps} steps"),
        _ => return "No metrics yet.".to_string(),
    };
    if let (Some(loss), Some(step)) =
        (shown("best validation loss"), shown("step of the best loss"))
    {
        let _ = match shown("checkpoints averaged at best") {
            Some(k) => {
                write!(text, "; best validation loss {loss} (average of the last {k} checkpoints)")
            }
            None => write!(text, "; best validation loss {loss} at step {step}"),
        };
    }
    let number = |key: &str| run.summary.get(key).and_then(Value::as_f64);
    let on = scored_on(run).map_or(String::new(), |split| format!(" on {split}"));
    let shown_metric =
        [("best validation accuracy", "accuracy"), ("best validation macro F1", "F1")];
    let _ = match (number("rouge_l"), number("bleu")) {
        (Some(rouge), _) => write!(text, "; ROUGE-L {rouge:.4}{on}"),
        (None, Some(bleu)) => write!(text, "; BLEU {bleu:.2}{on}"),
        (None, None) => shown_metric.iter().try_for_each(|(name, metric)| match shown(name) {
            Some(value) => write!(text, "; best {metric} {value} on validation"),
            None => Ok(()),
        }),
    };
    text + "."
}

/// A section of a page; empty if its content is.
pub fn section(title: &str, content: &str) -> String {
    if content.is_empty() {
        return String::new();
    }
    format!("<section>\n<h2>{}</h2>\n{content}</section>\n", escape(title))
}

/// Charts side by side, as many per row as fit; empty without charts.
pub fn chart_grid(charts: &[String]) -> String {
    match charts.concat() {
        charts if charts.is_empty() => charts,
        charts => format!("<div class=\"charts\">\n{charts}</div>\n"),
    }
}

/// A table; empty without rows. The first cell of a row is its header.
pub fn table(class: &str, head: &[String], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut text = format!("<div class=\"scroll\"><table class=\"{class}\">\n");
    if !head.is_empty() {
        let cells: String =
            head.iter().map(|cell| format!("<th scope=\"col\">{}</th>", escape(cell))).collect();
        let _ = writeln!(text, "<thead><tr>{cells}</tr></thead>");
    }
    for row in rows {
        let cells: String =
            row[1..].iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
        let _ = writeln!(text, "<tr><th scope=\"row\">{}</th>{cells}</tr>", escape(&row[0]));
    }
    text + "</table></div>\n"
}

/// Scores of the kept model as bars: BLEU of a translator beside that after the last step, ROUGE-L
/// of a summarizer beside that of the first sentences.
fn test_scores(run: &Run) -> String {
    let number = |key: &str| run.summary.get(key).and_then(Value::as_f64);
    let lead = run.summary.get("lead").and_then(|lead| lead.get("rouge_l")).and_then(Value::as_f64);
    let (metric, all) = match number("rouge_l") {
        Some(rouge) => ("ROUGE-L", [("model", Some(rouge)), ("first sentence", lead)]),
        None => (
            "BLEU",
            [
                ("best model", number("bleu")),
                ("after the last step", number("bleu_after_last_step")),
            ],
        ),
    };
    let bar = |(name, height): (&str, Option<f64>)| {
        let height = height.filter(|height| height.is_finite())?;
        let about = format!("{name}: {metric} {}", short_number(height));
        Some(Bar { name: name.into(), height, interval: None, about })
    };
    let bars: Vec<Bar> = all.into_iter().filter_map(bar).collect();
    if bars.len() < 2 {
        // One number is a figure, not a chart.
        return String::new();
    }
    let title = scored_on(run).map_or(metric.to_string(), |split| format!("{metric} on {split}"));
    Bars { title, x: String::new(), y: metric.into(), bars }.svg()
}

/// The split that the scores of the summary are of.
fn scored_on(run: &Run) -> Option<&str> {
    run.summary.get("scored_on").and_then(Value::as_str)
}

/// BLEU by source length: a chart, and a table with the number of sentences of each group, because
/// BLEU of a few sentences says little.
fn bleu_by_length(groups: &[LengthBleu]) -> (String, String) {
    if groups.is_empty() {
        return (String::new(), String::new());
    }
    let words = |group: &LengthBleu| {
        group.to.map_or(format!("{}+", group.from), |to| format!("{}–{to}", group.from))
    };
    let bar = |group: &LengthBleu| {
        let (name, sentences) = (words(group), counted(group.sentences, "sentence"));
        let about = format!("{name} words: BLEU {:.1}, {sentences}", group.bleu);
        let name = format!("{name}\nn = {}", thousands(group.sentences));
        Bar { name, height: group.bleu, interval: None, about }
    };
    let bars = Bars {
        title: "BLEU by source length".to_string(),
        x: "words in the source, number of sentences".to_string(),
        y: "BLEU".to_string(),
        bars: groups.iter().map(bar).collect(),
    };
    let row = |group: &LengthBleu| {
        vec![words(group), thousands(group.sentences), format!("{:.1}", group.bleu)]
    };
    let head = ["words in the source", "sentences", "BLEU"].map(String::from);
    let rows: Vec<Vec<String>> = groups.iter().map(row).collect();
    (bars.svg(), table("", &head, &rows))
}

/// The samples of each prompt by step, in order of first occurrence.
fn samples(run: &Run) -> String {
    let mut prompts: Vec<(&str, Vec<&Sample>)> = Vec::new();
    for sample in run.samples() {
        match prompts.iter_mut().find(|(prompt, _)| *prompt == sample.prompt) {
            Some((_, found)) => found.push(sample),
            None => prompts.push((&sample.prompt, vec![sample])),
        }
    }
    prompts.iter().map(|(prompt, found)| samples_of(prompt, found)).collect()
}

fn samples_of(prompt: &str, found: &[&Sample]) -> String {
    // A prompt that begins with empty lines would push its heading down.
    let shown = if prompt.trim().is_empty() { "(no prompt)" } else { prompt.trim() };
    let mut text = format!("<h3>{}</h3>\n", escape(shown));
    if let Some(reference) = found.iter().rev().find_map(|sample| sample.reference.as_deref()) {
        let _ = writeln!(text, "<p>Reference: {}</p>", escape(reference));
    }
    let by_step = |samples: &[&Sample]| {
        let row = |sample: &&Sample| vec![format!("step {}", sample.step), sample.text.clone()];
        table("text", &[], &samples.iter().map(row).collect::<Vec<_>>())
    };
    text += &by_step(&spread(found, SAMPLES_SHOWN));
    if found.len() > SAMPLES_SHOWN {
        let all = by_step(found);
        let _ = writeln!(text, "<details><summary>all {}</summary>\n{all}</details>", found.len());
    }
    text
}

/// At most so many, evenly spread, the first and the last among them.
fn spread<'a>(all: &[&'a Sample], most: usize) -> Vec<&'a Sample> {
    if all.len() <= most {
        return all.to_vec();
    }
    (0..most).map(|i| all[i * (all.len() - 1) / (most - 1)]).collect()
}

#[cfg(test)]
mod tests;
