//! The description of the API, from the types, and a page that shows it without any other host.

use super::{
    App, chat, completions, embeddings, hugging_face, libre_translate, models, operations,
};
use super::{reply, tei, tokens};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Response, header};
use std::fmt::Write;
use std::sync::Arc;
use utoipa::OpenApi;
use utoipa::openapi::path::PathItem;

/// All routes with their types.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Limpid",
        description = "Every route also stands under /models/{id}/…, where the path names the \
                       model. Errors have the form of the API a route belongs to."
    ),
    paths(
        completions::create,
        chat::create,
        embeddings::create,
        models::list,
        models::one,
        tei::embed,
        tei::embed_all,
        tei::rerank,
        tei::predict,
        tei::similarity,
        tei::info,
        tokens::tokenize,
        tokens::decode,
        libre_translate::translate,
        libre_translate::languages,
        libre_translate::detect,
        hugging_face::infer,
        hugging_face::pipeline,
        operations::health,
        operations::ready,
        operations::metrics,
    )
)]
struct Document;

/// The description of the API as OpenAPI 3.1.
pub async fn openapi() -> Response<Body> {
    reply(&Document::openapi())
}

/// A page that lists models and routes, with lines to try.
pub async fn page(State(app): State<Arc<App>>) -> Response<Body> {
    let mut response = Response::new(Body::from(html(&app)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}

fn html(app: &App) -> String {
    let mut page = String::from(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Limpid</title>\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <style>body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;\
         padding:0 1rem;color:#222}code,pre{font-family:ui-monospace,monospace;\
         background:#f4f4f2;padding:.1rem .3rem}table{border-collapse:collapse}\
         td,th{text-align:left;padding:.2rem 1rem .2rem 0;vertical-align:top}</style>\
         <h1>Limpid</h1><h2>Models</h2><table><tr><th>name<th>task<th>fingerprint",
    );
    // Writing to a string cannot fail.
    for model in app.models.iter() {
        let (name, task) = (escaped(&model.name), model.task().name());
        let _ = write!(page, "<tr><td>{name}<td>{task}<td>{}", model.fingerprint);
    }
    page.push_str(
        "</table><p>Every route also stands under <code>/models/{name}/…</code>; the description \
         for programs is <a href=\"/openapi.json\">openapi.json</a>.<h2>Routes</h2><table>",
    );
    for (path, item) in Document::openapi().paths.paths {
        let (method, operation) = match &item {
            PathItem { post: Some(operation), .. } => ("POST", operation),
            PathItem { get: Some(operation), .. } => ("GET", operation),
            _ => continue,
        };
        let summary = operation.summary.clone().unwrap_or_default();
        let (path, summary) = (escaped(&path), escaped(&summary));
        let _ = write!(page, "<tr><td>{method}<td><code>{path}</code><td>{summary}");
    }
    page.push_str(
        "</table><h2>Try it</h2><pre>curl $URL/v1/models\n\
         curl $URL/v1/completions -H 'content-type: application/json' \\\n     \
         -d '{\"prompt\": \"The\", \"max_tokens\": 20}'\n\
         curl $URL/translate -H 'content-type: application/json' \\\n     \
         -d '{\"q\": \"Je suis étudiant\", \"source\": \"fr\", \"target\": \"en\", \
         \"inspect\": {\"alignment\": true}}'</pre></html>",
    );
    page
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
