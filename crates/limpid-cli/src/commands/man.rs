//! `limpid man`: the manual pages, as roff.

use crate::args::{Args, Man};
use crate::error::{Error, Result};
use clap::{Command, CommandFactory};
use clap_mangen::Man as Page;
use limpid::files::{create_folder, write_atomic};
use std::path::Path;

/// Prints the page of the command, or writes those of all commands.
pub fn run(args: &Man) -> Result<()> {
    let root = Args::command().disable_help_subcommand(true);
    match &args.out {
        None => print!("{}", page(&root, "limpid")?),
        Some(folder) => {
            create_folder(folder)?;
            write(&root, "limpid", folder)?;
        }
    }
    Ok(())
}

/// The page of a command and, after it, those of the commands below it.
fn write(command: &Command, name: &str, folder: &Path) -> Result<()> {
    let path = folder.join(format!("{name}.1"));
    write_atomic(&path, page(command, name)?.as_bytes())?;
    println!("{}", path.display());
    let mut inner = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    inner.try_for_each(|inner| write(inner, &format!("{name}-{}", inner.get_name()), folder))
}

fn page(command: &Command, name: &str) -> Result<String> {
    // The version of a page must not depend on the machine that it was written on.
    let command = command.clone().name(name.to_string()).version(env!("CARGO_PKG_VERSION"));
    let command = command.long_version(None).bin_name(name.replace('-', " "));
    let mut page = Vec::new();
    let failed = |e| Error::data(format!("the manual page of {name} cannot be written: {e}"));
    Page::new(command).render(&mut page).map_err(failed)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
