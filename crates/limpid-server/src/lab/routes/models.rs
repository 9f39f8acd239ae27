//! Models: which there are, what they are made of, how they tokenize.

use super::{Answer, Shared, body, json, query};
use crate::lab::problem::LabProblem;
use crate::lab::types::{
    Fact, Lab, LabLimits, ModelDetail, Param, Side, SpecialToken, TokenizeRequest, Tokenized,
    Tokens, TokensRequest, TooLong,
};
use crate::lab::{MAX_BODY, MAX_NUMBERS, MAX_TOKENS, State, cost, events, runs, tokens};
use axum::body::Body;
use axum::extract::{Path, State as Extract};
use axum::http::{Request, Uri};
use limpid::hub::{self, Description};
use limpid::pipeline::model_folder;
use limpid_tensor::params::Role;
use serde::Deserialize;
use std::sync::Arc;

/// What the page shows first.
pub fn overview(state: &State) -> Lab {
    let limits = LabLimits { max_tokens: MAX_TOKENS, max_body: MAX_BODY, max_numbers: MAX_NUMBERS };
    Lab {
        version: env!("CARGO_PKG_VERSION").into(),
        threads: limpid_tensor::team::threads(),
        simd: limpid_tensor::simd::level().name().into(),
        models: state.registry.models(),
        runs: runs::all(state),
        demo: events::demo(state),
        limits,
    }
}

pub async fn lab(Extract(state): Shared) -> Answer {
    let shared = Arc::clone(&state);
    let lab = state.work.light(move || Ok(overview(&shared))).await?;
    Ok(json(&lab))
}

#[derive(serde::Serialize)]
struct Models {
    models: Vec<crate::lab::types::Model>,
}

pub async fn all(Extract(state): Shared) -> Answer {
    Ok(json(&Models { models: state.registry.models() }))
}

pub async fn one(Extract(state): Shared, Path(id): Path<String>) -> Answer {
    let shared = Arc::clone(&state);
    let detail = state.work.light(move || detail(&shared, &id)).await?;
    Ok(json(&detail))
}

fn detail(state: &State, id: &str) -> Result<ModelDetail, LabProblem> {
    let (model, path) = state.registry.find(id)?;
    let folder = model_folder(&path);
    let mut missing = Vec::new();
    let mut found = ModelDetail {
        model_type: "unknown".into(),
        params: Vec::new(),
        facts: facts(&folder),
        special_tokens: Vec::new(),
        warnings: Vec::new(),
        missing: Vec::new(),
        model,
    };
    match hub::describe(&folder) {
        Ok(Description::Model(described)) => {
            found.model_type = described.model_type.into();
            found.warnings = described.warnings.iter().map(ToString::to_string).collect();
            found.params = described
                .params
                .iter()
                .map(|spec| Param {
                    name: spec.name.clone(),
                    shape: spec.shape.dims().collect(),
                    count: spec.shape.len(),
                    trained: spec.role == Role::Trained,
                    dtype: described
                        .quantized
                        .get(&spec.name)
                        .map_or("f32", |format| format.name())
                        .into(),
                })
                .collect();
            if let Err(problem) = &described.weights {
                missing.push(problem.to_string());
            }
        }
        Ok(Description::Adapter(_)) => missing.push("the base model of this adapter".into()),
        Err(problem) => missing.push(problem.to_string()),
    }
    match found.model.has_tokenizer {
        true => match hub::load_tokenizer(&folder) {
            Ok(tokenizer) => {
                let special = tokenizer.special_tokens().into_iter();
                found.special_tokens =
                    special.map(|(id, text)| SpecialToken { id, text }).collect();
            }
            Err(problem) => missing.push(problem.to_string()),
        },
        false => missing.push("no tokenizer: texts are token ids".into()),
    }
    found.missing = missing;
    Ok(found)
}

/// The keys of the configuration, as they are in the file.
fn facts(folder: &std::path::Path) -> Vec<Fact> {
    let text = std::fs::read_to_string(folder.join("config.json")).unwrap_or_default();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let keys = value.as_object().into_iter().flatten();
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string().chars().take(200).collect(),
    };
    keys.map(|(name, value)| Fact { name: name.clone(), value: text(value) }).collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CostQuery {
    tokens: usize,
}

pub async fn cost(Extract(state): Shared, Path(id): Path<String>, uri: Uri) -> Answer {
    let CostQuery { tokens } = query(&uri)?;
    let tokens = tokens.clamp(1, 1 << 20);
    let (_, path) = state.registry.find(&id)?;
    let found = state.work.light(move || Ok(cost::of(&model_folder(&path), tokens)?)).await?;
    Ok(json(&found))
}

pub async fn tokens(
    Extract(state): Shared,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Answer {
    let TokensRequest { ids } = body(request).await?;
    let shared = Arc::clone(&state);
    let found = state.work.light(move || {
        let opened = shared.model(&id)?;
        tokens::check_ids(&ids, opened.tokenizer().vocab_size(), "ids")?;
        Ok(Tokens { tokens: tokens::tokens(opened.tokenizer(), &ids, None) })
    });
    Ok(json(&found.await?))
}

pub async fn tokenize(
    Extract(state): Shared,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Answer {
    let request: TokenizeRequest = body(request).await?;
    let shared = Arc::clone(&state);
    let found = state.work.light(move || {
        let opened = shared.model(&id)?;
        let tokenizer = opened.tokenizer();
        let text = request.text.as_str();
        let ids = match (opened.seq2seq(), request.side, opened.stack().encoder()) {
            (Some(model), Side::Source, _) => tokenizer.source_sentence(text, model.end())?,
            (Some(model), Side::Target, _) => tokenizer.target_sentence(text, model.end())?,
            (None, _, Some(_)) => tokenizer.encode_with_types(text, request.second.as_deref())?.0,
            (None, ..) if opened.generator().is_some() => tokenizer.encode(text)?,
            (None, ..) => tokenizer.encode_with_special(text)?,
        };
        let max = opened.model.context.min(MAX_TOKENS);
        let too_long = (ids.len() > max).then_some(TooLong { tokens: ids.len(), max });
        let place = request.second.is_none().then_some(text);
        Ok(Tokenized {
            tokens: tokens::tokens(tokenizer, &ids, place),
            characters: text.chars().count(),
            too_long,
        })
    });
    Ok(json(&found.await?))
}
