//! What was typed after `limpid train`, as the configuration of a run.

use crate::args::Train;
use crate::error::{Error, Result};
use limpid::error::RunError;
use limpid::train::config::{RunConfig, Settings, TaskKind};
use limpid::train::setup::Contents;
use std::path::{Path, PathBuf};

/// The configuration that flags and file describe.
pub(super) fn config(args: &Train) -> Result<RunConfig> {
    let data_folder = std::env::var_os("LIMPID_DATA").map(PathBuf::from);
    let mut settings = match args.what.parse::<TaskKind>() {
        Ok(task) => {
            check_flags(args, task)?;
            Settings::new(task).with_data_folder(data_folder)
        }
        Err(_) => {
            let file = config_file(&args.what)?;
            check_file(args, &file)?;
            Settings::read(Path::new(&file), data_folder.as_deref())?
        }
    };
    let paths = [
        ("data.text", &args.data[..]),
        ("data.source", args.source.as_slice()),
        ("data.target", args.target.as_slice()),
        ("data.pairs", args.pairs.as_slice()),
        ("model.from", args.from.as_slice()),
    ];
    for (key, paths) in paths.into_iter().filter(|(_, paths)| !paths.is_empty()) {
        settings.set_paths(key, paths)?;
    }
    args.set.iter().try_for_each(|set| settings.set(set))?;
    let named = [
        ("data.format", &args.format),
        ("data.source_lang", &args.source_lang),
        ("data.target_lang", &args.target_lang),
        ("model.problem_type", &args.problem_type),
        ("model.arch", &args.arch),
        ("model.cell", &args.cell),
        ("model.attention", &args.attention),
        ("model.bidirectional", &args.bidirectional.map(|both| both.to_string())),
        ("train.steps", &args.steps.map(|steps| steps.to_string())),
    ];
    for (key, value) in named {
        if let Some(value) = value {
            settings.set(&format!("{key}={value}"))?;
        }
    }
    Ok(settings.resolve()?)
}

/// The file that an argument names; a run folder stands for the one in it.
fn config_file(what: &str) -> Result<String> {
    let folder = Path::new(what);
    if !folder.is_dir() {
        return Ok(what.to_string());
    }
    match Contents::of(folder)? {
        Contents::Run(_) => Ok(folder.join("config.toml").display().to_string()),
        Contents::Empty => {
            Err(limpid::error::Error::from(RunError::NoRun { folder: folder.into() }).into())
        }
    }
}

/// A file must exist, and names its own data.
fn check_file(args: &Train, file: &str) -> Result<()> {
    if !Path::new(file).is_file() {
        let what = match file.ends_with(".toml") {
            true => "does not exist",
            false => "is not a run folder, a TOML file or a task",
        };
        return Err(Error::config(format!("'{file}' {what}")).hint(
            "limpid train gpt --data text.txt, \
             limpid train translate --source a.fr --target a.en, \
             limpid train bert --data text.txt, \
             limpid train classify --data labelled.tsv, limpid train tag --data words.conll, \
             limpid train answer --data questions.json, or limpid train CONFIG.toml",
        ));
    }
    if let Some(from) = &args.from {
        return Err(Error::config("--from is for a run without a file of its own").hint(format!(
            "write it into the file, under [model]: from = \"{}\"",
            from.display()
        )));
    }
    let files = [&args.source, &args.target, &args.pairs];
    if !args.data.is_empty() || files.into_iter().any(Option::is_some) {
        return Err(Error::config(format!("{file} names its own files")).hint(
            "change them with --set data.text='[\"a.txt\"]', --set data.source=a.fr and so on",
        ));
    }
    Ok(())
}

/// Flags of another task are refused by their own names, not by those of their keys.
fn check_flags(args: &Train, task: TaskKind) -> Result<()> {
    let is_translation = task == TaskKind::Translate;
    let has_pairs = args.pairs.is_some() || args.set.iter().any(|set| set.contains("pairs"));
    let has_labels = matches!(task, TaskKind::Classify | TaskKind::Tag | TaskKind::Answer);
    let text = "text is given with --data";
    let languages = "it is for translators: limpid train translate";
    let foreign = [
        (
            "--data",
            is_translation && !args.data.is_empty(),
            "sentences are given with --source and --target, or --pairs",
        ),
        ("--source", !is_translation && args.source.is_some(), text),
        ("--target", !is_translation && args.target.is_some(), text),
        ("--pairs", !is_translation && args.pairs.is_some(), text),
        ("--source-lang", !is_translation && args.source_lang.is_some(), languages),
        ("--target-lang", !is_translation && args.target_lang.is_some(), languages),
        (
            "--format",
            args.format.is_some() && !has_labels && !has_pairs,
            "it is the format of labelled data or of --pairs",
        ),
        (
            "--problem-type",
            args.problem_type.is_some() && task != TaskKind::Classify,
            "it says what the labels of texts are: limpid train classify",
        ),
    ];
    match foreign.iter().find(|(_, given, _)| *given) {
        Some((flag, _, hint)) => {
            Err(Error::config(format!("{flag} is not for limpid train {}", args.what)).hint(*hint))
        }
        None => Ok(()),
    }
}
