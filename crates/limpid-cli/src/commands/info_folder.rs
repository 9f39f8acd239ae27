//! What `limpid info` says of a folder beside the model's structure: weights, vocabularies, which
//! commands work; and adapters.

use crate::args::Info;
use crate::printer::{counted, size, thousands};
use limpid::hub::{AdapterDescription, WeightSummary};
use limpid::model::Stack;
use limpid::model::config::{EncoderHead, ProblemType};
use limpid::text::Tokenizer;
use limpid_tensor::kernels::quantized::Format;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// The commands that a model works with.
pub fn commands(stack: &Stack, folder: &Path, has_tokenizer: bool) -> Vec<&'static str> {
    let always = ["convert", "logits"];
    let of_text: &[&'static str] = match stack {
        _ if !has_tokenizer => &[],
        Stack::Decoder(decoder) if decoder.labels().is_some() => &["classify", "eval", "train"],
        Stack::Decoder(_) => match has_chat_template(folder) {
            true => &["generate", "chat", "eval", "train"],
            false => &["generate", "eval", "train"],
        },
        Stack::EncoderDecoder(_) => &["translate", "summarize", "eval", "train"],
        Stack::Recurrent(_) => &["translate", "eval", "train"],
        Stack::Encoder(encoder) if encoder.config().head.fills_masks() => {
            &["fill-mask", "embed", "similarity", "eval", "train"]
        }
        Stack::Encoder(encoder) => match &encoder.config().head {
            EncoderHead::Classifier(labels) if labels.names.len() == 1 => {
                &["rerank", "classify", "embed", "similarity", "eval", "train"]
            }
            EncoderHead::Classifier(labels) => match labels.problem() {
                // A table has one number for each text.
                ProblemType::Regression => &["classify", "embed", "similarity", "train"],
                _ => &["classify", "embed", "similarity", "eval", "train"],
            },
            EncoderHead::TokenClassifier(_) => &["tag", "embed", "similarity", "eval", "train"],
            EncoderHead::QuestionAnswering => &["answer", "embed", "similarity", "eval", "train"],
            _ => &["embed", "similarity", "train"],
        },
    };
    of_text.iter().chain(&always).copied().collect()
}

fn has_chat_template(folder: &Path) -> bool {
    let config = std::fs::read(folder.join("tokenizer_config.json")).unwrap_or_default();
    let config: serde_json::Value = serde_json::from_slice(&config).unwrap_or_default();
    folder.join("chat_template.jinja").is_file() || !config["chat_template"].is_null()
}

pub fn kind(tokenizer: &Tokenizer) -> &'static str {
    tokenizer.kind().map_or("of unknown kind", |kind| kind.name())
}

/// The size of the vocabulary, or of those of both sides.
pub fn vocabularies(tokenizer: &Tokenizer) -> String {
    let (source, target) = (tokenizer.vocab_size(), tokenizer.target_vocab_size());
    match source == target {
        true => format!("{} tokens", thousands(source)),
        false => format!("{} source and {} target tokens", thousands(source), thousands(target)),
    }
}

pub fn weights_text(weights: &WeightSummary) -> String {
    let types: Vec<&str> = weights.bytes_by_type.keys().map(String::as_str).collect();
    let (bytes, files) = (size(weights.bytes() as f64), counted(weights.files.len(), "file"));
    format!("{}, {bytes} in {files}", types.join(" and "))
}

/// How many weights are stored in which format, of a quantized model.
pub fn quantized_text(formats: &BTreeMap<String, Format>) -> Option<String> {
    let count = |format: &Format| {
        let n = formats.values().filter(|found| *found == format).count();
        (n > 0).then(|| format!("{n} weights as {format}"))
    };
    let counts: Vec<String> = Format::ALL.iter().filter_map(count).collect();
    (!counts.is_empty()).then(|| counts.join(", "))
}

pub fn weights_json(weights: &WeightSummary) -> serde_json::Value {
    json!({
        "files": weights.files, "tensors": weights.tensors, "bytes": weights.bytes(),
        "bytes_by_type": weights.bytes_by_type,
    })
}

pub fn print_adapter(args: &Info, adapter: &AdapterDescription) {
    if args.json {
        let weights = adapter.weights.as_ref().map(weights_json);
        println!(
            "{}",
            json!({
                "kind": "an adapter", "method": adapter.method, "rank": adapter.rank,
                "targets": adapter.targets, "base": adapter.base, "weights": weights,
            })
        );
        return;
    }
    let rank = adapter.rank.map(|rank| format!(" of rank {rank}")).unwrap_or_default();
    println!("{}: an adapter ({}){rank}", args.model.display(), adapter.method);
    println!("on {}", adapter.targets.join(", "));
    match &adapter.weights {
        Some(weights) => {
            let parameters = thousands(weights.parameters as usize);
            println!("{parameters} parameters, {}", weights_text(weights));
        }
        None => println!("missing: no adapter_model.safetensors in the folder"),
    }
    match &adapter.base_folder {
        Some(folder) => println!("base model: {}", folder.display()),
        None => {
            let base = adapter.base.as_deref().unwrap_or("not named");
            println!("missing: its base model, {base}");
        }
    }
}
