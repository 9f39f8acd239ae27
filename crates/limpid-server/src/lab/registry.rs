//! Models and runs by id. A request names an id of this list, never a path.

use super::opened::Opened;
use super::problem::{Kind, LabProblem};
use super::types::{Model, ModelKind, ModelSource, ModelState};
use limpid::hash::{hash_bytes, hash_file};
use limpid::hub::{self, Description};
use limpid::model::Stack;
use limpid::model::config::{EncoderHead, RecurrentAttention};
use limpid::pipeline::{Pipeline, model_folder};
use limpid::text::Tokenizer;
use limpid_learn::corpus::stories;
use limpid_tensor::params::Role;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Folders that are looked into without any named: the demo's models, and runs.
const USUAL: [&str; 2] = ["limpid-demo", "runs"];
/// Entries of one folder of models.
const MAX_ENTRIES: usize = 500;
/// Bytes of the tokenizer of the stories, at most.
const MAX_STORY_TOKENIZER: u64 = 100_000;
/// Models in memory.
const MAX_OPEN: usize = 12;

struct Entry {
    model: Model,
    path: PathBuf,
}

/// A run folder.
#[derive(Clone, Debug)]
pub struct RunEntry {
    /// By which requests name it.
    pub id: String,
    /// The folder.
    pub path: PathBuf,
    /// The id of its model.
    pub model: String,
}

/// All models and runs.
pub struct Registry {
    entries: Mutex<Vec<Entry>>,
    runs: Mutex<Vec<RunEntry>>,
    /// With the size and time of their files when they were loaded.
    open: Mutex<Vec<(String, u64, Arc<Opened>)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a folder is that of a run.
pub fn is_run(folder: &Path) -> bool {
    folder.join("config.toml").is_file() && !folder.join("config.json").is_file()
}

fn holds_model(path: &Path) -> bool {
    path.is_file() || model_folder(path).join("config.json").is_file()
}

impl Registry {
    /// Looks at what was named, one level deep into folders of folders.
    pub fn scan(sources: &[PathBuf]) -> Self {
        let registry = Self {
            entries: Mutex::new(Vec::new()),
            runs: Mutex::new(Vec::new()),
            open: Mutex::new(Vec::new()),
        };
        let usual: Vec<PathBuf> = USUAL.iter().map(PathBuf::from).collect();
        match sources {
            [] => usual.iter().filter(|folder| folder.is_dir()).for_each(|f| registry.add_all(f)),
            named => named.iter().for_each(|path| registry.add_all(path)),
        }
        registry
    }

    /// Adds a model, a run, or those in a folder; another path becomes an entry that says so.
    pub fn add_all(&self, path: &Path) {
        if is_run(path) || holds_model(path) {
            self.add(path);
            return;
        }
        let mut inside: Vec<PathBuf> = std::fs::read_dir(path)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_dir() && (is_run(path) || holds_model(path)))
            .collect();
        inside.sort();
        match inside.is_empty() {
            true if USUAL.iter().any(|usual| Path::new(usual) == path) => {}
            true => self.add(path),
            false => inside.iter().take(MAX_ENTRIES).for_each(|path| self.add(path)),
        }
    }

    /// Adds a model or a run, unless it is there.
    pub fn add(&self, path: &Path) {
        let known = |entries: &[Entry]| entries.iter().any(|entry| entry.path == path);
        let mut entries = lock(&self.entries);
        if known(&entries) {
            return;
        }
        let name = folder_name(path);
        let taken = |id: &str| entries.iter().any(|entry| entry.model.id == id);
        let base = plain(&name);
        let id = (1..)
            .map(|n| if n == 1 { base.clone() } else { format!("{base}-{n}") })
            .find(|id| !taken(id))
            .expect("there are more numbers than entries");
        if is_run(path) {
            let (model, id, path) = (id.clone(), id.clone(), path.to_path_buf());
            lock(&self.runs).push(RunEntry { id, path, model });
        }
        let model = described(&id, &name, path);
        entries.push(Entry { model, path: path.to_path_buf() });
    }

    /// Whether there is no model and no run.
    pub fn is_empty(&self) -> bool {
        lock(&self.entries).is_empty()
    }

    /// Adds the folder of a run that is about to begin.
    pub fn add_run(&self, path: &Path) -> String {
        self.add(path);
        let entries = lock(&self.entries);
        let found = entries.iter().find(|entry| entry.path == path);
        let id = found.expect("it was added").model.id.clone();
        drop(entries);
        let mut runs = lock(&self.runs);
        if !runs.iter().any(|run| run.path == path) {
            runs.push(RunEntry { id: id.clone(), path: path.to_path_buf(), model: id.clone() });
        }
        id
    }

    /// Adds the weights of a run at a step: `english@128`.
    pub fn add_snapshot(&self, run: &str, step: u64, path: &Path) -> String {
        let id = format!("{run}@{step}");
        let mut entries = lock(&self.entries);
        if !entries.iter().any(|entry| entry.path == path) {
            let name = format!("{run}, step {step}");
            let model = described(&id, &name, path);
            let model = Model { source: ModelSource::Snapshot, ..model };
            entries.push(Entry { model, path: path.to_path_buf() });
        }
        id
    }

    /// Looks at a model again, if it was not complete before.
    pub fn refresh(&self, path: &Path) -> Option<Model> {
        let mut entries = lock(&self.entries);
        let entry = entries.iter_mut().find(|entry| entry.path == path)?;
        let Model { id, name, hash, source, .. } = entry.model.clone();
        let found = described(&id, &name, path);
        let source = if source == ModelSource::Snapshot { source } else { found.source };
        entry.model = Model { hash, source, ..found };
        Some(entry.model.clone())
    }

    /// All models.
    pub fn models(&self) -> Vec<Model> {
        lock(&self.entries).iter().map(|entry| entry.model.clone()).collect()
    }

    /// All runs.
    pub fn runs(&self) -> Vec<RunEntry> {
        lock(&self.runs).clone()
    }

    /// A run.
    pub fn run(&self, id: &str) -> Result<RunEntry, LabProblem> {
        let missing = || LabProblem::new(Kind::NotFound, format!("there is no run {id:?}"));
        self.runs().into_iter().find(|run| run.id == id).ok_or_else(missing)
    }

    /// A model's entry and folder.
    pub fn find(&self, id: &str) -> Result<(Model, PathBuf), LabProblem> {
        let missing = || {
            LabProblem::new(Kind::NoModel, format!("there is no model {id:?}"))
                .hint("choose one of the list")
        };
        let entries = lock(&self.entries);
        let entry = entries.iter().find(|entry| entry.model.id == id).ok_or_else(missing)?;
        Ok((entry.model.clone(), entry.path.clone()))
    }

    /// A model in memory: loaded on first use, and again when its files have changed.
    pub fn open(&self, id: &str) -> Result<Arc<Opened>, LabProblem> {
        let (_, path) = self.find(id)?;
        let folder = model_folder(&path);
        let stamp = stamp(&folder);
        if let Some((.., opened)) =
            lock(&self.open).iter().find(|(own, when, _)| own == id && *when == stamp)
        {
            return Ok(Arc::clone(opened));
        }
        let model = self.refresh(&path).expect("it was found above");
        if model.state != ModelState::Ready {
            let problem = model.problem.unwrap_or_else(|| "the model is not there yet".into());
            return Err(LabProblem::new(Kind::ModelUnusable, problem));
        }
        let pipeline = Pipeline::load_with_ids(&path)
            .map_err(|error| LabProblem::new(Kind::ModelUnusable, error.to_string()))?;
        let hash = hash_of(&folder)?;
        let model = Model { hash: Some(hash.clone()), ..model };
        let mut entries = lock(&self.entries);
        if let Some(entry) = entries.iter_mut().find(|entry| entry.model.id == id) {
            entry.model = model.clone();
        }
        drop(entries);
        let opened = Arc::new(Opened { model, folder, pipeline, hash });
        let mut open = lock(&self.open);
        open.retain(|(own, ..)| own != id);
        open.push((id.into(), stamp, Arc::clone(&opened)));
        if open.len() > MAX_OPEN {
            open.remove(0);
        }
        Ok(opened)
    }
}

/// Sizes and times of the files that a model is loaded from.
fn stamp(folder: &Path) -> u64 {
    let mut facts = Vec::new();
    for name in ["config.json", "model.safetensors", "tokenizer.json", "generation_config.json"] {
        if let Ok(meta) = folder.join(name).metadata() {
            facts.extend(meta.len().to_le_bytes());
            let time = meta.modified().ok();
            let since = time.and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
            facts.extend(since.map_or(0, |since| since.as_nanos()).to_le_bytes());
        }
    }
    hash_bytes(&facts)
}

/// A hash of the configuration and the weights.
fn hash_of(folder: &Path) -> Result<String, LabProblem> {
    let mut facts = Vec::new();
    let weights = hub::weight_files(folder).unwrap_or_default();
    for file in std::iter::once(folder.join("config.json")).chain(weights) {
        if file.is_file() {
            let (bytes, hash) = hash_file(&file, 0)?;
            facts.push(format!("{bytes} {hash:016x}"));
        }
    }
    Ok(format!("{:016x}", hash_bytes(facts.join("\n").as_bytes())))
}

/// The last part of a path that says something: of `runs/english/model`, `english`.
fn folder_name(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let mut names = path.iter().rev().filter_map(|part| part.to_str());
    let name = names.find(|name| !["model", "0_Transformer"].contains(name));
    name.unwrap_or("model").to_string()
}

/// A name as an id: letters, digits, hyphens, underscores and dots.
fn plain(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let id: String = name.chars().map(|c| if plain(c) { c } else { '-' }).collect();
    if id.trim_matches('-').is_empty() { "model".into() } else { id }
}

/// The entry of a model, from its configuration and the table of contents of its weights.
fn described(id: &str, name: &str, path: &Path) -> Model {
    let folder = model_folder(path);
    let source = if path.join("demo.json").is_file() {
        ModelSource::Demo
    } else if is_run(path) {
        ModelSource::Run
    } else {
        ModelSource::Folder
    };
    let empty = Model {
        id: id.into(),
        name: name.into(),
        kind: ModelKind::Unknown,
        task: "unknown".into(),
        source,
        folder: path.display().to_string(),
        state: ModelState::Absent,
        problem: None,
        parameters: 0,
        layers: 0,
        heads: 0,
        width: 0,
        vocab_size: 0,
        context: 0,
        has_tokenizer: false,
        is_story: false,
        languages: None,
        example: String::new(),
        attention: false,
        hash: None,
    };
    let broken = |state, problem: String| Model { state, problem: Some(problem), ..empty.clone() };
    if !folder.join("config.json").is_file() && !folder.is_file() {
        return match (is_run(path), path.join("demo.json").is_file(), path.exists()) {
            (true, ..) | (_, true, _) => {
                broken(ModelState::Training, "it has no weights yet: it is being trained".into())
            }
            (_, _, true) => {
                broken(ModelState::Damaged, format!("{} holds no model", path.display()))
            }
            _ => broken(ModelState::Absent, format!("{} does not exist", path.display())),
        };
    }
    let found = match hub::describe(&folder) {
        Ok(Description::Model(found)) => found,
        Ok(Description::Adapter(_)) => {
            let problem = "an adapter without its base model".to_string();
            return broken(ModelState::Damaged, problem);
        }
        Err(error) => return broken(ModelState::Damaged, error.to_string()),
    };
    let trained = found.params.iter().filter(|spec| spec.role == Role::Trained);
    let parameters = trained.map(|spec| spec.shape.len()).sum();
    let stack = &found.stack;
    let Sizes { kind, layers, heads, width, context, attention } = sizes(stack);
    let (state, problem) = match &found.weights {
        Ok(_) => (ModelState::Ready, None),
        Err(error) => (ModelState::Damaged, Some(error.to_string())),
    };
    let has_tokenizer = Tokenizer::exists_in(&hub::tokenizer_folder(&folder));
    let is_story = has_tokenizer && is_story(&folder);
    let languages = match kind {
        ModelKind::EncoderDecoder | ModelKind::Recurrent => languages_of(name),
        _ => None,
    };
    let task = task(stack);
    let example = example(task, is_story, has_tokenizer, languages.as_ref());
    Model {
        kind,
        task: task.into(),
        state,
        problem,
        parameters,
        layers,
        heads,
        width,
        vocab_size: stack.vocab_size(),
        context,
        has_tokenizer,
        is_story,
        languages,
        example,
        attention,
        ..empty
    }
}

struct Sizes {
    kind: ModelKind,
    layers: usize,
    heads: usize,
    width: usize,
    context: usize,
    attention: bool,
}

fn sizes(stack: &Stack) -> Sizes {
    let attention = true;
    match stack {
        Stack::Decoder(model) => {
            let c = model.config();
            Sizes {
                kind: ModelKind::Decoder,
                layers: c.num_hidden_layers,
                heads: c.num_attention_heads,
                width: c.hidden_size,
                context: c.max_position_embeddings,
                attention,
            }
        }
        Stack::Encoder(model) => {
            let c = model.config();
            Sizes {
                kind: ModelKind::Encoder,
                layers: c.num_hidden_layers,
                heads: c.num_attention_heads,
                width: c.hidden_size,
                context: c.max_position_embeddings,
                attention,
            }
        }
        Stack::EncoderDecoder(model) => {
            let c = model.config();
            Sizes {
                kind: ModelKind::EncoderDecoder,
                layers: c.encoder_layers.max(c.decoder_layers),
                heads: c.encoder_attention_heads.max(c.decoder_attention_heads),
                width: c.d_model,
                context: c.max_position_embeddings,
                attention,
            }
        }
        Stack::Recurrent(model) => {
            let c = model.config();
            Sizes {
                kind: ModelKind::Recurrent,
                layers: c.num_layers,
                heads: 1,
                width: c.hidden_size,
                context: c.max_length,
                attention: c.attention != RecurrentAttention::None,
            }
        }
    }
}

fn task(stack: &Stack) -> &'static str {
    match stack {
        Stack::Decoder(model) if model.labels().is_some() => "text-classification",
        Stack::Decoder(_) => "text-generation",
        Stack::EncoderDecoder(_) | Stack::Recurrent(_) => "translation",
        Stack::Encoder(model) => match &model.config().head {
            EncoderHead::MaskedLm | EncoderHead::PreTraining => "fill-mask",
            EncoderHead::Classifier(_) => "text-classification",
            EncoderHead::TokenClassifier(_) => "token-classification",
            EncoderHead::QuestionAnswering => "question-answering",
            EncoderHead::Bare | EncoderHead::Pooler => "feature-extraction",
        },
    }
}

/// Whether the vocabulary is that of the built-in stories: it has the words of one as tokens.
fn is_story(folder: &Path) -> bool {
    // Theirs is small; another need not be read for this.
    let size = hub::tokenizer_folder(folder).join("tokenizer.json").metadata();
    if !size.is_ok_and(|meta| meta.len() < MAX_STORY_TOKENIZER) {
        return false;
    }
    let Ok(tokenizer) = hub::load_tokenizer(folder) else { return false };
    let story = stories::story(1, 0).text;
    let Ok(ids) = tokenizer.encode(&story) else { return false };
    let unknown = ids.iter().any(|id| tokenizer.unk_id() == Some(*id));
    ids.len() == stories::words(&story).len() && !unknown
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

fn example(
    task: &str,
    is_story: bool,
    has_tokenizer: bool,
    languages: Option<&(String, String)>,
) -> String {
    let source = languages.map(|(source, _)| source.as_str());
    let text = match (task, is_story, source) {
        _ if !has_tokenizer => "2 0 1",
        ("text-generation", true, _) => "Once there was",
        ("fill-mask", true, _) => "Once there was a [MASK] girl called Nora.",
        ("translation", _, Some("en")) => "I am a student",
        ("translation", ..) => "Je suis étudiant",
        ("fill-mask", ..) => "The cat sat on the [MASK].",
        _ => "The cat sat on the mat.",
    };
    text.into()
}
