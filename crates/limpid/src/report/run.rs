//! A run folder as its trainer left it, or leaves it just now: `metrics.jsonl`, `config.toml`, `summary.json`.

use crate::error::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// One line of `metrics.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Metric {
    /// Of training, every few steps.
    Train(Train),
    /// Of text that is not trained on.
    Validation(Validation),
    /// What the model wrote.
    Sample(Sample),
}

/// Of training. What a trainer does not know is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Train {
    /// Steps so far.
    pub step: u64,
    /// Nats a token, of this step or since the last line; null in the file, NaN here, if it is not a number.
    #[serde(deserialize_with = "null_is_nan")]
    pub loss: f64,
    /// Times through the data so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<f64>,
    /// Tokens so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The learning rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lr: Option<f64>,
    /// Norm of the gradient, before clipping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grad_norm: Option<f64>,
    /// Time so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Speed, since the last line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_second: Option<f64>,
}

/// Of text that is not trained on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// Steps so far.
    pub step: u64,
    /// Nats a token.
    #[serde(deserialize_with = "null_is_nan")]
    pub loss: f64,
    /// e to the loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perplexity: Option<f64>,
    /// Of language models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits_per_character: Option<f64>,
    /// Of translators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bleu: Option<f64>,
    /// Of classifiers, and of encoders at hidden words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Of classifiers: the mean of the F1 of the classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub macro_f1: Option<f64>,
    /// Of encoders that read pairs of lines: how often it is known whether the second follows the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair_accuracy: Option<f64>,
    /// Whether it was the best until then.
    #[serde(default)]
    pub best: bool,
    /// At the end: of the mean of the weights of so many checkpoints, not of those of this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoints_averaged: Option<usize>,
}

/// What the model wrote.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Steps so far.
    pub step: u64,
    /// What it was given.
    pub prompt: String,
    /// What it wrote.
    pub text: String,
    /// What was expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// JSON has no NaN and no infinity.
fn null_is_nan<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

/// What is in a run folder.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The name of the folder.
    pub name: String,
    /// Where it is.
    pub folder: PathBuf,
    /// `metrics.jsonl`, in its order.
    pub metrics: Vec<Metric>,
    /// `config.toml`, as it stands there; empty if there is none.
    pub config: String,
    /// The same as keys (`train.steps`) and values.
    pub settings: Vec<(String, String)>,
    /// `summary.json`; empty while the run goes on.
    pub summary: Map<String, Value>,
    /// What was passed over, in words.
    pub notes: Vec<String>,
}

impl Run {
    /// Reads a run folder.
    ///
    /// # Errors
    /// If there is no `metrics.jsonl`, or something in a file is not what it should be: with the file and the line. Only
    /// the last line of `metrics.jsonl` may be half there, as a killed run leaves it; `notes` says so.
    pub fn read(folder: &Path) -> Result<Self> {
        let name = folder
            .canonicalize()
            .ok()
            .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        let name = name.unwrap_or_else(|| folder.display().to_string());
        let mut run = Self { name, folder: folder.to_path_buf(), ..Self::default() };
        let path = folder.join("metrics.jsonl");
        let bytes = std::fs::read(&path).map_err(|e| {
            let error = Error::io("read", &path, &e);
            if e.kind() == std::io::ErrorKind::NotFound {
                error.hint("a run folder, made by `limpid train`, has it")
            } else {
                error
            }
        })?;
        let (metrics, torn) = parse_metrics(&bytes, &path)?;
        run.metrics = metrics;
        run.notes.extend(torn);
        if let Some(text) = run.optional("config.toml")? {
            run.settings = parse_settings(&text, &folder.join("config.toml"))?;
            run.config = text;
        }
        if let Some(text) = run.optional("summary.json")? {
            let wrong = |e| {
                Error::format(&folder.join("summary.json"), format!("not an object in JSON: {e}"))
                    .hint("remove it: limpid train … --resume writes it again")
            };
            run.summary = serde_json::from_str(&text).map_err(wrong)?;
        }
        Ok(run)
    }

    /// A file that need not be there; `notes` says if it is not.
    fn optional(&mut self, name: &str) -> Result<Option<String>> {
        let path = self.folder.join(name);
        match std::fs::read(&path) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(Error::format(&path, "not text in UTF-8")),
            },
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                self.notes.push(format!("There is no {name}."));
                Ok(None)
            }
            Err(e) => Err(Error::io("read", &path, &e)),
        }
    }

    /// The lines of training.
    pub fn train(&self) -> impl Iterator<Item = &Train> {
        self.metrics
            .iter()
            .filter_map(|metric| if let Metric::Train(train) = metric { Some(train) } else { None })
    }

    /// The lines of validation.
    pub fn validation(&self) -> impl Iterator<Item = &Validation> {
        self.metrics.iter().filter_map(|metric| match metric {
            Metric::Validation(validation) => Some(validation),
            _ => None,
        })
    }

    /// The samples.
    pub fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.metrics
            .iter()
            .filter_map(|metric| if let Metric::Sample(sample) = metric { Some(sample) } else { None })
    }

    /// `bleu_by_length` of the summary: the longest length (none in the last group), the number of sentences, BLEU.
    pub fn bleu_by_length(&self) -> Vec<LengthBleu> {
        let groups = self.summary.get("bleu_by_length").and_then(Value::as_array);
        groups.into_iter().flatten().filter_map(|group| LengthBleu::deserialize(group).ok()).collect()
    }
}

/// BLEU of sentences of about one length.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct LengthBleu {
    /// The shortest source.
    pub from: u64,
    /// The longest; none in the last group.
    pub to: Option<u64>,
    /// How many there are.
    pub sentences: u64,
    /// Their BLEU.
    pub bleu: f64,
}

/// The lines of `metrics.jsonl`, and a note if the last one is half there. `path` is for errors.
pub fn parse_metrics(bytes: &[u8], path: &Path) -> Result<(Vec<Metric>, Option<String>)> {
    let mut metrics = Vec::new();
    for (i, line) in bytes.split_inclusive(|&b| b == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(line) {
            Ok(metric) => metrics.push(metric),
            // Lines are written with their line feed: without it, the run was killed while it wrote.
            Err(_) if !line.ends_with(b"\n") => {
                let note =
                    format!("The last line of metrics.jsonl, {}, is half-written and was left out.", i + 1);
                return Ok((metrics, Some(note)));
            }
            Err(e) => {
                return Err(Error::format(path, format!("line {}: {}", i + 1, without_line(&e)))
                    .hint("docs/formats.md says what a line of metrics.jsonl holds"));
            }
        }
    }
    Ok((metrics, None))
}

/// The parser knows one line only: its "at line 1" would contradict ours.
fn without_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((what, _)) => format!("{what}, column {}", error.column()),
        None => text,
    }
}

/// Keys with dots (`train.steps`) and their values, in the order of the keys.
pub(crate) fn parse_settings(text: &str, path: &Path) -> Result<Vec<(String, String)>> {
    let table: toml::Table =
        text.parse().map_err(|e: toml::de::Error| Error::format(path, e.to_string().trim_end()))?;
    let mut settings = Vec::new();
    flatten("", &table, &mut settings);
    settings.sort();
    Ok(settings)
}

fn flatten(prefix: &str, table: &toml::Table, settings: &mut Vec<(String, String)>) {
    for (key, value) in table {
        match value {
            toml::Value::Table(inside) => flatten(&format!("{prefix}{key}."), inside, settings),
            toml::Value::String(text) => settings.push((format!("{prefix}{key}"), text.clone())),
            value => settings.push((format!("{prefix}{key}"), value.to_string())),
        }
    }
}

#[cfg(test)]
mod tests;
