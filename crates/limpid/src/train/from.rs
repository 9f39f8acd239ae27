//! Training that begins with a model that was trained already: its encoder is taken over, its head if it is the same.

use super::config::{ModelConfig, RunConfig, TaskKind};
use crate::config::{BertConfig, BertHead, Positions, Variant, activation_name};
use crate::error::{Error, Result};
use crate::hub::{self, AnyConfig};
use crate::model::Model;
use std::path::Path;

/// What the model in a folder is, if it is an encoder.
pub(super) fn encoder_config(folder: &Path) -> Result<BertConfig> {
    match hub::read_config(&folder.join("config.json"))?.0 {
        AnyConfig::Bert(config) => Ok(config),
        _ => Err(Error::config(format!("{} does not hold an encoder (BERT)", folder.display()))
            .hint("bert and classify begin with an encoder: limpid train bert --data text.txt makes one")),
    }
}

/// The labels of the model that a run begins with, if it is a classifier.
pub(super) fn known_labels(config: &RunConfig) -> Result<Option<Vec<String>>> {
    let Some(folder) = &config.model.from else { return Ok(None) };
    Ok(match encoder_config(folder)?.head {
        BertHead::Classifier(labels) => Some(labels),
        _ => None,
    })
}

/// The same run with the sizes of the model it begins with. A size that was asked for and is another is refused.
pub(super) fn adopt(mut config: RunConfig) -> Result<RunConfig> {
    let Some(mut folder) = config.model.from.clone() else { return Ok(config) };
    // The folder of a run stands for the model in it.
    if !folder.join("config.json").exists() && folder.join("model").join("config.json").exists() {
        folder = folder.join("model");
        config.model.from = Some(folder.clone());
    }
    let there = encoder_config(&folder)?;
    let usual = RunConfig::new(config.task).model;
    let sizes = |model: &ModelConfig| {
        [("layers", model.layers), ("heads", model.heads), ("width", model.width)]
            .map(|(key, n)| (key, Some(n)))
    };
    let own = [there.num_hidden_layers, there.num_attention_heads, there.hidden_size];
    let asked = sizes(&config.model).into_iter().zip(sizes(&usual)).zip(own.map(Some));
    let ffn = ((("ffn", config.model.ffn), ("ffn", usual.ffn)), Some(there.intermediate_size));
    for (((key, asked), (_, usual)), own) in asked.chain([ffn]) {
        if asked != usual && asked != own {
            let (asked, own) = (asked.unwrap_or_default(), own.unwrap_or_default());
            return Err(Error::config(format!(
                "model.{key} = {asked}, but the model in {} has {own}",
                folder.display()
            ))
            .hint(format!("leave out model.{key}: sizes are those of the model one begins with")));
        }
    }
    let pairs = match config.task {
        TaskKind::Classify => config.table.text.len() > 1,
        _ => config.unit()? == super::config::Unit::Pairs,
    };
    if pairs && there.type_vocab_size < 2 {
        return Err(Error::config(format!(
            "the model in {} was made for one text at a time",
            folder.display()
        ))
        .hint("begin with a model whose type_vocab_size is 2, or give one text"));
    }
    if config.model.context > there.max_position_embeddings {
        let (context, positions) = (config.model.context, there.max_position_embeddings);
        if context != usual.context {
            return Err(Error::config(format!(
                "model.context = {context}, but the model in {} has positions for {positions}",
                folder.display()
            ))
            .hint(format!("--set model.context={positions}")));
        }
        config.model.context = positions;
    }
    config.model.layers = there.num_hidden_layers;
    config.model.heads = there.num_attention_heads;
    config.model.width = there.hidden_size;
    config.model.ffn = Some(there.intermediate_size);
    config.model.activation = Some(activation_name(there.hidden_act).into());
    Ok(config)
}

/// Takes over every tensor that both have under one name and with one shape (with or without the first word of its name).
pub(super) fn copy_weights(model: &mut Model, folder: &Path) -> Result<()> {
    take_over(model, &hub::load(folder)?.0);
    Ok(())
}

/// The same from a model in memory.
pub(crate) fn take_over(model: &mut Model, from: &Model) {
    fn name(full: &str) -> &str {
        full.strip_prefix("bert.").unwrap_or(full)
    }
    for file in &model.files {
        let shape = |model: &Model, file: &crate::nn::FileTensor| {
            model.params.shape(file.param).dims().skip(1).chain([file.rows.len()]).collect::<Vec<usize>>()
        };
        let same = |other: &&crate::nn::FileTensor| {
            name(&other.name) == name(&file.name) && shape(from, other) == shape(model, file)
        };
        let Some(other) = from.files.iter().find(same) else { continue };
        let row: usize = model.params.shape(file.param).dims().skip(1).product();
        let values = &from.params.get(other.param)[other.rows.start * row..other.rows.end * row];
        model.params.get_mut(file.param)[file.rows.start * row..file.rows.end * row].copy_from_slice(values);
    }
}

impl RunConfig {
    /// The encoder for a vocabulary, with a head: of the sizes that were asked for, or of the model it begins with.
    pub fn bert(&self, vocab: usize, head: BertHead) -> Result<BertConfig> {
        let ModelConfig { layers, heads, width, ffn, context, dropout, ref activation, .. } = self.model;
        let only = Variant::usual(Positions::Learned);
        if self.variant(only)? != only {
            return Err(Error::config(
                "model.positions, normalisation, residual, scaling: a BERT has learned positions, layer norms, residuals and scaled scores, and its \
                 files can hold nothing else",
            )
            .hint("leave them out; gpt and translate can do without each of them"));
        }
        if let Some(folder) = &self.model.from {
            let there = encoder_config(folder)?;
            if vocab > there.vocab_size {
                return Err(Error::config(format!(
                    "the tokenizer has {vocab} tokens, the model in {} knows {}",
                    folder.display(),
                    there.vocab_size
                ))
                .hint("leave out tokenizer.from: the model's own tokenizer is used"));
            }
            return Ok(BertConfig { dropout, head, ..there });
        }
        if self.model.norm.as_deref().is_some_and(|norm| norm != "post") {
            return Err(Error::config(
                "model.norm: a BERT has its norms after the residuals, and its files can hold no other",
            )
            .hint("leave model.norm out, or say post"));
        }
        let usual = BertConfig::new(vocab, context, layers, heads, width);
        let hidden_act = match activation {
            Some(name) => crate::config::activation_from_name(name)?,
            None => usual.hidden_act,
        };
        let config =
            BertConfig { intermediate_size: ffn.unwrap_or(4 * width), hidden_act, dropout, head, ..usual };
        Ok(config)
    }

    /// What stands on top of the encoder; `labels` are those of a classifier.
    pub(super) fn head(&self, labels: &[String]) -> Result<BertHead> {
        Ok(match (self.task, self.unit()?) {
            (TaskKind::Classify, _) => BertHead::Classifier(labels.to_vec()),
            (_, super::config::Unit::Pairs) => BertHead::PreTraining,
            _ => BertHead::MaskedLm,
        })
    }
}
