//! How good a model of the built-in stories is, between what counting can do and what nobody can beat: the grammar knows both ends.

use super::loss::sequences_loss;
use super::ngrams::{NGrams, Order};
use crate::data::batch::Typed;
use crate::data::corpus::stories::{Story, log_probability, masked, words};
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
    train: &[Story],
    test: &[Story],
) -> Result<NatsAWord> {
    let read = |stories: &[Story]| documents(tokenizer, stories.iter().map(|story| story.text.as_str()));
    let (learnt, sequences) = (NGrams::learn(&read(train)?, tokenizer.vocab_size()), read(test)?);
    let count: usize = test.iter().map(|story| words(&story.text).len()).sum();
    let mut exact = 0.0;
    for story in test {
        exact -= log_probability(&story.text).ok_or_else(|| not_ours(&story.text))?;
    }
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

/// Accuracy at words that are hidden one at a time, all others being seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneAtATime {
    /// Words and marks that were hidden.
    pub positions: usize,
    /// Of the model.
    pub model: f64,
    /// The mean of the largest probability of any word given the others: on average nobody can do better.
    pub ceiling: f64,
    /// Of saying always the word that is most frequent in these stories.
    pub most_frequent: f64,
}

/// An encoder beside its bounds, at about `positions` places spread over these stories.
pub fn one_at_a_time(
    (bert, params): (&Bert, &Params),
    tokenizer: &Tokenizer,
    stories: &[Story],
    positions: usize,
) -> Result<OneAtATime> {
    let (mask, _) = tokenizer.mask().ok_or_else(|| {
        Error::config("the tokenizer has no token for a mask ([MASK])")
            .hint("limpid tokenizer train … --for bert")
    })?;
    let frame = Frame::of(tokenizer)?;
    let ids = stories.iter().map(|story| tokenizer.encode(&story.text)).collect::<Result<Vec<_>>>()?;
    let places: Vec<(usize, usize)> =
        ids.iter().enumerate().flat_map(|(s, ids)| (0..ids.len()).map(move |place| (s, place))).collect();
    let chosen: Vec<(usize, usize)> =
        places.iter().copied().step_by((places.len() / positions.max(1)).max(1)).collect();
    if chosen.is_empty() {
        return Err(Error::data("there is no word to hide").hint("give it stories"));
    }
    let most_frequent = NGrams::learn(&ids, tokenizer.vocab_size()).most_frequent();
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
            let text = &stories[*s].text;
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
    use crate::data::corpus::stories::generate;
    use crate::model::{Architecture, Model};
    use crate::text::{Purpose, word_tokenizer_for};

    #[test]
    fn without_training_a_model_is_far_from_its_bound_and_the_bounds_are_in_order() {
        let splits = generate(400, 3, 1);
        let texts = || splits.train.iter().chain(&splits.test).map(|story| story.text.as_str());
        let tokenizer = word_tokenizer_for(texts(), Purpose::LanguageModel).unwrap();
        let v = tokenizer.vocab_size();
        let model = Model::gpt(&GptConfig::gpt2(v, 192, 1, 2, 8), 1).unwrap();
        let Architecture::Gpt(gpt) = &model.architecture else { unreachable!() };
        let found = nats_a_word((gpt, &model.params), &tokenizer, &splits.train, &splits.test).unwrap();
        assert!(found.exact < found.bigram && found.bigram < found.unigram && found.unigram < found.model);
        // Random weights know nothing: ln v a token, and a token more than words in each story.
        let blank = (v as f64).ln() * (found.words + 3) as f64 / found.words as f64;
        assert!((found.model - blank).abs() < 0.2, "{} and {blank}", found.model);

        let tokenizer = word_tokenizer_for(texts(), Purpose::Encoder).unwrap();
        let model = Model::bert(&BertConfig::new(tokenizer.vocab_size(), 192, 1, 2, 8), 1).unwrap();
        let Architecture::Bert(bert) = &model.architecture else { unreachable!() };
        let found = one_at_a_time((bert, &model.params), &tokenizer, &splits.test, 100).unwrap();
        assert!((100..=200).contains(&found.positions), "{}", found.positions);
        assert!(found.model < 0.1 && found.most_frequent < 0.3 && found.ceiling > 0.5, "{found:?}");
    }
}
