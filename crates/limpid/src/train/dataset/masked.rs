//! Text for masked language modelling: windows, lines or pairs of lines.

use super::lines::{Lines, PieceShape};
use super::reader::{Read, Reader};
use super::windows::Windows;
use super::{Batch, Split};
use crate::data::batch::{EncodedText, MaskedBatch};
use crate::data::masking::{MaskStream, Masking};
use crate::data::next_sentence::NextSentencePairs;
use crate::data::sequence_file::SequenceFile;
use crate::data::split::split_text;
use crate::data::template::EncoderTemplate;
use crate::error::{DatasetError, Result, SplitName};
use crate::report::thousands;
use crate::train::config::{BertTask, TextData, Unit};
use crate::train::pretrained::check_pairs;
use limpid_tensor::rng::Stream;
use std::ops::Range;
use std::sync::Arc;

/// Tokens of a validation batch.
const VALIDATION_TOKENS: usize = 4_096;
/// Random streams of a seed: bit 56 for the pairs of lines in training, bit 55 for those of
/// validation (see `data/sampler.rs`).
const PAIRS: u64 = 1 << 56;
const VALIDATION_PAIRS: u64 = 1 << 55;

/// Text for masked language modelling.
pub struct MaskedExamples {
    pub(super) train: MaskedSplit,
    pub(super) validation: MaskedSplit,
    masking: Masking,
    template: EncoderTemplate,
    /// The longest sequence, special tokens included.
    context: usize,
    seed: u64,
}

/// One split of a text.
pub(super) enum MaskedSplit {
    /// A long text, of which sequences are windows.
    Windows(Windows),
    /// Lines, long ones in pieces: no token is dropped.
    Lines(Lines),
    /// A line and the next one, or in half of the cases a random one.
    Pairs(LinePairs),
}

/// Lines that are paired.
pub(super) struct LinePairs {
    file: Arc<SequenceFile>,
    pairs: NextSentencePairs,
}

impl Split for MaskedSplit {
    fn each(&self, on: &mut dyn FnMut(&[u32])) {
        match self {
            MaskedSplit::Windows(windows) => windows.each(on),
            MaskedSplit::Lines(lines) => lines.each(on),
            MaskedSplit::Pairs(LinePairs { file, pairs }) => {
                pairs.firsts().iter().for_each(|line| on(&file.get(*line)));
            }
        }
    }
}

impl MaskedSplit {
    /// Its number of sequences of at most `longest` tokens; of windows, as many as cover the text.
    fn count(&self, longest: usize) -> usize {
        match self {
            MaskedSplit::Windows(windows) => windows.len().div_ceil(longest),
            MaskedSplit::Lines(lines) => lines.count(),
            MaskedSplit::Pairs(lines) => lines.pairs.count(),
        }
    }
}

impl MaskedExamples {
    pub(super) fn read(reader: &mut Reader, task: &BertTask) -> Result<Read<Self>> {
        let (data, context, seed) =
            (&task.data, task.model.context_length, reader.config.train.seed);
        let (probability, unit) = (task.masking.probability, task.masking.whole_words);
        let masking = Masking::new(reader.tokenizer, probability, unit, seed)?;
        let texts = if data.unit == Unit::Pairs { 2 } else { 1 };
        let template = check_pairs(reader.config, reader.tokenizer, texts)?;
        // Without special tokens.
        let added = template.added(1);
        let longest = context.saturating_sub(added).max(1);
        let (splits, unit, lines) = match data.unit {
            Unit::Windows => {
                let splits = Windows::read(reader, data, None)?;
                let found = splits[0].len();
                if found < longest {
                    return Err(DatasetError::TooShort { found, context }.into());
                }
                (splits.map(MaskedSplit::Windows), "windows", None)
            }
            Unit::Lines => {
                let splits = Lines::read(reader, data, PieceShape { longest, end: None })?;
                let lines = splits[0].describe(&splits[1]);
                (splits.map(MaskedSplit::Lines), "lines", Some(lines))
            }
            Unit::Pairs => (LinePairs::read(reader, data)?.map(MaskedSplit::Pairs), "pairs", None),
        };
        let [train, validation] = &splits;
        let counts = [train, validation].map(|split| split.count(longest));
        let empty = |split| DatasetError::Empty { split, unit: unit.into() };
        match counts {
            [0, _] => return Err(empty(SplitName::Train).into()),
            [_, 0] => return Err(empty(SplitName::Validation).into()),
            _ => {}
        }
        let order = match train {
            MaskedSplit::Windows(windows) => {
                reader.random(windows.len() - longest + 1, counts[0], 1)
            }
            MaskedSplit::Lines(lines) => {
                reader.shuffled(lines.lengths().map(|tokens| tokens + added))?
            }
            MaskedSplit::Pairs(_) => reader.random(counts[0], counts[0], 1),
        };
        let what = if data.unit == Unit::Pairs { "line pairs" } else { unit };
        let description = lines.unwrap_or_else(|| {
            let [train, validation] = counts.map(|count| thousands(count as u64));
            format!("{train} training {what}, {validation} validation {what}")
        });
        let [train, validation] = splits;
        let examples = Self { train, validation, masking, template, context, seed };
        Ok(Read { examples, order, description })
    }

    /// The micro-batches of a step. Windows and pairs are masked for the whole step, so that its
    /// micro-batches together are one batch.
    pub(super) fn batches(&self, step: u64, chosen: &[Vec<usize>]) -> Vec<Batch> {
        let encode = |chosen: &[usize]| {
            self.encode(&self.train, chosen, || Stream::new(self.seed, PAIRS | step))
        };
        let masked = match (&self.train, chosen) {
            (MaskedSplit::Lines(_), _) => {
                let numbers = step * chosen.len() as u64..;
                let batch = |(n, chosen): (u64, &Vec<usize>)| {
                    let (sequences, labels) = encode(chosen);
                    self.masking.apply(MaskStream::Training(n), sequences, labels)
                };
                numbers.zip(chosen).map(batch).collect()
            }
            (_, [whole]) => {
                let (sequences, labels) = encode(whole);
                vec![self.masking.apply(MaskStream::Training(step), sequences, labels)]
            }
            _ => {
                let (sequences, labels) = encode(&chosen.concat());
                let (stream, size) = (MaskStream::Training(step), chosen[0].len());
                self.masking.apply_in_micro_batches(stream, sequences, labels, size)
            }
        };
        masked.into_iter().map(Batch::Masked).collect()
    }

    /// Tokens of the longest sequence without its special ones.
    fn inner(&self) -> usize {
        self.context.saturating_sub(self.template.added(1)).max(1)
    }

    /// Sequences with special tokens, and the labels of next-sentence prediction if they are pairs.
    /// A window is chosen by its first token.
    fn encode(
        &self,
        split: &MaskedSplit,
        chosen: &[usize],
        rng: impl FnOnce() -> Stream,
    ) -> (Vec<EncodedText>, Option<Vec<u32>>) {
        let (template, inner) = (&self.template, self.inner());
        let single = |ids: Vec<u32>| template.single(&ids);
        match split {
            MaskedSplit::Windows(windows) => {
                (chosen.iter().map(|at| single(windows.slice(*at..*at + inner))).collect(), None)
            }
            MaskedSplit::Lines(lines) => {
                (chosen.iter().map(|i| single(lines.get(*i))).collect(), None)
            }
            MaskedSplit::Pairs(LinePairs { file, pairs }) => {
                let shape = (template, self.context);
                let (sequences, labels) =
                    pairs.sample(chosen, |line| file.get(line), shape, &mut rng());
                (sequences, Some(labels))
            }
        }
    }

    /// The validation split in batches; the same tokens are masked every time.
    pub(in crate::train) fn validation_batches(&self) -> impl Iterator<Item = MaskedBatch> + '_ {
        let inner = self.inner();
        let at_a_time = (VALIDATION_TOKENS / self.context).max(1);
        // Windows side by side.
        let stride = if let MaskedSplit::Windows(_) = self.validation { inner } else { 1 };
        let all: Vec<usize> = (0..self.validation.count(inner)).map(|i| i * stride).collect();
        (0..all.len().div_ceil(at_a_time)).map(move |group| {
            let chosen = &all[group * at_a_time..all.len().min((group + 1) * at_a_time)];
            let (sequences, labels) = self.encode(&self.validation, chosen, || {
                Stream::new(self.seed, VALIDATION_PAIRS | group as u64)
            });
            self.masking.apply(MaskStream::Validation(group as u64), sequences, labels)
        })
    }
}

impl LinePairs {
    /// Both splits: files of their own, or the end of the text held out.
    fn read(reader: &mut Reader, data: &TextData) -> Result<[Self; 2]> {
        let lines = Arc::new(reader.lines(&data.text, None, "train")?);
        if let Some(fraction) = data.validation_split {
            let (train, validation) = split_text(lines.count(), fraction)?;
            return Ok([train, validation].map(|range| Self::new(lines.clone(), range)));
        }
        let validation = Arc::new(reader.lines(&data.validation_text, None, "validation")?);
        Ok([lines, validation].map(|lines| Self::new(lines.clone(), 0..lines.count())))
    }

    /// The lines of a range.
    fn new(file: Arc<SequenceFile>, range: Range<usize>) -> Self {
        let pairs = NextSentencePairs::new(range, |i| file.len_of(i));
        Self { file, pairs }
    }
}
