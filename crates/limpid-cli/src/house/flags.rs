//! A flag that a message of this crate names exists in the command the message is for.

use super::sources::{modules_of, strings};
use crate::hints::flags::missing_flags;
use clap::Command;
use std::path::Path;

/// Files of `commands/` that serve other commands than the one they are named after.
const SHARED: [(&str, &[&str]); 10] = [
    ("decoding", &["generate", "translate", "summarize"]),
    ("demo_recurrent", &["demo"]),
    ("demo_stories", &["demo"]),
    ("embed", &["embed", "similarity"]),
    ("inputs", &["embed", "classify", "tag"]),
    ("eval_encoder", &["eval"]),
    ("eval_stories", &["eval"]),
    ("find_lr", &["train"]),
    ("lab", &["lab", "demo", "experiment", "generate", "inspect", "train"]),
    ("terminal", &["generate", "translate", "summarize"]),
];

/// The commands that a module's messages are shown by; all of them where it cannot be said.
fn commands_of<'a>(path: &[String], root: &'a Command) -> Vec<&'a Command> {
    let name = match path {
        [folder, name, ..] if folder == "commands" || folder == "args" => name,
        _ => return root.get_subcommands().collect(),
    };
    let own = [name.replace('_', "-")];
    let names: Vec<&str> = match SHARED.iter().find(|(file, _)| file == name) {
        Some((_, names)) => names.to_vec(),
        None => own.iter().map(String::as_str).collect(),
    };
    let found: Vec<&Command> = names.iter().filter_map(|name| root.find_subcommand(name)).collect();
    if found.is_empty() { root.get_subcommands().collect() } else { found }
}

#[test]
fn flags_in_messages_and_hints_exist_in_their_commands() {
    let root = super::command();
    let mut wrong = Vec::new();
    for module in modules_of(Path::new(env!("CARGO_MANIFEST_DIR"))) {
        let commands = commands_of(&module.path, &root);
        for literal in strings(module.tokens) {
            for flag in missing_flags(&literal.text, &commands, &root) {
                let (file, line) = (module.file.display(), literal.line);
                wrong.push(format!("{file}:{line}: --{flag} in {}", literal.text));
            }
        }
    }
    assert!(wrong.is_empty(), "flags that do not exist there:\n{}", wrong.join("\n"));
}

#[test]
fn flags_in_help_texts_exist_in_their_commands() {
    fn check(command: &Command, root: &Command, wrong: &mut Vec<String>) {
        let about = command.get_long_about().or(command.get_about()).map(ToString::to_string);
        let helps = command.get_arguments().filter_map(|argument| {
            argument.get_long_help().or(argument.get_help()).map(ToString::to_string)
        });
        for text in about.into_iter().chain(helps) {
            for flag in missing_flags(&text, &[command], root) {
                wrong.push(format!("{}: --{flag} in \"{text}\"", command.get_name()));
            }
        }
        // clap's own `help` command has copies of the others without their arguments.
        let inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
        inner.for_each(|inner| check(inner, root, wrong));
    }
    let (root, mut wrong) = (super::command(), Vec::new());
    check(&root, &root, &mut wrong);
    assert!(wrong.is_empty(), "flags that do not exist there:\n{}", wrong.join("\n"));
}
