//! The commit that `limpid --version` names, in release builds: others would be compiled again
//! after every commit.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=LIMPID_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let commit = match std::env::var("LIMPID_COMMIT") {
        Ok(commit) => Some(commit),
        Err(_) if std::env::var("PROFILE").as_deref() != Ok("release") => None,
        Err(_) => from_git().or_else(from_package),
    };
    println!("cargo::rustc-env=LIMPID_COMMIT={}", commit.as_deref().unwrap_or("unknown commit"));
}

/// The commit that is checked out, if this is a clone.
fn from_git() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_string())
    };
    // A package that is built inside somebody's repository is not at that repository's commit.
    let own = git(&["ls-files", "--error-unmatch", "build.rs"]).is_some();
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|_| own)?;
    println!("cargo::rerun-if-changed={log}");
    git(&["rev-parse", "--short=12", "HEAD"])
}

/// The commit that `cargo package` has noted.
fn from_package() -> Option<String> {
    let file = Path::new(".cargo_vcs_info.json");
    println!("cargo::rerun-if-changed={}", file.display());
    let text = std::fs::read_to_string(file).ok()?;
    let (_, after) = text.split_once("\"sha1\": \"")?;
    Some(after.chars().take_while(char::is_ascii_hexdigit).take(12).collect())
}
