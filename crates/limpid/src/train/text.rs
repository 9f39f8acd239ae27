//! Text for a language model: windows from anywhere in it, or lines, each a text of its own.

use super::config::{RunConfig, Unit};
use super::documents::{Documents, Piece, characters_of};
use super::examples::{Part, Sample, epoch_of};
use super::lines::{describe_lines, divide_lines};
use super::windows::Windows;
use crate::data::batch::LmBatch;
use crate::data::clean::Duplicates;
use crate::data::order::{PairOrder, random_windows};
use crate::data::tokens::TokenFile;
use crate::decode::filter::Filter;
use crate::decode::{Decoding, GenerateOptions, Overflow, Rules, Sampling, Strategy, Trace, generate};
use crate::error::{Error, Result};
use crate::eval::loss::{Loss, sequences_loss, text_loss};
use crate::model::Gpt;
use crate::text::{Blocks, Text, Tokenizer, TokenizerKind};
use limpid_tensor::params::Params;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A text for a language model.
pub struct TextExamples {
    source: Source,
    context: usize,
    batch: usize,
    /// Batches of a step.
    accumulate: usize,
    seed: u64,
    /// Characters a token stands for: validation is also given in bits a character.
    characters_per_token: f64,
}

/// Batch `n` of a run whose steps are `k` batches of `size` windows. The parts of a step are parts of one draw: together they read what
/// one batch of k · size would.
fn part_of_step(seed: u64, n: u64, (size, k): (usize, usize), windows: usize) -> Vec<usize> {
    let (step, part) = (n / k as u64, (n % k as u64) as usize);
    random_windows(seed, step, size * k, windows)[part * size..][..size].to_vec()
}

/// Where sequences come from.
enum Source {
    /// Anywhere in a text.
    Windows(Windows),
    /// Lines between end tokens, each once an epoch.
    Lines {
        lines: Documents,
        train: Vec<Piece>,
        kept: (Option<Documents>, Vec<Piece>),
        order: Box<PairOrder>,
    },
}

impl TextExamples {
    pub(super) fn read(
        config: &RunConfig,
        tokenizer: &Tokenizer,
        cache: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let (source, characters_per_token) = match config.unit()? {
            Unit::Lines => lines(config, tokenizer, cache, progress)?,
            Unit::Windows | Unit::Pairs => windows(config, tokenizer, cache, progress)?,
        };
        let (context, batch, seed) = (config.model.context, config.train.batch, config.train.seed);
        let accumulate = config.train.accumulate;
        Ok(Self { source, context, batch, accumulate, seed, characters_per_token })
    }

    /// Batch number `n`, from 0: a function of seed and n alone.
    pub(super) fn batch(&mut self, n: u64) -> LmBatch {
        match &mut self.source {
            Source::Windows(windows) => {
                let places = windows.train.len() - self.context;
                let starts = part_of_step(self.seed, n, (self.batch, self.accumulate), places);
                let window = |at| windows.tokens.window(windows.train.start + at, self.context);
                LmBatch::new(&starts.into_iter().map(window).collect::<Vec<_>>())
            }
            Source::Lines { lines, train, order, .. } => {
                let piece = |i: &usize| lines.piece(train[*i], self.context);
                LmBatch::new(&order.batch(n).iter().map(piece).collect::<Vec<_>>())
            }
        }
    }

    /// All tokens of a part, piece by piece.
    pub(super) fn each(&self, part: Part, on: &mut dyn FnMut(&[u32])) {
        match (&self.source, part) {
            (Source::Windows(windows), part) => windows.each(part, on),
            (Source::Lines { lines, train, .. }, Part::Learnt) => {
                train.iter().for_each(|piece| on(&lines.piece(*piece, self.context)))
            }
            (Source::Lines { lines, kept: (file, pieces), .. }, Part::Kept) => {
                let file = file.as_ref().unwrap_or(lines);
                pieces.iter().for_each(|piece| on(&file.piece(*piece, self.context)))
            }
        }
    }

    /// How often the data has been gone through before batch `n`.
    pub(super) fn epoch(&mut self, n: u64) -> f64 {
        match &mut self.source {
            Source::Windows(windows) => {
                (n * (self.batch * self.context) as u64) as f64 / windows.train.len() as f64
            }
            Source::Lines { order, .. } => epoch_of(order, n),
        }
    }

    /// How many batches `epochs` times through the data are.
    pub(super) fn batches_in(&mut self, epochs: u64) -> u64 {
        match &mut self.source {
            Source::Windows(windows) => {
                (epochs * windows.train.len() as u64).div_ceil((self.batch * self.context) as u64)
            }
            Source::Lines { order, .. } => (0..epochs).map(|epoch| order.batches_of(epoch) as u64).sum(),
        }
    }

    /// The loss on all that was kept back.
    pub(super) fn validate(&self, model: (&Gpt, &Params)) -> Loss {
        match &self.source {
            Source::Windows(windows) => {
                let (file, range) = windows.kept();
                text_loss(model, |part| file.slice(part), range.clone(), self.context)
            }
            Source::Lines { lines, kept: (file, pieces), .. } => {
                let file = file.as_ref().unwrap_or(lines);
                sequences_loss(model, pieces.iter().map(|piece| file.piece(*piece, self.context)))
            }
        }
    }

    /// The same in bits a character.
    pub(super) fn bits_per_character(&self, loss: &Loss) -> f64 {
        loss.bits_per_character(self.characters_per_token)
    }

    pub(super) fn describe(&self) -> String {
        match &self.source {
            Source::Windows(windows) => {
                let (learnt, kept) = (windows.train.len(), windows.kept().1.len());
                format!("{learnt} tokens to learn from, {kept} kept for validation")
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

    /// `count` continuations of the beginning of what was kept back, drawn with a temperature of 0.8.
    pub(super) fn samples(
        &self,
        (gpt, params): (&Gpt, &Params),
        tokenizer: &Tokenizer,
        count: usize,
        step: u64,
    ) -> Result<Vec<Sample>> {
        let most = (self.context / 4).clamp(1, 16);
        let beginning = match &self.source {
            Source::Windows(windows) => {
                let (file, range) = windows.kept();
                file.slice(range.start..range.end.min(range.start + most))
            }
            // Behind the end token of the line before.
            Source::Lines { lines, kept: (file, pieces), .. } => {
                let first = file.as_ref().unwrap_or(lines).piece(pieces[0], self.context);
                first[1..].iter().copied().take(most.min(4)).collect()
            }
        };
        let prompt = tokenizer.decode(&beginning)?;
        let filter = Filter { temperature: 0.8, ..Filter::default() };
        let decoding = Decoding {
            strategy: Strategy::Sample(Sampling { filter, samples: count, seed: self.seed ^ step }),
            rules: Rules { ends: tokenizer.end().into_iter().collect(), ..Rules::default() },
        };
        let options = GenerateOptions {
            new_tokens: Some((self.context - beginning.len()).clamp(1, 200)),
            file_limits: (None, None),
            stops: Vec::new(),
            start: tokenizer.end(),
            overflow: Overflow::Slide,
            trace: Trace::Off,
        };
        let written = generate((gpt, params), tokenizer, &[&prompt], &decoding, &options, &mut |_| Ok(()))?;
        Ok(written.into_iter().flatten().map(|one| (prompt.clone(), one.text, None)).collect())
    }
}

/// Windows of a text, and the characters a token stands for.
fn windows(
    config: &RunConfig,
    tokenizer: &Tokenizer,
    cache: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<(Source, f64)> {
    let (data, context) = (&config.data, config.model.context);
    let end = if data.text.len() > 1 { tokenizer.end() } else { None };
    let windows = Windows::read(config, tokenizer, end, cache, progress)?;
    let (file, kept) = windows.kept();
    let learnt = windows.train.len();
    if learnt <= context {
        let message = format!("{learnt} tokens to learn from are too few for a context of {context}");
        return Err(
            Error::data(message).hint(format!("--set model.context={}, or more text", (learnt / 2).max(1)))
        );
    }
    if kept.len() < 2 {
        let files: Vec<String> = data.validation_text.iter().map(|file| file.display().to_string()).collect();
        let (whose, hint) = match &files[..] {
            [] => (String::new(), "give more text, or a larger --set data.validation_share=0.1"),
            files => (
                format!("{}: ", files.join(", ")),
                "data.validation_text wants a text; without it a part of the other is kept",
            ),
        };
        let message =
            format!("{whose}{} tokens for validation are too few to predict one from another", kept.len());
        return Err(Error::data(message).hint(hint));
    }
    let gives_text_back =
        matches!(tokenizer.kind(), Some(TokenizerKind::Character | TokenizerKind::Byte | TokenizerKind::Bpe));
    let characters_per_token = match &data.validation_text[..] {
        [] if gives_text_back => characters_in(file, kept.clone(), tokenizer)? as f64 / kept.len() as f64,
        // Where tokens do not say what stood between them, the end is taken to be like the whole.
        [] => characters(&data.text)? as f64 / windows.tokens.len() as f64,
        files => characters(files)? as f64 / kept.len() as f64,
    };
    Ok((Source::Windows(windows), characters_per_token))
}

/// About how many characters a part of a text has: where it is cut is between tokens, so what they stand for is counted. One that the tokenizer
/// does not know counts as one character.
fn characters_in(tokens: &TokenFile, part: Range<usize>, tokenizer: &Tokenizer) -> Result<usize> {
    let mut count = 0;
    for start in part.clone().step_by(1 << 16) {
        let mut ids = tokens.slice(start..part.end.min(start + (1 << 16)));
        let all = ids.len();
        ids.retain(|id| Some(*id) != tokenizer.unknown());
        count += all - ids.len() + tokenizer.decode(&ids)?.chars().count();
    }
    Ok(count)
}

fn characters(files: &[PathBuf]) -> Result<u64> {
    let mut count = 0;
    for path in files {
        for block in Blocks::new(Text::open(path)?) {
            count += block?.chars().count() as u64;
        }
    }
    Ok(count)
}

/// Lines, and the characters a token of those that are kept stands for.
fn lines(
    config: &RunConfig,
    tokenizer: &Tokenizer,
    cache: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<(Source, f64)> {
    let (data, context, seed) = (&config.data, config.model.context, config.train.seed);
    let mut read = |files: &[PathBuf], policy, name| {
        Documents::read((files, policy), tokenizer, &cache.join(name), progress)
    };
    let lines = read(&data.text, config.duplicates(), "train")?;
    // What is measured is not cleaned of duplicates.
    let kept_file = match &data.validation_text[..] {
        [] => None,
        files => Some(read(files, Duplicates::Keep, "validation")?),
    };
    let (train, kept) = divide_lines(config, lines.count(), kept_file.as_ref().map(Documents::count))?;
    let kept_texts = match kept_file {
        Some(_) => (&data.validation_text, Duplicates::Keep),
        None => (&data.text, config.duplicates()),
    };
    let characters = characters_of(kept_texts.0, kept_texts.1, &kept)?;
    let file = kept_file.as_ref().unwrap_or(&lines);
    let kept: Vec<Piece> = kept.iter().flat_map(|document| file.pieces(*document, 0, context)).collect();
    let predicted: usize = kept.iter().map(|piece| file.length(*piece, context) - 1).sum();
    // Every other document without its first token: a prompt that somebody types has none before it.
    let train =
        train.iter().enumerate().flat_map(|(i, document)| lines.pieces(*document, 1 - i % 2, context));
    let train: Vec<Piece> = train.collect();
    let lengths: Vec<usize> = train.iter().map(|piece| lines.length(*piece, context) - 1).collect();
    let order = PairOrder::new(seed, &lengths, config.train.batch_tokens, config.bucketing()?)?;
    let source = Source::Lines { lines, train, kept: (kept_file, kept), order: Box::new(order) };
    Ok((source, characters as f64 / predicted as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_batches_of_a_step_read_what_one_large_batch_would() {
        for step in 0..3 {
            let parts: Vec<usize> =
                (0..4).flat_map(|part| part_of_step(7, 4 * step + part, (3, 4), 1000)).collect();
            assert_eq!(parts, part_of_step(7, step, (12, 1), 1000));
        }
    }
}
