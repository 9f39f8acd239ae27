//! Which flags a hint names, and whether the command it is shown for has them.

use clap::Command;

/// The names after `--` in a text.
pub fn named_flags(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("--") {
        let before = text[..at].chars().next_back();
        let name = first_word(&text[at + 2..]).trim_end_matches('-');
        let begins = before.is_none_or(|c| !c.is_alphanumeric() && c != '-');
        if begins && name.starts_with(|c: char| c.is_ascii_lowercase()) {
            found.push(name);
        }
    }
    found
}

/// The letters, digits and hyphens at the beginning of a text.
pub fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(text.len());
    &text[..end]
}

/// The flags that the text names although neither `commands` nor a command it mentions has them.
pub fn missing_flags<'a>(text: &'a str, commands: &[&Command], root: &Command) -> Vec<&'a str> {
    let mentioned = || {
        let words = || text.split_whitespace().map(|word| word.trim_matches(['`', '\'', '"', '(']));
        root.get_subcommands().filter(move |verb| words().any(|word| word == verb.get_name()))
    };
    let has = |flag: &str| {
        // cargo's own flag, in "cargo run --release --".
        flag == "release"
            || commands.iter().any(|command| has_flag(command, flag))
            || mentioned().any(|command| has_flag(command, flag))
    };
    named_flags(text).into_iter().filter(|flag| !has(flag)).collect()
}

/// Whether the command, or one below it, takes this flag.
fn has_flag(command: &Command, flag: &str) -> bool {
    command.get_arguments().any(|argument| {
        // `explain NAME` takes options of its own, which clap hands through.
        let names = argument.get_long_and_visible_aliases().unwrap_or_default();
        argument.is_trailing_var_arg_set() || names.contains(&flag)
    }) || command.get_subcommands().any(|inner| has_flag(inner, flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> Command {
        let flag = |name: &'static str| clap::Arg::new(name).long(name);
        Command::new("limpid")
            .subcommand(Command::new("train").arg(flag("set")).arg(flag("resume")))
            .subcommand(Command::new("eval").arg(flag("data")))
    }

    #[test]
    fn a_flag_must_belong_to_the_command_or_to_one_the_hint_mentions() {
        let root = root();
        let eval = [root.find_subcommand("eval").unwrap()];
        assert!(missing_flags("give --data FILE", &eval, &root).is_empty());
        assert_eq!(missing_flags("use --set train.seed=1", &eval, &root), ["set"]);
        assert!(missing_flags("run `limpid train RUN --resume`", &eval, &root).is_empty());
    }

    #[test]
    fn flags_are_told_from_dashes() {
        assert_eq!(named_flags("--a-b=1, `--c`; a -- b, x--y, ----"), ["a-b", "c"]);
    }
}
