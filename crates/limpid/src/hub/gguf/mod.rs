//! Export to GGUF, llama.cpp's file format: one file with the weights, the sizes and the tokenizer
//! of a decoder or a BERT encoder.
//!
//! The architecture is chosen by what the layers compute, not by the family of the folder, and what
//! no architecture computes is refused. Parameters are read and written one at a time.

mod architecture;
mod names;
mod spm;
mod tokens;
mod writer;

pub use writer::GgufType;

use super::convert::check_quantization;
use super::folder::check_no_adapter;
use super::precision::Precision;
use super::{Opened, Pooling, load_pooling, load_tokenizer, transformer_folder};
use crate::error::{Error, GgufProblem, ModelError, Result};
use crate::files::{check_output_path, check_replaceable};
use crate::model::Stack;
use crate::model::config::{EncoderConfig, StackConfig};
use crate::nn::Normalization;
use crate::text::Tokenizer;
use architecture::Architecture;
use limpid_tensor::params::{ParamId, ParamSpec};
use names::{Heads, Part};
use std::path::Path;
use writer::{BLOCK, Described, Value};

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GgufExport {
    /// llama.cpp's name of the architecture.
    pub architecture: &'static str,
    /// Tensors.
    pub tensors: usize,
    /// Bytes of the file.
    pub bytes: u64,
    /// The longest text that the file allows, in tokens: that of the model, or its sliding window.
    pub context_length: usize,
}

/// A tensor of the file and where its numbers come from.
struct Planned {
    described: Described,
    /// `None`: the frequencies of rotary positions.
    source: Option<(ParamId, Part)>,
}

fn refused(problem: GgufProblem) -> Error {
    ModelError::NotInGguf { problem }.into()
}

/// Writes the model of a folder as a GGUF file, its matrices in this type and everything else as
/// f32. An older GGUF file is replaced, another file is not.
/// # Errors
/// [`ModelError::NotInGguf`] if llama.cpp has no architecture or tokenizer for it,
/// [`ModelError::AlreadyQuantized`] if its weights are quantised, and those of
/// [`super::load`] and of writing a file.
pub fn export_gguf(folder: &Path, path: &Path, kind: GgufType) -> Result<GgufExport> {
    check_output_path(path)?;
    check_replaceable(path, "GGUF")?;
    let root = folder;
    let folder = &transformer_folder(root);
    check_no_adapter(folder)?;
    check_quantization(folder)?;
    let opened = Opened::new(folder, None)?;
    opened.check()?;
    if !Tokenizer::exists_in(folder) {
        return Err(refused(GgufProblem::NoTokenizer));
    }
    let config = opened.stack.config();
    let (architecture, own) = keys_of(root, &opened.stack, &config)?;
    let rows = opened.stack.vocab_size();
    let tokenizer = load_tokenizer(folder)?;
    let tokens = tokens::keys(folder, &tokenizer, rows)?.map_err(refused)?;
    let mut metadata = general(root, architecture, kind);
    let context_length = own.iter().find_map(|(key, value)| match value {
        Value::U32(size) if key == "context_length" => Some(*size as usize),
        _ => None,
    });
    let prefixed = |(key, value)| (format!("{}.{key}", architecture.name()), value);
    metadata.extend(own.into_iter().map(prefixed));
    metadata.extend(tokens);
    if let StackConfig::Encoder(EncoderConfig { type_vocab_size: Some(types), .. }) = &config {
        let key = "tokenizer.ggml.token_type_count".to_string();
        metadata.push((key, Value::U32(*types as u32)));
    }
    let planned = plan(&opened, architecture, &config, kind);
    let described: Vec<Described> = planned.iter().map(|p| p.described.clone()).collect();
    let bytes =
        writer::write(path, &metadata, &described, |i, _| values(&opened, &config, &planned[i]))?;
    Ok(GgufExport {
        architecture: architecture.name(),
        tensors: planned.len(),
        bytes,
        context_length: context_length.unwrap_or_default(),
    })
}

/// The architecture and its keys.
fn keys_of(
    folder: &Path,
    stack: &Stack,
    config: &StackConfig,
) -> Result<(Architecture, Vec<(String, Value)>)> {
    match config {
        StackConfig::Decoder(c) => {
            let architecture = Architecture::of_decoder(c).map_err(refused)?;
            Ok((architecture, architecture::decoder_keys(architecture, c).map_err(refused)?))
        }
        StackConfig::Encoder(c) => {
            let architecture = Architecture::of_encoder(c).map_err(refused)?;
            let pooling = match load_pooling(folder)? {
                None => 0,
                Some(Pooling::Mean) => 1,
                Some(Pooling::Cls) => 2,
            };
            Ok((architecture, architecture::encoder_keys(c, pooling)))
        }
        StackConfig::EncoderDecoder(_) | StackConfig::Recurrent(_) => {
            Err(refused(GgufProblem::Stack { found: stack.kind() }))
        }
    }
}

fn general(folder: &Path, architecture: Architecture, kind: GgufType) -> Vec<(String, Value)> {
    let name = folder.canonicalize().ok();
    let name = name.as_deref().and_then(Path::file_name).unwrap_or_default();
    vec![
        ("general.architecture".into(), Value::Text(architecture.name().into())),
        ("general.name".into(), Value::Text(name.to_string_lossy().into_owned())),
        ("general.file_type".into(), Value::U32(kind.file_type())),
        ("general.quantization_version".into(), Value::U32(2)),
    ]
}

/// The tensors of the file, in the order of the parameters.
fn plan(
    opened: &Opened,
    architecture: Architecture,
    config: &StackConfig,
    kind: GgufType,
) -> Vec<Planned> {
    let heads = heads(config);
    let mut all = Vec::new();
    for (param, spec) in opened.builder.iter() {
        let parts = names::parts(architecture, &heads, &spec.name, spec.shape.dim(0));
        for part in parts {
            all.push(planned(param, spec, part, kind));
        }
        // A tied output layer that llama.cpp does not find in the embedding table.
        let is_tied = |spec: &ParamSpec| spec.name == "output.weight";
        if spec.name == "token_embedding.weight"
            && architecture.needs_output()
            && !opened.builder.iter().any(|(_, spec)| is_tied(spec))
        {
            let rows = 0..spec.shape.dim(0);
            let (name, order) = ("output.weight".to_string(), names::RowOrder::Same);
            all.push(planned(param, spec, Part { name, rows, order }, kind));
        }
    }
    if let Some(divisors) = divisors(config) {
        let (name, shape) = ("rope_freqs.weight".to_string(), vec![divisors.len()]);
        let kind = GgufType::Plain(Precision::F32);
        all.push(Planned { described: Described { name, shape, kind }, source: None });
    }
    all
}

fn planned(param: ParamId, spec: &ParamSpec, part: Part, kind: GgufType) -> Planned {
    let mut shape: Vec<usize> = spec.shape.dims().collect();
    shape[0] = part.rows.len();
    let is_added = ["position_embd", "token_types"].iter().any(|name| part.name.starts_with(name));
    let kind = match kind {
        // Vectors, and tables that are added to others, are small.
        _ if shape.len() < 2 || is_added => GgufType::Plain(Precision::F32),
        GgufType::Q8_0 if !shape[1].is_multiple_of(BLOCK) => GgufType::Plain(Precision::F16),
        kind => kind,
    };
    let described = Described { name: part.name.clone(), shape, kind };
    Planned { described, source: Some((param, part)) }
}

fn heads(config: &StackConfig) -> Heads {
    match config {
        StackConfig::Decoder(c) => {
            Heads { queries: c.num_attention_heads, keys: c.kv_heads(), width: c.head_dim() }
        }
        StackConfig::Encoder(c) => {
            let heads = c.num_attention_heads;
            Heads { queries: heads, keys: heads, width: c.hidden_size / heads }
        }
        _ => unreachable!("other stacks are refused"),
    }
}

fn divisors(config: &StackConfig) -> Option<Vec<f32>> {
    let StackConfig::Decoder(c) = config else { return None };
    let rotary = &c.variant.attention.rotary;
    architecture::frequency_divisors(rotary, rotary.rotated(c.head_dim()))
}

/// The numbers of a tensor, in the order of the file.
fn values(opened: &Opened, config: &StackConfig, planned: &Planned) -> Result<Vec<f32>> {
    let Some((param, part)) = &planned.source else {
        return Ok(divisors(config).unwrap_or_default());
    };
    let spec = opened.builder.spec(*param);
    let row: usize = spec.shape.dims().skip(1).product();
    let mut all = vec![0.0; spec.shape.len()];
    for tensor in opened.tensors.iter().filter(|tensor| tensor.param == *param) {
        let rows = tensor.rows.start * row..tensor.rows.end * row;
        opened.file.read_rows(tensor, &mut all[rows])?;
    }
    let mut all = all[part.rows.start * row..part.rows.end * row].to_vec();
    // llama.cpp multiplies by the stored scale itself.
    let is_one_plus = match config {
        StackConfig::Decoder(c) => c.options.normalization == Normalization::RmsOnePlus,
        _ => false,
    };
    if is_one_plus && part.name.ends_with("norm.weight") {
        all.iter_mut().for_each(|x| *x += 1.0);
    }
    Ok(names::ordered(all, part.order, row))
}
