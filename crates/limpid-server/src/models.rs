//! The models of a server: loaded once, named, never changed.

use crate::engine::{JobError, Pass, PassOutput};
use crate::error::ServeError;
use limpid::data::batch::EncodedText;
use limpid::encode::{Normalization, TextEncoder, Truncation};
use limpid::generate::chat::ChatTemplate;
use limpid::hash::{hash_bytes, hash_file};
use limpid::hub;
use limpid::model::Stack;
use limpid::pipeline::Pipeline;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A model to serve: a folder with an optional name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSource {
    /// The name clients use; the folder's without one.
    pub name: Option<String>,
    /// A model folder or a run folder.
    pub folder: PathBuf,
}

/// What a model does, in the words of Hugging Face's pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedTask {
    /// `text-generation`
    TextGeneration,
    /// `translation`
    Translation,
    /// `feature-extraction`
    FeatureExtraction,
    /// `fill-mask`
    FillMask,
    /// `text-classification`
    TextClassification,
    /// `token-classification`
    TokenClassification,
    /// `question-answering`
    QuestionAnswering,
}

impl ServedTask {
    /// Its name in Hugging Face's pipelines.
    pub fn name(self) -> &'static str {
        match self {
            Self::TextGeneration => "text-generation",
            Self::Translation => "translation",
            Self::FeatureExtraction => "feature-extraction",
            Self::FillMask => "fill-mask",
            Self::TextClassification => "text-classification",
            Self::TokenClassification => "token-classification",
            Self::QuestionAnswering => "question-answering",
        }
    }
}

/// A model in memory.
pub struct ServedModel {
    /// The name clients use.
    pub name: String,
    /// Its facade.
    pub pipeline: Pipeline,
    /// Its chat template, if the folder has one.
    pub chat: Option<ChatTemplate>,
    /// What its answers depend on: its files, this version, the instruction set.
    pub fingerprint: String,
    /// When its configuration was written, in seconds since 1970.
    pub created: u64,
    /// Source and target language of a translator, by its name: `fr-en`.
    pub languages: Option<(String, String)>,
    /// Tokens of its vocabulary that logits are for.
    pub logits: usize,
    /// Positions of a sequence.
    pub longest: usize,
}

impl ServedModel {
    fn load(source: &ModelSource) -> Result<Self, ServeError> {
        let pipeline = Pipeline::load(&source.folder)?;
        let name = match &source.name {
            Some(name) => name.clone(),
            None => folder_name(&source.folder),
        };
        let stack = &pipeline.model().stack;
        let chat = match stack {
            Stack::Decoder(_) => ChatTemplate::load(pipeline.folder()).ok(),
            _ => None,
        };
        let (logits, longest) = match (stack, stack.translator()) {
            (Stack::Decoder(decoder), _) => {
                (decoder.config().vocab_size, decoder.config().max_position_embeddings)
            }
            (_, Some(model)) => (model.decoder_vocab_size(), model.longest()),
            (Stack::Encoder(encoder), _) => {
                (encoder.config().vocab_size, encoder.config().max_position_embeddings)
            }
            _ => unreachable!("a stack is one of these"),
        };
        Ok(Self {
            languages: stack.translator().and_then(|_| languages_of(&name)),
            fingerprint: fingerprint(&source.folder, pipeline.folder())?,
            created: written(pipeline.folder()),
            name,
            chat,
            logits,
            longest,
            pipeline,
        })
    }

    /// What it is for in the first place.
    pub fn task(&self) -> ServedTask {
        match &self.pipeline {
            Pipeline::Generator(_) => ServedTask::TextGeneration,
            Pipeline::Translator(_) => ServedTask::Translation,
            Pipeline::Classifier(_) => ServedTask::TextClassification,
            Pipeline::Encoder { fill_mask: Some(_), .. } => ServedTask::FillMask,
            Pipeline::Encoder { classifier: Some(_), .. } => ServedTask::TextClassification,
            Pipeline::Encoder { tagger: Some(_), .. } => ServedTask::TokenClassification,
            Pipeline::Encoder { answerer: Some(_), .. } => ServedTask::QuestionAnswering,
            Pipeline::Encoder { .. } => ServedTask::FeatureExtraction,
        }
    }

    /// The token ids of a text or a pair, as its encoder reads them.
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self, text: &str, second: Option<&str>) -> limpid::error::Result<EncodedText> {
        let model = self.pipeline.model();
        let Stack::Encoder(encoder) = &model.stack else {
            return Ok((self.pipeline.tokenizer().encode(text)?, Vec::new()));
        };
        let encoder = TextEncoder {
            model: encoder,
            weights: self.pipeline.weights(),
            tokenizer: self.pipeline.tokenizer(),
            truncation: Truncation::Error,
        };
        encoder.tokenize(0, text, second)
    }

    /// The answers of passes of one kind, in their order.
    pub fn compute(&self, passes: Vec<Pass>) -> Vec<Result<PassOutput, JobError>> {
        let count = passes.len();
        let found = self.compute_all(passes);
        match found {
            Ok(outputs) => outputs.into_iter().map(Ok).collect(),
            Err(error) => {
                // Texts were checked before: this is none of them in particular.
                tracing::error!(%error, "passes failed");
                (0..count).map(|_| Err(JobError::Internal)).collect()
            }
        }
    }

    fn compute_all(&self, passes: Vec<Pass>) -> limpid::error::Result<Vec<PassOutput>> {
        let (embedder, fill_mask, classifier, reranker) = match &self.pipeline {
            Pipeline::Encoder { embedder, fill_mask, classifier, reranker, .. } => {
                (Some(embedder), fill_mask.as_ref(), classifier.as_ref(), reranker.as_ref())
            }
            Pipeline::Classifier(classifier) => (None, None, Some(classifier), None),
            _ => (None, None, None, None),
        };
        let (mut encoded, mut texts, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        let mut kind = None;
        for pass in passes {
            match pass {
                Pass::Embed(text, normalization) => {
                    kind = Some(Encoding::Embed(normalization));
                    encoded.push(text);
                }
                Pass::HiddenStates(text) => {
                    kind = Some(Encoding::HiddenStates);
                    encoded.push(text);
                }
                Pass::Classify(text) => {
                    kind = Some(Encoding::Classify);
                    encoded.push(text);
                }
                Pass::Rerank(text) => {
                    kind = Some(Encoding::Rerank);
                    encoded.push(text);
                }
                Pass::FillMask { text, encoded: ids, top } => {
                    kind = Some(Encoding::FillMask(top));
                    texts.push(text);
                    encoded.push(ids);
                }
                call => calls.push(call),
            }
        }
        Ok(match (kind, embedder, classifier, fill_mask) {
            (Some(Encoding::Embed(normalization)), Some(embedder), ..) => {
                let found = embedder.embed_tokens(&encoded, normalization);
                found.into_iter().map(PassOutput::Vector).collect()
            }
            (Some(Encoding::HiddenStates), Some(embedder), ..) => {
                embedder.hidden_states(&encoded).into_iter().map(PassOutput::Vectors).collect()
            }
            (Some(Encoding::Classify), _, Some(model), _) => {
                model.classify_tokens(&encoded)?.into_iter().map(PassOutput::Labels).collect()
            }
            (Some(Encoding::Rerank), ..) => {
                let model = reranker.expect("the handler chose a reranker");
                model.score_tokens(&encoded)?.into_iter().map(PassOutput::Relevance).collect()
            }
            (Some(Encoding::FillMask(top)), _, _, Some(model)) => {
                let found = model.fill_tokens(&texts, &encoded, top)?;
                found.into_iter().map(PassOutput::Masks).collect()
            }
            _ => {
                let called = |call| {
                    self.call(call);
                    PassOutput::Called
                };
                calls.into_iter().map(called).collect()
            }
        })
    }

    fn call(&self, pass: Pass) {
        if let Pass::Call(_, call) = pass {
            call(self);
        }
    }
}

/// What the texts of a batch are encoded for.
#[derive(Clone, Copy)]
enum Encoding {
    Embed(Normalization),
    HiddenStates,
    Classify,
    Rerank,
    FillMask(usize),
}

/// All models of a server.
pub struct Models(Vec<ServedModel>);

impl Models {
    /// Loads folders.
    /// # Errors
    /// If one is no model folder, or two have one name.
    pub fn load(sources: &[ModelSource]) -> Result<Self, ServeError> {
        let mut models: Vec<ServedModel> = Vec::new();
        for source in sources {
            let model = ServedModel::load(source)?;
            if models.iter().any(|other| other.name == model.name) {
                return Err(ServeError::SameName { name: model.name });
            }
            models.push(model);
        }
        match models.is_empty() {
            true => Err(ServeError::NoModels),
            false => Ok(Self(models)),
        }
    }

    /// A model by its index.
    pub fn get(&self, index: usize) -> &ServedModel {
        &self.0[index]
    }

    /// All of them, in the order they were named.
    pub fn iter(&self) -> impl Iterator<Item = &ServedModel> {
        self.0.iter()
    }

    /// The index of the model with this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|model| model.name == name)
    }
}

/// The last part of a path that says something: of `runs/english/model`, `english`.
fn folder_name(folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    let mut names = folder.iter().rev().filter_map(|part| part.to_str());
    let name = names.find(|name| !["model", "0_Transformer"].contains(name));
    name.unwrap_or("model").to_string()
}

/// The languages that a name ends with: `opus-mt-fr-en` is French to English.
fn languages_of(name: &str) -> Option<(String, String)> {
    let mut parts = name.rsplit(['-', '_', '/']);
    let (target, source) = (parts.next()?, parts.next()?);
    let code = |part: &str| {
        (2..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_lowercase())
    };
    (code(source) && code(target)).then(|| (source.to_string(), target.to_string()))
}

/// The files that an answer depends on, by how their names end.
const FILES: [&str; 6] = [".json", ".safetensors", ".jinja", ".model", ".txt", ".gguf"];

/// A hash of the model's files, with what else the bits of an answer depend on.
fn fingerprint(source: &Path, folder: &Path) -> Result<String, ServeError> {
    let mut facts = vec![
        env!("CARGO_PKG_VERSION").to_string(),
        limpid_tensor::simd::level().name().to_string(),
    ];
    for place in places(source, folder)? {
        for file in files_of(&place)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if FILES.iter().any(|end| name.ends_with(end)) {
                let (bytes, hash) = hash_file(&file, 0)?;
                facts.push(format!("{name} {bytes} {hash:016x}"));
            }
        }
    }
    Ok(format!("fp_{:016x}", hash_bytes(facts.join("\n").as_bytes())))
}

/// Where the files of a model are: its folder, that of an adapter's base, and the modules of
/// sentence-transformers.
fn places(source: &Path, folder: &Path) -> Result<Vec<PathBuf>, ServeError> {
    let mut places = vec![folder.to_path_buf()];
    if !folder.is_file() {
        let weights = hub::weight_files(folder)?;
        places.extend(weights.iter().filter_map(|file| file.parent()).map(Path::to_path_buf));
    }
    if source.join("modules.json").is_file() {
        places.push(source.to_path_buf());
        let entries = std::fs::read_dir(source);
        let entries = entries.map_err(|e| limpid::error::Error::io("read", source, e))?;
        let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
        let mut modules: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
        modules.sort();
        places.extend(modules);
    }
    let mut seen = HashSet::new();
    places.retain(|place| seen.insert(place.canonicalize().unwrap_or_else(|_| place.clone())));
    Ok(places)
}

/// The files of a folder by name; a file that holds everything is its own.
fn files_of(place: &Path) -> Result<Vec<PathBuf>, ServeError> {
    if place.is_file() {
        return Ok(vec![place.to_path_buf()]);
    }
    let entries = std::fs::read_dir(place);
    let entries = entries.map_err(|e| limpid::error::Error::io("read", place, e))?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

fn written(folder: &Path) -> u64 {
    let modified = std::fs::metadata(folder.join("config.json")).and_then(|meta| meta.modified());
    let since = modified.unwrap_or(SystemTime::UNIX_EPOCH).duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_translator_tells_its_languages() {
        let pair = |source: &str, target: &str| Some((source.to_string(), target.to_string()));
        assert_eq!(languages_of("fr-en"), pair("fr", "en"));
        assert_eq!(languages_of("opus-mt-de-fra"), pair("de", "fra"));
        assert_eq!(languages_of("multi30k"), None);
        assert_eq!(languages_of("t5-small"), None);
        assert_eq!(languages_of("en"), None);
    }

    #[test]
    fn a_folder_gives_its_name_to_the_model() {
        assert_eq!(folder_name(Path::new("runs/english/model")), "english");
        assert_eq!(folder_name(Path::new("limpid-demo/fr-en")), "fr-en");
    }
}
