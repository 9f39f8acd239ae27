//! GGUF files, read back by a reader of the format that is written here from its description, and
//! compared with the parameters they hold.

use limpid::error::{Error, GgufProblem, ModelError};
use limpid::hub::{self, GgufType, Precision, export_gguf};
use limpid::model::Model;
use limpid::model::config::{DecoderConfig, StackConfig};
use limpid::nn::NormPlacement;
use limpid::quantize::{choose, quantize};
use limpid::text::train::{TokenizerSpec, train};
use limpid::text::{Tokenizer, TokenizerKind};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::quantized::Format;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A value of the metadata.
#[derive(Debug, PartialEq)]
enum Value {
    Number(f64),
    Text(String),
    List(Vec<Value>),
}

/// Sizes (the fastest first), type and bytes of a tensor.
struct Stored {
    sizes: Vec<u64>,
    kind: u32,
    bytes: Vec<u8>,
}

impl Stored {
    fn floats(&self) -> Vec<f32> {
        assert_eq!(self.kind, 0, "f32");
        self.bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
    }
}

struct Gguf {
    metadata: BTreeMap<String, Value>,
    tensors: BTreeMap<String, Stored>,
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes(&mut self, n: usize) -> &[u8] {
        let (head, rest) = self.0.split_at(n);
        self.0 = rest;
        head
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes(4).try_into().unwrap())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes(8).try_into().unwrap())
    }

    fn text(&mut self) -> String {
        let length = self.u64() as usize;
        String::from_utf8(self.bytes(length).to_vec()).unwrap()
    }

    fn value(&mut self, kind: u32) -> Value {
        match kind {
            4 => Value::Number(self.u32().into()),
            5 => Value::Number((self.u32() as i32).into()),
            6 => Value::Number(f32::from_bits(self.u32()).into()),
            7 => Value::Number(self.bytes(1)[0].into()),
            8 => Value::Text(self.text()),
            9 => {
                let (kind, length) = (self.u32(), self.u64());
                Value::List((0..length).map(|_| self.value(kind)).collect())
            }
            other => panic!("type {other}"),
        }
    }
}

impl Gguf {
    fn read(path: &Path) -> Self {
        let all = fs::read(path).unwrap();
        let mut reader = Reader(&all);
        assert_eq!(reader.bytes(4), b"GGUF");
        assert_eq!(reader.u32(), 3);
        let (tensors, pairs) = (reader.u64(), reader.u64());
        let mut metadata = BTreeMap::new();
        for _ in 0..pairs {
            let key = reader.text();
            let kind = reader.u32();
            assert!(metadata.insert(key, reader.value(kind)).is_none());
        }
        let mut places = Vec::new();
        for _ in 0..tensors {
            let name = reader.text();
            let sizes: Vec<u64> = (0..reader.u32()).map(|_| reader.u64()).collect();
            places.push((name, sizes, reader.u32(), reader.u64() as usize));
        }
        let start = (all.len() - reader.0.len()).next_multiple_of(32);
        let mut tensors = BTreeMap::new();
        for (name, sizes, kind, offset) in places {
            assert_eq!(offset % 32, 0, "{name}");
            let numbers = sizes.iter().product::<u64>() as usize;
            let length = match kind {
                0 => 4 * numbers,
                1 | 30 => 2 * numbers,
                8 => numbers / 32 * 34,
                other => panic!("type {other}"),
            };
            let bytes = all[start + offset..][..length].to_vec();
            assert!(tensors.insert(name, Stored { sizes, kind, bytes }).is_none());
        }
        Self { metadata, tensors }
    }

    fn number(&self, key: &str) -> f64 {
        match &self.metadata[key] {
            Value::Number(x) => *x,
            other => panic!("{key}: {other:?}"),
        }
    }

    fn text(&self, key: &str) -> &str {
        match &self.metadata[key] {
            Value::Text(x) => x,
            other => panic!("{key}: {other:?}"),
        }
    }

    fn list(&self, key: &str) -> &[Value] {
        match &self.metadata[key] {
            Value::List(x) => x,
            other => panic!("{key}: {other:?}"),
        }
    }
}

/// A folder that is removed at the end.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn bytes_tokenizer() -> Tokenizer {
    train(&TokenizerSpec::new(TokenizerKind::Byte), []).unwrap().tokenizer
}

/// A saved model with a tokenizer of 257 tokens.
fn folder(name: &str, config: impl Into<StackConfig>) -> (Scratch, Model) {
    let path = std::env::temp_dir().join(format!("limpid-gguf-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    let model = Model::new(config.into(), 3).unwrap();
    hub::save(&model, &path).unwrap();
    bytes_tokenizer().save(&path).unwrap();
    (Scratch(path), model)
}

const F32: GgufType = GgufType::Plain(Precision::F32);

fn param(model: &Model, name: &str) -> Vec<f32> {
    model.params.get(model.params.find(name).unwrap()).to_vec()
}

#[test]
fn a_llama_has_its_sizes_its_tokens_and_its_rows_in_pairs() {
    // Four heads of six columns in a model of 24; two of keys and values.
    let config = DecoderConfig::llama(260, 16, 2, [4, 2], [24, 40]);
    let (scratch, model) = folder("llama", config);
    let path = scratch.0.join("model.gguf");
    let done = export_gguf(&scratch.0, &path, F32).unwrap();
    assert_eq!((done.architecture, done.context_length), ("llama", 16));
    assert_eq!(done.bytes, fs::metadata(&path).unwrap().len());
    let file = Gguf::read(&path);
    assert_eq!(file.text("general.architecture"), "llama");
    for (key, size) in [
        ("vocab_size", 260.0),
        ("context_length", 16.0),
        ("embedding_length", 24.0),
        ("block_count", 2.0),
        ("feed_forward_length", 40.0),
        ("attention.head_count", 4.0),
        ("attention.head_count_kv", 2.0),
        ("rope.dimension_count", 6.0),
        ("rope.freq_base", 10_000.0),
    ] {
        assert_eq!(file.number(&format!("llama.{key}")), size, "{key}");
    }
    assert_eq!(file.text("tokenizer.ggml.model"), "gpt2");
    assert_eq!(file.text("tokenizer.ggml.pre"), "gpt-2");
    let kinds = file.list("tokenizer.ggml.token_type");
    assert_eq!(file.list("tokenizer.ggml.tokens").len(), 260);
    // <|endoftext|>, 256 bytes, three rows without a token.
    let kind = |n: f64| kinds.iter().filter(|kind| **kind == Value::Number(n)).count();
    assert_eq!((kind(3.0), kind(1.0), kind(5.0)), (1, 256, 3));
    assert_eq!(file.number("tokenizer.ggml.eos_token_id"), 0.0);
    // Two layers of nine tensors, the embedding, the output and its norm.
    assert_eq!(file.tensors.len(), 2 * 9 + 3);
    let token_embd = &file.tensors["token_embd.weight"];
    assert_eq!(token_embd.sizes, [24, 260]);
    assert_eq!(token_embd.floats(), param(&model, "token_embedding.weight"));
    let up = param(&model, "layers.1.ffn.up.weight");
    assert_eq!(file.tensors["blk.1.ffn_gate.weight"].floats(), up[..40 * 24]);
    assert_eq!(file.tensors["blk.1.ffn_up.weight"].floats(), up[40 * 24..]);
    let qkv = param(&model, "layers.1.self_attention.qkv.weight");
    let q = file.tensors["blk.1.attn_q.weight"].floats();
    // Row 1 of head 2 is its column 3, which is turned with column 0.
    assert_eq!(q[(2 * 6 + 1) * 24..][..24], qkv[(2 * 6 + 3) * 24..][..24]);
    let k = file.tensors["blk.1.attn_k.weight"].floats();
    assert_eq!(k[(6 + 2) * 24..][..24], qkv[(24 + 6 + 1) * 24..][..24]);
    assert_eq!(file.tensors["blk.1.attn_v.weight"].floats(), qkv[36 * 24..]);
}

#[test]
fn a_gpt2_has_one_projection_and_smaller_types_round_its_matrices_only() {
    let (scratch, model) = folder("gpt2", DecoderConfig::gpt2(257, 16, 2, 4, 32));
    let path = scratch.0.join("model.gguf");
    for (kind, code) in [
        (F32, 0),
        (GgufType::Plain(Precision::F16), 1),
        (GgufType::Plain(Precision::Bf16), 30),
        (GgufType::Q8_0, 8),
    ] {
        export_gguf(&scratch.0, &path, kind).unwrap();
        let file = Gguf::read(&path);
        let stored = &file.tensors["blk.0.attn_qkv.weight"];
        assert_eq!((stored.kind, &stored.sizes[..]), (code, &[32, 96][..]));
        let norm = &file.tensors["blk.1.ffn_norm.bias"];
        assert_eq!(norm.floats(), param(&model, "layers.1.ffn_norm.bias"));
        let positions = &file.tensors["position_embd.weight"];
        assert_eq!(positions.floats(), param(&model, "position_embedding.weight"));
        assert!(!file.tensors.contains_key("output.weight"));
        let qkv = param(&model, "layers.0.self_attention.qkv.weight");
        if code == 30 {
            let half = |b: &[u8; 2]| half::bf16::from_le_bytes(*b);
            let found: Vec<_> = stored.bytes.as_chunks::<2>().0.iter().map(half).collect();
            assert!(found == qkv.iter().map(|x| half::bf16::from_f32(*x)).collect::<Vec<_>>());
        }
    }
}

#[test]
fn what_llama_cpp_does_not_compute_is_refused_with_the_reason() {
    let refused = |name: &str, config: DecoderConfig| -> GgufProblem {
        let (scratch, _) = folder(name, config);
        let path = scratch.0.join("model.gguf");
        let error = export_gguf(&scratch.0, &path, F32).unwrap_err();
        assert!(!path.exists());
        let Error::Model(ModelError::NotInGguf { problem }) = error else { panic!("{error}") };
        problem
    };
    let gpt2 = DecoderConfig::gpt2(257, 16, 1, 2, 8);
    let relu = DecoderConfig { activation_function: Activation::Relu, ..gpt2.clone() };
    assert!(matches!(refused("relu", relu), GgufProblem::Activation { found: "relu", .. }));
    let post = DecoderConfig { norm: NormPlacement::Post, ..gpt2.clone() };
    assert!(matches!(refused("post", post), GgufProblem::Layers { .. }));
    let offset = DecoderConfig { position_offset: 2, ..gpt2.clone() };
    assert!(matches!(refused("offset", offset), GgufProblem::Layers { .. }));
    let small = DecoderConfig { vocab_size: 200, ..gpt2.clone() };
    let problem = refused("small", small);
    assert!(matches!(problem, GgufProblem::Vocabulary { rows: 200, .. }), "{problem}");
    let (scratch, _) = folder("bare", gpt2);
    let path = scratch.0.join("notes.txt");
    fs::write(&path, "mine").unwrap();
    assert!(matches!(export_gguf(&scratch.0, &path, F32), Err(Error::File(_))));
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    fs::remove_file(scratch.0.join("tokenizer.json")).unwrap();
    let error = export_gguf(&scratch.0, &scratch.0.join("x.gguf"), F32).unwrap_err();
    assert!(error.to_string().contains("the folder has none"), "{error}");
}

#[test]
fn a_quantized_model_is_refused_and_leaves_nothing() {
    let (scratch, mut model) = folder("quantized", DecoderConfig::gpt2(257, 16, 1, 2, 32));
    let choices = choose(&model, Format::Int8, &[]).unwrap();
    quantize(&mut model, &choices).unwrap();
    hub::save(&model, &scratch.0).unwrap();
    let (file, other) = (scratch.0.join("model.gguf"), scratch.0.join("other"));
    let convert = hub::convert(&scratch.0, &other, &Default::default()).map(|_| ());
    for found in [export_gguf(&scratch.0, &file, F32).map(|_| ()), convert] {
        let error = found.unwrap_err().to_string();
        let expected = "the weights of the model are quantized (to int8): it cannot be converted";
        assert!(error.contains(expected), "{error}");
    }
    assert!(!file.exists() && !other.exists());
}
