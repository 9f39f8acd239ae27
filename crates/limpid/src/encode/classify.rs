//! Classification of texts and pairs of texts, by encoders and decoders.

use super::limits::Limits;
use super::{Truncation, for_each_input};
use crate::data::batch::{EncodedText, EncoderInput};
use crate::error::{EncodeError, Result};
use crate::model::Stack;
use crate::model::config::{LabelActivation, Labels};
use crate::text::Tokenizer;
use limpid_tensor::kernels::softmax::softmax_forward;
use limpid_tensor::kernels::value_loss::sigmoid;
use limpid_tensor::params::Params;
use limpid_tensor::tape::Tape;

/// A sequence classifier with its parameters and its tokenizer.
#[derive(Clone, Copy)]
pub struct TextClassifier<'a> {
    /// The stack: an encoder or a decoder.
    pub model: &'a Stack,
    /// Its parameters.
    pub params: &'a Params,
    /// Its tokenizer.
    pub tokenizer: &'a Tokenizer,
    /// What happens to a text that is too long.
    pub truncation: Truncation,
}

impl<'a> TextClassifier<'a> {
    /// Its labels.
    /// # Errors
    /// [`EncodeError::NoClassificationHead`].
    pub fn labels(&self) -> Result<&'a Labels> {
        self.model.labels().ok_or_else(|| EncodeError::NoClassificationHead.into())
    }

    /// The token ids and token type ids of text `index`, or of a pair, with special tokens.
    /// # Errors
    /// An [`EncodeError`] that names the text by `index`.
    pub fn tokenize(&self, index: usize, text: &str, second: Option<&str>) -> Result<EncodedText> {
        let (max_tokens, type_vocab_size) = match self.model {
            Stack::Encoder(encoder) => {
                let config = encoder.config();
                (config.max_position_embeddings, config.type_vocab_size)
            }
            Stack::Decoder(decoder) => (decoder.config().max_position_embeddings, None),
            _ => return Err(EncodeError::NoClassificationHead.into()),
        };
        let limits = Limits { vocab_size: self.model.vocab_size(), max_tokens, type_vocab_size };
        limits.tokenize(self.tokenizer, self.truncation, index, text, second)
    }

    /// The logits of each text or pair of texts, one for each label.
    /// # Errors
    /// [`EncodeError::NoClassificationHead`], and an [`EncodeError`] for a text that cannot be
    /// used.
    pub fn logits(&self, texts: &[(String, Option<String>)]) -> Result<Vec<Vec<f32>>> {
        let tokenize = |(i, (text, second)): (usize, &(String, Option<String>))| {
            self.tokenize(i, text, second.as_deref())
        };
        let encoded = texts.iter().enumerate().map(tokenize).collect::<Result<Vec<_>>>()?;
        self.logits_of_tokens(&encoded)
    }

    /// The same of texts that were tokenized before, each as [`TextClassifier::tokenize`] gives it.
    /// # Errors
    /// [`EncodeError::NoClassificationHead`].
    pub fn logits_of_tokens(&self, encoded: &[EncodedText]) -> Result<Vec<Vec<f32>>> {
        let labels = self.labels()?.names.len();
        let mut found = Vec::with_capacity(encoded.len());
        for_each_input(encoded, |input, _| {
            found.extend(self.forward(input).chunks(labels).map(<[f32]>::to_vec));
            Ok(())
        })?;
        Ok(found)
    }

    fn forward(&self, input: &EncoderInput) -> Vec<f32> {
        let mut tape = Tape::inference(self.params);
        self.model.class_logits(&mut tape, input).data().to_vec()
    }
}

/// The scores of a text's labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Classification {
    /// The score of each label, in the order of the model's labels: its probability, or for a
    /// regression its value.
    pub scores: Vec<f32>,
}

impl Classification {
    /// The scores of logits.
    pub fn new(mut logits: Vec<f32>, activation: LabelActivation) -> Self {
        match activation {
            LabelActivation::Identity => {}
            LabelActivation::Sigmoid => logits.iter_mut().for_each(|z| *z = sigmoid(*z)),
            LabelActivation::Softmax => {
                let labels = logits.len();
                let mut scores = vec![0.0; labels];
                softmax_forward(&mut scores, &logits, labels);
                logits = scores;
            }
        }
        Self { scores: logits }
    }

    /// The indices of the labels, the largest score first.
    pub fn ranked(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.scores.len()).collect();
        order.sort_by(|a, b| self.scores[*b].total_cmp(&self.scores[*a]));
        order
    }
}

/// Classifies texts, or pairs of texts, as the pipeline of `transformers` does: by
/// [`Labels::activation`].
/// # Errors
/// Those of [`TextClassifier::logits`].
pub fn classify(
    classifier: &TextClassifier,
    texts: &[(String, Option<String>)],
) -> Result<Vec<Classification>> {
    let activation = classifier.labels()?.activation();
    let logits = classifier.logits(texts)?;
    Ok(logits.into_iter().map(|row| Classification::new(row, activation)).collect())
}

/// The same of texts that were tokenized before, each as [`TextClassifier::tokenize`] gives it.
/// # Errors
/// [`EncodeError::NoClassificationHead`].
pub fn classify_tokens(
    classifier: &TextClassifier,
    encoded: &[EncodedText],
) -> Result<Vec<Classification>> {
    let activation = classifier.labels()?.activation();
    let logits = classifier.logits_of_tokens(encoded)?;
    Ok(logits.into_iter().map(|row| Classification::new(row, activation)).collect())
}
