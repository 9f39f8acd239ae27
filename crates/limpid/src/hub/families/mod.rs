//! Families: one file per `model_type` of Hugging Face and one for ablations, and one list of them.
//!
//! A family maps a `config.json` to the configuration of a stack and back, and the parameters of
//! that stack to the tensors of its weight files. Adding one is a file here and a line of
//! [`FAMILIES`]; nothing else in the library knows which families there are.

mod ablations;
mod bart;
mod bart_like;
mod bert;
mod camembert;
mod distilbert;
mod electra;
mod encoder;
mod gemma;
mod gpt;
mod gpt2;
mod gpt_neox;
mod heads;
mod limpid_rnn;
mod llama;
mod llama_like;
mod m2m_100;
mod marian;
mod mbart;
mod mistral;
mod modernbert;
mod mpnet;
mod openai_gpt;
mod opt;
mod pegasus;
mod phi;
mod qwen2;
mod qwen3;
mod roberta;
mod rope;
mod seq2seq;
mod t5;
mod xlm_roberta;

pub(super) use ablations::check_foreign_keys;

use super::keys::Keys;
use super::layout::{Constant, Layout};
use crate::error::{ModelError, Result};
use crate::model::config::StackConfig;
use crate::model::{Model, Stack};
use serde_json::Value;

/// Every family. A new model is saved as the first that can hold it.
static FAMILIES: &[&dyn Family] = &[
    &gpt2::Gpt2,
    &openai_gpt::OpenAiGpt,
    &llama::Llama,
    &mistral::Mistral,
    &qwen2::Qwen2,
    &qwen3::Qwen3,
    &gemma::Gemma,
    &gpt_neox::GptNeoX,
    &phi::Phi,
    &opt::Opt,
    &bert::Bert,
    &roberta::ROBERTA,
    &xlm_roberta::XLM_ROBERTA,
    &camembert::CAMEMBERT,
    &distilbert::DistilBert,
    &electra::Electra,
    &mpnet::MpNet,
    &modernbert::ModernBert,
    &marian::Marian,
    &pegasus::Pegasus,
    &bart::Bart,
    &mbart::MBart,
    &m2m_100::M2m100,
    &t5::T5,
    &limpid_rnn::LimpidRnn,
    &ablations::LimpidGpt,
    &ablations::LimpidSeq2Seq,
];

/// One `model_type`.
pub(super) trait Family: Sync {
    /// Its name in `config.json`.
    fn model_type(&self) -> &'static str;

    /// The tokenizer class of `transformers` that reads the tokenizer files of a folder that names
    /// none; `None`: there is only `tokenizer.json`.
    fn tokenizer_class(&self) -> Option<&'static str> {
        None
    }

    /// Reads the keys of a `config.json`.
    /// # Errors
    /// If a key is missing, wrong, or would change the result in a way that is not implemented.
    fn read(&self, keys: &mut Keys) -> Result<StackConfig>;

    /// The keys of a `config.json`, but for `model_type`; `None` if such a model belongs to another
    /// family.
    /// # Errors
    /// If it is this family's kind of model, with an option that its files cannot express.
    fn write(&self, config: &StackConfig) -> Result<Option<Value>>;

    /// Where its files store the parameters.
    fn layout(&self, config: &StackConfig) -> Layout;

    /// The configuration, with what only the weight file says: `has` tells whether it holds a
    /// tensor.
    fn complete(&self, config: StackConfig, _has: &dyn Fn(&str) -> bool) -> StackConfig {
        config
    }

    /// Tensors that are computed, not learned, and that its files may hold.
    fn constants(&self, _stack: &Stack) -> Vec<Constant> {
        Vec::new()
    }
}

/// The supported `model_type`s.
pub(super) fn model_types() -> Vec<&'static str> {
    FAMILIES.iter().map(|family| family.model_type()).collect()
}

/// The family of a `model_type`.
pub(super) fn find(model_type: &str) -> Option<&'static dyn Family> {
    FAMILIES.iter().copied().find(|family| family.model_type() == model_type)
}

/// The family that a model is saved as, and its `config.json`.
/// # Errors
/// If the family it was loaded with, or for a new model every family, cannot hold it.
pub(super) fn of(
    model_type: Option<&str>,
    config: &StackConfig,
) -> Result<(&'static dyn Family, Value)> {
    let mut reason = None;
    let known = model_type.and_then(find);
    let candidates = FAMILIES
        .iter()
        .copied()
        .filter(|family| known.is_none_or(|known| known.model_type() == family.model_type()));
    for family in candidates {
        match family.write(config) {
            Ok(Some(mut value)) => {
                value["model_type"] = family.model_type().into();
                return Ok((family, value));
            }
            Ok(None) => {}
            Err(error) => reason = reason.or(Some(error)),
        }
    }
    Err(reason.unwrap_or_else(|| ModelError::NoFamily.into()))
}

/// The family that a model is saved as.
pub(super) fn of_model(model: &Model) -> Result<&'static dyn Family> {
    of(model.model_type, &model.stack.config()).map(|(family, _)| family)
}
