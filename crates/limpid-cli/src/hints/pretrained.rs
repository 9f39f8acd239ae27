//! Training that starts from a pretrained model (`train … --from`).

use limpid::error::{PretrainedError, TokenizerOrigin};

pub(super) fn hint(error: &PretrainedError) -> Option<String> {
    Some(match error {
        PretrainedError::WrongStack { task, .. } => wrong_stack(task).into(),
        PretrainedError::Differs { key, .. } => {
            format!("leave {key} out: it is that of the pretrained model")
        }
        PretrainedError::TooLong { positions, .. } => {
            format!("--set model.context_length={positions}")
        }
        PretrainedError::OneTokenType { .. } => {
            "start from an encoder whose type_vocab_size is 2, or use single texts".into()
        }
        PretrainedError::Vocabulary { tokenizer, .. }
        | PretrainedError::EndToken { tokenizer, .. } => match tokenizer {
            TokenizerOrigin::Key => {
                "leave out tokenizer.from: the model's own tokenizer is used".into()
            }
            TokenizerOrigin::Model => "its tokenizer.json is not the one it was trained with: \
                                       name another folder with --set tokenizer.from=DIR"
                .into(),
        },
        PretrainedError::MissingToken { .. } => {
            "limpid tokenizer train … --for translate makes one that has it; \
             without tokenizer.from one is trained"
                .into()
        }
        PretrainedError::NoTargetLanguage { known, .. } => format!(
            "--source-lang and --target-lang say what is translated; it has: {}",
            known.join(", ")
        ),
        PretrainedError::HasBiases { .. } => "leave out model.bias".into(),
        _ => return None,
    })
}

fn wrong_stack(task: &str) -> &'static str {
    match task {
        "gpt" => "start from a language model: limpid train gpt --data text.txt trains one",
        "translate" => {
            "start from an encoder-decoder: \
             limpid train translate --source a.fr --target a.en trains one"
        }
        "classify" => {
            "start from an encoder or a decoder: limpid train bert --data text.txt and \
             limpid train gpt --data text.txt train one"
        }
        _ => "start from an encoder: limpid train bert --data text.txt trains one",
    }
}
