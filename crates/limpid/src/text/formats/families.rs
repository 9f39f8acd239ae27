//! SentencePiece models of families whose tokenizer `transformers` builds with its `tokenizers`
//! library: the conventions of ids and special tokens, as a `tokenizer.json`.

use super::class::Class;
use super::languages;
use super::parts::{
    Around, Parts, bos_and_eos, check_added, items, metaspace, precompiled, replace, roles,
    sequence, surround, tokens_to_add, words_then,
};
use super::settings::{Settings, special};
use crate::error::{Result, TokenizerError};
use crate::text::sentencepiece::{Algorithm, PieceKind, SentencePiece};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::path::Path;
use tokenizers::{AddedToken, Tokenizer};

/// The tokenizer of a folder with a SentencePiece model.
pub(super) fn load(class: Class, settings: &Settings) -> Result<Tokenizer> {
    let file = class.model_file(settings)?;
    let path = settings.folder.join(file);
    let model = SentencePiece::load(&path)?;
    let expected = match class {
        Class::Llama | Class::Nllb => Algorithm::Bpe,
        _ => Algorithm::Unigram,
    };
    if model.algorithm() != expected {
        let (found, expected) = (model.algorithm().name(), expected.name());
        return Err(TokenizerError::Algorithm { path, found, expected }.into());
    }
    let family = Family { class, settings, model: &model, roles: default_roles(class) };
    let tokens = tokens_to_add(settings, &family.roles, family.extra());
    let mut tokenizer = family.parts().build(&path, &tokens)?;
    check_added(settings, &tokenizer)?;
    surround(&mut tokenizer, &family.around(&path)?, &path)?;
    Ok(tokenizer)
}

fn default_roles(class: Class) -> Vec<(&'static str, AddedToken)> {
    let mut list = match class {
        Class::T5 => {
            roles(&[("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "<pad>")])
        }
        Class::Llama => {
            roles(&[("bos_token", "<s>"), ("eos_token", "</s>"), ("unk_token", "<unk>")])
        }
        Class::Pegasus => roles(&[
            ("eos_token", "</s>"),
            ("unk_token", "<unk>"),
            ("pad_token", "<pad>"),
            ("mask_token", "<mask_2>"),
        ]),
        _ => roles(&[
            ("bos_token", "<s>"),
            ("eos_token", "</s>"),
            ("unk_token", "<unk>"),
            ("sep_token", "</s>"),
            ("pad_token", "<pad>"),
            ("cls_token", "<s>"),
            ("mask_token", "<mask>"),
        ]),
    };
    // The mask takes the space before it; NLLB's is matched after normalization.
    let mask = |normalized| special("<mask>").lstrip(true).normalized(normalized);
    let changed = match class {
        Class::Camembert | Class::MBart | Class::MBart50 => Some(mask(false)),
        Class::Nllb => Some(mask(true)),
        _ => None,
    };
    for (role, token) in &mut list {
        if let ("mask_token", Some(mask)) = (*role, &changed) {
            *token = mask.clone();
        }
    }
    list
}

struct Family<'a> {
    class: Class,
    settings: &'a Settings,
    model: &'a SentencePiece,
    roles: Vec<(&'static str, AddedToken)>,
}

impl Family<'_> {
    /// The token of a role.
    fn role(&self, role: &str) -> String {
        let default = || self.roles.iter().find(|(name, _)| *name == role).map(|(_, t)| t.clone());
        self.settings.role(role).or_else(default).map(|token| token.content).unwrap_or_default()
    }

    /// The codes of the family's languages.
    fn languages(&self) -> Vec<&'static str> {
        match self.class {
            Class::MBart => languages::MBART.split(' ').collect(),
            Class::MBart50 => {
                languages::MBART.split(' ').chain(languages::MBART50.split(' ')).collect()
            }
            Class::Nllb => languages::NLLB.split(' ').collect(),
            _ => Vec::new(),
        }
    }

    /// `extra_ids` of T5.
    fn extra_ids(&self) -> u64 {
        self.settings.number("extra_ids").unwrap_or(100).min(100_000)
    }

    /// Special tokens without a role: the folder's, or else those of the model and of the family.
    fn extra(&self) -> Vec<AddedToken> {
        let given = self.settings.extra();
        let languages = || self.languages().into_iter().map(special);
        if !given.is_empty() {
            return match self.class {
                Class::MBart | Class::MBart50 => given.into_iter().chain(languages()).collect(),
                _ => given,
            };
        }
        let own = self.model.pieces().iter().filter_map(|piece| {
            let is_special = match piece.kind {
                PieceKind::Control => true,
                PieceKind::UserDefined => false,
                _ => return None,
            };
            Some(AddedToken::from(piece.text.clone(), is_special).normalized(false))
        });
        let mut tokens: Vec<AddedToken> = own.chain(languages()).collect();
        match self.class {
            Class::T5 => {
                tokens.extend((0..self.extra_ids()).map(|i| special(&format!("<extra_id_{i}>"))));
            }
            Class::Camembert => {
                tokens.extend(["<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"].map(special));
            }
            Class::Pegasus => {
                tokens.push(special(&self.mask_sentence()));
                tokens.extend((2..self.offset()).map(|i| special(&format!("<unk_{i}>"))));
            }
            _ => {}
        }
        tokens
    }

    fn mask_sentence(&self) -> String {
        self.settings.role("mask_token_sent").map_or("<mask_1>".into(), |token| token.content)
    }

    /// `offset` of Pegasus.
    fn offset(&self) -> u64 {
        self.settings.number("offset").unwrap_or(103).min(100_000)
    }

    /// Pieces and scores of a unigram model, in the order of the family's ids.
    fn scored(&self) -> Vec<(String, f64)> {
        let from = |skip: usize| {
            let pieces = self.model.pieces().iter().skip(skip);
            pieces.map(|piece| (piece.text.clone(), f64::from(piece.score)))
        };
        let zero = |token: &str| (token.to_string(), 0.0);
        match self.class {
            Class::T5 => {
                let extra = (0..self.extra_ids()).rev().map(|i| zero(&format!("<extra_id_{i}>")));
                from(0).chain(extra).collect()
            }
            Class::Camembert => {
                let (pad, unk) = (self.role("pad_token"), self.role("unk_token"));
                let first = ["<s>NOTUSED", &pad, "</s>NOTUSED", &unk].map(zero).into_iter();
                let first = first.chain([("<unk>NOTUSED".to_string(), -100.0)]);
                first.chain(from(1)).chain([zero(&self.role("mask_token"))]).collect()
            }
            Class::Pegasus => {
                let first = [self.role("pad_token"), self.role("eos_token")].into_iter();
                let masks = [self.mask_sentence(), self.role("mask_token")];
                let unknown = (2..self.offset()).map(|i| (format!("<unk_{i}>"), -100.0));
                first.chain(masks).map(|t| zero(&t)).chain(unknown).chain(from(2)).collect()
            }
            // fairseq: <s> <pad> </s> <unk>, then the pieces behind the model's own three.
            _ => {
                let first = ["bos_token", "pad_token", "eos_token", "unk_token"];
                let first = first.map(|role| zero(&self.role(role))).into_iter();
                let languages = self.languages().into_iter().map(zero);
                let mask = zero(&self.role("mask_token"));
                first.chain(from(3)).chain(languages).chain([mask]).collect()
            }
        }
    }

    fn unigram(&self) -> Value {
        let vocab = self.scored();
        let unknown = self.role("unk_token");
        let unknown = vocab.iter().position(|(piece, _)| *piece == unknown);
        json!({ "type": "Unigram", "unk_id": unknown, "vocab": vocab, "byte_fallback": false })
    }

    fn bpe(&self) -> Value {
        let mut vocab: Vec<String> = Vec::new();
        if self.class == Class::Nllb {
            let first = ["bos_token", "pad_token", "eos_token", "unk_token"];
            vocab.extend(first.map(|role| self.role(role)));
        }
        let first = vocab.clone();
        let pieces = self.model.pieces().iter().map(|piece| piece.text.clone());
        vocab.extend(pieces.filter(|piece| !first.contains(piece)));
        if self.class == Class::Nllb && self.settings.added.is_empty() {
            // Behind the pieces, as the published models have them.
            vocab.extend(self.languages().into_iter().map(str::to_string));
            vocab.push(self.role("mask_token"));
        }
        let unknown = (self.class == Class::Nllb).then(|| self.role("unk_token"));
        let is_llama = self.class == Class::Llama;
        bpe(&vocab, self.model, unknown, is_llama)
    }

    fn parts(&self) -> Parts {
        let rules = precompiled(self.model.charsmap());
        let one_space = replace(&json!({ "Regex": " {2,}" }), " ");
        let prefix = self.settings.flag("add_prefix_space").unwrap_or(true);
        let always = metaspace("always", true);
        match self.class {
            Class::Llama => {
                let scheme = match (prefix, self.settings.flag("legacy").unwrap_or(false)) {
                    (false, _) => "never",
                    (true, true) => "always",
                    (true, false) => "first",
                };
                let strip = json!({ "type": "Strip", "content": " ", "start": 1, "stop": 0 });
                let mut decoders = byte_decoders();
                decoders.extend(prefix.then_some(strip));
                Parts {
                    normalizer: Value::Null,
                    pre_tokenizer: metaspace(scheme, false),
                    decoder: json!({ "type": "Sequence", "decoders": decoders }),
                    model: self.bpe(),
                }
            }
            Class::Nllb => Parts {
                normalizer: sequence(
                    rules.into_iter().flat_map(|r| [r, one_space.clone()]).collect(),
                ),
                pre_tokenizer: always.clone(),
                decoder: always,
                model: self.bpe(),
            },
            Class::MBart50 => Parts {
                normalizer: sequence(rules.into_iter().chain([one_space]).collect()),
                pre_tokenizer: always.clone(),
                decoder: always,
                model: self.unigram(),
            },
            Class::Pegasus => {
                let line = replace(&json!({ "Regex": "\n" }), " ");
                Parts {
                    normalizer: sequence(vec![rules.unwrap_or(line), one_space]),
                    pre_tokenizer: always.clone(),
                    decoder: always,
                    model: self.unigram(),
                }
            }
            class => {
                let takes_prefix = matches!(class, Class::XlmRoberta | Class::Camembert);
                let space = if takes_prefix && !prefix { metaspace("never", true) } else { always };
                // mBART's class leaves the rules out.
                let rules = rules.filter(|_| class != Class::MBart);
                Parts {
                    normalizer: rules.unwrap_or(Value::Null),
                    pre_tokenizer: words_then(&space),
                    decoder: space,
                    model: self.unigram(),
                }
            }
        }
    }

    fn around(&self, path: &Path) -> Result<Around> {
        let (bos, eos) = (self.role("bos_token"), self.role("eos_token"));
        let template = |single: &[&str], pair: &[&str]| Around::Template {
            single: items(single),
            pair: items(pair),
        };
        let language = |default: &'static str| {
            let code = self.settings.text("src_lang").unwrap_or(default);
            let known = self.languages().contains(&code)
                || self.settings.extra().iter().any(|token| token.content == code);
            let unknown = || TokenizerError::UnknownLanguage {
                path: path.to_path_buf(),
                language: code.to_string(),
                known: self.languages().into_iter().map(String::from).collect(),
            };
            known.then_some(code).ok_or_else(unknown)
        };
        Ok(match self.class {
            Class::Llama => bos_and_eos(self.settings, "<s>", "</s>"),
            Class::T5 => template(&["$A", "</s>"], &["$A", "</s>", "$B", "</s>"]),
            Class::Pegasus => template(&["$A", &eos], &["$A", "$B", &eos]),
            Class::MBart => {
                let code = language("en_XX")?;
                template(&["$A", &eos, code], &["$A", "$B", &eos, code])
            }
            Class::MBart50 => {
                let code = language("en_XX")?;
                template(&[code, "$A", &eos], &[code, "$A", "$B", &eos])
            }
            Class::Nllb => {
                let code = language("eng_Latn")?;
                match self.settings.flag("legacy_behaviour").unwrap_or(false) {
                    true => template(&["$A", &eos, code], &["$A", "$B", &eos, code]),
                    false => template(&[code, "$A", &eos], &[code, "$A", "$B", &eos]),
                }
            }
            _ => template(&[&bos, "$A", &eos], &[&bos, "$A", &eos, &eos, "$B", &eos]),
        })
    }
}

/// Decoders of pieces with byte fallback.
pub(super) fn byte_decoders() -> Vec<Value> {
    let space = json!({ "type": "Replace", "pattern": { "String": "▁" }, "content": " " });
    vec![space, json!({ "type": "ByteFallback" }), json!({ "type": "Fuse" })]
}

/// The BPE model of these tokens: the merges are all ways to make a piece of two, in the order of
/// the ids.
pub(super) fn bpe(
    vocab: &[String],
    model: &SentencePiece,
    unknown: Option<String>,
    byte_fallback: bool,
) -> Value {
    let pieces: HashMap<&str, usize> =
        model.pieces().iter().enumerate().map(|(id, piece)| (piece.text.as_str(), id)).collect();
    let mut merges: Vec<[&str; 2]> = Vec::new();
    for piece in model.pieces() {
        let splits = piece.text.char_indices().skip(1).map(|(at, _)| piece.text.split_at(at));
        let known = |half: &str| pieces.contains_key(half);
        merges.extend(splits.filter(|(l, r)| known(l) && known(r)).map(|(l, r)| [l, r]));
    }
    let vocab: Map<String, Value> =
        vocab.iter().enumerate().map(|(id, token)| (token.clone(), id.into())).collect();
    json!({
        "type": "BPE", "dropout": null, "unk_token": unknown, "continuing_subword_prefix": null,
        "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": byte_fallback,
        "vocab": vocab, "merges": merges,
    })
}
