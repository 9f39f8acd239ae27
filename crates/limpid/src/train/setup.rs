//! From a configuration and a folder to a run that is ready to go on.

use super::checkpoint::{self, Checkpoint};
use super::config::{RunConfig, TaskKind};
use super::examples::Examples;
use super::from::{adopt, has_other_labels};
use super::mend::{lost_metrics, mend};
use super::plan;
use super::replace;
use super::run::Run;
use super::vocabulary::{in_a_run, tokenizer};
use crate::data::table::TableFormat;
use crate::error::{Error, Result};
use crate::files::{create_folder, is_aside, write_aside};
use crate::hash::{hash_bytes, hash_file};
use crate::hub;
use crate::model::Model;
use crate::report::parse_settings;
use crate::text::train::Stage;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// What to do with a folder that holds a run already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// Leave it alone: an error.
    Fresh,
    /// Go on from its newest checkpoint; begin if there is none.
    Resume,
    /// Replace it, once the new one can begin.
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

impl Opened {
    /// The run begins: one that it replaces goes for good. Until then whoever opens the folder next puts it back.
    pub fn begin(&self, folder: &Path) -> Result<()> {
        replace::discard(folder)
    }
}

/// Everything a run writes into its folder; last what makes it a run's, so that one that is half removed still is.
const OURS: [&str; 9] = [
    "metrics.jsonl",
    "summary.json",
    "report.html",
    "translations.txt",
    "tokenizer",
    "cache",
    "checkpoints",
    "model",
    "config.toml",
];

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
    let known = folder.join(LOCK).exists();
    check_folder(folder, is_run(folder, beginning, known), beginning)?;
    if let Some(from) = config.model.from.as_ref().filter(|_| beginning == Beginning::Force)
        && is_within(from, folder)
    {
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
    replace::put_back(folder)?;
    // Again: somebody may have trained here while the files were read.
    let is_run = is_run(folder, beginning, known);
    check_folder(folder, is_run, beginning)?;
    if !is_run {
        // What one that was ended before its first step had prepared may be for other settings.
        clear(folder)?;
    }
    if is_run && beginning == Beginning::Force {
        replace::set_aside(folder)?;
    }
    if is_run && beginning == Beginning::Resume {
        // A kill may have come between two renames: then the only checkpoint has another name.
        checkpoint::mend(folder)?;
        check_same(&RunConfig::read(&saved, &[])?, &config, || learnt_from_the_same(folder, &sources))?;
        check_not_finished_for_good(folder)?;
    }
    let prepared = prepare(config, folder, sources, progress);
    if prepared.is_err() && !(is_run && beginning == Beginning::Resume) {
        // A mistake in the data leaves no half-made run behind.
        let _ = clear(folder);
        // A run that was to be replaced stays what it was; where that fails now, whoever opens the folder next puts it back.
        let _ = replace::put_back(folder);
        let _ = fs::remove_file(folder.join(LOCK));
        let _ = fs::remove_dir(folder);
        // And the folders around it that had to be made.
        above.into_iter().for_each(|above| drop(fs::remove_dir(above)));
    }
    let (run, damaged) = prepared?;
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
    let (checkpoint, damaged) = Checkpoint::newest(folder)?;
    if let Some(known) = checkpoint.as_ref().and_then(|there| there.state.tokenizer)
        && known != hash_bytes(tokenizer.to_json()?.as_bytes())
    {
        let path = folder.join("tokenizer").join("tokenizer.json");
        let message = "it is not what the run has cut its text with: ids would mean something else";
        return Err(Error::format(&path, message)
            .hint("put the old one back (there may be one in model/), or begin anew with --force"));
    }
    let cache = folder.join("cache");
    create_folder(&cache)?;
    let examples =
        Examples::read(&config, &tokenizer, &cache, &mut |bytes| progress(Preparing::Tokens(bytes)))?;
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
    let fills_masks =
        |model: &Model| model.files.iter().any(|file| file.name.starts_with("cls.predictions."));
    if begun.as_ref().is_some_and(|begun| fills_masks(run.model()) && !fills_masks(begun)) {
        noticed.push(Error::data("the model to begin with has no head for hidden words: that begins anew"));
    }
    if begun.as_ref().is_some_and(|begun| has_other_labels(run.model(), begun)) {
        noticed.push(Error::data("the model to begin with tells other labels apart: its head begins anew"));
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

/// Whether a folder holds a run. One that was ended before its first step has nothing to lose, and nobody has to force its place; but that it was
/// ours must be `known`: a `config.toml` may also be somebody's own.
fn is_run(folder: &Path, beginning: Beginning, known: bool) -> bool {
    let has = |name: &str| folder.join(name).exists();
    let has_begun = ["metrics.jsonl", "summary.json", "checkpoints", "model"].into_iter().any(has);
    has("config.toml") && (has_begun || !known || beginning != Beginning::Fresh)
}

fn check_folder(folder: &Path, is_run: bool, beginning: Beginning) -> Result<()> {
    if is_run && beginning == Beginning::Fresh {
        let finished = if folder.join("summary.json").is_file() { "a finished run" } else { "a run" };
        return Err(Error::config(format!("{} holds {finished} already", folder.display())).hint(format!(
            "`limpid train {} --resume` goes on with it, --force begins anew, --out DIR names another folder",
            folder.join("config.toml").display()
        )));
    }
    if !folder.join("config.toml").is_file() && folder.join("checkpoints").is_dir() {
        let path = folder.join("config.toml");
        return Err(Error::config(format!(
            "{} is gone: without it nobody knows what the run in its folder is",
            path.display()
        ))
        .hint("put it back, or give another folder with --out DIR"));
    }
    let holds_something = match fs::read_dir(folder) {
        Ok(mut entries) => entries.any(|entry| entry.is_ok_and(|entry| !is_harmless(&entry.file_name()))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => false,
        Err(e) => return Err(Error::io("look into", folder, &e).hint("give a folder with --out DIR")),
    };
    if holds_something && !folder.join("config.toml").is_file() {
        return Err(Error::config(format!("{} holds something that no run has made", folder.display()))
            .hint("give a new folder with --out DIR"));
    }
    Ok(())
}

/// Whether a path is in a folder, however the two are written.
fn is_within(path: &Path, folder: &Path) -> bool {
    match (path.canonicalize(), folder.canonicalize()) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}

const LOCK: &str = ".lock";

/// What may be in a folder that is to become a run's; also the configuration that somebody was writing when he was killed.
fn is_harmless(name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    [LOCK, FIND_LR].contains(&&*text)
        || replace::FOLDERS.contains(&&*text)
        || (text.starts_with("config.toml.") && is_aside(name))
}

/// TensorBoard's files.
fn events(folder: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let names = names.filter(|name| name.to_string_lossy().starts_with("events.out.tfevents."));
    names.map(|name| folder.join(name)).collect()
}

/// The picture that `--find-lr` leaves in a folder, which may become a run's.
pub const FIND_LR: &str = "find-lr.svg";

/// The system lets go of it when the process ends, however it ends.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(LOCK);
    let file = File::create(&path).map_err(|e| Error::io("write", &path, &e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => {
            Err(Error::config(format!("another process is training in {}", folder.display()))
                .hint("wait for it, stop it, or give another folder with --out DIR"))
        }
        Err(fs::TryLockError::Error(e)) => Err(Error::io("lock", &path, &e)),
    }
}

/// Everything of a run that is there.
pub(super) fn ours(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let named: Vec<PathBuf> =
        OURS.iter().map(|name| folder.join(name)).filter(|path| path.exists()).collect();
    events(folder).into_iter().chain(named)
}

pub(super) fn clear(folder: &Path) -> Result<()> {
    for path in ours(folder) {
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match removed {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(Error::io("remove", &path, &e)),
            _ => {}
        }
    }
    Ok(())
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
