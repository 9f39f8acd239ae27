//! How good a model of the built-in stories is, between what counting can do and what nobody can beat: the grammar knows both ends.

use super::loss::sequences_loss;
use super::ngrams::{NGrams, Order};
use crate::data::batch::Typed;
use crate::data::corpus::stories::{log_probability, masked, words};
use crate::data::frame::Frame;
use crate::data::sequences::documents;
use crate::decode::argmax;
use crate::encode::Read;
use crate::error::{Error, Result};
use crate::model::{Bert, Gpt};
use crate::text::Tokenizer;
use limpid_tensor::params::Params;
use limpid_tensor::tape::Tape;

/// Sequences that go through a model together.
const AT_A_TIME: usize = 24;

/// Nats a word of stories, the end of each included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NatsAWord {
    /// Words and marks of the stories.
    pub words: usize,
    /// Of the model.
    pub model: f64,
    /// −ln p under the grammar that wrote them: on average nobody can do better.
    pub exact: f64,
    /// Of counted pairs of words.
    pub bigram: f64,
    /// Of counted words.
    pub unigram: f64,
}

/// A language model beside its bounds, on `test`; the counts are of `train`.
pub fn nats_a_word(
    (gpt, params): (&Gpt, &Params),
    tokenizer: &Tokenizer,
    train: &[&str],
    test: &[&str],
) -> Result<NatsAWord> {
    let read = |stories: &[&str]| documents(tokenizer, stories.iter().copied());
    let (learnt, sequences) = (NGrams::learn(&read(train)?, tokenizer.vocab_size()), read(test)?);
    let count: usize = test.iter().map(|story| words(story).len()).sum();
    check_ours(train)?;
    let mut exact = 0.0;
    for story in test {
        exact -= log_probability(story).ok_or_else(|| not_ours(story))?;
    }
    let longest = sequences.iter().map(|sequence| sequence.len() - 1).max();
    check_length(longest.ok_or_else(nothing)?, gpt.config().n_positions)?;
    let per_word = |nats: f64| nats / count as f64;
    Ok(NatsAWord {
        words: count,
        model: per_word(sequences_loss((gpt, params), &sequences).sum),
        exact: per_word(exact),
        bigram: per_word(learnt.loss(Order::Bigram, &sequences).sum),
        unigram: per_word(learnt.loss(Order::Unigram, &sequences).sum),
    })
}

fn not_ours(text: &str) -> Error {
    Error::data(format!("\"{text}\" is none of the built-in stories"))
        .hint("limpid corpus stories writes them; only of those the best possible is known")
}

/// Refuses to count words of something else; one of what was learnt from tells.
fn check_ours(train: &[&str]) -> Result<()> {
    match train.first() {
        None => Err(nothing()),
        Some(text) if log_probability(text).is_none() => Err(not_ours(text)),
        Some(_) => Ok(()),
    }
}

fn nothing() -> Error {
    Error::data("there is no story to measure by").hint("limpid corpus stories writes them, one a line")
}

fn check_length(longest: usize, positions: usize) -> Result<()> {
    if longest <= positions {
        return Ok(());
    }
    Err(Error::data(format!("a story has {longest} tokens, the model has positions for {positions}"))
        .hint("train one with --set model.context=192"))
}

/// Accuracy at words that are hidden one at a time, all others being seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneAtATime {
    /// Words and marks that were hidden.
    pub positions: usize,
    /// Of the model.
    pub model: f64,
    /// The mean of the largest probability of any word given the others: on average nobody can do better.
    pub ceiling: f64,
    /// Of saying always the word that is most frequent in what was learnt from.
    pub most_frequent: f64,
}

/// An encoder beside its bounds, at `positions` places spread over `test`, or at all if there are fewer; the most frequent word is that of `train`.
pub fn one_at_a_time(
    (bert, params): (&Bert, &Params),
    tokenizer: &Tokenizer,
    train: &[&str],
    test: &[&str],
    positions: usize,
) -> Result<OneAtATime> {
    let (mask, _) = tokenizer.mask().ok_or_else(|| {
        Error::config("the tokenizer has no token for a mask ([MASK])")
            .hint("limpid tokenizer train … --for bert")
    })?;
    let frame = Frame::of(tokenizer)?;
    let read = |stories: &[&str]| {
        stories.iter().map(|story| tokenizer.encode(story)).collect::<Result<Vec<Vec<u32>>>>()
    };
    let (learnt, ids) = (read(train)?, read(test)?);
    check_ours(train)?;
    if let Some(text) = test.iter().find(|text| log_probability(text).is_none()) {
        return Err(not_ours(text));
    }
    if let Some((ids, story)) = ids.iter().zip(test).find(|(ids, story)| ids.len() != words(story).len()) {
        let (pieces, words) = (ids.len(), words(story).len());
        return Err(Error::config(format!("a story of {words} words and marks has {pieces} tokens"))
            .hint("words are hidden whole: train with --set tokenizer.kind=word"));
    }
    check_length(
        ids.iter().map(Vec::len).max().ok_or_else(nothing)? + 2,
        bert.config().max_position_embeddings,
    )?;
    let places: Vec<(usize, usize)> =
        ids.iter().enumerate().flat_map(|(s, ids)| (0..ids.len()).map(move |place| (s, place))).collect();
    let count = positions.min(places.len());
    if count == 0 {
        return Err(nothing());
    }
    let chosen: Vec<(usize, usize)> = (0..count).map(|i| places[i * places.len() / count]).collect();
    let most_frequent = NGrams::learn(&learnt, tokenizer.vocab_size()).most_frequent();
    let (mut right, mut frequent, mut ceiling) = (0, 0, 0.0);
    for group in chosen.chunks(AT_A_TIME) {
        let hide = |(s, place): &(usize, usize)| {
            let mut ids = ids[*s].clone();
            ids[*place] = mask;
            frame.one(&ids)
        };
        let input = Typed::new(&group.iter().map(hide).collect::<Vec<Read>>());
        // [CLS] stands before the first word.
        let row =
            |(i, (_, place)): (usize, &(usize, usize))| (input.tokens.spans[i].start + 1 + place) as u32;
        let rows: Vec<u32> = group.iter().enumerate().map(row).collect();
        let mut tape = Tape::inference(params);
        let hidden = bert.hidden(&mut tape, &input);
        let logits = bert.word_logits(&mut tape, &hidden, &rows.into());
        for (i, (s, place)) in group.iter().enumerate() {
            let word = ids[*s][*place];
            right += usize::from(argmax(logits.value().row(i)) as u32 == word);
            frequent += usize::from(word == most_frequent);
            let text = test[*s];
            ceiling += masked(text, *place).first().ok_or_else(|| not_ours(text))?.probability;
        }
    }
    let share = |count: usize| count as f64 / chosen.len() as f64;
    Ok(OneAtATime {
        positions: chosen.len(),
        model: share(right),
        ceiling: ceiling / chosen.len() as f64,
        most_frequent: share(frequent),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BertConfig, GptConfig};
    use crate::data::corpus::stories::{generate, texts};
    use crate::model::{Architecture, Model};
    use crate::text::{Purpose, word_tokenizer_for};

    #[test]
    fn without_training_a_model_is_far_from_its_bound_and_the_bounds_are_in_order() {
        let splits = generate(400, 3, 1);
        let (train, test) = (texts(&splits.train), texts(&splits.test));
        let all = || train.iter().chain(&test).copied();
        let tokenizer = word_tokenizer_for(all(), Purpose::LanguageModel).unwrap();
        let v = tokenizer.vocab_size();
        let model = Model::gpt(&GptConfig::gpt2(v, 192, 1, 2, 8), 1).unwrap();
        let Architecture::Gpt(gpt) = &model.architecture else { unreachable!() };
        let found = nats_a_word((gpt, &model.params), &tokenizer, &train, &test).unwrap();
        assert!(found.exact < found.bigram && found.bigram < found.unigram && found.unigram < found.model);
        // Random weights know nothing: ln v a token, and a token more than words in each story.
        let blank = (v as f64).ln() * (found.words + 3) as f64 / found.words as f64;
        assert!((found.model - blank).abs() < 0.2, "{} and {blank}", found.model);

        let tokenizer = word_tokenizer_for(all(), Purpose::Encoder).unwrap();
        let model = Model::bert(&BertConfig::new(tokenizer.vocab_size(), 192, 1, 2, 8), 1).unwrap();
        let Architecture::Bert(bert) = &model.architecture else { unreachable!() };
        let found = one_at_a_time((bert, &model.params), &tokenizer, &train, &test, 100).unwrap();
        assert_eq!(found.positions, 100);
        assert!(found.model < 0.1 && found.most_frequent < 0.3 && found.ceiling > 0.5, "{found:?}");
    }
}
