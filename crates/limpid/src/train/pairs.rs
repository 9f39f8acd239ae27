//! Sentence pairs for an encoder-decoder.

use super::config::{PairFiles, RunConfig};
use super::examples::USUAL_SHARE;
use crate::data::batch::PairBatch;
use crate::data::clean::{Cleaner, Cleaning, Duplicates};
use crate::data::order::PairOrder;
use crate::data::pairs::TokenPair;
use crate::data::sequence_file::{Recipe, SequenceFile};
use crate::data::split::{Split, split};
use crate::error::{Error, Result};
use crate::eval::translator::tokens_to_score;
use crate::text::Tokenizer;
use std::path::Path;

/// Sentence pairs: those to learn from in a file of tokens, those kept back in memory.
pub struct PairExamples {
    tokens: SequenceFile,
    /// Numbers of the pairs to learn from.
    train: Vec<usize>,
    validation: Vec<TokenPair>,
    /// The sentences themselves.
    pub validation_texts: Vec<(String, String)>,
    /// Sentences for the end, if there are such.
    pub test_texts: Option<Vec<(String, String)>>,
    order: PairOrder,
    start: u32,
    /// What was left out.
    cleaning: Cleaning,
    /// And of the files of validation pairs, if there are such.
    validation_cleaning: Option<Cleaning>,
}

impl PairExamples {
    pub(super) fn read(
        config: &RunConfig,
        tokenizer: &Tokenizer,
        cache: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let (data, seed, context) = (&config.data, config.train.seed, config.model.context);
        let end = tokenizer.end().ok_or_else(|| {
            Error::config("the tokenizer has no token for the end of a sentence (</s>)")
                .hint("limpid tokenizer train … --for translation makes one that has")
        })?;
        let mut cut = |files: &PairFiles, policy, name: &str| {
            token_pairs((files, policy), tokenizer, end, &cache.join(name), progress)
        };
        let (files, policy) = (config.pairs(), config.duplicates());
        let tokens = cut(&files, policy, "train")?;
        let (mut cleaning, pairs) = (tokens.cleaning(), tokens.count() / 2);
        let (train, kept, mut validation_cleaning) = match config.validation_pairs() {
            Some(files) => {
                // What is measured is not cleaned of duplicates, only of what cannot be measured.
                let tokens = cut(&files, Duplicates::Keep, "validation")?;
                let all: Vec<usize> = (0..tokens.count() / 2).collect();
                let kept = with_texts(&tokens, (&files, Duplicates::Keep), &all)?;
                ((0..pairs).collect(), kept, Some(tokens.cleaning()))
            }
            None => {
                let share = data.validation_share.unwrap_or(USUAL_SHARE);
                let (train, kept) = split(pairs, Split::Random { share, seed })?;
                (train, with_texts(&tokens, (&files, policy), &kept)?, None)
            }
        };
        let longer_side = |pair: &usize| tokens.len_of(2 * pair).max(tokens.len_of(2 * pair + 1));
        let longest = data.max_tokens.unwrap_or(context).min(context);
        let before = train.len();
        let train: Vec<usize> = train.into_iter().filter(|pair| longer_side(pair) <= longest).collect();
        leave_out(&mut cleaning, before - train.len());
        let before = kept.len();
        let (validation, validation_texts): (Vec<_>, Vec<_>) = kept
            .into_iter()
            .filter(|((source, target), _)| source.len().max(target.len()) <= context)
            .unzip();
        leave_out(validation_cleaning.as_mut().unwrap_or(&mut cleaning), before - validation.len());
        if validation.is_empty() {
            return Err(Error::data("no pair is left for validation")
                .hint("give more pairs, or a larger --set model.context=…"));
        }
        let test_texts = match config.test_pairs() {
            Some(files) => {
                let test = files.pairs()?.collect::<Result<Vec<_>>>()?;
                // Now, not when the training is over.
                tokens_to_score(tokenizer, &test, end, context).map_err(|e| e.in_file(files.path()))?;
                Some(test)
            }
            None => None,
        };
        let lengths: Vec<usize> =
            train.iter().map(|pair| tokens.len_of(2 * pair) + tokens.len_of(2 * pair + 1)).collect();
        let order = PairOrder::new(seed, &lengths, config.train.batch_tokens, config.bucketing()?)?;
        let start = config.translator(tokenizer.vocab_size())?.start();
        Ok(Self {
            tokens,
            train,
            validation,
            validation_texts,
            test_texts,
            order,
            start,
            cleaning,
            validation_cleaning,
        })
    }

    pub(super) fn batch(&mut self, n: u64) -> PairBatch {
        let pair = |i: &usize| token_pair(&self.tokens, self.train[*i]);
        let chosen: Vec<TokenPair> = self.order.batch(n).iter().map(pair).collect();
        let chosen: Vec<(&[u32], &[u32])> =
            chosen.iter().map(|(source, target)| (&source[..], &target[..])).collect();
        PairBatch::new(&chosen, self.start)
    }

    pub(super) fn order(&mut self) -> &mut PairOrder {
        &mut self.order
    }

    pub(super) fn validation(&self) -> &[TokenPair] {
        &self.validation
    }

    pub(super) fn describe(&self) -> String {
        let (train, kept, cleaning) = (self.train.len(), self.validation.len(), self.cleaning);
        match self.validation_cleaning {
            None => format!("{train} pairs to learn from, {kept} kept for validation ({cleaning})"),
            Some(theirs) => {
                format!("{train} pairs to learn from ({cleaning}), {kept} for validation ({theirs})")
            }
        }
    }
}

fn leave_out(cleaning: &mut Cleaning, too_long: usize) {
    cleaning.too_long += too_long;
    cleaning.kept -= too_long;
}

fn token_pair(tokens: &SequenceFile, pair: usize) -> TokenPair {
    (tokens.get(2 * pair), tokens.get(2 * pair + 1))
}

/// Sequence 2i is the source of pair i, 2i + 1 its target, each with `end` behind it.
fn token_pairs(
    (files, policy): (&PairFiles, Duplicates),
    tokenizer: &Tokenizer,
    end: u32,
    path: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<SequenceFile> {
    let (ids, how) = (tokenizer.vocab_size(), format!("{}, {end} behind each", files.how()));
    let recipe = Recipe { files: &files.files(), how, tokenizer, ids, clean: Some(policy) };
    let side = |text: &str| -> Result<Vec<u32>> {
        let mut ids = tokenizer.encode(text)?;
        ids.push(end);
        Ok(ids)
    };
    let cut = |(source, target): &(String, String)| Ok(vec![side(source)?, side(target)?]);
    SequenceFile::build(path, &recipe, || files.pairs(), cut, progress)
}

/// Some pairs (their numbers ascend) as tokens and as the sentences that they are.
fn with_texts(
    tokens: &SequenceFile,
    (files, policy): (&PairFiles, Duplicates),
    which: &[usize],
) -> Result<Vec<(TokenPair, (String, String))>> {
    let (mut cleaner, mut which) = (Cleaner::new(policy), which.iter().copied().peekable());
    let (mut found, mut number) = (Vec::with_capacity(which.len()), 0);
    for pair in files.pairs()? {
        let pair = pair?;
        if !cleaner.keeps(&[&pair.0, &pair.1]) {
            continue;
        }
        if which.next_if_eq(&number).is_some() {
            found.push((token_pair(tokens, number), pair));
        }
        number += 1;
    }
    Ok(found)
}
