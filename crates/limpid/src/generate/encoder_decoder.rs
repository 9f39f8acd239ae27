//! Generation with an encoder-decoder: the source is encoded once, its keys and values are kept,
//! then a token at a time.

use super::Session;
use crate::data::batch::Packed;
use crate::model::EncoderDecoder;
use crate::model::encoder_decoder::Memory;
use crate::nn::KvCache;
use limpid_tensor::params::Params;
use limpid_tensor::tape::Tape;
use limpid_tensor::tensor::Tensor;

/// Target sequences that an encoder-decoder generates.
pub struct EncoderDecoderSession<'a> {
    model: &'a EncoderDecoder,
    params: &'a Params,
    memory: Memory,
    caches: Vec<KvCache>,
    lengths: Vec<usize>,
    capacity: usize,
}

impl<'a> EncoderDecoderSession<'a> {
    /// Encodes the sources; the targets are empty and grow to at most `capacity` tokens.
    pub fn new<S: AsRef<[u32]>>(
        model: &'a EncoderDecoder,
        params: &'a Params,
        sources: &[S],
        capacity: usize,
    ) -> Self {
        let source = Packed::new(sources);
        let mut tape = Tape::inference(params);
        let encoded = model.encode(&mut tape, &source);
        let memory = model.memory(&mut tape, &encoded, &source);
        let capacity = capacity.min(model.config().max_position_embeddings);
        let caches = model.caches(sources.len(), capacity);
        Self { model, params, memory, caches, lengths: vec![0; sources.len()], capacity }
    }
}

impl Session for EncoderDecoderSession<'_> {
    #[track_caller]
    fn advance(&mut self, tokens: &[Vec<u32>]) -> Tensor {
        let input = Packed::continuing(tokens, &self.lengths);
        self.lengths.iter_mut().zip(tokens).for_each(|(length, tokens)| *length += tokens.len());
        let mut tape = Tape::inference(self.params);
        let hidden = self.model.decode(&mut tape, &input, &self.memory, Some(&mut self.caches));
        let last = tape.rows(&hidden, &input.last_rows());
        self.model.logits(&mut tape, &last).value().clone()
    }

    fn select(&mut self, sequences: &[usize]) {
        self.caches.iter_mut().for_each(|cache| cache.select(sequences));
        self.lengths = sequences.iter().map(|i| self.lengths[*i]).collect();
        // The source's rows stay where they are: only which sequence attends to which changes.
        self.memory.spans = sequences.iter().map(|i| self.memory.spans[*i]).collect();
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}
