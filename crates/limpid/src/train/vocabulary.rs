//! The tokenizer of a run: loaded, or trained on its texts.

use super::config::{
    AnswerTask, BertTask, ClassifyTask, GptTask, Pretrained, RunConfig, TagTask, Task,
    TokenizerConfig, TranslateTask,
};
use crate::data::clean::Cleaner;
use crate::data::labelled::no_examples;
use crate::data::parallel::PairFiles;
use crate::data::questions::each_question;
use crate::error::{PretrainedError, Result};
use crate::files::create_folder;
use crate::hash::{hash_bytes, hash_file};
use crate::hub;
use crate::model::config::StackConfig;
use crate::text::train::{Stage, TokenizerSpec, TrainedTokenizer, train, train_files};
use crate::text::{BLOCK, Tokenizer};
use std::path::{Path, PathBuf};

/// The run's own tokenizer: trained or loaded once, then kept with it, with the languages of its
/// texts.
pub(super) fn tokenizer(
    config: &RunConfig,
    folder: &Path,
    progress: &mut dyn FnMut(Stage),
) -> Result<Tokenizer> {
    if Tokenizer::exists_in(folder) {
        let mut tokenizer = Tokenizer::load(folder)?;
        set_languages(config, &mut tokenizer)?;
        return Ok(tokenizer);
    }
    let mut tokenizer = match (&config.tokenizer, &config.pretrained) {
        (TokenizerConfig::Load(from), _) | (TokenizerConfig::Pretrained, Some(from)) => {
            hub::load_tokenizer(from)?
        }
        _ => trained(config, progress)?,
    };
    set_languages(config, &mut tokenizer)?;
    create_folder(folder)?;
    tokenizer.save(folder)?;
    Ok(tokenizer)
}

/// Sets the languages of a multilingual translator: those of the settings; what it translates into
/// is otherwise that of its folder.
fn set_languages(config: &RunConfig, tokenizer: &mut Tokenizer) -> Result<()> {
    let Task::Translate(TranslateTask { data, .. }) = &config.task else { return Ok(()) };
    let mut target = data.target_lang.clone();
    if let (None, Some(folder)) = (&target, &config.pretrained)
        && tokenizer.marks_languages()?
    {
        let (generation, _) = hub::load_generation_config(folder)?;
        let start = match Pretrained::read(folder, config.kind())?.stack {
            StackConfig::EncoderDecoder(model) => Some(model.decoder_start_token_id),
            _ => None,
        };
        let ids = [generation.forced_bos_token_id, start];
        target = ids.into_iter().flatten().find_map(|id| tokenizer.language_of(id));
        if target.is_none() {
            let known = tokenizer.languages().into_iter().map(|(code, _)| code).collect();
            return Err(PretrainedError::NoTargetLanguage { folder: folder.clone(), known }.into());
        }
    }
    if data.source_lang.is_some() || target.is_some() {
        tokenizer.set_languages(data.source_lang.as_deref(), target.as_deref())?;
    }
    Ok(())
}

fn trained(config: &RunConfig, progress: &mut dyn FnMut(Stage)) -> Result<Tokenizer> {
    let spec = config.tokenizer.spec(config.kind()).expect("the tokenizer is to be trained");
    let mut on_files = |files: &[PathBuf]| train_files(&spec, files, &mut *progress);
    let trained = match &config.task {
        Task::Gpt(GptTask { data, .. }) | Task::Bert(BertTask { data, .. }) => {
            on_files(&data.text)?
        }
        Task::Classify(ClassifyTask { data, .. }) => {
            // The texts alone: labels and other columns are not part of the language.
            let (table, mut cleaner) = (data.table(), Cleaner::new(data.duplicates));
            let texts = table.cleaned(&data.text, &mut cleaner).map(|example| {
                Ok(example?.texts.iter().map(|text| format!("{text}\n")).collect::<String>())
            });
            train_texts(&spec, texts, &data.text)?
        }
        Task::Tag(TagTask { data, .. }) => {
            let words = data.spec();
            let texts = words.sentences(&data.text).map(|one| Ok(format!("{}\n", one?.text())));
            train_texts(&spec, texts, &data.text)?
        }
        Task::Answer(AnswerTask { data, .. }) => {
            let questions = each_question(&data.text, data.format)?.into_iter();
            let texts = questions.map(|one| Ok(format!("{}\n{}\n", one.question, one.context)));
            train_texts(&spec, texts, &data.text)?
        }
        Task::Translate(TranslateTask { data, .. }) => {
            let files = data.training_pairs();
            // Files of different lengths are refused before a vocabulary is trained on them.
            files.pairs()?.try_for_each(|pair| pair.map(drop))?;
            match &files {
                PairFiles::Parallel(source, target) => on_files(&[source.clone(), target.clone()])?,
                PairFiles::Table { .. } => {
                    let lines = files.pairs()?.map(|pair| {
                        let (source, target) = pair?;
                        Ok(format!("{source}\n{target}\n"))
                    });
                    train(&spec, in_blocks(lines))?
                }
            }
        }
    };
    Ok(trained.tokenizer)
}

/// A tokenizer trained on the texts of a dataset; `files` are for the error if there are none.
fn train_texts(
    spec: &TokenizerSpec,
    texts: impl Iterator<Item = Result<String>>,
    files: &[PathBuf],
) -> Result<TrainedTokenizer> {
    let mut texts = texts.peekable();
    if texts.peek().is_none() {
        return Err(no_examples(files).into());
    }
    train(spec, in_blocks(texts))
}

/// Texts, as many at a time as fit into a block.
fn in_blocks(
    mut texts: impl Iterator<Item = Result<String>>,
) -> impl Iterator<Item = Result<String>> {
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

/// The hash of the files of a run's tokenizer: of one file its own, of several of all of them.
pub(super) fn tokenizer_hash(folder: &Path) -> Result<u64> {
    let mut files = Tokenizer::files(folder);
    if files.is_empty() {
        files.push(folder.join("tokenizer.json"));
    }
    let hashes =
        files.iter().map(|path| Ok(hash_file(path, 0)?.1)).collect::<Result<Vec<u64>>>()?;
    match hashes[..] {
        [one] => Ok(one),
        _ => {
            Ok(hash_bytes(&hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect::<Vec<u8>>()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_file_of_a_tokenizer_counts_in_its_hash() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures");
        let from = fixtures.join("tokenizers/marian");
        let folder = std::env::temp_dir().join(format!("limpid-vocabulary-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let files = ["source.spm", "target.spm", "vocab.json", "tokenizer_config.json"];
        let copy = |name: &str| fs::copy(from.join(name), folder.join(name)).unwrap();
        files.iter().for_each(|name| {
            copy(name);
        });
        let whole = tokenizer_hash(&folder).unwrap();
        assert_eq!(whole, tokenizer_hash(&from).unwrap());
        for name in files {
            let path = folder.join(name);
            let mut bytes = fs::read(&path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(&path, bytes).unwrap();
            assert_ne!(tokenizer_hash(&folder).unwrap(), whole, "{name}");
            copy(name);
            assert_eq!(tokenizer_hash(&folder).unwrap(), whole, "{name}");
        }
        // Beside a tokenizer.json the others are not read.
        fs::write(folder.join("tokenizer.json"), "text").unwrap();
        assert_eq!(tokenizer_hash(&folder).unwrap(), hash_bytes(b"text"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
