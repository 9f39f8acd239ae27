//! BERT: a stack of encoders that looks both ways, and a head for what it is asked.
//!
//! ```text
//! x = norm(embedding[ids] + types[types] + positions)                     (n, c)
//! per layer:  x = norm(x + attention(x));  x = norm(x + ffn(x))           every token sees all of its sequence
//! pooler:     p = tanh(x[CLS]·Wᵀ + b)                                     (sequences, c)
//! masked words: scores = norm(φ(x[masked]·Wᵀ + b)) · embeddingᵀ + bias    (masked, v)
//! classifier: scores = p·Wᵀ + b                                           (sequences, labels)
//! ```
//!
//! Only the masked rows go through the head: the output layer is the largest product of the model, and of the other rows nothing is asked.
//! Reference: Devlin et al. 2019.

use crate::config::{BertConfig, BertHead, NormPlacement, Scaling};
use crate::data::batch::{LabelledBatch, MaskedBatch, Typed};
use crate::error::Result;
use crate::nn::{Builder, FeedForward, Linear, Norm, SelfAttention, Stream};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::attention::Causality;
use limpid_tensor::ops::{LossSpec, PositionTable};
use limpid_tensor::params::{Init, ParamId};
use limpid_tensor::tape::{Tape, Var};
use std::sync::Arc;

/// Starting values. Those of `transformers`, 0.02 for everything, are made for a width of 768; a small model learns more slowly from
/// them (docs/results.md, "First values of a small BERT"). Here tables begin as there, positions as sinusoids of the same size, and matrices as Glorot draws them.
const TABLE: Init = Init::Normal(0.02);
const POSITIONS: Init = Init::Sinusoids(0.02 * std::f32::consts::SQRT_2);
const MATRIX: Init = Init::Xavier;

/// Which parameters a BERT has, and how it computes with them.
#[derive(Clone, Debug)]
pub struct Bert {
    config: BertConfig,
    tokens: ParamId,
    positions: ParamId,
    types: ParamId,
    embedding_norm: Norm,
    layers: Vec<Layer>,
    pooler: Option<Linear>,
    words: Option<WordHead>,
    /// Of a classifier, or whether the second text follows the first.
    classes: Option<Linear>,
}

#[derive(Clone, Debug)]
struct Layer {
    attention: SelfAttention,
    attention_norm: Norm,
    ffn: FeedForward,
    ffn_norm: Norm,
}

/// From a representation to scores of words; its last layer is the embedding table with a bias of its own.
#[derive(Clone, Debug)]
struct WordHead {
    transform: Linear,
    norm: Norm,
    bias: ParamId,
}

impl Bert {
    /// Declares the parameters, under the names `transformers` gives them: with `bert.` before them unless the encoder is all there is.
    pub fn new(config: &BertConfig, builder: &mut Builder) -> Result<Self> {
        config.validate()?;
        let (c, v, eps) = (config.hidden_size, config.vocab_size, config.layer_norm_eps);
        let prefix = match config.head {
            BertHead::Bare | BertHead::Pooler => "",
            BertHead::MaskedLm | BertHead::PreTraining | BertHead::Classifier(_) => "bert.",
        };
        let table = |builder: &mut Builder, name: &str, rows, init| {
            builder.add(&format!("{prefix}embeddings.{name}_embeddings.weight"), &[rows, c], init)
        };
        let tokens = table(builder, "word", v, TABLE);
        let positions = table(builder, "position", config.max_position_embeddings, POSITIONS);
        let types = table(builder, "token_type", config.type_vocab_size, TABLE);
        let embedding_norm = Norm::new(builder, &format!("{prefix}embeddings.LayerNorm"), c, eps);
        let layers = (0..config.num_hidden_layers).map(|l| Layer::new(config, builder, prefix, l)).collect();
        let pooler = config.head.has_pooler();
        let pooler = pooler.then(|| Linear::new(builder, &format!("{prefix}pooler.dense"), c, c, MATRIX));
        let words = config.head.fills_masks().then(|| WordHead {
            bias: builder.add("cls.predictions.bias", &[v], Init::Zeros),
            transform: Linear::new(builder, "cls.predictions.transform.dense", c, c, MATRIX),
            norm: Norm::new(builder, "cls.predictions.transform.LayerNorm", c, eps),
        });
        let classes = match &config.head {
            BertHead::PreTraining => Some(Linear::new(builder, "cls.seq_relationship", 2, c, TABLE)),
            BertHead::Classifier(labels) => Some(Linear::new(builder, "classifier", labels.len(), c, TABLE)),
            _ => None,
        };
        let config = config.clone();
        Ok(Self { config, tokens, positions, types, embedding_norm, layers, pooler, words, classes })
    }

    /// What it was made from.
    pub fn config(&self) -> &BertConfig {
        &self.config
    }

    /// The labels of a classifier.
    pub fn labels(&self) -> Option<&[String]> {
        match &self.config.head {
            BertHead::Classifier(labels) => Some(labels),
            _ => None,
        }
    }

    /// The representation of every token: (n) -> (n, c).
    #[track_caller]
    pub fn hidden(&self, t: &mut Tape, input: &Typed) -> Var {
        self.walk(t, input, |_| {})
    }

    /// The same after the embeddings, and after each layer: layers + 1 of them, the last is [`Bert::hidden`].
    #[track_caller]
    pub fn hidden_by_layer(&self, t: &mut Tape, input: &Typed) -> Vec<Var> {
        let mut all = Vec::with_capacity(self.layers.len() + 1);
        self.walk(t, input, |x| all.push(x.clone()));
        all
    }

    #[track_caller]
    fn walk(&self, t: &mut Tape, input: &Typed, mut after: impl FnMut(&Var)) -> Var {
        let x = t.embedding(&input.tokens.ids, self.tokens, 1.0);
        let x = t.add_positions(&x, &input.types, PositionTable::Learned(self.types));
        let x = t.add_positions(&x, &input.tokens.positions, PositionTable::Learned(self.positions));
        let x = self.embedding_norm.forward(t, &x);
        let mut stream = Stream::new(t.dropout(&x, self.config.dropout));
        after(stream.x());
        for (l, layer) in self.layers.iter().enumerate() {
            stream = t.scope(format_args!("layers.{l}"), |t| layer.forward(t, stream, input, &self.config));
            after(stream.x());
        }
        stream.finish(t, None)
    }

    /// The table of vectors of the words, before anything around them is seen.
    pub fn word_table(&self) -> ParamId {
        self.tokens
    }

    /// One vector a sequence: (n, c) -> (sequences, c).
    ///
    /// # Panics
    /// If its head has no pooler.
    #[track_caller]
    pub fn pooled(&self, t: &mut Tape, hidden: &Var, input: &Typed) -> Var {
        let cls = t.rows(hidden, &input.firsts);
        self.pooler.as_ref().expect("a head with a pooler").forward(t, &cls, Activation::Tanh)
    }

    /// The rows that the output layer meets: (n, c) -> (rows, c).
    #[track_caller]
    fn transformed(&self, t: &mut Tape, hidden: &Var, rows: &Arc<[u32]>) -> Var {
        let head = self.words.as_ref().expect("a head for masked words");
        let x = t.rows(hidden, rows);
        let x = head.transform.forward(t, &x, self.config.hidden_act);
        head.norm.forward(t, &x)
    }

    /// Scores over the vocabulary at some rows of the hidden states: (n, c) -> (rows, v).
    ///
    /// # Panics
    /// If its head is not for masked words.
    #[track_caller]
    pub fn word_logits(&self, t: &mut Tape, hidden: &Var, rows: &Arc<[u32]>) -> Var {
        let x = self.transformed(t, hidden, rows);
        let bias = self.words.as_ref().map(|head| head.bias);
        t.linear(&x, self.tokens, bias, Activation::None)
    }

    /// weight · Σ −ln p(word at each masked row), with label smoothing by option. Where the batch says which texts follow each other and the
    /// head has a place for it, the mean loss of that is added, with the weight of the words.
    ///
    /// # Panics
    /// If its head is not for masked words.
    #[track_caller]
    pub fn masked_loss(&self, t: &mut Tape, batch: &MaskedBatch, spec: LossSpec) -> Var {
        let hidden = self.hidden(t, &batch.input);
        let x = self.transformed(t, &hidden, &batch.rows);
        let bias = self.words.as_ref().map(|head| head.bias);
        let words = t.output_loss(&x, self.tokens, bias, &batch.targets, spec);
        let (Some(follows), Some(classes)) = (&batch.follows, &self.classes) else { return words };
        let pooled = self.pooled(t, &hidden, &batch.input);
        let weight = match batch.asked_a_sequence {
            Some(asked) => spec.weight * asked,
            None => spec.weight * batch.targets.len() as f32 / follows.len() as f32,
        };
        let order =
            t.output_loss(&pooled, classes.w, classes.b, follows, LossSpec { smoothing: 0.0, weight });
        t.add(&words, &order)
    }

    /// Scores of the labels for each sequence (for [`BertHead::PreTraining`]: follows, does not): -> (sequences, labels).
    ///
    /// # Panics
    /// If its head has none.
    #[track_caller]
    pub fn class_logits(&self, t: &mut Tape, hidden: &Var, input: &Typed) -> Var {
        let pooled = self.pooled(t, hidden, input);
        self.classes.as_ref().expect("a head with labels").forward(t, &pooled, Activation::None)
    }

    /// weight · Σ −ln p(label), with label smoothing by option.
    ///
    /// # Panics
    /// If its head is no classifier.
    #[track_caller]
    pub fn class_loss(&self, t: &mut Tape, batch: &LabelledBatch, spec: LossSpec) -> Var {
        let hidden = self.hidden(t, &batch.input);
        let pooled = self.pooled(t, &hidden, &batch.input);
        let pooled = t.dropout(&pooled, self.config.dropout);
        let classes = self.classes.as_ref().expect("a head with labels");
        t.output_loss(&pooled, classes.w, classes.b, &batch.labels, spec)
    }
}

impl Layer {
    fn new(config: &BertConfig, builder: &mut Builder, prefix: &str, l: usize) -> Self {
        let (c, f, eps) = (config.hidden_size, config.intermediate_size, config.layer_norm_eps);
        let name = |part: &str| format!("{prefix}encoder.layer.{l}.{part}");
        let qkv = ["query", "key", "value"];
        Self {
            attention: SelfAttention {
                qkv: Linear::stacked(
                    builder,
                    &name("attention.self"),
                    &qkv,
                    c,
                    c,
                    Init::XavierBlocks { rows: c },
                ),
                out: Linear::new(builder, &name("attention.output.dense"), c, c, MATRIX),
                heads: config.num_attention_heads,
                causality: Causality::Full,
                scaling: Scaling::SqrtWidth,
            },
            attention_norm: Norm::new(builder, &name("attention.output.LayerNorm"), c, eps),
            ffn: FeedForward {
                up: Linear::new(builder, &name("intermediate.dense"), f, c, MATRIX),
                down: Linear::new(builder, &name("output.dense"), c, f, MATRIX),
                phi: config.hidden_act,
            },
            ffn_norm: Norm::new(builder, &name("output.LayerNorm"), c, eps),
        }
    }

    fn forward(&self, t: &mut Tape, stream: Stream, input: &Typed, config: &BertConfig) -> Stream {
        let (post, p) = (NormPlacement::Post, config.dropout);
        let stream = stream.sublayer(t, post, &self.attention_norm, p, |t, x| {
            t.scope("self_attention", |t| self.attention.forward(t, x, &input.tokens.spans, None))
        });
        stream.sublayer(t, post, &self.ffn_norm, p, |t, x| self.ffn.forward(t, x))
    }
}
