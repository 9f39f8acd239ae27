//! What a run would need: `train` changes it with `--set`.

use limpid::error::{MemoryRemedy, PlanError};

pub(super) fn hint(error: &PlanError) -> String {
    match error {
        PlanError::Memory { remedy, .. } => match remedy {
            MemoryRemedy::Accumulate { key, size, steps } => format!(
                "--set {key}={size} --set train.gradient_accumulation_steps={steps} \
                 is a step of the same size, in micro-batches"
            ),
            MemoryRemedy::ActivationCheckpointing => {
                "--set train.activation_checkpointing=true computes layers again instead of \
                 keeping them: less memory, slower"
                    .into()
            }
            MemoryRemedy::ContextLength(length) => {
                format!("--set model.context_length={length} fits")
            }
            MemoryRemedy::HiddenSize(size) => format!("--set model.hidden_size={size} fits"),
            MemoryRemedy::SmallerPretrained => {
                "start from a smaller model, or free memory: its sizes are given".into()
            }
            _ => "use a smaller vocabulary: --set tokenizer.vocab_size=…".into(),
        },
        PlanError::ContextLength { suggested, .. } => {
            format!("--set model.context_length={suggested}, or more text")
        }
        _ => "use a smaller model".into(),
    }
}
