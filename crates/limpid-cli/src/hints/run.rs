//! Training runs: their folders, their checkpoints, divergence.

use limpid::error::{CheckpointProblem, ModelPresence, RunError};

pub(super) fn hint(error: &RunError) -> Option<String> {
    let text = match error {
        // Also of commands that have no settings for it: no flag is named.
        RunError::Diverged { lr, .. } => {
            return Some(format!(
                "use a learning rate below {lr:.1e}, a longer warm-up, or gradient clipping"
            ));
        }
        RunError::EmptyBatch { .. } => {
            "was the tokenizer trained on this kind of text? Without --from and \
             --set tokenizer.from=DIR one is trained on it"
        }
        RunError::EmptyValidation => {
            "was the tokenizer trained on this kind of text, and is it the right validation file?"
        }
        RunError::FolderInUse { folder, .. } => {
            let run = crate::printer::quoted(folder);
            return Some(format!(
                "`limpid train {run} --resume` continues it, --force replaces it, --out DIR names \
                 another folder"
            ));
        }
        RunError::ForeignFolder { .. } => "give a new folder with --out DIR",
        RunError::NoRun { .. } => "give the folder of a run, or a TOML file, or a task",
        RunError::ConfigMissing { .. } => "put it back, or give another folder with --out DIR",
        RunError::Locked { .. } => "wait for it, stop it, or give another folder with --out DIR",
        RunError::InputInside { .. } => "give another folder with --out DIR",
        RunError::FinishedWithoutCheckpoint { model: ModelPresence::Present, .. } => {
            "its model can be used as it is; --force starts again, --out DIR names another folder"
        }
        RunError::FinishedWithoutCheckpoint { .. } => {
            "--force starts again, --out DIR names another folder"
        }
        RunError::SettingsChanged { .. } => {
            "resume with the same settings, or start another run with --out DIR"
        }
        RunError::TokenizerChanged { .. } => {
            "put the old one back (there may be one in model/), or start again with --force"
        }
        RunError::DataChanged { .. } => {
            "put the old files back, or start another run with --out DIR, or --force"
        }
        RunError::TooManySteps { done, .. } => {
            return Some(format!(
                "use --steps {done} or more, or start another run with --out DIR"
            ));
        }
        RunError::AllCheckpointsDamaged { .. } => "--force starts the run again",
        RunError::Checkpoint {
            problem: CheckpointProblem::MissingTensor { .. } | CheckpointProblem::WrongSize { .. },
            ..
        } => "the checkpoint is of another model or version: start again with --force",
        RunError::DataIsFolder { .. } => "name the files in it: --data a.txt b.txt",
        RunError::DataNotRegular { .. } => "save it to a file first, and give its name",
        RunError::TokenizerMissing { .. } => {
            "--set tokenizer.from=DIR names the folder of the tokenizer it was trained with"
        }
        RunError::DiskSpace { .. } => {
            "free some space, choose a folder on another disk with --out DIR, or keep fewer \
             checkpoints with --set train.keep_checkpoints=1"
        }
        RunError::LrSearchSteps { .. } => "use 200 steps: --find-lr=200",
        RunError::NothingToFreeze { .. } => {
            "for example --set 'train.freeze=[\"embeddings\", \"layers.0-3\"]'"
        }
        RunError::AllFrozen => "leave a part out of train.freeze",
        RunError::AfterRestore { .. } => {
            "look at the restored run, or run the same command with --force again"
        }
        _ => return None,
    };
    Some(text.into())
}
