//! Forward passes and their tensors.

use super::{Answer, Shared, body, check_numbers, floats, json, query};
use crate::lab::problem::{Kind, LabProblem};
use crate::lab::types::PassRequest;
use crate::lab::{MAX_NUMBERS, passes};
use axum::body::Body;
use axum::extract::{Path, State as Extract};
use axum::http::{Request, Uri};
use serde::Deserialize;
use std::sync::Arc;

pub async fn create(Extract(state): Shared, request: Request<Body>) -> Answer {
    let request: PassRequest = body(request).await?;
    let shared = Arc::clone(&state);
    let kept = state.work.heavy(move || {
        let opened = shared.model(&request.model)?;
        passes::run(&shared, &opened, request)
    });
    Ok(json(&kept.await?.shown))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TensorQuery {
    step: usize,
    #[serde(default)]
    output: usize,
    #[serde(default)]
    row: usize,
    rows: Option<usize>,
    #[serde(default)]
    column: usize,
    columns: Option<usize>,
}

pub async fn tensor(Extract(state): Shared, Path(id): Path<String>, uri: Uri) -> Answer {
    let at: TensorQuery = query(&uri)?;
    let kept = passes::find(&state, &id)?;
    let missing = || LabProblem::new(Kind::NoElement, "this pass has no such tensor");
    let step = kept.pass.trace.steps.get(at.step).ok_or_else(missing)?;
    let tensor = step.outputs.get(at.output).ok_or_else(missing)?;
    let (all_rows, all_columns) = match tensor.shape().rank() {
        2 => tensor.rows_cols(),
        _ => (1, tensor.shape().len()),
    };
    let rows = at.rows.unwrap_or(all_rows).min(all_rows.saturating_sub(at.row));
    let columns = at.columns.unwrap_or(all_columns).min(all_columns.saturating_sub(at.column));
    check_numbers(rows * columns, MAX_NUMBERS)?;
    let row = |i: usize| {
        let first = (at.row + i) * all_columns + at.column;
        tensor.data()[first..first + columns].iter().copied()
    };
    Ok(floats((0..rows).flat_map(row), [rows, columns]))
}
