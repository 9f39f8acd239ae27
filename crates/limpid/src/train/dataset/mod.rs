//! Datasets: the micro-batches of every step, as a function of seed and step.

mod batch;
mod documents;
pub mod labelled;
mod lines;
mod masked;
mod memory;
mod pairs;
mod text;
mod windows;

pub use batch::Batch;
pub use labelled::LabelledDataset;
pub use masked::MaskedDataset;
pub use memory::{Batching, InMemoryDataset};
pub use pairs::PairDataset;
pub use text::TextDataset;
pub(super) use text::ValidationText;

use super::config::{RunConfig, Task};
use super::pretrained::pretrained_labels;
use crate::data::sampler::BatchSampler;
use crate::error::Result;
use crate::text::Tokenizer;
use std::ops::Range;
use std::path::Path;

/// Yields batches, and nothing else.
pub trait Dataset {
    /// The micro-batches of a step, counted from 0, in order: a function of seed and step alone.
    ///
    /// The gradients of all of them add up to that of the step. Whoever distributes a step over
    /// processes asks every process for the same list and gives each a share of it.
    fn micro_batches(&mut self, step: u64) -> Vec<Batch>;
}

impl<D: Dataset + ?Sized> Dataset for &mut D {
    fn micro_batches(&mut self, step: u64) -> Vec<Batch> {
        (**self).micro_batches(step)
    }
}

/// A split of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Training examples.
    Train,
    /// Held-out examples.
    Validation,
}

/// The dataset of a run: training batches from files, and held-out examples.
pub enum RunDataset {
    /// Text for a language model.
    Text(TextDataset),
    /// Sentence pairs for an encoder-decoder.
    Pairs(PairDataset),
    /// Text for masked language modelling.
    Masked(MaskedDataset),
    /// Labelled texts for a classifier.
    Labelled(LabelledDataset),
}

impl Dataset for RunDataset {
    fn micro_batches(&mut self, step: u64) -> Vec<Batch> {
        match self {
            RunDataset::Text(text) => text.micro_batches(step),
            RunDataset::Pairs(pairs) => pairs.micro_batches(step),
            RunDataset::Masked(masked) => masked.micro_batches(step),
            RunDataset::Labelled(labelled) => labelled.micro_batches(step),
        }
    }
}

impl RunDataset {
    /// Reads the files that `config` names. `cache` is a folder for their token ids; `progress`
    /// gets the bytes that are tokenized so far.
    ///
    /// # Errors
    /// If a file cannot be read, or holds too little to train or validate on.
    pub fn read(
        config: &RunConfig,
        tokenizer: &Tokenizer,
        cache: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        // The callbacks count per file; the sum over all of them is reported.
        let (mut before, mut last) = (0, 0);
        let progress = &mut |done: u64| {
            if done < last {
                before += last;
            }
            last = done;
            progress(before + done);
        };
        match &config.task {
            Task::Gpt(task) => {
                TextDataset::read((config, task), tokenizer, cache, progress).map(RunDataset::Text)
            }
            Task::Translate(task) => {
                PairDataset::read((config, task), tokenizer, cache, progress).map(RunDataset::Pairs)
            }
            Task::Bert(task) => MaskedDataset::read((config, task), tokenizer, cache, progress)
                .map(RunDataset::Masked),
            Task::Classify(task) => {
                let known = pretrained_labels(config)?;
                LabelledDataset::read((config, task), tokenizer, known, cache, progress)
                    .map(RunDataset::Labelled)
            }
        }
    }

    /// Epochs before micro-batch `n`, counted over the whole run.
    pub fn epoch(&mut self, n: u64) -> f64 {
        match self {
            RunDataset::Text(text) => text.epoch(n),
            RunDataset::Pairs(pairs) => epoch_of(pairs.order(), n),
            RunDataset::Masked(masked) => masked.epoch(n),
            RunDataset::Labelled(labelled) => epoch_of(labelled.order(), n),
        }
    }

    /// Micro-batches in this many epochs.
    pub fn batches_in(&mut self, epochs: u64) -> u64 {
        match self {
            RunDataset::Text(text) => text.batches_in(epochs),
            RunDataset::Pairs(pairs) => {
                (0..epochs).map(|epoch| pairs.order().batches_of(epoch) as u64).sum()
            }
            RunDataset::Masked(masked) => masked.batches_in(epochs),
            RunDataset::Labelled(labelled) => {
                (0..epochs).map(|epoch| labelled.order().batches_of(epoch) as u64).sum()
            }
        }
    }

    /// Unknown tokens and all tokens of the training and of the validation split.
    pub fn unknown_tokens(&self, unknown: u32) -> [(usize, usize); 2] {
        [Split::Train, Split::Validation].map(|split| {
            let mut found = (0, 0);
            let mut count = |ids: &[u32]| {
                found.0 += ids.iter().filter(|id| **id == unknown).count();
                found.1 += ids.len();
            };
            match self {
                RunDataset::Text(text) => text.each(split, &mut count),
                RunDataset::Pairs(pairs) => pairs.each(split, &mut count),
                RunDataset::Masked(masked) => masked.each(split, &mut count),
                RunDataset::Labelled(labelled) => labelled.each(split, &mut count),
            }
            found
        })
    }

    /// Sizes of both splits, for people.
    pub fn describe(&self) -> String {
        match self {
            RunDataset::Text(text) => text.describe(),
            RunDataset::Pairs(pairs) => pairs.describe(),
            RunDataset::Masked(masked) => masked.describe(),
            RunDataset::Labelled(labelled) => labelled.describe(),
        }
    }

    /// The labels of a classifier by index; none of other tasks.
    pub fn labels(&self) -> &[String] {
        match self {
            RunDataset::Labelled(labelled) => labelled.labels(),
            _ => &[],
        }
    }
}

pub(super) fn epoch_of(order: &mut BatchSampler, n: u64) -> f64 {
    let (epoch, place) = order.epoch(n);
    epoch as f64 + place as f64 / order.batches_of(epoch) as f64
}

/// The numbers of a step's micro-batches, counted over the whole run.
fn numbers_of(step: u64, accumulate: u64) -> Range<u64> {
    step * accumulate..(step + 1) * accumulate
}
