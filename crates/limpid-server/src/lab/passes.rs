//! Forward passes that were kept, and what the page is told of them.

use super::State;
use super::opened::Opened;
use super::problem::{Kind, LabProblem};
use super::tokens;
use super::types::{
    Attention, Edit, How, Of, Pass, PassRequest, Prediction, Ranked, Stream, TensorInfo, TensorRef,
    Token,
};
use limpid::hash::hash_bytes;
use limpid::inspect::{
    AttentionSite, ForwardPass, PassInput, Reading, Replacement, Site, SiteEdit, StackName,
};
use limpid::model::Stack;
use limpid_tensor::kernels::attention::{Causality, Window};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Predictions that are listed at a row.
const TOP: usize = 5;

/// A pass, with the model it is of.
pub struct KeptPass {
    /// The model.
    pub opened: Arc<Opened>,
    /// Everything that was computed.
    pub pass: ForwardPass,
    /// What the page was told.
    pub shown: Pass,
}

/// A pass that was asked for before, or a new one.
pub fn run(
    state: &State,
    opened: &Arc<Opened>,
    request: PassRequest,
) -> Result<Arc<KeptPass>, LabProblem> {
    let id = id_of(opened, &request);
    if let Some(kept) = passes(state).get(&id) {
        return Ok(kept);
    }
    let begun = Instant::now();
    let input = opened.input(&request)?;
    let edits = site_edits(state, opened, &request.edits)?;
    let pass = ForwardPass::run(opened.stack(), opened.pipeline.weights(), &input, &edits)?;
    let milliseconds = begun.elapsed().as_secs_f64() * 1e3;
    let command = state.settings.commands.inspect(&opened.folder, &request);
    let shown = shown(opened, &pass, &request, Told { id: id.clone(), command, milliseconds });
    let bytes = pass
        .trace
        .steps
        .iter()
        .flat_map(|step| &step.outputs)
        .map(|tensor| 4 * tensor.shape().len())
        .sum();
    let kept = Arc::new(KeptPass { opened: Arc::clone(opened), pass, shown });
    passes(state).insert(id, bytes, Arc::clone(&kept));
    Ok(kept)
}

fn passes(state: &State) -> std::sync::MutexGuard<'_, super::cache::Cache<KeptPass>> {
    let passes: &Mutex<_> = &state.passes;
    passes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A pass that is still known.
pub fn find(state: &State, id: &str) -> Result<Arc<KeptPass>, LabProblem> {
    passes(state).get(id).ok_or_else(|| {
        LabProblem::new(Kind::PassExpired, "this pass was forgotten")
            .hint("ask for the same pass again")
    })
}

/// The same for the same request of the same model.
fn id_of(opened: &Opened, request: &PassRequest) -> String {
    let json = serde_json::to_string(request).expect("our own types are JSON");
    format!("p{:016x}", hash_bytes(format!("{}\n{json}", opened.hash).as_bytes()))
}

/// The changes that a request names, with the rows that are patched in.
pub fn site_edits(
    state: &State,
    opened: &Opened,
    edits: &[Edit],
) -> Result<Vec<SiteEdit>, LabProblem> {
    let stack = |name: &str| {
        let unknown = || LabProblem::invalid("edits", format!("there is no stack {name:?}"));
        StackName::from_name(name).ok_or_else(unknown)
    };
    let one = |edit: &Edit| {
        let (site, how, from) = match edit {
            Edit::Head { attention, layer, head, how, from } => {
                let unknown =
                    || LabProblem::invalid("edits", format!("there is no attention {attention:?}"));
                let attention = AttentionSite::from_name(attention, *layer).ok_or_else(unknown)?;
                (Site::Head { attention, head: *head }, how, from)
            }
            Edit::Ffn { stack: name, layer, how, from } => {
                (Site::FeedForward { stack: stack(name)?, layer: *layer }, how, from)
            }
            Edit::Stream { stack: name, layer, position, how, from } => {
                let (stack, layer, position) = (stack(name)?, *layer, *position);
                (Site::Stream { stack, layer, position }, how, from)
            }
        };
        let to = match (how, from) {
            (How::Zero, _) => Replacement::Zero,
            (How::Mean, _) => Replacement::Mean,
            (How::Patch, None) => {
                let message = "a patch needs the pass that it is taken from";
                return Err(LabProblem::invalid("edits", message));
            }
            (How::Patch, Some(id)) => {
                let other = find(state, id)?;
                if other.opened.hash != opened.hash {
                    let message = "a patch comes from a pass of the same model";
                    return Err(LabProblem::invalid("edits", message));
                }
                let rows = other.pass.rows_of(&site).ok_or_else(|| {
                    LabProblem::invalid("edits", "the other pass has no such place")
                })?;
                Replacement::Rows(rows)
            }
        };
        Ok(SiteEdit { site, to })
    };
    edits.iter().map(one).collect()
}

fn of(reading: Reading) -> Of {
    match reading {
        Reading::Source => Of::Source,
        Reading::Target => Of::Target,
    }
}

struct Told {
    id: String,
    command: String,
    milliseconds: f64,
}

fn shown(opened: &Opened, pass: &ForwardPass, request: &PassRequest, told: Told) -> Pass {
    let tokenizer = opened.tokenizer();
    let mut notes = Vec::new();
    let text_in = request.second.is_none().then_some(request.text.as_str());
    let source = tokens::tokens(tokenizer, pass.tokens(Reading::Source), text_in);
    let (mut target, mut output, mut text) = (None, None, request.text.clone());
    if let PassInput::Pair { target: ids, .. } = &pass.input {
        let model = opened.seq2seq().expect("it read a pair");
        let read = [&[model.start()], &ids[..ids.len() - 1]].concat();
        target = Some(tokens::tokens(tokenizer, &read, None));
        output = Some(tokens::tokens(tokenizer, ids, None));
        text = tokenizer.decode(ids).unwrap_or_default();
    }
    if let PassInput::Tokens(ids) = &pass.input {
        if pass.logit_rows.len() < ids.len() && pass.logits.is_some() {
            notes.push("The vocabulary is large: only the last row has predictions.".into());
        }
        if request.target_ids.is_some() {
            text = tokenizer.decode(ids).unwrap_or_default();
        }
    }
    let attentions = attentions(pass);
    if attentions.is_empty() {
        notes.push("This model has no attention.".into());
    }
    Pass {
        id: told.id,
        model: opened.model.id.clone(),
        kind: opened.model.kind,
        hash: opened.hash.clone(),
        command: told.command,
        milliseconds: told.milliseconds,
        source,
        target,
        output,
        text,
        attentions,
        tensors: tensors(opened, pass),
        stream: streams(pass),
        logits: logits(pass),
        predictions: predictions(opened, pass),
        edits: request.edits.clone(),
        notes,
    }
}

fn attentions(pass: &ForwardPass) -> Vec<Attention> {
    let place = |(index, place): (usize, limpid::inspect::AttentionPlace)| Attention {
        index,
        step: place.step,
        name: place.site.name(),
        stack: place.site.stack.name().into(),
        layer: place.site.layer,
        kind: if place.site.cross { "cross" } else { "self" }.into(),
        heads: place.heads,
        kv_heads: place.kv_heads,
        head_dim: place.head_dim,
        queries: of(place.queries),
        keys: of(place.keys),
        t: place.t,
        s: place.s,
        causal: place.causality == Causality::Causal,
        window: match place.window {
            Window::Unlimited => None,
            Window::Sliding(tokens) => Some(tokens),
        },
    };
    pass.attentions().into_iter().enumerate().map(place).collect()
}

fn tensors(opened: &Opened, pass: &ForwardPass) -> Vec<TensorInfo> {
    let places = pass.tensors(&opened.pipeline.model().params);
    let one = |place: limpid::inspect::TensorPlace| TensorInfo {
        step: place.step,
        output: place.output,
        operation: limpid::inspect::operation_name(&pass.trace.steps[place.step].operation).into(),
        name: place.name,
        role: place.role.name().into(),
        stack: place.stack.map(|stack| stack.name().into()),
        layer: place.layer,
        rows: place.shape.0,
        columns: place.shape.1,
        of: place.of.map_or(Of::Other, of),
    };
    places.into_iter().map(one).collect()
}

fn streams(pass: &ForwardPass) -> Vec<Stream> {
    let mut all: Vec<Stream> = Vec::new();
    let mut before: Option<(StackName, limpid_tensor::tensor::Tensor)> = None;
    for place in pass.streams() {
        let tensor = &pass.trace.steps[place.step].outputs[place.output];
        let rows = tensor.rows_cols().0;
        let norm = |row: &[f32]| row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        let norms = (0..rows).map(|i| norm(tensor.row(i)) as f32).collect();
        let cosine = |i: usize| match &before {
            Some((stack, earlier)) if *stack == place.stack && earlier.rows_cols().0 == rows => {
                let (a, b) = (tensor.row(i), earlier.row(i));
                let dot: f64 = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                (dot / (norm(a) * norm(b)).max(f64::MIN_POSITIVE)) as f32
            }
            _ => 1.0,
        };
        let cosines = (0..rows).map(cosine).collect();
        all.push(Stream {
            stack: place.stack.name().into(),
            layer: place.layer,
            step: place.step,
            output: place.output,
            of: if place.stack == StackName::Decoder { Of::Target } else { Of::Source },
            norms,
            cosines,
        });
        before = Some((place.stack, tensor.clone()));
    }
    all
}

fn logits(pass: &ForwardPass) -> Option<TensorRef> {
    let (step, output) = pass.trace.producer(pass.logits.as_ref()?)?;
    Some(TensorRef { step, output })
}

/// A token, or a label of a classifier, as it reads.
pub fn ranked(opened: &Opened, found: limpid::inspect::Ranked) -> Ranked {
    let labels = match opened.stack() {
        Stack::Encoder(model) => model.labels().or(model.token_labels()),
        stack => stack.labels().map(|labels| &labels.names[..]),
    };
    let text = match labels {
        Some(names) => names.get(found.id as usize).cloned().unwrap_or_default(),
        None => tokens::readable(opened.tokenizer(), found.id),
    };
    Ranked { id: found.id, text, probability: found.probability, rank: found.rank }
}

fn predictions(opened: &Opened, pass: &ForwardPass) -> Vec<Prediction> {
    let of = if matches!(pass.input, PassInput::Pair { .. }) { Of::Target } else { Of::Source };
    let one = |found: limpid::inspect::Prediction| Prediction {
        row: found.row,
        of,
        chosen: found.chosen.map(|found| ranked(opened, found)),
        top: found.top.into_iter().map(|found| ranked(opened, found)).collect(),
        entropy: found.entropy,
    };
    pass.predictions(TOP).into_iter().map(one).collect()
}

/// The token that a row of a sequence is.
pub fn token_of(kept: &KeptPass, of: Of, row: usize) -> Option<Token> {
    match of {
        Of::Source => kept.shown.source.get(row).cloned(),
        Of::Target => kept.shown.target.as_ref()?.get(row).cloned(),
        Of::Other => None,
    }
}
