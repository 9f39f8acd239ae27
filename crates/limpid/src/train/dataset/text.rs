//! Text for a language model: windows from random places, or lines, each a document of its own.

use super::documents::{Documents, Piece, characters_of};
use super::lines::{describe_lines, split_lines};
use super::windows::Windows;
use super::{Batch, Dataset, Split, epoch_of, numbers_of};
use crate::data::batch::LmBatch;
use crate::data::clean::Duplicates;
use crate::data::sampler::{BatchSampler, random_windows};
use crate::data::tokens::TokenFile;
use crate::error::{DatasetError, Result};
use crate::text::{Blocks, TextReader, Tokenizer, TokenizerKind};
use crate::train::config::{GptTask, RunConfig, Unit};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Text for a language model.
pub struct TextDataset {
    source: Source,
    context: usize,
    batch: usize,
    /// Micro-batches of a step.
    accumulate: usize,
    seed: u64,
    /// Characters per token: validation is also reported in bits per character.
    characters_per_token: f64,
}

/// Micro-batch `n` of a run whose steps are `k` micro-batches of `size` windows. All micro-batches
/// of a step come from one sample: together they hold the windows that one batch of k · size
/// would.
fn micro_batch_starts(seed: u64, n: u64, (size, k): (usize, usize), windows: usize) -> Vec<usize> {
    let (step, part) = (n / k as u64, (n % k as u64) as usize);
    random_windows(seed, step, size * k, windows)[part * size..][..size].to_vec()
}

/// Where sequences come from.
enum Source {
    /// Random places of a text.
    Windows(Windows),
    /// Lines between end tokens, each once per epoch.
    Lines {
        lines: Documents,
        train: Vec<Piece>,
        kept: (Option<Documents>, Vec<Piece>),
        order: Box<BatchSampler>,
    },
}

/// The validation split of a text.
pub(in crate::train) enum ValidationText<'a> {
    /// A range of one long text.
    Stream {
        /// Its token ids.
        file: &'a TokenFile,
        /// The range.
        range: Range<usize>,
    },
    /// Documents, each on its own.
    Documents(Box<dyn Iterator<Item = Vec<u32>> + 'a>),
}

impl Dataset for TextDataset {
    fn micro_batches(&mut self, step: u64) -> Vec<Batch> {
        numbers_of(step, self.accumulate as u64).map(|n| Batch::Lm(self.batch(n))).collect()
    }
}

impl TextDataset {
    pub(super) fn read(
        (config, task): (&RunConfig, &GptTask),
        tokenizer: &Tokenizer,
        cache: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let (source, characters_per_token) = match task.data.unit {
            Unit::Lines => lines((config, task), tokenizer, cache, progress)?,
            Unit::Windows | Unit::Pairs => windows(task, tokenizer, cache, progress)?,
        };
        let (context, seed) = (task.model.sizes.context_length, config.train.seed);
        let batch = config.train.batch.sequences().unwrap_or_default();
        let accumulate = config.train.gradient_accumulation_steps;
        Ok(Self { source, context, batch, accumulate, seed, characters_per_token })
    }

    /// Micro-batch `n`, counted over the whole run: a function of seed and n alone.
    fn batch(&mut self, n: u64) -> LmBatch {
        match &mut self.source {
            Source::Windows(windows) => {
                let places = windows.train.len() - self.context;
                let starts =
                    micro_batch_starts(self.seed, n, (self.batch, self.accumulate), places);
                let window = |at| windows.tokens.window(windows.train.start + at, self.context);
                LmBatch::new(&starts.into_iter().map(window).collect::<Vec<_>>())
            }
            Source::Lines { lines, train, order, .. } => {
                let piece = |i: &usize| lines.piece(train[*i], self.context);
                LmBatch::new(&order.batch(n).iter().map(piece).collect::<Vec<_>>())
            }
        }
    }

    /// All tokens of a split, piece by piece.
    pub(super) fn each(&self, split: Split, on: &mut dyn FnMut(&[u32])) {
        match (&self.source, split) {
            (Source::Windows(windows), split) => windows.each(split, on),
            (Source::Lines { lines, train, .. }, Split::Train) => {
                train.iter().for_each(|piece| on(&lines.piece(*piece, self.context)))
            }
            (Source::Lines { lines, kept: (file, pieces), .. }, Split::Validation) => {
                let file = file.as_ref().unwrap_or(lines);
                pieces.iter().for_each(|piece| on(&file.piece(*piece, self.context)))
            }
        }
    }

    /// Epochs before micro-batch `n`.
    pub(super) fn epoch(&mut self, n: u64) -> f64 {
        match &mut self.source {
            Source::Windows(windows) => {
                (n * (self.batch * self.context) as u64) as f64 / windows.train.len() as f64
            }
            Source::Lines { order, .. } => epoch_of(order, n),
        }
    }

    /// Micro-batches in this many epochs.
    pub(super) fn batches_in(&mut self, epochs: u64) -> u64 {
        match &mut self.source {
            Source::Windows(windows) => {
                (epochs * windows.train.len() as u64).div_ceil((self.batch * self.context) as u64)
            }
            Source::Lines { order, .. } => {
                (0..epochs).map(|epoch| order.batches_of(epoch) as u64).sum()
            }
        }
    }

    /// The validation split.
    pub(in crate::train) fn validation(&self) -> ValidationText<'_> {
        match &self.source {
            Source::Windows(windows) => {
                let (file, range) = windows.validation();
                ValidationText::Stream { file, range: range.clone() }
            }
            Source::Lines { lines, kept: (file, pieces), .. } => {
                let file = file.as_ref().unwrap_or(lines);
                let sequences = pieces.iter().map(|piece| file.piece(*piece, self.context));
                ValidationText::Documents(Box::new(sequences))
            }
        }
    }

    /// Characters per token of the validation split.
    pub(in crate::train) fn characters_per_token(&self) -> f64 {
        self.characters_per_token
    }

    /// The first tokens of the validation split: what samples continue.
    pub(in crate::train) fn validation_prompt(&self) -> Vec<u32> {
        let most = (self.context / 4).clamp(1, 16);
        match &self.source {
            Source::Windows(windows) => {
                let (file, range) = windows.validation();
                file.slice(range.start..range.end.min(range.start + most))
            }
            // Without the end token that precedes a line.
            Source::Lines { lines, kept: (file, pieces), .. } => {
                let first = file.as_ref().unwrap_or(lines).piece(pieces[0], self.context);
                first[1..].iter().copied().take(most.min(4)).collect()
            }
        }
    }

    /// Tokens that a sequence may have.
    pub(in crate::train) fn context(&self) -> usize {
        self.context
    }

    /// Seed of the run.
    pub(in crate::train) fn seed(&self) -> u64 {
        self.seed
    }

    pub(super) fn describe(&self) -> String {
        match &self.source {
            Source::Windows(windows) => {
                let (train, kept) = (windows.train.len(), windows.validation().1.len());
                format!("{train} training tokens, {kept} validation tokens")
            }
            Source::Lines { lines, train, kept: (file, kept), .. } => {
                let of = |piece: &Piece| piece.document;
                describe_lines(
                    (train.iter().map(of), lines.cleaning()),
                    (kept.iter().map(of), file.as_ref().map(|file| file.cleaning())),
                )
            }
        }
    }
}

/// Windows of a text, and its characters per token.
fn windows(
    task: &GptTask,
    tokenizer: &Tokenizer,
    cache: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<(Source, f64)> {
    let (data, context) = (&task.data, task.model.sizes.context_length);
    let end = if data.text.len() > 1 { tokenizer.eos_id() } else { None };
    let windows = Windows::read(data, tokenizer, end, cache, progress)?;
    let (file, kept) = windows.validation();
    let train = windows.train.len();
    if train <= context {
        return Err(DatasetError::TooShort { found: train, context }.into());
    }
    if kept.len() < 2 {
        let (files, found) = (data.validation_text.clone(), kept.len());
        return Err(DatasetError::ValidationTooShort { files, found }.into());
    }
    let gives_text_back = matches!(
        tokenizer.kind(),
        Some(TokenizerKind::Character | TokenizerKind::Byte | TokenizerKind::Bpe)
    );
    let characters_per_token = match &data.validation_text[..] {
        [] if gives_text_back => {
            characters_in(file, kept.clone(), tokenizer)? as f64 / kept.len() as f64
        }
        // Tokens that lose the text between them: the held-out end is taken to be like the whole.
        [] => characters(&data.text)? as f64 / windows.tokens.len() as f64,
        files => characters(files)? as f64 / kept.len() as f64,
    };
    Ok((Source::Windows(windows), characters_per_token))
}

/// About how many characters a range of tokens has: those of the decoded tokens. An unknown token
/// counts as one character.
fn characters_in(tokens: &TokenFile, part: Range<usize>, tokenizer: &Tokenizer) -> Result<usize> {
    let mut count = 0;
    for start in part.clone().step_by(1 << 16) {
        let mut ids = tokens.slice(start..part.end.min(start + (1 << 16)));
        let all = ids.len();
        ids.retain(|id| Some(*id) != tokenizer.unk_id());
        count += all - ids.len() + tokenizer.decode(&ids)?.chars().count();
    }
    Ok(count)
}

fn characters(files: &[PathBuf]) -> Result<u64> {
    let mut count = 0;
    for path in files {
        for block in Blocks::new(TextReader::open(path)?) {
            count += block?.chars().count() as u64;
        }
    }
    Ok(count)
}

/// Lines, and the characters per token of those held out.
fn lines(
    (config, task): (&RunConfig, &GptTask),
    tokenizer: &Tokenizer,
    cache: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<(Source, f64)> {
    let (data, context, seed) = (&task.data, task.model.sizes.context_length, config.train.seed);
    let mut read = |files: &[PathBuf], policy, name| {
        Documents::read((files, policy), tokenizer, &cache.join(name), progress)
    };
    let lines = read(&data.text, data.duplicates, "train")?;
    // Validation examples keep their duplicates.
    let kept_file = match &data.validation_text[..] {
        [] => None,
        files => Some(read(files, Duplicates::Keep, "validation")?),
    };
    let there = kept_file.as_ref().map(Documents::count);
    let (train, kept) = split_lines(data.validation_split, seed, lines.count(), there)?;
    let kept_texts = match kept_file {
        Some(_) => (&data.validation_text, Duplicates::Keep),
        None => (&data.text, data.duplicates),
    };
    let characters = characters_of(kept_texts.0, kept_texts.1, &kept)?;
    let file = kept_file.as_ref().unwrap_or(&lines);
    let kept: Vec<Piece> =
        kept.iter().flat_map(|document| file.pieces(*document, 0, context)).collect();
    let predicted: usize = kept.iter().map(|piece| file.length(*piece, context) - 1).sum();
    // Every other document without its leading end token: a prompt has none before it either.
    let train = train
        .iter()
        .enumerate()
        .flat_map(|(i, document)| lines.pieces(*document, 1 - i % 2, context));
    let train: Vec<Piece> = train.collect();
    let lengths: Vec<usize> = train.iter().map(|piece| lines.length(*piece, context) - 1).collect();
    let (tokens, bucketing) = config.train.batch.budget().expect("lines are batched by tokens");
    let order = BatchSampler::new(seed, &lengths, tokens, bucketing)?;
    let source = Source::Lines { lines, train, kept: (kept_file, kept), order: Box::new(order) };
    Ok((source, characters as f64 / predicted as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn micro_batches_of_a_step_hold_the_windows_of_one_large_batch() {
        for step in 0..3 {
            let parts: Vec<usize> = (0..4)
                .flat_map(|part| micro_batch_starts(7, 4 * step + part, (3, 4), 1000))
                .collect();
            assert_eq!(parts, micro_batch_starts(7, step, (12, 1), 1000));
        }
    }
}
