//! Sentence pairs for an encoder-decoder.

use super::reader::{Read, Reader, Records, SplitFiles, describe_splits};
use super::{Batch, Split};
use crate::data::batch::PairBatch;
use crate::data::clean::{Cleaning, Duplicates};
use crate::data::pairs::TokenPair;
use crate::data::parallel::PairFiles;
use crate::data::sequence_file::{Recipe, SequenceFile, select_cleaned};
use crate::error::{DatasetError, Result, SplitName};
use crate::eval::translator::tokens_to_score;
use crate::report::thousands;
use crate::train::config::TranslateTask;

/// Sentence pairs as token ids in a file.
pub struct PairExamples {
    pub(super) train: TokenPairs,
    pub(super) validation: TokenPairs,
    /// The first validation pairs as text: as many as samples and scores need.
    pub validation_texts: Vec<(String, String)>,
    /// The test pairs as text, if there are test files.
    pub test_texts: Option<Vec<(String, String)>>,
    start: u32,
}

/// The pairs of one split: of each its source, then its target.
pub(super) struct TokenPairs {
    records: Records,
}

impl TokenPairs {
    /// Tokens of both sides of each pair.
    fn lengths(&self) -> impl Iterator<Item = [usize; 2]> + '_ {
        self.records.which.iter().map(|pair| sides(&self.records.file, *pair))
    }

    /// Pair `i` of this split.
    fn get(&self, i: usize) -> TokenPair {
        let Records { file, which } = &self.records;
        (file.get(2 * which[i]), file.get(2 * which[i] + 1))
    }

    fn iter(&self) -> impl Iterator<Item = TokenPair> + '_ {
        (0..self.records.which.len()).map(|i| self.get(i))
    }

    /// Drops pairs with more than `longest` tokens on a side, and counts them.
    fn drop_longer_than(&mut self, longest: usize, cleaning: &mut Cleaning) {
        let Records { file, which } = &mut self.records;
        let before = which.len();
        which.retain(|pair| sides(file, *pair).iter().all(|side| *side <= longest));
        cleaning.too_long += before - which.len();
        cleaning.kept -= before - which.len();
    }
}

/// Tokens of both sides of a pair.
fn sides(file: &SequenceFile, pair: usize) -> [usize; 2] {
    [file.len_of(2 * pair), file.len_of(2 * pair + 1)]
}

impl Split for TokenPairs {
    fn each(&self, on: &mut dyn FnMut(&[u32])) {
        for (source, target) in self.iter() {
            on(&source);
            on(&target);
        }
    }
}

impl PairExamples {
    pub(super) fn read(reader: &mut Reader, task: &TranslateTask) -> Result<Read<Self>> {
        let (data, context) = (&task.data, reader.config.context_length());
        let (config, tokenizer) = (reader.config, reader.tokenizer);
        let [start, end] = config.start_and_end(tokenizer)?;
        let (train, validation) = (data.training_pairs(), data.validation_pairs());
        let files = SplitFiles {
            train: &train,
            duplicates: data.duplicates,
            validation: validation.as_ref(),
            fraction: data.validation_split,
        };
        let found =
            reader.both(&files, |reader, files, name| token_pairs(reader, files, end, name))?;
        let mut cleaning = found.0.cleaning();
        let mut own_cleaning = found.1.as_ref().map(SequenceFile::cleaning);
        let [mut train, mut validation] =
            reader.split(found, 2, files.fraction)?.map(|records| TokenPairs { records });
        let longest = data.max_tokens.unwrap_or(context).min(context);
        let pairs = train.records.which.len();
        train.drop_longer_than(longest, &mut cleaning);
        if train.records.which.is_empty() && pairs > 0 {
            let key = if longest < context { "data.max_tokens" } else { "model.context_length" };
            return Err(DatasetError::AllTooLong { pairs, limit: longest, key }.into());
        }
        // Validation pairs lose only what cannot be scored.
        validation.drop_longer_than(context, own_cleaning.as_mut().unwrap_or(&mut cleaning));
        let held_out = &validation.records.which;
        if held_out.is_empty() {
            let (split, unit) = (SplitName::Validation, "pairs".to_string());
            return Err(DatasetError::Empty { split, unit }.into());
        }
        let looked_at = config.train.samples.max(task.score.max_sentences).min(held_out.len());
        let (source, policy) = files.held_out();
        let validation_texts = select_cleaned(source.pairs()?, policy, &held_out[..looked_at])
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
        let order = reader.shuffled(train.lengths().map(|sides| sides.iter().sum()))?;
        let sizes = [
            format!("{} training pairs", thousands(train.records.which.len() as u64)),
            format!("{} validation pairs", thousands(held_out.len() as u64)),
        ];
        let description = describe_splits(sizes, cleaning, own_cleaning);
        let examples = Self { train, validation, validation_texts, test_texts, start };
        Ok(Read { examples, order, description })
    }

    pub(super) fn batch(&self, chosen: &[usize]) -> Batch {
        let pairs: Vec<TokenPair> = chosen.iter().map(|i| self.train.get(*i)).collect();
        Batch::Pairs(PairBatch::new(&pairs, self.start))
    }

    /// The validation pairs as token ids.
    pub(in crate::train) fn validation(&self) -> impl Iterator<Item = TokenPair> + '_ {
        self.validation.iter()
    }
}

/// Sequence 2i is the source of pair i, 2i + 1 its target, each followed by `end`.
fn token_pairs(
    reader: &mut Reader,
    (files, policy): (&PairFiles, Duplicates),
    end: u32,
    name: &str,
) -> Result<SequenceFile> {
    let tokenizer = reader.tokenizer;
    let id_limit = tokenizer.vocab_size().max(tokenizer.target_vocab_size());
    let [before, behind] = tokenizer.source_affixes(end)?;
    let mut processing = match before.is_empty() && behind == [end] {
        true => format!("{}, {end} behind each", files.how()),
        false => format!("{}, {before:?} and {behind:?} around sources", files.how()),
    };
    if tokenizer.target_language().is_some() {
        processing += &format!(", {:?} around targets", tokenizer.target_affixes(end)?);
    }
    let recipe =
        Recipe { files: &files.files(), processing, tokenizer, id_limit, clean: Some(policy) };
    let tokenize = |(source, target): &(String, String)| {
        Ok(vec![tokenizer.source_sentence(source, end)?, tokenizer.target_sentence(target, end)?])
    };
    reader.tokenize(name, &recipe, || files.pairs(), tokenize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::word_tokenizer;
    use crate::train::config::RunConfig;
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
        let read = || {
            let (config, tokenizer, cache) = (&config, &tokenizer, &folder);
            let mut reader = Reader { config, tokenizer, cache, progress: &mut |_| {} };
            PairExamples::read(&mut reader, task).unwrap()
        };
        for Read { examples, description, .. } in [read(), read()] {
            assert_eq!(
                description,
                "4 training pairs (7 read; 1 exact duplicates kept, 1 empty and 2 too long \
                 left out), 1 validation pairs (2 read; 0 exact duplicates kept, 0 empty and \
                 1 too long left out)"
            );
            assert_eq!(examples.train.records.which, [0, 3, 4, 5]);
            assert_eq!(examples.validation().count(), 1);
            assert_eq!(examples.validation_texts, [("a".to_string(), "b".to_string())]);
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
