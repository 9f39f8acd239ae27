//! A configuration as TOML: complete for the run's folder, with defaults for a person.

use super::RunConfig;
use super::keys::KEYS;
use super::section::Section;
use super::settings::Settings;
use super::value::Setting;
use crate::nn::Named;
use toml::Value;

/// The keys of a configuration that are set, with their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entries(Vec<(&'static str, Value)>);

impl Entries {
    /// One key.
    pub(super) fn of(key: &'static str, value: &impl Setting) -> Self {
        let mut entries = Self::default();
        entries.add(key, value);
        entries
    }

    pub(super) fn add(&mut self, key: &'static str, value: &impl Setting) {
        self.0.extend(value.to_value().map(|value| (key, value)));
    }

    /// Keys and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }

    /// The value of a key, if it is set.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.iter().find(|(there, _)| *there == key).map(|(_, value)| value)
    }
}

/// Keys that decide which others there are, or what their defaults are.
const DECISIVE: [&str; 5] =
    ["data.unit", "data.format", "model.arch", "model.hidden_size", "train.schedule"];

impl RunConfig {
    /// Every key that is set, in the order of a file, but for the task.
    pub fn entries(&self) -> Entries {
        let mut entries = self.list();
        let order = |key: &str| KEYS.iter().position(|known| *known == key);
        entries.0.sort_by_key(|(key, _)| order(key));
        entries
    }

    /// A TOML file with every key that is set, so that it means the same whatever the defaults
    /// become.
    pub fn to_toml(&self) -> String {
        self.written(|_, _| String::new(), |_| Vec::new())
    }

    /// The same for a person: with the default of each key that differs from it, and the names of
    /// the keys that are not set.
    pub fn to_toml_with_defaults(&self) -> String {
        let defaults = self.defaults();
        let default = |key: &str| {
            let without_size = key == "model.hidden_size";
            let config = if without_size { &defaults[0] } else { &defaults[1] };
            config.as_ref().map(|entries| entries.value(key).cloned())
        };
        let comment = |key: &str, value: &Value| match default(key) {
            Some(Some(default)) if default != *value => format!("  # default: {default}"),
            _ => String::new(),
        };
        let set = self.entries();
        let effective = self.effective_keys();
        let unset = |section: &str| {
            let of_section = |key: &&&str| key.split_once('.').is_some_and(|(s, _)| s == section);
            let names = effective.iter().filter(of_section).filter(|key| set.value(key).is_none());
            names.filter_map(|key| Some(key.split_once('.')?.1.to_string())).collect()
        };
        format!(
            "# Every key with its value. Those without a comment have their default.\n{}",
            self.written(comment, unset)
        )
    }

    fn written(
        &self,
        comment: impl Fn(&str, &Value) -> String,
        unset: impl Fn(&str) -> Vec<String>,
    ) -> String {
        let mut text = format!("task = \"{}\"\n", self.kind().name());
        let mut section = "";
        let end = |section: &str, text: &mut String| {
            let unset = unset(section);
            if !unset.is_empty() {
                text.push_str(&format!("# not set: {}\n", unset.join(", ")));
            }
        };
        for (key, value) in self.entries().iter() {
            let (of, name) = key.split_once('.').expect("every key has a section");
            if of != section {
                end(section, &mut text);
                text.push_str(&format!("\n[{of}]\n"));
                section = of;
            }
            text.push_str(&format!("{name} = {value}{}\n", comment(key, value)));
        }
        end(section, &mut text);
        text
    }

    /// The defaults of a run of this kind on these files: with a default hidden size, and with
    /// this run's, on which other sizes depend. `None` where they do not make a run.
    fn defaults(&self) -> [Option<Entries>; 2] {
        let only = |keep: &dyn Fn(&str) -> bool| {
            let mut settings = Settings::new(self.kind());
            for (key, value) in self.entries().iter().filter(|(key, _)| keep(key)) {
                settings.set(&format!("{key}={value}")).ok()?;
            }
            settings.resolve().ok().map(|config| config.entries())
        };
        let is_path = |key: &str| super::PATHS.contains(&key);
        let is_decisive = |key: &str| is_path(key) || DECISIVE.contains(&key);
        [only(&|key| is_decisive(key) && key != "model.hidden_size"), only(&is_decisive)]
    }

    /// The keys that have an effect for this run.
    fn effective_keys(&self) -> Vec<&'static str> {
        let Ok(mut settings) = Settings::parse(&self.to_toml()) else { return Vec::new() };
        match RunConfig::from_saved_settings(&mut settings) {
            Ok(_) => settings.effective().collect(),
            Err(_) => Vec::new(),
        }
    }
}
