//! `limpid info`: what a folder is, what can be done with it, and the parameters of a model.

use super::info_folder::{
    commands, kind, print_adapter, quantized_text, vocabularies, weights_json, weights_text,
};
use crate::args::Info;
use crate::error::Result;
use crate::printer::{self, counted, thousands};
use limpid::data::labelled::label_list;
use limpid::hub::{self, Description, ModelDescription, Warning};
use limpid::model::Stack;
use limpid::model::config::{DecoderConfig, Directions};
use limpid::nn::{
    Block, FeedForwardKind, HeadNorm, LayerOptions, LayerVariant, Named, NormPlacement,
    Normalization, Positions, Residual, Scaling, Windows,
};
use limpid::text::Tokenizer;
use limpid_tensor::params::{ParamSpec, Role};
use serde_json::json;
use std::path::Path;

/// A module of a model: the common prefix of its parameters' names.
struct Part {
    name: String,
    parameters: usize,
    /// The shape, for a parameter.
    shape: Option<String>,
    parts: Vec<Part>,
}

impl Part {
    fn new(name: &str) -> Self {
        Self { name: name.into(), parameters: 0, shape: None, parts: Vec::new() }
    }

    fn add(&mut self, path: &[&str], parameters: usize, shape: &str) {
        self.parameters += parameters;
        let Some((first, rest)) = path.split_first() else {
            self.shape = Some(shape.into());
            return;
        };
        let at = self.parts.iter().position(|part| part.name == *first).unwrap_or_else(|| {
            self.parts.push(Part::new(first));
            self.parts.len() - 1
        });
        self.parts[at].add(rest, parameters, shape);
    }

    fn print(&self, indent: usize, depth: Option<usize>) {
        let name = format!("{:indent$}{}", "", self.name);
        let shape = self.shape.as_deref().unwrap_or("");
        println!("{name:<40}{shape:>16}{:>16}", thousands(self.parameters));
        if depth.is_none_or(|depth| indent / 2 < depth) {
            self.parts.iter().for_each(|part| part.print(indent + 2, depth));
        }
    }
}

/// A folder, described without reading a weight.
struct About {
    described: ModelDescription,
    tokenizer: Option<Tokenizer>,
    /// What the folder lacks, one sentence each.
    missing: Vec<String>,
    /// Commands that work with it.
    commands: Vec<&'static str>,
}

/// Prints what a folder is, what can be done with it, and the parameter tree of a model.
pub fn run(args: Info) -> Result<()> {
    match hub::describe(&args.model)? {
        Description::Adapter(adapter) => print_adapter(&args, &adapter),
        Description::Model(described) => {
            printer::warnings(&described.warnings);
            let about = About::new(&args.model, *described);
            match args.json {
                true => println!("{}", about.json()),
                false => about.print(&args),
            }
        }
    }
    Ok(())
}

impl About {
    fn new(folder: &Path, described: ModelDescription) -> Self {
        let mut missing = Vec::new();
        if let Err(problem) = &described.weights {
            missing.push(problem.to_string());
        }
        let tokenizer = match Tokenizer::exists_in(folder).then(|| hub::load_tokenizer(folder)) {
            Some(Ok(tokenizer)) => Some(tokenizer),
            Some(Err(problem)) => {
                missing.push(problem.to_string());
                None
            }
            None => {
                missing.push("no tokenizer in the folder".into());
                None
            }
        };
        if let Some(tokenizer) = &tokenizer {
            let (tokens, known) = (tokenizer.vocab_size(), described.stack.vocab_size());
            printer::warnings(&Vec::from_iter(Warning::of_vocabulary(tokens, known)));
        }
        let commands = match described.weights.is_ok() {
            true => commands(&described.stack, folder, tokenizer.is_some()),
            false => Vec::new(),
        };
        Self { described, tokenizer, missing, commands }
    }

    fn parameters(&self) -> usize {
        let trained = self.described.params.iter().filter(|spec| spec.role == Role::Trained);
        trained.map(|spec| spec.shape.len()).sum()
    }

    fn json(&self) -> serde_json::Value {
        let stack = &self.described.stack;
        let part = |spec: &ParamSpec| {
            let shape: Vec<usize> = spec.shape.dims().collect();
            let trained = spec.role == Role::Trained;
            let dtype = self.described.quantized.get(&spec.name).map(|format| format.name());
            json!({ "name": spec.name, "shape": shape, "parameters": spec.shape.len(),
                "trained": trained, "dtype": dtype })
        };
        let tokenizer = self.tokenizer.as_ref().map(|tokenizer| {
            json!({ "kind": kind(tokenizer), "vocab_size": tokenizer.vocab_size(),
                "target_vocab_size": tokenizer.target_vocab_size() })
        });
        json!({
            "kind": stack.kind(), "model_type": self.described.model_type,
            "parameters": self.parameters(), "tokenizer": tokenizer,
            "weights": self.described.weights.as_ref().ok().map(weights_json),
            "commands": self.commands, "missing": self.missing,
            "parts": self.described.params.iter().map(part).collect::<Vec<_>>(),
            "labels": labels(stack), "variant": variant(stack),
        })
    }

    fn print(&self, args: &Info) {
        let stack = &self.described.stack;
        let count = thousands(self.parameters());
        println!("{}: {} with {count} parameters", args.model.display(), stack.kind());
        println!("family {}, {}", self.described.model_type, sizes(stack));
        if let Ok(weights) = &self.described.weights {
            println!("weights {}", weights_text(weights));
        }
        if let Some(formats) = quantized_text(&self.described.quantized) {
            println!("quantized: {formats}");
        }
        if let Some(tokenizer) = &self.tokenizer {
            println!("tokenizer {}, {}", kind(tokenizer), vocabularies(tokenizer));
        }
        if !self.commands.is_empty() {
            println!("works with {}", self.commands.join(", "));
        }
        self.missing.iter().for_each(|sentence| println!("missing: {sentence}"));
        println!("\n{:<40}{:>16}{:>16}", "part", "shape", "parameters");
        let mut root = Part::new("all");
        for spec in &self.described.params {
            let shape = spec.shape.dims().map(|n| n.to_string()).collect::<Vec<_>>().join(" x ");
            let shape = match self.described.quantized.get(&spec.name) {
                Some(format) => format!("{shape}, {format}"),
                None => shape,
            };
            // Only trained parameters count.
            let (trained, shape) = match spec.role {
                Role::Trained => (spec.shape.len(), shape),
                Role::Fixed => (0, format!("{shape}, fixed")),
                Role::Statistic => (0, format!("{shape}, statistic")),
            };
            root.add(&spec.name.split('.').collect::<Vec<_>>(), trained, &shape);
        }
        root.print(0, args.depth);
    }
}

fn labels(stack: &Stack) -> Option<&[String]> {
    match stack {
        Stack::Encoder(bert) => bert.labels().or(bert.token_labels()),
        stack => stack.labels().map(|labels| &labels.names[..]),
    }
}

fn shown_labels(stack: &Stack) -> String {
    labels(stack).map_or(String::new(), |labels| format!("\nlabels {}", label_list(labels)))
}

fn sizes(stack: &Stack) -> String {
    match stack {
        Stack::Decoder(gpt) => {
            let c = gpt.config();
            format!(
                "{}, hidden size {}, {}, feed-forward size {}, context {}, {}, vocabulary {}{}",
                counted(c.num_hidden_layers, "layer"),
                c.hidden_size,
                heads(c),
                c.intermediate_size,
                c.max_position_embeddings,
                norm(c.norm, c.options),
                thousands(c.vocab_size),
                ablations(c.options, Positions::Learned)
            ) + &later_options(c)
                + &shown_labels(stack)
        }
        Stack::EncoderDecoder(model) => {
            let c = model.config();
            format!(
                "{} + {} layers, hidden size {}, {} and {} heads, feed-forward size {} and {}, \
                 context {}, {}, vocabulary {}{}",
                c.encoder_layers,
                c.decoder_layers,
                c.d_model,
                c.encoder_attention_heads,
                c.decoder_attention_heads,
                c.encoder_ffn_dim,
                c.decoder_ffn_dim,
                c.max_position_embeddings,
                norm(c.norm, c.options),
                thousands(c.vocab_size),
                ablations(c.options, Positions::Sinusoidal)
            )
        }
        Stack::Encoder(bert) => {
            let c = bert.config();
            format!(
                "{}, hidden size {}, {}, feed-forward size {}, context {}, post-norm, vocabulary \
                 {}{}",
                counted(c.num_hidden_layers, "layer"),
                c.hidden_size,
                counted(c.num_attention_heads, "head"),
                c.intermediate_size,
                c.max_position_embeddings,
                thousands(c.vocab_size),
                shown_labels(stack)
            )
        }
        Stack::Recurrent(model) => {
            let c = model.config();
            format!(
                "{} + {0} {} layers, hidden size {}, embedding size {}, {} encoder, {} attention, \
                 vocabulary {}",
                c.num_layers,
                c.cell.name(),
                c.hidden_size,
                c.embedding_size,
                if c.directions == Directions::Bidirectional {
                    "bidirectional"
                } else {
                    "unidirectional"
                },
                c.attention.name().replace("none", "no"),
                thousands(c.vocab_size)
            )
        }
    }
}

/// Heads of queries, and of keys and values where they are fewer.
fn heads(c: &DecoderConfig) -> String {
    let heads = counted(c.num_attention_heads, "head");
    match c.kv_heads() {
        own if own == c.num_attention_heads => heads,
        shared => format!("{heads} ({shared} of keys and values)"),
    }
}

/// What a decoder has that GPT-2 has not.
fn later_options(c: &DecoderConfig) -> String {
    let LayerVariant { attention, feed_forward, block, .. } = c.variant;
    let window = match attention.windows {
        Windows::None => String::new(),
        Windows::From { layer: 0, tokens } => format!("window of {tokens} tokens"),
        Windows::From { layer, tokens } => {
            format!("window of {tokens} tokens from layer {layer} on")
        }
        Windows::Between { every, tokens } => {
            format!("window of {tokens} tokens but in every {every}th layer")
        }
    };
    let all = [
        (attention.head_dim.is_some(), format!("heads of width {}", c.head_dim())),
        (feed_forward == FeedForwardKind::Gated, "gated feed-forward".into()),
        (attention.head_norm != HeadNorm::None, "query-key norm".into()),
        (block != Block::Sequential, "attention and feed-forward in parallel".into()),
        (!window.is_empty(), window),
    ];
    let there: Vec<String> = all.into_iter().filter(|(is, _)| *is).map(|(_, text)| text).collect();
    if there.is_empty() { String::new() } else { format!("\n{}", there.join(", ")) }
}

/// The normalization and its placement.
fn norm(placement: NormPlacement, variant: LayerOptions) -> String {
    let place = match placement {
        NormPlacement::Pre => "pre",
        NormPlacement::Post => "post",
    };
    match variant.normalization {
        Normalization::Layer => format!("{place}-norm"),
        Normalization::LayerNoBias => format!("{place}-norm (without shift)"),
        Normalization::Rms | Normalization::RmsOnePlus => format!("{place}-norm (RMS)"),
        Normalization::Batch => format!("{place}-norm (batch normalization)"),
        Normalization::None => "no normalization".into(),
    }
}

/// Options that differ from the defaults of the family.
fn ablations(variant: LayerOptions, usual: Positions) -> String {
    let positions = format!("positions: {}", variant.positions.name());
    let all = [
        (variant.positions != usual, &positions[..]),
        (variant.residual == Residual::None, "no residual connections"),
        (variant.scaling == Scaling::None, "attention scores not scaled"),
    ];
    let there: Vec<&str> = all.into_iter().filter(|(is, _)| *is).map(|(_, words)| words).collect();
    if there.is_empty() { String::new() } else { format!("\n{}", there.join(", ")) }
}

/// The layer options as JSON, for stacks that have them.
fn variant(stack: &Stack) -> Option<serde_json::Value> {
    let (norm, variant) = match stack {
        Stack::Decoder(gpt) => (gpt.config().norm, gpt.config().options),
        Stack::EncoderDecoder(model) => (model.config().norm, model.config().options),
        Stack::Encoder(_) | Stack::Recurrent(_) => return None,
    };
    Some(json!({
        "norm": norm.name(),
        "normalization": variant.normalization.name(), "positions": variant.positions.name(),
        "residual": variant.residual.name(), "scaling": variant.scaling.name(),
    }))
}
