//! Text for a language model: windows from anywhere in it, or lines, each a text of its own.

use super::config::{RunConfig, Unit};
use super::examples::{Sample, USUAL_SHARE, epoch_of};
use crate::data::batch::LmBatch;
use crate::data::order::{PairOrder, random_windows};
use crate::data::sequences::{documents, without_start};
use crate::data::split::{Split, split, split_text};
use crate::data::tokens::TokenFile;
use crate::decode::filter::Filter;
use crate::decode::{Decoding, GenerateOptions, Overflow, Rules, Sampling, Strategy, Trace, generate};
use crate::error::{Error, Result};
use crate::eval::loss::{Loss, sequences_loss, text_loss};
use crate::model::Gpt;
use crate::text::{Blocks, Text, Tokenizer, lines_of};
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

/// What is kept back: a part of a file of its own, or of the file that is learnt from.
pub(super) type Kept = (Option<TokenFile>, Range<usize>);

/// Where sequences come from.
enum Source {
    /// Anywhere in a text.
    Windows { tokens: TokenFile, train: Range<usize>, kept: Kept },
    /// Lines between end tokens, each once an epoch.
    Lines { train: Vec<Vec<u32>>, kept: Vec<Vec<u32>>, order: Box<PairOrder> },
}

impl TextExamples {
    pub(super) fn read(
        config: &RunConfig,
        tokenizer: &Tokenizer,
        cache: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let (source, characters_per_token) = match config.unit()? {
            Unit::Lines => lines(config, tokenizer)?,
            Unit::Windows | Unit::Pairs => windows(config, tokenizer, cache, progress)?,
        };
        let (context, batch, seed) = (config.model.context, config.train.batch, config.train.seed);
        let accumulate = config.train.accumulate;
        Ok(Self { source, context, batch, accumulate, seed, characters_per_token })
    }

    /// Batch number `n`, from 0: a function of seed and n alone.
    pub(super) fn batch(&mut self, n: u64) -> LmBatch {
        match &mut self.source {
            Source::Windows { tokens, train, .. } => {
                let starts =
                    part_of_step(self.seed, n, (self.batch, self.accumulate), train.len() - self.context);
                let window = |at| tokens.window(train.start + at, self.context);
                LmBatch::new(&starts.into_iter().map(window).collect::<Vec<_>>())
            }
            Source::Lines { train, order, .. } => {
                LmBatch::new(&order.batch(n).iter().map(|i| &train[*i][..]).collect::<Vec<&[u32]>>())
            }
        }
    }

    /// How often the data has been gone through before batch `n`.
    pub(super) fn epoch(&mut self, n: u64) -> f64 {
        match &mut self.source {
            Source::Windows { train, .. } => {
                (n * (self.batch * self.context) as u64) as f64 / train.len() as f64
            }
            Source::Lines { order, .. } => epoch_of(order, n),
        }
    }

    /// How many batches `epochs` times through the data are.
    pub(super) fn batches_in(&mut self, epochs: u64) -> u64 {
        match &mut self.source {
            Source::Windows { train, .. } => {
                (epochs * train.len() as u64).div_ceil((self.batch * self.context) as u64)
            }
            Source::Lines { order, .. } => (0..epochs).map(|epoch| order.batches_of(epoch) as u64).sum(),
        }
    }

    /// The loss on all that was kept back.
    pub(super) fn validate(&self, model: (&Gpt, &Params)) -> Loss {
        match &self.source {
            Source::Windows { tokens, kept: (file, range), .. } => {
                let file = file.as_ref().unwrap_or(tokens);
                text_loss(model, |part| file.slice(part), range.clone(), self.context)
            }
            Source::Lines { kept, .. } => sequences_loss(model, kept),
        }
    }

    /// The same in bits a character.
    pub(super) fn bits_per_character(&self, loss: &Loss) -> f64 {
        loss.bits_per_character(self.characters_per_token)
    }

    pub(super) fn describe(&self) -> String {
        let (train, kept, what) = match &self.source {
            Source::Windows { train, kept, .. } => (train.len(), kept.1.len(), "tokens"),
            Source::Lines { train, kept, .. } => (train.len(), kept.len(), "lines"),
        };
        format!("{train} {what} to learn from, {kept} kept for validation")
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
            Source::Windows { tokens, kept: (file, range), .. } => {
                file.as_ref().unwrap_or(tokens).slice(range.start..range.end.min(range.start + most))
            }
            // Behind the end token of the line before.
            Source::Lines { kept, .. } => kept[0][1..].iter().copied().take(most.min(4)).collect(),
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
    let (tokens, train, kept) = token_files(config, tokenizer, end, cache, progress)?;
    for (range, what) in [(&train, "to learn from"), (&kept.1, "for validation")] {
        if range.len() < 2 || (what == "to learn from" && range.len() <= context) {
            return Err(Error::data(format!(
                "{} tokens {what} are too few for a context of {context}",
                range.len()
            ))
            .hint(format!("--set model.context={}, or more text", (range.len() / 2).max(1))));
        }
    }
    let counted = kept.0.as_ref().map_or(tokens.len(), TokenFile::len);
    let kept_files = if kept.0.is_some() { &data.validation_text } else { &data.text };
    let characters_per_token = characters(kept_files)? as f64 / counted as f64;
    Ok((Source::Windows { tokens, train, kept }, characters_per_token))
}

/// Tokens of the text, the part to learn from, and what is kept back. `end` is put between files.
pub(super) fn token_files(
    config: &RunConfig,
    tokenizer: &Tokenizer,
    end: Option<u32>,
    cache: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<(TokenFile, Range<usize>, Kept)> {
    let data = &config.data;
    let (tokens, _) = TokenFile::build(&cache.join("train.tokens"), tokenizer, &data.text, end, progress)?;
    if data.validation_text.is_empty() {
        let (train, kept) = split_text(tokens.len(), data.validation_share.unwrap_or(USUAL_SHARE))?;
        return Ok((tokens, train, (None, kept)));
    }
    let path = cache.join("validation.tokens");
    let (kept, _) = TokenFile::build(&path, tokenizer, &data.validation_text, end, progress)?;
    let (train, range) = (0..tokens.len(), 0..kept.len());
    Ok((tokens, train, (Some(kept), range)))
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
fn lines(config: &RunConfig, tokenizer: &Tokenizer) -> Result<(Source, f64)> {
    let (data, context, seed) = (&config.data, config.model.context, config.train.seed);
    let all = lines_of(&data.text)?;
    let (train, kept) = if data.validation_text.is_empty() {
        let share = data.validation_share.unwrap_or(USUAL_SHARE);
        let (train, kept) = split(all.len(), Split::Random { share, seed })?;
        let pick = |which: &[usize]| which.iter().map(|i| all[*i].clone()).collect::<Vec<String>>();
        (pick(&train), pick(&kept))
    } else {
        (all, lines_of(&data.validation_text)?)
    };
    for (lines, what) in [(&train, "to learn from"), (&kept, "for validation")] {
        if lines.is_empty() {
            return Err(Error::data(format!("no line is there {what}"))
                .hint("give more text: lines that are empty do not count"));
        }
    }
    // The line break stands for the end token.
    let characters: usize = kept.iter().map(|line| line.chars().count() + 1).sum();
    let tokens = |lines: &[String]| documents(tokenizer, lines.iter().map(String::as_str));
    let mut train = tokens(&train)?;
    without_start(&mut train);
    let (train, kept) = (pieces(&train, context), pieces(&tokens(&kept)?, context));
    let predicted: usize = kept.iter().map(|piece| piece.len() - 1).sum();
    let lengths: Vec<usize> = train.iter().map(|piece| piece.len() - 1).collect();
    let order = PairOrder::new(seed, &lengths, config.train.batch_tokens, config.bucketing()?)?;
    Ok((Source::Lines { train, kept, order: Box::new(order) }, characters as f64 / predicted as f64))
}

/// Sequences of `context` predictions at most: a long one is cut, and each piece begins with the token that the one before ends with, so that
/// every token but the first is predicted once.
fn pieces(sequences: &[Vec<u32>], context: usize) -> Vec<Vec<u32>> {
    let cut = |sequence: &Vec<u32>| {
        let predicted = sequence.len().saturating_sub(1);
        let piece = |at: usize| sequence[at..sequence.len().min(at + context + 1)].to_vec();
        (0..predicted).step_by(context).map(piece).collect::<Vec<_>>()
    };
    sequences.iter().flat_map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::{part_of_step, pieces};

    #[test]
    fn the_batches_of_a_step_read_what_one_large_batch_would() {
        for step in 0..3 {
            let parts: Vec<usize> =
                (0..4).flat_map(|part| part_of_step(7, 4 * step + part, (3, 4), 1000)).collect();
            assert_eq!(parts, part_of_step(7, step, (12, 1), 1000));
        }
    }

    #[test]
    fn pieces_predict_every_token_but_the_first_once() {
        let sequences = vec![vec![9, 1, 2, 3, 4, 9], vec![9, 1, 2, 9], vec![9]];
        let want: [&[u32]; 3] = [&[9, 1, 2, 3], &[3, 4, 9], &[9, 1, 2, 9]];
        assert_eq!(pieces(&sequences, 3), want);
    }
}
