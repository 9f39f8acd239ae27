//! What a run is going to need, before it begins.

use super::config::{RunConfig, TaskKind, Unit};
use crate::error::{Error, Result};
use crate::text::text_size;

/// Bytes of a model's weights, gradients, moments and average, and of what one batch leaves on the tape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// 28 bytes a parameter, 36 with an average: 12 or 16 of them for the checkpoint while a run that goes on reads it, which is more than what
    /// saving takes.
    pub parameters: f64,
    /// Of one batch.
    pub batch: f64,
}

impl Memory {
    /// An estimate for a vocabulary of this size, on the safe side.
    pub fn of(config: &RunConfig, vocab: usize) -> Result<Self> {
        let each = if config.train.ema > 0.0 { 36.0 } else { 28.0 };
        let model = &config.model;
        let (c, f) = (model.width as f64, model.ffn.unwrap_or(4 * model.width) as f64);
        // What a layer keeps for the way back: q, k, v, the mixed values, two sums, two norms, and the feed-forward layer before and after its
        // activation; a decoder's second attention as much as its first.
        let layer = 8.0 * c + 2.0 * f;
        let (parameters, tokens, layers) = match config.task {
            TaskKind::Gpt => (
                config.gpt(vocab)?.parameters_about(),
                tokens_of_batch(config) as f64,
                model.layers as f64 * layer,
            ),
            TaskKind::Translate => (
                config.translator(vocab)?.parameters_about(),
                tokens_of_batch(config) as f64,
                match config.is_recurrent()? {
                    false => model.layers as f64 * (layer + 3.0 * c),
                    // Gates, states and memories of both ways, the states side by side; a context and a query.
                    true => model.layers as f64 * 2.0 * (4.0 + 4.0) * c + 4.0 * c,
                },
            ),
            TaskKind::Bert | TaskKind::Classify => {
                let head = config.head(&["a".into(), "b".into()])?;
                let tokens = tokens_of_batch(config);
                let about = config.bert(vocab, head)?.parameters_about();
                (about, tokens as f64, model.layers as f64 * layer)
            }
        };
        // Gradients under way, and rows of logits of the output layer.
        let working = 6.0 * c + 2.0 * f;
        let logits = 256.0 * vocab as f64;
        Ok(Self { parameters: parameters * each, batch: 4.0 * (tokens * (layers + working) + logits) })
    }

    /// All of it.
    pub fn bytes(&self) -> f64 {
        self.parameters + self.batch
    }
}

/// Which key says how large a batch is.
fn batch_key(config: &RunConfig) -> &'static str {
    match config.task {
        TaskKind::Gpt | TaskKind::Bert if config.unit().is_ok_and(|unit| unit != Unit::Lines) => {
            "train.batch"
        }
        TaskKind::Gpt | TaskKind::Translate | TaskKind::Bert | TaskKind::Classify => "train.batch_tokens",
    }
}

fn tokens_of_batch(config: &RunConfig) -> usize {
    match batch_key(config) {
        "train.batch" => config.train.batch.saturating_mul(config.model.context),
        // No more than there are: a token is a byte at least, and a line has two of its own at most.
        _ => match text_size(&config.learnt_from()) {
            Ok(bytes) => config.train.batch_tokens.min(3 * bytes as usize),
            Err(_) => config.train.batch_tokens,
        },
    }
}

/// Bytes that this process may still take, where the system tells: what the machine has free, less if a limit (`ulimit -v`) or a control group allows less.
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
    let number = |path: std::path::PathBuf| std::fs::read_to_string(path).ok()?.trim().parse::<f64>().ok();
    let room = |group: &std::path::Path| {
        let limit = number(group.join("memory.max"))?;
        Some((limit - number(group.join("memory.current"))?).max(0.0))
    };
    root.join(own).ancestors().take_while(|group| group.starts_with(root)).filter_map(room).reduce(f64::min)
}

/// Refuses what cannot fit, with the setting that would.
pub(super) fn check_memory(config: &RunConfig, vocab: usize) -> Result<()> {
    check_context(config)?;
    match available_memory() {
        Some(available) => fits(config, vocab, available),
        None => Ok(()),
    }
}

/// A window that is longer than the text (a token has a byte at least) would need memory for nothing.
fn check_context(config: &RunConfig) -> Result<()> {
    let is_text = matches!(config.task, TaskKind::Gpt | TaskKind::Bert);
    if !is_text || config.unit()? != Unit::Windows {
        return Ok(());
    }
    let bytes: u64 = config.data.text.iter().filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    let context = config.model.context;
    // [CLS] and [SEP] are no text, and a file may have an end of its own.
    if context as u64 <= bytes + 2 + config.data.text.len() as u64 {
        return Ok(());
    }
    Err(Error::data(format!("{bytes} bytes of text are too few for a context of {context}"))
        .hint(format!("--set model.context={}, or more text", (bytes / 8).clamp(4, 128))))
}

fn fits(config: &RunConfig, vocab: usize, available: f64) -> Result<()> {
    let memory = Memory::of(config, vocab)?;
    if memory.bytes() <= available {
        return Ok(());
    }
    let room = available - memory.parameters;
    let error = Error::config(format!(
        "this run needs about {:.1} GB, and {:.1} GB are free for it",
        memory.bytes() / 1e9,
        available / 1e9
    ));
    // The batch in parts that fit, if anything fits beside the model.
    let parts = (memory.batch / room.max(1.0)).ceil();
    let key = batch_key(config);
    let size = if key == "train.batch" { config.train.batch } else { tokens_of_batch(config) };
    let part = (size as f64 / parts).floor() as usize;
    Err(error.hint(if room > 0.0 && part > 0 {
        let parts = size.div_ceil(part);
        let (part, accumulate) = (size.div_ceil(parts), parts * config.train.accumulate);
        format!("--set {key}={part} --set train.accumulate={accumulate} is a step of that size, in parts")
    } else if config.model.from.is_some() {
        "begin with a smaller model, or free memory: its sizes are its own".to_string()
    } else if let Some(context) = context_that_fits(config, vocab, available) {
        format!("--set model.context={context} fits")
    } else {
        match width_that_fits(config, vocab, available) {
            Some(width) => format!("--set model.width={width} fits"),
            None => "use a smaller vocabulary: --set tokenizer.vocab=…".to_string(),
        }
    }))
}

/// If positions are what does not fit: half as many, or a quarter, and so on, down to what is usual.
fn context_that_fits(config: &RunConfig, vocab: usize, available: f64) -> Option<usize> {
    let usual = RunConfig::new(config.task).model.context;
    let fits = |context: usize| {
        let mut config = config.clone();
        config.model.context = context;
        Memory::of(&config, vocab).is_ok_and(|memory| memory.bytes() <= available)
    };
    let halves = std::iter::successors(Some(config.model.context / 2), |context| Some(context / 2));
    halves.take_while(|context| *context >= usual).find(|context| fits(*context))
}

/// The widest model with as many heads that fits as it is otherwise, its batch included.
fn width_that_fits(config: &RunConfig, vocab: usize, available: f64) -> Option<usize> {
    let heads = config.model.heads.max(1);
    let fits = |width: usize| {
        let mut config = config.clone();
        config.model.width = width;
        Memory::of(&config, vocab).is_ok_and(|memory| memory.bytes() <= available)
    };
    (1..config.model.width / heads).rev().map(|n| n * heads).find(|width| fits(*width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_parts_that_do() {
        let text = "task = \"gpt\"\n[data]\ntext = [\"a\"]\n[model]\ncontext = 1024\n[train]\nbatch = 64\n";
        let config = RunConfig::parse(text, &[]).unwrap();
        let memory = Memory::of(&config, 1000).unwrap();
        assert!(fits(&config, 1000, memory.bytes() + 1.0).is_ok());
        let available = memory.parameters + memory.batch / 3.5;
        let error = fits(&config, 1000, available).unwrap_err();
        assert_eq!(
            error.hint_text(),
            Some("--set train.batch=16 --set train.accumulate=4 is a step of that size, in parts")
        );
        // A batch is no larger than the text.
        let file = std::env::temp_dir().join(format!("limpid-plan-{}", std::process::id()));
        std::fs::write(&file, "x".repeat(1000)).unwrap();
        let set = [
            format!("data.text=[{file:?}]"),
            "data.unit=lines".into(),
            "train.batch_tokens=1000000000".into(),
        ];
        let little = config.with(&set).unwrap();
        assert_eq!(tokens_of_batch(&little), 3000);
        let memory = Memory::of(&little, 1000).unwrap();
        let error = fits(&little, 1000, memory.parameters + memory.batch / 1.5).unwrap_err();
        assert!(error.hint_text().unwrap().starts_with("--set train.batch_tokens=1500 "), "{error:?}");
        std::fs::remove_file(file).unwrap();
        let smaller = config.with(&["train.batch=16".into()]).unwrap();
        assert!(fits(&smaller, 1000, available).is_ok());
        let wide = config.with(&["model.width=8192".into(), "train.batch=1".into()]).unwrap();
        let error = fits(&wide, 1000, 4e9).unwrap_err();
        let width = error.hint_text().unwrap().strip_prefix("--set model.width=").unwrap();
        let width: usize = width.strip_suffix(" fits").unwrap().parse().unwrap();
        let set = |width: usize| wide.with(&[format!("model.width={width}")]).unwrap();
        assert!(fits(&set(width), 1000, 4e9).is_ok());
        assert!(fits(&set(width + config.model.heads), 1000, 4e9).is_err());
        assert!(fits(&config, 1 << 30, 1e9).unwrap_err().hint_text().unwrap().contains("vocabulary"));
    }
}
