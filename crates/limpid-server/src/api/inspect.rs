//! Answers that open up: the optional field `inspect`.

use super::generation::Finished;
use super::passes::{Read, call};
use super::{App, Caller, reply};
use crate::http::Problem;
use crate::models::ServedModel;
use axum::body::Body;
use axum::http::Response;
use limpid::generate::{BeamStep, Step, Trace};
use limpid::inspect::{self, LayerAttention, LogProbability};
use limpid::model::{Seq2Seq, Stack};
use limpid::pipeline::Pipeline;
use limpid::text::Tokenizer;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Instant;
use utoipa::ToSchema;

/// Candidates of a step that are listed at most.
const MAX_CANDIDATES: usize = 1_000;
/// Tokens that each layer predicts, at most.
const MAX_LENS: usize = 20;
/// Numbers of an answer: attention weights, or predictions of layers.
pub const MAX_NUMBERS: usize = 1 << 20;

/// What an answer is to be opened to.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Inspect {
    /// The trace of each step: how each token was selected, with so many candidates.
    pub trace: Option<usize>,
    /// Attention: true, or which layers and heads.
    pub attention: Option<Attending>,
    /// The word alignment of a translation.
    pub alignment: bool,
    /// What each layer of a language model would predict after each token: so many tokens.
    pub logit_lens: Option<usize>,
    /// Time by stage.
    pub timing: bool,
}

/// Which attention is wanted.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(untagged, expecting = "expected true, or an object with layers and heads")]
pub enum Attending {
    /// The mean over the heads: of a translation the cross-attention of its sharpest layer, else of
    /// all layers.
    Mean(bool),
    /// Of some layers and heads.
    Some(AttentionChoice),
}

/// Layers and heads, counted from 0.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AttentionChoice {
    /// Layers; all without them.
    pub layers: Option<Vec<usize>>,
    /// Heads; their mean without them.
    pub heads: Option<Vec<usize>>,
}

/// What was found inside.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Inspection {
    /// For each text, how each token was selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    pub trace: Option<Vec<Vec<Step>>>,
    /// The steps of a beam search.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    pub beams: Vec<BeamStep>,
    /// Cross-attention of a translation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attention: Option<Attention>,
    /// Attention by layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attentions: Option<Attentions>,
    /// Pairs (source word, target word), words counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Vec<usize>>>)]
    pub alignment: Option<Vec<(usize, usize)>>,
    /// What each layer would predict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logit_lens: Option<LogitLens>,
    /// Time by stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
}

/// Cross-attention of a translation.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Attention {
    /// Tokens of the source, the end token last.
    pub source: Vec<String>,
    /// Tokens of the translation, the end token last.
    pub target: Vec<String>,
    /// The decoder layer, counted from 0: the one with the sharpest attention.
    pub layer: usize,
    /// Weights, a row for each target token; the mean over the heads.
    pub weights: Vec<Vec<f32>>,
}

/// Attention by layer.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Attentions {
    /// Tokens that an encoder-decoder translated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<String>,
    /// Tokens that the model read; of an encoder-decoder, those that its decoder read.
    pub tokens: Vec<String>,
    /// A map for each layer, or for each of its heads.
    pub maps: Vec<AttentionMap>,
}

/// The attention of a layer.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AttentionMap {
    /// `self_attention`, or of an encoder-decoder `encoder.self_attention`,
    /// `decoder.self_attention`, `decoder.cross_attention`.
    pub name: String,
    /// The layer, counted from 0.
    pub layer: usize,
    /// The head, counted from 0; none for the mean over the heads.
    pub head: Option<usize>,
    /// Weights, a row for each token that attends.
    pub weights: Vec<Vec<f32>>,
}

/// What each layer of a language model would predict.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct LogitLens {
    /// The tokens of the prompt and the text.
    pub tokens: Vec<String>,
    /// For the embeddings and each layer, for each token: the most likely next ones.
    pub layers: Vec<Vec<Vec<Predicted>>>,
}

/// A token that is predicted.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Predicted {
    /// The token.
    pub token: String,
    /// Its probability.
    pub probability: f32,
}

/// Time by stage, in milliseconds.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Timing {
    /// Until it was admitted: tokenization.
    pub prepare_ms: f64,
    /// In the queue.
    pub queue_ms: f64,
    /// The model.
    pub compute_ms: f64,
}

impl Timing {
    /// Of a request that began, was admitted, left the queue, and has its answer now.
    pub fn new(begun: Instant, admitted: Instant, started: Instant) -> Self {
        let milliseconds =
            |from: Instant, to: Instant| to.saturating_duration_since(from).as_secs_f64() * 1e3;
        Self {
            prepare_ms: milliseconds(begun, admitted),
            queue_ms: milliseconds(admitted, started),
            compute_ms: milliseconds(started, Instant::now()),
        }
    }
}

/// An answer that is no object, with what was found inside.
#[derive(Serialize)]
struct Opened<'a, T> {
    output: &'a T,
    inspect: Vec<Inspection>,
}

fn invalid(message: impl Into<String>) -> Problem {
    Problem::invalid(message).with_param("inspect")
}

impl AttentionChoice {
    /// Checks that the model has these layers and heads; gives how many maps there will be.
    fn maps(&self, layers: usize, heads: usize) -> Result<usize, Problem> {
        let check = |name: &str, wanted: &Option<Vec<usize>>, all: usize| match wanted {
            Some(wanted) => match wanted.iter().find(|i| **i >= all) {
                Some(i) => Err(invalid(format!("{name} {i}: the model has {all}"))),
                None => Ok(wanted.len()),
            },
            None => Ok(all),
        };
        let chosen = check("layer", &self.layers, layers)?;
        let each = check("head", &self.heads, heads)?;
        Ok(chosen * if self.heads.is_some() { each } else { 1 })
    }

    fn wants(&self, layer: usize) -> bool {
        self.layers.as_ref().is_none_or(|layers| layers.contains(&layer))
    }

    fn chosen(&self, found: LayerAttention) -> Vec<AttentionMap> {
        let LayerAttention { name, layer, heads } = found;
        let map = |head, weights| AttentionMap { name: name.clone(), layer, head, weights };
        match &self.heads {
            Some(wanted) => {
                let wanted = wanted.iter().filter_map(|i| Some((*i, heads.get(*i)?.clone())));
                wanted.map(|(i, weights)| map(Some(i), weights)).collect()
            }
            None => vec![map(None, mean(&heads))],
        }
    }
}

fn mean(heads: &[Vec<Vec<f32>>]) -> Vec<Vec<f32>> {
    let Some((first, others)) = heads.split_first() else { return Vec::new() };
    let mut sum = first.clone();
    for (to, row) in others.iter().flat_map(|head| head.iter().enumerate()) {
        sum[to].iter_mut().zip(row).for_each(|(sum, weight)| *sum += weight);
    }
    let count = heads.len() as f32;
    sum.iter_mut().flatten().for_each(|weight| *weight /= count);
    sum
}

/// Layers and heads of a model.
fn sizes(stack: &Stack) -> (usize, usize) {
    match stack {
        Stack::Decoder(model) => {
            (model.config().num_hidden_layers, model.config().num_attention_heads)
        }
        Stack::Encoder(model) => {
            (model.config().num_hidden_layers, model.config().num_attention_heads)
        }
        Stack::EncoderDecoder(model) => {
            let config = model.config();
            let heads = config.encoder_attention_heads.max(config.decoder_attention_heads);
            (config.encoder_layers.max(config.decoder_layers), heads)
        }
        Stack::Recurrent(_) => (1, 1),
    }
}

fn pieces(tokenizer: &Tokenizer, ids: &[u32]) -> Vec<String> {
    ids.iter().map(|id| super::logprobs::piece(tokenizer, *id)).collect()
}

impl Inspect {
    /// How much of each step must be reported.
    /// # Errors
    /// A [`Problem`] for too many candidates.
    pub fn tracing(&self, otherwise: Trace) -> Result<Trace, Problem> {
        match self.trace {
            None => Ok(otherwise),
            Some(candidates) => {
                super::inputs::check_range("inspect", candidates, 0..=MAX_CANDIDATES)?;
                Ok(match otherwise {
                    Trace::Top(least) => Trace::Top(candidates.max(least)),
                    _ => Trace::Top(candidates),
                })
            }
        }
    }

    /// Refuses what a model of its kind has not, before anything is computed.
    /// # Errors
    /// A [`Problem`] that names it.
    pub fn check(&self, served: &ServedModel) -> Result<(), Problem> {
        let (generates, translates) = match &served.pipeline {
            Pipeline::Generator(_) => (true, false),
            Pipeline::Translator(_) => (true, true),
            _ => (false, false),
        };
        if self.trace.is_some() && !generates {
            return Err(invalid("trace: only a model that generates has steps"));
        }
        if self.alignment && !translates {
            return Err(invalid("alignment: only a translator aligns words"));
        }
        if self.logit_lens.is_some() && (!generates || translates) {
            return Err(invalid("logit_lens: only a language model predicts after each layer"));
        }
        super::inputs::check_range("inspect", self.logit_lens.unwrap_or(0), 0..=MAX_LENS)?;
        if let Some(Attending::Some(choice)) = &self.attention {
            let (layers, heads) = sizes(&served.pipeline.model().stack);
            choice.maps(layers, heads)?;
        }
        Ok(())
    }

    /// The layers and heads that are wanted, of a model that reads so many tokens of one of several
    /// texts.
    fn choice(
        &self,
        stack: &Stack,
        tokens: usize,
        texts: usize,
    ) -> Result<Option<AttentionChoice>, Problem> {
        let choice = match &self.attention {
            None | Some(Attending::Mean(false)) => return Ok(None),
            Some(Attending::Mean(true)) => AttentionChoice::default(),
            Some(Attending::Some(choice)) => choice.clone(),
        };
        let (layers, heads) = sizes(stack);
        let numbers = choice.maps(layers, heads)?.saturating_mul(tokens).saturating_mul(tokens);
        let most = MAX_NUMBERS / texts.max(1);
        match numbers > most {
            true => Err(invalid(format!(
                "attention: {numbers} weights of a text, at most {most}: ask for fewer layers, \
                 heads or texts"
            ))),
            false => Ok(Some(choice)),
        }
    }

    /// What is inside a finished generation, one of several; `source` is what a translator read.
    /// # Errors
    /// A [`Problem`] if the model has nothing of the kind.
    pub async fn open(
        &self,
        app: &Arc<App>,
        caller: Caller,
        model: usize,
        (finished, texts): (&Finished, usize),
        source: Option<String>,
    ) -> Result<Inspection, Problem> {
        let mut found = Inspection {
            trace: self.trace.map(|_| finished.steps.clone()),
            beams: if self.trace.is_some() { finished.beam_steps.clone() } else { Vec::new() },
            timing: self.timing.then_some(finished.timing),
            ..Inspection::default()
        };
        let Some(text) = finished.texts.first().map(|text| text.tokens.clone()) else {
            return Ok(found);
        };
        match source {
            Some(source) => {
                let read = (source, text, texts);
                self.open_translation(app, caller, model, read, &mut found).await?;
            }
            None => {
                let ids = [&finished.prompt[..], &text].concat();
                self.open_continuation(app, caller, model, (ids, texts), &mut found).await?;
            }
        }
        Ok(found)
    }

    async fn open_translation(
        &self,
        app: &Arc<App>,
        caller: Caller,
        model: usize,
        (source, text, texts): (String, Vec<u32>, usize),
        found: &mut Inspection,
    ) -> Result<(), Problem> {
        let sharpest = matches!(self.attention, Some(Attending::Mean(true)));
        let rows = source.len() / 2 + text.len() + 2;
        let choice = match sharpest {
            true => None,
            false => self.choice(&app.models.get(model).pipeline.model().stack, rows, texts)?,
        };
        let aligns = self.alignment;
        if !sharpest && !aligns && choice.is_none() {
            return Ok(());
        }
        let looked = call(app, caller, model, rows, move |served| {
            let Pipeline::Translator(translator) = &served.pipeline else { return Ok(None) };
            let attention = sharpest.then(|| translator.attention(&source, &text)).transpose()?;
            let alignment = aligns.then(|| translator.align(&source, &text)).transpose()?;
            let maps = choice.map(|choice| maps_of_translation(served, &source, &text, &choice));
            Ok(Some((attention, alignment, maps.transpose()?)))
        });
        let Some((attention, alignment, maps)) = looked.await? else { return Ok(()) };
        found.attention = attention.map(|found| Attention {
            source: found.source,
            target: found.target,
            layer: found.layer,
            weights: found.weights,
        });
        (found.alignment, found.attentions) = (alignment, maps);
        Ok(())
    }

    async fn open_continuation(
        &self,
        app: &Arc<App>,
        caller: Caller,
        model: usize,
        (mut ids, texts): (Vec<u32>, usize),
        found: &mut Inspection,
    ) -> Result<(), Problem> {
        let served = app.models.get(model);
        ids.truncate(served.longest);
        let stack = &served.pipeline.model().stack;
        let choice = self.choice(stack, ids.len(), texts)?;
        let lens = self.logit_lens;
        if choice.is_none() && lens.is_none() {
            return Ok(());
        }
        let numbers = (sizes(stack).0 + 1) * ids.len() * lens.unwrap_or(0);
        let most = MAX_NUMBERS / texts.max(1);
        if numbers > most {
            let message = format!("logit_lens: {numbers} predictions of a text, at most {most}");
            return Err(invalid(message));
        }
        let rows = ids.len() * 2;
        let looked = call(app, caller, model, rows, move |served| {
            let model = served.pipeline.model();
            let Stack::Decoder(decoder) = &model.stack else { return Ok((None, None)) };
            let tokens = || pieces(served.pipeline.tokenizer(), &ids);
            let maps = choice.map(|choice| {
                let wanted = |layer| choice.wants(layer);
                let found = inspect::decoder_attention((decoder, &model.params), &ids, &wanted);
                let maps = found.into_iter().flat_map(|layer| choice.chosen(layer)).collect();
                Attentions { source: Vec::new(), tokens: tokens(), maps }
            });
            let lens = lens.map(|top| {
                let found = inspect::logit_lens((decoder, served.pipeline.weights()), &ids, top);
                LogitLens { tokens: tokens(), layers: predicted(served, found) }
            });
            Ok((maps, lens))
        });
        (found.attentions, found.logit_lens) = looked.await?;
        Ok(())
    }

    /// What is inside the texts that an encoder read.
    /// # Errors
    /// A [`Problem`] if the model has nothing of the kind.
    pub async fn open_texts(
        &self,
        app: &Arc<App>,
        caller: Caller,
        model: usize,
        read: Read,
    ) -> Result<Vec<Inspection>, Problem> {
        let timing = self.timing.then_some(read.timing);
        let (mut all, texts) = (Vec::new(), read.encoded.len());
        for text in read.encoded {
            let mut found = Inspection { timing, ..Inspection::default() };
            let stack = &app.models.get(model).pipeline.model().stack;
            if let Some(choice) = self.choice(stack, text.0.len(), texts)? {
                let looked = call(app, caller, model, text.0.len(), move |served| {
                    let model = served.pipeline.model();
                    let wanted = |layer| choice.wants(layer);
                    let found = match &model.stack {
                        Stack::Encoder(encoder) => {
                            inspect::encoder_attention((encoder, &model.params), &text, &wanted)
                        }
                        Stack::Decoder(decoder) => {
                            inspect::decoder_attention((decoder, &model.params), &text.0, &wanted)
                        }
                        _ => Vec::new(),
                    };
                    let maps = found.into_iter().flat_map(|layer| choice.chosen(layer)).collect();
                    let tokens = pieces(served.pipeline.tokenizer(), &text.0);
                    Ok(Attentions { source: Vec::new(), tokens, maps })
                });
                found.attentions = Some(looked.await?);
            }
            all.push(found);
        }
        Ok(all)
    }
}

/// The answer of an encoder's route: as it is, or with `inspect` as `{"output", "inspect"}`.
/// # Errors
/// As [`Inspect::open_texts`].
pub async fn answer(
    app: &Arc<App>,
    caller: Caller,
    model: usize,
    inspect: Option<Inspect>,
    (output, read): (&impl Serialize, Read),
) -> Result<Response<Body>, Problem> {
    match inspect {
        None => Ok(reply(output)),
        Some(inspect) => {
            let inspect = inspect.open_texts(app, caller, model, read).await?;
            Ok(reply(&Opened { output, inspect }))
        }
    }
}

/// The answer of a route that generates: as it is, or with `inspect` as `{"output", "inspect"}`.
pub fn opened(output: &impl Serialize, inspect: Option<Vec<Inspection>>) -> Response<Body> {
    match inspect {
        None => reply(output),
        Some(inspect) => reply(&Opened { output, inspect }),
    }
}

fn maps_of_translation(
    served: &ServedModel,
    source: &str,
    text: &[u32],
    choice: &AttentionChoice,
) -> limpid::error::Result<Attentions> {
    let (model, tokenizer) = (served.pipeline.model(), served.pipeline.tokenizer());
    let seq2seq: Seq2Seq = model.stack.translator().expect("it translates");
    let ids = tokenizer.source_sentence(source, seq2seq.end())?;
    let mut target = text.to_vec();
    target.truncate(seq2seq.longest().saturating_sub(1));
    target.push(seq2seq.end());
    let wanted = |layer| choice.wants(layer);
    let pair = (&ids[..], &target[..]);
    let found = inspect::seq2seq_attention((seq2seq, &model.params), pair, &wanted);
    let maps = found.into_iter().flat_map(|layer| choice.chosen(layer)).collect();
    // The decoder reads the start token, and does not read the end token.
    let read = [&[seq2seq.start()], &target[..target.len() - 1]].concat();
    Ok(Attentions { source: pieces(tokenizer, &ids), tokens: pieces(tokenizer, &read), maps })
}

fn predicted(
    served: &ServedModel,
    layers: Vec<Vec<Vec<LogProbability>>>,
) -> Vec<Vec<Vec<Predicted>>> {
    let tokenizer = served.pipeline.tokenizer();
    let one = |(id, logprob): LogProbability| Predicted {
        token: super::logprobs::piece(tokenizer, id),
        probability: logprob.exp(),
    };
    let position = |tokens: Vec<LogProbability>| tokens.into_iter().map(one).collect();
    let layer = |positions: Vec<Vec<LogProbability>>| positions.into_iter().map(position).collect();
    layers.into_iter().map(layer).collect()
}
