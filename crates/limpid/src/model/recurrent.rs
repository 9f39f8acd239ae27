//! The recurrent encoder-decoder, with and without attention.
//!
//! ```text
//! encoder:   h_j = cell(embedding[x_j], h_{j−1}), layer on layer; bidirectional by option, h_j the
//!            two concatenated
//! bridge:    s_0 = h_last for each layer; bidirectional: s_0 = tanh(B·[→h_last | ←h_first] + b)
//! decoder:   y_i = embedding of the token before
//!   none      s_i = cell(y_i, s_{i−1})
//!   dot       s_i = cell(y_i, s_{i−1}),   c_i = Σ_j softmax_j(s_i·k_j)·h_j,
//!             k_j = h_j, or K·h_j if bidirectional
//!   additive  c_i = Σ_j softmax_j(vᵀ·tanh(W·s_{i−1} + U·h_j))·h_j,
//!             s_i = cell([y_i | c_i], s_{i−1})
//! readout:   r_i = tanh(R·[s_i | c_i | y_i] + b),   logits = r_i·outputᵀ + bias
//! ```
//!
//! Of several layers the first attends (additive) or the last (dot); every other layer reads the
//! states of the one below. References: Sutskever et al. 2014 (none), Luong et al. 2015 (dot),
//! Bahdanau et al. 2015 (additive).

use super::seq2seq::embedding_tables;
use crate::data::batch::{Packed, PairBatch};
use crate::error::Result;
use crate::model::config::{
    Directions, MAX_RECURRENT_LAYERS, RecurrentAttention, RecurrentConfig, Tie,
};
use crate::nn::Linear;
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::attention::{Causality, Span};
use limpid_tensor::kernels::recurrent::Direction;
use limpid_tensor::ops::{
    AdditiveWeights, AttentionPlan, Columns, LossSpec, RecurrentState, RecurrentWeights,
    SourceStates,
};
use limpid_tensor::params::{Init, ParamId, ParamsBuilder};
use limpid_tensor::tape::{Tape, Var};
use std::sync::Arc;

/// The parameters of a recurrent encoder-decoder, and its forward pass.
#[derive(Clone, Debug)]
pub struct Recurrent {
    config: RecurrentConfig,
    source_tokens: ParamId,
    target_tokens: ParamId,
    /// For each layer, its directions.
    encoder: Vec<Vec<RecurrentWeights>>,
    /// For a bidirectional encoder: the initial state of each decoder layer.
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
    /// For the cell state of an LSTM; without tanh, for it is not bounded.
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

/// The encoded source.
#[derive(Clone, Debug)]
pub struct RecurrentMemory {
    /// With attention: keys and states of all source tokens.
    pub source: Option<SourceStates>,
    /// The initial state of each decoder layer.
    pub states: States,
}

/// The states of all layers of the decoder, first to last.
pub type States = [Option<RecurrentState>; MAX_RECURRENT_LAYERS];

impl Recurrent {
    /// Declares the parameters. Recurrent layers name theirs as PyTorch does: `weight_ih_l0`, ….
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(config: &RecurrentConfig, builder: &mut ParamsBuilder) -> Result<Self> {
        config.validate()?;
        let (e, h, m) = (config.embedding_size, config.hidden_size, config.source_width());
        let (v, layers) = (config.decoder_vocab_size, config.num_layers);
        let table = Init::Normal(0.1);
        let tie = config.share_encoder_decoder_embeddings;
        let [source_tokens, target_tokens] =
            embedding_tables(builder, tie, [config.vocab_size, v], e, table);
        let ways: &[&str] = match config.directions {
            Directions::Forward => &[""],
            Directions::Bidirectional => &["", "_reverse"],
        };
        let mut layer = |name: &str, l: usize, way: &str, input: InputWidth| {
            recurrent_weights(builder, config, &format!("{name}.rnn"), &format!("l{l}{way}"), input)
        };
        let encoder = (0..layers)
            .map(|l| {
                let input = || InputWidth::Whole(if l == 0 { e } else { m });
                ways.iter().map(|way| layer("encoder", l, way, input())).collect()
            })
            .collect();
        let decoder_input = |l: usize| match (l, config.attention) {
            (0, RecurrentAttention::Additive) => InputWidth::WithContext(e + m),
            (0, _) => InputWidth::Whole(e),
            _ => InputWidth::Whole(h),
        };
        let decoder = (0..layers).map(|l| layer("decoder", l, "", decoder_input(l))).collect();
        let bridges = match config.directions {
            Directions::Forward => Vec::new(),
            Directions::Bidirectional => {
                (0..layers).map(|l| Bridge::new(config, builder, l)).collect()
            }
        };
        let attention = Attention::new(config, builder);
        let readout =
            Linear::new(builder, "readout", [e, h + config.context_width() + e], Init::Xavier);
        let output = match config.tie_word_embeddings {
            Tie::Shared => target_tokens,
            Tie::Separate => builder.add_weight("output.weight", [v, e], table),
        };
        let output_bias = builder.add("output.bias", [v], Init::Zeros);
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

    /// Its configuration.
    pub fn config(&self) -> &RecurrentConfig {
        &self.config
    }

    /// Encodes the source.
    #[track_caller]
    pub fn encode(&self, t: &mut Tape, source: &Packed) -> RecurrentMemory {
        let (config, time) = (&self.config, source.time_major());
        let x = t.embedding(&time.ids, self.source_tokens, 1.0);
        let mut x = t.dropout(&x, config.dropout);
        let zeros = RecurrentState::zeros(config.cell, source.sequences(), config.hidden_size);
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
                    let (back, first) =
                        t.recurrent(&x, *back, Direction::Backward, &time.order, &zeros);
                    states[l] = Some(self.bridges[l].forward(t, &last, &first));
                    t.concat(&[&there, &back])
                }
            };
        }
        let key = match self.attention {
            // The last states are all that the decoder gets.
            Attention::None => return RecurrentMemory { source: None, states },
            Attention::Dot(key) => key,
            Attention::Additive(_, key) => Some(key),
        };
        let values = t.rows(&x, time.order.back());
        let keys = match key {
            Some(key) => t.linear(&values, key, None, Activation::None),
            None => values.clone(),
        };
        RecurrentMemory {
            source: Some(SourceStates { keys, values, spans: source.spans.clone() }),
            states,
        }
    }

    /// The input of the output projection for each target token, (n, e), given the states before
    /// `input`; and the states after it.
    #[track_caller]
    pub fn decode(
        &self,
        t: &mut Tape,
        input: &Packed,
        source: Option<&SourceStates>,
        states: &States,
    ) -> (Var, States) {
        let (dropout, time) = (self.config.dropout, input.time_major());
        let (order, back) = (&time.order, time.order.back());
        let word = t.embedding(&time.ids, self.target_tokens, 1.0);
        let word = t.dropout(&word, dropout);
        let mut after = States::default();
        let (mut y, mut attended) = (word.clone(), None);
        for (l, weights) in self.decoder.iter().enumerate() {
            let state = states[l].as_ref().expect("a state for every layer");
            if l > 0 {
                y = t.dropout(&y, dropout);
            }
            let last = match (self.attention, source) {
                (Attention::Additive(additive, _), Some(source)) if l == 0 => {
                    let (states, context, last) = t.scope("decoder.0.cross_attention", |t| {
                        t.recurrent_with_attention(&y, *weights, additive, source, order, state)
                    });
                    (y, attended) = (states, Some(context));
                    last
                }
                _ => {
                    let (states, last) =
                        t.recurrent(&y, *weights, Direction::Forward, order, state);
                    y = states;
                    last
                }
            };
            after[l] = Some(last);
        }
        let hidden = match (self.attention, source, &attended) {
            (Attention::Dot(_), Some(source), _) => {
                // Attention of all steps at once, for it changes no state. It needs the rows of a
                // sequence together.
                let (y, word) = (t.rows(&y, back), t.rows(&word, back));
                let context = self.attend(t, &y, &input.spans, source);
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
    fn attend(&self, t: &mut Tape, y: &Var, spans: &Arc<[Span]>, source: &SourceStates) -> Var {
        let plan = AttentionPlan::new(1, 1.0, Causality::Full, spans, &source.spans);
        let columns = |of: &Var| Columns { of: of.clone(), first: 0, width: of.rows_cols().1 };
        let last = self.decoder.len() - 1;
        t.scope(format_args!("decoder.{last}.cross_attention"), |t| {
            t.attention(columns(y), columns(&source.keys), columns(&source.values), &plan)
        })
    }

    /// weight · Σ −ln p(target token), with teacher forcing.
    #[track_caller]
    pub fn loss(&self, t: &mut Tape, batch: &PairBatch, spec: LossSpec) -> Var {
        let memory = self.encode(t, &batch.source);
        let (hidden, _) = self.decode(t, &batch.input, memory.source.as_ref(), &memory.states);
        t.output_loss(&hidden, self.output, Some(self.output_bias), &batch.targets, spec)
    }

    /// Logits over the target vocabulary for rows of [`Recurrent::decode`]: (n, e) -> (n, v).
    #[track_caller]
    pub fn logits(&self, t: &mut Tape, hidden: &Var) -> Var {
        t.linear(hidden, self.output, Some(self.output_bias), Activation::None)
    }
}

/// The width of a recurrent layer's input.
enum InputWidth {
    /// Of an input that is multiplied whole.
    Whole(usize),
    /// Of an input to which the context of attention is appended at each step.
    WithContext(usize),
}

/// `name.weight_ih_l0`, …, as PyTorch names and initializes them: uniform in ±1/√h.
fn recurrent_weights(
    builder: &mut ParamsBuilder,
    config: &RecurrentConfig,
    name: &str,
    end: &str,
    input: InputWidth,
) -> RecurrentWeights {
    let h = config.hidden_size;
    let g = config.cell.gates() * h;
    let init = Init::Uniform(1.0 / (h as f32).sqrt());
    let named = |part: &str| format!("{name}.{part}_{end}");
    let w_ih = match input {
        InputWidth::Whole(input) => builder.add_weight(named("weight_ih"), [g, input], init),
        // Its columns for the context are used apart from the others.
        InputWidth::WithContext(input) => builder.add(named("weight_ih"), [g, input], init),
    };
    RecurrentWeights {
        cell: config.cell,
        w_ih,
        w_hh: builder.add_weight(named("weight_hh"), [g, h], init),
        b_ih: builder.add(named("bias_ih"), [g], init),
        b_hh: builder.add(named("bias_hh"), [g], init),
    }
}

impl Bridge {
    fn new(config: &RecurrentConfig, builder: &mut ParamsBuilder, l: usize) -> Self {
        let (h, m) = (config.hidden_size, config.source_width());
        let mut linear =
            |what: &str| Linear::new(builder, &format!("bridge.{what}.{l}"), [h, m], Init::Xavier);
        let hidden = linear("hidden");
        Self { hidden, memory: config.cell.has_cell_state().then(|| linear("memory")) }
    }

    /// The last states of both directions as one state.
    fn forward(
        &self,
        t: &mut Tape,
        there: &RecurrentState,
        back: &RecurrentState,
    ) -> RecurrentState {
        let both = t.concat(&[&there.h, &back.h]);
        let h = self.hidden.forward(t, &both, Activation::Tanh);
        let c = match (&self.memory, &there.c, &back.c) {
            (Some(linear), Some(there), Some(back)) => {
                let both = t.concat(&[there, back]);
                Some(linear.forward(t, &both, Activation::None))
            }
            _ => None,
        };
        RecurrentState { h, c }
    }
}

impl Attention {
    fn new(config: &RecurrentConfig, builder: &mut ParamsBuilder) -> Self {
        let (h, m, k) = (config.hidden_size, config.source_width(), config.attention_size);
        let mut add = |name: &str, shape: [usize; 2]| builder.add_weight(name, shape, Init::Xavier);
        match config.attention {
            RecurrentAttention::None => Attention::None,
            RecurrentAttention::Dot => {
                Attention::Dot((m != h).then(|| add("attention.key.weight", [h, m])))
            }
            RecurrentAttention::Additive => {
                let query = add("attention.query.weight", [k, h]);
                let v = builder.add("attention.score.weight", [1, k], Init::Xavier);
                let key = builder.add_weight("attention.key.weight", [k, m], Init::Xavier);
                Attention::Additive(AdditiveWeights { query, v }, key)
            }
        }
    }
}
