//! From a configuration to what it describes: tokenizer and model.

use super::{
    BertTask, ClassifyTask, EncoderModel, GptTask, Pretrained, RecurrentModel, RunConfig, Task,
    TaskKind, TokenizerConfig, TransformerModel, TranslatorModel, Unit,
};
use crate::error::{PretrainedError, Result, TokenizerOrigin};
use crate::hub::StackConfig;
use crate::model::Model;
use crate::model::config::{
    DecoderConfig, EncoderConfig, EncoderDecoderConfig, EncoderHead, RecurrentConfig,
};
use crate::text::train::{Shortage, TokenizerSpec};
use crate::text::{Purpose, Tokenizer, TokenizerKind};
use std::path::Path;

/// Tokens of a trained vocabulary unless set.
const VOCAB_SIZE: usize = 8_000;

impl TokenizerConfig {
    /// The tokenizer to train for a task; `None` if one is loaded.
    pub fn spec(&self, task: TaskKind) -> Option<TokenizerSpec> {
        let Self::Train { kind, vocab_size, casing } = *self else { return None };
        let is_subword =
            [TokenizerKind::Bpe, TokenizerKind::WordPiece, TokenizerKind::Unigram].contains(&kind);
        let purpose = match task {
            TaskKind::Gpt => Purpose::LanguageModel,
            TaskKind::Translate => Purpose::Translation,
            TaskKind::Bert | TaskKind::Classify => Purpose::Encoder,
        };
        let shortage = if vocab_size.is_some() { Shortage::Refuse } else { Shortage::Accept };
        let vocab_size = vocab_size.or(is_subword.then_some(VOCAB_SIZE));
        Some(TokenizerSpec { purpose, vocab_size, casing, shortage, ..TokenizerSpec::new(kind) })
    }
}

impl TransformerModel {
    fn decoder(&self, vocab_size: usize) -> DecoderConfig {
        DecoderConfig {
            intermediate_size: self.intermediate_size,
            activation_function: self.activation,
            norm: self.norm,
            dropout: self.dropout,
            options: self.options(),
            ..DecoderConfig::gpt2(
                vocab_size,
                self.context_length,
                self.layers,
                self.heads,
                self.hidden_size,
            )
        }
    }

    fn encoder_decoder(&self, vocab_size: usize) -> EncoderDecoderConfig {
        EncoderDecoderConfig {
            max_position_embeddings: self.context_length,
            activation_function: self.activation,
            norm: self.norm,
            dropout: self.dropout,
            options: self.options(),
            ..EncoderDecoderConfig::new(
                vocab_size,
                self.layers,
                self.heads,
                self.hidden_size,
                self.intermediate_size,
            )
        }
    }
}

impl EncoderModel {
    fn encoder(&self, vocab_size: usize, head: EncoderHead) -> EncoderConfig {
        EncoderConfig {
            intermediate_size: self.intermediate_size,
            hidden_act: self.activation,
            dropout: self.dropout,
            head,
            ..EncoderConfig::new(
                vocab_size,
                self.context_length,
                self.layers,
                self.heads,
                self.hidden_size,
            )
        }
    }
}

impl RecurrentModel {
    fn encoder_decoder(&self, vocab_size: usize) -> RecurrentConfig {
        RecurrentConfig {
            embedding_size: self.embedding_size,
            directions: self.bidirectional,
            max_length: self.context_length,
            dropout: self.dropout,
            ..RecurrentConfig::new(
                vocab_size,
                self.cell,
                self.attention,
                self.layers,
                self.hidden_size,
            )
        }
    }
}

impl RunConfig {
    /// The model for a tokenizer, with random weights; `labels` are those of a classifier.
    ///
    /// # Errors
    ///
    /// No model has such sizes, or the tokenizer does not fit the pretrained model.
    pub fn build_model(&self, tokenizer: &Tokenizer, labels: &[String]) -> Result<Model> {
        let (vocab_size, seed) = (tokenizer.vocab_size(), self.train.seed);
        match &self.task {
            Task::Gpt(_) => Model::new(&self.decoder(vocab_size)?, seed),
            Task::Translate(_) => self.translator_for(tokenizer)?.build(seed),
            Task::Bert(_) | Task::Classify(_) => {
                Model::new(&self.encoder(vocab_size, self.head(labels))?, seed)
            }
        }
    }

    /// The decoder of a language model.
    ///
    /// # Errors
    ///
    /// The pretrained model cannot be read, or has too small a vocabulary.
    ///
    /// # Panics
    ///
    /// The task is another.
    pub fn decoder(&self, vocab_size: usize) -> Result<DecoderConfig> {
        let Task::Gpt(GptTask { model, .. }) = &self.task else { panic!("not a decoder's task") };
        let Some(folder) = &self.pretrained else { return Ok(model.decoder(vocab_size)) };
        match Pretrained::read(folder, self.kind())?.stack {
            StackConfig::Decoder(own) => {
                self.check_vocabulary(vocab_size, own.vocab_size, folder)?;
                Ok(DecoderConfig { dropout: model.dropout, ..own })
            }
            _ => unreachable!("other stacks are refused"),
        }
    }

    /// The encoder, with a head.
    ///
    /// # Errors
    ///
    /// The pretrained model cannot be read, or has too small a vocabulary.
    ///
    /// # Panics
    ///
    /// The task is another.
    pub fn encoder(&self, vocab_size: usize, head: EncoderHead) -> Result<EncoderConfig> {
        let (Task::Bert(BertTask { model, .. }) | Task::Classify(ClassifyTask { model, .. })) =
            &self.task
        else {
            panic!("not an encoder's task")
        };
        let Some(folder) = &self.pretrained else { return Ok(model.encoder(vocab_size, head)) };
        match Pretrained::read(folder, self.kind())?.stack {
            StackConfig::Encoder(own) => {
                self.check_vocabulary(vocab_size, own.vocab_size, folder)?;
                Ok(EncoderConfig { dropout: model.dropout, head, ..own })
            }
            _ => unreachable!("other stacks are refused"),
        }
    }

    /// The head of the encoder; `labels` are those of a classifier.
    pub(in crate::train) fn head(&self, labels: &[String]) -> EncoderHead {
        match (self.kind(), self.unit()) {
            (TaskKind::Classify, _) => EncoderHead::Classifier(labels.to_vec()),
            (_, Unit::Pairs) => EncoderHead::PreTraining,
            _ => EncoderHead::MaskedLm,
        }
    }

    /// The encoder-decoder of either architecture, validated.
    ///
    /// # Errors
    ///
    /// No model has such sizes; the pretrained model cannot be read, or has too small a
    /// vocabulary.
    ///
    /// # Panics
    ///
    /// The task is another.
    pub fn translator(&self, vocab_size: usize) -> Result<TranslatorConfig> {
        let Task::Translate(task) = &self.task else { panic!("not an encoder-decoder's task") };
        let config = match (&self.pretrained, &task.model) {
            (Some(folder), model) => self.translator_from(folder, vocab_size, model)?,
            (None, TranslatorModel::Transformer(model)) => {
                TranslatorConfig::Transformer(model.encoder_decoder(vocab_size))
            }
            (None, TranslatorModel::Recurrent(model)) => {
                TranslatorConfig::Recurrent(model.encoder_decoder(vocab_size))
            }
        };
        match &config {
            TranslatorConfig::Transformer(config) => config.validate()?,
            TranslatorConfig::Recurrent(config) => config.validate()?,
        }
        Ok(config)
    }

    fn translator_from(
        &self,
        folder: &Path,
        vocab_size: usize,
        model: &TranslatorModel,
    ) -> Result<TranslatorConfig> {
        let dropout = match model {
            TranslatorModel::Transformer(model) => model.dropout,
            TranslatorModel::Recurrent(model) => model.dropout,
        };
        let (config, own) = match Pretrained::read(folder, self.kind())?.stack {
            StackConfig::EncoderDecoder(c) => {
                let vocab_size = c.vocab_size.min(c.decoder_vocab_size);
                let config = EncoderDecoderConfig { dropout, ..c };
                (TranslatorConfig::Transformer(config), vocab_size)
            }
            StackConfig::Recurrent(c) => {
                let vocab_size = c.vocab_size.min(c.decoder_vocab_size);
                // It has no positions: it can be trained on longer texts than before.
                let max_length = c.max_length.max(model.context_length());
                (
                    TranslatorConfig::Recurrent(RecurrentConfig { dropout, max_length, ..c }),
                    vocab_size,
                )
            }
            _ => unreachable!("other stacks are refused"),
        };
        self.check_vocabulary(vocab_size, own, folder)?;
        Ok(config)
    }

    /// The same for a tokenizer: with its ids for the end of a sentence and for padding, which is
    /// also the decoder's start token. A pretrained model keeps its own.
    ///
    /// # Errors
    ///
    /// Those of [`translator`](Self::translator); the tokenizer lacks these tokens, or has another
    /// end token than the pretrained model.
    pub fn translator_for(&self, tokenizer: &Tokenizer) -> Result<TranslatorConfig> {
        let missing = |token| PretrainedError::MissingToken { token };
        let end = tokenizer.eos_id().ok_or(missing("end-of-sentence (</s>)"))?;
        let pad = tokenizer.pad_id().filter(|pad| *pad != end).ok_or(missing("padding (<pad>)"))?;
        let mut config = self.translator(tokenizer.vocab_size())?;
        let (eos, padding, start) = match &mut config {
            TranslatorConfig::Transformer(c) => {
                (&mut c.eos_token_id, &mut c.pad_token_id, &mut c.decoder_start_token_id)
            }
            TranslatorConfig::Recurrent(c) => {
                (&mut c.eos_token_id, &mut c.pad_token_id, &mut c.decoder_start_token_id)
            }
        };
        match &self.pretrained {
            None => (*eos, *padding, *start) = (end, pad, pad),
            Some(_) if *eos == end => {}
            Some(folder) => {
                return Err(PretrainedError::EndToken {
                    found: end,
                    expected: *eos,
                    folder: folder.clone(),
                    tokenizer: self.tokenizer_origin(),
                }
                .into());
            }
        }
        Ok(config)
    }

    fn check_vocabulary(&self, tokens: usize, embeddings: usize, folder: &Path) -> Result<()> {
        if tokens <= embeddings {
            return Ok(());
        }
        let (folder, tokenizer) = (folder.to_path_buf(), self.tokenizer_origin());
        Err(PretrainedError::Vocabulary { tokens, embeddings, folder, tokenizer }.into())
    }

    fn tokenizer_origin(&self) -> TokenizerOrigin {
        match self.tokenizer {
            TokenizerConfig::Load(_) => TokenizerOrigin::Key,
            _ => TokenizerOrigin::Model,
        }
    }
}

/// An encoder-decoder of either architecture.
#[derive(Clone, Debug, PartialEq)]
pub enum TranslatorConfig {
    /// Attention throughout.
    Transformer(EncoderDecoderConfig),
    /// Recurrent layers.
    Recurrent(RecurrentConfig),
}

impl TranslatorConfig {
    /// About how many parameters it has.
    pub fn parameters_about(&self) -> f64 {
        match self {
            TranslatorConfig::Transformer(config) => config.parameters_about(),
            TranslatorConfig::Recurrent(config) => config.parameters_about(),
        }
    }

    /// The end-of-sentence token.
    pub fn end(&self) -> u32 {
        match self {
            TranslatorConfig::Transformer(config) => config.eos_token_id,
            TranslatorConfig::Recurrent(config) => config.eos_token_id,
        }
    }

    /// The decoder's first input.
    pub fn start(&self) -> u32 {
        match self {
            TranslatorConfig::Transformer(config) => config.decoder_start_token_id,
            TranslatorConfig::Recurrent(config) => config.decoder_start_token_id,
        }
    }

    /// The model, with random weights.
    ///
    /// # Errors
    ///
    /// No model has such sizes.
    pub fn build(&self, seed: u64) -> Result<Model> {
        match self {
            TranslatorConfig::Transformer(config) => Model::new(config, seed),
            TranslatorConfig::Recurrent(config) => Model::new(config, seed),
        }
    }
}
