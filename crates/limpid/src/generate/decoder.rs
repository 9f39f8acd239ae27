//! Generation with a decoder: prompts in one pass, then a token at a time with cached keys and
//! values.

use super::Session;
use crate::data::batch::Packed;
use crate::model::Decoder;
use crate::nn::KvCache;
use limpid_tensor::params::Params;
use limpid_tensor::tape::Tape;
use limpid_tensor::tensor::Tensor;

/// Sequences that a decoder generates.
pub struct DecoderSession<'a> {
    model: &'a Decoder,
    params: &'a Params,
    caches: Vec<KvCache>,
    lengths: Vec<usize>,
    capacity: usize,
}

impl<'a> DecoderSession<'a> {
    /// `sequences` empty sequences of at most `capacity` tokens.
    pub fn new(model: &'a Decoder, params: &'a Params, sequences: usize, capacity: usize) -> Self {
        let capacity = capacity.min(model.config().max_position_embeddings);
        Self {
            model,
            params,
            caches: model.caches(sequences, capacity),
            lengths: vec![0; sequences],
            capacity,
        }
    }
}

impl Session for DecoderSession<'_> {
    #[track_caller]
    fn advance(&mut self, tokens: &[Vec<u32>]) -> Tensor {
        let input = Packed::continuing(tokens, &self.lengths);
        self.lengths.iter_mut().zip(tokens).for_each(|(length, tokens)| *length += tokens.len());
        let mut tape = Tape::inference(self.params);
        let hidden = self.model.hidden(&mut tape, &input, Some(&mut self.caches));
        // Only the last position of each sequence predicts the next token.
        let last = tape.rows(&hidden, &input.last_rows());
        self.model.logits(&mut tape, &last).value().clone()
    }

    fn select(&mut self, sequences: &[usize]) {
        self.caches.iter_mut().for_each(|cache| cache.select(sequences));
        self.lengths = sequences.iter().map(|i| self.lengths[*i]).collect();
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}
