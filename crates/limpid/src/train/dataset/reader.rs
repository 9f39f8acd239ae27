//! From files to tokenized examples in two splits: what all datasets have in common.

use super::order::{Order, Sampling};
use crate::data::clean::{Cleaning, Duplicates};
use crate::data::sampler::BatchSampler;
use crate::data::sequence_file::{Recipe, Record, SequenceFile};
use crate::data::split::split;
use crate::error::Result;
use crate::text::{Tokenizer, each_line};
use crate::train::config::RunConfig;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads the files of a dataset.
pub(super) struct Reader<'a> {
    pub(super) config: &'a RunConfig,
    pub(super) tokenizer: &'a Tokenizer,
    /// The folder for token ids.
    pub(super) cache: &'a Path,
    /// Gets the bytes of a file that are tokenized so far.
    pub(super) progress: &'a mut dyn FnMut(u64),
}

/// Where the examples of both splits come from.
pub(super) struct SplitFiles<'a, F: ?Sized> {
    pub(super) train: &'a F,
    /// What happens to duplicates among the training examples.
    pub(super) duplicates: Duplicates,
    /// Validation files, if there are any.
    pub(super) validation: Option<&'a F>,
    /// Else, the fraction of the training examples that is held out.
    pub(super) fraction: Option<f64>,
}

impl<'a> SplitFiles<'a, [PathBuf]> {
    /// An empty list of validation files stands for none.
    pub(super) fn new(
        train: &'a [PathBuf],
        validation: &'a [PathBuf],
        duplicates: Duplicates,
        fraction: Option<f64>,
    ) -> Self {
        let validation = (!validation.is_empty()).then_some(validation);
        Self { train, duplicates, validation, fraction }
    }
}

impl<F: ?Sized> SplitFiles<'_, F> {
    /// The files with the validation examples, and what happens to duplicates there: those in
    /// files of their own are kept.
    pub(super) fn held_out(&self) -> (&F, Duplicates) {
        match self.validation {
            Some(files) => (files, Duplicates::Keep),
            None => (self.train, self.duplicates),
        }
    }
}

/// Everything of a dataset.
pub(super) struct Read<E> {
    /// The examples of both splits.
    pub(super) examples: E,
    /// Which ones a micro-batch holds.
    pub(super) order: Order,
    /// Sizes of both splits, for people.
    pub(super) description: String,
}

/// Some of the examples in a file of token ids.
pub(super) struct Records {
    pub(super) file: Arc<SequenceFile>,
    /// Indices of the examples.
    pub(super) which: Vec<usize>,
}

impl Reader<'_> {
    /// Tokenizes records of files, or takes them from the cache.
    pub(super) fn tokenize<R: Record, I: Iterator<Item = Result<R>>>(
        &mut self,
        name: &str,
        recipe: &Recipe,
        records: impl FnOnce() -> Result<I>,
        sequences: impl Fn(&R) -> Result<Vec<Vec<u32>>> + Sync,
    ) -> Result<SequenceFile> {
        SequenceFile::build(&self.cache.join(name), recipe, records, sequences, self.progress)
    }

    /// Lines as sequences, cleaned of empty ones and duplicates. Without cleaning, an empty line
    /// ends a document, and so does the end of a file: an empty line is added there.
    pub(super) fn lines(
        &mut self,
        files: &[PathBuf],
        clean: Option<Duplicates>,
        name: &str,
    ) -> Result<SequenceFile> {
        let tokenizer = self.tokenizer;
        let (added, processing) = match clean {
            Some(_) => (None, "lines"),
            None => (Some(String::new()), "lines, an empty one after each file"),
        };
        let (processing, id_limit) = (processing.to_string(), tokenizer.vocab_size());
        let recipe = Recipe { files, processing, tokenizer, id_limit, clean };
        let of_file = |file| each_line(std::slice::from_ref(file)).chain(added.clone().map(Ok));
        let tokenize = |line: &String| Ok(vec![tokenizer.encode(line)?]);
        self.tokenize(name, &recipe, || Ok(files.iter().flat_map(of_file)), tokenize)
    }

    /// Tokenizes the training files and, if there are any, the validation files.
    pub(super) fn both<F: ?Sized>(
        &mut self,
        files: &SplitFiles<F>,
        mut read: impl FnMut(&mut Self, (&F, Duplicates), &str) -> Result<SequenceFile>,
    ) -> Result<(SequenceFile, Option<SequenceFile>)> {
        let train = read(self, (files.train, files.duplicates), "train")?;
        let validation = match files.validation {
            Some(_) => Some(read(self, files.held_out(), "validation")?),
            None => None,
        };
        Ok((train, validation))
    }

    /// The examples of both splits, `width` sequences each: all of both files, or those of a random
    /// split of the one.
    pub(super) fn split(
        &self,
        (train, validation): (SequenceFile, Option<SequenceFile>),
        width: usize,
        fraction: Option<f64>,
    ) -> Result<[Records; 2]> {
        let all = train.count() / width;
        let (first, second) = match &validation {
            Some(own) => ((0..all).collect(), (0..own.count() / width).collect()),
            None => {
                let seed = self.config.train.seed;
                let fraction = fraction.expect("without validation files some are held out");
                split(all, fraction, seed)?
            }
        };
        let train = Arc::new(train);
        let validation = validation.map_or_else(|| train.clone(), Arc::new);
        Ok([(train, first), (validation, second)].map(|(file, which)| Records { file, which }))
    }

    /// Examples of these lengths in tokens, each once per epoch.
    pub(super) fn shuffled(&self, lengths: impl Iterator<Item = usize>) -> Result<Order> {
        let train = &self.config.train;
        let (tokens, bucketing) = train.batch.budget().expect("examples are batched by tokens");
        let lengths: Vec<usize> = lengths.collect();
        let sampler = BatchSampler::new(train.seed, &lengths, tokens, bucketing)?;
        Ok(self.order(Sampling::Shuffled(Box::new(sampler))))
    }

    /// Random ones of `from` examples. An epoch has `size` units, an example `unit` of them.
    pub(super) fn random(&self, from: usize, size: usize, unit: usize) -> Order {
        let (seed, batch) = (self.config.train.seed, self.config.train.batch.sequences());
        let batch = batch.expect("windows are batched by sequences");
        let epoch = (size as u64, (batch * unit) as u64);
        self.order(Sampling::Random { seed, batch, from, epoch })
    }

    fn order(&self, sampling: Sampling) -> Order {
        let accumulate = self.config.train.passes() as u64;
        Order { accumulate, sampling }
    }
}

/// Both splits with what cleaning dropped: of each, or of the file that both are of.
pub(super) fn describe_splits(
    [train, validation]: [String; 2],
    cleaning: Cleaning,
    own: Option<Cleaning>,
) -> String {
    match own {
        None => format!("{train}, {validation} ({cleaning})"),
        Some(own) => format!("{train} ({cleaning}), {validation} ({own})"),
    }
}
