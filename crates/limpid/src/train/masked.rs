//! Text for an encoder: windows, lines or pairs of lines, with words hidden.

use super::config::{RunConfig, Unit};
use super::examples::{Part, Sample, USUAL_SHARE, epoch_of};
use super::lines::{cleaned_lines, describe_lines, divide_lines};
use super::windows::Windows;
use crate::data::batch::MaskedBatch;
use crate::data::clean::Duplicates;
use crate::data::frame::Frame;
use crate::data::line_pairs::LinePairs;
use crate::data::masking::{Draw, Masking};
use crate::data::order::{PairOrder, random_windows};
use crate::data::sequence_file::{Recipe, SequenceFile};
use crate::data::split::split_text;
use crate::encode::Read;
use crate::error::{Error, Result};
use crate::eval::encoder::MaskedScore;
use crate::model::Bert;
use crate::text::{Tokenizer, TokenizerKind, each_line};
use limpid_tensor::params::Params;
use limpid_tensor::rng::Stream;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Tokens that are validated together.
const AT_A_TIME: usize = 4_096;
/// Streams of a seed: bit 56 is which lines are put together, bit 55 those of validation (see `data/order.rs`).
const PAIRS: u64 = 1 << 56;
const PAIRS_KEPT: u64 = 1 << 55;

/// A text for an encoder.
pub struct MaskedExamples {
    source: Source,
    masking: Masking,
    frame: Frame,
    /// The longest sequence, special tokens included.
    context: usize,
    batch: usize,
    /// Batches of a step.
    accumulate: u64,
    seed: u64,
}

/// Where sequences come from.
enum Source {
    /// Anywhere in a text.
    Windows(Windows),
    /// Lines, each once an epoch.
    Lines {
        lines: SequenceFile,
        train: Vec<Piece>,
        kept: (Option<SequenceFile>, Vec<Piece>),
        order: Box<PairOrder>,
    },
    /// A line and the next one, or in half of the cases another.
    Pairs { train: Lines, kept: Lines },
}

/// A part of a line: which one, and which of its tokens.
type Piece = (u32, Range<u32>);

/// Lines that are put together.
struct Lines {
    file: Arc<SequenceFile>,
    pairs: LinePairs,
}

impl MaskedExamples {
    pub(super) fn read(
        config: &RunConfig,
        tokenizer: &Tokenizer,
        cache: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let (data, seed, context) = (&config.data, config.train.seed, config.model.context);
        let masking = Masking::new(tokenizer, config.masking.share, config.hide(), seed)?;
        let frame = Frame::of(tokenizer)?;
        let share = data.validation_share.unwrap_or(USUAL_SHARE);
        let source = match config.unit()? {
            Unit::Windows => windows(config, tokenizer, cache, progress)?,
            Unit::Lines => {
                let mut read = |files: &[PathBuf], policy, name| {
                    cleaned_lines((files, policy), tokenizer, &cache.join(name), progress)
                };
                let lines = read(&data.text, config.duplicates(), "train")?;
                // What is measured is not cleaned of duplicates.
                let file = match &data.validation_text[..] {
                    [] => None,
                    files => Some(read(files, Duplicates::Keep, "validation")?),
                };
                let (train, kept) =
                    divide_lines(config, lines.count(), file.as_ref().map(SequenceFile::count))?;
                let train = pieces(&lines, train, context - 2);
                let kept = pieces(file.as_ref().unwrap_or(&lines), kept, context - 2);
                let kept = (file, kept);
                let lengths: Vec<usize> = train.iter().map(|(_, part)| part.len() + 2).collect();
                let order = PairOrder::new(seed, &lengths, config.train.batch_tokens, config.bucketing()?)?;
                Source::Lines { lines, train, kept, order: Box::new(order) }
            }
            Unit::Pairs => {
                let mut read =
                    |files: &[PathBuf], name| all_lines(tokenizer, files, &cache.join(name), progress);
                let lines = Arc::new(read(&data.text, "train")?);
                let all = lines.count();
                if data.validation_text.is_empty() {
                    let (train, kept) = split_text(all, share)?;
                    Source::Pairs { train: Lines::new(lines.clone(), train), kept: Lines::new(lines, kept) }
                } else {
                    let kept = Arc::new(read(&data.validation_text, "validation")?);
                    let kept_lines = kept.count();
                    Source::Pairs { train: Lines::new(lines, 0..all), kept: Lines::new(kept, 0..kept_lines) }
                }
            }
        };
        let found = Self {
            source,
            masking,
            frame,
            context,
            batch: config.train.batch,
            accumulate: config.train.accumulate as u64,
            seed,
        };
        let (train, kept) = found.counts();
        if train == 0 || kept == 0 {
            let what = if train == 0 { "to learn from" } else { "for validation" };
            let unit = config.data.unit.as_deref().unwrap_or("windows").trim_end_matches('s');
            return Err(Error::data(format!("no {unit} is there {what}")).hint(
                "give more text; `pairs` needs a line after a line, `lines` lines that are not empty",
            ));
        }
        Ok(found)
    }

    /// The batches of a step, from 0: a function of seed and step alone. Windows and pairs are drawn for the whole step, so that its parts
    /// together are one batch.
    pub(super) fn of_step(&mut self, step: u64) -> Vec<MaskedBatch> {
        let (frame, seed, inner) = (self.frame, self.seed, self.context - 2);
        let size = self.batch * self.accumulate as usize;
        let (sequences, follows) = match &mut self.source {
            Source::Windows(Windows { tokens, train, .. }) => {
                let starts = random_windows(seed, step, size, train.len() - inner + 1);
                let window = |at| frame.one(&tokens.slice(train.start + at..train.start + at + inner));
                (starts.into_iter().map(window).collect(), None)
            }
            Source::Lines { lines, train, order, .. } => {
                let line = |i: &usize| frame.one(&tokens_of(lines, &train[*i]));
                let mut batch = |n: u64| {
                    let sequences = order.batch(n).iter().map(line).collect();
                    self.masking.apply(Draw::Training(n), sequences, None)
                };
                return (step * self.accumulate..(step + 1) * self.accumulate).map(&mut batch).collect();
            }
            Source::Pairs { train, .. } => {
                let chosen = random_windows(seed, step, size, train.pairs.count());
                let (pairs, follows) =
                    train.draw(&chosen, (frame, self.context), &mut Stream::new(seed, PAIRS | step));
                (pairs, Some(follows))
            }
        };
        let draw = Draw::Training(step);
        match self.accumulate {
            1 => vec![self.masking.apply(draw, sequences, follows)],
            _ => self.masking.apply_in_parts(draw, sequences, follows, self.batch),
        }
    }

    /// All tokens of a part, piece by piece.
    pub(super) fn each(&self, part: Part, on: &mut dyn FnMut(&[u32])) {
        match (&self.source, part) {
            (Source::Windows(windows), part) => windows.each(part, on),
            (Source::Lines { lines, train, .. }, Part::Learnt) => {
                train.iter().for_each(|piece| on(&tokens_of(lines, piece)))
            }
            (Source::Lines { lines, kept: (file, pieces), .. }, Part::Kept) => {
                let file = file.as_ref().unwrap_or(lines);
                pieces.iter().for_each(|piece| on(&tokens_of(file, piece)))
            }
            (Source::Pairs { train, .. }, Part::Learnt) => train.each(on),
            (Source::Pairs { kept, .. }, Part::Kept) => kept.each(on),
        }
    }

    /// What was kept back, in batches that fit through the model: the same words are hidden every time.
    fn kept(&self) -> impl Iterator<Item = MaskedBatch> + '_ {
        let inner = self.context - 2;
        let count = self.counts().1;
        let at_a_time = (AT_A_TIME / self.context).max(1);
        (0..count.div_ceil(at_a_time)).map(move |group| {
            let range = group * at_a_time..count.min((group + 1) * at_a_time);
            let (sequences, follows) = match &self.source {
                Source::Windows(windows) => {
                    let (file, all) = windows.kept();
                    let window = |i: usize| {
                        let start = all.start + i * inner;
                        self.frame.one(&file.slice(start..all.end.min(start + inner)))
                    };
                    (range.map(window).collect::<Vec<Read>>(), None)
                }
                Source::Lines { lines, kept: (file, pieces), .. } => {
                    let file = file.as_ref().unwrap_or(lines);
                    (range.map(|i| self.frame.one(&tokens_of(file, &pieces[i]))).collect(), None)
                }
                Source::Pairs { kept, .. } => {
                    let mut rng = Stream::new(self.seed, PAIRS_KEPT | group as u64);
                    let chosen: Vec<usize> = range.collect();
                    let (pairs, follows) = kept.draw(&chosen, (self.frame, self.context), &mut rng);
                    (pairs, Some(follows))
                }
            };
            self.masking.apply(Draw::Validation(group as u64), sequences, follows)
        })
    }

    /// Loss and accuracy at the hidden words of all that was kept back.
    pub(super) fn validate(&self, model: (&Bert, &Params)) -> MaskedScore {
        let mut score = MaskedScore::default();
        self.kept().for_each(|batch| score.add(model, &batch));
        score
    }

    /// Sequences (windows: how many go through a text one after another) to learn from, and kept back.
    fn counts(&self) -> (usize, usize) {
        let inner = self.context - 2;
        match &self.source {
            Source::Windows(windows) => {
                let (train, kept) = (windows.train.len(), windows.kept().1.len());
                ((train >= inner) as usize * train.div_ceil(inner), kept.div_ceil(inner))
            }
            Source::Lines { train, kept, .. } => (train.len(), kept.1.len()),
            Source::Pairs { train, kept } => (train.pairs.count(), kept.pairs.count()),
        }
    }

    /// How often the data has been gone through before batch `n`.
    pub(super) fn epoch(&mut self, n: u64) -> f64 {
        match &mut self.source {
            Source::Lines { order, .. } => epoch_of(order, n),
            _ => (n * self.batch as u64) as f64 / self.counts().0 as f64,
        }
    }

    /// How many batches `epochs` times through the data are.
    pub(super) fn batches_in(&mut self, epochs: u64) -> u64 {
        match &mut self.source {
            Source::Lines { order, .. } => (0..epochs).map(|epoch| order.batches_of(epoch) as u64).sum(),
            _ => (epochs * self.counts().0 as u64).div_ceil(self.batch as u64),
        }
    }

    pub(super) fn describe(&self) -> String {
        let (train, kept) = self.counts();
        let what = match &self.source {
            Source::Windows(_) => "windows of text",
            Source::Lines { lines, train, kept: (file, kept), .. } => {
                let of = |piece: &Piece| piece.0;
                return describe_lines(
                    (train.iter().map(of), lines.cleaning()),
                    (kept.iter().map(of), file.as_ref().map(SequenceFile::cleaning)),
                );
            }
            Source::Pairs { .. } => "pairs of lines",
        };
        format!("{train} {what} to learn from, {kept} kept for validation")
    }

    /// The first sequences that were kept back: with masks, as the model fills them, as they were.
    pub(super) fn samples(
        &self,
        (bert, params): (&Bert, &Params),
        tokenizer: &Tokenizer,
        count: usize,
    ) -> Result<Vec<Sample>> {
        let Some(batch) = self.kept().next() else { return Ok(Vec::new()) };
        let mut tape = limpid_tensor::tape::Tape::inference(params);
        let hidden = bert.hidden(&mut tape, &batch.input);
        let mut shown = batch.input.tokens.ids.to_vec();
        let (mut said, mut right) = (shown.clone(), shown.clone());
        let spans = &batch.input.tokens.spans;
        let spans = &spans[..count.min(spans.len())];
        let last = spans.last().map_or(0, |span| span.start + span.len);
        let rows: Vec<u32> = batch.rows.iter().copied().filter(|row| (*row as usize) < last).collect();
        let logits = bert.word_logits(&mut tape, &hidden, &rows.clone().into());
        let (mask, mask_text) = tokenizer.mask().expect("checked when it was read");
        for (i, row) in rows.iter().enumerate() {
            // Also where another word was put, or the right one left: what is asked for is shown as a gap.
            shown[*row as usize] = mask;
            said[*row as usize] = crate::decode::argmax(logits.value().row(i)) as u32;
            right[*row as usize] = batch.targets[i];
        }
        spans
            .iter()
            .map(|span| {
                let inside = span.start + 1..(span.start + span.len).max(span.start + 2) - 1;
                let text = |ids: &[u32]| tokenizer.decode_with_special(&ids[inside.clone()]);
                let mut gaps = text(&shown)?;
                if tokenizer.kind() == Some(TokenizerKind::Word) {
                    // The space before a word is written with the word, and a gap hides it.
                    gaps = gaps.replace(mask_text, &format!(" {mask_text} "));
                    gaps = gaps.split_whitespace().collect::<Vec<_>>().join(" ");
                }
                Ok((gaps, text(&said)?, Some(text(&right)?)))
            })
            .collect()
    }
}

fn windows(
    config: &RunConfig,
    tokenizer: &Tokenizer,
    cache: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<Source> {
    let inner = config.model.context - 2;
    let windows = Windows::read(config, tokenizer, None, cache, progress)?;
    let (there, context) = (windows.train.len(), config.model.context);
    if there < inner {
        return Err(Error::data(format!(
            "{there} tokens to learn from are too few for a context of {context}"
        ))
        .hint(format!("--set model.context={}, or more text", (there / 2).max(4))));
    }
    Ok(Source::Windows(windows))
}

/// The lines of some files as tokens; one that is empty has none, and an empty one ends each file, as it ends a document.
fn all_lines(
    tokenizer: &Tokenizer,
    files: &[PathBuf],
    path: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<SequenceFile> {
    let (how, ids) = ("lines, an empty one after each file".to_string(), tokenizer.vocab_size());
    let recipe = Recipe { files, how, tokenizer, ids, clean: None };
    let of_file = |file| each_line(std::slice::from_ref(file)).chain([Ok(String::new())]);
    let cut = |line: &String| Ok(vec![tokenizer.encode(line)?]);
    SequenceFile::build(path, &recipe, || Ok(files.iter().flat_map(of_file)), cut, progress)
}

/// Some of the lines, long ones in pieces: nothing is left out.
fn pieces(lines: &SequenceFile, which: impl IntoIterator<Item = usize>, longest: usize) -> Vec<Piece> {
    let of_line = |i: usize| {
        let tokens = lines.len_of(i);
        (0..tokens).step_by(longest).map(move |at| (i as u32, at as u32..tokens.min(at + longest) as u32))
    };
    which.into_iter().flat_map(of_line).collect()
}

fn tokens_of(lines: &SequenceFile, (line, part): &Piece) -> Vec<u32> {
    lines.part(*line as usize, part.start as usize..part.end as usize)
}

impl Lines {
    /// Those of `part`.
    fn new(file: Arc<SequenceFile>, part: Range<usize>) -> Self {
        let pairs = LinePairs::new(part, |i| file.len_of(i));
        Self { file, pairs }
    }

    fn each(&self, on: &mut dyn FnMut(&[u32])) {
        self.pairs.firsts().iter().for_each(|line| on(&self.file.get(*line)));
    }

    fn draw(&self, chosen: &[usize], how: (Frame, usize), rng: &mut Stream) -> (Vec<Read>, Vec<u32>) {
        self.pairs.draw(chosen, |i| self.file.get(i), how, rng)
    }
}
