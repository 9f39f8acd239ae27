//! Model folders: configurations, weights, and what a family of files cannot hold.

use limpid::error::{KeyScope, ModelError, Tying};

pub(super) fn hint(error: &ModelError) -> Option<String> {
    Some(match error {
        ModelError::NotAFolder { .. } | ModelError::NoSuchFolder { .. } => {
            "a model folder has config.json and model.safetensors; `limpid demo` makes one".into()
        }
        ModelError::NoModelYet { .. } => {
            "it is saved at the first validation: `limpid train … --resume` continues the run"
                .into()
        }
        ModelError::ReplacedRunWaits { .. } => {
            "the run it replaces waits in .replaced; the next `limpid train` with this folder \
             restores it first"
                .into()
        }
        ModelError::MissingFile { .. } => {
            "a model folder needs config.json and model.safetensors".into()
        }
        ModelError::NotJson { .. } => "the file may be incomplete: copy it again".into(),
        ModelError::NotAnObject => "for example {\"model_type\": \"marian\", …}".into(),
        ModelError::MissingModelType { supported } => {
            format!("add \"model_type\", one of {}", supported.join(", "))
        }
        ModelError::UnsupportedModelType { supported, .. }
        | ModelError::UnsupportedArchitecture { supported, .. } => {
            format!("supported are {}", supported.join(", "))
        }
        ModelError::MissingKey { .. } => {
            "docs/formats.md lists the keys that every model_type needs".into()
        }
        ModelError::WrongValue { .. } => "correct the file".into(),
        ModelError::UnsupportedValue { key, scope: KeyScope::Generation, .. } => {
            format!("remove {key} from the file to generate without it")
        }
        ModelError::UnsupportedValue { .. } => {
            "this model cannot be run with the same result; docs/formats.md says which can".into()
        }
        ModelError::ForeignKey { key, known_to, .. } => {
            format!("remove {key}, or use \"model_type\": \"{}\"", known_to.join("\" or \""))
        }
        ModelError::DuplicateLabel { .. } => "give each label a name of its own".into(),
        ModelError::Regression => "a classifier has at least two labels in id2label".into(),
        ModelError::DecoderStartMismatch { .. } => "make them equal".into(),
        ModelError::EndTokenOutOfRange { .. } => {
            "set it to the id of the token that ends a text, or to null".into()
        }
        ModelError::UnsupportedModule { .. } => {
            "remove modules.json to compute embeddings without it".into()
        }
        ModelError::UnsupportedPooling { .. } => {
            "--pool mean or --pool cls overrides the folder's pooling".into()
        }
        ModelError::NotSafetensors { .. } => {
            "the file is truncated or damaged: copy it again, or train again".into()
        }
        ModelError::MissingTensor { .. } | ModelError::WrongShape { .. } => {
            "does config.json belong to these weights?".into()
        }
        ModelError::NotFinite { .. } => {
            "training had diverged when the model was saved: use an earlier checkpoint".into()
        }
        ModelError::UnsupportedDtype { .. } => {
            "save the weights as f32, f16 or bf16 with `transformers`".into()
        }
        ModelError::NotTied { tying: Tying::Optional, .. } => {
            "if the model was trained with two tables, its config.json should say \
             \"tie_word_embeddings\": false"
                .into()
        }
        ModelError::NotTied { .. } => {
            "a masked-LM head with an output projection of its own is not supported".into()
        }
        ModelError::NotSinusoidal { .. } => {
            "an encoder-decoder with learned positions is not supported".into()
        }
        ModelError::ActivationNotInFamily { supported, .. } => {
            let quoted: Vec<String> = supported.iter().map(|name| format!("\"{name}\"")).collect();
            format!("use model.activation = {}, or model.norm = \"pre\"", quoted.join(" or "))
        }
        ModelError::FeedForwardNotInFamily { width, .. } => {
            format!("use model.intermediate_size = {}, or model.norm = \"pre\"", 4 * width)
        }
        ModelError::SeparateEmbeddings { .. } => "share the embeddings, or use post-norm".into(),
        _ => return None,
    })
}
