//! `docs/reference.md`: every command with its arguments and options, written by clap's own words.
//!
//! `UPDATE_REFERENCE=1 cargo test -p limpid-cli reference` writes it again.

use clap::builder::StyledStr;
use clap::{Arg, Command};
use std::fmt::Write;

/// Columns of the page.
const WIDTH: usize = 100;

const HEAD: &str = "\
# Command reference

Every command, argument and option, as `--help` describes them. This page is generated from the
program: `UPDATE_REFERENCE=1 cargo test -p limpid-cli reference` writes it, a test checks it.
";

/// The whole page.
fn page(root: &Command) -> String {
    let mut page = HEAD.to_string();
    page.push_str("\n| command | |\n|---|---|\n");
    for command in visible(root) {
        let (name, about) = (command.get_name(), one_line(command.get_about()));
        let _ = writeln!(page, "| [`{name}`](#limpid-{name}) | {} |", shortened(&about, 56));
    }
    page.push_str("\n## Options of every command\n\n");
    for option in root.get_arguments().filter(|option| is_for_all(option)) {
        page.push_str(&item(option));
    }
    visible(root).for_each(|command| section(&mut page, command, 2));
    page
}

/// One command with those below it.
fn section(page: &mut String, command: &Command, level: usize) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let _ = writeln!(page, "\n{} {name}\n", "#".repeat(level));
    let about = one_line(command.get_long_about().or(command.get_about()));
    page.push_str(&wrapped(&format!("{}.", about.trim_end_matches('.')), "", ""));
    let usage = one_line(Some(&command.clone().render_usage()));
    let usage = usage.trim_start_matches("Usage: ");
    let _ = writeln!(page, "\n```text\n{}```", wrapped_plain(usage, "    "));
    let mut heading = None;
    for argument in command.get_arguments() {
        if is_for_all(argument) || argument.is_hide_set() {
            continue;
        }
        let own = argument.get_help_heading().unwrap_or(match argument.is_positional() {
            true => "Arguments",
            false => "Options",
        });
        if heading != Some(own) {
            let _ = writeln!(page, "\n**{own}**\n");
            heading = Some(own);
        }
        page.push_str(&item(argument));
    }
    visible(command).for_each(|inner| section(page, inner, level + 1));
}

/// One argument or option as an item of a list.
fn item(argument: &Arg) -> String {
    let mut text = one_line(argument.get_long_help().or(argument.get_help()));
    let defaults: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let takes_value = argument.get_action().takes_values();
    if takes_value && !defaults.is_empty() && !argument.is_hide_default_value_set() {
        let _ = write!(text, " [default: `{}`]", defaults.join(","));
    }
    let values: Vec<String> = argument.get_possible_values().iter().filter_map(value).collect();
    if takes_value && !values.is_empty() {
        let _ = write!(text, " One of {}.", values.join("; "));
    }
    wrapped(&format!("`{}`: {text}", signature(argument)), "- ", "  ")
}

/// One of the values an option may have, with what it means.
fn value(value: &clap::builder::PossibleValue) -> Option<String> {
    let name = value.get_name_and_aliases().next()?;
    Some(match value.get_help() {
        Some(help) => format!("`{name}` ({})", one_line(Some(help)).trim_end_matches('.')),
        None => format!("`{name}`"),
    })
}

/// How an argument is typed: `--out <DIR>`, `<MODEL>`.
fn signature(argument: &Arg) -> String {
    argument.to_string().replace("-h, ", "").replace("-V, ", "")
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
}

/// Whether every command has it, so that it is described once.
fn is_for_all(argument: &Arg) -> bool {
    argument.is_global_set() || ["help", "version"].contains(&argument.get_id().as_str())
}

fn one_line(text: Option<&StyledStr>) -> String {
    let text = text.map(ToString::to_string).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first sentence part that fits, for a table.
fn shortened(text: &str, columns: usize) -> String {
    let end = text.find([';', ':', '(']).unwrap_or(text.len());
    let text = text[..end].trim_end();
    match text.char_indices().nth(columns) {
        Some((end, _)) => format!("{} …", text[..end].rsplit_once(' ').map_or(text, |(a, _)| a)),
        None => text.to_string(),
    }
}

/// Prose, with `<` outside code escaped: Markdown would read `<pad>` as HTML.
fn wrapped(text: &str, first: &str, next: &str) -> String {
    let parts: Vec<String> = text
        .split('`')
        .enumerate()
        .map(|(i, part)| if i % 2 == 0 { part.replace('<', "\\<") } else { part.to_string() })
        .collect();
    let lines = wrapped_plain(&parts.join("`"), next);
    format!("{first}{lines}")
}

/// The words in lines of at most `WIDTH` columns, all but the first behind `next`.
fn wrapped_plain(text: &str, next: &str) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split(' ') {
        let length = line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && length + 2 > WIDTH {
            let _ = writeln!(lines, "{line}");
            line = next.to_string();
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    format!("{lines}{line}\n")
}

#[test]
fn the_command_reference_is_current() {
    let path = super::repository().join("docs/reference.md");
    let page = page(&super::command());
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    let differing = stored.lines().zip(page.lines()).find(|(old, new)| old != new);
    assert!(
        stored == page,
        "docs/reference.md is not what clap says today, first at {differing:?}; \
         UPDATE_REFERENCE=1 cargo test -p limpid-cli reference writes it again"
    );
}

#[test]
fn lines_of_the_reference_fit_the_page_and_name_every_command() {
    let root = super::command();
    let page = page(&root);
    let long = page.lines().find(|line| line.chars().count() > WIDTH);
    assert_eq!(long, None);
    for command in visible(&root) {
        assert!(page.contains(&format!("\n## limpid {}\n", command.get_name())));
    }
}
