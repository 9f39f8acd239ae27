//! Sentence pairs for an encoder-decoder.

use super::config::{PairFiles, RunConfig};
use super::examples::{Part, USUAL_SHARE};
use crate::data::batch::PairBatch;
use crate::data::clean::{Cleaning, Duplicates};
use crate::data::order::PairOrder;
use crate::data::pairs::{TokenPair, with_end};
use crate::data::sequence_file::{Recipe, SequenceFile, pick};
use crate::data::split::{Split, split};
use crate::error::{Error, Result};
use crate::eval::translator::tokens_to_score;
use crate::text::Tokenizer;
use std::path::Path;

/// Sentence pairs in files of tokens.
pub struct PairExamples {
    tokens: SequenceFile,
    /// Numbers of the pairs to learn from.
    train: Vec<usize>,
    /// What is kept back, if it has a file of its own.
    kept: Option<SequenceFile>,
    /// Numbers of the pairs kept back.
    validation: Vec<usize>,
    /// The first of those as sentences: as many as are looked at.
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
        let model = config.translator_for(tokenizer)?;
        let (start, end) = (model.start(), model.end());
        let mut cut = |files: &PairFiles, policy, name: &str| {
            token_pairs((files, policy), tokenizer, end, &cache.join(name), progress)
        };
        let (files, policy) = (config.pairs(), config.duplicates());
        let tokens = cut(&files, policy, "train")?;
        let (mut cleaning, pairs) = (tokens.cleaning(), tokens.count() / 2);
        let kept_files = config.validation_pairs();
        // What is measured is not cleaned of duplicates, only of what cannot be measured.
        let kept = kept_files.as_ref().map(|files| cut(files, Duplicates::Keep, "validation")).transpose()?;
        let (train, validation) = match &kept {
            Some(kept) => ((0..pairs).collect(), (0..kept.count() / 2).collect()),
            None => {
                let share = data.validation_share.unwrap_or(USUAL_SHARE);
                split(pairs, Split::Random { share, seed })?
            }
        };
        let mut validation_cleaning = kept.as_ref().map(SequenceFile::cleaning);
        let longest = data.max_tokens.unwrap_or(context).min(context);
        let before = train.len();
        let train = no_longer_than(longest, &tokens, train, &mut cleaning);
        if train.is_empty() && before > 0 {
            let key = if longest < context { "data.max_tokens" } else { "model.context" };
            return Err(Error::data(format!(
                "no pair is left to learn from: all {before} have more than {longest} tokens on a side"
            ))
            .hint(format!("a larger --set {key}=…, or shorter sentences")));
        }
        let counted = validation_cleaning.as_mut().unwrap_or(&mut cleaning);
        let validation = no_longer_than(context, kept.as_ref().unwrap_or(&tokens), validation, counted);
        if validation.is_empty() {
            return Err(Error::data("no pair is left for validation")
                .hint("give more pairs, or a larger --set model.context=…"));
        }
        let looked_at = config.train.samples.max(config.score.sentences).min(validation.len());
        let written = match &kept_files {
            Some(files) => (files, Duplicates::Keep),
            None => (&files, policy),
        };
        let validation_texts =
            pick(written.0.pairs()?, written.1, &validation[..looked_at]).collect::<Result<_>>()?;
        let test_texts = match config.test_pairs() {
            Some(files) => {
                let test = files.pairs()?.collect::<Result<Vec<_>>>()?;
                // Now, not when the training is over.
                tokens_to_score(tokenizer, &test, files.sides(), end, context)?;
                Some(test)
            }
            None => None,
        };
        let lengths: Vec<usize> = train.iter().map(|pair| sides(&tokens, *pair).iter().sum()).collect();
        let order = PairOrder::new(seed, &lengths, config.train.batch_tokens, config.bucketing()?)?;
        Ok(Self {
            tokens,
            train,
            kept,
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
        PairBatch::new(&chosen, self.start)
    }

    pub(super) fn order(&mut self) -> &mut PairOrder {
        &mut self.order
    }

    pub(super) fn validation(&self) -> impl Iterator<Item = TokenPair> + '_ {
        let file = self.kept.as_ref().unwrap_or(&self.tokens);
        self.validation.iter().map(|pair| token_pair(file, *pair))
    }

    /// All sentences of a part.
    pub(super) fn each(&self, part: Part, on: &mut dyn FnMut(&[u32])) {
        let mut both = |(source, target): TokenPair| {
            on(&source);
            on(&target);
        };
        match part {
            Part::Learnt => self.train.iter().for_each(|pair| both(token_pair(&self.tokens, *pair))),
            Part::Kept => self.validation().for_each(both),
        }
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

/// Tokens of both sides of a pair.
fn sides(tokens: &SequenceFile, pair: usize) -> [usize; 2] {
    [tokens.len_of(2 * pair), tokens.len_of(2 * pair + 1)]
}

/// Leaves out pairs with more than `longest` tokens on a side, and counts them.
fn no_longer_than(
    longest: usize,
    tokens: &SequenceFile,
    mut pairs: Vec<usize>,
    cleaning: &mut Cleaning,
) -> Vec<usize> {
    let before = pairs.len();
    pairs.retain(|pair| sides(tokens, *pair).iter().all(|side| *side <= longest));
    cleaning.too_long += before - pairs.len();
    cleaning.kept -= before - pairs.len();
    pairs
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
    let side = |text: &str| with_end(tokenizer, text, end);
    let cut = |(source, target): &(String, String)| Ok(vec![side(source)?, side(target)?]);
    SequenceFile::build(path, &recipe, || files.pairs(), cut, progress)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::word_tokenizer;
    use std::fs;

    #[test]
    fn pairs_that_are_too_long_on_a_side_are_left_out_and_counted() {
        let folder = std::env::temp_dir().join(format!("limpid-pairs-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, lines: &[&str]| {
            fs::write(folder.join(name), lines.join("\n")).unwrap();
            format!("data.{name}={:?}", folder.join(name))
        };
        let source = ["a a a", "a a a a", "a", "a", "", "a a a", "a a"];
        let target = ["b b b", "b", "b b b b", "b", "b", "b b b", "b b"];
        let mut set = vec![write("source", &source), write("target", &target)];
        set.extend([
            write("validation_source", &["a", "a a a a a a"]),
            write("validation_target", &["b", "b"]),
        ]);
        // With the end behind each side, three words are four tokens.
        set.extend(["data.max_tokens=4", "model.context=6", "train.samples=1"].map(String::from));
        let config = RunConfig::new(super::super::TaskKind::Translate).with(&set).unwrap();
        let tokenizer = word_tokenizer(["a b"]).unwrap();
        let read = || PairExamples::read(&config, &tokenizer, &folder, &mut |_| {}).unwrap();
        for examples in [read(), read()] {
            assert_eq!(
                examples.describe(),
                "4 pairs to learn from (7 read; 1 exact duplicates kept, 1 empty and 2 too long left out), \
                 1 for validation (2 read; 0 exact duplicates kept, 0 empty and 1 too long left out)"
            );
            assert_eq!(examples.train, [0, 3, 4, 5]);
            assert_eq!(examples.validation().count(), 1);
            assert_eq!(examples.validation_texts, [("a".to_string(), "b".to_string())]);
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
