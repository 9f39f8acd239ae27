//! Which tensors of a pass are what: attentions, residual streams, and a role for every tensor.

use super::ForwardPass;
use crate::inspect::explain::tensor_name;
use limpid_tensor::kernels::attention::{Causality, Window};
use limpid_tensor::params::Params;
use limpid_tensor::tape::{Operation, TracedStep};

/// A stack of layers within a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StackName {
    /// The only one of a decoder or an encoder.
    Layers,
    /// The encoder of an encoder-decoder.
    Encoder,
    /// Its decoder.
    Decoder,
}

impl StackName {
    /// Its name in scopes and parameters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Layers => "layers",
            Self::Encoder => "encoder",
            Self::Decoder => "decoder",
        }
    }

    /// The stack of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Layers, Self::Encoder, Self::Decoder].into_iter().find(|s| s.name() == name)
    }
}

/// Which sequence rows belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reading {
    /// The only sequence, or the source of an encoder-decoder.
    Source,
    /// What the decoder of an encoder-decoder reads.
    Target,
}

/// Which attention of which layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttentionSite {
    /// The stack.
    pub stack: StackName,
    /// The layer, counted from 0.
    pub layer: usize,
    /// Whether it reads the source of an encoder-decoder.
    pub cross: bool,
}

impl AttentionSite {
    /// `self_attention`, or of an encoder-decoder `encoder.self_attention`,
    /// `decoder.cross_attention` and so on.
    pub fn name(&self) -> String {
        let kind = if self.cross { "cross_attention" } else { "self_attention" };
        match self.stack {
            StackName::Layers => kind.into(),
            stack => format!("{}.{kind}", stack.name()),
        }
    }

    /// The attention of this name in a layer.
    pub fn from_name(name: &str, layer: usize) -> Option<Self> {
        let (stack, kind) = name.rsplit_once('.').unwrap_or(("layers", name));
        let cross = match kind {
            "self_attention" => false,
            "cross_attention" => true,
            _ => return None,
        };
        Some(Self { stack: StackName::from_name(stack)?, layer, cross })
    }

    /// The scope it runs in: `layers.0.self_attention.`.
    pub(super) fn scope(&self) -> String {
        let kind = if self.cross { "cross_attention" } else { "self_attention" };
        format!("{}.{}.{kind}.", self.stack.name(), self.layer)
    }

    fn of_scope(scope: &str) -> Option<Self> {
        let mut parts = scope.strip_suffix('.')?.split('.');
        let (stack, layer, kind) = (parts.next()?, parts.next()?, parts.next()?);
        let name = if stack == "layers" { kind.into() } else { format!("{stack}.{kind}") };
        Self::from_name(&name, layer.parse().ok()?)
    }
}

/// An attention of a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionPlace {
    /// The step of the trace.
    pub step: usize,
    /// Where in the model.
    pub site: AttentionSite,
    /// h.
    pub heads: usize,
    /// Heads of keys and values.
    pub kv_heads: usize,
    /// d; 0 of additive attention.
    pub head_dim: usize,
    /// Which sequence its queries belong to.
    pub queries: Reading,
    /// Which sequence its keys belong to.
    pub keys: Reading,
    /// t.
    pub t: usize,
    /// s.
    pub s: usize,
    /// Whether queries see later keys.
    pub causality: Causality,
    /// How far queries see.
    pub window: Window,
}

/// The residual stream at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamPlace {
    /// The stack.
    pub stack: StackName,
    /// After this layer; `None` after the embeddings.
    pub layer: Option<usize>,
    /// The step of the trace.
    pub step: usize,
    /// Which of its outputs.
    pub output: usize,
}

/// What a tensor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "names of the parts of a Transformer")]
pub enum Role {
    Embedding,
    Position,
    Query,
    KeyValue,
    QueryKeyValue,
    Rotary,
    /// The outputs of all heads, side by side.
    Heads,
    /// Projected into the residual stream.
    AttentionOutput,
    Norm,
    Sum,
    FeedForwardUp,
    FeedForwardGate,
    FeedForwardDown,
    Logits,
    /// Of a recurrent layer.
    State,
    /// Of additive attention.
    Context,
    Edited,
    Other,
}

impl Role {
    /// Its name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embedding => "embedding",
            Self::Position => "position",
            Self::Query => "q",
            Self::KeyValue => "kv",
            Self::QueryKeyValue => "qkv",
            Self::Rotary => "rotary",
            Self::Heads => "heads",
            Self::AttentionOutput => "attention_out",
            Self::Norm => "norm",
            Self::Sum => "sum",
            Self::FeedForwardUp => "ffn_up",
            Self::FeedForwardGate => "ffn_gate",
            Self::FeedForwardDown => "ffn_down",
            Self::Logits => "logits",
            Self::State => "state",
            Self::Context => "context",
            Self::Edited => "edited",
            Self::Other => "other",
        }
    }
}

/// A tensor of a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorPlace {
    /// The step of the trace.
    pub step: usize,
    /// Which of its outputs.
    pub output: usize,
    /// The parameter that made it, or its scope and operation.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// The stack, where it belongs to one.
    pub stack: Option<StackName>,
    /// The layer, where it belongs to one.
    pub layer: Option<usize>,
    /// Which sequence its rows belong to; `None` if they are no tokens.
    pub of: Option<Reading>,
    /// Rows and columns.
    pub shape: (usize, usize),
}

impl ForwardPass {
    /// All attentions, in the order of the pass.
    pub fn attentions(&self) -> Vec<AttentionPlace> {
        let place = |(step, traced): (usize, &TracedStep)| {
            let site = AttentionSite::of_scope(&traced.scope)?;
            let queries = match site.stack {
                StackName::Decoder => Reading::Target,
                _ => Reading::Source,
            };
            let keys = if site.cross { Reading::Source } else { queries };
            let common = |t, s| AttentionPlace {
                step,
                site,
                heads: 1,
                kv_heads: 1,
                head_dim: 0,
                queries,
                keys,
                t,
                s,
                causality: Causality::Full,
                window: Window::Unlimited,
            };
            match &traced.operation {
                Operation::Attention { q, plan, .. } => {
                    let length = |spans: &[limpid_tensor::kernels::attention::Span]| {
                        spans.first().map_or(0, |span| span.len)
                    };
                    Some(AttentionPlace {
                        heads: plan.heads,
                        kv_heads: plan.kv_heads,
                        head_dim: q.width,
                        causality: plan.causality,
                        window: plan.window,
                        ..common(length(&plan.q_spans), length(&plan.k_spans))
                    })
                }
                Operation::Recurrent(layer) => {
                    let additive = layer.attention.as_ref()?;
                    let s = additive.spans.first().map_or(0, |span| span.len);
                    Some(common(additive.alphas.rows_cols().0, s))
                }
                _ => None,
            }
        };
        self.trace.steps.iter().enumerate().filter_map(place).collect()
    }

    /// The residual stream after the embeddings and each layer, in the order of the pass.
    pub fn streams(&self) -> Vec<StreamPlace> {
        let place = |mark: &limpid_tensor::tape::Mark| {
            let mut parts = mark.name.strip_suffix(".stream")?.split('.');
            let (stack, layer) = (StackName::from_name(parts.next()?)?, parts.next()?);
            let (step, output) = self.trace.marked(mark)?;
            Some(StreamPlace { stack, layer: layer.parse().ok(), step, output })
        };
        self.trace.marks.iter().filter_map(place).collect()
    }

    /// Every tensor that was computed, in order.
    pub fn tensors(&self, params: &Params) -> Vec<TensorPlace> {
        let is_pair = matches!(self.input, super::PassInput::Pair { .. });
        let lengths = [Reading::Source, Reading::Target].map(|of| self.tokens(of).len());
        let (mut embeddings, mut all) = (0, Vec::new());
        for (step, traced) in self.trace.steps.iter().enumerate() {
            if matches!(traced.operation, Operation::Embedding { .. }) {
                embeddings += 1;
            }
            let name = tensor_name(params, traced);
            let (stack, layer) = place_of(&traced.scope, &name);
            for (output, tensor) in traced.outputs.iter().enumerate() {
                let shape = match tensor.shape().rank() {
                    2 => tensor.rows_cols(),
                    _ => (1, tensor.shape().len()),
                };
                if shape.0 * shape.1 == 0 {
                    continue;
                }
                let is_logits =
                    self.logits.as_ref().is_some_and(|logits| logits.shares_data(tensor));
                let role = if is_logits { Role::Logits } else { role(traced, &name, output) };
                let reads_source = name.ends_with("cross_attention.kv") || embeddings < 2;
                let of = match (is_pair, reads_source) {
                    (true, false) => Reading::Target,
                    _ => Reading::Source,
                };
                let of = Some(of).filter(|of| shape.0 == lengths[*of as usize]);
                let name = name.clone();
                all.push(TensorPlace { step, output, name, role, stack, layer, of, shape });
            }
        }
        all
    }
}

/// The stack and layer, from a scope or the name of a parameter: `decoder.layers.1.…`.
fn place_of(scope: &str, name: &str) -> (Option<StackName>, Option<usize>) {
    for text in [scope, name] {
        let parts: Vec<&str> = text.split('.').collect();
        for (i, part) in parts.iter().enumerate() {
            let layer = part.parse().ok();
            let stack = match i {
                0 => None,
                _ if parts[i - 1] == "layers" && i > 1 => StackName::from_name(parts[i - 2]),
                _ => StackName::from_name(parts[i - 1]),
            };
            if let (Some(stack), Some(layer)) = (stack, layer) {
                return (Some(stack), Some(layer));
            }
        }
    }
    (name.split('.').next().and_then(StackName::from_name), None)
}

fn role(step: &TracedStep, name: &str, output: usize) -> Role {
    let last = name.rsplit('.').next().unwrap_or("");
    match &step.operation {
        Operation::Embedding { .. } => Role::Embedding,
        Operation::Positions { .. } => Role::Position,
        Operation::Rotary { .. } => Role::Rotary,
        Operation::Attention { .. } => Role::Heads,
        Operation::Gated { .. } => Role::FeedForwardGate,
        Operation::Add { .. } => Role::Sum,
        Operation::AddNorm { .. } | Operation::AddRmsNorm { .. } if output == 0 => Role::Sum,
        Operation::AddNorm { .. }
        | Operation::AddRmsNorm { .. }
        | Operation::LayerNorm { .. }
        | Operation::RmsNorm { .. }
        | Operation::HeadNorm { .. }
        | Operation::BatchNorm { .. } => Role::Norm,
        Operation::Recurrent(layer) => match (output, layer.attention.is_some()) {
            (1, true) => Role::Context,
            _ => Role::State,
        },
        Operation::Edited { .. } => Role::Edited,
        Operation::Linear { .. } => match last {
            "qkv" => Role::QueryKeyValue,
            "q" => Role::Query,
            "kv" => Role::KeyValue,
            "out" => Role::AttentionOutput,
            "up" => Role::FeedForwardUp,
            "down" => Role::FeedForwardDown,
            _ => Role::Other,
        },
        _ => Role::Other,
    }
}
