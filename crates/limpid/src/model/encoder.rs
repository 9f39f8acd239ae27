//! The encoder: bidirectional self-attention with a head for its task.
//!
//! ```text
//! x = norm(embedding[ids] + types[types] + positions)                     (n, e)
//! x = x·Wᵀ + b                                                            (n, c), if e is not c
//! per layer:  x = norm(x + attention(x));  x = norm(x + ffn(x))           attention in full
//! pooler:     p = φ(x[CLS]·Wᵀ + b), usually tanh                          (sequences, c)
//! masked LM:  logits = norm(φ(x[masked]·Wᵀ + b)) · embeddingᵀ + bias      (masked, v)
//! classifier: logits = p·Wᵀ + b                                           (sequences, labels)
//! per token:  logits = x·Wᵀ + b                                           (n, labels)
//! ```
//!
//! Layers as in ModernBERT are pre-norm and have no position table; there p goes through a norm,
//! may come from the mean of the tokens, and heads per token have a layer and a norm before them.
//!
//! Only masked rows go through the masked-LM head: its output projection is the largest product of
//! the model, and the loss does not depend on the other rows. Reference: Devlin et al. 2019.

use super::heads::label_loss;
use crate::data::batch::{AnswerBatch, EncoderInput, LabelledBatch, MaskedBatch, TaggedBatch};
use crate::error::Result;
use crate::model::config::{ClassifierPooling, EncoderConfig, EncoderHead, Labels};
use crate::nn::{Bias, LayerConfig, LayerInit, LayerKind, Layers, Linear, Norm};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::ops::{LossSpec, PositionTable};
use limpid_tensor::params::{Init, ParamId, ParamsBuilder};
use limpid_tensor::tape::{Tape, Var};
use std::sync::Arc;

/// Initial weights. `transformers` uses a standard deviation of 0.02 for everything, made for a
/// width of 768; small models learn more slowly from it (docs/results.md). Here embedding tables
/// start as there, positions as sinusoids of the same size, and matrices as Xavier uniform.
const TABLE: Init = Init::Normal(0.02);
const POSITIONS: Init = Init::Sinusoids(0.02 * std::f32::consts::SQRT_2);
const MATRIX: Init = Init::Xavier;

/// The parameters of an encoder, and its forward pass.
#[derive(Clone, Debug)]
pub struct Encoder {
    config: EncoderConfig,
    tokens: ParamId,
    positions: Option<ParamId>,
    types: Option<ParamId>,
    embedding_norm: Norm,
    /// (c, e).
    projection: Option<Linear>,
    layers: Layers,
    pooler: Option<Pooler>,
    lm_head: Option<LmHead>,
    /// Sequence or token classification, question answering, or next-sentence prediction.
    classifier: Option<Linear>,
}

/// The first layer of a classifier, and the pooler of a base model.
#[derive(Clone, Debug)]
struct Pooler {
    dense: Linear,
    /// Where layers are as in ModernBERT.
    norm: Option<Norm>,
}

impl Pooler {
    /// (n, c) -> (n, c).
    fn forward(&self, t: &mut Tape, x: &Var, phi: Activation) -> Var {
        let x = self.dense.forward(t, x, phi);
        match &self.norm {
            Some(norm) => norm.forward(t, &x),
            None => x,
        }
    }
}

/// The masked-LM head; its output projection is the token embedding, with a bias of its own.
#[derive(Clone, Debug)]
struct LmHead {
    dense: Linear,
    norm: Norm,
    bias: Option<ParamId>,
}

impl Encoder {
    /// Declares the parameters.
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(config: &EncoderConfig, builder: &mut ParamsBuilder) -> Result<Self> {
        config.validate()?;
        let (c, v, eps) = (config.hidden_size, config.vocab_size, config.layer_norm_eps);
        let e = config.embedding_width();
        let tokens = builder.add_weight("token_embedding.weight", [v, e], TABLE);
        let rows = config.position_rows();
        let has_table = config.modern.is_none();
        let positions =
            has_table.then(|| builder.add("position_embedding.weight", [rows, e], POSITIONS));
        let options = config.options();
        let norm = |builder: &mut ParamsBuilder, name: &str, width: usize| {
            Norm::new(options.normalization, builder, name, width, eps)
        };
        let table = |rows| builder.add("token_type_embedding.weight", [rows, e], TABLE);
        let types = config.type_vocab_size.map(table);
        let embedding_norm = norm(builder, "embedding_norm", e);
        let projection = config
            .embedding_size
            .map(|e| Linear::new(builder, "embedding_projection", [c, e], MATRIX));
        let layers = LayerConfig {
            kind: LayerKind::Encoder,
            layers: config.num_hidden_layers,
            c,
            heads: config.num_attention_heads,
            f: config.intermediate_size,
            activation: config.hidden_act,
            eps,
            norm: config.norm(),
            dropout: config.dropout,
            options,
            variant: config.variant(),
            init: LayerInit::Xavier,
        };
        let layers = Layers::new(builder, None, layers);
        let [head_bias, lm_bias] =
            config.modern.map_or([Bias::Added; 2], |modern| [modern.head_bias, modern.lm_bias]);
        let has_dense = config.modern.is_some() && config.head.is_per_token();
        let pooler = (config.head.has_pooler() || has_dense).then(|| Pooler {
            dense: Linear::with_bias(builder, "pooler", [c, c], MATRIX, head_bias),
            norm: config.modern.map(|_| norm(builder, "pooler_norm", c)),
        });
        let lm_head = config.head.fills_masks().then(|| LmHead {
            bias: (lm_bias == Bias::Added).then(|| builder.add("lm_head.bias", [v], Init::Zeros)),
            dense: Linear::with_bias(builder, "lm_head.dense", [e, c], MATRIX, head_bias),
            norm: norm(builder, "lm_head.norm", e),
        });
        let mut outputs = |name, count| Some(Linear::new(builder, name, [count, c], TABLE));
        let classifier = match &config.head {
            EncoderHead::PreTraining => outputs("next_sentence", 2),
            EncoderHead::Classifier(labels) => outputs("classifier", labels.names.len()),
            EncoderHead::TokenClassifier(labels) => outputs("classifier", labels.len()),
            EncoderHead::QuestionAnswering => outputs("qa_outputs", 2),
            EncoderHead::Bare | EncoderHead::Pooler | EncoderHead::MaskedLm => None,
        };
        let config = config.clone();
        Ok(Self {
            config,
            tokens,
            positions,
            types,
            embedding_norm,
            projection,
            layers,
            pooler,
            lm_head,
            classifier,
        })
    }

    /// Its configuration.
    pub fn config(&self) -> &EncoderConfig {
        &self.config
    }

    /// The names of the labels of a sequence classifier.
    pub fn labels(&self) -> Option<&[String]> {
        self.classes().map(|labels| &labels.names[..])
    }

    /// The labels of a sequence classifier.
    pub fn classes(&self) -> Option<&Labels> {
        match &self.config.head {
            EncoderHead::Classifier(labels) => Some(labels),
            _ => None,
        }
    }

    /// The labels of a token classifier.
    pub fn token_labels(&self) -> Option<&[String]> {
        match &self.config.head {
            EncoderHead::TokenClassifier(labels) => Some(labels),
            _ => None,
        }
    }

    /// Hidden states: (n) -> (n, c).
    #[track_caller]
    pub fn hidden(&self, t: &mut Tape, input: &EncoderInput) -> Var {
        self.run_layers(t, input, |_, _, _| {})
    }

    /// Hidden states after the embeddings and after each layer, as `output_hidden_states` of
    /// `transformers`: layers + 1, the last is [`Encoder::hidden`].
    #[track_caller]
    pub fn hidden_by_layer(&self, t: &mut Tape, input: &EncoderInput) -> Vec<Var> {
        let mut all = Vec::with_capacity(self.config.num_hidden_layers + 1);
        let hidden = self.run_layers(t, input, |t, x, branch| {
            all.push(branch.map_or_else(|| x.clone(), |branch| t.add(x, branch)));
        });
        all.pop(); // Before the final norm.
        all.push(hidden);
        all
    }

    /// The row of the position table for each token.
    fn position_rows(&self, input: &EncoderInput) -> Arc<[u32]> {
        match self.config.position_offset as u32 {
            0 => input.tokens.positions.clone(),
            offset => input.tokens.positions.iter().map(|position| position + offset).collect(),
        }
    }

    #[track_caller]
    fn run_layers(
        &self,
        t: &mut Tape,
        input: &EncoderInput,
        after: impl FnMut(&mut Tape, &Var, Option<&Var>),
    ) -> Var {
        let mut x = t.embedding(&input.tokens.ids, self.tokens, 1.0);
        if let Some(types) = self.types {
            x = t.add_positions(&x, &input.token_type_ids, PositionTable::Learned(types));
        }
        if let Some(table) = self.positions {
            x = t.add_positions(&x, &self.position_rows(input), PositionTable::Learned(table));
        }
        let x = self.embedding_norm.forward(t, &x);
        let mut x = t.dropout(&x, self.config.dropout);
        if let Some(projection) = &self.projection {
            x = projection.forward(t, &x, Activation::None); // (n, e) -> (n, c)
        }
        self.layers.forward(t, x, &input.tokens, None, None, after)
    }

    /// The token embedding table.
    pub fn token_embedding(&self) -> ParamId {
        self.tokens
    }

    /// The pooler output, one vector per sequence: (n, c) -> (sequences, c).
    /// # Panics
    /// If the head has no pooler.
    #[track_caller]
    pub fn pooled(&self, t: &mut Tape, hidden: &Var, input: &EncoderInput) -> Var {
        let pooling = self.config.modern.map(|modern| modern.classifier_pooling);
        let x = match pooling {
            Some(ClassifierPooling::Mean) => t.span_mean(hidden, &input.tokens.spans),
            Some(ClassifierPooling::Cls) | None => t.rows(hidden, &input.cls_rows),
        };
        self.pooler.as_ref().expect("a head with a pooler").forward(t, &x, self.config.pooler_act)
    }

    /// The input of the output projection, (n, c) -> (rows, e), and its bias.
    #[track_caller]
    fn transformed(&self, t: &mut Tape, hidden: &Var, rows: &Arc<[u32]>) -> (Var, Option<ParamId>) {
        let head = self.lm_head.as_ref().expect("a masked-LM head");
        let phi = self.config.lm_head_act.unwrap_or(self.config.hidden_act);
        let x = t.rows(hidden, rows);
        let x = head.dense.forward(t, &x, phi);
        (head.norm.forward(t, &x), head.bias)
    }

    /// Masked-LM logits at some rows of the hidden states: (n, c) -> (rows, v).
    /// # Panics
    /// If the head is not a masked-LM head.
    #[track_caller]
    pub fn word_logits(&self, t: &mut Tape, hidden: &Var, rows: &Arc<[u32]>) -> Var {
        let (x, bias) = self.transformed(t, hidden, rows);
        t.linear(&x, self.tokens, bias, Activation::None)
    }

    /// Masked-LM loss: weight · Σ −ln p(token at each masked row), with optional label smoothing.
    /// If the batch has next-sentence labels and the head predicts them, their mean loss is added
    /// with the weight of the masked tokens.
    /// # Panics
    /// If the head is not a masked-LM head.
    #[track_caller]
    pub fn masked_loss(&self, t: &mut Tape, batch: &MaskedBatch, spec: LossSpec) -> Var {
        let hidden = self.hidden(t, &batch.input);
        let (x, bias) = self.transformed(t, &hidden, &batch.rows);
        let words = t.output_loss(&x, self.tokens, bias, &batch.targets, spec);
        let (Some(labels), Some(classes)) = (&batch.next_sentence_labels, &self.classifier) else {
            return words;
        };
        let pooled = self.pooled(t, &hidden, &batch.input);
        let weight = match batch.targets_per_sequence {
            Some(asked) => spec.weight * asked,
            None => spec.weight * batch.targets.len() as f32 / labels.len() as f32,
        };
        let spec = LossSpec { smoothing: 0.0, weight };
        let order = t.output_loss(&pooled, classes.w, classes.b, labels, spec);
        t.add(&words, &order)
    }

    /// Classification logits (for [`EncoderHead::PreTraining`]: follows, does not follow):
    /// (n, c) -> (sequences, labels).
    /// # Panics
    /// If the head is not a classifier.
    #[track_caller]
    pub fn class_logits(&self, t: &mut Tape, hidden: &Var, input: &EncoderInput) -> Var {
        let pooled = self.pooled(t, hidden, input);
        self.outputs().forward(t, &pooled, Activation::None)
    }

    /// Classification loss: weight · Σ over the sequences of their loss. That is −ln p(label), with
    /// optional label smoothing, or the mean over the labels of the squared error (regression) or
    /// of the binary cross-entropy (several labels may apply).
    /// # Panics
    /// If the head is not a classifier, or the targets are of another problem.
    #[track_caller]
    pub fn class_loss(&self, t: &mut Tape, batch: &LabelledBatch, spec: LossSpec) -> Var {
        let hidden = self.hidden(t, &batch.input);
        let pooled = self.pooled(t, &hidden, &batch.input);
        let pooled = t.dropout(&pooled, self.config.dropout);
        let (output, labels) = (self.outputs(), self.classes().expect("a head with labels"));
        label_loss(t, &pooled, output, labels, &batch.labels, spec)
    }

    #[track_caller]
    fn outputs(&self) -> &Linear {
        self.classifier.as_ref().expect("a head with labels")
    }

    /// What a head per token reads: (n, c) -> (n, c).
    fn token_features(&self, t: &mut Tape, hidden: &Var) -> Var {
        match &self.pooler {
            Some(dense) => dense.forward(t, hidden, self.config.pooler_act),
            None => hidden.clone(),
        }
    }

    /// Logits of each token over the labels of a token classifier, or of being the first and the
    /// last token of an answer: (n, c) -> (n, labels) or (n, 2).
    /// # Panics
    /// If the head is not one per token.
    #[track_caller]
    pub fn token_logits(&self, t: &mut Tape, hidden: &Var) -> Var {
        assert!(self.config.head.is_per_token(), "a head per token was expected");
        let x = self.token_features(t, hidden);
        self.outputs().forward(t, &x, Activation::None)
    }

    /// Token-classification loss: weight · Σ −ln p(label of a token), with optional label
    /// smoothing.
    /// # Panics
    /// If the head is not a token classifier.
    #[track_caller]
    pub fn token_loss(&self, t: &mut Tape, batch: &TaggedBatch, spec: LossSpec) -> Var {
        assert!(self.token_labels().is_some(), "a token-classification head was expected");
        let hidden = self.hidden(t, &batch.input);
        let x = self.token_features(t, &hidden);
        let (x, output) = (t.dropout(&x, self.config.dropout), self.outputs());
        t.output_loss(&x, output.w, output.b, &batch.labels, spec)
    }

    /// Question-answering loss: weight · Σ over the sequences of the mean of −ln p(first token of
    /// the answer) and −ln p(its last token).
    /// # Panics
    /// If the head is not one for question answering.
    #[track_caller]
    pub fn answer_loss(&self, t: &mut Tape, batch: &AnswerBatch, weight: f32) -> Var {
        let head = &self.config.head;
        assert_eq!(*head, EncoderHead::QuestionAnswering, "a question-answering head was expected");
        let hidden = self.hidden(t, &batch.input);
        let logits = self.token_logits(t, &hidden);
        let answers: Vec<u32> = batch.answers.iter().flatten().copied().collect();
        t.span_loss(&logits, &batch.input.tokens.spans, &answers, weight / 2.0)
    }
}
