//! Weight files, written tensor by tensor: `model.safetensors`, or shards with their index, as
//! `transformers` names them.
//!
//! ```text
//! length of the table of contents (u64), the table (JSON), the numbers
//! ```

use super::super::WEIGHTS;
use super::super::precision::Precision;
use super::super::shards::{INDEX, WeightFiles};
use super::super::weight_file::StoredTensor;
use super::{ConvertOptions, Converted};
use crate::error::{Error, Result};
use crate::files::write_atomic;
use safetensors::tensor::Dtype;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Numbers that are converted at a time.
const PART: usize = 1 << 16;

/// A tensor, and the precision it is written in; `None`: its bytes as they are.
struct Planned<'a> {
    tensor: StoredTensor<'a>,
    precision: Option<Precision>,
}

impl Planned<'_> {
    fn dtype(&self) -> Dtype {
        self.precision.map_or(self.tensor.dtype(), Precision::dtype)
    }

    fn bytes(&self) -> usize {
        self.precision.map_or(self.tensor.bytes(), |p| p.bytes() * self.tensor.len())
    }
}

/// Writes the tensors of a folder.
pub(super) fn write(
    weights: &WeightFiles,
    folder: &Path,
    options: &ConvertOptions,
) -> Result<Converted> {
    let all = weights.files().iter().flat_map(|file| {
        file.names().into_iter().filter_map(|name| file.tensor(&name)).collect::<Vec<_>>()
    });
    // Masks and counters are no weights: they keep their type.
    let is_weight = |dtype: Dtype| matches!(dtype, Dtype::F32 | Dtype::F16 | Dtype::BF16);
    let all = all.map(|tensor| Planned {
        precision: options
            .precision
            .filter(|p| is_weight(tensor.dtype()) && p.dtype() != tensor.dtype()),
        tensor,
    });
    let mut shards = divided(all, options.max_shard_size.unwrap_or(u64::MAX));
    let count = shards.len();
    let (mut map, mut done) = (Map::new(), Converted { files: count, ..Converted::default() });
    let mut parameters = 0;
    for (i, shard) in shards.iter_mut().enumerate() {
        let name = match count {
            1 => WEIGHTS.to_string(),
            _ => format!("model-{:05}-of-{count:05}.safetensors", i + 1),
        };
        // The widest first: every tensor begins at a multiple of its width.
        shard.sort_by_key(|planned| std::cmp::Reverse(planned.dtype().bitsize()));
        write_shard(&folder.join(&name), shard)?;
        for planned in shard.iter() {
            map.insert(planned.tensor.name().into(), name.as_str().into());
            done.tensors += 1;
            done.bytes += planned.bytes() as u64;
            parameters += planned.tensor.len();
        }
    }
    if count > 1 {
        let metadata = json!({ "total_parameters": parameters, "total_size": done.bytes });
        // Names in order, as transformers writes them.
        map.sort_keys();
        let index = json!({ "metadata": metadata, "weight_map": map });
        write_atomic(&folder.join(INDEX), format!("{index:#}\n").as_bytes())?;
    }
    Ok(done)
}

/// Fills one file after the other.
fn divided<'a>(all: impl Iterator<Item = Planned<'a>>, most: u64) -> Vec<Vec<Planned<'a>>> {
    let mut shards: Vec<Vec<Planned>> = vec![Vec::new()];
    let mut bytes = 0;
    for planned in all {
        let size = planned.bytes() as u64;
        if bytes > 0 && bytes + size > most {
            shards.push(Vec::new());
            bytes = 0;
        }
        bytes += size;
        shards.last_mut().expect("there is one").push(planned);
    }
    shards
}

fn write_shard(path: &Path, tensors: &[Planned]) -> Result<()> {
    let mut table = Map::new();
    // `transformers` refuses files without it.
    table.insert("__metadata__".into(), json!({ "format": "pt" }));
    let mut at = 0;
    for planned in tensors {
        let end = at + planned.bytes();
        let dtype = planned.dtype();
        table.insert(
            planned.tensor.name().into(),
            json!({ "dtype": dtype, "shape": planned.tensor.shape(), "data_offsets": [at, end] }),
        );
        at = end;
    }
    let mut table = Value::Object(table).to_string();
    // The numbers begin at a multiple of eight.
    table.extend(std::iter::repeat_n(' ', table.len().next_multiple_of(8) - table.len()));
    let failed = |e| Error::io("write", path, e);
    let file = File::create(path).map_err(failed)?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    out.write_all(&(table.len() as u64).to_le_bytes()).map_err(failed)?;
    out.write_all(table.as_bytes()).map_err(failed)?;
    let mut bytes = Vec::new();
    for planned in tensors {
        write_tensor(planned, &mut bytes, |bytes| out.write_all(bytes).map_err(failed))?;
    }
    let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
    file.sync_all().map_err(failed)
}

/// The numbers of a tensor, some at a time.
fn write_tensor(
    planned: &Planned,
    bytes: &mut Vec<u8>,
    mut write: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let tensor = &planned.tensor;
    let Some(precision) = planned.precision else {
        for start in (0..tensor.bytes()).step_by(PART) {
            bytes.resize(PART.min(tensor.bytes() - start), 0);
            tensor.copy_bytes(start, bytes);
            write(bytes)?;
        }
        return Ok(());
    };
    let mut values = vec![0.0; PART.min(tensor.len())];
    for start in (0..tensor.len()).step_by(PART) {
        let values = &mut values[..PART.min(tensor.len() - start)];
        tensor.read(start, values)?;
        bytes.clear();
        precision.append(bytes, values, tensor.name(), start)?;
        write(bytes)?;
    }
    Ok(())
}
