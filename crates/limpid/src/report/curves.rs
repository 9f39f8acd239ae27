//! The curves of a run, alone and over those of others.

use super::chart::{Chart, Mark, Series};
use super::run::{Run, Train, Validation};
use super::scale::Axis;

/// What can be drawn of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Curve {
    /// Of training.
    TrainLoss,
    /// Of validation.
    ValidationLoss,
    /// Of validation.
    Bleu,
    /// Of validation.
    Accuracy,
    /// As scheduled.
    LearningRate,
    /// Before clipping.
    GradientNorm,
    /// Tokens a second.
    Speed,
}

impl Curve {
    pub(super) const ALL: [Self; 7] = [
        Self::TrainLoss,
        Self::ValidationLoss,
        Self::Bleu,
        Self::Accuracy,
        Self::LearningRate,
        Self::GradientNorm,
        Self::Speed,
    ];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::TrainLoss => "Training loss",
            Self::ValidationLoss => "Validation loss",
            Self::Bleu => "BLEU on validation",
            Self::Accuracy => "Accuracy on validation",
            Self::LearningRate => "Learning rate",
            Self::GradientNorm => "Norm of the gradient, before clipping",
            Self::Speed => "Tokens a second",
        }
    }

    pub(super) fn y(self) -> Axis {
        match self {
            Self::TrainLoss | Self::ValidationLoss => Axis::linear("nats"),
            Self::Bleu => Axis::linear("").including(0.0),
            Self::Accuracy => Axis::linear("share that is right"),
            Self::LearningRate => Axis::linear("").including(0.0),
            Self::GradientNorm => Axis::log(""),
            Self::Speed => Axis::linear("").including(0.0),
        }
    }

    /// The points (step, value); one that is unknown is no point, one that is no number a gap.
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
            Self::Bleu => validation(|line| line.bleu),
            Self::Accuracy => validation(|line| line.accuracy),
            Self::LearningRate => train(|line| line.lr),
            Self::GradientNorm => train(|line| line.grad_norm),
            Self::Speed => train(|line| line.tokens_per_second),
        }
    }

    fn is_noisy(self) -> bool {
        matches!(self, Self::TrainLoss | Self::GradientNorm | Self::Speed)
    }

    /// What is drawn of it under this name: what is noisy as an average over a faint line.
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

/// What the loss of a run is a mean over.
fn unit_of_loss(run: &Run) -> &'static str {
    let task = run.settings.iter().find(|(key, _)| key == "task").map_or("", |(_, task)| task);
    match task {
        "classify" => "nats a text",
        "bert" => "nats a hidden word",
        _ => "nats a token",
    }
}

/// The charts of one run; those without points are left out.
pub(super) fn of_run(run: &Run) -> Vec<Chart> {
    let step = || Axis::linear("step");
    let mut charts = Vec::new();
    let losses: Vec<Series> = [(Curve::TrainLoss, "training"), (Curve::ValidationLoss, "validation")]
        .into_iter()
        .filter(|(curve, _)| !curve.points(run).is_empty())
        .flat_map(|(curve, name)| curve.series(run, name))
        .collect();
    if !losses.is_empty() {
        charts.push(Chart::new("Loss", step(), Axis::linear(unit_of_loss(run)), losses));
    }
    for curve in &Curve::ALL[2..] {
        if !curve.points(run).is_empty() {
            charts.push(Chart::new(curve.title(), step(), curve.y(), curve.series(run, "")));
        }
    }
    charts
}

/// The charts of several runs, each a line in each; those without points are left out.
pub(super) fn of_runs(runs: &[Run], names: &[String]) -> Vec<Chart> {
    let with_points =
        Curve::ALL.into_iter().filter(|curve| runs.iter().any(|run| !curve.points(run).is_empty()));
    let chart = |curve: Curve| {
        // Faint lines of several runs would hide each other: the averages alone.
        let series = runs.iter().zip(names).flat_map(|(run, name)| curve.series(run, name));
        let series = series.filter(|series| series.mark != Mark::Faint).collect();
        Chart::new(curve.title(), Axis::linear("step"), curve.y(), series)
    };
    with_points.map(chart).collect()
}

/// The average of the neighbours within a fiftieth of the curve, as many before as after: it does not lag behind.
fn smooth(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    // sums[i]: of the numbers among the first i points, and how many they are.
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
    // What is no number stays a gap.
    let smoothed = |(i, &(x, y)): (usize, &(f64, f64))| (x, if y.is_finite() { mean(i) } else { y });
    points.iter().enumerate().map(smoothed).collect()
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_run_without_a_curve_has_no_chart_of_it() {
        let train = Train { step: 1, loss: 2.0, lr: Some(0.1), ..Train::default() };
        let run = Run { metrics: vec![super::super::run::Metric::Train(train)], ..Run::default() };
        let titles: Vec<String> = of_run(&run).into_iter().map(|chart| chart.title).collect();
        assert_eq!(titles, ["Loss", "Learning rate"]);
        assert!(of_run(&Run::default()).is_empty());
    }
}
