//! From a configuration and a folder to a run that is ready to train.
//!
//! ```
//! use limpid::train::setup::{RunStart, open};
//! use limpid::train::{Control, RunConfig, TrainEvent};
//!
//! let folder = std::env::temp_dir().join(format!("limpid-doc-run-{}", std::process::id()));
//! let text = folder.with_extension("txt");
//! std::fs::write(&text, "to be or not to be, that is the question\n".repeat(40)).unwrap();
//! let toml = format!("task = 'gpt'\n[data]\ntext = {text:?}\n[train]\nsteps = 4\n");
//! let small = ["model.layers=1", "model.hidden_size=16", "model.context_length=8"];
//! let config = RunConfig::parse(&toml, &small.map(String::from))?;
//!
//! let mut run = open(config, &folder, RunStart::New, &mut |_progress| {})?.run;
//! run.train(&mut |event| {
//!     if let TrainEvent::Step(step) = event {
//!         println!("step {}: loss {:.3}", step.step, step.loss);
//!     }
//!     Control::Continue // or Control::Stop: a checkpoint is saved, and RunStart::Resume continues
//! })?;
//! assert!(folder.join("model/model.safetensors").is_file());
//! # drop(run);
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # std::fs::remove_file(&text).unwrap();
//! # Ok::<(), limpid::error::Error>(())
//! ```

use super::checkpoint::{self, Checkpoint};
use super::config::{PATHS, PairSource, RunConfig, Task};
use super::dataset::RunDataset;
use super::plan;
use super::pretrained::new_heads;
use super::run::{Files, Run, RunParts};
use super::run_folder::repair::{lost_metrics, repair};
use super::run_folder::{CONFIG, RunFolder, event_files, is_within, overwrite};
pub use super::run_folder::{Contents, FIND_LR, RunStart};
use super::vocabulary::tokenizer;
use super::warning::RunWarning;
use crate::data::questions::QuestionFormat;
use crate::data::table::TableFormat;
use crate::data::tagged::TaggedFormat;
use crate::distributed::agreement::{self, Facts};
use crate::distributed::{Patience, World};
use crate::error::{DistributedError, Error, Result, RunError, SettingChange};
use crate::files::{create_folder, write_atomic};
use crate::hash::hash_file;
use crate::hub;
use crate::nn::Named;
use crate::report::parse_settings;
use crate::text::Tokenizer;
use crate::text::train::Stage;
use limpid_tensor::simd;
use std::fs;
use std::path::{Path, PathBuf};

/// What is being prepared before training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupProgress {
    /// A tokenizer is trained.
    Vocabulary(Stage),
    /// Text is tokenized: bytes done so far.
    Tokens(u64),
}

/// A run, and what was noticed while it was opened.
pub struct Opened {
    /// Ready to train. It holds the lock of its folder.
    pub run: Run,
    /// What was damaged and repaired, and what is unusual.
    pub warnings: Vec<RunWarning>,
}

/// Keys that may differ when a run is resumed: how long it trains and what is saved, not what is
/// trained.
const MAY_CHANGE: [&str; 14] = [
    "train.steps",
    "train.epochs",
    "train.checkpoint_every",
    "train.keep_checkpoints",
    "train.patience",
    "train.average_checkpoints",
    "train.shard_optimizer",
    "data.test_source",
    "data.test_target",
    "data.test_pairs",
    "score.targets",
    "score.num_beams",
    "score.lowercase",
    "score.max_sentences",
];

/// Opens `folder` for a run: checks the settings and the data, trains a tokenizer and tokenizes the
/// text where that was not done yet, and finds the newest checkpoint. Paths in `config` must be
/// absolute: the run may be resumed from another directory.
///
/// # Errors
/// If the settings, the data or the folder cannot be used. A folder that held no run is left as it
/// was, and so is a run that was to be overwritten.
pub fn open(
    config: RunConfig,
    folder: &Path,
    start: RunStart,
    progress: &mut dyn FnMut(SetupProgress),
) -> Result<Opened> {
    let mut opened = open_alone(config, folder, start, progress)?;
    opened.run.join(World::single())?;
    Ok(opened)
}

/// The same on all ranks of a world, which see the same files: the main rank opens the folder, the
/// others read what it has written there. `identity` is what else must be the same on all ranks,
/// such as the program they run.
///
/// # Errors
/// As [`open`]; if a rank has other settings, data, instructions or another identity than the main
/// rank, or there are more ranks than micro-batches.
pub fn open_in(
    mut world: World,
    identity: Facts,
    config: RunConfig,
    folder: &Path,
    start: RunStart,
    progress: &mut dyn FnMut(SetupProgress),
) -> Result<Opened> {
    if world.size() == 1 {
        return open(config, folder, start, progress);
    }
    world.set_patience(Patience::Alone);
    let sources = config.validate().and_then(|()| hash_sources(&config));
    let sources = agreement::all_succeeded(&mut world, sources)?;
    agreement::check(&mut world, &facts(identity, &config, &sources)?)?;
    let (ranks, micro_batches) = (world.size(), config.train.micro_batches);
    if ranks > micro_batches {
        return Err(DistributedError::TooManyRanks { ranks, micro_batches }.into());
    }
    let opened =
        world.is_main().then(|| open_alone(config.clone(), folder, start, progress)).transpose();
    let opened = agreement::all_succeeded(&mut world, opened)?;
    let opened = opened.map_or_else(|| follow(config, folder, sources), Ok);
    let mut opened = agreement::all_succeeded(&mut world, opened)?;
    opened.run.join(world)?;
    Ok(opened)
}

/// What must be the same on all ranks.
fn facts(identity: Facts, config: &RunConfig, sources: &[(String, u64)]) -> Result<Facts> {
    let mut facts = identity;
    facts.push(("version of limpid".into(), env!("CARGO_PKG_VERSION").into()));
    facts.push(("architecture".into(), std::env::consts::ARCH.into()));
    facts.push(("instruction set".into(), simd::level().name().into()));
    let settings = parse_settings(&config.to_toml(), Path::new(CONFIG))?;
    facts.extend(settings.into_iter().map(|(key, value)| (format!("value of {key}"), value)));
    let content =
        |(name, hash): &(String, u64)| (format!("content of {name}"), format!("hash {hash:016x}"));
    facts.extend(sources.iter().map(content));
    Ok(facts)
}

/// The run that the main rank has opened, on another one: nothing is written.
fn follow(config: RunConfig, folder: &Path, sources: Vec<(String, u64)>) -> Result<Opened> {
    let tokenizer = tokenizer(&config, &folder.join("tokenizer"), &mut |_| {})?;
    let dataset = RunDataset::read(&config, &tokenizer, &folder.join("cache"), &mut |_| {})?;
    let (checkpoint, _) = newest_checkpoint(folder)?;
    let pretrained = match &config.pretrained {
        Some(from) => Some(hub::load_mapped(from)?.0),
        None => None,
    };
    let (files, pretrained) = (Files::Read, pretrained.as_ref());
    let parts =
        RunParts { config, folder, tokenizer, dataset, sources, checkpoint, pretrained, files };
    let run = Run::new(parts)?;
    Ok(Opened { run, warnings: Vec::new() })
}

fn open_alone(
    config: RunConfig,
    folder: &Path,
    start: RunStart,
    progress: &mut dyn FnMut(SetupProgress),
) -> Result<Opened> {
    config.validate()?;
    // An overwrite that was killed is rolled back first, and that takes the lock.
    if !overwrite::is_pending(folder) {
        Contents::of(folder)?.check(folder, start)?;
    }
    check_inputs_outside(&config, folder, start)?;
    let sources = hash_sources(&config)?;
    let is_new = |parent: &&Path| !parent.as_os_str().is_empty() && !parent.exists();
    let new_parents: Vec<&Path> = folder.ancestors().skip(1).take_while(is_new).collect();
    let opened = RunFolder::open(folder)?;
    let restored = opened.restored;
    let after_restore = |error: Error| match restored {
        true => RunError::AfterRestore { source: Box::new(error) }.into(),
        false => error,
    };
    // Again, with the lock: another process may have trained here meanwhile.
    let contents = Contents::of(folder).and_then(|found| Ok(found.check(folder, start)?));
    let is_run = contents.map_err(after_restore)? != Contents::Empty;
    let resumes = is_run && start == RunStart::Resume;
    if is_run && start == RunStart::Overwrite {
        overwrite::begin(folder)?;
    }
    if resumes {
        // A kill may have come between two renames: then the only checkpoint has another name.
        checkpoint::recover(folder)?;
        let saved = RunConfig::read_saved(&folder.join(CONFIG))?;
        check_settings(&saved, &config, || has_same_data(folder, &sources))
            .map_err(after_restore)?;
        opened.check_resumable()?;
    }
    match prepare(config, folder, sources, progress) {
        Ok((mut run, mut warnings)) => {
            if restored && resumes {
                warnings.push(RunWarning::Restored);
            }
            run.hold(opened);
            Ok(Opened { run, warnings })
        }
        Err(error) => {
            if !resumes {
                // Bad data leaves no half-made run behind; where restoring the old one fails now,
                // opening the folder again does it.
                let _ = overwrite::undo(folder);
                opened.remove_if_empty();
                new_parents.into_iter().for_each(|parent| drop(fs::remove_dir(parent)));
            }
            Err(error)
        }
    }
}

/// The pretrained model and the tokenizer must not lie in a folder that is going to be replaced.
fn check_inputs_outside(config: &RunConfig, folder: &Path, start: RunStart) -> Result<()> {
    let inputs = [config.pretrained.as_ref(), config.tokenizer_folder()];
    match inputs.into_iter().flatten().find(|input| is_within(input, folder)) {
        Some(input) if start != RunStart::Resume => {
            let (input, folder) = (input.clone(), folder.to_path_buf());
            Err(RunError::InputInside { input, folder }.into())
        }
        _ => Ok(()),
    }
}

fn prepare(
    config: RunConfig,
    folder: &Path,
    sources: Vec<(String, u64)>,
    progress: &mut dyn FnMut(SetupProgress),
) -> Result<(Run, Vec<RunWarning>)> {
    let (saved, text) = (folder.join(CONFIG), config.to_toml());
    // From now on this is a run's folder. One that is resumed keeps its settings until all is well.
    if !saved.is_file() {
        write_atomic(&saved, text.as_bytes())?;
    }
    let mut warnings = repair(folder)?;
    let tokenizer = tokenizer(&config, &folder.join("tokenizer"), &mut |stage| {
        progress(SetupProgress::Vocabulary(stage))
    })?;
    plan::check_memory(&config, tokenizer.vocab_size())?;
    let cache = folder.join("cache");
    create_folder(&cache)?;
    let dataset = RunDataset::read(&config, &tokenizer, &cache, &mut |bytes| {
        progress(SetupProgress::Tokens(bytes))
    })?;
    let (checkpoint, damaged) = newest_checkpoint(folder)?;
    if checkpoint.is_none() && has_metrics(folder) {
        warnings.push(RunWarning::NoCheckpoint { folder: folder.to_path_buf() });
    }
    let lost = match &checkpoint {
        Some(checkpoint) => lost_metrics(folder, checkpoint.state.metrics_bytes)?,
        None => {
            // Curves of a start that is not continued.
            event_files(folder).iter().for_each(|path| drop(fs::remove_file(path)));
            None
        }
    };
    let pretrained = match &config.pretrained {
        // A checkpoint has only what is trained, so its weights are needed when it is resumed, too.
        Some(from) => {
            let (model, noticed) = hub::load_mapped(from)?;
            let warning = |message: String| RunWarning::Pretrained { message };
            if checkpoint.is_none() {
                warnings.extend(noticed.iter().map(|noticed| warning(noticed.to_string())));
            }
            Some(model)
        }
        None => None,
    };
    let is_new = checkpoint.is_none();
    let mut run = Run::new(RunParts {
        config,
        folder,
        tokenizer,
        dataset,
        sources,
        checkpoint,
        pretrained: pretrained.as_ref(),
        files: Files::Written,
    })?;
    run.check_disk_space()?;
    if let Some(pretrained) = pretrained.as_ref().filter(|_| is_new) {
        warnings.extend(new_heads(run.model(), pretrained));
    }
    for (path, source) in damaged {
        checkpoint::quarantine(&path)?;
        warnings.push(RunWarning::CheckpointSkipped { source });
    }
    if let Some(lost) = lost {
        // So that whoever resumes from here does not count bytes that are gone.
        run.save_checkpoint()?;
        warnings.push(lost);
    }
    warnings.extend(run.repair_model()?);
    write_atomic(&saved, text.as_bytes())?;
    Ok((run, warnings))
}

fn has_metrics(folder: &Path) -> bool {
    fs::metadata(folder.join("metrics.jsonl")).is_ok_and(|file| file.len() > 0)
}

/// The newest undamaged checkpoint and the damaged ones after it; an error if all are damaged.
fn newest_checkpoint(folder: &Path) -> Result<(Option<Checkpoint>, checkpoint::Damaged)> {
    let (checkpoint, damaged) = Checkpoint::newest(folder)?;
    if checkpoint.is_none() && !damaged.is_empty() {
        let problems = damaged.iter().map(|(_, error)| error.to_string()).collect();
        let folder = folder.to_path_buf();
        return Err(RunError::AllCheckpointsDamaged { folder, problems }.into());
    }
    Ok((checkpoint, damaged))
}

/// Whether the newest checkpoint was trained on files of the same content, whatever their paths.
fn has_same_data(folder: &Path, sources: &[(String, u64)]) -> Result<bool> {
    let hashes = |of: &[(String, u64)]| of.iter().map(|(_, hash)| *hash).collect::<Vec<u64>>();
    let newest = Checkpoint::newest(folder)?.0;
    Ok(newest.is_some_and(|saved| hashes(&saved.state.sources) == hashes(sources)))
}

/// Contents are compared in the order of the files, so this must not differ: how many texts each
/// split has, and the format of a file where only its name tells it.
fn file_roles(config: &RunConfig) -> ([usize; 2], Vec<Option<&'static str>>) {
    let files = |format: fn(&Path) -> Option<&'static str>| {
        config.tokenized_files().iter().map(|path| format(path)).collect()
    };
    let table = |path: &Path| TableFormat::from_extension(path).ok().map(Named::name);
    let formats = match &config.task {
        Task::Classify(task) if task.data.format.is_none() => files(table),
        Task::Tag(task) if task.data.format.is_none() => {
            files(|path| TaggedFormat::from_extension(path).ok().map(Named::name))
        }
        Task::Answer(task) if task.data.format.is_none() => {
            files(|path| QuestionFormat::from_extension(path).ok().map(Named::name))
        }
        Task::Translate(task) if task.data.table.format.is_none() => {
            let sources = [Some(&task.data.train), task.data.validation.as_ref()];
            let tables = sources.into_iter().flatten().filter_map(PairSource::table);
            tables.map(|path| table(path)).collect()
        }
        _ => Vec::new(),
    };
    ([config.training_files().len(), config.validation_files().len()], formats)
}

/// Refuses settings that differ and may not. Paths may, if the content is the same: files can be
/// moved.
fn check_settings(
    saved: &RunConfig,
    given: &RunConfig,
    has_same_data: impl FnOnce() -> Result<bool>,
) -> Result<()> {
    let settings = |config: &RunConfig| parse_settings(&config.to_toml(), Path::new(CONFIG));
    let same_roles = file_roles(saved) == file_roles(given);
    let (saved, given) = (settings(saved)?, settings(given)?);
    let value = |side: &[(String, String)], key: &str| {
        side.iter().find(|(k, _)| k == key).map(|(_, value)| value.clone())
    };
    let mut keys: Vec<&String> = saved.iter().chain(&given).map(|(key, _)| key).collect();
    keys.sort();
    keys.dedup();
    let differs = |key: &&String| value(&saved, key) != value(&given, key);
    keys.retain(|key| !MAY_CHANGE.contains(&key.as_str()) && differs(key));
    let has_moved = |key: &&String| {
        let is_set = [&saved, &given].iter().all(|side| value(side, key).is_some());
        PATHS.contains(&key.as_str()) && is_set
    };
    if keys.is_empty() || (same_roles && keys.iter().all(has_moved) && has_same_data()?) {
        return Ok(());
    }
    let change = |key: &String| SettingChange {
        key: key.clone(),
        saved: value(&saved, key),
        given: value(&given, key),
    };
    Err(RunError::SettingsChanged { changes: keys.into_iter().map(change).collect() }.into())
}

/// Name and content hash of every training file.
fn hash_sources(config: &RunConfig) -> Result<Vec<(String, u64)>> {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut config = config.clone();
    // Test files are not trained on.
    if let Task::Translate(task) = &mut config.task {
        task.data.test = None;
    }
    config.each_path(|path| files.push(path.clone()));
    if let Some(from) = &config.pretrained {
        files.extend(hub::weight_files(from)?);
    }
    files
        .iter()
        .map(|path| {
            let file = source_file(path, &config)?;
            if fs::metadata(&file).is_ok_and(|found| !found.is_file()) {
                return Err(RunError::DataNotRegular { path: path.clone() }.into());
            }
            Ok((path.display().to_string(), hash_file(&file, 0)?.1))
        })
        .collect()
}

/// The file that stands for a path of the configuration: of a model folder, its tokenizer.
fn source_file(path: &Path, config: &RunConfig) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let is = |from: Option<&PathBuf>| from.is_some_and(|from| from == path);
    let is_model = is(config.pretrained.as_ref());
    if !is(config.tokenizer_folder()) && !is_model {
        return Err(RunError::DataIsFolder { path: path.to_path_buf() }.into());
    }
    match Tokenizer::main_file(path) {
        Some(file) => return Ok(file),
        None if !is_model => return Ok(path.join("tokenizer.json")),
        None => {}
    }
    match config.tokenizer_folder() {
        // Another folder has the tokenizer.
        Some(_) => Ok(path.join("config.json")),
        None => Err(RunError::TokenizerMissing { folder: path.to_path_buf() }.into()),
    }
}
