//! `limpid compare`: runs side by side.

use crate::args::Compare;
use crate::printer;
use limpid::error::Result;
use limpid::files::{check_kind, write_aside};
use limpid::report::{Run, compare};

/// Prints the table, and writes the page if one was asked for.
pub fn run(args: &Compare) -> Result<()> {
    let runs = args.runs.iter().map(|folder| Run::read(folder)).collect::<Result<Vec<_>>>()?;
    for run in &runs {
        run.notes.iter().for_each(|note| printer::say(format_args!("{}: {note}", run.folder.display())));
    }
    let comparison = compare(&runs);
    if let Some(out) = &args.out {
        check_kind(out, "<!DOCTYPE html>")?;
        write_aside(out, comparison.html().as_bytes())?;
        printer::say(format_args!("{}", out.display()));
    }
    if args.json {
        println!("{}", comparison.json());
    } else {
        print!("{}", comparison.text());
    }
    Ok(())
}
