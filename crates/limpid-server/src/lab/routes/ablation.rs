//! Parts of a model switched off, and what that changes.

use super::{Answer, Shared, body, json, with_type};
use crate::lab::State;
use crate::lab::opened::Opened;
use crate::lab::passes::{self, KeptPass};
use crate::lab::problem::LabProblem;
use crate::lab::tokens;
use crate::lab::types::{
    AblateAllRequest, Ablation, AblationRow, HeadEffect, How, LargestEffect, PassRequest,
};
use axum::body::{Body, Bytes};
use axum::extract::State as Extract;
use axum::http::Request;
use limpid::generate::argmax;
use limpid::inspect::{AttentionSite, ForwardPass, PassInput, Replacement, Site, SiteEdit};
use std::convert::Infallible;
use std::sync::Arc;
use tokio_stream::StreamExt;

/// New tokens of a language model's continuation.
const CONTINUED: usize = 16;
/// New tokens of a translation.
const MAX_NEW: usize = 128;

pub async fn create(Extract(state): Shared, request: Request<Body>) -> Answer {
    let request: PassRequest = body(request).await?;
    if request.edits.is_empty() {
        return Err(LabProblem::invalid("edits", "there is nothing to switch off"));
    }
    let shared = Arc::clone(&state);
    let found = state.work.heavy(move || {
        let opened = shared.model(&request.model)?;
        compare(&shared, &opened, request)
    });
    Ok(json(&found.await?))
}

fn compare(
    state: &State,
    opened: &Arc<Opened>,
    request: PassRequest,
) -> Result<Ablation, LabProblem> {
    let before = passes::run(state, opened, PassRequest { edits: Vec::new(), ..request.clone() })?;
    // The same tokens are to be predicted, whatever the change would generate.
    let target_ids = match &before.pass.input {
        PassInput::Pair { target, .. } => Some(target.clone()),
        _ => request.target_ids.clone(),
    };
    let edits = passes::site_edits(state, opened, &request.edits)?;
    let after =
        passes::run(state, opened, PassRequest { target: None, target_ids, ..request.clone() })?;
    let (rows, delta) = rows(opened, &before, &after);
    let kl = (0..before.pass.targets.len()).map(|row| divergence(&before, &after, row)).collect();
    let generates = opened.generator().is_some() || opened.translator().is_some();
    let (text_before, text_after) = match generates {
        true => (generated(opened, &before, &[])?, generated(opened, &before, &edits)?),
        false => (String::new(), String::new()),
    };
    Ok(Ablation {
        before: before.shown.clone(),
        after: after.shown.clone(),
        rows,
        delta,
        kl,
        text_before,
        text_after,
    })
}

fn rows(opened: &Opened, before: &KeptPass, after: &KeptPass) -> (Vec<AblationRow>, f64) {
    let ((_, a), (_, b)) = (before.pass.log_probabilities(), after.pass.log_probabilities());
    let mut rows = Vec::new();
    for (row, (x, y)) in a.iter().zip(&b).enumerate() {
        let (Some(before_p), Some(after_p), Some(id)) =
            (x, y, before.pass.targets.get(row).copied().flatten())
        else {
            continue;
        };
        rows.push(AblationRow {
            row,
            token: tokens::one(opened.tokenizer(), id),
            before: *before_p,
            after: *after_p,
            delta: after_p - before_p,
        });
    }
    let delta = rows.iter().map(|row| row.delta).sum();
    (rows, delta)
}

/// Σ p ln(p/q) at a row.
fn divergence(before: &KeptPass, after: &KeptPass, row: usize) -> f64 {
    let (Some(p), Some(q)) = (before.pass.log_softmax(row), after.pass.log_softmax(row)) else {
        return 0.0;
    };
    p.iter().zip(&q).map(|(p, q)| if p.is_finite() { p.exp() * (p - q) } else { 0.0 }).sum()
}

/// The greedy text of a model with changes: a whole pass for each token, for a change of a pass has
/// no cache.
fn generated(opened: &Opened, kept: &KeptPass, edits: &[SiteEdit]) -> Result<String, LabProblem> {
    let weights = || opened.pipeline.weights();
    let tokenizer = opened.tokenizer();
    let mut new: Vec<u32> = Vec::new();
    match (&kept.pass.input, opened.seq2seq()) {
        (PassInput::Pair { source, .. }, Some(model)) => {
            let most = (2 * source.len() + 10).min(MAX_NEW).min(opened.model.context - 1);
            while new.len() < most {
                // What stands last is to be predicted: it is not read.
                let target = [&new[..], &[model.end()]].concat();
                let input = PassInput::Pair { source: source.clone(), target };
                let pass = ForwardPass::run(opened.stack(), weights(), &input, edits)?;
                let Some(logits) = &pass.logits else { break };
                let mut row = logits.row(new.len()).to_vec();
                if model.pad() != model.end() {
                    row[model.pad() as usize] = f32::NEG_INFINITY;
                }
                let next = argmax(&row) as u32;
                if next == model.end() {
                    break;
                }
                new.push(next);
            }
        }
        (PassInput::Tokens(ids), None) => {
            let end = tokenizer.eos_id();
            while new.len() < CONTINUED && ids.len() + new.len() < opened.model.context {
                let input = PassInput::Tokens([&ids[..], &new].concat());
                let pass = ForwardPass::run(opened.stack(), weights(), &input, edits)?;
                let Some(logits) = &pass.logits else { break };
                let next = argmax(logits.row(logits.rows_cols().0 - 1)) as u32;
                if Some(next) == end {
                    break;
                }
                new.push(next);
            }
        }
        _ => {}
    }
    Ok(tokenizer.decode(&new)?)
}

/// Every head switched off, one after the other: a line of JSON each.
pub async fn all(Extract(state): Shared, request: Request<Body>) -> Answer {
    let request: AblateAllRequest = body(request).await?;
    if request.how == How::Patch {
        return Err(LabProblem::invalid("how", "zero or mean"));
    }
    let kept = passes::find(&state, &request.pass)?;
    let (sender, receiver) = tokio::sync::mpsc::channel::<Bytes>(16);
    let shared = Arc::clone(&state);
    tokio::spawn(async move {
        for place in kept.pass.attentions() {
            for head in 0..place.heads {
                let (kept, site) = (Arc::clone(&kept), place.site);
                let job = shared.work.heavy(move || effect(&kept, site, head, request.how));
                let line = match job.await {
                    Ok(effect) => serde_json::to_string(&effect).expect("our own types are JSON"),
                    Err(problem) => {
                        let _ = sender.send(format!("{}\n", problem.json()).into()).await;
                        return;
                    }
                };
                if sender.send(format!("{line}\n").into()).await.is_err() {
                    return;
                }
            }
        }
        let _ = sender.send("{\"done\":true}\n".into()).await;
    });
    let lines = tokio_stream::wrappers::ReceiverStream::new(receiver);
    let mut response = with_type(Bytes::new(), "application/x-ndjson");
    *response.body_mut() = Body::from_stream(lines.map(Ok::<Bytes, Infallible>));
    Ok(response)
}

fn effect(
    kept: &KeptPass,
    site: AttentionSite,
    head: usize,
    how: How,
) -> Result<HeadEffect, LabProblem> {
    let opened = &kept.opened;
    let to = if how == How::Mean { Replacement::Mean } else { Replacement::Zero };
    let edit = SiteEdit { site: Site::Head { attention: site, head }, to };
    let weights = opened.pipeline.weights();
    let pass = ForwardPass::run(opened.stack(), weights, &kept.pass.input, &[edit])?;
    let ((_, before), (_, after)) = (kept.pass.log_probabilities(), pass.log_probabilities());
    let deltas: Vec<(usize, f64)> = before
        .iter()
        .zip(&after)
        .enumerate()
        .filter_map(|(row, (a, b))| Some((row, (*b)? - (*a)?)))
        .collect();
    let largest = deltas.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    Ok(HeadEffect {
        attention: site.name(),
        layer: site.layer,
        head,
        delta: deltas.iter().map(|(_, delta)| delta).sum(),
        largest: largest.map(|(row, delta)| LargestEffect { row: *row, delta: *delta }),
    })
}
