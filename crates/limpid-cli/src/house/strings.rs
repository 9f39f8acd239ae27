//! No string below this crate names a flag, or the program with one of its commands.

use super::order::CRATES;
use super::sources::{modules_of, strings};
use crate::hints::flags::{first_word, named_flags};
use std::collections::BTreeSet;

/// What can be typed: every long flag, and every command by its first word.
struct Words {
    flags: BTreeSet<String>,
    commands: BTreeSet<String>,
}

impl Words {
    fn of(command: &clap::Command) -> Self {
        let mut flags = BTreeSet::new();
        flags_below(command, &mut flags);
        let commands = command.get_subcommands().map(|verb| verb.get_name().to_string()).collect();
        Self { flags, commands }
    }

    /// The first flag or command that the text names.
    fn found_in(&self, text: &str) -> Option<String> {
        // A placeholder after two hyphens is a flag whose name is filled in.
        if text.contains("--{") {
            return Some("--{…}".into());
        }
        let flag = named_flags(text).into_iter().find(|flag| self.flags.contains(*flag));
        flag.map(|flag| format!("--{flag}")).or_else(|| {
            let mut after = text.split("limpid ").skip(1);
            let verb = after.find_map(|rest| self.commands.get(first_word(rest)))?;
            Some(format!("limpid {verb}"))
        })
    }
}

fn flags_below(command: &clap::Command, flags: &mut BTreeSet<String>) {
    for argument in command.get_arguments() {
        flags.extend(
            argument.get_long_and_visible_aliases().into_iter().flatten().map(String::from),
        );
    }
    command.get_subcommands().for_each(|inner| flags_below(inner, flags));
}

#[test]
fn no_string_below_the_command_line_names_a_flag_or_a_command() {
    let words = Words::of(&super::command());
    let mut found = Vec::new();
    for name in CRATES.iter().filter(|name| **name != "limpid-cli") {
        for module in modules_of(&super::repository().join("crates").join(name)) {
            for literal in strings(module.tokens) {
                if let Some(word) = words.found_in(&literal.text) {
                    let (file, line, text) = (module.file.display(), literal.line, literal.text);
                    found.push(format!("{file}:{line}: {word} in {text}"));
                }
            }
        }
    }
    let list = found.join("\n");
    assert!(found.is_empty(), "flags or commands in strings:\n{list}");
}

#[test]
fn flags_and_commands_are_recognized_in_prose() {
    let words = Words::of(&super::command());
    for text in ["use --set train.steps=5", "`--threads`", "run limpid train again", "--{key}"] {
        assert!(words.found_in(text).is_some(), "{text}");
    }
    for text in ["a -- b", "--no-such-flag-here", "limpid trains", "x--set", "----", "limpid: a"] {
        assert_eq!(words.found_in(text), None, "{text}");
    }
}
