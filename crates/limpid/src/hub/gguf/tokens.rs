//! The tokenizer in the metadata of a GGUF file: byte-level BPE (`gpt2`), BPE of SentencePiece with
//! bytes for unknown characters (`llama`), WordPiece (`bert`).

use super::super::keys::read_object;
use super::super::{CONFIG, GENERATION_CONFIG};
use super::spm;
use super::writer::Value;
use crate::error::{GgufProblem, Result, TokenizerError};
use crate::text::Tokenizer;
use serde_json::{Map, Value as Json};
use std::path::Path;

/// The kinds of tokens, as llama.cpp numbers them.
pub(super) const NORMAL: i32 = 1;
pub(super) const UNKNOWN: i32 = 2;
pub(super) const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;
const UNUSED: i32 = 5;
pub(super) const BYTE: i32 = 6;

/// Patterns of pre-tokenizers that llama.cpp knows by name.
const PATTERNS: [(&str, &str); 2] = [
    (
        "qwen2",
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| \
         ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    ),
    (
        "llama-bpe",
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| \
         ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    ),
];

pub(super) fn unsupported(what: impl Into<String>) -> GgufProblem {
    GgufProblem::Tokenizer { what: what.into() }
}

/// Tokens and their kinds by id, with names for rows of the embedding table without a token.
pub(super) struct Tokens {
    pub texts: Vec<String>,
    pub kinds: Vec<i32>,
    /// Whether a row has a token.
    known: Vec<bool>,
}

impl Tokens {
    /// The tokens of a `tokenizer.json` for a table of `rows` rows.
    fn of(json: &Json, rows: usize) -> Result<Self, GgufProblem> {
        let texts = (0..rows).map(|id| format!("[PAD{id}]")).collect();
        let mut all = Self { texts, kinds: vec![UNUSED; rows], known: vec![false; rows] };
        let vocab = json["model"]["vocab"].as_object().into_iter().flatten();
        for (text, id) in vocab {
            all.insert(id, text.clone(), NORMAL)?;
        }
        for token in json["added_tokens"].as_array().into_iter().flatten() {
            let kind = if token["special"] == true { CONTROL } else { USER_DEFINED };
            let text = token["content"].as_str().unwrap_or_default();
            all.insert(&token["id"], text.to_string(), kind)?;
        }
        Ok(all)
    }

    fn insert(&mut self, id: &Json, text: String, kind: i32) -> Result<(), GgufProblem> {
        let id = id.as_u64().unwrap_or(u64::MAX) as usize;
        let rows = self.texts.len();
        if id >= rows {
            return Err(GgufProblem::Vocabulary { tokens: id.saturating_add(1), rows });
        }
        (self.texts[id], self.kinds[id], self.known[id]) = (text, kind, true);
        Ok(())
    }

    pub fn id(&self, text: &str) -> Option<usize> {
        self.texts.iter().position(|token| token == text)
    }
}

/// The keys of the tokenizer of a folder, for an embedding table of `rows` rows.
/// # Errors
/// [`GgufProblem`], if llama.cpp would tokenize in another way.
pub(super) fn keys(
    folder: &Path,
    tokenizer: &Tokenizer,
    rows: usize,
) -> Result<Result<Vec<(String, Value)>, GgufProblem>> {
    let text = tokenizer.to_json()?;
    let json: Json = serde_json::from_str(&text).map_err(|e| TokenizerError::Invalid {
        path: folder.join("tokenizer.json"),
        reason: e.to_string(),
    })?;
    let special = special_keys(folder, tokenizer)?;
    Ok(Tokens::of(&json, rows).and_then(|mut tokens| {
        let decoder = json["decoder"]["type"].as_str();
        let mut keys = match json["model"]["type"].as_str() {
            Some("BPE") if decoder == Some("ByteLevel") => byte_level(&json)?,
            Some("BPE") => spm::keys(&json, &mut tokens)?,
            Some("WordPiece") => word_piece(&json, &mut tokens)?,
            Some(other) => return Err(unsupported(format!("a {other} model for decoders"))),
            None => return Err(unsupported("no model")),
        };
        keys.push(("ggml.tokens".into(), Value::Texts(tokens.texts)));
        keys.push(("ggml.token_type".into(), Value::Ints(tokens.kinds)));
        keys.extend(special);
        Ok(keys.into_iter().map(|(key, value)| (format!("tokenizer.{key}"), value)).collect())
    }))
}

/// The two tokens of each merge.
pub(super) fn merges(json: &Json) -> impl Iterator<Item = (&str, &str)> {
    let list = json["model"]["merges"].as_array().into_iter().flatten();
    list.filter_map(|merge| match merge {
        Json::String(merge) => merge.split_once(' '),
        merge => Some((merge[0].as_str()?, merge[1].as_str()?)),
    })
}

fn byte_level(json: &Json) -> Result<Vec<(String, Value)>, GgufProblem> {
    let normalizer = &json["normalizer"];
    // llama.cpp normalizes nothing: composed text stays as it is.
    if !normalizer.is_null() && normalizer["type"] != "NFC" {
        return Err(unsupported(format!("the normalizer {}", normalizer["type"])));
    }
    let pre = pre_tokenizer(&json["pre_tokenizer"])?;
    let ignores = json["model"]["ignore_merges"].as_bool().unwrap_or(false);
    if ignores != (pre == "llama-bpe") {
        return Err(unsupported("this value of ignore_merges"));
    }
    // A merge of byte-level tokens has no space in either.
    let merges = merges(json).map(|(left, right)| format!("{left} {right}")).collect();
    Ok(vec![
        ("ggml.model".into(), Value::Text("gpt2".into())),
        ("ggml.pre".into(), Value::Text(pre.into())),
        ("ggml.merges".into(), Value::Texts(merges)),
    ])
}

/// llama.cpp's name of a pre-tokenizer.
fn pre_tokenizer(json: &Json) -> Result<&'static str, GgufProblem> {
    let steps: Vec<&Json> = match &json["pretokenizers"] {
        Json::Array(steps) => steps.iter().collect(),
        _ => vec![json],
    };
    let is_bytes = |step: &Json, use_regex: bool| {
        step["type"] == "ByteLevel"
            && step["add_prefix_space"] == false
            && step["use_regex"].as_bool().unwrap_or(true) == use_regex
    };
    let known = |step: &Json| {
        let pattern = step["pattern"]["Regex"].as_str()?;
        let is_split = step["type"] == "Split" && step["behavior"] == "Isolated";
        let found = PATTERNS.iter().find(|(_, known)| *known == pattern && is_split);
        found.map(|(name, _)| *name)
    };
    match steps[..] {
        [bytes] if is_bytes(bytes, true) => Ok("gpt-2"),
        [split, bytes] if is_bytes(bytes, false) => {
            known(split).ok_or_else(|| unsupported("the pattern of this pre-tokenizer"))
        }
        _ => Err(unsupported("this pre-tokenizer")),
    }
}

fn word_piece(json: &Json, tokens: &mut Tokens) -> Result<Vec<(String, Value)>, GgufProblem> {
    let (normalizer, model) = (&json["normalizer"], &json["model"]);
    let is_bert = normalizer["type"] == "BertNormalizer"
        && normalizer["clean_text"] != false
        && normalizer["handle_chinese_chars"] != false
        && json["pre_tokenizer"]["type"] == "BertPreTokenizer"
        && model["continuing_subword_prefix"] == "##";
    if !is_bert {
        return Err(unsupported("another normalizer or pre-tokenizer than BERT's"));
    }
    // Words begin with the mark of a space, and what continues them has none.
    for (text, kind) in tokens.texts.iter_mut().zip(&mut tokens.kinds) {
        if *kind == NORMAL {
            *text = match text.strip_prefix("##") {
                Some(rest) => rest.to_string(),
                None => format!("▁{text}"),
            };
        }
    }
    let lowercase = normalizer["lowercase"].as_bool().unwrap_or(true);
    let strip = normalizer["strip_accents"].as_bool().unwrap_or(lowercase);
    Ok(vec![
        ("ggml.model".into(), Value::Text("bert".into())),
        ("ggml.pre".into(), Value::Text("default".into())),
        ("ggml.normalizer.lowercase".into(), Value::Bool(lowercase)),
        ("ggml.normalizer.strip_accents".into(), Value::Bool(strip)),
    ])
}

/// The ids of special tokens, which of them stand around a text, and the chat template.
fn special_keys(folder: &Path, tokenizer: &Tokenizer) -> Result<Vec<(String, Value)>> {
    let object = |name: &str| -> Result<Map<String, Json>> {
        let path = folder.join(name);
        if path.is_file() { read_object(&path) } else { Ok(Map::new()) }
    };
    let settings = object("tokenizer_config.json")?;
    let configs = [object(GENERATION_CONFIG)?, object(CONFIG)?];
    let of_role = |role: &str| {
        let token = settings.get(role)?;
        let text = token.as_str().or_else(|| token["content"].as_str())?;
        tokenizer.id(text)
    };
    let of_config = |key: &str| {
        let first = |value: &Json| value.as_u64().or_else(|| value[0].as_u64());
        let found = configs.iter().find_map(|config| first(config.get(key)?));
        found.map(|id| id as u32).filter(|id| tokenizer.has_id(*id))
    };
    let around = tokenizer.encode_with_special("")?;
    let is_bert = tokenizer.id("[CLS]").is_some() && tokenizer.id("[SEP]").is_some();
    let bos = match is_bert {
        true => tokenizer.id("[CLS]"),
        false => of_role("bos_token").or_else(|| of_config("bos_token_id")),
    };
    let eos = match is_bert {
        true => tokenizer.id("[SEP]"),
        false => of_config("eos_token_id").or_else(|| of_role("eos_token")),
    };
    let ids = [
        ("bos_token_id", bos),
        ("eos_token_id", eos.or_else(|| tokenizer.eos_id())),
        ("unknown_token_id", of_role("unk_token").or_else(|| tokenizer.unk_id())),
        ("padding_token_id", of_role("pad_token").or_else(|| tokenizer.pad_id())),
        // As the format spells it.
        ("seperator_token_id", is_bert.then(|| tokenizer.id("[SEP]")).flatten()),
        ("mask_token_id", tokenizer.mask_token().map(|(id, _)| id)),
    ];
    let mut keys: Vec<(String, Value)> = (ids.into_iter())
        .filter_map(|(key, id)| Some((format!("ggml.{key}"), Value::U32(id?))))
        .collect();
    if !is_bert {
        let adds = |id: Option<u32>, found: Option<&u32>| {
            Value::Bool(id.is_some() && id.as_ref() == found)
        };
        keys.push(("ggml.add_bos_token".into(), adds(bos, around.first())));
        let last = around.last().filter(|_| around.len() > 1 || bos != eos);
        keys.push(("ggml.add_eos_token".into(), adds(eos, last)));
    }
    let template = match std::fs::read_to_string(folder.join("chat_template.jinja")) {
        Ok(text) => Some(text),
        Err(_) => settings.get("chat_template").and_then(Json::as_str).map(str::to_string),
    };
    keys.extend(template.map(|text| ("chat_template".to_string(), Value::Text(text))));
    Ok(keys)
}
