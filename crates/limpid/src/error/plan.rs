//! Errors of what a run would need: memory, and text to fill a context.

/// A run that cannot work on this machine or with this text.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// More memory than is free.
    #[error(
        "the run needs about {:.1} GB of memory, {:.1} GB are free", needed / 1e9, available / 1e9
    )]
    Memory {
        /// Estimate in bytes.
        needed: f64,
        /// Free bytes.
        available: f64,
        /// The smallest change that fits.
        remedy: MemoryRemedy,
    },
    /// A context longer than the whole text.
    #[error("{bytes} bytes of text are too few for a context length of {context_length}")]
    ContextLength {
        /// Bytes of the training text.
        bytes: u64,
        /// The run's context length.
        context_length: usize,
        /// One that fits.
        suggested: u64,
    },
}

/// What makes a run fit into memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryRemedy {
    /// Micro-batches: the same step, in parts.
    Accumulate {
        /// The key of the batch size: `train.batch_size` or `train.batch_tokens`.
        key: &'static str,
        /// Size of a micro-batch.
        size: usize,
        /// Value of `train.gradient_accumulation_steps`.
        steps: usize,
    },
    /// A shorter `model.context_length`.
    ContextLength(usize),
    /// A smaller `model.hidden_size`.
    HiddenSize(usize),
    /// A smaller pretrained model: its sizes are given.
    SmallerPretrained,
    /// A smaller `tokenizer.vocab_size`.
    Vocabulary,
}
