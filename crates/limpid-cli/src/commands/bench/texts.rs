//! `limpid bench texts`: translation or embedding of the lines of a file, without loading.

use super::interactive::{About, Timed, memory_mb, repeat, serve};
use super::{check_positive, check_seconds, median_and_best};
use crate::args::BenchTexts;
use crate::error::{Error, Result};
use limpid::generate::GenerationOptions;
use limpid::{Embedder, Translator};
use limpid_tensor::team;
use serde_json::json;
use std::fs;
use std::time::Instant;

/// A model of either kind.
enum Job {
    Translate(Box<Translator>, GenerationOptions),
    Embed(Box<Embedder>),
}

impl Job {
    fn load(args: &BenchTexts) -> Result<Self> {
        match Translator::load(&args.model) {
            Ok(translator) => {
                let options = GenerationOptions {
                    num_beams: Some(args.num_beams),
                    max_new_tokens: Some(args.max_new_tokens),
                    ..GenerationOptions::default()
                };
                Ok(Self::Translate(Box::new(translator), options))
            }
            Err(_) => Ok(Self::Embed(Box::new(Embedder::load(&args.model)?))),
        }
    }

    fn parameters(&self) -> usize {
        match self {
            Self::Translate(translator, _) => translator.model().params.count(),
            Self::Embed(embedder) => embedder.model().params.count(),
        }
    }

    /// What becomes of each text, as a line.
    fn run(&self, texts: &[String]) -> Result<Vec<String>> {
        match self {
            Self::Translate(translator, options) => {
                let config = translator.decoding_config(options)?;
                let found = translator.run(texts, &config, &Default::default(), None)?;
                Ok(found.into_iter().map(|mut best| best.swap_remove(0).text).collect())
            }
            Self::Embed(embedder) => {
                let vectors = embedder.embed(texts)?;
                Ok(vectors.iter().map(|vector| json!(vector).to_string()).collect())
            }
        }
    }

    /// Milliseconds of all texts together, or of each.
    fn time(&self, texts: &[String], one_by_one: bool) -> Result<Vec<f64>> {
        let calls: Vec<&[String]> =
            if one_by_one { texts.chunks(1).collect() } else { vec![texts] };
        let time = |texts: &[String]| {
            let before = Instant::now();
            std::hint::black_box(match self {
                Self::Translate(..) => self.run(texts)?.len(),
                Self::Embed(embedder) => embedder.embed(texts)?.len(),
            });
            Ok(before.elapsed().as_secs_f64() * 1e3)
        };
        calls.into_iter().map(time).collect()
    }
}

/// Translates or embeds the same lines repeatedly.
pub fn run(args: &BenchTexts) -> Result<()> {
    check_seconds(args.seconds)?;
    check_positive(&[("lines", args.lines), ("num-beams", args.num_beams)])?;
    let own_mb = memory_mb("VmRSS");
    let text = fs::read_to_string(&args.texts).map_err(|e| Error::io("read", &args.texts, e))?;
    let texts: Vec<String> = text.lines().take(args.lines).map(String::from).collect();
    let job = Job::load(args)?;
    let outputs = job.run(&texts)?;
    if let Some(path) = &args.out {
        let lines = outputs.join("\n") + "\n";
        fs::write(path, lines).map_err(|e| Error::io("write", path, e))?;
    }
    let mut failed = None;
    let mut time = |seconds: f64| {
        repeat(seconds, || {
            job.time(&texts, args.one_by_one).unwrap_or_else(|error| {
                failed = Some(error);
                vec![f64::NAN]
            })
        })
    };
    if args.interactive {
        let about = About { parameters: job.parameters(), own_mb };
        serve(about, |seconds| Ok(Timed { step_ms: time(seconds), loss: None }))?;
    } else {
        let times = time(args.seconds);
        let (median, best) = median_and_best(times);
        println!(
            "{}",
            json!({
                "texts": texts.len(), "median_ms": median, "best_ms": best,
                "threads": team::threads(), "peak_mb": memory_mb("VmHWM"),
                "before_model_mb": own_mb,
            })
        );
    }
    failed.map_or(Ok(()), Err)
}
