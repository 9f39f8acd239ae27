//! What can be trained from the page: corpora, settings, an estimate, and the run itself.

use super::State;
use super::problem::{Kind, LabProblem};
use super::processes::Purpose;
use super::types::{
    Corpus, Estimate, EstimateProblem, TrainRequest, Training, TrainingSizes, TrainingTask,
};
use limpid::files::{create_folder, write_atomic};
use limpid::train::RunConfig;
use limpid::train::plan::{Memory, available_memory};
use limpid_learn::corpus::{self, stories};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Where runs go that are started here.
const RUNS: &str = "runs";
/// Where built-in corpora are written.
const CORPORA: &str = "limpid-demo/corpus";
/// Files of one folder of data.
const MAX_FILES: usize = 200;
/// Pairs and stories of the built-in corpora.
const PAIRS: usize = 20_000;
const STORIES: usize = 10_000;
/// The share of the machine's peak that training reaches, about: for an estimate of the time.
const EFFICIENCY: f64 = 0.35;

struct Task {
    task: &'static str,
    title: &'static str,
    archs: &'static [&'static str],
    learning_rate: f64,
    vocab_size: usize,
}

const TASKS: [Task; 3] = [
    Task {
        task: "translate",
        title: "Translate",
        archs: &["transformer", "rnn"],
        learning_rate: 2e-3,
        vocab_size: 4_500,
    },
    Task {
        task: "gpt",
        title: "Continue text",
        archs: &["transformer"],
        learning_rate: 3e-3,
        vocab_size: 1_000,
    },
    Task {
        task: "bert",
        title: "Fill in masked words",
        archs: &["transformer"],
        learning_rate: 2e-3,
        vocab_size: 1_000,
    },
];

fn sizes(task: &Task) -> TrainingSizes {
    TrainingSizes {
        layers: 2,
        heads: 4,
        hidden_size: 128,
        context_length: 192,
        steps: 1_000,
        batch_tokens: 1_024,
        learning_rate: task.learning_rate,
        vocab_size: task.vocab_size,
        seed: 1,
    }
}

/// What can be trained, and on what.
pub fn options(state: &State) -> Training {
    let task = |task: &Task| TrainingTask {
        task: task.task.into(),
        title: task.title.into(),
        archs: task.archs.iter().map(|arch| (*arch).into()).collect(),
        defaults: sizes(task),
    };
    Training { tasks: TASKS.iter().map(task).collect(), corpora: corpora(state) }
}

fn corpora(state: &State) -> Vec<Corpus> {
    let builtin = |id: &str, title: &str, tasks: &[&str], lines: usize, bytes: usize| Corpus {
        id: id.into(),
        title: title.into(),
        tasks: tasks.iter().map(|task| (*task).into()).collect(),
        lines: lines as u64,
        bytes: bytes as u64,
        builtin: true,
    };
    let mut all = vec![
        builtin("built-in-fr-en", "French-English sentences", &["translate"], PAIRS, PAIRS * 70),
        builtin("built-in-stories", "Short stories", &["gpt", "bert"], STORIES, STORIES * 560),
    ];
    for (id, path) in files(state) {
        let is_table = path.extension().is_some_and(|ext| ext == "tsv" || ext == "csv");
        let tasks =
            if is_table { vec!["translate".into()] } else { vec!["gpt".into(), "bert".into()] };
        let bytes = path.metadata().map_or(0, |meta| meta.len());
        let title = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        all.push(Corpus { id, title, tasks, lines: 0, bytes, builtin: false });
    }
    all
}

/// The text files of the folders that were named, by id: a request names the id.
fn files(state: &State) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for (number, folder) in state.settings.data.iter().enumerate() {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        let is_text = |path: &PathBuf| {
            let ext = path.extension().and_then(|ext| ext.to_str()).unwrap_or("");
            path.is_file() && ["txt", "tsv", "csv", "en", "fr", "de"].contains(&ext)
        };
        for path in paths.into_iter().filter(is_text).take(MAX_FILES) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.push((format!("file-{number}-{name}"), path));
        }
    }
    found
}

/// The files of a corpus; those of a built-in one are written first.
fn data_of(
    state: &State,
    id: &str,
    write: bool,
) -> Result<Vec<(&'static str, PathBuf)>, LabProblem> {
    let folder = Path::new(CORPORA).join(id);
    match id {
        "built-in-fr-en" => {
            let files = [("source", folder.join("train.fr")), ("target", folder.join("train.en"))];
            if write && !files.iter().all(|(_, file)| file.is_file()) {
                let pairs = corpus::generate(PAIRS, 1).train;
                let side = |of: fn(&corpus::Pair) -> &str| -> String {
                    pairs.iter().flat_map(|pair| [of(pair), "\n"]).collect()
                };
                create_folder(&folder)?;
                write_atomic(&files[0].1, side(|pair| &pair.french).as_bytes())?;
                write_atomic(&files[1].1, side(|pair| &pair.english).as_bytes())?;
            }
            Ok(files.into())
        }
        "built-in-stories" => {
            let file = folder.join("train.txt");
            if write && !file.is_file() {
                let stories = stories::generate(STORIES, 100, 1).train;
                let text: String =
                    stories.iter().flat_map(|story| [story.text.as_str(), "\n"]).collect();
                create_folder(&folder)?;
                write_atomic(&file, text.as_bytes())?;
            }
            Ok(vec![("data", file)])
        }
        id => {
            let missing = || LabProblem::invalid("corpus", format!("there is no corpus {id:?}"));
            let (_, path) =
                files(state).into_iter().find(|(own, _)| own == id).ok_or_else(missing)?;
            let is_table = path.extension().is_some_and(|ext| ext == "tsv" || ext == "csv");
            Ok(vec![(if is_table { "pairs" } else { "data" }, path)])
        }
    }
}

/// A run to start, in the keys of its configuration.
pub struct TrainSpec {
    /// Its folder.
    pub folder: PathBuf,
    /// `gpt`, `translate` or `bert`.
    pub task: String,
    /// Files by what they are: `data`, `source`, `target`, `pairs`.
    pub data: Vec<(&'static str, PathBuf)>,
    /// Keys and values.
    pub settings: Vec<String>,
}

fn settings(request: &TrainRequest) -> Result<Vec<String>, LabProblem> {
    let task = TASKS.iter().find(|task| task.task == request.task).ok_or_else(|| {
        LabProblem::invalid("task", format!("there is no task {:?}", request.task))
    })?;
    let defaults = sizes(task);
    let arch = request.arch.as_deref().unwrap_or("transformer");
    if !task.archs.contains(&arch) {
        return Err(LabProblem::invalid("arch", format!("{} has no {arch}", task.task)));
    }
    let recurrent = arch == "rnn";
    let size = |given: Option<usize>, or: usize| given.unwrap_or(or);
    let mut all = vec![
        format!("train.steps={}", request.steps.unwrap_or(defaults.steps)),
        format!("train.lr={}", request.learning_rate.unwrap_or(defaults.learning_rate)),
        format!("train.seed={}", request.seed.unwrap_or(defaults.seed)),
        format!("train.batch_tokens={}", size(request.batch_tokens, defaults.batch_tokens)),
        format!("model.hidden_size={}", size(request.hidden_size, defaults.hidden_size)),
        format!("model.context_length={}", size(request.context_length, defaults.context_length)),
        "tokenizer.kind=word".into(),
    ];
    let steps = request.steps.unwrap_or(defaults.steps);
    // Something to see soon, whatever the length.
    all.push(format!("train.validate_every={}", (steps / 10).max(1)));
    all.push(format!("train.checkpoint_every={}", (steps / 5).max(1)));
    all.push("train.log_every=10".into());
    match recurrent {
        true => {
            all.push("model.arch=rnn".into());
            all.push(format!("model.layers={}", size(request.layers, 1)));
            if let Some(attention) = &request.attention {
                let known = ["none", "dot", "additive"].contains(&attention.as_str());
                if !known {
                    return Err(LabProblem::invalid("attention", "none, dot or additive"));
                }
                all.push(format!("model.attention={attention}"));
            }
        }
        false => {
            all.push(format!("model.layers={}", size(request.layers, defaults.layers)));
            all.push(format!("model.heads={}", size(request.heads, defaults.heads)));
        }
    }
    if request.task != "translate" {
        all.push("data.unit=lines".into());
    }
    if let Some(vocab_size) = request.vocab_size {
        all.push(format!("tokenizer.vocab_size={vocab_size}"));
    }
    if request.snapshots {
        all.push("train.snapshots=true".into());
    }
    Ok(all)
}

/// The name of a new run's folder: a plain name, below `runs`.
fn folder(name: &str) -> Result<PathBuf, LabProblem> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let ok =
        !name.is_empty() && name.len() <= 64 && name.chars().all(plain) && !name.starts_with('.');
    match ok {
        true => Ok(Path::new(RUNS).join(name)),
        false => Err(LabProblem::invalid("name", format!("{name:?} is no name of a folder"))
            .hint("use letters, digits, hyphens and underscores")),
    }
}

/// The configuration of a request, as the command would make it.
fn config(
    data: &[(&'static str, PathBuf)],
    request: &TrainRequest,
    settings: &[String],
) -> Result<RunConfig, limpid::error::Error> {
    let mut text = format!("task = {:?}\n[data]\n", request.task);
    for (kind, path) in data {
        let key = if *kind == "data" { "text" } else { kind };
        let path = serde_json::to_string(&path.display().to_string()).expect("a string is JSON");
        text += &format!("{key} = {path}\n");
    }
    RunConfig::parse(&text, settings)
}

/// What a run would need.
pub fn estimate(state: &State, request: &TrainRequest) -> Result<Estimate, LabProblem> {
    let settings = settings(request)?;
    let data = data_of(state, &request.corpus, false)?;
    let task = TASKS.iter().find(|task| task.task == request.task).expect("checked above");
    let vocab_size = request.vocab_size.unwrap_or(task.vocab_size);
    let tokens_per_step = request.batch_tokens.unwrap_or(sizes(task).batch_tokens);
    let available = available_memory();
    let failed = |error: limpid::error::Error| Estimate {
        parameters: 0,
        memory_bytes: 0.0,
        available_bytes: available,
        tokens_per_step,
        seconds: None,
        fits: false,
        problem: Some(EstimateProblem { message: error.to_string(), hint: None }),
    };
    let found = config(&data, request, &settings)
        .and_then(|config| Ok((Memory::of(&config, vocab_size)?, config)));
    let (memory, _) = match found {
        Ok(found) => found,
        Err(error) => return Ok(failed(error)),
    };
    // Weights, gradients, moments and a checkpoint: 28 bytes each.
    let parameters = memory.parameters / 28.0;
    let steps = request.steps.unwrap_or(sizes(task).steps) as f64;
    let flops = 6.0 * parameters * tokens_per_step as f64 * steps;
    let fits = available.is_none_or(|available| memory.bytes() <= available);
    Ok(Estimate {
        parameters: parameters.round() as usize,
        memory_bytes: memory.bytes(),
        available_bytes: available,
        tokens_per_step,
        seconds: peak().map(|peak| flops / (peak * 1e9 * EFFICIENCY)),
        fits,
        problem: (!fits).then(|| EstimateProblem {
            message: "it does not fit into the memory that is free".into(),
            hint: Some("choose a smaller width, context or batch".into()),
        }),
    })
}

/// Arithmetic of this machine in GFLOP/s, measured once for a moment.
fn peak() -> Option<f64> {
    static PEAK: OnceLock<Option<f64>> = OnceLock::new();
    *PEAK.get_or_init(|| limpid_tensor::machine::fma_peak(0.05))
}

/// Starts a run.
pub fn start(state: &State, request: &TrainRequest) -> Result<String, LabProblem> {
    let folder = folder(&request.name)?;
    if folder.exists() {
        let message = format!("there is a run {} already", request.name);
        return Err(LabProblem::invalid("name", message).hint("choose another name"));
    }
    let settings = settings(request)?;
    let data = data_of(state, &request.corpus, true)?;
    // Before anything is started: what the command would refuse is refused here, in a sentence.
    config(&data, request, &settings)?;
    let spec = TrainSpec { folder: folder.clone(), task: request.task.clone(), data, settings };
    let command = state.settings.commands.train(&spec);
    create_folder(Path::new(RUNS))?;
    let id = state.registry.add_run(&folder);
    state.processes.start(Purpose::Run(id.clone()), command)?;
    Ok(id)
}

/// Resumes a run from its last checkpoint.
pub fn resume(state: &State, id: &str) -> Result<(), LabProblem> {
    let entry = state.registry.run(id)?;
    if !entry.path.join("config.toml").is_file() {
        return Err(LabProblem::new(Kind::NotFound, "this run has not begun: start it again"));
    }
    let command = state.settings.commands.resume_run(&entry.path);
    state.processes.start(Purpose::Run(id.into()), command)
}
