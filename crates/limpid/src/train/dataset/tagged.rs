//! Sentences with labelled words, for a token classifier.
//!
//! The first token of a word has its label, other tokens have none: as in the examples of
//! `transformers`. A sentence is tokenized as a text, its words between spaces, because that is
//! what a trained model is given.
//!
//! ```text
//! words     EU       rejects        .
//! labels    B-ORG    O              O
//! tokens    [CLS]    eu     reject  ##s   .     [SEP]
//! targets   −        B-ORG  O       −     O     −
//! ```

use super::reader::{Read, Reader, Records, SplitFiles};
use super::{Batch, Split};
use crate::data::batch::{EncodedText, EncoderInput, TaggedBatch};
use crate::data::clean::{Cleaner, Duplicates};
use crate::data::labelled::{label_list, no_examples, sorted_labels};
use crate::data::sequence_file::{Recipe, Record, SequenceFile, select_cleaned};
use crate::data::tagged::{Sentence, TaggedSpec};
use crate::data::template::EncoderTemplate;
use crate::error::{DataError, DatasetError, Result};
use crate::report::thousands;
use crate::text::Tokenizer;
use crate::train::config::TagTask;
use crate::train::pretrained::{check_pairs, pretrained_labels};
use limpid_tensor::kernels::cross_entropy::IGNORE;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Sentences of a validation batch.
const VALIDATION_SENTENCES: usize = 64;

/// Sequences of a record: tokens, then the label of each.
const WIDTH: usize = 2;

/// Sentences with labelled words.
pub struct TaggedExamples {
    pub(super) train: Records,
    pub(super) validation: Records,
    /// The first validation sentences as text, for samples.
    shown: Vec<Sentence>,
    labels: Vec<String>,
    template: EncoderTemplate,
    context: usize,
}

impl Split for Records {
    fn each(&self, on: &mut dyn FnMut(&[u32])) {
        self.which.iter().for_each(|i| on(&self.file.get(i * WIDTH)));
    }
}

impl TaggedExamples {
    pub(super) fn read(reader: &mut Reader, task: &TagTask) -> Result<Read<Self>> {
        let (data, spec, context) = (&task.data, task.data.spec(), task.model.context_length);
        let files = SplitFiles::new(
            &data.text[..],
            &data.validation_text,
            data.duplicates,
            data.validation_split,
        );
        let labels = labels(reader, &spec, &data.text, data.duplicates)?;
        let template = check_pairs(reader.config, reader.tokenizer, 1)?;
        let both = reader.both(&files, |reader, files, name| {
            token_sentences(reader, &spec, files, &labels, name)
        })?;
        let cleaning = both.0.cleaning();
        let [train, validation] = reader.split(both, WIDTH, files.fraction)?;
        let (source, policy) = files.held_out();
        if validation.which.is_empty() {
            return Err(no_examples(source).into());
        }
        let first = &validation.which[..reader.config.train.samples.min(validation.which.len())];
        let shown = select_cleaned(spec.sentences(source), policy, first).collect::<Result<_>>()?;
        let added = template.added(1);
        let lengths = |records: &Records| {
            let lengths = records.which.iter().map(|i| records.file.len_of(i * WIDTH) + added);
            lengths.collect::<Vec<usize>>()
        };
        let (trained, held_out) = (lengths(&train), lengths(&validation));
        let order = reader.shuffled(trained.iter().map(|length| *length.min(&context)))?;
        let truncated =
            match trained.iter().chain(&held_out).filter(|length| **length > context).count() {
                0 => String::new(),
                count => format!("; {count} sentences exceed the context and are truncated"),
            };
        let description = format!(
            "{} training sentences, {} validation sentences, labels {} ({cleaning}){truncated}",
            thousands(train.which.len() as u64),
            thousands(validation.which.len() as u64),
            label_list(&labels),
        );
        let examples = Self { train, validation, shown, labels, template, context };
        Ok(Read { examples, order, description })
    }

    /// The labels by index.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    pub(super) fn batch(&self, chosen: &[usize]) -> Batch {
        Batch::Tagged(self.batch_of(&self.train, chosen.iter().copied()))
    }

    /// The validation split in batches.
    pub(in crate::train) fn validation_batches(&self) -> impl Iterator<Item = TaggedBatch> + '_ {
        let all = self.validation.which.len();
        let batch = move |first: usize| {
            self.batch_of(&self.validation, first..all.min(first + VALIDATION_SENTENCES))
        };
        (0..all).step_by(VALIDATION_SENTENCES).map(batch)
    }

    /// The first validation sentences as text and as a batch; none if there are no samples.
    pub(in crate::train) fn validation_samples(&self) -> Option<(&[Sentence], TaggedBatch)> {
        let count = self.shown.len();
        (count > 0).then(|| (&self.shown[..], self.batch_of(&self.validation, 0..count)))
    }

    fn batch_of(&self, records: &Records, which: impl Iterator<Item = usize>) -> TaggedBatch {
        let sentence = |i: usize| {
            let first = records.which[i] * WIDTH;
            let labels = records.file.get(first + 1);
            let none = self.labels.len() as u32;
            let labels = labels.into_iter().map(|label| if label == none { IGNORE } else { label });
            (records.file.get(first), labels.collect())
        };
        tagged_batch(&self.template, self.context, which.map(sentence))
    }
}

/// A batch of sentences, each with its tokens and the label of each token, truncated to `longest`
/// tokens. Special tokens have no label.
fn tagged_batch(
    template: &EncoderTemplate,
    longest: usize,
    sentences: impl Iterator<Item = (Vec<u32>, Vec<u32>)>,
) -> TaggedBatch {
    let (before, added) = (template.before(1, 0), template.added(1));
    let (mut encoded, mut labels): (Vec<EncodedText>, Vec<u32>) = Default::default();
    for (ids, of_tokens) in sentences {
        let kept = ids.len().min(longest.saturating_sub(added));
        let text = template.single(&ids[..kept]);
        labels.extend(vec![IGNORE; before]);
        labels.extend(&of_tokens[..kept]);
        labels.extend(vec![IGNORE; text.0.len() - before - kept]);
        encoded.push(text);
    }
    TaggedBatch { input: EncoderInput::new(&encoded), labels }
}

/// Sentences as a token classifier with these labels is trained on them, in one batch, and how many
/// of them were truncated.
///
/// # Errors
/// [`DataError::UnknownLabel`] if a label is not among `labels`; the tokenizer refuses a text.
pub fn encode_sentences(
    tokenizer: &Tokenizer,
    labels: &[String],
    sentences: &[Sentence],
    longest: usize,
) -> Result<(TaggedBatch, usize)> {
    let template = EncoderTemplate::new(tokenizer)?;
    let encode = |sentence: &Sentence| token_labels(tokenizer, labels, sentence, IGNORE);
    let encoded = sentences.iter().map(encode).collect::<Result<Vec<_>>>()?;
    let added = template.added(1);
    let truncated = encoded.iter().filter(|(ids, _)| ids.len() + added > longest).count();
    Ok((tagged_batch(&template, longest, encoded.into_iter()), truncated))
}

/// The tokens of a sentence and the label of each, `none` where it is not the first of a word.
fn token_labels(
    tokenizer: &Tokenizer,
    labels: &[String],
    sentence: &Sentence,
    none: u32,
) -> Result<(Vec<u32>, Vec<u32>)> {
    let index = |label: &String| {
        let unknown = || DataError::UnknownLabel {
            path: sentence.location.file.to_path_buf(),
            line: sentence.location.line,
            label: label.clone(),
            known: labels.to_vec(),
        };
        let found = labels.iter().position(|known| known == label);
        found.map(|label| label as u32).ok_or_else(unknown)
    };
    let of_words = sentence.labels().iter().map(index).collect::<Result<Vec<u32>, DataError>>()?;
    let (ids, offsets) = tokenizer.encode_with_offsets(sentence.text())?;
    let label = |word: Option<usize>| word.map_or(none, |word| of_words[word]);
    Ok((ids, sentence.first_tokens(&offsets).into_iter().map(label).collect()))
}

/// The labels of the data by index. Those of the pretrained model are kept if they cover the data.
fn labels(
    reader: &Reader,
    spec: &TaggedSpec,
    files: &[PathBuf],
    policy: Duplicates,
) -> Result<Vec<String>> {
    let (mut cleaner, mut found) = (Cleaner::new(policy), BTreeSet::new());
    for sentence in spec.sentences(files) {
        let sentence = sentence?;
        if cleaner.keep(&sentence.fields()) {
            found.extend(sentence.labels().iter().cloned());
        }
    }
    if found.is_empty() {
        return Err(no_examples(files).into());
    }
    let found = sorted_labels(found);
    let labels = match pretrained_labels(reader.config)? {
        Some(known) if found.iter().all(|label| known.contains(label)) => known,
        _ => found,
    };
    match &labels[..] {
        [label] => Err(DatasetError::OneLabel { label: label.clone() }.into()),
        _ => Ok(labels),
    }
}

fn token_sentences(
    reader: &mut Reader,
    spec: &TaggedSpec,
    (files, policy): (&[PathBuf], Duplicates),
    labels: &[String],
    name: &str,
) -> Result<SequenceFile> {
    let tokenizer = reader.tokenizer;
    let processing = format!("{spec:?}, labels {labels:?}");
    let id_limit = tokenizer.vocab_size().max(labels.len() + 1);
    let recipe = Recipe { files, processing, tokenizer, id_limit, clean: Some(policy) };
    let tokenize = |sentence: &Sentence| {
        let (ids, of_tokens) = token_labels(tokenizer, labels, sentence, labels.len() as u32)?;
        Ok(vec![ids, of_tokens])
    };
    reader.tokenize(name, &recipe, || Ok(spec.sentences(files)), tokenize)
}
