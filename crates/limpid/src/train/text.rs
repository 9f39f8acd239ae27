//! Text for a language model: windows from anywhere in it, or lines, each a text of its own.

use super::config::{RunConfig, Unit};
use super::examples::{Part, Sample, USUAL_SHARE, epoch_of};
use super::lines::{cleaned_lines, describe_lines, divide_lines};
use crate::data::batch::LmBatch;
use crate::data::clean::Duplicates;
use crate::data::order::{PairOrder, random_windows};
use crate::data::sequence_file::{SequenceFile, pick};
use crate::data::sequences::{end_of, piece_starts};
use crate::data::split::split_text;
use crate::data::tokens::TokenFile;
use crate::decode::filter::Filter;
use crate::decode::{Decoding, GenerateOptions, Overflow, Rules, Sampling, Strategy, Trace, generate};
use crate::error::{Error, Result};
use crate::eval::loss::{Loss, sequences_loss, text_loss};
use crate::model::Gpt;
use crate::text::{Blocks, Text, Tokenizer, TokenizerKind, each_line};
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
    Lines {
        lines: Documents,
        train: Vec<Piece>,
        kept: (Option<Documents>, Vec<Piece>),
        order: Box<PairOrder>,
    },
}

/// Lines, each between end tokens.
struct Documents {
    lines: SequenceFile,
    end: u32,
}

/// A part of a document: which one, from which of its tokens.
#[derive(Clone, Copy)]
struct Piece {
    document: u32,
    at: u32,
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
            Source::Windows { tokens, train, .. } => {
                let starts =
                    part_of_step(self.seed, n, (self.batch, self.accumulate), train.len() - self.context);
                let window = |at| tokens.window(train.start + at, self.context);
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
            (Source::Windows { tokens, train, .. }, Part::Learnt) => each_chunk(tokens, train, on),
            (Source::Windows { tokens, kept: (file, range), .. }, Part::Kept) => {
                each_chunk(file.as_ref().unwrap_or(tokens), range, on)
            }
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
            Source::Windows { train, kept: (_, kept), .. } => {
                format!("{} tokens to learn from, {} kept for validation", train.len(), kept.len())
            }
            Source::Lines { lines, train, kept: (file, kept), .. } => {
                let of = |piece: &Piece| piece.document;
                describe_lines(
                    (train.iter().map(of), lines.lines.cleaning()),
                    (kept.iter().map(of), file.as_ref().map(|file| file.lines.cleaning())),
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
            Source::Windows { tokens, kept: (file, range), .. } => {
                file.as_ref().unwrap_or(tokens).slice(range.start..range.end.min(range.start + most))
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
    let gives_text_back =
        matches!(tokenizer.kind(), Some(TokenizerKind::Character | TokenizerKind::Byte | TokenizerKind::Bpe));
    let characters_per_token = match &kept.0 {
        Some(_) => characters(&data.validation_text)? as f64 / kept.1.len() as f64,
        None if gives_text_back => {
            characters_in(&tokens, kept.1.clone(), tokenizer)? as f64 / kept.1.len() as f64
        }
        // Where tokens do not say what stood between them, the end is taken to be like the whole.
        None => characters(&data.text)? as f64 / tokens.len() as f64,
    };
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

/// The tokens of a range, some thousand at a time.
pub(super) fn each_chunk(tokens: &TokenFile, range: &Range<usize>, on: &mut dyn FnMut(&[u32])) {
    const CHUNK: usize = 1 << 16;
    for start in range.clone().step_by(CHUNK) {
        on(&tokens.slice(start..range.end.min(start + CHUNK)));
    }
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

/// Characters of some of the lines (their numbers ascend) that stay when they are cleaned. The line break stands for the end token.
fn characters_of(files: &[PathBuf], policy: Duplicates, which: &[usize]) -> Result<usize> {
    pick(each_line(files), policy, which).map(|line| Ok(line?.chars().count() + 1)).sum()
}

impl Documents {
    fn read(
        (files, policy): (&[PathBuf], Duplicates),
        tokenizer: &Tokenizer,
        path: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let end = end_of(tokenizer)?;
        Ok(Self { lines: cleaned_lines((files, policy), tokenizer, path, progress)?, end })
    }

    fn count(&self) -> usize {
        self.lines.count()
    }

    /// Parts of `context` predictions at most, from token `first` on.
    fn pieces(&self, document: usize, first: usize, context: usize) -> impl Iterator<Item = Piece> + use<> {
        let starts = piece_starts(first, self.lines.len_of(document) + 2, context);
        starts.map(move |at| Piece { document: document as u32, at: at as u32 })
    }

    /// Tokens of a piece.
    fn length(&self, piece: Piece, context: usize) -> usize {
        let tokens = self.lines.len_of(piece.document as usize) + 2;
        (tokens - piece.at as usize).min(context + 1)
    }

    fn piece(&self, piece: Piece, context: usize) -> Vec<u32> {
        let (document, at) = (piece.document as usize, piece.at as usize);
        let (to, inside) = (at + self.length(piece, context), self.lines.len_of(document));
        // Places 0 and inside + 1 are the end tokens.
        let mut ids: Vec<u32> = if at == 0 { vec![self.end] } else { Vec::new() };
        ids.extend(self.lines.part(document, at.max(1) - 1..(to - 1).min(inside)));
        if to == inside + 2 {
            ids.push(self.end);
        }
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Purpose, word_tokenizer_for};

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
        let folder = std::env::temp_dir().join(format!("limpid-lines-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (text, files) = ("a b c d\n \na b\na b\n", [folder.join("text")]);
        std::fs::write(&files[0], text).unwrap();
        let tokenizer = word_tokenizer_for([text], Purpose::LanguageModel).unwrap();
        let [a, b, c, d] = tokenizer.encode("a b c d").unwrap()[..] else { panic!("four words") };
        let read = |policy| {
            Documents::read((&files, policy), &tokenizer, &folder.join("cache"), &mut |_| {}).unwrap()
        };
        assert_eq!(read(Duplicates::Keep).count(), 3);
        let lines = read(Duplicates::Drop);
        let end = lines.end;
        let all = |document, first| -> Vec<Vec<u32>> {
            let pieces = lines.pieces(document, first, 3);
            pieces.map(|piece| lines.piece(piece, 3)).collect()
        };
        assert_eq!(lines.count(), 2);
        assert_eq!(all(0, 0), [vec![end, a, b, c], vec![c, d, end]]);
        assert_eq!(all(0, 1), [vec![a, b, c, d], vec![d, end]]);
        assert_eq!(all(1, 0), [vec![end, a, b, end]]);
        assert_eq!(all(1, 1), [vec![a, b, end]]);
        assert_eq!(characters_of(&files, Duplicates::Drop, &[1]).unwrap(), 4);
        assert_eq!(characters_of(&files, Duplicates::Keep, &[0, 2]).unwrap(), 8 + 4);
        let (train, kept) = ([0, 0, 1].into_iter(), [1].into_iter());
        assert_eq!(
            describe_lines((train, lines.lines.cleaning()), (kept, None)),
            "2 lines in 3 pieces to learn from, 1 lines kept for validation \
             (4 read; 1 exact duplicates left out, 1 empty and 0 too long left out)"
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
