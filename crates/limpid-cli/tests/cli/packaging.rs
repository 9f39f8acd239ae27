//! What packages need: versions, completions and manual pages.

use super::*;

#[test]
fn the_long_version_names_the_instruction_sets_and_the_short_one_does_not() {
    let long = stdout(&run(&["--version"]));
    let first = format!("limpid {} (", env!("CARGO_PKG_VERSION"));
    assert!(long.starts_with(&first), "{long}");
    assert!(long.contains("\ninstruction sets: scalar"), "{long}");
    assert!(long.contains("\ninteger dot products: plain"), "{long}");
    let short = stdout(&run(&["-V"]));
    assert_eq!(short.trim(), format!("limpid {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_shell_has_completions_and_those_of_bash_complete() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(&run(&["completions", shell]));
        for word in ["translate", "fill-mask", "temperature"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
    let script = scratch("completions").join("limpid.bash");
    std::fs::write(&script, stdout(&run(&["completions", "bash"]))).unwrap();
    let typed = "COMP_WORDS=(limpid tra); COMP_CWORD=1; _limpid limpid tra limpid";
    let source = format!("source '{}'; {typed}; echo ${{COMPREPLY[@]}}", script.display());
    // Where there is no bash, as on some Windows machines, there is nothing to complete in.
    let Ok(found) = Command::new("bash").args(["--norc", "-c", &source]).output() else { return };
    assert_eq!(String::from_utf8_lossy(&found.stdout).trim(), "train translate");
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let folder = scratch("man");
    let written = stdout(&limpid(&["man", "--out"]).arg(&folder).output().unwrap());
    let page = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let root = page("limpid.1");
    assert!(root.contains(".TH limpid 1") && !root.contains("instruction sets"), "{root}");
    assert_eq!(root, stdout(&run(&["man"])));
    for command in ["train", "translate", "bench-step", "tokenizer-train", "completions"] {
        let name = format!("limpid-{command}.1");
        assert!(written.contains(&name) && page(&name).contains(".SH"), "{name}");
        assert!(page(&name).contains(&format!("limpid {}", command.split('-').next().unwrap())));
    }
    assert!(page("limpid-generate.1").contains("temperature"));
    assert_eq!(written.lines().count(), std::fs::read_dir(&folder).unwrap().count());
}
