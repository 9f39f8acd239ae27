//! Sequences that come, share their past, and go: what generation and serving run on.
//!
//! A slot is a sequence of an autoregressive model. Opening, forking and closing one copies no keys
//! and values: the past of a sequence is a list of rows of a cache, which forks share
//! ([`KvCache`]). Memory grows with the tokens that are there.

use crate::data::batch::Packed;
use crate::model::{Decoder, EncoderDecoder};
use crate::nn::{CachedPast, CachedSource, KvCache};
use limpid_tensor::kernels::attention::Span;
use limpid_tensor::kernels::kv_format::KvFormat;
use limpid_tensor::packed_weights::Weights;
use limpid_tensor::tensor::Tensor;
use std::sync::Arc;

/// A sequence of [`Slots`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot(usize);

/// Sequences that an autoregressive model generates, each by itself: the logits of one have the
/// same bits whatever the others are, and however its tokens are cut into chunks.
pub trait Slots {
    /// Opens an empty sequence for each source, and encodes the sources; those of a decoder are
    /// empty.
    fn open(&mut self, sources: &[&[u32]]) -> Vec<Slot>;

    /// Appends tokens to some sequences (any number of tokens, at least one each) in one pass, and
    /// gives the logits after the last one of each: (entries, v).
    /// # Panics
    /// If a slot is closed or given twice, has no new tokens, or outgrows [`Slots::capacity`].
    fn advance(&mut self, tokens: &[(Slot, &[u32])]) -> Tensor;

    /// A new sequence with the past and the source of this one, which are shared.
    /// # Panics
    /// If the slot is closed.
    fn fork(&mut self, slot: Slot) -> Slot;

    /// A new sequence with the source and the first `tokens` tokens of this one, which are shared.
    /// # Panics
    /// If the slot is closed or has fewer tokens, or if the past cannot be cut: that of a recurrent
    /// model.
    fn fork_prefix(&mut self, slot: Slot, tokens: usize) -> Slot;

    /// Ends a sequence: its slot, and what no other sequence shares, are free.
    /// # Panics
    /// If the slot is closed.
    fn close(&mut self, slot: Slot);

    /// The number of tokens of a sequence.
    /// # Panics
    /// If the slot is closed.
    fn len(&self, slot: Slot) -> usize;

    /// Whether a sequence has no tokens.
    fn is_empty(&self, slot: Slot) -> bool {
        self.len(slot) == 0
    }

    /// The largest number of tokens of a sequence.
    fn capacity(&self) -> usize;

    /// Bytes of keys and values that have memory, those of closed sequences among them.
    fn bytes_in_memory(&self) -> usize;

    /// Gives the memory of closed sequences back to the system, which is otherwise kept for others.
    fn trim(&mut self);
}

/// What belongs to each open slot.
pub(super) struct SlotTable<T> {
    slots: Vec<Option<T>>,
}

impl<T> SlotTable<T> {
    pub fn new() -> Self {
        Self { slots: Vec::new() }
    }

    /// The first free slot.
    pub fn insert(&mut self, value: T) -> Slot {
        let free = self.slots.iter().position(Option::is_none);
        let at = free.unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[at] = Some(value);
        Slot(at)
    }

    #[track_caller]
    pub fn get(&self, slot: Slot) -> &T {
        self.slots
            .get(slot.0)
            .and_then(Option::as_ref)
            .unwrap_or_else(|| panic!("{slot:?} is closed"))
    }

    #[track_caller]
    pub fn get_mut(&mut self, slot: Slot) -> &mut T {
        let found = self.slots.get_mut(slot.0).and_then(Option::as_mut);
        found.unwrap_or_else(|| panic!("{slot:?} is closed"))
    }

    #[track_caller]
    pub fn remove(&mut self, slot: Slot) -> T {
        let found = self.slots.get_mut(slot.0).and_then(Option::take);
        found.unwrap_or_else(|| panic!("{slot:?} is closed"))
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().flatten()
    }
}

/// Lists of row numbers, one after another, and where each is.
#[derive(Default)]
struct RowLists {
    rows: Vec<u32>,
    spans: Vec<Span>,
}

impl RowLists {
    fn push(&mut self, rows: &[u32]) {
        self.spans.push(Span { start: self.rows.len(), len: rows.len() });
        self.rows.extend_from_slice(rows);
    }
}

/// New tokens, their rows, and the pasts that they continue.
struct Step<'t> {
    tokens: Vec<&'t [u32]>,
    /// The position of the first new token of each sequence.
    first: Vec<usize>,
    new_rows: Vec<u32>,
    past: RowLists,
}

impl<'t> Step<'t> {
    fn empty() -> Self {
        let (tokens, first, new_rows) = (Vec::new(), Vec::new(), Vec::new());
        Self { tokens, first, new_rows, past: RowLists::default() }
    }

    /// Takes rows for the new tokens of a sequence, whose old ones have `rows`.
    #[track_caller]
    fn append(
        &mut self,
        slot: Slot,
        tokens: &'t [u32],
        capacity: usize,
        cache: &mut KvCache,
        rows: &mut Vec<u32>,
    ) {
        assert!(!tokens.is_empty(), "{slot:?} was given no tokens");
        assert!(
            rows.len() + tokens.len() <= capacity,
            "{slot:?} outgrows its capacity of {capacity} tokens"
        );
        self.first.push(rows.len());
        rows.extend(tokens.iter().map(|_| cache.take()));
        self.new_rows.extend_from_slice(&rows[rows.len() - tokens.len()..]);
        self.past.push(rows);
        self.tokens.push(tokens);
    }

    fn input(&self) -> Packed {
        Packed::continuing(&self.tokens, &self.first)
    }
}

/// Sequences that a decoder generates.
pub struct DecoderSlots<'a> {
    model: &'a Decoder,
    weights: Weights<'a>,
    cache: KvCache,
    slots: SlotTable<Vec<u32>>,
    capacity: usize,
}

impl<'a> DecoderSlots<'a> {
    /// No sequences yet; each may grow to `capacity` tokens, as far as the model has positions.
    pub fn new(model: &'a Decoder, weights: impl Into<Weights<'a>>, capacity: usize) -> Self {
        let weights = weights.into();
        let capacity = capacity.min(model.config().max_position_embeddings);
        let cache = model.cache(KvFormat::F32);
        Self { model, weights, cache, slots: SlotTable::new(), capacity }
    }

    /// The same, without sequences, with keys and values in this format.
    pub fn with_kv_format(self, format: KvFormat) -> Self {
        Self { cache: self.model.cache(format), slots: SlotTable::new(), ..self }
    }

    /// The number of tokens in memory: those that sequences share count once.
    pub fn tokens_in_use(&self) -> usize {
        self.cache.rows_in_use()
    }

    /// Appends tokens to a sequence and gives the logits after each of the last `count` of them:
    /// (count, v).
    /// # Panics
    /// As [`Slots::advance`], or if there are fewer tokens.
    #[track_caller]
    pub fn advance_last(&mut self, slot: Slot, tokens: &[u32], count: usize) -> Tensor {
        assert!(count <= tokens.len(), "logits after {count} of {} tokens", tokens.len());
        let rows = (tokens.len() - count..tokens.len()).map(|row| row as u32).collect();
        self.logits_of(&[(slot, tokens)], |_| rows)
    }

    /// Drops the tokens of a sequence from number `len` on.
    /// # Panics
    /// If the slot is closed, or the sequence is shorter.
    #[track_caller]
    pub fn truncate(&mut self, slot: Slot, len: usize) {
        let rows = self.slots.get_mut(slot);
        assert!(len <= rows.len(), "{len} of the {} tokens of {slot:?}", rows.len());
        self.cache.release(&rows[len..]);
        rows.truncate(len);
    }

    /// Appends tokens to some sequences, and gives the logits of some rows of the batch.
    #[track_caller]
    fn logits_of(
        &mut self,
        tokens: &[(Slot, &[u32])],
        rows: impl FnOnce(&Packed) -> Arc<[u32]>,
    ) -> Tensor {
        let (slots, cache) = (&mut self.slots, &mut self.cache);
        let mut step = Step::empty();
        for (slot, tokens) in tokens {
            step.append(*slot, tokens, self.capacity, cache, slots.get_mut(*slot));
        }
        let (input, spans) = (step.input(), step.past.spans.into());
        let mut past =
            CachedPast { cache, new_rows: &step.new_rows, rows: &step.past.rows, spans: &spans };
        let mut tape = self.weights.tape();
        let hidden = self.model.hidden(&mut tape, &input, Some(&mut past));
        let hidden = tape.rows(&hidden, &rows(&input));
        self.model.logits(&mut tape, &hidden).value().clone()
    }
}

impl Slots for DecoderSlots<'_> {
    fn open(&mut self, sources: &[&[u32]]) -> Vec<Slot> {
        sources.iter().map(|_| self.slots.insert(Vec::new())).collect()
    }

    #[track_caller]
    fn advance(&mut self, tokens: &[(Slot, &[u32])]) -> Tensor {
        // Only the last position of each sequence predicts the next token.
        self.logits_of(tokens, Packed::last_rows)
    }

    #[track_caller]
    fn fork(&mut self, slot: Slot) -> Slot {
        self.fork_prefix(slot, self.len(slot))
    }

    #[track_caller]
    fn fork_prefix(&mut self, slot: Slot, tokens: usize) -> Slot {
        let rows = self.slots.get(slot)[..tokens].to_vec();
        self.cache.share(&rows);
        self.slots.insert(rows)
    }

    #[track_caller]
    fn close(&mut self, slot: Slot) {
        self.cache.release(&self.slots.remove(slot));
    }

    #[track_caller]
    fn len(&self, slot: Slot) -> usize {
        self.slots.get(slot).len()
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn bytes_in_memory(&self) -> usize {
        self.cache.bytes_in_memory()
    }

    fn trim(&mut self) {
        self.cache.trim();
    }
}

/// A target sequence of an encoder-decoder, and its source.
#[derive(Clone)]
struct Target {
    rows: Vec<u32>,
    source: Arc<[u32]>,
}

/// Source tokens that are encoded in one pass: what a layer computes of them is still in the cache
/// when the next one reads it, and memory does not grow with the number of sources.
const SOURCE_TOKENS: usize = 512;

/// Target sequences that an encoder-decoder generates.
pub struct EncoderDecoderSlots<'a> {
    model: &'a EncoderDecoder,
    weights: Weights<'a>,
    cache: KvCache,
    sources: KvCache,
    slots: SlotTable<Target>,
    capacity: usize,
}

impl<'a> EncoderDecoderSlots<'a> {
    /// No sequences yet; each may grow to `capacity` tokens, as far as the model has positions.
    pub fn new(
        model: &'a EncoderDecoder,
        weights: impl Into<Weights<'a>>,
        capacity: usize,
    ) -> Self {
        let weights = weights.into();
        let capacity = capacity.min(model.config().max_position_embeddings);
        let slots = SlotTable::new();
        let (cache, sources) = (model.cache(KvFormat::F32), model.source_cache(KvFormat::F32));
        Self { model, weights, cache, sources, slots, capacity }
    }

    /// The same, without sequences, with keys and values in this format.
    pub fn with_kv_format(self, format: KvFormat) -> Self {
        let (cache, sources) = (self.model.cache(format), self.model.source_cache(format));
        Self { cache, sources, slots: SlotTable::new(), ..self }
    }

    /// Encodes sources in one pass, and opens a sequence for each.
    fn encode(&mut self, sources: &[&[u32]]) -> Vec<Slot> {
        let packed = Packed::new(sources);
        let rows: Vec<u32> = packed.ids.iter().map(|_| self.sources.take()).collect();
        let mut tape = self.weights.tape();
        self.model.remember(&mut tape, &packed, &mut self.sources, &rows);
        let mut open = |span: &Span| {
            let source = rows[span.start..][..span.len].into();
            self.slots.insert(Target { rows: Vec::new(), source })
        };
        packed.spans.iter().map(&mut open).collect()
    }

    /// The number of source and target tokens in memory: those that sequences share count once.
    pub fn tokens_in_use(&self) -> [usize; 2] {
        [self.sources.rows_in_use(), self.cache.rows_in_use()]
    }
}

impl Slots for EncoderDecoderSlots<'_> {
    fn open(&mut self, sources: &[&[u32]]) -> Vec<Slot> {
        let (mut slots, mut rest) = (Vec::with_capacity(sources.len()), sources);
        while !rest.is_empty() {
            let mut tokens = 0;
            let fits = |source: &&&[u32]| {
                tokens += source.len();
                tokens <= SOURCE_TOKENS
            };
            let (chunk, later) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            slots.extend(self.encode(chunk));
            rest = later;
        }
        slots
    }

    #[track_caller]
    fn advance(&mut self, tokens: &[(Slot, &[u32])]) -> Tensor {
        let (slots, cache) = (&mut self.slots, &mut self.cache);
        let (mut step, mut sources, mut q_spans) = (Step::empty(), RowLists::default(), Vec::new());
        let mut last: Option<Arc<[u32]>> = None;
        for (slot, tokens) in tokens {
            let Target { rows, source } = slots.get_mut(*slot);
            // Sequences of one source that are together read it together.
            let len = tokens.len();
            match q_spans.last_mut() {
                Some(Span { len: so_far, .. })
                    if last.as_ref().is_some_and(|last| Arc::ptr_eq(last, source)) =>
                {
                    *so_far += len;
                }
                _ => {
                    q_spans.push(Span { start: step.new_rows.len(), len });
                    sources.push(source);
                    last = Some(source.clone());
                }
            }
            step.append(*slot, tokens, self.capacity, cache, rows);
        }
        let (input, spans) = (step.input(), step.past.spans.into());
        let (q_spans, source_spans) = (q_spans.into(), sources.spans.into());
        let mut past =
            CachedPast { cache, new_rows: &step.new_rows, rows: &step.past.rows, spans: &spans };
        let source = CachedSource {
            cache: &self.sources,
            q_spans: &q_spans,
            rows: &sources.rows,
            spans: &source_spans,
        };
        let mut tape = self.weights.tape();
        let hidden = self.model.decode(&mut tape, &input, source, Some(&mut past));
        let last = tape.rows(&hidden, &input.last_rows());
        self.model.logits(&mut tape, &last).value().clone()
    }

    #[track_caller]
    fn fork(&mut self, slot: Slot) -> Slot {
        self.fork_prefix(slot, self.len(slot))
    }

    #[track_caller]
    fn fork_prefix(&mut self, slot: Slot, tokens: usize) -> Slot {
        let Target { rows, source } = self.slots.get(slot);
        let target = Target { rows: rows[..tokens].to_vec(), source: source.clone() };
        self.cache.share(&target.rows);
        self.sources.share(&target.source);
        self.slots.insert(target)
    }

    #[track_caller]
    fn close(&mut self, slot: Slot) {
        let Target { rows, source } = self.slots.remove(slot);
        self.cache.release(&rows);
        self.sources.release(&source);
    }

    #[track_caller]
    fn len(&self, slot: Slot) -> usize {
        self.slots.get(slot).rows.len()
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn bytes_in_memory(&self) -> usize {
        self.sources.bytes_in_memory() + self.cache.bytes_in_memory()
    }

    fn trim(&mut self) {
        self.sources.trim();
        self.cache.trim();
    }
}
