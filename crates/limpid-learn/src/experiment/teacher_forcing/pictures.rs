//! Pictures of both ways of training.

use super::super::{Estimate, Picture};
use super::{Feeding, Taught, each};
use limpid::report::{Axis, Bar, Bars, Chart, Mark, Series};

/// Each seed's loss faint, and their mean over steps and seeds.
pub(super) fn training(taught: &[Vec<Taught>; 2]) -> Picture {
    let mut series = Vec::new();
    for (feeding, taught) in Feeding::BOTH.into_iter().zip(taught) {
        let steps = taught[0].losses.len();
        for one in taught {
            let points =
                one.losses.iter().enumerate().map(|(i, loss)| ((i + 1) as f64, *loss)).collect();
            series.push(Series::line("", points).marked(Mark::Faint));
        }
        // A hundred points are a line one can follow.
        let window = steps.div_ceil(100);
        let mean = |at: usize| {
            let part = at..(at + window).min(steps);
            let all: Vec<f64> =
                taught.iter().flat_map(|one| &one.losses[part.clone()]).copied().collect();
            ((at + window / 2 + 1) as f64, Estimate::of(&all).mean)
        };
        series.push(Series::line(feeding.name(), (0..steps).step_by(window).map(mean).collect()));
    }
    let mut chart = Chart::new(
        "Training loss",
        Axis::linear("step"),
        Axis::linear("nats per token").including(0.0),
        series,
    );
    chart.subtitle = "each given what it is trained on; faint: the seeds".into();
    Picture::chart("training", &chart)
}

/// The loss on test sentences, by training and by what is given.
pub(super) fn exposure(taught: &[Vec<Taught>; 2]) -> Picture {
    let bar = |(feeding, taught): (Feeding, &Vec<Taught>), given: usize| {
        let tokens = ["right", "own"][given];
        // Four names have to fit under four bars.
        let short = match feeding {
            Feeding::RightTokens => "forced",
            Feeding::OwnPredictions => "free",
        };
        let estimate = Estimate::of(&each(taught, |t| t.loss[given]));
        Bar {
            name: format!("{short}, {tokens}"),
            height: estimate.mean,
            interval: Some(estimate.interval()),
            about: format!(
                "{}, given the {tokens} tokens: {estimate} nats per token",
                feeding.name()
            ),
        }
    };
    let pairs = || Feeding::BOTH.into_iter().zip(taught);
    let bars = pairs().flat_map(|one| [bar(one, 0), bar(one, 1)]).collect();
    let bars = Bars {
        title: "Test loss, given the right tokens and its own".into(),
        x: "how it was trained, and which tokens it is given".into(),
        y: "nats per token, with 95% intervals".into(),
        bars,
    };
    Picture::bars("exposure", &bars)
}
