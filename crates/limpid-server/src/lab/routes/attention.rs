//! Attention weights: thumbnails of every head, tiles of one, exact weights, what heads do.

use super::{Answer, Shared, binary, check_numbers, floats, json, query, with_type};
use crate::lab::passes::{self, KeptPass};
use crate::lab::problem::{Kind, LabProblem};
use crate::lab::types::{HeadRole, HeadRoles};
use axum::body::{Body, Bytes};
use axum::extract::{Path, State as Extract};
use axum::http::Uri;
use limpid::inspect::{self, Grid, HeadChoice};
use limpid_tensor::ops::AttentionWeights;
use serde::Deserialize;
use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;
use tokio_stream::StreamExt;

/// Rows and columns of a thumbnail.
const THUMBNAIL: usize = 64;
/// Rows and columns of a tile.
const TILE: usize = 256;
/// Weights of one answer.
const MAX_WEIGHTS: usize = 1 << 16;

/// √w as a byte: small weights keep their differences.
fn byte(weight: f32) -> u8 {
    (255.0 * weight.clamp(0.0, 1.0).sqrt()).round() as u8
}

fn weights_of(kept: &KeptPass, index: usize) -> Result<AttentionWeights<'_>, LabProblem> {
    let params = &kept.opened.pipeline.model().params;
    let missing = || LabProblem::new(Kind::NoElement, "this pass has no such attention");
    kept.pass.weights(index, params).ok_or_else(missing)
}

/// A stream of frames: the thumbnails of every head, attention by attention.
pub async fn thumbnails(Extract(state): Shared, Path(id): Path<String>) -> Answer {
    let kept = passes::find(&state, &id)?;
    let (sender, receiver) = tokio::sync::mpsc::channel::<Bytes>(4);
    let shared = Arc::clone(&state);
    tokio::spawn(async move {
        for index in 0..kept.shown.attentions.len() {
            let kept = Arc::clone(&kept);
            // One attention at a time: other requests come in between.
            let frames = shared.work.heavy(move || {
                let weights = weights_of(&kept, index)?;
                let grids = inspect::thumbnails(&weights, THUMBNAIL);
                Ok(grids.iter().enumerate().flat_map(|at| frame(index, at)).collect::<Vec<u8>>())
            });
            let Ok(frames) = frames.await else { return };
            if sender.send(frames.into()).await.is_err() {
                return;
            }
        }
    });
    let frames = tokio_stream::wrappers::ReceiverStream::new(receiver);
    let mut response = with_type(Bytes::new(), "application/octet-stream");
    *response.body_mut() = Body::from_stream(frames.map(Ok::<Bytes, Infallible>));
    Ok(response)
}

fn frame(index: usize, (head, grid): (usize, &Grid)) -> Vec<u8> {
    let head = [index, head, grid.rows, grid.columns].map(|n| (n as u32).to_le_bytes());
    let bytes = grid.data.iter().map(|w| byte(*w));
    head.into_iter().flatten().chain(bytes).collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TileQuery {
    attention: usize,
    head: String,
    #[serde(default)]
    level: u32,
    #[serde(default)]
    row: usize,
    #[serde(default)]
    column: usize,
}

fn head(text: &str, heads: usize) -> Result<HeadChoice, LabProblem> {
    match (text, text.parse()) {
        ("mean", _) => Ok(HeadChoice::Mean),
        (_, Ok(head)) if head < heads => Ok(HeadChoice::Head(head)),
        _ => Err(LabProblem::invalid("head", format!("head {text}: there are {heads}"))),
    }
}

/// 256 × 256 numbers of one head as √w.
pub async fn tile(Extract(state): Shared, Path(id): Path<String>, uri: Uri) -> Answer {
    let at: TileQuery = query(&uri)?;
    let kept = passes::find(&state, &id)?;
    if at.level > 20 {
        return Err(LabProblem::invalid("level", "at most 20"));
    }
    let grid = state.work.light(move || {
        let weights = weights_of(&kept, at.attention)?;
        let head = head(&at.head, weights.heads)?;
        let range = |from: usize| from..from.saturating_add(TILE);
        Ok(inspect::tile(&weights, head, at.level, [range(at.row), range(at.column)]))
    });
    let Grid { rows, columns, data } = grid.await?;
    Ok(binary(data.into_iter().map(byte).collect(), [rows, columns]))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightsQuery {
    attention: usize,
    head: String,
    #[serde(default)]
    row: usize,
    rows: Option<usize>,
    #[serde(default)]
    column: usize,
    columns: Option<usize>,
}

/// Weights as they are.
pub async fn weights(Extract(state): Shared, Path(id): Path<String>, uri: Uri) -> Answer {
    let at: WeightsQuery = query(&uri)?;
    let kept = passes::find(&state, &id)?;
    let grid = state.work.light(move || {
        let weights = weights_of(&kept, at.attention)?;
        let head = head(&at.head, weights.heads)?;
        let range = |from: usize, count: Option<usize>, all: usize| -> Range<usize> {
            let from = from.min(all);
            from..from.saturating_add(count.unwrap_or(all)).min(all)
        };
        let rows = range(at.row, at.rows, weights.queries);
        let columns = range(at.column, at.columns, weights.keys);
        check_numbers(rows.len() * columns.len(), MAX_WEIGHTS)?;
        Ok(inspect::tile(&weights, head, 0, [rows, columns]))
    });
    let Grid { rows, columns, data } = grid.await?;
    Ok(floats(data.into_iter(), [rows, columns]))
}

/// What every head mostly attends to.
pub async fn roles(Extract(state): Shared, Path(id): Path<String>) -> Answer {
    let kept = passes::find(&state, &id)?;
    let found = state.work.heavy(move || {
        let mut heads = Vec::new();
        for attention in &kept.shown.attentions {
            let weights = weights_of(&kept, attention.index)?;
            for (head, summary) in inspect::head_summary(&weights).into_iter().enumerate() {
                let role = summary.role.name().into();
                let (share, entropy, distance) = (summary.share, summary.entropy, summary.distance);
                let attention = attention.index;
                heads.push(HeadRole { attention, head, role, share, entropy, distance });
            }
        }
        Ok(HeadRoles { heads })
    });
    Ok(json(&found.await?))
}
