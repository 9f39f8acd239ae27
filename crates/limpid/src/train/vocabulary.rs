//! The vocabulary of a run: its own, that of a model or a folder, or one that is learnt from its texts.

use super::config::{PairFiles, RunConfig, TaskKind};
use super::setup::Preparing;
use crate::data::clean::Cleaner;
use crate::data::labelled::no_examples;
use crate::error::{Error, Result};
use crate::files::create_folder;
use crate::text::train::{train, train_files};
use crate::text::{BLOCK, Tokenizer};
use std::path::{Path, PathBuf};

/// The flags of `limpid tokenizer train` are keys of a run, if it has them.
pub(super) fn in_a_run(error: Error) -> Error {
    let keys = |text: &str, vocab: &str| {
        text.replace("--vocab ", vocab)
            .replace(", or --min-frequency to leave rare characters out", "")
            .replace(", give more text, or a lower --min-frequency", ", or give more text")
    };
    let hint = error.hint_text().map(|hint| keys(hint, "--set tokenizer.vocab="));
    let error = error.reworded(|message| keys(message, "tokenizer.vocab = "));
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// The run's own tokenizer: made once, then kept with it.
pub(super) fn tokenizer(
    config: &RunConfig,
    folder: &Path,
    progress: &mut dyn FnMut(Preparing),
) -> Result<Tokenizer> {
    if folder.join("tokenizer.json").is_file() {
        return Tokenizer::load(folder);
    }
    // A model that was trained already knows the tokens it was trained with.
    let tokenizer = match config.tokenizer.from.as_ref().or(config.model.from.as_ref()) {
        Some(from) => Tokenizer::load(from)?,
        None if config.task == TaskKind::Classify => {
            // The texts alone: labels and other columns are no part of the language.
            let (table, mut cleaner) = (config.table()?, Cleaner::new(config.duplicates()));
            let texts = table
                .cleaned(&config.data.text, &mut cleaner)
                .map(|example| Ok(example?.texts.iter().map(|text| format!("{text}\n")).collect::<String>()));
            let mut texts = texts.peekable();
            if texts.peek().is_none() {
                return Err(no_examples(&config.data.text));
            }
            train(&config.tokenizer_spec()?, in_blocks(texts))?.tokenizer
        }
        None => {
            let (data, spec) = (&config.data, config.tokenizer_spec()?);
            let mut learn = |files: &[PathBuf]| {
                train_files(&spec, files, &mut |stage| progress(Preparing::Vocabulary(stage)))
            };
            match config.task {
                TaskKind::Gpt | TaskKind::Bert | TaskKind::Classify => learn(&data.text)?.tokenizer,
                TaskKind::Translate => {
                    let files = config.pairs();
                    // Files that are not each other's translation are refused before anything is learnt from them.
                    files.pairs()?.try_for_each(|pair| pair.map(drop))?;
                    match &files {
                        PairFiles::Parallel(source, target) => {
                            learn(&[source.clone(), target.clone()])?.tokenizer
                        }
                        PairFiles::Table { .. } => {
                            let lines = files.pairs()?.map(|pair| {
                                let (source, target) = pair?;
                                Ok(format!("{source}\n{target}\n"))
                            });
                            train(&spec, in_blocks(lines))?.tokenizer
                        }
                    }
                }
            }
        }
    };
    create_folder(folder)?;
    tokenizer.save(folder)?;
    Ok(tokenizer)
}

/// Texts, as many at a time as a block has room for.
fn in_blocks(mut texts: impl Iterator<Item = Result<String>>) -> impl Iterator<Item = Result<String>> {
    std::iter::from_fn(move || {
        let mut block = String::new();
        while block.len() < BLOCK {
            match texts.next() {
                Some(Ok(text)) => block += &text,
                Some(Err(error)) => return Some(Err(error)),
                None => break,
            }
        }
        (!block.is_empty()).then_some(Ok(block))
    })
}
