//! What a forward pass costs, by part: from the shapes alone.

use super::types::{Cost, CostModule};
use limpid::error::Result;
use limpid::hub::{self, Description};
use limpid::model::Stack;
use limpid_tensor::params::{ParamSpec, Role};
use std::path::Path;

/// A matrix that every token is multiplied with, and one that tokens only look rows up in.
fn is_table(name: &str) -> bool {
    name.contains("embedding.weight") && !name.contains("norm")
}

/// The part that a parameter belongs to: `layers.0.ffn`.
fn part(name: &str) -> String {
    let parts: Vec<&str> = name.split('.').collect();
    let at = parts.iter().position(|part| part.parse::<usize>().is_ok());
    match at {
        Some(i) => parts[..(i + 2).min(parts.len())].join("."),
        None => parts[0].into(),
    }
}

/// The cost of so many tokens; of an encoder-decoder, of so many on each side.
pub fn of(folder: &Path, tokens: usize) -> Result<Cost> {
    let Description::Model(described) = hub::describe(folder)? else {
        return Ok(Cost {
            tokens,
            modules: Vec::new(),
            flops: 0.0,
            parameter_bytes: 0.0,
            activation_bytes: 0.0,
            cache_bytes: 0.0,
        });
    };
    let n = tokens as f64;
    let mut modules: Vec<CostModule> = Vec::new();
    for spec in described.params.iter().filter(|spec| spec.role != Role::Statistic) {
        let name = part(&spec.name);
        let at = modules.iter().position(|module| module.name == name).unwrap_or_else(|| {
            modules.push(CostModule { name, parameters: 0, flops: 0.0, bytes: 0.0 });
            modules.len() - 1
        });
        let (flops, bytes) = product(spec, n);
        modules[at].parameters += spec.shape.len();
        modules[at].flops += flops;
        modules[at].bytes += bytes;
    }
    let (attention, cache) = attention(&described.stack, n);
    for (name, flops) in attention {
        match modules.iter_mut().find(|module| module.name == name) {
            Some(module) => module.flops += flops,
            None => modules.push(CostModule { name, parameters: 0, flops, bytes: 0.0 }),
        }
    }
    // A tied output projection has no parameter of its own.
    if let Some(flops) = tied_output(&described.stack, &described.params, n) {
        let bytes = 4.0 * n * described.stack.vocab_size() as f64;
        modules.push(CostModule { name: "output (tied)".into(), parameters: 0, flops, bytes });
    }
    let sum = |of: fn(&CostModule) -> f64| modules.iter().map(of).sum();
    let (flops, activation_bytes) = (sum(|module| module.flops), sum(|module| module.bytes));
    let parameters: usize = modules.iter().map(|module| module.parameters).sum();
    let parameter_bytes = 4.0 * parameters as f64;
    Ok(Cost { tokens, modules, flops, parameter_bytes, activation_bytes, cache_bytes: cache })
}

/// Multiplications and additions with a parameter, and bytes of what comes out.
fn product(spec: &ParamSpec, n: f64) -> (f64, f64) {
    let numbers = spec.shape.len() as f64;
    match spec.shape.rank() {
        2 if is_table(&spec.name) => {
            (n * spec.shape.dim(1) as f64, 4.0 * n * spec.shape.dim(1) as f64)
        }
        2 => (2.0 * n * numbers, 4.0 * n * spec.shape.dim(0) as f64),
        // A bias or a norm: an addition or some per number.
        _ => (2.0 * n * numbers, 0.0),
    }
}

/// Scores and weighted sums of each layer, and bytes of keys and values.
fn attention(stack: &Stack, n: f64) -> (Vec<(String, f64)>, f64) {
    let of =
        |path: &str, layers: usize, kind: &str, width: f64, share: f64| -> Vec<(String, f64)> {
            // q·k and w·v: 2·n·n·width each.
            let flops = 4.0 * n * n * width * share;
            (0..layers).map(|l| (format!("{path}{l}.{kind}"), flops)).collect()
        };
    match stack {
        Stack::Decoder(model) => {
            let c = model.config();
            let (layers, width) =
                (c.num_hidden_layers, (c.num_attention_heads * c.head_dim()) as f64);
            let cache = 8.0 * n * (c.kv_heads() * c.head_dim() * layers) as f64;
            (of("layers.", layers, "self_attention", width, 0.5), cache)
        }
        Stack::Encoder(model) => {
            let c = model.config();
            let width = c.hidden_size as f64;
            (of("layers.", c.num_hidden_layers, "self_attention", width, 1.0), 0.0)
        }
        Stack::EncoderDecoder(model) => {
            let c = model.config();
            let width = c.d_model as f64;
            let mut all = of("encoder.layers.", c.encoder_layers, "self_attention", width, 1.0);
            all.extend(of("decoder.layers.", c.decoder_layers, "self_attention", width, 0.5));
            all.extend(of("decoder.layers.", c.decoder_layers, "cross_attention", width, 1.0));
            (all, 16.0 * n * width * c.decoder_layers as f64)
        }
        Stack::Recurrent(_) => (Vec::new(), 0.0),
    }
}

fn tied_output(stack: &Stack, params: &[ParamSpec], n: f64) -> Option<f64> {
    let has_output = params.iter().any(|spec| spec.name == "output.weight");
    let scores = match stack {
        Stack::Decoder(model) => model.labels().is_none(),
        Stack::Encoder(model) => model.config().head.fills_masks(),
        Stack::EncoderDecoder(_) | Stack::Recurrent(_) => true,
    };
    if has_output || !scores {
        return None;
    }
    let table = params.iter().find(|spec| is_table(&spec.name) && spec.shape.rank() == 2)?;
    Some(2.0 * n * table.shape.len() as f64)
}
