//! Errors of runs on several processes.

/// Processes that cannot train together. Ranks count from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum DistributedError {
    /// A rank would have nothing to compute.
    #[error(
        "{ranks} ranks for train.micro_batches = {micro_batches}: each needs at least one \
         micro-batch of a step"
    )]
    TooManyRanks { ranks: usize, micro_batches: usize },
    /// Two ranks that would compute different numbers.
    #[error("rank {rank} has another {what} than rank 0: {own}, not {main}")]
    Differs { what: String, rank: usize, own: String, main: String },
    /// Another rank could not do its part.
    #[error("rank {rank} failed (its message says why)")]
    OtherRank { rank: usize },
    /// Processes that ended, or that the network no longer reaches.
    #[error("no connection to {}: ended, or cut off the network", ranks_of(ranks))]
    Lost { ranks: Vec<usize> },
    /// Processes that do not answer.
    #[error("no answer from {} for {seconds} s: hung, or cut off the network", ranks_of(ranks))]
    NoAnswer { ranks: Vec<usize>, seconds: u64 },
    /// Something that one process alone can do.
    #[error("{what} needs one process, and there are {ranks} ranks")]
    OneProcess { what: &'static str, ranks: usize },
    /// The transport reports an error.
    #[error("{transport}: {reason}")]
    Transport { transport: &'static str, reason: String },
}

/// "rank 3", "ranks 1, 2 and 5".
fn ranks_of(ranks: &[usize]) -> String {
    let names: Vec<String> = ranks.iter().map(ToString::to_string).collect();
    match &names[..] {
        [] => "another rank".into(),
        [one] => format!("rank {one}"),
        [most @ .., last] => format!("ranks {} and {last}", most.join(", ")),
    }
}
