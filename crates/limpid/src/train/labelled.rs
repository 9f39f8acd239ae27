//! Labelled texts for a classifier.

use super::config::RunConfig;
use super::examples::{Part, USUAL_SHARE};
use crate::data::batch::{LabelledBatch, Typed};
use crate::data::clean::{Cleaner, Cleaning, Duplicates};
use crate::data::frame::Frame;
use crate::data::labelled::{Example, TableSpec, in_label_order, listed, no_examples};
use crate::data::order::PairOrder;
use crate::data::sequence_file::{Recipe, SequenceFile, pick};
use crate::data::split::{Split, split};
use crate::encode::Read;
use crate::error::{Error, Result};
use crate::eval::classification::Confusion;
use crate::eval::encoder::class_score;
use crate::eval::loss::Loss;
use crate::model::Bert;
use crate::text::Tokenizer;
use limpid_tensor::params::Params;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Texts that are validated together.
const AT_A_TIME: usize = 64;

/// Labelled texts.
pub struct LabelledExamples {
    train: Texts,
    validation: Texts,
    /// The first of those kept back, as they are written.
    shown: Vec<Example>,
    labels: Vec<String>,
    frame: Frame,
    context: usize,
    order: PairOrder,
    cleaning: Cleaning,
    /// Texts that were too long and are read from their beginning.
    cut: usize,
}

/// Examples in a file of tokens: of each its texts, then the number of its label.
struct Texts {
    file: Arc<SequenceFile>,
    /// Texts of an example: one or two.
    texts: usize,
    which: Vec<usize>,
}

impl Texts {
    /// The tokens of example `i` of these, cut to `longest`, and its label.
    fn get(&self, i: usize, frame: Frame, longest: usize) -> (Read, u32) {
        let first = self.which[i] * (self.texts + 1);
        let second = (self.texts == 2).then(|| self.file.get(first + 1));
        let (read, _) = frame.cut(&self.file.get(first), second.as_deref(), longest);
        (read, self.file.get(first + self.texts)[0])
    }

    /// Tokens of example `i` with its special tokens, all of them.
    fn length(&self, i: usize) -> usize {
        let first = self.which[i] * (self.texts + 1);
        (0..self.texts).map(|text| self.file.len_of(first + text) + 1).sum::<usize>() + 1
    }

    fn each(&self, on: &mut dyn FnMut(&[u32])) {
        let first = |example: &usize| example * (self.texts + 1);
        let texts = self.which.iter().flat_map(|example| first(example)..first(example) + self.texts);
        texts.for_each(|text| on(&self.file.get(text)));
    }

    fn lengths(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.which.len()).map(|i| self.length(i))
    }
}

impl LabelledExamples {
    /// All texts of a part.
    pub(super) fn each(&self, part: Part, on: &mut dyn FnMut(&[u32])) {
        match part {
            Part::Learnt => self.train.each(on),
            Part::Kept => self.validation.each(on),
        }
    }

    /// `known` are the labels of a model that is trained further: they stay if they cover what there is.
    pub(super) fn read(
        config: &RunConfig,
        tokenizer: &Tokenizer,
        known: Option<Vec<String>>,
        cache: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let (data, table, seed) = (&config.data, config.table()?, config.train.seed);
        let found = labels_of(&table, &data.text, config.duplicates())?;
        let labels = match known {
            Some(known) if found.iter().all(|label| known.contains(label)) => known,
            _ => found,
        };
        if labels.len() < 2 {
            return Err(Error::data(format!(
                "every text has the label {}: there is nothing to tell apart",
                labels[0]
            ))
            .hint("give examples of at least two classes; is table.label the right column?"));
        }
        let frame = Frame::of(tokenizer)?;
        let mut cut = |files: &[PathBuf], policy, name| {
            token_texts((&table, files, policy), tokenizer, &labels, &cache.join(name), progress)
                .map(Arc::new)
        };
        let file = cut(&data.text, config.duplicates(), "train")?;
        let texts = table.texts.len();
        let examples = |file: &SequenceFile| file.count() / (texts + 1);
        let (train, validation, source) = if data.validation_text.is_empty() {
            let share = data.validation_share.unwrap_or(USUAL_SHARE);
            let (train, kept) = split(examples(&file), Split::Random { share, seed })?;
            let kept = Texts { file: file.clone(), texts, which: kept };
            (train, kept, (&data.text, config.duplicates()))
        } else {
            // What is measured is not cleaned of duplicates.
            let kept = cut(&data.validation_text, Duplicates::Keep, "validation")?;
            let which = (0..examples(&kept)).collect();
            (
                (0..examples(&file)).collect(),
                Texts { file: kept, texts, which },
                (&data.validation_text, Duplicates::Keep),
            )
        };
        if validation.which.is_empty() {
            return Err(no_examples(source.0));
        }
        let first = &validation.which[..config.train.samples.min(validation.which.len())];
        let shown = pick(table.examples(source.0), source.1, first).collect::<Result<_>>()?;
        let cleaning = file.cleaning();
        let train = Texts { file, texts, which: train };
        let context = config.model.context;
        let cut = train.lengths().chain(validation.lengths()).filter(|length| *length > context).count();
        let lengths: Vec<usize> = train.lengths().map(|length| length.min(context)).collect();
        let order = PairOrder::new(seed, &lengths, config.train.batch_tokens, config.bucketing()?)?;
        Ok(Self { train, validation, shown, labels, frame, context, order, cleaning, cut })
    }

    /// The labels, by number.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    pub(super) fn batch(&mut self, n: u64) -> LabelledBatch {
        let chosen = self.order.batch(n);
        self.batch_of(&self.train, chosen.into_iter())
    }

    pub(super) fn order(&mut self) -> &mut PairOrder {
        &mut self.order
    }

    pub(super) fn validate(&self, model: (&Bert, &Params)) -> (Loss, Confusion) {
        let all = self.validation.which.len();
        let group = |first| self.batch_of(&self.validation, first..all.min(first + AT_A_TIME));
        class_score(model, (0..all).step_by(AT_A_TIME).map(group))
    }

    pub(super) fn describe(&self) -> String {
        let cut = match self.cut {
            0 => String::new(),
            cut => format!("; {cut} texts are longer than the context and are read from their beginning"),
        };
        format!(
            "{} texts to learn from, {} kept for validation, labels {} ({}){cut}",
            self.train.which.len(),
            self.validation.which.len(),
            listed(&self.labels),
            self.cleaning
        )
    }

    /// The first texts that were kept back, what they are taken for, and what they are.
    pub(super) fn samples(
        &self,
        (bert, params): (&Bert, &Params),
        count: usize,
    ) -> Result<Vec<(String, String, Option<String>)>> {
        let count = count.min(self.shown.len());
        if count == 0 {
            return Ok(Vec::new());
        }
        let batch = self.batch_of(&self.validation, 0..count);
        let mut tape = limpid_tensor::tape::Tape::inference(params);
        let hidden = bert.hidden(&mut tape, &batch.input);
        let logits = bert.class_logits(&mut tape, &hidden, &batch.input);
        let sample = |(i, example): (usize, &Example)| {
            let said = self.labels[crate::decode::argmax(logits.value().row(i))].clone();
            (example.texts.join(" | "), said, Some(example.label.clone()))
        };
        Ok(self.shown[..count].iter().enumerate().map(sample).collect())
    }

    fn batch_of(&self, texts: &Texts, which: impl Iterator<Item = usize>) -> LabelledBatch {
        let (reads, labels): (Vec<Read>, Vec<u32>) =
            which.map(|i| texts.get(i, self.frame, self.context)).unzip();
        let pairs: Vec<(&[u32], &[u32])> = reads.iter().map(|(ids, types)| (&ids[..], &types[..])).collect();
        LabelledBatch { input: Typed::new(&pairs), labels }
    }
}

/// The number of an example's label, or an error that lists those there are.
pub fn label_number(labels: &[String], Example { label, place, .. }: &Example) -> Result<u32> {
    let number = labels.iter().position(|known| known == label);
    number.map(|number| number as u32).ok_or_else(|| {
        Error::format(
            &place.file,
            format!("line {}: the label '{label}' was not seen in training", place.line),
        )
        .hint(format!("known are: {}", listed(labels)))
    })
}

/// The tokens of an example of one text or two, and how many were left out because there are more than `longest`.
pub fn tokens(
    tokenizer: &Tokenizer,
    frame: Frame,
    example: &Example,
    longest: usize,
) -> Result<(Read, usize)> {
    let first = tokenizer.encode(&example.texts[0])?;
    let second = example.texts.get(1).map(|text| tokenizer.encode(text)).transpose()?;
    Ok(frame.cut(&first, second.as_deref(), longest))
}

/// The labels there are, in order.
fn labels_of(table: &TableSpec, files: &[PathBuf], policy: Duplicates) -> Result<Vec<String>> {
    let (mut cleaner, mut labels) = (Cleaner::new(policy), BTreeSet::new());
    for example in table.cleaned(files, &mut cleaner) {
        let example = example?;
        if !labels.contains(&example.label) {
            labels.insert(example.label);
        }
    }
    in_label_order(labels, files)
}

fn token_texts(
    (table, files, policy): (&TableSpec, &[PathBuf], Duplicates),
    tokenizer: &Tokenizer,
    labels: &[String],
    path: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<SequenceFile> {
    let how = format!("{table:?}, labels {labels:?}");
    let ids = tokenizer.vocab_size().max(labels.len());
    let recipe = Recipe { files, how, tokenizer, ids, clean: Some(policy) };
    let cut = |example: &Example| {
        let texts = example.texts.iter().map(|text| tokenizer.encode(text));
        texts.chain([label_number(labels, example).map(|label| vec![label])]).collect()
    };
    SequenceFile::build(path, &recipe, || Ok(table.examples(files)), cut, progress)
}
