//! Sentence pairs for an encoder-decoder.

use super::{Batch, Dataset, Split, numbers_of};
use crate::data::batch::PairBatch;
use crate::data::clean::{Cleaning, Duplicates};
use crate::data::pairs::{TokenPair, with_end};
use crate::data::sampler::BatchSampler;
use crate::data::sequence_file::{Recipe, SequenceFile, select_cleaned};
use crate::data::split::{SplitMethod, split};
use crate::error::{DatasetError, Result, SplitName};
use crate::eval::translator::tokens_to_score;
use crate::text::Tokenizer;
use crate::train::config::{PairFiles, RunConfig, TranslateTask};
use std::path::Path;

/// Sentence pairs as token ids in a file.
pub struct PairDataset {
    tokens: SequenceFile,
    /// Indices of the training pairs.
    train: Vec<usize>,
    /// The validation pairs, if they have a file of their own.
    kept: Option<SequenceFile>,
    /// Indices of the validation pairs.
    validation: Vec<usize>,
    /// The first of those as text: as many as samples and scores need.
    pub validation_texts: Vec<(String, String)>,
    /// The test pairs as text, if there are test files.
    pub test_texts: Option<Vec<(String, String)>>,
    order: BatchSampler,
    start: u32,
    /// Micro-batches of a step.
    accumulate: u64,
    /// What cleaning dropped.
    cleaning: Cleaning,
    /// And of the validation files, if there are such.
    validation_cleaning: Option<Cleaning>,
}

impl Dataset for PairDataset {
    fn micro_batches(&mut self, step: u64) -> Vec<Batch> {
        numbers_of(step, self.accumulate).map(|n| Batch::Pairs(self.batch(n))).collect()
    }
}

impl PairDataset {
    pub(super) fn read(
        (config, task): (&RunConfig, &TranslateTask),
        tokenizer: &Tokenizer,
        cache: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let (data, seed, context) = (&task.data, config.train.seed, task.model.context_length());
        let model = config.translator_for(tokenizer)?;
        let (start, end) = (model.start(), model.end());
        let mut cut = |files: &PairFiles, policy, name: &str| {
            token_pairs((files, policy), tokenizer, end, &cache.join(name), progress)
        };
        let (files, policy) = (data.training_pairs(), data.duplicates);
        let tokens = cut(&files, policy, "train")?;
        let (mut cleaning, pairs) = (tokens.cleaning(), tokens.count() / 2);
        let kept_files = data.validation_pairs();
        // Validation pairs keep their duplicates, and lose only what cannot be scored.
        let kept = kept_files
            .as_ref()
            .map(|files| cut(files, Duplicates::Keep, "validation"))
            .transpose()?;
        let (train, validation) = match &kept {
            Some(kept) => ((0..pairs).collect(), (0..kept.count() / 2).collect()),
            None => {
                let fraction =
                    data.validation_split.expect("without validation files some are held out");
                split(pairs, SplitMethod::Random { fraction, seed })?
            }
        };
        let mut validation_cleaning = kept.as_ref().map(SequenceFile::cleaning);
        let longest = data.max_tokens.unwrap_or(context).min(context);
        let before = train.len();
        let train = no_longer_than(longest, &tokens, train, &mut cleaning);
        if train.is_empty() && before > 0 {
            let key = if longest < context { "data.max_tokens" } else { "model.context_length" };
            return Err(DatasetError::AllTooLong { pairs: before, limit: longest, key }.into());
        }
        let counted = validation_cleaning.as_mut().unwrap_or(&mut cleaning);
        let validation =
            no_longer_than(context, kept.as_ref().unwrap_or(&tokens), validation, counted);
        if validation.is_empty() {
            let (split, unit) = (SplitName::Validation, "pairs".to_string());
            return Err(DatasetError::Empty { split, unit }.into());
        }
        let looked_at = config.train.samples.max(task.score.max_sentences).min(validation.len());
        let written = match &kept_files {
            Some(files) => (files, Duplicates::Keep),
            None => (&files, policy),
        };
        let validation_texts =
            select_cleaned(written.0.pairs()?, written.1, &validation[..looked_at])
                .collect::<Result<_>>()?;
        let test_texts = match data.test_pairs() {
            Some(files) => {
                let test = files.pairs()?.collect::<Result<Vec<_>>>()?;
                // An unusable test file is refused now, not when training is over.
                tokens_to_score(tokenizer, &test, files.sides(), end, context)?;
                Some(test)
            }
            None => None,
        };
        let lengths: Vec<usize> =
            train.iter().map(|pair| sides(&tokens, *pair).iter().sum()).collect();
        let (budget, bucketing) = config.train.batch.budget().expect("pairs are batched by tokens");
        let order = BatchSampler::new(seed, &lengths, budget, bucketing)?;
        Ok(Self {
            tokens,
            train,
            kept,
            validation,
            validation_texts,
            test_texts,
            order,
            start,
            accumulate: config.train.gradient_accumulation_steps as u64,
            cleaning,
            validation_cleaning,
        })
    }

    /// Micro-batch `n`, counted over the whole run.
    fn batch(&mut self, n: u64) -> PairBatch {
        let pair = |i: &usize| token_pair(&self.tokens, self.train[*i]);
        let chosen: Vec<TokenPair> = self.order.batch(n).iter().map(pair).collect();
        PairBatch::new(&chosen, self.start)
    }

    pub(super) fn order(&mut self) -> &mut BatchSampler {
        &mut self.order
    }

    /// The validation pairs as token ids.
    pub(in crate::train) fn validation(&self) -> impl Iterator<Item = TokenPair> + '_ {
        let file = self.kept.as_ref().unwrap_or(&self.tokens);
        self.validation.iter().map(|pair| token_pair(file, *pair))
    }

    /// All sentences of a split.
    pub(super) fn each(&self, split: Split, on: &mut dyn FnMut(&[u32])) {
        let mut both = |(source, target): TokenPair| {
            on(&source);
            on(&target);
        };
        match split {
            Split::Train => {
                self.train.iter().for_each(|pair| both(token_pair(&self.tokens, *pair)))
            }
            Split::Validation => self.validation().for_each(both),
        }
    }

    pub(super) fn describe(&self) -> String {
        let (train, kept, cleaning) = (self.train.len(), self.validation.len(), self.cleaning);
        match self.validation_cleaning {
            None => format!("{train} training pairs, {kept} validation pairs ({cleaning})"),
            Some(theirs) => {
                format!("{train} training pairs ({cleaning}), {kept} validation pairs ({theirs})")
            }
        }
    }
}

/// Tokens of both sides of a pair.
fn sides(tokens: &SequenceFile, pair: usize) -> [usize; 2] {
    [tokens.len_of(2 * pair), tokens.len_of(2 * pair + 1)]
}

/// Drops pairs with more than `longest` tokens on a side, and counts them.
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

/// Sequence 2i is the source of pair i, 2i + 1 its target, each followed by `end`.
fn token_pairs(
    (files, policy): (&PairFiles, Duplicates),
    tokenizer: &Tokenizer,
    end: u32,
    path: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<SequenceFile> {
    let (id_limit, processing) = (
        tokenizer.vocab_size().max(tokenizer.target_vocab_size()),
        format!("{}, {end} behind each", files.how()),
    );
    let recipe =
        Recipe { files: &files.files(), processing, tokenizer, id_limit, clean: Some(policy) };
    let cut = |(source, target): &(String, String)| {
        Ok(vec![
            with_end(tokenizer.encode(source)?, end),
            with_end(tokenizer.encode_target(target)?, end),
        ])
    };
    SequenceFile::build(path, &recipe, || files.pairs(), cut, progress)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::word_tokenizer;
    use std::fs;

    #[test]
    fn pairs_that_are_too_long_on_a_side_are_dropped_and_counted() {
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
        set.extend(
            ["data.max_tokens=4", "model.context_length=6", "train.samples=1"].map(String::from),
        );
        let config = RunConfig::parse("task = \"translate\"", &set).unwrap();
        let crate::train::config::Task::Translate(task) = &config.task else { panic!() };
        let tokenizer = word_tokenizer(["a b"]).unwrap();
        let read = || PairDataset::read((&config, task), &tokenizer, &folder, &mut |_| {}).unwrap();
        for examples in [read(), read()] {
            assert_eq!(
                examples.describe(),
                "4 training pairs (7 read; 1 exact duplicates kept, 1 empty and 2 too long \
                 left out), 1 validation pairs (2 read; 0 exact duplicates kept, 0 empty and \
                 1 too long left out)"
            );
            assert_eq!(examples.train, [0, 3, 4, 5]);
            assert_eq!(examples.validation().count(), 1);
            assert_eq!(examples.validation_texts, [("a".to_string(), "b".to_string())]);
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
