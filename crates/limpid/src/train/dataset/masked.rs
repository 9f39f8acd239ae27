//! Text for masked language modelling: windows, lines or pairs of lines.

use super::lines::{cleaned_lines, describe_lines, split_lines};
use super::windows::Windows;
use super::{Batch, Dataset, Split, epoch_of, numbers_of};
use crate::data::batch::EncodedText;
use crate::data::batch::MaskedBatch;
use crate::data::clean::Duplicates;
use crate::data::masking::{MaskStream, Masking};
use crate::data::next_sentence::NextSentencePairs;
use crate::data::sampler::{BatchSampler, random_windows};
use crate::data::sequence_file::{Recipe, SequenceFile};
use crate::data::split::split_text;
use crate::data::template::EncoderTemplate;
use crate::error::{DatasetError, Result, SplitName};
use crate::text::{Tokenizer, each_line};
use crate::train::config::{BertTask, RunConfig, Unit};
use limpid_tensor::rng::Stream;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Tokens of a validation batch.
const VALIDATION_TOKENS: usize = 4_096;
/// Random streams of a seed: bit 56 for the pairs of lines in training, bit 55 for those of
/// validation (see `data/order.rs`).
const PAIRS: u64 = 1 << 56;
const PAIRS_KEPT: u64 = 1 << 55;

/// Text for masked language modelling.
pub struct MaskedDataset {
    source: Source,
    masking: Masking,
    template: EncoderTemplate,
    /// The longest sequence, special tokens included.
    context: usize,
    batch: usize,
    /// Micro-batches of a step.
    accumulate: u64,
    seed: u64,
}

/// Where sequences come from.
enum Source {
    /// Random places of a text.
    Windows(Windows),
    /// Lines, each once per epoch.
    Lines {
        lines: SequenceFile,
        train: Vec<Piece>,
        kept: (Option<SequenceFile>, Vec<Piece>),
        order: Box<BatchSampler>,
    },
    /// A line and the next one, or in half of the cases a random one.
    Pairs { train: Lines, kept: Lines },
}

/// A piece of a line: the line, and the range of its tokens.
type Piece = (u32, Range<u32>);

/// Lines that are paired.
struct Lines {
    file: Arc<SequenceFile>,
    pairs: NextSentencePairs,
}

impl Dataset for MaskedDataset {
    fn micro_batches(&mut self, step: u64) -> Vec<Batch> {
        self.batches(step).into_iter().map(Batch::Masked).collect()
    }
}

impl MaskedDataset {
    pub(super) fn read(
        (config, task): (&RunConfig, &BertTask),
        tokenizer: &Tokenizer,
        cache: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let (data, seed, context) = (&task.data, config.train.seed, task.model.context_length);
        let (probability, unit) = (task.masking.probability, task.masking.whole_words);
        let masking = Masking::new(tokenizer, probability, unit, seed)?;
        let template = EncoderTemplate::new(tokenizer)?;
        let source = match data.unit {
            Unit::Windows => windows(task, tokenizer, cache, progress)?,
            Unit::Lines => {
                let mut read = |files: &[PathBuf], policy, name| {
                    cleaned_lines((files, policy), tokenizer, &cache.join(name), progress)
                };
                let lines = read(&data.text, data.duplicates, "train")?;
                // Validation examples keep their duplicates.
                let file = match &data.validation_text[..] {
                    [] => None,
                    files => Some(read(files, Duplicates::Keep, "validation")?),
                };
                let there = file.as_ref().map(SequenceFile::count);
                let (train, kept) = split_lines(data.validation_split, seed, lines.count(), there)?;
                let train = pieces(&lines, train, context - 2);
                let kept = pieces(file.as_ref().unwrap_or(&lines), kept, context - 2);
                let kept = (file, kept);
                let lengths: Vec<usize> = train.iter().map(|(_, part)| part.len() + 2).collect();
                let (tokens, bucketing) =
                    config.train.batch.budget().expect("lines are batched by tokens");
                let order = BatchSampler::new(seed, &lengths, tokens, bucketing)?;
                Source::Lines { lines, train, kept, order: Box::new(order) }
            }
            Unit::Pairs => {
                let mut read = |files: &[PathBuf], name| {
                    all_lines(tokenizer, files, &cache.join(name), progress)
                };
                let lines = Arc::new(read(&data.text, "train")?);
                let all = lines.count();
                if let Some(fraction) = data.validation_split {
                    let (train, kept) = split_text(all, fraction)?;
                    Source::Pairs {
                        train: Lines::new(lines.clone(), train),
                        kept: Lines::new(lines, kept),
                    }
                } else {
                    let kept = Arc::new(read(&data.validation_text, "validation")?);
                    let kept_lines = kept.count();
                    Source::Pairs {
                        train: Lines::new(lines, 0..all),
                        kept: Lines::new(kept, 0..kept_lines),
                    }
                }
            }
        };
        let found = Self {
            source,
            masking,
            template,
            context,
            batch: config.train.batch.sequences().unwrap_or_default(),
            accumulate: config.train.gradient_accumulation_steps as u64,
            seed,
        };
        let (train, kept) = found.counts();
        if train == 0 || kept == 0 {
            let split = if train == 0 { SplitName::Train } else { SplitName::Validation };
            let unit = match data.unit {
                Unit::Windows => "windows",
                Unit::Lines => "lines",
                Unit::Pairs => "pairs",
            };
            return Err(DatasetError::Empty { split, unit: unit.into() }.into());
        }
        Ok(found)
    }

    /// Windows and pairs are sampled for the whole step, so that its micro-batches together are one
    /// batch.
    fn batches(&mut self, step: u64) -> Vec<MaskedBatch> {
        let (template, seed, inner) = (self.template, self.seed, self.context - 2);
        let size = self.batch * self.accumulate as usize;
        let (sequences, labels) = match &mut self.source {
            Source::Windows(Windows { tokens, train, .. }) => {
                let starts = random_windows(seed, step, size, train.len() - inner + 1);
                let window =
                    |at| template.single(&tokens.slice(train.start + at..train.start + at + inner));
                (starts.into_iter().map(window).collect(), None)
            }
            Source::Lines { lines, train, order, .. } => {
                let line = |i: &usize| template.single(&tokens_of(lines, &train[*i]));
                let mut batch = |n: u64| {
                    let sequences = order.batch(n).iter().map(line).collect();
                    self.masking.apply(MaskStream::Training(n), sequences, None)
                };
                return numbers_of(step, self.accumulate).map(&mut batch).collect();
            }
            Source::Pairs { train, .. } => {
                let chosen = random_windows(seed, step, size, train.pairs.count());
                let (pairs, labels) = train.sample(
                    &chosen,
                    (template, self.context),
                    &mut Stream::new(seed, PAIRS | step),
                );
                (pairs, Some(labels))
            }
        };
        let draw = MaskStream::Training(step);
        match self.accumulate {
            1 => vec![self.masking.apply(draw, sequences, labels)],
            _ => self.masking.apply_in_micro_batches(draw, sequences, labels, self.batch),
        }
    }

    /// All tokens of a split, piece by piece.
    pub(super) fn each(&self, split: Split, on: &mut dyn FnMut(&[u32])) {
        match (&self.source, split) {
            (Source::Windows(windows), split) => windows.each(split, on),
            (Source::Lines { lines, train, .. }, Split::Train) => {
                train.iter().for_each(|piece| on(&tokens_of(lines, piece)))
            }
            (Source::Lines { lines, kept: (file, pieces), .. }, Split::Validation) => {
                let file = file.as_ref().unwrap_or(lines);
                pieces.iter().for_each(|piece| on(&tokens_of(file, piece)))
            }
            (Source::Pairs { train, .. }, Split::Train) => train.each(on),
            (Source::Pairs { kept, .. }, Split::Validation) => kept.each(on),
        }
    }

    /// The validation split in batches; the same tokens are masked every time.
    pub(in crate::train) fn validation_batches(&self) -> impl Iterator<Item = MaskedBatch> + '_ {
        let inner = self.context - 2;
        let count = self.counts().1;
        let at_a_time = (VALIDATION_TOKENS / self.context).max(1);
        (0..count.div_ceil(at_a_time)).map(move |group| {
            let range = group * at_a_time..count.min((group + 1) * at_a_time);
            let (sequences, labels) = match &self.source {
                Source::Windows(windows) => {
                    let (file, all) = windows.validation();
                    let window = |i: usize| {
                        let start = all.start + i * inner;
                        self.template.single(&file.slice(start..all.end.min(start + inner)))
                    };
                    (range.map(window).collect::<Vec<EncodedText>>(), None)
                }
                Source::Lines { lines, kept: (file, pieces), .. } => {
                    let file = file.as_ref().unwrap_or(lines);
                    (
                        range.map(|i| self.template.single(&tokens_of(file, &pieces[i]))).collect(),
                        None,
                    )
                }
                Source::Pairs { kept, .. } => {
                    let mut rng = Stream::new(self.seed, PAIRS_KEPT | group as u64);
                    let chosen: Vec<usize> = range.collect();
                    let (pairs, labels) =
                        kept.sample(&chosen, (self.template, self.context), &mut rng);
                    (pairs, Some(labels))
                }
            };
            self.masking.apply(MaskStream::Validation(group as u64), sequences, labels)
        })
    }

    /// Sequences of the training and of the validation split; of windows, as many as cover the
    /// text.
    fn counts(&self) -> (usize, usize) {
        let inner = self.context - 2;
        match &self.source {
            Source::Windows(windows) => {
                let (train, kept) = (windows.train.len(), windows.validation().1.len());
                ((train >= inner) as usize * train.div_ceil(inner), kept.div_ceil(inner))
            }
            Source::Lines { train, kept, .. } => (train.len(), kept.1.len()),
            Source::Pairs { train, kept } => (train.pairs.count(), kept.pairs.count()),
        }
    }

    /// Epochs before micro-batch `n`.
    pub(super) fn epoch(&mut self, n: u64) -> f64 {
        match &mut self.source {
            Source::Lines { order, .. } => epoch_of(order, n),
            _ => (n * self.batch as u64) as f64 / self.counts().0 as f64,
        }
    }

    /// Micro-batches in this many epochs.
    pub(super) fn batches_in(&mut self, epochs: u64) -> u64 {
        match &mut self.source {
            Source::Lines { order, .. } => {
                (0..epochs).map(|epoch| order.batches_of(epoch) as u64).sum()
            }
            _ => (epochs * self.counts().0 as u64).div_ceil(self.batch as u64),
        }
    }

    pub(super) fn describe(&self) -> String {
        let (train, kept) = self.counts();
        let what = match &self.source {
            Source::Windows(_) => "windows",
            Source::Lines { lines, train, kept: (file, kept), .. } => {
                let of = |piece: &Piece| piece.0;
                return describe_lines(
                    (train.iter().map(of), lines.cleaning()),
                    (kept.iter().map(of), file.as_ref().map(SequenceFile::cleaning)),
                );
            }
            Source::Pairs { .. } => "line pairs",
        };
        format!("{train} training {what}, {kept} validation {what}")
    }
}

fn windows(
    task: &BertTask,
    tokenizer: &Tokenizer,
    cache: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<Source> {
    let inner = task.model.context_length - 2;
    let windows = Windows::read(&task.data, tokenizer, None, cache, progress)?;
    let (there, context) = (windows.train.len(), task.model.context_length);
    if there < inner {
        return Err(DatasetError::TooShort { found: there, context }.into());
    }
    Ok(Source::Windows(windows))
}

/// The lines of some files as token ids. An empty line ends a document, and so does the end of a
/// file: an empty line is added there.
fn all_lines(
    tokenizer: &Tokenizer,
    files: &[PathBuf],
    path: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<SequenceFile> {
    let (processing, id_limit) =
        ("lines, an empty one after each file".to_string(), tokenizer.vocab_size());
    let recipe = Recipe { files, processing, tokenizer, id_limit, clean: None };
    let of_file = |file| each_line(std::slice::from_ref(file)).chain([Ok(String::new())]);
    let cut = |line: &String| Ok(vec![tokenizer.encode(line)?]);
    SequenceFile::build(path, &recipe, || Ok(files.iter().flat_map(of_file)), cut, progress)
}

/// Some of the lines, long ones in pieces: no token is dropped.
fn pieces(
    lines: &SequenceFile,
    which: impl IntoIterator<Item = usize>,
    longest: usize,
) -> Vec<Piece> {
    let of_line = |i: usize| {
        let tokens = lines.len_of(i);
        (0..tokens)
            .step_by(longest)
            .map(move |at| (i as u32, at as u32..tokens.min(at + longest) as u32))
    };
    which.into_iter().flat_map(of_line).collect()
}

fn tokens_of(lines: &SequenceFile, (line, part): &Piece) -> Vec<u32> {
    lines.part(*line as usize, part.start as usize..part.end as usize)
}

impl Lines {
    /// The lines of a range.
    fn new(file: Arc<SequenceFile>, range: Range<usize>) -> Self {
        let pairs = NextSentencePairs::new(range, |i| file.len_of(i));
        Self { file, pairs }
    }

    fn each(&self, on: &mut dyn FnMut(&[u32])) {
        self.pairs.firsts().iter().for_each(|line| on(&self.file.get(*line)));
    }

    fn sample(
        &self,
        chosen: &[usize],
        how: (EncoderTemplate, usize),
        rng: &mut Stream,
    ) -> (Vec<EncodedText>, Vec<u32>) {
        self.pairs.sample(chosen, |i| self.file.get(i), how, rng)
    }
}
