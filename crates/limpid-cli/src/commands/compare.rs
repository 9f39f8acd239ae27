//! `limpid compare`: runs side by side.

use crate::args::Compare;
use crate::error::Result;
use crate::printer;
use limpid::files::{check_replaceable, write_atomic};
use limpid::report::{Run, compare};

/// Prints the table, and writes the page if `--out` is given.
pub fn run(args: &Compare) -> Result<()> {
    let runs = args.runs.iter().map(|folder| Run::read(folder)).collect::<Result<Vec<_>, _>>()?;
    for run in &runs {
        run.notes
            .iter()
            .for_each(|note| printer::say(format_args!("{}: {note}", run.folder.display())));
    }
    let comparison = compare(&runs);
    if let Some(out) = &args.out {
        check_replaceable(out, "<!DOCTYPE html>")?;
        write_atomic(out, comparison.html().as_bytes())?;
        printer::say(format_args!("{}", out.display()));
    }
    if args.json {
        println!("{}", comparison.json());
    } else {
        print!("{}", comparison.text());
    }
    Ok(())
}
