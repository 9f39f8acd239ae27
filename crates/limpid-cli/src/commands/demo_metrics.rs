//! The metrics and scores of a demo, recorded in its folder so that `limpid report` can show them.

use crate::error::Result;
use limpid::eval::BleuScore;
use limpid::eval::lengths::LengthGroup;
use limpid::files::write_atomic;
use limpid::report::{Metric, Train};
use limpid::train::StepReport;
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

/// Steps per line of `metrics.jsonl`.
const LOG_EVERY: u64 = 10;

/// Between two writes while a model trains: who watches sees it grow.
const SAVE_EVERY: Duration = Duration::from_millis(500);

/// The lines of `metrics.jsonl`: means over [`LOG_EVERY`] steps.
#[derive(Default)]
pub struct TrainingLog {
    lines: String,
    steps: u32,
    loss: f64,
    tokens: u64,
    seconds: f64,
    all_tokens: u64,
    all_seconds: f64,
    saved: Option<Instant>,
}

impl TrainingLog {
    /// Records a step.
    pub fn step(&mut self, report: &StepReport) {
        self.steps += 1;
        self.loss += f64::from(report.loss);
        self.tokens += report.tokens as u64;
        self.seconds += report.seconds;
        self.all_tokens += report.tokens as u64;
        self.all_seconds += report.seconds;
        if report.step.is_multiple_of(LOG_EVERY) || report.step == report.steps {
            let line = Metric::Train(Train {
                step: report.step,
                loss: self.loss / f64::from(self.steps),
                epoch: None,
                tokens: Some(self.all_tokens),
                lr: Some(f64::from(report.lr)),
                grad_norm: Some(f64::from(report.grad_norm)),
                seconds: Some(self.all_seconds),
                tokens_per_second: Some(self.tokens as f64 / self.seconds.max(1e-9)),
            });
            self.lines += &serde_json::to_string(&line).expect("a metric is JSON");
            self.lines.push('\n');
            (self.steps, self.loss, self.tokens, self.seconds) = (0, 0.0, 0, 0.0);
        }
    }

    /// Writes `metrics.jsonl` if some time has passed since it was written.
    pub fn save_sometimes(&mut self, folder: &Path) -> limpid::error::Result<()> {
        if self.saved.is_some_and(|saved| saved.elapsed() < SAVE_EVERY) {
            return Ok(());
        }
        self.saved = Some(Instant::now());
        self.save(folder)
    }

    /// Writes `metrics.jsonl`.
    pub fn save(&self, folder: &Path) -> limpid::error::Result<()> {
        write_atomic(&folder.join("metrics.jsonl"), self.lines.as_bytes())
    }
}

/// Writes `summary.json` of a translator: its BLEU on the test split, by source length, and that of
/// the baselines.
pub fn save_scores(
    folder: &Path,
    bleu: &BleuScore,
    by_length: &[LengthGroup],
    baselines: &[(&str, f64)],
) -> Result<()> {
    let group = |group: &LengthGroup| {
        json!({
            "from": group.from, "to": group.to, "sentences": group.lines,
            "bleu": group.score.score,
        })
    };
    let baselines: serde_json::Map<String, serde_json::Value> =
        baselines.iter().map(|(name, bleu)| (name.to_string(), json!(bleu))).collect();
    let summary = json!({
        "scored_on": "test", "bleu": bleu.score, "bleu_signature": bleu.signature,
        "bleu_by_length": by_length.iter().map(group).collect::<Vec<_>>(),
        "baseline_bleu": baselines,
    });
    Ok(write_atomic(&folder.join("summary.json"), format!("{summary:#}\n").as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use limpid::report::parse_metrics;

    #[test]
    fn a_line_has_the_mean_of_its_steps_and_the_last_step_has_one() {
        let mut log = TrainingLog::default();
        for step in 1..=12 {
            let loss = step as f32;
            let (steps, grad_norm, lr) = (12, 1.0, 0.5);
            let (tokens, targets, seconds) = (100, 50, 0.5);
            log.step(&StepReport { step, steps, loss, grad_norm, lr, tokens, targets, seconds });
        }
        let (lines, _) = parse_metrics(log.lines.as_bytes(), Path::new("metrics.jsonl")).unwrap();
        let found: Vec<(u64, f64, Option<u64>)> = lines
            .iter()
            .map(|line| match line {
                Metric::Train(line) => (line.step, line.loss, line.tokens),
                _ => unreachable!("only training is recorded"),
            })
            .collect();
        assert_eq!(found, [(10, 5.5, Some(1000)), (12, 11.5, Some(1200))]);
    }
}
