//! What `generate` and `translate` share: traces as JSON Lines.

use crate::args::DecodingFlags;
use crate::error::{Error, Result};
use limpid::error::FileError;
use limpid::files::check_replaceable;
use limpid::generate::{BeamStep, Event, NextToken, RunningBeam, ScoredTokens, Step};
use limpid::text::Tokenizer;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Where traces go, a JSON object per line.
pub struct TraceFile {
    to: Option<(Box<dyn Write>, PathBuf)>,
}

impl TraceFile {
    /// Opens what `--trace` names.
    pub fn open(flags: &DecodingFlags) -> Result<Self> {
        let Some(path) = flags.trace.clone() else { return Ok(Self { to: None }) };
        if flags.trace_to_stdout() {
            return Ok(Self { to: Some((Box::new(StandardOutput), path)) });
        }
        check_trace(&path)?;
        let file = File::create(&path).map_err(|e| Error::io("write", &path, e))?;
        Ok(Self { to: Some((Box::new(BufWriter::new(file)), path)) })
    }

    /// Writes the steps among the events; `first` is added to the number of the prompt.
    pub fn take(
        &mut self,
        event: &Event,
        first: usize,
        tokenizer: &Tokenizer,
    ) -> limpid::error::Result<()> {
        let line = match event {
            Event::Text { .. } => return Ok(()),
            Event::Step { prompt, sample, step } => {
                step_json(first + prompt, *sample, step, tokenizer)
            }
            Event::BeamStep { prompt, step } => beams_json(first + prompt, step, tokenizer),
        };
        match &mut self.to {
            Some((to, path)) => {
                writeln!(to, "{line}").map_err(|e| limpid::error::Error::io("write", path, e))
            }
            None => Ok(()),
        }
    }

    /// Flushes the file.
    pub fn finish(self) -> Result<()> {
        match self.to {
            Some((mut to, path)) => to.flush().map_err(|e| Error::io("write", &path, e)),
            None => Ok(()),
        }
    }
}

/// Refuses to write over anything but an earlier trace: a model's files are JSON, too.
fn check_trace(path: &Path) -> Result<()> {
    check_replaceable(path, "{")?;
    let is_file = path.metadata().is_ok_and(|file| file.is_file() && file.len() > 0);
    let mut first = String::new();
    if let (true, Ok(file)) = (is_file, File::open(path)) {
        let _ = BufReader::new(file).read_line(&mut first);
    }
    let line: Value = serde_json::from_str(&first).unwrap_or_default();
    match !is_file || (line["step"].is_u64() && line["candidates"].is_array()) {
        true => Ok(()),
        false => Err(FileError::Occupied { path: path.into() }.into()),
    }
}

/// Standard output as everything else here uses it, so that a closed pipe ends the program quietly.
struct StandardOutput;

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        print!("{}", String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn step_json(prompt: usize, sample: usize, step: &Step, tokenizer: &Tokenizer) -> Value {
    let candidates: Vec<Value> = step
        .candidates
        .iter()
        .map(|c| {
            json!({
                "id": c.id, "token": tokenizer.token(c.id),
                "probability": c.probability, "processed": c.processed,
                "filtered": c.filtered,
            })
        })
        .collect();
    json!({
        "prompt": prompt, "sample": sample, "step": step.step, "u": step.u,
        "chosen": { "id": step.chosen, "token": tokenizer.token(step.chosen) },
        "candidates": candidates, "omitted": step.omitted,
    })
}

fn beams_json(prompt: usize, step: &BeamStep, tokenizer: &Tokenizer) -> Value {
    let words = |ids: &[u32]| ids.iter().map(|id| tokenizer.token(*id)).collect::<Vec<_>>();
    let scored = |texts: &[ScoredTokens]| -> Vec<Value> {
        let one = |t: &ScoredTokens| {
            json!({ "ids": t.tokens, "tokens": words(&t.tokens),
            "score": t.score })
        };
        texts.iter().map(one).collect()
    };
    let next = |n: &NextToken| {
        json!({
            "id": n.id, "token": tokenizer.token(n.id),
            "log_probability": n.log_probability, "processed": n.processed,
        })
    };
    let beam = |b: &RunningBeam| {
        json!({
            "ids": b.tokens, "tokens": words(&b.tokens), "log_probability": b.log_probability,
            "next": b.next.iter().map(next).collect::<Vec<_>>(), "omitted": b.omitted,
        })
    };
    let candidates: Vec<Value> = step
        .candidates
        .iter()
        .map(|c| {
            json!({
                "beam": c.beam, "id": c.id, "token": tokenizer.token(c.id),
                "log_probability": c.log_probability, "sum": c.sum, "finishes": c.finishes,
            })
        })
        .collect();
    json!({
        "prompt": prompt, "step": step.step,
        "beams": step.beams.iter().map(beam).collect::<Vec<_>>(),
        "candidates": candidates,
        "running": scored(&step.running), "finished": scored(&step.finished),
    })
}
