//! The limpid command.
fn main() {}
