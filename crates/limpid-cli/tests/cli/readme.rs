//! The commands of the README, and usage errors, from outside.

use super::*;

/// The `limpid` commands in the README's shell blocks, continued lines joined, without comments.
fn readme_commands() -> Vec<String> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(readme).unwrap().replace("\\\n", " ");
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines);
    let commands = lines.filter(|line| line.starts_with("limpid "));
    commands.filter_map(|line| line.split(" # ").next()).map(|line| line.trim().into()).collect()
}

/// Splits at spaces, except inside double quotes.
fn shell_words(command: &str) -> Vec<String> {
    let quoted = command.split('"').enumerate();
    let words = quoted.flat_map(|(i, part)| match i % 2 {
        0 => part.split_whitespace().map(String::from).collect::<Vec<_>>(),
        _ => vec![part.to_string()],
    });
    words.collect()
}

#[test]
fn every_command_in_the_readme_runs() {
    let folder = scratch("readme");
    let commands = readme_commands();
    assert!(commands.len() >= 15, "{commands:?}");
    for command in commands {
        let mut words = shell_words(&command);
        match words[1].as_str() {
            // Fewer steps, shorter measurements.
            "demo" => words.extend(["--steps".to_string(), "12".to_string()]),
            "train" => *words.last_mut().unwrap() = "12".to_string(),
            // A server runs until it is stopped; tests of its own ask it.
            "serve" => {
                words.retain(|word| word != "--demo");
                words.extend(["limpid-demo/fr-en", "--check", "--port", "0"].map(String::from));
            }
            "bench" => *words.last_mut().unwrap() = "0.05".to_string(),
            // It runs until it is stopped: a test of its own.
            "lab" => continue,
            _ => {}
        }
        let args: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        let output = limpid(&args).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{command}:\n{}", stderr(&output));
        // What a server tells is no data.
        let printed = if words[1] == "serve" { &output.stderr } else { &output.stdout };
        assert!(!printed.is_empty(), "{command} printed nothing");
    }
}

#[test]
fn usage_errors_exit_with_code_2_and_name_the_argument() {
    for args in
        [&["demoo"][..], &["demo", "--to", "de"], &["translate"], &["demo", "--threads", "0"]]
    {
        assert_eq!(run(args).status.code(), Some(2), "{args:?}");
    }
    let with = |name: &str, value: &str| limpid(&["explain"]).env(name, value).output().unwrap();
    refused(&with("LIMPID_SIMD", "mmx"), "LIMPID_SIMD=mmx", "scalar");
    refused(&with("LIMPID_THREADS", "many"), "LIMPID_THREADS=many", "1 to 256");
    refused(
        &run(&["bench", "step", "gpt", "--batch", "0"]),
        "--batch 0 leaves nothing to measure",
        "--batch",
    );
    assert_eq!(run(&["--help"]).status.code(), Some(0));
    assert_eq!(run(&["--version"]).status.code(), Some(0));
}
