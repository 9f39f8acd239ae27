//! The keys of all tasks, and why one may have no effect for a task.

use super::{RunConfig, Task, TaskKind, TranslatorModel, Unit};
use crate::data::table::TableFormat;

/// The keys of some sections, with their sections before them.
macro_rules! keys {
    ($($section:ident: $($key:ident),+;)+) => {
        &[$($(concat!(stringify!($section), ".", stringify!($key)),)+)+]
    };
}

/// Every key, in the order in which a configuration is written. A test holds it against what the
/// tasks ask for.
pub(super) const KEYS: &[&str] = keys! {
    data: text, validation_text, source, target, pairs, validation_source, validation_target,
        validation_pairs, test_source, test_target, test_pairs, unit, format, header, text_columns,
        label_column, label_separator, word_column, doc_stride, source_column, target_column,
        source_lang, target_lang, validation_split, max_tokens, drop_duplicates;
    tokenizer: from, kind, vocab_size, lowercase;
    model: from, arch, problem_type, layers, heads, hidden_size, intermediate_size, embedding_size,
        context_length, dropout, norm, positions, normalization, residual, scaling, feed_forward,
        kv_heads, activation, bias, cell, attention, bidirectional;
    masking: probability, whole_words;
    lora: rank, alpha, targets, dropout, rslora, modules_to_save;
    train: steps, epochs, batch_size, batch_tokens, bucketing, micro_batches,
        gradient_accumulation_steps, shard_optimizer, lr, min_lr, warmup_steps, warmup_ratio,
        schedule, beta1, beta2, eps, weight_decay, max_grad_norm, label_smoothing, seed, log_every,
        validate_every, patience, best_metric, checkpoint_every, keep_checkpoints, ema,
        average_checkpoints, samples, snapshots, activation_checkpointing, freeze;
    score: targets, num_beams, lowercase, max_sentences;
};

/// The keys whose values are paths.
pub(in crate::train) const PATHS: &[&str] = keys! {
    data: text, validation_text, source, target, pairs, validation_source, validation_target,
        validation_pairs, test_source, test_target, test_pairs;
    tokenizer: from;
    model: from;
};

/// The key that is most like an unknown one: of the same name in another section, or the nearest
/// by edits.
pub(super) fn nearest(unknown: &str) -> Option<String> {
    let name = |key: &str| key.rsplit('.').next().unwrap_or_default().to_string();
    let same = KEYS.iter().find(|key| name(key) == name(unknown));
    let near = || crate::text::nearest(unknown, KEYS.iter().copied());
    same.copied().or_else(near).map(|key| key.to_string())
}

impl RunConfig {
    /// Why a key that exists has no effect for this run, and which key has, if one does.
    pub(super) fn reason(&self, key: &str) -> &'static str {
        match key.split_once('.') {
            Some(("data", key)) => self.reason_data(key),
            Some(("tokenizer", _)) => match &self.pretrained {
                Some(_) => "the tokenizer is the pretrained model's",
                None => "the tokenizer is loaded from tokenizer.from",
            },
            Some(("model", key)) => self.reason_model(key),
            Some(("lora", _)) if self.pretrained.is_none() => {
                "adapters are trained on a pretrained model: model.from"
            }
            Some(("lora", _)) => "no adapters are trained without lora.rank",
            Some(("masking", _)) => "only bert masks tokens",
            Some(("train", key)) => self.reason_train(key),
            Some(("score", _)) => "only translate is scored by what it generates",
            _ => "another task has it",
        }
    }

    fn reason_data(&self, key: &str) -> &'static str {
        let kind = self.kind();
        match key {
            "text" | "validation_text" => {
                "pairs are read from data.source and data.target, or data.pairs"
            }
            "unit" => "only gpt and bert choose what a sequence is",
            "validation_split" => "validation files are given",
            "source_lang" | "target_lang" => "only translate has a source and a target language",
            "max_tokens" => "only pairs are left out; longer texts are truncated or split",
            "drop_duplicates" => {
                "windows and pairs of lines are not deduplicated; data.unit = \"lines\" is"
            }
            "word_column" => "only tag reads words with labels",
            "doc_stride" => "only answer reads contexts in windows",
            "label_separator" => {
                "only several labels are separated: \
                 model.problem_type = \"multi_label_classification\""
            }
            "text_columns" | "label_column" if kind == TaskKind::Translate => {
                "the columns of pairs are data.source_column and data.target_column"
            }
            "text_columns" | "header" if kind == TaskKind::Tag => {
                "the columns of labelled words are data.word_column and data.label_column"
            }
            "source_column" | "target_column" if kind == TaskKind::Classify => {
                "the columns of labelled texts are data.text_columns and data.label_column"
            }
            "format" | "header" | "text_columns" | "label_column" | "source_column"
            | "target_column" => match &self.task {
                Task::Gpt(_) | Task::Bert(_) => "plain text has no columns",
                Task::Tag(_) => {
                    "the columns of labelled words are data.word_column and data.label_column"
                }
                Task::Answer(_) => "questions, contexts and answers have fixed names",
                Task::Translate(task) if !task.data.has_table() => {
                    "parallel files have no columns; data.pairs has"
                }
                Task::Translate(_) => "JSON Lines name the columns in every line",
                Task::Classify(task) if task.data.format == Some(TableFormat::LabelFirst) => {
                    "label-first lines have a label and a text"
                }
                Task::Classify(_) => "JSON Lines name the columns in every line",
            },
            _ => "the files of this task are data.text and data.validation_text",
        }
    }

    fn reason_model(&self, key: &str) -> &'static str {
        match (key, &self.task) {
            ("arch", _) => "only translate has two architectures",
            ("problem_type", _) => "only classify has labels of texts",
            (_, Task::Classify(_)) if self.pretrained.is_some() => {
                "it belongs to another kind of model than the pretrained one"
            }
            ("feed_forward" | "kv_heads", _) => {
                "only a language model has gated feed-forward layers and shared key-value heads"
            }
            (_, Task::Translate(task)) => match task.model {
                TranslatorModel::Transformer(_) => {
                    "it belongs to a recurrent model; model.arch = \"rnn\" trains one"
                }
                TranslatorModel::Recurrent(_) => {
                    "it belongs to a Transformer; model.arch = \"transformer\" trains one"
                }
            },
            ("norm" | "positions" | "normalization" | "residual" | "scaling", _) => {
                "an encoder has learned positions, residuals, scaled attention and layer norms \
                 after them, and its files can hold nothing else"
            }
            _ => "only the recurrent model of translate has it",
        }
    }

    fn reason_train(&self, key: &str) -> &'static str {
        match key {
            "batch_size" => "its batches are measured in tokens: train.batch_tokens",
            "batch_tokens" | "bucketing" => match self.unit() {
                Unit::Windows => "a batch is a number of windows: train.batch_size",
                _ => "a batch is a number of pairs of lines: train.batch_size",
            },
            "label_smoothing" => "the loss is no cross-entropy over labels or tokens",
            "best_metric" => "the best model is the one with the lowest validation loss",
            "min_lr" => "a constant schedule stays at train.lr",
            _ => "another key has set it",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_finds_the_one_that_was_meant() {
        assert_eq!(nearest("train.step").as_deref(), Some("train.steps"));
        assert_eq!(nearest("train.dropout").as_deref(), Some("model.dropout"));
        assert_eq!(nearest("lr").as_deref(), Some("train.lr"));
        assert_eq!(nearest("train.hubris"), None);
    }
}
