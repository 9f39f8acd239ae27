//! `limpid train … --find-lr`: suggests a learning rate; nothing is saved.

use super::signals::{StopSignals, code};
use super::train::open;
use crate::error::{Error, Result};
use crate::printer::{self, say};
use limpid::files::{create_folder, write_atomic};
use limpid::train::lr_finder::{LrCurve, LrPoint, LrSearch, SweepEnd, round};
use limpid::train::setup::{FIND_LR, Opened, RunStart};
use limpid::train::{Control, RunConfig, TrainEvent};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Rows of the table.
const ROWS: usize = 16;

/// A folder for what a run needs on disk, removed when this is dropped.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Sweeps over learning rates with a new run of `config`; writes a chart into `out`, if that is
/// given.
pub fn run(config: &RunConfig, steps: u64, out: Option<&Path>, json: bool) -> Result<ExitCode> {
    let search = LrSearch { steps, ..LrSearch::default() };
    search.validate().map_err(limpid::error::Error::from)?;
    let scratch =
        Scratch(std::env::temp_dir().join(format!("limpid-find-lr-{}", std::process::id())));
    // There is nothing to save: a signal ends it at any moment, and leaves nothing behind.
    let folder = scratch.0.clone();
    StopSignals::watch(move |signal| {
        let _ = std::fs::remove_dir_all(&folder);
        std::process::exit(code(signal));
    })?;
    let Opened { run, .. } = open(config, &scratch.0, RunStart::New)?;
    let mut bar = printer::Training::new(steps);
    let curve = run.find_lr(search, &mut |event| {
        if let TrainEvent::Step(report) = event {
            bar.step(report.step, report.steps, report.loss, report.tokens);
        }
        Control::Continue
    });
    bar.clear();
    drop(scratch);
    let curve = curve?;
    if json {
        let point =
            |point: &LrPoint| json!({"lr": point.lr, "loss": point.loss, "slope": point.slope});
        let suggested = curve.suggestion().map(|found| round(found.lr));
        let points: Vec<_> = curve.points().iter().map(point).collect();
        println!("{}", json!({"suggested": suggested, "points": points}));
    } else {
        print(&curve);
    }
    if let Some(folder) = out {
        create_folder(folder)?;
        let path = folder.join(FIND_LR);
        write_atomic(&path, curve.chart().svg().as_bytes())?;
        say(format_args!("Chart: {}", path.display()));
    }
    match curve.suggestion() {
        Some(_) if json => Ok(ExitCode::SUCCESS),
        Some(point) => {
            println!(
                "Steepest descent before the lowest loss: --set train.lr={:e}",
                round(point.lr)
            );
            Ok(ExitCode::SUCCESS)
        }
        None => Err(Error::data("no suggestion: the loss never falls by more than its noise")
            .hint("try more steps (--find-lr=500), or larger batches")),
    }
}

/// Points of the curve, evenly spread, and the suggested one.
fn print(curve: &LrCurve) {
    let points = curve.points();
    let suggested = curve.suggestion();
    let every = points.len().div_ceil(ROWS).max(1);
    let is_suggested = |point: &LrPoint| suggested.is_some_and(|found| found.lr == point.lr);
    println!("learning rate     loss  slope per decade");
    for (i, point) in points.iter().enumerate() {
        let mark = if is_suggested(point) { "  <- suggested" } else { "" };
        if i % every == 0 || i + 1 == points.len() || !mark.is_empty() {
            println!("{:>13.1e} {:>8.3} {:>17.3}{mark}", point.lr, point.loss, point.slope);
        }
    }
    if curve.ended == SweepEnd::Diverged {
        let (lr, _) = curve.losses.last().copied().unwrap_or_default();
        println!("At {lr:.1e} the loss diverged: higher rates were not tried.");
    }
}
