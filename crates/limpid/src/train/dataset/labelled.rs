//! Labelled texts for a classifier.
//!
//! ```
//! use limpid::data::labelled::{Example, Location};
//! use limpid::data::template::EncoderTemplate;
//! use limpid::text::{Purpose, word_tokenizer_for};
//! use limpid::train::dataset::labelled::{encode_example, label_index};
//!
//! let tokenizer = word_tokenizer_for(["a long bore"], Purpose::Encoder)?;
//! let location = Location { file: std::path::Path::new("reviews.tsv").into(), line: 1 };
//! let example = Example { texts: vec!["a long bore".into()], label: "bad".into(), location };
//! assert_eq!(label_index(&["good".into(), "bad".into()], &example, "bad")?, 1);
//! let template = EncoderTemplate::new(&tokenizer)?;
//! let ((ids, _token_types), truncated) = encode_example(&tokenizer, &template, &example, 4)?;
//! assert_eq!((ids.len(), truncated), (4, 1)); // [CLS] a long [SEP]
//! # Ok::<(), limpid::error::Error>(())
//! ```

use super::reader::{Read, Reader, Records, SplitFiles};
use super::{Batch, Split};
use crate::data::batch::{EncodedText, EncoderInput, LabelledBatch, Targets};
use crate::data::clean::{Cleaner, Duplicates};
use crate::data::labelled::{
    Example, LabelKind, TableSpec, label_list, no_examples, sorted_labels,
};
use crate::data::sequence_file::{Recipe, SequenceFile, select_cleaned};
use crate::data::template::EncoderTemplate;
use crate::error::{DataError, DatasetError, Result, RowError};
use crate::model::config::ProblemType;
use crate::report::thousands;
use crate::text::Tokenizer;
use crate::train::config::ClassifyTask;
use crate::train::pretrained::{check_pairs, pretrained_labels};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Texts of a validation batch.
const VALIDATION_TEXTS: usize = 64;

/// Labelled texts for a classifier.
pub struct LabelledExamples {
    pub(super) train: Texts,
    pub(super) validation: Texts,
    /// The first validation examples as text, for samples.
    shown: Vec<Example>,
    problem: ProblemType,
    labels: Vec<String>,
    template: EncoderTemplate,
    context: usize,
}

/// The label of a regression, as `transformers` names it.
const VALUE: &str = "LABEL_0";

/// The examples of one split: of each its texts, then the indices of its labels, or for a
/// regression the bits of its number.
pub(super) struct Texts {
    records: Records,
    /// Texts per example: one or two.
    texts: usize,
}

impl Texts {
    /// Where the sequences of example `i` begin.
    fn first(&self, i: usize) -> usize {
        self.records.which[i] * (self.texts + 1)
    }

    fn count(&self) -> usize {
        self.records.which.len()
    }

    /// The tokens of example `i`, truncated to `longest`, and its label.
    fn get(&self, i: usize, template: &EncoderTemplate, longest: usize) -> (EncodedText, Vec<u32>) {
        let (file, first) = (&self.records.file, self.first(i));
        let second = (self.texts == 2).then(|| file.get(first + 1));
        let (read, _) = template.truncated(&file.get(first), second.as_deref(), longest);
        (read, file.get(first + self.texts))
    }

    /// Tokens of each example, special tokens included, before truncation.
    fn lengths(&self, template: &EncoderTemplate) -> impl Iterator<Item = usize> + '_ {
        let (length, added) = (|text| self.records.file.len_of(text), template.added(self.texts));
        (0..self.count()).map(move |i| {
            (self.first(i)..self.first(i) + self.texts).map(length).sum::<usize>() + added
        })
    }
}

impl Split for Texts {
    fn each(&self, on: &mut dyn FnMut(&[u32])) {
        let texts = (0..self.count()).flat_map(|i| self.first(i)..self.first(i) + self.texts);
        texts.for_each(|text| on(&self.records.file.get(text)));
    }
}

impl LabelledExamples {
    pub(super) fn read(reader: &mut Reader, task: &ClassifyTask) -> Result<Read<Self>> {
        let (data, table, context) = (&task.data, task.data.table(), task.model.context_length);
        let files = SplitFiles::new(
            &data.text[..],
            &data.validation_text,
            data.duplicates,
            data.validation_split,
        );
        let labels = labels(reader, task, &table)?;
        let template = check_pairs(reader.config, reader.tokenizer, table.texts.len())?;
        let both = reader.both(&files, |reader, files, name| {
            token_texts(reader, &table, files, &labels, template.added(1), name)
        })?;
        let (cleaning, texts) = (both.0.cleaning(), table.texts.len());
        let [train, validation] =
            reader.split(both, texts + 1, files.fraction)?.map(|records| Texts { records, texts });
        let (source, policy) = files.held_out();
        if validation.count() == 0 {
            return Err(no_examples(source).into());
        }
        let first =
            &validation.records.which[..reader.config.train.samples.min(validation.count())];
        let shown = select_cleaned(table.examples(source), policy, first).collect::<Result<_>>()?;
        let order = reader.shuffled(train.lengths(&template).map(|length| length.min(context)))?;
        let lengths = train.lengths(&template).chain(validation.lengths(&template));
        let truncated = match lengths.filter(|length| *length > context).count() {
            0 => String::new(),
            count => format!("; {count} texts exceed the context and are truncated"),
        };
        let target = match task.problem {
            ProblemType::Regression => "a number each".to_string(),
            ProblemType::SingleLabel => format!("labels {}", label_list(&labels)),
            ProblemType::MultiLabel => format!("any of the labels {}", label_list(&labels)),
        };
        let description = format!(
            "{} training texts, {} validation texts, {target} ({cleaning}){truncated}",
            thousands(train.count() as u64),
            thousands(validation.count() as u64),
        );
        let problem = task.problem;
        let examples = Self { train, validation, shown, problem, labels, template, context };
        Ok(Read { examples, order, description })
    }

    /// What the labels are.
    pub fn problem(&self) -> ProblemType {
        self.problem
    }

    /// The labels by index.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    pub(super) fn batch(&self, chosen: &[usize]) -> Batch {
        Batch::Labelled(self.batch_of(&self.train, chosen.iter().copied()))
    }

    /// The validation split in batches.
    pub(in crate::train) fn validation_batches(&self) -> impl Iterator<Item = LabelledBatch> + '_ {
        let all = self.validation.count();
        let batch =
            move |first| self.batch_of(&self.validation, first..all.min(first + VALIDATION_TEXTS));
        (0..all).step_by(VALIDATION_TEXTS).map(batch)
    }

    /// The first validation examples as text and as a batch; none if there are no samples.
    pub(in crate::train) fn validation_samples(&self) -> Option<(&[Example], LabelledBatch)> {
        let count = self.shown.len();
        (count > 0).then(|| (&self.shown[..], self.batch_of(&self.validation, 0..count)))
    }

    fn batch_of(&self, texts: &Texts, which: impl Iterator<Item = usize>) -> LabelledBatch {
        let (encoded, labels): (Vec<EncodedText>, Vec<Vec<u32>>) =
            which.map(|i| texts.get(i, &self.template, self.context)).unzip();
        let labels = targets(self.problem, self.labels.len(), &labels);
        LabelledBatch { input: EncoderInput::new(&encoded), labels }
    }
}

/// Targets of the stored labels of some examples.
fn targets(problem: ProblemType, count: usize, labels: &[Vec<u32>]) -> Targets {
    match problem {
        ProblemType::SingleLabel => Targets::Labels(labels.concat()),
        ProblemType::Regression => {
            Targets::Values(labels.iter().map(|bits| f32::from_bits(bits[0])).collect())
        }
        ProblemType::MultiLabel => {
            let mut values = vec![0.0; labels.len() * count];
            for (i, names) in labels.iter().enumerate() {
                names.iter().for_each(|label| values[i * count + *label as usize] = 1.0);
            }
            Targets::Values(values)
        }
    }
}

/// The targets of examples as a classifier with these labels is trained on them.
///
/// # Errors
/// [`DataError::UnknownLabel`] if a label is not among `labels`.
pub fn example_targets(
    problem: ProblemType,
    labels: &[String],
    examples: &[Example],
) -> Result<Targets> {
    let stored = examples.iter().map(|example| stored_labels(problem, labels, example));
    Ok(targets(problem, labels.len(), &stored.collect::<Result<Vec<_>>>()?))
}

/// The labels of an example as numbers.
fn stored_labels(problem: ProblemType, labels: &[String], example: &Example) -> Result<Vec<u32>> {
    match problem {
        ProblemType::SingleLabel => Ok(vec![label_index(labels, example, &example.label)?]),
        ProblemType::Regression => Ok(vec![example.number().to_bits()]),
        ProblemType::MultiLabel => {
            example.names().iter().map(|name| label_index(labels, example, name)).collect()
        }
    }
}

/// The labels of the data by index. Those of the pretrained model are kept if they cover the data.
fn labels(reader: &Reader, task: &ClassifyTask, table: &TableSpec) -> Result<Vec<String>> {
    let known = pretrained_labels(reader.config)?;
    if task.problem == ProblemType::Regression {
        return Ok(known.filter(|names| names.len() == 1).unwrap_or_else(|| vec![VALUE.into()]));
    }
    let found = labels_of(table, &task.data.text, task.data.duplicates)?;
    let labels = match known {
        Some(known) if found.iter().all(|label| known.contains(label)) => known,
        _ => found,
    };
    match (task.problem, &labels[..]) {
        (_, []) => {
            Err(DataError::NoExamples { files: task.data.text.clone(), what: "labels" }.into())
        }
        (ProblemType::SingleLabel, [label]) => {
            Err(DatasetError::OneLabel { label: label.clone() }.into())
        }
        _ => Ok(labels),
    }
}

/// The index of a label of an example.
///
/// # Errors
/// [`DataError::UnknownLabel`] if it is not among `labels`.
pub fn label_index(labels: &[String], example: &Example, label: &str) -> Result<u32> {
    let index = labels.iter().position(|known| known == label);
    let unknown = || DataError::UnknownLabel {
        path: example.location.file.to_path_buf(),
        line: example.location.line,
        label: label.to_string(),
        known: labels.to_vec(),
    };
    Ok(index.ok_or_else(unknown)? as u32)
}

/// The token ids of an example of one text or two, truncated to `longest`, and how many tokens were
/// dropped.
///
/// # Errors
/// If the tokenizer refuses a text.
pub fn encode_example(
    tokenizer: &Tokenizer,
    template: &EncoderTemplate,
    example: &Example,
    longest: usize,
) -> Result<(EncodedText, usize)> {
    let first = tokenizer.encode(&example.texts[0])?;
    let second = example.texts.get(1).map(|text| tokenizer.encode(text)).transpose()?;
    Ok(template.truncated(&first, second.as_deref(), longest))
}

/// All labels of some files, in order.
fn labels_of(table: &TableSpec, files: &[PathBuf], policy: Duplicates) -> Result<Vec<String>> {
    let (mut cleaner, mut labels) = (Cleaner::new(policy), BTreeSet::new());
    for example in table.cleaned(files, &mut cleaner) {
        labels.extend(table.names(&example?));
    }
    if cleaner.stats().kept == 0 {
        return Err(no_examples(files).into());
    }
    Ok(sorted_labels(labels))
}

fn token_texts(
    reader: &mut Reader,
    table: &TableSpec,
    (files, policy): (&[PathBuf], Duplicates),
    labels: &[String],
    added: usize,
    name: &str,
) -> Result<SequenceFile> {
    let tokenizer = reader.tokenizer;
    let (problem, is_number) = (problem_of(table.labels), table.labels == LabelKind::Number);
    let processing = format!("{table:?}, labels {labels:?}");
    let most = if is_number { u32::MAX as usize } else { labels.len() };
    let id_limit = tokenizer.vocab_size().max(most);
    let recipe = Recipe { files, processing, tokenizer, id_limit, clean: Some(policy) };
    let tokenize = |example: &Example| {
        let texts = example.texts.iter().map(|text| tokenizer.encode(text));
        let mut stored = texts.collect::<Result<Vec<_>>>()?;
        if added == 0 && stored.iter().all(Vec::is_empty) {
            let (path, line) = (example.location.file.to_path_buf(), example.location.line);
            return Err(DataError::Row { path, line, problem: RowError::NoTokens }.into());
        }
        stored.push(stored_labels(problem, labels, example)?);
        Ok(stored)
    };
    reader.tokenize(name, &recipe, || Ok(table.examples(files)), tokenize)
}

/// What is trained on such labels.
pub fn problem_of(labels: LabelKind) -> ProblemType {
    match labels {
        LabelKind::One => ProblemType::SingleLabel,
        LabelKind::Number => ProblemType::Regression,
        LabelKind::Several { .. } => ProblemType::MultiLabel,
    }
}
