//! Runs on several processes.

use limpid::error::DistributedError;

pub(super) fn hint(error: &DistributedError) -> Option<String> {
    let text = match error {
        DistributedError::TooManyRanks { ranks, .. } => {
            return Some(format!(
                "start fewer processes, or a new run with --set train.micro_batches={ranks}: it is \
                 part of what is computed, and cannot change in a run"
            ));
        }
        DistributedError::Differs { .. } => {
            "all processes must run the same program with the same settings, data and \
             instructions; on machines that differ, set LIMPID_SIMD to a level that all have"
        }
        DistributedError::Lost { .. } | DistributedError::NoAnswer { .. } => {
            "the same command with --resume continues from the newest checkpoint"
        }
        DistributedError::OneProcess { .. } => "run it without mpirun",
        _ => return None,
    };
    Some(text.into())
}
