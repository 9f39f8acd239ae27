//! The logit lens: what each layer would predict, if the layers ended there.

use super::{Answer, Shared, body, json};
use crate::lab::passes::{self, KeptPass, ranked};
use crate::lab::problem::{Kind, LabProblem};
use crate::lab::types::{Lens, LensCell, LensRequest};
use axum::body::Body;
use axum::extract::State as Extract;
use axum::http::Request;
use limpid::inspect::{self, LensRow};
use std::sync::Arc;

/// Predictions of a cell, and the most that may be asked for.
const LISTED: usize = 3;
const MAX_LISTED: usize = 10;
/// Cells of a grid.
const MAX_CELLS: usize = 20_000;

pub async fn create(Extract(state): Shared, request: Request<Body>) -> Answer {
    let request: LensRequest = body(request).await?;
    let kept = passes::find(&state, &request.pass)?;
    let top = request.top.unwrap_or(LISTED).clamp(1, MAX_LISTED);
    let found = state.work.heavy(move || lens(&kept, top));
    Ok(json(&found.await?))
}

fn lens(kept: &Arc<KeptPass>, top: usize) -> Result<Lens, LabProblem> {
    let opened = &kept.opened;
    let rows = kept.pass.targets.len() * (opened.model.layers + 1);
    if rows > MAX_CELLS {
        let message = format!("a grid of {rows} cells, at most {MAX_CELLS}");
        return Err(LabProblem::new(Kind::TooLong, message).hint("shorten the text"));
    }
    let found = inspect::pass_lens(&kept.pass, opened.stack(), opened.pipeline.weights(), top)?;
    let cell = |row: LensRow| LensCell {
        top: row.top.into_iter().map(|found| ranked(opened, found)).collect(),
        entropy: row.entropy,
        next_rank: row.next_rank,
    };
    let layers = found.layers.iter();
    let layers = layers.map(|layer| layer.map_or("embedding".into(), |l| l.to_string())).collect();
    let norm = match found.has_final_norm {
        true => "final norm applied",
        false => "post-norm: as it is",
    };
    let tokens = match &kept.shown.target {
        Some(target) => target.clone(),
        None => kept.shown.source.clone(),
    };
    Ok(Lens {
        tokens,
        layers,
        norm: norm.into(),
        cells: found.cells.into_iter().map(|row| row.into_iter().map(cell).collect()).collect(),
    })
}
