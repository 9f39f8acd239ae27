use super::ops::crash_at;
use super::*;
use std::collections::BTreeMap;

fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("limpid-folder-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    path
}

/// A run as it lies on disk, every file with `content`.
fn write_run(folder: &Path, content: &str, steps: &[u64]) {
    let write = |name: &str| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    ["config.toml", "metrics.jsonl", "tokenizer/tokenizer.json", "cache/train.tokens"]
        .iter()
        .for_each(|name| write(name));
    write("events.out.tfevents.1");
    steps.iter().for_each(|step| write(&format!("checkpoints/step-{step:08}/state.json")));
}

/// Every file with its content, but for the lock.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if !path.ends_with(LOCK) {
            found.insert(path.clone(), fs::read_to_string(&path).unwrap());
        }
    }
    found
}

/// Overwrites the run in `folder`, up to where a kill comes. Says whether the new checkpoint was
/// saved.
fn overwrite(folder: &Path) -> bool {
    let Ok(_opened) = RunFolder::open(folder) else { return false };
    if overwrite::begin(folder).is_err() {
        return false;
    }
    write_run(folder, "new", &[]);
    // Saving a checkpoint ends with a rename, which a kill may prevent.
    let checkpoint = folder.join("checkpoints/step-00000005");
    fs::create_dir_all(folder.join("checkpoints")).unwrap();
    let temporary = folder.join("cache/tmp");
    fs::create_dir_all(&temporary).unwrap();
    fs::write(temporary.join("state.json"), "new").unwrap();
    let saved = ops::rename(&temporary, &checkpoint).is_ok();
    if saved {
        let _ = overwrite::commit(folder);
    }
    saved
}

#[test]
fn a_kill_at_any_moment_of_an_overwrite_leaves_one_of_the_two_runs_complete() {
    let (old, new) = (scratch("old"), scratch("new"));
    write_run(&old, "old", &[10, 20]);
    write_run(&new, "new", &[5]);
    let relative = |folder: &Path| -> BTreeMap<PathBuf, String> {
        let strip = |path: &Path| path.strip_prefix(folder).unwrap().to_path_buf();
        files(folder).iter().map(|(path, text)| (strip(path), text.clone())).collect()
    };
    let (old_files, new_files) = (relative(&old), relative(&new));
    let folder = scratch("kill");
    let mut kills = 0;
    for kill in 1.. {
        // A second kill comes while the first one is recovered from.
        for second in (1..).take(40) {
            let _ = fs::remove_dir_all(&folder);
            write_run(&folder, "old", &[10, 20]);
            let mut saved = false;
            let finished = crash_at(kill, || saved = overwrite(&folder));
            let recovered = crash_at(second, || drop(RunFolder::open(&folder)));
            let reopened = RunFolder::open(&folder).unwrap();
            let found = relative(&folder);
            // Committed is what has its checkpoint and was renamed; before, the old run is back.
            let is_new = found == new_files;
            assert!(is_new || found == old_files, "kill {kill}, {second}: {found:#?}");
            assert!(!is_new || saved, "kill {kill}: the new run has no checkpoint");
            assert!(!finished || is_new, "kill {kill}: a finished overwrite was undone");
            drop(reopened);
            kills += 1;
            if recovered {
                break;
            }
        }
        if crash_at(kill, || {
            let _ = fs::remove_dir_all(&folder);
            write_run(&folder, "old", &[10, 20]);
            overwrite(&folder);
        }) {
            break;
        }
    }
    assert!(kills > 30, "{kills} kills");
    [old, new, folder].iter().for_each(|folder| fs::remove_dir_all(folder).unwrap());
}

#[test]
fn contents_are_told_apart_without_opening_anything() {
    let folder = scratch("contents");
    assert_eq!(Contents::of(&folder).unwrap(), Contents::Empty);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(FIND_LR), "a chart").unwrap();
    fs::write(folder.join("config.toml.77.tmp"), "task").unwrap();
    assert_eq!(Contents::of(&folder).unwrap(), Contents::Empty);
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    let error = Contents::of(&folder).unwrap_err();
    assert!(
        matches!(&error, Error::Run(RunError::ForeignFolder { entry, .. }) if entry == "notes.txt"),
        "{error}"
    );
    write_run(&folder, "old", &[10]);
    let unfinished = Contents::Run(RunProgress::Unfinished);
    assert_eq!(Contents::of(&folder).unwrap(), unfinished);
    assert!(unfinished.check(&folder, RunStart::New).is_err());
    assert!(unfinished.check(&folder, RunStart::Resume).is_ok());
    fs::write(folder.join("summary.json"), "{}").unwrap();
    assert_eq!(Contents::of(&folder).unwrap(), Contents::Run(RunProgress::Finished));
    fs::remove_file(folder.join(CONFIG)).unwrap();
    let error = Contents::of(&folder).unwrap_err();
    assert!(matches!(error, Error::Run(RunError::ConfigMissing { .. })), "{error}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_second_process_is_refused_until_the_first_one_ends() {
    let folder = scratch("lock");
    let first = RunFolder::open(&folder).unwrap();
    let error = RunFolder::open(&folder).err().unwrap();
    assert!(matches!(error, Error::Run(RunError::Locked { .. })), "{error}");
    drop(first);
    RunFolder::open(&folder).unwrap().remove_if_empty();
    assert!(!folder.exists());
}

#[test]
fn a_finished_run_without_checkpoints_cannot_be_resumed() {
    let folder = scratch("finished");
    write_run(&folder, "old", &[]);
    fs::write(folder.join("summary.json"), "{}").unwrap();
    let opened = RunFolder::open(&folder).unwrap();
    let error = opened.check_resumable().unwrap_err();
    assert!(
        matches!(
            error,
            Error::Run(RunError::FinishedWithoutCheckpoint { model: ModelPresence::Missing, .. })
        ),
        "{error}"
    );
    write_run(&folder, "old", &[10]);
    assert!(opened.check_resumable().is_ok());
    fs::remove_dir_all(&folder).unwrap();
}
