//! `limpid quantize`: weights as int8, int4 or bf16, with a report of what it costs.

use super::quantize_sample::{Samples, samples};
use crate::args::Quantize;
use crate::error::{Error, Result};
use crate::printer::{self, perplexity, say};
use limpid::eval::Case;
use limpid::eval::translator::score_translator;
use limpid::files::create_folder;
use limpid::generate::{GenerationOptions, translation_config};
use limpid::hub::{self, Pooling};
use limpid::model::Model;
use limpid::quantize::{Cost, Measure, WeightCost, choose, keep_within, measure_each};
use limpid::text::Tokenizer;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Quantizes a model, measures and writes it.
pub fn run(args: &Quantize) -> Result<()> {
    if args.out.join("config.json").exists() {
        return Err(Error::config(format!("{} holds a model already", args.out.display()))
            .hint("give --out another folder"));
    }
    if args.max_loss.is_some_and(|most| !most.is_finite() || most < 0.0) {
        return Err(Error::config("--max-loss is a number of at least 0").hint("--max-loss 0.01"));
    }
    let folder = hub::transformer_folder(&args.model);
    let (mut model, warnings) = hub::load(&folder)?;
    printer::warnings(&warnings);
    let choices = choose(&model, args.to.format(), &args.keep)?;
    let tokenizer = super::tokenizer_of(&args.model, &model)?;
    let Samples { choosing, held_out, pairs, origin } = samples(args, &model, &tokenizer)?;
    let pooling = hub::load_pooling(&args.model)?.unwrap_or(Pooling::Mean);
    let bleu_before = bleu(&folder, &model, &tokenizer, &pairs)?;
    let choose_by = Measure::new(&model, &tokenizer, &choosing, pooling)?;
    let judge = Measure::new(&model, &tokenizer, &held_out, pooling)?;
    let before = model.params.bytes();
    say(format_args!("Measuring {} on {origin} …", printer::counted(choices.len(), "weight")));
    let mut weights = measure_each(&mut model, &choices, &choose_by, |_| {})?;
    keep_within(&mut model, &mut weights, &choose_by, args.max_loss)?;
    let found = Found {
        cost: judge.cost(&model)?,
        reference_loss: judge.reference_loss(),
        bleu: bleu_before.zip(bleu(&folder, &model, &tokenizer, &pairs)?),
        bytes: [before, model.params.bytes()],
        weights,
    };
    write(args, &folder, &model)?;
    match args.json {
        true => println!("{}", found.json()),
        false => found.print(),
    }
    say(format_args!("Written to {}", args.out.display()));
    Ok(())
}

/// BLEU of greedy translations of the held-out pairs.
fn bleu(
    folder: &Path,
    model: &Model,
    tokenizer: &Tokenizer,
    pairs: &[(String, String)],
) -> Result<Option<f64>> {
    let Some(translator) = model.stack.translator().filter(|_| !pairs.is_empty()) else {
        return Ok(None);
    };
    let (decoding, _) = translation_config(folder, translator, &GenerationOptions::default())?;
    let texts = (pairs, [folder, folder]);
    let found =
        score_translator((translator, &model.params), tokenizer, texts, &decoding, Case::Mixed)?;
    Ok(Some(found.bleu.score))
}

/// Writes the model, and beside it what else its folder holds.
fn write(args: &Quantize, transformer: &Path, model: &Model) -> Result<()> {
    create_folder(&args.out)?;
    copy_folder(&args.model, &args.out, 0)?;
    let inside = transformer.strip_prefix(&args.model).unwrap_or(Path::new(""));
    let generation = transformer.join("generation_config.json");
    let generation = match generation.is_file() {
        true => fs::read(&generation).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()),
        false => None,
    };
    Ok(hub::save_with_generation(model, &args.out.join(inside), generation.as_ref())?)
}

/// Copies tokenizers, templates and the settings of modules; weights and `config.json` are written
/// anew.
fn copy_folder(from: &Path, to: &Path, depth: usize) -> Result<()> {
    let entries = fs::read_dir(from).map_err(|e| Error::io("read", from, e))?;
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let target = to.join(&name);
        let name = name.to_string_lossy();
        if path.is_dir() && depth == 0 && name.starts_with(|c: char| c.is_ascii_digit()) {
            create_folder(&target)?;
            copy_folder(&path, &target, 1)?;
        }
        let weights = name.ends_with(".index.json") || (name == "config.json" && depth == 0);
        let kinds = [".json", ".txt", ".model", ".spm", ".jinja"];
        let wanted = kinds.iter().any(|kind| name.ends_with(kind)) && !weights;
        // The dense layers of a sentence encoder stay as they are.
        if path.is_file() && (wanted || (depth == 1 && name.ends_with(".safetensors"))) {
            fs::copy(&path, &target).map_err(|e| Error::io("copy", &path, e))?;
        }
    }
    Ok(())
}

/// What a quantized model costs.
struct Found {
    weights: Vec<WeightCost>,
    cost: Cost,
    reference_loss: Option<f64>,
    bleu: Option<(f64, f64)>,
    bytes: [usize; 2],
}

impl Found {
    /// The share of the weights' numbers that is left in f32.
    fn kept(&self) -> f64 {
        let numbers = |kept: bool| -> usize {
            let all = self.weights.iter().filter(|weight| !kept || weight.choice.format.is_none());
            all.map(|weight| weight.bytes[0] / 4).sum()
        };
        numbers(true) as f64 / numbers(false).max(1) as f64
    }

    fn json(&self) -> Value {
        let one = |weight: &WeightCost| {
            json!({
                "name": weight.choice.name, "bytes": weight.bytes,
                "dtype": weight.choice.format.map_or("f32", |format| format.name()),
                "cost": weight.cost.as_ref().map(cost_json),
            })
        };
        json!({
            "bytes": self.bytes, "kept_share": self.kept(), "cost": cost_json(&self.cost),
            "reference_loss": self.reference_loss, "bleu": self.bleu,
            "weights": self.weights.iter().map(one).collect::<Vec<_>>(),
        })
    }

    fn print(&self) {
        println!("{:<52}{:>8}{:>10}{:>14}", "weight", "dtype", "MB", "cost alone");
        for weight in &self.weights {
            let dtype = weight.choice.format.map_or("f32", |format| format.name());
            let cost = weight.cost.as_ref().map_or("".into(), |c| format!("{:+.5}", c.increase));
            let megabytes = weight.bytes[1] as f64 * 1e-6;
            println!("{:<52}{dtype:>8}{megabytes:>10.2}{cost:>14}", weight.choice.name);
        }
        let [before, after] = self.bytes.map(|bytes| bytes as f64 * 1e-6);
        println!("\nparameters          {before:>12.1} MB -> {after:.1} MB");
        println!("weights in f32      {:>12.1} %", 100.0 * self.kept());
        if let (Some(before), Some(after)) = (self.reference_loss, self.cost.loss) {
            println!("loss                {before:>12.4} -> {after:.4} nats per token");
            let [before, after] = [before, after].map(f64::exp);
            let percent = 100.0 * (after / before - 1.0);
            let (before, after) = (perplexity(before), perplexity(after));
            println!("perplexity          {before:>12} -> {after} ({percent:+.2} %)");
        }
        if let Some((before, after)) = self.bleu {
            println!("BLEU                {before:>12.2} -> {after:.2}");
        }
        if let Some([mean, least]) = self.cost.cosine {
            println!("cosine with f32     {mean:>12.5} mean, {least:.5} smallest");
        }
        if let Some(same) = self.cost.same_labels {
            println!("same labels         {:>12.2} %", 100.0 * same);
        }
    }
}

fn cost_json(cost: &Cost) -> Value {
    json!({ "increase": cost.increase, "loss": cost.loss, "cosine": cost.cosine,
        "same_labels": cost.same_labels })
}
