//! A configuration as text: TOML in, overrides applied, TOML out.

use super::{DataConfig, RunConfig, Said, TaskKind};
use crate::error::{Error, Result};
use crate::text::checked;
use std::path::{Path, PathBuf};

/// Stands at the beginning of a path for the folder that this variable names.
const DATA: &str = "$LIMPID_DATA";

impl RunConfig {
    /// Reads a TOML file, with `overrides` such as `train.steps=500` applied to it. Its paths become relative to its folder; those of the
    /// overrides stay relative to where the command is typed.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|e| Error::io("read", path, &e))?;
        let text = checked(path, 1, bytes)?;
        let mut config = Self::unchecked(&text, &[]).map_err(|e| e.in_file(path))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        config.each_path(|file| {
            if !file.starts_with(DATA) {
                *file = folder.join(&*file);
            }
        });
        let mut config = config.with(overrides).map_err(|e| e.in_file(path))?;
        let data = std::env::var_os("LIMPID_DATA").map(PathBuf::from);
        let mut unset = false;
        config.each_path(|file| match (file.strip_prefix(DATA), &data) {
            (Ok(rest), Some(data)) => *file = data.join(rest),
            (Ok(_), None) => unset = true,
            (Err(_), _) => {}
        });
        if unset {
            return Err(Error::config("its files are in $LIMPID_DATA, which is not set")
                .in_file(path)
                .hint("LIMPID_DATA=path/to/data limpid train …"));
        }
        Ok(config)
    }

    /// The same from text; paths stay as they are.
    pub fn parse(text: &str, overrides: &[String]) -> Result<Self> {
        let config = Self::unchecked(text, overrides)?;
        config.validate()?;
        Ok(config)
    }

    fn unchecked(text: &str, overrides: &[String]) -> Result<Self> {
        let bad = |e: &dyn std::fmt::Display| {
            // What a type of Rust is, in words.
            let types = [
                ("u64", "a whole number, 0 or more"),
                ("usize", "a whole number, 0 or more"),
                ("f32", "a number"),
                ("f64", "a number"),
            ];
            let said = types.iter().fold(e.to_string(), |said, (name, words)| {
                said.replace(&format!("expected {name}"), &format!("expected {words}"))
            });
            Error::config(said.trim_end().to_string()).hint("docs/formats.md lists all keys of a run")
        };
        let mut table: toml::Table = text.parse().map_err(|e: toml::de::Error| bad(&e))?;
        let task = table.get("task").and_then(toml::Value::as_str).unwrap_or("");
        let task = match task {
            "gpt" => TaskKind::Gpt,
            "translate" => TaskKind::Translate,
            "bert" => TaskKind::Bert,
            "classify" => TaskKind::Classify,
            _ => {
                return Err(Error::config(format!("task = '{task}' is not known"))
                    .hint("task = \"gpt\", \"translate\", \"bert\" or \"classify\""));
            }
        };
        // What the file does not say is as usual for its task.
        let complete = |table: &toml::Table| -> Result<Self> {
            let mut whole = toml::Table::try_from(Self::new(task)).map_err(|e| bad(&e))?;
            merge(&mut whole, table.clone());
            as_meant(&mut whole);
            whole.try_into().map_err(|e: toml::de::Error| bad(&e))
        };
        for change in overrides {
            set(&mut table, change)?;
            // One by one: a value that cannot be is not hidden by a later one for the same key.
            complete(&table)?;
        }
        steps_or_epochs(&mut table, overrides)?;
        let said = Said(keys_of(&table));
        Ok(Self { said, ..complete(&table)? })
    }

    /// The same with some keys changed: `train.steps=500`.
    pub fn with(&self, overrides: &[String]) -> Result<Self> {
        let mut unreadable = None;
        self.clone().each_path(|path| {
            if path.to_str().is_none() {
                unreadable = Some(path.display().to_string());
            }
        });
        if let Some(path) = unreadable {
            return Err(Error::config(format!(
                "{path}: this name is not UTF-8, and a run's configuration is a text"
            ))
            .hint("rename it, or link to it by another name"));
        }
        let config = Self::parse(&self.to_toml(), overrides)?;
        let said = overrides.iter().filter_map(|change| Some(change.split_once('=')?.0.trim().to_string()));
        Ok(Self { said: Said(self.said.0.iter().cloned().chain(said).collect()), ..config })
    }

    /// As a TOML file has it: every key that is set, so that a run can be read without knowing what was usual then.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a configuration is a table")
    }

    /// The same for somebody who wants to change it: the other keys of each part stand in a comment at its end.
    pub fn to_toml_with_unset(&self) -> String {
        let all = serde_json::to_value(self).expect("a configuration is JSON, too");
        let parts = self.to_toml();
        let with_unset = parts.split("\n\n").map(|part| {
            let name =
                part.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or("", |(name, _)| name);
            let keys = all.get(name).and_then(serde_json::Value::as_object).into_iter().flatten();
            let unset: Vec<&str> =
                keys.filter(|(_, value)| value.is_null()).map(|(key, _)| &key[..]).collect();
            let part = part.trim_end();
            if unset.is_empty() {
                part.to_string()
            } else {
                format!("{part}\n# not set: {}", unset.join(", "))
            }
        });
        with_unset.collect::<Vec<_>>().join("\n\n") + "\n"
    }

    /// Calls `change` on every file it names.
    pub fn each_path(&mut self, mut change: impl FnMut(&mut PathBuf)) {
        let DataConfig {
            text,
            source,
            target,
            pairs,
            validation_text,
            validation_source,
            validation_target,
            validation_pairs,
            test_source,
            test_target,
            test_pairs,
            ..
        } = &mut self.data;
        let one = [
            source,
            target,
            pairs,
            validation_source,
            validation_target,
            validation_pairs,
            test_source,
            test_target,
            test_pairs,
            &mut self.tokenizer.from,
            &mut self.model.from,
        ];
        text.iter_mut().chain(validation_text).chain(one.into_iter().flatten()).for_each(&mut change);
    }
}

/// Steps that somebody asks for are not overruled by the epochs of a file.
fn steps_or_epochs(table: &mut toml::Table, overrides: &[String]) -> Result<()> {
    let asked = |key: &str| {
        overrides.iter().any(|change| change.split_once('=').is_some_and(|(name, _)| name.trim() == key))
    };
    let Some(train) = table.get_mut("train").and_then(toml::Value::as_table_mut) else { return Ok(()) };
    if !asked("train.steps") {
        return Ok(());
    }
    let epochs = train.get("epochs").and_then(toml::Value::as_integer).unwrap_or(0);
    if asked("train.epochs") && epochs != 0 {
        return Err(Error::config("train.steps and train.epochs both say how long to train")
            .hint("leave one of them out"));
    }
    train.remove("epochs");
    Ok(())
}

/// Applies `a.b=value`; a value that is not TOML is a string.
fn set(table: &mut toml::Table, change: &str) -> Result<()> {
    let usage = || {
        Error::config(format!("--set {change} is not of the form key=value")).hint("--set train.steps=500")
    };
    let (key, value) = change.split_once('=').ok_or_else(usage)?;
    let (key, value) = (key.trim(), value.trim());
    let parsed = format!("v = {value}").parse::<toml::Table>().ok().and_then(|mut table| table.remove("v"));
    let value = parsed.unwrap_or_else(|| toml::Value::String(value.into()));
    let mut at = table;
    let mut parts = key.split('.').collect::<Vec<_>>();
    let last = parts.pop().filter(|last| !last.is_empty()).ok_or_else(usage)?;
    for part in parts {
        let next = at.entry(part).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        at = next.as_table_mut().ok_or_else(|| {
            Error::config(format!("--set {change}: {part} has no keys of its own"))
                .hint("--set train.steps=500")
        })?;
    }
    at.insert(last.into(), value);
    Ok(())
}

/// A column may be written as its number, and a list of one without brackets.
fn as_meant(config: &mut toml::Table) {
    fn value<'a>(config: &'a mut toml::Table, (part, key): (&str, &str)) -> Option<&'a mut toml::Value> {
        config.get_mut(part)?.as_table_mut()?.get_mut(key)
    }
    fn as_text(value: &mut toml::Value) {
        match value {
            toml::Value::Integer(number) => *value = toml::Value::String(number.to_string()),
            toml::Value::Array(all) => all.iter_mut().for_each(as_text),
            _ => {}
        }
    }
    for key in [("data", "source_column"), ("data", "target_column"), ("table", "text"), ("table", "label")] {
        value(config, key).into_iter().for_each(as_text);
    }
    for key in [("data", "text"), ("data", "validation_text"), ("table", "text")] {
        if let Some(one @ toml::Value::String(_)) = value(config, key) {
            *one = toml::Value::Array(vec![one.clone()]);
        }
    }
}

fn merge(into: &mut toml::Table, from: toml::Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(toml::Value::Table(into)), toml::Value::Table(from)) => merge(into, from),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

/// The keys of a file, such as `model.width`.
fn keys_of(table: &toml::Table) -> Vec<String> {
    let inside = |(part, value): (&String, &toml::Value)| match value {
        toml::Value::Table(keys) => keys.keys().map(|key| format!("{part}.{key}")).collect(),
        _ => vec![part.clone()],
    };
    table.iter().flat_map(inside).collect()
}
