//! `limpid experiment`: a claim, put to the test.

use crate::args;
use crate::error::{Error, Result};
use crate::printer::{Progress, counted, duration, say, terminal_width};
use limpid::files::{create_folder, write_atomic};
use limpid::train::Control;
use limpid::train::plan::available_memory;
use limpid_learn::experiment::{
    ALL, Effort, Experiment, Lab, LabEvent, Outcome, Picture, SizeOverrides, Table, find, html,
    speed,
};
use limpid_tensor::team;
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

const OUTCOME: &str = "outcome.json";
const REPORT: &str = "report.html";

fn picture_file(picture: &Picture) -> String {
    format!("{}.svg", picture.name)
}

/// Finished trainings of a run that has not come to its end.
const TRAININGS: &str = ".trainings";

pub fn run(args: &args::Experiment) -> Result<()> {
    let Some(name) = &args.name else {
        return list(args.json);
    };
    let experiment = find(name)?;
    let sizes = SizeOverrides { steps: args.steps, width: args.width };
    sizes.check(experiment, available_memory())?;
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from("experiments").join(name));
    // Before the work, so that a folder that cannot be made costs nothing.
    let old_figures = made_before(&folder)?;
    create_folder(&folder)?;
    let effort = if args.quick { Effort::Quick } else { Effort::Full };
    say(format_args!("{}\n", experiment.claim));
    let start = std::time::Instant::now();
    let mut bar: Option<Progress> = None;
    let mut observer = |event: LabEvent| {
        let seconds = start.elapsed().as_secs_f64();
        match event {
            LabEvent::Started(text) => say(format_args!("  {seconds:>5.0} s  {text}")),
            LabEvent::Restored(text) => {
                say(format_args!("  {seconds:>5.0} s  {text} (done by an earlier run)"));
            }
            LabEvent::Steps { done, of } => {
                bar.get_or_insert_with(|| Progress::count("       ", of)).set(done);
                if done == of {
                    bar.take().into_iter().for_each(Progress::finish);
                }
            }
        }
        Control::Continue
    };
    let trainings = folder.join(TRAININGS);
    let mut lab =
        Lab::new(effort, args.seed, sizes, &mut observer).resumable(experiment, &trainings)?;
    let outcome = (experiment.run)(&mut lab)?;
    let found = outcome.json(experiment, effort, args.seed, sizes);
    write(&folder, &found, &html(experiment, effort, sizes, &outcome), &outcome)?;
    let is_new =
        |old: &String| outcome.pictures.iter().any(|picture| *old == picture_file(picture));
    for old in old_figures.iter().filter(|old| !is_new(old)) {
        // That it cannot be removed is no reason to lose the outcome.
        let _ = std::fs::remove_file(folder.join(old));
    }
    let _ = std::fs::remove_dir_all(&trainings);
    if args.json {
        println!("{found}");
    } else {
        print(&outcome, effort, sizes);
    }
    say(format_args!("\nReport: {}", folder.join(REPORT).display()));
    Ok(())
}

/// The names of the pictures that an experiment has left in the folder; one with anything else in
/// it is left alone.
fn made_before(folder: &Path) -> Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries
            .map_err(|e| Error::io("look into", folder, e).hint("give a folder with --out DIR"))?,
    };
    let outcome = std::fs::read(folder.join(OUTCOME)).unwrap_or_default();
    let outcome: Value = serde_json::from_slice(&outcome).unwrap_or_default();
    // Refuses to overwrite a page that no experiment has written.
    let made = if outcome["experiment"].is_string() { &[OUTCOME, REPORT][..] } else { &[] };
    let named: Vec<String> = serde_json::from_value(outcome["figures"].clone()).unwrap_or_default();
    // What is named and not in the folder, be it somewhere else, is none of ours.
    let mut pictures = Vec::new();
    for entry in entries {
        let name = entry.map_err(|e| Error::io("look into", folder, e))?.file_name();
        let name = name.to_string_lossy();
        // Output that was interrupted is written again.
        let is_ours = [TRAININGS].contains(&&*name)
            || made.contains(&&*name)
            || named.iter().any(|p| *p == name)
            || name.ends_with(".tmp");
        if !is_ours {
            return Err(Error::config(format!(
                "{} holds something that no experiment has made: {name}",
                folder.display()
            ))
            .hint("give a folder of its own with --out DIR"));
        }
        if name.ends_with(".svg") {
            pictures.push(name.into_owned());
        }
    }
    Ok(pictures)
}

fn list(as_json: bool) -> Result<()> {
    let speed = speed()?;
    let minutes = |experiment: &Experiment| experiment.minutes / speed;
    if as_json {
        let one = |e: &Experiment| {
            let minutes = (10.0 * minutes(e)).round() / 10.0;
            json!({"name": e.name, "claim": e.claim, "estimated_minutes": minutes})
        };
        println!("{}", json!(ALL.iter().map(one).collect::<Vec<_>>()));
        return Ok(());
    }
    for experiment in ALL {
        let time = duration(60.0 * minutes(experiment));
        println!("{:16} {time:>8}  {}", experiment.name, experiment.claim);
    }
    say(format_args!(
        "\nTimes are estimates for this machine with {}. Run one with `limpid experiment NAME`; \
         --quick is a smoke test of seconds.",
        counted(team::threads(), "thread")
    ));
    Ok(())
}

fn write(folder: &Path, found: &Value, page: &str, outcome: &Outcome) -> Result<()> {
    // First what names the others: they are known as an experiment's by it.
    let text = serde_json::to_string_pretty(found).expect("an outcome is JSON") + "\n";
    write_atomic(&folder.join(OUTCOME), text.as_bytes())?;
    for picture in &outcome.pictures {
        write_atomic(&folder.join(picture_file(picture)), picture.svg.as_bytes())?;
    }
    Ok(write_atomic(&folder.join(REPORT), page.as_bytes())?)
}

fn print(outcome: &Outcome, effort: Effort, sizes: SizeOverrides) {
    for table in &outcome.tables {
        print_table(table);
    }
    for finding in &outcome.findings {
        let verdict = effort.pick(String::new(), format!("{:13} ", finding.verdict.name()));
        println!("{verdict}{}: {}", finding.what, finding.evidence);
    }
    match effort {
        Effort::Quick => println!("\nSmoke test: too small for a verdict."),
        Effort::Full => {
            let sizes = sizes.describe().map_or(String::new(), |sizes| format!(" ({sizes})"));
            println!("\nVerdict{sizes}: {}.", outcome.verdict().name());
        }
    }
}

fn print_table(table: &Table) {
    println!("{}", table.title);
    // What goes into a file or another program is not folded.
    let columns = if std::io::stdout().is_terminal() { terminal_width() } else { None };
    table_lines(table, columns).iter().for_each(|line| println!("  {line}"));
    println!();
}

/// One line per row if it fits into `columns`; else one per cell, after the head of its column.
fn table_lines(table: &Table, columns: Option<usize>) -> Vec<String> {
    let rows = || std::iter::once(&table.head).chain(&table.rows);
    let length = |cell: &String| cell.chars().count();
    let widest = |column: usize| rows().map(|row| length(&row[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..table.head.len()).map(widest).collect();
    let fits = |columns: usize| {
        2 + widths.iter().sum::<usize>() + 3 * widths.len().saturating_sub(1) <= columns
    };
    if columns.is_none_or(fits) {
        let cells = |row: &Vec<String>| -> Vec<String> {
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect()
        };
        return rows().map(|row| cells(row).join("   ")).collect();
    }
    let names = table.head.iter().skip(1).map(length).max().unwrap_or(0);
    let block = |row: &Vec<String>| {
        let cells = table.head.iter().zip(row).skip(1);
        let cells = cells.map(|(name, cell)| format!("  {name:names$}  {cell}"));
        std::iter::once(format!("{} {}", table.head[0], row[0]).trim().to_string())
            .chain(cells)
            .collect::<Vec<_>>()
    };
    table.rows.iter().flat_map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_too_wide_is_folded_and_loses_nothing() {
        let row = |cells: [&str; 3]| cells.map(String::from).to_vec();
        let table = Table {
            title: "t".into(),
            head: row(["words", "with", "without attention"]),
            rows: vec![row(["5", "0.25 ± 0.01", "0.5"]), row(["10", "1", "2"])],
        };
        let wide =
            ["words          with   without attention", "    5   0.25 ± 0.01                 0.5"];
        assert_eq!(table_lines(&table, None)[..2], wide);
        assert_eq!(table_lines(&table, Some(41)).len(), 3);
        let folded = table_lines(&table, Some(40));
        assert_eq!(
            folded[..3],
            ["words 5", "  with               0.25 ± 0.01", "  without attention  0.5"]
        );
        assert_eq!(folded.len(), 6);
    }
}
