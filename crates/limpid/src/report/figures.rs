//! The key figures of a run.

use super::run::{Run, Train, Validation};
use super::scale::short_number;
use serde_json::Value;

/// A figure with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its key in JSON.
    pub key: String,
    /// Its name in tables.
    pub name: String,
    /// The number, or a text of `summary.json`.
    pub value: Value,
    /// The value as text.
    pub shown: String,
}

/// How a number is formatted.
#[derive(Clone, Copy)]
enum Kind {
    Count,
    Measure,
    Time,
}

/// Key figures of the metrics: length and end of training, best validation, throughput.
pub fn figures(run: &Run) -> Vec<Figure> {
    let mut found = Vec::new();
    let mut add = |key: &str, name: &str, value: Option<f64>, kind: Kind| {
        let known = value.filter(|value| value.is_finite());
        found.extend(known.map(|value| Figure {
            key: key.to_string(),
            name: name.to_string(),
            value: match kind {
                Kind::Count => Value::from(value as u64),
                _ => Value::from(value),
            },
            shown: show(value, kind),
        }));
    };
    let last = |value: fn(&Train) -> Option<f64>| run.train().filter_map(value).last();
    let steps = run.train().map(|line| line.step).chain(run.validation().map(|line| line.step));
    add("steps", "steps", steps.max().map(|step| step as f64), Kind::Count);
    add("epochs", "epochs", last(|line| line.epoch), Kind::Measure);
    add("tokens", "tokens", last(|line| line.tokens.map(|n| n as f64)), Kind::Count);
    add("seconds", "training time", last(|line| line.seconds), Kind::Time);
    let mut speeds: Vec<f64> = run.train().filter_map(|line| line.tokens_per_second).collect();
    speeds.sort_by(f64::total_cmp);
    let median = speeds.get(speeds.len() / 2).copied();
    add("tokens_per_second", "tokens per second (median)", median, Kind::Count);
    add("training_loss", "training loss (last)", last(|line| Some(line.loss)), Kind::Measure);
    let finite = || run.validation().filter(|line| line.loss.is_finite());
    let best = finite().min_by(|a, b| a.loss.total_cmp(&b.loss));
    add("best_loss", "best validation loss", best.map(|line| line.loss), Kind::Measure);
    // Averaged checkpoints may be better than any step.
    let of_a_step = finite().filter(|line| line.checkpoints_averaged.is_none());
    let best_step = of_a_step.min_by(|a, b| a.loss.total_cmp(&b.loss)).map(|line| line.step as f64);
    add("best_loss_step", "step of the best loss", best_step, Kind::Count);
    let at_best = |value: fn(&Validation) -> Option<f64>| best.and_then(value);
    let averaged = at_best(|line| line.checkpoints_averaged.map(|k| k as f64));
    add("checkpoints_averaged", "checkpoints averaged at best", averaged, Kind::Count);
    let (perplexity, bits) = (at_best(|line| line.perplexity), at_best(|l| l.bits_per_character));
    add("best_perplexity", "perplexity at best", perplexity, Kind::Measure);
    add("best_bits_per_character", "bits per character at best", bits, Kind::Measure);
    type Metric = fn(&Validation) -> Option<f64>;
    let highest: [(&str, &str, Metric); 9] = [
        ("best_bleu", "best validation BLEU", |line| line.bleu),
        ("best_accuracy", "best validation accuracy", |line| line.accuracy),
        ("best_macro_f1", "best validation macro F1", |line| line.macro_f1),
        ("best_micro_f1", "best validation micro F1", |line| line.micro_f1),
        ("best_f1", "best validation F1", |line| line.f1),
        ("best_exact_match", "best validation exact match", |line| line.exact_match),
        ("best_pearson", "best validation Pearson correlation", |line| line.pearson),
        ("best_spearman", "best validation Spearman correlation", |line| line.spearman),
        ("best_pair_accuracy", "best next-sentence accuracy", |line| line.pair_accuracy),
    ];
    for (key, name, value) in highest {
        let values = run.validation().filter_map(value).filter(|value| value.is_finite());
        add(key, name, values.max_by(f64::total_cmp), Kind::Measure);
    }
    found
}

/// Keys of `summary.json` that repeat a figure of the metrics.
pub(super) const REPEATED: [(&str, &str); 12] = [
    ("best_step", "step of the best loss"),
    ("seconds", "training time"),
    ("validation_loss", "best validation loss"),
    ("validation_perplexity", "perplexity at best"),
    ("validation_accuracy", "best validation accuracy"),
    ("validation_macro_f1", "best validation macro F1"),
    ("validation_micro_f1", "best validation micro F1"),
    ("validation_f1", "best validation F1"),
    ("validation_exact_match", "best validation exact match"),
    ("validation_pearson", "best validation Pearson correlation"),
    ("validation_spearman", "best validation Spearman correlation"),
    ("validation_pair_accuracy", "best next-sentence accuracy"),
];

/// All figures of a run, without those of the summary that repeat one of the metrics.
pub fn all_figures(run: &Run) -> Vec<Figure> {
    let mut found = figures(run);
    let is_repeated = |figure: &Figure| {
        let name = REPEATED.iter().find(|(key, _)| *key == figure.name).map(|(_, name)| *name);
        found.iter().any(|known| {
            Some(known.name.as_str()) == name && known.value.as_f64() == figure.value.as_f64()
        })
    };
    let new: Vec<Figure> = summary(run).into_iter().filter(|figure| !is_repeated(figure)).collect();
    found.extend(new);
    found
}

/// Numbers, strings and booleans of `summary.json` by their keys, `a.b` for b inside a, without
/// lists.
pub fn summary(run: &Run) -> Vec<Figure> {
    let mut found = Vec::new();
    walk("", &Value::Object(run.summary.clone()), &mut found);
    found
}

fn walk(name: &str, value: &Value, found: &mut Vec<Figure>) {
    let shown = match value {
        Value::Object(inside) => {
            let dot = if name.is_empty() { "" } else { "." };
            return inside
                .iter()
                .for_each(|(key, value)| walk(&format!("{name}{dot}{key}"), value, found));
        }
        Value::Array(_) | Value::Null => return,
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => thousands(whole),
            (_, Some(number)) => show(number, Kind::Measure),
            _ => number.to_string(),
        },
        Value::String(text) => text.clone(),
        Value::Bool(truth) => truth.to_string(),
    };
    found.push(Figure { key: name.into(), name: name.into(), value: value.clone(), shown });
}

fn show(value: f64, kind: Kind) -> String {
    match kind {
        Kind::Count => thousands(value.max(0.0) as u64),
        Kind::Time if value < 59.5 => format!("{value:.1} s"),
        Kind::Time => match value.round() as u64 {
            seconds if seconds < 3600 => format!("{} min {} s", seconds / 60, seconds % 60),
            seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        },
        Kind::Measure => short_number(value),
    }
}

/// A number with its noun: "1 step", "1,000 steps".
pub fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", thousands(number), if number == 1 { "" } else { "s" })
}

/// A number with commas between its thousands: 1234567 as 1,234,567.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|g| std::str::from_utf8(g).unwrap_or("")).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::super::run::Metric;
    use super::*;

    fn run() -> Run {
        let train = |step, loss, speed| {
            let (seconds, tokens) = (Some(step as f64), Some(1000 * step));
            Metric::Train(Train {
                step,
                loss,
                seconds,
                tokens,
                tokens_per_second: Some(speed),
                ..Train::default()
            })
        };
        let validation = |step, loss, bleu| {
            Metric::Validation(Validation {
                step,
                loss,
                bleu,
                perplexity: Some(f64::exp(loss)),
                ..Validation::default()
            })
        };
        let metrics = vec![
            train(100, 5.0, 900.0),
            validation(100, 4.0, Some(3.0)),
            train(200, 3.0, 1000.0),
            validation(200, 2.5, Some(30.0)),
            train(3700, 2.0, 5000.0),
            validation(3700, 2.75, Some(29.0)),
            validation(3700, f64::NAN, None),
        ];
        let summary = serde_json::json!({
            "bleu": 31.25, "note": "done", "lines": 12345, "test": {"chrf": 50.0}, "l": [1],
        });
        Run { metrics, summary: summary.as_object().unwrap().clone(), ..Run::default() }
    }

    #[test]
    fn figures_are_the_last_of_training_and_the_best_of_validation() {
        let shown: Vec<(String, String)> =
            figures(&run()).into_iter().map(|f| (f.name, f.shown)).collect();
        let expected = [
            ("steps", "3,700"),
            ("tokens", "3,700,000"),
            ("training time", "1 h 1 min"),
            ("tokens per second (median)", "1,000"),
            ("training loss (last)", "2"),
            ("best validation loss", "2.5"),
            ("step of the best loss", "200"),
            ("perplexity at best", "12.182"),
            ("best validation BLEU", "30"),
        ];
        assert_eq!(shown, expected.map(|(a, b)| (a.to_string(), b.to_string())));
        assert!(figures(&Run::default()).is_empty());
    }

    #[test]
    fn averaged_checkpoints_are_no_step() {
        let validation = |step, loss, checkpoints_averaged| {
            Metric::Validation(Validation {
                step,
                loss,
                checkpoints_averaged,
                ..Validation::default()
            })
        };
        let metrics = vec![
            validation(100, 4.0, None),
            validation(200, 4.5, None),
            validation(200, 3.5, Some(8)),
        ];
        let run = Run { metrics, ..Run::default() };
        let shown: Vec<String> =
            figures(&run).iter().map(|f| format!("{} {}", f.name, f.shown)).collect();
        assert_eq!(
            shown,
            [
                "steps 200",
                "best validation loss 3.5",
                "step of the best loss 100",
                "checkpoints averaged at best 8"
            ]
        );
        assert!(
            super::super::html(&run)
                .contains("best validation loss 3.5 (average of the last 8 checkpoints)")
        );
    }

    #[test]
    fn a_summary_is_flat_and_without_lists() {
        let shown: Vec<String> =
            summary(&run()).into_iter().map(|f| format!("{} {}", f.name, f.shown)).collect();
        assert_eq!(shown, ["bleu 31.25", "lines 12,345", "note done", "test.chrf 50"]);
    }
}
