//! What quantization costs: loss on text or pairs, cosine of embeddings, equal labels.

use crate::encode::{
    Normalization, TextClassifier, TextEncoder, Truncation, classify, cosine, embed,
};
use crate::error::Result;
use crate::eval::loss::{pairs_loss, text_loss};
use crate::eval::translator::check_ids;
use crate::hub::Pooling;
use crate::model::{Model, Stack};
use crate::text::Tokenizer;

/// The text that a model is measured on.
#[derive(Clone, Debug)]
pub enum Sample {
    /// Token ids of one text, for a decoder.
    Text(Vec<u32>),
    /// Token ids of sources and targets, for a translator.
    Pairs(Vec<(Vec<u32>, Vec<u32>)>),
    /// Texts, for an encoder.
    Texts(Vec<String>),
}

/// What changed against the model in f32.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// What is compared with a limit: the increase of the loss in nats per token, or 1 − the mean
    /// cosine of an encoder.
    pub increase: f64,
    /// The loss in nats per token, of a decoder or translator.
    pub loss: Option<f64>,
    /// The mean and the smallest cosine of the embeddings with those of f32, of an encoder.
    pub cosine: Option<[f64; 2]>,
    /// The share of texts with the label of f32, of a classifier.
    pub same_labels: Option<f64>,
}

/// What a model in f32 gives on a sample.
enum Reference {
    Loss(f64),
    Embeddings { vectors: Vec<Vec<f32>>, labels: Option<Vec<usize>> },
}

/// Measures the cost of quantization on a sample.
pub struct Measure<'a> {
    sample: &'a Sample,
    tokenizer: &'a Tokenizer,
    pooling: Pooling,
    reference: Reference,
}

impl<'a> Measure<'a> {
    /// Runs the model in f32 over the sample, which must be one for its stack.
    ///
    /// # Errors
    /// If a text is empty, or the tokenizer is another model's.
    ///
    /// # Panics
    /// If the sample is one for another stack.
    pub fn new(
        model: &Model,
        tokenizer: &'a Tokenizer,
        sample: &'a Sample,
        pooling: Pooling,
    ) -> Result<Self> {
        let mut measure = Self { sample, tokenizer, pooling, reference: Reference::Loss(0.0) };
        measure.reference = measure.run(model)?;
        Ok(measure)
    }

    /// The loss of the model in f32, in nats per token; `None` for an encoder.
    pub fn reference_loss(&self) -> Option<f64> {
        match self.reference {
            Reference::Loss(loss) => Some(loss),
            Reference::Embeddings { .. } => None,
        }
    }

    fn run(&self, model: &Model) -> Result<Reference> {
        let params = &model.params;
        let check = |ids: &[u32]| check_ids(ids, model.stack.vocab_size());
        match (&model.stack, self.sample) {
            (Stack::Decoder(gpt), Sample::Text(ids)) => {
                check(ids)?;
                let context = gpt.config().max_position_embeddings.min(CONTEXT);
                let part = |range: std::ops::Range<usize>| ids[range].to_vec();
                Ok(Reference::Loss(text_loss((gpt, params), part, 0..ids.len(), context).mean()))
            }
            (Stack::Encoder(bert), Sample::Texts(texts)) => {
                let encoder = TextEncoder {
                    model: bert,
                    weights: params.into(),
                    tokenizer: self.tokenizer,
                    truncation: Truncation::MaxLength(CONTEXT),
                };
                let vectors = embed(&encoder, texts, self.pooling, Normalization::None)?;
                let labels = bert.labels().map(|_| {
                    let single: Vec<_> = texts.iter().map(|text| (text.clone(), None)).collect();
                    let TextEncoder { tokenizer, truncation, .. } = encoder;
                    let model = &model.stack;
                    let classifier = TextClassifier { model, params, tokenizer, truncation };
                    let found = classify(&classifier, &single)?;
                    Ok::<_, crate::error::Error>(found.iter().map(|c| c.ranked()[0]).collect())
                });
                Ok(Reference::Embeddings { vectors, labels: labels.transpose()? })
            }
            (stack, Sample::Pairs(pairs)) => {
                let model = stack.translator().expect("pairs are a translator's");
                pairs.iter().try_for_each(|(source, _)| check(source))?;
                let pairs = pairs.iter().map(|(source, target)| (&source[..], &target[..]));
                Ok(Reference::Loss(pairs_loss((model, params), pairs).mean()))
            }
            (stack, _) => panic!("a sample for another model than {}", stack.kind()),
        }
    }

    /// What the model costs as it is now.
    ///
    /// # Errors
    /// Those of [`Measure::new`].
    pub fn cost(&self, model: &Model) -> Result<Cost> {
        let nothing = Cost { increase: 0.0, loss: None, cosine: None, same_labels: None };
        Ok(match (self.run(model)?, &self.reference) {
            (Reference::Loss(loss), Reference::Loss(before)) => {
                Cost { increase: loss - before, loss: Some(loss), ..nothing }
            }
            (
                Reference::Embeddings { vectors, labels },
                Reference::Embeddings { vectors: before, labels: labels_before },
            ) => {
                let cosines = vectors.iter().zip(before).map(|(a, b)| cosine(a, b));
                let cosines: Vec<f64> = cosines.collect();
                let mean = cosines.iter().sum::<f64>() / cosines.len().max(1) as f64;
                let least = cosines.iter().copied().fold(1.0, f64::min);
                let same = labels.as_ref().zip(labels_before.as_ref()).map(|(now, before)| {
                    let same = now.iter().zip(before).filter(|(a, b)| a == b).count();
                    same as f64 / now.len().max(1) as f64
                });
                let cosine = Some([mean, least]);
                Cost { increase: 1.0 - mean, cosine, same_labels: same, ..nothing }
            }
            _ => unreachable!("the stack is the same"),
        })
    }
}

/// Tokens of a window, and of the longest text: longer ones add time, not knowledge.
const CONTEXT: usize = 256;
