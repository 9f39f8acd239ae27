//! A run folder, of a finished or a running training: `metrics.jsonl`, `config.toml`,
//! `summary.json`.

use crate::error::{Error, ReportError, Result};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// One line of `metrics.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Metric {
    /// A logging step of training.
    Train(Train),
    /// An evaluation on the validation split.
    Validation(Validation),
    /// A generated text.
    Sample(Sample),
}

/// A logging step of training; unknown values are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Train {
    /// Steps so far.
    pub step: u64,
    /// Cross-entropy loss in nats per token, label smoothing included, averaged since the last
    /// line; null in the file, NaN here, if it is not finite.
    #[serde(deserialize_with = "null_is_nan")]
    pub loss: f64,
    /// Epochs so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<f64>,
    /// Tokens so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The learning rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lr: Option<f64>,
    /// Gradient norm before clipping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grad_norm: Option<f64>,
    /// Seconds of training so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Throughput since the last line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_second: Option<f64>,
}

/// An evaluation on the validation split.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// Steps so far.
    pub step: u64,
    /// Cross-entropy loss in nats per token, without label smoothing; of a regression the mean
    /// squared error.
    #[serde(deserialize_with = "null_is_nan")]
    pub loss: f64,
    /// exp(loss), of language models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perplexity: Option<f64>,
    /// Of language models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits_per_character: Option<f64>,
    /// Of translators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bleu: Option<f64>,
    /// Of classifiers, and of masked language models on masked tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Of classifiers: macro-averaged F1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub macro_f1: Option<f64>,
    /// Of classifiers where several labels may apply: micro-averaged F1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_f1: Option<f64>,
    /// Of entities (token classification), or of the words of answers (question answering).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub f1: Option<f64>,
    /// Of answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact_match: Option<f64>,
    /// Of regressions, where it is defined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pearson: Option<f64>,
    /// Of regressions, where it is defined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spearman: Option<f64>,
    /// Of next-sentence prediction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair_accuracy: Option<f64>,
    /// Whether it is the best so far.
    #[serde(default)]
    pub best: bool,
    /// At the end: of the averaged weights of so many checkpoints, not of this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoints_averaged: Option<usize>,
}

/// A generated text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Steps so far.
    pub step: u64,
    /// The prompt or source.
    pub prompt: String,
    /// The generated text.
    pub text: String,
    /// The reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// JSON has no NaN and no infinity.
fn null_is_nan<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

/// The contents of a run folder.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The name of the folder.
    pub name: String,
    /// Where it is.
    pub folder: PathBuf,
    /// `metrics.jsonl`, in its order.
    pub metrics: Vec<Metric>,
    /// The text of `config.toml`; empty if there is none.
    pub config: String,
    /// The same as keys (`train.steps`) and values.
    pub settings: Vec<(String, String)>,
    /// `summary.json`; empty while the run is in progress.
    pub summary: Map<String, Value>,
    /// Warnings: files that are missing, a line that was skipped.
    pub notes: Vec<String>,
}

impl Run {
    /// Reads a run folder.
    /// # Errors
    /// [`ReportError::NotARun`] if there is no `metrics.jsonl`; other variants, with file and line,
    /// if a file is malformed. Only the last line of `metrics.jsonl` may be incomplete, as a killed
    /// run leaves it; `notes` mentions it.
    pub fn read(folder: &Path) -> Result<Self> {
        let name = folder
            .canonicalize()
            .ok()
            .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        let name = name.unwrap_or_else(|| folder.display().to_string());
        let mut run = Self { name, folder: folder.to_path_buf(), ..Self::default() };
        let path = folder.join("metrics.jsonl");
        let bytes = std::fs::read(&path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound if folder.is_dir() => {
                ReportError::NotARun { folder: folder.to_path_buf() }.into()
            }
            _ => Error::io("read", &path, e),
        })?;
        let (metrics, torn) = parse_metrics(&bytes, &path)?;
        run.metrics = metrics;
        run.notes.extend(torn);
        if let Some(text) = run.optional("config.toml")? {
            run.settings = parse_settings(&text, &folder.join("config.toml"))?;
            run.config = text;
        }
        if let Some(text) = run.optional("summary.json")? {
            run.summary = serde_json::from_str(&text).map_err(|e| ReportError::File {
                path: folder.join("summary.json"),
                reason: format!("not a JSON object: {e}"),
            })?;
        }
        Ok(run)
    }

    /// An optional file; `notes` mentions if it is missing.
    fn optional(&mut self, name: &str) -> Result<Option<String>> {
        let path = self.folder.join(name);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(e) if e.kind() == std::io::ErrorKind::InvalidData => {
                Err(ReportError::File { path, reason: "not UTF-8".into() }.into())
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                self.notes.push(format!("There is no {name}."));
                Ok(None)
            }
            Err(e) => Err(Error::io("read", &path, e)),
        }
    }

    /// A value of the configuration by its key, such as `train.steps`.
    pub fn setting(&self, key: &str) -> Option<&str> {
        self.settings.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// What was trained, if the configuration says so.
    pub fn task(&self) -> Option<RunTask> {
        match self.setting("task")? {
            "gpt" => Some(RunTask::LanguageModel),
            "translate" => Some(RunTask::Translation),
            "bert" => Some(RunTask::MaskedLanguageModel),
            "classify" => Some(RunTask::Classification),
            "tag" => Some(RunTask::TokenClassification),
            "answer" => Some(RunTask::QuestionAnswering),
            _ => None,
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
        self.metrics.iter().filter_map(|metric| {
            if let Metric::Sample(sample) = metric { Some(sample) } else { None }
        })
    }

    /// `bleu_by_length` of the summary.
    pub fn bleu_by_length(&self) -> Vec<LengthBleu> {
        let groups = self.summary.get("bleu_by_length").and_then(Value::as_array);
        groups
            .into_iter()
            .flatten()
            .filter_map(|group| LengthBleu::deserialize(group).ok())
            .collect()
    }
}

/// What a run trains: decides which metric its report draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunTask {
    /// A causal language model: perplexity.
    LanguageModel,
    /// A translator: BLEU. Or a summarizer: ROUGE.
    Translation,
    /// A masked language model: accuracy on masked tokens.
    MaskedLanguageModel,
    /// A classifier: accuracy and macro F1, or correlations.
    Classification,
    /// A token classifier: F1 of entities.
    TokenClassification,
    /// Question answering: exact match and F1.
    QuestionAnswering,
}

/// BLEU of sentences of similar length.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct LengthBleu {
    /// Words of the shortest source.
    pub from: u64,
    /// Words of the longest; none in the last group.
    pub to: Option<u64>,
    /// The number of sentences.
    pub sentences: u64,
    /// Their BLEU.
    pub bleu: f64,
}

/// The lines of `metrics.jsonl`, and a note if the last one is incomplete. `path` is for errors.
/// # Errors
/// [`ReportError::Metric`] for a line that is not a metric.
pub fn parse_metrics(bytes: &[u8], path: &Path) -> Result<(Vec<Metric>, Option<String>)> {
    let mut metrics = Vec::new();
    for (i, line) in bytes.split_inclusive(|&b| b == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(line) {
            Ok(metric) => metrics.push(metric),
            // Lines are written with their line feed: without it, the run was killed mid-write.
            Err(_) if !line.ends_with(b"\n") => {
                let last = format!("The last line of metrics.jsonl, {},", i + 1);
                return Ok((metrics, Some(last + " is incomplete and was skipped.")));
            }
            Err(e) => {
                let (path, reason) = (path.to_path_buf(), without_line(&e));
                return Err(ReportError::Metric { path, line: i + 1, reason }.into());
            }
        }
    }
    Ok((metrics, None))
}

/// The parser sees one line only: its "at line 1" would contradict the real number.
fn without_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((what, _)) => format!("{what}, column {}", error.column()),
        None => text,
    }
}

/// Dotted keys (`train.steps`) and their values, sorted.
pub(crate) fn parse_settings(text: &str, path: &Path) -> Result<Vec<(String, String)>> {
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| ReportError::File {
        path: path.to_path_buf(),
        reason: e.to_string().trim_end().to_string(),
    })?;
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
