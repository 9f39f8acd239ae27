//! `limpid info`: what a model is, part by part.

use crate::args::Info;
use crate::printer::{self, counted, thousands};
use limpid::config::{
    Directions, NormPlacement, Normalisation, Positions, Residual, Scaling, Variant, cell_name,
    rnn_attention_name,
};
use limpid::data::labelled::listed;
use limpid::error::Result;
use limpid::hub;
use limpid::model::{Architecture, Model};
use limpid::text::Tokenizer;
use limpid_tensor::params::Role;
use serde_json::json;

/// A part of a model: what its parameters' names have in common.
struct Part {
    name: String,
    parameters: usize,
    /// Of a parameter itself.
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

/// Prints the tree of a model.
pub fn run(args: Info) -> Result<()> {
    let (model, warnings) = hub::load(&args.model)?;
    printer::warnings(&warnings);
    let tokenizer = match args.model.join("tokenizer.json").is_file() {
        true => Some(super::tokenizer_of(&args.model, &model)?),
        false => None,
    };
    let kind = |tokenizer: &Tokenizer| tokenizer.kind().map_or("of an unknown kind", |kind| kind.words());
    if args.json {
        let parts: Vec<_> = model
            .params
            .iter()
            .map(|(_, spec)| {
                let shape: Vec<usize> = spec.shape.dims().collect();
                let trained = spec.role == Role::Trained;
                json!({ "name": spec.name, "shape": shape, "parameters": spec.shape.len(), "trained": trained })
            })
            .collect();
        let tokenizer = tokenizer.map(|t| json!({ "kind": kind(&t), "vocab_size": t.vocab_size() }));
        println!(
            "{}",
            json!({
                "kind": model.architecture.kind(), "parameters": model.params.count(), "tokenizer": tokenizer, "parts": parts,
                "labels": labels(&model), "variant": variant(&model),
            })
        );
        return Ok(());
    }
    let count = thousands(model.params.count());
    println!("{}: {} with {count} parameters", args.model.display(), model.architecture.kind());
    println!("{}", sizes(&model));
    match tokenizer {
        Some(tokenizer) => {
            println!("tokenizer {}, {} tokens", kind(&tokenizer), thousands(tokenizer.vocab_size()))
        }
        None => println!("no tokenizer in the folder"),
    }
    println!("\n{:<40}{:>16}{:>16}", "part", "shape", "parameters");
    let mut root = Part::new("all");
    for (_, spec) in model.params.iter() {
        let shape = spec.shape.dims().map(|n| n.to_string()).collect::<Vec<_>>().join(" x ");
        // Only what is learnt counts.
        let (learnt, shape) = match spec.role {
            Role::Trained => (spec.shape.len(), shape),
            Role::Fixed => (0, format!("{shape}, fixed")),
            Role::Statistic => (0, format!("{shape}, measured")),
        };
        root.add(&spec.name.split('.').collect::<Vec<_>>(), learnt, &shape);
    }
    root.print(0, args.depth);
    Ok(())
}

fn labels(model: &Model) -> Option<&[String]> {
    match &model.architecture {
        Architecture::Bert(bert) => bert.labels(),
        _ => None,
    }
}

fn sizes(model: &Model) -> String {
    match &model.architecture {
        Architecture::Gpt(gpt) => {
            let c = gpt.config();
            format!(
                "{}, width {}, {}, feed-forward {}, context {}, {}, vocabulary {}{}",
                counted(c.n_layer, "layer"),
                c.n_embd,
                counted(c.n_head, "head"),
                c.n_inner,
                c.n_positions,
                norm(c.norm, c.variant),
                thousands(c.vocab_size),
                departures(c.variant, Positions::Learned)
            )
        }
        Architecture::Seq2Seq(model) => {
            let c = model.config();
            format!(
                "{} + {} layers, width {}, {} and {} heads, feed-forward {} and {}, positions {}, {}, vocabulary {}{}",
                c.encoder_layers,
                c.decoder_layers,
                c.d_model,
                c.encoder_attention_heads,
                c.decoder_attention_heads,
                c.encoder_ffn_dim,
                c.decoder_ffn_dim,
                c.max_position_embeddings,
                norm(c.norm, c.variant),
                thousands(c.vocab_size),
                departures(c.variant, Positions::Sinusoidal)
            )
        }
        Architecture::Bert(bert) => {
            let c = bert.config();
            let labels = labels(model).map(|labels| format!("\nlabels {}", listed(labels)));
            format!(
                "{}, width {}, {}, feed-forward {}, positions {}, post-norm, vocabulary {}{}",
                counted(c.num_hidden_layers, "layer"),
                c.hidden_size,
                counted(c.num_attention_heads, "head"),
                c.intermediate_size,
                c.max_position_embeddings,
                thousands(c.vocab_size),
                labels.unwrap_or_default()
            )
        }
        Architecture::Rnn(model) => {
            let c = model.config();
            format!(
                "{} + {0} {} layers, width {}, embeddings {}, encoder reading {}, {} attention, vocabulary {}",
                c.num_layers,
                cell_name(c.cell),
                c.hidden_size,
                c.embedding_size,
                if c.directions == Directions::Both { "both ways" } else { "forward" },
                rnn_attention_name(c.attention).replace("none", "no"),
                thousands(c.vocab_size)
            )
        }
    }
}

/// What is normalised, and where.
fn norm(placement: NormPlacement, variant: Variant) -> String {
    let place = match placement {
        NormPlacement::Pre => "pre",
        NormPlacement::Post => "post",
    };
    match variant.normalisation {
        Normalisation::Layer => format!("{place}-norm"),
        Normalisation::Batch => format!("{place}-norm by batch"),
        Normalisation::None => "no normalisation".into(),
    }
}

/// Where a model is not what its family is.
fn departures(variant: Variant, usual: Positions) -> String {
    let positions = format!("positions: {}", variant.positions.name());
    let all = [
        (variant.positions != usual, &positions[..]),
        (variant.residual == Residual::None, "no residuals"),
        (variant.scaling == Scaling::None, "scores not scaled"),
    ];
    let there: Vec<&str> = all.into_iter().filter(|(is, _)| *is).map(|(_, words)| words).collect();
    if there.is_empty() { String::new() } else { format!("\n{}", there.join(", ")) }
}

/// The same as JSON: of a Transformer that can depart from its family.
fn variant(model: &Model) -> Option<serde_json::Value> {
    let (norm, variant) = match &model.architecture {
        Architecture::Gpt(gpt) => (gpt.config().norm, gpt.config().variant),
        Architecture::Seq2Seq(model) => (model.config().norm, model.config().variant),
        Architecture::Bert(_) | Architecture::Rnn(_) => return None,
    };
    Some(json!({
        "norm": if norm == NormPlacement::Pre { "pre" } else { "post" },
        "normalisation": variant.normalisation.name(), "positions": variant.positions.name(),
        "residual": variant.residual.name(), "scaling": variant.scaling.name(),
    }))
}
