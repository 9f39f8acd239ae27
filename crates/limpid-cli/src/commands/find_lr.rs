//! `limpid train … --find-lr`: a learning rate is suggested, and nothing is trained.

use super::train::{INTERRUPTED, open};
use crate::printer::{self, say};
use limpid::error::{Error, Result};
use limpid::files::{create_folder, write_aside};
use limpid::train::find_rate::{RateCurve, RatePoint, RateSearch, SweepEnd, round};
use limpid::train::setup::{Beginning, FIND_LR, Opened};
use limpid::train::{News, RunConfig, Signal};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Rows of the table.
const ROWS: usize = 16;

/// A folder for what a run needs on disk, gone when this is.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Sweeps over rates with the run that `config` describes, fresh; draws the curve into `out`, if that is given.
pub fn run(config: &RunConfig, steps: u64, out: Option<&Path>, json: bool) -> Result<ExitCode> {
    let search = RateSearch { steps, ..RateSearch::default() };
    search.validate()?;
    let scratch = Scratch(std::env::temp_dir().join(format!("limpid-find-lr-{}", std::process::id())));
    // There is nothing to be saved: Ctrl-C ends it at any moment, and leaves nothing behind.
    let folder = scratch.0.clone();
    ctrlc::set_handler(move || {
        let _ = std::fs::remove_dir_all(&folder);
        std::process::exit(INTERRUPTED);
    })
    .map_err(|e| Error::config(format!("Ctrl-C cannot be watched: {e}")).hint("try again"))?;
    let Opened { run, lock, .. } = open(config, &scratch.0, Beginning::Fresh)?;
    let mut bar = printer::Training::new(steps);
    let curve = run.find_rate(search, &mut |news| {
        if let News::Step { step, steps, loss, tokens } = news {
            bar.step(step, steps, loss, tokens);
        }
        Signal::GoOn
    });
    bar.clear();
    drop((lock, scratch));
    let curve = curve?.expect("nobody says to stop");
    if json {
        let point = |point: &RatePoint| json!({"lr": point.rate, "loss": point.loss, "slope": point.slope});
        let suggested = curve.suggestion().map(|found| round(found.rate));
        let points: Vec<_> = curve.points().iter().map(point).collect();
        println!("{}", json!({"suggested": suggested, "points": points}));
    } else {
        print(&curve);
    }
    if let Some(folder) = out {
        create_folder(folder)?;
        let path = folder.join(FIND_LR);
        write_aside(&path, curve.chart().svg().as_bytes())?;
        say(format_args!("The curve is in {}.", path.display()));
    }
    match curve.suggestion() {
        Some(_) if json => Ok(ExitCode::SUCCESS),
        Some(point) => {
            println!(
                "Where it falls most steeply before it is lowest: --set train.lr={:e}",
                round(point.rate)
            );
            Ok(ExitCode::SUCCESS)
        }
        None => Err(Error::numeric("the loss never falls by more than it jumps from step to step")
            .hint("try more steps (--find-lr=500), or larger batches")),
    }
}

/// Some places of the curve, evenly spread, and the one that is suggested.
fn print(curve: &RateCurve) {
    let points = curve.points();
    let suggested = curve.suggestion();
    let every = points.len().div_ceil(ROWS).max(1);
    let is_suggested = |point: &RatePoint| suggested.is_some_and(|found| found.rate == point.rate);
    println!("learning rate     loss  slope a decade");
    for (i, point) in points.iter().enumerate() {
        let mark = if is_suggested(point) { "  <- suggested" } else { "" };
        if i % every == 0 || i + 1 == points.len() || !mark.is_empty() {
            println!("{:>13.1e} {:>8.3} {:>15.3}{mark}", point.rate, point.loss, point.slope);
        }
    }
    if curve.ended == SweepEnd::Diverged {
        let (rate, _) = curve.losses.last().copied().unwrap_or_default();
        println!("At {rate:.1e} the loss had grown beyond hope: higher rates were not tried.");
    }
}
