//! What `generate` and `translate` share: traces as lines of JSON, and the reading of standard input.

use crate::args::DecodingFlags;
use limpid::decode::{BeamStep, Event, Followed, Next, Scored, Step};
use limpid::error::{Error, Result};
use limpid::files::{check_kind, occupied};
use limpid::text::Tokenizer;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Where traces go, a JSON object a line.
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
        let file = File::create(&path).map_err(|e| Error::io("write", &path, &e))?;
        Ok(Self { to: Some((Box::new(BufWriter::new(file)), path)) })
    }

    /// Writes the steps among the events; `first` is added to the number of the prompt.
    pub fn take(&mut self, event: &Event, first: usize, tokenizer: &Tokenizer) -> Result<()> {
        let line = match event {
            Event::Text { .. } => return Ok(()),
            Event::Step { prompt, sample, step } => step_json(first + prompt, *sample, step, tokenizer),
            Event::Beams { prompt, step } => beams_json(first + prompt, step, tokenizer),
        };
        match &mut self.to {
            Some((to, path)) => writeln!(to, "{line}").map_err(|e| Error::io("write", path, &e)),
            None => Ok(()),
        }
    }

    /// Everything that was written is in the file.
    pub fn finish(self) -> Result<()> {
        match self.to {
            Some((mut to, path)) => to.flush().map_err(|e| Error::io("write", &path, &e)),
            None => Ok(()),
        }
    }
}

/// Refuses to write over anything but an earlier trace: a model's files are JSON, too.
fn check_trace(path: &Path) -> Result<()> {
    check_kind(path, "{")?;
    let is_file = path.metadata().is_ok_and(|file| file.is_file() && file.len() > 0);
    let mut first = String::new();
    if let (true, Ok(file)) = (is_file, File::open(path)) {
        let _ = BufReader::new(file).read_line(&mut first);
    }
    let line: Value = serde_json::from_str(&first).unwrap_or_default();
    match !is_file || (line["step"].is_u64() && line["candidates"].is_array()) {
        true => Ok(()),
        false => Err(occupied(path)),
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
                "before": c.before, "ruled": c.ruled, "after": c.after,
            })
        })
        .collect();
    json!({
        "prompt": prompt, "sample": sample, "step": step.step, "u": step.u,
        "chosen": { "id": step.chosen, "token": tokenizer.token(step.chosen) },
        "candidates": candidates, "left_out": step.left_out,
    })
}

fn beams_json(prompt: usize, step: &BeamStep, tokenizer: &Tokenizer) -> Value {
    let words = |ids: &[u32]| ids.iter().map(|id| tokenizer.token(*id)).collect::<Vec<_>>();
    let scored = |texts: &[Scored]| -> Vec<Value> {
        let one = |t: &Scored| json!({ "ids": t.tokens, "tokens": words(&t.tokens), "score": t.score });
        texts.iter().map(one).collect()
    };
    let next = |n: &Next| json!({ "id": n.id, "token": tokenizer.token(n.id), "before": n.before, "ruled": n.ruled });
    let followed = |f: &Followed| {
        json!({
            "ids": f.tokens, "tokens": words(&f.tokens), "sum": f.sum,
            "next": f.next.iter().map(next).collect::<Vec<_>>(), "left_out": f.left_out,
        })
    };
    let candidates: Vec<Value> = step
        .candidates
        .iter()
        .map(|c| {
            json!({
                "from": c.from, "id": c.id, "token": tokenizer.token(c.id),
                "log_probability": c.log_probability, "sum": c.sum, "ends": c.ends,
            })
        })
        .collect();
    json!({
        "prompt": prompt, "step": step.step, "followed": step.followed.iter().map(followed).collect::<Vec<_>>(),
        "candidates": candidates,
        "running": scored(&step.running), "finished": scored(&step.finished),
    })
}
