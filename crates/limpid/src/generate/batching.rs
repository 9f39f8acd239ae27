//! Continuous batching: searches join a batch, advance together, and leave it when they end.

use super::Session;
use super::trace::Observer;
use crate::error::Result;

/// The search for the texts of one prompt: some sequences that advance together.
pub(super) trait Search {
    /// How tokens are selected: the same for all searches of a batch, which do not keep it.
    type Settings<'s>: Copy;

    /// The tokens that its first sequence is given.
    fn prompt(&self) -> &[u32];

    /// Whether it has sequences that grow.
    fn is_running(&self) -> bool;

    /// Takes the logits after its sequences, one row of v each, which it may overwrite. Gives the
    /// sequences that grow on: which of those before each continues, and its next token.
    fn step(
        &mut self,
        settings: Self::Settings<'_>,
        logits: &mut [f32],
        v: usize,
        observer: &mut impl Observer,
    ) -> Result<Vec<(usize, u32)>>;
}

/// Searches whose sequences are the batch of a session, in its order.
pub(super) struct Running<S> {
    /// Each with the number of its sequences.
    searches: Vec<(S, usize)>,
    input: Vec<Vec<u32>>,
}

impl<S: Search> Running<S> {
    pub fn new() -> Self {
        Self { searches: Vec::new(), input: Vec::new() }
    }

    /// One search.
    pub fn with(search: S) -> Self {
        let mut running = Self::new();
        running.add(search);
        running
    }

    /// Adds a search whose one sequence is the last of the session.
    pub fn add(&mut self, search: S) {
        self.input.push(search.prompt().to_vec());
        self.searches.push((search, 1));
    }

    /// The number of sequences.
    pub fn sequences(&self) -> usize {
        self.input.len()
    }

    /// Whether a search has sequences that grow.
    pub fn any(&self) -> bool {
        self.searches.iter().any(|(search, _)| search.is_running())
    }

    /// What each sequence is to be given next: at first its prompt.
    pub fn input(&self) -> &[Vec<u32>] {
        &self.input
    }

    /// Advances every sequence, and gives the searches that have ended.
    pub fn step(
        &mut self,
        settings: S::Settings<'_>,
        session: &mut (impl Session + ?Sized),
        observer: &mut impl Observer,
    ) -> Result<Vec<S>> {
        let mut logits = session.advance(&self.input);
        let (count, v) = logits.rows_cols();
        // A model's logits are its own; a copy only where something else holds them.
        if logits.try_data_mut().is_none() {
            logits = limpid_tensor::tensor::Tensor::new(logits.shape(), logits.data());
        }
        let (rows, ended) = self.take(settings, logits.data_mut(), v, observer)?;
        if rows.iter().copied().ne(0..count) {
            session.select(&rows);
        }
        Ok(ended)
    }

    /// Takes the logits after [`Running::input`], one row of v for each sequence, which it may
    /// overwrite. Gives the sequences that grow on, by their numbers before, and the searches that
    /// have ended.
    pub fn take(
        &mut self,
        settings: S::Settings<'_>,
        logits: &mut [f32],
        v: usize,
        observer: &mut impl Observer,
    ) -> Result<(Vec<usize>, Vec<S>)> {
        let count = self.input.len();
        let (mut rows, mut tokens) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (mut running, mut ended) = (Vec::with_capacity(self.searches.len()), Vec::new());
        let (mut first, mut rest) = (0, logits);
        for (mut search, sequences) in self.searches.drain(..) {
            let (own, others) = rest.split_at_mut(sequences * v);
            let next = search.step(settings, own, v, observer)?;
            rows.extend(next.iter().map(|(parent, _)| first + parent));
            tokens.extend(next.iter().map(|(_, token)| vec![*token]));
            match next.len() {
                0 => ended.push(search),
                sequences => running.push((search, sequences)),
            }
            (first, rest) = (first + sequences, others);
        }
        (self.searches, self.input) = (running, tokens);
        Ok((rows, ended))
    }

    /// Runs until every search has ended, and gives them all, as they end.
    pub fn finish(
        mut self,
        settings: S::Settings<'_>,
        session: &mut (impl Session + ?Sized),
        observer: &mut impl Observer,
    ) -> Result<Vec<S>> {
        let mut ended = Vec::new();
        while self.any() {
            ended.extend(self.step(settings, session, observer)?);
        }
        ended.extend(self.searches.into_iter().map(|(search, _)| search));
        Ok(ended)
    }
}
