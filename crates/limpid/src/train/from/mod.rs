//! Training that begins with a model that was trained already: its sizes, its tokenizer and its weights are taken over, its head if it is the
//! same.

mod own;

use super::config::{ModelConfig, RunConfig, TaskKind, TranslatorConfig};
use crate::config::{BertConfig, BertHead, GptConfig, Positions, Variant};
use crate::error::{Error, Result};
use crate::hub::{self, AnyConfig};
use crate::model::{Architecture, Model};
use crate::nn::FileTensor;
use own::Own;
use serde_json::{Value, json};
use std::path::Path;

/// What the model in a folder is, if a task can begin with it.
fn family(task: TaskKind, folder: &Path) -> Result<AnyConfig> {
    let there = hub::read_config(&folder.join("config.json"))?.0;
    let (fits, what, hint) = match task {
        TaskKind::Gpt => (
            matches!(there, AnyConfig::Gpt(_)),
            "a language model (GPT)",
            "gpt begins with a language model: limpid train gpt --data text.txt makes one",
        ),
        TaskKind::Translate => (
            matches!(there, AnyConfig::Seq2Seq(_) | AnyConfig::Rnn(_)),
            "an encoder-decoder",
            "translate begins with a translator: limpid train translate --source a.fr --target a.en makes one",
        ),
        TaskKind::Bert | TaskKind::Classify => (
            matches!(there, AnyConfig::Bert(_)),
            "an encoder (BERT)",
            "bert and classify begin with an encoder: limpid train bert --data text.txt makes one",
        ),
    };
    if fits {
        return Ok(there);
    }
    Err(Error::config(format!("{} does not hold {what}", folder.display())).hint(hint))
}

fn encoder(folder: &Path) -> Result<BertConfig> {
    match family(TaskKind::Bert, folder)? {
        AnyConfig::Bert(config) => Ok(config),
        _ => unreachable!("other families are refused"),
    }
}

/// The labels of the model that a run begins with, if it is a classifier.
pub(super) fn known_labels(config: &RunConfig) -> Result<Option<Vec<String>>> {
    let Some(folder) = &config.model.from else { return Ok(None) };
    Ok(match encoder(folder)?.head {
        BertHead::Classifier(labels) => Some(labels),
        _ => None,
    })
}

/// The same run with the sizes of the model it begins with. A setting that was asked for and is another is refused.
pub(super) fn adopt(mut config: RunConfig) -> Result<RunConfig> {
    let Some(mut folder) = config.model.from.clone() else { return Ok(config) };
    // The folder of a run stands for the model in it.
    if !folder.join("config.json").exists() && folder.join("model").join("config.json").exists() {
        folder = folder.join("model");
        config.model.from = Some(folder.clone());
    }
    let there = family(config.task, &folder)?;
    let (own, usual) = (Own::of(&there), RunConfig::new(config.task).model);
    let is_said = |key: &str| config.said.has(&format!("model.{key}"));
    own.check(&config.model, &usual, is_said, &folder)?;
    let pairs = match config.task {
        TaskKind::Classify => config.table.text.len() > 1,
        _ => config.unit()? == super::config::Unit::Pairs,
    };
    if let AnyConfig::Bert(bert) = &there
        && pairs
        && bert.type_vocab_size < 2
    {
        return Err(Error::config(format!(
            "the model in {} was made for one text at a time",
            folder.display()
        ))
        .hint("begin with a model whose type_vocab_size is 2, or give one text"));
    }
    if let Some(positions) = own.longest.filter(|longest| config.model.context > *longest) {
        let context = config.model.context;
        if context != usual.context || is_said("context") {
            return Err(Error::config(format!(
                "model.context = {context}, but the model in {} has positions for {positions}",
                folder.display()
            ))
            .hint(format!("--set model.context={positions}")));
        }
        config.model.context = positions;
    }
    own.adopt(&mut config.model);
    // Settings of another kind of model, now that it is known which kind this is.
    config.validate()?;
    Ok(config)
}

/// Whether both are classifiers, but tell other labels apart (or the same in another order): then their heads have nothing in common.
fn has_other_labels(model: &Model, from: &Model) -> bool {
    let labels = |model: &Model| match &model.architecture {
        Architecture::Bert(bert) => bert.labels().map(<[String]>::to_vec),
        _ => None,
    };
    matches!((labels(model), labels(from)), (Some(now), Some(then)) if now != then)
}

/// What is said of heads that a model does not take over from the one it begins with.
pub(super) fn new_heads(model: &Model, from: &Model) -> Vec<Error> {
    let fills_masks =
        |model: &Model| model.files.iter().any(|file| file.name.starts_with("cls.predictions."));
    let heads = [
        (
            has_other_labels(model, from),
            "the model to begin with tells other labels apart: its head begins anew",
        ),
        (
            fills_masks(model) && !fills_masks(from),
            "the model to begin with has no head for hidden words: that begins anew",
        ),
    ];
    heads.into_iter().filter(|(is_new, _)| *is_new).map(|(_, text)| Error::data(text)).collect()
}

/// Takes over every tensor that both have under one name and with one shape (with or without the first word of its name); of a classifier's head
/// only if it tells the same labels.
pub(crate) fn take_over(model: &mut Model, from: &Model) {
    fn name(full: &str) -> &str {
        full.strip_prefix("bert.").unwrap_or(full)
    }
    let new_head = has_other_labels(model, from);
    for file in model.files.iter().filter(|file| !(new_head && file.name.starts_with("classifier."))) {
        let shape = |model: &Model, file: &FileTensor| {
            model.params.shape(file.param).dims().skip(1).chain([file.rows.len()]).collect::<Vec<usize>>()
        };
        let same = |other: &&FileTensor| {
            name(&other.name) == name(&file.name) && shape(from, other) == shape(model, file)
        };
        let Some(other) = from.files.iter().find(same) else { continue };
        let row: usize = model.params.shape(file.param).dims().skip(1).product();
        let values = &from.params.get(other.param)[other.rows.start * row..other.rows.end * row];
        model.params.get_mut(file.param)[file.rows.start * row..file.rows.end * row].copy_from_slice(values);
    }
}

/// How the model in a folder is to write, as JSON; older folders say in `config.json` how it begins and ends.
pub(super) fn generation_of(folder: &Path) -> Result<Option<Value>> {
    let path = folder.join("generation_config.json");
    if path.is_file() {
        return hub::read_object(&path).map(|keys| Some(Value::Object(keys)));
    }
    let (said, _) = hub::load_generation(folder)?;
    Ok((!said.ends.is_empty()).then(|| json!({ "bos_token_id": said.start, "eos_token_id": said.ends })))
}

/// Refuses to do without biases that are there.
pub(super) fn check_no_bias(model: &Model, from: Option<&Path>) -> Result<()> {
    let has = |file: &FileTensor| {
        file.name.ends_with(".bias") && model.params.get(file.param).iter().any(|number| *number != 0.0)
    };
    match (from, model.files.iter().find(|file| has(file))) {
        (Some(folder), Some(file)) => {
            let (folder, name) = (folder.display(), &file.name);
            Err(Error::config(format!("model.bias = false, but the model in {folder} has biases ({name})"))
                .hint("leave out model.bias"))
        }
        _ => Ok(()),
    }
}

impl RunConfig {
    fn check_vocabulary(&self, tokens: usize, known: usize, folder: &Path) -> Result<()> {
        if tokens <= known {
            return Ok(());
        }
        Err(Error::config(format!(
            "the tokenizer has {tokens} tokens, the model in {} knows {known}",
            folder.display()
        ))
        .hint(self.own_tokenizer()))
    }

    /// What would work where tokenizer and model do not go together.
    pub(super) fn own_tokenizer(&self) -> &'static str {
        match self.tokenizer.from {
            Some(_) => "leave out tokenizer.from: the model's own tokenizer is used",
            None => "its tokenizer.json is not the one it was trained with: tokenizer.from names another",
        }
    }

    /// The language model that a run begins with, for a vocabulary.
    pub(super) fn gpt_from(&self, folder: &Path, vocab: usize) -> Result<GptConfig> {
        let AnyConfig::Gpt(there) = family(TaskKind::Gpt, folder)? else {
            unreachable!("other families are refused")
        };
        self.check_vocabulary(vocab, there.vocab_size, folder)?;
        Ok(GptConfig { dropout: self.model.dropout, ..there })
    }

    /// The translator that a run begins with, for a vocabulary.
    pub(super) fn translator_from(&self, folder: &Path, vocab: usize) -> Result<TranslatorConfig> {
        let mut there = match family(TaskKind::Translate, folder)? {
            AnyConfig::Seq2Seq(config) => TranslatorConfig::Transformer(config),
            AnyConfig::Rnn(config) => TranslatorConfig::Rnn(config),
            _ => unreachable!("other families are refused"),
        };
        let known = match &mut there {
            TranslatorConfig::Transformer(c) => {
                c.dropout = self.model.dropout;
                c.vocab_size.min(c.decoder_vocab_size)
            }
            TranslatorConfig::Rnn(c) => {
                c.dropout = self.model.dropout;
                // It has no positions, so it can learn longer texts than it was asked to read before.
                c.max_length = c.max_length.max(self.model.context);
                c.vocab_size.min(c.decoder_vocab_size)
            }
        };
        self.check_vocabulary(vocab, known, folder)?;
        Ok(there)
    }

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
            let there = encoder(folder)?;
            self.check_vocabulary(vocab, there.vocab_size, folder)?;
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
