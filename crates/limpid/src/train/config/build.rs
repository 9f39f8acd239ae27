//! From a configuration to what it describes: tokenizer and model.

use super::{
    AnswerTask, BertTask, ClassifyTask, Pretrained, RecurrentModel, RunConfig, TagTask, Task,
    TaskKind, TokenizerConfig, TransformerModel, TransformerSizes, TranslatorModel, Unit,
};
use crate::error::{PretrainedError, Result, TokenizerOrigin};
use crate::model::Model;
use crate::model::config::{
    DecoderConfig, DecoderHead, EncoderConfig, EncoderDecoderConfig, EncoderHead, Labels,
    RecurrentConfig, StackConfig,
};
use crate::nn::LayerVariant;
use crate::text::train::{Shortage, TokenizerSpec};
use crate::text::{Purpose, Tokenizer, TokenizerKind};

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
            TaskKind::Bert | TaskKind::Classify | TaskKind::Tag | TaskKind::Answer => {
                Purpose::Encoder
            }
        };
        let shortage = if vocab_size.is_some() { Shortage::Refuse } else { Shortage::Accept };
        let vocab_size = vocab_size.or(is_subword.then_some(VOCAB_SIZE));
        Some(TokenizerSpec { purpose, vocab_size, casing, shortage, ..TokenizerSpec::new(kind) })
    }
}

impl TransformerModel {
    fn decoder(&self, vocab_size: usize) -> DecoderConfig {
        let TransformerSizes { context_length, layers, heads, hidden_size, .. } = self.sizes;
        let mut variant = LayerVariant::STANDARD;
        if let Some(decoder) = &self.decoder {
            variant.feed_forward = decoder.feed_forward;
            variant.attention.kv_heads = decoder.kv_heads.filter(|kv_heads| *kv_heads != heads);
        }
        DecoderConfig {
            variant,
            intermediate_size: self.sizes.intermediate_size,
            activation_function: self.sizes.activation,
            norm: self.norm,
            dropout: self.sizes.dropout,
            options: self.options,
            ..DecoderConfig::gpt2(vocab_size, context_length, layers, heads, hidden_size)
        }
    }

    fn encoder_decoder(&self, vocab_size: usize) -> EncoderDecoderConfig {
        let TransformerSizes { layers, heads, hidden_size, intermediate_size, .. } = self.sizes;
        EncoderDecoderConfig {
            max_position_embeddings: self.sizes.context_length,
            activation_function: self.sizes.activation,
            norm: self.norm,
            dropout: self.sizes.dropout,
            options: self.options,
            ..EncoderDecoderConfig::new(vocab_size, layers, heads, hidden_size, intermediate_size)
        }
    }
}

impl TransformerSizes {
    fn encoder(&self, vocab_size: usize, head: EncoderHead) -> EncoderConfig {
        let Self { context_length, layers, heads, hidden_size, .. } = *self;
        EncoderConfig {
            intermediate_size: self.intermediate_size,
            hidden_act: self.activation,
            dropout: self.dropout,
            head,
            ..EncoderConfig::new(vocab_size, context_length, layers, heads, hidden_size)
        }
    }
}

impl RecurrentModel {
    fn encoder_decoder(&self, vocab_size: usize) -> RecurrentConfig {
        let Self { cell, attention, layers, hidden_size, .. } = *self;
        RecurrentConfig {
            embedding_size: self.embedding_size,
            directions: self.bidirectional,
            max_length: self.context_length,
            dropout: self.dropout,
            ..RecurrentConfig::new(vocab_size, cell, attention, layers, hidden_size)
        }
    }
}

impl RunConfig {
    /// The model for a tokenizer, with random weights; `labels` are those of a classifier.
    ///
    /// # Errors
    /// No model has such sizes, or the tokenizer does not fit the pretrained model.
    pub fn build_model(&self, tokenizer: &Tokenizer, labels: &[String]) -> Result<Model> {
        Model::new(self.stack_for(tokenizer, labels)?, self.train.seed)
    }

    /// The configuration of the model for a vocabulary; `labels` are those of a classifier.
    ///
    /// # Errors
    /// The pretrained model cannot be read, or has too small a vocabulary.
    pub fn stack(&self, vocab_size: usize, labels: &[String]) -> Result<StackConfig> {
        let Some(folder) = &self.pretrained else {
            return Ok(self.stack_from_scratch(vocab_size, labels));
        };
        let mut stack = Pretrained::read(folder, self.kind())?.stack;
        let (context_length, new_dropout, _) = self.task.context_dropout_bias();
        let (dropout, embeddings) = match &mut stack {
            StackConfig::Decoder(c) => {
                c.head = match self.labels(labels) {
                    Some(labels) => {
                        let own = match c.head {
                            DecoderHead::Classifier { pad_token_id, .. } => pad_token_id,
                            DecoderHead::LanguageModel => None,
                        };
                        DecoderHead::Classifier { labels, pad_token_id: own }
                    }
                    None => DecoderHead::LanguageModel,
                };
                (&mut c.dropout, c.vocab_size)
            }
            StackConfig::Encoder(c) => {
                c.head = self.head(labels);
                (&mut c.dropout, c.vocab_size)
            }
            StackConfig::EncoderDecoder(c) => {
                (&mut c.dropout, c.vocab_size.min(c.decoder_vocab_size))
            }
            StackConfig::Recurrent(c) => {
                // It has no positions: it can be trained on longer texts than before.
                c.max_length = c.max_length.max(context_length);
                (&mut c.dropout, c.vocab_size.min(c.decoder_vocab_size))
            }
        };
        *dropout = new_dropout;
        if vocab_size > embeddings {
            return Err(PretrainedError::Vocabulary {
                tokens: vocab_size,
                embeddings,
                folder: folder.clone(),
                tokenizer: self.tokenizer_origin(),
            }
            .into());
        }
        Ok(stack)
    }

    fn stack_from_scratch(&self, vocab_size: usize, labels: &[String]) -> StackConfig {
        match &self.task {
            Task::Gpt(task) => task.model.decoder(vocab_size).into(),
            Task::Translate(task) => match &task.model {
                TranslatorModel::Transformer(model) => model.encoder_decoder(vocab_size).into(),
                TranslatorModel::Recurrent(model) => model.encoder_decoder(vocab_size).into(),
            },
            Task::Bert(BertTask { model, .. })
            | Task::Classify(ClassifyTask { model, .. })
            | Task::Tag(TagTask { model, .. })
            | Task::Answer(AnswerTask { model, .. }) => {
                model.encoder(vocab_size, self.head(labels)).into()
            }
        }
    }

    /// The head of an encoder; `labels` are those of a classifier.
    fn head(&self, labels: &[String]) -> EncoderHead {
        match (&self.task, self.labels(labels)) {
            (_, Some(labels)) => EncoderHead::Classifier(labels),
            (Task::Tag(_), _) => EncoderHead::TokenClassifier(labels.to_vec()),
            (Task::Answer(_), _) => EncoderHead::QuestionAnswering,
            _ if self.unit() == Unit::Pairs => EncoderHead::PreTraining,
            _ => EncoderHead::MaskedLm,
        }
    }

    /// The labels of a sequence classifier.
    fn labels(&self, names: &[String]) -> Option<Labels> {
        let Task::Classify(task) = &self.task else { return None };
        Some(Labels { names: names.to_vec(), problem_type: Some(task.problem) })
    }

    /// The same for a tokenizer. An encoder-decoder has its ids for the end of a sentence and for
    /// padding, which is also the decoder's start token; a pretrained one keeps its own. So does a
    /// decoder that classifies with its padding token.
    fn stack_for(&self, tokenizer: &Tokenizer, labels: &[String]) -> Result<StackConfig> {
        let mut stack = self.stack(tokenizer.vocab_size(), labels)?;
        if let StackConfig::Decoder(DecoderConfig {
            head: DecoderHead::Classifier { pad_token_id, .. },
            ..
        }) = &mut stack
        {
            *pad_token_id = pad_token_id.or(tokenizer.pad_id());
        }
        let Some([eos, padding, start]) = special_tokens(&mut stack) else { return Ok(stack) };
        let missing = |token| PretrainedError::MissingToken { token };
        let end = tokenizer.eos_id().ok_or(missing("end-of-sentence (</s>)"))?;
        let pad = tokenizer.pad_id().filter(|pad| *pad != end).ok_or(missing("padding (<pad>)"))?;
        match &self.pretrained {
            None => [*eos, *padding, *start] = [end, pad, pad],
            Some(_) if *eos == end => {
                // mBART's texts end with their language, which is shifted to the front.
                if let Some(language) = tokenizer.target_language_behind(end)? {
                    *start = language;
                }
            }
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
        Ok(stack)
    }

    /// The start token of an encoder-decoder's decoder and its end-of-sentence token.
    ///
    /// # Errors
    /// The tokenizer lacks these tokens, or does not fit the pretrained model.
    ///
    /// # Panics
    /// The task is another.
    pub(in crate::train) fn start_and_end(&self, tokenizer: &Tokenizer) -> Result<[u32; 2]> {
        let mut stack = self.stack_for(tokenizer, &[])?;
        let [end, _, start] = special_tokens(&mut stack).expect("the task is translation");
        Ok([*start, *end])
    }

    fn tokenizer_origin(&self) -> TokenizerOrigin {
        match self.tokenizer {
            TokenizerConfig::Load(_) => TokenizerOrigin::Key,
            _ => TokenizerOrigin::Model,
        }
    }
}

/// The end-of-sentence, padding and start tokens of an encoder-decoder.
fn special_tokens(stack: &mut StackConfig) -> Option<[&mut u32; 3]> {
    match stack {
        StackConfig::EncoderDecoder(c) => {
            Some([&mut c.eos_token_id, &mut c.pad_token_id, &mut c.decoder_start_token_id])
        }
        StackConfig::Recurrent(c) => {
            Some([&mut c.eos_token_id, &mut c.pad_token_id, &mut c.decoder_start_token_id])
        }
        StackConfig::Decoder(_) | StackConfig::Encoder(_) => None,
    }
}
