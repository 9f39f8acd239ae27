//! Errors of model folders: configurations, weights, and what a family of files cannot hold.
//!
//! Errors about the content of a file come inside [`Error::InFile`](super::Error::InFile), which
//! has its path.

use super::{GgufProblem, listed};
use limpid_tensor::kernels::quantized::{Format, QuantizeError};
use std::path::PathBuf;

/// Which settings a key belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyScope {
    /// The model itself: `config.json`.
    Model,
    /// Decoding: `generation_config.json`.
    Generation,
}

/// Whether two weight matrices may differ in a family of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tying {
    /// `tie_word_embeddings` decides.
    Optional,
    /// They are always tied.
    Always,
}

/// A format of weights that is never read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WeightFormat {
    /// `pytorch_model.bin`: pickle, which can run code.
    #[error("pickle, which can run code and is never read")]
    Pickle,
    /// llama.cpp's.
    #[error("GGUF")]
    Gguf,
    /// A graph of operations.
    #[error("ONNX")]
    Onnx,
    /// `tf_model.h5`.
    #[error("TensorFlow")]
    TensorFlow,
    /// `flax_model.msgpack`.
    #[error("Flax")]
    Flax,
}

/// A model folder that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum ModelError {
    /// The path is not a folder.
    #[error("{path} is not a model folder: it is a file")]
    NotAFolder { path: PathBuf },
    /// There is nothing at the path.
    #[error("{path} is not a model folder: there is no such folder")]
    NoSuchFolder { path: PathBuf },
    /// A run folder without a model so far.
    #[error("the run in {folder} has not saved a model yet")]
    NoModelYet { folder: PathBuf },
    /// A run folder without a model so far, in which the run it replaces still waits.
    #[error("the run in {folder} has not saved a model yet")]
    ReplacedRunWaits { folder: PathBuf },
    /// A file that every model folder has.
    #[error("{folder} has no {file}")]
    MissingFile { folder: PathBuf, file: &'static str },
    /// A folder whose weights are in files that are never read, because of their format.
    #[error("{folder} has no model.safetensors: its weights are in {file} ({format})")]
    OtherWeights { folder: PathBuf, file: String, format: WeightFormat },
    /// An adapter, without the model it adapts.
    #[error("{folder} holds an adapter, not a model: its base model is {base}")]
    AdapterOnly { folder: PathBuf, base: String },
    /// An adapter that would be lost where only the weights of its base are written.
    #[error("{folder} has an adapter, which is not merged into the weights of its base")]
    AdapterBeside { folder: PathBuf },
    /// A target that names no linear layer.
    #[error("no linear layer is called '{target}' (there are {})", available.join(", "))]
    AdapterTarget { target: String, available: Vec<String> },
    /// A module that cannot have an adapter: an embedding, an output or a recurrent layer.
    #[error("{module} cannot have an adapter: only linear layers below the output layer can")]
    AdapterNotLinear { module: String, available: Vec<String> },
    /// A rank that no matrix of this size has.
    #[error("rank {rank} does not fit {module}, whose matrix has rank {largest} at most")]
    AdapterRank { rank: usize, module: String, largest: usize },
    /// An adapter of a module that the base does not have.
    #[error("the adapter belongs to another base model: this one has no {module}")]
    AdapterOfAnother { module: String },
    /// A file without any adapter.
    #[error("no tensor of the file belongs to an adapter")]
    AdapterEmpty,
    /// Adapters whose weights are pickle.
    #[error("{folder} has its adapter in {file} (pickle, which can run code and is never read)")]
    AdapterPickle { folder: PathBuf, file: String },
    /// Weights that are not stored as plain numbers.
    #[error("quantization_config: weights quantized with {method} are not supported")]
    Quantized { method: String },
    /// A packed parameter that the model does not have, or not as a weight.
    #[error("quantization_config: {parameter} is not a weight matrix of this model")]
    NotAWeight { parameter: String },
    /// A packed parameter whose parts do not fit its shape or format.
    #[error("tensor {tensor} is not a packed matrix: {source}")]
    NotPacked { tensor: String, source: QuantizeError },
    /// A packed parameter, or its scales, in another type than its format has.
    #[error("tensor {tensor} has packed weights of type {found}, expected {expected}")]
    PackedDtype { tensor: String, found: String, expected: String },
    /// A parameter that cannot be quantized.
    #[error("{parameter} cannot be quantized to {format}: {source}")]
    CannotQuantize { parameter: String, format: Format, source: QuantizeError },
    /// A quantized model where an unquantized one is needed.
    #[error("the weights of the model are quantized (to {format}): {refused}")]
    AlreadyQuantized { format: Format, refused: &'static str },
    /// A name that fits no weight matrix.
    #[error("no weight matrix of the model is called '{name}'")]
    NoSuchWeight { name: String, known: Vec<String> },
    /// The file is not JSON.
    #[error("not valid JSON: {source}")]
    NotJson { source: serde_json::Error },
    /// The file holds JSON, but not an object.
    #[error("expected a JSON object")]
    NotAnObject,
    /// `config.json` without `model_type`.
    #[error("model_type is missing")]
    MissingModelType { supported: Vec<&'static str> },
    /// A family that is not supported.
    #[error("model_type '{found}' is not supported")]
    UnsupportedModelType { found: String, supported: Vec<&'static str> },
    /// A class of `transformers` that is not supported.
    #[error("architectures: {found} is not supported")]
    UnsupportedArchitecture { found: String, supported: Vec<&'static str> },
    /// A required key is missing.
    #[error("{key} is missing")]
    MissingKey { key: String },
    /// A value of the wrong type or out of range.
    #[error("{key} is {found}, expected {expected}")]
    WrongValue { key: String, found: String, expected: String },
    /// A value that would change the result in a way that is not implemented.
    #[error(
        "{key} = {found} is not supported: it would change the result (supported: {supported})"
    )]
    UnsupportedValue { key: String, found: String, supported: String, scope: KeyScope },
    /// A key that only other families have, and that would change the result.
    #[error("{key} is not a key of model_type '{model_type}', and would change the result")]
    ForeignKey { key: String, model_type: &'static str, known_to: Vec<&'static str> },
    /// Two labels of a classifier have the same name.
    #[error("two labels of id2label are both called '{label}'")]
    DuplicateLabel { label: String },
    /// `generation_config.json` and `config.json` disagree.
    #[error("decoder_start_token_id is {found}, in config.json it is {expected}")]
    DecoderStartMismatch { found: String, expected: String },
    /// An end token outside the vocabulary.
    #[error("eos_token_id {id} is out of range for the vocabulary of {vocab_size} tokens")]
    EndTokenOutOfRange { id: u32, vocab_size: u64 },
    /// A sentence-transformers module that is not supported.
    #[error("a module of type {found} is not supported: it would change the embeddings")]
    UnsupportedModule { found: String },
    /// A pooling mode that is not supported.
    #[error("pooling mode {found} is not supported (supported: cls, mean)")]
    UnsupportedPooling { found: String },
    /// Not a whole safetensors file.
    #[error("not a complete safetensors file of {bytes} bytes: {reason}")]
    NotSafetensors { bytes: usize, reason: String },
    /// A shard that the index of a sharded model names is not in the folder.
    #[error("shard {shard} is missing")]
    MissingShard { shard: String },
    /// An index that names a file in another folder.
    #[error("shard '{shard}' is not the name of a file beside the index")]
    ShardPath { shard: String },
    /// A shard without a tensor that the index says it has.
    #[error("{shard} has no tensor {tensor}")]
    NotInShard { tensor: String, shard: String },
    /// A tensor that two shards hold.
    #[error("tensor {tensor} stands in two shards")]
    DuplicateTensor { tensor: String },
    /// A tensor that the model needs is missing.
    #[error("tensor {tensor} is missing")]
    MissingTensor { tensor: String },
    /// A tensor of another shape.
    #[error("tensor {tensor} has shape {found:?}, expected {expected:?}")]
    WrongShape { tensor: String, found: Vec<usize>, expected: Vec<usize> },
    /// A weight that is NaN or infinite.
    #[error("tensor {tensor} has {value} at element {index}")]
    NotFinite { tensor: String, index: usize, value: f32 },
    /// A weight that a smaller type cannot hold.
    #[error("tensor {tensor} has {value} at element {index}, which overflows {dtype}")]
    Overflow { tensor: String, index: usize, value: f32, dtype: &'static str },
    /// A model that llama.cpp has no architecture or tokenizer for.
    #[error("the model cannot be written as GGUF: {problem}")]
    NotInGguf { problem: GgufProblem },
    /// A tensor of an unsupported type.
    #[error("tensor {tensor} has type {dtype} (supported: f32, f16, bf16)")]
    UnsupportedDtype { tensor: String, dtype: String },
    /// A tensor that should be equal to the one it is tied to.
    #[error("tensor {tensor} differs from {original}, to which config.json ties it")]
    NotTied { tensor: String, original: String, tying: Tying },
    /// Stored positions that are not sinusoidal.
    #[error("tensor {tensor} does not hold sinusoidal positions")]
    NotSinusoidal { tensor: String },
    /// A model whose family has no such activation.
    #[error(
        "a model of this kind is saved as model_type '{model_type}', which has no {found} \
         activation (it has {})",
        listed(supported)
    )]
    ActivationNotInFamily {
        model_type: &'static str,
        found: &'static str,
        supported: &'static [&'static str],
    },
    /// A model whose family fixes the width of feed-forward layers.
    #[error(
        "a model of this kind is saved as model_type '{model_type}', whose feed-forward layers \
         have width 4 · {width}, not {found}"
    )]
    FeedForwardNotInFamily { model_type: &'static str, found: usize, width: usize },
    /// A model whose family shares the embeddings of encoder and decoder.
    #[error(
        "a model of this kind is saved as model_type '{model_type}', which cannot hold separate \
         embeddings"
    )]
    SeparateEmbeddings { model_type: &'static str },
    /// A head that a family does not have.
    #[error("model_type '{model_type}' has no {head} head")]
    HeadNotInFamily { model_type: &'static str, head: &'static str },
    /// No family can hold the model.
    #[error("no supported model_type can hold this model")]
    NoFamily,
    /// The weights cannot be written.
    #[error("the weights cannot be written as safetensors: {reason}")]
    NotWritable { reason: String },
}
