//! Labelled texts for a classifier.

use super::{Batch, Dataset, Split, numbers_of};
use crate::data::batch::EncodedText;
use crate::data::batch::{EncoderInput, LabelledBatch};
use crate::data::clean::{Cleaner, Cleaning, Duplicates};
use crate::data::labelled::{Example, TableSpec, label_list, no_examples, sorted_labels};
use crate::data::sampler::BatchSampler;
use crate::data::sequence_file::{Recipe, SequenceFile, select_cleaned};
use crate::data::split::split;
use crate::data::template::EncoderTemplate;
use crate::error::{DataError, DatasetError, Result};
use crate::text::Tokenizer;
use crate::train::config::{ClassifyTask, RunConfig};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Texts of a validation batch.
const VALIDATION_TEXTS: usize = 64;

/// Labelled texts for a classifier.
pub struct LabelledDataset {
    train: Texts,
    validation: Texts,
    /// The first validation examples as text, for samples.
    shown: Vec<Example>,
    labels: Vec<String>,
    template: EncoderTemplate,
    context: usize,
    order: BatchSampler,
    cleaning: Cleaning,
    /// Micro-batches of a step.
    accumulate: u64,
    /// Texts that are truncated to the context.
    truncated: usize,
}

/// Examples in a file of token ids: of each its texts, then the index of its label.
struct Texts {
    file: Arc<SequenceFile>,
    /// Texts per example: one or two.
    texts: usize,
    which: Vec<usize>,
}

impl Texts {
    /// The tokens of example `i`, truncated to `longest`, and its label.
    fn get(&self, i: usize, template: EncoderTemplate, longest: usize) -> (EncodedText, u32) {
        let first = self.which[i] * (self.texts + 1);
        let second = (self.texts == 2).then(|| self.file.get(first + 1));
        let (read, _) = template.truncated(&self.file.get(first), second.as_deref(), longest);
        (read, self.file.get(first + self.texts)[0])
    }

    /// Tokens of example `i`, special tokens included, before truncation.
    fn length(&self, i: usize) -> usize {
        let first = self.which[i] * (self.texts + 1);
        (0..self.texts).map(|text| self.file.len_of(first + text) + 1).sum::<usize>() + 1
    }

    fn each(&self, on: &mut dyn FnMut(&[u32])) {
        let first = |example: &usize| example * (self.texts + 1);
        let texts =
            self.which.iter().flat_map(|example| first(example)..first(example) + self.texts);
        texts.for_each(|text| on(&self.file.get(text)));
    }

    fn lengths(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.which.len()).map(|i| self.length(i))
    }
}

impl Dataset for LabelledDataset {
    fn micro_batches(&mut self, step: u64) -> Vec<Batch> {
        numbers_of(step, self.accumulate).map(|n| Batch::Labelled(self.batch(n))).collect()
    }
}

impl LabelledDataset {
    /// All texts of a split.
    pub(super) fn each(&self, split: Split, on: &mut dyn FnMut(&[u32])) {
        match split {
            Split::Train => self.train.each(on),
            Split::Validation => self.validation.each(on),
        }
    }

    /// `known` are the labels of the pretrained model: they are kept if they cover the data.
    pub(super) fn read(
        (config, task): (&RunConfig, &ClassifyTask),
        tokenizer: &Tokenizer,
        known: Option<Vec<String>>,
        cache: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let (data, table, seed) = (&task.data, task.data.table(), config.train.seed);
        let found = labels_of(&table, &data.text, data.duplicates)?;
        let labels = match known {
            Some(known) if found.iter().all(|label| known.contains(label)) => known,
            _ => found,
        };
        if labels.len() < 2 {
            return Err(DatasetError::OneLabel { label: labels[0].clone() }.into());
        }
        let template = EncoderTemplate::new(tokenizer)?;
        let mut cut = |files: &[PathBuf], policy, name| {
            token_texts((&table, files, policy), tokenizer, &labels, &cache.join(name), progress)
                .map(Arc::new)
        };
        let file = cut(&data.text, data.duplicates, "train")?;
        let texts = table.texts.len();
        let examples = |file: &SequenceFile| file.count() / (texts + 1);
        let (train, validation, source) = if let Some(fraction) = data.validation_split {
            let (train, kept) = split(examples(&file), fraction, seed)?;
            let kept = Texts { file: file.clone(), texts, which: kept };
            (train, kept, (&data.text, data.duplicates))
        } else {
            // Validation examples keep their duplicates.
            let kept = cut(&data.validation_text, Duplicates::Keep, "validation")?;
            let which = (0..examples(&kept)).collect();
            (
                (0..examples(&file)).collect(),
                Texts { file: kept, texts, which },
                (&data.validation_text, Duplicates::Keep),
            )
        };
        if validation.which.is_empty() {
            return Err(no_examples(source.0).into());
        }
        let first = &validation.which[..config.train.samples.min(validation.which.len())];
        let shown =
            select_cleaned(table.examples(source.0), source.1, first).collect::<Result<_>>()?;
        let cleaning = file.cleaning();
        let train = Texts { file, texts, which: train };
        let context = task.model.context_length;
        let truncated =
            train.lengths().chain(validation.lengths()).filter(|length| *length > context).count();
        let lengths: Vec<usize> = train.lengths().map(|length| length.min(context)).collect();
        let (tokens, bucketing) =
            config.train.batch.budget().expect("labelled texts are batched by tokens");
        let order = BatchSampler::new(seed, &lengths, tokens, bucketing)?;
        let accumulate = config.train.gradient_accumulation_steps as u64;
        Ok(Self {
            train,
            validation,
            shown,
            labels,
            template,
            context,
            order,
            cleaning,
            accumulate,
            truncated,
        })
    }

    /// The labels by index.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Micro-batch `n`, counted over the whole run.
    fn batch(&mut self, n: u64) -> LabelledBatch {
        let chosen = self.order.batch(n);
        self.batch_of(&self.train, chosen.into_iter())
    }

    pub(super) fn order(&mut self) -> &mut BatchSampler {
        &mut self.order
    }

    /// The validation split in batches.
    pub(in crate::train) fn validation_batches(&self) -> impl Iterator<Item = LabelledBatch> + '_ {
        let all = self.validation.which.len();
        let batch =
            move |first| self.batch_of(&self.validation, first..all.min(first + VALIDATION_TEXTS));
        (0..all).step_by(VALIDATION_TEXTS).map(batch)
    }

    /// The first validation examples as text and as a batch; none if there are no samples.
    pub(in crate::train) fn validation_samples(&self) -> Option<(&[Example], LabelledBatch)> {
        let count = self.shown.len();
        (count > 0).then(|| (&self.shown[..], self.batch_of(&self.validation, 0..count)))
    }

    pub(super) fn describe(&self) -> String {
        let truncated = match self.truncated {
            0 => String::new(),
            count => format!("; {count} texts exceed the context and are truncated"),
        };
        format!(
            "{} training texts, {} validation texts, labels {} ({}){truncated}",
            self.train.which.len(),
            self.validation.which.len(),
            label_list(&self.labels),
            self.cleaning
        )
    }

    fn batch_of(&self, texts: &Texts, which: impl Iterator<Item = usize>) -> LabelledBatch {
        let (encoded, labels): (Vec<EncodedText>, Vec<u32>) =
            which.map(|i| texts.get(i, self.template, self.context)).unzip();
        let pairs: Vec<(&[u32], &[u32])> =
            encoded.iter().map(|(ids, types)| (&ids[..], &types[..])).collect();
        LabelledBatch { input: EncoderInput::new(&pairs), labels }
    }
}

/// The index of an example's label.
///
/// # Errors
/// [`DataError::UnknownLabel`] if it is not among `labels`.
pub fn label_index(labels: &[String], example: &Example) -> Result<u32> {
    let index = labels.iter().position(|known| *known == example.label);
    let unknown = || DataError::UnknownLabel {
        path: example.location.file.to_path_buf(),
        line: example.location.line,
        label: example.label.clone(),
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
    template: EncoderTemplate,
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
        let example = example?;
        if !labels.contains(&example.label) {
            labels.insert(example.label);
        }
    }
    sorted_labels(labels, files)
}

fn token_texts(
    (table, files, policy): (&TableSpec, &[PathBuf], Duplicates),
    tokenizer: &Tokenizer,
    labels: &[String],
    path: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<SequenceFile> {
    let processing = format!("{table:?}, labels {labels:?}");
    let id_limit = tokenizer.vocab_size().max(labels.len());
    let recipe = Recipe { files, processing, tokenizer, id_limit, clean: Some(policy) };
    let cut = |example: &Example| {
        let texts = example.texts.iter().map(|text| tokenizer.encode(text));
        texts.chain([label_index(labels, example).map(|label| vec![label])]).collect()
    };
    SequenceFile::build(path, &recipe, || Ok(table.examples(files)), cut, progress)
}
