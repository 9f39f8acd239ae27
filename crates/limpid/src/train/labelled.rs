//! Labelled texts for a classifier.

use super::config::RunConfig;
use super::examples::USUAL_SHARE;
use crate::data::batch::{LabelledBatch, Typed};
use crate::data::clean::Cleaning;
use crate::data::frame::Frame;
use crate::data::order::PairOrder;
use crate::data::split::{Split, split};
use crate::data::table::Example;
use crate::encode::Read;
use crate::error::{Error, Result};
use crate::eval::classification::Confusion;
use crate::eval::encoder::class_score;
use crate::eval::loss::Loss;
use crate::model::Bert;
use crate::text::Tokenizer;
use limpid_tensor::params::Params;

/// Texts that are validated together.
const AT_A_TIME: usize = 64;

/// Labelled texts.
pub struct LabelledExamples {
    train: Vec<(Read, u32)>,
    validation: Vec<(Read, u32)>,
    validation_texts: Vec<Example>,
    labels: Vec<String>,
    order: PairOrder,
    cleaning: Cleaning,
    /// Texts that were too long and are read from their beginning.
    cut: usize,
}

impl LabelledExamples {
    /// `known` are the labels of a model that is trained further: they stay if they cover what there is.
    pub(super) fn read(
        config: &RunConfig,
        tokenizer: &Tokenizer,
        known: Option<Vec<String>>,
    ) -> Result<Self> {
        let (data, table, seed) = (&config.data, config.table()?, config.train.seed);
        let found = table.read(&data.text, config.duplicates())?;
        let labels = match known {
            Some(known) if found.labels.iter().all(|label| known.contains(label)) => known,
            _ => found.labels,
        };
        if labels.len() < 2 {
            return Err(Error::data(format!(
                "every text has the label {}: there is nothing to tell apart",
                labels[0]
            ))
            .hint("give examples of at least two classes; is table.label the right column?"));
        }
        let (train, kept) = if data.validation_text.is_empty() {
            let share = data.validation_share.unwrap_or(USUAL_SHARE);
            let (train, kept) = split(found.examples.len(), Split::Random { share, seed })?;
            let pick = |which: &[usize]| which.iter().map(|i| found.examples[*i].clone()).collect();
            (pick(&train), pick(&kept))
        } else {
            // What is measured is not cleaned of duplicates.
            let kept = table.read(&data.validation_text, Default::default())?;
            (found.examples, kept.examples)
        };
        let train: Vec<Example> = train;
        let frame = Frame::of(tokenizer)?;
        let mut cut = 0;
        let mut read = |examples: &[Example]| {
            let one = |example: &Example| {
                let (read, left_out) = tokens(tokenizer, frame, example, config.model.context)?;
                cut += usize::from(left_out > 0);
                Ok((read, label_number(&labels, example)?))
            };
            examples.iter().map(one).collect::<Result<Vec<(Read, u32)>>>()
        };
        let (train, validation) = (read(&train)?, read(&kept)?);
        let lengths: Vec<usize> = train.iter().map(|((ids, _), _)| ids.len()).collect();
        let order = PairOrder::new(seed, &lengths, config.train.batch_tokens, config.bucketing()?)?;
        let cleaning = found.cleaning;
        Ok(Self { train, validation, validation_texts: kept, labels, order, cleaning, cut })
    }

    /// The labels, by number.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    pub(super) fn batch(&mut self, n: u64) -> LabelledBatch {
        let chosen = self.order.batch(n);
        batch_of(chosen.iter().map(|i| &self.train[*i]))
    }

    pub(super) fn order(&mut self) -> &mut PairOrder {
        &mut self.order
    }

    pub(super) fn validate(&self, model: (&Bert, &Params)) -> (Loss, Confusion) {
        let batches: Vec<LabelledBatch> =
            self.validation.chunks(AT_A_TIME).map(|group| batch_of(group.iter())).collect();
        class_score(model, &batches)
    }

    pub(super) fn describe(&self) -> String {
        let cut = match self.cut {
            0 => String::new(),
            cut => format!("; {cut} texts are longer than the context and are read from their beginning"),
        };
        format!(
            "{} texts to learn from, {} kept for validation, labels {} ({}){cut}",
            self.train.len(),
            self.validation.len(),
            self.labels.join(", "),
            self.cleaning
        )
    }

    /// The first texts that were kept back, what they are taken for, and what they are.
    pub(super) fn samples(
        &self,
        (bert, params): (&Bert, &Params),
        count: usize,
    ) -> Result<Vec<(String, String, Option<String>)>> {
        let count = count.min(self.validation.len());
        if count == 0 {
            return Ok(Vec::new());
        }
        let batch = batch_of(self.validation[..count].iter());
        let mut tape = limpid_tensor::tape::Tape::inference(params);
        let hidden = bert.hidden(&mut tape, &batch.input);
        let logits = bert.class_logits(&mut tape, &hidden, &batch.input);
        let sample = |(i, example): (usize, &Example)| {
            let said = self.labels[crate::decode::argmax(logits.value().row(i))].clone();
            (example.texts.join(" | "), said, Some(example.label.clone()))
        };
        Ok(self.validation_texts[..count].iter().enumerate().map(sample).collect())
    }
}

/// The number of an example's label, or an error that lists those there are.
pub fn label_number(labels: &[String], Example { label, place, .. }: &Example) -> Result<u32> {
    let number = labels.iter().position(|known| known == label);
    number.map(|number| number as u32).ok_or_else(|| {
        Error::format(
            &place.file,
            format!("line {}: the label '{label}' was not seen in training", place.line),
        )
        .hint(format!("known are: {}", labels.join(", ")))
    })
}

/// The tokens of an example of one text or two, and how many were left out because there are more than `longest`.
pub fn tokens(
    tokenizer: &Tokenizer,
    frame: Frame,
    example: &Example,
    longest: usize,
) -> Result<(Read, usize)> {
    let first = tokenizer.encode(&example.texts[0])?;
    let second = example.texts.get(1).map(|text| tokenizer.encode(text)).transpose()?;
    Ok(frame.cut(&first, second.as_deref(), longest))
}

fn batch_of<'a>(examples: impl Iterator<Item = &'a (Read, u32)>) -> LabelledBatch {
    let (reads, labels): (Vec<&Read>, Vec<u32>) = examples.map(|(read, label)| (read, *label)).unzip();
    let pairs: Vec<(&[u32], &[u32])> = reads.iter().map(|(ids, types)| (&ids[..], &types[..])).collect();
    LabelledBatch { input: Typed::new(&pairs), labels }
}
