//! Log-probabilities of given texts: loss and perplexity.

use super::loaded::{Loaded, loaded_accessors};
use crate::data::batch::{LmBatch, PairBatch};
use crate::error::{GenerationError, PipelineError, Result, Task};
use crate::hub::load_generation_config;
use crate::model::{Decoder, Stack};
use limpid_tensor::tape::Tape;
use limpid_tensor::tensor::Tensor;
use std::path::Path;
use std::sync::Arc;

/// A token of a scored text.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenScore {
    /// Token id.
    pub id: u32,
    /// The token, as in the vocabulary.
    pub token: String,
    /// ln p(token | the tokens before it), in nats.
    pub log_probability: f64,
}

/// A text with the log-probability of each of its tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextScore {
    /// The tokens that were predicted.
    pub tokens: Vec<TokenScore>,
}

impl TextScore {
    /// ln p(text), in nats: the sum over its tokens.
    pub fn log_probability(&self) -> f64 {
        self.tokens.iter().map(|token| token.log_probability).sum()
    }

    /// Cross-entropy loss in nats per token; NaN for a text without tokens.
    pub fn loss(&self) -> f64 {
        -self.log_probability() / self.tokens.len() as f64
    }

    /// exp(loss).
    pub fn perplexity(&self) -> f64 {
        self.loss().exp()
    }
}

/// A language model that scores texts, or a translator that scores targets given their sources.
///
/// ```
/// # use limpid::model::{Model, config::DecoderConfig};
/// # let folder = format!("limpid-doc-scorer-{}", std::process::id());
/// # let folder = std::env::temp_dir().join(folder);
/// # let tokenizer = limpid::text::word_tokenizer(["the cat sat on the mat"])?;
/// # let config = DecoderConfig::gpt2(tokenizer.vocab_size(), 16, 1, 2, 8);
/// # limpid::hub::save(&Model::new(config, 1)?, &folder)?;
/// # tokenizer.save(&folder)?;
/// let scorer = limpid::Scorer::load(&folder)?;
/// let scores = scorer.score(&["the cat sat", "mat mat mat"])?;
/// println!("loss {:.3}, perplexity {:.1}", scores[0].loss(), scores[0].perplexity());
/// # assert_eq!(scores[0].tokens.len(), 2);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), limpid::error::Error>(())
/// ```
pub struct Scorer {
    loaded: Arc<Loaded>,
    bos_token_id: Option<u32>,
}

impl Scorer {
    /// Loads a model folder, or the model of a run folder.
    /// # Errors
    /// If the folder is not complete, or its model is an encoder or a classifier
    /// ([`PipelineError::WrongModel`]).
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let suits =
            |stack: &Stack| stack.language_model().is_some() || stack.translator().is_some();
        let loaded = Loaded::new(path.as_ref(), Task::Scoring, suits)?;
        let (config, warnings) = load_generation_config(&loaded.folder)?;
        let loaded = Loaded::with_warnings(loaded, warnings);
        Ok(Self { loaded, bos_token_id: config.bos_token_id })
    }

    /// Scores texts with a language model. With a `bos_token_id` in `generation_config.json` every
    /// token is predicted, without one every token but the first. A text that is longer than the
    /// context is scored in windows of it.
    /// # Errors
    /// [`PipelineError::WrongScorerInput`] for a translator, and
    /// [`GenerationError::TokenizerMismatch`].
    pub fn score<S: AsRef<str>>(&self, texts: &[S]) -> Result<Vec<TextScore>> {
        let Stack::Decoder(decoder) = &self.loaded.model.stack else {
            return Err(self.wrong_input("targets given their sources"));
        };
        texts.iter().map(|text| self.score_text(decoder, text.as_ref())).collect()
    }

    /// Scores the second text of each pair given the first, with a translator. The end token
    /// counts.
    /// # Errors
    /// [`PipelineError::WrongScorerInput`] for a language model, and a [`GenerationError`] for a
    /// text that is too long.
    pub fn score_pairs<S: AsRef<str>>(&self, pairs: &[(S, S)]) -> Result<Vec<TextScore>> {
        let Some(model) = self.loaded.model.stack.translator() else {
            return Err(self.wrong_input("texts"));
        };
        let (end, max_tokens) = (model.end(), model.longest());
        let ids = |i: usize, text: &str, vocab_size| -> Result<Vec<u32>> {
            let mut ids = self.ids(text, vocab_size)?;
            ids.push(end);
            let tokens = ids.len();
            match tokens > max_tokens {
                true => Err(GenerationError::SourceTooLong { text: i, tokens, max_tokens }.into()),
                false => Ok(ids),
            }
        };
        let score = |(i, (source, target)): (usize, &(S, S))| {
            let source = ids(i, source.as_ref(), model.vocab_size())?;
            let target = ids(i, target.as_ref(), model.decoder_vocab_size())?;
            let batch = PairBatch::new(&[(source, target)], model.start());
            let mut tape = Tape::inference(&self.loaded.model.params);
            let logits = model.scores(&mut tape, &batch.source, &batch.input);
            Ok(TextScore { tokens: self.token_scores(logits.value(), &batch.targets) })
        };
        pairs.iter().enumerate().map(score).collect()
    }

    fn score_text(&self, decoder: &Decoder, text: &str) -> Result<TextScore> {
        let config = decoder.config();
        let (vocab_size, context) = (config.vocab_size, config.max_position_embeddings);
        let text = self.ids(text, vocab_size)?;
        let ids: Vec<u32> = self.bos_token_id.into_iter().chain(text).collect();
        let mut score = TextScore::default();
        for start in (0..ids.len().saturating_sub(1)).step_by(context) {
            let window = &ids[start..(start + context + 1).min(ids.len())];
            let batch = LmBatch::new(&[window]);
            let mut tape = Tape::inference(&self.loaded.model.params);
            let hidden = decoder.hidden(&mut tape, &batch.input, None);
            let logits = decoder.logits(&mut tape, &hidden);
            score.tokens.extend(self.token_scores(logits.value(), &batch.targets));
        }
        Ok(score)
    }

    /// ln softmax(logits) of the targets, a row of logits each.
    fn token_scores(&self, logits: &Tensor, targets: &[u32]) -> Vec<TokenScore> {
        let score = |(row, id): (usize, &u32)| {
            let logits = logits.row(row);
            let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            // exp(z − max) ≤ 1, so a large logit cannot overflow.
            let sum: f64 = logits.iter().map(|z| f64::from(z - max).exp()).sum();
            let log_probability = f64::from(logits[*id as usize] - max) - sum.ln();
            TokenScore { id: *id, token: self.loaded.tokenizer.token(*id), log_probability }
        };
        targets.iter().enumerate().map(score).collect()
    }

    fn ids(&self, text: &str, vocab_size: usize) -> Result<Vec<u32>> {
        let ids = self.loaded.tokenizer.encode(text)?;
        match ids.iter().copied().find(|id| *id as usize >= vocab_size) {
            Some(id) => Err(GenerationError::TokenizerMismatch { id, vocab_size }.into()),
            None => Ok(ids),
        }
    }

    fn wrong_input(&self, expected: &'static str) -> crate::error::Error {
        PipelineError::WrongScorerInput { found: self.loaded.model.stack.kind(), expected }.into()
    }

    loaded_accessors!();
}
