//! The recurrent encoder-decoder, with and without attention: read a sentence token by token, then say another one.
//!
//! ```text
//! encoder:   h_j = cell(embedding[x_j], h_{j−1})            layer on layer; both ways by option, h_j the two side by side
//! bridge:    s_0 = h_last                                   each decoder layer begins where the encoder's layer ended;
//!                                                           of two ways s_0 = tanh(B·[→h_last | ←h_first] + b)
//! decoder:   none      s_i = cell(y_i, s_{i−1})             y_i = embedding of the token before
//!            dot       s_i = cell(y_i, s_{i−1}),   c_i = Σ_j softmax_j(s_i·k_j)·h_j,  k_j = h_j (or K·h_j of two ways)
//!            additive  c_i = Σ_j softmax_j(vᵀ·tanh(W·s_{i−1} + U·h_j))·h_j,   s_i = cell([y_i | c_i], s_{i−1})
//! readout:   r_i = tanh(R·[s_i | c_i | y_i] + b),   logits = r_i·outputᵀ + bias
//! ```
//!
//! With several layers the first one looks back (additive), or the last one (dot); the others run on what the one below says.
//! References: Sutskever et al. 2014 (none), Luong et al. 2015 (dot), Bahdanau et al. 2015 (additive).

use crate::config::{Directions, MOST_RNN_LAYERS, RnnAttention, RnnConfig, Tie};
use crate::data::batch::{Packed, PairBatch};
use crate::error::Result;
use crate::nn::{Builder, Linear};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::attention::{Causality, Span};
use limpid_tensor::kernels::recurrent::Direction;
use limpid_tensor::ops::{
    AdditiveWeights, AttentionPlan, Columns, LossSpec, PaddingMask, RecurrentWeights, SourceStates, State,
};
use limpid_tensor::params::{Init, ParamId};
use limpid_tensor::tape::{Tape, Var};
use std::sync::Arc;

/// Which parameters a recurrent encoder-decoder has, and how it computes with them.
#[derive(Clone, Debug)]
pub struct Rnn {
    config: RnnConfig,
    source_tokens: ParamId,
    target_tokens: ParamId,
    /// Layer by layer, each one or two ways.
    encoder: Vec<Vec<RecurrentWeights>>,
    /// Where the encoder reads both ways: how each decoder layer begins.
    bridges: Vec<Bridge>,
    attention: Attention,
    decoder: Vec<RecurrentWeights>,
    readout: Linear,
    output: ParamId,
    output_bias: ParamId,
}

#[derive(Clone, Copy, Debug)]
struct Bridge {
    hidden: Linear,
    /// Of an LSTM; without tanh, for c is not bounded.
    memory: Option<Linear>,
}

#[derive(Clone, Copy, Debug)]
enum Attention {
    None,
    /// K, where the widths of states and source differ.
    Dot(Option<ParamId>),
    /// W and v; and U.
    Additive(AdditiveWeights, ParamId),
}

/// What the decoder needs of the source.
#[derive(Clone, Debug)]
pub struct RnnMemory {
    /// With attention: keys and states of all source tokens.
    pub source: Option<SourceStates>,
    /// How each decoder layer begins.
    pub states: States,
}

/// The states of all layers of the decoder, first to last.
pub type States = [Option<State>; MOST_RNN_LAYERS];

impl Rnn {
    /// Declares the parameters. Layers have the names that PyTorch's `nn.RNN`, `nn.GRU` and `nn.LSTM` give them.
    pub fn new(config: &RnnConfig, builder: &mut Builder) -> Result<Self> {
        config.validate()?;
        let (e, h, m) = (config.embedding_size, config.hidden_size, config.source_width());
        let (v, layers) = (config.decoder_vocab_size, config.num_layers);
        let table = Init::Normal(0.1);
        let (source_tokens, target_tokens) = match config.share_encoder_decoder_embeddings {
            Tie::Shared => {
                let shared = builder.add("shared.weight", &[config.vocab_size, e], table);
                (shared, shared)
            }
            Tie::Separate => (
                builder.add("encoder.embed_tokens.weight", &[config.vocab_size, e], table),
                builder.add("decoder.embed_tokens.weight", &[v, e], table),
            ),
        };
        let ways: &[&str] = match config.directions {
            Directions::Forward => &[""],
            Directions::Both => &["", "_reverse"],
        };
        let mut layer = |name: &str, l: usize, way: &str, input: usize| {
            recurrent_weights(builder, config, &format!("{name}.rnn"), &format!("l{l}{way}"), input)
        };
        let input = |l: usize, first: usize, above: usize| if l == 0 { first } else { above };
        let encoder = (0..layers)
            .map(|l| ways.iter().map(|way| layer("encoder", l, way, input(l, e, m))).collect())
            .collect();
        let looked_up = if config.attention == RnnAttention::Additive { m } else { 0 };
        let decoder = (0..layers).map(|l| layer("decoder", l, "", input(l, e + looked_up, h))).collect();
        let bridges = match config.directions {
            Directions::Forward => Vec::new(),
            Directions::Both => (0..layers).map(|l| Bridge::new(config, builder, l)).collect(),
        };
        let attention = Attention::new(config, builder);
        let readout = Linear::new(builder, "readout", e, h + config.context_width() + e, Init::Xavier);
        let output = match config.tie_word_embeddings {
            Tie::Shared => target_tokens,
            Tie::Separate => builder.add("lm_head.weight", &[v, e], table),
        };
        let output_bias = builder.add("lm_head.bias", &[v], Init::Zeros);
        Ok(Self {
            config: config.clone(),
            source_tokens,
            target_tokens,
            encoder,
            bridges,
            attention,
            decoder,
            readout,
            output,
            output_bias,
        })
    }

    /// What it was made from.
    pub fn config(&self) -> &RnnConfig {
        &self.config
    }

    /// Reads the source.
    #[track_caller]
    pub fn encode(&self, t: &mut Tape, source: &Packed) -> RnnMemory {
        let (config, time) = (&self.config, source.by_time());
        let x = t.embedding(&time.ids, self.source_tokens, 1.0);
        let mut x = t.dropout(&x, config.dropout);
        let zeros = State::zeros(config.cell, source.sequences(), config.hidden_size);
        let mut states = States::default();
        for (l, ways) in self.encoder.iter().enumerate() {
            if l > 0 {
                x = t.dropout(&x, config.dropout);
            }
            let (there, last) = t.recurrent(&x, ways[0], Direction::Forward, &time.order, &zeros);
            x = match ways.get(1) {
                None => {
                    states[l] = Some(last);
                    there
                }
                Some(back) => {
                    let (back, first) = t.recurrent(&x, *back, Direction::Backward, &time.order, &zeros);
                    states[l] = Some(self.bridges[l].forward(t, &last, &first));
                    t.concat(&[&there, &back])
                }
            };
        }
        let key = match self.attention {
            // The states are all that leaves the encoder.
            Attention::None => return RnnMemory { source: None, states },
            Attention::Dot(key) => key,
            Attention::Additive(_, key) => Some(key),
        };
        let values = t.rows(&x, time.order.back());
        let keys = match key {
            Some(key) => t.linear(&values, key, None, Activation::None),
            None => values.clone(),
        };
        RnnMemory { source: Some(SourceStates { keys, values, spans: source.spans.clone() }), states }
    }

    /// What the output layer reads for each target token, (n, e), given the states before `input`; and the states after it.
    #[track_caller]
    pub fn decode(
        &self,
        t: &mut Tape,
        input: &Packed,
        source: Option<&SourceStates>,
        states: &States,
    ) -> (Var, States) {
        let (dropout, time) = (self.config.dropout, input.by_time());
        let (order, back) = (&time.order, time.order.back());
        let word = t.embedding(&time.ids, self.target_tokens, 1.0);
        let word = t.dropout(&word, dropout);
        let mut after = States::default();
        let (mut y, mut looked_up) = (word.clone(), None);
        for (l, weights) in self.decoder.iter().enumerate() {
            let state = states[l].as_ref().expect("a state for every layer");
            if l > 0 {
                y = t.dropout(&y, dropout);
            }
            let last = match (self.attention, source) {
                (Attention::Additive(additive, _), Some(source)) if l == 0 => {
                    let (said, context, last) = t.scope("decoder.0.cross_attention", |t| {
                        t.attentive_recurrent(&y, *weights, additive, source, order, state)
                    });
                    (y, looked_up) = (said, Some(context));
                    last
                }
                _ => {
                    let (said, last) = t.recurrent(&y, *weights, Direction::Forward, order, state);
                    y = said;
                    last
                }
            };
            after[l] = Some(last);
        }
        let hidden = match (self.attention, source, &looked_up) {
            (Attention::Dot(_), Some(source), _) => {
                // Looks from all steps at once: it changes no state. Attention wants the rows of a sequence together.
                let (y, word) = (t.rows(&y, back), t.rows(&word, back));
                let context = self.look(t, &y, &input.spans, source);
                let all = t.concat(&[&y, &context, &word]);
                self.readout.forward(t, &all, Activation::Tanh)
            }
            (_, _, context) => {
                let all = match context {
                    Some(context) => t.concat(&[&y, context, &word]),
                    None => t.concat(&[&y, &word]),
                };
                let hidden = self.readout.forward(t, &all, Activation::Tanh);
                t.rows(&hidden, back)
            }
        };
        (t.dropout(&hidden, dropout), after)
    }

    /// c_i = Σ_j softmax_j(s_i·k_j)·h_j: (n, h) -> (n, m).
    fn look(&self, t: &mut Tape, y: &Var, spans: &Arc<[Span]>, source: &SourceStates) -> Var {
        let plan = AttentionPlan {
            heads: 1,
            scale: 1.0,
            causality: Causality::Full,
            padding: PaddingMask::None,
            q_spans: spans.clone(),
            k_spans: source.spans.clone(),
        };
        let columns = |of: &Var| Columns { of: of.clone(), first: 0, width: of.rows_cols().1 };
        let last = self.decoder.len() - 1;
        t.scope(format_args!("decoder.{last}.cross_attention"), |t| {
            t.attention(columns(y), columns(&source.keys), columns(&source.values), &plan)
        })
    }

    /// weight · Σ −ln p(target token), each given its source and the right tokens before it.
    #[track_caller]
    pub fn loss(&self, t: &mut Tape, batch: &PairBatch, spec: LossSpec) -> Var {
        let memory = self.encode(t, &batch.source);
        let (hidden, _) = self.decode(t, &batch.input, memory.source.as_ref(), &memory.states);
        t.output_loss(&hidden, self.output, Some(self.output_bias), &batch.targets, spec)
    }

    /// Scores over the target vocabulary for rows of what `decode` gives: (n, e) -> (n, v).
    #[track_caller]
    pub fn logits(&self, t: &mut Tape, hidden: &Var) -> Var {
        t.linear(hidden, self.output, Some(self.output_bias), Activation::None)
    }
}

/// `name.weight_ih_l0` and so on, as PyTorch names and draws them: uniform in ±1/√h.
fn recurrent_weights(
    builder: &mut Builder,
    config: &RnnConfig,
    name: &str,
    end: &str,
    input: usize,
) -> RecurrentWeights {
    let h = config.hidden_size;
    let g = config.cell.gates() * h;
    let init = Init::Uniform(1.0 / (h as f32).sqrt());
    let mut add = |part: &str, shape: &[usize]| builder.add(&format!("{name}.{part}_{end}"), shape, init);
    RecurrentWeights {
        cell: config.cell,
        w_ih: add("weight_ih", &[g, input]),
        w_hh: add("weight_hh", &[g, h]),
        b_ih: add("bias_ih", &[g]),
        b_hh: add("bias_hh", &[g]),
    }
}

impl Bridge {
    fn new(config: &RnnConfig, builder: &mut Builder, l: usize) -> Self {
        let (h, m) = (config.hidden_size, config.source_width());
        let mut linear = |what: &str| Linear::new(builder, &format!("bridge.{what}.{l}"), h, m, Init::Xavier);
        let hidden = linear("hidden");
        Self { hidden, memory: config.cell.has_memory().then(|| linear("memory")) }
    }

    /// One state of the last states of both ways.
    fn forward(&self, t: &mut Tape, there: &State, back: &State) -> State {
        let both = t.concat(&[&there.h, &back.h]);
        let h = self.hidden.forward(t, &both, Activation::Tanh);
        let c = match (&self.memory, &there.c, &back.c) {
            (Some(linear), Some(there), Some(back)) => {
                let both = t.concat(&[there, back]);
                Some(linear.forward(t, &both, Activation::None))
            }
            _ => None,
        };
        State { h, c }
    }
}

impl Attention {
    fn new(config: &RnnConfig, builder: &mut Builder) -> Self {
        let (h, m, k) = (config.hidden_size, config.source_width(), config.attention_size);
        let mut add = |name: &str, shape: &[usize]| builder.add(name, shape, Init::Xavier);
        match config.attention {
            RnnAttention::None => Attention::None,
            RnnAttention::Dot => Attention::Dot((m != h).then(|| add("attention.key.weight", &[h, m]))),
            RnnAttention::Additive => {
                let query = add("attention.query.weight", &[k, h]);
                let v = add("attention.score.weight", &[1, k]);
                Attention::Additive(AdditiveWeights { query, v }, add("attention.key.weight", &[k, m]))
            }
        }
    }
}
