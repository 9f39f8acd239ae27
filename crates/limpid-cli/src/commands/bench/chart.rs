//! `limpid bench chart`: numbers as a picture.

use crate::args::BenchChart;
use limpid::error::Result;
use limpid::files::write_aside;
use limpid::report::Chart;

/// Draws a file and says where the picture is.
pub fn run(args: &BenchChart) -> Result<()> {
    let svg = Chart::read(&args.numbers)?.svg();
    write_aside(&args.out, svg.as_bytes())?;
    println!("{}", args.out.display());
    Ok(())
}
