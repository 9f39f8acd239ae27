//! The tasks of Hugging Face's routes.

use super::generation::{self, Finished};
use super::hugging_face::{
    AnswerOutput, EntityOutput, Fill, Output, Parameters, QuestionInputs, Task,
};
use super::inputs::{Item, check_range};
use super::inspect::{self, Inspect, Timing};
use super::passes::{self, Read, Tokenized, answerer, fill_mask, mixed_up, tagger};
use super::tei::{self, SimilarityInputs};
use super::{App, Caller};
use crate::engine::{Pass, PassOutput};
use crate::http::{Problem, ProblemKind};
use crate::models::ServedModel;
use axum::body::Body;
use axum::http::Response;
use limpid::data::batch::EncodedText;
use limpid::encode::{
    Aggregation, Answer, AnswerOptions, Entity, FilledMask, Impossible, MaskPredictions,
    Normalization,
};
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;

/// Tokens for a mask, at most.
const MAX_TOP_K: usize = 1_000;

/// A request of a model, before it is known what it reads.
pub struct Asked<'a> {
    pub app: &'a Arc<App>,
    pub caller: Caller,
    pub model: usize,
    pub parameters: Parameters,
    pub inspect: Option<Inspect>,
}

impl Asked<'_> {
    /// The answer, with what is inside if that was asked for.
    async fn reply(self, output: &impl Serialize, read: Read) -> Result<Response<Body>, Problem> {
        let Self { app, caller, model, inspect, .. } = self;
        inspect::answer(app, caller, model, inspect, (output, read)).await
    }

    /// Cosine similarities of a text with others.
    /// # Errors
    /// A [`Problem`] with one of the inputs.
    pub async fn compare(self, inputs: SimilarityInputs) -> Result<Response<Body>, Problem> {
        let SimilarityInputs { source_sentence: source, sentences } = inputs;
        let options = (self.parameters.prompt_name.clone(), self.parameters.truncate);
        let (app, caller, model) = (self.app, self.caller, self.model);
        let (found, read) =
            tei::similarities(app, caller, model, source, sentences, options).await?;
        self.reply(&found, read).await
    }

    /// Labels of texts.
    /// # Errors
    /// A [`Problem`] with one of the inputs.
    pub async fn classify(self, texts: Vec<String>) -> Result<Response<Body>, Problem> {
        let pairs = texts.into_iter().map(|text| (text, None)).collect();
        let (app, caller, model) = (self.app, self.caller, self.model);
        let (mut found, read) =
            tei::classify(app, caller, model, pairs, self.parameters.truncate).await?;
        if let Some(top) = self.parameters.top_k {
            found.iter_mut().for_each(|labels| labels.truncate(top));
        }
        // Nested also for one text: clients take the first element for its labels.
        self.reply(&found, read).await
    }

    /// Embeddings of texts.
    /// # Errors
    /// A [`Problem`] with one of the inputs.
    pub async fn embed(self, texts: Vec<String>, one: bool) -> Result<Response<Body>, Problem> {
        let normalization = match self.parameters.normalize {
            Some(false) => Normalization::None,
            _ => Normalization::UnitLength,
        };
        let Parameters { prompt_name, truncate, .. } = self.parameters.clone();
        let tokenize = move |served: &ServedModel, text: String| {
            let encoded = tei::tokenize(served, &text, prompt_name.as_deref(), truncate)?;
            Ok(Pass::Embed(encoded, normalization))
        };
        let passed = passes::run(self.app, self.caller, self.model, texts, tokenize).await?;
        let mut vectors = tei::vectors(passed.outputs)?;
        match one {
            true => self.reply(&vectors.swap_remove(0), passed.read).await,
            false => self.reply(&vectors, passed.read).await,
        }
    }

    /// Tokens for the masks of texts.
    /// # Errors
    /// A [`Problem`] with one of the inputs.
    pub async fn fill(self, texts: Vec<String>, one: bool) -> Result<Response<Body>, Problem> {
        let top = check_range("top_k", self.parameters.top_k.unwrap_or(5), 1..=MAX_TOP_K)?;
        let tokenize = move |served: &ServedModel, text: String| -> Tokenized {
            let model = fill_mask(served).expect("the handler chose a masked language model");
            let encoded = model.tokenize(&text)?;
            Ok(Pass::FillMask { text, encoded, top })
        };
        let passed = passes::run(self.app, self.caller, self.model, texts, tokenize).await?;
        let tokenizer = self.app.models.get(self.model).pipeline.tokenizer();
        let fill = |found: FilledMask| Fill {
            score: found.probability,
            token: found.id,
            token_str: tokenizer
                .decode(&[found.id])
                .ok()
                .filter(|text| !text.is_empty())
                .unwrap_or(found.token),
            sequence: found.text,
        };
        let fills = |found: MaskPredictions| found.into_iter().map(fill).collect::<Vec<Fill>>();
        let mut all: Vec<Vec<Vec<Fill>>> = Vec::new();
        for output in passed.outputs {
            let PassOutput::Masks(masks) = output else { return Err(mixed_up()) };
            all.push(masks.into_iter().map(fills).collect());
        }
        // As a pipeline of transformers: a text with one mask has no list around it.
        let read = passed.read;
        match (one, all.iter().all(|masks| masks.len() == 1)) {
            (true, true) => self.reply(&all[0][0], read).await,
            (true, false) => self.reply(&all[0], read).await,
            (false, true) => {
                let firsts: Vec<&Vec<Fill>> = all.iter().map(|masks| &masks[0]).collect();
                self.reply(&firsts, read).await
            }
            (false, false) => self.reply(&all, read).await,
        }
    }

    /// Labelled parts of texts.
    /// # Errors
    /// A [`Problem`] with one of the inputs.
    pub async fn tag(self, texts: Vec<String>, one: bool) -> Result<Response<Body>, Problem> {
        let name = self.parameters.aggregation_strategy.as_deref().unwrap_or("simple");
        let aggregation: Aggregation = name
            .to_lowercase()
            .parse()
            .map_err(|error: limpid::error::Error| Problem::invalid(error.to_string()))?;
        let ignored = self.parameters.ignore_labels.clone().unwrap_or_default();
        let begun = Instant::now();
        let encoded = self.tokenized(texts.iter().map(|text| (text.clone(), None)).collect());
        let encoded = encoded.await?;
        let rows = encoded.iter().map(|(ids, _)| ids.len()).sum();
        let admitted = Instant::now();
        let found = passes::call(self.app, self.caller, self.model, rows, move |served| {
            let started = Instant::now();
            let tagger = tagger(served).expect("the handler chose a token classifier");
            Ok((tagger.tag(&texts, aggregation)?, started))
        });
        let (found, started) = found.await?;
        let joined = aggregation != Aggregation::None;
        let output = |entity: Entity| EntityOutput {
            entity_group: joined.then(|| entity.label.clone()),
            entity: (!joined).then_some(entity.label),
            index: entity.index,
            score: entity.score,
            word: entity.word,
            start: entity.start,
            end: entity.end,
        };
        let kept = |entities: Vec<Entity>| {
            let kept = entities.into_iter().filter(|entity| !ignored.contains(&entity.label));
            kept.map(output).collect::<Vec<EntityOutput>>()
        };
        let mut found: Vec<Vec<EntityOutput>> = found.into_iter().map(kept).collect();
        let read = Read { encoded, timing: Timing::new(begun, admitted, started) };
        match one {
            true => self.reply(&found.swap_remove(0), read).await,
            false => self.reply(&found, read).await,
        }
    }

    /// The parts of a context that answer a question.
    /// # Errors
    /// A [`Problem`] with one of the inputs.
    pub async fn answer(self, asked: QuestionInputs) -> Result<Response<Body>, Problem> {
        let QuestionInputs { question, context } = asked;
        if question.trim().is_empty() || context.trim().is_empty() {
            let message = "inputs: question and context must not be empty";
            return Err(Problem::new(ProblemKind::Empty, message));
        }
        let defaults = AnswerOptions::default();
        let parameters = &self.parameters;
        let top_k = check_range("top_k", parameters.top_k.unwrap_or(1), 1..=100)?;
        let longest = parameters.max_answer_len.unwrap_or(defaults.max_answer_len);
        let options = AnswerOptions {
            max_seq_len: parameters.max_seq_len,
            doc_stride: parameters.doc_stride,
            max_answer_len: check_range("max_answer_len", longest, 1..=1_000)?,
            top_k,
            impossible: match parameters.handle_impossible_answer {
                Some(true) => Impossible::Allowed,
                _ => Impossible::Never,
            },
        };
        let begun = Instant::now();
        let rows = self.window_rows(&question, &context, options).await?;
        let inside = match self.inspect.is_some() {
            true => self.tokenized(vec![(question.clone(), Some(context.clone()))]).await?,
            false => Vec::new(),
        };
        let admitted = Instant::now();
        let found = passes::call(self.app, self.caller, self.model, rows, move |served| {
            let started = Instant::now();
            let answerer = answerer(served).expect("the handler chose a question answerer");
            Ok((answerer.answer(&question, &context, options)?, started))
        });
        let (found, started) = found.await?;
        let output = |found: Answer| AnswerOutput {
            answer: found.answer,
            score: found.score,
            start: found.start,
            end: found.end,
        };
        let mut found: Vec<AnswerOutput> = found.into_iter().map(output).collect();
        let read = Read { encoded: inside, timing: Timing::new(begun, admitted, started) };
        match top_k == 1 && found.len() == 1 {
            true => self.reply(&found.swap_remove(0), read).await,
            false => self.reply(&found, read).await,
        }
    }

    /// Rows of all windows of a context: many more than its tokens, where they begin shortly after
    /// one another.
    async fn window_rows(
        &self,
        question: &str,
        context: &str,
        options: AnswerOptions,
    ) -> Result<usize, Problem> {
        let (models, model) = (Arc::clone(&self.app.models), self.model);
        let (question, context) = (question.to_string(), context.to_string());
        let count = move || {
            let served = models.get(model);
            let tokens = |text: &str| served.pipeline.tokenizer().encode(text).map(|ids| ids.len());
            Ok::<_, limpid::error::Error>((tokens(&question)?, tokens(&context)?, served.longest))
        };
        let (question, context, longest) = generation::blocking(count).await??;
        let window = options.max_seq_len.unwrap_or(384).min(longest);
        let shared = options.doc_stride.unwrap_or((window / 2).min(128));
        let step = window.saturating_sub(question).saturating_sub(shared).max(1);
        Ok(context.div_ceil(step).max(1).saturating_mul(window))
    }

    /// Token ids of texts and pairs, off the event loop.
    async fn tokenized(
        &self,
        texts: Vec<(String, Option<String>)>,
    ) -> Result<Vec<EncodedText>, Problem> {
        let (models, model) = (Arc::clone(&self.app.models), self.model);
        let tokenize = move || {
            let served = models.get(model);
            let count = texts.len();
            let one = |(i, (text, second)): (usize, &(String, Option<String>))| {
                let read = served.read(text, second.as_deref());
                read.map_err(|error| generation::at(error.into(), i, count))
            };
            texts.iter().enumerate().map(one).collect::<Result<Vec<_>, Problem>>()
        };
        generation::blocking(tokenize).await?
    }

    /// Texts that a model generates.
    /// # Errors
    /// A [`Problem`] with one of the inputs.
    pub async fn generate(self, texts: Vec<String>, task: Task) -> Result<Response<Body>, Problem> {
        let Self { app, caller, model, parameters, inspect } = self;
        let mut spec = parameters.spec()?;
        if let Some(inspect) = &inspect {
            spec.trace = inspect.tracing(spec.trace)?;
        }
        let items = texts.iter().cloned().map(Item::Text).collect();
        let finished = generation::start(app, caller, model, items, spec).await?.collect().await?;
        let read = finished.iter().map(|found| found.prompt_tokens).sum();
        let generated = finished.iter().map(Finished::completion_tokens).sum();
        app.metrics.tokens(&app.models.get(model).name, read, generated);
        let mut inside = inspect.is_some().then(Vec::new);
        if let (Some(inspect), Some(inside)) = (inspect, &mut inside) {
            for (found, text) in finished.iter().zip(&texts) {
                let source = (task != Task::Generation).then(|| text.clone());
                let found = (found, finished.len());
                inside.push(inspect.open(app, caller, model, found, source).await?);
            }
        }
        let full = task == Task::Generation && parameters.return_full_text != Some(false);
        let mut outputs = Vec::new();
        for (found, prompt) in finished.into_iter().zip(&texts) {
            outputs.extend(found.texts.into_iter().map(|text| match task {
                Task::Translation => Output::Translation(text.text),
                Task::Summarization => Output::Summary(text.text),
                _ if full => Output::Generated(format!("{prompt}{}", text.text)),
                _ => Output::Generated(text.text),
            }));
        }
        Ok(inspect::opened(&outputs, inside))
    }
}
