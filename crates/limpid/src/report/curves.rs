//! The curves of a run, alone and over those of others.

use super::chart::{Chart, Mark, Series};
use super::run::{Run, RunTask, Train, Validation};
use super::scale::Axis;

/// A quantity that is drawn over the steps of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Curve {
    TrainLoss,
    ValidationLoss,
    Perplexity,
    Bleu,
    Accuracy,
    MacroF1,
    MicroF1,
    /// Of entities, or of the words of answers.
    F1,
    ExactMatch,
    Pearson,
    Spearman,
    LearningRate,
    /// Before clipping.
    GradientNorm,
    /// Tokens per second.
    Throughput,
}

impl Curve {
    pub(super) const ALL: [Self; 14] = [
        Self::TrainLoss,
        Self::ValidationLoss,
        Self::Perplexity,
        Self::Bleu,
        Self::Accuracy,
        Self::MacroF1,
        Self::MicroF1,
        Self::F1,
        Self::ExactMatch,
        Self::Pearson,
        Self::Spearman,
        Self::LearningRate,
        Self::GradientNorm,
        Self::Throughput,
    ];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::TrainLoss => "Training loss",
            Self::ValidationLoss => "Validation loss",
            Self::Perplexity => "Validation perplexity",
            Self::Bleu => "Validation BLEU",
            Self::Accuracy => "Validation accuracy",
            Self::MacroF1 => "Validation macro F1",
            Self::MicroF1 => "Validation micro F1",
            Self::F1 => "Validation F1",
            Self::ExactMatch => "Validation exact match",
            Self::Pearson => "Validation Pearson correlation",
            Self::Spearman => "Validation Spearman correlation",
            Self::LearningRate => "Learning rate",
            Self::GradientNorm => "Gradient norm (before clipping)",
            Self::Throughput => "Throughput",
        }
    }

    pub(super) fn y(self) -> Axis {
        match self {
            Self::TrainLoss | Self::ValidationLoss => Axis::linear("loss"),
            Self::Perplexity => Axis::log("perplexity"),
            Self::Bleu => Axis::linear("BLEU").including(0.0),
            Self::Accuracy => Axis::linear("accuracy"),
            Self::MacroF1 => Axis::linear("macro F1"),
            Self::MicroF1 => Axis::linear("micro F1"),
            Self::F1 => Axis::linear("F1"),
            Self::ExactMatch => Axis::linear("exact match"),
            Self::Pearson | Self::Spearman => Axis::linear("correlation"),
            Self::LearningRate => Axis::linear("learning rate").including(0.0),
            Self::GradientNorm => Axis::log("L2 norm"),
            Self::Throughput => Axis::linear("tokens per second").including(0.0),
        }
    }

    /// Points (step, value); an unknown value is no point, one that is not finite a gap.
    pub(super) fn points(self, run: &Run) -> Vec<(f64, f64)> {
        let train = |value: fn(&Train) -> Option<f64>| {
            run.train().filter_map(|line| Some((line.step as f64, value(line)?))).collect()
        };
        let validation = |value: fn(&Validation) -> Option<f64>| {
            let of_a_step = run.validation().filter(|line| line.checkpoints_averaged.is_none());
            of_a_step.filter_map(|line| Some((line.step as f64, value(line)?))).collect()
        };
        match self {
            Self::TrainLoss => train(|line| Some(line.loss)),
            Self::ValidationLoss => validation(|line| Some(line.loss)),
            Self::Perplexity => validation(|line| line.perplexity),
            Self::Bleu => validation(|line| line.bleu),
            Self::Accuracy => validation(|line| line.accuracy),
            Self::MacroF1 => validation(|line| line.macro_f1),
            Self::MicroF1 => validation(|line| line.micro_f1),
            Self::F1 => validation(|line| line.f1),
            Self::ExactMatch => validation(|line| line.exact_match),
            Self::Pearson => validation(|line| line.pearson),
            Self::Spearman => validation(|line| line.spearman),
            Self::LearningRate => train(|line| line.lr),
            Self::GradientNorm => train(|line| line.grad_norm),
            Self::Throughput => train(|line| line.tokens_per_second),
        }
    }

    fn is_noisy(self) -> bool {
        matches!(self, Self::TrainLoss | Self::GradientNorm | Self::Throughput)
    }

    /// The curve under this name; a noisy one as its moving average over a faint line.
    pub(super) fn series(self, run: &Run, name: &str) -> Vec<Series> {
        let points = self.points(run);
        if self.is_noisy() && points.len() > 40 {
            let mean = smooth(&points);
            return vec![Series::line(name, points).marked(Mark::Faint), Series::line(name, mean)];
        }
        let mark = if points.len() <= 40 { Mark::Dots } else { Mark::Line };
        vec![Series::line(name, points).marked(mark)]
    }
}

/// The charts of one run: its loss, the metric of its task, then how the training went. Charts
/// without points are left out.
pub(super) fn of_run(run: &Run) -> Vec<Chart> {
    let mut charts: Vec<Chart> = loss(run).into_iter().collect();
    let metrics: &[Curve] = match run.task() {
        Some(RunTask::Classification) => {
            &[Curve::Accuracy, Curve::MacroF1, Curve::MicroF1, Curve::Pearson, Curve::Spearman]
        }
        Some(RunTask::TokenClassification) => &[Curve::F1, Curve::Accuracy],
        Some(RunTask::QuestionAnswering) => &[Curve::F1, Curve::ExactMatch],
        Some(RunTask::MaskedLanguageModel) => &[Curve::Accuracy, Curve::Perplexity],
        Some(RunTask::LanguageModel) => &[Curve::Perplexity],
        Some(RunTask::Translation) => &[Curve::Bleu, Curve::Perplexity],
        None => &[Curve::Bleu, Curve::Accuracy, Curve::MacroF1, Curve::Perplexity],
    };
    let training = [Curve::LearningRate, Curve::GradientNorm, Curve::Throughput];
    for curve in metrics.iter().copied().chain(training) {
        if !curve.points(run).is_empty() {
            let (x, series) = (Axis::linear("step"), curve.series(run, ""));
            charts.push(Chart::new(curve.title(), x, curve.y(), series));
        }
    }
    charts
}

/// Training and validation loss. With label smoothing they are different quantities: the names say
/// so, because the training loss then lies above the validation loss however well a model fits.
fn loss(run: &Run) -> Option<Chart> {
    let smoothing = run.setting("train.label_smoothing").and_then(|text| text.parse::<f64>().ok());
    let smoothing = smoothing.filter(|smoothing| *smoothing > 0.0);
    let names = match smoothing {
        Some(smoothing) => {
            [format!("training (label smoothing {smoothing})"), "validation (unsmoothed)".into()]
        }
        None => ["training".to_string(), "validation".to_string()],
    };
    let series: Vec<Series> = [Curve::TrainLoss, Curve::ValidationLoss]
        .into_iter()
        .zip(&names)
        .filter(|(curve, _)| !curve.points(run).is_empty())
        .flat_map(|(curve, name)| curve.series(run, name))
        .collect();
    if series.is_empty() {
        return None;
    }
    let y = match run.task() {
        Some(RunTask::Classification) => match run.setting("model.problem_type") {
            Some("regression") => "mean squared error",
            Some("multi_label_classification") => "binary cross-entropy loss (nats per label)",
            _ => "cross-entropy loss (nats per text)",
        },
        Some(RunTask::QuestionAnswering) => "cross-entropy loss (nats per end of an answer)",
        Some(RunTask::MaskedLanguageModel) => "cross-entropy loss (nats per masked token)",
        _ => "cross-entropy loss (nats per token)",
    };
    let mut chart = Chart::new("Loss", Axis::linear("step"), Axis::linear(y), series);
    let has_series = |name: &String| chart.series.iter().any(|series| series.name == *name);
    if smoothing.is_some() && names.iter().all(has_series) {
        chart.subtitle = "The training loss includes label smoothing, the validation loss does \
                          not: their heights are not comparable."
            .into();
    }
    Some(chart)
}

/// The charts of several runs, one line per run; charts without points are left out.
pub(super) fn of_runs(runs: &[Run], names: &[String]) -> Vec<Chart> {
    let with_points =
        Curve::ALL.into_iter().filter(|curve| runs.iter().any(|run| !curve.points(run).is_empty()));
    let chart = |curve: Curve| {
        // Faint lines of several runs would hide each other: only the averages are drawn.
        let series = runs.iter().zip(names).flat_map(|(run, name)| curve.series(run, name));
        let series = series.filter(|series| series.mark != Mark::Faint).collect();
        Chart::new(curve.title(), Axis::linear("step"), curve.y(), series)
    };
    with_points.map(chart).collect()
}

/// A centred moving average over 4% of the curve: it does not lag behind.
fn smooth(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    // sums[i]: sum and count of the finite values among the first i points.
    let mut sums = vec![(0.0, 0.0)];
    for (i, &(_, y)) in points.iter().enumerate() {
        let (sum, count) = sums[i];
        sums.push(if y.is_finite() { (sum + y, count + 1.0) } else { (sum, count) });
    }
    let mean = |i: usize| {
        let reach = (points.len() / 50).min(i).min(points.len() - 1 - i);
        let (before, after) = (sums[i - reach], sums[i + reach + 1]);
        (after.0 - before.0) / (after.1 - before.1)
    };
    // A value that is not finite stays a gap.
    let smoothed =
        |(i, &(x, y)): (usize, &(f64, f64))| (x, if y.is_finite() { mean(i) } else { y });
    points.iter().enumerate().map(smoothed).collect()
}

#[cfg(test)]
mod tests {
    use super::super::run::Metric;
    use super::*;

    #[test]
    fn the_average_of_a_straight_line_is_the_line_from_end_to_end() {
        let points: Vec<_> = (0..200).map(|i| (f64::from(i), 3.0 - 0.5 * f64::from(i))).collect();
        assert!(smooth(&points).iter().zip(&points).all(|(mean, p)| (mean.1 - p.1).abs() < 1e-9));
    }

    #[test]
    fn the_average_of_noise_is_calmer_and_passes_over_what_is_no_number() {
        let mut points: Vec<_> = (0..2000).map(|i| (f64::from(i), f64::from(i % 2))).collect();
        points[1000].1 = f64::NAN;
        let mean = smooth(&points);
        assert!(mean[1000].1.is_nan());
        assert!(mean[40..1000].iter().chain(&mean[1001..1960]).all(|p| (p.1 - 0.5).abs() < 0.05));
    }

    fn train(step: u64) -> Metric {
        Metric::Train(Train { step, loss: 2.0, lr: Some(0.1), ..Train::default() })
    }

    fn run_of(task: &str, metrics: Vec<Metric>) -> Run {
        let settings = vec![
            ("task".to_string(), task.to_string()),
            ("train.label_smoothing".to_string(), "0.1".to_string()),
        ];
        Run { metrics, settings, ..Run::default() }
    }

    fn titles(run: &Run) -> Vec<String> {
        of_run(run).into_iter().map(|chart| chart.title).collect()
    }

    #[test]
    fn a_run_without_a_curve_has_no_chart_of_it() {
        let run = Run { metrics: vec![train(1)], ..Run::default() };
        assert_eq!(titles(&run), ["Loss", "Learning rate"]);
        assert!(of_run(&Run::default()).is_empty());
    }

    #[test]
    fn the_metric_of_the_task_is_drawn() {
        let validation = Metric::Validation(Validation {
            step: 1,
            loss: 1.0,
            perplexity: Some(2.7),
            bleu: Some(20.0),
            accuracy: Some(0.5),
            macro_f1: Some(0.4),
            ..Validation::default()
        });
        let titles = |task| titles(&run_of(task, vec![validation.clone()]));
        assert_eq!(titles("gpt"), ["Loss", "Validation perplexity"]);
        assert_eq!(titles("translate"), ["Loss", "Validation BLEU", "Validation perplexity"]);
        assert_eq!(titles("classify"), ["Loss", "Validation accuracy", "Validation macro F1"]);
        assert_eq!(titles("bert"), ["Loss", "Validation accuracy", "Validation perplexity"]);
    }

    #[test]
    fn a_smoothed_training_loss_is_told_from_an_unsmoothed_validation_loss() {
        let validation =
            Metric::Validation(Validation { step: 1, loss: 1.0, ..Validation::default() });
        let both = &of_run(&run_of("translate", vec![train(1), validation]))[0];
        let names: Vec<&str> = both.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["training (label smoothing 0.1)", "validation (unsmoothed)"]);
        assert!(both.subtitle.contains("not comparable"), "{}", both.subtitle);
        assert_eq!(both.y.label, "cross-entropy loss (nats per token)");
        // Without the other curve there is nothing to compare.
        assert!(of_run(&run_of("translate", vec![train(1)]))[0].subtitle.is_empty());
    }
}
