//! Evaluation of a model of the built-in stories, between n-gram baselines and the exact bounds
//! that the story grammar gives.
//!
//! The grammar is a probabilistic automaton, so the entropy bound of the loss and the ceiling of
//! the accuracy on masked words are computed, not estimated.

use super::stories::{log_probability, masked, words};
use crate::error::{CorpusError, Result};
use limpid::data::batch::EncodedText;
use limpid::data::batch::EncoderInput;
use limpid::data::sequences::documents;
use limpid::data::template::EncoderTemplate;
use limpid::eval::loss::sequences_loss;
use limpid::eval::ngrams::{NGrams, Order};
use limpid::generate::argmax;
use limpid::model::{Decoder, Encoder};
use limpid::text::Tokenizer;
use limpid_tensor::params::Params;
use limpid_tensor::tape::Tape;

/// Sequences per forward pass.
const BATCH_SIZE: usize = 24;

/// Cross-entropy loss on stories in nats per word, the end of each story included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WordLoss {
    /// Words and punctuation marks of the stories.
    pub words: usize,
    /// The model's loss.
    pub model: f64,
    /// The entropy bound: −ln p under the grammar that generated the stories. No model has a lower
    /// expected loss.
    pub entropy_bound: f64,
    /// The loss of a bigram model.
    pub bigram: f64,
    /// The loss of a unigram model.
    pub unigram: f64,
}

/// The loss of a language model on `test` beside its bounds; the n-grams are counted in `train`.
///
/// # Errors
/// If there are no stories, a text is not one of the built-in stories, or a story exceeds the
/// model's positions.
pub fn word_loss(
    (gpt, params): (&Decoder, &Params),
    tokenizer: &Tokenizer,
    train: &[&str],
    test: &[&str],
) -> Result<WordLoss> {
    let encode = |stories: &[&str]| documents(tokenizer, stories.iter().copied());
    let ngrams = NGrams::learn(&encode(train)?, tokenizer.vocab_size());
    let sequences = encode(test)?;
    let count: usize = test.iter().map(|story| words(story).len()).sum();
    check_stories(train)?;
    let mut entropy_bound = 0.0;
    for story in test {
        entropy_bound -= log_probability(story).ok_or_else(|| not_a_story(story))?;
    }
    let longest = sequences.iter().map(|sequence| sequence.len() - 1).max();
    check_length(longest.ok_or(CorpusError::NoStories)?, gpt.config().max_position_embeddings)?;
    let per_word = |nats: f64| nats / count as f64;
    Ok(WordLoss {
        words: count,
        model: per_word(sequences_loss((gpt, params), &sequences).sum),
        entropy_bound: per_word(entropy_bound),
        bigram: per_word(ngrams.loss(Order::Bigram, &sequences).sum),
        unigram: per_word(ngrams.loss(Order::Unigram, &sequences).sum),
    })
}

fn not_a_story(text: &str) -> CorpusError {
    CorpusError::NotAStory { text: text.to_owned() }
}

/// Refuses training texts that are not the built-in stories; the first one tells.
fn check_stories(train: &[&str]) -> Result<(), CorpusError> {
    match train.first() {
        None => Err(CorpusError::NoStories),
        Some(text) if log_probability(text).is_none() => Err(not_a_story(text)),
        Some(_) => Ok(()),
    }
}

fn check_length(tokens: usize, max: usize) -> Result<(), CorpusError> {
    if tokens <= max { Ok(()) } else { Err(CorpusError::TooLong { tokens, max }) }
}

/// Accuracy on words that are masked one at a time, all others being visible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaskedAccuracy {
    /// Words and punctuation marks that were masked.
    pub positions: usize,
    /// The model's accuracy.
    pub model: f64,
    /// The ceiling: the mean of the largest probability of any word given the others. No model has
    /// a higher expected accuracy.
    pub ceiling: f64,
    /// The accuracy of always predicting the most frequent word of the training stories.
    pub most_frequent: f64,
}

/// The accuracy of an encoder beside its bounds, at `positions` positions spread over `test`, or at
/// all if there are fewer; the most frequent word is that of `train`.
///
/// # Errors
/// If there are no stories, a text is not one of the built-in stories, a story exceeds the model's
/// positions, or the tokenizer has no mask token or splits words.
pub fn masked_accuracy(
    (bert, params): (&Encoder, &Params),
    tokenizer: &Tokenizer,
    train: &[&str],
    test: &[&str],
    positions: usize,
) -> Result<MaskedAccuracy> {
    let (mask, _) = tokenizer.mask_token().ok_or(CorpusError::NoMaskToken)?;
    let template = EncoderTemplate::new(tokenizer)?;
    let encode = |stories: &[&str]| {
        let ids = stories.iter().map(|story| tokenizer.encode(story));
        ids.collect::<Result<Vec<Vec<u32>>, limpid::error::Error>>()
    };
    let (train_ids, ids) = (encode(train)?, encode(test)?);
    check_stories(train)?;
    if let Some(text) = test.iter().find(|text| log_probability(text).is_none()) {
        return Err(not_a_story(text).into());
    }
    if let Some((ids, story)) =
        ids.iter().zip(test).find(|(ids, story)| ids.len() != words(story).len())
    {
        let (tokens, words) = (ids.len(), words(story).len());
        return Err(CorpusError::NotWordLevel { words, tokens }.into());
    }
    check_length(
        ids.iter().map(Vec::len).max().ok_or(CorpusError::NoStories)? + 2,
        bert.config().max_position_embeddings,
    )?;
    let all: Vec<(usize, usize)> = ids
        .iter()
        .enumerate()
        .flat_map(|(s, ids)| (0..ids.len()).map(move |position| (s, position)))
        .collect();
    let count = positions.min(all.len());
    if count == 0 {
        return Err(CorpusError::NoStories.into());
    }
    let chosen: Vec<(usize, usize)> = (0..count).map(|i| all[i * all.len() / count]).collect();
    let most_frequent = NGrams::learn(&train_ids, tokenizer.vocab_size()).most_frequent();
    let (mut correct, mut frequent, mut ceiling) = (0, 0, 0.0);
    for batch in chosen.chunks(BATCH_SIZE) {
        let masked_text = |(s, position): &(usize, usize)| {
            let mut ids = ids[*s].clone();
            ids[*position] = mask;
            template.single(&ids)
        };
        let input = EncoderInput::new(&batch.iter().map(masked_text).collect::<Vec<EncodedText>>());
        // [CLS] precedes the first word.
        let row = |(i, (_, position)): (usize, &(usize, usize))| {
            (input.tokens.spans[i].start + 1 + position) as u32
        };
        let rows: Vec<u32> = batch.iter().enumerate().map(row).collect();
        let mut tape = Tape::inference(params);
        let hidden = bert.hidden(&mut tape, &input);
        let logits = bert.word_logits(&mut tape, &hidden, &rows.into());
        for (i, (s, position)) in batch.iter().enumerate() {
            let word = ids[*s][*position];
            correct += usize::from(argmax(logits.value().row(i)) as u32 == word);
            frequent += usize::from(word == most_frequent);
            let text = test[*s];
            let best =
                masked(text, *position).first().ok_or_else(|| not_a_story(text))?.probability;
            ceiling += best;
        }
    }
    let share = |count: usize| count as f64 / chosen.len() as f64;
    Ok(MaskedAccuracy {
        positions: chosen.len(),
        model: share(correct),
        ceiling: ceiling / chosen.len() as f64,
        most_frequent: share(frequent),
    })
}

#[cfg(test)]
mod tests {
    use super::super::stories::{generate, texts};
    use super::*;
    use limpid::model::Model;
    use limpid::model::config::{DecoderConfig, EncoderConfig};
    use limpid::text::{Purpose, word_tokenizer_for};

    #[test]
    fn an_untrained_model_is_far_from_its_bounds_and_the_bounds_are_in_order() {
        let splits = generate(400, 3, 1);
        let (train, test) = (texts(&splits.train), texts(&splits.test));
        let all = || train.iter().chain(&test).copied();
        let tokenizer = word_tokenizer_for(all(), Purpose::LanguageModel).unwrap();
        let v = tokenizer.vocab_size();
        let model = Model::new(DecoderConfig::gpt2(v, 192, 1, 2, 8), 1).unwrap();
        let gpt = model.decoder().expect("a decoder");
        let found = word_loss((gpt, &model.params), &tokenizer, &train, &test).unwrap();
        assert!(
            found.entropy_bound < found.bigram
                && found.bigram < found.unigram
                && found.unigram < found.model
        );
        // Random weights are near uniform: ln v per token, with one token more than words per
        // story.
        let uniform = (v as f64).ln() * (found.words + 3) as f64 / found.words as f64;
        assert!((found.model - uniform).abs() < 0.2, "{} and {uniform}", found.model);

        let tokenizer = word_tokenizer_for(all(), Purpose::Encoder).unwrap();
        let model =
            Model::new(EncoderConfig::new(tokenizer.vocab_size(), 192, 1, 2, 8), 1).unwrap();
        let bert = model.encoder().expect("an encoder");
        let found = masked_accuracy((bert, &model.params), &tokenizer, &train, &test, 100).unwrap();
        assert_eq!(found.positions, 100);
        assert!(found.model < 0.1 && found.most_frequent < 0.3 && found.ceiling > 0.5, "{found:?}");
    }
}
