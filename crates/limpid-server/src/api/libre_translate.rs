//! The routes of LibreTranslate, with a stream of our own.

use super::generation::{self, Finished, Running, Spec};
use super::inputs::{Item, OneOrMany, check_range};
use super::inspect::{Inspect, Inspection};
use super::sse::{self, Frames, Left};
use super::{App, Caller, reply};
use crate::engine::GenerationEvent;
use crate::http::{Access, Dialect, LibreProblem, Problem, ProblemKind};
use crate::models::{ServedModel, ServedTask};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Request, Response};
use limpid::generate::GenerationOptions;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;
use whatlang::Lang;

/// Translations beside the best.
const MAX_ALTERNATIVES: usize = 8;

/// What the text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Plain text.
    #[default]
    Text,
    /// HTML: not supported.
    Html,
}

/// Texts to translate.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct TranslateRequest {
    /// A text or several.
    pub q: OneOrMany,
    /// The language of the text, or `auto`.
    pub source: String,
    /// The language to translate to.
    pub target: String,
    /// Only `text`.
    pub format: Option<Format>,
    /// So many translations beside the best, at most 8: by beam search.
    pub alternatives: Option<usize>,
    /// The key, if the server needs one.
    pub api_key: Option<String>,
    /// The model's name, instead of the first for these languages (not in LibreTranslate's API).
    pub model: Option<String>,
    /// Beams of a beam search (not in LibreTranslate's API).
    pub num_beams: Option<usize>,
    /// Send server-sent events, for one text (not in LibreTranslate's API).
    pub stream: Option<bool>,
    /// What the answer is to be opened to (not in LibreTranslate's API).
    pub inspect: Option<Inspect>,
}

/// A language that was detected.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Detection {
    /// 0 to 100.
    pub confidence: f64,
    /// Its code.
    pub language: String,
}

/// One or several, as the request had them.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Same<T: ToSchema> {
    /// For one text.
    One(T),
    /// For several.
    Many(Vec<T>),
}

impl<T: ToSchema> Same<T> {
    fn new(mut values: Vec<T>, one: bool) -> Self {
        if one { Self::One(values.swap_remove(0)) } else { Self::Many(values) }
    }
}

/// Translations.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Translated {
    /// The translation, or one for each text.
    #[serde(rename = "translatedText")]
    pub translated_text: Same<String>,
    /// The language of the text, if it was to be detected.
    #[serde(rename = "detectedLanguage", skip_serializing_if = "Option::is_none")]
    pub detected_language: Option<Same<Detection>>,
    /// Other translations.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    pub alternatives: Option<Same<Vec<String>>>,
    /// What was found inside, for each text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inspect: Vec<Inspection>,
}

/// A piece of a translation in a stream.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TranslatedPiece {
    /// More text.
    pub text: String,
    /// At the end: the whole translation.
    #[serde(rename = "translatedText", skip_serializing_if = "Option::is_none")]
    pub translated_text: Option<String>,
}

/// A language and what it is translated to.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Language {
    /// Its code.
    pub code: String,
    /// Its name in English.
    pub name: String,
    /// Codes of the languages it is translated to.
    pub targets: Vec<String>,
}

/// A text whose language is to be detected.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct DetectRequest {
    /// The text.
    pub q: String,
    /// The key, if the server needs one.
    pub api_key: Option<String>,
}

/// The body of a request that needs none.
#[derive(Clone, Debug, Default, Deserialize)]
struct OnlyKey {
    api_key: Option<String>,
}

/// Translates texts.
#[utoipa::path(post, path = "/translate", tag = "LibreTranslate",
    request_body = TranslateRequest, responses((status = 200, body = Translated)))]
pub async fn translate(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    request: Request<Body>,
) -> Result<Response<Body>, LibreProblem> {
    let payload = app.payload(request).await?;
    let request: TranslateRequest = payload.json_or_form()?;
    check_key(&app, &headers, request.api_key.as_deref())?;
    // A key of the body tells who the client is as one of the head does.
    let client = request.api_key.as_deref().filter(|_| Access::key_of(&headers).is_none());
    let client = client.and_then(|key| app.client_of(key)).unwrap_or(caller.client);
    let caller = Caller { client, ..caller };
    if request.format == Some(Format::Html) {
        return Err(Problem::invalid("format html is not supported: send plain text").into());
    }
    let one = matches!(request.q, OneOrMany::One(_));
    let texts = request.q.clone().texts("q")?;
    let detected: Option<Vec<Detection>> =
        (request.source == "auto").then(|| texts.iter().map(|text| detection(text)).collect());
    let source = match &detected {
        Some(detected) => detected[0].language.clone(),
        None => request.source.clone(),
    };
    let model = choose(&app, caller, &request, &source)?;
    let spec = request.spec()?;
    if let Some(inspect) = &request.inspect {
        inspect.check(app.models.get(model))?;
    }
    if request.stream == Some(true) && !one {
        return Err(Problem::invalid("a stream has one text").into());
    }
    let items = texts.iter().cloned().map(Item::Text).collect();
    let running = generation::start(&app, caller, model, items, spec).await?;
    if request.stream == Some(true) {
        return Ok(sse::stream(
            move |frames| async move { stream(&app, model, running, frames).await },
        ));
    }
    let finished = running.collect().await?;
    let (read, generated) = (
        finished.iter().map(|found| found.prompt_tokens).sum(),
        finished.iter().map(Finished::completion_tokens).sum(),
    );
    app.metrics.tokens(&app.models.get(model).name, read, generated);
    let mut inspect = Vec::new();
    if let Some(wanted) = request.inspect {
        for (found, text) in finished.iter().zip(&texts) {
            let found = (found, finished.len());
            inspect.push(wanted.open(&app, caller, model, found, Some(text.clone())).await?);
        }
    }
    let others = |found: &Finished| {
        found.texts.iter().skip(1).map(|text| text.text.clone()).collect::<Vec<String>>()
    };
    let alternatives = request
        .alternatives
        .filter(|count| *count > 0)
        .map(|_| Same::new(finished.iter().map(others).collect(), one));
    let best = |found: &Finished| found.texts[0].text.clone();
    Ok(reply(&Translated {
        translated_text: Same::new(finished.iter().map(best).collect(), one),
        detected_language: detected.map(|found| Same::new(found, one)),
        alternatives,
        inspect,
    }))
}

impl TranslateRequest {
    fn spec(&self) -> Result<Spec, Problem> {
        let alternatives = self.alternatives.unwrap_or(0);
        check_range("alternatives", alternatives, 0..=MAX_ALTERNATIVES)?;
        check_range("num_beams", self.num_beams.unwrap_or(1), 1..=16)?;
        let num_beams = match alternatives {
            0 => self.num_beams,
            n => Some(self.num_beams.unwrap_or(1).max(n + 1)),
        };
        let num_return_sequences = (alternatives > 0).then_some(alternatives + 1);
        let options =
            GenerationOptions { num_beams, num_return_sequences, ..GenerationOptions::default() };
        let mut spec = Spec { options, ..Spec::default() };
        if let Some(inspect) = &self.inspect {
            spec.trace = inspect.tracing(spec.trace)?;
        }
        spec.streams = self.stream == Some(true);
        Ok(spec)
    }
}

/// Sends a translation as it appears.
async fn stream(app: &App, model: usize, running: Running, frames: Frames) -> Result<(), Left> {
    let Running { mut generations, prompt_tokens, .. } = running;
    loop {
        match frames.wait(generations.events[0].recv()).await? {
            Some(GenerationEvent::Text { sample: 0, text }) => {
                frames.send(&TranslatedPiece { text, translated_text: None }).await?;
            }
            Some(GenerationEvent::Done(Ok(texts))) => {
                let name = &app.models.get(model).name;
                app.metrics.tokens(name, prompt_tokens[0], texts[0].tokens.len());
                let translated_text = Some(texts[0].text.clone());
                frames.send(&TranslatedPiece { text: String::new(), translated_text }).await?;
                return frames.done().await;
            }
            Some(GenerationEvent::Done(Err(error))) => {
                return frames.problem(&error.into(), Dialect::LibreTranslate).await;
            }
            Some(_) => {}
            None => return Err(Left),
        }
    }
}

fn check_key(app: &App, headers: &HeaderMap, key: Option<&str>) -> Result<(), Problem> {
    let header = Access::key_of(headers);
    app.settings.access.check_key(header.or(key))
}

fn translates(model: &ServedModel) -> bool {
    model.task() == ServedTask::Translation
}

/// The model for a pair of languages.
fn choose(
    app: &App,
    caller: Caller,
    request: &TranslateRequest,
    source: &str,
) -> Result<usize, Problem> {
    let target = &request.target;
    let named = caller.model.is_some() || request.model.is_some();
    let suits = |model: &ServedModel| match &model.languages {
        Some((from, to)) => from == source && to == target,
        // One whose languages are not known is taken at its caller's word.
        None => named,
    };
    if named {
        let model = app.model(caller, request.model.as_deref(), translates, "translate")?;
        if suits(app.models.get(model)) {
            return Ok(model);
        }
    } else if let Some(model) = app.models.iter().position(|m| translates(m) && suits(m)) {
        return Ok(model);
    }
    let pairs: Vec<String> = app
        .models
        .iter()
        .filter_map(|model| model.languages.as_ref())
        .map(|(from, to)| format!("{from} to {to}"))
        .collect();
    let what = match pairs.is_empty() {
        true => "no model's name says its languages, such as fr-en".to_string(),
        false => format!("this server translates {}", pairs.join(", ")),
    };
    Err(Problem::new(ProblemKind::Invalid, format!("no model for {source} to {target}: {what}")))
}

/// The languages.
#[utoipa::path(get, path = "/languages", tag = "LibreTranslate",
    responses((status = 200, body = Vec<Language>)))]
pub async fn languages(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    request: Request<Body>,
) -> Result<Response<Body>, LibreProblem> {
    // Some clients send their key in the body of this GET, as a form.
    let payload = app.payload(request).await?;
    let key = if payload.is_empty() { OnlyKey::default() } else { payload.json_or_form()? };
    check_key(&app, &headers, key.api_key.as_deref())?;
    let mut targets: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (source, target) in app.models.iter().filter_map(|model| model.languages.clone()) {
        targets.entry(target.clone()).or_default();
        targets.entry(source).or_default().push(target);
    }
    let language = |(code, targets): (String, Vec<String>)| {
        let name = language_name(&code);
        Language { code, name, targets }
    };
    Ok(reply(&targets.into_iter().map(language).collect::<Vec<Language>>()))
}

/// Detects the language of a text.
#[utoipa::path(post, path = "/detect", tag = "LibreTranslate",
    request_body = DetectRequest, responses((status = 200, body = Vec<Detection>)))]
pub async fn detect(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    request: Request<Body>,
) -> Result<Response<Body>, LibreProblem> {
    let request: DetectRequest = app.payload(request).await?.json_or_form()?;
    check_key(&app, &headers, request.api_key.as_deref())?;
    if request.q.trim().is_empty() {
        return Err(Problem::new(ProblemKind::Empty, "q is empty").into());
    }
    Ok(reply(&[detection(&request.q)]))
}

fn detection(text: &str) -> Detection {
    match whatlang::detect(text) {
        Some(found) => Detection {
            confidence: (found.confidence() * 100.0).round(),
            language: short_code(found.lang()).to_string(),
        },
        None => Detection { confidence: 0.0, language: "en".into() },
    }
}

/// The code of two letters, where a language has one.
fn short_code(lang: Lang) -> &'static str {
    CODES.iter().find(|(_, long)| *long == lang.code()).map_or(lang.code(), |(short, _)| short)
}

fn language_name(code: &str) -> String {
    let long = CODES.iter().find(|(short, _)| *short == code).map_or(code, |(_, long)| long);
    Lang::from_code(long).map_or_else(|| code.to_string(), |lang| lang.eng_name().to_string())
}

/// ISO 639-1 and 639-3.
const CODES: [(&str, &str); 44] = [
    ("af", "afr"),
    ("ar", "ara"),
    ("az", "aze"),
    ("be", "bel"),
    ("bg", "bul"),
    ("bn", "ben"),
    ("ca", "cat"),
    ("cs", "ces"),
    ("da", "dan"),
    ("de", "deu"),
    ("el", "ell"),
    ("en", "eng"),
    ("eo", "epo"),
    ("es", "spa"),
    ("et", "est"),
    ("fa", "pes"),
    ("fi", "fin"),
    ("fr", "fra"),
    ("he", "heb"),
    ("hi", "hin"),
    ("hr", "hrv"),
    ("hu", "hun"),
    ("id", "ind"),
    ("it", "ita"),
    ("ja", "jpn"),
    ("ko", "kor"),
    ("la", "lat"),
    ("lt", "lit"),
    ("lv", "lav"),
    ("nb", "nob"),
    ("nl", "nld"),
    ("pl", "pol"),
    ("pt", "por"),
    ("ro", "ron"),
    ("ru", "rus"),
    ("sk", "slk"),
    ("sl", "slv"),
    ("sr", "srp"),
    ("sv", "swe"),
    ("th", "tha"),
    ("tr", "tur"),
    ("uk", "ukr"),
    ("vi", "vie"),
    ("zh", "cmn"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_detected_and_named_by_two_letters() {
        let found = detection("Les enfants jouent dans le jardin pendant que leur mère travaille.");
        assert_eq!(found.language, "fr");
        assert_eq!(language_name("de"), "German");
        assert_eq!(language_name("xx"), "xx");
    }
}
