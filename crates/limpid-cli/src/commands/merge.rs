//! `limpid merge`: a base model and its adapter as one model folder.

use crate::args::Merge;
use crate::error::{Error, Result};
use crate::printer;
use limpid::hub;
use limpid::text::Tokenizer;

/// Merges, saves and says where.
pub fn run(args: &Merge) -> Result<()> {
    let out = &args.out;
    if std::fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Error::config(format!("{} is not empty", out.display()))
            .hint("give --out a new folder"));
    }
    let warnings = hub::merge(&args.base, &args.adapter, out)?;
    printer::warnings(&warnings);
    let tokenizer = [&args.adapter, &args.base]
        .into_iter()
        .find(|folder| Tokenizer::main_file(folder).is_some());
    if let Some(folder) = tokenizer {
        hub::load_tokenizer(folder)?.save(out)?;
    }
    println!("{}", out.display());
    Ok(())
}
