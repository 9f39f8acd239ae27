//! Token ids of texts, and texts of token ids, for any model.

use super::generation::blocking;
use super::inputs::{OneOrMany, check_count};
use super::{App, Caller, reply};
use crate::http::{Problem, TeiProblem};
use crate::models::ServedModel;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// Texts to tokenize.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct TokenizeRequest {
    /// The model's name; without one, the first.
    pub model: Option<String>,
    /// A text or several.
    pub inputs: OneOrMany,
    /// With special tokens, which is the default.
    pub add_special_tokens: Option<bool>,
}

/// A token.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Token {
    /// Its id.
    pub id: u32,
    /// Its text.
    pub text: String,
    /// Whether it is a special token.
    pub special: bool,
    /// Where it begins in the text, in bytes; none for a special token.
    pub start: Option<usize>,
    /// Where it ends.
    pub stop: Option<usize>,
}

/// Token ids of one text or of several.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected token ids or lists of token ids")]
pub enum Ids {
    /// Of one text.
    One(Vec<u32>),
    /// Of several.
    Many(Vec<Vec<u32>>),
}

/// Token ids to decode.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct DecodeRequest {
    /// The model's name; without one, the first.
    pub model: Option<String>,
    /// Token ids of one text or of several.
    pub ids: Ids,
    /// Without special tokens, which is the default.
    pub skip_special_tokens: Option<bool>,
}

/// Tokenizes texts.
#[utoipa::path(post, path = "/tokenize", tag = "text-embeddings-inference",
    request_body = TokenizeRequest, responses((status = 200, body = Vec<Vec<Token>>)))]
pub async fn tokenize(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<Response<Body>, TeiProblem> {
    let request: TokenizeRequest = app.payload(request).await?.json()?;
    let model = app.model(caller, request.model.as_deref(), |_| true, "tokenize")?;
    let texts = request.inputs.texts("inputs")?;
    let special = request.add_special_tokens != Some(false);
    let models = Arc::clone(&app.models);
    let found = blocking(move || {
        let served = models.get(model);
        texts.iter().map(|text| tokens(served, text, special)).collect::<Result<Vec<_>, _>>()
    });
    Ok(reply(&found.await??))
}

fn tokens(served: &ServedModel, text: &str, special: bool) -> Result<Vec<Token>, Problem> {
    let tokenizer = served.pipeline.tokenizer();
    let (ids, offsets) = tokenizer.encode_with_offsets(text)?;
    let token = |(id, (start, stop)): (&u32, &(usize, usize))| Token {
        id: *id,
        text: text.get(*start..*stop).unwrap_or_default().to_string(),
        special: false,
        start: Some(*start),
        stop: Some(*stop),
    };
    let plain: Vec<Token> = ids.iter().zip(&offsets).map(token).collect();
    if !special {
        return Ok(plain);
    }
    // The special tokens stand before and after the text.
    let all = tokenizer.encode_with_special(text)?;
    let at = all.windows(ids.len().max(1)).position(|window| window == ids).unwrap_or(0);
    let added = |id: &u32| Token {
        id: *id,
        text: tokenizer.token(*id),
        special: true,
        start: None,
        stop: None,
    };
    let (before, after) = all.split_at(at);
    let after = &after[ids.len().min(after.len())..];
    Ok(before.iter().map(added).chain(plain).chain(after.iter().map(added)).collect())
}

/// The texts of token ids.
#[utoipa::path(post, path = "/decode", tag = "text-embeddings-inference",
    request_body = DecodeRequest, responses((status = 200, body = Vec<String>)))]
pub async fn decode(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<Response<Body>, TeiProblem> {
    let request: DecodeRequest = app.payload(request).await?.json()?;
    let model = app.model(caller, request.model.as_deref(), |_| true, "decode")?;
    let lists = match request.ids {
        Ids::One(ids) => vec![ids],
        Ids::Many(lists) => lists,
    };
    check_count(lists.len(), "ids")?;
    let skip = request.skip_special_tokens != Some(false);
    let models = Arc::clone(&app.models);
    let found = blocking(move || {
        let tokenizer = models.get(model).pipeline.tokenizer();
        let text = |ids: &Vec<u32>| match skip {
            _ if ids.iter().any(|id| !tokenizer.has_id(*id)) => {
                let tokens = tokenizer.vocab_size();
                let message = format!("ids: a token is beyond the vocabulary of {tokens} tokens");
                Err(Problem::invalid(message))
            }
            true => Ok(tokenizer.decode(ids)?),
            false => Ok(tokenizer.decode_with_special(ids)?),
        };
        lists.iter().map(text).collect::<Result<Vec<_>, Problem>>()
    });
    Ok(reply(&found.await??))
}
