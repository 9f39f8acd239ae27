//! `model.safetensors`: numbers with a table of contents, and nothing that could run.

use crate::config::{NormPlacement, Seq2SeqConfig};
use crate::error::{Error, Result};
use crate::model::{Architecture, Model, Seq2Seq};
use crate::nn::{Builder, FileForm, FileTensor};
use limpid_tensor::params::{Params, Role};
use limpid_tensor::tensor::Tensor;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn open<'a>(path: &Path, bytes: &'a [u8]) -> Result<SafeTensors<'a>> {
    SafeTensors::deserialize(bytes).map_err(|e| {
        Error::format(path, format!("not a complete safetensors file ({e}); it has {} bytes", bytes.len()))
            .hint("the file is truncated or damaged: copy it again, or train again")
    })
}

/// Makes sure that every tensor of the model is in the file with its shape, before memory is taken. Returns the names of tensors that no
/// part of the model uses.
pub(super) fn check_weights(path: &Path, bytes: &[u8], builder: &Builder) -> Result<Vec<String>> {
    let tensors = open(path, bytes)?;
    for (file, spec) in builder.files() {
        let Some(view) = find(&tensors, &file.name) else {
            // A fixed bias that a file does not have is a bias of zeros.
            if spec.role == Role::Fixed {
                continue;
            }
            return Err(Error::format(path, format!("tensor {} is missing", file.name))
                .hint("does config.json belong to these weights?"));
        };
        let mut expected: Vec<usize> = spec.shape.dims().collect();
        expected[0] = file.rows.len();
        if file.form == FileForm::Transposed {
            expected.reverse();
        }
        if view.shape() != expected {
            let message =
                format!("tensor {} has shape {:?}, {expected:?} was expected", file.name, view.shape());
            return Err(Error::format(path, message).hint("does config.json belong to these weights?"));
        }
    }
    // Copies of a table that the model has under another name, positions (checked elsewhere), and masks.
    const KNOWN: [&str; 9] = [
        "lm_head.weight",
        "embed_tokens.weight",
        "embed_positions.weight",
        "attn.bias",
        "attn.masked_bias",
        "shared.weight",
        "cls.predictions.decoder.weight",
        "cls.predictions.decoder.bias",
        "embeddings.position_ids",
    ];
    let read: BTreeSet<String> = builder.files().flat_map(|(file, _)| names(&file.name)).collect();
    check_copies(path, &tensors, &read)?;
    let used = |name: &str| read.contains(name) || KNOWN.iter().any(|known| name.ends_with(known));
    let mut unused: Vec<String> =
        tensors.names().into_iter().filter(|name| !used(name)).map(String::from).collect();
    unused.sort_unstable();
    Ok(unused)
}

/// What one part of the model reads and a file may hold a second time: the names of the copy, and of what is read.
const COPIES: [(&str, &[&str]); 4] = [
    (
        "lm_head.weight",
        &[
            "transformer.wte.weight",
            "transformer.tokens_embed.weight",
            "model.shared.weight",
            "model.decoder.embed_tokens.weight",
        ],
    ),
    ("embed_tokens.weight", &["model.shared.weight"]),
    ("cls.predictions.decoder.weight", &["bert.embeddings.word_embeddings.weight"]),
    ("cls.predictions.decoder.bias", &["cls.predictions.bias"]),
];

/// A copy that is none would be lost without a word.
fn check_copies(path: &Path, tensors: &SafeTensors, read: &BTreeSet<String>) -> Result<()> {
    // A BERT without a head for words has no use for either.
    let fills_masks = read.contains("cls.predictions.bias");
    for name in tensors.names().into_iter().filter(|name| !read.contains(*name)) {
        let Some((_, originals)) = COPIES.iter().find(|(copy, _)| name.ends_with(copy)) else { continue };
        let original = originals.iter().find(|original| read.contains(**original));
        let Some((original, table)) = original.and_then(|name| Some((name, find(tensors, name)?))) else {
            continue;
        };
        if name.starts_with("cls.") && !fills_masks {
            continue;
        }
        let copy = tensors.tensor(name).map_err(|e| Error::format(path, e))?;
        let same_bytes = copy.dtype() == table.dtype() && copy.data() == table.data();
        if copy.shape() != table.shape()
            || (!same_bytes && numbers(path, name, &copy)? != numbers(path, original, &table)?)
        {
            // The head of a BERT is tied, whatever a file says.
            let hint = match name.starts_with("cls.") {
                true => "a head for masked words with a table of its own is not supported",
                false => {
                    "if the model was trained with two tables, its config.json should say \"tie_word_embeddings\": false"
                }
            };
            let message =
                format!("tensor {name} is not the copy of {original} that config.json takes it for");
            return Err(Error::format(path, message).hint(hint));
        }
    }
    Ok(())
}

/// Fills `params` from the bytes of a `model.safetensors` that `check_weights` has passed. Every number must be finite.
pub fn read_weights(path: &Path, bytes: &[u8], params: &mut Params, files: &[FileTensor]) -> Result<()> {
    let tensors = open(path, bytes)?;
    for file in files {
        let row: usize = params.shape(file.param).dims().skip(1).product();
        let Some(view) = find(&tensors, &file.name) else { continue };
        let values = numbers(path, &file.name, &view)?;
        if let Some(at) = values.iter().position(|x| !x.is_finite()) {
            return Err(Error::format(
                path,
                format!("tensor {} has {} at element {at}", file.name, values[at]),
            )
            .hint("the model was saved after its training had failed: use an earlier checkpoint"));
        }
        let to = &mut params.get_mut(file.param)[file.rows.start * row..file.rows.end * row];
        match file.form {
            FileForm::Same => to.copy_from_slice(&values),
            FileForm::Transposed => transpose(to, &values, file.rows.len(), row),
        }
    }
    Ok(())
}

/// Some files of this family store their positions. Ours are sinusoidal, and a file with others is refused.
pub(super) fn check_positions(path: &Path, bytes: &[u8], model: &Seq2Seq) -> Result<()> {
    let Some(ours) = model.positions().map(Tensor::data) else { return Ok(()) };
    let tensors = open(path, bytes)?;
    for side in ["encoder", "decoder"] {
        let name = format!("model.{side}.embed_positions.weight");
        let Ok(view) = tensors.tensor(&name) else { continue };
        let stored = numbers(path, &name, &view)?;
        // 1e-3: files in f16 keep three digits.
        let same = stored.iter().zip(ours).all(|(a, b)| (a - b).abs() < 1e-3);
        if !same || stored.len() != ours.len() {
            return Err(Error::format(path, format!("{name} does not hold sinusoidal positions"))
                .hint("an encoder-decoder with learned positions is not supported"));
        }
    }
    Ok(())
}

/// The names under which a tensor may be in a file: some of GPT-2 and BERT leave out the first word of every name, a bare BERT may have
/// it, and old files of BERT call γ and β of a norm by those names.
fn names(name: &str) -> Vec<String> {
    let mut names = vec![name.to_string()];
    for prefix in ["transformer.", "bert."] {
        names.extend(name.strip_prefix(prefix).map(String::from));
    }
    if name.starts_with("embeddings.") || name.starts_with("encoder.layer.") || name.starts_with("pooler.") {
        names.push(format!("bert.{name}"));
    }
    for (ours, theirs) in [("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta")] {
        let old: Vec<String> =
            names.iter().filter_map(|name| Some(format!("{}{theirs}", name.strip_suffix(ours)?))).collect();
        names.extend(old);
    }
    names
}

fn find<'a>(tensors: &SafeTensors<'a>, name: &str) -> Option<TensorView<'a>> {
    names(name).iter().find_map(|name| tensors.tensor(name).ok())
}

/// Whether a file has a tensor, under any of its names.
pub(super) fn holds(path: &Path, bytes: &[u8], name: &str) -> Result<bool> {
    Ok(find(&open(path, bytes)?, name).is_some())
}

/// to (rows, cols) from `values` (cols, rows).
fn transpose(to: &mut [f32], values: &[f32], rows: usize, cols: usize) {
    for i in 0..rows {
        for j in 0..cols {
            to[i * cols + j] = values[j * rows + i];
        }
    }
}

fn numbers(path: &Path, name: &str, view: &TensorView) -> Result<Vec<f32>> {
    let halves = || view.data().as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b));
    Ok(match view.dtype() {
        Dtype::F32 => view.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
        Dtype::F16 => halves().map(|bits| half::f16::from_bits(bits).to_f32()).collect(),
        Dtype::BF16 => halves().map(|bits| half::bf16::from_bits(bits).to_f32()).collect(),
        other => {
            return Err(Error::format(path, format!("tensor {name} is of type {other:?}"))
                .hint("types f32, f16 and bf16 can be read"));
        }
    })
}

/// The bytes of a `model.safetensors`.
pub fn write_weights(model: &Model) -> Result<Vec<u8>> {
    let mut tensors: BTreeMap<String, Stored> = BTreeMap::new();
    for file in &model.files {
        let spec = model.params.spec(file.param);
        let row: usize = spec.shape.dims().skip(1).product();
        let values = &model.params.get(file.param)[file.rows.start * row..file.rows.end * row];
        let mut shape: Vec<usize> = spec.shape.dims().collect();
        shape[0] = file.rows.len();
        let values: Cow<[f32]> = match file.form {
            FileForm::Same => values.into(),
            FileForm::Transposed => {
                shape.reverse();
                let mut turned = vec![0.0; values.len()];
                // From (out, in) to (in, out) is the same walk with the two exchanged.
                transpose(&mut turned, values, row, file.rows.len());
                turned.into()
            }
        };
        tensors.insert(file.name.clone(), Stored::new(shape, &values));
    }
    if let Architecture::Seq2Seq(seq2seq) = &model.architecture
        && seq2seq.config().norm == NormPlacement::Pre
        && seq2seq.config().variant == Seq2SeqConfig::USUAL
        && let Some(positions) = seq2seq.positions()
    {
        // Pegasus, unlike Marian, stores its positions.
        for side in ["encoder", "decoder"] {
            let stored = Stored::new(positions.shape().dims().collect(), positions.data());
            tensors.insert(format!("model.{side}.embed_positions.weight"), stored);
        }
    }
    // `transformers` wants to know which program's conventions the names follow.
    let metadata = Some([("format".to_string(), "pt".to_string())].into());
    safetensors::serialize(tensors.iter(), metadata)
        .map_err(|e| Error::config(format!("the weights cannot be written as safetensors: {e}")))
}

/// One tensor on its way into a file.
struct Stored {
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Stored {
    fn new(shape: Vec<usize>, values: &[f32]) -> Self {
        Self { shape, bytes: values.iter().flat_map(|x| x.to_le_bytes()).collect() }
    }
}

impl safetensors::View for &Stored {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        (&self.bytes).into()
    }
    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::GptConfig;
    use crate::model::Gpt;

    #[test]
    fn a_second_table_that_is_no_copy_is_refused_and_one_that_is_changes_nothing() {
        let config = GptConfig::gpt2(5, 4, 1, 1, 4);
        let model = Model::gpt(&config, 1).unwrap();
        let bytes = write_weights(&model).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let with_head = |change: f32| {
            let table = tensors.tensor("transformer.wte.weight").unwrap();
            let mut values = numbers(Path::new("t"), "wte", &table).unwrap();
            values[3] += change;
            let head = Stored::new(table.shape().to_vec(), &values);
            let mut all: BTreeMap<String, Stored> = BTreeMap::new();
            for (name, view) in tensors.tensors() {
                let values = numbers(Path::new("t"), &name, &view).unwrap();
                all.insert(name, Stored::new(view.shape().to_vec(), &values));
            }
            all.insert("lm_head.weight".into(), head);
            safetensors::serialize(all.iter(), None).unwrap()
        };
        let check = |bytes: &[u8]| {
            let mut builder = Builder::default();
            Gpt::new(&config, &mut builder).unwrap();
            check_weights(Path::new("t"), bytes, &builder)
        };
        assert_eq!(check(&with_head(0.0)).unwrap(), Vec::<String>::new());
        let error = check(&with_head(0.5)).unwrap_err();
        assert!(
            error.to_string().contains("lm_head.weight is not the copy of transformer.wte.weight"),
            "{error}"
        );
        assert!(error.hint_text().unwrap().contains("tie_word_embeddings"));
    }
}
