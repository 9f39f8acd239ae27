//! `limpid explain`: the arithmetic, step by step.

use crate::args::Explain;
use limpid::error::{Error, Result};

/// Shows one example, or the list.
pub fn run(_args: Explain) -> Result<()> {
    Err(Error::config("explain is not built yet"))
}
