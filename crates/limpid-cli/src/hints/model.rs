//! Model folders: configurations, weights, and what a family of files cannot hold.

use limpid::error::{KeyScope, ModelError, Tying, WeightFormat};
use limpid_tensor::kernels::quantized::Format;

pub(super) fn hint(error: &ModelError) -> Option<String> {
    Some(match error {
        ModelError::NotAFolder { .. } | ModelError::NoSuchFolder { .. } => {
            "a model folder has config.json and model.safetensors; `limpid demo` makes one".into()
        }
        ModelError::NoModelYet { folder } => format!(
            "it is saved at the first validation: `limpid train {} --resume` continues the run",
            crate::printer::quoted(folder)
        ),
        ModelError::ReplacedRunWaits { .. } => {
            "the run it replaces waits in .replaced; the next `limpid train` with this folder \
             restores it first"
                .into()
        }
        ModelError::MissingFile { .. } => {
            "a model folder needs config.json and model.safetensors".into()
        }
        ModelError::OtherWeights { format, .. } => other_weights(*format).into(),
        ModelError::AdapterOnly { .. } => {
            "copy its two files beside the weights of its base, or merge them: `limpid merge BASE \
             ADAPTER --out DIR`"
                .into()
        }
        ModelError::AdapterBeside { .. } => {
            "merge it first: `limpid merge BASE ADAPTER --out DIR`".into()
        }
        ModelError::AdapterTarget { available, .. }
        | ModelError::AdapterNotLinear { available, .. } => match available.is_empty() {
            true => "adapters of linear layers can be applied and trained".into(),
            false => format!("lora.targets can be {}, or all-linear", available.join(", ")),
        },
        ModelError::AdapterRank { largest, .. } => {
            format!("set lora.rank to {largest} or less, or choose other lora.targets")
        }
        ModelError::AdapterOfAnother { .. } | ModelError::AdapterEmpty => {
            "base_model_name_or_path in its adapter_config.json names the base it was trained on"
                .into()
        }
        ModelError::AdapterPickle { .. } => {
            "save it again with `peft`: save_pretrained writes adapter_model.safetensors".into()
        }
        ModelError::Quantized { .. } => {
            "use the folder of the model before it was quantized; weights are read as f32, f16 or \
             bf16"
                .into()
        }
        ModelError::AlreadyQuantized { .. } => {
            "use the folder of the model before it was quantized".into()
        }
        ModelError::CannotQuantize { parameter, format: Format::Int4, .. } => {
            format!("--keep {parameter} leaves it in f32; --to int8 fits any width")
        }
        ModelError::NoSuchWeight { known, .. } => {
            format!("--keep takes names such as {}", known.first().map_or("", String::as_str))
        }
        ModelError::NotAWeight { .. }
        | ModelError::NotPacked { .. }
        | ModelError::PackedDtype { .. } => {
            "does config.json belong to these weights? limpid quantize writes both".into()
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
        ModelError::MissingShard { .. } => {
            "the folder is incomplete: download the missing file too".into()
        }
        ModelError::ShardPath { .. } => {
            "the shards of a model are files beside its model.safetensors.index.json".into()
        }
        ModelError::NotInShard { .. } | ModelError::DuplicateTensor { .. } => {
            "index and shards do not belong together: download the folder again".into()
        }
        ModelError::MissingTensor { .. } | ModelError::WrongShape { .. } => {
            "does config.json belong to these weights?".into()
        }
        ModelError::NotFinite { .. } => {
            "training had diverged when the model was saved: use an earlier checkpoint".into()
        }
        ModelError::Overflow { .. } => {
            "use --dtype bf16, which has the range of f32, or --dtype f32".into()
        }
        ModelError::NotInGguf { .. } => {
            "docs/formats.md lists what is exported; the folder itself opens in `transformers`"
                .into()
        }
        ModelError::UnsupportedDtype { .. } => {
            "save the weights as f32, f16 or bf16 with `transformers`".into()
        }
        ModelError::NotTied { tying: Tying::Optional, .. } => {
            "if the model was trained with two tables, its config.json should set \
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

/// How weights in another format become safetensors.
fn other_weights(format: WeightFormat) -> &'static str {
    match format {
        WeightFormat::Pickle => {
            "convert them with `transformers`: from_pretrained(folder), then save_pretrained(new) \
             writes model.safetensors"
        }
        WeightFormat::Gguf => {
            "download the original folder, or convert with `transformers`: \
             from_pretrained(folder, gguf_file=…).save_pretrained(new)"
        }
        WeightFormat::TensorFlow | WeightFormat::Flax => {
            "download the model.safetensors of the same model, or convert with an older \
             `transformers`"
        }
        _ => "download the model.safetensors of the same model",
    }
}
