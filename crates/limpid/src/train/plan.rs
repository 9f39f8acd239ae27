//! Memory that a run needs, estimated before it starts.
//!
//! ```
//! use limpid::train::RunConfig;
//! use limpid::train::plan::{Memory, available_memory};
//!
//! let config = RunConfig::parse("task = 'gpt'\n[data]\ntext = 'a.txt'\n", &[])?;
//! let needed = Memory::of(&config, 65)?.bytes();
//! let wider = RunConfig::parse(&config.to_toml(), &["model.hidden_size=256".into()])?;
//! assert!(Memory::of(&wider, 65)?.bytes() > needed);
//! println!("{needed} bytes of {:?}", available_memory());
//! # Ok::<(), limpid::error::Error>(())
//! ```

use super::config::{
    AnswerTask, BatchSize, BertTask, CONTEXT_LENGTH, ClassifyTask, GptTask, RunConfig, TagTask,
    Task, TransformerSizes, TranslatorModel, Unit,
};
use super::trained::ParameterCounts;
use crate::error::{MemoryRemedy, PlanError, Result};
use crate::optim::Activations;
use crate::text::text_size;

/// Bytes of a model's weights, gradients, moments and moving average, and of the activations of one
/// micro-batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// 28 bytes per trained parameter, 36 with a moving average: 12 or 16 of them for the
    /// checkpoint while a resumed run reads it, which is more than saving takes; 4 for each level
    /// of the tree of micro-batches. 8 bytes per other parameter: the pretrained model and its
    /// copy.
    pub parameters: f64,
    /// Of one micro-batch.
    pub batch: f64,
}

impl Memory {
    /// An upper estimate for a vocabulary of this size.
    ///
    /// # Errors
    /// If the configuration describes no model.
    pub fn of(config: &RunConfig, vocab_size: usize) -> Result<Self> {
        // Sums of micro-batches: at most one per level of their tree.
        let levels = (config.train.micro_batches as f64).log2().ceil();
        let per_parameter = 4.0 * levels + if config.train.ema > 0.0 { 36.0 } else { 28.0 };
        let labels = ["a".into(), "b".into()];
        let counts = ParameterCounts::of(config, &config.stack(vocab_size, &labels)?)?;
        let Kept { c, f, layer, layers, inputs } = match &config.task {
            Task::Gpt(task) => sizes(&task.model.sizes),
            Task::Translate(task) => translator_sizes(&task.model),
            Task::Bert(BertTask { model, .. })
            | Task::Classify(ClassifyTask { model, .. })
            | Task::Tag(TagTask { model, .. })
            | Task::Answer(AnswerTask { model, .. }) => sizes(model),
        };
        // Gradients in flight, and rows of logits of the output layer.
        let working = 6.0 * c + 2.0 * f;
        let layers = match config.train.activation_checkpointing {
            Activations::Kept => layers * layer,
            // The input of each layer, and one layer at a time that is computed again.
            Activations::Recomputed => layers * inputs + layer,
        };
        let logits = 256.0 * vocab_size as f64;
        let tokens = tokens_of_batch(config) as f64;
        Ok(Self {
            parameters: counts.trained * per_parameter + counts.fixed * 8.0,
            batch: 4.0 * (tokens * (layers + working) + logits),
        })
    }

    /// All of it.
    pub fn bytes(&self) -> f64 {
        self.parameters + self.batch
    }
}

/// Numbers that are kept per token for the backward pass.
struct Kept {
    c: f64,
    f: f64,
    /// By a layer.
    layer: f64,
    layers: f64,
    /// What a layer is computed from again: a sum, and a branch that is still to be added.
    inputs: f64,
}

/// q, k, v, the attention's output, two sums, two norms, and the feed-forward layer before and
/// after its activation.
fn sizes(model: &TransformerSizes) -> Kept {
    let (c, f) = (model.hidden_size as f64, model.intermediate_size as f64);
    Kept { c, f, layer: 8.0 * c + 2.0 * f, layers: model.layers as f64, inputs: 2.0 * c }
}

fn translator_sizes(model: &TranslatorModel) -> Kept {
    match model {
        // A decoder's cross-attention keeps as much as its self-attention.
        TranslatorModel::Transformer(model) => {
            let sizes = sizes(&model.sizes);
            Kept { layer: sizes.layer + 3.0 * sizes.c, ..sizes }
        }
        // Gates, states and memories of both directions, the states side by side; a context and a
        // query. They are never computed again.
        TranslatorModel::Recurrent(model) => {
            let (c, layers) = (model.hidden_size as f64, model.layers as f64);
            let layer = 2.0 * (4.0 + 4.0) * c + 4.0 * c / layers;
            Kept { c, f: 4.0 * c, layer, layers, inputs: layer }
        }
    }
}

fn tokens_of_batch(config: &RunConfig) -> usize {
    match config.train.batch {
        BatchSize::Sequences(size) => size.saturating_mul(config.context_length()),
        // No more than there are: a token has at least one byte, and a line at most two tokens of
        // its own.
        BatchSize::Tokens { tokens, .. } => match text_size(&config.training_files()) {
            Ok(bytes) => tokens.min(3 * bytes as usize),
            Err(_) => tokens,
        },
    }
}

/// Bytes that this process may still allocate, where the system tells: what the machine has free,
/// or less if a limit (`ulimit -v`) or a control group allows less.
pub fn available_memory() -> Option<f64> {
    [free_memory(), address_space(), control_groups()].into_iter().flatten().reduce(f64::min)
}

/// The number behind a word at the beginning of a line of a file of `/proc`.
fn number_in(file: &str, line: &str) -> Option<f64> {
    let text = std::fs::read_to_string(file).ok()?;
    let rest = text.lines().find_map(|there| there.strip_prefix(line))?;
    rest.split_whitespace().next()?.parse().ok()
}

fn free_memory() -> Option<f64> {
    number_in("/proc/meminfo", "MemAvailable:").map(|kilobytes| kilobytes * 1024.0)
}

fn address_space() -> Option<f64> {
    let used = number_in("/proc/self/status", "VmSize:")? * 1024.0;
    number_in("/proc/self/limits", "Max address space").map(|limit| (limit - used).max(0.0))
}

/// A group and all above it may have limits.
fn control_groups() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let root = std::path::Path::new("/sys/fs/cgroup");
    let number =
        |path: std::path::PathBuf| std::fs::read_to_string(path).ok()?.trim().parse::<f64>().ok();
    let room = |group: &std::path::Path| {
        let limit = number(group.join("memory.max"))?;
        Some((limit - number(group.join("memory.current"))?).max(0.0))
    };
    root.join(own)
        .ancestors()
        .take_while(|group| group.starts_with(root))
        .filter_map(room)
        .reduce(f64::min)
}

/// Refuses a run that does not fit into memory, with a change that would.
pub(super) fn check_memory(config: &RunConfig, vocab_size: usize) -> Result<()> {
    check_context(config)?;
    match available_memory() {
        Some(available) => fits(config, vocab_size, available),
        None => Ok(()),
    }
}

/// A window longer than the text (a token has at least one byte) would take memory for nothing.
fn check_context(config: &RunConfig) -> Result<()> {
    let (Task::Gpt(GptTask { data, .. }) | Task::Bert(BertTask { data, .. })) = &config.task else {
        return Ok(());
    };
    if data.unit != Unit::Windows {
        return Ok(());
    }
    let bytes: u64 = data.text.iter().filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    let context_length = config.context_length();
    // [CLS] and [SEP] are not text, and a file may have an end token of its own.
    if context_length as u64 <= bytes + 2 + data.text.len() as u64 {
        return Ok(());
    }
    let suggested = (bytes / 8).clamp(4, 128);
    Err(PlanError::ContextLength { bytes, context_length, suggested }.into())
}

fn fits(config: &RunConfig, vocab_size: usize, available: f64) -> Result<()> {
    let memory = Memory::of(config, vocab_size)?;
    let needed = memory.bytes();
    if needed <= available {
        return Ok(());
    }
    let remedy = remedy(config, vocab_size, &memory, available);
    Err(PlanError::Memory { needed, available, remedy }.into())
}

/// Micro-batches, if anything fits beside the model; else a smaller model.
fn remedy(config: &RunConfig, vocab: usize, memory: &Memory, available: f64) -> MemoryRemedy {
    let left = available - memory.parameters;
    let parts = (memory.batch / left.max(1.0)).ceil();
    let size = match config.train.batch {
        BatchSize::Sequences(size) => size,
        BatchSize::Tokens { .. } => tokens_of_batch(config),
    };
    let part = (size as f64 / parts).floor() as usize;
    if left > 0.0 && part > 0 {
        let parts = size.div_ceil(part);
        return MemoryRemedy::Accumulate {
            key: config.train.batch.key(),
            size: size.div_ceil(parts),
            steps: parts * config.train.gradient_accumulation_steps,
        };
    }
    if config.train.activation_checkpointing == Activations::Kept {
        let mut config = config.clone();
        config.train.activation_checkpointing = Activations::Recomputed;
        let of_one = |memory: Memory| memory.parameters + memory.batch / size as f64;
        let one = Memory::of(&config, vocab).map(of_one);
        if one.is_ok_and(|one| one <= available) {
            return MemoryRemedy::ActivationCheckpointing;
        }
    }
    if config.pretrained.is_some() {
        return MemoryRemedy::SmallerPretrained;
    }
    if let Some(context) = context_that_fits(config, vocab, available) {
        return MemoryRemedy::ContextLength(context);
    }
    hidden_size_that_fits(config, vocab, available)
        .map_or(MemoryRemedy::Vocabulary, MemoryRemedy::HiddenSize)
}

/// Whether a run fits with other sizes of its model.
fn fits_with(config: &RunConfig, vocab: usize, available: f64, change: impl FnOnce(Sizes)) -> bool {
    let mut config = config.clone();
    change(config.sizes());
    Memory::of(&config, vocab).is_ok_and(|memory| memory.bytes() <= available)
}

/// If positions are what does not fit: half as many, or a quarter, and so on, down to the default.
fn context_that_fits(config: &RunConfig, vocab: usize, available: f64) -> Option<usize> {
    let halves = std::iter::successors(Some(config.context_length() / 2), |size| Some(size / 2));
    halves
        .take_while(|size| *size >= CONTEXT_LENGTH)
        .find(|size| fits_with(config, vocab, available, |sizes| *sizes.context_length = *size))
}

/// The largest hidden size with as many heads that fits, the batch included.
fn hidden_size_that_fits(config: &RunConfig, vocab: usize, available: f64) -> Option<usize> {
    let mut asked = config.clone();
    let Sizes { heads, hidden_size, .. } = asked.sizes();
    let heads = heads.max(1);
    (1..*hidden_size / heads)
        .rev()
        .map(|n| n * heads)
        .find(|size| fits_with(config, vocab, available, |sizes| sizes.set_hidden_size(*size)))
}

/// The sizes of a model that a remedy changes.
struct Sizes<'a> {
    heads: usize,
    hidden_size: &'a mut usize,
    context_length: &'a mut usize,
    /// Another size, and how many times the hidden size it is by default.
    dependent: (&'a mut usize, usize),
}

impl Sizes<'_> {
    /// A size that has its default follows.
    fn set_hidden_size(self, size: usize) {
        let (dependent, times) = self.dependent;
        if *dependent == *self.hidden_size * times {
            *dependent = size * times;
        }
        *self.hidden_size = size;
    }
}

impl RunConfig {
    fn sizes(&mut self) -> Sizes<'_> {
        let model = match &mut self.task {
            Task::Gpt(GptTask { model, .. }) => &mut model.sizes,
            Task::Bert(BertTask { model, .. })
            | Task::Classify(ClassifyTask { model, .. })
            | Task::Tag(TagTask { model, .. })
            | Task::Answer(AnswerTask { model, .. }) => model,
            Task::Translate(task) => match &mut task.model {
                TranslatorModel::Transformer(model) => &mut model.sizes,
                TranslatorModel::Recurrent(model) => {
                    return Sizes {
                        heads: 1,
                        hidden_size: &mut model.hidden_size,
                        context_length: &mut model.context_length,
                        dependent: (&mut model.embedding_size, 1),
                    };
                }
            },
        };
        Sizes {
            heads: model.heads,
            hidden_size: &mut model.hidden_size,
            context_length: &mut model.context_length,
            dependent: (&mut model.intermediate_size, 4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn gpt(set: &[&str]) -> RunConfig {
        let text = "task = \"gpt\"\n[data]\ntext = [\"a\"]\n[model]\ncontext_length = 1024\n";
        let set: Vec<String> = set.iter().map(|set| set.to_string()).collect();
        RunConfig::parse(text, &set).unwrap()
    }

    fn remedy_for(config: &RunConfig, vocab_size: usize, available: f64) -> MemoryRemedy {
        match fits(config, vocab_size, available) {
            Err(Error::Plan(PlanError::Memory { remedy, .. })) => remedy,
            other => panic!("it fits, or fails otherwise: {other:?}"),
        }
    }

    #[test]
    fn a_batch_that_does_not_fit_gets_micro_batches_that_do() {
        let config = gpt(&["train.batch_size=64"]);
        let memory = Memory::of(&config, 1000).unwrap();
        assert!(fits(&config, 1000, memory.bytes() + 1.0).is_ok());
        let available = memory.parameters + memory.batch / 3.5;
        let expected = MemoryRemedy::Accumulate { key: "train.batch_size", size: 16, steps: 4 };
        assert_eq!(remedy_for(&config, 1000, available), expected);
        assert!(fits(&gpt(&["train.batch_size=16"]), 1000, available).is_ok());
    }

    #[test]
    fn a_batch_is_not_larger_than_the_text() {
        let file = std::env::temp_dir().join(format!("limpid-plan-{}", std::process::id()));
        std::fs::write(&file, "x".repeat(1000)).unwrap();
        let text = format!("data.text={file:?}");
        let config = gpt(&[&text, "data.unit=lines", "train.batch_tokens=1000000000"]);
        assert_eq!(tokens_of_batch(&config), 3000);
        let memory = Memory::of(&config, 1000).unwrap();
        let available = memory.parameters + memory.batch / 1.5;
        assert!(matches!(
            remedy_for(&config, 1000, available),
            MemoryRemedy::Accumulate { key: "train.batch_tokens", size: 1500, .. }
        ));
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn recomputed_layers_are_counted_once_and_are_what_makes_a_deep_model_fit() {
        let deep = ["model.layers=24", "train.batch_size=1"];
        let kept = Memory::of(&gpt(&deep), 1000).unwrap();
        let recomputed = [&deep[..], &["train.activation_checkpointing=true"]].concat();
        let less = Memory::of(&gpt(&recomputed), 1000).unwrap();
        // Of each layer 2 numbers per width instead of 8 + 2·4, and one whole layer.
        let (width, tokens) = (128.0, 1024.0);
        let saved = 4.0 * tokens * width * (24.0 * 16.0 - (24.0 * 2.0 + 16.0));
        assert_eq!(kept.batch - less.batch, saved);
        assert_eq!(kept.parameters, less.parameters);
        let available = less.bytes() + 1.0;
        let remedy = remedy_for(&gpt(&deep), 1000, available);
        assert_eq!(remedy, MemoryRemedy::ActivationCheckpointing);
        assert!(fits(&gpt(&recomputed), 1000, available).is_ok());
    }

    #[test]
    fn a_model_that_does_not_fit_gets_the_largest_hidden_size_that_does() {
        let wide = |size: usize| gpt(&[&format!("model.hidden_size={size}"), "train.batch_size=1"]);
        let MemoryRemedy::HiddenSize(size) = remedy_for(&wide(8192), 1000, 4e9) else {
            panic!("another remedy")
        };
        assert!(fits(&wide(size), 1000, 4e9).is_ok());
        assert!(fits(&wide(size + 4), 1000, 4e9).is_err());
        assert_eq!(remedy_for(&wide(128), 1 << 30, 1e9), MemoryRemedy::Vocabulary);
    }
}
