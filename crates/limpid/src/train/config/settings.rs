//! The keys that were set, by a TOML file and by overrides, before they mean anything.
//!
//! A task asks for its keys by name and type ([`Settings::get`]); what it has not asked for at the
//! end has no effect for it and is an error.

use super::keys::{KEYS, PATHS, nearest};
use super::value::Setting;
use super::{RunConfig, TaskKind};
use crate::error::{Error, Result, SettingError};
use crate::nn::Named;
use crate::text::decode_utf8;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Value;
use toml::de::{DeTable, DeValue};

/// At the start of a path: the data folder.
const DATA: &str = "$LIMPID_DATA";

/// The explicit keys of a run: those of a file, and overrides, which win over it.
///
/// ```
/// use limpid::train::config::Settings;
///
/// let mut settings = Settings::parse("task = \"gpt\"\n[data]\ntext = \"a.txt\"\n")?;
/// settings.set("train.lr=5e-4")?;
/// let config = settings.resolve()?;
/// assert_eq!(config.train.lr, 5e-4);
///
/// let mut settings = Settings::parse("task = \"gpt\"\n[data]\ntext = \"a.txt\"\n")?;
/// settings.set("train.batch_tokens=4096")?;
/// let error = settings.resolve().unwrap_err();
/// assert!(error.to_string().starts_with("train.batch_tokens has no effect for gpt"));
/// # Ok::<(), limpid::error::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    task: TaskKind,
    given: BTreeMap<String, Vec<Given>>,
    asked: BTreeSet<&'static str>,
    file: Option<PathBuf>,
    data_folder: Option<PathBuf>,
}

/// A value, and where it was given.
#[derive(Clone, Debug)]
struct Given {
    value: Value,
    /// As it was written.
    text: String,
    /// Line and column in the file; an override has none.
    place: Option<(usize, usize)>,
}

impl Settings {
    /// The defaults of a task, without its data.
    pub fn new(task: TaskKind) -> Self {
        Self { task, given: BTreeMap::new(), asked: BTreeSet::new(), file: None, data_folder: None }
    }

    /// Reads a TOML file. Its relative paths are relative to its folder; `$LIMPID_DATA` at the
    /// start of a path (of the file or of an override) stands for `data_folder`.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, or has no known task.
    pub fn read(path: &Path, data_folder: Option<&Path>) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|e| Error::io("read", path, e))?;
        let text = decode_utf8(path, 1, bytes)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut settings =
            Self::from_toml(&text, folder, data_folder).map_err(|e| e.in_file(path))?;
        settings.file = Some(path.to_path_buf());
        Ok(settings)
    }

    /// The same from text; paths stay as they are.
    ///
    /// # Errors
    /// The text is not TOML, or has no known task.
    pub fn parse(text: &str) -> Result<Self> {
        Self::from_toml(text, Path::new(""), None)
    }

    /// Takes `$LIMPID_DATA` at the start of a path to stand for this folder.
    pub fn with_data_folder(mut self, folder: Option<PathBuf>) -> Self {
        self.data_folder = folder;
        self
    }

    fn from_toml(text: &str, folder: &Path, data_folder: Option<&Path>) -> Result<Self> {
        let table = DeTable::parse(text).map_err(|error| syntax(text, &error))?;
        let mut settings =
            Self::new(TaskKind::Gpt).with_data_folder(data_folder.map(Path::to_path_buf));
        let mut task = None;
        for (section, value) in table.get_ref() {
            let section = section.get_ref();
            let DeValue::Table(keys) = value.get_ref() else {
                let given = given(text, value.span(), value.get_ref());
                if section == "task" {
                    task = Some(settings.parsed("task", &given)?);
                } else {
                    settings.insert(section.to_string(), given, folder)?;
                }
                continue;
            };
            for (key, value) in keys {
                let given = given(text, value.span(), value.get_ref());
                settings.insert(format!("{section}.{}", key.get_ref()), given, folder)?;
            }
        }
        settings.task = task.ok_or(SettingError::Missing {
            key: "task",
            needs: "it says what is trained: gpt, translate, bert, classify, tag or answer",
        })?;
        Ok(settings)
    }

    /// Sets a key from text of the form `train.steps=500`. A value that is not TOML is a string.
    ///
    /// # Errors
    /// The text is not of that form, or names a path in a data folder that is not given.
    pub fn set(&mut self, text: &str) -> Result<()> {
        let not = || SettingError::NotKeyValue { text: text.into() };
        let (key, value) = text.split_once('=').ok_or_else(not)?;
        let (key, value) = (key.trim(), value.trim());
        if key.is_empty() {
            return Err(not().into());
        }
        let line = format!("v = {value}");
        let parsed = DeTable::parse(&line).ok().and_then(|table| {
            let only = table.get_ref().len() == 1;
            table.get_ref().get("v").filter(|_| only).map(|value| plain(value.get_ref()))
        });
        let parsed = parsed.unwrap_or_else(|| Value::String(value.into()));
        let given = Given { value: parsed, text: value.into(), place: None };
        self.insert(key.into(), given, Path::new(""))
    }

    /// Sets a key to paths.
    ///
    /// # Errors
    /// A path is not UTF-8: a configuration is text and cannot hold it.
    pub fn set_paths(&mut self, key: &str, paths: &[PathBuf]) -> Result<()> {
        let text = |path: &PathBuf| match path.to_str() {
            Some(text) => Ok(Value::String(text.into())),
            None => Err(SettingError::NotUtf8 { path: path.clone() }),
        };
        let value = Value::Array(paths.iter().map(text).collect::<Result<_, _>>()?);
        let value = match value {
            Value::Array(mut one) if one.len() == 1 => one.remove(0),
            several => several,
        };
        let text = value.to_string();
        self.given.entry(key.into()).or_default().push(Given { value, text, place: None });
        Ok(())
    }

    fn insert(&mut self, key: String, mut given: Given, folder: &Path) -> Result<()> {
        if PATHS.contains(&&key[..]) {
            let all = match &mut given.value {
                Value::Array(all) => all.iter_mut().collect(),
                one => vec![one],
            };
            for value in all {
                if let Value::String(path) = value {
                    *path = self.resolved(&key, path, folder)?;
                }
            }
        }
        self.given.entry(key).or_default().push(given);
        Ok(())
    }

    /// A path as it is meant: in the data folder, or in the folder of the file.
    fn resolved(&self, key: &str, path: &str, folder: &Path) -> Result<String> {
        let path = Path::new(path);
        let path = match (path.strip_prefix(DATA), &self.data_folder) {
            (Ok(rest), Some(data)) => data.join(rest),
            (Ok(_), None) => {
                let (key, path) = (key.to_string(), path.to_path_buf());
                return Err(SettingError::NoDataFolder { key, path }.into());
            }
            (Err(_), _) => folder.join(path),
        };
        let not = || SettingError::NotUtf8 { path: path.clone() };
        Ok(path.to_str().ok_or_else(not)?.to_string())
    }

    /// What is trained.
    pub fn task(&self) -> TaskKind {
        self.task
    }

    /// Typed, complete and validated. The sizes of a pretrained model (`model.from`) are read from
    /// its folder.
    ///
    /// # Errors
    /// A key is unknown, has no effect for the task, or has a value that cannot work; a
    /// pretrained model cannot be read or does not fit.
    pub fn resolve(self) -> Result<RunConfig> {
        self.resolve_with(RunConfig::from_settings)
    }

    /// The same for a file that a run has saved: it is complete, and a pretrained model is not
    /// looked at, so it need not be there any more.
    pub(in crate::train) fn resolve_saved(self) -> Result<RunConfig> {
        self.resolve_with(RunConfig::from_saved_settings)
    }

    fn resolve_with(
        mut self,
        read: impl FnOnce(&mut Settings) -> Result<RunConfig>,
    ) -> Result<RunConfig> {
        read(&mut self).map_err(|error| match error {
            Error::Setting(error) => self.located(error),
            other => other,
        })
    }

    /// The same error with the place of its key in the file, if the file has set it.
    fn located(&self, error: SettingError) -> Error {
        let Some(file) = &self.file else { return error.into() };
        let last = error.key().and_then(|key| self.given.get(key)).and_then(|all| all.last());
        let from_file = |given: &Given| given.place;
        match (last, last.and_then(from_file)) {
            (Some(_), Some((line, column))) if !matches!(error, SettingError::At { .. }) => {
                let source = Box::new(error);
                Error::from(SettingError::At { line, column, source }).in_file(file)
            }
            // An override is at fault, not the file.
            (Some(_), None) => error.into(),
            _ => Error::from(error).in_file(file),
        }
    }

    /// The value of a key, if it is set. From now on the key counts as one that has an effect.
    pub(super) fn get<T: Setting>(&mut self, key: &'static str) -> Result<Option<T>> {
        debug_assert!(KEYS.contains(&key), "{key} is not in the list of keys");
        self.asked.insert(key);
        let mut last = None;
        // All of them: a wrong value is not hidden by a later one for the same key.
        for given in self.given.get(key).into_iter().flatten() {
            last = Some(self.parsed(key, given)?);
        }
        Ok(last)
    }

    fn parsed<T: Setting>(&self, key: &str, given: &Given) -> Result<T> {
        T::parse(&given.value).map_err(|expected| {
            let (key, found) = (key.to_string(), given.text.clone());
            let error = SettingError::Invalid { key, found, expected };
            Error::from(match given.place {
                Some((line, column)) => SettingError::At { line, column, source: Box::new(error) },
                None => error,
            })
        })
    }

    /// Of two keys that exclude each other the one that counts, as what it stands for: an override
    /// replaces the other in the file.
    pub(super) fn exclusive<A: Setting, B: Setting, T>(
        &mut self,
        (first, from_first): (&'static str, impl FnOnce(A) -> T),
        (second, from_second): (&'static str, impl FnOnce(B) -> T),
        reason: &str,
    ) -> Result<Option<T>> {
        let (a, b) = (self.get(first)?.map(from_first), self.get(second)?.map(from_second));
        if a.is_none() || b.is_none() {
            return Ok(a.or(b));
        }
        let is_override =
            |key: &str| self.given[key].last().is_some_and(|given| given.place.is_none());
        match (is_override(first), is_override(second)) {
            (true, false) => Ok(a),
            (false, true) => Ok(b),
            _ => {
                let (key, other, reason) = (first.to_string(), second.to_string(), reason.into());
                Err(SettingError::Conflict { key, other, reason }.into())
            }
        }
    }

    /// The keys that have an effect, in the order of [`KEYS`].
    pub(super) fn effective(&self) -> impl Iterator<Item = &'static str> + '_ {
        KEYS.iter().copied().filter(|key| self.asked.contains(key))
    }

    /// Refuses keys that nothing has asked for: `reason` says why one has no effect.
    pub(super) fn finish(&self, reason: impl Fn(&str) -> &'static str) -> Result<()> {
        let Some(key) = self.given.keys().find(|key| !self.asked.contains(&key[..])) else {
            return Ok(());
        };
        let (key, task, reason) = (key.clone(), self.task.name(), reason(key).to_string());
        Err(match KEYS.contains(&&key[..]) {
            true => SettingError::NoEffect { key, task, reason },
            false => SettingError::Unknown { nearest: nearest(&key), key },
        }
        .into())
    }
}

fn given(text: &str, span: Range<usize>, value: &DeValue) -> Given {
    let place = Some(place(text, span.start));
    Given { value: plain(value), text: text.get(span).unwrap_or_default().into(), place }
}

/// Line and column of a byte, from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

fn syntax(text: &str, error: &toml::de::Error) -> SettingError {
    let (line, column) = place(text, error.span().map_or(0, |span| span.start));
    SettingError::Syntax { line, column, message: error.message().into() }
}

/// A value without its place. A whole number with more digits than fit becomes a float, which no
/// whole number is read from.
fn plain(value: &DeValue) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::Float(number.as_str().parse().unwrap_or(f64::INFINITY)),
        },
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(value) => Value::Boolean(*value),
        DeValue::Datetime(value) => Value::Datetime(*value),
        DeValue::Array(all) => {
            Value::Array(all.iter().map(|value| plain(value.get_ref())).collect())
        }
        DeValue::Table(keys) => Value::Table(
            keys.iter().map(|(k, v)| (k.get_ref().to_string(), plain(v.get_ref()))).collect(),
        ),
    }
}
