//! Datasets: the micro-batches of every step, as a function of seed and step.
//!
//! ```
//! use limpid::train::dataset::{Batch, Batching, Dataset, InMemoryDataset};
//!
//! let sequences = [vec![1, 2, 3], vec![4, 5]];
//! let batching = Batching { tokens: 8, seed: 1 };
//! let mut dataset = InMemoryDataset::language_model(&sequences, batching)?;
//! let batches = dataset.micro_batches(0);
//! let Batch::Lm(batch) = &batches[0] else { unreachable!() };
//! assert_eq!(batch.targets.len(), 3); // 2, 3 and 5
//! # Ok::<(), limpid::error::Error>(())
//! ```

mod batch;
pub mod labelled;
mod lines;
mod masked;
mod memory;
mod order;
mod pairs;
pub mod questions;
mod reader;
pub mod tagged;
mod text;
mod windows;

pub use batch::Batch;
pub use labelled::LabelledExamples;
pub use masked::MaskedExamples;
pub use memory::{Batching, InMemoryDataset};
pub use pairs::PairExamples;
pub use questions::QuestionExamples;
pub use tagged::TaggedExamples;
pub use text::TextExamples;
pub(super) use text::TextSplit;

use super::config::{RunConfig, Task};
use crate::error::Result;
use crate::text::Tokenizer;
use order::Order;
use reader::{Read, Reader};
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

/// The dataset of a run: training batches from files, and held-out examples.
pub struct RunDataset {
    /// The tokenized examples of both splits.
    pub examples: Examples,
    order: Order,
    description: String,
}

/// The tokenized examples of a task, for training and for validation.
pub enum Examples {
    /// Text for a language model.
    Text(TextExamples),
    /// Sentence pairs for an encoder-decoder.
    Pairs(PairExamples),
    /// Text for masked language modelling.
    Masked(MaskedExamples),
    /// Labelled texts for a classifier.
    Labelled(LabelledExamples),
    /// Sentences with labelled words for a token classifier.
    Tagged(TaggedExamples),
    /// Questions about texts.
    Questions(QuestionExamples),
}

impl Examples {
    /// Whether tokens are predicted, so that the loss has a perplexity.
    pub(super) fn is_language(&self) -> bool {
        matches!(self, Examples::Text(_) | Examples::Pairs(_) | Examples::Masked(_))
    }
}

/// The tokenized examples of one split.
trait Split {
    /// Calls `on` with all tokens, sequence by sequence.
    fn each(&self, on: &mut dyn FnMut(&[u32]));
}

impl Dataset for RunDataset {
    fn micro_batches(&mut self, step: u64) -> Vec<Batch> {
        let chosen = self.order.micro_batches(step);
        match &self.examples {
            Examples::Text(text) => chosen.iter().map(|chosen| text.batch(chosen)).collect(),
            Examples::Pairs(pairs) => chosen.iter().map(|chosen| pairs.batch(chosen)).collect(),
            Examples::Masked(masked) => masked.batches(step, &chosen),
            Examples::Labelled(texts) => chosen.iter().map(|chosen| texts.batch(chosen)).collect(),
            Examples::Tagged(words) => chosen.iter().map(|chosen| words.batch(chosen)).collect(),
            Examples::Questions(all) => chosen.iter().map(|chosen| all.batch(chosen)).collect(),
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
        let mut reader = Reader { config, tokenizer, cache, progress };
        match &config.task {
            Task::Gpt(task) => Self::new(TextExamples::read(&mut reader, task)?, Examples::Text),
            Task::Translate(task) => {
                Self::new(PairExamples::read(&mut reader, task)?, Examples::Pairs)
            }
            Task::Bert(task) => {
                Self::new(MaskedExamples::read(&mut reader, task)?, Examples::Masked)
            }
            Task::Classify(task) => {
                Self::new(LabelledExamples::read(&mut reader, task)?, Examples::Labelled)
            }
            Task::Tag(task) => {
                Self::new(TaggedExamples::read(&mut reader, task)?, Examples::Tagged)
            }
            Task::Answer(task) => {
                Self::new(QuestionExamples::read(&mut reader, task)?, Examples::Questions)
            }
        }
    }

    fn new<E>(read: Read<E>, examples: fn(E) -> Examples) -> Result<Self> {
        let Read { order, description, .. } = read;
        Ok(Self { examples: examples(read.examples), order, description })
    }

    /// Epochs before micro-batch `n`, counted over the whole run.
    pub fn epoch(&mut self, n: u64) -> f64 {
        self.order.epoch(n)
    }

    /// Micro-batches in this many epochs.
    pub fn batches_in(&mut self, epochs: u64) -> u64 {
        self.order.batches_in(epochs)
    }

    /// Unknown tokens and all tokens of the training and of the validation split.
    pub fn unknown_tokens(&self, unknown: u32) -> [(usize, usize); 2] {
        let splits: [&dyn Split; 2] = match &self.examples {
            Examples::Text(text) => [&text.train, &text.validation],
            Examples::Pairs(pairs) => [&pairs.train, &pairs.validation],
            Examples::Masked(masked) => [&masked.train, &masked.validation],
            Examples::Labelled(labelled) => [&labelled.train, &labelled.validation],
            Examples::Tagged(tagged) => [&tagged.train, &tagged.validation],
            Examples::Questions(questions) => [&questions.train, &questions.validation],
        };
        splits.map(|split| {
            let mut found = (0, 0);
            split.each(&mut |ids| {
                found.0 += ids.iter().filter(|id| **id == unknown).count();
                found.1 += ids.len();
            });
            found
        })
    }

    /// Sizes of both splits, for people.
    pub fn describe(&self) -> &str {
        &self.description
    }

    /// The labels of a classifier of texts or tokens by index; none of other tasks.
    pub fn labels(&self) -> &[String] {
        match &self.examples {
            Examples::Labelled(labelled) => labelled.labels(),
            Examples::Tagged(tagged) => tagged.labels(),
            _ => &[],
        }
    }
}
