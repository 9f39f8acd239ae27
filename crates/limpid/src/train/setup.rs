//! From a configuration and a folder to a run that is ready to go on.

use super::checkpoint::{self, Checkpoint};
use super::config::{RunConfig, TaskKind};
use super::examples::Examples;
pub use super::folder::FIND_LR;
use super::folder::{LOCK, check_folder, clear, events, is_within, lock};
use super::from::{adopt, new_heads};
use super::mend::{lost_metrics, mend};
use super::plan;
use super::replace;
use super::run::Run;
use super::vocabulary::{in_a_run, tokenizer};
use crate::data::table::TableFormat;
use crate::error::{Error, Result};
use crate::files::{create_folder, write_aside};
use crate::hash::hash_file;
use crate::hub;
use crate::report::parse_settings;
use crate::text::train::Stage;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// What to do with a folder that holds a run already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// Leave it alone: an error.
    Fresh,
    /// Go on from its newest checkpoint; begin if there is none.
    Resume,
    /// Replace it, once the new one has a checkpoint.
    Force,
}

/// What is being prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparing {
    /// A vocabulary is learnt.
    Vocabulary(Stage),
    /// Text becomes tokens; bytes that are done.
    Tokens(u64),
}

/// A run, and what was noticed while it was opened.
pub struct Opened {
    /// Ready to go on.
    pub run: Run,
    /// What was damaged, and what was done about it.
    pub damaged: Vec<Error>,
    /// Held while the run lives: nobody else may write into its folder.
    pub lock: File,
}

/// Keys that may differ when a run goes on: how long and how often, not what.
const MAY_CHANGE: [&str; 13] = [
    "train.steps",
    "train.epochs",
    "train.checkpoint_every",
    "train.keep",
    "train.patience",
    "train.average_last",
    "data.test_source",
    "data.test_target",
    "data.test_pairs",
    "score.targets",
    "score.beams",
    "score.lowercase",
    "score.sentences",
];

/// Keys that say where something lies.
const PATHS: [&str; 10] = [
    "data.text",
    "data.source",
    "data.target",
    "data.pairs",
    "data.validation_text",
    "data.validation_source",
    "data.validation_target",
    "data.validation_pairs",
    "tokenizer.from",
    "model.from",
];

/// What is said when `--force` was ended too early.
const PUT_BACK: &str = "the run that --force was to replace has been put back, for the new one was ended before its first checkpoint";

/// Opens `folder` for a run. Paths in `config` must not be relative: the run may go on from elsewhere.
pub fn open(
    config: RunConfig,
    folder: &Path,
    beginning: Beginning,
    progress: &mut dyn FnMut(Preparing),
) -> Result<Opened> {
    config.validate()?;
    let config = adopt(config)?;
    let saved = folder.join("config.toml");
    // One that was to be replaced is put back first, and that takes the lock.
    if !replace::is_waiting(folder) {
        check_folder(folder, beginning)?;
    }
    let given = [&config.model.from, &config.tokenizer.from];
    let within = given.into_iter().flatten().find(|from| is_within(from, folder));
    if let Some(from) = within.filter(|_| beginning != Beginning::Resume) {
        let (from, folder) = (from.display(), folder.display());
        return Err(Error::config(format!(
            "the run is to begin with {from}, and to replace what is in {folder}"
        ))
        .hint("give another folder with --out DIR"));
    }
    let sources = hash_sources(&config)?;
    let is_made = |above: &&Path| !above.as_os_str().is_empty() && !above.exists();
    let above: Vec<&Path> = folder.ancestors().skip(1).take_while(is_made).collect();
    create_folder(folder)?;
    let lock = lock(folder)?;
    let was_put_back = replace::put_back(folder)?;
    let told = |error: Error| match was_put_back {
        true => error.hint(format!("{PUT_BACK}: look at it, or type the same with --force again")),
        false => error,
    };
    // Again: somebody may have trained here while the files were read.
    let is_run = check_folder(folder, beginning).map_err(told)?;
    if is_run && beginning == Beginning::Force {
        // Put back if the new one fails, gone with its first checkpoint.
        replace::set_aside(folder)?;
    }
    let goes_on = is_run && beginning == Beginning::Resume;
    if goes_on {
        // A kill may have come between two renames: then the only checkpoint has another name.
        checkpoint::mend(folder)?;
        let then = RunConfig::read(&saved, &[])?;
        check_same(&then, &config, || learnt_from_the_same(folder, &sources)).map_err(told)?;
        check_not_finished_for_good(folder)?;
    }
    let prepared = prepare(config, folder, sources, progress);
    if prepared.is_err() && !goes_on {
        // A mistake in the data leaves no half-made run behind.
        let _ = clear(folder);
        // A run that was to be replaced stays what it was; where that fails now, whoever opens the folder next puts it back.
        let _ = replace::put_back(folder);
        let _ = fs::remove_file(folder.join(LOCK));
        let _ = fs::remove_dir(folder);
        // And the folders around it that had to be made.
        above.into_iter().for_each(|above| drop(fs::remove_dir(above)));
    }
    let (run, mut damaged) = prepared?;
    if was_put_back && goes_on {
        damaged.push(Error::data(PUT_BACK));
    }
    Ok(Opened { run, damaged, lock })
}

fn prepare(
    config: RunConfig,
    folder: &Path,
    sources: Vec<(String, u64)>,
    progress: &mut dyn FnMut(Preparing),
) -> Result<(Run, Vec<Error>)> {
    let saved = folder.join("config.toml");
    let text = config.to_toml();
    // From now on this is a run's folder; that of a run that goes on keeps its settings until it can.
    if !saved.is_file() {
        write_aside(&saved, text.as_bytes())?;
    }
    let mut noticed = mend(folder)?;
    let tokenizer = tokenizer(&config, &folder.join("tokenizer"), progress).map_err(in_a_run)?;
    plan::check_memory(&config, tokenizer.vocab_size())?;
    let cache = folder.join("cache");
    create_folder(&cache)?;
    let examples =
        Examples::read(&config, &tokenizer, &cache, &mut |bytes| progress(Preparing::Tokens(bytes)))?;
    let (checkpoint, damaged) = Checkpoint::newest(folder)?;
    if checkpoint.is_none() && !damaged.is_empty() {
        let all: Vec<String> = damaged.iter().map(|(_, error)| error.to_string()).collect();
        let message = format!("no checkpoint of {} is undamaged: {}", folder.display(), all.join("; "));
        return Err(Error::data(message).hint("--force begins the run anew"));
    }
    if checkpoint.is_none() && fs::metadata(folder.join("metrics.jsonl")).is_ok_and(|file| file.len() > 0) {
        let message = format!("{} holds no checkpoint: the run begins again", folder.display());
        noticed.push(Error::data(message));
    }
    let passed_over = |(_, error): &(PathBuf, Error)| {
        Error::data(format!("{error}; an older checkpoint is used, and this one renamed"))
    };
    noticed.extend(damaged.iter().map(passed_over));
    let lost = match &checkpoint {
        Some(there) => lost_metrics(folder, there.state.metrics_bytes)?,
        None => None,
    };
    if checkpoint.is_none() {
        // Curves of a beginning that is not gone on with.
        events(folder).iter().for_each(|path| drop(fs::remove_file(path)));
    }
    let begun = match &config.model.from {
        Some(from) if checkpoint.is_none() => {
            let (model, warnings) = hub::load(from)?;
            noticed.extend(warnings.iter().map(|warning| Error::data(warning.to_string())));
            Some(model)
        }
        _ => None,
    };
    let mut run = Run::open(config, folder, tokenizer, examples, sources, checkpoint, begun.as_ref())?;
    if let Some(begun) = &begun {
        noticed.extend(new_heads(run.model(), begun));
    }
    damaged.iter().try_for_each(|(place, _)| checkpoint::set_apart(place))?;
    if let Some(lost) = lost {
        // So that nobody who goes on from here counts bytes that are gone.
        run.checkpoint()?;
        noticed.push(lost);
    }
    noticed.extend(run.mend_model()?);
    write_aside(&saved, text.as_bytes())?;
    Ok((run, noticed))
}

/// A run that has come to its end and has lost its checkpoints cannot go on, and is not begun again: its model would be overwritten.
fn check_not_finished_for_good(folder: &Path) -> Result<()> {
    if !folder.join("summary.json").is_file() || !checkpoint::list(folder)?.is_empty() {
        return Ok(());
    }
    let usable = if folder.join("model").join("model.safetensors").is_file() {
        "its model can be used as it is; "
    } else {
        ""
    };
    Err(Error::data(format!(
        "{} holds a finished run without its checkpoints: it cannot go on",
        folder.display()
    ))
    .hint(format!("{usable}--force begins anew, --out DIR names another folder")))
}

/// Whether the newest checkpoint says that files of the same contents were learnt from, wherever they lay.
fn learnt_from_the_same(folder: &Path, sources: &[(String, u64)]) -> Result<bool> {
    let hashes = |of: &[(String, u64)]| of.iter().map(|(_, hash)| *hash).collect::<Vec<u64>>();
    let newest = Checkpoint::newest(folder)?.0;
    Ok(newest.is_some_and(|there| hashes(&there.state.sources) == hashes(sources)))
}

/// Contents are compared in the order of the files; so this must not differ: how many texts are learnt from, how many validated on, and what
/// the name of a table says of its format, where nothing else does.
fn how_files_are_read(config: &RunConfig) -> ([usize; 2], Vec<Option<TableFormat>>) {
    let data = &config.data;
    let texts = [&data.text, &data.validation_text];
    let labelled = texts.into_iter().flatten().filter(|_| config.task == TaskKind::Classify);
    let tables = labelled.chain(&data.pairs).chain(&data.validation_pairs);
    let by_name =
        |path: &PathBuf| config.table.format.is_none().then(|| TableFormat::of(path).ok()).flatten();
    (texts.map(Vec::len), tables.map(by_name).collect())
}

/// Every key that differs and may not. Paths may, if `same_contents`: who moves his files need not begin again.
fn check_same(then: &RunConfig, now: &RunConfig, same_contents: impl FnOnce() -> Result<bool>) -> Result<()> {
    let settings = |config: &RunConfig| parse_settings(&config.to_toml(), Path::new("config.toml"));
    let reads_alike = how_files_are_read(then) == how_files_are_read(now);
    let (then, now) = (settings(then)?, settings(now)?);
    let of = |side: &[(String, String)], key: &str| {
        side.iter().find(|(k, _)| k == key).map_or("nothing".to_string(), |(_, value)| value.clone())
    };
    let mut keys: Vec<&String> = then.iter().chain(&now).map(|(key, _)| key).collect();
    keys.sort();
    keys.dedup();
    keys.retain(|key| !MAY_CHANGE.contains(&key.as_str()) && of(&then, key) != of(&now, key));
    let is_said = |key: &str| [&then, &now].iter().all(|side| side.iter().any(|(k, _)| k == key));
    let has_moved = |key: &&String| PATHS.contains(&key.as_str()) && is_said(key);
    if keys.is_empty() || (reads_alike && keys.iter().all(has_moved) && same_contents()?) {
        return Ok(());
    }
    let changed: Vec<String> = keys
        .into_iter()
        .map(|key| format!("{key} was {} and is now {}", of(&then, key), of(&now, key)))
        .collect();
    Err(Error::config(format!("this is not the run that was begun: {}", changed.join("; ")))
        .hint("resume with the same settings, or begin another run with --out DIR"))
}

/// Name and hash of every file the run learns from.
fn hash_sources(config: &RunConfig) -> Result<Vec<(String, u64)>> {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut config = config.clone();
    // Nothing is learnt from these.
    (config.data.test_source, config.data.test_target, config.data.test_pairs) = (None, None, None);
    config.each_path(|path| files.push(path.clone()));
    files.extend(config.model.from.iter().map(|from| from.join("model.safetensors")));
    files
        .iter()
        .map(|path| {
            let is_model =
                [&config.tokenizer.from, &config.model.from].iter().any(|from| from.as_ref() == Some(path));
            if path.is_dir() && !is_model {
                return Err(Error::data(format!("{} is a folder, not a file to learn from", path.display()))
                    .hint("name the files in it: --data a.txt b.txt"));
            }
            let file = if path.is_dir() { tokens_of(path, &config)? } else { path.clone() };
            if fs::metadata(&file).is_ok_and(|there| !there.is_file()) {
                return Err(Error::data(format!(
                    "{} is no file that can be read more than once",
                    path.display()
                ))
                .hint("save it to a file first, and give its name"));
            }
            Ok((path.display().to_string(), hash_file(&file, 0)?.1))
        })
        .collect()
}

/// What of a model's folder says how text is cut; nothing of it, if another folder does.
fn tokens_of(folder: &Path, config: &RunConfig) -> Result<PathBuf> {
    let file = folder.join("tokenizer.json");
    if file.is_file() || config.model.from.as_deref() != Some(folder) {
        return Ok(file);
    }
    match config.tokenizer.from {
        Some(_) => Ok(folder.join("config.json")),
        None => Err(Error::data(format!("{} has no tokenizer.json", folder.display()))
            .hint("--set tokenizer.from=DIR names the folder of the tokenizer it was trained with")),
    }
}
