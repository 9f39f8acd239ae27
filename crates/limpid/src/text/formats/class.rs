//! The tokenizer classes of `transformers`: which files they read and which conventions they have.

use super::settings::Settings;
use crate::error::{Result, TokenizerError};

/// A tokenizer class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Bert,
    MpNet,
    Gpt2,
    Roberta,
    OpenAiGpt,
    T5,
    Llama,
    XlmRoberta,
    Camembert,
    MBart,
    MBart50,
    Nllb,
    Pegasus,
    Marian,
    M2M100,
    /// Ids as in the SentencePiece model: of a folder that names no class.
    SentencePiece,
}

/// Names of files with a SentencePiece model.
const MODELS: [&str; 4] =
    ["spiece.model", "sentencepiece.bpe.model", "tokenizer.model", "sentencepiece.model"];

/// Every file that belongs to a tokenizer.
pub(super) const FILES: [&str; 11] = [
    "tokenizer.json",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tokenizer.model",
    "sentencepiece.model",
    "source.spm",
    "target.spm",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "target_vocab.json",
];

impl Class {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "BertTokenizer" | "DistilBertTokenizer" | "ElectraTokenizer" => Self::Bert,
            "MPNetTokenizer" => Self::MpNet,
            "GPT2Tokenizer" => Self::Gpt2,
            "RobertaTokenizer" | "BartTokenizer" => Self::Roberta,
            "OpenAIGPTTokenizer" => Self::OpenAiGpt,
            "T5Tokenizer" | "MT5Tokenizer" => Self::T5,
            "LlamaTokenizer" => Self::Llama,
            "XLMRobertaTokenizer" => Self::XlmRoberta,
            "CamembertTokenizer" => Self::Camembert,
            "MBartTokenizer" => Self::MBart,
            "MBart50Tokenizer" => Self::MBart50,
            "NllbTokenizer" => Self::Nllb,
            "PegasusTokenizer" => Self::Pegasus,
            "MarianTokenizer" => Self::Marian,
            "M2M100Tokenizer" => Self::M2M100,
            _ => return None,
        })
    }

    /// The class of a folder without `tokenizer.json`: what `tokenizer_config.json` says, or else
    /// the default of its model, or else what only one class can read.
    pub fn of(settings: &Settings, default: Option<&str>) -> Result<Self> {
        let folder = &settings.folder;
        let has = |name: &str| folder.join(name).is_file();
        let found: Vec<&'static str> = FILES.into_iter().filter(|name| has(name)).collect();
        if found.is_empty() {
            return Err(TokenizerError::NotFound { folder: folder.clone(), found }.into());
        }
        // Says nothing but that there is a tokenizer.json.
        let named = settings.class().filter(|name| {
            !["PreTrainedTokenizer", "TokenizersBackend", "PythonBackend"].contains(name)
        });
        let unknown = |class: &str| TokenizerError::UnknownClass {
            folder: folder.clone(),
            class: class.to_string(),
            found: found.clone(),
        };
        if let Some(name) = named.or(default).or(settings.model_type()) {
            return Ok(Self::from_name(name).ok_or_else(|| unknown(name))?);
        }
        if has("source.spm") {
            Ok(Self::Marian)
        } else if has("vocab.txt") {
            Ok(Self::Bert)
        } else if MODELS.iter().filter(|name| has(name)).count() == 1 {
            Ok(Self::SentencePiece)
        } else {
            Err(TokenizerError::NotFound { folder: folder.clone(), found }.into())
        }
    }

    /// Its file with a SentencePiece model, if the folder has it.
    pub fn model_file(self, settings: &Settings) -> Result<&'static str> {
        let expected: &[&'static str] = match self {
            Self::T5 | Self::Pegasus => &["spiece.model"],
            Self::Llama => &["tokenizer.model"],
            Self::SentencePiece => &MODELS,
            _ => &["sentencepiece.bpe.model"],
        };
        let has = |name: &&'static str| settings.folder.join(name).is_file();
        let found = expected.iter().copied().find(has);
        Ok(found.ok_or_else(|| self.missing(settings, expected[0]))?)
    }

    /// A file that the class needs is not there.
    pub fn missing(self, settings: &Settings, file: &'static str) -> TokenizerError {
        let folder = settings.folder.clone();
        let found = FILES.into_iter().filter(|name| folder.join(name).is_file()).collect();
        TokenizerError::Incomplete { folder, found, missing: file }
    }
}
