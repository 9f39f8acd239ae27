//! Scores as text, in sacreBLEU's notation, and as JSON.

use super::files::Lines;
use super::{Row, Table};
use crate::printer::say;
use limpid::eval::Metric;
use limpid::eval::lengths::LengthGroup;
use serde_json::{Map, Value, json};

/// A line for each metric of one system; of several, a block for each metric.
pub fn text(
    systems: &[Lines],
    tables: &[Table],
    groups: Option<&[Vec<LengthGroup>]>,
    width: usize,
) {
    let widest = systems.iter().map(|system| system.name.chars().count()).max().unwrap_or(0);
    for table in tables {
        let Table { name, signature, rows } = table;
        if let [row] = &rows[..] {
            let details =
                row.bleu.as_ref().map_or(String::new(), |bleu| format!(" {}", bleu.details()));
            println!("{name}|{signature} = {}{details}", number(row, width));
            continue;
        }
        println!("{name}|{signature}");
        for (system, row) in systems.iter().zip(rows) {
            let p = row.p_value.map_or(String::new(), |p| format!("  p = {p:.4}"));
            println!("  {:widest$}  {}{p}", system.name, number(row, width));
        }
    }
    if systems.len() > 1 {
        say(format_args!(
            "p: how likely a difference from {} this large would be, were the two equally good; \
             below 0.05 it is rarely chance",
            systems[0].name
        ));
    }
    for (system, groups) in systems.iter().zip(groups.unwrap_or_default()) {
        println!("BLEU by words of the source, {}", system.name);
        for group in groups {
            let range = match group.to {
                Some(to) => format!("{} to {to}", group.from),
                None => format!("{} or more", group.from),
            };
            let lines = if group.lines == 1 { "line " } else { "lines" };
            println!("  {range:<12}{:>8} {lines}  {:>8.width$}", group.lines, group.score.score);
        }
    }
}

/// `48.53`, or with an interval `48.53 (μ = 48.61 ± 1.20)`.
fn number(row: &Row, width: usize) -> String {
    match row.interval {
        None => format!("{:.width$}", row.score),
        Some(interval) => {
            format!(
                "{:.width$} (μ = {:.width$} ± {:.width$})",
                row.score, interval.mean, interval.half_width
            )
        }
    }
}

/// One object in one line.
pub fn json(systems: &[Lines], tables: &[Table], groups: Option<&[Vec<LengthGroup>]>) {
    let system = |(i, lines): (usize, &Lines)| {
        let scores: Vec<Value> = tables.iter().map(|table| score(table, &table.rows[i])).collect();
        let mut object = json!({ "file": lines.name, "lines": lines.len(), "scores": scores });
        if let Some(groups) = groups {
            object["bleu_by_length"] = groups[i].iter().map(length_group).collect();
        }
        object
    };
    let systems: Vec<Value> = systems.iter().enumerate().map(system).collect();
    println!("{}", json!({ "systems": systems }));
}

fn score(table: &Table, row: &Row) -> Value {
    let mut object =
        json!({ "name": table.name, "score": row.score, "signature": table.signature });
    if let Some(bleu) = &row.bleu {
        object["precisions"] = json!(bleu.precisions);
        object["brevity_penalty"] = json!(bleu.brevity_penalty);
        object["ratio"] = json!(bleu.counts.ratio());
        object["hyp_len"] = json!(bleu.counts.hypothesis_len);
        object["ref_len"] = json!(bleu.counts.reference_len);
    }
    if let Some(interval) = row.interval {
        object["mean"] = json!(interval.mean);
        object["interval"] = json!(interval.half_width);
    }
    if let Some(p_value) = row.p_value {
        object["p_value"] = json!(p_value);
    }
    object
}

fn length_group(group: &LengthGroup) -> Value {
    json!({ "from": group.from, "to": group.to, "lines": group.lines, "score": group.score.score })
}

/// One object a line.
pub fn json_sentence(line: usize, metrics: &[&dyn Metric], scores: &[f64]) {
    let scores: Map<String, Value> =
        metrics.iter().zip(scores).map(|(metric, score)| (metric.name(), json!(score))).collect();
    println!("{}", json!({ "line": line, "scores": scores }));
}
