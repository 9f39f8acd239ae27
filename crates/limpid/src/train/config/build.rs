//! From a configuration to what it stands for: model, tokenizer, optimizer.

use super::{ModelConfig, RunConfig, TableConfig, TaskKind, TrainConfig, Unit};
use crate::config::{
    Cell, Directions, GptConfig, NormPlacement, Normalisation, Positions, Residual, RnnAttention, RnnConfig,
    Scaling, Seq2SeqConfig, Tie, Variant, activation_from_name, cell_from_name, rnn_attention_from_name,
};
use crate::data::clean::Duplicates;
use crate::data::labelled::TableSpec;
use crate::data::masking::Hide;
use crate::data::order::Bucketing;
use crate::data::table::{Column, Header, TableFormat};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::optim::{AdamConfig, Rate, Schedule};
use crate::text::train::{Shortage, TokenizerSpec};
use crate::text::{Case, Purpose, Tokenizer, TokenizerKind};
use limpid_tensor::kernels::adam::DecayKind;

impl RunConfig {
    /// The learning rate over so many steps.
    pub fn rate(&self, steps: u64) -> Result<Rate> {
        let TrainConfig { lr, min_lr, warmup, ref schedule, .. } = self.train;
        Ok(Rate { schedule: Schedule::from_name(schedule)?, peak: lr, floor: min_lr, warmup, total: steps })
    }

    /// The optimizer.
    pub fn adam(&self) -> AdamConfig {
        let TrainConfig { beta1, beta2, eps, weight_decay, clip, .. } = self.train;
        let clip_norm = (clip > 0.0).then_some(clip);
        AdamConfig { beta1, beta2, eps, weight_decay, kind: DecayKind::Decoupled, clip_norm }
    }

    /// Which pairs share a batch.
    pub fn bucketing(&self) -> Result<Bucketing> {
        match self.train.bucketing.as_str() {
            "mixed" => Ok(Bucketing::Mixed),
            "by-length" => Ok(Bucketing::ByLength),
            other => Err(Error::config(format!("train.bucketing = '{other}' is not known"))
                .hint("known are mixed and by-length")),
        }
    }

    /// What becomes of duplicates.
    pub fn duplicates(&self) -> Duplicates {
        if self.data.drop_duplicates { Duplicates::Drop } else { Duplicates::Keep }
    }

    /// The tokenizer to learn.
    pub fn tokenizer_spec(&self) -> Result<TokenizerSpec> {
        let usual = match self.task {
            TaskKind::Gpt => TokenizerKind::Character,
            TaskKind::Translate => TokenizerKind::Bpe,
            TaskKind::Bert | TaskKind::Classify => TokenizerKind::WordPiece,
        };
        let kind = match self.tokenizer.kind.as_deref() {
            None => usual,
            Some("char") => TokenizerKind::Character,
            Some("byte") => TokenizerKind::Byte,
            Some("word") => TokenizerKind::Word,
            Some("bpe") => TokenizerKind::Bpe,
            Some("wordpiece") => TokenizerKind::WordPiece,
            Some("unigram") => TokenizerKind::Unigram,
            Some(other) => {
                return Err(Error::config(format!("tokenizer.kind = '{other}' is not known"))
                    .hint("known are char, byte, word, bpe, wordpiece, unigram"));
            }
        };
        let learnt = [TokenizerKind::Bpe, TokenizerKind::WordPiece, TokenizerKind::Unigram].contains(&kind);
        let purpose = match self.task {
            TaskKind::Gpt => Purpose::LanguageModel,
            TaskKind::Translate => Purpose::Translation,
            TaskKind::Bert | TaskKind::Classify => Purpose::Encoder,
        };
        let case = if self.tokenizer.lowercase { Case::Lower } else { Case::Keep };
        let vocab_size = self.tokenizer.vocab.or(learnt.then_some(8_000));
        let shortage = if self.tokenizer.vocab.is_some() { Shortage::Refuse } else { Shortage::Accept };
        Ok(TokenizerSpec { purpose, vocab_size, case, shortage, ..TokenizerSpec::new(kind) })
    }

    /// What a sequence of a text is.
    pub fn unit(&self) -> Result<Unit> {
        let known = match self.task {
            TaskKind::Gpt => "windows and lines",
            TaskKind::Bert => "windows, lines and pairs",
            TaskKind::Translate | TaskKind::Classify => {
                return match &self.data.unit {
                    None => Ok(Unit::Lines),
                    Some(_) => Err(Error::config("data.unit is for gpt and bert").hint("leave it out")),
                };
            }
        };
        match (self.data.unit.as_deref().unwrap_or("windows"), self.task) {
            ("windows", _) => Ok(Unit::Windows),
            ("lines", _) => Ok(Unit::Lines),
            ("pairs", TaskKind::Bert) => Ok(Unit::Pairs),
            (other, _) => Err(Error::config(format!("data.unit = '{other}' is not known here"))
                .hint(format!("known are {known}"))),
        }
    }

    /// What is hidden together.
    pub fn hide(&self) -> Hide {
        if self.masking.whole_words { Hide::WholeWords } else { Hide::Tokens }
    }

    /// How labelled texts are written.
    pub fn table(&self) -> Result<TableSpec> {
        let TableConfig { format, header, text, label } = &self.table;
        if text.is_empty() || text.len() > 2 {
            return Err(Error::config(format!(
                "table.text names {} columns, a text has one or two",
                text.len()
            ))
            .hint("--set 'table.text=[\"text\"]'"));
        }
        Ok(TableSpec {
            format: format.as_deref().map(TableFormat::from_name).transpose()?,
            header: if *header { Header::First } else { Header::Missing },
            texts: text.iter().map(|column| Column::parse(column)).collect(),
            label: Column::parse(label),
        })
    }

    fn norm(&self, usual: NormPlacement) -> Result<NormPlacement> {
        match self.model.norm.as_deref() {
            None => Ok(usual),
            Some("pre") => Ok(NormPlacement::Pre),
            Some("post") => Ok(NormPlacement::Post),
            Some(other) => {
                Err(Error::config(format!("model.norm = '{other}' is not known"))
                    .hint("known are pre and post"))
            }
        }
    }

    pub(in crate::train) fn variant(&self, usual: Variant) -> Result<Variant> {
        let ModelConfig { positions, normalisation, residual, scaling, .. } = &self.model;
        let mut variant = usual;
        if let Some(name) = positions {
            variant.positions = Positions::from_name(name)?;
        }
        if let Some(name) = normalisation {
            variant.normalisation = Normalisation::from_name(name)?;
        }
        if let Some(name) = residual {
            variant.residual = Residual::from_name(name)?;
        }
        if let Some(name) = scaling {
            variant.scaling = Scaling::from_name(name)?;
        }
        Ok(variant)
    }

    /// The language model for a vocabulary.
    pub fn gpt(&self, vocab: usize) -> Result<GptConfig> {
        if let Some(folder) = &self.model.from {
            return self.gpt_from(folder, vocab);
        }
        let ModelConfig { layers, heads, width, ffn, context, dropout, ref activation, .. } = self.model;
        let usual = GptConfig::gpt2(vocab, context, layers, heads, width);
        let activation_function = match activation {
            Some(name) => activation_from_name(name)?,
            None => usual.activation_function,
        };
        let (norm, n_inner) = (self.norm(usual.norm)?, ffn.unwrap_or(4 * width));
        Ok(GptConfig {
            n_inner,
            activation_function,
            norm,
            tie_word_embeddings: Tie::Shared,
            dropout,
            variant: self.variant(usual.variant)?,
            ..usual
        })
    }

    /// The encoder-decoder for a vocabulary; ids of special tokens are those of our tokenizers.
    pub fn seq2seq(&self, vocab: usize) -> Result<Seq2SeqConfig> {
        let ModelConfig { layers, heads, width, ffn, context, dropout, ref activation, .. } = self.model;
        let usual = Seq2SeqConfig::new(vocab, layers, heads, width, ffn.unwrap_or(4 * width));
        let activation_function = match activation {
            Some(name) => activation_from_name(name)?,
            None => usual.activation_function,
        };
        let (norm, variant) = (self.norm(usual.norm)?, self.variant(usual.variant)?);
        Ok(Seq2SeqConfig {
            max_position_embeddings: context,
            activation_function,
            norm,
            dropout,
            variant,
            ..usual
        })
    }

    /// Whether the model is a recurrent one.
    pub fn is_recurrent(&self) -> Result<bool> {
        match self.model.arch.as_deref() {
            None | Some("transformer") => Ok(false),
            Some("rnn") => Ok(true),
            Some(other) => Err(Error::config(format!("model.arch = '{other}' is not known"))
                .hint("known are transformer and rnn")),
        }
    }

    /// The recurrent encoder-decoder for a vocabulary; ids of special tokens are those of our tokenizers for translation.
    pub fn rnn(&self, vocab: usize) -> Result<RnnConfig> {
        let ModelConfig { layers, width, context, dropout, bidirectional, embedding, .. } = self.model;
        let cell = self.model.cell.as_deref().map_or(Ok(Cell::Gru), cell_from_name)?;
        let attention =
            self.model.attention.as_deref().map_or(Ok(RnnAttention::Additive), rnn_attention_from_name)?;
        let directions = if bidirectional.unwrap_or(true) { Directions::Both } else { Directions::Forward };
        Ok(RnnConfig {
            embedding_size: embedding.unwrap_or(width),
            directions,
            max_length: context,
            dropout,
            ..RnnConfig::new(vocab, cell, attention, layers, width)
        })
    }

    /// The model that translates, of either kind, validated.
    pub fn translator(&self, vocab: usize) -> Result<TranslatorConfig> {
        if let Some(folder) = &self.model.from {
            return self.translator_from(folder, vocab);
        }
        if self.is_recurrent()? {
            let config = self.rnn(vocab)?;
            config.validate()?;
            return Ok(TranslatorConfig::Rnn(config));
        }
        let config = self.seq2seq(vocab)?;
        config.validate()?;
        Ok(TranslatorConfig::Transformer(config))
    }
}

impl RunConfig {
    /// The same for a tokenizer: with its own ids for the end of a sentence and for padding, with which a translation begins.
    pub fn translator_for(&self, tokenizer: &Tokenizer) -> Result<TranslatorConfig> {
        let missing = |what: &str| {
            Error::config(format!("the tokenizer has no token for {what}, which a translator needs"))
                .hint("limpid tokenizer train … --for translate makes one that has; without tokenizer.from one is learnt")
        };
        let end = tokenizer.end().ok_or_else(|| missing("the end of a sentence (</s>)"))?;
        let pad = tokenizer.pad().filter(|pad| *pad != end).ok_or_else(|| missing("padding (<pad>)"))?;
        let mut config = self.translator(tokenizer.vocab_size())?;
        let (eos, padding, start) = match &mut config {
            TranslatorConfig::Transformer(c) => {
                (&mut c.eos_token_id, &mut c.pad_token_id, &mut c.decoder_start_token_id)
            }
            TranslatorConfig::Rnn(c) => {
                (&mut c.eos_token_id, &mut c.pad_token_id, &mut c.decoder_start_token_id)
            }
        };
        if let Some(folder) = &self.model.from {
            // What it has learnt to end and to begin with.
            if *eos != end {
                let folder = folder.display();
                return Err(Error::config(format!(
                    "the tokenizer ends a sentence with token {end}, the model in {folder} with {eos}"
                ))
                .hint(self.own_tokenizer()));
            }
            return Ok(config);
        }
        (*eos, *padding, *start) = (end, pad, pad);
        Ok(config)
    }
}

/// A model that translates.
#[derive(Clone, Debug, PartialEq)]
pub enum TranslatorConfig {
    /// Attention throughout.
    Transformer(Seq2SeqConfig),
    /// Recurrent layers.
    Rnn(RnnConfig),
}

impl TranslatorConfig {
    /// About how many parameters it has.
    pub fn parameters_about(&self) -> f64 {
        match self {
            TranslatorConfig::Transformer(config) => config.parameters_about(),
            TranslatorConfig::Rnn(config) => config.parameters_about(),
        }
    }

    /// What ends a sentence.
    pub fn end(&self) -> u32 {
        match self {
            TranslatorConfig::Transformer(config) => config.eos_token_id,
            TranslatorConfig::Rnn(config) => config.eos_token_id,
        }
    }

    /// What the decoder is given first.
    pub fn start(&self) -> u32 {
        match self {
            TranslatorConfig::Transformer(config) => config.decoder_start_token_id,
            TranslatorConfig::Rnn(config) => config.decoder_start_token_id,
        }
    }

    /// The model, with random weights.
    pub fn build(&self, seed: u64) -> Result<Model> {
        match self {
            TranslatorConfig::Transformer(config) => Model::seq2seq(config, seed),
            TranslatorConfig::Rnn(config) => Model::rnn(config, seed),
        }
    }
}
