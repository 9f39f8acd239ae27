//! `limpid bench chart`: plots a file of measurements.

use crate::args::BenchChart;
use crate::error::Result;
use limpid::files::write_atomic;
use limpid::report::Chart;

/// Writes the chart and prints its path.
pub fn run(args: &BenchChart) -> Result<()> {
    let svg = Chart::read(&args.numbers)?.svg();
    write_atomic(&args.out, svg.as_bytes())?;
    println!("{}", args.out.display());
    Ok(())
}
