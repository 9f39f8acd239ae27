//! `vocab.txt` (WordPiece of BERT and MPNet) and `vocab.json` with `merges.txt` (byte-level BPE of
//! GPT-2 and RoBERTa, BPE of GPT-1), as the classes of `transformers` read them.

use super::class::Class;
use super::parts::{
    Around, Item, Parts, bos_and_eos, check_added, items, roles, surround, tokens_to_add,
};
use super::settings::{Settings, invalid, read_optional, special};
use crate::error::Result;
use serde_json::{Map, Value, json};
use std::path::Path;
use tokenizers::{AddedToken, Tokenizer};

/// The tokenizer of a folder with such files.
pub(super) fn load(class: Class, settings: &Settings) -> Result<Tokenizer> {
    match class {
        Class::Bert | Class::MpNet => word_piece(class, settings),
        _ => bpe(class, settings),
    }
}

fn word_piece(class: Class, settings: &Settings) -> Result<Tokenizer> {
    let path = settings.folder.join("vocab.txt");
    let text = read_optional(&path)?.ok_or_else(|| class.missing(settings, "vocab.txt"))?;
    let vocab: Map<String, Value> =
        text.lines().enumerate().map(|(id, line)| (line.trim_end().into(), id.into())).collect();
    let defaults = match class {
        Class::MpNet => {
            let mut list = roles(&[
                ("bos_token", "<s>"),
                ("eos_token", "</s>"),
                ("unk_token", "[UNK]"),
                ("sep_token", "</s>"),
                ("pad_token", "<pad>"),
                ("cls_token", "<s>"),
            ]);
            // It takes the space before it.
            list.push(("mask_token", special("<mask>").lstrip(true)));
            list
        }
        _ => roles(&[
            ("unk_token", "[UNK]"),
            ("sep_token", "[SEP]"),
            ("pad_token", "[PAD]"),
            ("cls_token", "[CLS]"),
            ("mask_token", "[MASK]"),
        ]),
    };
    let role = |name: &str| content(settings, &defaults, name);
    let parts = Parts {
        normalizer: json!({
            "type": "BertNormalizer", "clean_text": true,
            "handle_chinese_chars": settings.flag("tokenize_chinese_chars").unwrap_or(true),
            "strip_accents": settings.flag("strip_accents"),
            "lowercase": settings.flag("do_lower_case").unwrap_or(true),
        }),
        pre_tokenizer: json!({ "type": "BertPreTokenizer" }),
        decoder: json!({ "type": "WordPiece", "prefix": "##", "cleanup": true }),
        model: json!({
            "type": "WordPiece", "unk_token": role("unk_token"),
            "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab,
        }),
    };
    let mut tokenizer =
        parts.build(&path, &tokens_to_add(settings, &defaults, settings.extra()))?;
    check_added(settings, &tokenizer)?;
    let (cls, sep) = (role("cls_token"), role("sep_token"));
    let around = match class {
        Class::MpNet => Around::Roberta { cls, sep, trim_offsets: true, add_prefix_space: false },
        _ => {
            let single = items(&[&cls, "$A", &sep]);
            let mut pair = items(&[&cls, "$A", &sep]);
            pair.extend([Item::Text('B', 1), Item::Token(sep, 1)]);
            Around::Template { single, pair }
        }
    };
    surround(&mut tokenizer, &around, &path)?;
    Ok(tokenizer)
}

/// The token of a role: the folder's, or the default.
fn content(settings: &Settings, defaults: &[(&str, AddedToken)], role: &str) -> String {
    let default = || defaults.iter().find(|(name, _)| *name == role).map(|(_, t)| t.clone());
    settings.role(role).or_else(default).map(|token| token.content).unwrap_or_default()
}

fn bpe(class: Class, settings: &Settings) -> Result<Tokenizer> {
    let path = settings.folder.join("vocab.json");
    let vocab = read_optional(&path)?.ok_or_else(|| class.missing(settings, "vocab.json"))?;
    let vocab: Map<String, Value> = serde_json::from_str(&vocab).map_err(|e| invalid(&path, e))?;
    let merges_path = settings.folder.join("merges.txt");
    let merges = read_optional(&merges_path)?;
    let merges = merges.ok_or_else(|| class.missing(settings, "merges.txt"))?;
    let merges = read_merges(&merges_path, &merges)?;
    let defaults = match class {
        Class::OpenAiGpt => roles(&[("unk_token", "<unk>")]),
        Class::Roberta => roles(&[
            ("bos_token", "<s>"),
            ("eos_token", "</s>"),
            ("unk_token", "<unk>"),
            ("sep_token", "</s>"),
            ("pad_token", "<pad>"),
            ("cls_token", "<s>"),
            ("mask_token", "<mask>"),
        ]),
        _ => {
            let end = "<|endoftext|>";
            roles(&[("bos_token", end), ("eos_token", end), ("unk_token", end)])
        }
    };
    let role = |name: &str| content(settings, &defaults, name);
    let is_gpt1 = class == Class::OpenAiGpt;
    let add_prefix_space = settings.flag("add_prefix_space").unwrap_or(false);
    let model = json!({
        "type": "BPE", "dropout": null, "fuse_unk": false, "byte_fallback": false,
        "unk_token": is_gpt1.then(|| role("unk_token")), "continuing_subword_prefix": "",
        "end_of_word_suffix": if is_gpt1 { "</w>" } else { "" },
        "vocab": vocab, "merges": merges,
    });
    let parts = if is_gpt1 {
        Parts {
            normalizer: json!({
                "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                "strip_accents": null, "lowercase": true,
            }),
            pre_tokenizer: json!({ "type": "BertPreTokenizer" }),
            decoder: json!({ "type": "BPEDecoder", "suffix": "</w>" }),
            model,
        }
    } else {
        let byte_level = |add_prefix_space: bool| {
            json!({
                "type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": true,
                "use_regex": true,
            })
        };
        Parts {
            normalizer: Value::Null,
            pre_tokenizer: byte_level(add_prefix_space),
            decoder: byte_level(true),
            model,
        }
    };
    let mut tokenizer =
        parts.build(&path, &tokens_to_add(settings, &defaults, settings.extra()))?;
    check_added(settings, &tokenizer)?;
    let around = match class {
        Class::Roberta => Around::Roberta {
            cls: role("cls_token"),
            sep: role("sep_token"),
            trim_offsets: settings.flag("trim_offsets").unwrap_or(true),
            add_prefix_space,
        },
        _ => bos_and_eos(settings, "<|endoftext|>", "<|endoftext|>"),
    };
    surround(&mut tokenizer, &around, &path)?;
    Ok(tokenizer)
}

/// The pairs of a `merges.txt`, one per line.
fn read_merges(path: &Path, text: &str) -> Result<Vec<[String; 2]>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with("#version"));
    let pair = |(i, line): (usize, &str)| match line.split_once(' ') {
        Some((left, right)) if !right.contains(' ') => Ok([left.to_string(), right.to_string()]),
        _ => Err(invalid(path, format!("line {}: not two tokens and one space", i + 1)).into()),
    };
    lines.filter(|(_, line)| !line.is_empty()).map(pair).collect()
}
