//! Tests of the repository's structure, which need the sources and the clap command.
//!
//! | file | what must hold |
//! |---|---|
//! | `order.rs` | crates, and modules of `limpid`, depend in one direction |
//! | `strings.rs` | no string below this crate names a flag or a command |
//! | `flags.rs` | a flag that this crate's own messages name exists in the command they are for |
//! | `reference.rs` | `docs/reference.md` is what clap says today |
//! | `documents.rs` | links lead somewhere, short documents stay short |

mod documents;
mod flags;
mod order;
mod reference;
mod sources;
mod strings;

use clap::CommandFactory;
use std::path::{Path, PathBuf};

/// The folder of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The command with everything below it, global flags handed down.
fn command() -> clap::Command {
    let mut command = crate::args::Args::command();
    command.build();
    command
}
