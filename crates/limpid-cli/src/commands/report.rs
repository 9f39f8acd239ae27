//! `limpid report`: a run as one page.

use crate::args::Report;
use crate::error::Result;
use crate::printer;
use limpid::files::{check_replaceable, write_atomic};
use limpid::report::{Run, all_figures, html};
use serde_json::{Map, Value, json};

/// Writes the page and says where it is.
pub fn run(args: &Report) -> Result<()> {
    let run = Run::read(&args.run)?;
    run.notes.iter().for_each(printer::say);
    let out = args.out.clone().unwrap_or_else(|| args.run.join("report.html"));
    check_replaceable(&out, "<!DOCTYPE html>")?;
    write_atomic(&out, html(&run).as_bytes())?;
    if args.json {
        let figures: Map<String, Value> =
            all_figures(&run).into_iter().map(|figure| (figure.key, figure.value)).collect();
        println!("{}", json!({"report": out, "figures": figures}));
    } else {
        println!("{}", out.display());
    }
    Ok(())
}
